"""Derivatives of the user's own: custom_vjp, custom_jvp, and primitives with every rule form."""

from __future__ import annotations

import dataclasses
import gc
import weakref
from typing import NamedTuple

import numpy as np
import pytest

import tapegrad
from tapegrad import (
    Array,
    NotDifferentiableError,
    RuleError,
    custom_jvp,
    custom_vjp,
    elementwise_grad,
    grad,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    primitive,
    stop_gradient,
    value_and_grad,
    vjp,
)

X = np.array([0.5, -1.25, 2.0])
Y = np.array([1.5, 0.25, -0.5])


def derivative(f):
    return lambda x: jvp(f, (x,), (1.0,))[1]


FIRST = {
    "grad": grad,
    "jvp": derivative,
    "jacrev": jacrev,
    "jacfwd": jacfwd,
    "linearize": lambda f: lambda x: linearize(f, x)[1](1.0),
}
modes = pytest.mark.parametrize("how", FIRST)


# --- custom_vjp ---------------------------------------------------------------------------------


def make_sine(scale=1.0):
    """A sine whose declared derivative is `scale` times the right one."""
    calls = []

    @custom_vjp
    def sine(x):
        """A sine."""
        calls.append("call")
        return np.sin(x)

    def forward(x):
        calls.append("forward")
        return np.sin(x), np.cos(x)

    def backward(cosine, g):
        calls.append("backward")
        return (scale * g * cosine,)

    sine.defvjp(forward, backward)
    return sine, calls


def test_plain_calls_run_the_function_alone():
    sine, calls = make_sine()
    assert sine(0.5) == np.sin(0.5)
    assert calls == ["call"]
    assert sine.__doc__ == "A sine."
    assert repr(sine) == "<custom_vjp sine>"


@modes
def test_the_declared_derivative_is_used(how):
    sine, calls = make_sine(scale=10.0)
    np.testing.assert_allclose(FIRST[how](sine)(0.5), 10 * np.cos(0.5))
    assert "backward" in calls


def test_forward_and_backward_run_once():
    sine, calls = make_sine()
    grad(sine)(0.5)
    assert calls == ["forward", "backward"]


@pytest.mark.parametrize("a", FIRST)
@pytest.mark.parametrize("b", FIRST)
def test_second_derivatives_of_custom_vjp(a, b):
    sine, _ = make_sine()

    def f(x):
        return sine(x * x)

    x = 0.5
    expected = 2 * np.cos(x * x) - 4 * x * x * np.sin(x * x)
    np.testing.assert_allclose(FIRST[a](FIRST[b](f))(x), expected, rtol=1e-12)


@pytest.mark.parametrize(
    "names",
    [("grad",) * 3, ("jvp",) * 3, ("grad", "jvp", "grad"), ("jvp", "grad", "jvp")],
    ids="-".join,
)
def test_third_derivatives_of_custom_vjp(names):
    sine, _ = make_sine()
    f = sine
    for name in names:
        f = FIRST[name](f)
    np.testing.assert_allclose(f(0.5), -np.cos(0.5), rtol=1e-12)


def test_the_derivative_of_a_declared_derivative_is_that_of_backward():
    # As in JAX: backward is differentiated as it is written, whatever forward's own derivative is.
    @custom_vjp
    def f(x):
        return np.sin(x)

    f.defvjp(lambda x: (np.sin(x), x), lambda x, g: (g * x**3,))
    assert grad(f)(2.0) == 8.0
    np.testing.assert_allclose(grad(grad(f))(2.0), 12.0)
    np.testing.assert_allclose(derivative(grad(f))(2.0), 12.0)
    np.testing.assert_allclose(derivative(derivative(f))(2.0), 12.0)


def test_gradient_clipping():
    @custom_vjp
    def clipped(x, bound):
        return x

    clipped.defvjp(lambda x, bound: (x, bound), lambda bound, g: (np.clip(g, -bound, bound), None))
    np.testing.assert_array_equal(
        grad(lambda x: np.sum(clipped(x, 1.0) ** 2))(X), [1.0, -1.0, 1.0]
    )


def test_several_arguments_and_none():
    @custom_vjp
    def f(x, y, n):
        return np.sum(x * y) * n

    f.defvjp(
        lambda x, y, n: (f(x, y, n), (x, y, n)), lambda r, g: (g * r[1] * r[2], g * r[0], None)
    )
    by_x, by_y = grad(f, (0, 1))(X, Y, 3)
    np.testing.assert_array_equal(by_x, 3 * Y)
    np.testing.assert_array_equal(by_y, X)  # as declared, without the factor
    np.testing.assert_array_equal(grad(f, 1)(X, Y, 3), X)
    with pytest.warns(tapegrad.IndependentOutputWarning):
        assert grad(lambda n: f(X, Y, n))(3.0) == 0.0


def test_cotangents_are_cast_and_checked():
    @custom_vjp
    def f(x):
        return np.sum(x)

    f.defvjp(lambda x: (np.sum(x), None), lambda _, g: (g * np.ones(3),))
    assert grad(f)(X.astype(np.float32)).dtype == np.float32
    f.defvjp(lambda x: (np.sum(x), None), lambda _, g: (g * np.ones(4),))
    with pytest.raises(RuleError, match=r"cotangent of shape \(4,\)"):
        grad(f)(X)


