"""Indexing: `x[...]`, `x[...] = v`, and the functions that read and write by positions and masks.

Knows indices in PyTorch's terms and in NumPy's, views and writes. Must not know how views look in
memory.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad._core import types
from tapegrad._core.types import Value
from tapegrad.torch._dims import clash_of
from tapegrad.torch._dtypes import word_of
from tapegrad.torch._graph.modes import MODE, PLAIN, UNLOGGED
from tapegrad.torch._graph.node import Node, node_class
from tapegrad.torch._graph.order import next_number
from tapegrad.torch._ops.create.fill import filled_as
from tapegrad.torch._ops.declare import begin_write, register, tell
from tapegrad.torch._ops.fast import chosen, chosen_here
from tapegrad.torch._ops.index.syntax import ALL, Parsed, parse
from tapegrad.torch._ops.shape.reshape import reshaped
from tapegrad.torch._ops.view_paths import Index, label_of, view_of
from tapegrad.torch._ops.view_plans import Known, known_view, remember
from tapegrad.torch._tensor.short_writes import is_held, store_part
from tapegrad.torch._tensor.tensor import Tensor, ndarray, of_value
from tapegrad.torch._tensor.writes import COPY_SLICES, overwrite, put
from tapegrad.torch._types import TensorLike

mode_of = MODE.get
SELECT = label_of("Select")
SLICE = label_of("Slice")
INDEX = label_of("Index")
UNSQUEEZE = label_of("Unsqueeze")
COPY = node_class("CopyBackwards")


@register("__getitem__", function=False)
def _getitem(self: Tensor, index: types.Index) -> Tensor:
    """`x[index]`: a view for integers, slices, None and Ellipsis; a copy for tensors and lists."""
    kind = type(index)
    x = self._value
    key: Any = None
    if kind is Tensor or (kind is tuple and index and type(index[0]) is Tensor):
        places = _frequent_places(index, kind, x.shape)
        if places is not None:
            try:
                if type(x) is ndarray and mode_of() is None:
                    return chosen_here(self, x, places, INDEX)
                return chosen(self, places, INDEX)
            except IndexError:
                pass  # what is wrong is said below
    elif type(x) is ndarray and (mode := mode_of()) in PLAIN and not self._inference:
        key = (x.dtype, x.shape, x.strides, index) if kind is int else _key_of(index, kind, x)
        known = _VIEWS.get(key)
        if known is not None:
            return known_view(self, x, known, mode)
    shape = x.shape
    if kind is int and shape:
        if not -shape[0] <= index < shape[0]:
            raise IndexError(
                f"index {index} is out of bounds for dimension 0 with size {shape[0]}"
            )
        return _viewed(self, key, Index(index), SELECT)
    label = _label_of_frequent(index, kind, shape)
    if label is not None:
        return _viewed(self, key, Index(index), label)
    parsed = parse(index, shape)
    if parsed.chosen is None:
        return _viewed(self, key, Index(_simple(parsed.basic)), label_of(parsed.name))
    if not parsed.whole:
        self = view_of(self, Index(_simple(parsed.basic)), label_of(parsed.name))
    return chosen(self, _simple(parsed.chosen), INDEX)


_VIEWS: dict[Any, Known] = {}
_KINDS = frozenset((int, type(None), type(Ellipsis)))


def _key_of(index: types.Index, kind: type, x: Value) -> Any:
    """By what a view of an array by a basic index is remembered; None for any other index."""
    key: list[Any] = [x.dtype, x.shape, x.strides]
    for part in index if kind is tuple else (index,):
        if type(part) is slice:
            start, stop = part.start, part.stop
            if (start is not None and type(start) is not int) or (
                stop is not None and type(stop) is not int
            ):
                return None
            if part.step is None:
                key += slice, start, stop
            elif type(part.step) is int:
                key += range, start, stop, part.step  # an int before `slice` is an index
            else:
                return None
        elif type(part) in _KINDS:
            key.append(part)
        else:
            return None
    key.append(kind)  # x[:] is another index than x[:,]
    return tuple(key)


def _viewed(self: Tensor, key: Any, path: Index, label: type[Node]) -> Tensor:
    if key is not None:
        remember(_VIEWS, key, self._value, path, label)
    return view_of(self, path, label)


def _label_of_frequent(
    index: types.Index, kind: type, shape: tuple[int, ...]
) -> type[Node] | None:
    """The class of the node for integers in range and slices; None for an index to be parsed."""
    if kind is slice:
        parts: Any = (index,)
    elif kind is tuple:
        parts = index
    else:
        return None
    room = len(shape)
    label, place = None, -1
    for part in parts:
        if part is None:
            label = UNSQUEEZE
            continue
        place += 1
        if place == room:
            return None
        size = shape[place]
        if type(part) is int:
            if not -size <= part < size:
                return None
            label = SELECT
        elif type(part) is slice and part.step is None:
            start, stop = part.start, part.stop
            if (start is not None and type(start) is not int) or (
                stop is not None and type(stop) is not int
            ):
                return None
            if start or (stop is not None and stop < size) or kind is slice:
                label = SLICE
        else:
            return None
    return label


def _frequent_places(index: types.Index, kind: type, shape: tuple[int, ...]) -> types.Index:
    """Positions, one tensor of them a dimension from the first; None for any other index."""
    if kind is Tensor:
        parts: Any = (index,)
    elif kind is tuple and 0 < len(index) <= len(shape):
        parts = index
    else:
        return None
    if not shape:
        return None
    found = []
    for part in parts:
        value = part._value if type(part) is Tensor else None
        if type(value) is not ndarray or value.dtype.char != "l" or not value.shape:
            return None
        if not value.size:
            return None
        found.append(value.copy())
    return found[0] if len(found) == 1 else tuple(found)


def _simple(index: tuple[types.Index, ...]) -> types.Index:
    """An index without full slices at its end, and of one part without its tuple.

    NumPy reads faster by it, also in a backward pass.
    """
    while index and type(index[-1]) is slice and index[-1] == slice(None):
        index = index[:-1]
    if not index:
        return ...
    return index[0] if len(index) == 1 else index


@register("__setitem__", function=False)
def _setitem(self: Tensor, index: types.Index, value: TensorLike) -> None:
    """`x[index] = value`: written into this tensor's memory, and logged."""
    mode = MODE.get()
    if mode is None or mode is UNLOGGED:
        part = _frequent_part(index, self._value.shape)
        usual = part is not None and (isinstance(value, Tensor) or is_held(value, self))
        if usual and store_part(self, part, value, COPY_SLICES):
            return
    start = begin_write(mode, self) if mode is not None else 0
    _assign(self, index, value)
    if mode is not None:
        tell(mode, start, "__setitem__", (index, value), self)


