"""Integrals of samples: trapezoid, simpson, romb and the cumulative ones, as sums of products."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.integrate

from tapegrad._core.forms import composite
from tapegrad._core.types import Value
from tapegrad._core.values import any_true, in_trace, lift, untraced
from tapegrad.scipy._mirror import mirror

_MODULE = "tapegrad.scipy.integrate"


def _array(x: Value) -> Any:
    x = lift(x)
    x = x if in_trace(x) else np.asarray(x)
    return x if x.dtype.kind in "fc" else x.astype(float)


def _widths(y: Value, x: Value, dx: Value, axis: int) -> Any:
    """The distances between samples along the last axis; y's axis has been moved there."""
    if x is None:
        return dx * np.ones(y.shape[-1] - 1, np.finfo(y.dtype).dtype)
    x = _array(x)
    if x.ndim != 1:
        x = np.moveaxis(x, axis, -1)
    return x[..., 1:] - x[..., :-1]


trapezoid = mirror(scipy.integrate.trapezoid, _MODULE)
cumulative_trapezoid = mirror(scipy.integrate.cumulative_trapezoid, _MODULE)
simpson = mirror(scipy.integrate.simpson, _MODULE)
cumulative_simpson = mirror(scipy.integrate.cumulative_simpson, _MODULE)
romb = mirror(scipy.integrate.romb, _MODULE)


def _plain_check(function: Any, *args: Any, **params: Any) -> None:
    """SciPy's own errors, for the shapes of arguments in a trace."""
    shapes = [np.zeros(np.shape(x)) if in_trace(x) else x for x in args]
    function.function(*shapes, **params)


def _trapezoid(y: Value, x: Value = None, dx: Value = 1.0, axis: int = -1) -> Value:
    x, y = None if x is None else _array(x), _array(y)
    out = np.trapezoid(y, x, dx, axis)
    wider = out.dtype.kind == y.dtype.kind and out.dtype != y.dtype
    return out.astype(y.dtype) if wider else out  # the widths are of the dtype of y in SciPy


def _cumulative_trapezoid(
    y: Value, x: Value = None, dx: Value = 1.0, axis: int = -1, initial: Value = None
) -> Value:
    y = _array(y)
    if initial is not None and initial != 0:
        raise ValueError("`initial` must be `None` or `0`.")
    moved = np.moveaxis(y, axis, -1)
    _require_length(moved, x, axis, y)
    widths = _widths(moved, x, dx, axis)
    out = np.cumsum(widths * (moved[..., 1:] + moved[..., :-1]) / 2.0, axis=-1)
    if initial is not None:
        out = np.concatenate([np.zeros((*out.shape[:-1], 1), out.dtype), out], axis=-1)
    return np.moveaxis(out, -1, axis)


def _require_length(moved: Value, x: Value, axis: int, y: Value) -> None:
    if moved.shape[-1] == 0:
        raise ValueError("At least one point is required along `axis`.")
    if x is not None:
        x = _array(x)
        if x.ndim != 1 and x.ndim != y.ndim:
            raise ValueError("If given, shape of `x` must be 1-D or the same as `y`.")
        if (x.shape[0] if x.ndim == 1 else x.shape[axis]) != moved.shape[-1]:
            raise ValueError("If given, length of `x` along axis must be the same as `y`.")


def _ratio(upper: Value, lower: Value) -> Value:
    """A quotient, zero where the divisor is zero."""
    is_zero = lower == 0
    return np.where(is_zero, 0.0, upper / np.where(is_zero, 1.0, lower))


def _simpson(y: Value, x: Value = None, *, dx: Value = 1.0, axis: int = -1) -> Value:
    """The last interval of an even number of samples: Cartwright (2017), equation 8."""
    y = _array(y)
    moved = np.moveaxis(y, axis, -1)
    _require_length(moved, x, axis, y)
    count = moved.shape[-1]
    h = _widths(moved, x, dx, axis)
    if count == 1:
        return np.sum(moved[..., :0], axis=-1)
    if count == 2:
        return 0.5 * h[..., -1] * (moved[..., -1] + moved[..., -2])
    if x is not None or count % 2 == 0:
        h = h.astype(float)  # as SciPy computes there, also with single precision
    end = count if count % 2 else count - 1
    low, middle, high = (moved[..., i : end - 2 + i : 2] for i in range(3))
    first, second = h[..., 0 : end - 1 : 2], h[..., 1 : end - 1 : 2]
    both = first + second
    ratio, inverse = _ratio(first, second), _ratio(second, first)
    total = np.sum(
        both
        / 6.0
        * (
            low * (2.0 - inverse)
            + middle * both * _ratio(both, first * second)
            + high * (2.0 - ratio)
        ),
        axis=-1,
    )
    if count % 2:
        return total
    before, last = h[..., -2], h[..., -1]
    alpha = _ratio(2 * last**2 + 3 * before * last, 6 * (last + before))
    beta = _ratio(last**2 + 3 * before * last, 6 * before)
    eta = _ratio(last**3, 6 * before * (before + last))
    return total + alpha * moved[..., -1] + beta * moved[..., -2] - eta * moved[..., -3]