class Pair(NamedTuple):
    left: object
    right: object


def test_pytrees_in_and_out():
    @custom_vjp
    def f(tree, scale):
        return {"product": tree["a"] * tree["b"][0], "pair": Pair(tree["a"] * scale, 7)}

    def forward(tree, scale):
        return f(tree, scale), (tree, scale)

    def backward(residuals, g):
        tree, scale = residuals
        assert isinstance(g["pair"], Pair)
        by_a = g["product"] * tree["b"][0] + g["pair"].left * scale
        return {"a": by_a, "b": [g["product"] * tree["a"]]}, np.sum(g["pair"].left * tree["a"])

    f.defvjp(forward, backward)

    def loss(tree, scale):
        out = f(tree, scale)
        assert out["pair"].right == 7
        return np.sum(out["product"] ** 2) + np.sum(out["pair"].left)

    by_tree, by_scale = grad(loss, (0, 1))({"a": X, "b": [Y]}, 2.0)
    np.testing.assert_allclose(by_tree["a"], 2 * X * Y * Y + 2)
    np.testing.assert_allclose(by_tree["b"][0], 2 * X * X * Y)
    np.testing.assert_allclose(by_scale, np.sum(X))


def test_none_for_a_whole_tree():
    @custom_vjp
    def f(tree, x):
        return x * tree[0] * tree[1]

    f.defvjp(lambda tree, x: (x * tree[0] * tree[1], tree), lambda tree, g: (None, g * tree[0]))
    by_tree, by_x = grad(f, (0, 1))((2.0, 3.0), 5.0)
    assert by_tree == (0.0, 0.0)
    assert by_x == 2.0


@pytest.mark.parametrize("argnums", [0, (0,), [0]])
def test_nondiff_argnums_come_first(argnums):
    def build(function):
        @lambda f: custom_vjp(f, nondiff_argnums=argnums)
        def apply(f, x):
            return f(x)

        apply.defvjp(lambda f, x: (f(x), x), lambda f, x, g: (g * f(x) * 2,))
        return apply(function, 3.0)

    assert build(np.square) == 9.0

    @lambda f: custom_vjp(f, nondiff_argnums=argnums)
    def apply(f, x):
        return f(x)

    apply.defvjp(lambda f, x: (f(x), x), lambda f, x, g: (g * f(x) * 2,))
    assert grad(lambda x: apply(np.square, x))(3.0) == 18.0


def test_nondiff_argnums_in_the_middle():
    def scaled(x, n, y):
        return x * n * y

    f = custom_vjp(scaled, nondiff_argnums=(1,))
    f.defvjp(lambda x, n, y: (x * n * y, (x, y)), lambda n, r, g: (g * n * r[1], g * n * r[0]))
    assert grad(f, (0, 2))(2.0, 5, 3.0) == (15.0, 10.0)


def test_keywords_are_bound_to_positions():
    sine, _ = make_sine(scale=10.0)
    np.testing.assert_allclose(grad(lambda x: sine(x=x))(0.5), 10 * np.cos(0.5))


def test_a_method():
    class Layer:
        @custom_vjp
        def apply(self, x):
            return x * 2

    Layer.apply.defvjp(lambda self, x: (x * 2, None), lambda _, g: (None, g * 7))
    assert grad(lambda x: Layer().apply(x))(1.0) == 7.0


def test_closures_over_a_gradient():
    # The fixed point of cos by iteration, its derivative by the implicit function theorem.
    @custom_vjp
    def fixed_point(a):
        x = 0.5
        for _ in range(100):
            x = np.cos(a * x)
        return x

    def forward(a):
        x = fixed_point(a)
        return x, (a, x)

    def backward(residuals, g):
        a, x = residuals
        _, by_a = vjp(lambda a: np.cos(a * x), a)
        _, by_x = vjp(lambda x: np.cos(a * x), x)
        return (by_a(g / (1 - by_x(1.0)[0]))[0],)

    fixed_point.defvjp(forward, backward)
    h = 1e-6
    expected = (fixed_point(0.9 + h) - fixed_point(0.9 - h)) / (2 * h)
    np.testing.assert_allclose(grad(fixed_point)(0.9), expected, rtol=1e-8)
    np.testing.assert_allclose(derivative(fixed_point)(0.9), expected, rtol=1e-8)


def test_the_function_gets_plain_values_and_backward_traced_ones_only_where_needed():
    kinds = []

    @custom_vjp
    def f(x):
        return x * x

    def backward(x, g):
        kinds.append((type(x), type(g)))
        return (2 * x * g,)

    f.defvjp(lambda x: kinds.append(type(x)) or (x * x, x), backward)
    grad(f)(3.0)
    assert kinds == [np.float64, (np.float64, np.float64)]
    kinds.clear()
    assert grad(grad(f))(3.0) == 2.0
    assert any(type(pair) is tuple and issubclass(pair[0], Array) for pair in kinds)


def test_stop_gradient_of_the_straight_through_estimator():
    def through(x):
        return x + stop_gradient(np.round(x) - x)

    np.testing.assert_array_equal(grad(lambda x: np.sum(through(x) ** 2))(X), 2 * np.round(X))


