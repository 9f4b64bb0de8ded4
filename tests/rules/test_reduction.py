"""Sums, products and extrema where the laws cannot look: zeros, ties, masks, empty axes."""

from __future__ import annotations

import numpy as np
import pytest
from tolerances import assert_close

import tapegrad
from tapegrad import ConversionError, grad, hessian, jvp
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
    np.testing.assert_array_equal(grad(np.max)(np.array([1.0, np.nan, 3.0])), [0, np.nan, 0])


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


def test_a_start_takes_part_in_a_tie():
    x = np.array([1.0, 4.0, 4.0])
    np.testing.assert_allclose(grad(lambda x: np.max(x, initial=4.0))(x), [0, 1 / 3, 1 / 3])
    assert grad(lambda x: np.max(x, initial=0.0))(np.zeros(0)).shape == (0,)


# --- clipping


def test_clipping():
    x = np.array([-2.0, -1.0, 0.0, 1.0, 2.0])
    slopes = grad(lambda x: np.sum(np.clip(x, -1, 1)))(x)
    np.testing.assert_array_equal(slopes, [0, 0.5, 1, 0.5, 0])  # at a bound as any tie
    check_rule(np.clip, X, -1.0, None)
    check_rule(np.clip, X, None, 1.0)
    check_rule(np.clip, X)
    check_rule(np.clip, X, [-1.0, -0.5, 0.0], 1.0)
    check_rule(np.clip, np.arange(4), np.array(0.5), np.array(2.5))
    check_rule(np.clip, X.astype(np.float32), -1, 1, dtype=np.float64)
    check_rule(np.clip, X, -1, 1, dtype=np.complex128)
    check_rule(np.clip, X + 1j, -1, 1)


@pytest.mark.parametrize(
    ("x", "slopes"), [(0.5, (0, 0.5, 0.5)), (1.0, (0, 0.5, 0.5)), (1.5, (0, 0, 1))]
)
def test_equal_bounds_leave_no_choice(x, slopes):
    assert grad(np.clip, (0, 1, 2))(x, 1.0, 1.0) == slopes


@pytest.mark.parametrize("x", [0.5, 1.0, 1.5, 2.0, 2.5])
def test_bounds_the_wrong_way_round_give_the_upper_one(x):
    assert grad(np.clip, (0, 1, 2))(x, 2.0, 1.0) == (0, 0, 1)


def test_clipping_nan():
    for given, slopes in (((np.nan, 0.0, 1.0), (1, 0, 0)), ((0.5, np.nan, 1.0), (0, 1, 0))):
        found = grad(np.clip, (0, 1, 2))(*given)
        np.testing.assert_array_equal(found, np.where(slopes, np.nan, 0))


def test_clipping_to_whole_numbers_is_constant():
    slopes = grad(lambda x: np.sum(x * np.clip(x, 0, 1, dtype=int, casting="unsafe")))(X)
    np.testing.assert_array_equal(slopes, np.clip(X, 0, 1, dtype=int, casting="unsafe"))
    with pytest.raises(TypeError, match="casting rule"):
        grad(lambda x: np.sum(np.clip(x, 0, 1, dtype=int)))(X)


def test_clipping_with_numpys_keywords():
    check_rule(lambda x, low, high: np.clip(x, min=low, max=high), X, np.array(-1.0), np.ones(3))
    with pytest.raises(ValueError, match="is forbidden"):
        grad(lambda x: np.sum(np.clip(x, 0, 1, min=0)))(X)
    with pytest.raises(TypeError, match="'a_max'"):
        grad(lambda x: np.sum(np.clip(x, 0)))(X)
    with pytest.raises(TypeError, match=r"np\.where"):
        grad(lambda x: np.sum(np.clip(x, 0, 1, where=x > 0)))(X)
    written = grad(lambda x: np.sum(np.clip(x, 0, 1, np.zeros_like(x)) * x))
    np.testing.assert_allclose(written(X), np.where(X > 1, 1, np.maximum(2 * X, 0)))


