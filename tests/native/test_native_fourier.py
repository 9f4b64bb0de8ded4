"""Fourier transforms as machine code of our own: NumPy's numbers, axes, norms and layouts."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from test_native import runner_of

import tapegrad
from tapegrad._native.fourier import LONGEST, radices, turn

FULL = [np.fft.fft, np.fft.ifft]
TO_HALF = [np.fft.rfft, np.fft.ihfft]
FROM_HALF = [np.fft.irfft, np.fft.hfft]
LENGTHS = [2, 3, 4, 5, 7, 12, 22, 26, 60, 63, 64, 128, 350, 1000]


def drawn(*shape):
    draw = np.random.default_rng(0)
    return draw.standard_normal(shape) + 1j * draw.standard_normal(shape)


def compiled(f, *args):
    """The results of f as machine code, and the calls that are left to NumPy."""
    fast = tapegrad.compile(f, backend="llvm")
    for _ in range(4):
        got = fast(*args)
    (way,) = runner_of(fast).paths
    return got, [call.node for call in way.path.lowered.calls if call.kind == "call"]


def assert_same(f, *args):
    got, calls = compiled(f, *args)
    expected = f(*args)
    for x, y in zip(
        *(each if type(each) is list else [each] for each in (got, expected)), strict=True
    ):
        assert (x.dtype, x.shape, x.strides) == (y.dtype, y.shape, y.strides)
        np.testing.assert_allclose(x, y, rtol=0, atol=2e-15 * np.max(np.abs(y)))
    assert calls == []


@pytest.mark.parametrize("function", FULL + TO_HALF + FROM_HALF, ids=lambda f: f.__name__)
def test_lengths(function):
    def f(*xs):
        return tuple(
            function(x, n) * 1.0 if function in FROM_HALF else function(x)
            for x, n in zip(xs, LENGTHS, strict=True)
        )

    if function in TO_HALF:
        args = [drawn(2, n).real.copy() for n in LENGTHS]
    else:
        args = [drawn(2, n // 2 + 1 if function in FROM_HALF else n) for n in LENGTHS]
    got, calls = compiled(f, *args)
    assert calls == []
    for x, y in zip(got, f(*args), strict=True):
        np.testing.assert_allclose(x, y, rtol=0, atol=2e-15 * np.max(np.abs(y)))


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("order", ["C", "F"])
def test_axes_norms_and_layouts(axis, order):
    z = np.asarray(drawn(6, 9, 4), order=order)
    n = z.shape[axis]

    def f(z):  # one program of all norms, built in a third of the time of three
        return [
            one
            for norm in ("backward", "ortho", "forward")
            for one in (
                np.fft.fft(z * 2, axis=axis, norm=norm),
                np.fft.ifft(z * 2, n, axis, norm),
                np.fft.rfft(z.real, axis=axis, norm=norm),
                np.fft.irfft(z, 2 * n - 2, axis, norm),
            )
        ]

    assert_same(f, z)


def test_of_several_axes():
    x = drawn(8, 12).real.copy()
    assert_same(lambda x: np.fft.irfft2(np.fft.rfft2(x) * 2), x)
    assert_same(lambda x: np.abs(np.fft.ifftn(np.fft.fftn(x) ** 2)), x)


@pytest.mark.parametrize("n", [17, 2 * LONGEST])
def test_long_ones_are_numpys(n):
    _, calls = compiled(lambda z: np.abs(np.fft.fft(z)), drawn(n))
    assert len(calls) == 1


def test_padded_and_cut_ones_are_numpys():
    got, calls = compiled(lambda z: (np.fft.fft(z, 16), np.fft.fft(z, 4)), drawn(8))
    assert len(calls) == 2
    np.testing.assert_array_equal(got[0], np.fft.fft(drawn(8), 16))


def test_infinities_are_numpys():
    fast = tapegrad.compile(np.fft.fft, backend="llvm")
    z = drawn(8)
    for special in (1, 1, 1, np.inf, np.nan, 1):
        z[3] = special
        with np.errstate(all="ignore"):
            got, expected = fast(z), np.fft.fft(z)
        np.testing.assert_allclose(got, expected, rtol=1e-14)


def test_a_wave_is_machine_code_from_end_to_end():
    phase = np.exp(-0.01j * np.arange(32) ** 2)

    def energy(x):
        psi = np.exp(1j * x)
        for _ in range(3):
            psi = psi * np.exp(-0.1j * np.abs(psi) ** 2)
            psi = np.fft.ifft(np.fft.fft(psi) * phase)
        return np.sum(np.abs(psi[:16]) ** 2)

    f = tapegrad.value_and_grad(energy)
    x = np.linspace(0, 3, 32)
    got, calls = compiled(f, x)
    assert calls == []
    for a, b in zip(got, f(x), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-13)


def test_factors_are_rounded_once():
    for n in (7, 12, 60, 1024):
        k = np.arange(-n, 2 * n)
        angle = -2 * np.pi * np.longdouble(1) * (k % n) / n
        if np.finfo(np.longdouble).nmant > 52:
            pi = np.longdouble("3.14159265358979323846264338327950288")
            angle = -2 * pi * (k % n) / n
        got = np.array([turn(int(j), n) for j in k])
        for part, exact in ((got.real, np.cos(angle)), (got.imag, np.sin(angle))):
            np.testing.assert_allclose(part, exact.astype(float), rtol=0, atol=2.3e-16)


def test_lengths_with_a_long_factor_have_no_radices():
    assert radices(4 * 17) == []
    assert np.prod(radices(2 * 3 * 4 * 5 * 7 * 11 * 13)) == 2 * 3 * 4 * 5 * 7 * 11 * 13