@pytest.mark.parametrize(
    ("bars", "text"),
    [
        (lambda g: g, "a tuple of 2 cotangents"),
        (lambda g: (g,), "a tuple of 2 cotangents"),
        (lambda g: (g, g, g), "a tuple of 2 cotangents"),
        (lambda g: None, "a tuple of 2 cotangents"),
        (lambda g: ([g], g), "structure|cotangent"),
    ],
)
def test_backward_that_returns_something_else(bars, text):
    @custom_vjp
    def f(x, y):
        return x * y

    f.defvjp(lambda x, y: (x * y, None), lambda _, g: bars(g))
    with pytest.raises(tapegrad.TapegradError, match=text):
        grad(f)(2.0, 3.0)


def test_forward_that_returns_no_pair():
    @custom_vjp
    def f(x):
        return x

    f.defvjp(lambda x: x, lambda r, g: (g,))
    with pytest.raises((tapegrad.TapegradError, TypeError, ValueError)):
        grad(f)(2.0)


def test_no_derivative_yet():
    @custom_vjp
    def f(x):
        return x

    @custom_jvp
    def h(x):
        return x

    assert f(1.0) == h(1.0) == 1.0
    with pytest.raises(RuleError, match=r"f: no derivative yet\. Call defvjp first"):
        grad(f)(1.0)
    with pytest.raises(RuleError, match=r"h: no derivative yet\. Call defjvp first"):
        grad(h)(1.0)


# --- custom_jvp ---------------------------------------------------------------------------------


def make_tangent(scale=1.0):
    @custom_jvp
    def tangent(x):
        """A tangent."""
        return np.tan(x)

    @tangent.defjvp
    def tangent_jvp(primals, tangents):
        (x,), (x_dot,) = primals, tangents
        out = tangent(x)
        return out, scale * (1 + out**2) * x_dot

    return tangent


@modes
def test_the_declared_tangent_is_used(how):
    np.testing.assert_allclose(FIRST[how](make_tangent(10.0))(0.5), 10 * (1 + np.tan(0.5) ** 2))


@pytest.mark.parametrize("a", FIRST)
@pytest.mark.parametrize("b", FIRST)
def test_second_derivatives_of_custom_jvp(a, b):
    f = make_tangent()
    t = np.tan(0.5)
    np.testing.assert_allclose(FIRST[a](FIRST[b](f))(0.5), 2 * t * (1 + t * t), rtol=1e-12)


@pytest.mark.parametrize(
    "names",
    [("grad",) * 3, ("jvp",) * 3, ("grad", "jvp", "grad"), ("jvp", "grad", "jvp")],
    ids="-".join,
)
def test_third_derivatives_of_custom_jvp(names):
    f = make_tangent()
    for name in names:
        f = FIRST[name](f)
    t = np.tan(0.5)
    np.testing.assert_allclose(f(0.5), 2 * (1 + t * t) * (1 + 3 * t * t), rtol=1e-11)


def test_array_arguments_of_a_custom_jvp():
    f = make_tangent()
    slope = 1 + np.tan(X) ** 2
    np.testing.assert_allclose(elementwise_grad(f)(X), slope)
    np.testing.assert_allclose(jacrev(f)(X), np.diag(slope))
    np.testing.assert_allclose(jacfwd(f)(X), np.diag(slope))
    np.testing.assert_allclose(
        hessian(lambda x: np.sum(f(x)))(X), np.diag(2 * np.tan(X) * slope), rtol=1e-12
    )


def test_custom_jvp_with_nondiff_argnums():
    def applied(f, x, n):
        return f(x) * n

    apply = custom_jvp(applied, nondiff_argnums=(0, 2))

    @apply.defjvp
    def apply_jvp(f, n, primals, tangents):
        (x,), (x_dot,) = primals, tangents
        return f(x) * n, 100.0 * n * x_dot

    assert grad(lambda x: apply(np.sin, x, 3))(0.5) == 300.0
    assert jvp(lambda x: apply(np.sin, x, 3), (0.5,), (2.0,))[1] == 600.0


def test_custom_jvp_with_pytrees():
    @custom_jvp
    def f(tree, y):
        return tree["a"] * y, [tree["b"]]

    @f.defjvp
    def f_jvp(primals, tangents):
        tree, y = primals
        tree_dot, y_dot = tangents
        assert set(tree_dot) == {"a", "b"}
        return f(tree, y), (tree_dot["a"] * y + tree["a"] * y_dot, [5 * tree_dot["b"]])

    def loss(tree, y):
        product, (b,) = f(tree, y)
        return np.sum(product) + np.sum(b)

    by_tree, by_y = grad(loss, (0, 1))({"a": X, "b": Y}, 2.0)
    np.testing.assert_array_equal(by_tree["a"], 2 * np.ones(3))
    np.testing.assert_array_equal(by_tree["b"], 5 * np.ones(3))
    np.testing.assert_allclose(by_y, np.sum(X))


def test_tangents_of_arguments_that_do_not_vary_are_zeros():
    seen = []

    @custom_jvp
    def f(x, y, n):
        return x * y * n

    @f.defjvp
    def f_jvp(primals, tangents):
        seen.append(tuple(tangents))
        x, y, n = primals
        return x * y * n, tangents[0] * y * n + x * tangents[1] * n

    assert jvp(lambda x: f(x, 3.0, 2), (5.0,), (1.0,))[1] == 6.0
    assert seen[0][1] == 0.0
    assert grad(lambda x: f(x, x, 2))(5.0) == 20.0


