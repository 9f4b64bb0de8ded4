"""Moments, means and spreads of samples, also of what lies within limits."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad import stop_gradient
from tapegrad._core.values import lift
from tapegrad.scipy.stats._sample import central, defines, given, kept


@defines
def moment(
    a: Any,
    order: Any = 1,
    axis: int | None = 0,
    nan_policy: str = "propagate",
    *,
    center: Any = None,
    keepdims: bool = False,
) -> Any:
    a, axis = given(a, axis, nan_policy)
    middle = np.mean(a, axis=axis, keepdims=True) if center is None else center
    if np.ndim(order) > 0:
        return np.stack(
            [kept(np.mean((a - middle) ** n, axis=axis), axis, keepdims) for n in order]
        )
    return kept(np.mean((a - middle) ** order, axis=axis), axis, keepdims)


@defines
def skew(
    a: Any,
    axis: int | None = 0,
    bias: bool = True,
    nan_policy: str = "propagate",
    *,
    keepdims: bool = False,
) -> Any:
    a, axis = given(a, axis, nan_policy)
    n = np.shape(a)[axis]
    found = central(a, axis, 3) / central(a, axis, 2) ** 1.5
    if not bias and n > 2:
        found = found * np.sqrt((n - 1.0) * n) / (n - 2.0)
    return kept(found, axis, keepdims)


@defines
def kurtosis(
    a: Any,
    axis: int | None = 0,
    fisher: bool = True,
    bias: bool = True,
    nan_policy: str = "propagate",
    *,
    keepdims: bool = False,
) -> Any:
    a, axis = given(a, axis, nan_policy)
    n = np.shape(a)[axis]
    found = central(a, axis, 4) / central(a, axis, 2) ** 2
    if not bias and n > 3:
        found = ((n * n - 1.0) * found - 3.0 * (n - 1) ** 2) / ((n - 2.0) * (n - 3.0)) + 3.0
    return kept(found - 3 if fisher else found, axis, keepdims)


@defines
def variation(
    a: Any,
    axis: int | None = 0,
    nan_policy: str = "propagate",
    ddof: int = 0,
    *,
    keepdims: bool = False,
) -> Any:
    a, axis = given(a, axis, nan_policy)
    return kept(np.std(a, axis=axis, ddof=ddof) / np.mean(a, axis=axis), axis, keepdims)


@defines
def sem(
    a: Any,
    axis: int | None = 0,
    ddof: int = 1,
    nan_policy: str = "propagate",
    *,
    keepdims: bool = False,
) -> Any:
    a, axis = given(a, axis, nan_policy)
    root = np.sqrt(np.shape(a)[axis])
    return kept(np.std(a, axis=axis, ddof=ddof) / root, axis, keepdims)


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


@defines
def gstd(
    a: Any,
    axis: int | None = 0,
    ddof: int = 1,
    *,
    keepdims: bool = False,
    nan_policy: str = "propagate",
) -> Any:
    a, axis = given(a, axis, nan_policy)
    return np.exp(np.std(np.log(a), axis=axis, ddof=ddof, keepdims=keepdims))


def _mean(x: Any, axis: int, weights: Any, keepdims: bool) -> Any:
    if weights is None:
        return np.mean(x, axis=axis, keepdims=keepdims)
    weights = lift(weights)
    if np.ndim(weights) != np.ndim(x):
        shape = [1] * np.ndim(x)
        shape[axis] = -1
        weights = np.reshape(weights, shape)
    total = np.sum(weights * np.ones(np.shape(x)), axis=axis, keepdims=keepdims)
    return np.sum(x * weights, axis=axis, keepdims=keepdims) / total


@defines
def gmean(
    a: Any,
    axis: int | None = 0,
    dtype: Any = None,
    weights: Any = None,
    *,
    nan_policy: str = "propagate",
    keepdims: bool = False,
) -> Any:
    a, axis = given(a, axis, nan_policy)
    a = a if dtype is None else a.astype(dtype)
    return np.exp(_mean(np.log(a), axis, weights, keepdims))


@defines
def hmean(
    a: Any,
    axis: int | None = 0,
    dtype: Any = None,
    *,
    weights: Any = None,
    nan_policy: str = "propagate",
    keepdims: bool = False,
) -> Any:
    a, axis = given(a, axis, nan_policy)
    a = a if dtype is None else a.astype(dtype)
    return 1 / _mean(1 / a, axis, weights, keepdims)


@defines
def pmean(
    a: Any,
    p: Any,
    *,
    axis: int | None = 0,
    dtype: Any = None,
    weights: Any = None,
    nan_policy: str = "propagate",
    keepdims: bool = False,
) -> Any:
    a, axis = given(a, axis, nan_policy)
    a = a if dtype is None else a.astype(dtype)
    if np.ndim(p) == 0 and stop_gradient(p) == 0:
        return np.exp(_mean(np.log(a), axis, weights, keepdims))
    return _mean(a**p, axis, weights, keepdims) ** (1 / p)


def _within(a: Any, limits: Any, inclusive: tuple[bool, bool]) -> Any:
    """Which elements lie within limits, as plain truth values."""
    at = stop_gradient(a)
    inside = at == at
    if limits is not None:
        low, high = limits
        if low is not None:
            inside = inside & (at >= low if inclusive[0] else at > low)
        if high is not None:
            inside = inside & (at <= high if inclusive[1] else at < high)
    return inside


@defines
def tmean(
    a: Any,
    limits: Any = None,
    inclusive: tuple[bool, bool] = (True, True),
    axis: int | None = None,
    *,
    nan_policy: str = "propagate",
    keepdims: bool = False,
) -> Any:
    a, axis = given(a, axis, nan_policy)
    return np.mean(a, axis=axis, where=_within(a, limits, inclusive), keepdims=keepdims)


@defines
def tvar(
    a: Any,
    limits: Any = None,
    inclusive: tuple[bool, bool] = (True, True),
    axis: int | None = 0,
    ddof: int = 1,
    *,
    nan_policy: str = "propagate",
    keepdims: bool = False,
) -> Any:
    a, axis = given(a, axis, nan_policy)
    inside = _within(a, limits, inclusive)
    return np.var(a, axis=axis, ddof=ddof, where=inside, keepdims=keepdims)


@defines
def tstd(
    a: Any,
    limits: Any = None,
    inclusive: tuple[bool, bool] = (True, True),
    axis: int | None = 0,
    ddof: int = 1,
    *,
    nan_policy: str = "propagate",
    keepdims: bool = False,
) -> Any:
    a, axis = given(a, axis, nan_policy)
    inside = _within(a, limits, inclusive)
    return np.std(a, axis=axis, ddof=ddof, where=inside, keepdims=keepdims)


@defines
def tsem(
    a: Any,
    limits: Any = None,
    inclusive: tuple[bool, bool] = (True, True),
    axis: int | None = 0,
    ddof: int = 1,
    *,
    nan_policy: str = "propagate",
    keepdims: bool = False,
) -> Any:
    a, axis = given(a, axis, nan_policy)
    inside = _within(a, limits, inclusive)
    count = np.sum(inside, axis=axis, keepdims=keepdims)
    deviation = np.std(a, axis=axis, ddof=ddof, where=inside, keepdims=keepdims)
    return deviation / np.sqrt(count)


@defines
def tmin(
    a: Any,
    lowerlimit: Any = None,
    axis: int | None = 0,
    inclusive: bool = True,
    nan_policy: str = "propagate",
    *,
    keepdims: bool = False,
) -> Any:
    a, axis = given(a, axis, nan_policy)
    inside = _within(a, (lowerlimit, None), (inclusive, True))
    return np.min(a, axis=axis, where=inside, initial=np.inf, keepdims=keepdims)


@defines
def tmax(
    a: Any,
    upperlimit: Any = None,
    axis: int | None = 0,
    inclusive: bool = True,
    nan_policy: str = "propagate",
    *,
    keepdims: bool = False,
) -> Any:
    a, axis = given(a, axis, nan_policy)
    inside = _within(a, (None, upperlimit), (True, inclusive))
    return np.max(a, axis=axis, where=inside, initial=-np.inf, keepdims=keepdims)


def _cut(a: Any, low: int, high: int, axis: int) -> Any:
    """Rest of a row in order without its ends."""
    index = [slice(None)] * np.ndim(a)
    index[axis] = slice(low, high)
    return np.partition(a, (low, high - 1), axis)[tuple(index)]


@defines
def trim_mean(
    a: Any,
    proportiontocut: float,
    axis: int | None = 0,
    *,
    nan_policy: str = "propagate",
    keepdims: bool = False,
) -> Any:
    a, axis = given(a, axis, nan_policy)
    n = np.shape(a)[axis]
    low = int(proportiontocut * n)
    return np.mean(_cut(a, low, n - low, axis), axis=axis, keepdims=keepdims)


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
