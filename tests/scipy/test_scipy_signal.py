"""scipy.signal: laws of each function, linear time, and a decision for all."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

pytest.importorskip("scipy")

import scipy.signal as plain
from scipy_calls import (
    Numbers,
    call,
    check_call,
    checked,
    uncalled,
    undecided,
)

from tapegrad import BatchingError, NotDifferentiableError, grad, jacobian, jvp, vjp, vmap
from tapegrad._tree import flatten
from tapegrad.scipy import signal as ss
from tapegrad.scipy.signal import windows
from tapegrad.testing import check_grads

B, A = np.array([0.5, 0.2, 0.1]), np.array([1.2, -0.3, 0.2, 0.05])
_NUMBERS = Numbers(3)
normal = _NUMBERS.normal
positive = _NUMBERS.positive
complex_normal = _NUMBERS.complex_normal
RNG = _NUMBERS.rng
SOS = np.array([[1.0, 0.2, -0.3, 1.0, 0.2, -0.1], [0.5, 0.2, -0.3, 1.0, 0.1, -0.4]])
ONE = np.float64
TIMES = [0.2 * k for k in range(6)]
LTI = ([1.0, 0.3], [1.0, 0.5, 0.7])
MATRICES = (normal(2, 2) / 3 - np.eye(2), normal(2, 1), normal(1, 2), normal(1, 1))
PEAKS = np.sin(0.9 * np.arange(30)) + 0.3 * np.cos(2.1 * np.arange(30))

CONVOLUTIONS = [
    call(ss.convolve, normal(5), normal(3), mode="same"),
    call(ss.convolve, complex_normal(2, 3), complex_normal(4, 4), mode="valid"),
    call(ss.correlate, complex_normal(4, 3), complex_normal(2, 2), mode="same"),
    call(ss.fftconvolve, normal(2, 4), normal(1, 3), mode="same", axes=1),
    call(ss.oaconvolve, normal(2, 4), normal(2, 3), mode="valid", axes=[-1]),
    call(ss.convolve2d, normal(4, 5), normal(2, 3), mode="same", boundary="symm"),
    call(ss.correlate2d, normal(4, 5), normal(2, 3), mode="same", boundary="wrap"),
    call(ss.correlate2d, complex_normal(3, 4), complex_normal(2, 3), mode="valid"),
    call(ss.correlate2d, complex_normal(2, 2), complex_normal(3, 4), mode="valid"),
    call(ss.convolve, normal(5), [1.0, 2.0]),
    call(ss.deconvolve, normal(7), 2 + positive(3)),
]
FILTERS = [
    call(ss.lfilter, B, A, normal(2, 6), 1),
    call(ss.lfilter, B, A, normal(6, 2), 0, normal(3, 2)),
    call(ss.lfilter, [0.5, 0.2], [1.0, 0.4], normal(5), -1, normal(1)),
    call(ss.lfilter_zi, B, A),
    call(ss.lfiltic, B, A, normal(2), normal(5)),
    call(ss.sosfilt, SOS.tolist(), normal(6)),
    call(ss.sosfilt, SOS.tolist(), normal(6), zi=normal(2, 2)),
    call(ss.filtfilt, B, A, normal(16)),
    call(ss.filtfilt, [0.5, 0.2], [1.0, 0.4], normal(9), method="gust"),
    call(ss.sosfiltfilt, SOS.tolist(), normal(18)),
]
RESAMPLED = [
    call(ss.resample, normal(6), 8),
    call(ss.resample, complex_normal(6), 4, window="hamming"),
    call(ss.upfirdn, normal(5), normal(9), 3, 2),
    call(ss.resample_poly, normal(9), 3, 2, window=normal(5), padtype="mean"),
    call(ss.decimate, normal(40), 2),
    call(ss.detrend, normal(2, 9), bp=[3]),
    call(ss.hilbert, normal(2, 6)),
    call(ss.hilbert2, normal(4, 5)),
    call(ss.savgol_filter, normal(9), 5, 2, 1, ONE(0.5)),
    call(ss.savgol_coeffs, 5, 2, 1, ONE(0.5)),
    call(ss.envelope, normal(8)),
    call(ss.czt, normal(2, 5), 4),
    call(ss.zoom_fft, normal(6), [0.2, 0.7], 4),
    call(ss.medfilt, normal(5, 6), [3, 1]),
    call(ss.medfilt2d, normal(5, 6)),
    call(ss.order_filter, normal(5, 6), [[0, 1, 0], [1, 1, 1], [0, 1, 0]], 1),
    call(ss.wiener, normal(9), 3),
    call(ss.peak_prominences, PEAKS, plain.find_peaks(PEAKS)[0]),
]
RESPONSES = [
    call(ss.freqz, B, A, 5),
    call(ss.freqz, B, A, normal(3)),
    call(ss.freqz_zpk, normal(2), 0.3 * normal(2), 1.25, normal(3)),
    call(ss.freqz_sos, SOS.tolist(), normal(3)),
    call(ss.freqs, B, A, normal(3)),
    call(ss.freqs_zpk, normal(2), normal(2), ONE(1.3), normal(3)),
    call(ss.group_delay, (B, A), normal(3)),
    call(ss.normalize, B, A),
    call(ss.tf2zpk, np.poly([0.2, -0.6]), np.poly([0.3, -0.5, 0.7])),
    call(ss.zpk2tf, normal(2), normal(3), ONE(1.2)),
    call(ss.tf2ss, B, A),
    call(ss.ss2tf, *MATRICES),
    call(ss.ss2zpk, *MATRICES),
    call(ss.zpk2ss, np.array([0.2]), np.array([0.3, 0.5]), ONE(2.0)),
    call(ss.sos2tf, SOS.tolist()),
    call(ss.bilinear, B, A, ONE(1.2)),
    call(ss.bilinear_zpk, normal(2) / 9, normal(3) / 9, ONE(1.0), ONE(0.7)),
    *(call(f, B, A, ONE(1.2)) for f in (ss.lp2lp, ss.lp2hp)),
    *(call(f, B, A, ONE(1.2), ONE(0.7)) for f in (ss.lp2bp, ss.lp2bs)),
    *(call(f, normal(2), normal(3), ONE(1), ONE(1.2)) for f in (ss.lp2lp_zpk, ss.lp2hp_zpk)),
    *(
        call(f, normal(2), normal(3), ONE(1), ONE(1.2), ONE(0.7))
        for f in (ss.lp2bp_zpk, ss.lp2bs_zpk)
    ),
    call(ss.kaiser_beta, ONE(30.0)),
    call(ss.kaiser_atten, 20, ONE(0.3)),
]
SPECTRA = [
    call(ss.periodogram, normal(12)),
    call(ss.welch, normal(20), nperseg=8, average="median"),
    call(ss.csd, normal(20), normal(18), nperseg=7, noverlap=2, nfft=9),
    call(ss.coherence, normal(20), normal(20), nperseg=8),
    call(ss.spectrogram, normal(20), nperseg=8, mode="phase"),
    call(ss.stft, normal(20), window=("gaussian", ONE(2.0)), nperseg=8),
    call(ss.istft, complex_normal(5, 4)),
    call(ss.lombscargle, np.sort(positive(9)), normal(9), positive(3)),
    *(
        call(windows.gaussian, 5, ONE(1.3)),
        call(windows.general_gaussian, 6, ONE(1.3), ONE(1.7)),
        call(windows.general_cosine, 5, normal(3), sym=False),
        call(windows.general_hamming, 5, ONE(0.6)),
        call(windows.kaiser, 6, ONE(3.1)),
        call(windows.kaiser_bessel_derived, 8, ONE(2.2)),
        call(windows.exponential, 6, ONE(1.2), ONE(2.0), False),
        call(windows.tukey, 7, ONE(0.63)),
    ),
    call(ss.get_window, ("gaussian", ONE(1.5)), 6),
    call(ss.chirp, positive(4), ONE(1.0), ONE(2.0), ONE(3.0), "quadratic", ONE(20.0)),
    call(ss.gausspulse, positive(4), ONE(2.0), ONE(0.5), ONE(-6.0), retquad=True, retenv=True),
    call(ss.sweep_poly, positive(4), normal(3), ONE(10.0)),
    call(ss.sawtooth, 5 * normal(6), ONE(0.3)),
    call(ss.vectorstrength, normal(6), positive(3)),
    call(ss.gauss_spline, normal(5), 3),
]
SYSTEMS = [
    call(ss.lsim, LTI, normal(6), TIMES),
    call(ss.impulse, (normal(2), [1.0, 0.5, 0.7]), T=TIMES),
    call(ss.step, (normal(2), [1.0, 0.5, 0.7]), T=TIMES),
    call(ss.step, (normal(2), np.array([1.0, 0.9, 0.1])), N=4),
    call(ss.dlsim, (normal(2), [1.0, 0.3], ONE(0.5)), normal(4)),
    call(ss.dlsim, (*MATRICES, 0.1), normal(6), x0=normal(2)),
    call(ss.dimpulse, (normal(2), [1.0, 0.3], 0.5), n=4),
    call(ss.dstep, (normal(2), [1.0, 0.3], 0.5), n=4),
    call(ss.freqresp, (normal(2), normal(3)), [0.1, 0.5, 2.0]),
    call(ss.bode, (normal(2), normal(3)), [0.1, 0.5, 2.0]),
    call(ss.dfreqresp, (normal(2), normal(3), 0.5), [0.1, 0.5, 2.0]),
    call(ss.dbode, (normal(2), normal(3), 0.5), [0.1, 0.5, 2.0]),
    call(ss.cont2discrete, MATRICES, ONE(0.1), "bilinear"),
]
QUICK = [*CONVOLUTIONS, *FILTERS, *RESAMPLED, *SPECTRA]
CALLS = [*QUICK, *RESPONSES, *SYSTEMS]

SIDES = (((5,), (3,)), ((6,), (4,)), ((3,), (5,)), ((4, 3), (2, 2)), ((2, 3), (4, 4)))
MANY = [
    *RESPONSES,
    *SYSTEMS,
    *(
        call(f, complex_normal(*one), complex_normal(*two), mode=mode, method=method)
        for f in (ss.convolve, ss.correlate)
        for mode in ("full", "same", "valid")
        for method in ("direct", "fft")
        for one, two in SIDES
    ),
    *(
        call(f, normal(4, 5), normal(*two), mode=mode, boundary=boundary, fillvalue=1.5)
        for f in (ss.convolve2d, ss.correlate2d)
        for mode in ("full", "same", "valid")
        for boundary in ("fill", "wrap", "symm")
        for two in ((2, 2), (3, 3), (3, 2))
    ),
    *(call(ss.resample, normal(n), m) for n in (5, 6, 8) for m in (4, 5, 6, 9)),
    *(call(ss.resample, complex_normal(n), m) for n in (5, 6) for m in (4, 5, 8)),
    *(
        call(ss.upfirdn, normal(count), normal(9), up, down, mode=mode)
        for mode in ("constant", "symmetric", "reflect", "edge", "wrap")
        for up, down, count in ((1, 2, 3), (3, 2, 5), (2, 3, 8), (4, 7, 1))
    ),
    *(
        call(ss.savgol_filter, normal(9), width, 2, deriv, 0.5, mode=mode)
        for mode in ("interp", "mirror", "constant", "nearest", "wrap")
        for width, deriv in ((5, 0), (4, 1))
    ),
    *(
        call(ss.spectrogram, normal(20), nperseg=8, mode=mode)
        for mode in ("psd", "complex", "magnitude", "angle")
    ),
    *(call(ss.stft, normal(20), nperseg=7, boundary=b) for b in ("even", "odd", "constant", None)),
    *(
        call(ss.chirp, positive(4), ONE(1.0), ONE(2.0), ONE(3.0), method, vertex_zero=False)
        for method in ("linear", "quadratic", "logarithmic", "hyperbolic")
    ),
    *(call(ss.envelope, normal(9), band) for band in ((None, None), (1, 3), (-2, 2), (0, 3))),
    *(
        call(ss.cont2discrete, MATRICES, ONE(0.1), method)
        for method in ("zoh", "foh", "euler", "backward_diff")
    ),
    call(ss.lsim, MATRICES, normal(6), TIMES, normal(2)),
]


@pytest.mark.part(3)
@checked(QUICK)
def test_a_rule_keeps_the_laws(one):
    check_call(one)


@pytest.mark.slow
@checked(MANY)
def test_a_rule_keeps_the_laws_in_every_mode(one):
    check_call(one)


def test_every_function_has_a_decision_and_a_call():
    assert undecided(plain, ss) == ["besselap", "buttap"]  # by whole numbers
    elsewhere = {"sos2zpk", "sosfilt_zi", "find_peaks", "peak_widths", "sosfreqz"}
    assert set(uncalled(ss, CALLS)) <= {f"scipy.signal.{name}" for name in elsewhere}
    assert uncalled(windows, CALLS) == []
    parameters = {"chebwin", "dpss", "taylor", "get_window"}
    lengths = set(undecided(plain.windows, windows))
    assert not lengths & parameters
    assert {"hann", "hamming", "blackman"} <= lengths


def test_sections_by_their_coefficients():
    def filtered(c):  # a section's fourth coefficient is 1
        return ss.sosfilt(np.insert(c, 3, 1.0, axis=1), PEAKS)

    coefficients = np.delete(SOS, 3, axis=1)
    check_grads(filtered, (coefficients,))
    check_grads(
        lambda c: ss.sosfilt_zi(np.insert(c, 3, 1.0, axis=1)), (np.delete(SOS, 3, axis=1),)
    )
    check_grads(lambda c: ss.sos2zpk(np.insert(c, 3, 1.0, axis=1)), (coefficients,))


def test_peaks():
    def measured(x):
        found = ss.find_peaks(x, height=0, threshold=0.01, prominence=0.1, width=0.1)[1]
        return [value for name, value in found.items() if "bases" not in name]

    check_grads(measured, (PEAKS,))
    check_grads(lambda x: ss.peak_widths(x, plain.find_peaks(PEAKS)[0], 0.4), (PEAKS,))
    expected = plain.find_peaks(PEAKS, height=0, threshold=0.01, prominence=0.1, width=0.1)[1]
    for name, value in zip(
        [name for name in expected if "bases" not in name], vjp(measured, PEAKS)[0], strict=True
    ):
        np.testing.assert_allclose(value, expected[name])


def test_times_by_the_slowest_of_equal_poles_are_refused():
    double = np.array([1.0, 2.0, 1.0])
    for f in (ss.step, ss.impulse):
        with pytest.raises(NotDifferentiableError, match="where poles coincide"):
            grad(lambda a, f=f: np.sum(f(([1.0], a), N=4)[1]))(double)
        assert np.all(np.isfinite(grad(lambda a, f=f: f(([1.0], a), T=TIMES)[1][3])(double)))
        assert np.isfinite(grad(lambda b, f=f: f(([b], double), N=4)[1][3])(1.0))


def test_the_sign_of_zero_says_which_root_comes_first():
    poles = np.array([complex(-1.0, -0.0), complex(-0.5, 0.0)])
    for f, theirs in ((ss.lp2bp_zpk, plain.lp2bp_zpk), (ss.lp2bs_zpk, plain.lp2bs_zpk)):
        found = vjp(lambda bw, f=f: f([], poles, 1.0, 1.2, bw), 0.7)[0]
        np.testing.assert_allclose(found[1], theirs([], poles, 1.0, 1.2, 0.7)[1], rtol=1e-14)


def matrix_of(b, a, size):
    return plain.lfilter(b, a, np.eye(size), axis=0)


@pytest.mark.parametrize(("b", "a"), [(B, A), (A, B), (B, A[:1]), (B[:1], A)])
def test_a_filter_transposed_is_the_transposed_matrix(b, a):
    found = jacobian(lambda x: ss.lfilter(b, a, x))(normal(6))
    np.testing.assert_allclose(found, matrix_of(b, a, 6), atol=1e-15)


def test_a_filter_of_a_long_signal_is_differentiated_in_linear_time():
    calls = []
    original = plain.lfilter

    def counted(*args, **kwargs):
        calls.append(args)
        return original(*args, **kwargs)

    x = normal(100_000)  # a matrix of the filter would have 10^10 elements
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("scipy.signal.lfilter", counted)
        grad(lambda x: np.sum(ss.lfilter(B, A, x) ** 2))(x)
    assert len(calls) == 2


def test_single_precision_stays():
    x, b, a = (v.astype(np.float32) for v in (normal(8), B, A))
    for f, args in (
        (ss.lfilter, (b, a, x)),
        (ss.convolve, (x, b)),
        (ss.detrend, (x,)),
        (ss.savgol_filter, (x, 5, 2)),
    ):
        for i, arg in enumerate(args):
            if isinstance(arg, np.ndarray):
                slope = grad(lambda *args, f=f: np.sum(f(*args)), i)(*args)
                assert slope.dtype == np.float32
                assert f(*args).dtype == np.float32


def test_a_group_delay_at_a_zero_of_the_filter_has_no_slope():
    b, a = plain.butter(2, [0.2, 0.5], "band")

    def delays(b):
        return ss.group_delay((b, a), 3)[1]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # SciPy's and NumPy's: that is the case
        value, slope = jvp(delays, (b,), (b * np.arange(5.0),))
        np.testing.assert_allclose(value, plain.group_delay((b, a), 3)[1])
        step = 1e-6 * b * np.arange(5.0)
        difference = (delays(b + step) - delays(b - step)) / 2e-6
    assert np.isnan(slope[0])
    np.testing.assert_allclose(slope[1:], difference[1:], rtol=1e-6)


def test_examples_of_a_vmap_are_filtered():
    x, b = normal(3, 8), normal(3, 2)
    np.testing.assert_allclose(vmap(lambda x: ss.lfilter(B, A, x))(x), plain.lfilter(B, A, x))
    np.testing.assert_allclose(
        vmap(lambda b, x: ss.lfilter(b, A, x))(b, x),
        [plain.lfilter(*pair) for pair in zip(b, [A] * 3, x, strict=True)],
    )
    np.testing.assert_allclose(
        vmap(lambda x: ss.welch(x, nperseg=4)[1])(x), plain.welch(x, nperseg=4)[1]
    )
    np.testing.assert_allclose(
        vmap(lambda x: ss.fftconvolve(x, B))(x), [plain.fftconvolve(one, B) for one in x]
    )


SYSTEM = [
    np.array(part) for part in ([[-1.0, 0.3], [0.1, -2.0]], [[1.0], [0.5]], [[1.0, 2.0]], [[0.0]])
]


@pytest.mark.parametrize(
    ("f", "batch"),
    [
        (
            lambda s: ss.lsim(SYSTEM, np.ones(5), (np.arange(5) + 1) * s - 0.1, [1.0, 1.0]),
            [0.1, 0.2],
        ),
        (lambda s: ss.step([SYSTEM[0] * s, *SYSTEM[1:]]), [1.0, 0.0]),
        (lambda s: ss.impulse([SYSTEM[0] * s, *SYSTEM[1:]]), [1.0, 2.0]),
        (
            lambda s: ss.cont2discrete(
                [*SYSTEM[:2], SYSTEM[2] * s, SYSTEM[3] * s], 0.1, "impulse"
            ),
            [1, 2.0],
        ),
        (lambda s: ss.istft(np.ones((5, 4)), window=np.hanning(8) * s, nperseg=8), [1.0, 2.0]),
    ],
)
@pytest.mark.filterwarnings("ignore:NOLA")
def test_what_a_function_asks_of_its_values_it_asks_of_each_example(f, batch):
    def total(s):
        return sum(np.sum(part**2) for part in flatten(f(s))[0] if np.ndim(part))

    batch = np.array(batch)
    alone = [grad(total)(s) for s in batch]
    np.testing.assert_allclose(vmap(grad(total))(batch), alone, rtol=1e-9)


def test_the_first_time_of_a_simulation_moves_its_start():
    """Also from zero on, where the state is the one that is passed."""

    def last(s):
        return ss.lsim(SYSTEM, np.ones(5), (np.arange(5) + 1) * s - 0.1, [1.0, 1.0])[1][-1]

    slope = grad(last)(0.1)
    np.testing.assert_allclose(slope, (last(0.1 + 1e-6) - last(0.1)) / 1e-6, rtol=1e-4)


def test_zero_phase_filters_of_a_vmap_have_their_own_sections():
    """How far a signal is extended follows from the zeros among the sections' coefficients."""
    sections, x = np.stack([SOS, SOS * [0.7, 1.3, 1, 1, 0.9, 1.1]]), normal(2, 18)
    expected = [plain.sosfiltfilt(*pair) for pair in zip(sections, x, strict=True)]
    np.testing.assert_allclose(vmap(ss.sosfiltfilt)(sections, x), expected, rtol=1e-12)
    slope = grad(lambda sos, x: np.sum(ss.sosfiltfilt(sos, x) ** 2))
    alone = [slope(*pair) for pair in zip(sections, x, strict=True)]
    np.testing.assert_allclose(vmap(slope)(sections, x), alone, rtol=1e-10, atol=1e-12)
    sections[1, :, [2, 5]] = 0
    with pytest.raises(BatchingError, match=r"sosfiltfilt: sos without padlen="):
        vmap(ss.sosfiltfilt)(sections, x)
    known = vmap(lambda sos, x: ss.sosfiltfilt(sos, x, padlen=9))(sections, x)
    np.testing.assert_allclose(
        known, [plain.sosfiltfilt(s, x, padlen=9) for s, x in zip(sections, x, strict=True)]
    )