def test_the_same_array_for_two_arguments():
    @custom_jvp
    def f(x, y):
        return x * y

    @f.defjvp
    def f_jvp(primals, tangents):
        (x, y), (x_dot, y_dot) = primals, tangents
        return x * y, 10 * x_dot * y + x * y_dot

    def g(x):
        return np.sum(f(x, x))

    np.testing.assert_allclose(grad(g)(X), 11 * X)
    np.testing.assert_allclose(jvp(g, (X,), (np.ones(3),))[1], 11 * np.sum(X))
    # One of them a constant that is the very same object
    np.testing.assert_allclose(
        jvp(lambda x: np.sum(f(x, X)), (X,), (np.ones(3),))[1], 10 * np.sum(X)
    )
    np.testing.assert_allclose(grad(lambda x: np.sum(f(x, X)))(X), 10 * X)
    np.testing.assert_allclose(
        jvp(lambda x, y: np.sum(f(x, y)), (X, X), (np.ones(3), 0 * X))[1], 10 * np.sum(X)
    )


def test_defjvps():
    @custom_jvp
    def f(x, y, z):
        return np.sin(x) * y + z

    f.defjvps(
        lambda x_dot, out, x, y, z: np.cos(x) * y * x_dot,
        None,
        lambda z_dot, out, x, y, z: 3 * z_dot,
    )
    by_x, by_y, by_z = grad(f, (0, 1, 2))(0.5, 2.0, 1.0)
    np.testing.assert_allclose([by_x, by_y, by_z], [2 * np.cos(0.5), 0.0, 3.0])


def test_a_custom_rule_keeps_away_a_singular_derivative():
    @custom_jvp
    def safe_norm(x):
        return np.sqrt(np.sum(x * x))

    @safe_norm.defjvp
    def safe_norm_jvp(primals, tangents):
        (x,), (x_dot,) = primals, tangents
        out = safe_norm(x)
        return out, np.sum(x * x_dot) / np.where(out == 0, 1.0, out)

    np.testing.assert_array_equal(grad(safe_norm)(np.zeros(3)), np.zeros(3))
    np.testing.assert_allclose(grad(safe_norm)(X), X / np.linalg.norm(X))


# --- Primitives ---------------------------------------------------------------------------------


@primitive
def cube(x):
    """A cube."""
    assert not isinstance(x, Array)
    return np.asarray(x) ** 3


tapegrad.elementwise(cube, lambda _out, x: 3 * x**2)


@primitive
def weigh(x, y):
    return np.asarray(x) * np.exp(np.asarray(y))


tapegrad.elementwise(weigh, lambda _out, _x, y: np.exp(y), lambda out, _x, _y: out)


@primitive
def smooth(x, *, times=1):
    for _ in range(times):
        x = (x + np.roll(x, 1)) / 2
    return x


def _smooth_transpose(g, _out, _x, times=1):
    for _ in range(times):
        g = (g + np.roll(g, -1)) / 2
    return g


tapegrad.linear(smooth, _smooth_transpose)


@primitive
def convolve(x, y):
    return np.convolve(x, y, "full")


tapegrad.multilinear(
    convolve,
    lambda g, _out, x, y: np.stack([np.sum(g[i : i + y.shape[0]] * y) for i in range(x.shape[0])]),
    lambda g, _out, x, y: np.stack([np.sum(g[i : i + x.shape[0]] * x) for i in range(y.shape[0])]),
)


@primitive
def cosine_by_vjp(x):
    return np.cos(x)


tapegrad.general(cosine_by_vjp, vjp=[lambda g, _out, x: -g * np.sin(x)])


@primitive
def cosine_by_jvp(x):
    return np.cos(x)


tapegrad.general(cosine_by_jvp, jvp=lambda dots, _out, x: -dots[0] * np.sin(x))


@primitive
def cosine_by_both(x):
    return np.cos(x)


tapegrad.general(
    cosine_by_both,
    vjp=[lambda g, _out, x: -g * np.sin(x)],
    jvp=lambda dots, _out, x: -dots[0] * np.sin(x),
)


@primitive
def ratio(x, y):
    return x / y


tapegrad.general(ratio, vjp=lambda g, out, x, y: (g / y, -g * out / y))


@primitive
def ratio_by_jvp(x, y):
    return x / y


def _ratio_jvp(dots, out, x, y):
    x_dot, y_dot = dots
    terms = [] if x_dot is None else [x_dot / y]
    return sum(terms + ([] if y_dot is None else [-out * y_dot / y]))


tapegrad.general(ratio_by_jvp, jvp=_ratio_jvp, arrays=2)


@primitive
def polar(x, y):
    return np.sqrt(x * x + y * y), np.arctan2(y, x)


tapegrad.general(
    polar,
    vjp=lambda g, out, x, y: (
        g[0] * x / out[0] - g[1] * y / out[0] ** 2,
        g[0] * y / out[0] + g[1] * x / out[0] ** 2,
    ),
)


@primitive
def polar_by_jvp(x, y):
    return np.sqrt(x * x + y * y), np.arctan2(y, x)


def _polar_jvp(dots, out, x, y):
    x_dot = dots[0] if dots[0] is not None else 0 * x
    y_dot = dots[1] if dots[1] is not None else 0 * y
    r = out[0]
    return (x * x_dot + y * y_dot) / r, (x * y_dot - y * x_dot) / r**2


