"""tapegrad.scipy.optimize: SciPy's results, to the last bit, with the derivatives of solutions."""

from __future__ import annotations

import functools
import sys
import warnings

import numpy as np
import pytest

pytest.importorskip("scipy")

import scipy.optimize
from tapegrad.scipy import optimize

import tapegrad
from tapegrad import NotDifferentiableError, grad, hessian, jacfwd, jacobian, jvp, vmap
from tapegrad.implicit import ConvergenceError

P = np.array([1.5, 0.7])
BOX = [(-3.0, 4.0), (-3.0, 4.0)]


def cube(x, p):
    return x**3 - p


def pair(x, p):
    return [x[0] ** 2 - p[0], x[0] * x[1] - p[1]]


def bowl(x, p):
    """Least at x = log(p)."""
    return np.sum(np.exp(x) - p * x)


def bowl_with_slope(x, p):
    return bowl(x, p), np.exp(x) - p


def valley(x, p):
    """The same of one number; x may be an array of size 1."""
    return np.exp(x) - p * x


def slope(x, p):
    return np.exp(x) - p


T = np.linspace(0.0, 2.0, 12)
# y = a exp(b t) with a remainder that the derivative has to know of.
REST = 0.05 * np.sin(5 * T)


def model(t, a, b):
    return a * np.exp(b * t)


def residuals(x, p):
    return model(T, x[0], x[1]) - (model(T, p[0], p[1]) + REST)


def by_name(name, *args, **kwargs):
    """A program: a call of one solver of a module, whose last argument is p."""

    def program(module, p):
        given = {key: value(p) if callable(value) and key == "args" else value for key, value in kwargs.items()}
        return getattr(module, name)(*args, **given)

    return program


def given(p):
    return (p,)


def quietly(name, *args, **kwargs):
    return by_name(name, *args, **kwargs, disp=False)


def first(program):
    return lambda module, p: program(module, p)[0]


def x_of(program):
    return lambda module, p: program(module, p).x


# --- Roots of one equation: x = p ** (1 / 3) ----------------------------------------------------

BRACKETED = "brentq brenth bisect ridder toms748".split()
SCALAR_ROOTS = {
    **{name: by_name(name, cube, 0.1, 4.0, args=given) for name in BRACKETED},
    **{
        f"{name} full_output": first(by_name(name, cube, 0.1, 4.0, args=given, full_output=True))
        for name in BRACKETED[:1]
    },
    "newton": by_name("newton", cube, 1.0, args=given),
    "newton fprime": by_name("newton", cube, 1.0, fprime=lambda x, _: 3 * x**2, args=given),
    "newton full_output": first(by_name("newton", cube, 1.0, args=given, full_output=True)),
    "root_scalar": lambda o, p: o.root_scalar(cube, (p,), bracket=(0.1, 4.0)).root,
    "root_scalar newton": lambda o, p: (
        o.root_scalar(lambda x: (x**3 - p, 3 * x**2), x0=1.0, fprime=True).root
    ),
    "fixed_point": lambda o, p: o.fixed_point(lambda x: (x + p / x**2) / 2, 1.0, xtol=1e-12),
    "fsolve": lambda o, p: o.fsolve(cube, 1.0, args=(p,))[0],
    "root": lambda o, p: o.root(cube, 1.0, args=(p,)).x[0],
}


@pytest.mark.parametrize("name", SCALAR_ROOTS)
def test_roots_of_one_equation(name):
    check(SCALAR_ROOTS[name], 1.7, np.cbrt, lambda p: p ** (-2 / 3) / 3, 1e-6)


# --- Minima of one variable: x = log(p) ---------------------------------------------------------

SCALAR_MINIMA = {
    "minimize_scalar": x_of(by_name("minimize_scalar", valley, args=given)),
    "minimize_scalar golden": x_of(by_name("minimize_scalar", valley, args=given, method="golden")),
    "minimize_scalar bounded": x_of(by_name("minimize_scalar", valley, bounds=(-3, 4), args=given)),
    "brent": by_name("brent", valley, args=given, brack=(-1.0, 2.0)),
    "brent full_output": first(by_name("brent", valley, args=given, full_output=True)),
    "golden": by_name("golden", valley, args=given),
    "fminbound": by_name("fminbound", valley, -3.0, 4.0, args=given),
    "fmin": lambda o, p: o.fmin(valley, 0.1, args=(p,), disp=False)[0],
    "minimize": lambda o, p: o.minimize(valley, 0.1, args=(p,)).x[0],
    "minimize float": lambda o, p: o.minimize(lambda x: valley(x[0], p), [0.1]).x[0],
}


@pytest.mark.parametrize("name", SCALAR_MINIMA)
def test_minima_of_one_variable(name):
    check(SCALAR_MINIMA[name], 1.7, np.log, lambda p: 1 / p, 1e-4)


# --- Systems and minima of two variables --------------------------------------------------------

