"""Ufuncs at the points where a convention decides, and the dtypes that partials have to keep."""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np
import pytest
from tolerances import assert_close

from tapegrad import elementwise_grad, grad, hvp, jvp, vjp
from tapegrad.testing import check_rule


def slopes(function, *args):
    """The derivative by each argument at each place."""
    with np.errstate(all="ignore"):
        out, pullback = vjp(function, *map(np.array, args))
    return pullback(np.ones_like(out))


# --- choices, of which many elements are compared and few subtracted


@pytest.mark.parametrize("points", ["plain", "ties", "nan"])
@pytest.mark.parametrize("choose", [np.maximum, np.minimum, np.fmax, np.fmin])
def test_choices_of_many_elements_are_those_of_few(choose, points):
    random = np.random.default_rng(0)
    x, y, g = random.normal(size=(3, 40, 50))
    if points != "plain":
        y[::3] = x[::3]
    if points == "nan":
        x[0, 0] = y[1, 1] = x[2, 2] = y[2, 2] = np.nan
        x[3, 3] = y[3, 3] = np.inf
    for _ in range(2):  # the second call is planned
        _, pullback = vjp(choose, x, y)
        _, one_by_one = vjp(lambda x, y: np.stack(list(map(choose, x, y))), x, y)
        for found, known in zip(pullback(g), one_by_one(g), strict=True):
            np.testing.assert_array_equal(found, known)
        _, along = jvp(choose, (x, y), (g, 2 * g))
        _, known = jvp(lambda x, y: np.stack(list(map(choose, x, y))), (x, y), (g, 2 * g))
        np.testing.assert_allclose(along, known)


def test_clips_of_many_elements_are_those_of_few():
    x = np.random.default_rng(0).normal(size=(40, 50))
    x[0, :3] = -0.5, 0.5, np.nan
    for start in (0, 1):  # with a bound and a NaN, and without
        part = x[start:]
        gradient = elementwise_grad(lambda x: np.clip(x, -0.5, 0.5))
        for _ in range(2):
            np.testing.assert_array_equal(gradient(part), np.stack(list(map(gradient, part))))


# --- powers


def test_power_at_zero():
    by_base, by_exponent = slopes(np.power, [0.0, 0.0, 0.0, 0.0], [0.0, 1.0, 2.0, 0.5])
    np.testing.assert_array_equal(by_base, [0.0, 1.0, 0.0, np.inf])
    np.testing.assert_array_equal(by_exponent, [0.0, 0.0, 0.0, 0.0])


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, -1, 0.0, 1.0, 2.0, 0.5, np.float64(2)])
def test_powers_by_numbers(exponent):
    check_rule(lambda x: x**exponent, np.array([0.7, 1.3]))


@pytest.mark.parametrize("function", [np.power, np.float_power])
def test_powers_of_a_negative_array_by_complex_exponents(function):
    base, exponent = np.array([-2.0, 3.0]), np.array([0.5 + 0.2j, 1.5 - 0.3j])
    check_rule(lambda z: function(base, z), exponent)
    slope = jvp(lambda z: function(base, z), (exponent,), (np.ones(2, complex),))[1]
    assert_close(slope, jvp(lambda z: function(base + 0j, z), (exponent,), (np.ones(2) + 0j,))[1])
    check_rule(lambda x: function(1 + 2j, x), np.array([0.5, 1.5]))


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int16, np.uint64, bool, np.float16])
@pytest.mark.parametrize("function", [np.power, np.float_power, np.arctan2])
def test_a_partial_is_as_precise_as_the_result_beside_small_integers(function, kind):
    x = np.array([1.3, 0.7, 2.1])
    for small in (np.array([20, 3, 1]).astype(kind), kind(3), np.array(100).astype(kind)):
        double = np.asarray(small).astype(float)
        for side in (lambda x, y: function(y, x), lambda x, y: function(x, y)):
            slope = elementwise_grad(side)(x, small)
            assert_close(slope, elementwise_grad(side)(x, double))
            assert_close(jvp(partial(side, y=small), (x,), (x,))[1], slope * x)


