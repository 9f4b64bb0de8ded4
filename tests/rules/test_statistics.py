"""Medians and quantiles: ties, NaN, weights, slopes by q, NumPy's own errors."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from tapegrad import IndependentOutputWarning, grad, hessian, jvp, vjp
from tapegrad.testing import check_rule

X = np.array([[0.3, -1.2, 2.1, 0.9], [1.7, 0.4, -0.6, -2.2], [0.1, 1.3, -0.8, 0.55]])
CUBE = np.stack([X, 1.37 * X + 0.1])
THREE = np.array([1.0, 2.0, 4.0])
WEIGHTS = np.array([0.2, 0.5, 0.3, 0.7])
CONTINUOUS = [
    "interpolated_inverted_cdf",
    "hazen",
    "weibull",
    "linear",
    "median_unbiased",
    "normal_unbiased",
]
STEPS = [
    "lower",
    "higher",
    "midpoint",
    "nearest",
    "inverted_cdf",
    "averaged_inverted_cdf",
    "closest_observation",
]


# --- medians


def test_medians_along_any_axes():
    for axis in (None, 0, -1, (0, 2), (-1, -2)):
        check_rule(np.median, CUBE, axis)
        check_rule(np.median, CUBE, axis=axis, keepdims=True)
    check_rule(np.median, X[:, :3] + 1j * X[:, 1:])
    check_rule(np.median, np.float64(1.5))


@pytest.mark.parametrize(
    ("x", "slopes"),
    [
        ([1, 1, 1], [1 / 3] * 3),
        ([1, 1, 2, 2], [1 / 4] * 4),
        ([1, 2, 2, 3], [0, 1 / 2, 1 / 2, 0]),
        ([2, 2, 1, 5, 2], [1 / 3, 1 / 3, 0, 0, 1 / 3]),
    ],
)
def test_elements_that_tie_share_evenly(x, slopes):
    x = np.array(x, float)
    np.testing.assert_allclose(grad(np.median)(x), slopes)
    np.testing.assert_allclose(grad(np.nanmedian)(np.append(x, np.nan)), [*slopes, 0])
    np.testing.assert_allclose(grad(np.quantile)(x, 0.5), slopes)
    assert jvp(np.median, (x,), (x,))[1] == np.median(x)


@pytest.mark.parametrize("size", [20, 64, 300])  # of more elements, few are put in order
@pytest.mark.parametrize(
    "function",
    [
        np.median,
        np.nanmedian,
        *(partial(np.quantile, q=np.array([0.1, 0.52]), method=m) for m in ("linear", *STEPS[:4])),
    ],
)
def test_of_many_elements_too_those_that_tie_share_evenly(function, size):
    x = np.random.default_rng(size).permutation(np.repeat(np.arange(size / 2), 2))
    slope = grad(lambda x: np.sum(function(x)))(x)
    np.testing.assert_allclose(np.sum(slope), np.size(function(x)))
    for value in np.unique(x):
        assert np.ptp(slope[x == value]) == 0


def test_the_quantiles_at_the_ends_are_the_extrema():
    x = np.array([3.0, 1.0, 3.0, 1.0, 2.0])
    for method in CONTINUOUS + STEPS:
        np.testing.assert_array_equal(
            grad(lambda x, m=method: np.quantile(x, 1.0, method=m))(x), grad(np.max)(x)
        )
        np.testing.assert_array_equal(
            grad(lambda x, m=method: np.quantile(x, 0.0, method=m))(x), grad(np.min)(x)
        )


def test_many_elements_are_partitioned_not_sorted():
    x = np.random.default_rng(0).permutation(np.arange(100.0))
    np.testing.assert_array_equal(grad(np.median)(x), ((x == 49) + (x == 50)) / 2)
    x[x == 50] = 49
    np.testing.assert_allclose(grad(np.median)(x), (x == 49) / 2)
    check_rule(np.quantile, x[x != 49], [0.123, 0.777])


def test_a_nan_takes_the_gradient_of_its_row():
    rows = np.array([[1.0, np.nan, 3.0], [3.0, 1.0, 2.0]])
    for function in (np.median, lambda x, axis: np.quantile(x, 0.5, axis)):
        with np.errstate(invalid="ignore"):
            slopes = grad(lambda x, f=function: np.sum(f(x, axis=1)))(rows)
        np.testing.assert_array_equal(slopes, [[0, np.nan, 0], [0, 0, np.nan]])


@pytest.mark.parametrize("function", [np.median, np.nanmedian])
def test_what_the_tape_needs_is_not_overwritten(function):
    x = np.array([3.0, 1.0, 2.0])
    slopes = grad(lambda x: function(x * x, overwrite_input=True) + np.sum(x * x))(x)
    np.testing.assert_array_equal(slopes, [6, 2, 8])
    np.testing.assert_array_equal(x, [3, 1, 2])
    quantiles = grad(lambda x: np.quantile(x * x, 0.5, overwrite_input=True) + np.sum(x * x))(x)
    np.testing.assert_array_equal(quantiles, [6, 2, 8])


def test_medians_of_nothing_are_numpys():
    with (
        pytest.warns(RuntimeWarning, match="Mean of empty slice"),
        pytest.warns(IndependentOutputWarning),
        np.errstate(invalid="ignore"),
    ):
        assert grad(np.median)(np.zeros(0)).shape == (0,)


# --- quantiles


@pytest.mark.part(12)
@pytest.mark.parametrize("method", CONTINUOUS + STEPS)
@pytest.mark.parametrize("function", [np.quantile, np.percentile])
def test_every_method(function, method):
    whole = 1 if function is np.quantile else 100
    for q in (0.37 * whole, [0.13 * whole, 0.61 * whole], np.array([[0.37 * whole]])):
        check_rule(function, X, q, method=method)
        check_rule(function, CUBE, q, (0, -1), method=method, keepdims=True)
        check_rule(function, X.astype(np.float32), q, 0, None, False, method)


@pytest.mark.parametrize("method", STEPS)
def test_where_the_value_jumps_the_slope_by_q_is_zero(method):
    with pytest.warns(IndependentOutputWarning):
        assert grad(lambda q: np.quantile(THREE, q, method=method))(0.4) == 0


@pytest.mark.parametrize(("q", "slope"), [(0, 2), (0.25, 2), (0.5, 3), (0.75, 4), (1, 4)])
def test_the_slope_by_q_on_an_element_is_the_mean_of_both_sides(q, slope):
    """At the ends of the range there is one side."""
    assert grad(np.quantile, 1)(THREE, float(q)) == slope
    assert grad(np.percentile, 1)(THREE, 100.0 * q) == slope / 100


def test_beyond_the_outermost_places_the_slope_by_q_is_zero():
    slopes = [grad(lambda q: np.quantile(THREE, q, method="hazen"))(q) for q in (0.0, 0.1, 1.0)]
    assert slopes == [0, 0, 0]


@pytest.mark.parametrize("q", [0.3, 0.5])
def test_second_derivatives_are_symmetric(q):
    blocks = hessian(np.quantile, (0, 1))(THREE, q)
    expected = [-2, 2, 0] if q == 0.3 else [-1, 0, 1]
    np.testing.assert_array_equal(blocks[0][1], expected)
    np.testing.assert_array_equal(blocks[1][0], expected)


def test_weights_choose_but_carry_no_derivative():
    options = {"method": "inverted_cdf"}
    check_rule(np.quantile, X, 0.3, 1, weights=WEIGHTS, **options)
    check_rule(np.quantile, X, [0.3, 0.8], weights=np.abs(X), **options)
    check_rule(np.quantile, CUBE, 0.3, (0, 2), weights=np.abs(CUBE[:, 0]), **options)
    check_rule(np.percentile, X, 30.0, 1, weights=[0, 1, 0, 2], **options)
    with pytest.warns(IndependentOutputWarning):
        slopes = grad(lambda w: np.quantile(X[0], 0.3, weights=w, **options))(WEIGHTS)
    np.testing.assert_array_equal(slopes, np.zeros(4))


def test_a_weight_of_zero_takes_no_part_in_a_tie():
    x = np.array([1.0, 1.0, 3.0])
    options = {"method": "inverted_cdf", "weights": [0, 1, 1]}
    np.testing.assert_array_equal(grad(lambda x: np.quantile(x, 0.5, **options))(x), [0, 1, 0])


def test_results_are_written_into_traced_arrays():
    slopes = grad(lambda x: np.sum(np.quantile(x, [0.25, 0.5], out=np.zeros_like(x[:2]))))(
        np.array([4.0, 1.0, 2.0, 3.0, 5.0])
    )
    np.testing.assert_array_equal(slopes, [0, 0, 1, 1, 0])
    kept = grad(lambda x: np.sum(np.median(x, 1, np.zeros_like(x[:, :1]), False, True)))(X[:, :3])
    assert kept.sum() == 3


def test_errors_of_quantiles_are_numpys():
    for q, options, error, match in (
        (2.0, {}, ValueError, "must be in the range"),
        (0.3, {"method": "widest"}, ValueError, "not a valid method"),
        (0.3, {"weights": WEIGHTS}, ValueError, "supports weights"),
    ):
        with pytest.raises(error, match=match):
            grad(lambda x, q=q, options=options: np.quantile(x, q, **options))(X[0])
    with pytest.raises(TypeError, match="real numbers"):
        grad(lambda x: np.real(np.quantile(x, 0.3)))(X[0] + 1j)


@pytest.mark.part(3)
@pytest.mark.parametrize("shape", [(5,), (6,), (4, 5), (3, 2, 4), (1,), (2, 1)])
@pytest.mark.parametrize("keepdims", [False, True])
def test_planned_medians_share_ties_as_the_rule_does(shape, keepdims):
    rng = np.random.default_rng(0)
    for axis in (None, *range(-1, len(shape))):
        for x in (rng.normal(size=shape), np.round(rng.normal(size=shape)), np.ones(shape)):
            dot = rng.normal(size=shape)
            options = {"axis": axis, "keepdims": keepdims}
            wanted, pull = vjp(partial(np.nanmedian, **options), x)  # is not planned
            bar = rng.normal(size=np.shape(wanted))
            for _ in range(2):
                out, pullback = vjp(partial(np.median, **options), x)
                assert type(out) is type(wanted)
                np.testing.assert_array_equal(out, wanted)
                np.testing.assert_allclose(pullback(bar)[0], pull(bar)[0], 1e-12, 1e-15)
                found = jvp(partial(np.median, **options), (x,), (dot,))[1]
                along = jvp(partial(np.nanmedian, **options), (x,), (dot,))[1]
                np.testing.assert_allclose(found, along, 1e-12, 1e-15)