def _thirds(y: Value, h: Value, *, equal: bool) -> Value:
    """The integrals of parabolas through three samples, over the first interval of each."""
    before, after = h[..., :-1], h[..., 1:]
    low, middle, high = y[..., :-2], y[..., 1:-1], y[..., 2:]
    if equal:
        return before / 3 * (5 * low / 4 + 2 * middle - high / 4)
    whole = before / (before + after)
    part = whole * (before / after)
    return before / 6 * ((3 - whole) * low + (3 + part + whole) * middle - part * high)


def _falls(x: Value, axis: int) -> Value:
    return np.diff(x, axis=axis if len(x.shape) > 1 else -1) <= 0


def _cumulative_simpson(
    y: Value, *, x: Value = None, dx: Value = 1.0, axis: int = -1, initial: Value = None
) -> Value:
    y = _array(y)
    x = None if x is None else _array(x)
    if x is not None and y.shape[axis] >= 3 and any_true(_falls(untraced(x), axis)):
        raise ValueError("Input x must be strictly increasing.")
    if y.shape[axis] < 3:
        out = _cumulative_trapezoid(y, x, dx, axis)
        moved = np.moveaxis(out, axis, -1)
    else:
        values = np.moveaxis(y, axis, -1)
        h, equal = _widths(values, x, _array(dx), axis), x is None  # in double by a dx
        h = np.broadcast_to(h, (*values.shape[:-1], values.shape[-1] - 1))
        first = _thirds(values, h, equal=equal)
        second = _thirds(values[..., ::-1], h[..., ::-1], equal=equal)[..., ::-1]
        # Interval i is the first of the parabola at i where i is even, the second of that at
        # i - 1 where it is odd, and always the latter at the end.
        count = values.shape[-1] - 1
        rows = [
            first[..., i] if i % 2 == 0 and i < count - 1 else second[..., i - 1]
            for i in range(count)
        ]
        moved = np.cumsum(np.stack(rows, axis=-1), axis=-1)
    if initial is not None:
        initial = _array(initial)
        if initial.ndim:
            initial = np.moveaxis(initial, axis, -1)
        first = np.broadcast_to(initial, (*moved.shape[:-1], 1))
        moved = np.concatenate([first, moved + initial], axis=-1)
    return np.moveaxis(moved, -1, axis)


def _romb(y: Value, dx: Value = 1.0, axis: int = -1, show: bool = False) -> Value:
    moved = np.moveaxis(_array(y), axis, -1)
    count = moved.shape[-1] - 1
    if count < 1 or count & (count - 1):
        raise ValueError("Number of samples must be one plus a non-negative power of 2.")
    h = count * _array(dx).astype(float)
    rows = [(moved[..., 0] + moved[..., -1]) / 2.0 * h]
    step = count
    while step > 1:
        half = step // 2
        rows_before, total = rows, np.sum(moved[..., half:count:step], axis=-1)
        rows = [0.5 * (rows_before[0] + h * total)]
        for j, before in enumerate(rows_before, 1):
            rows.append(rows[-1] + (rows[-1] - before) / (4**j - 1))
        step, h = half, h / 2.0
    if show:  # SciPy prints its table
        scipy.integrate.romb(untraced(_array(y)), untraced(dx), axis, show=True)
    return rows[-1]


composite(trapezoid, _trapezoid, batch="axis")
composite(cumulative_trapezoid, _cumulative_trapezoid, batch="axis")
composite(simpson, _simpson, batch="axis")
composite(cumulative_simpson, _cumulative_simpson, batch="axis")
composite(romb, _romb, batch="axis")

__all__ = ["cumulative_simpson", "cumulative_trapezoid", "romb", "simpson", "trapezoid"]
