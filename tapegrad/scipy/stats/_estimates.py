"""Estimates from samples, and statistics of two samples."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import scipy.stats

from tapegrad import stop_gradient
from tapegrad._core.quiet import silence
from tapegrad._core.values import lift
from tapegrad._errors import InputError, NotDifferentiableError
from tapegrad.rules.kinks import largest_size
from tapegrad.scipy import _special as sp
from tapegrad.scipy._copies import own_copy
from tapegrad.scipy.stats._averages import kurtosis, skew
from tapegrad.scipy.stats._sample import central, defines, given, reduces
from tapegrad.scipy.stats._univariate import DISTRIBUTIONS

# SciPy's classes of results, which it makes public as results alone.
_SAMPLE = (0.0, 1.0, 3.0), (0.0, 1.0, 1.0)
DescribeResult: Any = type(scipy.stats.describe(_SAMPLE[0]))
LinregressResult: Any = type(scipy.stats.linregress(*_SAMPLE))
PearsonRResult: Any = type(scipy.stats.pearsonr(*_SAMPLE))


@reduces("data")
def kstat(data: Any, n: int = 2) -> Any:
    size = data.shape[-1]
    if n == 1:
        return np.mean(data, axis=-1)
    if n == 2:
        return central(data, 2)[0] * size / (size - 1.0)
    if n == 3:
        return central(data, 3)[0] * size**2 / ((size - 1.0) * (size - 2.0))
    if n == 4:
        second, fourth = central(data, 2, 4)
        top = (size + 1) * fourth - 3 * (size - 1.0) * second**2
        return top * size**2 / ((size - 1.0) * (size - 2.0) * (size - 3.0))
    raise ValueError("k-statistics only supported for 1<=n<=4")


@reduces("data")
def kstatvar(data: Any, n: int = 2) -> Any:
    size, second = data.shape[-1], kstat(data, 2)
    if n == 1:
        return second / size
    if n == 2:
        return (2 * size * second**2 + (size - 1) * kstat(data, 4)) / (size * (size + 1))
    raise ValueError("Only n=1 or n=2 supported.")


@reduces("a")
def describe(a: Any, ddof: int, bias: bool) -> Any:
    return DescribeResult(
        a.shape[-1],
        (np.min(a, axis=-1), np.max(a, axis=-1)),
        np.mean(a, axis=-1),
        np.var(a, axis=-1, ddof=ddof),
        skew(a, bias),
        kurtosis(a, True, bias),
    )


@defines
def boxcox(x: Any, lmbda: Any = None, *args: Any, **options: Any) -> Any:
    if _is_given(lmbda, options):
        return sp.boxcox(lift(x), lmbda)
    return own_copy(scipy.stats.boxcox)(x, lmbda, *args, **options)


def _is_given(lmbda: Any, options: dict[str, Any]) -> bool:
    """Whether there is nothing to search for, nor to raise."""
    return lmbda is not None and options.get("nan_policy") != "raise"


@reduces("data")
def boxcox_llf(lmb: Any, data: Any) -> Any:
    """By powers over the largest, or the least: x**lmb itself may overflow, or not vary."""
    logs = np.log(data)
    ends = np.max(logs, axis=-1), np.min(logs, axis=-1)
    end = stop_gradient(np.where(stop_gradient(lmb) > 0, *ends))
    spread = np.log(np.var(sp.boxcox(data / np.exp(end)[..., np.newaxis], lmb), axis=-1))
    n = data.shape[-1]
    return (lmb - 1) * np.sum(logs, axis=-1) - n / 2 * (spread + 2 * lmb * end)


def _yeo_johnson(x: Any, lmbda: Any) -> Any:
    positive = x >= 0
    above = sp.boxcox1p(np.where(positive, x, 0.0), lmbda)
    below = -sp.boxcox1p(np.where(positive, 0.0, -x), 2 - lmbda)
    return np.where(positive, above, below)


@defines
def yeojohnson(x: Any, lmbda: Any = None, **options: Any) -> Any:
    if _is_given(lmbda, options):
        return _yeo_johnson(lift(x), lmbda)
    return own_copy(scipy.stats.yeojohnson)(x, lmbda, **options)


@reduces("data")
def yeojohnson_llf(lmb: Any, data: Any) -> Any:
    spread = np.log(np.var(_yeo_johnson(data, lmb), axis=-1))
    signed = np.sum(np.sign(data) * np.log1p(abs(data)), axis=-1)
    return (lmb - 1) * signed - data.shape[-1] / 2 * spread


class Correlation(PearsonRResult):
    """SciPy's result of pearsonr, with an interval of traced values."""

    def confidence_interval(self, confidence_level: Any = 0.95, method: Any = None) -> Interval:
        """The interval by Fisher's transformation of the coefficient."""
        if method is not None:
            raise NotDifferentiableError(
                "scipy.stats.pearsonr(...).confidence_interval: not differentiable with method=, "
                "which draws samples. Leave method=None, or call stats.bootstrap."
            )
        if self._n <= 3:
            return Interval(0 * self.statistic - 1, 0 * self.statistic + 1)
        middle, error = np.arctanh(self.statistic), np.sqrt(1 / (self._n - 3))
        both = self._alternative == "two-sided"
        away = error * sp.ndtri(0.5 + confidence_level / 2 if both else confidence_level)
        low, high = np.tanh(middle - away), np.tanh(middle + away)
        return Interval(
            low if self._alternative != "less" else 0 * low - 1,
            high if self._alternative != "greater" else 0 * high + 1,
        )


