"""Maxima over windows, and where they are.

Knows arrays and rules. Must not know tensors or modules.

Where a window has its maximum is an integer, and piecewise constant: the offset within the window,
counted in C order, which is the first of equal elements. `picked` reads the elements at such
offsets, and `placed` adds numbers there; each is the transpose of the other. The axes before those
of the windows are free.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from tapegrad._core.entry import Spec
from tapegrad._core.fast.call_plans import Kernels
from tapegrad._core.forms import Constant, General, Linear
from tapegrad._core.types import Cotangent, Tangent, Value
from tapegrad.torch._rules.declare import ruled
from tapegrad.torch._rules.kernels import once
from tapegrad.torch._rules.windows import Ways, along, is_padded, own_part, padded

BLOCK = 1 << 18  # bytes of what is computed at once, so that it stays in the cache


def _blocks(x: Value) -> Iterator[slice]:
    """Parts of the first axis, of arrays whose other free axes are joined with it."""
    size = math.prod(x.shape[1:]) * x.itemsize
    step = max(1, BLOCK // max(1, size))
    for start in range(0, len(x), step):
        yield slice(start, start + step)


def _rows(x: Value, ways: Ways) -> Value:
    """The array with one free axis."""
    count = x.ndim - len(ways)
    return x.reshape(math.prod(x.shape[:count]), *x.shape[count:])


def _least(dtype: Any) -> Any:
    return -np.inf if dtype.kind == "f" else np.iinfo(dtype).min


@once
def _offsets(ways: Ways) -> tuple[Any, ...]:
    """For each offset within a window, the index of its elements in a padded array."""
    parts = [[way.part(offset) for offset in range(way.kernel)] for way in ways]
    return tuple((..., *choice) for choice in itertools.product(*parts))


@once
def _stages(ways: Ways) -> tuple[list[Any], ...]:
    """For each axis in turn, the indices of the elements at each offset within a window."""
    return tuple(
        [along(axis, len(ways), way.part(offset)) for offset in range(way.kernel)]
        for axis, way in enumerate(ways)
    )


def _shape(x: Value, ways: Ways) -> tuple[int, ...]:
    return (*x.shape[: x.ndim - len(ways)], *(way.number for way in ways))


# --- Maxima -------------------------------------------------------------------------------------


def _pull_peaks(g: Cotangent, _out: Value, x: Value, ways: Ways) -> Cotangent:
    return placed(winners(x, ways=ways), g, ways=ways)


def _push_peaks(dots: Tangent, _out: Value, x: Value, ways: Ways) -> Tangent:
    return picked(winners(x, ways=ways), dots[0], ways=ways)


@ruled(
    "MaxPool2DWithIndicesBackward0",
    General,
    vjp=[_pull_peaks],
    jvp=_push_peaks,
    name="max_pool",
    plan=lambda x, out, ways: _plan(x, out, ways),
)
def peaks(x: Value, *, ways: Ways) -> Value:
    """The maxima over the windows of the last axes; NaN where a window has NaN."""
    out = np.empty(_shape(x, ways), x.dtype, like=x)
    if x.nbytes <= BLOCK:
        _put_peaks(padded(x, ways, _least(x.dtype)), out, ways)
        return out
    flat, results = _rows(x, ways), _rows(out, ways)
    for block in _blocks(flat):
        _put_peaks(padded(flat[block], ways, _least(x.dtype)), results[block], ways)
    return out


def _put_peaks(part: Value, out: Value, ways: Ways) -> None:
    """Put the maxima over the windows of a padded array into another one."""
    last = len(ways) - 1
    for axis, indices in enumerate(_stages(ways)):
        slices = [part[index] for index in indices]
        into = out if axis == last else None
        if len(slices) == 1:
            part = slices[0]
            if into is not None:
                into[...] = part
            continue
        part = np.maximum(slices[0], slices[1], out=into)
        for piece in slices[2:]:
            np.maximum(part, piece, out=part)


@ruled("MaxPool2DWithIndicesBackward0", Constant, arrays=1, name="max_pool")
def winners(x: Value, *, ways: Ways) -> Value:
    """The offset within each window of its maximum.

    It is computed anew: a program may write to what the forward pass made.
    """
    count = math.prod(way.kernel for way in ways)
    found = np.zeros(_shape(x, ways), np.uint8 if count <= 256 else np.int32, like=x)
    flat, results = _rows(x, ways), _rows(found, ways)
    offsets = list(enumerate(_offsets(ways)))
    for block in _blocks(flat):
        part, into = padded(flat[block], ways, _least(x.dtype)), results[block]
        best = np.empty(into.shape, x.dtype, like=x)
        _put_peaks(part, best, ways)
        before = np.ones(best.shape, bool, like=best)  # whether all elements so far are less
        for _, index in offsets[:-1]:
            before &= part[index] != best
            into += before
        if x.dtype.kind == "f" and np.isnan(best).any():
            for offset, index in offsets:
                np.copyto(into, offset, where=np.isnan(part[index]))
    return found


def _pull_picked(g: Cotangent, _out: Value, found: Value, _x: Value, ways: Ways) -> Cotangent:
    return placed(found, g, ways=ways)


@ruled("MaxPool2DWithIndicesBackwardBackward0", Linear, [_pull_picked], fixed=1)
def picked(found: Value, x: Value, *, ways: Ways) -> Value:
    """The elements of the windows at one offset each."""
    x = padded(x, ways)
    out = np.empty(_shape(x, ways), x.dtype, like=x)
    for offset, index in enumerate(_offsets(ways)):
        np.copyto(out, x[index], where=found == offset)
    return out


@ruled(
    "MaxPool2DWithIndicesBackwardBackward0",
    Linear,
    [lambda x, _out, found, _g, ways: picked(found, x, ways=ways)],
    fixed=1,
)
def placed(found: Value, g: Cotangent, *, ways: Ways) -> Value:
    """The transpose of `picked`."""
    sizes = [way.padding + way.size + way.after for way in ways]
    whole = np.zeros((*g.shape[: g.ndim - len(ways)], *sizes), g.dtype, like=g)
    flat, numbers, places = _rows(whole, ways), _rows(g, ways), _rows(found, ways)
    once = all(way.is_apart for way in ways)
    zero = g.dtype.type(0)
    offsets = list(enumerate(_offsets(ways)))
    for block in _blocks(flat):
        part, given, where = flat[block], numbers[block], places[block]
        for offset, index in offsets:
            share = np.where(where == offset, given, zero)  # a product would make NaN of inf
            if once:
                part[index] = share
            else:
                part[index] += share
    return whole[own_part(ways)].copy() if is_padded(ways) else whole


def _pull_apart(g: Cotangent, x: Value, ways: Ways) -> Cotangent | None:
    """`_pull_peaks` in one pass, of windows that share no element; None where one has NaN."""
    sizes = [way.padding + way.size + way.after for way in ways]
    whole = np.zeros((*x.shape[: x.ndim - len(ways)], *sizes), x.dtype, like=x)
    given, found, numbers = (_rows(y, ways) for y in (x, whole, g))
    indices = _offsets(ways)
    for block in _blocks(given):
        part, into = padded(given[block], ways, _least(x.dtype)), found[block]
        share = numbers[block]
        best = np.empty(share.shape, x.dtype, like=x)
        _put_peaks(part, best, ways)
        left = None  # the windows whose maximum is not found yet
        for index in indices:
            here = part[index] == best
            if left is None:
                left = ~here
            else:
                here &= left
                left ^= here
            np.copyto(into[index], share, where=here)
        if left is None or left.any():
            return None
    return whole[own_part(ways)].copy() if is_padded(ways) else whole


def _plan(x: Spec, _out: Spec, ways: Ways) -> Kernels | None:
    """In one pass 512 elements take 1/1.57 of the rule's time, 16384 1/1.24; 65536 take 1.25x."""
    if x.size > _FEW or not all(way.is_apart for way in ways):
        return None

    def pull(g: Cotangent, out: Value, x: Value) -> Cotangent:
        found = _pull_apart(g, x, ways)
        return _pull_peaks(g, out, x, ways) if found is None else found

    return Kernels(lambda x: peaks.function(x, ways=ways), pull)


