"""Reductions of segments of an axis: `ufunc.reduceat`.

Its segments may overlap, fall or leave a beginning out; these are gathered first, so that the
rules see segments that follow each other and fill the axis: sums, products and extrema. Segments
of any other ufunc are gathered by their lengths, and are running values.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from tapegrad._core.forms import general, linear
from tapegrad._core.types import Cotangent, Index, Tangent, Value
from tapegrad._core.values import any_true, branch_on, is_plain_array, untraced
from tapegrad.rules.recurrence import accumulate, recurrence

# --- the rules, for segments that fill the axis


def _spread(values: Value, starts: Index, count: int, axis: int) -> Value:
    """The value of each segment at each of its elements."""
    length = _even_length(starts, count)
    if length and type(values) is np.ndarray:
        shape = values.shape
        made = np.empty((*shape[:axis], count, *shape[axis + 1 :]), values.dtype)
        _by_segment(made, length, axis)[...] = np.expand_dims(values, axis + 1)
        return made  # its own memory: what is made of it may take its place, or return it
    return np.repeat(values, np.diff(starts, append=count), axis)


def _even_length(starts: Index, count: int) -> int:
    """The length of all segments, or 0 where they differ."""
    segments = len(starts)
    length = count // segments
    even = length * segments == count and (starts == np.arange(segments) * length).all()
    return length if even else 0


def _by_segment(x: Any, length: int, axis: int) -> Any:
    """An array with an axis of segments of this length, and one of their elements."""
    shape = x.shape
    return x.reshape(*shape[:axis], shape[axis] // length, length, *shape[axis + 1 :])


def _sums(x: Value, starts: Any = None, axis: int = 0) -> Value:
    return np.add.reduceat(x, starts, axis)


def _sums_transpose(
    g: Cotangent, _out: Value, _x: Value, starts: Any = None, axis: int = 0
) -> Cotangent:
    return _spread(g, starts, _x.shape[axis], axis)


SUMS = linear(_sums, _sums_transpose, name="np.add.reduceat", batch="axis")


def _sums_of(x: Value, starts: Index, axis: int) -> Value:
    return SUMS.apply_bound([x], {"starts": starts, "axis": axis})


def _products(x: Value, starts: Any = None, axis: int = 0) -> Value:
    return np.multiply.reduceat(x, starts, axis)


def _products_vjp(
    g: Cotangent, out: Value, x: Value, starts: Any = None, axis: int = 0
) -> Cotangent:
    if type(g) is np.ndarray and is_ordinary(out, x):
        return _spread(g * out, starts, x.shape[axis], axis) / x
    return _spread(g, starts, x.shape[axis], axis) * products_of_others(x, starts, axis)


def _products_jvp(
    dots: Sequence[Tangent], out: Value, x: Value, starts: Any = None, axis: int = 0
) -> Tangent:
    if type(dots[0]) is np.ndarray and is_ordinary(out, x):
        return out * np.add.reduceat(dots[0] / x, starts, axis)
    return _sums_of(dots[0] * products_of_others(x, starts, axis), starts, axis)


def is_ordinary(out: Value, x: Value) -> bool:
    """Whether a product over one of its factors is exact: none is zero, tiny or infinite."""
    if x.dtype.kind != "f" or not (is_plain_array(out) and is_plain_array(x)):
        return False
    of_product, of_factors = _in_range(x.dtype)
    return bool(branch_on(of_product, out) and branch_on(of_factors, x))


@functools.cache
def _in_range(dtype: Any) -> tuple[Any, Any]:
    """Whether the elements of a product, and those of its factors, are none of these."""
    tiny, most = np.finfo(dtype).smallest_normal, np.finfo(dtype).max

    def of_product(out: Any) -> bool:
        sizes = np.abs(out)
        return bool(tiny < sizes.min(initial=1) and sizes.max(initial=1) <= most)

    def of_factors(x: Any) -> bool:
        # No array of sizes, which is as large as x, where all factors have one sign.
        if x.min(initial=1) > tiny or x.max(initial=-1) < -tiny:
            return True
        return bool(np.abs(x).min(initial=1) > tiny)

    return of_product, of_factors


def products_of_others(x: Value, starts: Index, axis: int) -> Value:
    """For each element the product of those before it and of those after it in its segment.

    There is no division: it is exact at zeros, and differentiable to any order.
    """
    rows = np.moveaxis(x, axis, 0)
    firsts = np.zeros_like(starts, rows.dtype, shape=rows.shape)
    lasts = firsts.copy()
    firsts[starts] = 1
    lasts[[*starts[1:] - 1, -1]] = 1
    before = recurrence(np.where(firsts[1:] == 1, 0, rows[:-1]), firsts, True)
    after = recurrence(np.where(lasts[:-1] == 1, 0, rows[1:])[::-1], lasts[::-1], True)[::-1]
    return np.moveaxis(before * after, 0, axis)


PRODUCTS = general(
    _products, vjp=[_products_vjp], jvp=_products_jvp, name="np.multiply.reduceat", batch="axis"
)


def _ties(out: Value, x: Value, starts: Index, axis: int) -> Value:
    """Which elements equal the extremum of their segment."""
    out, x = untraced(out), untraced(x)
    length = _even_length(starts, x.shape[axis])
    if length and type(out) is type(x) is np.ndarray and not any_true(out != out):
        # Without an array of the extrema that is as large as x.
        found = _by_segment(x, length, axis) == np.expand_dims(out, axis + 1)
        ties: Value = found.reshape(x.shape)
        return ties
    best = _spread(out, starts, x.shape[axis], axis)
    ties = x == best
    if any_true(out != out):
        ties = ties | ((x != x) & (best != best))
    return ties


def _counts(ties: Value, x: Value, starts: Index, axis: int) -> Value:
    kind = np.finfo(x.dtype).dtype
    return np.add.reduceat(ties.astype(kind), starts, axis)


def _extrema_vjp(
    g: Cotangent, out: Value, x: Value, starts: Any = None, axis: int = 0
) -> Cotangent:
    ties = _ties(out, x, starts, axis)
    plain = type(g) is np.ndarray is type(ties) and g.ndim == 1
    if plain and np.count_nonzero(ties) == len(starts):
        x_bar = np.zeros(x.shape, g.dtype)  # one in each segment, in order
        x_bar[np.flatnonzero(ties)] = g
        return x_bar
    shared = g / _counts(ties, x, starts, axis)
    return np.where(ties, _spread(shared, starts, x.shape[axis], axis), 0)


def _extrema_jvp(
    dots: Sequence[Tangent], out: Value, x: Value, starts: Any = None, axis: int = 0
) -> Tangent:
    ties = _ties(out, x, starts, axis)
    dot = dots[0]
    plain = type(dot) is np.ndarray is type(ties) and dot.ndim == 1
    if plain and np.count_nonzero(ties) == len(starts):
        return dot[np.flatnonzero(ties)]
    return _sums_of(np.where(ties, dots[0], 0), starts, axis) / _counts(ties, x, starts, axis)


def _maxima(x: Value, starts: Any = None, axis: int = 0) -> Value:
    return np.maximum.reduceat(x, starts, axis)


def _minima(x: Value, starts: Any = None, axis: int = 0) -> Value:
    return np.minimum.reduceat(x, starts, axis)


MAXIMA, MINIMA = (
    general(function, vjp=[_extrema_vjp], jvp=_extrema_jvp, name=name, batch="axis")
    for function, name in ((_maxima, "np.maximum.reduceat"), (_minima, "np.minimum.reduceat"))
)

RULES: dict[np.ufunc, Any] = {
    np.add: SUMS,
    np.multiply: PRODUCTS,
    np.maximum: MAXIMA,
    np.minimum: MINIMA,
}

# --- any indices


def reduceat(ufunc: np.ufunc, x: Value, indices: Index, axis: int = 0) -> Value:
    """`ufunc.reduceat(x, indices, axis)` of a ufunc that `has_partials`."""
    given = np.asarray(indices)
    axis = normalize_axis_index(axis, x.ndim)
    count = x.shape[axis]
    whole = given.ndim == 1 and given.dtype.kind in "iu" and given.size
    if not whole or given.min() < 0 or given.max() >= count:
        known = ufunc.reduceat(untraced(x), indices, axis)  # NumPy's error
        if not given.size:
            return known
    firsts = given.astype(np.intp, copy=False)
    lengths = np.diff(firsts, append=count)
    if (lengths > 0).all():
        begin = int(firsts[0])
        part = x[(slice(None),) * axis + (slice(begin, None),)] if begin else x
        return of_segments(ufunc, part, firsts - begin, axis)
    lengths = np.maximum(lengths, 1)  # one element, where the next index is not larger
    starts = np.cumsum(lengths) - lengths
    positions = np.repeat(firsts - starts, lengths) + np.arange(lengths.sum())
    return of_segments(ufunc, np.take(x, positions, axis), starts, axis)


def of_segments(ufunc: np.ufunc, x: Value, starts: Index, axis: int) -> Value:
    """The reductions of segments that follow each other and fill the axis."""
    rule = RULES.get(ufunc)
    if rule is not None:
        return rule.apply_bound([x], {"starts": starts, "axis": axis})
    rows = np.moveaxis(x, axis, 0)
    lengths = np.diff(starts, append=len(rows))
    order = np.argsort(lengths, kind="stable")
    ranked, firsts = np.unique(lengths[order], return_index=True)
    parts = [
        _of_one_length(ufunc, rows, starts[which], int(length))
        for length, which in zip(ranked, np.split(order, firsts[1:]), strict=True)
    ]
    back = np.empty_like(order)
    back[order] = np.arange(len(order))
    found = parts[0] if len(parts) == 1 else np.concatenate(parts)[back]
    return np.moveaxis(found, 0, axis)


def _of_one_length(ufunc: np.ufunc, rows: Value, starts: Index, length: int) -> Value:
    if length == 1:
        return rows[starts]
    return accumulate(ufunc, rows[np.arange(length)[:, None] + starts], 0)[-1]


__all__ = ["is_ordinary", "of_segments", "products_of_others", "reduceat"]
