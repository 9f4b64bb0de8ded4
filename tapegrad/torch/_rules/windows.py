"""Means over windows of images: a linear map, and its transpose.

Knows arrays and rules. Must not know tensors or modules.

A sum over a window is a sum over its rows of sums over its columns. It takes one addition of a
strided slice for each row of the window and one for each column, however many windows there are.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tapegrad._core.forms import Linear
from tapegrad._core.types import Cotangent, Function, Value
from tapegrad.torch._graph.names import name_nodes
from tapegrad.torch._rules.declare import Declared


class Windows(NamedTuple):
    """Where windows lie along one axis."""

    size: int  # of the axis
    kernel: int
    stride: int
    padding: int
    number: int  # of the windows

    @property
    def after(self) -> int:
        """Zeros that the last window needs behind the axis."""
        reach = (self.number - 1) * self.stride + self.kernel - self.size - self.padding
        return max(0, reach)

    def part(self, offset: int) -> slice:
        """The slice of the elements at one offset within each window."""
        return slice(offset, offset + (self.number - 1) * self.stride + 1, self.stride)

    def extents(self, *, padded: bool) -> Value:
        """How many elements each window has; those of the padding too where it is counted."""
        starts = np.arange(self.number) * self.stride - self.padding
        ends = np.minimum(starts + self.kernel, self.size + self.padding)
        if padded:
            return ends - starts
        return np.minimum(ends, self.size) - np.maximum(starts, 0)


def windows_of(size: int, kernel: int, stride: int, padding: int, ceil_mode: bool) -> Windows:
    """The windows that PyTorch lays over an axis."""
    room = size + 2 * padding - kernel
    count = (-(-room // stride) if ceil_mode else room // stride) + 1
    if ceil_mode and (count - 1) * stride >= size + padding:
        count -= 1  # the last one would begin in the padding
    return Windows(size, kernel, stride, padding, count)


def _sums(x: Value, rows: Windows, columns: Windows) -> Value:
    """The sums over the windows of the last two axes."""
    if rows.padding or rows.after or columns.padding or columns.after:
        widths = [(0, 0)] * (x.ndim - 2)
        widths += [(way.padding, way.after) for way in (rows, columns)]
        x = np.pad(x, widths)
    total = x[..., rows.part(0), :]
    for offset in range(1, rows.kernel):
        total = total + x[..., rows.part(offset), :]
    x, total = total, total[..., columns.part(0)]
    for offset in range(1, columns.kernel):
        total = total + x[..., columns.part(offset)]
    return total


def _add_window_sums(g: Cotangent, rows: Windows, columns: Windows) -> Value:
    """The transpose of `_sums`."""
    across = _add_windows(g, columns, -1)
    return _add_windows(across, rows, -2)


def _add_windows(g: Cotangent, way: Windows, axis: int) -> Value:
    shape = list(g.shape)
    shape[axis] = way.padding + way.size + way.after
    whole = np.zeros(shape, g.dtype)
    rest: Any = (slice(None),) * (-1 - axis)
    for offset in range(way.kernel):
        part: Any = (..., way.part(offset), *rest)
        whole[part] += g
    own: Any = (..., slice(way.padding, way.padding + way.size), *rest)
    return whole[own]


def _declared(function: Function, label: str) -> Any:
    made = Declared(function)
    made.rule = Linear(made, [], arrays=1, name=made.__name__, batch="(h,w)->(p,q)")
    name_nodes(made.rule, label)
    return made


sums = _declared(_sums, "AvgPool2DBackward0")
spread_sums = _declared(_add_window_sums, "AvgPool2DBackwardBackward0")
sums.rule.transposes = [
    lambda g, _out, _x, rows, columns: spread_sums(g, rows=rows, columns=columns)
]
spread_sums.rule.transposes = [
    lambda g, _out, _x, rows, columns: sums(g, rows=rows, columns=columns)
]
