"""Means, averages, variances and covariances."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad._core.fast.call_plans import Kernels, Spec
from tapegrad._core.fast.sums import reducing, summing
from tapegrad._core.forms import composite, general, strong_product
from tapegrad._core.quiet import errstate
from tapegrad._core.types import Cotangent, Function, Params, Tangent, Value
from tapegrad._core.values import (
    any_true,
    in_trace,
    is_numpy,
    lift,
    untraced,
    without_traces,
)
from tapegrad._errors import RuleError
from tapegrad._numpy_versions import TAKES_BIAS, refuse_deprecated
from tapegrad._warning import warn
from tapegrad.rules.kinks import (
    is_differentiated,
    is_inexact,
    is_unusual,
    largest_size,
    least_exact,
    ratio,
    scale_of,
)
from tapegrad.rules.reduction import Reduced, axes_of, masked, planned_axes, spread

# --- means


def mean_transpose(
    g: Cotangent, _out: Value, _x: Value, axis: int | tuple[int, ...] | None = None, **params: Any
) -> Cotangent:
    """The cotangent of a mean, divided among the elements that took part."""
    if axis is None and params.get("where", True) is True:
        return spread(g / (_x.size or 1), _x, None, False)
    reduced = Reduced(_x, axis, **params)
    return reduced.spread(g / reduced.divisor())


def mean_jvp(dots: Sequence[Tangent], _out: Value, _x: Value, **params: Any) -> Tangent:
    """Not the function itself: of no elements the mean is NaN, its derivative zero."""
    reduced = Reduced(_x, **params)
    return reduced.sum(dots[0]) / reduced.divisor()


# By the rule's own functions a gradient costs 1.44 times this (8 elements), 1.54 (8 x 8), 1.31
# (100 x 100).
def _plan_mean(
    x: Spec, out: Spec, /, axis: Any = None, keepdims: bool = False, **others: Any
) -> Kernels | None:
    along = planned_axes(x, axis, others)
    if along is None:
        return None
    count, spread_of = along.divisor, along.spread
    ratio, number = float(count), out.dtype.type
    total_of = reducing(np.add, x.shape, along.axis, keepdims)

    def run(a: Any) -> Any:
        total = total_of(a)
        if isinstance(total, np.ndarray):
            return np.true_divide(total, count, total)
        mean = total / count
        return mean if isinstance(mean, number) else number(mean)

    return Kernels(run, lambda g, _out, _x: spread_of(g / ratio), lambda dot, _out, _x: run(dot))


general(np.mean, vjp=[mean_transpose], jvp=mean_jvp, batch="axis", plan=_plan_mean)


def weights_beside(a: Value, axis: int | tuple[int, ...] | None, weights: Value) -> Value:
    """Weights of the shape of `a`, or of its chosen axes, as an array that broadcasts with it."""
    weights = lift(weights)
    if not hasattr(weights, "shape"):
        weights = np.asarray(weights)
    if weights.shape == a.shape:
        return weights
    axes = () if axis is None else axes_of(a, axis)
    if axis is None or weights.shape != tuple(a.shape[i] for i in axes):
        np.average(untraced(a), axis, untraced(weights))  # raises NumPy's error
    weights = np.transpose(weights, tuple(np.argsort(axes)))
    return np.reshape(weights, [a.shape[i] if i in axes else 1 for i in range(a.ndim)])


def _average(
    a: Value,
    axis: int | tuple[int, ...] | None = None,
    weights: Value = None,
    returned: bool = False,
    *,
    keepdims: bool = False,
) -> Value | tuple[Value, Value]:
    a = lift(a)
    a = a if hasattr(a, "shape") else np.asarray(a)
    keepdims = bool(keepdims)
    total: Any = None
    if weights is None:
        mean = np.mean(a, axis=axis, keepdims=keepdims)
        total = mean.dtype.type(a.size / mean.size) if returned else None
    else:
        w = weights_beside(a, axis, weights)
        dtype = np.result_type(a.dtype, w.dtype, *(() if a.dtype.kind in "fc" else ("f8",)))
        whole = np.broadcast_to(w, a.shape) if w.shape != a.shape else w
        total = np.sum(whole, axis=axis, dtype=dtype, keepdims=keepdims)
        if is_numpy(untraced(total)) and np.any(untraced(total) == 0):
            raise ZeroDivisionError("Weights sum to zero, can't be normalized")
        mean = np.sum(a * w, axis=axis, keepdims=keepdims) / total
    if not returned:
        return mean
    if total.shape != mean.shape:
        total = np.copy(np.broadcast_to(total, mean.shape))
    return mean, total


composite(np.average, _average)


# --- variances


def _mean_of(reduced: Reduced) -> Value:
    """The mean as NumPy's variance computes it, without a warning for no elements."""
    a = reduced.x
    count = reduced.divisor(keepdims=True)
    axis = reduced.axis if a.ndim else None
    total = np.sum(masked(a, reduced.where), axis=axis, keepdims=True)
    return total / (count if reduced.where is True else count.astype(np.finfo(a.dtype).dtype))


