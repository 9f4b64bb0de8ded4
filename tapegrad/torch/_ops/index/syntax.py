"""The index of `x[index]`, translated into NumPy's indices.

Knows PyTorch's rules for indices. Must not know how reads and writes are logged.

PyTorch first applies the basic parts (integers, slices, None, Ellipsis), which makes a view, and
then the advanced ones (tensors of positions, masks), which choose from that view. NumPy counts
integers beside arrays as advanced, so the two steps are two indices here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tapegrad._core.types import Index, Value
from tapegrad._core.values import Traced, is_mapped, untraced
from tapegrad._warning import warn
from tapegrad.torch._tensor.tensor import Tensor

ALL = slice(None)


class Parsed(NamedTuple):
    """The two steps of an index: the first gives a view, the second (if any) chooses from that."""

    basic: tuple[Index, ...]
    name: str  # what the last part of the first step did: Select, Slice, Unsqueeze, Alias
    chosen: tuple[Index, ...] | None
    whole: bool  # whether the first step takes all


def parse(index: Index, shape: tuple[int, ...]) -> Parsed:
    """The index of a tensor of a shape; IndexError, TypeError, ValueError as PyTorch's."""
    parts = list(map(_part, _as_parts(index)))
    room = len(shape)
    used = sum(map(_dimensions, parts))
    if used > room:
        if room == 0 and isinstance(index, slice):
            raise IndexError("slice() cannot be applied to a 0-dim tensor.")
        if room == 0 and not isinstance(index, (tuple, list, Tensor, np.ndarray)):
            raise IndexError(
                "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or "
                "`tensor.item<T>()` in C++ to convert a 0-dim tensor to a number"
            )
        raise IndexError(f"too many indices for tensor of dimension {room}")
    found = _Steps(shape, room - used)
    for part in parts:
        found.take(part)
    chosen = tuple(found.chosen) if found.chosen_any else None
    whole = found.name == "Alias"
    if type(index) is slice:
        found.name = "Slice"  # of `:` too
    return Parsed(tuple(found.basic), found.name, chosen, whole)


class _Steps:
    """The two indices as far as they are known: `take` adds the parts of the index in turn."""

    def __init__(self, shape: tuple[int, ...], rest: int) -> None:
        self.shape = shape
        self.rest = rest  # dimensions that the first Ellipsis stands for
        self.place = 0
        self.basic: list[Index] = []
        self.chosen: list[Index] = []
        self.chosen_any = False
        self.name = "Alias"

    def take(self, part: Index) -> None:
        kind = type(part)
        if kind is int:
            self._take_place(part)
        elif kind is slice:
            size = self.shape[self.place]
            start, stop, _ = part.indices(size)
            if part.step not in (None, 1) or start != 0 or stop != size:
                self.name = "Slice"
            self._keep(part)
        elif part is None:
            self._add_dimension(ALL)
        elif part is Ellipsis:
            for _ in range(self.rest):
                self._keep(ALL)
            self.rest = 0
        elif kind is bool:
            self._add_dimension(np.zeros(int(part), np.int64))
            self.chosen_any = True
        else:
            self._choose(part)

    def _take_place(self, position: int) -> None:
        size = self.shape[self.place]
        if not -size <= position < size:
            raise IndexError(
                f"index {position} is out of bounds for dimension {self.place} with size {size}"
            )
        self.basic.append(position)
        self.place += 1
        self.name = "Select"

    def _keep(self, part: slice) -> None:
        self.basic.append(part)
        self.chosen.append(ALL)
        self.place += 1

    def _add_dimension(self, choice: Index) -> None:
        self.basic.append(None)
        self.chosen.append(choice)
        self.name = "Unsqueeze"

    def _choose(self, array: Value) -> None:
        self.chosen_any = True
        if is_mapped(array) or array.dtype.kind != "b":
            self.basic.append(ALL)
            size = self.shape[self.place]
            if not is_mapped(array) and array.size:
                low, high = int(array.min()), int(array.max())
                if not size:
                    raise IndexError("index is out of bounds for dimension with size 0")
                if low < -size or high >= size:
                    raise IndexError(
                        f"index {high if high >= size else low} is out of bounds for dimension "
                        f"{self.place} with size {size}"
                    )
            self.place += 1
        else:
            own = self.shape[self.place : self.place + array.ndim]
            if array.shape != own:
                raise IndexError(
                    f"The shape of the mask {list(array.shape)} at index {self.place} does not "
                    f"match the shape of the indexed tensor {list(self.shape)} at index "
                    f"{self.place}"
                )
            self.basic.extend([ALL] * array.ndim)
            self.place += array.ndim
        self.chosen.append(array)


def _as_parts(index: Index) -> Index:
    if type(index) is tuple:
        return index
    if isinstance(index, list) and any(
        isinstance(part, (list, tuple, slice, Tensor, np.ndarray, type(None), type(...)))
        for part in index
    ):
        warn(
            "Using a non-tuple sequence for multidimensional indexing is deprecated and will be "
            "changed in pytorch 2.9; use x[tuple(seq)] instead of x[seq]."
        )
        return tuple(index)
    return (index,)


def _part(part: Index) -> Index:
    """One part of an index as an int, a slice, None, Ellipsis, a bool or an array."""
    kind = type(part)
    if kind is int or kind is bool or part is None or part is Ellipsis:
        return part
    if kind is slice:
        return _slice(part)
    if isinstance(part, Tensor):
        part = untraced(part._value)
        return part if is_mapped(part) else _array(part)
    if isinstance(part, (np.ndarray, np.generic, Traced)):
        return _array(np.asarray(untraced(part)))
    if isinstance(part, (list, tuple, range)):
        return _array(_of_sequence(part))
    if hasattr(part, "__index__"):
        return int(part.__index__())
    if isinstance(part, str):
        raise TypeError("new(): invalid data type 'str'")
    raise IndexError(
        "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid "
        f"indices (got {kind.__name__})"
    )


def _of_sequence(part: Index) -> Value:
    parts = [untraced(x._value) if isinstance(x, Tensor) else x for x in part]
    try:
        array = np.asarray(parts)
    except ValueError as error:
        raise ValueError(f"expected sequences of one length as an index: {error}") from None
    return array.astype(np.int64) if not array.size else array


def _array(array: Value) -> Value:
    """A copy of an array of positions or of a mask; one of no dimensions as a number."""
    kind = array.dtype.kind
    if kind not in "biu":
        raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
    if not array.shape:
        return bool(array) if kind == "b" or array.dtype == np.uint8 else int(array)
    if array.dtype == np.uint8:
        warn(
            "indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool "
            "instead."
        )
        return array.astype(bool)
    return array.copy()


def _slice(part: slice) -> slice:
    start, stop, step = (
        side if side is None or type(side) is int else _bound(side)
        for side in (part.start, part.stop, part.step)
    )
    if step is not None and step <= 0:
        raise ValueError("step must be greater than zero")
    return slice(start, stop, step)


def _bound(side: Index) -> int:
    if isinstance(side, Tensor):
        return int(untraced(side._value).item())
    index: Callable[[], Any] | None = getattr(side, "__index__", None)
    if index is None:
        raise TypeError("slice indices must be integers or None or have an __index__ method")
    return int(index())


def _dimensions(part: Index) -> int:
    if type(part) in (int, slice):
        return 1
    if part is None or part is Ellipsis or type(part) is bool:
        return 0
    return part.ndim if part.dtype.kind == "b" else 1
