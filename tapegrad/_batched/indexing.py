"""Where the elements lie that each example's own indices name, as places in a flattened example.

Knows NumPy's rules for an index of several parts. Must not know the classes of batched values, nor
what is done at the places: reads, writes and `ufunc.at` ask for them here.
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
    """The parts of an index that needs a table of places; None where NumPy's own index will do.

    That is the case for integers, slices, None and Ellipsis, and for arrays in one place.
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
    """Where the indexed elements stand in a flattened example, laid out as the result is."""
    lifted = [stacked(part) for part in parts]
    if not any(isinstance(part, VmapLevel.array) for part in lifted):
        return np.reshape(np.arange(array.size), array.shape)[tuple(lifted)]
    return _strided_places(array, _spelled_out(array, lifted))


def _spelled_out(array: Mapped, parts: list[Index]) -> list[Any]:
    """One part an axis (and the Nones): no Ellipsis, no conditions, nothing left away."""
    spelled: list[Any] = []
    for part in parts:
        if holds_condition(part):
            raise BatchingError(
                f"{array.vmap_level.name}: indexing by a batched condition; each example may pick "
                "another number of elements. Use np.where(condition, x, 0)."
            )
        if isinstance(part, (list, tuple)):
            part = np.asarray(part)
        if is_ndarray(part) and part.dtype.kind == "b":
            spelled += np.nonzero(part)
        else:
            spelled.append(part)
    used = sum(part is not None and part is not Ellipsis for part in spelled)
    rest = [slice(None)] * (array.ndim - used)
    if not any(part is Ellipsis for part in spelled):
        return spelled + rest
    cut = next(i for i, part in enumerate(spelled) if part is Ellipsis)
    return [*spelled[:cut], *rest, *spelled[cut + 1 :]]


def _strided_places(array: Mapped, parts: list[Index]) -> Any:
    """The sum of index times stride over the axes, each index along its own axes of the result.

    Array indices share axes of the result: where they stand if they stand together, else in front.
    """
    advanced = [i for i, part in enumerate(parts) if not isinstance(part, (slice, type(None)))]
    shared = max(rank_of(parts[i]) for i in advanced)
    together = advanced == list(range(advanced[0], advanced[-1] + 1))
    first = advanced[0] if together else -1
    rank = shared + sum(i not in advanced for i in range(len(parts)))
    position, at = (0, 0) if together else (shared, 0)
    axis = 0
    places: Any = 0
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
        places = places + np.reshape(index, shape) * stride
    return np.reshape(places, (1,) * (rank - rank_of(places)) + np.shape(places))


def _in_bounds(index: Index, size: int, axis: int) -> Any:
    if getattr(index, "dtype", np.intp) != np.intp:
        index = index.astype(np.intp)  # places do not fit into narrow dtypes
    raw = unbatched(index)
    if not isinstance(raw, Traced) and np.any((raw < -size) | (raw >= size)):
        raise IndexError(f"index out of bounds for axis {axis} with size {size}")
    return np.where(index < 0, index + size, index)


def in_rows(value: Value) -> Any:
    """The elements of each example in a row."""
    return np.reshape(value, (value.shape[0], math.prod(value.shape[1:])))


def row_numbers(places: Index, size: int | None = None) -> Any:
    """The number of each example, beside its places."""
    count = places.shape[0] if size is None else size
    return np.reshape(np.arange(count), (count, *(1,) * (len(places.shape) - 1)))


__all__ = ["flat_positions", "in_rows", "is_basic_part", "parts_of", "row_numbers"]
