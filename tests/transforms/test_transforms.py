"""The transforms: their options, containers, dtypes, warnings, and how they compose."""

from __future__ import annotations

import functools
import itertools
import operator
import warnings
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tapegrad import (
    IndependentOutputWarning,
    InputError,
    OutputError,
    ShapeMismatchError,
    elementwise_grad,
    grad,
    hessian,
    hvp,
    jacfwd,
    jacobian,
    jacrev,
    jvp,
    linearize,
    stop_gradient,
    value_and_grad,
    vhp,
    vjp,
    vmap,
)
from tapegrad._tree import flatten, tree_map

X = np.array([0.5, -1.25, 2.0])
Y = np.array([1.5, 0.25, -0.5])


def bilinear(x, y):
    return np.sum(x * x * y)


# --- argnums and argnames -----------------------------------------------------------------------


def test_the_first_argument_by_default():
    np.testing.assert_array_equal(grad(bilinear)(X, Y), 2 * X * Y)


@pytest.mark.parametrize("argnums", [1, -1, np.int64(1)])
def test_one_argument(argnums):
    np.testing.assert_array_equal(grad(bilinear, argnums)(X, Y), X * X)
    np.testing.assert_array_equal(grad(bilinear, argnums=argnums)(X, Y), X * X)


@pytest.mark.parametrize("argnums", [(0, 1), [0, 1], (0, -1), (-2, -1)])
def test_several_arguments_give_a_tuple(argnums):
    gradients = grad(bilinear, argnums)(X, Y)
    assert type(gradients) is tuple
    np.testing.assert_array_equal(gradients[0], 2 * X * Y)
    np.testing.assert_array_equal(gradients[1], X * X)


def test_the_order_of_argnums_is_kept():
    by_y, by_x = grad(bilinear, (1, 0))(X, Y)
    np.testing.assert_array_equal(by_y, X * X)
    np.testing.assert_array_equal(by_x, 2 * X * Y)


def test_a_tuple_of_one_gives_a_tuple_of_one():
    (gradient,) = grad(bilinear, (1,))(X, Y)
    np.testing.assert_array_equal(gradient, X * X)


def test_arguments_left_out_may_be_anything():
    gradient = grad(lambda x, power, name: np.sum(x**power) if name else 0.0)(X, 2, "square")
    np.testing.assert_array_equal(gradient, 2 * X)


def test_the_same_array_twice():
    by_x, by_y = grad(bilinear, (0, 1))(X, X)
    np.testing.assert_array_equal(by_x, 2 * X * X)
    np.testing.assert_array_equal(by_y, X * X)


def test_argnames():
    def f(x, *, weight, bias=1.0):
        return np.sum(x * weight) * bias

    assert grad(f, argnames="bias")(X, weight=Y, bias=2.0) == np.sum(X * Y)
    gradients = grad(f, argnames=("weight", "bias"))(X, weight=Y, bias=2.0)
    assert list(gradients) == ["weight", "bias"]
    np.testing.assert_array_equal(gradients["weight"], 2 * X)
    by_position, by_name = grad(f, argnums=0, argnames="weight")(X, weight=Y)
    np.testing.assert_array_equal(by_position[0], Y)
    np.testing.assert_array_equal(by_name, X)
    value, gradient = value_and_grad(f, argnames=["weight"])(X, weight=Y)
    assert value == np.sum(X * Y)
    np.testing.assert_array_equal(gradient["weight"], X)


def test_keywords_that_are_not_differentiated_pass_through():
    gradient = grad(lambda x, *, power=3: np.sum(x**power))(X, power=2)
    np.testing.assert_array_equal(gradient, 2 * X)


def test_methods_partials_and_instances():
    class Model:
        def loss(self, x):
            return np.sum(x**2)

        def __call__(self, x):
            return np.sum(x**3)

    np.testing.assert_array_equal(grad(Model().loss)(X), 2 * X)
    np.testing.assert_allclose(grad(Model())(X), 3 * X**2)
    np.testing.assert_array_equal(grad(functools.partial(bilinear, y=Y))(X), 2 * X * Y)


def test_the_wrapper_keeps_name_and_docstring():
    def loss(x):
        """How wrong it is."""
        return np.sum(x)

    for transform in (grad, value_and_grad, jacobian, jacrev, jacfwd, elementwise_grad):
        assert transform(loss).__doc__ == "How wrong it is."
    assert grad(loss).__name__ == "loss"


# --- has_aux ------------------------------------------------------------------------------------


def with_aux(x):
    return np.sum(x**2), {"double": 2 * x, "name": "aux", "count": 3}


def check_aux(aux):
    assert type(aux["double"]) is np.ndarray
    np.testing.assert_array_equal(aux["double"], 2 * X)
    assert aux["name"] == "aux"
    assert aux["count"] == 3


