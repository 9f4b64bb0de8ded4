"""Colours: which columns of a sparse matrix one product with a vector can measure together.

Knows patterns in compressed rows (`starts`, `columns`). Must not know tapes, or how products come.
Columns that share a row get different colours.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from tapegrad._core.types import Value
from tapegrad._progress import current

WIDE = 64  # entries in a row above which no regular colouring is looked for
KINDS = 4096  # distinct distances between columns above which none is looked for either
TRIALS = 4096  # regular colourings that are tried


def rows_of(starts: Value) -> Value:
    """The row of each entry."""
    return np.repeat(np.arange(starts.size - 1), np.diff(starts))


def kept_entries(starts: Value, columns: Value, keep: Value) -> tuple[Value, Value]:
    """The same pattern with some of its entries."""
    rows = rows_of(starts)[keep]
    counts = np.bincount(rows, minlength=starts.size - 1)
    return np.concatenate([[0], np.cumsum(counts)]), columns[keep]


def colour_columns(starts: Value, columns: Value, shape: tuple[int, ...]) -> Value:
    """A colour from 0 up for each column; `shape` is that of the columns' array.

    Stencils repeat: colours in turn along the axes of the array are tried first, which costs a
    pass over the pattern. Otherwise colours are taken greedily.
    """
    count = math.prod(shape)
    if not columns.size:
        return np.zeros(count, np.int64)
    widest = int(np.diff(starts).max())
    if widest == 1:
        return np.zeros(count, np.int64)
    if widest == count:
        return np.arange(count)
    regular = _regular(starts, columns, shape, widest) if widest <= WIDE else None
    if regular is not None and int(regular.max()) + 1 <= widest + widest // 4:
        return regular
    greedy = _greedy(starts, columns, count)
    return greedy if regular is None or greedy.max() < regular.max() else regular


def _regular(starts: Value, columns: Value, shape: tuple[int, ...], widest: int) -> Value | None:
    """Colours that are linear in the index, modulo their number; None if no small number does."""
    count = math.prod(shape)
    shape = tuple(n for n in shape if n > 1)
    if not 1 < len(shape) <= 3:
        shape = (count,)
    index = np.unravel_index(np.arange(count), shape)
    # Codes whose differences tell the differences along all axes.
    wide = [2 * n for n in shape]
    code: Any = sum(i * math.prod(wide[axis + 1 :]) for axis, i in enumerate(index))
    apart = _distances(starts, code[columns], widest, math.prod(wide))
    if apart.size > KINDS:
        return None
    steps: list[Any] = []
    for n in reversed(wide):
        apart, step = np.divmod(apart + n // 2, n)
        steps.insert(0, step - n // 2)
    tried = 0
    for colours in range(widest, 2 * widest + 2):
        for factors in itertools.product(range(colours), repeat=len(shape) - 1):
            tried += 1
            if tried > TRIALS:
                return None
            weights = (*factors, 1)
            total: Any = sum(w * step for w, step in zip(weights, steps, strict=True))
            if (total % colours).all():
                return sum(w * i for w, i in zip(weights, index, strict=True)) % colours
    return None


def _distances(starts: Value, codes: Value, widest: int, limit: int) -> Value:
    """How far apart two columns of one row are: each distance once."""
    ends = np.repeat(starts[1:], np.diff(starts))
    found = np.zeros(limit, bool)
    for k in range(1, widest):
        within = np.arange(k, codes.size) < ends[: codes.size - k]
        found[np.abs(codes[k:] - codes[:-k])[within]] = True
    return np.flatnonzero(found)


def _greedy(starts: Value, columns: Value, count: int) -> Value:
    """The least free colour for each column, those with many neighbours first.

    Each row remembers its colours as the bits of an integer, which may be long.
    """
    rows = rows_of(starts)
    neighbours = np.bincount(columns, np.diff(starts)[rows], count)
    firsts = np.concatenate([[0], np.cumsum(np.bincount(columns, minlength=count))]).tolist()
    by_column = rows[np.argsort(columns, kind="stable")].tolist()
    taken = [0] * (starts.size - 1)
    colours = [0] * count
    bar = current()
    bar.begin(count, "colours")
    for column in bar.over(np.argsort(-neighbours, kind="stable").tolist()):
        here = by_column[firsts[column] : firsts[column + 1]]
        used = 0
        for row in here:
            used |= taken[row]
        free = ~used & (used + 1)  # the lowest bit that is not set
        for row in here:
            taken[row] |= free
        colours[column] = free.bit_length() - 1
    return np.asarray(colours, np.int64)


def _costs(starts: Value) -> tuple[Value, Value]:
    """The rows from the fullest on, and the least number of products if the first k are apart.

    Each of these k costs a product, and the fullest of the others needs a colour for each entry.
    """
    widths = np.diff(starts)
    order = np.argsort(-widths, kind="stable")
    return order, np.arange(order.size + 1) + np.append(widths[order], 0)


def fewest_products(starts: Value, *, mixed: bool) -> int:
    """How many products a pattern takes at least; `mixed`: full rows may be measured apart."""
    _, costs = _costs(starts)
    return int(costs.min() if mixed else costs[0])


def heavy_rows(starts: Value) -> Value:
    """The rows that are so full that they are better measured one by one; mostly none."""
    order, costs = _costs(starts)
    best = int(np.argmin(costs))
    return order[:best] if 2 * costs[best] <= costs[0] else order[:0]
