"""Sums of arrays to a shape that broadcasts to theirs, which is decided once.

Knows shapes and dtypes. Must not know rules, tapes, or what is summed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

_ROW = 1 << 12  # elements, up to which a row of ones is kept, and sums of rows are as exact


def summing(
    shape: tuple[int, ...], to: tuple[int, ...], dtype: np.dtype[Any] | None = None
) -> Callable[[Any], Any] | None:
    """A sum of arrays of a shape to one that broadcasts to it; None if they are the same.

    Sums of real numbers along neighbouring axes are products with ones: at most a third of the
    price of NumPy's reduction.
    """
    if shape == to:
        return None
    lead = len(shape) - len(to)
    stretched = [lead + i for i, side in enumerate(to) if side == 1 and shape[lead + i] != 1]
    axes: Any = (*range(lead), *stretched)
    size = int(np.prod(shape))
    if dtype is not None and dtype.char in "fd" and size:
        count = size // int(np.prod(to))
        if axes == tuple(range(len(axes))) and count < size:
            return _by_ones_before(shape, to, count, dtype)
        if axes == tuple(range(len(shape) - len(axes), len(shape))) and count <= _ROW:
            return _by_ones_behind(shape, to, count, dtype)
        if axes == tuple(range(axes[0], axes[0] + len(axes))) and count <= _ROW:
            ones = np.ones(count, dtype)
            apart = (int(np.prod(shape[: axes[0]])), count, -1)
            return lambda g: np.matmul(ones, g.reshape(apart)).reshape(to)
    if len(axes) == 1:
        (axes,) = axes
    if not stretched:
        return lambda g: np.add.reduce(g, axes)
    return lambda g: np.add.reduce(g, axes, keepdims=True).reshape(to)


def _by_ones_before(
    shape: tuple[int, ...], to: tuple[int, ...], count: int, dtype: np.dtype[Any]
) -> Callable[[Any], Any]:
    """Sums along the first axes."""
    if count > _ROW:
        return lambda g: np.ones(count, dtype).dot(g.reshape(count, -1)).reshape(to)
    ones = np.ones(count, dtype)
    if len(shape) == 2 and len(to) == 1:
        return ones.dot
    return lambda g: ones.dot(g.reshape(count, -1)).reshape(to)


def _by_ones_behind(
    shape: tuple[int, ...], to: tuple[int, ...], count: int, dtype: np.dtype[Any]
) -> Callable[[Any], Any]:
    """Sums along the last axes, or all."""
    ones = np.ones(count, dtype)
    if not to:
        return ones.dot if len(shape) == 1 else lambda g: g.reshape(-1).dot(ones)
    if len(shape) == 2 and count == shape[1]:
        return lambda g: g.dot(ones).reshape(to)
    return lambda g: g.reshape(-1, count).dot(ones).reshape(to)


__all__ = ["summing"]
