"""Reductions that ignore NaN: an element that is NaN gets the derivative 0.

Which elements are NaN is constant, so each function is the plain reduction with a mask. The
medians and quantiles among them are in `statistics`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad._core.forms import composite, constant, general
from tapegrad._core.types import Cotangent, Function, Tangent, Value
from tapegrad._core.values import any_true, untraced
from tapegrad.rules import moments, reduction


def _present(x: Value, where: Value) -> Value:
    there = ~np.isnan(untraced(x))
    return there if where is True else there & where


def _without_nan(derivative: Any, *, reads_out: bool = False) -> Function:
    """A vjp or jvp of a reduction, changed to ignore NaN; it keeps the result if it reads it."""

    def masked(
        given: Any, out: Value, x: Value, *more: Value, where: Value = True, **params: Any
    ) -> Any:
        return derivative(given, out, x, *more, where=_present(x, where), **params)

    def masked_alone(given: Any, _out: Value, x: Value, *more: Value, **params: Any) -> Any:
        return masked(given, _out, x, *more, **params)

    return masked if reads_out else masked_alone


def _extremum_vjp(g: Cotangent, out: Value, x: Value, **params: Any) -> Cotangent:
    return reduction.extremum_vjp(g, out, x, **params, takes_nan=False)


def _extremum_jvp(dots: Sequence[Tangent], out: Value, x: Value, **params: Any) -> Tangent:
    return reduction.extremum_jvp(dots, out, x, **params, takes_nan=False)


def _declare(function: Function, vjp: Function, jvp: Function | None = None) -> None:
    general(function, vjp=[vjp], jvp=jvp, batch="axis")


_declare(np.nansum, _without_nan(reduction.sum_transpose), _without_nan(reduction.sum_jvp))
_declare(np.nanprod, _without_nan(reduction.prod_vjp, reads_out=True))
_declare(np.nanmean, _without_nan(moments.mean_transpose), _without_nan(moments.mean_jvp))
_declare(np.nanmax, _extremum_vjp, _extremum_jvp)
_declare(np.nanmin, _extremum_vjp, _extremum_jvp)


def _formula(formula: Function) -> Function:
    def of_present(a: Value, *mean: Value, where: Value = True, **params: Any) -> Value:
        return formula(a, *mean, where=_present(a, where), **params)

    return of_present


for _function, _rules, _of in (
    (np.nanvar, moments.VARIANCE, moments.variance),
    (np.nanstd, moments.DEVIATION, moments.deviation),
):
    _of_root = _function is np.nanstd  # whose derivative divides by the result
    _by_values, _by_mean, _jvp = (_without_nan(rule, reads_out=_of_root) for rule in _rules)
    moments.declare_spread(_function, _by_values, _by_mean, _jvp, formula=_formula(_of))
constant(np.nanargmax, np.nanargmin, batch="flat")


def _filled(a: Value, value: int) -> Value:
    missing = np.isnan(untraced(a))
    return np.where(missing, value, a) if any_true(missing) else a


def _nancumsum(a: Value, axis: int | None = None, dtype: Any = None) -> Value:
    return np.cumsum(_filled(a, 0), axis=axis, dtype=dtype)


def _nancumprod(a: Value, axis: int | None = None, dtype: Any = None) -> Value:
    return np.cumprod(_filled(a, 1), axis=axis, dtype=dtype)


composite(np.nancumsum, _nancumsum)
composite(np.nancumprod, _nancumprod)
