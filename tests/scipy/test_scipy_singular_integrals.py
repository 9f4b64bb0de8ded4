"""Integrals whose integrand is singular at a limit that moves, and what no integral can tell."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("scipy")

from backends import BACKENDS

import tapegrad
from tapegrad import grad, hessian, jvp, vmap
from tapegrad.scipy.integrate import dblquad, nquad, quad, quad_vec

PI, ROOT_PI = np.pi, np.sqrt(np.pi)


def root_below(b):
    return quad(lambda x: np.sqrt(b - x), 0, b)[0]  # 2/3 b**1.5


def pole_below(b):
    return quad(lambda x: 1 / np.sqrt(b - x), 0, b)[0]  # 2 sqrt(b)


def half_disc(e):
    return quad(lambda x: np.sqrt(e - x * x), -np.sqrt(e), np.sqrt(e))[0]  # pi e / 2


def between_points(b):
    def f(x, b):
        return np.where(x < 0.5, 1.0, 2.0) / np.sqrt(b - x)

    return quad(f, 0, b, args=(b,), points=[0.5])[0]  # 2 sqrt(b) + 2 sqrt(b - 1/2)


def disc(r):
    def chord(x):
        return np.sqrt(r * r - x * x)

    return dblquad(lambda y, x: 1.0, -r, r, lambda x: -chord(x), chord)[0]  # pi r**2


# By name: the function, the place, the first and the second derivative there.
KNOWN = {
    "root": (root_below, 2.0, 2**0.5, 0.5 * 2**-0.5),
    "pole": (pole_below, 2.0, 2**-0.5, -0.5 * 2**-1.5),
    "logarithm": (lambda b: quad(lambda x: np.log(b - x), 0, b)[0], 2.0, np.log(2.0), 0.5),
    "roots of E, exact": (half_disc, 1.0, PI / 2, 0.0),
    "roots of E, above": (half_disc, 2.0, PI / 2, 0.0),
    "from above": (
        lambda b: quad(lambda x: 1 / np.sqrt(b - x), b, 0)[0], 2.0, -(2**-0.5), 0.5 * 2**-1.5,
    ),
    "the lower limit": (
        lambda a: quad(lambda x: 1 / np.sqrt(x - a), a, 1)[0], -1.0, -(2**-0.5), -0.5 * 2**-1.5,
    ),
    "to infinity": (
        lambda a: quad(lambda x: np.exp(a - x) / np.sqrt(x - a) * a, a, np.inf)[0],
        0.7, ROOT_PI, 0.0,
    ),
    "from minus infinity": (
        lambda b: quad(lambda x: np.exp(x) / np.sqrt(b - x), -np.inf, b)[0],
        0.7, ROOT_PI * np.exp(0.7), ROOT_PI * np.exp(0.7),
    ),
    "a jump at a point": (
        between_points, 2.0, 2**-0.5 + 1.5**-0.5, -0.5 * (2**-1.5 + 1.5**-1.5),
    ),
    "quad_vec": (
        lambda b: quad_vec(lambda x: np.sqrt(b - x) * np.ones(2), 0, b)[0][1],
        2.0, 2**0.5, 0.5 * 2**-0.5,
    ),
    "nested": (disc, 1.3, 2.6 * PI, None),
    "nested poles": (
        lambda b: nquad(lambda y, x: 1 / np.sqrt(x - y), [lambda x: (0, x), (0, b)])[0],
        2.0, 2 * 2**0.5, None,
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", KNOWN)
def test_a_singularity_at_a_limit_that_moves(name):
    f, at, first, _ = KNOWN[name]
    np.testing.assert_allclose(grad(f)(at), first, rtol=1e-7)
    np.testing.assert_allclose(jvp(f, (at,), (1.0,))[1], first, rtol=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, row in KNOWN.items() if row[3] is not None])
def test_second_derivatives_there(name):
    f, at, _, second = KNOWN[name]
    np.testing.assert_allclose(hessian(f)(at), second, rtol=1e-6, atol=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("f", [root_below, pole_below])
def test_singular_limits_in_all_transforms(f):
    slopes = {root_below: [1.0, 2**0.5], pole_below: [1.0, 2**-0.5]}[f]
    curve = {root_below: [0.5, 0.5 * 2**-0.5], pole_below: [-0.5, -0.5 * 2**-1.5]}[f]
    batch = np.array([1.0, 2.0])
    np.testing.assert_allclose(vmap(grad(f))(batch), slopes, rtol=1e-7)
    np.testing.assert_allclose(vmap(grad(grad(f)))(batch), curve, rtol=1e-7)
    np.testing.assert_allclose(grad(lambda x: np.sum(vmap(f)(x)))(batch), slopes, rtol=1e-7)
    for backend in BACKENDS:
        compiled = tapegrad.compile(grad(f), backend=backend)
        np.testing.assert_allclose(compiled(2.0), slopes[1], rtol=1e-7)
    with np.errstate(divide="ignore"):  # single precision meets the pole
        single = grad(f)(np.float32(2.0))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, slopes[1], rtol=1e-6)


@pytest.mark.slow
def test_poles_at_both_limits():
    def f(a, b):
        return quad(lambda x: 1 / np.sqrt((x - a) * (b - x)), a, b)[0]  # pi

    np.testing.assert_allclose(grad(f, (0, 1))(-1.0, 2.0), [0.0, 0.0], atol=1e-7)

    def of_energy(e):
        return quad(lambda x: 1 / np.sqrt(e - x * x), -np.sqrt(e), np.sqrt(e))[0]  # pi

    assert abs(jvp(of_energy, (2.0,), (1.0,))[1]) < 1e-7


def test_an_infinite_slope_stays():
    def f(c, b):
        return quad(lambda x: c / np.sqrt(1 - x), 0, b)[0]

    with np.errstate(divide="ignore"):
        by_c, by_b = grad(f, (0, 1))(1.0, 1.0)
    assert by_b == np.inf
    assert np.isclose(by_c, 2.0)


def _unknown_jump(b):
    return quad(lambda x: np.where(x < 0.5, 1.0, 2.0) / np.sqrt(b - x), 0, b)[0]


UNKNOWN = {
    # A singular integrand, whose jump at 0.5 no value of its derivative tells of.
    "a jump beside a singularity": (_unknown_jump, 2.0),
    # A divergent integral that quad sums to a finite number.
    "a pole inside": (lambda c: quad(lambda x: np.log(np.abs(x - c)), 0, 1)[0], 0.3),
    # Only the sum of the derivatives by the limits and by e is finite: see jvp above.
    "the energy in reverse mode": (
        lambda e: quad(lambda x: 1 / np.sqrt(e - x * x), -np.sqrt(e), np.sqrt(e))[0], 2.0,
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    "name",
    [
        *list(UNKNOWN)[1:2],
        *(pytest.param(x, marks=pytest.mark.slow) for x in UNKNOWN if x != list(UNKNOWN)[1]),
    ],
)
def test_no_number_is_made_up(name):
    f, at = UNKNOWN[name]
    with pytest.warns(UserWarning, match="integrate.quad: .*does not converge"):
        assert np.isnan(grad(f)(at))
