"""Gradients keep the parameters of the function, and have the types of its arguments."""

from dataclasses import dataclass
from typing import Any, TypedDict, assert_type

import numpy as np
from numpy.typing import NDArray

import tapegrad
from tapegrad import elementwise_grad, grad, value_and_grad

Array = NDArray[np.float64]


def array(*shape: int) -> Array:
    return np.ones(shape)


x, y = array(3), array(3)


class Weights(TypedDict):
    w: Array
    b: float


@dataclass
class Line:
    slope: float
    start: Array


def loss(w: Array, x: Array, scale: float = 1.0) -> np.float64:
    return np.sum(w * x) * scale


def with_aux(w: Array, x: Array) -> tuple[np.float64, dict[str, int]]:
    return np.sum(w * x), {"count": 3}


def of_weights(p: Weights, x: Array) -> np.float64:
    return np.sum(p["w"] * x) * p["b"]


def of_line(line: Line, t: float) -> float:
    return t * line.slope + np.sum(line.start)


def cube(x: float, power: int = 3) -> float:
    return x**power


# The first argument, by position; the others as they are.
assert_type(grad(loss)(x, y, scale=2.0), Array)
assert_type(grad(loss)(x, x=y), Array)
assert_type(value_and_grad(loss)(x, y), tuple[np.float64, Array])
assert_type(grad(cube)(2.0, power=4), float)
assert_type(grad(grad(cube))(2.0), float)
assert_type(grad(of_weights)({"w": x, "b": 2.0}, y), Weights)
assert_type(grad(of_line)(Line(2.0, x), 3.0), Line)
assert_type(value_and_grad(of_line)(Line(2.0, x), t=3.0), tuple[float, Line])
assert_type(elementwise_grad(cube)(2.0), float)

# By argnums.
assert_type(grad(loss, 0)(x, y), Array)
assert_type(grad(loss, argnums=1)(x, y), Array)
assert_type(grad(of_line, 1)(Line(2.0, x), 3.0), float)
assert_type(grad(of_line, (0,))(Line(2.0, x), 3.0), tuple[Line])
assert_type(grad(of_line, (0, 1))(Line(2.0, x), 3.0), tuple[Line, float])
assert_type(grad(loss, (0, 1, 2))(x, y, 2.0), tuple[Array, Array, float])
assert_type(value_and_grad(of_line, (0, 1))(Line(2.0, x), 3.0), tuple[float, tuple[Line, float]])

# Beside the value.
assert_type(grad(with_aux, has_aux=True)(x, y), tuple[Array, dict[str, int]])
assert_type(
    value_and_grad(with_aux, has_aux=True)(x, y), tuple[tuple[np.float64, dict[str, int]], Array]
)
assert_type(
    value_and_grad(with_aux, (0, 1), has_aux=True)(x, y),
    tuple[tuple[np.float64, dict[str, int]], tuple[Array, Array]],
)

# What the types of Python cannot say.
places: list[int] = [0, 1]
assert_type(grad(loss, places)(x, y), tuple[Any, ...])
assert_type(grad(loss, argnames=["scale"])(x, y, scale=2.0), dict[str, Any])
assert_type(value_and_grad(loss, argnames="scale")(x, y, scale=2.0), tuple[np.float64, Any])


# Decorators, and methods.
@grad
def slope(x: float, rate: float = 1.0) -> float:
    return x * x * rate


assert_type(slope(2.0, rate=3.0), float)


class Model:
    rate = 2.0

    def loss(self, w: Array) -> np.float64:
        return np.sum(w**2) * self.rate

    @tapegrad.checkpoint
    def block(self, w: Array) -> Array:
        return np.sin(w) * self.rate

    @tapegrad.compile(backend="numpy")
    def fast(self, w: Array) -> Array:
        return w * self.rate


model = Model()
assert_type(grad(model.loss)(x), Array)
assert_type(model.block(x), Array)
assert_type(model.fast(x), Array)

# Of functions without types no mistakes are found; a gradient has the type of what is passed.
grad(lambda x, y: np.sum(x * y), (0, 1))(x, 2.0)
grad(np.linalg.norm)(x)