@pytest.mark.parametrize("kind", [float, np.array, np.float32])
@pytest.mark.parametrize("function", [np.power, np.float_power])
def test_a_power_that_vanishes_for_an_infinite_exponent_is_flat(function, kind):
    for exponent, x in [(np.inf, 0.5), (-np.inf, 2.0), (np.inf, 0.0)]:
        base = np.array([x, x]).astype(np.float32 if kind is np.float32 else float)
        f = lambda b, y=exponent: function(b, kind(y))  # noqa: E731
        found = elementwise_grad(f)(base)
        np.testing.assert_array_equal(found, [0.0, 0.0])
        assert found.dtype == base.dtype
        np.testing.assert_array_equal(hvp(lambda b: np.sum(f(b)), (base,), (base,)), [0.0, 0.0])  # noqa: B023
        np.testing.assert_array_equal(jvp(f, (base,), (np.ones_like(base),))[1], [0.0, 0.0])
        both = grad(lambda b, y: np.sum(function(b, y)), (0, 1))(base, np.full(2, exponent))
        np.testing.assert_array_equal(both[0], [0.0, 0.0])
    with np.errstate(over="ignore"):
        assert elementwise_grad(lambda b: function(b, kind(np.inf)))(2.0) == np.inf


def test_powers_of_negative_numbers_by_whole_exponents():
    check_rule(lambda x: np.power(x, 3.0), np.array([-0.7, -1.3]))
    with np.errstate(all="ignore"):
        assert np.isnan(grad(lambda y: np.float64(-2.0) ** y)(3.0))  # not a function of y nearby


def test_the_second_derivative_of_a_square_at_zero():
    assert hvp(lambda x: x**2, (0.0,), (1.0,)) == 2
    assert hvp(lambda x: np.power(x, 2.0), (0.0,), (1.0,)) == 2


def test_integer_exponents_keep_float32():
    x = np.array([1.5, 2.5], np.float32)
    assert elementwise_grad(lambda x: x ** np.array([2, 3]))(x).dtype == np.float32


# --- singular points


@pytest.mark.parametrize("function", [np.sqrt, np.cbrt, np.log, np.log2, np.log10, np.reciprocal])
def test_a_pole_is_infinite_where_it_is_asked_for(function):
    (slope,) = slopes(function, [0.0])
    assert np.isinf(slope[0])


@pytest.mark.parametrize("function", [np.arcsin, np.arccos, np.arctanh])
def test_the_ends_of_the_inverse_functions(function):
    (slope,) = slopes(function, [1.0])
    assert np.isinf(slope[0])


def test_no_warning_comes_from_a_derivative_at_a_singular_point():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert grad(lambda x: np.sum(np.sqrt(x)))(np.zeros(2)).tolist() == [np.inf, np.inf]


# --- magnitudes


@pytest.mark.parametrize("function", [np.absolute, np.fabs, np.sign])
def test_magnitude_and_sign_are_flat_at_zero(function):
    assert grad(function)(0.0) == 0


def test_the_magnitude_of_complex_zero_is_flat():
    assert grad(np.absolute)(0j) == 0
    assert grad(lambda z: np.real(np.sign(z)))(0j) == 0


def test_distance_and_angle_at_the_origin():
    assert [slope.item() for slope in slopes(np.hypot, 0.0, 0.0)] == [0, 0]
    assert [slope.item() for slope in slopes(np.arctan2, 0.0, 0.0)] == [0, 0]


def test_copysign_follows_both_signs():
    by_size, by_sign = slopes(
        np.copysign, [2.0, -2.0, 2.0, -2.0, 0.0], [1.0, 1.0, -1.0, -1.0, 1.0]
    )
    np.testing.assert_array_equal(by_size, [1, -1, -1, 1, 0])
    np.testing.assert_array_equal(by_sign, np.zeros(5))


