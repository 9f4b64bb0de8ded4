"""The incomplete beta function whose argument moves with its second parameter, by that parameter.

F and Student's distributions are I(a, b, x) at x / (1 - x) = w = a s / b, for a fixed s. By b, the
derivative of I by its parameter and that by its argument cancel, to 1 / b of their size. Under the
integral the density has the factor

    h(w) = psi(a + b) - psi(b) - a / b + (a / b) w / (1 + w) - (log1p(w) - w / (1 + w)),

whose three parts are all of the order of 1 / b**2. Must not know which ufuncs need it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tapegrad._core.types import Function, Value
from tapegrad._core.values import untraced
from tapegrad.scipy.special._digamma import BERNOULLI, digamma_step, polygamma
from tapegrad.scipy.special._incomplete_beta import (
    beta_by_shapes,
    density,
    logs,
    over_tail,
    powers,
)
from tapegrad.scipy.special._incomplete_gamma import stirling_error
from tapegrad.scipy.special._moments import log_moment
from tapegrad.scipy.special._primitives import family

_LARGE = 30  # parameters from which on the plain sums have lost digits


@family
def digamma_excess(*_none: int) -> tuple[Function, tuple[Any, ...]]:
    """psi(a + b) - psi(b) - a / b, for large b by the terms of DLMF 5.11.2 in pairs."""

    def values(a: Value, b: Value) -> Value:
        plain = digamma_step(0, 0)(b, a) - a / b
        good = (a > 0) & (b > _LARGE)
        a, b = np.where(good, a, 1.0), np.where(good, b, _LARGE)
        ratio = a / b
        total = ratio * ratio * (log_moment(1)(ratio) - 1 / (1 + ratio)) + 0.5 * ratio / (a + b)
        shrinking = -2 * np.log1p(ratio)
        for k, number in enumerate(BERNOULLI[:7], 1):
            total = total - number / (2 * k) * b ** (-2.0 * k) * np.expm1(k * shrinking)
        return np.where(good, total, plain)

    def by_a(_out: Value, a: Value, b: Value) -> Value:
        return polygamma(1)(a + b) - 1 / b

    def by_b(_out: Value, a: Value, b: Value) -> Value:
        return polygamma(1)(a + b) - polygamma(1)(b) + a / (b * b)

    return values, (by_a, by_b)


@family
def student_peak(*_none: int) -> tuple[Function, tuple[Any, ...]]:
    """The top of Student's density: Gamma((df + 1) / 2) / (sqrt(pi df) Gamma(df / 2))."""

    def values(df: Value) -> Value:
        a = 0.5 * df
        exponent = a * np.log1p(0.5 / a) - 0.5 + stirling_error(a + 0.5) - stirling_error(a)
        return np.exp(exponent) / math.sqrt(2 * math.pi)

    return values, (lambda out, df: 0.5 * out * digamma_excess()(0.5, 0.5 * df),)


@family
def beta_stretched(*_none: int) -> tuple[Function, tuple[Any, ...]]:
    """The derivative by b of I(a, b, x), where x / (1 - x) is s a / b; y is 1 - x."""

    def values(a: Value, b: Value, x: Value, y: Value) -> Value:
        # density(a, b) * x * y / b, which is finite at the ends
        moved = density(a + 1, b + 1, x, y) * (a / ((a + b) * (a + b + 1)))
        found = beta_by_shapes(0, 1)(a, b, x, y) - moved
        inner = (a > 0.01) & (b > _LARGE) & np.isfinite(a + b) & (x > 0) & (y > 0)
        safe = zip((a, b, x, y), (1.0, _LARGE, 0.5, 0.5), strict=True)
        return np.where(inner, _integrated(*[np.where(inner, v, d) for v, d in safe]), found)

    def by_a(_out: Value, a: Value, b: Value, x: Value, y: Value) -> Value:
        slope = np.log(_inside(x)) + digamma_step(0, 0)(a, b)
        return beta_by_shapes(1, 1)(a, b, x, y) - density(a, b, x, y) * slope * x * y / b

    def by_b(_out: Value, a: Value, b: Value, x: Value, y: Value) -> Value:
        slope = np.log(_inside(y)) + digamma_step(0, 0)(b, a) - 1 / b
        return beta_by_shapes(0, 2)(a, b, x, y) - density(a, b, x, y) * slope * x * y / b

    def by_x(_out: Value, a: Value, b: Value, x: Value, y: Value) -> Value:
        w = x / _inside(y)
        factor = digamma_excess()(a, b) + a / b * x - w * w * log_moment(1)(w)
        return density(a, b, x, y) * factor

    return values, (by_a, by_b, by_x, 0)


def _inside(x: Value) -> Value:
    return np.where(untraced(x) == 0, 1.0, x)


def _integrated(a: Value, b: Value, x: Value, y: Value) -> Value:
    log_x, log_y = logs(x, y)

    def factor(log_t: Value, log_rest: Value, constants: list[Value]) -> Value:
        excess, ratio = constants
        return _factor(excess, ratio, np.exp(log_t), log_rest)

    constants = [digamma_excess()(a, b), a / b]
    return powers(a, b, x, y) * over_tail(factor, constants, a, b, x, y, log_x, log_y)


def _factor(excess: Value, ratio: Value, share: Value, log_rest: Value) -> Value:
    """h, where share is w / (1 + w) and log_rest -log1p(w).

    For small shares by the power series of the logarithm.
    """
    near = share < 0.35
    small = np.where(near, share, 0.0)
    series: Any = 0.0
    for k in range(34, 1, -1):
        series = series * small + 1 / k
    return excess + ratio * share - np.where(near, series * small * small, -log_rest - share)


__all__ = ["beta_stretched", "digamma_excess", "student_peak"]
