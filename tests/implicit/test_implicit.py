"""tapegrad.implicit: solutions have the derivatives of their closed forms, to any order."""

from __future__ import annotations

import functools
import subprocess
import sys
import types

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tapegrad
from tapegrad import (
    InputError,
    NotDifferentiableError,
    RuleError,
    ShapeMismatchError,
    compile,
    grad,
    hessian,
    hvp,
    implicit,
    jacfwd,
    jacobian,
    jacrev,
    jvp,
    stop_gradient,
    value_and_grad,
    vjp,
    vmap,
)
from tapegrad.implicit import ConvergenceError
from tapegrad.implicit._minima import start_of_multipliers
from tapegrad.implicit._solvers import anderson
from tapegrad.testing import check_grads

RNG = np.random.default_rng(7)
POSITIVE = st.floats(0.2, 5.0)


def square_root(a, solver="newton"):
    return implicit.root(lambda x: x * x - a, 1.0, solver=solver)


@given(POSITIVE)
@settings(max_examples=6)
def test_a_root_has_the_derivatives_of_its_closed_form(a):
    assert np.isclose(square_root(a), np.sqrt(a), rtol=1e-13)
    for order, expected in enumerate((0.5 * a**-0.5, -0.25 * a**-1.5, 0.375 * a**-2.5)):
        f = functools.reduce(lambda f, _: grad(f), range(order + 1), square_root)
        assert np.isclose(f(a), expected, rtol=1e-9)
    assert np.isclose(hvp(square_root, (a,), (2.0,)), -0.5 * a**-1.5, rtol=1e-9)
    assert np.isclose(jvp(grad(square_root), (a,), (1.0,))[1], -0.25 * a**-1.5, rtol=1e-9)


@pytest.mark.parametrize("solver", ["hybr", "lm", "krylov", "broyden1"])
def test_roots_by_scipys_methods(solver):
    pytest.importorskip("scipy")
    f = functools.partial(square_root, solver=solver)
    assert np.isclose(f(4.0), 2.0, rtol=1e-12)
    assert np.isclose(grad(f)(4.0), 0.25, rtol=1e-12)


def test_a_solver_of_the_callers_gets_plain_values():
    def bisection(f, x0):
        low, high = 0.0, 10.0
        while high - low > 1e-13:
            middle = (low + high) / 2
            low, high = (middle, high) if f(middle) < 0 else (low, middle)
        return low

    f = functools.partial(square_root, solver=bisection)
    assert np.isclose(grad(grad(f))(4.0), -0.25 * 4**-1.5, rtol=1e-9)
    assert np.allclose(vmap(grad(f))(np.array([1.0, 4.0])), [0.5, 0.25])


def tree_problem(p):
    def equations(z, p):
        return [z["x"] ** 2 + z["y"] - p["a"], z["y"] - np.sum(z["x"]) * p["b"]]

    z = implicit.root(equations, {"x": np.ones(2), "y": 1.0}, p)
    return np.sum(z["x"]) * z["y"]


def test_unknowns_and_parameters_are_trees():
    check_grads(tree_problem, ({"a": 3.0, "b": np.array(0.5)},), order=1)


def test_complex_unknowns_of_equations_that_are_not_holomorphic():
    def f(a):
        z = implicit.root(lambda z: z * np.conj(z) * z - a, 1.0 + 0.5j)
        return np.real(z) + 2 * np.imag(z)

    check_grads(f, (1.0 + 2.0j,), order=1)


def test_single_precision_stays():
    def f(a):
        return implicit.root(lambda x: x**2 - a, np.ones(2, np.float32))

    out, dot = jvp(f, (np.float32(2.0),), (np.float32(1.0),))
    assert out.dtype == dot.dtype == np.float32
    assert np.allclose(dot, 0.5 / np.sqrt(2), rtol=1e-5)
    assert grad(lambda a: np.sum(f(a)))(np.float32(2.0)).dtype == np.float32


def test_inside_vmap_and_compile_and_both():
    a = np.array([1.0, 4.0, 9.0])
    assert np.allclose(vmap(square_root)(a), [1, 2, 3])
    assert np.allclose(vmap(grad(square_root))(a), [0.5, 0.25, 1 / 6])
    assert np.allclose(grad(lambda a: np.sum(vmap(square_root)(a)))(a), [0.5, 0.25, 1 / 6])
    compiled = compile(value_and_grad(square_root))
    second = compile(vmap(hessian(square_root)))
    for k in range(4):
        value, slope = compiled(4.0 + k)
        assert np.isclose(value, (4 + k) ** 0.5)
        assert np.isclose(slope, 0.5 * (4 + k) ** -0.5)
        assert np.allclose(second(a + k), -0.25 * (a + k) ** -1.5)


