"""Hypergeometric functions: by their argument in closed form, by their parameters numerically.

By the argument, DLMF 13.3.15, 15.5.1 and 16.3.1 say what SciPy's functions make of it. Beyond
small parameters these are wrong at times: there, as by a parameter, it is the sum of the series
that is differentiated term by term (`_series`), where rounding leaves it enough digits. Elsewhere
it is the function near the parameter (`_parameters`), of values that satisfy the differential
equation; a lower parameter is kept away from its poles 0, -1, -2, ... What has not 9 digits then
is NaN.

Of Tricomi's function U, SciPy's `hyperu` has 9 to 16 digits; its derivatives are those of an
integral that has all of them.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tapegrad._core.forms import elementwise
from tapegrad._core.quiet import errstate
from tapegrad._core.types import Function, Value
from tapegrad._core.values import any_true, untraced
from tapegrad.scipy import _special as sp
from tapegrad.scipy.special._parameters import REACH, by_parameter, warn_of
from tapegrad.scipy.special._primitives import family, in_double
from tapegrad.scipy.special._series import MOST, series


@family
def hypergeometric(*orders: int) -> tuple[Function, tuple[Any, ...]]:
    """A derivative of the function that takes as many arguments, of those orders by each."""

    def values(*args: Value) -> Value:
        flat = [np.ravel(x) for x in args]
        found = np.full(flat[0].shape, np.nan, np.result_type(*flat))
        known = np.zeros(found.shape, bool)
        reachable = np.all([np.abs(x) <= _FAR for x in flat], axis=0)
        if sum(orders[:-1]) <= 1:
            small = np.all([np.abs(x) <= _TRUSTED[len(args)] for x in flat[:-1]], axis=0)
            small &= np.isfinite(flat[-1]) & (reachable | (len(args) != 3))
            found[small] = _quick(orders, [x[small] for x in flat])
            known = small & ~np.isnan(found)
        known |= ~reachable
        for attempt in (_summed, _reflected, _otherwise):
            rest = ~known
            if rest.any():
                found[rest] = attempt(orders, [x[rest] for x in flat])
                known |= ~np.isnan(found)
        return found.reshape(args[0].shape)

    return values, tuple(_partial(orders, place) for place in range(len(orders)))


def _partial(orders: tuple[int, ...], place: int) -> Function:
    """The derivative by one argument of the member of those orders."""
    raised = [order + (place == i) for i, order in enumerate(orders)]
    name = _UFUNCS[len(orders)].__name__

    def partial(_out: Value, *args: Value) -> Value:
        found = hypergeometric(*raised)(*args)
        if any_true(np.isnan(untraced(found))):
            warn_of(name, f"by argument {place} it is not known to 9 digits there")
        return found

    return partial


_UFUNCS = {2: sp.hyp0f1, 3: sp.hyp1f1, 4: sp.hyp2f1}
_UPPER = {2: 0, 3: 1, 4: 2}  # parameters
_TRUSTED = {2: 20, 3: 20, 4: 8}  # parameters up to which SciPy's values are taken as they are
_ENOUGH = 1e-12
_FAR = 1e6  # beyond it SciPy's hyp1f1 may not come back
_NEAR = {2: 1e5, 3: 400.0, 4: 0.95}  # arguments for which the series ends in time


def _summed(orders: tuple[int, ...], args: list[Value]) -> Value:
    """The sum of the series; NaN where it does not converge, or has not enough digits."""
    *params, z = args
    upper = _UPPER[len(args)]
    near = np.isfinite(sum(args)) & (np.abs(z) < _NEAR[len(args)]) & (params[-1] > -MOST)
    found = np.full(z.shape, np.nan, np.result_type(*args))
    params = [x[near] for x in params]
    total, error = series(params[:upper], params[upper:], z[near], orders[:-1], orders[-1])
    good = np.isfinite(total) & (error <= _ENOUGH * np.abs(total))
    found[near] = np.where(good, total, np.nan)
    return found


def _reflected(orders: tuple[int, ...], args: list[Value]) -> Value:
    """Pfaff's transformation, DLMF 15.8.1, of Gauss's function left of 0."""
    z = args[-1]
    left = z.real < 0
    if len(args) < 4 or any(orders[:-1]) or not left.any():
        return np.nan * z
    a, b, c = (x + orders[-1] for x in args[:-1])
    mirrored = np.where(left, z, -1.0)
    summed = _summed((0, 0, 0, 0), [c - a, b, c, mirrored / (mirrored - 1)])
    found = _factor(orders[-1], args[:-1]) * (1 - mirrored) ** -b * summed
    return np.where(left, found, np.nan)


def _quick(orders: tuple[int, ...], args: list[Value]) -> Value:
    """From SciPy's values; by a parameter, where that has 11 digits."""
    if any(orders[:-1]):
        return _around(orders, args, 1e-11)
    return _shifted(orders[-1], args)


