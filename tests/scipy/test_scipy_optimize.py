"""tapegrad.scipy.optimize: SciPy's results, to the last bit, with the derivatives of solutions."""

from __future__ import annotations

import functools
import importlib
import inspect
import math
import sys

import numpy as np
import pytest

pytest.importorskip("scipy")

import scipy.optimize

import tapegrad
import tapegrad.numpy as tnp
from tapegrad import (
    ChangedConstantError,
    NotDifferentiableError,
    RuleError,
    grad,
    hessian,
    jacobian,
    jvp,
    vmap,
)
from tapegrad.implicit import ConvergenceError
from tapegrad.scipy import optimize

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


def by_name(name, *args, **kwargs):
    """A program: a call of one solver of a module, whose last argument is p."""

    def program(module, p):
        named = {key: (p,) if value is given else value for key, value in kwargs.items()}
        return getattr(module, name)(*args, **named)

    return program


given = object()  # stands for (p,) among a call's arguments


def quietly(name, *args, **kwargs):
    return by_name(name, *args, args=given, disp=False, **kwargs)


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


@pytest.mark.part(3)
@pytest.mark.parametrize("name", SCALAR_ROOTS)
def test_roots_of_one_equation(name):
    check(SCALAR_ROOTS[name], 1.7, np.cbrt, lambda p: p ** (-2 / 3) / 3, 1e-6)


# --- Minima of one variable: x = log(p) ---------------------------------------------------------

SCALAR_MINIMA = {
    "minimize_scalar": x_of(by_name("minimize_scalar", valley, args=given)),
    "minimize_scalar golden": x_of(
        by_name("minimize_scalar", valley, args=given, method="golden")
    ),
    "minimize_scalar bounded": x_of(
        by_name("minimize_scalar", valley, bounds=(-3, 4), args=given)
    ),
    "brent": by_name("brent", valley, args=given, brack=(-1.0, 2.0)),
    "brent full_output": first(by_name("brent", valley, args=given, full_output=True)),
    "golden": by_name("golden", valley, args=given),
    "fminbound": by_name("fminbound", valley, -3.0, 4.0, args=given),
    "fmin": lambda o, p: o.fmin(valley, 0.1, args=(p,), disp=False)[0],
    "minimize": lambda o, p: o.minimize(valley, 0.1, args=(p,)).x[0],
    "minimize float": lambda o, p: o.minimize(lambda x: valley(x[0], p), [0.1]).x[0],
}


@pytest.mark.part(3)
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
    "broyden1": lambda o, p: o.broyden1(lambda x: np.stack(pair(x, p)), [1.0, 1.0], f_tol=1e-9),
    "root jac=True": lambda o, p: (
        o.root(lambda x: (pair(x, p), [[2 * x[0], 0], [x[1], x[0]]]), [1.0, 1.0], jac=True).x
    ),
}


@pytest.mark.part(3)
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
                "minimize",
                bowl,
                START,
                args=given,
                method=method,
                jac=slope,
                hess=lambda x, p: np.diag(np.exp(x)),
            )
        )
        for method in NEEDS_SLOPES
    },
    "minimize jac=True": x_of(by_name("minimize", bowl_with_slope, START, args=given, jac=True)),
    "minimize bounds": x_of(by_name("minimize", bowl, START, args=given, bounds=BOX)),
    "fmin": quietly("fmin", bowl, START),
    "fmin_powell": quietly("fmin_powell", bowl, START),
    "fmin_bfgs": quietly("fmin_bfgs", bowl, START),
    "fmin_cg": quietly("fmin_cg", bowl, START, slope),
    "fmin_ncg": quietly("fmin_ncg", bowl, START, slope),
    "fmin_bfgs full_output": first(quietly("fmin_bfgs", bowl, START, full_output=True)),
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
    "brute": by_name("brute", bowl, ((-1, 2), (-1, 2)), args=given, Ns=4),
    "direct": x_of(by_name("direct", bowl, BOX, args=given, maxfun=2000)),
}


SLOW = ("minimize COBYLA", "minimize COBYQA", "shgo", "fmin_cobyla")


