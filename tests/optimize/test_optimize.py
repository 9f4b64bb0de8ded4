"""tapegrad.optimize: SciPy's methods on trees, exact derivatives, differentiable results."""

from __future__ import annotations

import pickle
import subprocess
import sys
import warnings
from dataclasses import dataclass, field

import numpy as np
import pytest

from tapegrad import (
    InputError,
    NotDifferentiableError,
    OutputError,
    RuleError,
    ShapeMismatchError,
    grad,
    hessian,
    implicit,
    jacobian,
    jvp,
    optimize,
    tree,
    vmap,
)
from tapegrad.optimize._methods import METHODS
from tapegrad.testing import check_grads

scipy_optimize = pytest.importorskip("scipy.optimize")

RNG = np.random.default_rng(5)


def rosenbrock(x):
    return np.sum((1 - x[:-1]) ** 2 + 100 * (x[1:] - x[:-1] ** 2) ** 2)


# --- minimize -----------------------------------------------------------------------------------


LONG = ("COBYQA", "L-BFGS-B", "trust-constr", "Newton-CG", "trust-ncg", "CG", "Powell")


@pytest.mark.parametrize(
    "method",
    [
        pytest.param(m, marks=[pytest.mark.slow] if m in LONG else [])
        for m in METHODS
        if m not in ("TNC", "COBYLA")  # which do not arrive
    ],
)
def test_every_method_of_scipys_runs(method):
    found = optimize.minimize(rosenbrock, [-1.2, 1.0, 0.5], method=method)
    assert found.success
    assert np.allclose(found.x, 1, atol=1e-3)
    assert found.nfev <= found.runs + 6
    assert (found.grad is None) == (not METHODS[method].gradient)


@pytest.mark.parametrize(
    "hess", ["sparse", *(pytest.param(h, marks=pytest.mark.slow) for h in ("dense", "hvp"))]
)
def test_hessians_in_three_forms(hess):
    found = optimize.minimize(rosenbrock, np.zeros(8), method="trust-constr", hess=hess)
    assert np.allclose(found.x, 1, atol=1e-6)


@pytest.mark.slow
def test_products_with_one_hessian_share_a_run():
    found = optimize.minimize(rosenbrock, np.zeros(70), method="trust-krylov")
    assert np.allclose(found.x, 1, atol=1e-5)
    assert found.raw.nhev > 2 * found.nit  # SciPy counts products
    assert found.runs < 3 * found.nit + 3


@dataclass
class Model:
    w: object
    b: object
    power: int = 2
    name: str = field(default="m", metadata={"static": True})


def test_trees_constants_dtypes_aux_and_callback():
    seen = []

    def loss(m):
        return np.sum((m.w - 1) ** m.power) + m.b**2, {"w": m.w}

    start = Model(np.zeros(2, np.float32), 1.0)
    found = optimize.minimize(loss, start, has_aux=True, callback=seen.append)
    assert np.allclose(found.x.w, 1)
    assert found.x.w.dtype == np.float32
    assert (found.x.power, found.x.name) == (2, "m")
    assert np.allclose(found.aux["w"], 1)
    assert all(isinstance(m, Model) for m in seen)
    assert len(seen) == found.nit
    assert found.grad.w.shape == (2,)
    assert "success: True" in repr(found)
    stopped = optimize.minimize(rosenbrock, np.zeros(3), callback=lambda x: True)
    assert not stopped.success


def test_compiled_and_complex_and_single_numbers():
    plain = optimize.minimize(rosenbrock, np.zeros(3))
    compiled = optimize.minimize(rosenbrock, np.zeros(3), compile=True)
    assert np.allclose(plain.x, compiled.x, atol=1e-6)
    z = optimize.minimize(lambda z: np.abs(z - (1 + 2j)) ** 2, 0.0 + 0.0j).x
    assert np.isclose(z, 1 + 2j)
    assert np.isclose(optimize.minimize(lambda x: (x - 3) ** 2, 0.0).x, 3)


