"""Sorting and searching: orders are constants, the sorted values carry the gradient."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from tapegrad._core.types import Value
from tapegrad._core.values import untraced
from tapegrad.torch._dims import along_one, shaped
from tapegrad.torch._ops.declare import operation, register
from tapegrad.torch._ops.elementwise.arithmetic import promoted
from tapegrad.torch._ops.fast import short_reading
from tapegrad.torch._ops.reduce.extrema import taken
from tapegrad.torch._rules.blockwise import LARGE
from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch._types import TensorLike
from tapegrad.torch.return_types import pair

LONG = 64  # elements of a row from which the fastest sort is worth a check for ties


def order_along(values: Value, axis: int, descending: bool) -> Value:
    """The stable order along an axis; NaN is the largest."""
    if not descending:
        return _ascending(values, axis)
    last = values.shape[axis] - 1
    if _is_long(values, axis):
        return _ascending(-values, axis)
    return np.flip(last - np.argsort(np.flip(values, axis), axis, kind="stable"), axis)


def _is_long(values: Value, axis: int) -> bool:
    """Whether rows are sorted much faster without the places of equal elements in mind."""
    return (
        type(values) is np.ndarray
        and values.dtype.char in "fd"
        and axis % values.ndim == values.ndim - 1
        and values.shape[axis] >= LONG
        and values.size >= LARGE
        and not np.isnan(np.add.reduce(values, None))
    )


def _ascending(values: Value, axis: int) -> Value:
    """The stable order: where rows are long, a faster one, and again that of rows with ties."""
    if not _is_long(values, axis):
        return np.argsort(values, axis, kind="stable")
    order = np.argsort(values, axis)
    ordered = np.take_along_axis(values, order, axis)
    tied = np.any(ordered[..., 1:] == ordered[..., :-1], axis=-1)
    if np.any(tied):
        order[tied] = np.argsort(values[tied], -1, kind="stable")
    return order


def _first(values: Value, axis: int, count: int, descending: bool) -> Value:
    """The places of the first elements in the order along an axis."""
    size = values.shape[axis]
    if _is_long(values, axis) and 0 < 4 * count <= size:
        given = -values if descending else values
        bounds = np.partition(given, count - 1, -1)[..., count - 1 : count]
        among = np.flatnonzero(given <= bounds)
        rows = values.size // size
        if among.size == rows * count:  # no other element is equal to the last one
            among = among.reshape(*values.shape[:-1], count)
            order = np.argsort(given.reshape(-1)[among], -1, kind="stable")
            return np.take_along_axis(among, order, -1) % size
    return np.take(order_along(values, axis, descending), np.arange(count), axis)


def _sorted(word: str, input: Value, dim: int, descending: bool) -> Any:
    array, axis = along_one(input, dim)
    order = order_along(untraced(array), axis, descending)
    values = taken(array, order, axis)
    return pair(word, shaped(values, input.shape), shaped(order, input.shape))


def _label_of_sort(input: TensorLike, *rest: Any, **words: Any) -> str:
    return f"SortBackward{1 if 'stable' in words else 0}"


@operation(_label_of_sort, order="preserved")
def sort(input: Value, dim: int = -1, descending: bool = False, stable: bool | None = None) -> Any:
    """The elements in order along a dimension, and where they were: (values, indices).

    -> named tuple: The elements `values`, and their positions `indices`, in the shape of
        `input`.
    """
    return _sorted("sort", input, dim, descending)


_by_place = short_reading(sort, "SortBackward0", 0, order="preserved")
_stably = short_reading(sort, "SortBackward1", 0, order="preserved")


@register(replaces=sort)
def _sort(input: Tensor, *args: Any, **words: Any) -> Any:
    return (_stably if "stable" in words else _by_place)(input, *args, **words)


@operation("SortBackward0", order="preserved")
def argsort(input: Value, dim: int = -1, descending: bool = False, stable: bool = False) -> Any:
    """Where the elements in order along a dimension are.

    -> Tensor: Positions (int64), in the shape of `input`.
    """
    return _sorted("sort", untraced(input), dim, descending).indices


@operation("SortBackward0", order="preserved")
def msort(input: Value) -> Any:
    """The elements in order along the first dimension.

    -> Tensor: The elements, in the shape of `input`.
    """
    return _sorted("sort", input, 0, False).values


@operation("TopkBackward0")
def topk(input: Value, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    """The k largest (or smallest) elements along a dimension in order, and where they are.

    k: How many.
    largest: Whether the largest are meant, else the smallest.
    -> named tuple: The elements `values`, and their positions `indices`, with k along the
        dimension.
    """
    if isinstance(dim, bool):
        raise TypeError("topk(): argument 'dim' must be int, not bool")
    array, axis = along_one(input, dim)
    if not 0 <= k <= array.shape[axis]:
        raise RuntimeError("selected index k out of range")
    places = _first(untraced(array), axis, k, largest)
    values = taken(array, places, axis)
    shape = () if not input.ndim and k else places.shape
    return pair("topk", shaped(values, shape), shaped(places, shape))


register(replaces=topk)(short_reading(topk, "TopkBackward0", 1))


def _searched(sequence: Value, values: Value, side: Literal["left", "right"]) -> Value:
    if sequence.ndim == 1:
        return np.asarray(np.searchsorted(sequence, values, side))
    if sequence.shape[:-1] != values.shape[:-1]:
        raise RuntimeError(
            "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 "
            f"dimensions of boundaries tensor and input value tensor must match, but we got "
            f"boundaries tensor {list(sequence.shape)} and input value tensor "
            f"{list(values.shape)}"
        )
    rows = np.reshape(sequence, (-1, sequence.shape[-1]))
    wanted = np.reshape(values, (len(rows), -1))
    found = [np.searchsorted(row, part, side) for row, part in zip(rows, wanted, strict=True)]
    return np.reshape(np.asarray(found, np.int64), values.shape)


@operation("SearchsortedBackward0", method=False)
def searchsorted(
    sorted_sequence: Value,
    input: Value,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Value = None,
) -> Value:
    """Where values would have to be put into a sorted sequence, row by row.

    sorted_sequence: The sequences (..., n), each in ascending order along the last dimension.
    input (Tensor or number): The values (..., m).
    right: Whether a value goes behind those that equal it.
    side: "left" or "right", another word for `right`.
    sorter: Positions that bring each sequence into ascending order.
    -> Tensor: Whole numbers, in the shape of `input`.
    """
    if side not in (None, "left", "right"):
        raise RuntimeError(
            f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}"
        )
    if side == "left" and right:
        raise RuntimeError(
            "torch.searchsorted(): side and right can't be set to opposites, got side of left "
            "while right was True"
        )
    sequence, values = promoted(untraced(sorted_sequence), untraced(input))
    if sorter is not None:
        sequence = np.take_along_axis(sequence, untraced(sorter), -1)
    found = _searched(sequence, values, "right" if right or side == "right" else "left")
    return found.astype(np.int32 if out_int32 else np.int64)


@operation("BucketizeBackward0", method=False)
def bucketize(
    input: Value, boundaries: Value, *, out_int32: bool = False, right: bool = False
) -> Value:
    """The number of the bucket between sorted boundaries in which each value is.

    input (Tensor or number): The values.
    boundaries: The boundaries, in ascending order.
    -> Tensor: Whole numbers, in the shape of `input`.
    """
    values, sequence = promoted(untraced(input), untraced(boundaries))
    found = np.asarray(np.searchsorted(sequence, values, "right" if right else "left"))
    return found.astype(np.int32 if out_int32 else np.int64)
