"""Functions that read, write and add at positions: gather, scatter, index_select, index_add, put.

Knows PyTorch's parameters and the core's indexing of traced arrays. Must not know views.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad._forms import General
from tapegrad._rule import plain
from tapegrad._scattering import add_at
from tapegrad._tape import Mapped, beside, beside_index, level_of, pick
from tapegrad.torch._call import OPERATIONS, operation
from tapegrad.torch._dims import wrapped
from tapegrad.torch._dtypes import word_of
from tapegrad.torch._filling import filled_as
from tapegrad.torch._graph import node_class
from tapegrad.torch._indexing import chosen
from tapegrad.torch._inplace import write
from tapegrad.torch._modes import MODE
from tapegrad.torch._pointwise import cast
from tapegrad.torch._tensor import Tensor, ndarray

ALL = slice(None)


# --- What they are made of ----------------------------------------------------------------------


def buffer_for(x: Any, value: Any, index: Any) -> Any:
    """A copy of x that a value can be written into: traced where x or the value is."""
    made = x.copy()
    if hasattr(value, "dtype"):
        made = beside(made, value)
    return beside_index(made, index)


def written(x: Any, index: Any, value: Any) -> Any:
    """A copy of x with a value at an index."""
    made = buffer_for(x, value, index)
    made[index] = value
    return made


def added(x: Any, index: Any, value: Any) -> Any:
    """A copy of x with a value added at an index, as often as that names a place."""
    if _is_plain_sum(x, value, index):
        return _SUMS.apply_bound([x, value], {"index": index})
    made = buffer_for(x, value, index)
    np.add.at(made, index, value)
    return made


def _is_plain_sum(x: Any, value: Any, index: Any) -> bool:
    """Whether nothing is mapped, and values have the shape of the places that they go to."""
    if not all(type(part) in (ndarray, slice) for part in index):
        return False
    inner, given = plain(x), plain(value)
    if type(inner) is not ndarray or type(given) is not ndarray or not inner.shape:
        return False
    empty = np.broadcast_to(np.empty((), np.bool_), inner.shape)
    return bool(inner.dtype == given.dtype and empty[index].shape == given.shape)


# One node, where a sum in place would be one for each time that a place is named.
_SUMS = General(
    lambda x, value, index: add_at(x.copy(), index, value),
    vjp=[
        lambda g, _out, _x, _value, index: g,
        lambda g, _out, _x, _value, index: g[index],
    ],
    name="index_add",
)


def positions(index: Any, word: str, *, narrow: bool = True) -> Any:
    """Indices as NumPy wants them; RuntimeError unless they are integers."""
    given = plain(index)
    if not hasattr(given, "dtype"):
        given = np.asarray(given, np.int64 if not np.size(given) else None)
    if given.dtype.kind not in "iu" or (narrow and given.dtype.itemsize < 4):
        raise RuntimeError(f"{word}(): Expected dtype int32/int64 for index")
    return given


def _require_range(index: Any, size: int, dim: int, *, negative: bool, error: Any) -> None:
    if isinstance(index, Mapped) or not index.size:
        return
    low, high = int(index.min()), int(index.max())
    if low < (-size if negative else 0) or high >= size:
        wrong = high if high >= size else low
        raise error(f"index {wrong} is out of bounds for dimension {dim} with size {size}")


def _require_dtype(x: Any, other: Any, word: str) -> None:
    if hasattr(other, "dtype") and other.dtype != x.dtype:
        raise RuntimeError(
            f"{word}(): Expected self.dtype to be equal to src.dtype, but got "
            f"{word_of(x.dtype)} and {word_of(other.dtype)}"
        )


def _at_rows(dim: int, index: Any) -> Any:
    return (*(ALL,) * dim, index) if dim else (index,)


def _grid(x: Any, dim: int, index: Any, word: str) -> tuple[Any, ...]:
    """NumPy's index for elements of which one coordinate is given, the others are their own."""
    if index.ndim != x.ndim:
        raise RuntimeError(
            f"{word}(): Index tensor must have the same number of dimensions as input tensor"
        )
    for axis, (size, room) in enumerate(zip(index.shape, x.shape, strict=True)):
        if axis != dim and size > room:
            raise RuntimeError(
                f"Size does not match at dimension {axis} expected index {list(index.shape)} to "
                f"be no larger than self {list(x.shape)} apart from dimension {dim}"
            )
    _require_range(index, x.shape[dim], dim, negative=False, error=RuntimeError)
    grid = list(np.indices(index.shape, sparse=True))
    grid[dim] = index
    return tuple(grid)