def test_aux_is_handed_through_untraced():
    gradient, aux = grad(with_aux, has_aux=True)(X)
    np.testing.assert_array_equal(gradient, 2 * X)
    check_aux(aux)
    (value, aux), gradient = value_and_grad(with_aux, has_aux=True)(X)
    assert value == np.sum(X**2)
    check_aux(aux)
    out, pullback, aux = vjp(with_aux, X, has_aux=True)
    np.testing.assert_array_equal(pullback(1.0)[0], 2 * X)
    check_aux(aux)
    out, out_dot, aux = jvp(with_aux, (X,), (X,), has_aux=True)
    assert out_dot == 2 * np.sum(X * X)
    check_aux(aux)
    out, pushforward, aux = linearize(with_aux, X, has_aux=True)
    assert pushforward(X) == 2 * np.sum(X * X)
    check_aux(aux)


@pytest.mark.parametrize("transform", [jacobian, jacrev, jacfwd, hessian])
def test_aux_of_jacobians(transform):
    matrix, aux = transform(with_aux, has_aux=True)(X)
    expected = 2 * np.eye(3) if transform is hessian else 2 * X
    np.testing.assert_array_equal(matrix, expected)
    check_aux(aux)


def test_aux_stays_traced_for_an_outer_transform():
    def f(x):
        gradient, aux = grad(with_aux, has_aux=True)(x)
        return np.sum(gradient * aux["double"])

    np.testing.assert_array_equal(grad(f)(X), 8 * X)


def test_the_value_is_untraced():
    value, _ = value_and_grad(bilinear)(X, Y)
    assert type(value) is np.float64


# --- Dtypes and kinds ---------------------------------------------------------------------------

INPUTS = {
    "float": (2.0, np.float64),
    "np.float64": (np.float64(2), np.float64),
    "np.float32": (np.float32(2), np.float32),
    "np.float16": (np.float16(2), np.float16),
    "np.longdouble": (np.longdouble(2), np.longdouble),
    "0-d": (np.array(2.0), np.ndarray),
    "0-d float32": (np.array(2.0, np.float32), np.ndarray),
    "array": (X, np.ndarray),
    "float32 array": (X.astype(np.float32), np.ndarray),
    "float16 array": (X.astype(np.float16), np.ndarray),
    "longdouble array": (X.astype(np.longdouble), np.ndarray),
    "matrix": (np.ones((2, 3)), np.ndarray),
    "empty": (np.ones((0, 3)), np.ndarray),
    "fortran": (np.ones((2, 3), order="F"), np.ndarray),
    "read-only": (np.broadcast_to(2.0, (2, 3)), np.ndarray),
    "strided": (np.arange(6.0)[::2], np.ndarray),
    "big-endian": (X.astype(">f8"), np.ndarray),
}
ONE_PASS = {
    "grad": lambda f, x: grad(f)(x),
    "vjp": lambda f, x: vjp(f, x)[1](f(x) * 0 + 1)[0],
    "jacrev": lambda f, x: jacrev(f)(x),
    "jacfwd": lambda f, x: jacfwd(f)(x),
    "elementwise": lambda f, x: elementwise_grad(f)(x),
}


@pytest.mark.parametrize("way", ONE_PASS)
@pytest.mark.parametrize("name", INPUTS)
def test_the_derivative_has_its_inputs_kind_shape_and_dtype(name, way):
    x, kind = INPUTS[name]
    gradient = ONE_PASS[way](lambda x: np.sum(x * x * 3), x)
    assert np.shape(gradient) == np.shape(x)
    assert gradient.dtype == np.asarray(x).dtype or name == "big-endian"
    if way in ("grad", "vjp", "elementwise"):
        assert type(gradient) is kind
    np.testing.assert_allclose(gradient, 6 * np.asarray(x), rtol=1e-3)


@pytest.mark.parametrize("name", INPUTS)
def test_the_tangent_has_its_outputs_shape_and_dtype(name):
    x, _ = INPUTS[name]
    out, out_dot = jvp(lambda x: x * x, (x,), (x,))
    assert np.shape(out_dot) == np.shape(x)
    assert out_dot.dtype == out.dtype
    np.testing.assert_allclose(out_dot, 2 * np.asarray(x) ** 2, rtol=1e-3)


@pytest.mark.parametrize(
    "x",
    [1 + 2j, np.complex64(1 + 2j), np.array([1 + 2j, 0.5 - 1j]), np.array([1 + 2j], np.complex64)],
    ids=["complex", "complex64", "array", "array64"],
)
def test_complex_inputs(x):
    gradient = grad(lambda z: np.sum(np.abs(z) ** 2))(x)
    np.testing.assert_allclose(gradient, 2 * np.conj(x), rtol=1e-6)
    assert gradient.dtype == np.asarray(x).dtype
    # du/dx - i du/dy of the real part of z**2 is 2z
    np.testing.assert_allclose(
        grad(lambda z: np.sum(np.real(z * z)))(x), 2 * np.asarray(x), rtol=1e-6
    )


def test_a_real_input_of_a_complex_program_has_a_real_gradient():
    gradient = grad(lambda x: np.sum(np.abs(np.exp(1j * x) + x)))(X)
    assert gradient.dtype == np.float64


