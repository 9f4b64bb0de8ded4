"""gather and scatter: an index that names one coordinate of each element.

Knows PyTorch's parameters. Must not know how something is put at positions (`placed`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad._core.types import Function, Index, Value
from tapegrad._core.values import getitem, untraced
from tapegrad.torch._dims import wrapped
from tapegrad.torch._dtypes import word_of
from tapegrad.torch._ops.create.fill import filled_as
from tapegrad.torch._ops.declare import operation, register
from tapegrad.torch._ops.elementwise.arithmetic import cast
from tapegrad.torch._ops.fast import short_lookup
from tapegrad.torch._ops.index.checks import (
    are_below,
    grid_for,
    lines,
    positions,
    require_dtype,
    require_range,
)
from tapegrad.torch._ops.index.placed import (
    added,
    multiplied,
    reduced_at,
    require_reduction,
    written,
)
from tapegrad.torch._tensor.tensor import Tensor, ndarray
from tapegrad.torch._types import Dim, TensorLike


@operation("GatherBackward0")
def gather(input: Value, dim: int, index: Value, *, sparse_grad: bool = False) -> Value:
    """`out[i, j] = input[index[i, j], j]` for dim 0, and so on: one element for each index.

    sparse_grad: Changes nothing: gradients are dense.
    -> Tensor: The elements, in the shape of `index`.
    """
    shape = index.shape
    given = positions(index, "gather", narrow=False)
    if not given.size and given.ndim != input.ndim:
        return np.zeros(shape, input.dtype)
    x, given = lines(input, given)
    axis = wrapped(dim, x.ndim)
    return getitem(x, grid_for(x, axis, given, "gather")).reshape(shape)


# The grids of gather, with None in the place of the index, by all that they depend on.
_GRIDS: dict[Any, tuple[Any, ...]] = {}
_MOST = 1 << 12


def _gather_index(x: Value, dim: Dim = 0, index: TensorLike = None, *rest: Any) -> Index:
    given = index._value if type(index) is Tensor else None
    if type(given) is ndarray and given.dtype.char == "l" and type(dim) is int and not rest:
        key = x.shape, given.shape, dim
        known = _GRIDS.get(key)
        if known is not None:
            if not are_below(given, x.shape[dim]):
                return None  # which says so
            given = given.copy()
            return tuple([given if part is None else part for part in known])
        if x.ndim and given.size:
            axis = wrapped(dim, x.ndim)
            found = grid_for(x, axis, given, "gather")
            if len(_GRIDS) >= _MOST:
                _GRIDS.clear()
            _GRIDS[key] = tuple([None if i == axis else part for i, part in enumerate(found)])
    if rest or not x.ndim or type(given) is not ndarray or not given.size:
        return None
    axis = wrapped(dim, x.ndim)
    return grid_for(x, axis, positions(given, "gather", narrow=False).copy(), "gather")


register(replaces=gather)(short_lookup(gather, _gather_index, "GatherBackward0"))


@operation("GatherBackward0")
def take_along_dim(input: Value, indices: Value, dim: int | None = None) -> Value:
    """One element for each index, along a dimension; the other dimensions broadcast.

    indices: Positions along the dimension, counted from either end.
    dim: The dimension, counted from either end; the flat tensor unless given, whose positions are
        counted from its start.
    -> Tensor: The elements.
    """
    given = untraced(indices)
    if not hasattr(given, "dtype") or given.dtype != np.int64:
        kind = word_of(given.dtype) if hasattr(given, "dtype") else type(given).__name__
        raise RuntimeError(
            f"torch.take_along_dim(): dtype of indices should be Long but got {kind}"
        )
    if dim is None:
        flat = input.reshape((-1,))
        given = given.reshape(-1)
        require_range(given, flat.shape[0], 0, negative=False, error=RuntimeError)
        return getitem(flat, given)
    if given.ndim != input.ndim:
        raise RuntimeError(
            "torch.take_along_dim(): input and indices should have the same number of dimensions, "
            f"but got {input.ndim} dimensions for input, and {given.ndim} dimensions for indices"
        )
    axis = wrapped(dim, input.ndim)
    sizes = [1 if place == axis else size for place, size in enumerate(input.shape)]
    others = np.broadcast_shapes(sizes, given.shape)
    require_range(given, input.shape[axis], axis, negative=True, error=RuntimeError)
    grid: list[Value] = list(np.indices(others, sparse=True))
    for place, size in enumerate(input.shape):
        if size == 1:
            grid[place] = np.zeros(1, np.int64)  # it broadcasts
    grid[axis] = given
    return getitem(input, tuple(grid))


def _part_for(source: Value, index: Value) -> Value:
    """The part of a source that has the shape of an index, which may be smaller."""
    if source.ndim != index.ndim:
        raise RuntimeError("Index tensor must have the same number of dimensions as src tensor")
    if any(n > m for n, m in zip(index.shape, source.shape, strict=True)):
        raise RuntimeError(
            f"Expected index {list(index.shape)} to be no larger than src {list(source.shape)}"
        )
    if source.shape == index.shape:
        return source
    return source[tuple(slice(0, size) for size in index.shape)]


def _scatter(x: Value, dim: int, index: Value, source: Value, combine: Function) -> Value:
    """A copy of x into which `combine` puts the source at the positions in `index`."""
    shape = x.shape
    given = positions(index, "scatter", narrow=False)
    if not given.size:
        return x.copy()
    x, given, source = lines(x, given, source)
    axis = wrapped(dim, x.ndim)
    value = _part_for(source, given) if hasattr(source, "dtype") else filled_as(source, x.dtype)
    return combine(x, grid_for(x, axis, given, "scatter"), value).reshape(shape)


def _scatter_label(
    input: TensorLike, dim: Dim, index: TensorLike, src: TensorLike = None, **words: Any
) -> str:
    tensor = isinstance(src, Tensor)
    return "ScatterBackward0" if tensor else "ScatterBackward1"


@operation(_scatter_label, inplace=True)
def scatter(
    input: Value,
    dim: int,
    index: Value,
    src: Value = None,
    *,
    value: Value = None,
    reduce: str | None = None,
) -> Value:
    """The inverse of gather: elements of src (or one number) written to the positions in `index`.

    src (Tensor or number): The elements, at least as many as positions along each
        dimension.
    value (number): One number instead.
    reduce: "add" or "multiply" what is there, instead of replacing it.
    """
    source = value if src is None else src
    if hasattr(source, "dtype") and source.ndim == 0 and index.ndim:
        source = cast(source, input.dtype) + np.zeros(index.shape, input.dtype)
    require_dtype(input, source, "scatter")
    if reduce is None:
        return _scatter(input, dim, index, source, written)
    if reduce not in ("add", "multiply"):
        raise RuntimeError("reduce argument must be either add or multiply.")
    return _scatter(input, dim, index, source, added if reduce == "add" else multiplied)


@operation("ScatterAddBackward0", inplace=True)
def scatter_add(input: Value, dim: int, index: Value, src: Value) -> Value:
    """Elements of src added at the positions in `index`.

    -> Tensor: A copy of `input` with those sums.
    """
    require_dtype(input, src, "scatter")
    return _scatter(input, dim, index, src, added)


@operation("ScatterReduceBackward0", inplace=True)
def scatter_reduce(
    input: Value, dim: int, index: Value, src: Value, reduce: str, *, include_self: bool = True
) -> Value:
    """Elements of src combined at the positions in `index`; those at no position are unchanged.

    reduce: "sum", "prod", "mean", "amax" or "amin".
    include_self: Whether the elements of `input` at these positions take part.
    -> Tensor: A copy of `input` with those results.

    >>> index = torch.tensor([0, 0])
    >>> torch.scatter_reduce(torch.ones(2), 0, index, torch.tensor([3.0, 5.0]), "amax")
    tensor([5., 1.])
    """
    require_reduction(reduce, "scatter_reduce")
    require_dtype(input, src, "scatter")

    def combine(x: Value, grid: Index, value: Value) -> Value:
        return reduced_at(x, grid, value, reduce, include_self=include_self)

    return _scatter(input, dim, index, src, combine)