def _part_for(source: Any, index: Any) -> Any:
    """The elements of a source that an index of maybe smaller shape uses."""
    if source.ndim != index.ndim:
        raise RuntimeError("Index tensor must have the same number of dimensions as src tensor")
    if any(n > m for n, m in zip(index.shape, source.shape, strict=True)):
        raise RuntimeError(
            f"Expected index {list(index.shape)} to be no larger than src {list(source.shape)}"
        )
    if source.shape == index.shape:
        return source
    return source[tuple(slice(0, size) for size in index.shape)]


def _lines(*arrays: Any) -> list[Any]:
    """Arrays of no dimensions as vectors of one element."""
    return [x if not hasattr(x, "ndim") or x.ndim else x.reshape((1,)) for x in arrays]


# --- gather and scatter -------------------------------------------------------------------------


@operation("GatherBackward0")
def gather(input: Any, dim: int, index: Any, *, sparse_grad: bool = False) -> Any:
    """`out[i, j] = input[index[i, j], j]` for dim 0, and so on: one element for each index."""
    shape = index.shape
    given = positions(index, "gather", narrow=False)
    if not given.size and given.ndim != input.ndim:
        return np.zeros(shape, input.dtype)
    x, given = _lines(input, given)
    axis = wrapped(dim, x.ndim)
    return pick(x, _grid(x, axis, given, "gather")).reshape(shape)


def _install(word: str, index_for: Callable[..., Any], label: str) -> None:
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


def _gather_index(x: Any, dim: Any = 0, index: Any = None, *rest: Any) -> Any:
    given = index.value if type(index) is Tensor else None
    if rest or not x.ndim or type(given) is not ndarray or not given.size:
        return None
    axis = wrapped(dim, x.ndim)
    return _grid(x, axis, positions(given, "gather", narrow=False).copy(), "gather")


_install("gather", _gather_index, "GatherBackward0")


def _scatter(x: Any, dim: int, index: Any, source: Any, combine: Callable[..., Any]) -> Any:
    """A copy of x into which `combine` puts the source where the indices say."""
    shape = x.shape
    given = positions(index, "scatter", narrow=False)
    if not given.size:
        return x.copy()
    x, given, source = _lines(x, given, source)
    axis = wrapped(dim, x.ndim)
    value = _part_for(source, given) if hasattr(source, "dtype") else filled_as(source, x.dtype)
    return combine(x, _grid(x, axis, given, "scatter"), value).reshape(shape)


def _scatter_label(input: Any, dim: Any, index: Any, src: Any = None, **words: Any) -> str:
    tensor = isinstance(src, Tensor)
    return "ScatterBackward0" if tensor else "ScatterBackward1"


def _multiplied(x: Any, index: Any, value: Any) -> Any:
    return _in_turns(x, index, value, np.multiply)


@operation(_scatter_label, inplace=True)
def scatter(
    input: Any, dim: int, index: Any, src: Any = None, *, value: Any = None, reduce: Any = None
) -> Any:
    """The inverse of gather: elements of src (or one number) to the places of their index.

    reduce: "add" or "multiply" what is there instead of replacing it.
    """
    source = value if src is None else src
    if hasattr(source, "dtype") and source.ndim == 0 and index.ndim:
        source = cast(source, input.dtype) + np.zeros(index.shape, input.dtype)
    _require_dtype(input, source, "scatter")
    if reduce is None:
        return _scatter(input, dim, index, source, written)
    if reduce not in ("add", "multiply"):
        raise RuntimeError("reduce argument must be either add or multiply.")
    return _scatter(input, dim, index, source, added if reduce == "add" else _multiplied)


