"""Means, variances and covariances where the laws cannot look."""

from __future__ import annotations

import numpy as np
import pytest
from tolerances import assert_close

from tapegrad import grad, hessian, jvp
from tapegrad.testing import check_grads, check_rule

X = np.array([[0.3, -1.2, 2.1], [1.7, 0.4, -0.6]])
MASK = np.array([[True, False, True], [True, True, False]])
WEIGHTS = np.array([0.2, 0.5, 0.3])


# --- variances


@pytest.mark.parametrize("function", [np.std, np.var])
def test_the_spread_of_equal_values_is_flat(function):
    np.testing.assert_array_equal(grad(function)(np.full(4, 1.5)), np.zeros(4))
    by_rows = grad(lambda x: np.sum(function(x, axis=1)))(np.array([[1.0, 1], [1, 2]]))
    np.testing.assert_array_equal(by_rows[0], [0, 0])
    assert np.all(by_rows[1] != 0)


def test_equal_values_are_flat_though_their_mean_is_rounded():
    flat = np.full(3, 0.1)
    assert np.std(flat) > 0
    np.testing.assert_array_equal(grad(np.std)(flat), np.zeros(3))
    np.testing.assert_array_equal(hessian(np.std)(flat), np.zeros((3, 3)))
    np.testing.assert_array_equal(grad(np.std)(np.full(3, 0.1 + 0.3j)), np.zeros(3))
    masked = grad(lambda x: np.std(x, where=[True, True, True, False]))
    np.testing.assert_array_equal(masked(np.append(flat, 7.0)), np.zeros(4))
    by_rows = grad(lambda x: np.sum(np.std(x, axis=1)))(np.stack([flat, [1.0, 2.0, 3.0]]))
    np.testing.assert_array_equal(by_rows[0], np.zeros(3))
    assert np.all(by_rows[1, ::2] != 0)


@pytest.mark.parametrize("function", [np.mean, np.var, np.std])
def test_masks(function):
    check_rule(function, X, axis=1, where=MASK)
    check_rule(function, X, where=MASK, keepdims=True)
    check_rule(function, X + 2j * X[::-1], where=MASK[0].tolist())


@pytest.mark.parametrize("function", [np.mean, np.var, np.std])
def test_what_is_masked_out_may_be_nan(function):
    x = np.where(MASK, X, np.nan)
    slopes = grad(lambda x: function(x, where=MASK))(x)
    np.testing.assert_allclose(slopes[MASK], grad(function)(X[MASK]))
    np.testing.assert_array_equal(slopes[~MASK], [0, 0])


@pytest.mark.parametrize("function", [np.var, np.std])
def test_degrees_of_freedom(function):
    check_rule(function, X, axis=1, ddof=1)
    check_rule(function, X, axis=(0, 1), ddof=0.5)
    check_rule(function, X, axis=1, correction=1, keepdims=True)
    check_rule(function, X, 1, None, None, 1, True)  # all by position
    with pytest.raises(ValueError, match="ddof and correction"):
        grad(lambda x: function(x, ddof=1, correction=1))(X)


@pytest.mark.parametrize("function", [np.var, np.std])
def test_a_variance_about_a_given_mean(function):
    mean = np.mean(X, axis=1, keepdims=True) + 0.1
    check_rule(function, X, axis=1, mean=mean)
    check_rule(function, X, mean=np.array(0.2))
    check_rule(function, X, axis=0, where=MASK, mean=np.array([[0.1, 0.2, 0.3]]))
    check_rule(function, X + 1j, axis=1, mean=mean * (1 - 1j))
    assert_close(grad(lambda x: function(x, mean=np.mean(x)))(X), grad(function)(X))


@pytest.mark.parametrize("function", [np.mean, np.var, np.std])
def test_a_wider_dtype_for_the_result(function):
    check_rule(function, X.astype(np.float32), axis=0, dtype=np.float64)
    check_rule(function, X, axis=0, dtype=np.complex128)
    check_rule(function, X + 1j * X[::-1], axis=1, dtype=np.complex128)
    slopes = grad(lambda x: np.sum(x * function(x, dtype=int)))(X)
    np.testing.assert_array_equal(slopes, np.zeros_like(X) + function(X, dtype=int))


def test_a_slice_without_degrees_of_freedom_does_not_spoil_the_others():
    def first(x):
        spread = np.var(x, axis=1, ddof=1, where=[[True] * 3, [True, False, False]])
        return np.where([True, False], spread, 0)[0]

    with pytest.warns(RuntimeWarning), np.errstate(invalid="ignore"):
        slopes = grad(first)(X)
    assert_close(slopes, np.stack([grad(lambda x: np.var(x, ddof=1))(X[0]), np.zeros(3)]))


