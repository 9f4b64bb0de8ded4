"""Sums, products, extrema and cumulations along axes.

What several reductions share (`spread`, `axes_of`, `count_of`, `masked`) is public to the other
families; moments are in `moments`, what leaves NaN out in `nan`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tapegrad._rule import (
    cast,
    composite,
    elementwise,
    general,
    lift,
    linear,
    plain,
    somewhere,
)


def spread(g: Any, x: Any, axis: Any, keepdims: Any) -> Any:
    """A reduced value beside the array that it was reduced from: broadcast to its shape."""
    if isinstance(g, np.generic):
        # np.broadcast_to, ten times faster: one number seen at every place.
        shape = x.shape
        return np.ndarray(shape, g.dtype, np.array(g), 0, (0,) * len(shape))
    if axis is not None and not keepdims and x.shape:
        g = np.expand_dims(g, axis)
    return np.broadcast_to(g, x.shape)


def axes_of(x: Any, axis: Any) -> tuple[int, ...]:
    """Axes as a tuple of positions; NumPy lets a 0-d array have an axis 0 and -1."""
    if axis is None or not x.ndim:
        return tuple(range(x.ndim))
    axes = axis if isinstance(axis, tuple) else (axis,)
    return tuple(a % x.ndim for a in axes)


def count_of(x: Any, axis: Any, keepdims: Any, where: Any) -> Any:
    """How many elements each result is made from."""
    if where is True:
        return math.prod([x.shape[a] for a in axes_of(x, axis)])
    chosen = np.broadcast_to(plain(where), x.shape)
    return np.sum(chosen, axis=axis, keepdims=bool(keepdims))


def masked(x: Any, where: Any) -> Any:
    """x, and 0 where it is left out."""
    return x if where is True else np.where(where, x, 0)


def _of_kind(x: Any, dtype: Any) -> Any:
    """x as real numbers where a reduction of complex ones is asked for in a real dtype."""
    if dtype is None or x.dtype.kind == np.dtype(dtype).kind:
        return x
    return cast(x, np.dtype(dtype))


# --- sums


def sum_transpose(
    g: Any,
    _out: Any,
    _x: Any,
    axis: Any = None,
    dtype: Any = None,
    keepdims: Any = False,
    initial: Any = None,
    where: Any = True,
) -> Any:
    """The cotangent of a sum at each element that took part."""
    if where is True:
        return spread(g, _x, axis, keepdims)
    return masked(spread(g, _x, axis, keepdims), where)


def sum_jvp(dots: Any, _out: Any, _x: Any, **params: Any) -> Any:
    """The function itself but for `initial`, which is a constant."""
    params.pop("initial", None)
    return np.sum(dots[0], **params)


def _sum(a: Any, **params: Any) -> Any:
    """np.sum; the frequent sum of everything without its wrapper, which costs as much again."""
    whole = not params and type(a) is np.ndarray
    return np.add.reduce(a, None) if whole else np.sum(a, **params)


general(np.sum, vjp=[sum_transpose], jvp=sum_jvp, batch="axis", implementation=_sum)


# --- products


def _products_of_others(x: Any) -> Any:
    """For each element the product of the others along the last axis, also where some are zero.

    A tree of pairwise products up, then down again, each node taking its sibling's product: no
    division, so it is exact at zeros and differentiable to any order.
    """
    count = x.shape[-1]
    levels = [x]
    while levels[-1].shape[-1] > 1:
        level = levels[-1]
        if level.shape[-1] % 2:
            level = np.concatenate([level, np.ones_like(plain(level[..., :1]))], axis=-1)
            levels[-1] = level
        levels.append(level[..., 0::2] * level[..., 1::2])
    others = np.ones_like(plain(levels[-1]))
    for level in reversed(levels[:-1]):
        others = others[..., : level.shape[-1] // 2]
        even, odd = others * level[..., 1::2], others * level[..., 0::2]
        others = np.stack([even, odd], axis=-1).reshape(level.shape)
    return others[..., :count]


def prod_vjp(
    g: Any,
    _out: Any,
    x: Any,
    axis: Any = None,
    dtype: Any = None,
    keepdims: Any = False,
    initial: Any = 1,
    where: Any = True,
) -> Any:
    """The cotangent times the product of the other elements."""
    if x.size == 0:
        return np.zeros(x.shape, x.dtype)
    x = _of_kind(x, dtype)
    axes = axes_of(x, axis)
    kept = tuple(a for a in range(x.ndim) if a not in axes)
    chosen = x if where is True else np.where(where, x, 1)
    rows = np.transpose(chosen, kept + axes)
    flat = rows.reshape(*(x.shape[a] for a in kept), -1)
    others = _products_of_others(flat).reshape(rows.shape) * initial
    back = np.transpose(others, tuple(np.argsort(kept + axes)))
    return masked(spread(g, x, axis, keepdims) * back, where)


general(np.prod, vjp=[prod_vjp], batch="axis")


# --- extrema: ties share evenly


def _ties(
    x: Any, out: Any, axis: Any, keepdims: Any, initial: Any, where: Any, takes_nan: bool
) -> tuple[Any, Any]:
    """Which elements are the result, and how many: a start takes part in ties."""
    x, out = plain(x), plain(out)
    best = spread(out, x, axis, keepdims)
    ties = x == best
    if takes_nan and somewhere(out != out):
        ties = ties | ((x != x) & (best != best))
    ties = masked(ties, where)
    count = np.sum(ties, axis=axis if x.ndim else None, keepdims=bool(keepdims))
    if initial is not None:
        count = count + (out == initial)
    return ties, np.maximum(count, 1).astype(np.finfo(x.dtype).dtype)


def extremum_vjp(
    g: Any,
    out: Any,
    x: Any,
    axis: Any = None,
    keepdims: Any = False,
    initial: Any = None,
    where: Any = True,
    takes_nan: bool = True,
) -> Any:
    """`takes_nan`: the result is NaN where there is one, which then gets the whole cotangent."""
    ties, count = _ties(x, out, axis, keepdims, initial, where, takes_nan)
    # Chosen, not multiplied: an infinite tangent of a loser must not become 0 * inf.
    return np.where(ties, spread(g / count, x, axis, keepdims), 0)


def extremum_jvp(
    dots: Any,
    out: Any,
    x: Any,
    axis: Any = None,
    keepdims: Any = False,
    initial: Any = None,
    where: Any = True,
    takes_nan: bool = True,
) -> Any:
    """The mean of the tangents of those that tie."""
    ties, count = _ties(x, out, axis, keepdims, initial, where, takes_nan)
    return np.sum(np.where(ties, dots[0], 0), axis=axis, keepdims=bool(keepdims)) / count


def _ptp(a: Any, axis: Any = None, keepdims: Any = False) -> Any:
    largest = np.max(a, axis=axis, keepdims=bool(keepdims))
    return largest - np.min(a, axis=axis, keepdims=bool(keepdims))


for extremum in (np.max, np.min):
    general(extremum, vjp=[extremum_vjp], jvp=extremum_jvp, batch="axis")
composite(np.amax, lambda a, *args, **options: np.max(a, *args, **options))
composite(np.amin, lambda a, *args, **options: np.min(a, *args, **options))
composite(np.ptp, _ptp)


# --- clipping: an element on a bound shares with it


def _takes(out: Any, x: Any) -> Any:
    """Where x is the result."""
    return (x == out) | ((x != x) & (out != out))


def _clip_by_x(out: Any, x: Any, low: Any, high: Any) -> Any:
    """1 between the bounds, 1/2 on one; 0 where the bounds leave x no choice."""
    x, low, high, out = plain(x), plain(low), plain(high), plain(out)
    if not somewhere(np.logical_not(low < high)):  # the usual bounds, for a third of the price
        part = np.logical_not((x < low) | (x > high)).astype(out.dtype)
        on_bound = (x == low) | (x == high)
        return np.where(on_bound, part / 2, part) if somewhere(on_bound) else part
    part = _takes(out, x) / np.where(_takes(out, low) | _takes(out, high), 2, 1)
    return np.where((low >= high) & (x == x), 0, part).astype(out.dtype)


def _clip_by_low(out: Any, x: Any, low: Any, high: Any) -> Any:
    x, low, high, out = plain(x), plain(low), plain(high), plain(out)
    part = _takes(out, low) / np.where(_takes(out, x), 2, 1)
    return np.where(low == high, 0.5 * (x <= low), part).astype(out.dtype)


def _clip_by_high(out: Any, x: Any, low: Any, high: Any) -> Any:
    x, low, high, out = plain(x), plain(low), plain(high), plain(out)
    part = _takes(out, high) / np.where(_takes(out, x), 2, 1)
    part = np.where(low == high, 1 - 0.5 * (x <= low), part)
    return np.where(low > high, 1, part).astype(out.dtype)


def _between(x: Any, low: Any, high: Any) -> Any:
    return np.clip(x, low, high)


BETWEEN = elementwise(
    _between, _clip_by_x, _clip_by_low, _clip_by_high, strong=True, name="np.clip"
)


def _bounds(a_min: Any, a_max: Any, given: dict[str, Any]) -> tuple[Any, Any]:
    """The bounds under either of their names, with NumPy's errors for half of them or both."""
    if a_min is np._NoValue and a_max is np._NoValue:
        return given.get("min"), given.get("max")
    for name, bound in (("a_min", a_min), ("a_max", a_max)):
        if bound is np._NoValue:
            raise TypeError(f"clip() missing 1 required positional argument: {name!r}")
    if given:
        raise ValueError(
            "Passing `min` or `max` keyword argument when `a_min` and `a_max` are provided is "
            "forbidden."
        )
    return a_min, a_max