@pytest.mark.parametrize(
    ("f", "derivative"),
    [
        (np.sin, np.cos),
        (np.exp, np.exp),
        (lambda z: z**3, lambda z: 3 * z**2),
        (np.sqrt, lambda z: 0.5 / np.sqrt(z)),
        (np.log, lambda z: 1 / z),
    ],
    ids=["sin", "exp", "cube", "sqrt", "log"],
)
def test_holomorphic(f, derivative):
    z = 0.5 + 1.5j
    np.testing.assert_allclose(grad(f, holomorphic=True)(z), derivative(z), rtol=1e-12)
    np.testing.assert_allclose(jvp(f, (z,), (1.0 + 0j,))[1], derivative(z), rtol=1e-12)
    value, gradient = value_and_grad(f, holomorphic=True)(z)
    np.testing.assert_allclose([value, gradient], [f(z), derivative(z)])
    np.testing.assert_allclose(
        grad(grad(lambda z: z**3, holomorphic=True), holomorphic=True)(z), 6 * z
    )


def test_jacobian_of_a_complex_function():
    z = np.array([1 + 2j, 0.5 - 1j])
    for transform in (jacrev, jacfwd):
        np.testing.assert_allclose(transform(lambda z: z * z)(z), np.diag(2 * z))


def test_mixed_dtypes_of_several_arguments():
    gradients = grad(lambda a, b, c: np.sum(a * b) * c, (0, 1, 2))(
        X.astype(np.float32), Y, np.float16(2)
    )
    assert [g.dtype for g in gradients] == [np.float32, np.float64, np.float16]


@pytest.mark.parametrize(
    "x",
    [
        1,
        True,
        np.int64(3),
        np.arange(3),
        np.array([True]),
        "a",
        object(),
        np.array(["a"]),
        np.array([1, 2], object),
    ],
    ids=lambda x: f"{type(x).__name__}-{getattr(x, 'dtype', '')}",
)
@pytest.mark.parametrize(
    "transform",
    [
        lambda x: grad(np.sum)(x),
        lambda x: vjp(np.sum, x),
        lambda x: jvp(np.sum, (x,), (x,)),
        lambda x: linearize(np.sum, x),
        lambda x: jacobian(np.sum)(x),
        lambda x: hessian(np.sum)(x),
        lambda x: grad(lambda t: np.sum(t["a"]))({"a": x}),
        lambda x: elementwise_grad(np.sum)(x),
    ],
    ids=["grad", "vjp", "jvp", "linearize", "jacobian", "hessian", "dict", "elementwise"],
)
def test_inputs_that_cannot_vary_are_refused(x, transform):
    with pytest.raises(InputError, match="floating or complex inputs"):
        transform(x)


# --- Pytrees ------------------------------------------------------------------------------------


class Pair(NamedTuple):
    left: object
    right: object


@dataclass
class Layer:
    w: object
    b: object


TREES = {
    "tuple": (X, Y),
    "list": [X, Y],
    "dict": {"a": X, "b": Y},
    "namedtuple": Pair(X, Y),
    "dataclass": Layer(X, Y),
    "nested": {"a": (X, [Y, None])},
    "none": (None, X),
    "empty": (),
    "one": [X],
}


def leaves_of(tree):
    if tree is None:
        return []
    if isinstance(tree, Layer):
        return [tree.w, tree.b]
    if isinstance(tree, dict):
        return [leaf for part in tree.values() for leaf in leaves_of(part)]
    if isinstance(tree, (tuple, list)):
        return [leaf for part in tree for leaf in leaves_of(part)]
    return [tree]


@pytest.mark.parametrize("name", sorted(TREES.keys() - {"empty"}))
def test_gradients_of_trees(name):
    tree = TREES[name]

    def f(t):
        return sum(np.sum(leaf**2) * (i + 1) for i, leaf in enumerate(leaves_of(t)))

    gradient = grad(f)(tree)
    assert type(gradient) is type(tree)
    for i, (bar, leaf) in enumerate(zip(leaves_of(gradient), leaves_of(tree), strict=True)):
        np.testing.assert_allclose(bar, 2 * (i + 1) * leaf)
    out, out_dot = jvp(f, (tree,), (gradient,))
    np.testing.assert_allclose(out_dot, sum(np.sum(g * g) for g in leaves_of(gradient)))
    product = hvp(f, (tree,), (tree,))
    for bar, other in zip(leaves_of(product), leaves_of(gradient), strict=True):
        np.testing.assert_allclose(bar, other)


@pytest.mark.parametrize("name", TREES)
def test_outputs_may_be_trees(name):
    def f(x):
        return {"out": TREES[name], "scaled": [x * 2, (x[0], None)]}

    out, pullback = vjp(f, X)
    assert type(out["out"]) is type(TREES[name])
    zeros = {"out": TREES[name], "scaled": [np.ones(3), (5.0, None)]}
    np.testing.assert_array_equal(pullback(zeros)[0], [7.0, 2.0, 2.0])
    _, out_dot = jvp(f, (X,), (np.ones(3),))
    np.testing.assert_array_equal(out_dot["scaled"][0], [2.0, 2.0, 2.0])
    assert out_dot["scaled"][1] == (1.0, None)
    assert [np.sum(np.abs(leaf)) for leaf in leaves_of(out_dot["out"])] == [0.0] * len(
        leaves_of(out["out"])
    )


