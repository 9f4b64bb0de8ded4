"""Positions in PyTorch's terms: their dtypes, their range, and NumPy's index for them.

Knows arrays and errors. Must not know what is read or written there (`placed`).
"""

from __future__ import annotations

import functools

import numpy as np

from tapegrad._core.types import Index, Value
from tapegrad._core.values import is_mapped, untraced
from tapegrad.torch._dtypes import word_of

ALL = slice(None)


def positions(index: Value, word: str, *, narrow: bool = True) -> Value:
    """Indices as NumPy wants them; RuntimeError unless they are integers."""
    given = untraced(index)
    if not hasattr(given, "dtype"):
        given = np.asarray(given, np.int64 if not np.size(given) else None)
    if given.dtype.kind not in "iu" or (narrow and given.dtype.itemsize < 4):
        raise RuntimeError(f"{word}(): Expected dtype int32/int64 for index")
    return given


_UNSIGNED = np.dtype(np.uint64)


def are_below(index: Value, size: int) -> bool:
    """Whether int64 positions, of which there are some, are from 0 to below a size."""
    found = index.view(_UNSIGNED)  # where negative ones are large
    return bool(found.item(found.argmax()) < size)  # at a third of the price of a reduction


def require_range(
    index: Value, size: int, dim: int, *, negative: bool, error: type[Exception]
) -> None:
    """Raise an error unless indices lie in a dimension of a size."""
    if is_mapped(index) or not index.size:
        return
    if type(index) is np.ndarray and index.dtype.char == "l" and are_below(index, size):
        return
    low, high = int(index.min()), int(index.max())
    if low < (-size if negative else 0) or high >= size:
        wrong = high if high >= size else low
        raise error(f"index {wrong} is out of bounds for dimension {dim} with size {size}")


def require_dtype(x: Value, other: Value, word: str) -> None:
    """RuntimeError unless a number or an array has the dtype of what it goes into."""
    if hasattr(other, "dtype") and other.dtype != x.dtype:
        raise RuntimeError(
            f"{word}(): Expected self.dtype to be equal to src.dtype, but got "
            f"{word_of(x.dtype)} and {word_of(other.dtype)}"
        )


def at_rows(dim: int, index: Value) -> Index:
    """NumPy's index for the parts at positions of one dimension."""
    return (*(ALL,) * dim, index) if dim else (index,)


@functools.lru_cache(maxsize=512)
def sparse_grid(shape: tuple[int, ...]) -> tuple[Value, ...]:
    return tuple(np.indices(shape, sparse=True))


def grid_for(x: Value, dim: int, index: Value, word: str) -> tuple[Value, ...]:
    """NumPy's index for gather: `index` gives the position along `dim` for each of its elements.

    The positions along the other dimensions are those of the element in `index` itself.
    """
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
    require_range(index, x.shape[dim], dim, negative=False, error=RuntimeError)
    grid = list(sparse_grid(index.shape))
    grid[dim] = index
    return tuple(grid)


def lines(*arrays: Value) -> list[Value]:
    """Arrays of no dimensions as vectors of one element."""
    return [x if not hasattr(x, "ndim") or x.ndim else x.reshape((1,)) for x in arrays]