tapegrad.general(polar_by_jvp, jvp=_polar_jvp, arrays=2)


@primitive
def log_cosh(x):
    raise AssertionError("a composite is never called on traced values")


tapegrad.composite(log_cosh, lambda x: np.logaddexp(x, -x) - np.log(2.0))


@primitive
def bucket(x):
    return np.floor(x) + 0.5


tapegrad.constant(bucket)


@primitive
def random_walk(x):
    return x


tapegrad.unsupported(random_walk, reason="it is random")


@primitive
def undeclared(x):
    return x


def smoothing_matrix(times):
    one = (np.eye(3) + np.roll(np.eye(3), 1, axis=0)) / 2
    return np.linalg.matrix_power(one, times)


PLAIN = {  # primitive: the same in NumPy that tapegrad sees into
    "elementwise": (lambda x: cube(x), lambda x: x * x * x),
    "elementwise of two": (lambda x: weigh(x, x[::-1]), lambda x: x * np.exp(x[::-1])),
    "elementwise, broadcast": (lambda x: weigh(x[:1], x), lambda x: x[:1] * np.exp(x)),
    "elementwise, constant": (lambda x: weigh(Y, x), lambda x: Y * np.exp(x)),
    "linear": (lambda x: smooth(x), lambda x: smoothing_matrix(1) @ x),
    "linear, keyword": (lambda x: smooth(x * x, times=3), lambda x: smoothing_matrix(3) @ (x * x)),
    "multilinear": (
        lambda x: convolve(x, x[:2]),
        lambda x: np.stack(
            [x[0] * x[0], x[1] * x[0] + x[0] * x[1], x[2] * x[0] + x[1] * x[1], x[2] * x[1]]
        ),
    ),
    "general by vjp": (lambda x: cosine_by_vjp(x), lambda x: np.cos(x)),
    "general by jvp": (lambda x: cosine_by_jvp(x), lambda x: np.cos(x)),
    "general by both": (lambda x: cosine_by_both(x), lambda x: np.cos(x)),
    "general, joint vjp": (lambda x: ratio(np.sin(x), 3 + x), lambda x: np.sin(x) / (3 + x)),
    "general, joint vjp, one": (lambda x: ratio(Y, 3 + x), lambda x: Y / (3 + x)),
    "general, jvp of two": (
        lambda x: ratio_by_jvp(np.sin(x), 3 + x),
        lambda x: np.sin(x) / (3 + x),
    ),
    "general, jvp of one": (lambda x: ratio_by_jvp(Y, 3 + x), lambda x: Y / (3 + x)),
    "several results by vjp": (
        lambda x: np.concatenate(polar(np.exp(x), x)),
        lambda x: np.concatenate([np.sqrt(np.exp(x) ** 2 + x**2), np.arctan2(x, np.exp(x))]),
    ),
    "several results by jvp": (
        lambda x: np.concatenate(polar_by_jvp(np.exp(x), x)),
        lambda x: np.concatenate([np.sqrt(np.exp(x) ** 2 + x**2), np.arctan2(x, np.exp(x))]),
    ),
    "one of several results": (
        lambda x: polar(np.exp(x), x)[1],
        lambda x: np.arctan2(x, np.exp(x)),
    ),
    "one of several by jvp": (
        lambda x: polar_by_jvp(np.exp(x), x)[0],
        lambda x: np.sqrt(np.exp(x) ** 2 + x**2),
    ),
    "composite": (lambda x: log_cosh(x), lambda x: np.log(np.cosh(x))),
}


def along(f, direction):
    """The derivative of f in a direction, as a function of the point."""
    return lambda x: jvp(f, (x,), (direction,))[1]