def _clip(
    a: Any,
    a_min: Any = np._NoValue,
    a_max: Any = np._NoValue,
    *,
    min: Any = np._NoValue,
    max: Any = np._NoValue,
    where: Any = True,
    **options: Any,
) -> Any:
    given = {"min": min, "max": max}
    given = {name: bound for name, bound in given.items() if bound is not np._NoValue}
    values = [_value(value) for value in (a, *_bounds(a_min, a_max, given))]
    if where is not True:
        raise TypeError(
            "np.clip: where= is not differentiable. Write np.where(where, clipped, x)."
        )
    if options.get("dtype") is not None:
        # NumPy decides whether it casts, and what is whole has no derivative.
        result = np.clip(*map(plain, values), **options)
        if result.dtype.kind not in "fc":
            return result
        values = [x if x is None else _value(x, result.dtype) for x in values]
    x, low, high = values
    if low is None and high is None:
        return np.positive(x)
    if low is None:
        return np.minimum(x, high)
    return np.maximum(x, low) if high is None else BETWEEN.apply_bound([x, low, high], {})


def _value(x: Any, dtype: Any = None) -> Any:
    """An array of a list; numbers as they are, for their dtype gives way to that of arrays."""
    x = lift(x)
    if isinstance(x, (list, tuple)):
        x = np.asarray(x)
    if dtype is None:
        return x
    return x.astype(dtype) if hasattr(x, "dtype") else dtype.type(x)


