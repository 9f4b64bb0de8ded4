"""Reductions that leave NaN out: masks, slices without anything in them, NumPy's warnings."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from tapegrad import grad, hessian
from tapegrad.testing import check_rule

HOLED = np.array([[0.3, np.nan, 2.1, -0.7], [1.7, 0.4, -0.6, np.nan], [0.2, 1.3, -0.9, 0.8]])
MASK = np.array([[True, True, False, True], [True, True, True, True], [False, True, True, True]])
EMPTY = np.full(3, np.nan)

FOLDS = [np.nansum, np.nanprod]
MEANS = [np.nanmean, np.nanvar, np.nanstd]
EXTREMA = [np.nanmax, np.nanmin]
SORTED = [np.nanmedian]


def quietly(function, *args):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return function(*args)


@pytest.mark.parametrize("function", [*FOLDS, *MEANS, *EXTREMA, *SORTED])
def test_a_nan_gets_the_derivative_zero_and_the_others_that_of_the_rest(function):
    ordinary = getattr(np, function.__name__.removeprefix("nan"))
    row = HOLED[0]
    rest = ~np.isnan(row)
    expected = np.zeros(4)
    expected[rest] = grad(ordinary)(row[rest])
    np.testing.assert_allclose(grad(function)(row), expected)


@pytest.mark.parametrize("function", [*MEANS, *EXTREMA, *SORTED])
def test_nothing_but_nan_has_the_gradient_zero_and_numpys_warning(function):
    with pytest.warns(RuntimeWarning):
        slope = grad(function)(EMPTY)
    np.testing.assert_array_equal(slope, np.zeros(3))


@pytest.mark.parametrize("function", [*FOLDS, np.nancumsum, np.nancumprod])
def test_a_fold_of_nothing_is_silent(function):
    np.testing.assert_array_equal(grad(lambda x: np.sum(function(x)))(EMPTY), np.zeros(3))


@pytest.mark.parametrize("function", [*MEANS, *EXTREMA, *SORTED])
def test_a_row_of_nan_leaves_the_gradients_of_the_others_alone(function):
    rows = np.stack([HOLED[0], np.full(4, np.nan)])

    def first(x):
        return np.where([True, False], function(x, axis=1), 0)[0]

    slopes = quietly(grad(first), rows)
    np.testing.assert_allclose(slopes[0], grad(function)(HOLED[0]))
    np.testing.assert_array_equal(slopes[1], np.zeros(4))


@pytest.mark.parametrize("function", [*FOLDS, *MEANS])
def test_masks_beside_nan(function):
    check_rule(function, HOLED, axis=1, where=MASK)
    check_rule(function, HOLED, where=MASK[0], keepdims=True)
    check_rule(function, HOLED.astype(np.float32), axis=0, dtype=np.float64)
    check_rule(function, HOLED + 1j, axis=(0, 1))


@pytest.mark.parametrize("function", EXTREMA)
def test_extrema_with_a_start(function):
    start = -9.0 if function is np.nanmax else 9.0
    check_rule(function, HOLED, axis=0, initial=start, where=MASK)
    beyond = grad(lambda x: function(x, initial=-start))(HOLED)
    np.testing.assert_array_equal(beyond, np.zeros_like(HOLED))


def test_extrema_share_ties_but_not_with_nan():
    slope = grad(np.nanmax)(np.array([2.0, np.nan, 2.0, 1.0]))
    np.testing.assert_array_equal(slope, [0.5, 0, 0.5, 0])


@pytest.mark.parametrize("function", [np.nanvar, np.nanstd])
def test_variances_with_degrees_and_means(function):
    check_rule(function, HOLED, axis=1, ddof=1)
    check_rule(function, HOLED, axis=1, correction=0.5, keepdims=True)
    check_rule(function, HOLED, axis=1, mean=np.array([[0.1], [0.2], [-0.1]]))
    with pytest.raises(ValueError, match="ddof and correction"):
        grad(lambda x: function(x, ddof=1, correction=1))(HOLED)


def test_equal_values_beside_nan_are_flat():
    flat = np.array([0.1, 0.1, np.nan, 0.1])
    np.testing.assert_array_equal(grad(np.nanstd)(flat), np.zeros(4))
    np.testing.assert_array_equal(hessian(np.nanstd)(flat), np.zeros((4, 4)))


@pytest.mark.parametrize("function", [np.nancumsum, np.nancumprod])
def test_running_folds(function):
    check_rule(function, HOLED)
    check_rule(function, HOLED, -1)
    check_rule(function, HOLED.astype(np.float32), 0, np.float64)


def test_positions_are_plain_and_numpys_errors_its_own():
    assert grad(lambda x: x[np.nanargmax(x)])(HOLED[0]).tolist() == [0, 0, 1, 0]
    assert grad(lambda x: x[np.nanargmin(x, axis=0)])(HOLED[0]).tolist() == [0, 0, 0, 1]
    with pytest.raises(ValueError, match="All-NaN slice"):
        grad(lambda x: x[np.nanargmax(x)])(EMPTY)
    with pytest.raises(TypeError, match="dtype must be inexact"):
        grad(lambda x: np.nanmean(x, dtype=int))(HOLED)


@pytest.mark.part(2)
@pytest.mark.parametrize("function", [np.nanquantile, np.nanpercentile])
def test_quantiles_of_what_is_left(function):
    whole = 1 if function is np.nanquantile else 100
    for q in (0.37 * whole, [0.13 * whole, 0.61 * whole], np.array([0.37 * whole])):
        check_rule(function, HOLED, q, axis=1)
        check_rule(function, HOLED, q, keepdims=True, method="hazen")
        check_rule(function, HOLED, q, 0, method="averaged_inverted_cdf")
    np.testing.assert_array_equal(quietly(grad(function), EMPTY, 0.3), np.zeros(3))
    weighted = grad(
        lambda x: function(x, 0.3 * whole, method="inverted_cdf", weights=[1, 9, 1, 1])
    )
    np.testing.assert_array_equal(weighted(HOLED[0]), [0, 0, 0, 1])


def test_a_result_is_written_into_a_traced_array():
    slope = grad(lambda x: np.sum(np.nansum(x + x, 0, out=np.zeros_like(x[0]))))(HOLED)
    np.testing.assert_array_equal(slope, 2.0 * ~np.isnan(HOLED))