def _frequent_part(index: types.Index, shape: tuple[int, ...]) -> types.Index:
    """An index of integers and slices that does not take all, for NumPy; None for any other."""
    kind = type(index)
    if kind is int:
        return index if shape and -shape[0] <= index < shape[0] else None
    if kind is tuple:
        index = _without_ellipsis(index, len(shape))
    label = _label_of_frequent(index, kind, shape)
    if label is None or label is UNSQUEEZE:
        return None
    if kind is slice:
        whole = not index.start and (index.stop is None or index.stop >= shape[0])
        return None if whole else index
    return _simple(index)


def _without_ellipsis(index: tuple[types.Index, ...], room: int) -> tuple[types.Index, ...]:
    """An index of integers, slices and None with full slices where it has an Ellipsis."""
    for place, part in enumerate(index):
        if part is Ellipsis:
            used = sum([part is not None for part in index]) - 1
            return *index[:place], *(ALL,) * (room - used), *index[place + 1 :]
    return index


def _assign(self: Tensor, index: types.Index, value: TensorLike) -> None:
    parsed = parse(index, self._value.shape)
    source = _assigned(self, value)
    if parsed.chosen is not None:
        target = self if parsed.whole else _taken(self, parsed)
        _check_dtypes(target, source, parsed.chosen)
        put(target, _simple(parsed.chosen), source, "IndexPutBackward0")
        return
    basic = _simple(parsed.basic)
    room = len(self._value[Index(basic).taken].shape) if type(self._value) is ndarray else None
    if isinstance(source, Tensor) and room is not None:
        source = _without_leading(source, room)
    if parsed.whole:
        copies = isinstance(source, Tensor) and (source._value.shape or not self._value.shape)
        if copies:
            put(self, ..., source, "CopyBackwards")
        else:
            given = source if isinstance(source, Tensor) else of_value(np.asarray(source))
            self.fill_(given)
    elif self._base is None:
        _check_view(self)
        put(self, basic, source, "CopySlices")
    else:
        put(_taken(self, parsed), ..., source, "CopySlices")


