"""Indexing: `x[...]`, `x[...] = v`, and the functions that read and write by positions and masks.

Knows indices in PyTorch's terms and in NumPy's, views and writes. Must not know how views look in
memory.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad._core.entry import READ, spec_of
from tapegrad._core.values import Mapped, getitem
from tapegrad.torch._dtypes import word_of
from tapegrad.torch._graph.modes import MODE
from tapegrad.torch._graph.node import Node, new, node_class
from tapegrad.torch._graph.order import next_number
from tapegrad.torch._ops.create.fill import filled_as
from tapegrad.torch._ops.declare import OPERATIONS, finish, offered, tell
from tapegrad.torch._ops.index.syntax import Parsed, parse
from tapegrad.torch._ops.shape.reshape import reshaped
from tapegrad.torch._ops.view_paths import Index, announce, label_of, node_for, view_of
from tapegrad.torch._tensor.tensor import Tensor, array_of, ndarray, of_value
from tapegrad.torch._tensor.writes import overwrite, put

SELECT = label_of("Select")
SLICE = label_of("Slice")
INDEX = label_of("Index")


def _getitem(self: Tensor, index: Any) -> Tensor:
    """`x[index]`: a view for integers, slices, None and Ellipsis; a copy for tensors and lists."""
    kind = type(index)
    shape = self.value.shape
    if kind is int and shape:
        if not -shape[0] <= index < shape[0]:
            raise IndexError(
                f"index {index} is out of bounds for dimension 0 with size {shape[0]}"
            )
        return view_of(self, Index(index), SELECT)
    label = _label_of_frequent(index, kind, shape)
    if label is not None:
        return view_of(self, Index(index), label)
    parsed = parse(index, shape)
    if parsed.chosen is None:
        return view_of(self, Index(_simple(parsed.basic)), label_of(parsed.name))
    if not parsed.whole:
        self = view_of(self, Index(_simple(parsed.basic)), label_of(parsed.name))
    return chosen(self, _simple(parsed.chosen), INDEX)


def _label_of_frequent(index: Any, kind: type, shape: tuple[int, ...]) -> Any:
    """The node of integers and slices that need no other look; None for any other index."""
    if kind is slice:
        parts: Any = (index,)
    elif kind is tuple:
        parts = index
    else:
        return None
    if not 0 < len(parts) <= len(shape):
        return None
    label = None
    for part, size in zip(parts, shape, strict=False):
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


def _simple(index: tuple[Any, ...]) -> Any:
    """An index of one part without its tuple, which reads faster, also in a backward pass."""
    while index and type(index[-1]) is slice and index[-1] == slice(None):
        index = index[:-1]
    if not index:
        return ...
    return index[0] if len(index) == 1 else index


def chosen(self: Tensor, index: Any, label: type[Node]) -> Tensor:
    """A copy of the elements at positions, which must be the node's own."""
    value = self.value
    mode = MODE.get()
    if type(value) is not ndarray or mode is not None or _differs(index):
        start = next_number()
        found: Tensor = finish(getitem(array_of(self), index), self, label, view=False)
        if mode is not None:
            announce(found, mode, start, label, self)
        return found
    made: Tensor = new(Tensor)
    made.value = value[index]
    made.node = None
    if self.node is not None:
        node = new(label)
        node._number = next_number()
        node._entry = READ, None, spec_of(value), index, node_for(self), None
        made.node = node
    return made


def install_lookup(word: str, index_for: Callable[..., Any], label: str) -> None:
    """Let tensors outside of transforms be read at an index at once, as one entry."""
    general, node = OPERATIONS[word], node_class(label)

    @functools.wraps(general)
    def call(input: Any, *args: Any, **words: Any) -> Any:
        if words or type(input) is not Tensor or MODE.get() is not None:
            return general(input, *args, **words)
        found = index_for(input.value, *args) if type(input.value) is ndarray else None
        return general(input, *args) if found is None else chosen(input, found, node)

    OPERATIONS[word] = call
    setattr(Tensor, word, call)


def _differs(index: Any) -> bool:
    parts = index if type(index) is tuple else (index,)
    return any(isinstance(part, Mapped) for part in parts)


def _setitem(self: Tensor, index: Any, value: Any) -> None:
    """`x[index] = value`: written into this tensor's memory, and logged."""
    mode = MODE.get()
    start = next_number() if mode is not None else 0
    _assign(self, index, value)
    if mode is not None:
        tell(mode, start, "__setitem__", (index, value), self)


def _assign(self: Tensor, index: Any, value: Any) -> None:
    parsed = parse(index, self.value.shape)
    source = _assigned(self, value)
    if parsed.chosen is not None:
        target = self if parsed.whole else _taken(self, parsed)
        put(target, _simple(parsed.chosen), source, "IndexPutBackward0")
        return
    basic = _simple(parsed.basic)
    room = len(self.value[Index(basic).taken].shape) if type(self.value) is ndarray else None
    if isinstance(source, Tensor) and room is not None:
        source = _without_leading(source, room)
    if parsed.whole:
        copies = isinstance(source, Tensor) and (source.value.shape or not self.value.shape)
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


def _check_view(self: Tensor) -> None:
    """What PyTorch says of a part of a leaf that requires grad, where it is written to."""
    mode = MODE.get()
    if self.is_leaf and self.node is not None and (mode is None or mode.grad):
        raise RuntimeError(
            "a view of a leaf Variable that requires grad is being used in an in-place operation."
        )


def _taken(self: Tensor, parsed: Parsed) -> Tensor:
    return view_of(self, Index(_simple(parsed.basic)), label_of(parsed.name))


def _assigned(self: Tensor, value: Any) -> Any:
    """What is on the right of an assignment: a tensor, or a number of this tensor's dtype."""
    if isinstance(value, Tensor):
        return value
    if not isinstance(value, (bool, int, float, complex, np.number, np.bool_)):
        raise TypeError(
            f"can't assign a {_kind_of(value)} to a torch.{word_of(self.value.dtype)}Tensor"
        )
    return filled_as(value, self.value.dtype)


def _kind_of(value: Any) -> str:
    return "numpy.ndarray" if isinstance(value, np.ndarray) else type(value).__name__


def _without_leading(source: Tensor, room: int) -> Tensor:
    """A source without the leading dimensions of size 1 that its place has not."""
    shape = source.value.shape
    while len(shape) > room and shape[0] == 1:
        shape = shape[1:]
    if len(shape) > room:
        raise RuntimeError(
            f"expand(torch.{word_of(source.value.dtype)}Tensor{{{list(shape)}}}): the number of "
            f"sizes provided ({room}) must be greater or equal to the number of dimensions in the "
            f"tensor ({len(shape)})"
        )
    return source if shape == source.value.shape else reshaped(source, shape)


Tensor.__getitem__ = _getitem  # type: ignore[method-assign]
Tensor.__setitem__ = _setitem  # type: ignore[method-assign]


@offered(function=False, plain=True)
def copy_(self: Tensor, src: Any, non_blocking: bool = False) -> Tensor:
    """Write another tensor's elements into this one, in its dtype and broadcast to its shape."""
    if not isinstance(src, Tensor):
        src = of_value(np.asarray(src))
    mode = MODE.get()
    start = next_number() if mode is not None else 0
    overwrite(self, src)
    if mode is not None:
        tell(mode, start, "copy_", (src,), self)
    return self


__all__ = ["copy_"]
