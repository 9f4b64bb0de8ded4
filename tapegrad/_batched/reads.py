"""`x[i]` of a batched value: views, copies, and elements at places of each example's own.

Knows which reads NumPy makes views of, and how such a view is kept where no memory can be one.
Must not know tapes or single functions. Reads get to `Batched` from here.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from tapegrad._arrays.masked import MaskedElements, holds_condition, read
from tapegrad._arrays.memory import laid_out_as_read
from tapegrad._batched.array import Batched, BatchedArray, ZeroDimensional, batched
from tapegrad._batched.indexing import (
    flat_positions,
    in_rows,
    is_basic_part,
    parts_of,
    row_numbers,
)
from tapegrad._batched.level import VmapLevel
from tapegrad._core.entry import spec_of
from tapegrad._core.rule import Rule
from tapegrad._core.types import Index, Params, Value
from tapegrad._core.values import (
    Mapped,
    Traced,
    batched_index_part,
    class_for_holder,
    getitem,
    is_mapped,
    is_plain_array,
)
from tapegrad._errors import BatchingError


def read_part(self: Batched, index: Index) -> Any:
    """`x[index]` of each example."""
    self.vmap_level.require_open()
    parts = parts_of(index, self)
    if parts is None:
        rest = index if type(index) is tuple else (index,)
        found = self._value[(slice(None), *rest)]
        if not all(map(is_basic_part, rest)):
            found = laid_out_as_read(found, self, rest)
        if self.is_number():
            found = found.copy()  # a number shares no memory
        if len(found.shape) > 1:
            return batched(found, self.vmap_level)
        if Ellipsis in rest:
            return ZeroDimensional(found, self.vmap_level)
        return batched(found.copy(), self.vmap_level)  # a number: no view of x
    if holds_condition(index):
        return read(self, index)
    inside = batched_index_part(index, self.level)
    if inside is not None:
        return inside.look_up(self, index)  # a vmap inside this one batches the index
    return _picked_or_copy(self, index, _look_up_batched)


def look_up(self: Batched, table: Value, index: Index) -> Any:
    """`table[index]` of an array that all examples share, for a batched index."""
    self.vmap_level.require_open()
    if holds_condition(index):
        return read(table, index)
    return _picked_or_copy(table, index, partial(_look_up_shared, self.vmap_level))


def _look_up_shared(vmap_level: VmapLevel, table: Value, index: Index) -> Batched:
    """`table[index]`, where the index differs between the examples and the table does not."""
    shared = batched(vmap_level.front(table), vmap_level)
    positions = flat_positions(shared, list(index) if type(index) is tuple else [index])
    return batched(getitem(np.reshape(table, -1), positions._value), vmap_level)


def _look_up_batched(array: Batched, index: Index) -> Batched:
    """`array[index]`, for an index that this vmap or an outer one batches."""
    positions = flat_positions(array, list(index) if type(index) is tuple else [index])
    value, vmap_level = array._value, array.vmap_level
    if not isinstance(positions, Batched):
        rows = in_rows(value)
        plain = is_plain_array(value)
        found = np.take(rows, positions, 1) if plain else rows[:, positions]
        return batched(laid_out_as_read(found, array, index), vmap_level)
    if positions.vmap_level is not vmap_level:
        return batched(getitem(in_rows(value), (slice(None), positions)), vmap_level)
    if type(value) is np.ndarray and len(value) > 1 and not value.strides[0]:
        # All examples share one array.
        return batched(getitem(np.reshape(value[0], -1), positions._value), vmap_level)
    flat = in_rows(value)
    return batched(getitem(flat, (row_numbers(positions._value), positions._value)), vmap_level)


def _read_of_picked(array: Batched, index: Index) -> Any:
    return batched(array._value, array.vmap_level)[index]


def _picked_or_copy(array: Any, index: Index, look_up: Callable[[Any, Any], Batched]) -> Batched:
    found = look_up(array, index)
    parts = index if type(index) is tuple else (index,)
    if len(found._value.shape) > 1 and all(
        is_basic_part(x) or _is_batched_number(x) for x in parts
    ):
        return Picked(found, array, index, look_up)
    return found.snapshot() if isinstance(found._value, Picked) else found


_REARRANGED = ()  # in place of the index, for x[i].T and the like


def _is_batched_number(part: Index) -> bool:
    return is_mapped(part) and not isinstance(part, MaskedElements) and not part.shape


class Picked(BatchedArray):
    """`x[i]` by a batched number i. NumPy makes a view of x of it for each example.

    The positions differ between the examples, so it cannot be a view of memory. Instead each use
    reads it from x again, and a write into it goes to x.
    """

    __slots__ = ("found", "index", "kind", "look_up_again", "parent", "seen", "spec")

    picked = True

    def __init__(
        self, found: Batched, parent: Value, index: Index, look_up: Callable[[Any, Any], Batched]
    ) -> None:
        self.vmap_level, self.spec, self.kind = found.vmap_level, spec_of(found), found.__class__
        self.parent, self.index, self.look_up_again = parent, index, look_up
        self.found, self.seen = found._value, _version(parent)

    @property  # type: ignore[misc]  # object's has a setter, ours needs none
    def __class__(self) -> Any:
        """As of the value when it was made: a write does not change the class."""
        return class_for_holder(type(self)) or self.kind

    @property
    def shape(self) -> tuple[int, ...]:
        return self.spec.shape

    @shape.setter
    def shape(self, wanted: Any) -> None:
        raise BatchingError(
            f"x[i].shape = {wanted}: each example has another part of x. Write "
            "x[i].reshape(shape)."
        )

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.spec.dtype

    @property
    def ndim(self) -> int:
        return self.spec.ndim

    @property
    def _value(self) -> Any:
        version = _version(self.parent)
        if version is None or version is not self.seen:
            self.found, self.seen = self.look_up_again(self.parent, self.index)._value, version
        if type(self.found) is np.ndarray:
            self.found.flags.writeable = False  # a write to a view would miss the parent
        return self.found

    def call_rule(self, rule: Rule, arrays: list[Value], params: Params) -> Any:
        """As for other arrays, but a view of this one is read-only, and read again at each use."""
        if not rule.view or arrays[0] is not self:
            return super().call_rule(rule, arrays, params)

        def rearranged(array: Picked, _: Any) -> Any:
            return batched(array._value, array.vmap_level).call_rule(rule, [array], params)

        return _picked_or_copy(self, _REARRANGED, rearranged)

    def __getitem__(self, index: Index) -> Any:
        return _picked_or_copy(self, index, _read_of_picked)

    def __setitem__(self, index: Index, value: Value) -> None:
        if self.index is _REARRANGED:
            self.refuse(
                "a write into a rearranged x[i]", "Write into x[i] itself, or copy it before."
            )
        whole = self.copy()
        whole[index] = value
        self.parent[self.index] = whole

    def is_alone(self) -> bool:
        return False

    def view(self, *args: Any) -> Any:
        """As `numpy.ndarray.view`, of each example."""
        return super().view(*args) if args else self[...]

    @property
    def real(self) -> Any:
        return super().real

    @real.setter
    def real(self, value: Value) -> None:
        self[...] = value + 1j * self.imag if self.dtype.kind == "c" else value

    @property
    def imag(self) -> Any:
        return super().imag

    @imag.setter
    def imag(self, value: Value) -> None:
        self[...] = self.real + 1j * value


def _version(value: Value) -> Any:
    """The slot of a traced value, which is another one after a write; None for untraced values."""
    while isinstance(value, Mapped):
        value = value.parent if isinstance(value, Picked) else value._value
    return value.slot if isinstance(value, Traced) else None


Batched.__getitem__ = read_part
Batched.look_up = look_up
