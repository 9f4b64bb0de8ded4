"""Cotangents of parts: how reads and writes of x[index] add to the cotangent of x.

Knows indices, and how NumPy adds at many positions fast. Must not know the layouts of entries.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tapegrad._core.scatter_rows import add_in_rounds, adds_in_rounds
from tapegrad._core.types import Cotangent, Cotangents, Index, Value
from tapegrad._core.values import (
    PLAIN_PARTS,
    Mapped,
    Scatter,
    Traced,
    cast,
    is_basic,
    is_numpy,
    lift_to_level_of,
    lift_to_level_of_index,
    raw_value,
)


def accumulate(bars: Cotangents, owned: set[int], slot: int, bar: Cotangent, like: Value) -> None:
    if type(bar) is Scatter:
        scatter(bars, owned, slot, bar.index, bar._value, like)
        return
    before = bars[slot]
    if before is None:
        bars[slot] = bar
    else:
        bars[slot] = before + bar
        owned.add(slot)


def scatter(
    bars: Cotangents, owned: set[int], slot: int, index: Index, value: Value, like: Value
) -> None:
    """Add a value at an index of a slot's cotangent; the first call makes the slot's buffer."""
    buffer = bars[slot]
    if slot not in owned:
        if not _ends_in_numpy(value):
            bar = _scatter_by_reading(value, index, like)
            bars[slot] = bar if buffer is None else buffer + bar
            return
        zeros = zeros_at_level_of(value, like)
        owned.add(slot)
        if buffer is None:
            bars[slot] = put_at(zeros, index, value)
            return
        buffer = zeros + buffer
    rows = _rows_for(buffer, index, value)
    if rows is None:
        bars[slot] = add_at(buffer, index, value)
    else:
        bars[slot] = buffer
        add_in_rounds(buffer, rows, value, cleared=False)


def _ends_in_numpy(value: Value) -> bool:
    """Whether a value is a NumPy array inside all tracing, so that it can be written to."""
    return is_numpy(raw_value(value))


def _scatter_by_reading(value: Value, index: Index, like: Value) -> Cotangent:
    """Zeros like an argument with a value added at an index, made by reads alone.

    Arrays of other libraries may be lazy, or not allow writes. An index that selects a position
    several times is split into rounds, each of which selects a position once.
    """
    positions = np.arange(like.size).reshape(like.shape)[index].ravel()
    distinct, counts = np.unique(positions, return_counts=True)
    value = value.reshape((-1,))
    padded = np.concatenate([value, np.zeros_like(value, shape=(1,))])
    order = np.argsort(positions, kind="stable")
    ends = np.cumsum(counts)
    total: Any = None
    for round_number in range(int(counts.max(initial=1))):
        source = np.full(like.size, positions.size)  # the zero at the end
        again = counts > round_number
        source[distinct[again]] = order[ends[again] - counts[again] + round_number]
        part = padded[source]
        total = part if total is None else total + part
    return cast(total.reshape(like.shape), like.dtype)


def zeros_at_level_of(value: Value, like: Value) -> Value:
    """Zeros like an argument that can be written to; a traced `value` puts them on its tape."""
    if isinstance(value, Traced):
        return value.tape.wrap(zeros_at_level_of(value._value, like), -1)
    if is_numpy(value):
        return np.zeros(like.shape, like.dtype)
    return np.zeros(like.shape, like.dtype, like=value)


def add_at(buffer: Value, index: Index, value: Value) -> Value:
    """`buffer[index] += value`, which adds as often as the index selects a position."""
    element = type(index) is int and type(value) is np.float64 and type(buffer) is np.ndarray
    if element and buffer.dtype is value.dtype:  # a loop over elements
        buffer[index] += value
        return buffer
    if buffer.shape == ():
        return buffer + (np.sum(value) if value.shape else value)
    if value.dtype != buffer.dtype:
        value = cast(value, buffer.dtype)
    buffer = lift_to_level_of(buffer, value)
    if type(buffer) is np.ndarray and not is_numpy(value):
        buffer = np.asarray(buffer, like=value)  # another library's array
    if is_basic(index):
        if isinstance(buffer, (Traced, Mapped)):
            buffer.add_part(index, value)
        else:
            buffer[index] += value
        return buffer
    if type(buffer) is np.ndarray and selects_once(index):
        buffer[index] += value
        return buffer
    buffer = lift_to_level_of_index(buffer, index)
    found = _flat_positions(buffer, index, value)
    if found is None:
        np.add.at(buffer, index, value)
    else:
        _add_at_flat(buffer.reshape(-1), value, *found)
    return buffer


FEW = 64  # positions that are compared faster than they are added one by one


def selects_once(index: Any) -> bool:
    """Whether an index selects no position twice, as far as that is cheap to tell.

    It is told of basic parts, and of one array of integers or booleans, alone or beside them.
    """
    kind = type(index)
    if kind is int or kind is slice:
        return True
    if kind is tuple:
        if PLAIN_PARTS.issuperset(map(type, index)):
            return True
        arrays = [part for part in index if type(part) is np.ndarray]
        if len(arrays) != 1 or not PLAIN_PARTS.issuperset(set(map(type, index)) - {np.ndarray}):
            return False
        (index,) = arrays
    elif kind is not np.ndarray:
        return False
    letter = index.dtype.kind
    if letter == "b":
        return True
    if letter not in "iu" or not index.size:
        return False
    if index.size > FEW:
        return letter == "i" and _are_apart(index.reshape(-1))
    places = index.ravel().tolist()
    return len(set(places)) == len(places) and min(places) >= 0  # -1 may be another's place


def _are_apart(places: Any) -> bool:
    """Whether many positions, none of them negative, are all different."""
    most = int(np.maximum.reduce(places))
    if most < len(places) - 1 or most >= len(places) << 5 or np.minimum.reduce(places) < 0:
        return False  # the next is asked of no more memory than that of a few such arrays
    return int(np.maximum.reduce(np.bincount(places))) == 1


SMALL = 1024  # elements below which np.add.at is the fastest


def are_places(index: Any, x: Any) -> bool:
    """Whether an index of an array is arrays of integers alone, or one of them."""
    for part in index if type(index) is tuple else (index,):
        if type(part) is not np.ndarray or part.dtype.kind not in "iu":
            return False
    return bool(x.shape)


_COLUMNS = [np.arange(0)]  # of the longest row so far


def add_rows(buffer: Any, index: Any, g: Any) -> None:
    """np.add.at of few elements: rows of an array in order are added as a flat one, faster."""
    width = g.size // index.size if type(index) is np.ndarray and index.size else 1
    if width < 8 or g.size < 256 or not buffer.flags.c_contiguous or not g.flags.c_contiguous:
        np.add.at(buffer, index, g)
        return
    if len(_COLUMNS[0]) < width:
        _COLUMNS[0] = np.arange(width)
    places = index.reshape(-1, 1).astype(np.intp, copy=False) * width + _COLUMNS[0][:width]
    np.add.at(buffer.reshape(-1), places.reshape(-1), g.reshape(-1))


def put_at(zeros: Value, index: Index, value: Value) -> Value:
    """`add_at` of zeros; what is put once keeps its bits, -0.0 too."""
    rows = _rows_for(zeros, index, value)
    if rows is not None:
        add_in_rounds(zeros, rows, value, cleared=True)
        return zeros
    plain = type(zeros) is np.ndarray and is_numpy(value)
    if plain and zeros.shape and selects_once(index):
        zeros[index] = value if value.dtype == zeros.dtype else cast(value, zeros.dtype)
        return zeros
    return add_at(zeros, index, value)


def _rows_for(buffer: Value, index: Index, value: Value) -> Any:
    """The rows that an index selects, if rows of numbers are added there, many and long."""
    rows = index[0] if type(index) is tuple and len(index) == 1 else index
    if type(buffer) is not np.ndarray or type(value) is not np.ndarray or not _is_positions(rows):
        return None
    usual = value.dtype is buffer.dtype and buffer.flags.c_contiguous and value.ndim > rows.ndim
    return rows if usual and adds_in_rounds(len(buffer), rows, value) else None


# Two neighbouring numbers are added as one complex number, which halves the positions.
PAIRS = {
    np.dtype(np.float64): np.dtype(np.complex128),
    np.dtype(np.float32): np.dtype(np.complex64),
}


def _flat_positions(buffer: Value, index: Index, value: Value) -> tuple[Any, Any, Any] | None:
    """The flat positions of `buffer[index]`, as all sums of two rows of numbers, and a dtype.

    It serves indices of arrays of integers, with full slices before them alone: rows, columns,
    elements by coordinates. For other indices, and for few elements, it returns None. The
    positions count elements of the dtype, and buffer and value must be viewed as arrays of it.
    """
    if type(buffer) is not np.ndarray or type(value) is not np.ndarray or value.size < SMALL:
        return None
    parts = index if type(index) is tuple else (index,)
    whole = 0
    while whole < len(parts) and type(parts[whole]) is slice and parts[whole] == slice(None):
        whole += 1
    arrays = parts[whole:]
    if not arrays or not buffer.flags.c_contiguous or not all(map(_is_positions, arrays)):
        return None
    sides = buffer.shape[whole : whole + len(arrays)]
    rest = math.prod(buffer.shape[whole + len(arrays) :])
    dtype = value.dtype
    if rest % 2 == 0 and dtype in PAIRS:
        dtype, rest = PAIRS[dtype], rest // 2
    # Products of positions overflow narrow dtypes.
    places = [part.astype(np.intp, copy=False) for part in arrays]
    if buffer.ndim == 1:
        positions = places[0].reshape(-1)
    else:
        step, positions = rest, None
        for part, side in zip(reversed(places), reversed(sides), strict=True):
            if np.minimum.reduce(part, None, initial=0) < 0:
                part = part % side
            part = part * step if step > 1 else part
            positions = part if positions is None else positions + part
            step *= side
        positions = positions.reshape(-1)
    within = np.arange(rest)
    if not whole:
        return positions, within, dtype
    step = math.prod(sides) * rest
    starts = np.arange(0, buffer.nbytes // dtype.itemsize, step)
    return starts, (positions[:, None] + within).reshape(-1), dtype


ADDED_AT_ONCE = 1 << 13  # positions that fit into the caches together with the values


def _add_at_flat(row: Value, value: Value, starts: Index, within: Index, dtype: Any) -> None:
    """np.add.at of a flat array, piece by piece: several times as fast as of another index."""
    if len(within) == 1 and dtype is value.dtype:
        np.add.at(row, starts + within if within[0] else starts, value.reshape(-1))
        return
    row = row.view(dtype)
    value = value.reshape(len(starts), -1)
    step = max(ADDED_AT_ONCE // len(within), 1)
    scratch = np.empty((min(step, len(starts)), len(within)), np.intp)
    for first in range(0, len(starts), step):
        at = starts[first : first + step, None]
        positions = np.add(at, within, out=scratch[: len(at)])
        piece = value[first : first + step].reshape(-1)
        if dtype is not piece.dtype:
            piece = np.ascontiguousarray(piece).view(dtype)
        np.add.at(row, positions.reshape(-1), piece)


def _is_positions(part: Index) -> bool:
    return type(part) is np.ndarray and part.dtype.kind in "iu"


def last_writers(v_bar: Cotangent, shape: tuple[int, ...], index: Index) -> Cotangent:
    """The cotangent of a written value, zero for elements overwritten by later ones.

    In `x[[0, 0]] = [a, b]` the b overwrites the a.
    """
    order = np.arange(v_bar.size).reshape(v_bar.shape)
    winner = lift_to_level_of_index(np.zeros(shape, np.intp), index)
    winner[index] = order
    return np.where(winner[index] == order, v_bar, 0)
