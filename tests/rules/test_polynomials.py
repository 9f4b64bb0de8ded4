"""Polynomials: zeros that NumPy leaves out, roots that meet or vanish, every form of a fit."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest
from tolerances import assert_close

from tapegrad import grad, hessian, jacobian, vjp
from tapegrad.testing import check_grads, check_rule

P = np.array([1.5, -2.0, 0.5, 3.0])
Q = np.array([2.0, -0.7])


# --- arithmetic


@pytest.mark.part(3)
@pytest.mark.parametrize("function", [np.polyadd, np.polysub, np.polymul, np.polydiv])
@pytest.mark.parametrize("pair", [(P, Q), (Q, P), (P, P + 1), (P[:1], Q)])
def test_arithmetic_of_any_lengths(function, pair):
    check_rule(function, *pair)
    check_rule(function, pair[0] * (1 + 2j), pair[1])


@pytest.mark.parametrize("function", [np.polyadd, np.polysub, np.polymul, np.polydiv])
def test_arithmetic_with_numbers_lists_and_polynomials(function):
    check_rule(function, P, np.array(2.0))
    check_rule(function, P, [2, 3])
    check_rule(function, [2, 3, 1], Q)
    assert isinstance(function(P, np.poly1d(Q)), (np.poly1d, tuple))
    through = grad(lambda p: sum(np.sum(part**2) for part in parts_of(function(p, np.poly1d(Q)))))
    directly = grad(lambda p: sum(np.sum(part**2) for part in parts_of(function(p, Q))))
    assert_close(through(P), directly(P))


def parts_of(result):
    parts = result if isinstance(result, tuple) else (result,)
    return [part.coeffs if isinstance(part, np.poly1d) else part for part in parts]


def test_leading_zeros_of_a_product_have_their_derivatives():
    x, y = np.array([0.0, 2.0]), np.array([3.0, 5.0])
    out, pullback = vjp(np.polymul, x, y)
    np.testing.assert_array_equal(out, np.polymul(x, y))
    np.testing.assert_array_equal(pullback(np.array([1.0, 10.0]))[0], [5, 53])
    for zeros in (np.zeros(2), np.zeros(0)):
        np.testing.assert_array_equal(vjp(np.polymul, zeros, y)[0], np.polymul(zeros, y))


@pytest.mark.parametrize(
    "pair",
    [
        ([1.0, 3, 2], [1.0, 1]),  # nothing remains
        ([1.0, 0, 0, 5], [1.0, 0, 0]),  # a remainder with a leading zero
        ([1e12, 3, 2], [7.0, 1, 3]),  # a large one, whose rounding NumPy keeps
        ([4.0], [2.0]),
        ([0.0, 0.0, 1.0], [1.0, 2.0]),
    ],
)
def test_a_remainder_is_as_long_as_numpys(pair):
    u, v = map(np.array, pair)
    found, expected = vjp(np.polydiv, u, v)[0], np.polydiv(u, v)
    for part, other in zip(found, expected, strict=True):
        assert part.shape == other.shape
        np.testing.assert_allclose(part, other, rtol=1e-12, atol=1e-3 if u[0] > 1e9 else 1e-12)


def test_slopes_and_integrals_of_polynomials():
    for m in range(6):
        check_rule(np.polyder, P, m)
    check_rule(np.polyint, P, 2, np.array([1.0, -2.0]))
    check_rule(np.polyint, P, 3, [1, 2, 3])
    check_rule(np.polyint, P, k=np.array(3.0))
    with pytest.raises(ValueError, match="must be positive"):
        vjp(lambda p: np.polyder(p, -1), P)
    with pytest.raises(ValueError, match="must be positive"):
        vjp(lambda p: np.polyint(p, -1), P)
    with pytest.raises(ValueError, match="k must be a scalar"):
        vjp(lambda p: np.polyint(p, 3, [1, 2]), P)


def test_values_at_points_of_any_shape():
    x = np.array([[0.3, -1.2], [2.0, 0.0]])
    check_rule(np.polyval, P, x)
    check_rule(np.polyval, [1, 2, 3], x)
    check_rule(np.polyval, P, 3)
    check_rule(np.polyval, P, x * (1 + 1j))
    check_rule(np.polyval, P[:0], x)
    check_rule(np.polyval, np.stack([P, P**2], axis=1), x[0])
    check_rule(np.polyval, P.astype(np.float32), np.array([1, 2]))


def test_polynomial_objects_of_traced_coefficients():
    def value(p):
        return (np.poly1d(p) * np.poly1d(Q)).deriv()(0.5) + np.polyval(p, np.poly1d(Q))(0.25)

    def same(p):
        product = np.polyder(np.polymul(p, Q))
        return np.polyval(product, 0.5) + np.polyval(p, np.polyval(Q, 0.25))

    assert_close(value(P), same(P))
    assert_close(grad(value)(P), grad(same)(P))


# --- powers and roots


def test_powers():
    x = np.array([0.0, -1.5, 2.0])
    for count in (None, 0, 1, 2, 5):
        check_rule(np.vander, x, count)
        check_rule(np.vander, x, count, increasing=True)
    check_rule(np.vander, x * (1 + 2j), 4)
    check_grads(lambda x: np.vander(x, 5), (x,), order=3)


def test_real_and_complex_roots():
    check_rule(np.roots, np.array([2.0, 1.0, 3.0]))
    check_rule(np.roots, np.array([2.0 + 1j, 1.0, 3.0 - 2j, 0.5]))
    check_grads(lambda p: np.roots(p), (np.array([1.0, -6.0, 11.0, -6.5]),), order=2)


def test_a_root_at_0_moves_with_the_coefficient_that_numpy_leaves_out():
    slopes = jacobian(np.roots)(np.array([1.0, -3.0, 2.0, 0.0]))
    np.testing.assert_array_equal(np.roots([1.0, -3.0, 2.0, 0.0]), [2, 1, 0])
    assert_close(slopes, [[-4, -2, -1, -0.5], [1, 1, 1, 1], [0, 0, 0, -0.5]])


def test_a_leading_coefficient_of_0_moves_the_roots():
    moved = jacobian(np.roots)(np.array([0.0, 1.0, -3.0, 2.0]))
    assert_close(moved[:, 0], [-8.0, 1.0])


def test_roots_that_meet_move_infinitely_fast_but_a_zero_cotangent_stays_zero():
    with np.errstate(divide="ignore", invalid="ignore"):
        kept = grad(lambda p: np.roots(p)[0])(np.array([1.0, -2.0, 0.0, 0.0]))
    assert_close(kept, [-2, -1, -0.5, -0.25])


@pytest.mark.parametrize("p", [[3.0], [0.0, 0.0], [0.0, 3.0], []])
def test_polynomials_without_roots(p):
    out, pullback = vjp(np.roots, np.array(p))
    assert out.shape == (0,)
    np.testing.assert_array_equal(pullback(np.zeros(0))[0], np.zeros(len(p)))


def test_the_polynomial_with_given_roots():
    check_rule(np.poly, np.array([1.0, 2.0, 2.0, 0.0]))
    check_grads(lambda x, y: np.poly([x, y]), (2.0, -0.5))
    check_rule(np.poly, np.array([1.0 + 1j, 2.0, 0.5j]))
    assert np.poly(np.zeros(0)) == vjp(np.poly, np.zeros(0))[0] == 1
    with pytest.raises(ValueError, match="square"):
        vjp(np.poly, np.ones((2, 3)))


def test_roots_in_conjugate_pairs_have_real_coefficients():
    zeros = np.array([1 + 2j, 1 - 2j])
    out, pullback = vjp(np.poly, zeros)
    np.testing.assert_array_equal(out, np.poly(zeros))
    assert out.dtype == np.float64
    assert_close(pullback(np.array([0.0, 0.0, 1.0]))[0], [1 - 2j, 1 + 2j])


def test_a_characteristic_polynomial_also_of_equal_eigenvalues():
    check_rule(np.poly, np.array([[1.0, 2.0], [-3.0, 0.5]]))
    check_grads(np.poly, (np.array([[1.0, 2, 0.5], [0.3, 0.5, 1], [2, -1, 0.2]]),), order=3)
    assert_close(jacobian(np.poly)(np.eye(2)), [np.zeros((2, 2)), -np.eye(2), np.eye(2)])
    assert_close(hessian(lambda a: np.poly(a)[2])(np.zeros((2, 2)))[0, 0], [[0, 0], [0, 1]])


# --- fits

X = np.array([-1.0, -0.4, 0.1, 0.7, 1.2, 2.0])
Y = np.array([0.3, -1.2, 2.1, 0.9, 1.7, 0.4])
W = np.array([1.0, 0.5, 2.0, 1.5, 0.7, 1.0])


@pytest.mark.part(3)
@pytest.mark.parametrize("cov", [False, True, "unscaled"])
@pytest.mark.parametrize("y", [Y, np.stack([Y, Y**2], axis=1)], ids=["vector", "matrix"])
def test_fits_by_points_values_and_weights(y, cov):
    check_rule(np.polyfit, X, y, 2, w=W, cov=cov)
    check_rule(np.polyfit, X, y, 1, cov=cov)
    check_grads(lambda x, y, w: np.polyfit(x, y, 2, w=w, cov=cov), (X, y, W), order=2)


def test_full_fits_and_those_of_lists_and_other_dtypes():
    check_rule(np.polyfit, X, Y, 2, full=True)
    check_rule(np.polyfit, X, Y, 2, 1e-10, full=True, w=W)
    check_rule(np.polyfit, [0, 1, 2, 3, 4, 5], Y, 1)
    check_rule(np.polyfit, X, [0, 1, 2, 3, 4, 5], 1)
    check_rule(np.polyfit, X, Y * (1 + 2j), 2)
    check_rule(np.polyfit, X.astype(np.float32), Y.astype(np.float32), 1)
    check_rule(np.polyfit, X + 1j * X**2, Y * (1 + 2j), 2)


def test_a_fit_of_fewer_points_than_coefficients_warns():
    with pytest.warns(np.exceptions.RankWarning):
        vjp(lambda y: np.polyfit([0.0, 1.0], y, 2), Y[:2])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", np.exceptions.RankWarning)
        check_rule(np.polyfit, X[:2], Y[:2], 2)  # the shortest of all that fit
        check_rule(np.polyfit, X[:2], np.stack([Y[:2], Y[2:4]], axis=1), 3, full=True)


def test_an_ill_conditioned_fit_is_numpys():
    x = np.linspace(0, 10, 50)
    found = vjp(lambda y: np.polyfit(x, y, 14), np.sin(x))[0]
    np.testing.assert_array_equal(found, np.polyfit(x, np.sin(x), 14))


@pytest.mark.parametrize(
    "call",
    [
        lambda y: np.polyfit(X, y, -1),
        lambda y: np.polyfit(X[:, None], y, 1),
        lambda y: np.polyfit(X[:0], y, 1),
        lambda y: np.polyfit(X, y[0], 1),
        lambda y: np.polyfit(X[:2], y, 1),
        lambda y: np.polyfit(X, y, 1, w=W[:, None]),
        lambda y: np.polyfit(X, y, 1, w=W[:2]),
        lambda y: np.polyfit(X[:2], y[:2], 1, cov=True),
        lambda y: np.polyfit(X[:2], y[:4].reshape(2, 2), 1, cov=True),
        lambda y: np.polymul(y[None], y),
        lambda y: np.roots(y[None]),
    ],
)
def test_bad_calls_raise_as_numpy_does(call):
    with pytest.raises((ValueError, TypeError)) as expected:
        call(Y)
    with pytest.raises(expected.type, match=re.escape(str(expected.value))):
        vjp(call, Y)


@pytest.mark.parametrize("seed", range(5))
def test_coefficients_from_complex_roots_are_numpys_to_the_last_bit(seed):
    real, imaginary = np.random.default_rng(seed).normal(size=(2, 6))
    roots = real + 1j * imaginary
    np.testing.assert_array_equal(vjp(np.poly, roots)[0], np.poly(roots))
