"""Losses of pairs of small arrays: the ways of calls that come again.

Knows NumPy arrays and numbers. Must not know rules; the formulas stand in `losses`.

Of a loss there are `losses(x, y)`, a new array, and `slopes(x, y)`, its derivatives by x, in an
array that may be written to. A loss is odd if those by y are the same, negated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tapegrad._core.entry import Spec
from tapegrad._core.settled import AllWays
from tapegrad._core.types import Cotangent, Value
from tapegrad.torch._rules.parts import LARGE
from tapegrad.torch._types import Number


class SmallLoss(NamedTuple):
    """A loss of pairs of elements."""

    losses: Callable[..., Value]
    slopes: Callable[..., Value]
    odd: bool = True


def ways_of(
    loss: SmallLoss,
    x: Spec,
    y: Spec,
    wanted: tuple[bool, ...],
    reduction: str,
    params: dict[str, Any],
) -> AllWays | None:
    """The ways of such calls; None for large arrays, and those of two shapes or dtypes."""
    if x is not y or not x.ndim or not 0 < x.size < LARGE or x.dtype.char not in "fd":
        return None
    if wanted[1] and not loss.odd:
        return None
    losses, slopes, _ = loss
    of_each, number = reduction == "none", x.dtype.type
    divisor = number(x.size if reduction == "mean" else 1)
    by_x, by_y = wanted

    def run(x: Value, y: Value) -> Value:
        made = losses(x, y, **params)
        if of_each:
            return made
        total = np.add.reduce(made, None)
        return total / divisor if divisor != 1 else total

    def pull(g: Cotangent, _out: Value, x: Value, y: Value) -> Any:
        bar = slopes(x, y, **params)
        bar *= g if of_each else number(g / divisor)
        return (bar if by_x else None), (np.negative(bar) if by_y else None)

    return AllWays(pull, run=run)


# --- Differences --------------------------------------------------------------------------------


def _squares(x: Value, y: Value) -> Value:
    made = x - y
    return np.square(made, made)


def _twice(x: Value, y: Value) -> Value:
    made = x - y
    made *= 2
    return made


def _sizes(x: Value, y: Value) -> Value:
    made = x - y
    return np.absolute(made, made)


def _signs(x: Value, y: Value) -> Value:
    made = x - y
    return np.sign(made, made)


def _huber(x: Value, y: Value, delta: Number) -> Value:
    made = x - y
    np.absolute(made, made)
    near = np.minimum(made, delta)
    half = 0.5 * near
    made -= half
    made *= near
    return made


def _bounded(x: Value, y: Value, delta: Number) -> Value:
    made = x - y
    np.maximum(made, -delta, out=made)
    return np.minimum(made, delta, out=made)


def _smooth(x: Value, y: Value, beta: Number) -> Value:
    if beta == 0:
        return _sizes(x, y)
    made = _huber(x, y, beta)
    if beta != 1:
        made *= 1 / beta
    return made


def _smooth_slopes(x: Value, y: Value, beta: Number) -> Value:
    if beta == 0:
        return _signs(x, y)
    made = x - y
    if beta != 1:
        made *= 1 / beta
    np.maximum(made, -1, out=made)
    return np.minimum(made, 1, out=made)


MSE = SmallLoss(_squares, _twice)
L1 = SmallLoss(_sizes, _signs)
HUBER = SmallLoss(_huber, _bounded)
SMOOTH_L1 = SmallLoss(_smooth, _smooth_slopes)

# --- Two classes --------------------------------------------------------------------------------


def _with_logits(x: Value, y: Value) -> Value:
    """(1 - y) * x + log(1 + exp(-x))."""
    low = np.absolute(x)
    np.negative(low, low)
    np.exp(low, low)
    np.log1p(low, low)
    made = np.negative(x)
    np.maximum(made, 0, out=made)
    made += low
    np.subtract(1, y, low)
    low *= x
    low += made
    return low


def _with_logits_slopes(x: Value, y: Value) -> Value:
    """(1 - y) - 1 / (1 + exp(x))."""
    other = np.exp(x)
    other += 1
    np.divide(1, other, other)
    made = 1 - y
    made -= other
    return made


WITH_LOGITS = SmallLoss(_with_logits, _with_logits_slopes, odd=False)

__all__ = ["HUBER", "L1", "MSE", "SMOOTH_L1", "WITH_LOGITS", "SmallLoss", "ways_of"]