def test_a_batched_value_in_the_closure():
    a = np.array([1.0, 4.0])
    f = vmap(lambda a: grad(lambda b: implicit.root(lambda x: x * x - a * b, 1.0))(1.0))
    assert np.allclose(f(a), np.sqrt(a) / 2)


class Hidden:
    shared = None

    def __init__(self, value):
        self.value = value


def test_closures_are_differentiated_wherever_they_hold_the_value():
    def through(make):
        return grad(lambda a: implicit.root(make(a), 1.0))(4.0)

    def inner(a):
        return lambda x: x * x - a

    def equation(x, a):
        return x * x - a

    def holder(a):
        hidden = Hidden(a)
        return lambda x: x * x - hidden.value

    for make in (
        inner,
        lambda a: lambda x, f=inner(a): f(x),  # noqa: B008
        lambda a: functools.partial(equation, a=a),
        lambda a: grad(lambda x: x**3 / 3 - a * x),
        lambda a: lambda x, *, parts={"a": [a]}: x * x - parts["a"][0],
        holder,
    ):
        assert np.isclose(through(make), 0.25), make


def test_a_value_hidden_from_the_closure_is_refused(monkeypatch):
    def f(a):
        monkeypatch.setattr(Hidden, "shared", a)
        return implicit.root(lambda x: x * x - Hidden.shared, 1.0)

    assert f(4.0) == 2.0
    for derivative in (grad(f), lambda a: jvp(f, (a,), (a,)), lambda a: vmap(f)(np.array([a]))):
        with pytest.raises(RuleError, match=r"neither among its arguments nor in its closure"):
            derivative(4.0)


@pytest.mark.parametrize("solver", ["anderson", "iterate", "newton"])
def test_fixed_points(solver):
    w = 0.3 * np.arange(9.0).reshape(3, 3) / 9

    def f(w):
        return implicit.fixed_point(lambda x: np.tanh(w @ x + 1), np.zeros(3), solver=solver)

    x = f(w)
    assert np.allclose(np.tanh(w @ x + 1), x, atol=1e-12)
    if solver == "anderson":
        check_grads(f, (w,))
    s = 1 - x**2
    direction = np.ones_like(w)
    expected = np.linalg.solve(np.eye(3) - s[:, None] * w, s * (direction @ x))
    assert np.allclose(jvp(f, (w,), (direction,))[1], expected)


@pytest.mark.parametrize("depth", [0, 1, 3])
def test_anderson_joins_as_many_steps_as_its_depth(depth):
    # The form of Walker and Ni's (2.1): the affine combination of images with the least change.
    def f(x):
        return np.array([np.cos(x[1]), np.sin(x[0] + x[2]) / 2, x[0] * x[1] / 3])

    asked = []
    anderson(lambda x: asked.append(x) or f(x), np.array([0.3, -0.2, 0.9]), depth=depth, most=7)
    for n in range(1, 7):
        points = asked[max(0, n - 1 - depth) : n]
        images = np.stack([f(x) for x in points])
        changes = images - points
        last = changes[-1]
        others = np.linalg.lstsq((changes[:-1] - last).T, -last, rcond=None)[0] if depth else []
        shares = np.array([*others, 1 - np.sum(others)])
        np.testing.assert_allclose(asked[n], shares @ images, rtol=1e-9)


# --- Linear systems -----------------------------------------------------------------------------

MATRIX = RNG.normal(size=(5, 5)) + 5 * np.eye(5)
RIGHT = RNG.normal(size=5)


def own_solver(matvec, b):
    return np.linalg.solve(jacobian(matvec)(b), b)


@pytest.mark.parametrize("solver", ["auto", "gmres", "bicgstab", own_solver])
def test_linear_systems_of_a_product(solver):
    if isinstance(solver, str) and solver != "auto":
        pytest.importorskip("scipy")

    def f(A, b):
        return implicit.solve(lambda x: A @ x, b, solver=solver)

    assert np.allclose(f(MATRIX, RIGHT), np.linalg.solve(MATRIX, RIGHT), rtol=1e-10)
    for ours, expected in zip(
        jacrev(f, (0, 1))(MATRIX, RIGHT),
        jacrev(np.linalg.solve, (0, 1))(MATRIX, RIGHT),
        strict=True,
    ):
        assert np.allclose(ours, expected, rtol=1e-8, atol=1e-9)
    if solver == "auto":
        check_grads(f, (MATRIX, RIGHT))