def _deviation(reduced: Reduced, mean: Value) -> Value:
    return masked(reduced.x - (_mean_of(reduced) if mean is None else mean), reduced.where)


def _conjugated(x: Value) -> Value:
    return np.conjugate(x) if x.dtype.kind == "c" else x


def _per_degree(
    g: Cotangent,
    reduced: Reduced,
    ddof: float = 0,
    correction: float | None = None,
    **_params: Any,
) -> Cotangent:
    """2 g over the degrees of freedom; without any, a zero g stays zero, others get infinite."""
    degrees = reduced.count() - (ddof if correction is None else correction)
    if not any_true(degrees <= 0):
        return g * (2 / degrees)
    with errstate(divide="ignore"):
        factor = np.true_divide(2, np.maximum(degrees, 0))
    return strong_product(g, factor)


def var_vjp_by_values(
    g: Cotangent, _out: Value, a: Value, mean: Value = None, **params: Any
) -> Cotangent:
    """The derivative is 2 (a - mean) over the degrees of freedom."""
    reduced = Reduced(a, **params)
    deviation = _deviation(reduced, mean)
    if g.dtype.kind == "c":
        g = np.real(g)  # a variance is real, whatever dtype= says
    g = spread(_per_degree(g, reduced, **params), a, reduced.axis, reduced.keepdims)
    with errstate(invalid="ignore"):
        return masked(g * _conjugated(deviation), reduced.where)


def var_vjp_by_mean(g: Cotangent, _out: Value, a: Value, mean: Value, **params: Any) -> Cotangent:
    """A given mean is subtracted from the values, so its cotangent is the negative of theirs."""
    return -var_vjp_by_values(g, _out, a, mean, **params)


def var_jvp(
    dots: Sequence[Tangent], _out: Value, a: Value, mean: Value = None, **params: Any
) -> Tangent:
    """Twice the mean product of the deviations and their tangents."""
    reduced = Reduced(a, **params)
    a_dot, mean_dot = (*dots, None)[:2]
    products = _conjugated(_deviation(reduced, mean))
    if mean_dot is None:
        products = products * a_dot
    else:
        products = products * (-mean_dot if a_dot is None else a_dot - mean_dot)
    if products.dtype.kind == "c":
        products = np.real(products)
    return _per_degree(reduced.sum(products), reduced, **params)


def _is_flat(out: Value, reduced: Reduced, mean: Value) -> Value:
    """Where all values are equal, even if rounding makes their mean differ from them."""
    out, a, where = untraced(out), reduced.x, reduced.where
    if mean is not None:
        return out == 0
    middle = np.reshape(np.abs(_mean_of(reduced)), out.shape)
    near = out <= middle * (8 * np.finfo(a.dtype).eps * max(a.size, 1))
    if not any_true(near & (out != 0)):
        return out == 0
    for part in (a.real, a.imag) if a.dtype.kind == "c" else (a,):
        low, high = part, part
        if where is not True:
            low, high = np.where(where, part, np.inf), np.where(where, part, -np.inf)
        along = {"axis": reduced.axis, "keepdims": bool(reduced.keepdims)}
        near = near & (np.min(low, **along) >= np.max(high, **along))
    return near | (out == 0)


def _slope_of_root(out: Value, a: Value, mean: Value, params: Params) -> Value:
    """1 / (2 out), and 0 where all values are equal."""
    flat = _is_flat(out, Reduced(untraced(a), **params), mean)
    if not any_true(flat):
        return 0.5 / out
    if any_true(flat & (untraced(out) != 0)):  # by rounding
        out = out * np.where(flat, 0, 1)
    return ratio(np.full(out.shape, 0.5, out.dtype), out)


def _from_least(a: Value, params: Params) -> Value:
    """The values less one: equal ones are 0, and their mean does not differ by rounding."""
    reduced = Reduced(without_traces(a), **params)
    taking_part = masked(reduced.x, reduced.where)
    return a - np.min(taking_part, axis=reduced.axis, keepdims=True)


