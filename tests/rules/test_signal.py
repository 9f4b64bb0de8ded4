"""Convolution by both factors, special functions to high order."""

from __future__ import annotations

import numpy as np
import pytest
from tolerances import assert_close

import tapegrad
from tapegrad import grad, jacobian, jvp, vjp
from tapegrad.testing import check_grads, check_rule

A = np.array([0.3, -1.2, 2.1, 0.9, 1.7])
V = np.array([0.4, -0.6, 0.2])
MODES = ["full", "same", "valid"]


# --- convolution


@pytest.mark.part(6)
@pytest.mark.parametrize("function", [np.convolve, np.correlate])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("sizes", [(5, 3), (3, 5), (5, 2), (4, 4), (1, 3), (5, 5), (1, 1), (2, 4)])
def test_both_factors_of_any_size(function, mode, sizes):
    x, y = (np.sin(np.arange(size) * 1.3 + size) for size in sizes)
    check_rule(function, x, y + 1, mode=mode)
    check_rule(function, x - 1j * x**2, (1 + 2j) * y, mode)
    check_rule(function, x, (1 + 2j) * y, mode)


def test_numbers_are_arrays_of_one_dimension_to_convolve_alone():
    check_rule(np.convolve, np.array(2.0), V)
    check_rule(np.convolve, A, np.array(3.0), "same")
    with pytest.raises(ValueError, match="depth"):
        vjp(lambda x: np.correlate(x, 3.0), A)


@pytest.mark.parametrize("function", [np.convolve, np.correlate])
def test_lists_and_other_dtypes(function):
    check_rule(function, A, [1, 2])
    check_rule(function, [1, 2, 3], V)
    check_rule(function, A.astype(np.float32), V)


@pytest.mark.parametrize("function", [np.convolve, np.correlate])
def test_bad_factors_raise_as_numpy_does(function):
    for x, y in [(A, V[:0]), (A[:0], V), (A[None], V)]:
        with pytest.raises(ValueError, match=r".") as expected:
            function(x, y)
        with pytest.raises(type(expected.value)):
            vjp(function, x, y)
    with pytest.raises(ValueError, match="mode"):
        vjp(lambda x: function(x, V, "middle"), A)


# --- i0, sinc


def nth(function, order):
    for _ in range(order):
        function = grad(function)
    return function


def test_the_derivatives_of_i0_are_those_of_its_power_series():
    at_zero = [nth(np.i0, order)(0.0) for order in range(7)]
    assert_close(at_zero, [1, 0, 1 / 2, 0, 3 / 8, 0, 5 / 16])


def test_i0_satisfies_bessels_equation_near_and_far():
    for x in (1e-6, 0.3, -2.0, 7.9, 8.1, 40.0, -600.0):
        value, first, second = (nth(np.i0, order)(x) for order in range(3))
        assert_close(second / value + first / value / x, 1.0)


def test_i0_in_both_modes_and_where_it_overflows():
    check_grads(np.i0, (np.array([0.0, -0.4, 3.0]),), order=3)
    with np.errstate(all="ignore"):
        assert grad(np.i0)(712.0) > 1e306
        masked = grad(lambda x: np.sum(np.where(x < 9e9, x, np.i0(x))))(np.array([1.0, 800.0]))
    np.testing.assert_array_equal(masked, [1, 1])
    with pytest.raises(TypeError, match="complex"):
        vjp(np.i0, np.array(1j))


def test_the_derivatives_of_sinc_at_0():
    expected = [1, 0, -(np.pi**2) / 3, 0, np.pi**4 / 5, 0, -(np.pi**6) / 7]
    for order, value in enumerate(expected):
        assert_close(nth(np.sinc, order)(0.0), value)


def test_the_derivatives_of_sinc_are_smooth_near_0():
    x = np.array([1e-12, 1e-8, 1e-5, 1e-3, 0.1, 0.4, -0.4])
    slopes = grad(lambda x: np.sum(np.sinc(x)))(x)
    squares = (np.pi * x) ** 2  # the power series, whose terms are right to the last digit
    series = -(np.pi**2) * x * (1 / 3 - squares / 30 + squares**2 / 840 - squares**3 / 45360)
    series -= np.pi**2 * x * (squares**4 / 3991680 - squares**5 / 518918400)
    np.testing.assert_allclose(slopes, series, rtol=1e-9, atol=0)
    check_grads(np.sinc, (np.array([0.0, 0.3, -1.0, 2.7]),), order=3)
    check_rule(np.sinc, np.array([0.3 + 0.2j, 1j, 2.0 - 1j]))


def test_windows_of_a_traced_number_are_refused():
    with pytest.raises(tapegrad.ConversionError):
        grad(lambda beta: np.sum(np.kaiser(5, beta)))(2.0)


def test_forward_mode_of_a_long_convolution():
    x_dot = np.zeros(5)
    x_dot[2] = 1
    assert_close(jvp(lambda x: np.convolve(x, V), (A,), (x_dot,))[1], [0, 0, *V, 0, 0])
    assert_close(jacobian(lambda v: np.convolve(A, v, "valid"))(V)[:, 0], A[2:])
