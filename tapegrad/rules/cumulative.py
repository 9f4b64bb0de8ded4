"""Running sums and products."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad._core.fast.call_plans import Kernels, Spec
from tapegrad._core.fast.sums import running_sums, runs_by_blocks
from tapegrad._core.forms import general, linear
from tapegrad._core.types import Cotangent, Tangent, Value
from tapegrad._core.values import untraced
from tapegrad.rules.reduction import of_kind

_REVERSED = (slice(None, None, -1),)


def cumsum_transpose(
    g: Cotangent, _out: Value, _x: Value, axis: int | None = None, dtype: Any = None
) -> Cotangent:
    """The cumulative sum from the other end."""
    backward = (slice(None),) * (0 if axis is None else axis % g.ndim) + _REVERSED
    return np.cumsum(g[backward], axis)[backward].reshape(_x.shape)


def cumprod_jvp(
    dots: Sequence[Tangent], _out: Value, x: Value, axis: int | None = None, dtype: Any = None
) -> Tangent:
    """By doubling: after k rounds each position has the product of its last 2**k elements.

    The tangent of that product goes with it. There is no division, so it is exact at zeros.
    """
    x, x_dot = (
        part.reshape(-1) if axis is None or part.ndim == 0 else np.moveaxis(part, axis, -1)
        for part in (of_kind(x, dtype), of_kind(dots[0], dtype))
    )
    step, count = 1, x.shape[-1]
    while step < count:
        product_dot = x_dot[..., step:] * x[..., :-step] + x[..., step:] * x_dot[..., :-step]
        x_dot = np.concatenate([x_dot[..., :step], product_dot], axis=-1)
        x = np.concatenate([x[..., :step], x[..., step:] * x[..., :-step]], axis=-1)
        step *= 2
    return x_dot if axis is None else np.moveaxis(x_dot, -1, axis)


def cumprod_vjp(
    g: Cotangent, out: Value, x: Value, axis: Any = None, dtype: Any = None
) -> Cotangent:
    """The product of the elements before j, times s[j] = g[j] + x[j + 1] s[j + 1].

    The recurrence is solved by doubling: after k rounds s[j] has the next 2**k terms. There is no
    division here either.
    """
    flat = axis is None or x.ndim == 0
    shape, count = x.shape, out.shape[0 if flat else axis]
    if count == 0:
        return np.zeros(shape, g.dtype)
    g, out, x = (
        part.reshape(-1) if flat else np.moveaxis(part, axis, -1)
        for part in (g, out, of_kind(x, dtype))
    )
    following, step = x[..., 1:], 1
    while step < count:
        longer = g[..., :-step] + following * g[..., step:]
        g = np.concatenate([longer, g[..., -step:]], axis=-1)
        following = following[..., :-step] * following[..., step:]
        step *= 2
    before = np.concatenate([np.ones_like(untraced(out[..., :1])), out[..., :-1]], axis=-1)
    x_bar = g * before
    return x_bar.reshape(shape) if flat else np.moveaxis(x_bar, -1, axis)


def _without_start(g: Value, axis: int | None, include_initial: bool) -> Value:
    if not include_initial:
        return g
    return np.moveaxis(np.moveaxis(g, axis or 0, 0)[1:], 0, axis or 0)


def _cumulative_sum_transpose(
    g: Cotangent,
    _out: Value,
    _x: Value,
    axis: int | None = None,
    dtype: Any = None,
    include_initial: bool = False,
) -> Cotangent:
    return cumsum_transpose(_without_start(g, axis, include_initial), _out, _x, axis or 0)


def _cumulative_prod_vjp(
    g: Cotangent,
    out: Value,
    x: Value,
    axis: int | None = None,
    dtype: Any = None,
    include_initial: bool = False,
) -> Cotangent:
    g, out = (_without_start(part, axis, include_initial) for part in (g, out))
    return cumprod_vjp(g, out, x, axis or 0, dtype)


def _cumulative_prod_jvp(
    dots: Sequence[Tangent],
    _out: Value,
    x: Value,
    axis: int | None = None,
    dtype: Any = None,
    include_initial: bool = False,
) -> Tangent:
    axis = axis or 0
    out_dot = cumprod_jvp(dots, _out, x, axis, dtype)
    if not include_initial:
        return out_dot
    shape = list(out_dot.shape)
    shape[axis] = 1
    start = np.zeros_like(untraced(out_dot), shape=shape)  # the first element is 1, a constant
    return np.concatenate([start, out_dot], axis=axis)


# By the rule's own functions a gradient costs 1.30 times this (8 elements), 1.25 (8 x 8).
def _plan_cumsum(
    x: Spec, _out: Spec, /, axis: int | None = None, dtype: Any = None
) -> Kernels | None:
    """The kernels of a running sum, of long rows by blocks in all but its result."""
    if dtype is not None or not x.ndim or not x.size:
        return None
    shape = x.shape
    backward = (slice(None),) * (0 if axis is None else axis % x.ndim) + _REVERSED

    if (axis is not None or x.ndim == 1) and runs_by_blocks(shape, axis or 0, x.dtype):
        return Kernels(
            lambda a: a.cumsum(axis),
            lambda g, _out, _x: running_sums(g, back=True),
            lambda dot, _out, _x: running_sums(dot),
        )
    if axis is not None and axis % x.ndim == 0 and math.prod(shape[1:]) >= WIDE:
        return Kernels(
            _sums_of_rows,
            lambda g, _out, _x: _sums_of_rows(g[backward])[backward],
            lambda dot, _out, _x: _sums_of_rows(dot),
        )

    def pull(g: Cotangent, _out: Value, _x: Value) -> Cotangent:
        back = g[backward].cumsum(axis)[backward]
        return back.reshape(shape) if axis is None else back

    return Kernels(lambda a: a.cumsum(axis), pull, lambda dot, _out, _x: dot.cumsum(axis))


WIDE = 128  # elements of a row, from which sums of rows are faster than sums along columns


def _sums_of_rows(a: Value) -> Value:
    """The cumulative sum along the first axis: the same additions as NumPy's, row by row."""
    made = np.empty(a.shape, a.dtype)
    before = made[0]
    before[...] = a[0]
    for row, to in zip(a[1:], made[1:], strict=True):
        np.add(before, row, to)
        before = to
    return made