def variance(a: Value, mean: Value = None, **params: Any) -> Value:
    """The variance by other functions, for a limit."""
    reduced = Reduced(a if mean is not None else _from_least(a, params), **params)
    deviation = _deviation(reduced, mean)
    squares = masked(np.real(deviation * _conjugated(deviation)), reduced.where)
    return _per_degree(reduced.sum(squares), reduced, **params) / 2


def deviation(a: Value, mean: Value = None, **params: Any) -> Value:
    """The standard deviation by other functions, for a limit."""
    return np.sqrt(variance(a, mean, **params))


def _scaled(out: Value, a: Value, mean: Value, params: Params) -> tuple[Value, Value, Value]:
    """A deviation, its values and their mean, all scaled if squares under- or overflow.

    The slope of a deviation is that of the deviation of scaled values.
    """
    if not any_true(is_inexact(out)):
        return out, a, mean
    reduced = Reduced(untraced(a), **params)
    sizes = largest_size(masked(reduced.x, reduced.where), reduced.axis)
    if mean is not None:
        sizes = np.maximum(sizes, np.abs(untraced(mean)))
    inexact = np.reshape(is_inexact(out), sizes.shape)
    scale = scale_of(sizes, inexact & is_unusual(sizes))
    if scale is None:
        return out, a, mean
    a = a / scale
    if mean is None:
        return np.std(a, **params), a, None
    mean = mean / scale
    return np.std(a, mean=mean, **params), a, mean


def std_vjp_by_values(
    g: Cotangent, out: Value, a: Value, mean: Value = None, **params: Any
) -> Cotangent:
    """The cotangent of the variance over twice the standard deviation."""
    out, a, mean = _scaled(out, a, mean, params)
    g = strong_product(g, _slope_of_root(out, a, mean, params))
    if mean is None and is_differentiated(a):
        a = _from_least(a, params)
    return var_vjp_by_values(g, None, a, mean, **params)


def std_vjp_by_mean(g: Cotangent, out: Value, a: Value, mean: Value, **params: Any) -> Cotangent:
    """A given mean is subtracted from the values, so its cotangent is the negative of theirs."""
    return -std_vjp_by_values(g, out, a, mean, **params)


def std_jvp(
    dots: Sequence[Tangent], out: Value, a: Value, mean: Value = None, **params: Any
) -> Tangent:
    """The tangent of the variance over twice the standard deviation."""
    out, a, mean = _scaled(out, a, mean, params)
    out_dot = var_jvp(dots, None, a, mean, **params)
    return strong_product(out_dot, _slope_of_root(out, a, mean, params))


def _with_mean(function: Function) -> Function:
    """The function with `mean=` as its second array."""

    def called(a: Value, mean: Value = None, **params: Any) -> Value:
        return function(a, **params) if mean is None else function(a, mean=mean, **params)

    return called


def declare_spread(
    function: Function,
    by_values: Function,
    by_mean: Function,
    jvp: Function,
    plan: Function | None = None,
    formula: Function | None = None,
) -> None:
    """One declaration of a variance or standard deviation."""
    general(
        function,
        vjp=[by_values, by_mean],
        jvp=jvp,
        arrays=("a", "mean"),
        implementation=_with_mean(function),
        batch="axis",
        plan=plan,
        plans_one=True,
        formula=formula,
    )


def _less(ddof: float, correction: float | None) -> Params:
    """The parameter that says by how much the degrees of freedom are less than the elements."""
    return {"ddof": ddof} if correction is None else {"correction": correction}


def _are_plain(deviations: Any, mean: Any, near: float, least: float) -> bool:
    """Whether none is of values equal but for rounding, or of squares that under- or overflow."""
    if type(deviations) is np.ndarray and deviations.size == 1:  # at a third of the price
        deviation = deviations.item()
        return max(abs(mean.item()) * near, least) < deviation < np.inf
    beyond = deviations - np.abs(mean) * near
    if not np.minimum.reduce(beyond, None) > least:
        return False
    return bool(np.maximum.reduce(beyond, None) < np.inf)


