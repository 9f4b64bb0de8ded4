"""Normalization of long rows, with a weight for each column, in few passes.

Knows NumPy arrays. Must not know rules, or which axes are normalized.

NumPy takes twice as long to add a number to each row as to add two arrays. So here the products of
the rows' scales with the weights are one product of matrices, the terms another, and the mean is
not taken away first: with (x - m) * r * w + b = x * (r w) + (b - m r w) there is one sum and one
product of whole arrays. Where a mean is larger than the standard deviation this would lose digits,
and these passes know nothing of such rows.
"""

from __future__ import annotations

import numpy as np

from tapegrad._core.types import Value


def _outer(first: Value, second: Value, row: Value, other: Value) -> Value:
    """first * row + second * other, of numbers for each row and for each column.

    A product of matrices of two columns is faster than one of a single column.
    """
    factors = np.empty((first.size, 2), row.dtype)
    factors[:, 0], factors[:, 1] = first, second
    return np.matmul(factors, np.stack([row, other]))


def forward(
    made: Value, x: Value, weight: Value, bias: Value, eps: float, found: tuple[Value, ...]
) -> bool:
    """Write normalized rows into `made`, and their means, variances and scales into `found`.

    False, with nothing that is of use in either, for rows whose means are large.
    """
    size = weight.size
    rows, out, w = x.reshape(-1, size), made.reshape(-1, size), weight.reshape(size)
    b = np.zeros_like(w) if bias is None else bias.reshape(size)
    mean = np.matmul(rows, np.ones(size, x.dtype)) / size
    square = mean * mean
    variance = np.vecdot(rows, rows) / size - square
    if not np.all(square <= variance):
        return False
    scale = 1 / np.sqrt(variance + eps)
    np.multiply(rows, _outer(scale, scale, w, np.zeros_like(w)), out=out)
    out += _outer(np.ones_like(scale), -mean * scale, b, w)
    for kept, part in zip(found, (mean, variance, scale), strict=True):
        kept[...] = part.reshape(kept.shape)
    return True


def backward(
    made: Value, g: Value, x: Value, weight: Value, mean: Value, scale: Value
) -> tuple[Value, Value] | None:
    """Write the cotangent of x into `made`; those of the weight and the bias, or None as above."""
    size = weight.size
    m, r, w = mean.reshape(-1), scale.reshape(-1), weight.reshape(size)
    moved = m * r
    if not np.all(moved * moved <= 1):
        return None
    given, rows, out = (part.reshape(-1, size) for part in (g, x, made))
    room = _outer(r, r, w, np.zeros_like(w))
    np.multiply(given, room, out=out)
    total = np.matmul(out, np.ones(size, x.dtype))
    along = np.vecdot(out, rows) - m * total
    np.multiply(given, rows, out=room)
    of_weight = np.matmul(r, room) - np.matmul(moved, given)
    of_bias = np.matmul(np.ones_like(r), given)
    slope = along * r * r / size
    np.multiply(rows, slope[:, None], out=room)
    out -= room
    out -= (total / size - m * slope)[:, None]
    return of_weight, of_bias