def test_heaviside_varies_by_its_value_at_zero_alone():
    by_x, by_half = slopes(np.heaviside, [-1.0, 0.0, 1.0], [0.5, 0.5, 0.5])
    np.testing.assert_array_equal(by_x, [0, 0, 0])
    np.testing.assert_array_equal(by_half, [0, 1, 0])


# --- choices


@pytest.mark.parametrize("choice", [np.maximum, np.minimum, np.fmax, np.fmin])
def test_ties_share_evenly(choice):
    by_x, by_y = slopes(choice, [1.0, np.inf, -np.inf, 0.0], [1.0, np.inf, -np.inf, -0.0])
    np.testing.assert_array_equal(by_x, [0.5] * 4)
    np.testing.assert_array_equal(by_y, [0.5] * 4)


def test_a_nan_wins_or_loses_as_its_function_says():
    nan = np.nan
    for choice in (np.maximum, np.minimum):
        by_x, by_y = slopes(choice, [nan, 1.0, nan], [1.0, nan, nan])
        np.testing.assert_array_equal(by_x, [nan, 0, nan])
        np.testing.assert_array_equal(by_y, [0, nan, nan])
    for choice in (np.fmax, np.fmin):
        by_x, by_y = slopes(choice, [nan, 1.0, nan], [1.0, nan, nan])
        np.testing.assert_array_equal(by_x, [0, 1, nan])
        np.testing.assert_array_equal(by_y, [1, 0, nan])


# --- remainders


@pytest.mark.parametrize("function", [np.remainder, np.fmod, np.divmod])
def test_remainders_by_all_signs(function):
    x, y = np.meshgrid([-7.3, -2.2, 2.2, 7.3], [-2.0, 2.0])
    check_rule(function, x, y)


# --- sums of exponentials


def test_logaddexp_of_nothing():
    by_x, by_y = slopes(np.logaddexp, [-np.inf, -np.inf, 0.0], [-np.inf, 0.0, -np.inf])
    np.testing.assert_array_equal(by_x, [0, 0, 1])
    np.testing.assert_array_equal(by_y, [0, 1, 0])


@pytest.mark.parametrize("function", [np.logaddexp, np.logaddexp2])
def test_logaddexp_of_large_numbers_does_not_overflow(function):
    by_x, by_y = slopes(function, [1e4, 1e4, -1e4], [1e4, -1e4, -1e4])
    assert_close(by_x, [0.5, 1, 0.5])
    assert_close(by_y, [0.5, 0, 0.5])


def test_the_logarithm_of_a_sum_of_exponentials():
    def logsumexp(x):
        top = np.max(x)
        return top + np.log(np.sum(np.exp(x - top)))

    x = np.array([1000.0, 1001.0, 999.5])
    shares = np.exp(x - 1001) / np.sum(np.exp(x - 1001))
    assert_close(grad(logsumexp)(x), shares)
    hessian_times = hvp(logsumexp, (x,), (np.array([1.0, 0.0, 0.0]),))
    assert_close(hessian_times, shares[0] * (np.array([1.0, 0, 0]) - shares))
    assert_close(grad(np.logaddexp.reduce)(x), shares)


def test_saturated_functions_are_flat_and_not_nan():
    for function in (np.tanh, np.arctan, np.expm1):
        (slope,) = slopes(function, [-800.0])
        assert 0 <= slope[0] < 1e-5
    # An overflow within has lost what the slope is.
    with pytest.warns(RuntimeWarning, match=r"NaN in the derivative of np\.exp"):
        (slope,) = slopes(lambda x: 1 / (1 + np.exp(-x)), [-800.0])
    assert np.isnan(slope[0])


# --- complex numbers


def test_real_functions_of_complex_numbers():
    z = 1 + 2j
    assert grad(lambda z: np.abs(z) ** 2)(z) == pytest.approx(2 - 4j)
    assert grad(np.real)(z) == 1
    assert grad(np.imag)(z) == -1j
    assert grad(np.angle)(z) == pytest.approx(
        (-2 - 1j) / 5
    )  # d atan2(y, x) = (x dy - y dx) / |z|^2
    assert_close(grad(lambda z: np.angle(z, deg=True))(z), 180 / np.pi * (-2 - 1j) / 5)