SYSTEMS = {
    "fsolve": by_name("fsolve", pair, [1.0, 1.0], args=given),
    "fsolve full_output": first(by_name("fsolve", pair, [1.0, 1.0], args=given, full_output=True)),
    **{
        f"root {method}": x_of(by_name("root", pair, [1.0, 1.0], args=given, method=method))
        for method in ("hybr", "lm", "broyden1", "krylov", "df-sane")
    },
    "root jac=True": lambda o, p: (
        o.root(lambda x: (pair(x, p), [[2 * x[0], 0], [x[1], x[0]]]), [1.0, 1.0], jac=True).x
    ),
}


@pytest.mark.parametrize("name", SYSTEMS)
def test_systems_of_equations(name):
    def exact(p):
        return np.stack([np.sqrt(p[0]), p[1] / np.sqrt(p[0])])

    check(SYSTEMS[name], P, exact, jacobian(exact), 1e-4)


NEEDS_SLOPES = ("Newton-CG", "trust-exact", "dogleg", "trust-ncg", "trust-krylov")
METHODS = "Nelder-Mead Powell CG BFGS L-BFGS-B TNC COBYLA COBYQA SLSQP trust-constr".split()
START = [0.2, 0.1]
MINIMA = {
    **{
        f"minimize {method}": x_of(by_name("minimize", bowl, START, args=given, method=method))
        for method in METHODS
    },
    **{
        f"minimize {method}": x_of(
            by_name(
                "minimize", bowl, START, args=given, method=method, jac=slope,
                hess=lambda x, p: np.diag(np.exp(x)),
            )
        )
        for method in NEEDS_SLOPES
    },
    "minimize jac=True": x_of(by_name("minimize", bowl_with_slope, START, args=given, jac=True)),
    "minimize bounds": x_of(by_name("minimize", bowl, START, args=given, bounds=BOX)),
    "fmin": quietly("fmin", bowl, START, args=given),
    "fmin_powell": quietly("fmin_powell", bowl, START, args=given),
    "fmin_bfgs": quietly("fmin_bfgs", bowl, START, args=given),
    "fmin_cg": quietly("fmin_cg", bowl, START, slope, args=given),
    "fmin_ncg": quietly("fmin_ncg", bowl, START, slope, args=given),
    "fmin_bfgs full_output": first(quietly("fmin_bfgs", bowl, START, args=given, full_output=True)),
    "fmin_l_bfgs_b": first(by_name("fmin_l_bfgs_b", bowl_with_slope, START, args=given)),
    "fmin_l_bfgs_b approx_grad": first(
        by_name("fmin_l_bfgs_b", bowl, START, args=given, approx_grad=True, bounds=BOX)
    ),
    "fmin_tnc": first(by_name("fmin_tnc", bowl_with_slope, START, args=given, disp=0)),
    "fmin_slsqp": by_name("fmin_slsqp", bowl, START, args=given, iprint=0),
    "fmin_cobyla": lambda o, p: o.fmin_cobyla(bowl, START, [lambda x: 4 - x[0]], (p,), ()),
    "differential_evolution": x_of(
        by_name("differential_evolution", bowl, BOX, args=given, rng=1, maxiter=8, popsize=5)
    ),
    "basinhopping": lambda o, p: (
        o.basinhopping(bowl, START, niter=2, rng=1, minimizer_kwargs={"args": (p,)}).x
    ),
    "dual_annealing": x_of(by_name("dual_annealing", bowl, BOX, args=given, rng=1, maxiter=5)),
    "shgo": x_of(by_name("shgo", bowl, BOX, args=given, n=16)),
    "direct": x_of(by_name("direct", bowl, BOX, args=given, maxfun=2000)),
}


SLOW = ("minimize COBYLA", "minimize COBYQA", "shgo")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in MINIMA]
)
def test_minima_of_two_variables(name):
    near = 5e-2 if name in ("direct", "minimize COBYLA", "fmin_cobyla") else 1e-3
    check(MINIMA[name], P, np.log, lambda p: np.diag(1 / p), near)


def check(program, p, exact, slopes, near):
    """A program in all transforms: the solution, its derivatives, and those of second order."""
    ours, theirs = (functools.partial(program, module) for module in (optimize, scipy.optimize))
    x = theirs(p)
    assert np.array_equal(ours(p), x)  # outside
    seen = []

    def watched(p):
        found = ours(p)
        seen.append(np.asarray(tapegrad.stop_gradient(found)))
        return found

    # The derivative at the x that was found is as near as x.
    assert np.allclose(jacobian(watched)(p), slopes(p), atol=near)
    assert np.array_equal(seen[0], x)  # the same bits
    assert np.allclose(x, exact(p), atol=near)
    v = np.ones_like(p) * 0.3
    assert np.allclose(jvp(ours, (p,), (v,))[1], slopes(p) @ v if np.ndim(p) else slopes(p) * v, atol=near)
    weights = np.arange(1.0, 3.0)[: np.size(x)]
    second = hessian(lambda p: np.sum(weights * ours(p)))(p)
    wanted = hessian(lambda p: np.sum(weights * exact(p)))(p)
    assert np.allclose(second, wanted, atol=20 * near)
    batch = np.stack([p, p * 1.25])
    assert np.array_equal(vmap(ours)(batch), [theirs(row) for row in batch])
    assert np.allclose(vmap(jacobian(ours))(batch), [slopes(row) for row in batch], atol=near)
