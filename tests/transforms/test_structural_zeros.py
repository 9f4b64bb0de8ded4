"""Which zeros absorb an infinity or a NaN: those that are structural. Others have a limit, or NaN.

A zero is structural where the result does not depend on the element in a whole neighbourhood.
"""

from __future__ import annotations

import numpy as np
import pytest
from backends import BACKENDS
from draws import draws
from hypothesis import given
from hypothesis import strategies as st

import tapegrad
from tapegrad import compile, grad, hessian, jacfwd, jacobian, jvp, vjp, vmap

Q = np.array([0.0, 1.0])
HOLED = np.array([[1.0, 1.0], [1.0, 1.0], [np.nan, 1.0]])

# Functions of an array, where they are asked, and their gradient.
STRUCTURAL = {
    "where": (lambda x: np.sum(np.where(x > 0, np.sqrt(x), 0)), [0.0, 4.0], [0, 0.25]),
    "element": (lambda x: np.sqrt(x)[1], [0.0, 4.0], [0, 0.25]),
    "max": (lambda x: np.max(np.sqrt(x)), [0.0, 4.0], [0, 0.25]),
    "maximum": (lambda x: np.sum(np.maximum(np.sqrt(x), 1)), [0.0, 4.0], [0, 0.25]),
    "clip": (lambda x: np.sum(np.clip(np.sqrt(x), 1, 5)), [0.0, 4.0], [0, 0.25]),
    "sort": (lambda x: np.sort(np.sqrt(x))[1], [0.0, 4.0], [0, 0.25]),
    "median": (lambda x: np.median(np.sqrt(x)), [0.0, 4.0, 9.0], [0, 0.25, 0]),
    "sum where": (lambda x: np.sum(np.sqrt(x), where=x > 0), [0.0, 4.0], [0, 0.25]),
    "constant": (lambda x: np.sum(np.sqrt(x) * Q), [0.0, 4.0], [0, 0.25]),
    "constant @": (lambda x: Q @ np.sqrt(x), [0.0, 4.0], [0, 0.25]),
    "einsum": (lambda x: np.einsum("i,i->", Q, np.sqrt(x)), [0.0, 4.0], [0, 0.25]),
    "row that is not read": (lambda w: np.sum((HOLED @ w)[:2]), [1.0, 1.0], [2, 2]),
    "diff": (lambda x: np.diff(np.sqrt(x))[1], [0.0, 1.0, 4.0], [0, -0.5, 0.25]),
    "cumsum": (lambda x: np.cumsum(np.sqrt(x))[0], [4.0, 0.0], [0.25, 0]),
    "sign": (lambda x: np.sum(np.sign(np.sqrt(x)) * x), [0.0, 4.0], [0, 1]),
    "near ties": (lambda x: np.max(np.sqrt(x)), [0.0, 1e-12], [0, 5e5]),
    "tie": (lambda x: np.max(np.sqrt(x) + 0 * x), [4.0, 4.0, 0.0], [0.125, 0.125, 0]),
    "determinant that is not taken": (
        lambda x: np.where(x[0] > 0, np.linalg.slogdet(np.diag(x))[1], x[1]),
        [0.0, 4.0],
        [0, 1],
    ),
    "root that is not read": (
        lambda c: np.max(np.real(np.roots([1.0, -1.0, *c]))),
        [0.0, 0.0],
        [-1, -1],
    ),
    "running value": (lambda x: np.divide.accumulate(np.sqrt(x))[0], [4.0, 0.0], [0.25, 0]),
    "running maximum": (
        lambda x: np.sum(np.sqrt(np.maximum.accumulate(np.reshape(x, (2, 2))))),
        [0.0, 1.0, 4.0, 4.0],
        [np.inf, 0.5, 0.25, 0.25],
    ),
}
# Where a zero that was computed meets an infinity, and there is a limit.
LIMITS = {
    "cbrt(x**3)": (lambda x: np.cbrt(x**3), 0.0, 1),
    "(x**3)**(1/3)": (lambda x: (x**3) ** (1 / 3), 0.0, 1),
    "logaddexp of a side": (lambda x: np.logaddexp(0.0, np.sqrt(x) ** 2), 0.0, 0.5),
    "arctan2 of a side": (lambda x: np.arctan2(np.sqrt(x) ** 2, 1.0), 0.0, 1),
    "angle of a side": (lambda x: np.angle(1 + 1j * np.sqrt(x) ** 2), 0.0, 1),
    "hypot of a side": (lambda x: np.hypot(1 + np.sqrt(x) ** 2, 0.75), 0.0, 0.8),
    "imag of a cube": (lambda x: np.cbrt(np.imag(1j * x**3)), 0.0, 1),
    "copysign(sqrt(x))**2": (lambda x: np.copysign(np.sqrt(x), -1.0) ** 2, 0.0, 1),
    "sign(x)*|x|**(1/3)": (lambda x: np.sign(x) * np.abs(x) ** (1 / 3), 0.0, np.inf),
    "cube of sign(x)*|x|**(1/3)": (lambda x: (np.sign(x) * np.abs(x) ** (1 / 3)) ** 3, 0.0, 1),
    "sign(x)*sqrt(x**4)": (lambda x: np.sign(x) * np.sqrt(x**4), 0.0, 0),
    "sqrt(x)**2": (lambda x: np.sqrt(x) ** 2, 0.0, 1),
    "sqrt(sqrt(x))**4": (lambda x: np.sqrt(np.sqrt(x)) ** 4, 0.0, 1),
    "exp(log(x))": (lambda x: np.exp(np.log(x)), 0.0, 1),
    "1/(1+1/x)": (lambda x: 1 / (1 + 1 / x), 0.0, 1),
    "arccos(1-x)**2": (lambda x: np.arccos(1 - x) ** 2, 0.0, 2),
    "arctan(1/x)": (lambda x: np.arctan(1 / x), 0.0, -1),
    "cos(sqrt(x))": (lambda x: np.cos(np.sqrt(x)), 0.0, -0.5),
    "sin(sqrt(x))**2": (lambda x: np.sin(np.sqrt(x)) ** 2, 0.0, 1),
    "expm1(log1p(x))": (lambda x: np.expm1(np.log1p(x)), -1.0, 1),
    "cosh(arccosh(x))": (lambda x: np.cosh(np.arccosh(x)), 1.0, 1),
    "sqrt(x*x)": (lambda x: np.sqrt(x * x), 0.0, 0),
    "(x**2)**.5": (lambda x: (x**2) ** 0.5, 0.0, 0),
    "sqrt(1-cos(x))": (lambda x: np.sqrt(1 - np.cos(x)), 0.0, 0),
    "1/cbrt(1+1/x**3)": (lambda x: 1 / np.cbrt(1 + 1 / x**3), 0.0, 1),
    "x*cosh": (lambda x: np.cbrt(np.sin(x) ** 3 * np.cosh(x)), 0.0, 1),
    "sqrt(x*x)+x": (lambda x: np.sqrt(x * x) + x, 0.0, 1),
}
# Where there is none, or an overflow has lost it.
UNKNOWN = {
    "log(1+exp(x))": (lambda x: np.log(1 + np.exp(x)), 800.0),
    "1/(1+exp(-x))": (lambda x: 1 / (1 + np.exp(-x)), -800.0),
    "log(exp(-x*x/2))": (lambda x: np.log(np.exp(-x * x / 2)), 60.0),
    "log(x*x)": (lambda x: np.log(x * x), 0.0),
    "cbrt(x*exp(x))": (lambda x: np.cbrt(x * np.exp(x)), 0.0),
    "an underflow": (lambda x: (x**300) ** (1 / 300), 0.01),
    "x*log(x)": (lambda x: x * np.log(x), 0.0),
    "log(-1)": (np.log, -1.0),
    "a discriminant by eigenvalues": (
        lambda x: np.real(_spread(np.linalg.eigvals, _pair(x))),
        0.0,
    ),
    "a discriminant by roots": (
        lambda x: np.real(_spread(np.roots, np.stack([x * 0 + 1, x * 0, -x]))),
        0.0,
    ),
    "a determinant by its logarithm": (
        lambda x: np.prod(np.exp(np.linalg.slogdet(np.reshape(x, (1, 1)))[1])),
        0.0,
    ),
    "logaddexp.reduce": (lambda x: np.logaddexp.reduce(np.log(np.stack([x, x * 0 + 1]))), 0.0),
    "power.accumulate": (
        lambda x: np.power.accumulate(np.stack([x, x * 0 + 0.5]))[1] ** 2,
        0.0,
    ),
    "1/norm": (lambda x: 1 / np.linalg.norm(np.stack([x, x])), 0.0),
    "log(norm)": (lambda x: np.log(np.linalg.norm(np.stack([x, x]))), 0.0),
    "powers beyond those that are kept": (lambda x: (x**9) ** (1 / 9), 0.0),
}