@pytest.mark.parametrize(
    "function", [np.exp, np.sin, np.sqrt, np.log, np.arctan, np.tanh, np.square]
)
def test_analytic_functions_have_their_complex_derivative(function):
    z = 0.4 + 0.3j
    h = 1e-5
    difference = (function(z + h) - function(z - h)) / (2 * h)
    assert grad(function, holomorphic=True)(z) == pytest.approx(difference, rel=1e-8)


def test_parts_of_a_real_array():
    x = np.array([1.0, 2.0])
    check_rule(np.real, x)
    check_rule(np.imag, x)
    check_rule(np.conjugate, x)
    np.testing.assert_array_equal(grad(lambda x: np.sum(np.imag(x) + 0 * x))(x), [0, 0])


def test_a_real_argument_beside_a_complex_one_gets_a_real_cotangent():
    x, z = np.array([0.5, 2.0]), np.array([1 + 2j, 3 - 1j])
    for function in (np.add, np.multiply, np.divide, np.power):
        check_rule(function, x, z)
        check_rule(function, z, x)


# --- dtypes


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.longdouble, np.complex64])
@pytest.mark.parametrize(
    "function",
    [
        lambda x: 2 * np.sin(x) / 3 + x**2 - x / np.pi,
        lambda x: np.sqrt(x) + np.cbrt(np.abs(x)) + np.log1p(x) + np.exp2(x) + np.log10(x),
        lambda x: np.degrees(np.abs(x)) + np.arctan2(np.abs(x), 2.0) + np.hypot(np.abs(x), 1.0),
        lambda x: np.maximum(x, 0.25) + np.logaddexp(np.abs(x), 1.0) + np.fmod(np.abs(x), 2.0),
    ],
)
def test_python_numbers_leave_the_dtype_as_it_is(function, dtype):
    if dtype is np.complex64:
        function_of = function

        def function(x):
            return function_of(np.real(x)) + 1j * function_of(np.imag(x))

    x = np.array([0.5, 1.25]).astype(dtype) * (1 if dtype is not np.complex64 else 1 + 1j)
    x = x.astype(dtype)
    out, out_dot = jvp(function, (x,), (np.ones_like(x),))
    assert out.dtype == out_dot.dtype == function(x).dtype == np.dtype(dtype)
    (x_bar,) = vjp(function, x)[1](np.ones_like(x))
    assert x_bar.dtype == np.dtype(dtype)


@pytest.mark.parametrize(
    ("start", "target"),
    [
        (np.float64, np.float32),
        (np.float32, np.float64),
        (np.float64, complex),
        (complex, np.complex64),
    ],
)
def test_astype_casts_the_cotangent_back(start, target):
    x = np.array([0.5, 1.25]).astype(start)
    out, pullback = vjp(lambda x: x.astype(target), x)
    assert out.dtype == np.dtype(target)
    (x_bar,) = pullback(np.array([2.0, 3.0], target))
    assert x_bar.dtype == np.dtype(start)
    np.testing.assert_array_equal(x_bar, np.array([2, 3], start))


def test_two_results():
    (fraction, whole), pullback = vjp(np.modf, np.array([2.5, -1.25]))
    np.testing.assert_array_equal(whole, [2, -1])
    np.testing.assert_array_equal(pullback((np.ones(2), np.ones(2)))[0], [1, 1])
    mantissa = grad(lambda x: np.frexp(x)[0])(6.0)
    assert mantissa == 1 / 8
    assert grad(lambda x: np.ldexp(x, 3))(1.5) == 8


# --- replacing what is not a number, or not complex