@pytest.mark.part(4)
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
    found, slope = with_slope(ours, p)
    assert np.array_equal(found, x)  # the same bits
    # The derivative at the x that was found is as near as x.
    assert np.allclose(slope, slopes(p), atol=near)
    assert np.allclose(x, exact(p), atol=near)
    v = np.ones_like(p) * 0.3
    assert np.allclose(jvp(ours, (p,), (v,))[1], np.dot(slope, v), atol=1e-9)
    weights = np.arange(1.0, 3.0)[: np.size(x)]
    second = hessian(lambda p: np.sum(weights * ours(p)))(p)
    wanted = hessian(lambda p: np.sum(weights * exact(p)))(p)
    assert np.allclose(second, wanted, atol=20 * near)
    batch = np.stack([p, p * 1.25])
    assert np.array_equal(vmap(ours)(batch), [theirs(row) for row in batch])
    assert np.allclose(vmap(jacobian(ours))(batch), [slopes(row) for row in batch], atol=near)


def with_slope(program, p):
    """The value of a program inside a transform, and its Jacobian."""
    seen = []

    def watched(p):
        found = program(p)
        seen.append(np.asarray(tapegrad.stop_gradient(found)))
        return found

    slope = jacobian(watched)(p)
    return seen[0], slope


# --- Constraints: derivatives by differences of SciPy's solutions -------------------------------


def distance(x, p):
    return np.sum((x - p) ** 2) + 0.1 * np.sum(x**4)


EQUATION = {"type": "eq", "fun": lambda x, q: x[0] + x[1] - q}
TIGHT = {"gtol": 1e-11, "xtol": 1e-13, "maxiter": 500}


def constrained(module, p, kind):
    """A minimum whose constraints depend on p."""
    options = {"options": {"ftol": 1e-15}}
    start = [0.5, 0.4]
    if kind == "equation":
        options["constraints"] = {**EQUATION, "args": (p[0],)}
    elif kind == "inequality":
        options["constraints"] = [{"type": "ineq", "fun": lambda x: [x[1] - p[0], 9.0 - x[0]]}]
    elif kind == "linear":
        half = p[0] / 2
        options["constraints"] = module.LinearConstraint([[1.0, 1.0]], half, half)
    elif kind == "nonlinear":
        options["constraints"] = module.NonlinearConstraint(np.sum, -np.inf, p[0] * p[1])
    elif kind == "pairs":
        options["bounds"] = [(None, p[1]), (-1, None)]
    elif kind == "Bounds":
        options["bounds"] = module.Bounds([-1.0, -1.0], [p[1], 3.0])
    return module.minimize(distance, start, (p,), **options).x


CONSTRAINED = {
    **{
        kind: functools.partial(constrained, kind=kind)
        for kind in ("equation", "inequality", "linear", "nonlinear", "pairs", "Bounds")
    },
    "trust-constr": lambda o, p: (
        o.minimize(
            distance, [0.5, 0.4], (p,), "trust-constr", options=TIGHT,
            constraints=o.NonlinearConstraint(lambda x: x @ x, -np.inf, p[1]),
        ).x
    ),
    "fmin_slsqp": lambda o, p: (
        o.fmin_slsqp(
            distance, [0.5, 0.4], eqcons=[lambda x, p: x[0] + x[1] - p[0]],
            ieqcons=[lambda x, p: p[1] - x[1]], args=(p,), iprint=0, acc=1e-15,
        )
    ),
    "differential_evolution": lambda o, p: (
        o.differential_evolution(
            distance, [(-1, 2), (-1, 2)], (p,), rng=1, maxiter=6, popsize=4,
            constraints=scipy.optimize.LinearConstraint([[1.0, 1.0]], -np.inf, 0.8),
        ).x
    ),
    "shgo": lambda o, p: (
        o.shgo(distance, [(-1, 2), (-1, 2)], (p,), {**EQUATION, "args": (0.8,)}, n=8).x
    ),
    "fminbound": lambda o, p: o.fminbound(lambda x: (x - 9.0) ** 2, 0.0, p[0], xtol=1e-9),
}  # fmt: skip


