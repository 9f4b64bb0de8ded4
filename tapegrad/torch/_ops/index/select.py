"""Parts by their positions: along one dimension, in each of them, or in the flat tensor.

Knows PyTorch's parameters. Must not know how something is put at positions (`placed`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad._core.types import Index, Value
from tapegrad._core.values import getitem, untraced
from tapegrad.torch._dims import wrapped
from tapegrad.torch._dtypes import word_of
from tapegrad.torch._ops.declare import by_tensor, operation, register
from tapegrad.torch._ops.elementwise.arithmetic import cast, scaled
from tapegrad.torch._ops.fast import are_positions, short_lookup
from tapegrad.torch._ops.index.checks import (
    ALL,
    at_rows,
    lines,
    positions,
    require_dtype,
    require_range,
)
from tapegrad.torch._ops.index.placed import added, filler, reduced_at, require_reduction, written
from tapegrad.torch._tensor.tensor import Tensor, ndarray
from tapegrad.torch._types import Dim, Number, TensorLike


def _rows_of(
    input: Value,
    dim: int,
    index: Value,
    word: str,
    *,
    negative: bool = False,
    error: type[Exception] = IndexError,
) -> tuple[int, Value]:
    given = positions(index, word)
    if given.ndim > 1:
        raise IndexError(f"{word}(): Index is supposed to be a vector")
    (given,) = lines(given)
    axis = wrapped(dim, input.ndim)
    size = input.shape[axis] if input.ndim else 1
    if not size and given.size and word == "index_select":
        raise RuntimeError("index_select(): self indexing axis dim should be positive")
    require_range(given, size, axis, negative=negative, error=error)
    return axis, given


@operation("IndexSelectBackward0")
def index_select(input: Value, dim: int, index: Value) -> Value:
    """The parts at these positions of a dimension.

    -> Tensor: The parts, in the order of `index`.
    IndexError: If there is no such position.
    """
    axis, given = _rows_of(input, dim, index, "index_select")
    if not input.ndim:
        return input.copy()
    return getitem(input, at_rows(axis, given))


def _select_index(x: Value, dim: Dim = 0, index: TensorLike = None, *rest: Any) -> Index:
    given = index._value if type(index) is Tensor else None
    if rest or not x.ndim or type(given) is not ndarray:
        return None
    usual = type(dim) is int and 0 <= dim < x.ndim and given.ndim == 1
    if usual and are_positions(given, x.shape[dim]):
        return at_rows(dim, given.copy()) if dim else given.copy()
    axis, given = _rows_of(x, dim, given.copy(), "index_select")
    return at_rows(axis, given) if axis else given


register(replaces=index_select)(short_lookup(index_select, _select_index, "IndexSelectBackward0"))


def _check_copied(input: Value, axis: int, index: Value, source: Value) -> None:
    """PyTorch's errors for a source of other slices, or of another number of them."""
    slices = [(*x.shape[:axis], *x.shape[axis + 1 :]) for x in (input, source)]
    if slices[0] != slices[1]:
        own, other = (" ".join(map(str, shape)) for shape in slices)
        raise RuntimeError(
            "index_copy_(): Source/destination tensor must have same slice shapes. Destination "
            f"slice shape: {own} at dimension {axis} and source slice shape: {other} at "
            "dimension 0."
        )
    if source.shape[axis] != index.size:
        raise IndexError(
            f"index_copy_(): Number of indices ({index.size}) should be equal to "
            f"source.size(dim) ({source.shape[axis]})"
        )


def _require_parts(
    input: Value,
    axis: int,
    index: Value,
    source: Value,
    word: str,
    error: type[Exception] = RuntimeError,
) -> None:
    require_dtype(input, source, word)
    expected = (*input.shape[:axis], index.size, *input.shape[axis + 1 :])
    one = index.size == 1 and input.ndim <= 1 and not source.shape and word == "index_copy"
    if source.shape != expected and input.ndim and not one:
        raise error(
            f"{word}(): Number of indices and the shape of source must match: expected "
            f"{list(expected)}, got {list(source.shape)}"
        )


@operation("IndexAddBackward0", inplace=True)
def index_add(input: Value, dim: int, index: Value, source: Value, *, alpha: Number = 1) -> Value:
    """The parts of source added at these positions of a dimension.

    alpha: The factor of `source`.
    -> Tensor: A copy of `input` with those sums.

    >>> torch.index_add(torch.zeros(3), 0, torch.tensor([0, 2, 0]), torch.tensor([1.0, 2.0, 3.0]))
    tensor([4., 0., 2.])
    """
    axis, given = _rows_of(input, dim, index, "index_add", error=RuntimeError)
    _require_parts(input, axis, given, source, "index_add")
    shape = input.shape
    x, source_lines = lines(input, source)
    value = scaled(source_lines, alpha)
    return added(x, at_rows(axis, given), cast(value, x.dtype)).reshape(shape)


