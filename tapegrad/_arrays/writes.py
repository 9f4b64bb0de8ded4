"""Writes into a traced array, `x[i] = v` and `x[i] += v`: x gets a new slot for its new state.

Knows the entries of writes, and when a buffer can be written to in place. Must not know the class
of traced arrays: `is_view` marks a view, whose `write` passes a write on to its root.
"""

from __future__ import annotations

import array as arrays
from typing import Any

import numpy as np

from tapegrad._core.entry import ADD, WRITE, spec_of
from tapegrad._core.refcounts import ALONE, is_own, references
from tapegrad._core.scatter import add_at
from tapegrad._core.types import Index, Value
from tapegrad._core.values import (
    Mapped,
    Traced,
    batched_index_part,
    getitem,
    innermost,
    is_array,
    lift,
    lift_to_level_of,
    lift_to_level_of_index,
    snapshot,
    untraced,
    writable,
)
from tapegrad._errors import BatchingError


def _stays(index: slice) -> bool:
    """Whether the bounds of a slice are immutable (an array can be a bound, and change later)."""
    start, stop, step = index.start, index.stop, index.step
    return (
        (start is None or type(start) is int)
        and (stop is None or type(stop) is int)
        and (step is None or type(step) is int)
    )


def frozen_index(index: Index) -> Any:
    """An index without tracing, with copies of its arrays, which the program may change later."""
    if type(index) is tuple:
        return tuple(frozen_index(part) for part in index)
    if type(index) is np.ndarray:
        return index.copy()
    if type(index) is slice and not _stays(index):
        return slice(*map(frozen_index, (index.start, index.stop, index.step)))
    if isinstance(index, list):
        if innermost(index) is not None:
            return untraced(lift(index))
        return np.array(index, None if index else np.intp)
    if isinstance(index, Traced):
        return untraced(index)
    kind = type(index)
    if kind in _IMMUTABLE or issubclass(kind, (np.generic, Mapped)):
        return index
    if issubclass(kind, (np.ndarray, arrays.array, memoryview)):
        return np.array(index)
    # A lazy array stays lazy; a Series or a tensor is what NumPy reads of it now.
    reads = hasattr(kind, "__array__") and not hasattr(kind, "__array_function__")
    return np.array(index) if reads else index


_IMMUTABLE = frozenset((int, slice, bool, type(None), type(Ellipsis)))


def write_part(x: Traced, index: Index, value: Value) -> None:
    """`x[index] = value`, differentiably."""
    value = lift(value)
    if x.is_view:
        x.write(index, value)
        return
    inside = batched_index_part(
        (value, *index) if type(index) is tuple else (value, index), x.tape.level
    )
    if inside is not None:
        raise BatchingError(
            "x[...] = v: a value of a vmap cannot be written into an array from outside it, which "
            "all examples share. Make the array inside, with x + np.zeros_like(v, shape=x.shape)."
        )
    if isinstance(value, Traced) and value.tape.level > x.tape.level:
        if value.tape.root is not x.tape.root:
            # x is a constant of the inner transform that value belongs to, until it is written to.
            x._value, x.slot = snapshot(x), -1
        x.tape = value.tape
    value = fitted(x, index, value)
    inner = isinstance(value, Traced) and value.tape.root is x.tape.root
    raw = value._value if inner else value
    buffer = lift_to_level_of_index(lift_to_level_of(writable(_exclusive_buffer(x)), raw), index)
    tape = x.tape
    buffer[index] = raw
    slot = tape.fresh()
    kept = (x.spec, spec_of(value) if hasattr(value, "shape") else None)
    tape.log((slot, WRITE, None, kept, index, (x.slot, value.slot if inner else -1), None))
    tape.buffers.discard(x.slot)
    tape.buffers.add(slot)
    x._value = buffer
    x.slot = slot


def add_to_part(x: Traced, index: Index, value: Traced) -> None:
    """`x[index] += value` as one entry: both are of one tape, and the index has no repeats."""
    tape = x.tape
    buffer = _exclusive_buffer(x)
    slot = tape.fresh()
    tape.log((slot, ADD, None, (x.spec, value.spec), index, (x.slot, value.slot), None))
    tape.buffers.discard(x.slot)
    tape.buffers.add(slot)
    x._value = add_at(buffer, index, value._value)
    x.slot = slot


def fitted(x: Traced, index: Index, value: Value) -> Any:
    """The value of a write, without leading axes that x[index] lacks; its dtype is checked."""
    if not is_array(value) and hasattr(type(value), "shape"):
        value = np.asarray(value)  # a table, or memory: NumPy writes its elements
    is_complex = value.dtype.kind == "c" if is_array(value) else isinstance(value, complex)
    if is_complex and x.dtype.kind != "c":
        raise TypeError(
            f"x[...] = v: expected real values for an array of {x.dtype}, got complex ones. Use "
            "v.real, or make x complex."
        )
    if isinstance(value, Traced) and value.ndim > 0:
        room = getitem(untraced(x), index).ndim
        if value.ndim > room:
            value = value.reshape(value.shape[value.ndim - room :])
    return value


def _exclusive_buffer(x: Traced) -> Any:
    """The raw value of x to write to: itself if nobody else can hold it, else a copy."""
    value = x._value
    if x.slot in x.tape.buffers and references(value) <= ALONE and is_own(value):
        return value
    if isinstance(value, (Traced, Mapped)):
        return snapshot(value)
    return value.copy("K") if type(value) is np.ndarray else value.copy()


__all__ = ["add_to_part", "fitted", "frozen_index", "write_part"]