@pytest.mark.parametrize("f", [ss.convolve2d, ss.correlate2d])
@pytest.mark.parametrize("mode", ["full", "same"])
def test_images_are_filtered_with_a_fillvalue_that_is_differentiated(f, mode):
    image, window = normal(4, 5), normal(2, 3)
    theirs = getattr(plain, f.__name__)

    def filtered(image, window, value):
        return f(image, window, mode, fillvalue=value)

    for value in (0.0, 1.5):
        out, pull = vjp(filtered, image, window, value)
        np.testing.assert_allclose(out, theirs(image, window, mode, fillvalue=value), atol=1e-14)
        g = normal(*out.shape)
        moved = theirs(0 * image, window, mode, fillvalue=1.0)  # linear in the value
        np.testing.assert_allclose(pull(g)[2], np.sum(g * moved), rtol=1e-12)
    check_grads(filtered, (image, window, 1.5))
    values = np.array([0.0, 1.5])
    np.testing.assert_allclose(
        vmap(lambda v: filtered(image, window, v))(values),
        [theirs(image, window, mode, fillvalue=v) for v in values],
        atol=1e-14,
    )


def test_times_of_an_inverse_transform_by_the_sampling_rate():
    spectrum = complex_normal(5, 4)
    times, slope = jvp(lambda fs: ss.istft(spectrum, fs=fs)[0], (2.5,), (1.0,))
    np.testing.assert_array_equal(times, plain.istft(spectrum, fs=2.5)[0])
    np.testing.assert_allclose(slope, -times / 2.5)
    rates = np.array([1.0, 2.5])
    np.testing.assert_array_equal(
        vmap(lambda fs: ss.istft(spectrum, fs=fs)[0])(rates),
        [plain.istft(spectrum, fs=fs)[0] for fs in rates],
    )