@pytest.mark.part(3)
@pytest.mark.parametrize("name", CONSTRAINED)
@pytest.mark.filterwarnings("ignore:delta_grad == 0.0")
def test_constrained_minima(name):
    ours, theirs = (functools.partial(CONSTRAINED[name], o) for o in (optimize, scipy.optimize))
    found, slope = with_slope(ours, P)
    assert np.array_equal(found, theirs(P))
    if name == "differential_evolution":  # too rough for differences: x[0] + x[1] stays
        assert np.allclose(np.sum(slope, axis=0), 0.0, atol=1e-9)
        assert slope[0, 0] > 0.3
    else:
        assert np.allclose(slope, differences(theirs, P), atol=2e-4)
    assert np.allclose(jvp(ours, (P,), (np.ones(2),))[1], slope @ np.ones(2))


def differences(program, p, step=1e-4):
    columns = [
        (program(p + step * e) - program(p - step * e)) / (2 * step) for e in np.eye(p.size)
    ]
    return np.stack(columns, axis=-1)


# --- Least squares: all that a result tells of the data -----------------------------------------

T = np.linspace(0.0, 2.0, 8)
Y = 1.5 * np.exp(0.7 * T) + 0.05 * np.sin(5 * T)  # with a remainder
SIGMA = 0.1 + 0.05 * T
MATRIX = np.stack([np.ones(8), T, np.sin(3 * T), -(T**2)], axis=1)
EXACT = {"ftol": 1e-13, "xtol": 1e-13, "gtol": 1e-13}


def curve(t, a, b):
    return a * np.exp(b * t)


def fitted(**options):
    def program(o, y):
        popt, pcov = o.curve_fit(curve, T, y, p0=[1.0, 1.0], **options)
        return np.concatenate([popt, np.ravel(pcov)])

    return program


def squares(**options):
    """All numbers of a result but the Jacobian, by which a covariance is computed."""

    def program(o, y):
        found = o.least_squares(
            lambda x, scale: curve(T, *x) - y * scale,
            [1.0, 1.0], args=(1.0,), **{**EXACT, **options},
        )  # fmt: skip
        parts = [found.x, np.reshape(found.cost, 1), found.fun]
        if "loss" not in options:
            parts.append(np.ravel(np.linalg.inv(found.jac.T @ found.jac)))
        return np.concatenate(parts)

    return program


def leastsq(o, y):
    x, cov, info, _, _ = o.leastsq(lambda x: curve(T, *x) - y, [1.0, 1.0], full_output=True)
    return np.concatenate([x, np.ravel(cov), info["fvec"]])


def log_loss(z):
    return np.stack([np.log1p(z), 1 / (1 + z), -1 / (1 + z) ** 2])


FITS = {
    "curve_fit": fitted(ftol=1e-13),
    "curve_fit sigma": fitted(sigma=SIGMA),
    "curve_fit absolute_sigma": fitted(sigma=SIGMA, absolute_sigma=True),
    "curve_fit covariance": fitted(sigma=np.diag(SIGMA**2) + 0.001),
    "curve_fit trf": fitted(method="trf", **EXACT),
    "curve_fit bounds": fitted(bounds=([0, 0], [1.4, 5])),
    "curve_fit full_output": lambda o, y: o.curve_fit(curve, T, y, full_output=True)[2]["fvec"],
    "least_squares": squares(),
    "least_squares lm": squares(method="lm"),
    "least_squares bounds": squares(bounds=([0, 0], [1.4, 5])),
    "least_squares soft_l1": squares(loss="soft_l1", f_scale=0.05),
    "least_squares huber": squares(loss="huber", f_scale=0.03),
    "least_squares cauchy": squares(loss="cauchy", f_scale=0.1),
    "least_squares arctan": squares(loss="arctan", f_scale=0.1),
    "least_squares own loss": squares(loss=log_loss),
    "leastsq": leastsq,
    "leastsq short": lambda o, y: o.leastsq(lambda x: curve(T, *x) - y, [1.0, 1.0])[0],
    "root lm": lambda o, y: o.root(lambda x: curve(T, *x) - y, [1.0, 1.0], method="lm").x,
    "nnls": lambda o, y: o.nnls(MATRIX, y)[0],
    "nnls matrix": lambda o, y: o.nnls(MATRIX * y[:, None], np.ones(8) + T)[0],
    "nnls norm": lambda o, y: np.reshape(o.nnls(MATRIX, y)[1], 1),
    "lsq_linear": lambda o, y: o.lsq_linear(MATRIX, y).x,
    "lsq_linear bounds": lambda o, y: (
        o.lsq_linear(MATRIX, Y, bounds=(-9.0, np.abs(y[:4]) * 0.2)).x
    ),
    "lsq_linear fun": lambda o, y: o.lsq_linear(MATRIX, y).fun,
}