# By the rule's own functions a gradient costs 3.1 times this (8 elements), 3.0 (8 x 8), 2.1
# (100 x 100).
def _plan_spread(root: bool) -> Function:
    """The kernels of np.var, or of np.std with `root`."""

    def plan(
        x: Spec,
        out: Spec,
        /,
        axis: Any = None,
        keepdims: bool = False,
        ddof: float = 0,
        correction: float | None = None,
        **others: Any,
    ) -> Kernels | None:
        along = planned_axes(x, axis, others)
        degrees: Any = (
            0 if along is None else along.count - (ddof if correction is None else correction)
        )
        if along is None or degrees <= 0:
            return None
        axis, count, kept = along.axis, along.divisor, along.kept
        sums_of = reducing(np.add, x.shape, axis, True)
        total_of = reducing(np.add, x.shape, axis, keepdims)
        params = {"axis": axis, "keepdims": keepdims, **_less(ddof, correction)}
        if x.dtype.char == "d":
            degrees = float(degrees)
        number, factor = out.dtype.type, 2 / float(degrees)
        total, share = summing(x.shape, kept if out.shape else (), x.dtype), 1 / float(count)
        near = 8 * float(np.finfo(x.dtype).eps) * x.size  # as in `_is_flat`
        least = least_exact(x.dtype)

        def mean_of(a: Any) -> Any:
            total = sums_of(a)
            return np.true_divide(total, count, total)

        def run(a: Any) -> Any:
            squares = a - mean_of(a)
            squares *= squares
            total = total_of(squares)
            if isinstance(total, np.ndarray):
                np.true_divide(total, degrees, total)
                return np.sqrt(total, total) if root else total
            total = total / degrees
            if not isinstance(total, number):
                total = number(total)
            return np.sqrt(total) if root else total

        def mean_near(a: Any) -> Any:
            """The mean but for rounding, at half the price."""
            return a if total is None else total(a) * share

        def pull(g: Cotangent, out: Value, x: Value) -> Cotangent:
            mean = mean_near(x)
            slope = g.reshape(kept) * factor
            if root:
                at_all = out.reshape(kept)
                if not _are_plain(at_all, mean, near, least):
                    bar = std_vjp_by_values(g, out, x, None, **params)
                    return np.asarray(bar).astype(x.dtype, copy=False)  # that computes in double
                slope *= 0.5
                slope /= at_all
            bar = x - mean
            bar *= slope
            return bar

        def push(dot: Tangent, out: Value, x: Value) -> Tangent:
            mean = mean_near(x)
            if root and not _are_plain(out.reshape(kept), mean, near, least):
                made = std_jvp([dot], out, x, None, **params)
                return np.asarray(made).astype(out.dtype, copy=False)[()]  # as below
            products = x - mean
            products *= dot
            summed = products if total is None else total(products)
            out_dot = summed.reshape(out.shape) * factor
            return out_dot * (0.5 / out) if root else out_dot

        return Kernels(run, pull, push)

    return plan


VARIANCE = (var_vjp_by_values, var_vjp_by_mean, var_jvp)
DEVIATION = (std_vjp_by_values, std_vjp_by_mean, std_jvp)
declare_spread(np.var, *VARIANCE, _plan_spread(root=False), variance)
declare_spread(np.std, *DEVIATION, _plan_spread(root=True), deviation)


# --- covariances


def _as_array(x: Value) -> Value:
    x = lift(x)
    return x if hasattr(x, "shape") else np.asarray(x)


def _variables(m: Value, y: Value, rowvar: bool, dtype: Any) -> Value:
    """The variables as rows."""
    rows = np.reshape(m, (1, -1)) if m.ndim < 2 else m
    rows = rows.astype(dtype)
    if not rowvar and m.ndim != 1:
        rows = np.swapaxes(rows, 0, 1)
    if y is None:
        return rows
    others = np.reshape(y, (1, -1)) if y.ndim < 2 else y
    if not rowvar and others.shape[0] != 1:
        others = np.swapaxes(others, 0, 1)
    return np.concatenate([rows, others.astype(dtype)], axis=0)


def _centred(
    rows: Value, fweights: Value, aweights: Value, ddof: float
) -> tuple[Value, Value, Value]:
    """The rows minus their means, the same times the weights, and the degrees of freedom."""
    parts = [_as_array(w).astype(float) for w in (fweights, aweights) if w is not None]
    if not parts:
        centred = rows - np.mean(rows, axis=1, keepdims=True)
        return centred, centred, rows.shape[1] - ddof
    weights = parts[0] if len(parts) == 1 else parts[0] * parts[1]
    total = np.sum(weights)
    centred = rows - np.sum(rows * weights, axis=1, keepdims=True) / total
    centred = centred if centred.dtype == rows.dtype else centred.astype(rows.dtype)
    degrees = total - ddof
    if aweights is not None and ddof:
        degrees = total - ddof * np.sum(weights * parts[-1]) / total
    return centred, centred * weights, degrees


