"""Distances of all pairs of rows, as one node of the graph.

Knows arrays and rules. Must not know Tensor or modules.
"""

from __future__ import annotations

import numpy as np

from tapegrad._core.types import Cotangent, Tangent, Value
from tapegrad._core.values import untraced
from tapegrad.torch._rules.declare import general


def _slopes(apart: Value, length: Value, p: float) -> Value:
    """The derivatives of the p-norm of differences; 0 where the norm is 0."""
    if p == 0:
        return apart * 0
    if p == 1:
        return np.sign(untraced(apart)) + apart * 0
    size = np.absolute(untraced(apart))
    if p == np.inf:
        return np.sign(untraced(apart)) * (size == untraced(length))
    some = untraced(length) != 0
    safe = np.where(some, length, 1)
    if p == 2:
        return np.where(some, apart / safe, 0)
    moved = np.where(size == 0, 1, apart)
    slopes = np.sign(untraced(apart)) * (np.absolute(moved) / safe) ** (p - 1)
    return np.where(some & (size != 0), slopes, 0)


def _pull(g: Cotangent, out: Value, x: Value, p: float) -> Cotangent:
    count = x.shape[0]
    if count < 2:
        return x * 0
    rows, columns = np.triu_indices(count, 1)
    place = np.zeros((count, count), np.int64)
    place[rows, columns] = place[columns, rows] = np.arange(len(rows))
    others = ~np.eye(count, dtype=bool)
    weights, lengths = np.where(others, g[place], 0), out[place]
    if p == 2:  # the sum over j of weights / lengths * (x[i] - x[j]), by a product of matrices
        some = untraced(lengths) != 0
        shares = np.where(some, weights / np.where(some, lengths, 1), 0)
        centred = x - np.mean(untraced(x), axis=0)  # so that little cancels
        return np.sum(shares, axis=1, keepdims=True) * centred - np.matmul(shares, centred)
    slopes = _slopes(np.expand_dims(x, 1) - np.expand_dims(x, 0), np.expand_dims(lengths, -1), p)
    return np.sum(slopes * np.expand_dims(weights, -1), axis=1)


def _push(dots: Tangent, out: Value, x: Value, p: float) -> Tangent:
    rows, columns = np.triu_indices(x.shape[0], 1)
    slopes = _slopes(x[rows] - x[columns], np.expand_dims(out, -1), p)
    return np.sum(slopes * (dots[0][rows] - dots[0][columns]), axis=-1)


@general("PdistBackward0", _pull, _push, batch="loop")
def distances_of_pairs(x: Value, p: float) -> Value:
    """The p-norms of `x[i] - x[j]` for i < j: (n, d) to (n * (n - 1) / 2)."""
    rows, columns = np.triu_indices(x.shape[0], 1)
    apart = np.absolute(x[rows] - x[columns])
    if p == 0:
        return np.sum(apart != 0, axis=-1).astype(x.dtype)
    if p == np.inf:
        return np.max(apart, axis=-1, initial=0)
    if p == 2:
        return np.sqrt(np.sum(apart * apart, axis=-1))
    return np.sum(apart, axis=-1) if p == 1 else np.sum(apart**p, axis=-1) ** (1 / p)
