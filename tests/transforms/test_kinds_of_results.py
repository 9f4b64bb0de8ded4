"""Results without dimensions are numbers or 0-d arrays in a trace as in a plain run.

A number never changes, and `x[None]` is a copy of it; a 0-d array has views, through which it is
written to. A transform that took one for the other would give other values where it is nested.
"""

import numpy as np
import pytest

import tapegrad
from tapegrad import grad, hessian, hvp, jacfwd, jacrev, jvp, linearize, value_and_grad, vjp, vmap


def cube(y):
    return y * y * y


by_reverse = tapegrad.custom_vjp(np.sin)
by_reverse.defvjp(lambda x: (np.sin(x), x), lambda x, g: (g * np.cos(x),))
by_forward = tapegrad.custom_jvp(np.sin)
by_forward.defjvp(lambda primals, dots: (np.sin(*primals), np.cos(*primals) * dots[0]))

RESULTS = {
    "grad": lambda x: grad(cube)(x),
    "grad of the argument": lambda x: grad(lambda y: y)(x),
    "grad of a copy": lambda x: grad(lambda y: y.copy())(x),
    "grad that is zero": lambda x: grad(lambda y: 0.0 * y)(x),
    "grad of grad": lambda x: grad(grad(cube))(x),
    "value of value_and_grad": lambda x: value_and_grad(lambda y: y.copy())(x)[0],
    "value_and_grad": lambda x: value_and_grad(cube)(x)[1],
    "value of vjp": lambda x: vjp(cube, x)[0],
    "copy of vjp": lambda x: vjp(lambda y: y.copy(), x)[0],
    "pullback": lambda x: vjp(cube, x)[1](x)[0],
    "pullback of a number": lambda x: vjp(cube, x)[1](1.0)[0],
    "value of jvp": lambda x: jvp(cube, (x,), (x,))[0],
    "jvp": lambda x: jvp(cube, (x,), (x,))[1],
    "jvp of a copy": lambda x: jvp(lambda y: y.copy(), (x,), (x,))[1],
    "jvp of a 0-d array": lambda x: jvp(lambda y: np.reshape(y * np.ones(1), ()), (x,), (x,))[1],
    "value of linearize": lambda x: linearize(cube, x)[0],
    "pushforward": lambda x: linearize(cube, x)[1](x),
    "pushforward of a copy": lambda x: linearize(lambda y: y.copy(), x)[1](x),
    "jacrev": lambda x: jacrev(cube)(x),
    "jacfwd": lambda x: jacfwd(cube)(x),
    "jacobian": lambda x: tapegrad.jacobian(cube)(x),
    "hessian": lambda x: hessian(cube)(x),
    "hvp": lambda x: hvp(cube, (x,), (x,)),
    "vhp": lambda x: tapegrad.vhp(cube, (x,), (x,)),
    "ggnvp": lambda x: tapegrad.ggnvp(cube, (x,), (x,)),
    "elementwise_grad": lambda x: tapegrad.elementwise_grad(cube)(x),
    "checkpoint": lambda x: tapegrad.checkpoint(cube)(x),
    "checkpoint of a copy": lambda x: tapegrad.checkpoint(lambda y: y.copy())(x),
    "checkpoint_sequence": lambda x: tapegrad.checkpoint_sequence(np.sin, x, 3, snapshots=2),
    "custom_vjp": lambda x: by_reverse(x),
    "custom_jvp": lambda x: by_forward(x),
    "compile": lambda x: tapegrad.compile(grad(cube))(x),
    "linear_transpose": lambda x: tapegrad.linear_transpose(lambda y: 3.0 * y, x)(x)[0],
    "transpose of reshape": lambda x: tapegrad.linear_transpose(lambda y: np.reshape(y, (1,)), x)(
        x[None] * 1.0
    )[0],
    # What a plain run makes by NumPy alone.
    "product": lambda x: x * x,
    "product of a tangent": lambda x: jvp(np.tanh, (x,), (x,))[1] * x,
    "sum": lambda x: np.sum(x * np.ones(3)),
    "element": lambda x: (x * np.ones(3))[1],
    "part of no dimensions": lambda x: (x * np.ones(3))[1, ...],
    "copy": lambda x: x.copy(),
    "np.copy": lambda x: np.copy(x),
    "np.reshape": lambda x: np.reshape(x * np.ones(1), ()),
}
VIEWS = {
    "x[None]": lambda x: x[None],
    "x[...]": lambda x: x[...],
    "x.reshape(1)": lambda x: x.reshape(1),
    "x.ravel()": lambda x: x.ravel(),
    "np.atleast_1d": np.atleast_1d,
    "np.expand_dims": lambda x: np.expand_dims(x, 0),
}
WAYS = {
    "vjp": lambda f, x: vjp(f, x)[0],
    "jvp": lambda f, x: jvp(f, (x,), (x,))[0],
    "vjp of vjp": lambda f, x: vjp(lambda y: vjp(f, y)[0], x)[0],
    "jvp of vjp": lambda f, x: jvp(lambda y: vjp(f, y)[0], (x,), (x,))[0],
    "vjp of jvp": lambda f, x: vjp(lambda y: jvp(f, (y,), (y,))[0], x)[0],
    "checkpoint": lambda f, x: vjp(tapegrad.checkpoint(f), x)[0],
    "compile": lambda f, x: tapegrad.compile(f)(x),
    "compile of vjp": lambda f, x: tapegrad.compile(lambda y: vjp(f, y)[0])(x),
    "vmap": lambda f, x: vmap(f)(np.stack([x, x]))[0],
    "vmap of vjp": lambda f, x: vmap(lambda y: vjp(f, y)[0])(np.stack([x, x]))[0],
}