@pytest.mark.part(4)
@pytest.mark.parametrize("name", FITS)
def test_fits(name):
    ours, theirs = (functools.partial(FITS[name], module) for module in (optimize, scipy.optimize))
    found, slope = with_slope(ours, Y)
    assert np.array_equal(found, theirs(Y))
    near = 3e-4 * np.max(np.abs(slope))
    assert np.allclose(slope, differences(theirs, Y), atol=near)
    v = np.cos(np.arange(8.0))
    assert np.allclose(jvp(ours, (Y,), (v,))[1], slope @ v)
    batch = np.stack([Y, 1.1 * Y])
    assert np.array_equal(vmap(ours)(batch), [theirs(y) for y in batch])
    second = tapegrad.hvp(lambda y: np.sum(ours(y)), (Y,), (v,))
    sums = differences(lambda t: grad(lambda y: np.sum(ours(y)))(Y + t[0] * v), np.zeros(1))
    assert np.allclose(second, sums[:, 0], atol=1e-3 * np.max(np.abs(second)) + 1e-6)


# --- Results ------------------------------------------------------------------------------------


def quartic(x, p):
    return (x[0] - p) ** 2 + p * x[0]  # least at p / 2


def test_the_values_of_results_are_differentiable():
    def parts(p):
        found = optimize.minimize(quartic, [0.3], (p,))
        assert found.success
        assert isinstance(found, scipy.optimize.OptimizeResult)
        fopt = optimize.fmin(quartic, [0.3], (p,), full_output=True, disp=False)[1]
        fval = optimize.brent(lambda x: quartic([x], p), full_output=True)[1]
        return np.stack([found.fun, fopt, fval, found.jac[0]])

    assert np.allclose(jacobian(parts)(1.3), [1.95, 1.95, 1.95, 0.0], atol=1e-4)


def test_a_result_reads_as_scipys():
    theirs = optimize.minimize(quartic, [0.3], (1.3,))
    seen = []

    def program(p):
        found = optimize.minimize(quartic, [0.3], (p,))
        seen.append({name: tapegrad.stop_gradient(part) for name, part in found.items()})
        return found.x[0]

    grad(program)(1.3)
    assert {name: repr(part) for name, part in seen[0].items()} == {
        name: repr(part) for name, part in theirs.items()
    }
    root = optimize.brentq(cube, 0.0, 4.0, (1.3,), full_output=True)[1]
    known = vmap(lambda p: optimize.brentq(cube, 0.0, 4.0, (p,), full_output=True)[1].root)
    assert known(np.array([1.3]))[0] == root.root


def test_what_the_solver_estimates_refuses_a_derivative():
    def variance(p):
        return optimize.minimize(quartic, [0.3], (p,)).hess_inv[0, 0]

    with pytest.raises(NotDifferentiableError, match=r"hess_inv of a result is the solver's own"):
        grad(variance)(1.3)
    with pytest.warns(RuntimeWarning, match="NaN in the derivative of scipy.optimize"):
        assert np.isnan(jvp(variance, (1.3,), (1.0,))[1])
    # What is not asked for does not matter.
    slope = jvp(lambda p: optimize.minimize(quartic, [0.3], (p,)).x[0], (1.3,), (1.0,))[1]
    assert np.isclose(slope, 0.5)


def test_starts_and_brackets_have_the_derivative_zero():
    def program(p):
        bracketed = optimize.brentq(lambda x: x**2 - 2, p - 1, p + 1)
        return bracketed + optimize.fsolve(lambda x: x**2 - 2, p)[0]

    assert grad(program)(1.0) == 0.0


def test_without_values_in_a_trace_the_result_is_plain():
    kinds = []

    def program(p):
        kinds.append(type(optimize.brentq(lambda x: x**2 - 2, 0, 2)))
        kinds.append(type(optimize.minimize(lambda x: x @ x, [1.0]).x))
        return p

    grad(program)(1.0)
    assert kinds == [float, np.ndarray]


