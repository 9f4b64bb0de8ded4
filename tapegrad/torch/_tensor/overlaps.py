"""Writes to memory that the operation also reads in part, which PyTorch refuses.

Knows where arrays lie in memory. Must not know how something is written.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from tapegrad._core.types import Index, Value
from tapegrad._core.values import is_basic
from tapegrad.torch._graph.sharing import Memory, along, path_of
from tapegrad.torch._graph.versions import owner_of
from tapegrad.torch._tensor.tensor import Tensor, ndarray


def check_apart(tensor: Tensor, sources: Iterable[Tensor]) -> None:
    """Raise RuntimeError for a write to memory that a source lies in part of.

    Only where both lie without gaps, as in PyTorch; a source in just the same place is fine.
    """
    for source in sources:
        target, value = tensor._value, source._value
        if type(value) is not ndarray or type(target) is not ndarray:
            target, value = stand_ins(tensor, source)
        _check(target, [value])


def _check(target: Value, sources: Iterable[Value]) -> None:
    for value in sources:
        if (
            type(value) is ndarray is type(target)
            and (value.base is not None or target.base is not None)
            and value is not target
            and owner_of(value) is owner_of(target)
            and _overlap_in_part(target, value)
        ):
            raise RuntimeError(
                "unsupported operation: some elements of the input tensor and the written-to "
                "tensor refer to a single memory location. Please clone() the tensor before "
                "performing the operation."
            )


def check_part(tensor: Tensor, index: Index, source: Tensor) -> None:
    """`check_apart` for a write to a part, where that is a view."""
    target, value = tensor._value, source._value
    if type(value) is not ndarray or type(target) is not ndarray:
        if not is_basic(index):
            return
        target, value = stand_ins(tensor, source)
    if type(value) is ndarray and owner_of(value) is owner_of(target):
        try:
            part = target[index]
        except IndexError:  # which the write itself says better
            return
        if type(part) is ndarray and part.base is not None:
            _check(part, [value])


def stand_ins(tensor: Tensor, source: Tensor) -> tuple[Value, Value]:
    """Arrays that lie in memory as two tensors do in a trace; None for memories apart."""
    places: list[tuple[Any, tuple[Any, ...]]] = []
    for x in (tensor, source):
        base = x if x._base is None else x._base
        memory = base._memory
        path = () if x._view_fn is None else (x._view_fn,)
        known = None if memory is None else path_of(memory, base)
        places.append((base, path) if known is None else (memory, (*known, *path)))
    (whole, first), (other, second) = places
    if whole is not other:
        return None, None
    value = whole.value if isinstance(whole, Memory) else whole._value
    room = np.empty(value.shape, value.dtype)
    return along(first, room), along(second, room)


def _overlap_in_part(value: Value, other: Value) -> bool:
    if not (value.size and other.size and is_dense(value) and is_dense(other)):
        return False
    first, second = (x.__array_interface__["data"][0] for x in (value, other))
    if first == second and value.nbytes == other.nbytes:
        return bool(value.strides != other.strides)
    return bool(first < second + other.nbytes and second < first + value.nbytes)


def is_dense(value: Value) -> bool:
    """Whether the elements fill a stretch of memory, each once, in any order."""
    step = value.itemsize
    along = zip(value.strides, value.shape, strict=True)
    for stride, side in sorted(pair for pair in along if pair[1] > 1):
        if stride != step:
            return False
        step *= side
    return True


__all__ = ["check_apart", "check_part", "is_dense"]