@pytest.mark.parametrize("method", ["logarithmic", "hyperbolic"])
def test_a_chirp_between_equal_frequencies_has_the_slopes_of_its_neighbours(method):
    t = np.array([-0.4, 0.3, 0.9])

    def slopes(f1):
        return jacobian(lambda f0, f1: ss.chirp(t, f0, 2.0, f1, method), (0, 1))(1.5, f1)

    for found, near in zip(slopes(1.5), slopes(1.5 + 1e-7), strict=True):
        assert np.all(near != 0)
        np.testing.assert_allclose(found, near, rtol=1e-5)
    frequencies = np.array([1.5, 1.7])
    np.testing.assert_allclose(
        vmap(lambda f1: ss.chirp(t, 1.5, 2.0, f1, method))(frequencies),
        [plain.chirp(t, 1.5, 2.0, f1, method) for f1 in frequencies],
    )


EXTENSIONS = ("constant", "symmetric", "reflect", "edge", "wrap", "smooth", "antisymmetric")


@pytest.mark.part(3)
@pytest.mark.parametrize("mode", [*EXTENSIONS, "antireflect", "line"])
def test_polyphase_filters_extend_a_signal_in_every_mode(mode):
    h = normal(17)  # which reaches around the signal more than once
    for up, down, axis in ((1, 1, -1), (3, 2, 0)):
        check_call(call(ss.upfirdn, h, normal(4, 5), up, down, axis, mode))
    x = complex_normal(4)
    value = vjp(lambda x: ss.upfirdn(h, x, 2, 3, mode=mode), x)[0]
    np.testing.assert_allclose(value, plain.upfirdn(h, x, 2, 3, mode=mode), atol=1e-12)