@pytest.mark.parametrize("solver", ["cg", "minres", "gmres"])
def test_symmetric_systems_with_a_preconditioner(solver):
    pytest.importorskip("scipy")
    A = MATRIX @ MATRIX.T
    diagonal = np.diag(A)

    def f(A, b):
        return implicit.solve(
            lambda x: {"x": A @ x["x"]}, {"x": b}, solver=solver, preconditioner=scaled
        )["x"]

    def scaled(v):
        return {"x": v["x"] / diagonal}

    def total(solve, A):
        return np.sum(solve(A, RIGHT) ** 3)

    assert np.allclose(
        grad(lambda A: total(f, A))(A), grad(lambda A: total(np.linalg.solve, A))(A), rtol=1e-7
    )
    v = np.ones_like(A)
    ours = hvp(lambda A: total(f, A), (A,), (v,))
    assert np.allclose(ours, hvp(lambda A: total(np.linalg.solve, A), (A,), (v,)), rtol=1e-6)


@pytest.mark.parametrize("size", [1e-250, 1e250])
@pytest.mark.parametrize("solver", ["cg", "gmres", "bicgstab", "minres", "given"])
def test_right_sides_whose_squares_are_out_of_range(solver, size):
    sparse = pytest.importorskip("scipy.sparse.linalg")
    a, b = np.array([[4.0, 1], [1, 3]]), np.array([1.0, 2])
    expected = np.linalg.solve(a, b)

    def given(product, b):
        return sparse.cg(sparse.LinearOperator((2, 2), product, dtype=float), b, rtol=1e-13)[0]

    def f(b, a=a):
        return implicit.solve(lambda x: a @ x, b, solver=given if solver == "given" else solver)

    def along(a):
        return jvp(lambda b: f(b, a), (b,), (size * b,))[1]

    for found in (f(size * b), vjp(f, b)[1](size * b)[0], along(a)):
        np.testing.assert_allclose(found / size, expected, rtol=1e-10)
    found = vjp(along, a)[1](b)[0]
    np.testing.assert_allclose(found / size, -np.outer(expected, expected), rtol=1e-10)


def test_large_equations_go_without_a_matrix():
    pytest.importorskip("scipy")
    n = 1000

    def f(t):
        def equations(x):
            inner = 4 * x + t * x**3 - 1
            return inner - np.pad(x[1:], (0, 1)) - np.pad(x[:-1], (1, 0))

        return np.sum(implicit.root(equations, np.zeros(n), linear_solver="gmres"))

    h = 1e-5
    assert np.isclose(grad(f)(1.0), (f(1 + h) - f(1 - h)) / (2 * h), rtol=1e-7)
    assert np.isclose(jvp(f, (1.0,), (1.0,))[1], grad(f)(1.0), rtol=1e-9)