@operation("ScatterAddBackward0", inplace=True)
def scatter_add(input: Any, dim: int, index: Any, src: Any) -> Any:
    """Elements of src added at the places of their index."""
    _require_dtype(input, src, "scatter")
    return _scatter(input, dim, index, src, added)


# --- Reductions at positions --------------------------------------------------------------------

REDUCTIONS = ("sum", "prod", "mean", "amax", "amin")


def _turns(x: Any, index: Any, shape: tuple[int, ...]) -> Any:
    """For each element of a source, how many before it go to the same place."""
    numbers = np.arange(x.size).reshape(x.shape)[index]
    places = np.broadcast_to(numbers, shape).reshape(-1)
    order = np.argsort(places, kind="stable")
    ranked = places[order]
    new = np.concatenate([[True], ranked[1:] != ranked[:-1]])
    starts = np.maximum.accumulate(np.where(new, np.arange(places.size), 0))
    turns = np.empty(places.size, np.int64)
    turns[order] = np.arange(places.size) - starts
    return turns.reshape(shape)


def _in_turns(x: Any, index: Any, value: Any, function: Any) -> Any:
    """`x[index] = function(x[index], value)`, one round for each time that a place is named."""
    shape = np.broadcast_shapes(*(np.shape(part) for part in index))
    value = np.broadcast_to(value, shape)
    index = tuple(np.broadcast_to(part, shape) for part in index)
    turns = _turns(x, index, shape)
    made = buffer_for(x, value, index)
    for turn in range(int(turns.max(initial=-1)) + 1):
        now = turns == turn
        places = tuple(part[now] for part in index)
        made[places] = function(made[places], value[now])
    return made


def _extreme(x: Any, index: Any, value: Any, ufunc: Any) -> Any:
    """The greatest (or least) of what meets at each place; ties share the cotangent evenly."""
    best = plain(x).copy()
    ufunc.at(best, index, plain(value))
    at_x, at_value = best == plain(x), best[index] == plain(value)
    count = at_x.astype(x.dtype)
    np.add.at(count, index, at_value.astype(x.dtype))
    share = added(np.where(at_x, x, 0), index, np.where(at_value, value, 0)) / np.maximum(count, 1)
    shared = plain(share)
    if level_of(share) < 0:
        return best
    finite = np.isfinite(shared)
    return best + np.where(finite, share - np.where(finite, shared, 0), 0)


def _without_self(x: Any, index: Any, reduce: str) -> Any:
    """x with the neutral element at the places of an index."""
    neutral: Any = {"sum": 0, "mean": 0, "prod": 1}.get(reduce)
    if neutral is None:
        info = np.finfo(x.dtype) if x.dtype.kind == "f" else np.iinfo(x.dtype)
        bounds = (-np.inf, np.inf) if x.dtype.kind == "f" else (info.min, info.max)
        neutral = bounds[0] if reduce == "amax" else bounds[1]
    return written(x, index, x.dtype.type(neutral))


def reduced_at(x: Any, index: Any, value: Any, reduce: str, *, include_self: bool) -> Any:
    """What is at the places of an index together with what goes there."""
    start = x if include_self else _without_self(x, index, reduce)
    if reduce == "sum":
        return added(start, index, value)
    if reduce == "prod":
        return _in_turns(start, index, value, np.multiply)
    if reduce == "mean":
        ones = np.ones(np.broadcast_shapes(*(np.shape(part) for part in index)), x.dtype)
        first = np.ones(x.shape, x.dtype)
        count = added(first if include_self else _without_self(first, index, "sum"), index, ones)
        total = added(start, index, value)
        return total / count if x.dtype.kind in "fc" else total // count
    return _extreme(start, index, value, np.maximum if reduce == "amax" else np.minimum)


def _require_reduction(reduce: str, word: str) -> None:
    if reduce not in REDUCTIONS:
        raise RuntimeError(f"{word}(): expected reduce to be one of {REDUCTIONS}, got {reduce!r}")