def test_python_floats_in_trees():
    gradient = grad(lambda p: p["a"] * p["b"][0])({"a": 2.0, "b": [3.0]})
    assert gradient == {"a": 3.0, "b": [2.0]}


def test_trees_for_several_arguments():
    by_p, by_q = grad(lambda p, q: p[0] * q["x"] + p[1], (0, 1))((2.0, 1.0), {"x": 5.0})
    assert by_p == (5.0, 1.0)
    assert by_q == {"x": 2.0}


def test_jacobian_of_trees():
    def f(t):
        return {"sum": t[0] + t[1][0], "square": t[0] ** 2}

    for transform in (jacrev, jacfwd, jacobian):
        blocks = transform(f)((X, [Y]))
        np.testing.assert_array_equal(blocks["sum"][1][0], np.eye(3))
        np.testing.assert_array_equal(blocks["square"][0], np.diag(2 * X))
        np.testing.assert_array_equal(blocks["square"][1][0], np.zeros((3, 3)))


def test_hessian_of_trees():
    blocks = hessian(lambda t: np.sum(t["a"] ** 2 * t["b"]))({"a": X, "b": Y})
    np.testing.assert_array_equal(blocks["a"]["a"], np.diag(2 * Y))
    np.testing.assert_array_equal(blocks["a"]["b"], np.diag(2 * X))
    np.testing.assert_array_equal(blocks["b"]["b"], np.zeros((3, 3)))


# --- Outputs ------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
def test_any_real_output_of_size_one(shape):
    value, gradient = value_and_grad(lambda x: np.sum(x**2).reshape(shape))(X)
    assert np.shape(value) == shape
    np.testing.assert_array_equal(gradient, 2 * X)


@pytest.mark.parametrize(
    ("f", "got"),
    [
        (lambda x: x * 2, r"float64\[3\]"),
        (lambda x: np.outer(x, x), r"float64\[3,3\]"),
        (lambda x: x[:0], r"float64\[0\]"),
        (lambda x: None, "None"),
        (lambda x: "a", "str 'a'"),
        (lambda x: (np.sum(x), 1.0), "tuple"),
        (lambda x: np.argmax(x), "int64 scalar"),
        (lambda x: 3, "int 3"),
        (lambda x: np.sum(x) * 1j, "complex128 scalar"),
        (lambda x: 1j, "complex 1j"),
        (lambda x: [np.sum(x)], "list"),
        (lambda x: {"loss": np.sum(x)}, "dict"),
        (lambda x: x > 0, r"bool\[3\]"),
    ],
)
def test_other_outputs_are_named(f, got):
    with pytest.raises(OutputError, match=rf"expected a real scalar output, got {got}"):
        grad(f)(X)


def test_the_error_text_of_a_vector_output():
    def loss(x):
        return x * 2

    with pytest.raises(OutputError) as caught:
        grad(loss)(X)
    assert str(caught.value) == (
        "grad(loss)(x): expected a real scalar output, got float64[3]. "
        "Reduce it with np.sum, or use jacobian(loss)."
    )


@pytest.mark.parametrize(
    "f",
    [
        lambda x: 3.0,
        lambda x: np.float64(3.0),
        lambda x: np.sum(stop_gradient(x)),
        lambda x: np.sum(np.floor(x)),
        lambda x: np.sum(X),
        lambda x: np.sum(np.zeros_like(x)),
        lambda x: np.array(2.0),
    ],
    ids=["float", "float64", "stopped", "floor", "other", "zeros", "0-d"],
)
def test_an_output_that_does_not_depend_on_the_input(f):
    with pytest.warns(
        IndependentOutputWarning, match=r"grad\(<lambda>\): the output does not depend"
    ):
        gradient = grad(f)(X)
    np.testing.assert_array_equal(gradient, np.zeros(3))


def test_the_warning_points_to_the_call():
    with pytest.warns(IndependentOutputWarning) as caught:
        grad(lambda x: 3.0)(X)
    assert caught[0].filename == __file__
    with pytest.warns(IndependentOutputWarning) as caught:
        value_and_grad(lambda x: 3.0)(X)
    assert caught[0].filename == __file__


def test_no_warning_where_some_argument_matters():
    by_x, by_y = grad(lambda x, y: np.sum(x), (0, 1))(X, Y)
    np.testing.assert_array_equal(by_y, np.zeros(3))


