"""Reductions that ignore NaN: an element that is NaN gets the derivative 0.

Where the elements are that count is a constant, so each is the reduction itself with a mask. The
medians and quantiles among them are in `statistics`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad._core.forms import composite, constant, general
from tapegrad._core.values import any_true, untraced
from tapegrad.rules import moments, reduction


def _present(x: Any, where: Any) -> Any:
    there = ~np.isnan(untraced(x))
    return there if where is True else there & where


def _without_nan(derivative: Any) -> Any:
    """A vjp or jvp of a reduction, changed to ignore NaN."""

    def masked(given: Any, out: Any, x: Any, *more: Any, where: Any = True, **params: Any) -> Any:
        return derivative(given, out, x, *more, where=_present(x, where), **params)

    return masked


def _extremum_vjp(g: Any, out: Any, x: Any, **params: Any) -> Any:
    return reduction.extremum_vjp(g, out, x, **params, takes_nan=False)


def _extremum_jvp(dots: Any, out: Any, x: Any, **params: Any) -> Any:
    return reduction.extremum_jvp(dots, out, x, **params, takes_nan=False)


def _mean_jvp(
    dots: Any,
    _out: Any,
    x: Any,
    axis: Any = None,
    dtype: Any = None,
    keepdims: Any = False,
    where: Any = True,
) -> Any:
    count = reduction.count_of(x, axis, keepdims, where)
    x_dot = reduction.masked(dots[0], where)
    return np.sum(x_dot, axis=axis, keepdims=bool(keepdims)) / np.maximum(count, 1)


general(
    np.nansum,
    vjp=[_without_nan(reduction.sum_transpose)],
    jvp=_without_nan(reduction.sum_jvp),
    batch="axis",
)
general(np.nanprod, vjp=[_without_nan(reduction.prod_vjp)], batch="axis")
general(
    np.nanmean,
    vjp=[_without_nan(moments.mean_transpose)],
    jvp=_without_nan(_mean_jvp),
    batch="axis",
)
for _extremum in (np.nanmax, np.nanmin):
    general(
        _extremum,
        vjp=[_extremum_vjp],
        jvp=_extremum_jvp,
        batch="axis",
    )
moments.declare_spread(
    np.nanvar,
    _without_nan(moments.var_vjp_by_values),
    _without_nan(moments.var_vjp_by_mean),
    _without_nan(moments.var_jvp),
)
moments.declare_spread(
    np.nanstd,
    _without_nan(moments.std_vjp_by_values),
    _without_nan(moments.std_vjp_by_mean),
    _without_nan(moments.std_jvp),
)
constant(np.nanargmax, np.nanargmin, batch="flat")


def _filled(a: Any, value: int) -> Any:
    missing = np.isnan(untraced(a))
    return np.where(missing, value, a) if any_true(missing) else a


def _nancumsum(a: Any, axis: Any = None, dtype: Any = None) -> Any:
    return np.cumsum(_filled(a, 0), axis=axis, dtype=dtype)


def _nancumprod(a: Any, axis: Any = None, dtype: Any = None) -> Any:
    return np.cumprod(_filled(a, 1), axis=axis, dtype=dtype)


composite(np.nancumsum, _nancumsum)
composite(np.nancumprod, _nancumprod)
