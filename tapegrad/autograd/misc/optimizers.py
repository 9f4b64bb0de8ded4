"""Three first-order methods over containers of arrays, by the names of HIPS autograd.

`grad(x, i)` gets the iteration; `callback(x, i, gradient)` is called before each step.
`tapegrad.optimize` has more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad._core.types import Tree
from tapegrad._progress import Bar
from tapegrad.autograd.misc.flatten import flatten
from tapegrad.autograd.wrap_util import wraps

Function = Callable[..., Any]


def unflatten_optimizer(optimize: Function) -> Function:
    """A method over vectors as one over containers of arrays."""

    @wraps(optimize)
    def of_trees(
        grad: Function, x0: Tree, callback: Function | None = None, *args: Any, **kwargs: Any
    ) -> Any:
        vector, unflatten = flatten(x0)

        def gradient(x: Any, i: int) -> Any:
            return flatten(grad(unflatten(x), i))[0]

        def called(x: Any, i: int, g: Any) -> None:
            assert callback is not None
            callback(unflatten(x), i, unflatten(g))

        given = called if callback else None
        return unflatten(optimize(gradient, vector, given, *args, **kwargs))

    return of_trees


def _steps(grad: Function, x: Any, callback: Function | None, count: int, step: Function) -> Any:
    """`x = step(x, gradient, i)`, so many times."""
    with Bar("training", total=count) as bar:
        for i in bar.over(range(count)):
            g = grad(x, i)
            if callback:
                callback(x, i, g)
            x = step(x, g, i)
    return x


@unflatten_optimizer
def sgd(
    grad: Function,
    x: Any,
    callback: Function | None = None,
    num_iters: int = 200,
    step_size: float = 0.1,
    mass: float = 0.9,
) -> Any:
    """Gradient descent with momentum."""
    velocity = np.zeros(len(x))

    def step(x: Any, g: Any, i: int) -> Any:
        nonlocal velocity
        velocity = mass * velocity - (1.0 - mass) * g
        return x + step_size * velocity

    return _steps(grad, x, callback, num_iters, step)


@unflatten_optimizer
def rmsprop(
    grad: Function,
    x: Any,
    callback: Function | None = None,
    num_iters: int = 100,
    step_size: float = 0.1,
    gamma: float = 0.9,
    eps: float = 1e-8,
) -> Any:
    """Steps by the gradient over the root of its mean square, which fades by `gamma`."""
    square = np.ones(len(x))

    def step(x: Any, g: Any, i: int) -> Any:
        nonlocal square
        square = square * gamma + g**2 * (1 - gamma)
        return x - step_size * g / (np.sqrt(square) + eps)

    return _steps(grad, x, callback, num_iters, step)


@unflatten_optimizer
def adam(
    grad: Function,
    x: Any,
    callback: Function | None = None,
    num_iters: int = 100,
    step_size: float = 0.001,
    b1: float = 0.9,
    b2: float = 0.999,
    eps: float = 1e-8,
) -> Any:
    """Adam (Kingma and Ba 2015), with both corrections of the bias."""
    mean, square = np.zeros(len(x)), np.zeros(len(x))

    def step(x: Any, g: Any, i: int) -> Any:
        nonlocal mean, square
        mean = (1 - b1) * g + b1 * mean
        square = (1 - b2) * g**2 + b2 * square
        root = np.sqrt(square / (1 - b2 ** (i + 1)))
        return x - step_size * mean / (1 - b1 ** (i + 1)) / (root + eps)

    return _steps(grad, x, callback, num_iters, step)


__all__ = ["adam", "rmsprop", "sgd", "unflatten_optimizer"]