def _otherwise(orders: tuple[int, ...], args: list[Value]) -> Value:
    """From derivatives of the order before at points around, or from SciPy's values, checked."""
    if any(orders[:-1]):
        return _around(orders, args, 1e-9)
    good = _satisfies_its_equation(orders[-1], args)
    return np.where(good, _shifted(orders[-1], args), np.nan)


def _around(orders: tuple[int, ...], args: list[Value], digits: float) -> Value:
    place = next(i for i, order in enumerate(orders) if order)
    lower = hypergeometric(*[order - (i == place) for i, order in enumerate(orders)])
    param = args[place]
    reach = np.maximum(REACH, np.abs(param) / 8)
    if place >= _UPPER[len(orders)]:
        reach = np.minimum(reach, 0.25 * _to_poles(param))
    with errstate(invalid="ignore"):
        return by_parameter(lower, tuple(args), place, reach, relative=digits)


def _to_poles(x: Value) -> Value:
    return np.where(x > 0, x, np.abs(x - np.round(x)))


def _shifted(n: int, args: list[Value]) -> Value:
    """The n-th derivative by z: the function of parameters raised by n."""
    *params, z = args
    return _factor(n, params) * _UFUNCS[len(args)](*[param + n for param in params], z)


def _factor(n: int, params: list[Value]) -> Any:
    factor: Any = 1.0
    for k in range(n):
        for i, param in enumerate(params):
            upper = i < _UPPER[len(params) + 1]
            factor = factor * (param + k) if upper else factor / (param + k)
    return factor


def _satisfies_its_equation(n: int, args: list[Value]) -> Value:
    """DLMF 13.2.1, 15.10.1 and 16.8.3, which mistakes of SciPy's do not satisfy.

    Those of Gauss's function may, as all parameters are raised together: so 15.5.12 as well.
    """
    raised = [*[param + n for param in args[:-1]], args[-1]]
    value, slope, bend = (_shifted(k, raised) for k in range(3))
    *upper, b, z = raised
    factor: Any = math.prod(upper, start=np.ones_like(b))
    if len(upper) == 2:
        left = z * (1 - z) * bend + (b - (upper[0] + upper[1] + 1) * z) * slope
    else:
        left = z * bend + (b - z * len(upper)) * slope
    right = factor * value
    good = np.abs(left - right) < 1e-9 * np.abs(right)
    if len(upper) == 2:
        first, second = upper
        by_first, by_second = (
            sp.hyp2f1(first + 1, second, b, z),
            sp.hyp2f1(first, second + 1, b, z),
        )
        off = (second - first) * value + first * by_first - second * by_second
        good &= np.abs(off) < 1e-9 * np.maximum(np.abs(first), np.abs(second)) * np.abs(value)
    return good | (factor == 0)


for _count, _ufunc in _UFUNCS.items():
    elementwise(_ufunc, *[_partial((0,) * _count, place) for place in range(_count)], strong=True)

# --- Tricomi's function