def test_covariance_and_standard_errors():
    A = np.array([[2.0, 0.5], [0.5, 1.0]])
    found = optimize.minimize(
        lambda p: p["x"] @ A @ p["x"] / 2 + p["y"] ** 2, {"x": np.ones(2), "n": 1, "y": 1.0}
    )
    assert np.allclose(found.covariance[:2, :2], np.linalg.inv(A))
    assert np.isclose(found.standard_errors["y"], np.sqrt(0.5))
    assert found.standard_errors["n"] == 0
    flat = optimize.minimize(lambda x: x[0] ** 2, np.ones(2))
    with pytest.warns(scipy_optimize.OptimizeWarning, match="could not be estimated"):
        assert np.isinf(flat.covariance).all()


@pytest.mark.parametrize("start", [np.zeros(2), np.array([0.0, 1.0])], ids=["maximum", "saddle"])
def test_what_is_no_minimum_has_no_covariance(start):
    sign = np.array([-1.0, 1.0 if start[1] else -1.0])
    found = optimize.minimize(lambda x: np.sum(sign * (x - start) ** 2), start)
    with pytest.warns(scipy_optimize.OptimizeWarning, match="not positive"):
        assert np.isinf(found.covariance).all()


@pytest.mark.parametrize("method", ["SLSQP", "trust-constr"])
def test_constraints_that_hold_are_known_to_the_covariance(method):
    a = np.array([3.0, 4.0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # SciPy's, of a linear function's differences
        circle = optimize.minimize(
            lambda x: a @ x, np.array([0.1, 0.2]), inequality=lambda x: 1 - x @ x, method=method
        )
    along = np.array([4.0, -3.0]) / 5  # of the Lagrangian, whose Hessian is 2 |a| / 2
    assert np.allclose(circle.covariance, np.outer(along, along) / 5, atol=1e-4)

    def least(**given):
        return optimize.minimize(
            lambda x: np.sum((x - np.array([-1.0, 2.0, 3.0])) ** 2) / 2,
            np.ones(3),
            method=method,
            **given,
        ).covariance

    known = least(bounds=(0.0, None), equality=lambda x: np.sum(x) - 4)
    assert np.allclose(known, [[0, 0, 0], [0, 0.5, -0.5], [0, -0.5, 0.5]])
    assert np.allclose(least(inequality=lambda x: 9 - np.sum(x)), np.eye(3))


def test_a_small_parameter_beside_its_bound_is_free():
    found = optimize.minimize(lambda x: (x / 1e-8 - 1) ** 2 / 2, 3e-8, bounds=(0.0, None))
    assert np.isclose(found.standard_errors, 1e-8)


@pytest.mark.parametrize("target", [2.0, 3.0], ids=["slope zero", "pushed"])
@pytest.mark.parametrize("sign", [1, -1], ids=["upper", "lower"])
def test_a_parameter_at_a_bound_is_known(sign, target):
    # Both ends of the interval; where the minimum lies on the bound, the slope there is zero.
    found = optimize.minimize(
        lambda x: (x[0] - sign * target) ** 2 + (x[1] - 1) ** 2 / 2,
        np.array([2.0 * sign, 0.0]),
        bounds=(-2.0, 2.0),
    )
    assert found.x[0] == 2 * sign
    np.testing.assert_allclose(found.covariance, [[0, 0], [0, 1]])


BOUNDS = [
    (0.5, None),
    (np.array([0.5, -np.inf]), None),
    [(0.5, None), (None, None)],
    scipy_optimize.Bounds([0.5, -np.inf], [np.inf, np.inf]),
]


@pytest.mark.parametrize("bounds", BOUNDS, ids=["number", "arrays", "pairs", "Bounds"])
def test_bounds_in_every_spelling(bounds):
    found = optimize.minimize(lambda x: x[0] ** 2 + (x[1] - 2) ** 2, np.ones(2), bounds=bounds)
    assert np.allclose(found.x, [0.5, 2])
    assert found.covariance[0, 0] == 0


CONSTRAINTS = [
    {"type": "ineq", "fun": lambda x: 1 - np.sum(x)},
    [{"type": "eq", "fun": lambda x, total: np.sum(x) - total, "args": (1.0,)}],
    scipy_optimize.LinearConstraint(np.ones((1, 2)), 1, 1),
    scipy_optimize.NonlinearConstraint(np.sum, -np.inf, 1),
]


@pytest.mark.part(3)
@pytest.mark.parametrize("constraints", CONSTRAINTS, ids=["ineq", "eq", "linear", "nonlinear"])
@pytest.mark.parametrize("method", ["SLSQP", "trust-constr"])
def test_constraints_in_every_spelling(constraints, method):
    def at(a):
        def loss(x):
            return np.sum((x - a) ** 2)

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of SciPy's quasi-Newton updates
            return optimize.minimize(
                loss, np.full(2, 0.3), method=method, constraints=constraints
            ).x

    assert np.allclose(at(np.ones(2)), 0.5, atol=1e-3)  # trust-constr ends early
    slope = jacobian(at)(np.ones(2))
    assert np.allclose(slope, [[0.5, -0.5], [-0.5, 0.5]])


def test_results_are_differentiable():
    def best(a, b, low):
        def loss(p, b):
            return np.sum((p["x"] - a) ** 2) + p["x"][0] * p["x"][1] * b, "aux"

        found = optimize.minimize(
            loss, {"x": np.zeros(3), "n": 2}, b, bounds=(low, None), has_aux=True, tol=1e-14
        )
        return found.x["x"], found.fun

    a, low = np.array([1.0, 2.0, -3.0]), -1.0
    x, value = best(a, 0.5, low)
    by_a, by_low = jacobian(lambda a, low: best(a, 0.5, low)[0], (0, 1))(a, low)
    assert np.allclose(by_low, [0, 0, 1])
    assert np.allclose(
        by_a, [[1 / 0.9375, -0.25 / 0.9375, 0], [-0.25 / 0.9375, 1 / 0.9375, 0], [0] * 3]
    )
    slope = grad(lambda a: best(a, 0.5, low)[1])(a)  # the envelope theorem
    assert np.allclose(slope, 2 * (a - x))
    mapped = vmap(lambda a: best(a, 0.5, low)[0])(np.stack([a, a + 1]))
    assert np.allclose(mapped[0], x, atol=1e-6)
    with pytest.raises(NotDifferentiableError, match="no covariance"):
        grad(lambda a: np.sum(optimize.minimize(lambda x: (x - a) ** 2, 0.0).covariance))(1.0)


def test_what_constraints_close_over_is_differentiated():
    def at(a):
        by_dict = {"type": "eq", "fun": lambda x: x[0] - a}
        by_class = optimize.NonlinearConstraint(lambda x: x[1] * a, 8.0, np.inf)
        return optimize.minimize(
            lambda x: np.sum((x - 1) ** 2), np.ones(2), constraints=[by_dict, by_class]
        ).x

    assert np.allclose(jacobian(at)(4.0), [1, -8 / 16])
    assert np.allclose(vmap(at)(np.array([4.0, 2.0])), [[4, 2], [2, 4]])


def test_bounds_of_constraints_and_in_pairs_are_differentiated_and_mapped():
    def on_circle(low, high):
        ring = optimize.NonlinearConstraint(lambda x: x @ x, low, high)
        return optimize.minimize(
            lambda x: np.sum((x - 3) ** 2), np.array([0.5, 0.1]), constraints=ring
        ).x

    sizes = np.array([0.5, 2.0])
    for at in (lambda high: on_circle(0.1, high), lambda both: on_circle(both, both)):
        slopes = vmap(jacobian(at))(sizes)
        assert np.allclose(slopes, 1 / (4 * np.sqrt(sizes / 2))[:, None])
    with pytest.raises(InputError, match="for all examples or for none"):
        vmap(lambda low: on_circle(low, 1.0))(np.array([1.0, 0.5]))

    def boxed(high):
        pairs = [(None, high), (2, None)]
        return optimize.minimize(lambda x: np.sum((x - 5) ** 2), np.zeros(2), bounds=pairs).x

    assert np.allclose(jacobian(boxed)(1.0), [1, 0])


class Hidden:
    value = None


HIDDEN = {
    "minimize": lambda: optimize.minimize(lambda x: (x - Hidden.value) ** 2, 0.0).x,
    "without gradients": lambda: (
        optimize.minimize(lambda x: (x - Hidden.value) ** 2, 0.0, method="Nelder-Mead").x
    ),
    "constraint": lambda: (
        optimize.minimize(lambda x: x**2, 9.0, inequality=lambda x: x - Hidden.value).x
    ),
    "least_squares": lambda: optimize.least_squares(lambda x: x - Hidden.value, np.ones(1)).x[0],
    "root": lambda: optimize.root(lambda x: x - Hidden.value, np.ones(1)).x[0],
    "root_scalar": lambda: optimize.root_scalar(lambda x: x - Hidden.value, x0=1.0).x,
    "argmin": lambda: implicit.argmin(lambda x: (x - Hidden.value) ** 2, 0.0),
    "equality": lambda: implicit.argmin(lambda x: x**2, 1.0, equality=lambda x: x - Hidden.value),
    "fixed_point": lambda: implicit.fixed_point(lambda x: 0.5 * x + Hidden.value, 0.0),
    "solve": lambda: implicit.solve(lambda x: Hidden.value * x, 1.0),
}


@pytest.mark.parametrize("name", HIDDEN)
@pytest.mark.parametrize("transform", [grad, lambda f: lambda a: vmap(f)(np.full(2, a))])
def test_a_hidden_value_is_refused(name, transform, monkeypatch):
    def f(a):
        monkeypatch.setattr(Hidden, "value", a)
        return HIDDEN[name]()

    with pytest.raises(RuleError, match="neither among its arguments nor in its closure"):
        transform(f)(3.0)


# --- least_squares and curve_fit ----------------------------------------------------------------

T = np.linspace(0, 2, 30)


def decay(t, a, k, c):
    return a * np.exp(-k * t) + c


DATA = decay(T, 2.0, 3.0, 0.5) + 0.05 * RNG.normal(size=30)
SIGMA = 0.05 * (1 + T)
FITS = [
    {},
    {"sigma": SIGMA},
    {"sigma": SIGMA, "absolute_sigma": True},
    {"sigma": np.diag(SIGMA**2) + 1e-4, "absolute_sigma": True},
    {"bounds": ([0, 0, 0], [1.5, 10, 10])},
]


@pytest.mark.parametrize("options", FITS)
def test_curve_fit_is_scipys(options):
    x, covariance = optimize.curve_fit(decay, T, DATA, [1.0, 1.0, 1.0], **options)
    theirs, their_covariance = scipy_optimize.curve_fit(decay, T, DATA, [1, 1, 1], **options)
    assert np.allclose(x, theirs, atol=1e-5)
    assert np.allclose(covariance, their_covariance, rtol=1e-4, atol=1e-9)


def test_curve_fit_of_a_tree():
    found = optimize.curve_fit(
        lambda t, p: decay(t, p["a"], p["k"], p["c"]), T, DATA, {"a": 1.0, "k": 1.0, "c": 0.0}
    )
    x, covariance = optimize.curve_fit(decay, T, DATA)
    assert np.isclose(found.x["k"], x[1], rtol=1e-5)
    assert np.isclose(found.standard_errors["k"], np.sqrt(covariance[1, 1]), rtol=1e-4)


def test_a_fit_is_differentiable_by_its_data():
    def fit(y, sigma):
        return optimize.curve_fit(decay, T, y, np.ones(3), sigma).x

    def exact(y, sigma):
        return implicit.argmin(
            lambda p: np.sum(((decay(T, *p) - y) / sigma) ** 2), np.array([2.0, 3.0, 0.5])
        )

    for direction in ((np.cos(T), 0 * T), (0 * T, np.sin(T))):
        ours = jvp(fit, (DATA, SIGMA), direction)[1]
        h = 1e-5
        high, low = (
            exact(DATA + s * h * direction[0], SIGMA + s * h * direction[1]) for s in (1, -1)
        )
        assert np.allclose(ours, (high - low) / (2 * h), rtol=1e-6, atol=1e-8)


@pytest.mark.part(2)
@pytest.mark.parametrize("loss", ["linear", "soft_l1", "huber", "cauchy", "arctan", np.log1p])
def test_losses(loss):
    def residuals(p, y=DATA):
        return p[0] * np.exp(-p[1] * T) - y

    def fit(y):
        found = optimize.least_squares(residuals, np.ones(2), y, loss=loss, f_scale=0.1, tol=1e-15)
        return found.x

    named = "cauchy" if callable(loss) else loss
    theirs = scipy_optimize.least_squares(
        residuals, np.ones(2), loss=named, f_scale=0.1, xtol=1e-15, ftol=1e-15, gtol=1e-15
    )
    assert np.allclose(fit(DATA), theirs.x, atol=1e-6)
    ours = jvp(fit, (DATA,), (DATA,))[1]
    assert np.allclose(ours[1], 0, atol=5) == np.isfinite(ours).all()
    if named == "linear":
        assert np.allclose(ours, [theirs.x[0], 0], atol=1e-6)  # the fit scales with its data


@pytest.mark.parametrize("jac", ["dense", "sparse", "products"])
def test_jacobians_in_three_forms(jac):
    def residuals(x):
        return {"a": 10 * (x[1:] - x[:-1] ** 2), "b": 1 - x[:-1]}

    found = optimize.least_squares(residuals, np.zeros(6), jac=jac, bounds=(None, 5.0))
    assert np.allclose(found.x, 1, atol=1e-6)


# --- root ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["hybr", "lm", "krylov", "broyden1"])
def test_root(method):
    def side(a):
        def equations(p):
            return p["x"] ** 2 + p["y"] - a, p["x"] - p["y"]

        found = optimize.root(equations, {"x": 1.0, "y": 2.0, "n": 3}, method=method)
        return found.x["x"]

    assert np.isclose(side(6.0), 2, atol=1e-5)
    assert np.isclose(grad(side)(6.0), 1 / 5, rtol=1e-12)
    assert np.isclose(hessian(side)(6.0), -2 / 125, rtol=1e-11)


SCALARS = [
    {"bracket": (0, 5)},
    {"x0": 1.0},
    {"x0": 1.0, "method": "halley"},
    {"bracket": (0, 5), "method": "toms748"},
    {"x0": 1.0, "x1": 2.0, "method": "secant"},
]


@pytest.mark.parametrize("options", SCALARS)
def test_root_scalar(options):
    def cube_root(a):
        return optimize.root_scalar(lambda x: x**3 - a, **options).x

    assert np.isclose(cube_root(8.0), 2)
    assert np.isclose(grad(cube_root)(8.0), 1 / 12)
    assert np.allclose(vmap(cube_root)(np.array([1.0, 8.0])), [1, 2])


@pytest.mark.parametrize(
    "x0",
    [3, np.int64(3), np.array(3), np.array([0, 3], np.int8), [0, 3], [np.float64(0), np.int64(3)]],
)
def test_whole_numbers_alone_are_floats_as_to_scipy(x0):
    wanted = np.full(np.shape(x0), 1.5)
    assert np.allclose(optimize.minimize(lambda x: np.sum((x - 1.5) ** 2), x0).x, wanted)
    assert np.allclose(optimize.least_squares(lambda x: x - 1.5, x0).x, wanted)
    assert np.allclose(optimize.root(lambda x: x - 1.5, x0).x, wanted)
    run = optimize.run(lambda x: np.sum((x - 1.5) ** 2), x0, optimize.sgd(0.5), steps=3)
    assert np.allclose(run.params, wanted)


# --- Errors -------------------------------------------------------------------------------------


def test_wrong_arguments_are_named():
    f, x = rosenbrock, np.zeros(2)
    with pytest.raises(OutputError, match=r"one real number, got float64\[2\]"):
        optimize.minimize(lambda x: x, x)
    with pytest.raises(InputError, match="floating or complex dtype, got dict"):
        optimize.minimize(lambda p: p["n"], {"n": np.zeros(2, int)})
    with pytest.raises(InputError, match="a method that takes bounds, got 'BFGS'"):
        optimize.minimize(f, x, method="BFGS", bounds=(0, 1))
    with pytest.raises(InputError, match=r"a bound of the shape \(2,\)"):
        optimize.minimize(f, x, bounds=((0, 1), (0, 1)))
    with pytest.raises(InputError, match="2 pairs"):
        optimize.minimize(f, x, bounds=[(0, 1)])
    with pytest.raises(InputError, match="a method of Nelder-Mead"):
        optimize.minimize(f, x, method="bfg")
    with pytest.raises(InputError, match="a Hessian that BFGS takes"):
        optimize.minimize(f, x, method="BFGS", hess="dense")
    with pytest.raises(InputError, match="a Hessian that Powell takes"):
        optimize.minimize(f, x, method="Powell", hess="hvp")
    with pytest.raises(InputError, match="constraints"):
        optimize.minimize(f, x, constraints=3)
    with pytest.raises(ShapeMismatchError, match="as many equations as unknowns, 2"):
        optimize.root(lambda x: x[:1], x)
    with pytest.raises(InputError, match="a method of hybr"):
        optimize.root(f, x, method="newton")
    with pytest.raises(InputError, match="bracket="):
        optimize.root_scalar(f)
    with pytest.raises(ShapeMismatchError, match="one number"):
        optimize.root_scalar(lambda x: x * np.ones(2), x0=1.0)
    with pytest.raises(InputError, match="a loss of linear"):
        optimize.least_squares(f, x, loss="l1")
    with pytest.raises(InputError, match=r"a Jacobian that lm takes \(dense\)"):
        optimize.least_squares(lambda x: x, x, jac="sparse", method="lm")
    with pytest.raises(InputError, match="Pass p0"):
        optimize.curve_fit(lambda t, *p: t, T, T)
    with pytest.raises(ShapeMismatchError, match=r"shape of ydata, \(30,\)"):
        optimize.curve_fit(lambda t, a: a * t[:, None], T, T)
    with pytest.raises(ShapeMismatchError, match=r"shape of ydata, \(30,\)"):  # nor broadcast
        optimize.curve_fit(lambda t, a: np.zeros(7) * a, T, T)
    with pytest.raises(ShapeMismatchError, match="sigma of shape"):
        optimize.curve_fit(lambda t, a: a * t, T, T, sigma=np.ones((2, 2)))
    with pytest.raises(AttributeError, match="no attribute 'fmin'"):
        optimize.fmin  # noqa: B018


def test_scipy_is_imported_late_and_missed_clearly():
    program = (
        "import sys\n"
        "import tapegrad.tree, tapegrad.implicit, tapegrad.optimize as o\n"
        "assert not [m for m in sys.modules if m.startswith('scipy')]\n"
        "sys.modules['scipy'] = None\n"
        "try: o.minimize(lambda x: x**2, 1.0)\n"
        "except ImportError as error: assert 'tapegrad[scipy]' in str(error)\n"
        "else: raise AssertionError\n"
        "o.run(lambda x: x**2, 1.0, o.sgd(0.1), steps=3)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.slow
def test_a_gradient_of_a_minimum_by_two_routes():
    def f(a):
        return optimize.minimize(lambda x: np.sum((x - a) ** 4 + x**2), np.ones(2), tol=1e-12).x

    def g(a):
        return implicit.argmin(lambda x: np.sum((x - a) ** 4 + x**2), np.ones(2))

    assert np.allclose(jacobian(f)(1.0), jacobian(g)(1.0))
    assert np.allclose(jacobian(jacobian(f))(1.0), jacobian(jacobian(g))(1.0))
    check_grads(g, (1.0,))


# --- Review -------------------------------------------------------------------------------------


@pytest.mark.part(3)
@pytest.mark.parametrize(
    "method",
    [
        optimize.sgd(0.1),
        optimize.adam(0.05),
        optimize.rmsprop(0.005, centered=True),
        optimize.lion(0.005),
        optimize.chain(optimize.clip(0.5), optimize.sgd(0.1)),
        optimize.lbfgs(),
    ],
)
def test_complex_parameters_go_down(method):
    def loss(p):
        return np.sum(np.abs(p["z"] - (1 + 2j)) ** 2) + (p["x"] - 3) ** 2

    start = {"z": np.array([0.5 + 0j, 1j]), "n": 7, "x": 1.0}
    done = optimize.run(loss, start, method, steps=800, tol=1e-12)
    assert np.allclose(done.params["z"], 1 + 2j, atol=0.05)
    assert np.isclose(done.params["x"], 3, atol=0.05)
    assert done.params["n"] == 7


@pytest.mark.parametrize(
    "mask", [{"w": True, "n": False, "v": False}, lambda p: {**p, "v": False}]
)
def test_run_takes_a_mask_like_the_parameters(mask):
    def loss(p):
        return 0.0 * (p["w"] + p["v"]) * p["n"]

    method = optimize.adamw(0.1, weight_decay=0.5, mask=mask)
    done = optimize.run(loss, {"w": 1.0, "n": 2, "v": 4.0}, method, steps=1)
    assert done.params == {"w": 0.95, "n": 2, "v": 4.0}


@pytest.mark.parametrize("made", [optimize.sgd, optimize.adam, optimize.lion])
@pytest.mark.parametrize("scheduled", [False, True])
def test_a_rate_for_each_parameter(made, scheduled):
    """Each leaf moves as it does alone with its own rate."""
    params = {"a": np.array([1.0, 2.0]), "b": 3.0}
    rates = {"b": 0.5, "a": 0.1}  # matched by key

    def moved(rate, params):
        method = made((lambda count: rate) if scheduled else rate)
        updates, _ = method.update(params, method.init(params), params)
        return updates

    updates = moved(rates, params)
    for name, leaf in params.items():
        assert np.array_equal(updates[name], moved(rates[name], leaf))
    with pytest.raises(InputError, match="'b'"):
        moved({"a": 0.1}, params)


def test_run_takes_rates_like_the_parameters():
    def loss(p):
        return p["w"] ** 2 * p["n"]

    method = optimize.sgd({"w": 0.125, "n": 1.0})
    done = optimize.run(loss, {"w": 1.0, "n": 2}, method, steps=1)
    assert done.params == {"w": 0.5, "n": 2}


TIMES = np.linspace(0, 2, 15)
NOISY = 2 * np.exp(-1.3 * TIMES) + 0.5 + 0.05 * RNG.normal(size=15)


def three(t, a, k, c):
    return a * np.exp(-k * t) + c


@pytest.mark.part(3)
@pytest.mark.parametrize("jac", ["dense", "sparse", "products"])
@pytest.mark.parametrize("loss", ["linear", "soft_l1", "cauchy"])
def test_curve_fit_has_scipys_covariance_with_a_loss(loss, jac):
    options = {"method": "trf", "loss": loss, "f_scale": 0.05, "x_scale": [1.0, 2.0, 1.0]}
    x, covariance = scipy_optimize.curve_fit(three, TIMES, NOISY, **options)
    ours = optimize.curve_fit(three, TIMES, NOISY, jac=jac, tol=1e-10, **options)
    assert np.allclose(ours.x, x, rtol=1e-3)
    assert np.allclose(ours.covariance, covariance, rtol=1e-2)


def test_curve_fit_takes_lists_integers_and_scipys_options():
    expected = scipy_optimize.curve_fit(lambda t, a, b: a * t + b, [1, 2, 3, 4], [2, 4, 6, 9])[0]
    found = optimize.curve_fit(lambda t, a, b: a * t + b, [1, 2, 3, 4], [2, 4, 6, 9])
    assert np.allclose(found.x, expected)
    found = optimize.curve_fit(three, TIMES.tolist(), NOISY, np.array([1, 1, 0]))
    assert np.allclose(found.x, optimize.curve_fit(three, TIMES, NOISY).x, atol=1e-5)
    assert not optimize.curve_fit(three, TIMES, NOISY, max_nfev=2).success


def test_results_are_pickled_with_what_was_asked_for():
    found = optimize.minimize(lambda p: np.sum((p["w"] - 3) ** 2), {"w": np.zeros(2)})
    again = pickle.loads(pickle.dumps(found))
    assert np.allclose(again.x["w"], 3)
    with pytest.raises(NotDifferentiableError, match="pickled"):
        _ = again.covariance
    fit = optimize.curve_fit(three, TIMES, NOISY)
    errors = fit.standard_errors
    x, covariance = pickle.loads(pickle.dumps(fit))
    assert np.array_equal(covariance, fit.covariance)
    assert np.array_equal(pickle.loads(pickle.dumps(fit)).standard_errors, errors)


@pytest.mark.parametrize(
    "bounds", [(3.0, 1.0), [(0, 1), (3, 2)], (np.array([0.0, 2.0]), np.ones(2))]
)
def test_a_lower_bound_above_the_upper_one_is_refused(bounds):
    with pytest.raises(InputError, match=r"minimize.*lower <= upper in every element, got"):
        optimize.minimize(lambda x: np.sum(x**2), np.zeros(2), bounds=bounds)
    with pytest.raises(InputError, match=r"least_squares.*lower <= upper in every"):
        optimize.least_squares(lambda x: x, np.zeros(2), bounds=bounds)
    if isinstance(bounds, tuple):
        with pytest.raises(InputError, match=r"argmin.*lower <= upper"):
            implicit.argmin(lambda x: np.sum(x**2), np.zeros(2), bounds=bounds)


def test_a_traced_bracket_is_refused_by_what_to_pass():
    def root(high):
        return optimize.root_scalar(lambda x: x**2 - 2, bracket=(0.0, high)).x

    with pytest.raises(InputError, match=r"bracket.*plain numbers.*stop_gradient"):
        grad(root)(3.0)
    with pytest.raises(InputError, match=r"bracket.*plain numbers.*x0"):
        vmap(root)(np.array([2.0, 3.0]))


def test_the_shape_of_a_loss_is_refused_by_name():
    def by_scale(s):
        return optimize.least_squares(lambda x: x - 1, np.zeros(2), loss="huber", f_scale=s).x[0]

    def by_loss(s):
        return optimize.least_squares(lambda x: x - 1, np.zeros(2), loss=lambda z: s * z).x[0]

    for function in (by_scale, by_loss):
        with pytest.raises(NotDifferentiableError, match="not differentiable by f_scale"):
            grad(function)(0.5)


RATES = np.array([0.5, 1.0, 1.5, 2.0])
MADE = {
    "minimize": lambda x: optimize.minimize(lambda x: np.sum((x - RATES) ** 2), x),
    "minimize by values": lambda x: optimize.minimize(
        lambda x: np.sum((x - RATES) ** 2), x, method="Powell"
    ),
    "root": lambda x: optimize.root(lambda x: x**3 - RATES, x),
    "root of the identity": lambda x: optimize.root(lambda x: x, x),
    "curve_fit": lambda x: optimize.curve_fit(lambda t, a, b: a * t + b, RATES, RATES**2),
    **{
        f"least_squares, {method}": lambda x, method=method: optimize.least_squares(
            lambda x: x * x - RATES, x, method=method
        )
        for method in ("trf", "dogbox", "lm")
    },
}


@pytest.mark.parametrize("name", MADE)
def test_a_result_shares_no_memory_with_scipys_or_with_what_was_given(name):
    x = RATES + 0.1
    found = MADE[name](x)
    raw = {} if found.raw is None else found.raw
    others = [x, RATES, *(part for part in raw.values() if isinstance(part, np.ndarray))]
    for part in (found.x, found.fun, found.grad):
        for leaf in tree.leaves(part):
            assert not any(np.shares_memory(leaf, other) for other in others)