@pytest.mark.filterwarnings("ignore::tapegrad.IndependentOutputWarning")
def test_independent_outputs_in_every_transform():
    def constant(x):
        return np.ones(2)

    np.testing.assert_array_equal(vjp(constant, X)[1](np.ones(2))[0], np.zeros(3))
    np.testing.assert_array_equal(jvp(constant, (X,), (X,))[1], np.zeros(2))
    np.testing.assert_array_equal(linearize(constant, X)[1](X), np.zeros(2))
    for transform in (jacrev, jacfwd, jacobian):
        np.testing.assert_array_equal(transform(constant)(X), np.zeros((2, 3)))
    np.testing.assert_array_equal(hessian(np.sum)(X), np.zeros((3, 3)))
    np.testing.assert_array_equal(hvp(np.sum, (X,), (X,)), np.zeros(3))
    np.testing.assert_array_equal(vhp(np.sum, (X,), (X,)), np.zeros(3))
    np.testing.assert_array_equal(grad(lambda x: np.sum(grad(np.sum)(x)))(X), np.zeros(3))
    assert jvp(lambda x: 3.0, (X,), (X,))[1] == 0.0


def test_the_identity():
    np.testing.assert_array_equal(grad(lambda x: x)(3.0), 1.0)
    np.testing.assert_array_equal(jacrev(lambda x: x)(X), np.eye(3))
    np.testing.assert_array_equal(jacfwd(lambda x: x)(X), np.eye(3))
    np.testing.assert_array_equal(jvp(lambda x: x, (X,), (Y,))[1], Y)


def test_an_output_returned_twice():
    def f(x):
        y = x * 2
        return y, y

    _, pullback = vjp(f, X)
    np.testing.assert_array_equal(pullback((np.ones(3), np.ones(3)))[0], 4 * np.ones(3))


# --- jvp, vjp, linearize ------------------------------------------------------------------------


def f_two(x, y):
    return np.sin(x) * y, np.sum(x * y)


def test_vjp_and_jvp_are_adjoint():
    out, pullback = vjp(f_two, X, Y)
    out_bar = (np.array([1.0, -2.0, 0.5]), 3.0)
    bars = pullback(out_bar)
    x_dot, y_dot = np.array([0.1, 0.2, 0.3]), np.array([-1.0, 1.0, 2.0])
    _, dots = jvp(f_two, (X, Y), (x_dot, y_dot))
    left = np.sum(bars[0] * x_dot) + np.sum(bars[1] * y_dot)
    np.testing.assert_allclose(left, np.sum(out_bar[0] * dots[0]) + out_bar[1] * dots[1])
    out_again, pushforward = linearize(f_two, X, Y)
    for ours, theirs in zip(pushforward(x_dot, y_dot), dots, strict=True):
        np.testing.assert_allclose(ours, theirs)
    for a, b in itertools.pairwise([out, out_again, f_two(X, Y)]):
        np.testing.assert_array_equal(a[0], b[0])
        assert a[1] == b[1]


@given(st.floats(-2, 2), st.floats(-2, 2))
def test_pushforwards_are_linear(a, b):
    _, pushforward = linearize(lambda x: np.exp(x) * x[::-1], X)
    np.testing.assert_allclose(
        pushforward(a * X + b * Y), a * pushforward(X) + b * pushforward(Y), atol=1e-12
    )


def test_primals_in_a_list():
    _, out_dot = jvp(bilinear, [X, Y], [X, Y])
    np.testing.assert_allclose(out_dot, 3 * bilinear(X, Y))


def test_numbers_stand_for_scalar_tangents():
    assert jvp(lambda x: x * x, (3.0,), (1,))[1] == 6.0
    assert jvp(lambda x: x * x, (np.float32(3),), (1.0,))[1].dtype == np.float32
    assert vjp(lambda x: x * x, 3.0)[1](2)[0] == 12.0
    assert linearize(lambda x: x * x, 3.0)[1](1) == 6.0


def test_tangents_are_cast_to_their_primals_dtype():
    x = X.astype(np.float32)
    _, out_dot = jvp(lambda x: x * 2, (x,), (np.ones(3),))
    assert out_dot.dtype == np.float32
    _, out_dot = jvp(lambda x: x * 2, (X,), (np.ones(3, int),))
    np.testing.assert_array_equal(out_dot, 2 * np.ones(3))


@pytest.mark.parametrize(
    ("tangents", "error"),
    [
        ((np.ones(4),), ShapeMismatchError),
        ((np.ones((3, 1)),), ShapeMismatchError),
        ((1.0,), ShapeMismatchError),
        ((), InputError),
        ((X, X), InputError),
        (X, InputError),
        ((None,), InputError),
        (("a",), InputError),
        (([X],), InputError),
        ((X * 1j,), InputError),
        ({"x": X}, InputError),
        ((True,), InputError),
    ],
    ids=range(12),
)
def test_wrong_tangents(tangents, error):
    with pytest.raises(error):
        jvp(np.sin, (X,), tangents)
    with pytest.raises(error):
        linearize(np.sin, X)[1](*tangents) if isinstance(tangents, tuple) else linearize(
            np.sin, X
        )[1](tangents, tangents)


