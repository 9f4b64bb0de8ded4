"""Windows along axes, and sums over them: a linear map, and its transpose.

Knows arrays and rules. Must not know tensors or modules.

A sum over a window is a sum over its rows of sums over its columns. It takes one addition of a
strided slice for each row of the window and one for each column, however many windows there are.
The windows lie along the last axes, as many as there are `Windows`; axes before them are free.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tapegrad._core.forms import Linear
from tapegrad._core.types import Cotangent, Value
from tapegrad.torch._rules.declare import ruled
from tapegrad.torch._rules.kernels import once


class Windows(NamedTuple):
    """Where windows lie along one axis."""

    size: int  # of the axis
    kernel: int
    stride: int
    padding: int
    number: int  # of the windows
    dilation: int = 1

    @property
    def after(self) -> int:
        """Elements that the last window needs behind the axis."""
        reach = (self.number - 1) * self.stride + (self.kernel - 1) * self.dilation + 1
        return max(0, reach - self.size - self.padding)

    @property
    def is_apart(self) -> bool:
        """Whether no two windows share an element."""
        return self.dilation == 1 and self.stride >= self.kernel

    def part(self, offset: int) -> slice:
        """The slice of the elements at one offset within each window."""
        start = offset * self.dilation
        return slice(start, start + (self.number - 1) * self.stride + 1, self.stride)

    def extents(self, *, padded: bool) -> Value:
        """How many elements each window has; those of the padding too where it is counted."""
        starts = np.arange(self.number) * self.stride - self.padding
        ends = np.minimum(starts + self.kernel, self.size + self.padding)
        if padded:
            return ends - starts
        return np.minimum(ends, self.size) - np.maximum(starts, 0)


Ways = tuple[Windows, ...]


def windows_of(
    size: int, kernel: int, stride: int, padding: int, ceil_mode: bool, dilation: int = 1
) -> Windows:
    """The windows that PyTorch lays over an axis."""
    room = size + 2 * padding - dilation * (kernel - 1) - 1
    count = (-(-room // stride) if ceil_mode else room // stride) + 1
    if ceil_mode and (count - 1) * stride >= size + padding:
        count -= 1  # the last one would begin in the padding
    return Windows(size, kernel, stride, padding, count, dilation)


@once
def is_padded(ways: Ways) -> bool:
    """Whether the windows reach beyond the elements."""
    return any(way.padding or way.after for way in ways)


def padded(x: Value, ways: Ways, value: Any = 0) -> Value:
    """The array with what the windows need around it; itself where that is nothing."""
    if not is_padded(ways):
        return x
    lead = x.ndim - len(ways)
    sizes = [way.padding + way.size + way.after for way in ways]
    whole = np.full((*x.shape[:lead], *sizes), value, x.dtype, like=x)
    whole[own_part(ways)] = x
    return whole


@once
def own_part(ways: Ways) -> Any:
    """The index of the elements themselves in a padded array."""
    return (..., *(slice(way.padding, way.padding + way.size) for way in ways))


def along(axis: int, of: int, part: slice) -> Any:
    """The index that takes a slice of one of the last `of` axes."""
    return (..., part, *(slice(None),) * (of - 1 - axis))


def _pull_sums(g: Cotangent, _out: Value, _x: Value, ways: Ways) -> Cotangent:
    return spread_sums(g, ways=ways)


@ruled("AvgPool2DBackward0", Linear, [_pull_sums], arrays=1)
def sums(x: Value, *, ways: Ways) -> Value:
    """The sums over the windows of the last axes."""
    total = padded(x, ways)
    for axis, way in enumerate(ways):
        whole, total = total, total[along(axis, len(ways), way.part(0))]
        for offset in range(1, way.kernel):
            total = total + whole[along(axis, len(ways), way.part(offset))]
    return total if total.base is None else total.copy()


@ruled(
    "AvgPool2DBackwardBackward0",
    Linear,
    [lambda g, _out, _x, ways: sums(g, ways=ways)],
    arrays=1,
    name="add_window_sums",
)
def spread_sums(g: Cotangent, *, ways: Ways) -> Value:
    """The transpose of `sums`."""
    for axis in reversed(range(len(ways))):
        g = _add_windows(g, ways[axis], axis, len(ways))
    return g


def _add_windows(g: Cotangent, way: Windows, axis: int, of: int) -> Value:
    shape = list(g.shape)
    shape[g.ndim - of + axis] = way.padding + way.size + way.after
    whole = np.zeros(shape, g.dtype)
    for offset in range(way.kernel):
        whole[along(axis, of, way.part(offset))] += g
    return whole[along(axis, of, slice(way.padding, way.padding + way.size))]