_FEW = 1 << 14  # elements


def positions(found: Value, ways: Ways) -> Value:
    """Offsets within windows as positions in the flattened axes of the windows, int64."""
    total: Value = 0
    rest = found.astype(np.int64)
    factor = 1
    for axis in reversed(range(len(ways))):
        way = ways[axis]
        starts = np.arange(way.number) * way.stride - way.padding
        starts = starts.reshape(-1, *(1,) * (len(ways) - 1 - axis))
        total = total + (rest % way.kernel * way.dilation + starts) * factor
        rest = rest // way.kernel
        factor *= way.size
    return total


# --- Unpooling ----------------------------------------------------------------------------------


def _pull_scattered(g: Cotangent, _out: Value, places: Value, _x: Value, size: int) -> Cotangent:
    return gathered(places, g)


@ruled("MaxUnpool2DBackward0", Linear, [_pull_scattered], fixed=1, name="max_unpool")
def scattered(places: Value, x: Value, *, size: int) -> Value:
    """Zeros (..., size) in which x (..., n) stands at places (..., n)."""
    out = np.zeros((*x.shape[:-1], size), x.dtype)
    np.put_along_axis(out, places, x, -1)
    return out


@ruled(
    "MaxUnpool2DBackwardBackward0",
    Linear,
    [lambda g, _out, places, x: scattered(places, g, size=x.shape[-1])],
    fixed=1,
    name="max_unpool",
)
def gathered(places: Value, g: Cotangent) -> Value:
    """The elements at places (..., n)."""
    return np.take_along_axis(g, places, -1)
