"""Cotangents of parts: how reads and writes of x[index] add to the cotangent of x.

Knows indices, and how NumPy adds at many positions fast. Must not know the layouts of entries.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tapegrad._core.entry import WRITE
from tapegrad._core.fit import fit_cotangent
from tapegrad._core.types import Cotangent, Cotangents, Index, Value
from tapegrad._core.values import (
    PLAIN_PARTS,
    Mapped,
    Traced,
    cast,
    is_basic,
    is_numpy,
    is_recorded_array,
    lift_to_level_of,
    lift_to_level_of_index,
    raw_value,
)

ABSENT = -1  # the slot of what has no cotangent; compared by identity


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
    bars[slot] = add_at(buffer, index, value)


def scatter_once(
    bars: Cotangents, owned: set[int], slot: int, index: Index, g: Value, like: Value
) -> None:
    """`scatter` of NumPy's own array at an index that selects no position twice."""
    before = bars[slot]
    if before is not None and type(before) is not np.ndarray and not is_recorded_array(before):
        scatter(bars, owned, slot, index, g, like)
    elif g.size == like.size and g.dtype is like.dtype and _keeps_order(index):
        bar = g.reshape(like.shape)  # all of it: the index has new axes, or drops some
        if before is None:
            bars[slot] = bar
        elif slot in owned:
            before += bar
        else:
            bars[slot] = before + bar
            owned.add(slot)
    elif slot in owned:
        _add_once(before, index, g)
    else:
        bar = np.zeros(like.shape, like.dtype) if type(g) is np.ndarray else zeros_for(g, like)
        bar[index] = g
        bars[slot] = bar if before is None else before + bar
        owned.add(slot)


def zeros_for(g: Value, like: Value) -> Any:
    """Zeros like an argument, whose calls are recorded as those of g are."""
    return np.zeros(like.shape, like.dtype, like=g)


def give_part(
    bars: Cotangents, owned: set[int], slot: int, entry: tuple[Any, ...], g: Any
) -> None:
    """The cotangents of `x[index] = v`, from NumPy's own `g`: v gets a part, x the rest.

    entry: (kinds of x and v, index, slots of x and v); the index is basic.
    """
    (_, v), index, (x_slot, v_slot) = entry
    if slot not in owned:
        g = g.copy()
    if v_slot is not ABSENT:
        part = g[index]
        if type(part) is np.ndarray:
            part = part.copy()  # a view would be cleared with g below
        if part.shape != v.shape or part.dtype is not v.dtype:
            part = fit_cotangent(part, v, WRITE)
        before = bars[v_slot]
        bars[v_slot] = part if before is None else before + part
        if before is not None:
            owned.add(v_slot)
    if x_slot is not ABSENT:
        g[index] = 0
        before = bars[x_slot]
        bars[x_slot] = g if before is None else before + g
        owned.add(x_slot)


def _keeps_order(index: Index) -> bool:
    """Whether a basic index that selects all elements selects them in their order."""
    for part in index if type(index) is tuple else (index,):
        kind = type(part)
        if kind is slice:
            if part.step is not None and part.step < 0:
                return False
        elif kind not in PLAIN_PARTS:
            return False
    return True


def _add_once(buffer: Any, index: Index, g: Any) -> None:
    """`buffer[index] += g` of NumPy's own arrays; the index selects no position twice."""
    if g.ndim > 1 and 2 * g.size >= buffer.size:
        # NumPy copies the rows of a part, and adds all of two arrays, faster than it adds rows.
        plain = type(g) is np.ndarray
        whole = np.zeros(buffer.shape, buffer.dtype) if plain else zeros_for(g, buffer)
        whole[index] = g
        buffer += whole
        return
    part = buffer[index]
    part += g
    base = part.base
    if base is None or (base is not buffer and base is not buffer.base):
        buffer[index] = part  # the index has arrays, so that the part was a copy


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
    if letter not in "iu" or index.size > FEW or not index.size:
        return False
    places = index.ravel().tolist()
    return len(set(places)) == len(places) and min(places) >= 0  # -1 may be another's place


SMALL = 1024  # elements below which np.add.at is the fastest


def are_places(index: Any, x: Any) -> bool:
    """Whether an index of an array is arrays of integers alone, or one of them."""
    for part in index if type(index) is tuple else (index,):
        if type(part) is not np.ndarray or part.dtype.kind not in "iu":
            return False
    return bool(x.shape)


ROW = 256  # bytes of a row, from which copying rows that are mostly distinct is the fastest


def put_at(zeros: Value, index: Index, value: Value) -> Value:
    """`add_at` of zeros: long rows are copied, and only rows that were overwritten are added.

    A row is overwritten if a later row has the same position.
    """
    rows = index[0] if type(index) is tuple and len(index) == 1 else index
    copied = (
        type(zeros) is np.ndarray
        and type(value) is np.ndarray
        and _is_positions(rows)
        and rows.ndim == 1
        and len(rows) <= len(zeros)
        and zeros.nbytes >= ROW * len(zeros)
        and zeros.dtype is value.dtype
    )
    if not copied:
        return add_at(zeros, index, value)
    order = np.arange(len(rows))
    last = np.empty(len(zeros), np.intp)
    last[rows] = order
    zeros[rows] = value
    overwritten = np.flatnonzero(last[rows] != order)
    if not overwritten.size:
        return zeros
    return add_at(zeros, (rows[overwritten],), value[overwritten])


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
    if len(arrays) == 1:
        # Products of positions overflow narrow dtypes.
        positions = arrays[0].reshape(-1).astype(np.intp, copy=False)
        if buffer.ndim > 1:
            positions = positions % sides[0] * rest
    else:
        positions = np.ravel_multi_index(np.broadcast_arrays(*arrays), sides, mode="wrap")
        positions = positions.reshape(-1) * rest
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
