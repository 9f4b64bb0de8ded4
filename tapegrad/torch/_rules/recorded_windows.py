"""Sums over sliding windows of arrays whose calls are recorded: slices, and products of matrices.

Knows kernels. Must not know rules, tensors or modules.

`correlation` reads memory, and chooses among ways by measures of NumPy's own arrays: to a program
that is one call. Here each element of the kernel is a slice that is copied into a matrix, or is
added to from one. Machine code makes loops of these.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from tapegrad._core.types import Value
from tapegrad.torch._rules.kernels import Kernel, Sizes, span

MOST_BYTES = 1 << 24  # of a matrix; larger ones are made in parts by `correlation`

Index = tuple[slice, ...]


def _windows(
    kernel: Kernel, sizes: Sizes, widths: Sizes, places: Sizes
) -> Iterator[tuple[int, Index, Index]]:
    """Each element of the kernel: its number, the places where it meets x, and these elements."""
    axes = [
        [span(size, stride, tap * dilation - before, count) for tap in range(width)]
        for size, width, count, stride, before, dilation in zip(
            sizes, widths, places, kernel.stride, kernel.before, kernel.dilation, strict=True
        )
    ]
    for number, spans in enumerate(itertools.product(*axes)):
        at, of = zip(*spans, strict=True)
        yield number, at, of


def _matrix(x: Value, kernel: Kernel, widths: Sizes, places: Sizes) -> Value:
    """What lies under the kernel: (n, groups, channels * elements of the kernel, places)."""
    count, channels, *sizes = x.shape
    elements, length = math.prod(widths), math.prod(places)
    whole = count, kernel.groups, channels // kernel.groups * elements, length
    if kernel.is_pointwise(widths):
        return np.reshape(x, whole)
    _require_small(math.prod(whole) * x.dtype.itemsize)
    made = np.zeros_like(x, shape=(count, channels, elements, *places))
    for number, at, of in _windows(kernel, tuple(sizes), widths, places):
        part: Any = (slice(None), slice(None), number, *at)
        made[part] = x[:, :, *of]
    return np.reshape(made, whole)


def _require_small(size: int) -> None:
    if size > MOST_BYTES:
        raise ValueError("the windows of a large array are copied in parts")  # by one call


def correlate(x: Value, weight: Value, bias: Value, kernel: Kernel) -> Value:
    """`correlation.correlate`."""
    outputs, _, *widths = weight.shape
    places = kernel.places(x.shape[2:], tuple(widths))
    rows = np.reshape(weight, (kernel.groups, outputs // kernel.groups, -1))
    made = np.matmul(rows, _matrix(x, kernel, tuple(widths), places))
    out = np.reshape(made, (x.shape[0], outputs, *places))
    return out if bias is None else out + _beside(bias, out)


def _beside(bias: Value, out: Value) -> Any:
    return np.reshape(bias, (-1, *(1,) * (out.ndim - 2)))


def correlate_weight(x: Value, g: Value, kernel: Kernel, widths: Sizes) -> Value:
    """`correlation.correlate_weight`."""
    count, outputs, *places = g.shape
    matrix = _matrix(x, kernel, widths, tuple(places))
    flat = np.reshape(g, (count, kernel.groups, outputs // kernel.groups, -1))
    made = np.sum(np.matmul(flat, np.swapaxes(matrix, 2, 3)), axis=0)
    return np.reshape(made, (outputs, x.shape[1] // kernel.groups, *widths))


def correlate_input(g: Value, weight: Value, bias: Value, kernel: Kernel, sizes: Sizes) -> Value:
    """`correlation.correlate_input`."""
    count, _, *places = g.shape
    outputs, channels, *widths = weight.shape
    groups, elements = kernel.groups, math.prod(widths)
    rows = np.swapaxes(np.reshape(weight, (groups, outputs // groups, -1)), 1, 2)
    flat = np.reshape(g, (count, groups, outputs // groups, -1))
    shape = count, groups * channels, *sizes
    if kernel.is_pointwise(tuple(widths)):
        out = np.reshape(np.matmul(rows, flat), shape)
    else:
        _require_small(count * groups * rows.shape[1] * flat.shape[3] * g.dtype.itemsize)
        parts = np.reshape(np.matmul(rows, flat), (count, groups * channels, elements, *places))
        out = np.zeros_like(g, shape=shape)
        for number, at, of in _windows(kernel, sizes, tuple(widths), tuple(places)):
            part: Any = (slice(None), slice(None), number, *at)
            out[:, :, *of] += parts[part]
    return out if bias is None else out + _beside(bias, out)


__all__ = ["correlate", "correlate_input", "correlate_weight"]
