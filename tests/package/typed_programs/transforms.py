"""Jacobians, products with vectors, vmap, declared derivatives, memory and speed."""

from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

import tapegrad
from tapegrad import vmap

Array = NDArray[np.float64]


def array(*shape: int) -> Array:
    return np.ones(shape)


x, v = array(3), array(3)


def loss(w: Array, scale: float = 1.0) -> np.float64:
    return np.sum(w**3) * scale


def field(x: Array, shift: float = 0.0) -> Array:
    return x**2 + shift


def curve(t: float) -> Array:
    return t * np.ones(3)


def cube(x: float) -> float:
    return x**3


def pair(x: Array, y: Array) -> np.float64:
    return np.sum(x * y**2)


def with_aux(x: Array) -> tuple[Array, str]:
    return x**2, "squares"


def tree(x: dict[str, Array]) -> dict[str, Array]:
    return x


def named(x: Array) -> dict[str, np.float64]:
    return {"sum": np.sum(x)}


def both_ways(x: Array) -> tuple[Array, np.float64]:
    return x, np.sum(x)


# Matrices.
assert_type(tapegrad.jacobian(field)(x, shift=1.0), Array)
assert_type(tapegrad.jacobian(field, mode="forward")(x), Array)
assert_type(tapegrad.jacrev(loss)(x), Array)
assert_type(tapegrad.jacfwd(curve)(1.0), Array)
assert_type(tapegrad.jacobian(cube)(1.0), Array)
assert_type(tapegrad.jacobian(with_aux, has_aux=True)(x), tuple[Array, str])
assert_type(tapegrad.jacobian(tree)({"a": x}), Any)
assert_type(tapegrad.hessian(loss)(x, scale=2.0), Array)
assert_type(tapegrad.hessian(cube)(2.0), Array)
assert_type(tapegrad.hessian(pair, argnums=(0, 1))(x, v), Any)

# Products with vectors.
assert_type(tapegrad.jvp(field, (x,), (v,)), tuple[Array, Array])
assert_type(tapegrad.jvp(pair, (x, v), (v, x)), tuple[np.float64, np.float64])
assert_type(tapegrad.jvp(with_aux, (x,), (v,), has_aux=True), tuple[Array, Array, str])
assert_type(tapegrad.hvp(loss, (x,), (v,)), Array)
assert_type(tapegrad.hvp(pair, (x, v), (v, x)), tuple[Array, Array])
assert_type(tapegrad.vhp(loss, (x,), (v,)), Array)
assert_type(tapegrad.ggnvp(field, (x,), (v,)), Array)
out, pullback = tapegrad.vjp(field, x)
assert_type(out, Array)
assert_type(pullback(v), tuple[Array])
value, pull = tapegrad.vjp(pair, x, v)
assert_type(value, np.float64)
assert_type(pull(np.float64(1.0)), tuple[Array, Array])
out, pullback, word = tapegrad.vjp(with_aux, x, has_aux=True)
assert_type(word, str)
out, pushforward = tapegrad.linearize(field, x)
assert_type(pushforward(v), Array)
assert_type(tapegrad.linear_transpose(curve, 1.0)(x), tuple[float])

# Examples at once: numbers become arrays.
xs = array(4, 3)
assert_type(vmap(field)(xs), Array)
assert_type(vmap(loss)(xs), Array)
assert_type(vmap(tapegrad.grad(loss))(xs), Array)
assert_type(vmap(tapegrad.grad(cube))(x), Array)
assert_type(vmap(cube)(x), Array)
assert_type(vmap(pair, in_axes=(0, None))(xs, x), Array)
assert_type(vmap(tree)({"a": xs}), dict[str, Array])
assert_type(vmap(tapegrad.value_and_grad(loss))(xs), tuple[Array, Array])
assert_type(vmap(tapegrad.value_and_grad(cube))(x), tuple[Array, Array])
assert_type(vmap(named)(xs), dict[str, Array])
assert_type(vmap(both_ways)(xs), tuple[Array, Array])
vmap(lambda x: x * 2)(xs)


# Derivatives of one's own.
@tapegrad.custom_vjp
def clipped(x: Array, limit: float = 1.0) -> Array:
    return x


def clipped_forward(x: Array, limit: float) -> tuple[Array, float]:
    return x, limit


def clipped_backward(limit: float, g: Array) -> tuple[Array, None]:
    return np.clip(g, -limit, limit), None


clipped.defvjp(clipped_forward, clipped_backward)
assert_type(clipped(x, limit=2.0), Array)
clipped.defvjp(lambda x, limit: (x, limit), lambda limit, g: (np.clip(g, -limit, limit), None))


@tapegrad.custom_jvp
def log1pexp(x: float) -> float:
    out: float = np.log1p(np.exp(x))
    return out


@log1pexp.defjvp
def log1pexp_jvp(primals: tuple[float], tangents: tuple[float]) -> tuple[float, float]:
    return log1pexp(*primals), tangents[0]


assert_type(log1pexp(1.0), float)
assert_type(tapegrad.grad(log1pexp)(1.0), float)
assert_type(log1pexp_jvp((1.0,), (1.0,)), tuple[float, float])


@tapegrad.primitive
def softplus(x: Array) -> Array:
    return np.logaddexp(0.0, x)


tapegrad.elementwise(softplus, lambda _, x: 1 / (1 + np.exp(-x)))
assert_type(softplus(x), Array)
assert_type(tapegrad.stop_gradient({"a": x}), dict[str, Array])

# Memory and speed.
assert_type(tapegrad.checkpoint(field)(x, shift=2.0), Array)


@tapegrad.compile(backend="numpy", check=2)
def fast(x: Array, power: int = 2) -> Array:
    return x**power


@tapegrad.compile
def faster(x: Array, power: int = 2) -> Array:
    return x**power


assert_type(fast(x, power=3), Array)
assert_type(faster(x), Array)
assert_type(faster.program(x), str)
assert_type(tapegrad.compile(tapegrad.value_and_grad(loss))(x), tuple[np.float64, Array])


def step(state: tuple[Array, float], rate: float) -> tuple[Array, float]:
    return state[0] * rate, state[1] + 1.0


assert_type(
    tapegrad.checkpoint_sequence(step, (x, 0.0), 10, 0.9, snapshots=3), tuple[Array, float]
)
assert_type(tapegrad.checkpoint_sequence(lambda u, rate: u * rate, x, 10, 0.9), Array)
assert_type(tapegrad.checkpoint_sequence(lambda u: u * 2.0, x, 10), Array)

# NumPy's ufuncs have a type for each kind of argument.
assert_type(tapegrad.grad(np.sin)(1.0), float)
assert_type(tapegrad.elementwise_grad(np.tanh)(x), Array)
assert_type(tapegrad.elementwise_grad(tapegrad.elementwise_grad(np.tanh))(x), Array)
assert_type(vmap(np.sin)(x), NDArray[Any])
assert_type(tapegrad.checkpoint(np.sin)(x), NDArray[Any])
assert_type(tapegrad.jacobian(np.exp)(x), NDArray[Any])