def _pair(x):
    """A matrix whose eigenvalues are the two roots of x."""
    return np.stack([np.stack([x * 0, x * 0 + 1]), np.stack([x, x * 0])])


def _spread(function, x):
    """The squared difference of two values, which is smooth where they meet."""
    values = function(x)
    return (values[0] - values[1]) ** 2


@pytest.fixture(autouse=True)
def _silent():
    with np.errstate(all="ignore"):
        yield


def everywhere(f, x, one):
    """The gradient of f in each way that there is."""
    yield grad(f)(x)
    yield jacobian(f)(x)
    yield jacfwd(f)(x)
    yield vjp(f, x)[1](x.dtype.type(1))[0]
    yield vmap(grad(f))(np.stack([x, x]))[1]
    along = [jvp(f, (x,), (unit,))[1] for unit in one]
    yield np.reshape(along, x.shape)
    for backend in BACKENDS:
        fast = compile(grad(f), backend=backend)
        for start in (x * 0 + 1, x, x * 0 + 2, x, x):
            found = fast(start)
        yield found


def units(x):
    return [x.dtype.type(1)] if not x.shape else list(np.eye(len(x), dtype=x.dtype))


@pytest.mark.part(3)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("f", "x", "slope"), STRUCTURAL.values(), ids=STRUCTURAL)
def test_a_structural_zero_absorbs(f, x, slope, dtype):
    x = np.array(x, dtype)
    for found in everywhere(f, x, units(x)):
        np.testing.assert_allclose(found, slope, rtol=1e-6)


