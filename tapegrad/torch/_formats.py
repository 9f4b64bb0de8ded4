"""Memory formats: the orders in which the elements of an array lie.

Knows strides of NumPy arrays and PyTorch's names of formats. Must not know tensors.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad._core.types import Value
from tapegrad.torch._dtypes import (
    channels_last,
    channels_last_3d,
    contiguous_format,
    preserve_format,
)

RANKS = {id(channels_last): 4, id(channels_last_3d): 5}


def rank_of(memory_format: Any) -> int | None:
    """How many dimensions arrays of a format with channels last have; None for other formats."""
    return RANKS.get(id(memory_format))


def is_in(value: Value, memory_format: Any) -> bool:
    """Whether an array lies in a format without gaps."""
    rank = rank_of(memory_format)
    if rank is None:
        return bool(value.flags.c_contiguous)
    if value.ndim != rank:
        return False
    return bool(np.moveaxis(value, 1, -1).flags.c_contiguous)


def suggested(value: Value) -> Any:
    """The format that PyTorch takes an array to be in: channels last only where that is sure."""
    if value.flags.c_contiguous and value.shape[1:2] != (1,):
        return contiguous_format
    for memory_format in (channels_last, channels_last_3d):
        if value.ndim == rank_of(memory_format) and _has_channels_last(value):
            return memory_format
    return contiguous_format


def _has_channels_last(value: Value) -> bool:
    least, steps = 0, value.strides
    if steps[1] == 0:
        return False
    for axis in (1, *range(value.ndim - 1, 1, -1), 0):
        side, step = value.shape[axis], steps[axis]
        if side == 0 or step < least or (axis == 0 and least == steps[1]):
            return False
        least = step * max(side, 1)
    return True


def arranged(value: Value, memory_format: Any) -> Value:
    """An array in a format: itself where it is, or a copy.

    Raises RuntimeError for channels last of an array without the right number of dimensions.
    """
    rank = rank_of(memory_format)
    if memory_format is preserve_format or type(value) is not np.ndarray:
        return value
    check_rank(value, memory_format)
    if rank is None:
        return value if value.flags.c_contiguous else value.copy("C")
    if value.strides == _strides_of(value):
        return value
    return np.moveaxis(np.moveaxis(value, 1, -1).copy("C"), -1, 1)


def _strides_of(value: Value) -> tuple[int, ...]:
    """The strides of an array like this one with its channels last."""
    steps, step = [0] * value.ndim, value.itemsize
    for axis in (1, *range(value.ndim - 1, 1, -1), 0):
        steps[axis] = step
        step *= max(value.shape[axis], 1)
    return tuple(steps)


def check_rank(value: Value, memory_format: Any) -> None:
    """Raise RuntimeError where an array cannot be in a format."""
    rank = rank_of(memory_format)
    if rank is not None and value.ndim != rank:
        raise RuntimeError(f"required rank {rank} tensor to use {_word(memory_format)} format")


def arranged_like(value: Value, other: Value) -> Value:
    """An array of the same shape in the memory order of another one."""
    if not (type(value) is type(other) is np.ndarray) or other.flags.c_contiguous:
        return value
    made = np.empty_like(other, value.dtype)
    made[...] = value
    return made


def laid_out(value: Value, source: Value, order: str) -> Value:
    """A result in the memory order that PyTorch gives it: itself where it is, or a copy.

    source: the first argument. order: "contiguous"; "suggested", which is channels last where the
    source is; "preserved", the order of a source of the same shape.
    """
    if order == "preserved" and value.shape == source.shape:
        if source.flags.c_contiguous and value.flags.c_contiguous:
            return value
        made = np.empty_like(source, value.dtype)
        if made.strides == value.strides:
            return value
        made[...] = value
        return made
    if order == "suggested" and value.ndim in (4, 5):
        memory_format = suggested(source)
        if value.ndim == rank_of(memory_format):
            return arranged(value, memory_format)
    return value if value.flags.c_contiguous else value.copy("C")


def _word(memory_format: Any) -> str:
    return "channels_last" if memory_format is channels_last else "channels_last_3d"