def test_what_is_not_a_number_is_replaced_and_does_not_vary():
    x = np.array([1.0, np.nan, np.inf, -np.inf, -2.0])
    out, pullback = vjp(np.nan_to_num, x)
    np.testing.assert_array_equal(out, np.nan_to_num(x))
    np.testing.assert_array_equal(pullback(np.ones(5))[0], [1, 0, 0, 0, 1])
    by_all = vjp(
        lambda x, n, p: np.nan_to_num(x, nan=n, posinf=p, neginf=-7), x, 2.0, np.full(5, 3.0)
    )
    np.testing.assert_array_equal(by_all[0], [1, 2, 3, -7, -2])
    np.testing.assert_array_equal(by_all[1](np.ones(5))[1], 1)
    np.testing.assert_array_equal(by_all[1](np.ones(5))[2], [0, 0, 1, 0, 0])


def test_what_is_not_a_number_is_replaced_in_place():
    def replaced(x):
        y = x * 2
        same = np.nan_to_num(y, copy=False, nan=5.0)
        assert same is y
        return y

    out, pullback = vjp(replaced, np.array([1.0, np.nan]))
    np.testing.assert_array_equal(out, [2, 5])
    np.testing.assert_array_equal(pullback(np.ones(2))[0], [2, 0])


@pytest.mark.parametrize("dtype", [np.float32, np.complex64, np.complex128])
def test_replacements_in_other_dtypes(dtype):
    x = np.array([1.0, np.nan, np.inf], dtype)
    if x.dtype.kind == "c":
        x = x + dtype(2j)
        x[1:].imag = [np.nan, -np.inf]
    with np.errstate(invalid="ignore"):
        out, pullback = vjp(np.nan_to_num, x)
    np.testing.assert_array_equal(out, np.nan_to_num(x))
    assert out.dtype == dtype
    np.testing.assert_array_equal(pullback(np.ones(3, dtype))[0], [1, 0, 0])


def test_numbers_that_are_almost_real_become_real():
    near = np.array([1 + 1e-15j, 2.0])
    out, pullback = vjp(np.real_if_close, near)
    assert out.dtype == np.float64
    np.testing.assert_array_equal(pullback(np.array([1.0, 3.0]))[0], [1, 3])
    assert jvp(np.real_if_close, (near,), (near * 1j,))[1].dtype == np.float64
    check_rule(np.real_if_close, near, tol=1e-20)
    check_rule(np.real_if_close, np.array([1 + 0.1j, 2.0]))


@pytest.mark.parametrize("zero", [0.0, -0.0])
def test_a_root_as_a_power_rises_infinitely_at_both_zeros(zero):
    for power in (lambda x: x**0.5, lambda x: np.power(x, 0.5)):
        np.testing.assert_array_equal(grad(power)(zero), np.inf)
        x = np.array([zero, 4.0])
        np.testing.assert_array_equal(grad(lambda x, f=power: np.sum(f(x)))(x), [np.inf, 0.25])


@pytest.mark.parametrize("exponent", [0.5, 0.3])
def test_a_root_as_a_power_is_level_at_minus_infinity(exponent):
    """As NumPy's power tends to infinity there; beside a NaN that other elements have."""
    for power in (lambda x: x**exponent, lambda x: np.power(x, exponent)):
        with np.errstate(invalid="ignore"):
            slope = np.where(np.isnan(power(np.float64(-np.inf))), np.nan, 0)
            np.testing.assert_array_equal(jvp(power, (-np.inf,), (1.0,))[1], slope)
            np.testing.assert_array_equal(grad(power)(-np.inf), slope)
            x = np.array([-np.inf, -1.0, np.inf])
            slopes = np.where(np.isnan(power(x)), np.nan, 0)
            np.testing.assert_array_equal(elementwise_grad(power)(x), slopes)
            np.testing.assert_array_equal(jvp(power, (x,), (np.ones(3),))[1], slopes)


@pytest.mark.parametrize("x", [-30.0, -700.0, -1e-9, 3.0])
def test_slopes_of_expm1_keep_their_digits(x):
    """Beside -30 the value is -1 + 9e-14, to 16 digits of its own."""
    np.testing.assert_allclose(grad(np.expm1)(x), np.exp(x), rtol=1e-15)
    np.testing.assert_allclose(grad(grad(np.expm1))(x), np.exp(x), rtol=1e-15)
