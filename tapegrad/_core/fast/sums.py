"""Reductions of arrays of a shape, and sums to one that broadcasts to it: decided once.

Knows shapes and dtypes. Must not know rules, tapes, or what is summed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

_ROW = 1 << 12  # elements, up to which a row of ones is kept, and sums of rows are as exact


# NumPy adds up to seven elements one after the other, and pays for each row of a reduction. The
# elements after the axis lie together; with more of them, or few results, its own way is as fast.
_SHORT, _APART, _RESULTS = 7, 16, 256


def reducing(
    ufunc: np.ufunc, shape: tuple[int, ...], axis: Any, keepdims: bool = False
) -> Callable[[Any], Any]:
    """`ufunc.reduce` of real arrays of a shape: along a short axis element by element.

    The bits are the same, at up to a twentieth of the price. Which of 0.0 and -0.0 is the greater
    depends on the processor and on how NumPy goes along: where an extreme is zero, NumPy answers.
    """
    reduce: Any = ufunc.reduce
    if type(axis) is not int or len(shape) < 2:
        return lambda a: reduce(a, axis, None, None, keepdims)
    axis %= len(shape)
    count, size, apart = shape[axis], int(np.prod(shape)), int(np.prod(shape[axis + 1 :]))
    if not 2 <= count <= _SHORT or apart > _APART or size < _RESULTS * count:
        return lambda a: reduce(a, axis, None, None, keepdims)
    lead = (slice(None),) * axis
    first, second, *rest = [(*lead, slice(i, i + 1) if keepdims else i) for i in range(count)]
    starts_at_zero = ufunc is np.add  # so that no sum is -0.0
    is_extreme = ufunc is np.maximum or ufunc is np.minimum

    def by_elements(a: Any) -> Any:
        if a.strides[axis] < 0:  # which NumPy goes along in the order of memory
            return reduce(a, axis, None, None, keepdims)
        out = ufunc(a[first], a[second])
        for index in rest:
            ufunc(out, a[index], out=out)
        if starts_at_zero:
            out += 0
        elif is_extreme and np.count_nonzero(out) != out.size:
            return reduce(a, axis, None, None, keepdims)
        return out

    return by_elements


def summing(
    shape: tuple[int, ...], to: tuple[int, ...], dtype: np.dtype[Any] | None = None
) -> Callable[[Any], Any] | None:
    """A sum of arrays of a shape to one that broadcasts to it; None if they are the same.

    Sums of real numbers along neighbouring axes are products with ones: at most a third of the
    price of NumPy's reduction.
    """
    if shape == to:
        return None
    lead = len(shape) - len(to)
    stretched = [lead + i for i, side in enumerate(to) if side == 1 and shape[lead + i] != 1]
    axes: Any = (*range(lead), *stretched)
    size = int(np.prod(shape))
    if dtype is not None and dtype.char in "fd" and size:
        count = size // int(np.prod(to))
        if axes == tuple(range(len(axes))) and count < size:
            return _by_ones_before(shape, to, count, dtype)
        if axes == tuple(range(len(shape) - len(axes), len(shape))) and count <= _ROW:
            return _by_ones_behind(shape, to, count, dtype)
        if axes == tuple(range(axes[0], axes[0] + len(axes))) and count <= _ROW:
            ones = np.ones(count, dtype)
            apart = (int(np.prod(shape[: axes[0]])), count, -1)
            return lambda g: np.matmul(ones, g.reshape(apart)).reshape(to)
    if len(axes) == 1:
        (axes,) = axes
    if not stretched:
        return lambda g: np.add.reduce(g, axes)
    return lambda g: np.add.reduce(g, axes, keepdims=True).reshape(to)


def _product_with(ones: Any) -> Callable[[Any], Any]:
    """`ones.dot`, which converts a value whose calls are recorded; `np.dot` leaves it as it is."""
    dot = ones.dot
    return lambda g: dot(g) if type(g) is np.ndarray else np.dot(ones, g)


def _by_ones_before(
    shape: tuple[int, ...], to: tuple[int, ...], count: int, dtype: np.dtype[Any]
) -> Callable[[Any], Any]:
    """Sums along the first axes."""
    if count > _ROW:
        return lambda g: np.ones(count, dtype).dot(g.reshape(count, -1)).reshape(to)
    summed = _product_with(np.ones(count, dtype))
    if len(shape) == 2 and len(to) == 1:
        return summed
    return lambda g: summed(g.reshape(count, -1)).reshape(to)


def _by_ones_behind(
    shape: tuple[int, ...], to: tuple[int, ...], count: int, dtype: np.dtype[Any]
) -> Callable[[Any], Any]:
    """Sums along the last axes, or all."""
    ones = np.ones(count, dtype)
    if not to:
        return _product_with(ones) if len(shape) == 1 else lambda g: g.reshape(-1).dot(ones)
    if len(shape) == 2 and count == shape[1]:
        return lambda g: g.dot(ones).reshape(to)
    return lambda g: g.reshape(-1, count).dot(ones).reshape(to)


_PRODUCTS = 1 << 10  # elements, from which a product of vectors pays for the questions before it


def summing_products(
    shape: tuple[int, ...], to: tuple[int, ...], dtype: np.dtype[Any], total: Callable[[Any], Any]
) -> Callable[[Any, Any], Any] | None:
    """`total(g * p)`, of arrays g of a shape and p that broadcast with them; total: of `summing`.

    Where all of many elements are added up, or the last axis, that is a product of vectors, at
    half of the price as nothing is written. For other sums the result is None.
    """
    size = int(np.prod(shape))
    every = int(np.prod(to)) == 1
    last = (*shape[:-1], 1) == to and shape[-1] <= _ROW
    if dtype.char not in "fd" or size < _PRODUCTS or not (every or last):
        return None

    def product(g: Any, p: Any) -> Any:
        if type(p) is not np.ndarray or p.shape != shape or p.dtype is not dtype:
            return total(g * p)
        if type(g) is not np.ndarray or not (g.flags.c_contiguous and p.flags.c_contiguous):
            return total(g * p)
        if every:
            found = g.reshape(-1).dot(p.reshape(-1))
            return found.reshape(to) if to else found
        return np.vecdot(g, p).reshape(to)

    return product


# --- Running sums -------------------------------------------------------------------------------

_LONG, _ENOUGH = 32, 1 << 13  # elements of an axis and of an array, from which products pay


def runs_by_blocks(shape: tuple[int, ...], axis: int, dtype: np.dtype[Any]) -> bool:
    """Whether running sums of an array along an axis are found faster by `running_sums`."""
    axis %= len(shape)
    last = axis == len(shape) - 1 and shape[axis] >= _LONG and int(np.prod(shape)) >= _ENOUGH
    return last and dtype.char in "fd" and bool(_width(shape[axis]))


def running_sums(a: Any, *, back: bool = False) -> Any:
    """Running sums along the last axis of an array that `runs_by_blocks`; back: from its end.

    NumPy waits for each addition before it begins the next. Here the sums of all blocks before are
    added to the first element of a block, whose running sums are then a product with a triangle:
    a third of the price, with smaller errors.
    """
    count = a.shape[-1]
    width = _width(count)
    made = np.array(a, order="C")
    rows = made.reshape(-1, width)
    totals = rows.dot(np.ones(width, a.dtype)).reshape(-1, count // width)
    blocks = totals.shape[1]
    within = np.tri(width, dtype=a.dtype)
    if blocks <= _WIDEST:
        others = np.tri(blocks, k=-1, dtype=a.dtype)
        totals = totals.dot(others if back else others.T)
        rows.reshape(-1, blocks, width)[:, :, -1 if back else 0] += totals
    elif back:
        rows.reshape(-1, blocks, width)[:, :-1, -1] += totals[:, :0:-1].cumsum(1)[:, ::-1]
    else:
        rows.reshape(-1, blocks, width)[:, 1:, 0] += totals[:, :-1].cumsum(1)
    made = rows.dot(within if back else within.T).reshape(a.shape)
    # An infinity or NaN has spread into the elements before it as well; a row's sum shows it.
    if np.count_nonzero(np.isfinite(made[..., 0 if back else -1])) == made.size // count:
        return made
    return a[..., ::-1].cumsum(-1)[..., ::-1] if back else a.cumsum(-1)


_WIDTHS, _WIDEST = (16, 14, 12, 20, 10, 8, 18, 24, 25, 28, 32, 9, 15, 21, 22, 26, 7), 128


def _width(count: int) -> int:
    """How many elements a block has; 0 for numbers that have no such divisor."""
    return next((width for width in _WIDTHS if count % width == 0), 0)


__all__ = ["reducing", "running_sums", "runs_by_blocks", "summing", "summing_products"]