@pytest.mark.parametrize("name", PLAIN)
class TestPrimitives:
    def test_jacobian_in_both_modes(self, name):
        ours, plain = PLAIN[name]
        for transform in (jacrev, jacfwd):
            np.testing.assert_allclose(
                transform(ours)(X), transform(plain)(X), rtol=1e-12, atol=1e-14
            )

    def test_linearize_and_jvp(self, name):
        ours, plain = PLAIN[name]
        expected = jvp(plain, (X,), (Y,))[1]
        np.testing.assert_allclose(jvp(ours, (X,), (Y,))[1], expected, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(linearize(ours, X)[1](Y), expected, rtol=1e-12, atol=1e-14)

    @pytest.mark.parametrize("inner", ["rev", "fwd"])
    @pytest.mark.parametrize("outer", ["rev", "fwd"])
    def test_second_order(self, name, inner, outer):
        modes = {"rev": jacrev, "fwd": jacfwd}
        ours, plain = [lambda x, f=f: np.sum(np.sin(f(x))) for f in PLAIN[name]]
        np.testing.assert_allclose(
            modes[outer](modes[inner](ours))(X), hessian(plain)(X), rtol=1e-11, atol=1e-12
        )

    def test_third_order(self, name):
        ours, plain = [lambda x, f=f: np.sum(np.sin(f(x))) for f in PLAIN[name]]

        def third(f):
            for _ in range(3):
                f = along(f, Y)
            return f(X)

        def third_mixed(f):
            return jvp(lambda x: np.sum(grad(lambda z: jvp(f, (z,), (Y,))[1])(x) * Y), (X,), (Y,))[
                1
            ]

        np.testing.assert_allclose(third(ours), third(plain), rtol=1e-10)
        np.testing.assert_allclose(third_mixed(ours), third(plain), rtol=1e-10)


def test_primitives_of_plain_values_are_the_functions():
    assert cube(2.0) == 8.0
    assert cube.__doc__ == "A cube."
    assert repr(cube) == "<primitive cube>"
    assert undeclared(3) == 3


def test_constant_and_unsupported_primitives():
    np.testing.assert_array_equal(grad(lambda x: np.sum(bucket(x) * x))(X), bucket(X))
    with pytest.raises(
        NotDifferentiableError, match=r"random_walk: not differentiable \(it is random\)\."
    ):
        grad(random_walk)(1.0)


def test_a_program_asks_a_constant_primitive_again():
    f = tapegrad.compile(grad(lambda x: np.sum(bucket(x) * bucket(x=2 * x) * x)))
    for x in (X, X + 1.25, X - 3):  # an EagerWarning would be an error
        np.testing.assert_array_equal(f(x), bucket(x) * bucket(2 * x))


def test_an_undeclared_primitive_says_so():
    with pytest.raises(
        RuleError, match="undeclared: called on a traced value, but it has no rule"
    ):
        grad(undeclared)(1.0)


def test_a_primitive_is_declared_once():
    with pytest.raises(RuleError, match="already declared as elementwise"):
        tapegrad.elementwise(cube, lambda _out, x: 3 * x**2)


def test_a_general_rule_needs_a_derivative():
    with pytest.raises(RuleError, match="expected a vjp or a jvp"):
        tapegrad.general(undeclared)


def test_an_unknown_way_of_batching():
    with pytest.raises(RuleError, match="batch"):
        tapegrad.linear(undeclared, lambda g, _out, _x: g, batch="sideways")


def _product():
    return primitive(lambda x, y: x * y)


def _square():
    return primitive(lambda x: x * x)


MISDECLARED = {
    "elementwise without out": (
        lambda: tapegrad.elementwise(_square(), lambda x: 2 * x),
        r"takes \(out, x\), got one that takes \(x\)",
    ),
    "elementwise of two without out": (
        lambda: tapegrad.elementwise(_product(), lambda x, y: y, lambda x, y: x),
        r"takes \(out, x, y\), got one that takes \(x, y\)",
    ),
    "too many partials": (
        lambda: tapegrad.elementwise(_square(), lambda _, x: 2 * x, lambda _, x: x),
        r"one derivative for each of its arguments, \(x\), got 2",
    ),
    "too few partials": (
        lambda: tapegrad.elementwise(_product(), lambda _, x, y: y),
        r"takes \(out, x\), got one that takes \(_, x, y\)",
    ),
    "general without out": (
        lambda: tapegrad.general(_product(), vjp=lambda g, x, y: (g * y, g * x)),
        r"takes \(g, out, x, y\), got one that takes \(g, x, y\)",
    ),
    "a list without out": (
        lambda: tapegrad.general(_product(), vjp=[lambda g, x, y: g * y, lambda g, x, y: g * x]),
        r"takes \(g, out, x, y\), got one that takes \(g, x, y\)",
    ),
    "too many in a list": (
        lambda: tapegrad.general(_square(), vjp=[lambda g, _, x: 2 * g * x, None]),
        r"one derivative for each of its arguments, \(x\), got 2",
    ),
    "a jvp without out": (
        lambda: tapegrad.general(_square(), jvp=lambda dots, x: 2 * x * dots[0]),
        r"takes \(dots, out, x\), got one that takes \(dots, x\)",
    ),
    "linear without out": (
        lambda: tapegrad.linear(_square(), lambda g: 2 * g),
        r"takes \(g, out, x\), got one that takes \(g\)",
    ),
    "multilinear without out": (
        lambda: tapegrad.multilinear(_product(), lambda g, x, y: g * y, lambda g, x, y: g * x),
        r"takes \(g, out, x, y\), got one that takes \(g, x, y\)",
    ),
    "a composite of others": (
        lambda: tapegrad.composite(_square(), lambda x, y: x * y),
        r"a definition that takes \(x\), as the function, got one that takes \(x, y\)",
    ),
    "jvp": (
        lambda: custom_jvp(lambda x: x * x).defjvp(lambda x, x_dot, rest: None),
        r"takes \(primals, tangents\), got one that takes \(x, x_dot, rest\)",
    ),
    "backward": (
        lambda: custom_vjp(lambda x: x * x).defvjp(lambda x: (x * x, x), lambda g: (g,)),
        r"takes \(residuals, out_bar\), got one that takes \(g\)",
    ),
    "forward": (
        lambda: custom_vjp(lambda x: x * x).defvjp(lambda x, y: (x, y), lambda r, g: (g,)),
        r"takes \(x\), got one that takes \(x, y\)",
    ),
}


@pytest.mark.parametrize("name", MISDECLARED)
def test_a_rule_that_cannot_take_its_arguments_is_refused_at_once(name):
    declare, words = MISDECLARED[name]
    with pytest.raises(RuleError, match=words):
        declare()


def test_rules_may_take_any_arguments_and_be_methods():
    class Rules:
        def partial(self, _out, x):
            return 2 * x

        def jvp(self, primals, tangents):
            return primals[0] ** 2, 2 * primals[0] * tangents[0]

    f, g = _square(), custom_jvp(lambda x: x * x)
    tapegrad.elementwise(f, Rules().partial)
    g.defjvp(Rules().jvp)
    assert grad(f)(3.0) == grad(g)(3.0) == 6.0
    f = _square()
    tapegrad.elementwise(f, lambda *args: 2 * args[1])
    assert grad(f)(3.0) == 6.0
    f = primitive(lambda x, axis=0, *, keep=False: x * x)
    tapegrad.general(f, vjp=lambda g, _, x, axis=0, keep=False: (2 * x * g,))
    assert grad(lambda x: f(x, keep=True))(3.0) == 6.0


def _by_jvp(rule):
    f = custom_jvp(lambda x: x**2)
    f.defjvp(rule)
    return f


def _by_vjp(forward):
    f = custom_vjp(lambda x: x**2)
    f.defvjp(forward, lambda x, g: (2 * x * g,))
    return f


NO_PAIR = {
    "the tangent alone": (_by_jvp(lambda p, t: 2 * p[0] * t[0]), r"\(out, out_dot\), got float64"),
    "a jvp of three": (_by_jvp(lambda p, t: (p[0], t[0], 1.0)), r"got a tuple of 3"),
    "a jvp of none": (_by_jvp(lambda p, t: None), r"\(out, out_dot\), got None"),
    "the result alone": (_by_vjp(lambda x: x**2), r"\(out, residuals\), got float64"),
    "a forward of three": (_by_vjp(lambda x: (x**2, x, x)), r"got a tuple of 3"),
    "a forward of none": (_by_vjp(lambda x: None), r"\(out, residuals\), got None"),
}


@pytest.mark.parametrize("name", NO_PAIR)
@pytest.mark.parametrize("x", [3.0, np.ones(1), np.array([3.0, 5.0]), np.ones(3)])
def test_a_rule_that_forgets_the_pair_is_refused(name, x):
    f, words = NO_PAIR[name]
    for run in (
        lambda: jvp(f, (x,), (x,)),
        lambda: grad(lambda x: np.sum(f(x)))(x),
        lambda: tapegrad.vmap(lambda y: jvp(f, (y,), (y,)))(np.array([x, x])),
        lambda: grad(lambda x: np.sum(tapegrad.vmap(f)(x)))(np.array([x, x])),
    ):
        with pytest.raises(RuleError, match=words):
            run()


def test_a_tangent_of_another_shape_is_refused():
    f = _by_jvp(lambda p, t: (p[0] ** 2, np.ones(3)))
    with pytest.raises(RuleError, match=r"out_dot like out, float64\[2\], got float64\[3\]"):
        jvp(f, (np.ones(2),), (np.ones(2),))
    g = custom_jvp(lambda x, y: x * y)
    g.defjvps(lambda dot, _out, _x, y: dot * y)
    with pytest.raises(RuleError, match=r"2 functions \(or None\), one for each argument, got 1"):
        jvp(g, (1.0, 2.0), (1.0, 1.0))


def declared(form, *rules, **options):
    @primitive
    def f(x):
        return x * 2.0

    form(f, *rules, **options)
    return f


def test_a_cotangent_that_broadcasting_made_is_summed():
    f = declared(tapegrad.linear, lambda _g, _out, _x: np.ones((2, 3)))
    np.testing.assert_array_equal(grad(lambda x: np.sum(f(x)))(X), [2.0, 2.0, 2.0])


@pytest.mark.parametrize("shape", [(4,), (2,), (3, 3, 4), (3, 1)])
def test_a_rule_that_returns_another_shape(shape):
    f = declared(tapegrad.linear, lambda _g, _out, _x: np.ones(shape))
    with pytest.raises(RuleError, match="cotangent of shape"):
        grad(lambda x: np.sum(f(x)))(X)


@pytest.mark.parametrize("number", [2.0, 2, np.float64(2.0)])
def test_rules_may_return_numbers(number):
    f = declared(tapegrad.elementwise, lambda _out, _x: number)
    np.testing.assert_array_equal(grad(lambda x: np.sum(f(x)))(X), [2.0, 2.0, 2.0])
    g = declared(tapegrad.general, vjp=[lambda g, _out, _x: number])
    assert grad(g)(1.0) == 2.0
    h = declared(tapegrad.general, jvp=lambda dots, _out, _x: 2.0)
    assert jvp(h, (1.0,), (1.0,))[1] == 2.0


def test_a_constant_partial():
    f = declared(tapegrad.elementwise, 2)
    np.testing.assert_array_equal(grad(lambda x: np.sum(f(x)))(X), [2.0, 2.0, 2.0])
    np.testing.assert_array_equal(elementwise_grad(f)(X.astype(np.float32)), [2.0, 2.0, 2.0])


def test_strong_partials():
    @primitive
    def root(x):
        return np.sqrt(x)

    tapegrad.elementwise(root, lambda out, _x: 0.5 / out, strong=True)
    x = np.array([0.0, 4.0])
    with np.errstate(divide="ignore"):
        np.testing.assert_array_equal(
            grad(lambda x: np.sum(np.where(x > 0, root(x), 0.0)))(x), [0.0, 0.25]
        )


def test_underscored_arguments_are_not_kept():
    seen = []
    f = declared(tapegrad.general, vjp=[lambda g, _out, _x: seen.append((_out, _x)) or g * 2])
    grad(lambda x: np.sum(f(x)))(X)
    out, x = seen[0]
    assert not isinstance(x, np.ndarray)
    assert x.shape == out.shape == (3,)
    assert x.dtype == np.float64


# --- The same in JAX ----------------------------------------------------------------------------


@pytest.mark.peers
@pytest.mark.filterwarnings("ignore:.*does not depend on the input")  # a derivative of one is zero
def test_custom_rules_mean_what_they_mean_in_jax():
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)

    def declare(custom_vjp, custom_jvp, np):
        @custom_vjp
        def f(x, y):
            return np.sin(x) * y

        f.defvjp(
            lambda x, y: (np.sin(x) * y, (x, y)), lambda r, g: (g * r[0] ** 3 * r[1], 2 * g * r[0])
        )

        @custom_jvp
        def h(x, y):
            return np.sin(x) * y

        @h.defjvp
        def h_jvp(primals, tangents):
            (x, y), (x_dot, y_dot) = primals, tangents
            return h(x, y), x**3 * y * x_dot + h(x, y) * y_dot

        return f, h

    ours = declare(custom_vjp, custom_jvp, np)
    theirs = declare(jax.custom_vjp, jax.custom_jvp, jax.numpy)
    for f, g in zip(ours, theirs, strict=True):
        for argnums in (0, 1):
            first, jax_first = grad(f, argnums), jax.grad(g, argnums)
            np.testing.assert_allclose(first(0.7, 1.3), jax_first(0.7, 1.3), rtol=1e-12)
            for second in (0, 1):
                np.testing.assert_allclose(
                    grad(first, second)(0.7, 1.3),
                    jax.grad(jax_first, second)(0.7, 1.3),
                    rtol=1e-12,
                )
                np.testing.assert_allclose(
                    jacfwd(first, second)(0.7, 1.3),
                    jax.grad(jax_first, second)(0.7, 1.3),
                    rtol=1e-12,
                )
    value, gradient = value_and_grad(ours[0])(0.7, 1.3)
    np.testing.assert_allclose(value, np.sin(0.7) * 1.3)