def _cov(
    m: Value,
    y: Value = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Value = None,
    aweights: Value = None,
    *,
    dtype: Any = None,
) -> Value:
    m, y = _as_array(m), None if y is None else _as_array(y)
    if dtype is None:
        dtype = np.result_type(float, m.dtype, *(() if y is None else (y.dtype,)))
    if not _is_estimate(m, y, rowvar, ddof, fweights, aweights, dtype):
        # NumPy raises its errors here, or returns empty results.
        weights = {"fweights": untraced(fweights), "aweights": untraced(aweights)}
        return np.cov(untraced(m), untraced(y), rowvar, bias, ddof, **weights, dtype=dtype)
    if ddof is None:
        ddof = 1 if bias == 0 else 0
    rows = _variables(m, y, rowvar, dtype)
    centred, weighted, degrees = _centred(rows, fweights, aweights, ddof)
    if any_true(untraced(degrees) <= 0):
        _refuse_elsewhere(m, y)
        warn("Degrees of freedom <= 0 for slice", RuntimeWarning)
        degrees = np.where(untraced(degrees) <= 0, 0.0, degrees)
    products = np.dot(centred, _conjugated(np.swapaxes(weighted, 0, 1)))
    scale = np.true_divide(1, degrees).astype(np.finfo(products.dtype).dtype)
    return np.reshape(products * scale, [side for side in products.shape if side != 1])


def _refuse_elsewhere(*arrays: Value) -> None:
    """Raise RuleError for arrays of other libraries among those of no degree of freedom.

    The scale is infinite. Zeros times it stay zero in NumPy's arrays, where they are looked at;
    those of other libraries may be lazy, and would give NaN.
    """
    for array in map(untraced, arrays):
        if array is not None and not (in_trace(array) or is_numpy(array)):
            raise RuleError(
                f"np.cov: there is no derivative with an array of {type(array).__module__} "
                "if there are too few observations for ddof. Pass NumPy's array, or more of "
                "them."
            )


def _is_estimate(
    m: Value,
    y: Value,
    rowvar: bool,
    ddof: float | None,
    fweights: Value,
    aweights: Value,
    dtype: Any,
) -> bool:
    """Whether there is something to estimate, from arguments of the shapes and signs expected."""
    if m.ndim > 2 or (y is not None and y.ndim > 2) or np.dtype(dtype).kind not in "fc":
        return False
    if ddof is not None and ddof != int(ddof):
        return False
    variables, count = (1, m.size) if m.ndim < 2 else m.shape if rowvar else m.shape[::-1]
    for weights in (fweights, aweights):
        if weights is not None:
            values = np.asarray(untraced(_as_array(weights)), float)
            if values.shape != (count,) or np.any(values < 0):
                return False
            if weights is fweights and np.any(values != np.around(values)):
                return False
    return bool(variables > 0)


def _corrcoef(x: Value, y: Value = None, rowvar: bool = True, *, dtype: Any = None) -> Value:
    c = np.cov(x, y, rowvar, dtype=dtype)
    if c.ndim == 0:
        return c / c
    spread_of = np.sqrt(np.real(np.diagonal(c)))
    c = c / spread_of[:, None] / spread_of[None, :]
    # Rounding may carry a coefficient past 1. The value is clipped, but the derivative is kept:
    # that of np.clip would be zero beyond the bound, and half on it.
    values = untraced(c)
    clipped = np.clip(values.real, -1, 1)
    if values.dtype.kind == "c":
        clipped = clipped + 1j * np.clip(values.imag, -1, 1)
    return c + (clipped - values)


composite(np.cov, _cov)


def _corrcoef_with_bias(
    x: Value,
    y: Value = None,
    rowvar: bool = True,
    bias: Any = np._NoValue,
    ddof: Any = np._NoValue,
    *,
    dtype: Any = None,
) -> Value:
    for name, value in (("bias", bias), ("ddof", ddof)):
        if value is not np._NoValue:
            refuse_deprecated("np.corrcoef", name, "It has no effect: leave it away.")
    return _corrcoef(x, y, rowvar, dtype=dtype)


composite(np.corrcoef, _corrcoef_with_bias if TAKES_BIAS else _corrcoef)
