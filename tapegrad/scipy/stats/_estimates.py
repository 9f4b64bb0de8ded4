"""Estimates from samples, and statistics of two samples."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tapegrad import stop_gradient
from tapegrad._core.values import lift
from tapegrad._errors import InputError, NotDifferentiableError
from tapegrad.rules.kinks import largest_size
from tapegrad.scipy import _special as sp
from tapegrad.scipy.stats._averages import kurtosis, skew
from tapegrad.scipy.stats._sample import central, defines, given, kept
from tapegrad.scipy.stats._univariate import DISTRIBUTIONS


@defines
def kstat(
    data: Any,
    n: int = 2,
    *,
    axis: int | None = None,
    nan_policy: str = "propagate",
    keepdims: bool = False,
) -> Any:
    data, axis = given(data, axis, nan_policy)
    size = np.shape(data)[axis]
    if n == 1:
        return np.mean(data, axis=axis, keepdims=keepdims)
    second = central(data, axis, 2)
    if n == 2:
        found = second * size / (size - 1.0)
    elif n == 3:
        found = central(data, axis, 3) * size**2 / ((size - 1.0) * (size - 2.0))
    else:
        top = (size + 1) * central(data, axis, 4) - 3 * (size - 1.0) * second**2
        found = top * size**2 / ((size - 1.0) * (size - 2.0) * (size - 3.0))
    return kept(found, axis, keepdims)


@defines
def kstatvar(
    data: Any,
    n: int = 2,
    *,
    axis: int | None = None,
    nan_policy: str = "propagate",
    keepdims: bool = False,
) -> Any:
    data, axis = given(data, axis, nan_policy)
    size = np.shape(data)[axis]
    second = kstat(data, 2, axis=axis, keepdims=keepdims)
    if n == 1:
        return second / size
    fourth = kstat(data, 4, axis=axis, keepdims=keepdims)
    return (2 * size * second**2 + (size - 1) * fourth) / (size * (size + 1))


class Description(NamedTuple):
    """The result of describe."""

    nobs: Any
    minmax: Any
    mean: Any
    variance: Any
    skewness: Any
    kurtosis: Any


@defines
def describe(
    a: Any,
    axis: int | None = 0,
    ddof: int = 1,
    bias: bool = True,
    nan_policy: str = "propagate",
) -> Description:
    a, axis = given(a, axis, nan_policy)
    return Description(
        np.shape(a)[axis],
        (np.min(a, axis=axis), np.max(a, axis=axis)),
        np.mean(a, axis=axis),
        np.var(a, axis=axis, ddof=ddof),
        skew(a, axis, bias),
        kurtosis(a, axis, True, bias),
    )


def _box_cox(x: Any, lmbda: Any) -> Any:
    return sp.boxcox(x, lmbda)


@defines
def boxcox(x: Any, lmbda: Any = None, alpha: Any = None, optimizer: Any = None) -> Any:
    return _box_cox(lift(x), _required(lmbda, "boxcox"))


def _required(lmbda: Any, name: str) -> Any:
    if lmbda is None:
        raise InputError(
            f"scipy.stats.{name}: expected lmbda with traced data, got None: the lmbda that SciPy "
            f"searches is not differentiated. Maximise {name}_llf, and pass the result."
        )
    return lmbda


@defines
def boxcox_llf(
    lmb: Any,
    data: Any,
    *,
    axis: int = 0,
    keepdims: bool = False,
    nan_policy: str = "propagate",
) -> Any:
    data, axis = given(data, axis, nan_policy)
    n = np.shape(data)[axis]
    spread = np.log(np.var(_box_cox(data, lmb), axis=axis))
    found = (lmb - 1) * np.sum(np.log(data), axis=axis) - n / 2 * spread
    return kept(found, axis, keepdims)


def _yeo_johnson(x: Any, lmbda: Any) -> Any:
    positive = x >= 0
    above = sp.boxcox1p(np.where(positive, x, 0.0), lmbda)
    below = -sp.boxcox1p(np.where(positive, 0.0, -x), 2 - lmbda)
    return np.where(positive, above, below)


@defines
def yeojohnson(x: Any, lmbda: Any = None) -> Any:
    return _yeo_johnson(lift(x), _required(lmbda, "yeojohnson"))


@defines
def yeojohnson_llf(
    lmb: Any,
    data: Any,
    *,
    axis: int = 0,
    nan_policy: str = "propagate",
    keepdims: bool = False,
) -> Any:
    data, axis = given(data, axis, nan_policy)
    n = np.shape(data)[axis]
    spread = np.log(np.var(_yeo_johnson(data, lmb), axis=axis))
    signed = np.sum(np.sign(data) * np.log1p(abs(data)), axis=axis)
    return kept((lmb - 1) * signed - n / 2 * spread, axis, keepdims)


class _Correlation(NamedTuple):
    statistic: Any
    pvalue: Any


class Correlation(_Correlation):
    """The result of pearsonr; `correlation` is the statistic by another name."""

    samples: int
    alternative: str

    @property
    def correlation(self) -> Any:
        return self.statistic

    def confidence_interval(self, confidence_level: Any = 0.95, method: Any = None) -> Interval:
        """The interval by Fisher's transformation of the coefficient."""
        if method is not None:
            raise NotDifferentiableError(
                "scipy.stats.pearsonr(...).confidence_interval: not differentiable with method=, "
                "which draws samples. Leave method=None, or call stats.bootstrap."
            )
        if self.samples <= 3:
            return Interval(0 * self.statistic - 1, 0 * self.statistic + 1)
        middle, error = np.arctanh(self.statistic), np.sqrt(1 / (self.samples - 3))
        both = self.alternative == "two-sided"
        away = error * sp.ndtri(0.5 + confidence_level / 2 if both else confidence_level)
        low, high = np.tanh(middle - away), np.tanh(middle + away)
        return Interval(
            low if self.alternative != "less" else 0 * low - 1,
            high if self.alternative != "greater" else 0 * high + 1,
        )