composite(np.clip, _clip)


# --- cumulations


def cumsum_transpose(g: Any, _out: Any, _x: Any, axis: Any = None, dtype: Any = None) -> Any:
    """A sum from the other end."""
    return np.flip(np.cumsum(np.flip(g, axis), axis=axis), axis).reshape(_x.shape)


def cumprod_jvp(dots: Any, _out: Any, x: Any, axis: Any = None, dtype: Any = None) -> Any:
    """Doubling: after k rounds an element has the product of the last 2**k and its derivative.

    No division, so it is exact at zeros.
    """
    x, x_dot = (
        part.reshape(-1) if axis is None or part.ndim == 0 else np.moveaxis(part, axis, -1)
        for part in (_of_kind(x, dtype), _of_kind(dots[0], dtype))
    )
    step, count = 1, x.shape[-1]
    while step < count:
        product_dot = x_dot[..., step:] * x[..., :-step] + x[..., step:] * x_dot[..., :-step]
        x_dot = np.concatenate([x_dot[..., :step], product_dot], axis=-1)
        x = np.concatenate([x[..., :step], x[..., step:] * x[..., :-step]], axis=-1)
        step *= 2
    return x_dot if axis is None else np.moveaxis(x_dot, -1, axis)


def cumprod_vjp(g: Any, out: Any, x: Any, axis: Any = None, dtype: Any = None) -> Any:
    """The product before an element, times what comes after it: s[j] = g[j] + x[j + 1] s[j + 1].

    Solved by doubling: after k rounds s[j] has the next 2**k terms. No division either.
    """
    flat = axis is None or x.ndim == 0
    shape, count = x.shape, out.shape[0 if flat else axis]
    if count == 0:
        return np.zeros(shape, g.dtype)
    g, out, x = (
        part.reshape(-1) if flat else np.moveaxis(part, axis, -1)
        for part in (g, out, _of_kind(x, dtype))
    )
    following, step = x[..., 1:], 1
    while step < count:
        longer = g[..., :-step] + following * g[..., step:]
        g = np.concatenate([longer, g[..., -step:]], axis=-1)
        following = following[..., :-step] * following[..., step:]
        step *= 2
    before = np.concatenate([np.ones_like(plain(out[..., :1])), out[..., :-1]], axis=-1)
    x_bar = g * before
    return x_bar.reshape(shape) if flat else np.moveaxis(x_bar, -1, axis)