def test_resampling_along_a_line():
    check_call(call(ss.resample_poly, normal(9), 3, 2, window=normal(5), padtype="line"))
    with pytest.raises(ValueError, match="two elements"):
        grad(lambda x: np.sum(ss.upfirdn(np.ones(2), x, mode="line")))(np.ones(1))


def test_a_window_keeps_single_precision():
    x = normal(6).astype(np.float32)
    value = vjp(lambda x: ss.resample(x, 8, window=normal(6)), x)[0]
    assert value.dtype == ss.resample(x, 8, window=normal(6)).dtype == np.float32


def test_tukey_of_any_alpha_and_of_several_at_once():
    alphas = np.array([-0.1, 0.0, 0.3, 0.9, 1.0, 1.4])
    for size in (0, 1, 2, 7, 8):
        found = vmap(lambda a, n=size: windows.tukey(n, a))(alphas)
        expected = [plain.windows.tukey(size, a) for a in alphas]
        np.testing.assert_allclose(found, expected, atol=1e-15)
    slope = grad(lambda a: np.sum(windows.tukey(9, a) ** 2))
    np.testing.assert_allclose(vmap(slope)(alphas), [slope(a) for a in alphas], rtol=1e-14)


def test_what_is_refused_names_the_reason():
    with pytest.raises(NotDifferentiableError, match=r"scipy\.signal\.remez.*firls"):
        grad(lambda w: np.sum(ss.remez(5, np.stack([0.0, w, 0.3, 0.5]), [1.0, 0.0])))(0.1)
    with pytest.raises(ValueError, match="zi"):
        grad(lambda x: np.sum(ss.lfilter(B, A, x, zi=np.zeros(7))[0]))(normal(5))
    with pytest.raises(Exception, match="signal"):
        grad(lambda x: np.sum(plain.lfilter(B, A, x)))(normal(5))


@pytest.mark.slow
@pytest.mark.peers
def test_jax_agrees():
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    theirs = jax.scipy.signal
    x, y = normal(24), RNG.standard_normal(5)
    for ours_, theirs_ in (
        (lambda x: ss.convolve(x, y, "same"), lambda x: theirs.convolve(x, y, "same")),
        (lambda x: ss.correlate(x, y), lambda x: theirs.correlate(x, y)),
        (lambda x: ss.fftconvolve(x, y), lambda x: theirs.fftconvolve(x, y)),
        (lambda x: ss.detrend(x), lambda x: theirs.detrend(x)),
        (lambda x: ss.welch(x, nperseg=8)[1], lambda x: theirs.welch(x, nperseg=8)[1]),
        (
            lambda x: np.abs(ss.stft(x, nperseg=8)[2]) ** 2,
            lambda x: abs(theirs.stft(x, nperseg=8)[2]) ** 2,
        ),
    ):
        found = grad(lambda x, f=ours_: np.sum(f(x) ** 2))(x)
        expected = jax.grad(lambda x, f=theirs_: (f(x) ** 2).sum())(x)
        np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-10)