@pytest.mark.parametrize(
    ("out_bar", "error"),
    [
        ((np.ones(4), 1.0), ShapeMismatchError),
        ((np.ones(3), np.ones(1)), ShapeMismatchError),
        ((np.ones(3),), InputError),
        ([np.ones(3), 1.0], InputError),
        (np.ones(3), InputError),
        ((np.ones(3) * 1j, 1.0), InputError),
        ((np.ones(3), None), InputError),
        (None, InputError),
        ((np.ones(3), "a"), InputError),
        ((2.0, 1.0), ShapeMismatchError),
        ((np.ones(3), 1j), InputError),
    ],
    ids=range(11),
)
def test_wrong_cotangents(out_bar, error):
    _, pullback = vjp(f_two, X, Y)
    with pytest.raises(error):
        pullback(out_bar)


def test_cotangents_of_outputs_without_a_derivative_are_ignored():
    _, pullback = vjp(lambda x: (x * 2, np.argmax(x), "text"), X)
    np.testing.assert_array_equal(pullback((np.ones(3), None or 0, "text"))[0], 2 * np.ones(3))


@pytest.mark.parametrize(
    ("vectors", "error"), [((np.ones(4),), ShapeMismatchError), ((), InputError)]
)
@pytest.mark.parametrize("product", [hvp, vhp])
def test_wrong_vectors(product, vectors, error):
    with pytest.raises((error, IndexError) if product is vhp else error):
        product(np.sum, (X,), vectors)


# --- Jacobians and Hessians ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "transform",
    [
        jacrev,
        jacfwd,
        jacobian,
        functools.partial(jacobian, mode="forward"),
        functools.partial(jacobian, mode="reverse"),
    ],
    ids=["jacrev", "jacfwd", "jacobian", "forward", "reverse"],
)
class TestJacobians:
    def test_shape_is_output_then_input(self, transform):
        a = np.arange(6.0).reshape(2, 3)
        matrix = transform(lambda x: a @ x * np.sin(x[0]))(np.ones((3, 4)))
        assert matrix.shape == (2, 4, 3, 4)
        assert transform(lambda x: np.sum(x))(np.ones((2, 3))).shape == (2, 3)
        assert transform(lambda x: x * np.ones((2, 3)))(2.0).shape == (2, 3)
        assert np.shape(transform(lambda x: x * x)(2.0)) == ()
        assert transform(lambda x: x)(np.ones((0,))).shape == (0, 0)

    def test_values(self, transform):
        a = np.arange(6.0).reshape(2, 3)
        np.testing.assert_allclose(transform(lambda x: a @ np.sin(x))(X), a * np.cos(X))

    def test_argnums(self, transform):
        by_y = transform(lambda x, y: x * y, argnums=1)(X, Y)
        np.testing.assert_allclose(by_y, np.diag(X))
        both = transform(lambda x, y: x * y, argnums=(0, 1))(X, Y)
        assert type(both) is tuple
        np.testing.assert_allclose(both[0], np.diag(Y))
        np.testing.assert_allclose(both[1], np.diag(X))

    def test_other_arguments_and_keywords(self, transform):
        matrix = transform(lambda x, n, *, scale: x**n * scale)(X, 2, scale=3.0)
        np.testing.assert_allclose(matrix, np.diag(6 * X))

    def test_dtype(self, transform):
        assert transform(lambda x: x * x)(X.astype(np.float32)).dtype == np.float32

    def test_jacobian_of_a_jacobian(self, transform):
        tensor = transform(transform(lambda x: x**3))(X)
        assert tensor.shape == (3, 3, 3)
        np.testing.assert_allclose(np.einsum("iii->i", tensor), 6 * X)

    def test_outputs_without_derivatives_are_refused(self, transform):
        for f in (lambda x: np.argmax(x), lambda x: x > 0, lambda x: "a"):
            with pytest.raises(OutputError, match="floating or complex outputs"):
                transform(f)(X)


def test_unknown_mode():
    with pytest.raises(InputError, match="mode"):
        jacobian(np.sin, mode="sideways")


def test_hessian_by_several_arguments():
    (xx, xy), (yx, yy) = hessian(bilinear, (0, 1))(X, Y)
    np.testing.assert_allclose(xx, np.diag(2 * Y))
    np.testing.assert_allclose(xy, np.diag(2 * X))
    np.testing.assert_allclose(yx, np.diag(2 * X))
    np.testing.assert_allclose(yy, np.zeros((3, 3)))


def test_hessian_of_a_matrix_and_of_a_scalar():
    matrix = hessian(lambda a: np.sum(a**3))(np.ones((2, 3)))
    assert matrix.shape == (2, 3, 2, 3)
    assert hessian(lambda x: x**3)(2.0) == 12.0
    with pytest.raises(OutputError, match="real scalar"):
        hessian(lambda x: x * x)(X)


@pytest.mark.parametrize("product", [hvp, vhp])
def test_hessian_products_of_several_arguments(product):
    by_x, by_y = product(bilinear, (X, Y), (Y, X))
    np.testing.assert_allclose(by_x, 2 * Y * Y + 2 * X * X)
    np.testing.assert_allclose(by_y, 2 * X * Y)
    single = product(lambda x: np.sum(x**3), (X,), (Y,))
    np.testing.assert_allclose(single, 6 * X * Y)


