"""Losses of pairs of small arrays: the kernels of calls that come again.

Knows NumPy arrays and numbers. Must not know rules; the formulas stand in `losses`.

Of a loss there are `losses(x, y)`, a new array, and `slopes(x, y)`, its derivatives by x, in an
array that may be written to: both are made of what makes a number an array without dimensions, and
of the loss's own numbers. A loss is odd if the derivatives by y are the same, negated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tapegrad._core.entry import Spec
from tapegrad._core.fast.call_plans import KernelsAll
from tapegrad._core.types import Cotangent, Value
from tapegrad.torch._rules.blockwise import LARGE, Constant, constant_of
from tapegrad.torch._rules.reducing import ones_of
from tapegrad.torch._types import Number

Functions = tuple[Callable[[Value, Value], Value], Callable[[Value, Value], Value]]


class SmallLoss(NamedTuple):
    """A loss of pairs of elements.

    `total(x, y)` is the sum of the losses, where fewer calls give it. Whoever needs the sum takes
    it from there: the same sum in other calls may be rounded otherwise.
    """

    small: Callable[..., Functions]
    odd: bool = True
    total: Callable[[Value, Value], Value] | None = None


def kernels_of(
    loss: SmallLoss,
    x: Spec,
    y: Spec,
    wanted: tuple[bool, ...],
    reduction: str,
    params: dict[str, Any],
) -> KernelsAll | None:
    """The kernels of such calls; None for large arrays, and those of two shapes or dtypes."""
    if x is not y or not x.ndim or not 0 < x.size < LARGE or x.dtype.char not in "fd":
        return None
    if wanted[1] and not loss.odd:
        return None
    constant, number = constant_of(x.dtype), x.dtype.type
    losses, slopes = loss.small(constant, **params)
    of_each, is_mean = reduction == "none", reduction == "mean"
    divisor, ones = number(x.size if is_mean else 1), ones_of(x.size, x.dtype)
    by_x, by_y = wanted
    total_of = loss.total or (lambda x, y: losses(x, y).reshape(-1).dot(ones))

    def run(x: Value, y: Value) -> Value:
        if of_each:
            return losses(x, y)
        total = total_of(x, y)
        return total / divisor if is_mean else total

    def pull(g: Cotangent, _out: Value, x: Value, y: Value) -> Any:
        bar = slopes(x, y)
        np.multiply(bar, g if of_each else number(g / divisor), bar)
        return (bar if by_x else None), (np.negative(bar) if by_y else None)

    return KernelsAll(pull, run=run)


# --- Differences --------------------------------------------------------------------------------


def _mse(constant: Constant) -> Functions:
    two = constant(2)

    def losses(x: Value, y: Value) -> Value:
        made = np.subtract(x, y)
        return np.square(made, made)

    def slopes(x: Value, y: Value) -> Value:
        made = np.subtract(x, y)
        return np.multiply(made, two, made)

    return losses, slopes


def sum_of_squares(x: Value, y: Value) -> Value:
    """The sum of (x - y)^2 of arrays of one shape; BLAS may round the squares or not."""
    made = np.subtract(x, y).ravel()
    return made.dot(made)


def _l1(_constant: Constant) -> Functions:
    def losses(x: Value, y: Value) -> Value:
        made = np.subtract(x, y)
        return np.absolute(made, made)

    def slopes(x: Value, y: Value) -> Value:
        made = np.subtract(x, y)
        return np.sign(made, made)

    return losses, slopes


def _huber(constant: Constant, delta: Number) -> Functions:
    bound, least, half = constant(delta), constant(-delta), constant(0.5)

    def losses(x: Value, y: Value) -> Value:
        made = np.subtract(x, y)
        np.absolute(made, made)
        near = np.minimum(made, bound)
        np.subtract(made, np.multiply(half, near), made)
        return np.multiply(made, near, made)

    def slopes(x: Value, y: Value) -> Value:
        return np.minimum(np.maximum(np.subtract(x, y), least), bound)

    return losses, slopes


def _smooth_l1(constant: Constant, beta: Number) -> Functions:
    if beta == 0:
        return _l1(constant)
    apart, _ = _huber(constant, beta)
    one, least = constant(1), constant(-1)
    factor = None if beta == 1 else constant(1 / beta)

    def losses(x: Value, y: Value) -> Value:
        made = apart(x, y)
        return made if factor is None else np.multiply(made, factor, made)

    def slopes(x: Value, y: Value) -> Value:
        made = np.subtract(x, y)
        if factor is not None:
            np.multiply(made, factor, made)
        return np.minimum(np.maximum(made, least), one)

    return losses, slopes


MSE = SmallLoss(_mse, total=sum_of_squares)
L1 = SmallLoss(_l1)
HUBER = SmallLoss(_huber)
SMOOTH_L1 = SmallLoss(_smooth_l1)

# --- Two classes --------------------------------------------------------------------------------


def _with_logits(constant: Constant) -> Functions:
    """(1 - y) * x + log(1 + exp(-x)), and its slope (1 - y) - 1 / (1 + exp(x))."""
    zero, one = constant(0), constant(1)

    def losses(x: Value, y: Value) -> Value:
        low = np.absolute(x)
        np.negative(low, low)
        np.exp(low, low)
        np.log1p(low, low)
        made = np.maximum(np.negative(x), zero)
        np.add(made, low, made)
        np.subtract(one, y, low)
        np.multiply(low, x, low)
        return np.add(low, made, low)

    def slopes(x: Value, y: Value) -> Value:
        other = np.exp(x)
        np.add(other, one, other)
        np.divide(one, other, other)
        made = np.subtract(one, y)
        return np.subtract(made, other, made)

    return losses, slopes


WITH_LOGITS = SmallLoss(_with_logits, odd=False)

__all__ = [
    "HUBER",
    "L1",
    "MSE",
    "SMOOTH_L1",
    "WITH_LOGITS",
    "SmallLoss",
    "kernels_of",
    "sum_of_squares",
]