def written_through(result, view):
    """The result after a write to what the view of it is, times a number."""

    def f(x):
        made = result(x)
        view(made)[...] = 0.5
        return made * 1.0

    return f


@pytest.mark.part(3)
@pytest.mark.parametrize("name", RESULTS)
@pytest.mark.parametrize("make", [np.array, np.float64], ids=["array", "number"])
def test_a_result_is_a_number_or_an_array_as_in_the_plain_run(make, name):
    f, x = written_through(RESULTS[name], VIEWS["x[None]"]), 1.61
    for way, call in WAYS.items():
        # An example of a vmap is an element, a number; a 0-d array is made of it.
        g = (lambda y: f(np.copy(y))) if "vmap" in way and make is np.array else f
        assert call(g, make(x)) == pytest.approx(f(make(x)), rel=1e-12), way


@pytest.mark.parametrize("name", ["grad", "product of a tangent", "np.copy", "sum"])
@pytest.mark.parametrize("view", VIEWS)
def test_a_view_of_a_number_is_a_copy(view, name):
    f, x = written_through(RESULTS[name], VIEWS[view]), np.array(1.61)
    for way, call in WAYS.items():
        g = (lambda y: f(np.copy(y))) if "vmap" in way else f
        assert call(g, x) == pytest.approx(f(x), rel=1e-12), way


@pytest.mark.parametrize("transform", [lambda f: f, tapegrad.checkpoint, tapegrad.compile])
def test_a_write_through_a_view_of_a_number_leaves_value_and_gradient(transform):
    """A program that was drawn, with its value, slope and gradient in closed form."""

    @transform
    def f(x):
        y = jvp(np.tanh, (x,), (x,))[1] * x
        part = y[None]
        part[0] = 0.5
        return y

    x = np.array(1.61)
    flat, slope = np.tanh(x), 1.0 - np.tanh(x) ** 2
    expected = 2.0 * x * slope - 2.0 * x**2 * flat * slope
    value, pullback = vjp(f, x)
    assert value == pytest.approx(slope * x * x)
    assert pullback(1.5)[0] == pytest.approx(1.5 * expected)
    assert jvp(f, (x,), (np.array(1.0),))[1] == pytest.approx(expected)


@pytest.mark.parametrize("transform", [lambda f: f, tapegrad.checkpoint, tapegrad.compile])
def test_a_write_through_a_view_of_a_gradient_reaches_value_and_gradient(transform):
    """checkpoint runs it plainly first: its gradient was that of another value."""

    @transform
    def f(x):
        y = grad(cube)(x)
        part = y[None]
        part[0] *= 2.0
        return y * 1.0

    x = np.array(1.5)
    value, pullback = vjp(f, x)
    assert value == pytest.approx(6.0 * x**2)
    assert pullback(1.0)[0] == pytest.approx(12.0 * x)
    assert vjp(grad(f), x)[0] == pytest.approx(12.0 * x)


def test_a_tangent_of_a_number_is_a_number_beside_a_nan_too():
    out, dot = tapegrad.jvp(
        lambda x: np.sum(np.floor(x)), (np.array([np.nan, 1.0]),), (np.ones(2),)
    )
    assert np.isnan(out)
    assert type(dot) is np.float64
    assert dot == 0


def test_a_compiled_tangent_of_a_number_is_a_number_beside_a_nan():
    fast = tapegrad.compile(lambda x: jvp(lambda x: np.sum(x) * 2, (x,), (np.ones(2),))[1])
    assert {type(fast(np.array([np.nan, 1.0]))) for _ in range(4)} == {np.float64}