# --- Where there is no derivative ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("program", "error", "words"),
    [
        (
            lambda p: optimize.minimize(
                lambda x: (1 - x[0]) ** 2 + p * (x[1] - x[0] ** 2) ** 2, [-1.0, 2.0],
                options={"maxiter": 2},
            ).x[0],
            ConvergenceError,
            "did not arrive .* SciPy says: Maximum number of iterations",
        ),
        (
            lambda p: optimize.minimize_scalar(lambda x: np.abs(x - p) + 0.1 * (x - 2) ** 2).x,
            ConvergenceError,
            "at a jump or kink",
        ),
        (
            lambda p: optimize.minimize_scalar(lambda x: np.abs(x - p)).x,
            NotDifferentiableError,
            "singular",
        ),
        (
            lambda p: optimize.brentq(lambda x: np.sign(x - p) + 0.1 * x, 0, 3),
            ConvergenceError,
            "at a jump or kink",
        ),
        (
            lambda p: optimize.fsolve(lambda x: [x[0] + x[1] - p, x[0] + x[1] - p], [0.3, 0.2])[0],
            NotDifferentiableError,
            "singular",
        ),
        (
            lambda p: optimize.minimize(
                lambda x: np.sum((x - p) ** 2), [2.0], bounds=[(1.3, 9)]
            ).x[0],
            NotDifferentiableError,
            "lower bound 0 holds with equality, but does not push",
        ),
        (
            lambda p: optimize.curve_fit(curve, T, Y * p, nan_policy="omit")[0][0],
            NotDifferentiableError,
            "nan_policy",
        ),
    ],
)  # fmt: skip
def test_where_the_theorem_does_not_hold_an_error_says_why(program, error, words):
    program(1.3)  # outside it is SciPy's
    with pytest.raises(error, match=words):
        grad(program)(1.3)


def test_a_failed_solver_may_be_tried_first():
    def program(p):
        few = optimize.minimize(bowl, START, (P * p,), options={"maxiter": 1})
        if few.success:
            return few.x[0]
        return optimize.minimize(bowl, START, (P * p,), tol=1e-9).x[0]

    assert np.isclose(grad(program)(2.0), 0.5, atol=1e-5)


def test_errors_are_scipys():
    with pytest.raises(ValueError, match="must have different signs"):
        grad(lambda p: optimize.brentq(lambda x: x - p, 2, 3))(1.0)
    with pytest.raises(RuntimeError, match="Failed to converge after 3 iterations"):
        grad(lambda p: optimize.newton(lambda x: x**2 + p, 0.3, maxiter=3))(1.0)
    with pytest.raises(ValueError, match="Unknown solver"):
        grad(lambda p: optimize.minimize(lambda x: (x - p) ** 2, 0.3, method="none"))(1.0)
    with pytest.raises(TypeError, match="missing"):
        grad(lambda p: optimize.brentq(lambda x: x - p))(1.0)


def test_what_changes_after_a_call_does_not_change_its_derivative():
    class Model:
        time = 1.0

        def balance(self, x, p):
            return x - p * self.time

        def own_balance(self, x):
            return x - self.p * self.time

    def program(p):
        total = 0.0
        for i in range(4):
            total = total + optimize.brentq(lambda x: x**3 - p * (1 + i), 0.0, 9.0)  # noqa: B023
        model = Model()
        model.time = 2.0
        total = total + optimize.brentq(model.balance, 0.0, 9.0, (p,))
        model.p = p
        for model.time in (3.0, 4.0):
            total = total + optimize.brentq(model.own_balance, 0.0, 9.0)
            total = total + optimize.brentq(lambda x: x - p * model.time, 0.0, 9.0)
        return total

    assert np.isclose(
        grad(program)(1.5), sum((1 + i) ** (1 / 3) for i in range(4)) / 3 * 1.5 ** (-2 / 3) + 16
    )

    def changing(p):
        table = np.ones(2)
        found = optimize.brentq(lambda x: x - p * table[1], 0.0, 9.0)
        table[1] = 2.0  # which the function reads in the derivative
        return found

    assert jvp(changing, (1.5,), (1.0,))[1] == 1.0
    with pytest.raises(ChangedConstantError, match="an object or array that it reads has changed"):
        grad(changing)(1.5)


def test_a_value_that_is_not_found_is_refused():
    def program(p):
        held = (
            value for value in iter(lambda: p, None)
        )  # a generator, which cannot be looked into
        return optimize.brentq(lambda x: x - next(held), 0.0, 4.0) + 0 * p

    with pytest.raises((RuleError, tapegrad.ConversionError)):
        grad(program)(1.3)