linear(np.cumsum, cumsum_transpose, batch="flat", plan=_plan_cumsum)


# By the rule's own functions a gradient costs 2.3 times this (8 elements), 2.1 (8 x 8), 1.26
# (100 x 100).
def _plan_cumprod(
    x: Spec, _out: Spec, /, axis: int | None = None, dtype: Any = None
) -> Kernels | None:
    """By quotients of the products, where all of them are ordinary numbers."""
    if dtype is not None or not x.ndim or not x.size or x.dtype.char not in "fd":
        return None
    shape, least = x.shape, float(np.finfo(x.dtype).smallest_normal)
    backward = (slice(None),) * (0 if axis is None else axis % x.ndim) + _REVERSED

    def is_ordinary(out: Value, given: Value, terms: Value, found: Value) -> bool:
        """Whether no product has lost digits, nor a term that is not one of zeros."""
        row = found.reshape(-1)
        return (
            np.count_nonzero(np.abs(out) > least) == out.size
            and np.count_nonzero(np.abs(terms) > least) == np.count_nonzero(given)
            and math.isfinite(row.dot(row))
        )

    def pull(g: Cotangent, out: Value, x: Value) -> Cotangent:
        terms = g * out
        bar = terms[backward].cumsum(axis)[backward].reshape(shape) / x
        return bar if is_ordinary(out, g, terms, bar) else cumprod_vjp(g, out, x, axis)

    def push(dot: Tangent, out: Value, x: Value) -> Tangent:
        terms = dot / x
        made = terms.cumsum(axis)
        made *= out
        return made if is_ordinary(out, dot, terms, made) else cumprod_jvp([dot], out, x, axis)

    return Kernels(lambda a: a.cumprod(axis), pull, push)


general(np.cumprod, vjp=[cumprod_vjp], jvp=cumprod_jvp, batch="flat", plan=_plan_cumprod)
linear(np.cumulative_sum, _cumulative_sum_transpose, batch="flat")
general(np.cumulative_prod, vjp=[_cumulative_prod_vjp], jvp=_cumulative_prod_jvp, batch="flat")
