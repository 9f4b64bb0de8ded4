"""Users' programs: a fit, minimisation by SciPy, trees, sparse matrices, a training loop."""

from dataclasses import dataclass
from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

import tapegrad
from tapegrad import implicit, optimize, sparse, tree

Array = NDArray[np.float64]
Weights = dict[str, Array]


def array(*shape: int) -> Array:
    return np.ones(shape)


@dataclass
class Layer:
    w: Array
    b: float


def model(p: Weights, x: Array) -> Array:
    return x @ p["w"] + p["b"]


def loss(p: Weights, x: Array, y: Array) -> np.float64:
    out: np.float64 = np.sum((model(p, x) - y) ** 2) / y.size
    return out


def of_layer(layer: Layer, x: Array) -> np.float64:
    out: np.float64 = np.sum((x * layer.w + layer.b) ** 2)
    return out


def rosenbrock(x: Array) -> np.float64:
    out: np.float64 = np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)
    return out


def descend(w: Array, g: Array) -> Array:
    return w - 0.1 * g


x, y = array(4, 3), array(4)
weights: Weights = {"w": array(3), "b": array(1)}

# A loop by hand.
step = tapegrad.value_and_grad(loss)
value, gradient = step(weights, x, y)
assert_type(value, np.float64)
assert_type(gradient, Weights)
for _ in range(3):
    value, gradient = step(weights, x, y)
    weights = {name: w - 0.1 * gradient[name] for name, w in weights.items()}

# Trees.
layer = Layer(array(3), 1.0)
assert_type(tree.map(descend, weights, gradient), Weights)
assert_type(tree.map(descend, layer, layer), Layer)
assert_type(tree.add(weights, tree.scale(-0.1, gradient)), Weights)
assert_type(tree.zeros_like(layer), Layer)
flat, unravel = tree.ravel(layer)
assert_type(unravel(flat), Layer)
assert_type(tree.size(weights), int)

# Minima.
found = optimize.minimize(rosenbrock, array(5), method="trust-exact")
assert_type(found, optimize.Result[Array])
assert_type(found.x, Array)
assert_type(found.success, bool)
start: list[float] = [0.0, 2.0]
assert_type(optimize.minimize(rosenbrock, start).x, Array)
assert_type(optimize.minimize(of_layer, layer, args=(array(3),)).x, Layer)
assert_type(found.covariance, Array)
assert_type(found.standard_errors, Array)
# Whole numbers alone are floats to start from.
assert_type(optimize.minimize(lambda x: (x - 0.5) ** 2, 0).x, float)
assert_type(optimize.minimize(rosenbrock, np.arange(3)).x, Array)
assert_type(optimize.least_squares(lambda x: x - 0.5, 2).x, float)
assert_type(optimize.root(lambda x: x - 0.5, 2).x, float)
assert_type(tree.ravel(weights)[0], NDArray[Any])


def line(x: Array, p: Layer) -> Array:
    return x @ p.w + p.b


points, seen = np.eye(5, 3), array(5) * np.arange(5.0)
fit = optimize.curve_fit(line, points, seen, Layer(array(3), 0.0))
assert_type(fit.x, Layer)
assert_type(fit.standard_errors, Layer)
by_numbers = optimize.curve_fit(lambda t, a, b: a * t + b, seen, seen**2)
assert_type(by_numbers.x, Array)
best, covariance = by_numbers
assert_type(best, Array)
assert_type(covariance, Array)
assert_type(implicit.root(lambda x, a: x**2 - a, array(3), 2.0), Array)
assert_type(implicit.fixed_point(lambda x, a: a * np.cos(x), 1.0, 0.5), float)
assert_type(implicit.argmin(lambda x, a: np.sum((x - a) ** 2), array(3), 2.0), Array)
done = optimize.run(loss, weights, optimize.adam(0.1), steps=3, args=(x, y))
assert_type(done.params, Weights)
method = optimize.adam(0.1)
updates, state = method.update(gradient, method.init(weights), weights)
assert_type(optimize.apply_updates(weights, updates), Weights)

# Sparse matrices: the parameters are known; SciPy says nothing of their types.
sparse.jacobian(descend)(array(3), array(3)).toarray()
sparse.hessian(rosenbrock)(array(5)).toarray()
sparse.jacobian(np.sin)(array(3)).toarray()
sparse.pattern(np.sin)(array(3)).toarray()