# --- Programs -----------------------------------------------------------------------------------


def test_nested_solvers():
    def program(o, p):
        def root(y):
            return o.brentq(lambda x: x**3 + x - y * p, -9.0, 9.0)

        return o.minimize_scalar(lambda y: (root(y) - 1.0) ** 2 + 0.1 * y).x

    # Least where 2 (x - 1) dx/dy = -0.1, with dx/dy = p / (3 x^2 + 1) and y = (x^3 + x) / p.
    def exact(p):
        x = optimize.brentq(lambda x: 20 * (x - 1) * p + 3 * x**2 + 1, 0.0, 1.0)
        return (x**3 + x) / p

    ours = functools.partial(program, optimize)
    assert np.isclose(ours(1.3), exact(1.3))
    assert np.isclose(grad(ours)(1.3), grad(exact)(1.3), atol=1e-4)
    assert np.isclose(grad(grad(ours))(1.3), grad(grad(exact))(1.3), atol=1e-2)


def test_in_compiled_functions_the_solver_runs_again():
    def program(p):
        found = optimize.minimize(bowl, START, (p,))
        if not found.success:
            raise ValueError(found.message)
        return found.x

    compiled = tapegrad.compile(jacobian(program))
    for p in (P, P + 1, P + 2):
        assert np.allclose(compiled(p), np.diag(1 / p), atol=1e-4)


def test_buffers_and_lists_and_numbers_are_results_of_functions():
    def filled(x, p):
        out = tnp.zeros(2)
        out[0] = x[0] ** 2 - p
        out[1] = x[0] * x[1] - 1
        return out

    def program(p):
        number = optimize.fmin_bfgs(lambda x: [(x[0] - p) ** 2], [0.1], disp=False)[0]
        return np.sum(optimize.fsolve(filled, [1.0, 1.0], (p,))) + number

    assert np.isclose(grad(program)(4.0), 0.25 - 1 / 16 + 1, atol=1e-6)


def test_what_a_function_keeps_in_its_object_is_that_of_the_solution():
    class Model:
        def __init__(self, p):
            self.p = p

        def residuals(self, x):
            self.seen = x[0] * np.exp(-x[1] * T)
            return self.seen - self.p * np.exp(-2 * T)

    def program(p):
        model = Model(p)
        optimize.least_squares(model.residuals, [1.0, 1.0])
        return model.seen[0]

    assert np.isclose(grad(program)(1.5), 1.0)


def test_every_function_has_scipys_signature_and_is_listed():
    for name in optimize.__all__:
        found = getattr(optimize, name)
        if inspect.isfunction(found):
            assert inspect.signature(found) == inspect.signature(getattr(scipy.optimize, name))
            assert found.__module__ == "tapegrad.scipy.optimize"
    assert optimize.linprog is scipy.optimize.linprog


# --- Adopted packages ---------------------------------------------------------------------------

