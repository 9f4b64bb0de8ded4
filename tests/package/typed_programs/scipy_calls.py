"""Calls of SciPy's functions by `tapegrad.scipy`: arrays, numbers and tuples of them."""

from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

import tapegrad
import tapegrad.scipy
from tapegrad.scipy import (
    cluster,
    fft,
    integrate,
    interpolate,
    linalg,
    ndimage,
    signal,
    spatial,
    special,
    stats,
)
from tapegrad.scipy.cluster import vq
from tapegrad.scipy.signal import windows
from tapegrad.scipy.spatial import distance
from tapegrad.scipy.spatial.transform import Rotation

Array = NDArray[Any]
Floats = NDArray[np.float64]


def floats(*shape: int) -> Floats:
    return np.random.default_rng(0).uniform(0.5, 1.5, shape)


x, v = floats(8), floats(3)
square = floats(3, 3)
a = square @ square.T + np.eye(3)
image = floats(6, 6)

# Linear algebra.
assert_type(linalg.inv(a), Array)
assert_type(linalg.solve(a, v), Array)
assert_type(linalg.solve(a, v, assume_a="pos"), Array)
assert_type(linalg.solve_triangular(a, v, lower=True), Array)
assert_type(linalg.cholesky(a, lower=True), Array)
factor = linalg.cho_factor(a)
assert_type(factor[0], Array)  # the flag beside it: to SciPy 1.18 an array without dimensions
assert_type(linalg.cho_solve(factor, v), Array)
assert_type(linalg.lu_factor(a), tuple[Array, Array])
assert_type(linalg.lu_solve(linalg.lu_factor(a), v), Array)
assert_type(linalg.lu(a), tuple[Array, Array, Array])
assert_type(linalg.lu(a, permute_l=True), tuple[Array, Array])
assert_type(linalg.svd(a), tuple[Array, Array, Array])
assert_type(linalg.svd(a, full_matrices=False), tuple[Array, Array, Array])
assert_type(linalg.svd(a, compute_uv=False), Array)
assert_type(linalg.svdvals(a), Array)
assert_type(linalg.eigh(a), tuple[Array, Array])
assert_type(linalg.eigh(a, eigvals_only=True), Array)
assert_type(linalg.eigvals(a), Array)
assert_type(linalg.eigvalsh(a), Array)
assert_type(linalg.expm(a), Array)
assert_type(linalg.logm(a), Array)
assert_type(linalg.sqrtm(a), Array)
assert_type(linalg.expm_frechet(a, square), tuple[Array, Array])
assert_type(linalg.expm_frechet(a, square, compute_expm=False), Array)
assert_type(linalg.pinv(a), Array)
assert_type(linalg.polar(a), tuple[Array, Array])
assert_type(linalg.hessenberg(a), Array)
assert_type(linalg.hessenberg(a, calc_q=True), tuple[Array, Array])
assert_type(linalg.norm(a), np.float64)
assert_type(linalg.norm(a, axis=0), Array)
assert_type(linalg.solve_sylvester(a, a, square), Array)
assert_type(linalg.solve_continuous_lyapunov(a, a), Array)
assert_type(linalg.solve_toeplitz(v, v), Array)
assert_type(linalg.toeplitz(v), Array)
assert_type(linalg.block_diag(a, a), Array)
assert_type(linalg.fractional_matrix_power(a, 0.5), Array)
assert_type(linalg.null_space(a), Array)
assert_type(linalg.ldl(a), tuple[Array, Array, Array])
assert_type(linalg.bandwidth(a), tuple[int, int])
assert_type(linalg.issymmetric(a), bool)

# Special functions: of numbers, of arrays, and their derivatives.
assert_type(special.gamma(2.5), np.float64)
assert_type(special.gamma(x), Array)
assert_type(special.expit(x), Array)
assert_type(special.erf(1 + 2j), np.complex128)
assert_type(special.betainc(1.0, 2.0, 0.5), np.float64)
assert_type(special.betainc(1.0, x, 0.5), Array)
assert_type(special.xlogy(x, x), Array)
assert_type(special.sici(1.0), tuple[np.float64, np.float64])
assert_type(special.sici(x), tuple[Array, Array])
assert_type(special.airy(1.0), tuple[np.float64, np.float64, np.float64, np.float64])
assert_type(special.logsumexp(x), np.float64)
assert_type(special.logsumexp(a, axis=0), Array)
assert_type(special.softmax(x), Array)
assert_type(special.log_softmax(x), Array)
assert_type(special.polygamma(1, x), Array)
assert_type(special.multigammaln(x + 3, 2), Array)
assert_type(special.jvp(1, x), Array)
assert_type(special.spherical_jn(1, x), Array)
assert_type(special.jn_zeros(0, 3), Array)
assert_type(tapegrad.grad(special.gammaln)(2.0), float)
assert_type(tapegrad.elementwise_grad(special.erf)(x), Floats)
assert_type(tapegrad.jacobian(special.expit)(x), Array)
assert_type(tapegrad.vmap(special.expit)(x), Array)

# Transforms of Fourier.
assert_type(fft.fft(x), Array)
assert_type(fft.irfft(fft.rfft(x)), Array)
assert_type(fft.ifftn(fft.fftn(image)), Array)
assert_type(fft.dct(x), Array)
assert_type(fft.fftshift(fft.fftfreq(8)), Array)
assert_type(fft.next_fast_len(7), int)