def test_a_number_has_axes_too():
    for function in (np.sum, np.prod, np.max, np.ptp, np.cumsum, np.cumprod):
        for axis in (0, -1, None):
            check_rule(function, np.array(1.5), axis=axis)
            check_rule(function, np.float64(1.5), axis=axis)


# --- dtypes, empty axes and starts


@pytest.mark.parametrize("function", [np.sum, np.prod, np.cumsum, np.cumprod])
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


@pytest.mark.parametrize("function", [np.sum, np.prod, np.cumsum, np.cumprod])
def test_results_in_whole_numbers_are_constants(function):
    x = np.array([1.0, 2.0, 3.0])
    slopes = grad(lambda x: np.sum(x * function(x, dtype=int)))(x)
    np.testing.assert_array_equal(slopes, np.zeros(3) + function(x))


@pytest.mark.parametrize("function", [np.sum, np.prod])
def test_masks_in_any_form(function):
    check_rule(function, X, axis=1, where=MASK)
    check_rule(function, X, where=MASK[0].tolist(), keepdims=True)
    check_rule(function, X, 1, None, None, True, 2.5, MASK)  # all by position


def test_numpys_errors_are_its_own():
    with pytest.raises(np.exceptions.AxisError, match="out of bounds"):
        grad(lambda x: np.sum(np.sum(x, axis=3)))(X)
    with pytest.raises(ValueError, match="no identity"):
        grad(np.max)(np.zeros(0))


# --- what has no derivative says so


def test_where_of_clip_names_the_fix():
    for out in ({}, {"out": np.zeros_like(X)}):
        with pytest.raises(TypeError, match=r"Write np\.where\(where, clipped, x\)"):
            grad(lambda x, out=out: np.sum(np.clip(x, 0, 1, where=X > 0, **out)))(X)


@pytest.mark.parametrize("function", [np.sum, np.prod, np.max, np.min, np.nansum, np.nanmax])
def test_a_traced_start_of_a_reduction_raises(function):
    with pytest.raises(TypeError, match="'initial'"):
        grad(lambda x: function(x, initial=x[0, 0]))(X)
    with pytest.raises(ConversionError, match="derivative would be lost"):  # by a plain array
        grad(lambda start: function(X, initial=start))(1.0)


@pytest.mark.parametrize(
    "options",
    [
        {"dtype": np.float32},
        {"dtype": complex},
        {"dtype": int, "casting": "unsafe"},
    ],
    ids=str,
)
def test_clipping_to_a_dtype_inside_vmap(options):
    def clipped(x):
        return np.clip(x, -0.5, 1, **options)

    np.testing.assert_array_equal(tapegrad.vmap(clipped)(X), clipped(X), strict=True)
    np.testing.assert_array_equal(tapegrad.vmap(tapegrad.vmap(clipped))(X), clipped(X))
    if options["dtype"] is np.float32:
        slopes = tapegrad.vmap(grad(lambda x: np.sum(clipped(x))))(X)
        np.testing.assert_array_equal(slopes, (X > -0.5) & (X < 1))
    with pytest.raises(TypeError, match="same_kind"):
        tapegrad.vmap(lambda x: np.clip(x, 0, 1, dtype=int))(X)


@pytest.mark.parametrize("special", [None, np.nan])
def test_clip_of_many_elements_shares_a_cotangent_at_its_bounds(special):
    x = np.linspace(-2, 2, 2001)
    x[[500, 1500]] = -1, 1
    expected = np.where(np.abs(x) < 1, np.cos(np.clip(x, -1, 1)), 0)
    expected[[500, 1500]] = np.cos(1) / 2
    if special is not None:
        x[7] = special
        expected[(expected != 0) | np.isnan(x)] = special  # the sum is NaN
    found = grad(lambda x: np.sum(np.sin(np.clip(x, -1.0, 1.0))))(x)
    np.testing.assert_allclose(found, expected)
