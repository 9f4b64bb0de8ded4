"""Losses of pairs of large arrays in place, part by part: the passes of `losses`.

Knows NumPy arrays. Must not know rules, or PyTorch's names of losses beyond their formulas.

The formulas stand in `losses`. The losses of a part are added up before the next part, so
that no array of all of them is made, and the derivatives by both arguments are written in one go.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad._core.types import Cotangent, Function, Params, Value
from tapegrad.torch._rules.blockwise import LARGE, ROOM, is_plain, slices_of
from tapegrad.torch._types import Number


def are_large(x: Value, y: Value, params: Params) -> bool:
    """Whether the passes take these arrays: of one shape, and parameters that are numbers."""
    if type(x) is not np.ndarray or x.size < LARGE or type(y) is not np.ndarray:
        return False
    return is_plain(x, y) and all(type(p) in (str, float, int) for p in params.values())


class LossPasses:
    """A loss of pairs of elements.

    `total(made, room, x, y)` returns the sum of the losses of a part, `slopes(made, room, x, y)`
    writes their derivatives by x into `made`, or returns True if it does not know the part. odd:
    whether the derivatives by y are those by x, negated; else only x has derivatives here.
    """

    def __init__(self, total: Function, slopes: Function, *, odd: bool = True) -> None:
        self.total = total
        self.slopes = slopes
        self.odd = odd

    def reduced(self, x: Value, y: Value, reduction: str, **params: Any) -> Value:
        """The sum or mean of the losses. The sums of parts are added in double precision."""
        made, room = _room(x), _room(x)
        total = 0.0
        for first, other, *rooms in slices_of(x, y, made, room):
            total += float(self.total(*rooms, first, other, **params))
        return x.dtype.type(total / x.size if reduction == "mean" else total)

    def pull(
        self, g: Cotangent, x: Value, y: Value, wanted: Sequence[bool], **params: Any
    ) -> Sequence[Cotangent] | None:
        """g times the derivatives; None if these passes do not know an argument."""
        by_x, by_y = wanted
        if by_y and not self.odd:
            return None
        bars = [np.empty_like(x) if want else None for want in wanted]
        room = _room(x)
        scale = g.item()
        for first, other, free, *parts in slices_of(
            x, y, room, *(b for b in bars if b is not None)
        ):
            made = parts[0]
            if self.slopes(made, free, first, other, **params):
                return None
            np.multiply(made, scale if by_x else -scale, made)
            if by_x and by_y:
                np.negative(made, parts[1])
        return bars


def _room(x: Value) -> Value:
    return np.empty(min(x.size, ROOM), x.dtype)


# --- Losses of differences ----------------------------------------------------------------------


def _squares(made: Value, _room: Value, x: Value, y: Value) -> Value:
    np.subtract(x, y, made)
    return np.dot(made, made)


def _twice(made: Value, _room: Value, x: Value, y: Value) -> None:
    np.subtract(x, y, made)
    np.add(made, made, made)


def _sizes(made: Value, _room: Value, x: Value, y: Value) -> Value:
    np.subtract(x, y, made)
    np.absolute(made, made)
    return np.add.reduce(made)


def _signs(made: Value, _room: Value, x: Value, y: Value) -> bool:
    np.subtract(x, y, made)
    if np.isnan(np.dot(made, made)):
        return True
    signs = np.greater(x, y).view(np.int8)
    signs -= np.less(x, y).view(np.int8)
    np.copyto(made, signs)
    return False


def _huber(made: Value, room: Value, x: Value, y: Value, delta: Number) -> Value:
    """The sum of near * (|x - y| - near / 2), where near is at most delta."""
    np.subtract(x, y, made)
    np.absolute(made, made)
    np.clip(made, 0, delta, out=room)
    room *= 0.5
    made -= room
    return 2 * np.dot(room, made)


def _huber_slopes(made: Value, _room: Value, x: Value, y: Value, delta: Number) -> None:
    np.subtract(x, y, made)
    np.clip(made, -delta, delta, out=made)


def _smooth(made: Value, room: Value, x: Value, y: Value, beta: Number) -> Value:
    if beta == 0:
        return _sizes(made, room, x, y)
    return _huber(made, room, x, y, beta) / beta


def _smooth_slopes(made: Value, room: Value, x: Value, y: Value, beta: Number) -> bool:
    if beta == 0:
        return _signs(made, room, x, y)
    np.subtract(x, y, made)
    if beta != 1:
        np.multiply(made, 1 / beta, made)
    np.clip(made, -1, 1, out=made)
    return False


MSE = LossPasses(_squares, _twice)
L1 = LossPasses(_sizes, _signs)
HUBER = LossPasses(_huber, _huber_slopes)
SMOOTH_L1 = LossPasses(_smooth, _smooth_slopes)

# --- Two classes --------------------------------------------------------------------------------


def _with_logits(made: Value, room: Value, x: Value, y: Value) -> Value:
    """The sum of (1 - y) * x + log(1 + exp(-x))."""
    np.absolute(x, made)
    np.negative(made, made)
    np.exp(made, made)
    np.log1p(made, made)
    np.subtract(1, y, room)
    room *= x
    made += room
    np.clip(x, -np.inf, 0, out=room)
    made -= room
    return np.add.reduce(made)


def _with_logits_slopes(made: Value, room: Value, x: Value, y: Value) -> None:
    """(1 - y) - 1 / (1 + exp(x))."""
    np.exp(x, made)
    np.add(made, 1, made)
    np.divide(1, made, made)
    np.subtract(1, y, room)
    np.subtract(room, made, made)


WITH_LOGITS = LossPasses(_with_logits, _with_logits_slopes, odd=False)