def test_elementwise_grad():
    np.testing.assert_allclose(elementwise_grad(np.tanh)(X), 1 - np.tanh(X) ** 2)
    np.testing.assert_allclose(elementwise_grad(elementwise_grad(np.sin))(X), -np.sin(X))
    np.testing.assert_allclose(elementwise_grad(lambda x, y: x * y, 1)(X, Y), X)
    assert elementwise_grad(np.sin)(0.0) == 1.0
    with pytest.raises(OutputError):
        elementwise_grad(lambda x: x * 1j)(X)


def test_stop_gradient():
    np.testing.assert_array_equal(grad(lambda x: np.sum(stop_gradient(x) * x))(X), X)
    np.testing.assert_array_equal(jvp(lambda x: stop_gradient(x) * x, (X,), (Y,))[1], X * Y)
    tree = stop_gradient({"a": X, "b": [1.0, None, "text"]})
    assert tree["b"] == [1.0, None, "text"]
    kinds = []
    grad(lambda x: kinds.append(type(stop_gradient({"x": x})["x"])) or np.sum(x))(X)
    assert kinds == [np.ndarray]


def test_stop_gradient_within_a_vmap_that_is_differentiated():
    def f(x):
        return np.sum(stop_gradient(x) * x)

    points = np.stack([X, Y])
    np.testing.assert_array_equal(grad(lambda p: np.sum(vmap(f)(p)))(points), points)
    slope = grad(lambda x: f(x) * np.sum(x))
    expected = vmap(grad(lambda x: np.sum(slope(x))))(points)
    np.testing.assert_allclose(grad(lambda p: np.sum(vmap(slope)(p)))(points), expected)


def test_stop_gradient_stops_every_level():
    def f(x):
        return grad(lambda y: stop_gradient(x * y) * y)(x)

    with pytest.warns(IndependentOutputWarning):
        assert grad(f)(3.0) == 0.0 or f(3.0) == 9.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert grad(f)(3.0) == 0.0


# --- Compositions -------------------------------------------------------------------------------


def gram(x):
    return np.sum(np.sin(x) * x[::-1])


REDUCED = {
    "grad": lambda f: lambda x: np.sum(grad(f)(x) * Y),
    "value_and_grad": lambda f: lambda x: np.sum(value_and_grad(f)(x)[1] * Y),
    "vjp": lambda f: lambda x: np.sum(vjp(f, x)[1](1.0)[0] * Y),
    "jvp": lambda f: lambda x: jvp(f, (x,), (Y,))[1],
    "linearize": lambda f: lambda x: linearize(f, x)[1](Y),
    "jacrev": lambda f: lambda x: np.sum(jacrev(f)(x) * Y),
    "jacfwd": lambda f: lambda x: np.sum(jacfwd(f)(x) * Y),
    "jacobian": lambda f: lambda x: np.sum(jacobian(f)(x) * Y),
    "elementwise": lambda f: lambda x: np.sum(elementwise_grad(f)(x) * Y),
}


def directional(f, x):
    h = 1e-5
    return (f(x + h * Y) - f(x - h * Y)) / (2 * h)


def second_directional(f, x):
    h = 1e-3
    return (
        -f(x + 2 * h * Y) + 16 * f(x + h * Y) - 30 * f(x) + 16 * f(x - h * Y) - f(x - 2 * h * Y)
    ) / (12 * h * h)


@pytest.mark.parametrize("inner", REDUCED)
@pytest.mark.parametrize("outer", REDUCED)
def test_pairs_of_transforms(outer, inner):
    # Every transform takes the derivative in the direction Y.
    np.testing.assert_allclose(REDUCED[inner](gram)(X), directional(gram, X), rtol=1e-7)
    np.testing.assert_allclose(
        REDUCED[outer](REDUCED[inner](gram))(X), second_directional(gram, X), rtol=1e-7
    )


@pytest.mark.parametrize(
    "names",
    list(itertools.product(["grad", "jvp", "linearize", "jacrev"], repeat=3)),
    ids="-".join,
)
def test_triples_of_transforms(names):
    f = gram
    for name in names:
        f = REDUCED[name](f)
    third = REDUCED["jvp"](REDUCED["jvp"](REDUCED["jvp"](gram)))(X)
    np.testing.assert_allclose(f(X), third, rtol=1e-11)


@pytest.mark.parametrize("transform", [hvp, vhp])
@pytest.mark.parametrize("outer", ["grad", "jvp", "jacrev"])
def test_transforms_of_hessian_products(outer, transform):
    third = REDUCED["jvp"](REDUCED["jvp"](REDUCED["jvp"](gram)))(X)

    def f(x):
        return np.sum(transform(gram, (x,), (Y,)) * Y)

    np.testing.assert_allclose(REDUCED[outer](f)(X), third, rtol=1e-11)


