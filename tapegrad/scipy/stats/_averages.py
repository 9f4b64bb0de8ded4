"""Moments, means and spreads of samples, also of what lies within limits."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad import stop_gradient
from tapegrad._core.values import any_true, lift
from tapegrad.scipy import _special as sp
from tapegrad.scipy.stats._sample import central, defines, given, reduces
from tapegrad.scipy.stats._shared import log1p_over


@reduces("a")
def moment(a: Any, order: Any = 1, center: Any = None) -> Any:
    away = a - (np.mean(a, axis=-1, keepdims=True) if center is None else center)

    def of_order(n: Any) -> Any:
        return np.mean(away**n if n != 0 else 0 * away + 1, axis=-1)

    return [of_order(n) for n in order] if np.ndim(order) > 0 else of_order(order)


@reduces("a")
def skew(a: Any, bias: bool = True) -> Any:
    n = a.shape[-1]
    second, third = central(a, 2, 3)
    found = third / second**1.5
    if not bias and n > 2:
        found = found * np.sqrt((n - 1.0) * n) / (n - 2.0)
    return found


@reduces("a")
def kurtosis(a: Any, fisher: bool = True, bias: bool = True) -> Any:
    n = a.shape[-1]
    second, fourth = central(a, 2, 4)
    found = fourth / second**2
    if not bias and n > 3:
        found = ((n * n - 1.0) * found - 3.0 * (n - 1) ** 2) / ((n - 2.0) * (n - 3.0)) + 3.0
    return found - 3 if fisher else found


@reduces("a")
def variation(a: Any, ddof: int = 0) -> Any:
    return np.std(a, axis=-1, ddof=ddof) / np.mean(a, axis=-1)


@reduces("a")
def sem(a: Any, ddof: int = 1) -> Any:
    return np.std(a, axis=-1, ddof=ddof) / np.sqrt(a.shape[-1])


@defines
def zmap(
    scores: Any, compare: Any, axis: int | None = 0, ddof: int = 0, nan_policy: str = "propagate"
) -> Any:
    flat = axis is None
    compare, axis = given(compare, axis, nan_policy)
    scores = lift(scores)
    middle = np.mean(compare, axis=axis, keepdims=True)
    spread = np.std(compare, axis=axis, ddof=ddof, keepdims=True)
    if flat:
        middle, spread = np.reshape(middle, ()), np.reshape(spread, ())
    return (scores - middle) / spread


@defines
def zscore(a: Any, axis: int | None = 0, ddof: int = 0, nan_policy: str = "propagate") -> Any:
    return zmap(a, a, axis, ddof, nan_policy)


@defines
def gzscore(a: Any, *, axis: int | None = 0, ddof: int = 0, nan_policy: str = "propagate") -> Any:
    logs = np.log(lift(a))
    return zmap(logs, logs, axis, ddof, nan_policy)


@reduces("a")
def gstd(a: Any, ddof: int = 1) -> Any:
    return np.exp(np.std(np.log(a), axis=-1, ddof=ddof))


def _mean(x: Any, weights: Any) -> Any:
    if weights is None:
        return np.mean(x, axis=-1)
    return np.sum(x * weights, axis=-1) / np.sum(weights, axis=-1)


@reduces("a", "weights")
def gmean(a: Any, dtype: Any = None, weights: Any = None) -> Any:
    a = a if dtype is None else a.astype(dtype)
    return np.exp(_mean(np.log(a), weights))


@reduces("a", "weights")
def hmean(a: Any, dtype: Any = None, weights: Any = None) -> Any:
    a = a if dtype is None else a.astype(dtype)
    return 1 / _mean(1 / a, weights)


NEAR = 0.1  # powers whose means are those of logarithms and what is left


@reduces("a", "weights")
def pmean(a: Any, p: Any, dtype: Any = None, weights: Any = None) -> Any:
    a = a if dtype is None else a.astype(dtype)
    a = a * np.where(stop_gradient(a) < 0, np.nan, 1.0).astype(a.dtype)
    if any_true(np.isinf(stop_gradient(p))):
        raise NotImplementedError("Power mean only implemented for finite `p`")
    near = abs(stop_gradient(p)) < NEAR
    power = np.where(near, 1.0, p)
    far = _mean(a**power, weights) ** (1 / power)
    if not any_true(near):
        return far
    logs = np.log(np.where(near, a, 1.0))
    middle = _mean(logs, weights)
    small, away = np.where(near, p, 0.0), logs - np.expand_dims(middle, -1)
    rest = log1p_over(small, _mean(away * sp.exprel(small * away), weights))
    return np.where(near, np.exp(middle + rest), far)


def _within(a: Any, limits: Any, inclusive: tuple[bool, bool]) -> Any:
    """Which elements lie within limits, or are NaN, as plain truth values."""
    at = stop_gradient(a)
    inside = np.ones(np.shape(a), bool)
    low, high = (None, None) if limits is None else limits
    if low is not None:
        inside = inside & (at >= low if inclusive[0] else at > low)
    if high is not None:
        inside = inside & (at <= high if inclusive[1] else at < high)
    if not any_true(inside):
        raise ValueError("No array values within given limits")
    return inside | (at != at)


@reduces("a")
def tmean(a: Any, limits: Any = None, inclusive: tuple[bool, bool] = (True, True)) -> Any:
    return np.mean(a, axis=-1, where=_within(a, limits, inclusive))


@reduces("a")
def tvar(
    a: Any, limits: Any = None, inclusive: tuple[bool, bool] = (True, True), ddof: int = 1
) -> Any:
    return np.var(a, axis=-1, ddof=ddof, where=_within(a, limits, inclusive))


@reduces("a")
def tstd(
    a: Any, limits: Any = None, inclusive: tuple[bool, bool] = (True, True), ddof: int = 1
) -> Any:
    return np.std(a, axis=-1, ddof=ddof, where=_within(a, limits, inclusive))


@reduces("a")
def tsem(
    a: Any, limits: Any = None, inclusive: tuple[bool, bool] = (True, True), ddof: int = 1
) -> Any:
    inside = _within(a, limits, inclusive)
    count = np.sum(inside, axis=-1).astype(a.dtype)
    return np.std(a, axis=-1, ddof=ddof, where=inside) / np.sqrt(count)


def _where_any(inside: Any) -> Any:
    """1 of rows that have elements within the limits, NaN of others."""
    return np.where(np.any(inside, axis=-1), 1.0, np.nan)


@reduces("a")
def tmin(a: Any, lowerlimit: Any = None, inclusive: bool = True) -> Any:
    inside = _within(a, (lowerlimit, None), (inclusive, True))
    least = np.min(a, axis=-1, where=inside, initial=np.inf)
    return least * _where_any(inside)


@reduces("a")
def tmax(a: Any, upperlimit: Any = None, inclusive: bool = True) -> Any:
    inside = _within(a, (None, upperlimit), (True, inclusive))
    most = np.max(a, axis=-1, where=inside, initial=-np.inf)
    return most * _where_any(inside)


def _cut(a: Any, low: int, high: int, axis: int) -> Any:
    """Rest of a row in order without its ends."""
    index = [slice(None)] * np.ndim(a)
    index[axis] = slice(low, high)
    return np.partition(a, (low, high - 1), axis)[tuple(index)]


@reduces("a")
def trim_mean(a: Any, proportiontocut: float) -> Any:
    n = a.shape[-1]
    low = int(proportiontocut * n)
    if 2 * low > n:
        raise ValueError("Proportion too big.")
    at = stop_gradient(a)
    spoilt = np.where(np.any(at != at, axis=-1), np.nan, 1.0)
    return np.mean(_cut(a, low, n - low, -1), axis=-1) * spoilt.astype(a.dtype)


@defines
def trimboth(a: Any, proportiontocut: float, axis: int | None = 0) -> Any:
    a, axis = given(a, axis)
    n = np.shape(a)[axis]
    low = int(proportiontocut * n)
    return _cut(a, low, n - low, axis)


@defines
def trim1(a: Any, proportiontocut: float, tail: str = "right", axis: int | None = 0) -> Any:
    a, axis = given(a, axis)
    n = np.shape(a)[axis]
    cut = int(proportiontocut * n)
    return _cut(a, 0, n - cut, axis) if tail.lower() == "right" else _cut(a, cut, n, axis)
