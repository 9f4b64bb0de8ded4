"""Adaptive windows: as many as are asked for along each axis, over all elements of it.

Knows arrays and rules. Must not know tensors or modules.

Window i of n over an axis of a size begins at `i * size // n` and ends before the whole number at
or above `(i + 1) * size / n`, so that neighbours may share elements. The axes before those of the
windows are free. Means over such windows are what "area" resampling computes.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import numpy as np

from tapegrad._core.forms import Constant, Linear
from tapegrad._core.types import Cotangent, Value
from tapegrad.torch._rules.declare import ruled
from tapegrad.torch._rules.pooling import positions
from tapegrad.torch._rules.resampling import Scaling, area, resampled
from tapegrad.torch._rules.windows import Windows

BLOCK = 1 << 18  # bytes of what is computed at once, so that it stays in the cache

# --- Means --------------------------------------------------------------------------------------


def means(x: Value, numbers: Sequence[int]) -> Value:
    """Means over adaptive windows of the last axes."""
    sizes = x.shape[len(x.shape) - len(numbers) :]
    if all(number == 1 for number in numbers):
        return np.mean(x, axis=tuple(range(-len(numbers), 0)), keepdims=True)
    ways = zip(sizes, numbers, strict=True)
    return resampled(x, tables=tuple([area(Scaling(*way, None, False)) for way in ways]))


# --- Maxima -------------------------------------------------------------------------------------


@ruled("AdaptiveMaxPool2DBackward0", Constant, arrays=1, name="adaptive_max_pool")
def winners(x: Value, *, numbers: tuple[int, ...]) -> Value:
    """Positions, in the flattened last axes, of the maxima over adaptive windows, int64.

    The first of equal elements is the first of the first row that has one, so one axis is searched
    after the other, from the last, for the maxima over its windows and their first places.
    """
    lead = x.ndim - len(numbers)
    sizes = x.shape[lead:]
    found = np.zeros((math.prod(x.shape[:lead]), *numbers), np.int64)
    if not x.size or not found.size:
        return found.reshape(*x.shape[:lead], *numbers)
    rows = x.reshape(len(found), *sizes)
    if all(number == 1 for number in numbers):
        best = rows.reshape(len(rows), -1).argmax(1)
        return best.reshape(*x.shape[:lead], *numbers)
    if not any(size % number for size, number in zip(sizes, numbers, strict=True)):
        best = _winners_side_by_side(rows, numbers)
        return best.reshape(*x.shape[:lead], *numbers)
    step = max(1, BLOCK // (rows[0].size * x.itemsize))
    for start in range(0, len(rows), step):
        best, total = _highest(rows[start : start + step], len(numbers), numbers[-1])
        factor = 1
        for axis in range(len(numbers) - 1, 0, -1):
            factor *= sizes[axis]
            best, own = _highest(best, axis, numbers[axis - 1])
            # Where the maxima along the later axes are, at the place along this one.
            total = np.take_along_axis(total, own, axis) + own * factor
        found[start : start + step] = total
    return found.reshape(*x.shape[:lead], *numbers)


def _winners_side_by_side(rows: Value, numbers: tuple[int, ...]) -> Value:
    """`winners` where each axis after the first is cut into equal parts."""
    sides = list(zip(rows.shape[1:], numbers, strict=True))
    ways = tuple(Windows(n, n // k, n // k, 0, k) for n, k in sides)
    shape = [part for way in ways for part in (way.number, way.kernel)]
    order = [0, *range(1, len(shape), 2), *range(2, len(shape) + 1, 2)]
    windows = rows.reshape(len(rows), *shape).transpose(order)
    return positions(windows.reshape(len(rows), *numbers, -1).argmax(-1), ways)


@functools.lru_cache(256)
def _windows(size: int, number: int) -> tuple[Value, Value, Value]:
    """Where windows begin, the last element of each, and the places (offset, window) in them.

    The last element stands again where a window is shorter than others.
    """
    places = np.arange(number)
    starts, lasts = places * size // number, -(-(places + 1) * size // number) - 1
    offsets = np.arange(int(np.max(lasts - starts)) + 1)
    return starts, lasts, np.minimum(starts + offsets[:, None], lasts)


def _highest(x: Value, axis: int, number: int) -> tuple[Value, Value]:
    """The maxima over adaptive windows of one axis, and where the first of them is, int64."""
    size = x.shape[axis]
    starts, _, places = _windows(size, number)
    beside = (-1, *(1,) * (x.ndim - 1 - axis))
    if size % number == 0 and len(places) > 8:  # long windows side by side
        shape = (*x.shape[:axis], number, size // number, *x.shape[axis + 1 :])
        windows = x.reshape(shape)
        own = windows.argmax(axis + 1)
        best = np.take_along_axis(windows, np.expand_dims(own, axis + 1), axis + 1)
        return best.reshape(own.shape), own + starts.reshape(beside)
    if size % number:
        parts = [x.take(place, axis) for place in places]
    else:
        around = [(slice(None),) * axis, (slice(None),) * (x.ndim - 1 - axis)]
        parts = [
            x[(*around[0], slice(o, None, len(places)), *around[1])] for o in range(len(places))
        ]
    best = parts[0] if len(parts) == 1 else np.maximum(parts[0], parts[1])
    for part in parts[2:]:
        np.maximum(best, part, out=best)
    own = np.zeros(best.shape, np.uint8 if len(parts) <= 256 else np.int32)
    before = np.ones(best.shape, bool)  # whether all elements so far are less
    has_nan = x.dtype.kind == "f" and np.isnan(best).any()
    for part in parts[:-1]:
        before &= part != best
        if has_nan:
            before &= ~np.isnan(part)
        own += before
    return best, own + starts.reshape(beside)


# --- Elements at positions ----------------------------------------------------------------------


def _pull_chosen(g: Cotangent, _out: Value, places: Value, x: Value, dims: int) -> Cotangent:
    return added(places, g, sizes=tuple(x.shape[x.ndim - dims :]))


@ruled("AdaptiveMaxPool2DBackward0", Linear, [_pull_chosen], fixed=1)
def chosen(places: Value, x: Value, *, dims: int) -> Value:
    """The elements at positions in the `dims` last axes of x, flattened."""
    lead = x.shape[: x.ndim - dims]
    count, size = math.prod(lead), math.prod(x.shape[len(lead) :])
    return x.reshape(-1)[_positions(places, count, size)].reshape(places.shape)


@ruled(
    "AdaptiveMaxPool2DBackwardBackward0",
    Linear,
    [lambda x, _out, places, _g, sizes: chosen(places, x, dims=len(sizes))],
    fixed=1,
)
def added(places: Value, g: Cotangent, *, sizes: tuple[int, ...]) -> Value:
    """Zeros, with `sizes` for the last axes, to which g is added at such positions."""
    lead = g.shape[: g.ndim - len(sizes)]
    out = np.zeros((*lead, *sizes), g.dtype)
    flat = _positions(places, math.prod(lead), math.prod(sizes))
    np.add.at(out.reshape(-1), flat.reshape(-1), g.reshape(-1))
    return out


def _positions(places: Value, count: int, size: int) -> Value:
    """Positions in `count` arrays of a size as positions in all of them: (count, places)."""
    each = places.reshape(count, math.prod(places.shape) // max(count, 1))
    return each + np.arange(0, count * size, size)[:, None] if count > 1 else each
