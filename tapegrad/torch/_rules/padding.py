"""Arrays extended beyond their borders by their own elements: a linear map, and its transpose.

Knows arrays and rules. Must not know tensors or modules.

Along one axis the elements before the first are a slice of the array, and so are those after the
last: neighbours in turned order ("reflect"), one element ("edge"), or those of the other end
("wrap"). One axis is extended after the other, from the last; the transpose adds the slices back,
from the first. The axes before those that are extended are free.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tapegrad._core.forms import Linear
from tapegrad._core.types import Cotangent, Value
from tapegrad.torch._rules.declare import ruled

Widths = tuple[tuple[int, int], ...]


def _sources(size: int, before: int, after: int, mode: str) -> Iterator[tuple[slice, slice]]:
    """The two borders of an extended axis, and where their elements come from in it."""
    end = before + size
    if mode == "reflect":
        first = slice(2 * before, before, -1)
        last = slice(end - 2, end - 2 - after if end - 2 - after >= 0 else None, -1)
    elif mode == "edge":
        first, last = slice(before, before + 1), slice(end - 1, end)
    else:
        first, last = slice(size, size + before), slice(before, before + after)
    if before:
        yield slice(before), first
    if after:
        yield slice(end, end + after), last


def _indices(sizes: tuple[int, ...], widths: Widths, mode: str) -> list[tuple[Any, Any, int]]:
    """For each border the index of it, of its source, and the axis across it.

    The order is that in which borders are filled. Axes before that of a border are not extended
    yet, those after it are.
    """
    made = []
    for axis in range(len(sizes) - 1, -1, -1):
        (before, after), size = widths[axis], sizes[axis]
        own = [slice(a, a + n) for (a, _), n in zip(widths[:axis], sizes, strict=False)]
        rest = [slice(None)] * (len(sizes) - 1 - axis)
        for border, source in _sources(size, before, after, mode):
            made.append(((..., *own, border, *rest), (..., *own, source, *rest), axis))
    return made


def _middle(sizes: tuple[int, ...], widths: Widths) -> Any:
    return (..., *(slice(a, a + n) for (a, _), n in zip(widths, sizes, strict=True)))


def _pull_extended(g: Cotangent, _out: Value, _x: Value, widths: Widths, mode: str) -> Cotangent:
    return folded(g, widths=widths, mode=mode)


@ruled("ReflectionPad2DBackward0", Linear, [_pull_extended], arrays=1)
def extended(x: Value, *, widths: Widths, mode: str) -> Value:
    """x with so many elements before and after each of the last axes."""
    lead = x.ndim - len(widths)
    sizes = x.shape[lead:]
    shape = [a + n + b for n, (a, b) in zip(sizes, widths, strict=True)]
    out = np.empty((*x.shape[:lead], *shape), x.dtype)
    out[_middle(sizes, widths)] = x
    for border, source, _ in _indices(sizes, widths, mode):
        out[border] = out[source]
    return out


@ruled(
    "ReflectionPad2DBackwardBackward0",
    Linear,
    [lambda g, _out, _x, widths, mode: extended(g, widths=widths, mode=mode)],
    arrays=1,
)
def folded(g: Cotangent, *, widths: Widths, mode: str) -> Value:
    """The transpose of `extended`."""
    lead = g.ndim - len(widths)
    sizes = tuple(n - a - b for n, (a, b) in zip(g.shape[lead:], widths, strict=True))
    g = g.copy()
    for border, source, axis in reversed(_indices(sizes, widths, mode)):
        share = g[border]
        g[source] += np.sum(share, axis=lead + axis, keepdims=True) if mode == "edge" else share
    return g[_middle(sizes, widths)].copy()