@operation("ScatterReduceBackward0", inplace=True)
def scatter_reduce(
    input: Any, dim: int, index: Any, src: Any, reduce: str, *, include_self: bool = True
) -> Any:
    """Elements of src combined at the places of their index: sum, prod, mean, amax or amin.

    include_self: with what is there; places that no index names stay as they are.
    """
    _require_reduction(reduce, "scatter_reduce")
    _require_dtype(input, src, "scatter")

    def combine(x: Any, grid: Any, value: Any) -> Any:
        return reduced_at(x, grid, value, reduce, include_self=include_self)

    return _scatter(input, dim, index, src, combine)


# --- Parts along a dimension --------------------------------------------------------------------


def _rows_of(
    input: Any, dim: int, index: Any, word: str, *, negative: bool = False, error: Any = IndexError
) -> Any:
    given = positions(index, word)
    if given.ndim > 1:
        raise IndexError(f"{word}(): Index is supposed to be a vector")
    (given,) = _lines(given)
    axis = wrapped(dim, input.ndim)
    size = input.shape[axis] if input.ndim else 1
    _require_range(given, size, axis, negative=negative, error=error)
    return axis, given


@operation("IndexSelectBackward0")
def index_select(input: Any, dim: int, index: Any) -> Any:
    """The parts at these positions of a dimension."""
    axis, given = _rows_of(input, dim, index, "index_select")
    if not input.ndim:
        return input.copy()
    return pick(input, _at_rows(axis, given))


def _select_index(x: Any, dim: Any = 0, index: Any = None, *rest: Any) -> Any:
    given = index.value if type(index) is Tensor else None
    if rest or not x.ndim or type(given) is not ndarray:
        return None
    axis, given = _rows_of(x, dim, given.copy(), "index_select")
    return _at_rows(axis, given)


_install("index_select", _select_index, "IndexSelectBackward0")


def _require_parts(
    input: Any, axis: int, index: Any, source: Any, word: str, error: Any = RuntimeError
) -> None:
    _require_dtype(input, source, word)
    expected = (*input.shape[:axis], index.size, *input.shape[axis + 1 :])
    if source.shape != expected and input.ndim:
        raise error(
            f"{word}(): Number of indices and the shape of source must match: expected "
            f"{list(expected)}, got {list(source.shape)}"
        )


@operation("IndexAddBackward0", inplace=True)
def index_add(input: Any, dim: int, index: Any, source: Any, *, alpha: Any = 1) -> Any:
    """The parts of source added at these positions of a dimension."""
    axis, given = _rows_of(input, dim, index, "index_add", error=RuntimeError)
    _require_parts(input, axis, given, source, "index_add")
    shape = input.shape
    x, source_lines = _lines(input, source)
    value = source_lines if type(alpha) is int and alpha == 1 else source_lines * alpha
    return added(x, _at_rows(axis, given), cast(value, x.dtype)).reshape(shape)


@operation("IndexCopyBackward0", inplace=True)
def index_copy(input: Any, dim: int, index: Any, source: Any) -> Any:
    """The parts of source in place of those at these positions of a dimension."""
    axis, given = _rows_of(input, dim, index, "index_copy")
    _require_parts(input, axis, given, source, "index_copy", IndexError)
    shape = input.shape
    x, source_lines = _lines(input, source)
    return written(x, _at_rows(axis, given), source_lines).reshape(shape)


def _filling(value: Any, given: np.dtype[Any], word: str) -> Any:
    """A number or an array of no dimensions, to fill places of an array of a dtype with."""
    if not hasattr(value, "dtype"):
        return filled_as(value, given)
    if value.ndim:
        raise RuntimeError(
            f"{word} only supports a 0-dimensional value tensor, but got tensor with "
            f"{value.ndim} dimension(s)."
        )
    return cast(value, given)


