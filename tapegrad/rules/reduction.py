"""Sums, products, means, extrema and cumulations along axes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tapegrad._rule import composite, general, linear, plain


def _spread(g: Any, x: Any, axis: Any, keepdims: Any) -> Any:
    """A reduced value beside the array that it was reduced from: broadcast to its shape."""
    if isinstance(g, np.generic):
        # np.broadcast_to, ten times faster: one number seen at every place.
        shape = x.shape
        return np.ndarray(shape, g.dtype, np.array(g), 0, (0,) * len(shape))
    if axis is not None and not keepdims:
        g = np.expand_dims(g, axis)
    return np.broadcast_to(g, x.shape)


def _axes(x: Any, axis: Any) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(x.ndim))
    axes = axis if isinstance(axis, tuple) else (axis,)
    return tuple(a % x.ndim for a in axes)


def _count(x: Any, axis: Any, keepdims: Any, where: Any) -> Any:
    """How many elements each result is made from."""
    if where is True:
        return math.prod([x.shape[a] for a in _axes(x, axis)])
    chosen = np.broadcast_to(plain(where), x.shape)
    return np.sum(chosen, axis=axis, keepdims=bool(keepdims))


def _masked(x: Any, where: Any) -> Any:
    return x if where is True else np.where(where, x, 0)


# --- sum and mean


def _sum_transpose(
    g: Any,
    _out: Any,
    _x: Any,
    axis: Any = None,
    dtype: Any = None,
    keepdims: Any = False,
    initial: Any = None,
    where: Any = True,
) -> Any:
    if where is True:
        return _spread(g, _x, axis, keepdims)
    return _masked(_spread(g, _x, axis, keepdims), where)


def _sum_push(
    dots: Any,
    _out: Any,
    _x: Any,
    axis: Any = None,
    dtype: Any = None,
    keepdims: Any = False,
    initial: Any = None,
    where: Any = True,
) -> Any:
    # The function itself but for `initial`, which is a constant.
    return np.sum(dots[0], axis=axis, dtype=dtype, keepdims=bool(keepdims), where=where)


def _sum(a: Any, **params: Any) -> Any:
    """np.sum; the frequent sum of everything without its wrapper, which costs as much again."""
    return np.sum(a, **params) if params else np.add.reduce(a, None)


general(np.sum, vjp=[_sum_transpose], jvp=_sum_push, batch="axis", implementation=_sum)


def _mean_transpose(
    g: Any,
    _out: Any,
    _x: Any,
    axis: Any = None,
    dtype: Any = None,
    keepdims: Any = False,
    where: Any = True,
) -> Any:
    share = g / (_x.size if axis is None and where is True else _count(_x, axis, keepdims, where))
    return _masked(_spread(share, _x, axis, keepdims), where)


linear(np.mean, _mean_transpose, batch="axis")
composite(
    np.average,
    lambda a, axis=None, weights=None, returned=False, **options: _average(
        a, axis, weights, returned, **options
    ),
)


def _average(a: Any, axis: Any, weights: Any, returned: bool, keepdims: Any = False) -> Any:
    if weights is None:
        mean = np.mean(a, axis=axis, keepdims=keepdims)
        total = np.full_like(plain(mean), a.size / max(mean.size, 1))
    else:
        w = weights if hasattr(weights, "shape") else np.asarray(weights)
        if w.shape != a.shape:
            where = _axes(a, axis)
            w = np.broadcast_to(
                np.reshape(w, [a.shape[i] if i in where else 1 for i in range(a.ndim)]), a.shape
            )
        total = np.sum(w, axis=axis, keepdims=keepdims)
        mean = np.sum(a * w, axis=axis, keepdims=keepdims) / total
    return (mean, total) if returned else mean


# --- variance


def _var(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    ddof: float = 0,
    keepdims: Any = False,
    *,
    where: Any = True,
    mean: Any = None,
    correction: float | None = None,
) -> Any:
    x = a if dtype is None else a.astype(dtype)
    if mean is None:
        mean = np.mean(x, axis=axis, keepdims=True, where=where)
    deviation = _masked(x - mean, where)
    if deviation.dtype.kind == "c":
        square = np.real(deviation) ** 2 + np.imag(deviation) ** 2
    else:
        square = deviation * deviation
    degrees = _count(x, axis, keepdims, where) - (ddof if correction is None else correction)
    total = np.sum(square, axis=axis, keepdims=bool(keepdims))
    if where is True:
        return total / max(degrees, 0)
    return total / np.maximum(degrees, 0).astype(total.dtype)


def _std(*args: Any, **kwargs: Any) -> Any:
    """The root of the variance; equal values get the gradient 0, not 0 * inf."""
    variance = np.var(*args, **kwargs)
    flat = plain(variance) == 0
    if not flat.any():
        return np.sqrt(variance)
    return np.where(flat, 0, np.sqrt(np.where(flat, 1, variance)))


composite(np.var, _var)
composite(np.std, _std)


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


def _prod_vjp(
    g: Any,
    _out: Any,
    x: Any,
    axis: Any = None,
    dtype: Any = None,
    keepdims: Any = False,
    initial: Any = 1,
    where: Any = True,
) -> Any:
    if x.size == 0:
        return np.zeros(x.shape, x.dtype)
    axes = _axes(x, axis)
    kept = tuple(a for a in range(x.ndim) if a not in axes)
    chosen = x if where is True else np.where(where, x, 1)
    rows = np.transpose(chosen, kept + axes)
    flat = rows.reshape(*(x.shape[a] for a in kept), -1)
    others = _products_of_others(flat).reshape(rows.shape) * initial
    back = np.transpose(others, np.argsort(kept + axes))
    return _masked(_spread(g, x, axis, keepdims) * back, where)


general(np.prod, vjp=[_prod_vjp], batch="axis")


# --- extrema: ties share evenly


def _extremum_vjp(
    g: Any,
    out: Any,
    x: Any,
    axis: Any = None,
    keepdims: Any = False,
    initial: Any = None,
    where: Any = True,
) -> Any:
    best = _spread(plain(out), x, axis, keepdims)
    ties = (plain(x) == best) | ((plain(x) != plain(x)) & (best != best))
    ties = _masked(ties, where)
    count = np.sum(ties, axis=axis, keepdims=True)
    share = (ties / np.maximum(count, 1)).astype(x.dtype)
    # Chosen, not multiplied: an infinite tangent of a loser must not become 0 * inf.
    return np.where(ties, _spread(g, x, axis, keepdims) * share, 0)


general(np.max, vjp=[_extremum_vjp], batch="axis")
general(np.min, vjp=[_extremum_vjp], batch="axis")
composite(
    np.ptp,
    lambda a, axis=None, keepdims=False: (
        np.max(a, axis=axis, keepdims=keepdims) - np.min(a, axis=axis, keepdims=keepdims)
    ),
)
composite(
    np.clip,
    lambda a, a_min=None, a_max=None, *, min=None, max=None, dtype=None: _clip(
        a, a_min if a_min is not None else min, a_max if a_max is not None else max
    ),
)


def _clip(a: Any, low: Any, high: Any) -> Any:
    if low is not None:
        a = np.maximum(a, low)
    return a if high is None else np.minimum(a, high)


composite(np.amax, lambda a, *args, **options: np.max(a, *args, **options))
composite(np.amin, lambda a, *args, **options: np.min(a, *args, **options))


# --- cumulations


def _cumsum_transpose(g: Any, _out: Any, _x: Any, axis: Any = None, dtype: Any = None) -> Any:
    if axis is None:
        return np.flip(np.cumsum(np.flip(g))).reshape(_x.shape)
    return np.flip(np.cumsum(np.flip(g, axis), axis=axis), axis)


linear(np.cumsum, _cumsum_transpose, batch="axis")


def _cumprod_jvp(dots: Any, _out: Any, x: Any, axis: Any = None, dtype: Any = None) -> Any:
    """Doubling: after k rounds an element has the product of the last 2**k and its derivative.

    No division, so it is exact at zeros.
    """
    x, x_dot = (
        part.reshape(-1) if axis is None else np.moveaxis(part, axis, -1) for part in (x, dots[0])
    )
    step, count = 1, x.shape[-1]
    while step < count:
        product_dot = x_dot[..., step:] * x[..., :-step] + x[..., step:] * x_dot[..., :-step]
        x_dot = np.concatenate([x_dot[..., :step], product_dot], axis=-1)
        x = np.concatenate([x[..., :step], x[..., step:] * x[..., :-step]], axis=-1)
        step *= 2
    return x_dot if axis is None else np.moveaxis(x_dot, -1, axis)


general(np.cumprod, jvp=_cumprod_jvp, batch="axis")
