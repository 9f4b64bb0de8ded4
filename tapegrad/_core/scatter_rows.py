"""Many elements or rows at places: read, or added at places that repeat.

Knows NumPy's own arrays, and which of NumPy's functions are fast. Must not know cotangents,
or who reads and adds.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad._core.types import Value

# Elements that are added, and of a row, from which sorting the places pays.
_MANY, _WIDE = 1 << 15, 16
_NARROW = 1 << 16  # places are sorted in a third of the time as numbers of 16 bits
FEW = 1 << 12  # elements, up to which NumPy's own index is the fastest
_UNSIGNED = np.dtype(np.uint64)  # where negative numbers are large


def read_elements(x: Value, index: Any) -> Value:
    """`x[index]`: of many elements of an array by coordinates their flat positions are taken."""
    if type(x) is not np.ndarray or type(index) is not tuple or len(index) != x.ndim:
        return x[index]
    if not x.flags.c_contiguous:
        return x[index]
    if not any(type(part) is np.ndarray and part.size >= FEW for part in index):
        return x[index]
    positions: Any = None
    step = 1
    for part, side in zip(reversed(index), reversed(x.shape), strict=True):
        if type(part) is not np.ndarray or part.dtype.char != "l" or not part.size:
            return x[index]
        if np.maximum.reduce(part.view(_UNSIGNED), None) >= side:
            return x[index]  # which counts from the end, or refuses
        part = part if step == 1 else part * step
        positions = part if positions is None else positions + part
        step *= side
    return x.take(positions, mode="wrap")  # the mode is the fastest


def adds_in_rounds(count: int, places: Value, g: Value) -> bool:
    """Whether `add_in_rounds` is the fastest way to add g at such places among so many rows."""
    size = g.size
    return size >= _MANY and size >= _WIDE * places.size and 0 < count <= places.size << 4


def add_in_rounds(buffer: Value, places: Value, g: Value, *, cleared: bool) -> None:
    """`np.add.at(buffer, places, g)` of whole rows; cleared: whether the buffer is all zeros.

    The places are sorted by how often they occur. So one round adds a row to each that has one
    left, and those that have another one after it come first. Each row is the sum of its parts in
    their order.
    """
    count = len(buffer)
    places = places.reshape(-1).astype(np.intp, copy=False)  # NumPy 2.1 counts no uint64
    if np.minimum.reduce(places) < 0:
        places = places % count
    counts = np.bincount(places, None, count)
    if np.maximum.reduce(counts) == 1:
        rows = g.reshape(-1, *buffer.shape[1:])
        if cleared:
            buffer[places] = rows
        else:
            buffer[places] += rows
        return
    rows, numbers = _distinct(g, g.ndim - buffer.ndim + 1)
    narrow = places.astype(np.uint16) if count <= _NARROW else places
    order = narrow.argsort(kind="stable")
    if numbers is not None:
        order = numbers[order]
    chosen = (-counts).argsort()
    falling, firsts = counts[chosen], (counts.cumsum() - counts)[chosen]
    rounds = int(falling[0])
    # How many places occur more than k times.
    ends = count - falling[::-1].searchsorted(np.arange(1, rounds + 1))
    total = rows.take(order[firsts[: ends[0]]], 0)
    for k, end in enumerate(ends.tolist()):
        if not k:
            continue
        if end < rounds - k:  # a few places have the most rows: each is one product
            for row in range(end):
                first = firsts[row]
                total[row] += _sum_of_rows(rows.take(order[first + k : first + falling[row]], 0))
            break
        total[:end] += rows.take(order[firsts[:end] + k], 0)
    touched = chosen[: ends[0]]
    flat = buffer.reshape(count, -1)
    if cleared:
        flat[touched] = total
    else:
        flat[touched] += total


def _distinct(g: Value, ndim: int) -> tuple[Value, Any]:
    """g as a matrix of rows, of its first axes; of one that is broadcast, the rows and which."""
    sides, width = g.shape[:ndim], max(g.size // (int(np.prod(g.shape[:ndim])) or 1), 1)
    if 0 not in g.strides[:ndim]:
        return g.reshape(-1, width), None
    own = tuple(slice(0, 1) if not step else slice(None) for step in g.strides[:ndim])
    rows = g[own].reshape(-1, width)
    kept = [1 if not step else side for side, step in zip(sides, g.strides[:ndim], strict=True)]
    numbers = np.arange(len(rows)).reshape(kept)
    return rows, np.broadcast_to(numbers, sides).reshape(-1)


def _sum_of_rows(rows: Value) -> Value:
    if rows.dtype.char in "fd":
        return np.ones(len(rows), rows.dtype).dot(rows)
    return np.add.reduce(rows, 0)


__all__ = ["FEW", "add_in_rounds", "adds_in_rounds", "read_elements"]