_STEPS = np.linspace(0, 1, 240)[:, None]
_MOST = 200  # steps of the recurrence
_LARGE = 1e4  # parameters beyond which nothing is known


def _tricomi_integral(a: Any, b: Any, x: Any) -> Any:
    """U for a >= 1 by DLMF 13.4.4, the integral over log t by the trapezoidal rule.

    The integrand falls exponentially towards 0, and faster than that towards infinity. Where it
    is a narrow peak, all steps are within that.
    """
    slope = x + 1 - b
    sum_of_sizes = np.abs(slope) + np.hypot(slope, 2 * np.sqrt(a * x))
    peak = np.where(slope < 0, sum_of_sizes / (2 * x), 2 * a / sum_of_sizes)
    low = np.log(np.minimum(1, peak)) - 40 / a - 9 / np.sqrt(a)
    high = np.log((60 + 3 * (a + np.abs(b))) / x)

    def logs_between(low: Any, high: Any) -> Any:
        s = low + (high - low) * _STEPS
        t = np.exp(s)
        return a * s - x * t + (b - a - 1) * np.log1p(t)

    logs = logs_between(low, high)
    for _ in range(2):
        counts = logs > np.max(logs, axis=0) - 45
        before = np.maximum(np.argmax(counts, axis=0) - 1, 0)
        after = np.maximum(np.argmax(counts[::-1], axis=0) - 1, 0)
        width = (high - low) / (len(_STEPS) - 1)
        if not np.any(before + after > len(_STEPS) / 10):
            break
        low, high = low + before * width, high - after * width
        logs = logs_between(low, high)
    top = np.max(logs, axis=0)
    total = np.sum(np.exp(logs - top), axis=0) * (high - low) / (len(_STEPS) - 1)
    return np.exp(top + np.log(total) - sp.gammaln(a))


def _tricomi(a: Any, b: Any, x: Any) -> Any:
    """U for any a, from two integrals by DLMF 13.3.7 where that is stable downwards."""
    shape = np.shape(a)
    a, b, x = (np.ravel(array) for array in (a, b, x))
    steps = np.where(np.isfinite(a), np.maximum(0, np.ceil(1 - a)), 0)
    known = (x > 0) & np.isfinite(x) & (steps <= _MOST)
    known &= (np.abs(a) <= _LARGE) & (np.abs(b) <= _LARGE)
    steps = np.where(known, steps, 0)
    at = np.where(known, a, 1.0) + steps
    b, x = np.where(known, b, 1.0), np.where(known, x, 1.0)
    upper, value = _tricomi_integral(at + 1, b, x), _tricomi_integral(at, b, x)
    upper_error, error = np.abs(upper), np.abs(value)  # in units of the rounding
    for step in range(int(np.max(steps, initial=0))):
        first, second = 2 * at - b + x, at * (at - b + 1)
        lower = first * value - second * upper
        lower_error = np.abs(first) * error + np.abs(second) * upper_error + np.abs(lower)
        down = step < steps
        upper, value = np.where(down, value, upper), np.where(down, lower, value)
        upper_error, error = (
            np.where(down, error, upper_error),
            np.where(down, lower_error, error),
        )
        at = np.where(down, at - 1, at)
    unstable = known & ~(error < 1000 * np.abs(value))
    value[unstable] = sp.hyperu(at[unstable], b[unstable], x[unstable])
    return np.where(known, value, np.nan).reshape(shape)


tricomi = in_double(_tricomi, "hyperu")


def _tricomi_by_x(_out: Value, a: Value, b: Value, x: Value) -> Value:
    return -a * tricomi(a + 1, b + 1, x)


for _function in (tricomi, sp.hyperu):
    elementwise(
        _function,
        lambda _out, a, b, x: by_parameter(tricomi, (a, b, x), 0, name="hyperu"),
        lambda _out, a, b, x: by_parameter(tricomi, (a, b, x), 1, name="hyperu"),
        _tricomi_by_x,
        strong=True,
        **({} if _function is sp.hyperu else {"signature": "a, b, x"}),
    )