@operation(
    lambda input, dim, index, value: (
        "IndexFillBackward1" if isinstance(value, Tensor) else "IndexFillBackward0"
    ),
    inplace=True,
)
def index_fill(input: Any, dim: int, index: Any, value: Any) -> Any:
    """One value at these positions of a dimension."""
    axis, given = _rows_of(input, dim, index, "index_fill", negative=True)
    shape = input.shape
    (x,) = _lines(input)
    return written(x, _at_rows(axis, given), _filling(value, x.dtype, "index_fill_")).reshape(
        shape
    )


@operation("IndexReduceBackward0", inplace=True)
def index_reduce(
    input: Any, dim: int, index: Any, source: Any, reduce: str, *, include_self: bool = True
) -> Any:
    """The parts of source combined at these positions: prod, mean, amax or amin."""
    _require_reduction(reduce, "index_reduce")
    axis, given = _rows_of(input, dim, index, "index_reduce")
    _require_parts(input, axis, given, source, "index_reduce")
    grid = list(np.indices(source.shape, sparse=True))
    grid[axis] = np.broadcast_to(
        given.reshape((-1,) + (1,) * (source.ndim - 1 - axis)), source.shape
    )
    return reduced_at(input, tuple(grid), source, reduce, include_self=include_self)


# --- Positions of each dimension ----------------------------------------------------------------


def _of_each(indices: Any) -> tuple[Any, ...]:
    parts: list[Any] = []
    for index in indices:
        if index is None:
            parts.append(ALL)
            continue
        given = plain(index)
        given = given if hasattr(given, "dtype") else np.asarray(given)
        if given.dtype.kind not in "biu":
            raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
        parts.append(given.astype(bool) if given.dtype == np.uint8 else given)
    return tuple(parts)


@operation("IndexPutBackward0", inplace=True)
def index_put(input: Any, indices: Any, values: Any, accumulate: bool = False) -> Any:
    """`input[indices] = values`; with accumulate they are added, as often as a place is named."""
    index = _of_each(indices)
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


def _flat_positions(input: Any, index: Any, word: str) -> Any:
    given = positions(index, word, narrow=False)
    size = input.size
    _require_range(given, size, 0, negative=True, error=IndexError)
    return given


@operation("TakeBackward0")
def take(input: Any, index: Any) -> Any:
    """The elements of the flat tensor at these positions."""
    given = _flat_positions(input, index, "take")
    return pick(input.reshape((-1,)), given.reshape(-1)).reshape(given.shape)


@operation("PutBackward0", inplace=True)
def put(input: Any, index: Any, source: Any, accumulate: bool = False) -> Any:
    """The elements of source at these positions of the flat tensor."""
    given = _flat_positions(input, index, "put_").reshape(-1)
    _require_dtype(input, source, "put_")
    if source.size != given.size:
        raise RuntimeError(
            "put_(): Expected source and index to have the same number of elements, but got "
            f"source.numel() = {source.size}, index.numel() = {given.size}"
        )
    function = added if accumulate else written
    flat = function(input.reshape((-1,)), (given,), source.reshape((-1,)))
    return flat.reshape(input.shape)


@operation("GatherBackward0")
def take_along_dim(input: Any, indices: Any, dim: int | None = None) -> Any:
    """One element for each index, along a dimension; the other dimensions broadcast."""
    given = positions(indices, "take_along_dim", narrow=False)
    if dim is None:
        flat = input.reshape((-1,))
        given = given.reshape(-1)
        _require_range(given, flat.shape[0], 0, negative=False, error=RuntimeError)
        return pick(flat, given)
    if given.ndim != input.ndim:
        raise RuntimeError(
            "torch.take_along_dim(): input and indices should have the same number of dimensions, "
            f"but got {input.ndim} dimensions for input, and {given.ndim} dimensions for indices"
        )
    axis = wrapped(dim, input.ndim)
    sizes = [1 if place == axis else size for place, size in enumerate(input.shape)]
    others = np.broadcast_shapes(sizes, given.shape)
    _require_range(given, input.shape[axis], axis, negative=False, error=RuntimeError)
    grid: list[Any] = list(np.indices(others, sparse=True))
    for place, size in enumerate(input.shape):
        if size == 1:
            grid[place] = np.zeros(1, np.int64)  # it broadcasts
    grid[axis] = given
    return pick(input, tuple(grid))