# --- What a rule keeps --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "f",
    [
        lambda kept, x: np.sum(kept(x) * 3),
        lambda kept, x: np.sum(kept(x) + x),
        lambda kept, x: np.sum(np.reshape(kept(x), (3, 4))[np.array([0, 2, 2])]),
        lambda kept, x: np.sum(kept(np.reshape(x, (3, 4)))[np.array([0, 2, 2])]),
    ],
)
def test_a_gradient_is_not_the_cotangent_that_a_rule_has_kept(f):
    seen = []

    @tapegrad.custom_vjp
    def kept(x):
        return x

    kept.defvjp(lambda x: (x, None), lambda _, g: (seen.append(g), (g,))[1])
    gradient = tapegrad.grad(lambda x: f(kept, x))(np.arange(12.0))
    before = seen[0].copy()
    gradient[...] = -7
    np.testing.assert_array_equal(seen[0], before)


def test_a_rule_may_change_its_cotangent_and_return_its_constants():
    twice = np.full(3, 2.0)

    @tapegrad.custom_vjp
    def doubled(x):
        return 2 * x

    def backward(constant, g):
        g *= constant
        return (g,)

    doubled.defvjp(lambda x: (2 * x, twice), backward)
    gradient = tapegrad.grad(lambda x: np.sum(doubled(x) + x))
    np.testing.assert_array_equal(gradient(np.ones(3)), [3, 3, 3])

    @tapegrad.primitive
    def total(x):
        return np.sum(x)

    tapegrad.general(total, vjp=[lambda _g, _out, _x: twice])
    made = tapegrad.grad(total)(np.ones(3))
    made += 1
    np.testing.assert_array_equal(twice, [2, 2, 2])
    np.testing.assert_array_equal(tapegrad.grad(total)(np.ones(3)), [2, 2, 2])


