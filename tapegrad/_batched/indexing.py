"""Flat positions selected by an index that differs between the examples of a vmap.

Knows NumPy's rules for an index of several parts. Must not know the classes of batched values, nor
whether the positions serve a read, a write or `ufunc.at`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tapegrad._arrays.masked import holds_condition
from tapegrad._batched.batching_rules import rank_of, stacked
from tapegrad._batched.level import VmapLevel
from tapegrad._core.types import Index, Value
from tapegrad._core.values import Mapped, Traced, is_basic_part, is_ndarray, unbatched
from tapegrad._errors import BatchingError


def parts_of(index: Index, array: Mapped) -> list[Any] | None:
    """The parts of an index that needs flat positions; None where NumPy's own indexing will do.

    That is the case for integers, slices, None and Ellipsis, and for a single untraced array.
    """
    parts = list(index) if type(index) is tuple else [index]
    arrays = [i for i, part in enumerate(parts) if _is_array_index(part)]
    if not arrays:
        return None
    batched = any(isinstance(parts[i], VmapLevel.array) for i in arrays)
    if not batched and len(parts) == 1 and not isinstance(parts[0], (list, tuple)):
        return None
    return parts


def _is_array_index(part: Index) -> bool:
    return not is_basic_part(part)


def flat_positions(array: Mapped, parts: list[Index]) -> Any:
    """The positions of the indexed elements in a flattened example, in the result's shape."""
    lifted = [stacked(part) for part in parts]
    if not any(isinstance(part, VmapLevel.array) for part in lifted):
        return np.reshape(np.arange(array.size), array.shape)[tuple(lifted)]
    return _strided_positions(array, _one_part_per_axis(array, lifted))


def _one_part_per_axis(array: Mapped, parts: list[Index]) -> list[Any]:
    """The index with one part per axis, and its Nones, but no Ellipsis and no conditions."""
    expanded: list[Any] = []
    for part in parts:
        if holds_condition(part):
            raise BatchingError(
                f"{array.vmap_level.name}: indexing by a batched condition; each example may pick "
                "another number of elements. Use np.where(condition, x, 0)."
            )
        if isinstance(part, (list, tuple)):
            part = np.asarray(part)
        if is_ndarray(part) and part.dtype.kind == "b":
            expanded += np.nonzero(part)
        else:
            expanded.append(part)
    used = sum(part is not None and part is not Ellipsis for part in expanded)
    rest = [slice(None)] * (array.ndim - used)
    if not any(part is Ellipsis for part in expanded):
        return expanded + rest
    cut = next(i for i, part in enumerate(expanded) if part is Ellipsis)
    return [*expanded[:cut], *rest, *expanded[cut + 1 :]]


def _strided_positions(array: Mapped, parts: list[Index]) -> Any:
    """The sum of index times stride over the axes, each index along its axes of the result.

    Array indices share axes of the result: at their position if they are adjacent, else in front.
    """
    advanced = [i for i, part in enumerate(parts) if not isinstance(part, (slice, type(None)))]
    shared = max(rank_of(parts[i]) for i in advanced)
    together = advanced == list(range(advanced[0], advanced[-1] + 1))
    first = advanced[0] if together else -1
    rank = shared + sum(i not in advanced for i in range(len(parts)))
    position, at = (0, 0) if together else (shared, 0)
    axis = 0
    positions: Any = 0
    for i, part in enumerate(parts):
        if i == first:
            at, position = position, position + shared
        if part is None:
            position += 1
            continue
        size = array.shape[axis]
        stride = math.prod(array.shape[axis + 1 :])
        axis += 1
        if isinstance(part, slice):
            index, start = np.arange(size)[part], position
            position += 1
        else:
            index, start = _in_bounds(part, size, axis - 1), at + shared - rank_of(part)
        shape = (*np.shape(index), *(1,) * (rank - start - rank_of(index)))
        positions = positions + np.reshape(index, shape) * stride
    return np.reshape(positions, (1,) * (rank - rank_of(positions)) + np.shape(positions))


def _in_bounds(index: Index, size: int, axis: int) -> Any:
    if getattr(index, "dtype", np.intp) != np.intp:
        index = index.astype(np.intp)  # positions overflow narrow dtypes
    raw = unbatched(index)
    if not isinstance(raw, Traced) and np.any((raw < -size) | (raw >= size)):
        raise IndexError(f"index out of bounds for axis {axis} with size {size}")
    return np.where(index < 0, index + size, index)


def in_rows(value: Value) -> Any:
    """The flattened examples, as the rows of a matrix."""
    return np.reshape(value, (value.shape[0], math.prod(value.shape[1:])))


def row_numbers(positions: Index, size: int | None = None) -> Any:
    """The number of each example, in a shape that broadcasts to `positions`."""
    count = positions.shape[0] if size is None else size
    return np.reshape(np.arange(count), (count, *(1,) * (len(positions.shape) - 1)))


__all__ = ["flat_positions", "in_rows", "is_basic_part", "parts_of", "row_numbers"]
