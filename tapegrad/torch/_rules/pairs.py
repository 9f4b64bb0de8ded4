"""Distances of all pairs of rows, as one node of the graph.

Knows arrays and rules. Must not know Tensor or modules.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator

import numpy as np

from tapegrad._core.forms import General
from tapegrad._core.types import Cotangent, Value
from tapegrad._core.values import untraced
from tapegrad.torch._rules.declare import general, ruled

BLOCK = 1 << 18  # bytes of differences that are there at once
KNOWN = 512  # rows up to which the places of their pairs are remembered
FEW = 32  # rows whose differences are there at once
MANY = 1 << 16  # differences from which a product of matrices is faster
NEAR = 0.25  # the share of squares that is left where a difference of them has lost two bits


def _slopes(difference: Value, length: Value, p: float) -> Value:
    """The derivatives of the p-norm of differences; 0 where the norm is 0."""
    if p == 0:
        return difference * 0
    if p == 1:
        return np.sign(untraced(difference)) + difference * 0
    size = np.absolute(untraced(difference))
    if p == np.inf:
        return np.sign(untraced(difference)) * (size == untraced(length))
    some = untraced(length) != 0
    safe = np.where(some, length, 1)
    if p == 2:
        return np.where(some, difference / safe, 0)
    moved = np.where(size == 0, 1, difference)
    slopes = np.sign(untraced(difference)) * (np.absolute(moved) / safe) ** (p - 1)
    return np.where(some & (size != 0), slopes, 0)


def _euclidean(x: Value, y: Value) -> Value:
    """The distances of rows (n, d) and (m, d) by a product of matrices; None where it is no use.

    |x - y|**2 is |x|**2 + |y|**2 - 2 x y, of rows less the mean of y. It has lost digits where it
    is small beside the first two: these few distances are computed from the differences.
    """
    if len(x) * len(y) * x.shape[-1] < MANY or x.dtype.char not in "fd":
        return None
    middle = np.mean(y, axis=0)
    centred, others = x - middle, y - middle
    sizes = np.vecdot(centred, centred)[:, None] + np.vecdot(others, others)
    if not np.isfinite(np.add.reduce(sizes, None)):
        return None
    squares = np.matmul(centred, others.T)
    squares *= -2
    squares += sizes
    sizes *= NEAR
    near = np.flatnonzero(squares < sizes)
    if 8 * near.size > squares.size:
        return None
    squares.reshape(-1)[near] = 0  # some are negative
    np.sqrt(squares, out=squares)
    step = max(1, BLOCK // (x.shape[-1] * x.itemsize))
    for start in range(0, near.size, step):
        part = near[start : start + step]
        rows, columns = np.divmod(part, len(y))
        squares.reshape(-1)[part] = _length(x[rows] - y[columns], 2)
    return squares


def _length(difference: Value, p: float) -> Value:
    """The p-norms of untraced differences along the last axis; they are overwritten."""
    if p == 2:
        return np.sqrt(np.vecdot(difference, difference))
    np.absolute(difference, out=difference)
    if p == 0:
        return np.count_nonzero(difference, axis=-1).astype(difference.dtype)
    if p == np.inf:
        return np.max(difference, axis=-1, initial=0)
    if p != 1:
        np.power(difference, p, out=difference)
    sums = np.matmul(difference, np.ones(difference.shape[-1], difference.dtype))
    return sums if p == 1 else sums ** (1 / p)


# --- Pairs of rows of one array -----------------------------------------------------------------


def _pairs(count: int) -> Iterator[tuple[int, slice]]:
    """For each row, where its pairs with the later ones stand among all pairs."""
    start = 0
    for row in range(count - 1):
        yield row, slice(start, start + count - 1 - row)
        start += count - 1 - row


def _pull_row_by_row(g: Value, out: Value, x: Value, p: float) -> Value:
    """`_pull` of untraced arrays, which has the differences of one row at once."""
    if p == 1 and np.isfinite(np.add.reduce(x, None)):
        return _pull_by_signs(g, x)
    bar = np.zeros_like(x)
    for row, part in _pairs(len(x)):
        slopes = _slopes(x[row] - x[row + 1 :], out[part, None], p)
        bar[row] += np.matmul(g[part], slopes)
        slopes *= g[part, None]
        bar[row + 1 :] -= slopes
    return bar


def _pull_by_signs(g: Value, x: Value) -> Value:
    """The same for p = 1 and finite rows: the signs are two conditions, and no differences."""
    bar = np.zeros_like(x)
    more, less = np.empty(x.shape, np.int8), np.empty(x.shape, bool)
    slopes = np.empty_like(x)
    for row, part in _pairs(len(x)):
        others, count = x[row + 1 :], len(x) - 1 - row
        signs = more[:count]
        np.greater(x[row], others, out=signs.view(bool))
        signs -= np.less(x[row], others, out=less[:count]).view(np.int8)
        made = slopes[:count]
        np.copyto(made, signs)
        bar[row] += np.matmul(g[part], made)
        made *= g[part, None]
        bar[row + 1 :] -= made
    return bar


@functools.lru_cache(4)
def _places(count: int) -> Value:
    """Where the pair of rows i and j stands among all pairs: (count, count), and 0 for i = j."""
    rows, columns = np.triu_indices(count, 1)
    place = np.zeros((count, count), np.int64)
    place[rows, columns] = place[columns, rows] = np.arange(len(rows))
    return place


def _pull(g: Cotangent, out: Value, x: Value, p: float) -> Cotangent:
    count = x.shape[0]
    if count < 2:
        return x * 0
    if count > FEW and p not in (0, 2) and all(type(part) is np.ndarray for part in (g, out, x)):
        return _pull_row_by_row(g, out, x, p)
    place = (_places if count <= KNOWN else _places.__wrapped__)(count)
    others = ~np.eye(count, dtype=bool)
    weights, lengths = np.where(others, g[place], 0), out[place]
    if p == 2:  # the sum over j of weights / lengths * (x[i] - x[j]), by a product of matrices
        some = untraced(lengths) != 0
        shares = np.where(some, weights / np.where(some, lengths, 1), 0)
        centred = x - np.mean(untraced(x), axis=0)  # so that little cancels
        return np.sum(shares, axis=1, keepdims=True) * centred - np.matmul(shares, centred)
    slopes = _slopes(np.expand_dims(x, 1) - np.expand_dims(x, 0), np.expand_dims(lengths, -1), p)
    return np.sum(slopes * np.expand_dims(weights, -1), axis=1)


@general("PdistBackward0", _pull, batch="loop")
def distances_of_pairs(x: Value, p: float) -> Value:
    """The p-norms of `x[i] - x[j]` for i < j: (n, d) to (n * (n - 1) / 2)."""
    if len(x) <= FEW:
        rows, columns = np.triu_indices(len(x), 1)
        return _length(x[rows] - x[columns], p)
    found = _euclidean(x, x) if p == 2 else None
    if found is not None:
        return found[~np.tri(len(x), dtype=bool)]
    out = np.empty(len(x) * (len(x) - 1) // 2, x.dtype)
    for row, part in _pairs(len(x)):
        out[part] = _length(x[row + 1 :] - x[row], p)
    return out


# --- Pairs of rows of two arrays ----------------------------------------------------------------

_EACH = "(n,d),(m,d)->(n,m)"


def _pull_between(g: Cotangent, out: Value, x: Value, y: Value) -> tuple[Cotangent, Cotangent]:
    some = untraced(out) != 0
    shares = np.where(some, g / np.where(some, out, 1), 0)
    middle = np.mean(untraced(y), axis=-2, keepdims=True)  # so that little cancels
    x, y = x - middle, y - middle
    turned = np.swapaxes(shares, -1, -2)
    x_bar = np.sum(shares, axis=-1)[..., None] * x - np.matmul(shares, y)
    return x_bar, np.sum(shares, axis=-2)[..., None] * y - np.matmul(turned, x)


@ruled("CdistBackward0", General, vjp=_pull_between, arrays=2, name="cdist", batch=_EACH)
def distances_between(x: Value, y: Value) -> Value:
    """The Euclidean distances of rows (..., n, d) and (..., m, d): (..., n, m)."""
    shape = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    x = np.broadcast_to(x, (*shape, *x.shape[-2:]))
    y = np.broadcast_to(y, (*shape, *y.shape[-2:]))
    out = np.empty((*shape, x.shape[-2], y.shape[-2]), np.result_type(x, y))
    step = max(1, BLOCK // max(1, y.shape[-2] * y.shape[-1] * y.itemsize))
    for index in np.ndindex(shape):
        found = _euclidean(x[index], y[index])
        if found is not None:
            out[index] = found
            continue
        for start in range(0, x.shape[-2], step):
            part = slice(start, start + step)
            out[(*index, part)] = _length(x[(*index, part)][:, None] - y[index], 2)
    return out


def _pull_by(
    g: Cotangent, out: Value, x: Value, y: Value, p: float
) -> tuple[Cotangent, Cotangent]:
    difference = np.expand_dims(x, -2) - np.expand_dims(y, -3)
    bars = np.expand_dims(g, -1) * _slopes(difference, np.expand_dims(out, -1), p)
    return np.sum(bars, axis=-2), 0 - np.sum(bars, axis=-3)


@ruled("CdistBackward0", General, vjp=_pull_by, arrays=2, name="cdist", batch=_EACH)
def distances_between_by(x: Value, y: Value, p: float) -> Value:
    """The p-norms of the differences of rows (..., n, d) and (..., m, d): (..., n, m)."""
    return _length(np.expand_dims(x, -2) - np.expand_dims(y, -3), p)