@operation("IndexCopyBackward0", inplace=True)
def index_copy(input: Value, dim: int, index: Value, source: Value) -> Value:
    """The parts of source in place of those at these positions of a dimension.

    -> Tensor: A copy of `input` with those parts.
    """
    axis, given = _rows_of(input, dim, index, "index_copy")
    if input.ndim and input.ndim == source.ndim:
        _check_copied(input, axis, given, source)
    _require_parts(input, axis, given, source, "index_copy", IndexError)
    shape = input.shape
    x, source_lines = lines(input, source)
    return written(x, at_rows(axis, given), source_lines).reshape(shape)


@operation(by_tensor("IndexFill", 3, "value"), inplace=True, order="preserved")
def index_fill(input: Value, dim: int, index: Value, value: Value) -> Value:
    """One value at these positions of a dimension."""
    axis, given = _rows_of(input, dim, index, "index_fill", negative=True)
    shape = input.shape
    (x,) = lines(input)
    return written(x, at_rows(axis, given), filler(value, x.dtype, "index_fill_")).reshape(shape)


@operation("IndexReduceBackward0", inplace=True)
def index_reduce(
    input: Value, dim: int, index: Value, source: Value, reduce: str, *, include_self: bool = True
) -> Any:
    """The parts of source combined at these positions: prod, mean, amax or amin.

    reduce: "prod", "mean", "amax" or "amin".
    -> Tensor: A copy of `input` with those results.

    >>> index = torch.tensor([0, 0])
    >>> torch.index_reduce(torch.ones(2), 0, index, torch.tensor([2.0, 3.0]), "prod")
    tensor([6., 1.])
    """
    require_reduction(reduce, "index_reduce")
    axis, given = _rows_of(input, dim, index, "index_reduce")
    _require_parts(input, axis, given, source, "index_reduce")
    grid = list(np.indices(source.shape, sparse=True))
    grid[axis] = np.broadcast_to(
        given.reshape((-1,) + (1,) * (source.ndim - 1 - axis)), source.shape
    )
    return reduced_at(input, tuple(grid), source, reduce, include_self=include_self)


# --- Positions of each dimension ----------------------------------------------------------------


def _of_each(indices: Sequence[Value]) -> tuple[Index, ...]:
    parts: list[Index] = []
    for index in indices:
        if index is None:
            parts.append(ALL)
            continue
        given = untraced(index)
        given = given if hasattr(given, "dtype") else np.asarray(given)
        if given.dtype.kind not in "biu":
            raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
        parts.append(given.astype(bool) if given.dtype == np.uint8 else given)
    return tuple(parts)


@operation("IndexPutBackward0", inplace=True, order="preserved")
def index_put(
    input: Value, indices: Sequence[Value], values: Value, accumulate: bool = False
) -> Value:
    """The tensor after `input[indices] = values`.

    indices: Positions, a tensor for each of the first dimensions, or bools.
    values: The elements, of the dtype of `input`; the shapes broadcast.
    """
    index = _of_each(indices)
    masks = [part.dtype.kind == "b" for part in index if hasattr(part, "dtype")]
    if masks == [True] and not accumulate and np.shape(values) == () and hasattr(values, "dtype"):
        values = cast(values, input.dtype)
    if hasattr(values, "dtype") and values.dtype != input.dtype:
        raise RuntimeError(
            "Index put requires the source and destination dtypes match, got "
            f"{word_of(input.dtype)} for the destination and {word_of(values.dtype)} for the "
            "source."
        )
    try:
        return added(input, index, values) if accumulate else written(input, index, values)
    except ValueError as error:
        raise RuntimeError(f"shape mismatch: {error}") from None


def _flat_positions(input: Value, index: Value, word: str) -> Value:
    given = positions(index, word, narrow=False)
    size = input.size
    require_range(given, size, 0, negative=True, error=IndexError)
    return given


@operation("TakeBackward0")
def take(input: Value, index: Value) -> Value:
    """The elements of the flat tensor at these positions.

    index: Positions in the flat tensor, counted from either end.
    -> Tensor: The elements, in the shape of `index`.
    """
    given = _flat_positions(input, index, "take")
    return getitem(input.reshape((-1,)), given.reshape(-1)).reshape(given.shape)


@operation("PutBackward0", inplace=True, order="preserved")
def put(input: Value, index: Value, source: Value, accumulate: bool = False) -> Value:
    """The elements of source at these positions of the flat tensor.

    index: Positions in the flat tensor.
    source: As many elements, of the dtype of `input`.
    """
    given = _flat_positions(input, index, "put_").reshape(-1)
    require_dtype(input, source, "put_")
    if source.size != given.size:
        raise RuntimeError(
            "put_(): Expected source and index to have the same number of elements, but got "
            f"source.numel() = {source.size}, index.numel() = {given.size}"
        )
    function = added if accumulate else written
    flat = function(input.reshape((-1,)), (given,), source.reshape((-1,)))
    return flat.reshape(input.shape)