def _without_start(g: Any, axis: Any, include_initial: bool) -> Any:
    if not include_initial:
        return g
    return np.moveaxis(np.moveaxis(g, axis or 0, 0)[1:], 0, axis or 0)


def _cumulative_sum_transpose(
    g: Any, _out: Any, _x: Any, axis: Any = None, dtype: Any = None, include_initial: bool = False
) -> Any:
    return cumsum_transpose(_without_start(g, axis, include_initial), _out, _x, axis or 0)


def _cumulative_prod_vjp(
    g: Any,
    out: Any,
    x: Any,
    axis: Any = None,
    dtype: Any = None,
    include_initial: bool = False,
) -> Any:
    g, out = (_without_start(part, axis, include_initial) for part in (g, out))
    return cumprod_vjp(g, out, x, axis or 0, dtype)


def _cumulative_prod_jvp(
    dots: Any,
    _out: Any,
    x: Any,
    axis: Any = None,
    dtype: Any = None,
    include_initial: bool = False,
) -> Any:
    axis = axis or 0
    out_dot = cumprod_jvp(dots, _out, x, axis, dtype)
    if not include_initial:
        return out_dot
    shape = list(out_dot.shape)
    shape[axis] = 1
    start = np.zeros_like(plain(out_dot), shape=shape)  # the first element is 1, a constant
    return np.concatenate([start, out_dot], axis=axis)


linear(np.cumsum, cumsum_transpose, batch="flat")
general(np.cumprod, vjp=[cumprod_vjp], jvp=cumprod_jvp, batch="flat")
if hasattr(np, "cumulative_sum"):  # since NumPy 2.1
    linear(np.cumulative_sum, _cumulative_sum_transpose, batch="flat")
    general(np.cumulative_prod, vjp=[_cumulative_prod_vjp], jvp=_cumulative_prod_jvp, batch="flat")