@pytest.mark.part(13)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("f", "x", "slope"), LIMITS.values(), ids=LIMITS)
def test_a_zero_that_was_computed_has_a_limit(f, x, slope, dtype):
    x = dtype(x)
    for found in everywhere(f, x, units(x)):
        np.testing.assert_allclose(found, slope, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("f", "x"), UNKNOWN.values(), ids=UNKNOWN)
def test_what_has_no_limit_is_not_finite(f, x):
    assert not np.isfinite(grad(f)(x))


def test_limits_of_many_elements():
    x = np.array([0.0, 1.0, 0.0, 4.0])
    found = grad(lambda p: np.sum((np.sqrt(p) - np.sqrt(x)) ** 2))(x)
    np.testing.assert_allclose(found, [1, 0, 1, 0], atol=1e-12)
    found = grad(lambda x: np.mean(np.sqrt(x) ** 2))(x)
    np.testing.assert_allclose(found, np.full(4, 0.25))
    for f in (lambda x: np.sqrt(np.sum(x**2)), lambda x: np.sqrt(x @ x)):
        np.testing.assert_array_equal(grad(f)(np.zeros(3)), np.zeros(3))


def test_total_variation_of_an_image_with_flat_regions():
    def variation(u):
        down, right = u[1:, :-1] - u[:-1, :-1], u[:-1, 1:] - u[:-1, :-1]
        return np.sum(np.sqrt(down * down + right * right))

    u = np.zeros((32, 32))
    u[8:16, 8:16] = 1
    found = grad(variation)(u)
    shifted = grad(lambda u: np.sum(np.hypot(u[1:, :-1] - u[:-1, :-1], u[:-1, 1:] - u[:-1, :-1])))
    np.testing.assert_allclose(found, shifted(u), atol=1e-12)


def test_a_nan_says_which_function_is_to_blame():
    told = pytest.warns(RuntimeWarning, match=r"NaN in the derivative of np\.exp")
    with np.errstate(invalid="warn"), told:
        assert np.isnan(grad(UNKNOWN["log(1+exp(x))"][0])(800.0))


def test_the_gradient_of_a_nan_is_nan_where_it_depends():
    found = grad(lambda x: np.sum(np.log(x[:2])))(np.array([-1.0, 2.0, 3.0]))
    np.testing.assert_array_equal(found, [np.nan, np.nan, 0])
    found = tapegrad.elementwise_grad(np.log)(np.array([-1.0, 2.0]))
    np.testing.assert_array_equal(found, [np.nan, 0.5])


def test_second_derivatives_of_branches_that_are_not_taken():
    found = hessian(lambda x: np.sum(np.where(x > 0, x * np.sqrt(x), 0)))(np.array([0.0, 4.0]))
    np.testing.assert_allclose(found, [[0, 0], [0, 0.375]])


@draws(5, 100)
@given(st.data())
def test_the_branch_that_is_not_taken_adds_nothing_in_drawn_programs(data):
    """A function that is singular at 0, linear maps after it, and a choice of other elements."""
    singular = data.draw(st.sampled_from([np.sqrt, np.log, np.cbrt, np.reciprocal]))
    size = data.draw(st.integers(2, 5))
    dice = np.random.default_rng(data.draw(st.integers(0, 100)))
    x, taken = dice.uniform(1, 2, size), dice.permutation(np.arange(size) > 0)
    hole = np.where(taken, x, 0.0)
    matrix = dice.normal(size=(3, size))

    def f(x):
        return np.sum(np.sin(matrix @ np.where(taken, singular(x), 0.5)))

    np.testing.assert_allclose(grad(f)(hole), np.where(taken, grad(f)(x), 0), rtol=1e-12)
