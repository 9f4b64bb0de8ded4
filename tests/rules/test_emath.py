"""numpy.emath outside of the real domain, and the sides of branch cuts."""

from __future__ import annotations

import numpy as np
import pytest
from tolerances import assert_close

from tapegrad import grad, jvp, vjp
from tapegrad.testing import check_grads, check_rule

X = np.array([-2.5, -0.4, 0.3, 1.75])


@pytest.mark.part(3)
@pytest.mark.parametrize("name", ["sqrt", "log", "log2", "log10", "arccos", "arcsin", "arctanh"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
def test_both_sides_of_the_end_of_the_real_domain(name, dtype):
    function = getattr(np.emath, name)
    x = X.astype(dtype)
    if x.dtype.kind == "c":
        x = x + dtype(0.3j)  # differences across a cut would be none
    check_rule(function, x)
    check_rule(function, x[1:3])
    check_rule(function, x[0])


@pytest.mark.parametrize("name", ["sqrt", "log", "log2", "log10", "arccos", "arcsin", "arctanh"])
def test_higher_derivatives_outside_of_the_real_domain(name):
    check_grads(getattr(np.emath, name), (X,), order=3)


def test_slopes_of_complex_results_by_real_numbers():
    assert_close(jvp(np.emath.sqrt, (-4.0,), (1.0,))[1], -0.25j)
    assert_close(jvp(np.emath.log, (-2.0,), (1.0,))[1], -0.5)
    assert_close(jvp(np.emath.arccos, (2.0,), (1.0,))[1], -1j / np.sqrt(3))
    assert_close(jvp(np.emath.arcsin, (-2.0,), (1.0,))[1], -1j / np.sqrt(3))
    gradient = grad(lambda x: np.imag(np.emath.sqrt(x)))(-4.0)
    assert gradient == -0.25
    assert type(gradient) is np.float64


def test_logarithms_to_any_base():
    check_rule(np.emath.logn, np.array(3.0), X)
    check_rule(np.emath.logn, np.array([-2.0, 3.0, 2.5, 4.0]), X)
    check_rule(np.emath.logn, 2, X)


def test_powers_of_negative_numbers():
    for p in (2, -1, np.array([2, -3, 1, 0]), 0.5, np.array([0.3, 1.5, -2.0, 2.5])):
        check_rule(np.emath.power, X, p)
    check_rule(np.emath.power, [-2, 3, 4, 5], np.array([0.3, 1.5, -2.0, 2.5]))
    check_rule(np.emath.power, np.abs(X), -2)


def test_points_that_join_two_branches():
    with np.errstate(divide="ignore", invalid="ignore"):
        assert grad(np.emath.sqrt)(0.0) == np.inf
        assert grad(np.emath.arcsin)(1.0) == np.inf
        masked = grad(lambda x: np.sum(np.where(x > 0, np.real(np.emath.sqrt(x)), 0.0)))
        np.testing.assert_array_equal(masked(np.array([0.0, -1.0, 4.0])), [0, 0, 0.25])


# --- the same branch for NumPy's own functions of complex numbers


@pytest.mark.parametrize("name", ["arccos", "arcsin", "arccosh", "arctanh", "sqrt", "log"])
@pytest.mark.parametrize("side", [0.0, -0.0])
@pytest.mark.parametrize("at", [-2.5, -0.6, 2.5])
def test_on_a_branch_cut_the_sign_of_zero_says_on_which_side(name, side, at):
    function = getattr(np, name)
    point = complex(at, side)
    near = complex(at, np.copysign(1e-9, side))
    found, pullback = vjp(function, np.array(point))
    np.testing.assert_allclose(found, function(near), rtol=1e-6)
    slope = pullback(np.array(1.0 + 0j))[0]
    difference = (function(near + 1e-6) - function(near - 1e-6)) / 2e-6
    np.testing.assert_allclose(slope, difference, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("side", [0.0, -0.0])
@pytest.mark.parametrize("at", [2.5, -2.5])
def test_the_cuts_of_arcsinh(side, at):
    _, pullback = vjp(np.arcsinh, np.array(complex(side, at)))
    near = complex(np.copysign(1e-9, side), at)
    difference = (np.arcsinh(near + 1e-6j) - np.arcsinh(near - 1e-6j)) / 2e-6j
    np.testing.assert_allclose(pullback(np.array(1 + 0j))[0], difference, rtol=1e-6, atol=1e-7)