TOY = """
import math

import numpy as np
from scipy.integrate import ode, odeint, quad, solve_ivp
from scipy.optimize import brentq, curve_fit, fsolve, least_squares, minimize


def kepler(p):
    return brentq(lambda E: E - p * math.sin(E) - 1.0, 0.0, 4.0)


def system(p):
    def equations(x):
        out = np.zeros(2)
        out[0] = x[0] ** 2 - p
        out[1] = math.exp(0.1 * x[0]) * x[1] - 1
        return out

    found, _, ier, message = fsolve(equations, [1.0, 1.0], full_output=True)
    if ier != 1:
        raise RuntimeError(message)
    return float(found[0] + found[1])


class Model:
    def __init__(self, p):
        self.params = np.array([p, 2.0])

    def cost(self, x):
        x = np.asarray(x, dtype=float)
        return float(np.sum((x - self.params) ** 2) + 0.1 * math.pow(x[0], 4))


def free(p):
    return minimize(Model(p).cost, x0=np.zeros(2), tol=1e-9).x


def bounded(p):
    return minimize(Model(p).cost, x0=np.zeros(2), bounds=((0, None), (0, p))).x


def errors(p):
    t = np.linspace(0, 1, 10)
    y = np.empty(10)
    for i in range(10):
        y[i] = p * math.exp(-t[i]) + 0.01 * i
    found = least_squares(lambda x: [x[0] * math.exp(-x[1] * s) - v for s, v in zip(t, y)], [1, 1])
    popt, pcov = curve_fit(lambda t, a, b: a * np.exp(-b * t), t, y)
    return np.concatenate([found.x, popt, np.sqrt(np.diag(pcov))])


def gauss(p):
    return quad(lambda x, q: math.exp(-q * x * x), 0, np.inf, args=(p,))[0]


def rate(y, t, k):
    dy = np.zeros(2)
    dy[0] = y[1]
    dy[1] = -k * math.sin(y[0])
    return dy


def pendulum(p):
    return odeint(rate, [p, 0.0], [0.0, 0.5, 1.0], args=(2 * p,))[-1]


def oscillator(p):
    y0 = np.zeros(2)
    y0[0] = p
    found = solve_ivp(lambda t, y, k: [y[1], -k * y[0]], [0, 1], y0, args=(p,), rtol=1e-8)
    return found.y[:, -1] if found.success else None


def steps(p):
    solver = ode(lambda t, y, k: rate(y, t, k)).set_integrator("dopri5", rtol=1e-9)
    solver.set_initial_value([p, 0.0]).set_f_params(2 * p)
    states = np.zeros((4, 2))
    for i, t in enumerate(np.linspace(0.1, 1, 4)):
        states[i] = solver.integrate(p * t)
    return states
"""
TOY_FUNCTIONS = "kepler system free bounded errors gauss pendulum oscillator steps".split()


@pytest.fixture(scope="module")
def toys(tmp_path_factory):
    """A package as it is, and adopted."""
    place = tmp_path_factory.mktemp("packages")
    (place / "toy_solvers.py").write_text(TOY, encoding="utf-8")
    sys.path.insert(0, str(place))
    try:
        plain = importlib.import_module("toy_solvers")
        del sys.modules["toy_solvers"]
        with tapegrad.adopt("toy_solvers") as adopted:
            yield plain, adopted
    finally:
        sys.path.remove(str(place))
        sys.modules.pop("toy_solvers", None)


@pytest.mark.part(3)
@pytest.mark.parametrize("name", TOY_FUNCTIONS)
def test_adopted_packages(toys, name):
    theirs, ours = (getattr(toy, name) for toy in toys)
    found, slope = with_slope(ours, 1.2)
    assert np.array_equal(found, theirs(1.2))
    assert np.allclose(
        slope, differences(lambda p: theirs(p[0]), np.array([1.2]))[..., 0], atol=5e-4
    )
    assert np.allclose(jvp(ours, (1.2,), (1.0,))[1], slope, atol=1e-6)


def test_adopted_functions_of_ones_own():
    @tapegrad.adopt
    def volatility(price):
        def black_scholes(s):
            d = (0.05 + s**2 / 2) / s
            cdf = scipy.stats.norm.cdf
            return 100 * cdf(d) - 100 * math.exp(-0.05) * cdf(d - s)

        return scipy.optimize.brentq(lambda s: black_scholes(s) - price, 1e-3, 5.0)

    step = (volatility(12.0 + 1e-4) - volatility(12.0 - 1e-4)) / 2e-4
    assert np.isclose(grad(volatility)(12.0), step)


def test_ode_of_examples_is_refused():
    from tapegrad.scipy import integrate

    def program(p):
        return integrate.ode(lambda t, y: -p * y).set_initial_value(p).integrate(1.0)[0]

    assert np.isclose(grad(program)(0.7), (1 - 0.7) * np.exp(-0.7), atol=1e-4)
    with pytest.raises(tapegrad.BatchingError, match=r"Take scipy\.integrate\.solve_ivp"):
        vmap(program)(np.array([0.7, 0.8]))


def test_newton_takes_its_arguments_in_a_list():
    def f(a):
        return optimize.newton(lambda x, b, c: x**2 - b * c, 1.0, args=[a, 2.0])

    np.testing.assert_allclose(tapegrad.grad(f)(2.0), 0.5)
    np.testing.assert_allclose(
        tapegrad.grad(lambda a: optimize.brentq(lambda x, b: x - b[0], 0.0, 5.0, args=[a]))(2.0),
        1.0,
    )