class Interval(NamedTuple):
    """The ends of a confidence interval."""

    low: Any
    high: Any


def _coefficient(x: Any, y: Any, axis: int) -> Any:
    x = x - np.mean(x, axis=axis, keepdims=True)
    y = y - np.mean(y, axis=axis, keepdims=True)
    # The coefficient is that of scaled samples, whose squares neither under- nor overflow.
    x, y = x / largest_size(x, axis), y / largest_size(y, axis)
    norms = np.linalg.norm(x, axis=axis) * np.linalg.norm(y, axis=axis)
    return np.sum(x * y, axis=axis) / norms


@defines
def pearsonr(
    x: Any, y: Any, *, alternative: str = "two-sided", method: Any = None, axis: int | None = 0
) -> Correlation:
    if method is not None:
        raise InputError("scipy.stats.pearsonr: method= is not taken with traced values.")
    x, where = given(x, axis)
    y, _ = given(y, axis)
    r = _coefficient(x, y, where)
    half = np.shape(x)[where] / 2 - 1
    beta = DISTRIBUTIONS["beta"](half, half, loc=-1, scale=2)
    if alternative == "two-sided":
        made = Correlation(r, 2 * beta.sf(abs(r)))
    else:
        made = Correlation(r, beta.cdf(r) if alternative == "less" else beta.sf(r))
    made.samples, made.alternative = np.shape(x)[where], alternative
    return made


class _Fit(NamedTuple):
    slope: Any
    intercept: Any
    rvalue: Any
    pvalue: Any
    stderr: Any


class Line(_Fit):
    """The result of linregress: five values, and one that is an attribute alone."""

    intercept_stderr: Any


@defines
def linregress(x: Any, y: Any, alternative: str = "two-sided") -> Line:
    x, _ = given(x, 0)
    y, _ = given(y, 0)
    n = np.shape(x)[0]
    middle = np.mean(x)
    spread, together = np.mean((x - middle) ** 2), np.mean((x - middle) * (y - np.mean(y)))
    slope = together / spread
    r = _coefficient(x, y, 0)
    left = 1 - r * r
    error = np.sqrt(left * np.mean((y - np.mean(y)) ** 2) / spread / (n - 2))
    t = r * np.sqrt((n - 2) / left)
    student = DISTRIBUTIONS["t"](float(n - 2))
    tails = {"less": student.cdf, "greater": student.sf}
    p = 2 * student.sf(abs(t)) if alternative == "two-sided" else tails[alternative](t)
    line = Line(slope, np.mean(y) - slope * middle, r, p, error)
    line.intercept_stderr = error * np.sqrt(spread + middle**2)
    return line


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
