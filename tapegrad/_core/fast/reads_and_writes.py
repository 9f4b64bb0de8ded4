"""Reads and writes of parts in the replay backward, of NumPy's own arrays.

Knows what `scatter` and `marks` do with a read and a write, and does the same without asking what
kind of value it has.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad._core.entry import ABSENT, WRITE
from tapegrad._core.fit import fit_cotangent
from tapegrad._core.scatter import SMALL, add_rows, are_places, selects_once
from tapegrad._core.types import Cotangents, Index, Value
from tapegrad._core.values import PLAIN_PARTS, is_basic


def read_back(
    bars: Cotangents, owned: set[int], slot: int, index: Index, g: Value, like: Value
) -> bool:
    """`scatter` of NumPy's own values at indices that are cheap to add at; False for others."""
    kind = type(g)
    if not like.shape:  # the sum of cotangents of a 0-d array is a number, no buffer
        return False
    if kind is np.float64:
        if slot in owned and is_basic(index):
            bars[slot][index] += g
            return True
        return False
    before: Any = bars[slot]
    if kind is not np.ndarray or before is not None and type(before) is not np.ndarray:
        return False
    if type(index) is slice or selects_once(index):
        if g.size == like.size and g.dtype is like.dtype and _keeps_order(index):
            bar = g.reshape(like.shape)  # all of it: the index has new axes, or drops some
            if before is None:
                bars[slot] = bar
            elif slot in owned:
                before += bar
            else:
                bars[slot] = before + bar
                owned.add(slot)
            return True
        if slot in owned:
            _add_once(before, index, g)
            return True
        bar = np.zeros(like.shape, like.dtype)
        bar[index] = g
    elif g.size >= SMALL or not are_places(index, like):
        return False
    elif slot in owned:
        add_rows(bars[slot], index, g)
        return True
    else:
        bar = np.zeros(like.shape, like.dtype)
        add_rows(bar, index, g)
    bars[slot] = bar if before is None else before + bar
    owned.add(slot)
    return True


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
        whole = np.zeros(buffer.shape, buffer.dtype)
        whole[index] = g
        buffer += whole
        return
    part = buffer[index]
    part += g
    base = part.base
    if base is None or (base is not buffer and base is not buffer.base):
        buffer[index] = part  # the index has arrays, so that the part was a copy


__all__ = ["give_part", "read_back"]