def test_transforms_of_hessians():
    third = REDUCED["jvp"](REDUCED["jvp"](REDUCED["jvp"](gram)))(X)
    np.testing.assert_allclose(grad(lambda x: Y @ hessian(gram)(x) @ Y)(X) @ Y, third, rtol=1e-11)


def forward(f):
    return lambda x: jvp(f, (x,), (1.0,))[1]


@given(st.lists(st.sampled_from(sorted(REDUCED)), min_size=2, max_size=4))
def test_any_tower_of_transforms(names):
    f, g = np.sin, np.sin
    for name in names:
        f = {
            "grad": grad,
            "elementwise": elementwise_grad,
            "jacrev": jacrev,
            "jacfwd": jacfwd,
            "jacobian": jacobian,
        }.get(name, grad)(f)
        g = forward(g)
    np.testing.assert_allclose(f(0.7), g(0.7), rtol=1e-12)
    np.testing.assert_allclose(f(0.7), np.sin(0.7 + len(names) * np.pi / 2), rtol=1e-12)


# --- Results are arrays of their own ------------------------------------------------------------

PASSED_ON = {
    "a sum": lambda x, y: x + y,
    "twice a sum": lambda x, y: 2 * (x + y),
    "the argument": lambda x, y: (x, y),
    "twice": lambda x, y: (x, y, x),
    "parts": lambda x, y: (x[1:], x.T, y),
    "reshaped": lambda x, y: (x.reshape(4), y.reshape(-1)),
    "not depending": lambda x, y: (np.ones(3), y),
}
TAKEN = {
    "vjp": lambda f, g, dots: vjp(f, A, B)[1](g),
    "vjp by one": lambda f, g, dots: vjp(lambda x: f(x, B), A)[1](g),
    "grad": lambda f, g, dots: grad(lambda x, y: sum(map(np.sum, flatten(f(x, y))[0])), (0, 1))(
        A, B
    ),
    "jvp": lambda f, g, dots: jvp(f, (A, B), dots)[1],
    "linearize": lambda f, g, dots: linearize(f, A, B)[1](*dots),
    "jacfwd": lambda f, g, dots: jacfwd(f, (0, 1))(A, B),
    "jacrev": lambda f, g, dots: jacrev(f, (0, 1))(A, B),
    "vmap of vjp": lambda f, g, dots: vmap(lambda x, y: vjp(f, x, y)[1](f(x, y)))(C, C),
    "vmap of jvp": lambda f, g, dots: vmap(lambda x, y: jvp(f, (x, y), (x, y))[1])(C, C),
}
A, B = np.array([[0.5, -1.25], [2.0, 0.1]]), np.array([[1.5, 2.0], [3.0, 4.0]])
C = np.stack([A, B])


@pytest.mark.parametrize("taken", TAKEN)
@pytest.mark.parametrize("f", PASSED_ON)
def test_no_derivative_shares_memory(f, taken):
    """With another one, or with what was given: the caller may write into each."""
    g, dots = tree_map(lambda out: out * 2, PASSED_ON[f](A, B)), (np.cos(A), np.cos(B))
    found = flatten(TAKEN[taken](PASSED_ON[f], g, dots))[0]
    given = [A, B, C, *flatten(g)[0], *dots]
    for one in found:
        assert one.flags.writeable
        assert not any(np.shares_memory(one, other) for other in given)
    for one, other in itertools.combinations(found, 2):
        assert not np.shares_memory(one, other)


WRITES = {
    "an element": lambda x: operator.setitem(x, 0, 9.0),
    "a view": lambda x: operator.setitem(x[::-1], slice(1), 9.0),
    "in place": lambda x: operator.imul(x, 9.0),
    "sorted": lambda x: x.sort(),
    "filled": lambda x: x.fill(9.0),
}


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize(
    "run",
    [
        lambda f, x: vmap(f)(x[None]),
        lambda f, x: vmap(f, in_axes=1)(x[:, None]),
        lambda f, x: grad(lambda x: np.sum(f(x)))(x),
        lambda f, x: jvp(f, (x,), (x,)),
        lambda f, x: vjp(f, x),
    ],
)
def test_a_write_into_an_argument_stays_inside(run, write):
    def written(x):
        WRITES[write](x)
        return x

    x = X.copy()
    run(written, x)
    np.testing.assert_array_equal(x, X)


def test_a_write_into_what_is_stopped_stays_there():
    def f(x):
        y = 2 * x
        stop_gradient(y)[0] = 9.0
        return np.sum(y * y)

    np.testing.assert_array_equal(grad(f)(X), 8 * X)
    np.testing.assert_array_equal(vmap(grad(f))(X[None]), 8 * X[None])


def test_what_does_not_differ_between_examples_may_be_written_into():
    out = vmap(lambda x: (x, Y), out_axes=(0, 1))(np.ones((2, 3)))[1]
    out[:, 0] = 7.0
    np.testing.assert_array_equal(out.T, [[7.0] * 3, Y])
