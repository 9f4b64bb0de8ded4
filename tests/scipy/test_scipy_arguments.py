"""Arguments that were taken and ignored with traced values: they act as SciPy's do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("scipy")

import scipy.integrate
import scipy.sparse
import scipy.stats

import tapegrad
import tapegrad.scipy.integrate as integrate
import tapegrad.scipy.sparse as sparse
import tapegrad.scipy.stats as stats
from tapegrad.scipy import fft, linalg, ndimage, signal
from tapegrad.scipy.cluster import vq
from tapegrad.scipy.signal import savgol_coeffs, windows
from tapegrad.scipy.spatial import geometric_slerp

Call = Callable[..., Any]


def _gradient(f: Call, x: Any) -> Any:
    return tapegrad.grad(lambda x: np.sum(f(x)))(x)


@pytest.mark.parametrize(
    "call",
    [vq.whiten, lambda x: vq.vq(x, np.ones((2, 2)))[1], lambda x: vq.vq(np.ones((3, 2)), x)],
)
def test_numbers_that_are_not_finite_are_refused_unless_asked(call: Call) -> None:
    x = np.array([[1.0, np.inf], [2.0, 0.0]])
    with pytest.raises(ValueError, match="infs or NaNs"):
        tapegrad.vjp(call, x)


@pytest.mark.parametrize("mean", ["gmean", "hmean"])
def test_means_are_computed_in_the_dtype(mean: str) -> None:
    x = np.array([1.0, 2.0, 5.0])
    value, _ = tapegrad.vjp(lambda x: getattr(stats, mean)(x, dtype=np.float32), x)
    assert value.dtype == np.float32
    assert value == getattr(scipy.stats, mean)(x, dtype=np.float32)


def test_ends_of_an_arc_lie_on_a_sphere_and_are_not_opposite() -> None:
    end, t = np.array([0.0, 1.0]), np.array([0.5])
    with pytest.raises(ValueError, match="unit n-sphere"):
        _gradient(lambda x: geometric_slerp(x, end, t), np.array([2.0, 0.0]))
    with pytest.warns(UserWarning, match="antipodes"):
        _gradient(lambda x: geometric_slerp(x, end, t, tol=0.1), np.array([0.01, -(0.9999**0.5)]))


def test_windows_are_numpys() -> None:
    for call in (
        lambda s, **words: windows.gaussian(5, s, **words),
        lambda s, **words: savgol_coeffs(5, 2, delta=s, **words),
    ):
        with pytest.raises(ValueError, match="Unsupported device"):
            _gradient(lambda s, call=call: call(s, device="gpu"), 1.0)
        assert np.isfinite(_gradient(lambda s, call=call: call(s, xp=np, device="cpu"), 1.0))


def test_a_table_is_printed_as_scipy_prints_it(capsys: pytest.CaptureFixture[str]) -> None:
    y = np.arange(5.0) ** 3
    scipy.integrate.romb(y, show=True)
    expected = capsys.readouterr().out
    _gradient(lambda y: integrate.romb(y, show=True), y)
    assert capsys.readouterr().out == expected


def test_copies_and_dtypes_of_sparse_arrays() -> None:
    seen: list[Any] = []

    def f(data: Any) -> Any:
        a = sparse.csr_array((data, ([0, 1], [0, 1])), shape=(2, 2))
        seen.extend(
            [a.tocsr(copy=True).data is a.data, a.tocsr().data is a.data, a.T.data is a.data]
        )
        seen.append(a.power(2, dtype=np.float32).dtype)
        return np.sum(a.power(2).data)

    tapegrad.grad(f)(np.array([1.0, 2.0]))
    assert seen == [False, True, True, np.float32]


# Functions that may leave their argument as it is, by arguments with which they do.
UNCHANGED: dict[str, Call] = {
    "block_diag": lambda x: linalg.block_diag(x),
    "matrix_balance": lambda x: linalg.matrix_balance(x, permute=False, scale=False)[0],
    "lu": lambda x: linalg.lu(np.triu(x))[2],
    "fftn": lambda x: fft.fftn(x + 0j, axes=()),
    "dctn": lambda x: fft.dctn(x, axes=()),
    "idstn": lambda x: fft.idstn(x, axes=()),
    "dct": lambda x: fft.dct(x[:1, 0], n=1, type=2),
    "trimboth": lambda x: stats.trimboth(x, 0.0),
    "resample_poly": lambda x: signal.resample_poly(x, 3, 3),
    "resample": lambda x: signal.resample(x, 4),
    "upfirdn": lambda x: signal.upfirdn([1.0], x),
    "lfilter": lambda x: signal.lfilter([1.0], [1.0], x),
    "sosfilt": lambda x: signal.sosfilt([[1.0, 0, 0, 1, 0, 0]], x),
    "savgol_filter": lambda x: signal.savgol_filter(x, 1, 0),
    "convolve": lambda x: signal.convolve(x, [[1.0]]),
    "medfilt": lambda x: signal.medfilt(x, 1),
    "medfilt2d": lambda x: signal.medfilt2d(x, 1),
    "order_filter": lambda x: signal.order_filter(x, np.ones((1, 1)), 0),
    "correlate1d": lambda x: ndimage.correlate1d(x, [1.0]),
    "gaussian_filter": lambda x: ndimage.gaussian_filter(x, 0.0),
    "gaussian_laplace": lambda x: ndimage.gaussian_laplace(x, 1.0, axes=()),
    "gaussian_gradient_magnitude": (
        lambda x: ndimage.gaussian_gradient_magnitude(x, 1.0, axes=())
    ),
    "uniform_filter": lambda x: ndimage.uniform_filter(x, 1),
    "uniform_filter1d": lambda x: ndimage.uniform_filter1d(x, 1),
    "fourier_gaussian": lambda x: ndimage.fourier_gaussian(x, 0.0),
    "minimum_filter": lambda x: ndimage.minimum_filter(x, 1),
    "maximum_filter1d": lambda x: ndimage.maximum_filter1d(x, 1),
    "rank_filter": lambda x: ndimage.rank_filter(x, 0, 1),
    "median_filter": lambda x: ndimage.median_filter(x, 1),
    "percentile_filter": lambda x: ndimage.percentile_filter(x, 50, 1),
    "grey_erosion": lambda x: ndimage.grey_erosion(x, 1),
    "grey_dilation": lambda x: ndimage.grey_dilation(x, 1),
    "grey_opening": lambda x: ndimage.grey_opening(x, 1),
    "spline_filter1d": lambda x: ndimage.spline_filter1d(x, 1),
    "zoom": lambda x: ndimage.zoom(x, 1.0),
    "shift": lambda x: ndimage.shift(x, 0.0, order=1),
    "rotate": lambda x: ndimage.rotate(x, 0.0),
    "affine_transform": lambda x: ndimage.affine_transform(x, np.eye(2), order=1),
}


@pytest.mark.parametrize("name", UNCHANGED)
def test_a_write_into_a_result_reaches_the_argument_only_where_scipys_does(name: str) -> None:
    x = np.arange(1.0, 17.0).reshape(4, 4) ** 1.5

    def f(x: Any) -> Any:
        given = x * 1.0
        UNCHANGED[name](given)[...] = 0.0
        return np.sum(given**2)

    expected = f(x)  # of plain arrays: SciPy's own
    value, slope = tapegrad.value_and_grad(f)(x)
    assert value == expected
    np.testing.assert_array_equal(slope, 2 * x if expected else 0 * x)
    assert tapegrad.jvp(f, (x,), (x,))[0] == expected
