"""Fourier transforms: lengths that pad and cut, real halves, out=, and the errors of bad calls."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from tables import all_rows

import tapegrad
from tapegrad.testing import check_grads

RNG = np.random.default_rng(8)


def real(*shape):
    return RNG.standard_normal(shape)


def complex_(*shape):
    return real(*shape) + 1j * real(*shape)


NORMS = pytest.mark.parametrize("norm", [None, "backward", "ortho", "forward"])
LENGTHS = pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6, 7])
SIZES = pytest.mark.parametrize("size", [2, 5, 6])


@pytest.mark.part(12)
@NORMS
@LENGTHS
@SIZES
@pytest.mark.parametrize("function", [np.fft.fft, np.fft.ifft, np.fft.irfft, np.fft.hfft])
def test_complex_input_padded_or_cut(function, size, n, norm):
    check_grads(lambda x: function(x, n, 0, norm), (complex_(size, 2),), order=2)


@pytest.mark.part(12)
@NORMS
@LENGTHS
@SIZES
@pytest.mark.parametrize(
    "function", [np.fft.fft, np.fft.ifft, np.fft.rfft, np.fft.ihfft, np.fft.irfft, np.fft.hfft]
)
def test_real_input_padded_or_cut(function, size, n, norm):
    check_grads(lambda x: function(x, n, 0, norm), (real(size, 2),), order=2)


@pytest.mark.parametrize("function", [np.fft.fftn, np.fft.ifftn, np.fft.irfftn])
@pytest.mark.parametrize("axes", [(0, 1), (-1, 0), (0, 0), (1, 2, 1)])
def test_several_axes_and_one_axis_twice(function, axes):
    x, s = complex_(3, 4, 2), (2, 5, 3)[: len(axes)]

    def f(x):
        return function(x, s, axes, "ortho")

    np.testing.assert_array_equal(tapegrad.vjp(f, x)[0], f(x))
    check_grads(f, (x,), order=2)


@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft"])
def test_lengths_and_axes_that_are_left_away(name):
    z = complex_(2, 3, 4)
    x = z.real if name == "rfft" else z
    given = [(), (None, (0,)), (None, (1, -1)), ((3, 2), (0, 2)), ((2, 5), (-1, 0))]
    with all_rows() as row:
        for suffix, args in [*product("n2", given), ("n", (None, None))]:
            function = getattr(np.fft, name + suffix)
            with row((name + suffix, args)):
                np.testing.assert_array_equal(
                    tapegrad.vjp(lambda x, function=function, args=args: function(x, *args), x)[0],
                    function(x, *args),
                )
                check_grads(
                    lambda x, function=function, args=args: function(x, *args), (x,), order=1
                )


def test_a_real_transform_of_complex_numbers_is_numpys_error():
    with pytest.raises(TypeError):
        tapegrad.grad(lambda x: np.sum(np.abs(np.fft.rfft(x))))(complex_(3))


def test_the_power_spectrum():
    x = real(6)
    spectrum = tapegrad.grad(lambda x: np.sum(np.abs(np.fft.fft(x)) ** 2))(x)
    np.testing.assert_allclose(spectrum, 12 * x)
    one_sided = tapegrad.grad(lambda x: np.sum(np.abs(np.fft.rfft(x)) ** 2))(x)
    whole = 2 * np.fft.irfft(np.fft.rfft(x) * [1, 0.5, 0.5, 1]) * 6
    np.testing.assert_allclose(one_sided, whole)


def test_a_convolution_by_the_spectrum():
    def convolved(x, y):
        return np.fft.irfft(np.fft.rfft(x, 9) * np.fft.rfft(y, 9), 9)

    x, y = real(6), real(4)
    np.testing.assert_allclose(convolved(x, y), np.convolve(x, y), atol=1e-12)
    check_grads(convolved, (x, y), order=2)


@pytest.mark.parametrize(
    ("function", "given", "made"),
    [
        (np.fft.fft, np.float32, np.complex64),
        (np.fft.fft, np.complex64, np.complex64),
        (np.fft.rfft, np.float32, np.complex64),
        (np.fft.irfft, np.complex64, np.float32),
        (np.fft.fft, np.float16, np.complex64),
    ],
)
def test_dtypes(function, given, made):
    x = real(4).astype(given)
    out, pullback = tapegrad.vjp(function, x)
    assert out.dtype == made
    assert pullback(np.ones_like(out))[0].dtype == given
    assert tapegrad.jvp(function, (x,), (x,))[1].dtype == made


def test_out():
    def f(x):
        y = np.zeros_like(x, dtype=complex)
        np.fft.fft(x, out=y)
        return y

    check_grads(f, (real(4),), order=2)
    check_grads(lambda x: np.fft.fft2(x, None, (-2, -1), None, 0j * x), (real(2, 4),), order=1)
    with pytest.raises(tapegrad.NotDifferentiableError, match="out="):
        tapegrad.grad(lambda x: np.fft.fft(x, out=np.zeros(4, complex)).real[0])(real(4))


def test_shifts():
    x = real(3, 4)
    for function in (np.fft.fftshift, np.fft.ifftshift):
        for axes in (None, 0, -1, (0,), (1, 0), [0, 1]):

            def f(x, function=function, axes=axes):
                return function(x, axes)

            np.testing.assert_array_equal(tapegrad.vjp(f, x)[0], f(x))
            check_grads(f, (x,), order=2)


@pytest.mark.parametrize("function", [np.fft.fftfreq, np.fft.rfftfreq])
def test_frequencies_of_a_traced_spacing(function):
    check_grads(lambda d: function(5, d), (0.3,), order=2)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.fft.fft(x, norm="other"),
        lambda x: np.fft.hfft(x, norm="other"),
        lambda x: np.fft.fft(x, 0),
        lambda x: np.fft.fft(x, axis=3),
        lambda x: np.fft.fftn(x, (2, 2), (0,)),
        lambda x: np.fft.fft(x[0, 0]),
        lambda x: np.fft.irfft(x[:, :1]),
    ],
)
def test_errors_are_numpys(call):
    x = real(3, 4)
    with pytest.raises((ValueError, IndexError, TypeError)) as plain:
        call(x)
    with pytest.raises(plain.type):
        tapegrad.vjp(call, x)


def test_lengths_without_axes_are_deprecated_as_in_numpy():
    for function in (np.fft.fftn, np.fft.ifftn, np.fft.rfftn, np.fft.irfftn):
        for s in ((2, 3), (5,)):  # they are those of the last axes
            x = real(2, 3, 4)
            with pytest.warns(DeprecationWarning, match="axes"):
                out, _ = tapegrad.vjp(lambda x, f=function, s=s: f(x, s), x)
            np.testing.assert_array_equal(out, function(x, s, range(-len(s), 0)))