@pytest.mark.slow
def test_numpy_alone_is_enough():
    program = (
        "import sys; sys.modules['scipy'] = None\n"
        "import numpy as np, tapegrad\n"
        "from tapegrad import implicit\n"
        "f = lambda a: np.sum(implicit.root(lambda x: x**2 - a, np.ones(2)))\n"
        "assert abs(tapegrad.grad(f)(4.0) - 0.5) < 1e-12\n"
        "g = lambda a: implicit.argmin(lambda x: (x - a)**4 + x * x, 1.0)\n"
        "tapegrad.grad(tapegrad.grad(g))(1.0)\n"
        "implicit.solve(lambda x: 2 * x, np.ones(2))\n"
        "try: implicit.root(lambda x: x - 1, 1.0, solver='hybr')\n"
        "except ImportError as error: assert 'tapegrad[scipy]' in str(error)\n"
        "else: raise AssertionError\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


# --- Minima -------------------------------------------------------------------------------------

X, Y = RNG.normal(size=(12, 3)), RNG.normal(size=12)


def ridge(penalty, solver=None):
    def loss(w):
        return np.sum((X @ w - Y) ** 2) + np.exp(penalty) * np.sum(w**2)

    return implicit.argmin(loss, np.zeros(3), solver=solver)


def ridge_closed(penalty):
    return np.linalg.solve(X.T @ X + np.exp(penalty) * np.eye(3), X.T @ Y)


@pytest.mark.parametrize("solver", [None, "BFGS", "trust-exact"])
def test_a_minimum_has_the_derivatives_of_its_closed_form(solver):
    if solver:
        pytest.importorskip("scipy")
    f = functools.partial(ridge, solver=solver)
    assert np.allclose(f(0.3), ridge_closed(0.3), rtol=1e-12)
    assert np.allclose(jacfwd(f)(0.3), jacfwd(ridge_closed)(0.3), rtol=1e-10)
    assert np.allclose(jacrev(jacfwd(f))(0.3), jacfwd(jacfwd(ridge_closed))(0.3), rtol=1e-8)


@given(st.lists(st.floats(-2, 2), min_size=9, max_size=9), st.lists(st.floats(-3, 3), min_size=3))
@settings(max_examples=6)
def test_the_minimum_of_a_quadratic_is_linear(entries, b):
    b = np.array(b[:3])
    A = np.reshape(entries, (3, 3))
    A = A @ A.T + np.eye(3)
    f = jacobian(lambda b: implicit.argmin(lambda x: x @ A @ x / 2 - b @ x, np.ones(3)))
    assert np.allclose(f(b), np.linalg.inv(A), rtol=1e-8, atol=1e-10)


def test_equality_constraints_and_their_multipliers():
    pytest.importorskip("scipy")

    def f(mu):
        x, multipliers = implicit.argmin(
            lambda w: np.sum(w**2 * np.array([1.0, 2.0, 3.0])) - w @ mu,
            np.ones(3) / 3,
            equality=lambda w: np.sum(w) - 1,
            multipliers=True,
        )
        return np.concatenate([x, multipliers.equality])

    check_grads(f, (np.array([0.1, 0.2, 0.3]),), order=1)


def in_disc(p):
    x, multipliers = implicit.argmin(
        lambda x: np.sum((x - p) ** 2),
        np.zeros(2),
        inequality=lambda x: 1 - np.sum(x**2),
        multipliers=True,
    )
    return np.concatenate([x, multipliers.inequality])


@pytest.mark.parametrize("p", [np.array([2.0, 1.0]), np.array([0.2, 0.1])])
def test_inequalities_that_push_and_those_that_do_not(p):
    pytest.importorskip("scipy")
    r = np.linalg.norm(p)
    assert np.allclose(in_disc(p), [*(p / max(r, 1)), max(r - 1, 0)], atol=1e-9)
    check_grads(in_disc, (p,), order=1)


def test_which_constraints_hold_is_told_up_to_a_tolerance():
    """A part in a million of 1 and of the largest slack; of those that hold, the push."""
    for slack, push in ((-1.0, 3.0), (0.0, 3.0), (2e-6, 3.0), (2.01e-6, 0.0), (0.5, 0.0)):
        for far in (1.0, -1.0):
            inequality = lambda x, far=far: np.stack([x[0], far])  # noqa: E731
            functions = [lambda x: 3 * x[0] + 0 * x[1], None, inequality]
            shadow, found = start_of_multipliers(functions, None, np.array([slack, 0.0]))
            assert (shadow.size, found.tolist()) == (0, [push, 0.0])


def boxed(p, low):
    def loss(x):
        return np.sum((x["a"] - p) ** 2) + np.prod(x["a"])

    return implicit.argmin(loss, {"a": np.ones(3)}, bounds=({"a": low}, None))["a"]


@pytest.mark.slow
def test_bounds_are_parameters_too():
    pytest.importorskip("scipy")
    p, low = np.array([-1.0, 1.0, -2.0]), np.array([0.1, 0.2, -0.5])
    assert np.allclose(boxed(p, low), [0.1, 1.025, -0.5])
    by_p, by_low = jacobian(boxed, (0, 1))(p, low)
    assert np.allclose(by_p, np.diag([0.0, 1.0, 0.0]))
    assert np.allclose(by_low, [[1, 0, 0], [0.25, 0, -0.05], [0, 0, 1]])
    compiled = compile(jacfwd(boxed))
    for k in range(3):
        expected = np.diag([0.0, 1.0, 0.0])
        assert np.allclose(compiled(p - 0.1 * k, low), expected, atol=1e-12)
    both = vmap(lambda p: boxed(p, low))(np.stack([p, p + 3]))
    assert np.allclose(both[0], boxed(p, low))


# --- Solvers of the user's own ------------------------------------------------------------------


BOUNDS = {
    "a number": (-0.5, 0.25),
    "a scalar of NumPy's": (np.float64(-0.5), np.array(0.25)),
    "an integer and none": (0, None),
    "a number by leaf": ({"a": -0.5, "b": -1}, {"a": 0.25, "b": None}),
    "an array by leaf": ({"a": np.array([-0.5, -1.0]), "b": -0.5}, None),
    "infinite": (-np.inf, np.array([0.25, np.inf])[0]),
}


@pytest.mark.parametrize("form", BOUNDS)
def test_bounds_may_be_numbers_none_or_trees(form):
    pytest.importorskip("scipy")
    p = {"a": np.array([-2.0, 0.1]), "b": 3.0}

    def leaves(bound, absent):
        bound = bound if isinstance(bound, dict) else {"a": bound, "b": bound}
        return {name: absent if one is None else one for name, one in bound.items()}

    lower, upper = BOUNDS[form]
    low, high = leaves(lower, -np.inf), leaves(upper, np.inf)

    def found(p):
        def loss(x):
            return np.sum((x["a"] - p["a"]) ** 2) + (x["b"] - p["b"]) ** 2

        return implicit.argmin(loss, {"a": np.zeros(2), "b": 0.0}, bounds=(lower, upper))

    x, slope = found(p), jacobian(lambda p: found(p)["a"])(p)["a"]
    for name, value in p.items():
        assert np.allclose(x[name], np.clip(value, low[name], high[name]), atol=1e-9)
    inside = (p["a"] > low["a"]) & (p["a"] < high["a"])
    assert np.allclose(slope, np.diag(inside * 1.0), atol=1e-9)


def test_custom_root_and_custom_fixed_point():
    conditions = grad(lambda w, p: np.sum((X @ w - Y) ** 2) + np.exp(p) * np.sum(w**2))

    @implicit.custom_root(conditions, symmetric=True, has_aux=True)
    def solver(_w0, penalty):
        assert not isinstance(penalty, tapegrad.Array)
        return ridge_closed(penalty), {"steps": 3}

    assert solver(None, 0.3)[1] == {"steps": 3}
    ours = jacobian(lambda p: solver(None, p)[0])
    assert np.allclose(ours(0.3), jacobian(ridge_closed)(0.3))
    with pytest.raises(RuleError, match="has_aux=True"):
        vmap(lambda p: solver(None, p)[0])(np.ones(2))

    @implicit.custom_fixed_point(lambda x, a: (x + a / x) / 2)
    def heron(x, a):
        while abs(x * x - a) > 1e-12:
            x = (x + a / x) / 2
        return x

    assert np.allclose(vmap(grad(heron, 1), (None, 0))(1.0, np.array([4.0, 9.0])), [1 / 4, 1 / 6])
    with pytest.warns(tapegrad.IndependentOutputWarning):  # where it starts
        assert grad(heron)(1.0, 4.0) == 0.0


# --- Errors -------------------------------------------------------------------------------------


def test_what_is_no_solution_is_refused_with_the_numbers():
    with pytest.raises(implicit.ConvergenceError, match=r"norm is 0.39, which is 0.05"):
        implicit.root(lambda x: x**2 - 4, 1.0, solver=lambda f, x: 1.9)
    with pytest.raises(implicit.ConvergenceError, match="did not arrive"):
        implicit.root(lambda x: x**2 + 1, 1.0)
    with pytest.raises(implicit.ConvergenceError, match="not finite"):
        implicit.root(lambda x: x, 1.0, solver=lambda f, x: np.nan)
    assert implicit.root(lambda x: x**2 - 4, 1.0, solver=lambda f, x: 1.9, tol=0.1) == 1.9


@pytest.mark.parametrize("far", [1e154, 1e200])
def test_what_overflows_is_no_solution(far):
    with pytest.raises(implicit.ConvergenceError, match="did not arrive"):
        implicit.root(lambda x: x**2 - 4, 1.0, solver=lambda f, x: far)
    with pytest.raises(implicit.ConvergenceError, match="did not arrive"):
        implicit.fixed_point(lambda x: 2 * x + 1, np.ones(2), solver="iterate")  # to 1e301
    assert np.isclose(grad(lambda a: implicit.root(lambda x: x - far * a, 1.0))(1.0), far)


def test_a_singular_jacobian_is_refused():
    def equations(x, t):
        return np.stack([x[0] + x[1] - t, 2 * x[0] + 2 * x[1] - 2 * t])

    def f(t):
        return implicit.root(equations, np.ones(2), (t,))[0]

    assert np.isclose(f(1.0), 0.5)
    with pytest.raises(NotDifferentiableError, match="singular at the solution"):
        grad(f)(1.0)
    with pytest.raises(NotDifferentiableError, match="singular"):
        implicit.solve(lambda x: x[::-1] * 0 + np.sum(x), np.ones(2))
    pytest.importorskip("scipy")
    with pytest.raises(implicit.ConvergenceError, match="left a residual"):
        implicit.solve(lambda x: x * 0 + np.sum(x), np.arange(2.0), solver="gmres")


def test_a_constraint_that_only_touches_is_refused():
    pytest.importorskip("scipy")
    p = np.array([0.6, 0.8])
    with pytest.raises(NotDifferentiableError, match="inequality 0 holds with equality, but"):
        grad(lambda p: in_disc(p)[0])(p)
    low = np.zeros(3)
    with pytest.raises(NotDifferentiableError, match="lower bound 0 holds"):
        grad(lambda p: np.sum(boxed(p, low)))(np.array([0.0, 1.0, 0.0]))


def test_wrong_arguments_are_named():
    with pytest.raises(InputError, match="unknowns of a floating or complex dtype, got int 1"):
        implicit.root(lambda x: x, 1)
    with pytest.raises(ShapeMismatchError, match="as many equations as unknowns, 1, got 2"):
        implicit.root(lambda x: np.ones(2) * x, 1.0)
    with pytest.raises(InputError, match="a solver of 'newton', 'hybr'"):
        implicit.root(lambda x: x, 1.0, solver="bisect")
    with pytest.raises(InputError, match="a linear solver of 'auto'"):
        implicit.root(lambda x: x, 1.0, linear_solver="qr")
    with pytest.raises(InputError, match=r"bounds=\(lower, upper\)"):
        implicit.argmin(lambda x: x**2, 1.0, bounds=3.0)
    with pytest.raises(InputError, match="a bound of the shape"):
        implicit.argmin(lambda x: np.sum(x**2), np.ones(2), bounds=(np.zeros(3), None))
    with pytest.raises(RuleError, match=r"expected \(x, aux\)"):
        implicit.custom_root(lambda x: x, has_aux=True)(lambda x0: x0)(1.0)


def test_stop_gradient_stops():
    def f(a):
        return a * implicit.root(lambda x: x * x - stop_gradient(a), 1.0)

    assert grad(f)(4.0) == 2.0


# --- Review -------------------------------------------------------------------------------------


class Held:
    def __init__(self, a):
        self.a = a


class Named(dict):
    pass


def recursive(a):
    def residual(x, n=3):
        return x**2 - a if n == 0 else residual(x, n - 1)

    return residual


def mutual(a):
    def one(x, n=3):
        return two(x, n)

    def two(x, n):
        return x**2 - a if n == 0 else one(x, n - 1)

    return one


def in_a_cycle(a):
    held = Held(a)
    held.itself = held
    return lambda x: x**2 - held.itself.itself.a


def in_a_namespace(a):
    held = types.SimpleNamespace(a=a)
    return lambda x: x**2 - held.a


def beside_a_dict(a):
    held = Named(k=1)
    held.a = a
    return lambda x: held["k"] * x**2 - held.a


IN_MODULE = {}


def in_a_body(a):
    IN_MODULE["a"] = a

    def residual(x):
        def inner(y):
            return y**2 - IN_MODULE["a"]

        return inner(x)

    return residual


@pytest.mark.parametrize(
    "made", [recursive, mutual, in_a_cycle, in_a_namespace, beside_a_dict, in_a_body]
)
def test_closures_in_cycles_and_in_pythons_own_classes(made):
    def root(a):
        return implicit.root(made(a), 1.0)

    assert np.isclose(grad(root)(4.0), 0.25)
    assert np.isclose(grad(grad(root))(4.0), -1 / 32)


def test_a_solution_that_equals_its_parameter_may_have_roundings():
    def near(a):
        return implicit.root(lambda x: x - a, 0.0, solver=lambda f, x: 3.0 + 1e-12)

    assert grad(near)(3.0) == 1
    with pytest.raises(ConvergenceError, match="residual"):
        implicit.root(lambda x: x - 3.0, 0.0, solver=lambda f, x: 3.0 + 1e-4)
    single = jacobian(lambda a: implicit.argmin(lambda x: np.sum((x - a) ** 2), np.zeros(2, "f")))
    assert np.allclose(single(np.array([1.0, 0.3])), np.eye(2))


def test_argmin_leaves_a_saddle_and_a_maximum():
    assert np.isclose(abs(implicit.argmin(np.cos, 0.0)), np.pi)
    found = implicit.argmin(lambda x: x[0] ** 2 + (x[1] ** 2 - 1) ** 2, np.array([1.0, 0.0]))
    assert np.allclose(np.abs(found), [0, 1])
    with pytest.raises(ConvergenceError), np.errstate(all="ignore"):
        implicit.argmin(lambda x: x[0] ** 2 - x[1] ** 2, np.array([1.0, 0.0]))


@pytest.mark.parametrize("side", [1, -1])
def test_argmin_looks_on_both_sides_of_a_maximum(side):
    """On one of them nothing is lower."""

    def f(x):
        return np.sum(np.where(side * x > 0, 2 + x**2, np.cos(x)))

    for start in (0.0, np.zeros(1)):
        assert np.allclose(implicit.argmin(f, start), -side * np.pi)


def test_a_push_that_is_lost_in_rounding_is_refused():
    pytest.importorskip("scipy")

    def held(a):
        start = np.array([0.3, 0.2])
        return implicit.argmin(lambda x: 1e-6 * np.sum((x - a) ** 2), start, bounds=(None, 1.0))

    with pytest.raises(NotDifferentiableError, match="kink"):
        jacobian(held)(np.array([1.0 + 1e-12, 0.5]))


def test_a_matrix_that_is_not_symmetric_is_not_taken_for_one():
    def first(b):
        matrix = np.array([[3.0, 1.0], [0.0, 2.0]])
        return implicit.solve(lambda v: matrix @ v, b, symmetric=True)[0]

    with pytest.raises(NotDifferentiableError, match="its own transpose"):
        grad(first)(np.ones(2))


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_symmetry_is_told_beside_the_size_of_the_matrix(dtype, scale):
    exact = np.array([[3.0, 1.0, 0.2], [1.0, 2.0, -0.7], [0.2, -0.7, 4.0]]) * scale
    rounded = exact * (1 + np.finfo(dtype).eps * np.array([[0, 1, -1], [-1, 0, 1], [1, -1, 0]]))
    skewed = exact * (1 + 0.01 * np.triu(np.ones(3)))
    b = np.ones(3, dtype)

    def first(b, matrix):
        return implicit.solve(lambda v: matrix.astype(dtype) @ v, b, symmetric=True)[0]

    for matrix in (exact, rounded):
        expected = np.linalg.inv(exact)[0]
        np.testing.assert_allclose(grad(first)(b, matrix), expected, rtol=1e-4)
    with pytest.raises(NotDifferentiableError, match="its own transpose"):
        grad(first)(b, skewed)


@pytest.mark.parametrize("solver", ["cg", "gmres"])
def test_products_that_are_not_symmetric_are_not_taken_for_such(solver):
    pytest.importorskip("scipy")

    def first(b, asymmetry):
        def product(v):
            return 4 * v + np.roll(v, 1) + (1 + asymmetry) * np.roll(v, -1)

        return implicit.solve(product, b, solver=solver, symmetric=True)[0]

    b = np.ones(500)
    assert np.isclose(np.sum(grad(first)(b, 0.0)), 1 / 6)
    with pytest.raises(NotDifferentiableError, match="its own transpose"):
        grad(first)(b, 1e-3)


def test_one_solution_of_several_equations_has_the_derivative_of_each():
    """The solution is the same, the matrix is not."""

    def solution(a, slope):
        return implicit.root(lambda x, a, slope: slope * (x - a), np.zeros(2), (a, slope))

    a, slopes = np.array([0.5, 2.0]), np.array([1.0, 2.0, -3.0])
    for slope in slopes:
        np.testing.assert_allclose(jacrev(solution)(a, slope), np.eye(2), atol=1e-12)
    each = vmap(lambda slope: jacrev(solution)(a, slope))(slopes)
    np.testing.assert_allclose(each, np.stack([np.eye(2)] * 3), atol=1e-12)