def made_and_dropped():
    """Objects of a kind each, which nothing but a transform has seen."""
    big = np.zeros(10)
    call = tapegrad.primitive(lambda x: np.sin(x) + big)
    tapegrad.elementwise(call, lambda _, x: np.cos(x))
    grad(lambda x: np.sum(call(x)))(np.ones(10))

    @dataclasses.dataclass
    class Point:
        x: float
        fixed: float = dataclasses.field(default=1.0, metadata={"static": True})

    class Pair(NamedTuple):
        x: float
        y: float

    for tree in (Point(2.0), Pair(2.0, 3.0)):
        grad(lambda tree: tree.x**2)(tree)

    class Option:
        pass

    grad(lambda x, option: x**2)(2.0, Option())
    return [weakref.ref(one) for one in (call, Point, Pair, Option)]


def test_nothing_keeps_what_the_program_has_dropped():
    kept = [made_and_dropped() for _ in range(20)]
    gc.collect()
    assert [[one() for one in each] for each in kept] == [[None] * 4] * 20


def test_numbers_of_a_subclass_of_float_are_numbers():
    class Metres(float):
        pass

    @tapegrad.custom_jvp
    def double(x):
        return 2 * x

    double.defjvp(lambda primals, tangents: (Metres(2.0), Metres(3.0)))
    assert tapegrad.jvp(double, (1.0,), (1.0,)) == (2.0, 3.0)