class Interval(NamedTuple):
    """The ends of a confidence interval."""

    low: Any
    high: Any


def _direction(x: Any, axis: int) -> Any:
    """A sample's deviations from its mean over their length, whose square may overflow."""
    x = x - np.mean(x, axis=axis, keepdims=True)
    x = x / largest_size(x, axis)
    return x / np.linalg.norm(x, axis=axis, keepdims=True)


def _coefficient(x: Any, y: Any, axis: int) -> Any:
    """The product of two directions, which rounding moves beyond 1."""
    r = np.sum(x * y, axis=axis)
    return r - stop_gradient(r - np.clip(r, -1, 1))


def _p_value(law: Any, at: Any, alternative: str) -> Any:
    if alternative == "two-sided":
        return 2 * law.sf(abs(at))
    if alternative not in ("less", "greater"):
        raise ValueError("`alternative` must be 'less', 'greater', or 'two-sided'.")
    return law.cdf(at) if alternative == "less" else law.sf(at)


@defines
def pearsonr(
    x: Any, y: Any, *, alternative: str = "two-sided", method: Any = None, axis: int | None = 0
) -> Correlation:
    if method is not None:
        raise InputError("scipy.stats.pearsonr: method= is not taken with traced values.")
    x, where = given(x, axis)
    y, _ = given(y, axis)
    n = np.shape(x)[where]
    if np.shape(y)[where] != n:
        raise ValueError("`x` and `y` must have the same length along `axis`.")
    r = _coefficient(_direction(x, where), _direction(y, where), where)
    half = n / 2 - 1
    beta = DISTRIBUTIONS["beta"](half, half, loc=-1, scale=2)
    p = 0 * r + 1 if n == 2 else _p_value(beta, r, alternative)
    told = {"alternative": alternative, "n": n, "axis": axis}
    return Correlation(r, p.astype(r.dtype), x=None, y=None, **told)


@reduces("x", "y")
def linregress(x: Any, y: Any, alternative: str = "two-sided") -> Any:
    n, middle = x.shape[-1], np.mean(x, axis=-1)
    away, off = x - middle[..., np.newaxis], y - np.mean(y, axis=-1, keepdims=True)
    along, above = _direction(x, -1), _direction(y, -1)
    r = _coefficient(along, above, -1)
    # The root of 1 - r * r, with all its digits.
    left = np.linalg.norm(above - r[..., np.newaxis] * along, axis=-1)
    spread = np.mean(away * away, axis=-1)
    slope = np.mean(away * off, axis=-1) / spread
    if n == 2:
        p, error = np.where(y[..., 0] == y[..., 1], 1.0, 0.0) * _OF_TWO, slope * 0 * _OF_TWO
    else:
        lengths = np.linalg.norm(off, axis=-1) / np.linalg.norm(away, axis=-1)
        error = lengths * left / math.sqrt(n - 2)
        t = r * np.sqrt((n - 2) / (left * left + 2 * TINY))
        p = _p_value(DISTRIBUTIONS["t"](float(n - 2)), t, alternative)
    intercept, its_error = (
        np.mean(y, axis=-1) - slope * middle,
        error * np.sqrt(spread + middle**2),
    )
    return LinregressResult(slope, intercept, r, p, error, intercept_stderr=its_error)


# Before SciPy 1.18 a line through two points has an error, which is 0.
with silence():
    _OF_TWO = 1.0 + scipy.stats.linregress([0.0, 1.0], [0.0, 1.0]).stderr
TINY = 1e-20  # SciPy adds it to 1 - r and to 1 + r


def _difference(u: Any, v: Any) -> tuple[Any, Any]:
    """The difference of two empirical distribution functions, and how long it lasts."""
    u, v = np.ravel(lift(u)), np.ravel(lift(v))
    everything = np.concatenate([u, v])
    order = np.argsort(stop_gradient(everything), kind="stable")
    steps = np.where(order < np.shape(u)[0], 1 / np.shape(u)[0], -1 / np.shape(v)[0])
    return np.cumsum(steps)[:-1], np.diff(everything[order])


def _unweighted(*weights: Any) -> None:
    if any(weight is not None for weight in weights):
        raise InputError("scipy.stats: weights are not taken with traced samples.")


@defines
def wasserstein_distance(
    u_values: Any, v_values: Any, u_weights: Any = None, v_weights: Any = None
) -> Any:
    _unweighted(u_weights, v_weights)
    height, lengths = _difference(u_values, v_values)
    return np.sum(abs(height) * lengths)


@defines
def energy_distance(
    u_values: Any, v_values: Any, u_weights: Any = None, v_weights: Any = None
) -> Any:
    _unweighted(u_weights, v_weights)
    height, lengths = _difference(u_values, v_values)
    return np.sqrt(2 * np.sum(height**2 * lengths))
