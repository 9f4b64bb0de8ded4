"""L-BFGS with a line search, as a method of pure functions."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tapegrad._core.types import Function, Value
from tapegrad.implicit._unknowns import Unknowns, as_vector
from tapegrad.optimize._strong_wolfe import strong_wolfe
from tapegrad.optimize._updates import Method


class History(NamedTuple):
    """The latest steps and changes of the gradient, and where the last step began, as vectors."""

    steps: tuple[Any, ...]
    changes: tuple[Any, ...]
    point: Any
    gradient: Any


def lbfgs(memory: int = 10, rate: float = 1.0, *, evaluations: int = 25) -> Method:
    """L-BFGS, with a line search where it can evaluate the function.

    Parameters
    ----------
    memory : int, default 10
        How many steps it keeps.
    rate : float, default 1.0
        The length of a step where there is no line search, else where the search starts.
    evaluations : int, default 25
        How often a search may evaluate the function.

    Returns
    -------
    Method
        The method. Its update needs the parameters. With the keywords `value=`, the loss there,
        and `value_and_grad=`, a function of the parameters, it searches; `run` hands both on.

    See Also
    --------
    minimize : SciPy's L-BFGS-B, and Newton's methods.

    Notes
    -----
    J. Nocedal, S. Wright (2006), Numerical optimization, algorithms 7.4 and 7.5; the length
    fulfils the strong Wolfe conditions. The search decides by values: it may be compiled and
    differentiated through, but not mapped.

    Examples
    --------
    >>> method = lbfgs()
    >>> f = lambda x: (np.sum((x - 1) ** 2), 2 * (x - 1))
    >>> x = np.zeros(2)
    >>> value, gradient = f(x)
    >>> method.update(gradient, method.init(x), x, value=value, value_and_grad=f)[0]
    array([0.5, 0.5])
    """

    def init(params: Any) -> History:
        return History((), (), None, None)

    def update(
        gradients: Any,
        state: History,
        params: Any = None,
        *,
        value: Value = None,
        value_and_grad: Function | None = None,
        **_more: Any,
    ) -> tuple[Any, History]:
        unravel = Unknowns("optimize.lbfgs", params).tree
        point, gradient = as_vector(params), as_vector(gradients)
        steps, changes = _remembered(state, point, gradient, memory)
        direction = -_two_loops(gradient, steps, changes)
        slope = np.sum(gradient * direction)
        if not slope < 0:
            steps = changes = ()
            direction, slope = -gradient, -np.sum(gradient**2)
        length: Any = rate
        if value_and_grad is not None and slope < 0:
            if not steps:
                length = np.minimum(1.0, 1.0 / np.sum(np.abs(gradient))) * rate

            def evaluate(length: Any) -> tuple[Any, Any, Any]:
                value, slopes = value_and_grad(unravel(point + length * direction))
                flat = as_vector(slopes)
                return value, flat, np.sum(flat * direction)

            largest = np.max(np.abs(direction))
            start = (value, gradient, slope)
            length = strong_wolfe(evaluate, length, start, largest, evaluations)[2]
        return unravel(length * direction), History(steps, changes, point, gradient)

    return Method(init, update)


def _remembered(
    state: History, point: Value, gradient: Value, memory: int
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Steps and changes with the last one, if the curvature along it is positive."""
    steps, changes = state.steps, state.changes
    if state.point is None:
        return steps, changes
    step, change = point - state.point, gradient - state.gradient
    if np.sum(step * change) > 1e-10 * np.sum(step * step):
        return (*steps, step)[-memory:], (*changes, change)[-memory:]
    return steps, changes


def _two_loops(gradient: Value, steps: tuple[Any, ...], changes: tuple[Any, ...]) -> Any:
    """The inverse Hessian, as far as it is known, times the gradient."""
    pairs = [(s, y, 1 / np.sum(s * y)) for s, y in zip(steps, changes, strict=True)]
    q, shares = gradient, []
    for s, y, inverse in reversed(pairs):
        share = inverse * np.sum(s * q)
        shares.append(share)
        q = q - share * y
    if pairs:
        s, y, inverse = pairs[-1]
        q = q / (inverse * np.sum(y * y))
    for (s, y, inverse), share in zip(pairs, reversed(shares), strict=True):
        q = q + (share - inverse * np.sum(y * q)) * s
    return q


__all__ = ["lbfgs"]
