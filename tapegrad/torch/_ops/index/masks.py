"""Elements where a mask is true, and parts of a tensor replaced.

Knows PyTorch's parameters. Must not know how something is put at positions (`placed`).
"""

from __future__ import annotations

import numpy as np

from tapegrad._core.types import Function, Value
from tapegrad._core.values import untraced
from tapegrad.torch._dims import wrapped
from tapegrad.torch._ops.create.fill import filled_as
from tapegrad.torch._ops.declare import by_tensor, operation, register
from tapegrad.torch._ops.elementwise.arithmetic import cast
from tapegrad.torch._ops.index.checks import ALL, require_dtype
from tapegrad.torch._ops.index.placed import filler, written
from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch._tensor.writes import write
from tapegrad.torch._types import Number

# --- Masks --------------------------------------------------------------------------------------


def _mask(mask: Value, word: str) -> Value:
    given = untraced(mask)
    if given.dtype.kind != "b":
        if word == "masked_fill_":
            words = {"uint8": "unsigned char", "int64": "long int", "float32": "float"}
            words |= {"float64": "double", "int32": "int", "int16": "short"}
            found = words.get(given.dtype.name, given.dtype.name)
            raise RuntimeError(
                f"{word} only supports boolean masks, but got mask with dtype {found}"
            )
        raise RuntimeError(f"{word}: expected BoolTensor for mask")
    return given


@operation("MaskedSelectBackward0")
def masked_select(input: Value, mask: Value) -> Value:
    """The elements where a mask is true, as a vector.

    -> Tensor: A vector.
    """
    given = _mask(mask, "masked_select")
    shape = np.broadcast_shapes(input.shape, given.shape)
    x = input if input.shape == shape else np.broadcast_to(input, shape)
    return x[np.broadcast_to(given, shape)] if shape else x.reshape((1,))[given.reshape(1)]


@operation(by_tensor("MaskedFill", 2, "value"), inplace=True, planned=True)
def masked_fill(input: Value, mask: Value, value: Value) -> Value:
    """The tensor with one value where a mask is true.

    value (number or Tensor): The number, or a tensor of no dimensions.
    """
    given = _mask(mask, "masked_fill_")
    return np.where(given, filler(value, input.dtype, "masked_fill_"), input)


@operation("MaskedScatterBackward0", inplace=True)
def masked_scatter(input: Value, mask: Value, source: Value) -> Value:
    """The elements of source, in order, where a mask is true.

    source: At least as many elements as places, of the dtype of `input`.

    >>> mask = torch.tensor([True, False, True])
    >>> torch.masked_scatter(torch.zeros(3), mask, torch.tensor([1.0, 2.0]))
    tensor([1., 0., 2.])
    """
    given = _mask(mask, "masked_scatter_")
    require_dtype(input, source, "masked_scatter_")
    shape = np.broadcast_shapes(input.shape, given.shape)
    x = input if input.shape == shape else np.broadcast_to(input, shape)
    places = np.flatnonzero(np.broadcast_to(given, shape))
    if places.size > source.size:
        raise RuntimeError(
            f"Number of elements of source < number of ones in mask, {source.size} < {places.size}"
        )
    values = source.reshape((-1,))[: places.size]
    return written(x.reshape((-1,)), (places,), values).reshape(shape)


# --- Parts replaced -----------------------------------------------------------------------------


def _replaced(x: Value, part: Function, source: Value, word: str) -> Value:
    """A copy of x with a source in place of `part(x)`."""
    places = part(np.arange(x.size).reshape(x.shape))
    if source.shape != places.shape:
        raise RuntimeError(
            f"expected src to have a size equal to the slice of self. src size = "
            f"{list(source.shape)}, slice size = {list(places.shape)} ({word})"
        )
    flat = written(x.reshape((-1,)), (places,), cast(source, x.dtype))
    return flat.reshape(x.shape)


@operation("SelectScatterBackward0", order="preserved")
def select_scatter(input: Value, src: Value, dim: int, index: int) -> Value:
    """The tensor with src at one place of a dimension.

    src: The part that is written, of the shape that `select` returns.
    index: The position, counted from either end.
    """
    axis = wrapped(dim, input.ndim)
    size = input.shape[axis]
    if not -size <= index < size:
        raise IndexError(f"select(): index {index} out of range for dimension {axis}")
    return _replaced(input, lambda x: x[(*(ALL,) * axis, index)], src, "select_scatter")


@operation("SliceScatterBackward0", order="preserved")
def slice_scatter(
    input: Value,
    src: Value,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> Value:
    """The tensor with src at a slice of a dimension.

    src: The part that is written, of the shape of the slice.
    start: The first position; the first of all unless given.
    end: Where to stop, not included; after the last position unless given.
    """
    axis = wrapped(dim, input.ndim)
    part = (*(ALL,) * axis, slice(start, end, step))
    return _replaced(input, lambda x: x[part], src, "slice_scatter")


@operation("DiagonalScatterBackward0", order="preserved")
def diagonal_scatter(
    input: Value, src: Value, offset: int = 0, dim1: int = 0, dim2: int = 1
) -> Value:
    """The tensor with src on a diagonal.

    src: The diagonals that are written.
    """
    axes = wrapped(dim1, input.ndim), wrapped(dim2, input.ndim)
    return _replaced(input, lambda x: np.diagonal(x, offset, *axes), src, "diagonal_scatter")


@register("fill_diagonal_")
def _fill_diagonal(self: Tensor, fill_value: Number, wrap: bool = False) -> Tensor:
    """Write a number on the main diagonal.

    fill_value: The number.
    wrap: Whether it starts again further down a tall matrix.
    -> Tensor: This tensor itself.
    """
    shape = self._value.shape
    if len(shape) < 2:
        raise RuntimeError("dimensions must larger than 1")
    if len(shape) > 2 and len(set(shape)) > 1:
        raise RuntimeError("all dimensions of input must be of equal length")
    number = filled_as(fill_value, self._value.dtype)
    mask = np.zeros(shape, bool)
    np.fill_diagonal(mask, True, wrap)
    return write(self, lambda old: np.where(mask, number, old), "CopySlices")
