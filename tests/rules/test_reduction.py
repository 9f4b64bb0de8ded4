"""Sums, products and extrema where the laws cannot look: zeros, ties, masks, empty axes."""

from __future__ import annotations

import numpy as np
import pytest
from tolerances import assert_close

from tapegrad import grad, hessian, jvp
from tapegrad.testing import check_grads, check_rule

X = np.array([[0.3, -1.2, 2.1], [1.7, 0.4, -0.6]])
MASK = np.array([[True, False, True], [True, True, False]])


# --- products


@pytest.mark.parametrize(
    ("x", "expected"),
    [
        ([0.0, 2, 3], [6, 0, 0]),
        ([0.0, 0, 3], [0, 0, 0]),
        ([4.0], [1]),
        ([2.0, 0, 3, 5], [0, 30, 0, 0]),
    ],
)
def test_the_gradient_of_a_product_with_zeros(x, expected):
    np.testing.assert_array_equal(grad(np.prod)(np.array(x)), expected)
    np.testing.assert_array_equal(grad(lambda x: np.cumprod(x)[-1])(np.array(x)), expected)


@pytest.mark.parametrize("product", [np.prod, lambda x: np.cumprod(x)[-1]])
def test_higher_derivatives_of_a_product_with_zeros(product):
    x = np.array([0.0, 0.0, 3.0])
    np.testing.assert_array_equal(hessian(product)(x), [[0, 3, 0], [3, 0, 0], [0, 0, 0]])
    check_grads(product, (x,), order=3)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 7, 8, 9])
def test_products_of_any_count(size):
    x = np.linspace(0.5, 1.5, size)
    assert_close(grad(np.prod)(x), np.prod(x) / x)
    check_rule(np.cumprod, x)


# --- extrema


@pytest.mark.parametrize("function", [np.max, np.min])
def test_ties_share_evenly(function):
    np.testing.assert_array_equal(grad(function)(np.array([2.0, 2, 2, 2])), [0.25] * 4)
    ties = grad(lambda x: np.sum(function(x, axis=0)))(np.array([[1.0, 2], [1, 3]]))
    np.testing.assert_array_equal(ties[:, 0], [0.5, 0.5])


def test_the_slope_along_a_tie_is_the_mean_of_those_that_tie():
    x_dot = np.array([1.0, 0.0, 5.0])
    assert jvp(np.max, (np.array([2.0, 2.0, 1.0]),), (x_dot,))[1] == 0.5


def test_a_nan_takes_the_whole_gradient_of_an_extremum():
    np.testing.assert_array_equal(grad(np.max)(np.array([1.0, np.nan, 3.0])), [0, 1, 0])


def test_extrema_of_infinities():
    np.testing.assert_array_equal(grad(np.max)(np.array([-np.inf, np.inf])), [0, 1])


@pytest.mark.parametrize("function", [np.max, np.min])
def test_extrema_with_masks_and_a_bound(function):
    bound = -5.0 if function is np.max else 5.0
    check_rule(function, X, axis=1, where=MASK, initial=bound)
    at_the_bound = grad(lambda x: np.sum(function(x, initial=-bound)))(X)
    np.testing.assert_array_equal(at_the_bound, np.zeros_like(X))


def test_the_range_of_equal_values_is_flat():
    np.testing.assert_array_equal(grad(np.ptp)(np.ones(3)), np.zeros(3))


def test_clipping():
    x = np.array([-2.0, -1.0, 0.0, 1.0, 2.0])
    slopes = grad(lambda x: np.sum(np.clip(x, -1, 1)))(x)
    np.testing.assert_array_equal(slopes, [0, 0.5, 1, 0.5, 0])  # at a bound as any tie
    check_rule(np.clip, X, -1.0, None)
    check_rule(np.clip, X, None, 1.0)
    check_rule(lambda x, low, high: np.clip(x, min=low, max=high), X, np.array(-1.0), np.ones(3))


# --- moments


@pytest.mark.parametrize("function", [np.std, np.var])
def test_the_spread_of_equal_values_is_flat(function):
    np.testing.assert_array_equal(grad(function)(np.full(4, 1.5)), np.zeros(4))
    by_rows = grad(lambda x: np.sum(function(x, axis=1)))(np.array([[1.0, 1], [1, 2]]))
    np.testing.assert_array_equal(by_rows[0], [0, 0])
    assert np.all(by_rows[1] != 0)


@pytest.mark.parametrize("function", [np.mean, np.var, np.std, np.sum, np.prod])
def test_masks(function):
    check_rule(function, X, axis=1, where=MASK)
    check_rule(function, X, where=MASK, keepdims=True)


@pytest.mark.parametrize("function", [np.var, np.std])
def test_degrees_of_freedom(function):
    check_rule(function, X, axis=1, ddof=1)
    check_rule(function, X, axis=(0, 1), ddof=0.5)


def test_a_variance_about_a_given_mean():
    mean = np.mean(X, axis=1, keepdims=True) + 0.1
    check_rule(np.var, X, axis=1, mean=mean)


def test_a_variance_without_degrees_of_freedom_is_no_error_of_ours():
    with np.errstate(all="ignore"), pytest.warns(RuntimeWarning, match="Degrees of freedom"):
        expected = np.var(np.ones(1), ddof=1)
    assert np.isnan(expected)


def test_averages():
    weights = np.array([0.2, 0.5, 0.3])
    check_rule(np.average, X, axis=1, weights=weights)
    check_rule(np.average, X, axis=(0, 1), weights=np.abs(X))
    check_rule(np.average, X, axis=0, returned=True)
    check_rule(np.average, X, axis=1, weights=weights, returned=True, keepdims=True)


# --- dtypes, empty axes and starts


@pytest.mark.parametrize(
    "function", [np.sum, np.prod, np.mean, np.cumsum, np.cumprod, np.var, np.std]
)
def test_a_wider_dtype_for_the_result(function):
    check_rule(function, X.astype(np.float32), axis=0, dtype=np.float64)
    check_rule(function, X, axis=0, dtype=np.float64)


@pytest.mark.parametrize("function", [np.sum, np.prod])
def test_empty_arrays_have_empty_gradients(function):
    assert grad(function)(np.ones((0, 3))).shape == (0, 3)
    assert grad(lambda x: np.sum(function(x, axis=0)))(np.ones((0, 3))).shape == (0, 3)


@pytest.mark.parametrize("function", [np.sum, np.prod])
def test_a_start_is_a_constant(function):
    check_rule(function, X, axis=0, initial=2.5)


def test_all_axes_named_and_none():
    for axis in [(0, 1), (-1, 0), (), None]:
        check_rule(np.sum, X, axis=axis)
        check_rule(np.prod, X, axis=axis)