# --- Masks --------------------------------------------------------------------------------------


def _mask(mask: Any, word: str) -> Any:
    given = plain(mask)
    if given.dtype.kind != "b":
        raise RuntimeError(f"{word}: expected BoolTensor for mask")
    return given


@operation("MaskedSelectBackward0")
def masked_select(input: Any, mask: Any) -> Any:
    """The elements where a mask is true, as a vector."""
    given = _mask(mask, "masked_select")
    shape = np.broadcast_shapes(input.shape, given.shape)
    x = input if input.shape == shape else np.broadcast_to(input, shape)
    return x[np.broadcast_to(given, shape)] if shape else x.reshape((1,))[given.reshape(1)]


@operation(
    lambda input, mask, value: (
        "MaskedFillBackward1" if isinstance(value, Tensor) else "MaskedFillBackward0"
    ),
    inplace=True,
)
def masked_fill(input: Any, mask: Any, value: Any) -> Any:
    """The tensor with one value where a mask is true."""
    given = _mask(mask, "masked_fill_")
    return np.where(given, _filling(value, input.dtype, "masked_fill_"), input)


@operation("MaskedScatterBackward0", inplace=True)
def masked_scatter(input: Any, mask: Any, source: Any) -> Any:
    """The elements of source, in order, where a mask is true."""
    given = _mask(mask, "masked_scatter_")
    _require_dtype(input, source, "masked_scatter_")
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


def _replaced(x: Any, part: Any, source: Any, word: str) -> Any:
    """A copy of x with a source in the place of `part(x)`."""
    places = part(np.arange(x.size).reshape(x.shape))
    if source.shape != places.shape:
        raise RuntimeError(
            f"expected src to have a size equal to the slice of self. src size = "
            f"{list(source.shape)}, slice size = {list(places.shape)} ({word})"
        )
    flat = written(x.reshape((-1,)), (places,), cast(source, x.dtype))
    return flat.reshape(x.shape)


@operation("SelectScatterBackward0")
def select_scatter(input: Any, src: Any, dim: int, index: int) -> Any:
    """The tensor with src at one place of a dimension."""
    axis = wrapped(dim, input.ndim)
    size = input.shape[axis]
    if not -size <= index < size:
        raise IndexError(f"select(): index {index} out of range for dimension {axis}")
    return _replaced(input, lambda x: x[(*(ALL,) * axis, index)], src, "select_scatter")


@operation("SliceScatterBackward0")
def slice_scatter(
    input: Any, src: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1
) -> Any:
    """The tensor with src at a slice of a dimension."""
    axis = wrapped(dim, input.ndim)
    part = (*(ALL,) * axis, slice(start, end, step))
    return _replaced(input, lambda x: x[part], src, "slice_scatter")


@operation("DiagonalScatterBackward0")
def diagonal_scatter(input: Any, src: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    """The tensor with src on a diagonal."""
    axes = wrapped(dim1, input.ndim), wrapped(dim2, input.ndim)
    return _replaced(input, lambda x: np.diagonal(x, offset, *axes), src, "diagonal_scatter")


def _fill_diagonal(self: Tensor, fill_value: Any, wrap: bool = False) -> Tensor:
    """Write a number on the main diagonal; wrap: again and again down a tall matrix."""
    shape = self.value.shape
    if len(shape) < 2:
        raise RuntimeError("dimensions must larger than 1")
    if len(shape) > 2 and len(set(shape)) > 1:
        raise RuntimeError("all dimensions of input must be of equal length")
    number = filled_as(fill_value, self.value.dtype)
    mask = np.zeros(shape, bool)
    np.fill_diagonal(mask, True, wrap)
    return write(self, lambda old: np.where(mask, number, old), "CopySlices")


Tensor.fill_diagonal_ = _fill_diagonal  # type: ignore[attr-defined]
OPERATIONS["fill_diagonal_"] = _fill_diagonal

__all__ = ["added", "written"]