# Signals and images.
assert_type(signal.convolve(x, v), Array)
assert_type(signal.correlate(x, v, mode="same"), Array)
assert_type(signal.fftconvolve(x, v), Array)
assert_type(signal.lfilter([1.0], [1.0, 0.5], x), Array)
assert_type(signal.lfilter([1.0], [1.0, 0.5], x, zi=[0.0]), tuple[Array, Array])
assert_type(signal.butter(2, 0.3), tuple[Array, Array])
sos = signal.butter(2, 0.3, output="sos")
assert_type(sos, Array)
assert_type(signal.sosfilt(sos, x), Array)
assert_type(signal.savgol_filter(x, 3, 1), Array)
assert_type(signal.hilbert(x), Array)
assert_type(signal.welch(x, nperseg=4), tuple[Array, Array])
assert_type(signal.stft(x, nperseg=4), tuple[Array, Array, Array])
assert_type(signal.freqz([1.0, 0.5]), tuple[Array, Array])
assert_type(signal.resample(x, 4), Array)
assert_type(signal.find_peaks(x), tuple[Array, dict[str, Any]])
assert_type(signal.detrend(x), Array)
assert_type(windows.hann(8), Array)
assert_type(windows.kaiser(8, 2.0), Array)
assert_type(ndimage.gaussian_filter(image, 1.0), Array)
assert_type(ndimage.convolve(image, np.ones((3, 3))), Array)
assert_type(ndimage.map_coordinates(image, np.ones((2, 4))), Array)
assert_type(ndimage.rotate(image, 10.0), Array)
assert_type(ndimage.zoom(image, 2.0), Array)
assert_type(ndimage.sobel(image), Array)
assert_type(ndimage.median_filter(image, 3), Array)

# Integrals and interpolation.
assert_type(integrate.cumulative_trapezoid(x), Array)
assert_type(integrate.dblquad(lambda y, x: x * y, 0.0, 1.0, 0.0, 1.0), tuple[float, float])
solved = integrate.solve_ivp(lambda t, y: -y, (0.0, 1.0), [1.0])
assert_type(solved.y, Array)
assert_type(solved.success, bool)
places = np.arange(8.0)
spline = interpolate.CubicSpline(places, x)
assert_type(spline(0.5), Array)
assert_type(interpolate.PchipInterpolator(places, x)(places), Array)
assert_type(interpolate.make_interp_spline(places, x)(places), Array)
grid = (places[:6], places[:6])
assert_type(interpolate.RegularGridInterpolator(grid, image)([1.0, 2.0]), Array)
assert_type(interpolate.griddata(floats(9, 2), floats(9), [[1.0, 1.0]]), Array)

# Statistics, distances, rotations.
assert_type(stats.norm.logpdf(1.0), np.float64)
assert_type(stats.norm.logpdf(x, 0.0, 2.0), Array)
assert_type(stats.gamma(2.0).cdf(x), Array)
assert_type(stats.norm(0.0, 2.0).mean(), np.float64)
assert_type(stats.poisson.logpmf(3, 2.0), np.float64)
assert_type(stats.zscore(x), Array)
assert_type(tapegrad.grad(stats.norm.logpdf)(1.0), float)
assert_type(distance.cdist(image, image), Array)
assert_type(distance.euclidean(v, v + 1), float)
assert_type(spatial.distance.squareform(distance.pdist(image)), Array)
assert_type(vq.whiten(image), Array)
assert_type(cluster.vq.vq(image, image[:2]), tuple[Array, Array])
assert_type(Rotation.from_rotvec(v).as_matrix(), Array)
assert_type(Rotation.from_rotvec(v).apply(v), Array)
assert_type(tapegrad.scipy.linalg.inv(a), Array)

# What depends on flags.
assert_type(linalg.eig(a), tuple[Array, Array])
assert_type(linalg.eig(a, right=False), Array)
assert_type(linalg.eig(a, left=True), tuple[Array, Array, Array])
assert_type(linalg.qr(a), tuple[Array, Array])
assert_type(linalg.qr(a, mode="economic", pivoting=True), tuple[Array, Array, Array])
assert_type(linalg.qr(a, mode="r"), tuple[Array])
assert_type(linalg.rq(a), tuple[Array, Array])
assert_type(linalg.rq(a, mode="r"), Array)
assert_type(linalg.schur(a), tuple[Array, Array])
assert_type(linalg.schur(a, sort="lhp"), tuple[Array, Array, int])
assert_type(linalg.qz(a, a), tuple[Array, Array, Array, Array])
assert_type(linalg.matrix_balance(a), tuple[Array, Array])
assert_type(linalg.matrix_balance(a, separate=True), tuple[Array, tuple[Array, Array]])
assert_type(linalg.lstsq(a, v), tuple[Array, Array, Any, Array | None])
assert_type(integrate.quad(np.sin, 0.0, 1.0), tuple[float, float])
assert_type(integrate.nquad(lambda x, y: x * y, [(0, 1), (0, 1)]), tuple[float, float])
assert_type(integrate.newton_cotes(3), tuple[Array, float])
assert_type(ndimage.label(image > 0.5), tuple[Array, int])
assert_type(ndimage.mean(image), float)
assert_type(ndimage.maximum(image), float)
assert_type(ndimage.sum_labels(image), float)
assert_type(stats.wasserstein_distance(v, v + 1), float)
assert_type(stats.energy_distance(v, v + 1), float)
assert_type(stats.yeojohnson(v), tuple[Array, np.float64])
assert_type(stats.yeojohnson(v, lmbda=0.5), Array)