def test_a_mean_of_nothing_warns_as_numpys_and_has_the_gradient_zero():
    with pytest.warns(RuntimeWarning, match="Mean of empty slice"), np.errstate(invalid="ignore"):
        slope = grad(lambda x: np.mean(x, where=False))(X)
    np.testing.assert_array_equal(slope, np.zeros_like(X))


# --- averages


def test_averages():
    check_rule(np.average, X, axis=1, weights=WEIGHTS)
    check_rule(np.average, X, axis=(0, 1), weights=np.abs(X))
    check_rule(np.average, X, axis=0, returned=True)
    check_rule(np.average, X, axis=1, weights=WEIGHTS, returned=True, keepdims=True)
    check_rule(np.average, X, 1, WEIGHTS.tolist())
    check_rule(np.average, np.arange(6).reshape(2, 3), 1, WEIGHTS)
    check_rule(np.average, X.astype(np.float32), 1, WEIGHTS, returned=True)
    check_rule(np.average, X + 1j, 1, WEIGHTS)


def test_axes_of_weights_come_in_any_order():
    cube = np.stack([X, 2 * X[::-1] + 0.1])
    check_rule(np.average, cube, axis=(2, 0), weights=np.abs(cube[:, 0]).T.copy())


def test_errors_of_averages_are_numpys():
    with pytest.raises(ZeroDivisionError, match="sum to zero"):
        grad(lambda x: np.average(x, axis=1, weights=[1, 0, -1])[0])(X)
    with pytest.raises(TypeError, match="Axis must be specified"):
        grad(lambda x: np.average(x, weights=WEIGHTS))(X)
    with pytest.raises(ValueError, match="must be consistent"):
        grad(lambda x: np.average(x, axis=0, weights=WEIGHTS)[0])(X)


# --- covariances


@pytest.mark.parametrize("function", [np.cov, np.corrcoef])
def test_variables_in_rows_columns_and_both_arguments(function):
    check_rule(function, X)
    check_rule(function, X.T, None, False)
    check_rule(function, X, X[::-1] * X + 0.2)
    check_rule(function, X[0], X[1])
    check_rule(function, X.T, X.T[:, ::-1] ** 2, False)
    check_rule(function, X + 1j * X[::-1])
    check_rule(function, X, [1, 5, 2])


def test_covariances_with_weights_and_degrees():
    for options in ({"bias": True}, {"ddof": 0}, {"ddof": 2, "bias": True}):
        check_rule(np.cov, X, **options)
    check_rule(np.cov, X, fweights=[1, 2, 1])
    check_rule(np.cov, X, fweights=np.array([1, 2, 1]), aweights=WEIGHTS.tolist())
    check_grads(lambda x, w: np.cov(x, aweights=w), (X, WEIGHTS), order=2)
    check_grads(lambda x, w: np.cov(x, fweights=[1, 2, 1], aweights=w), (X, WEIGHTS), order=2)
    single = jvp(lambda x: np.cov(x, dtype=np.float32), (X,), (X,))
    assert single[0].dtype == single[1].dtype == np.float32


def test_a_correlation_of_one_keeps_its_second_derivative():
    def correlation(x):
        return np.corrcoef(x, np.array([1.0, 2.0, 3.0, 4.0]))[0, 1]

    x = np.array([1.0, 2.0, 3.0, 4.0])
    np.testing.assert_allclose(grad(correlation)(x), np.zeros(4), atol=1e-15)
    bent = hessian(correlation)(x)
    near = hessian(correlation)(x + 1e-7 * np.array([1, -1, -1, 1]))
    np.testing.assert_allclose(bent, near, atol=1e-6)
    assert np.abs(bent).max() > 0.1


def test_errors_of_covariances_are_numpys():
    for options, error, match in (
        ({"ddof": 0.5}, ValueError, "ddof must be integer"),
        ({"aweights": [1, -1, 1]}, ValueError, "cannot be negative"),
        ({"fweights": [1.5, 1, 1]}, TypeError, "must be integer"),
        ({"fweights": [1, 1]}, RuntimeError, "incompatible numbers"),
    ):
        with pytest.raises(error, match=match):
            grad(lambda x, options=options: np.sum(np.cov(x, **options)))(X)
    with pytest.raises(ValueError, match="more than 2 dimensions"):
        grad(lambda x: np.sum(np.cov(x)))(X[None])
    with pytest.warns(RuntimeWarning, match="Degrees of freedom"), np.errstate(all="ignore"):
        assert np.isnan(grad(lambda x: np.sum(np.cov(x)))(X[:, :1])).all()
