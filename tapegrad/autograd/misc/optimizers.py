"""Three first-order methods over containers of arrays, by the names of HIPS autograd.

`grad(x, i)` gets the iteration; `callback(x, i, gradient)` is called before each step.
`tapegrad.optimize` has more.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad._core.types import Tree
from tapegrad._progress import Bar
from tapegrad.autograd.misc.flatten import flatten
from tapegrad.autograd.wrap_util import wraps

Function = Callable[..., Any]


def unflatten_optimizer(optimize: Function) -> Function:
    """A method over vectors as one over containers of arrays.

    Parameters
    ----------
    optimize : callable
        `optimize(grad, x, callback, ...)`, where `grad(x, i)` and `callback(x, i, g)` get vectors.

    Returns
    -------
    callable
        `optimize(grad, x0, callback=None, ...)` of containers.

    Examples
    --------
    >>> @unflatten_optimizer
    ... def one_step(grad, x, callback=None):
    ...     return x - grad(x, 0)
    >>> one_step(lambda p, i: {"w": p["w"]}, {"w": np.ones(2)})
    {'w': array([0., 0.])}
    """

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

    of_trees.__signature__ = inspect.signature(optimize)
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
    x0: Any,
    callback: Function | None = None,
    num_iters: int = 200,
    step_size: float = 0.1,
    mass: float = 0.9,
) -> Any:
    """Gradient descent with momentum.

    Parameters
    ----------
    grad : callable
        `grad(x, i)` returns the gradient at x in iteration i, a container like x.
    x0 : pytree
        Where to start: a container of arrays.
    callback : callable, optional
        `callback(x, i, gradient)`, before each step.
    num_iters : int, default 200
        How many steps to make.
    step_size : float, default 0.1
        What the velocity is multiplied by.
    mass : float, default 0.9
        How much of the velocity a step keeps; the gradient gets the rest.

    Returns
    -------
    pytree
        The last x.

    See Also
    --------
    tapegrad.optimize.sgd : As a method of pure functions.

    Examples
    --------
    >>> found = sgd(lambda x, i: 2 * (x - 3.0), np.zeros(1))
    >>> bool(np.allclose(found, 3.0, atol=0.01))
    True
    """
    velocity = np.zeros(len(x0))

    def step(x: Any, g: Any, i: int) -> Any:
        nonlocal velocity
        velocity = mass * velocity - (1.0 - mass) * g
        return x + step_size * velocity

    return _steps(grad, x0, callback, num_iters, step)


@unflatten_optimizer
def rmsprop(
    grad: Function,
    x0: Any,
    callback: Function | None = None,
    num_iters: int = 100,
    step_size: float = 0.1,
    gamma: float = 0.9,
    eps: float = 1e-8,
) -> Any:
    """Steps by the gradient over the root of its running mean square.

    Parameters
    ----------
    grad : callable
        `grad(x, i)` returns the gradient at x in iteration i, a container like x.
    x0 : pytree
        Where to start: a container of arrays.
    callback : callable, optional
        `callback(x, i, gradient)`, before each step.
    num_iters : int, default 100
        How many steps to make.
    step_size : float, default 0.1
        What the step is multiplied by.
    gamma : float, default 0.9
        How much of the mean square, which begins at 1, a step keeps.
    eps : float, default 1e-8
        What is added to the root.

    Returns
    -------
    pytree
        The last x.

    See Also
    --------
    tapegrad.optimize.rmsprop : As a method of pure functions.

    Examples
    --------
    >>> found = rmsprop(lambda x, i: 2 * (x - 3.0), np.zeros(1))
    >>> bool(np.allclose(found, 3.0, atol=0.1))
    True
    """
    square = np.ones(len(x0))

    def step(x: Any, g: Any, i: int) -> Any:
        nonlocal square
        square = square * gamma + g**2 * (1 - gamma)
        return x - step_size * g / (np.sqrt(square) + eps)

    return _steps(grad, x0, callback, num_iters, step)


@unflatten_optimizer
def adam(
    grad: Function,
    x0: Any,
    callback: Function | None = None,
    num_iters: int = 100,
    step_size: float = 0.001,
    b1: float = 0.9,
    b2: float = 0.999,
    eps: float = 1e-8,
) -> Any:
    """Adam, with both corrections of the bias.

    Parameters
    ----------
    grad : callable
        `grad(x, i)` returns the gradient at x in iteration i, a container like x.
    x0 : pytree
        Where to start: a container of arrays.
    callback : callable, optional
        `callback(x, i, gradient)`, before each step.
    num_iters : int, default 100
        How many steps to make.
    step_size : float, default 0.001
        About how far a step goes in each element.
    b1 : float, default 0.9
        How much of the running mean of gradients a step keeps.
    b2 : float, default 0.999
        How much of the running mean of their squares it keeps.
    eps : float, default 1e-8
        What is added to the root of the mean square.

    Returns
    -------
    pytree
        The last x.

    See Also
    --------
    tapegrad.optimize.adam : As a method of pure functions.

    Notes
    -----
    D. Kingma, J. Ba (2015), Adam: a method for stochastic optimization, ICLR, algorithm 1.

    Examples
    --------
    >>> found = adam(lambda x, i: 2 * (x - 3.0), np.zeros(1), step_size=0.1, num_iters=300)
    >>> bool(np.allclose(found, 3.0, atol=0.01))
    True
    """
    mean, square = np.zeros(len(x0)), np.zeros(len(x0))

    def step(x: Any, g: Any, i: int) -> Any:
        nonlocal mean, square
        mean = (1 - b1) * g + b1 * mean
        square = (1 - b2) * g**2 + b2 * square
        root = np.sqrt(square / (1 - b2 ** (i + 1)))
        return x - step_size * mean / (1 - b1 ** (i + 1)) / (root + eps)

    return _steps(grad, x0, callback, num_iters, step)


__all__ = ["adam", "rmsprop", "sgd", "unflatten_optimizer"]