def _check_dtypes(self: Tensor, source: TensorLike, chosen: tuple[types.Index, ...]) -> None:
    """RuntimeError for elements of another dtype; one element fills a mask in any dtype."""
    if not isinstance(source, Tensor) or source._value.dtype == self._value.dtype:
        return
    masks = [part.dtype.kind == "b" for part in chosen if hasattr(part, "dtype")]
    if masks != [True] or source.numel() != 1:
        place = np.broadcast_to(np.False_, self.shape)[_simple(chosen)].shape
        if clash_of(place, source.shape) is not None or source.ndim > len(place):
            return  # the write says that the shapes differ
        raise RuntimeError(
            "Index put requires the source and destination dtypes match, got "
            f"{word_of(self._value.dtype)} for the destination and "
            f"{word_of(source._value.dtype)} for the source."
        )


def _check_view(self: Tensor) -> None:
    """Raise PyTorch's error for a write into a part of a leaf that requires grad."""
    mode = MODE.get()
    if self.is_leaf and self.node is not None and (mode is None or mode.grad):
        raise RuntimeError(
            "a view of a leaf Variable that requires grad is being used in an in-place operation."
        )


def _taken(self: Tensor, parsed: Parsed) -> Tensor:
    return view_of(self, Index(_simple(parsed.basic)), label_of(parsed.name))


def _assigned(self: Tensor, value: TensorLike) -> TensorLike:
    """The right side of an assignment: a tensor, or a number in this tensor's dtype."""
    if isinstance(value, Tensor):
        return value
    if not issubclass(type(value), (bool, int, float, complex, np.number, np.bool_)):
        raise TypeError(
            f"can't assign a {_kind_of(value)} to a torch.{word_of(self._value.dtype)}Tensor"
        )
    return filled_as(value, self._value.dtype)


def _kind_of(value: TensorLike) -> str:
    return "numpy.ndarray" if isinstance(value, np.ndarray) else type(value).__name__


def _without_leading(source: Tensor, room: int) -> Tensor:
    """A source without the leading dimensions of size 1 that the part written to lacks."""
    shape = source._value.shape
    while len(shape) > room and shape[0] == 1:
        shape = shape[1:]
    if len(shape) > room:
        raise RuntimeError(
            f"expand(torch.{word_of(source._value.dtype)}Tensor{{{list(shape)}}}): the number of "
            f"sizes provided ({room}) must be greater or equal to the number of dimensions in the "
            f"tensor ({len(shape)})"
        )
    return source if shape == source._value.shape else reshaped(source, shape)


@register("__delitem__", function=False)
def _delitem(self: Tensor, index: types.Index) -> None:
    """TypeError: a tensor keeps its elements."""
    raise TypeError("Tensor does not support deleting items")


@register(function=False)
def copy_(self: Tensor, src: TensorLike, non_blocking: bool = False) -> Tensor:
    """Write another tensor's elements into this one, in its dtype and broadcast to its shape.

    src: What is written; its shape broadcasts.
    """
    if not isinstance(src, Tensor):
        src = of_value(np.asarray(src))
    mode = MODE.get()
    usual = (mode is None or mode is UNLOGGED) and src._value.shape == self._value.shape
    if usual and store_part(self, ..., src, COPY):
        return self
    start = next_number() if mode is not None else 0
    overwrite(self, src)
    if mode is not None:
        tell(mode, start, "copy_", (src,), self)
    return self
