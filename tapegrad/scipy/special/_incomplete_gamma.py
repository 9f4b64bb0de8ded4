"""The incomplete gamma function's derivatives by its shape, of every order.

The derivative by the shape is the integral of the density times log(t) - digamma(a), which changes
sign once: taken over the tail that has one sign, by a double exponential formula after t = x
exp(-u) or x exp(u), there is no cancellation. Shapes below 1 are raised by the recurrence DLMF
8.8.5 where its terms have one sign. Compare R. J. Moore, Algorithm AS 187: Derivatives of the
incomplete gamma integral, Appl. Stat. 31 (1982), whose series lose digits for large x.

Must not know which ufuncs need them.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tapegrad._core.types import Function, Value
from tapegrad._core.values import untraced
from tapegrad.scipy import _special as sp
from tapegrad.scipy.special._digamma import polygamma
from tapegrad.scipy.special._primitives import bell, family, integral

_ROOT_TAU = math.sqrt(2 * math.pi)


def stirling_error(a: Value) -> Value:
    """log Gamma(a) - ((a - 1/2) log(a) - a + log(2 pi) / 2), for a > 0."""
    inverse = 1 / (a * a)
    series = np.zeros_like(a)
    for coefficient in (1 / 156, -691 / 360360, 1 / 1188, -1 / 1680, 1 / 1260, -1 / 360, 1 / 12):
        series = series * inverse + coefficient
    direct = sp.gammaln(a) - ((a - 0.5) * np.log(a) - a + 0.5 * math.log(2 * math.pi))
    return np.where(a < 10, direct, series / a)


def log1p_less(z: Value) -> Value:
    """log1p(z) - z."""
    return np.log1p(z) - z


def _weight(a: Value, x: Value) -> Value:
    """x**a exp(-x) / Gamma(a), without the cancellation of large logarithms."""
    mu = (x - a) / a
    low = x < a / 2  # mu has lost the digits of x
    less = np.where(low, np.log(np.where(low, x / a, 1)) - mu, log1p_less(np.where(low, 0, mu)))
    found = np.sqrt(a) / _ROOT_TAU * np.exp(a * less - stirling_error(a))
    small = (a < 10) & (x < 700)
    direct = np.where(small, x, 1) ** np.where(small, a, 1) * np.exp(-x) * sp.rgamma(a)
    found = np.where(small, direct, found)
    return np.where((x > 0) & np.isinf(x), 0, found)


@family
def gamma_density(*_none: int) -> tuple[Function, tuple[Any, ...]]:
    """x**(a - 1) exp(-x) / Gamma(a): the slope of the incomplete gamma function."""

    def values(a: Value, x: Value) -> Value:
        inner = (x > 0) & (a > 0)
        at_zero = np.where(a == 1, 1.0, np.where(a < 1, np.inf, 0.0))
        found = _weight(np.where(inner, a, 1), np.where(inner, x, 1)) / np.where(inner, x, 1)
        low = (a < 10) & (x < 1)  # x**a may underflow before x**(a - 1) does
        direct = np.where(inner & low, x, 1) ** (a - 1) * np.exp(-x) * sp.rgamma(a)
        found = np.where(inner & low, direct, found)
        found = np.where(inner, found, np.where((x == 0) & (a > 0), at_zero, 0.0))
        outside = (a < 0) | (x < 0) | np.isnan(a + x)
        return np.where(outside, np.nan, found)

    return values, (_density_by_shape, _density_by_x)


def _density_by_shape(out: Value, a: Value, x: Value) -> Value:
    return sp.xlogy(out, x) - out * polygamma(0)(a)


def _density_by_x(out: Value, a: Value, x: Value) -> Value:
    """Where x is 0 by the density of shape a - 1."""
    zero = untraced(x) == 0
    inner = out * ((a - 1) / np.where(zero, 1.0, x) - 1)
    steep = untraced(a) > 1
    lower = gamma_density()(np.where(steep, a - 1, 1.0), x)
    lower = np.where(steep, lower, np.where(untraced(a) == 1, 0.0, -np.inf))
    return np.where(zero, lower - np.where(zero & steep | (untraced(a) == 1), out, 0.0), inner)


def density(a: Value, x: Value) -> Value:
    return gamma_density()(a, x)


@family
def gamma_by_shape(n: int) -> tuple[Function, tuple[Any, ...]]:
    """The n-th derivative by a of the regularized lower incomplete gamma function P(a, x)."""

    def values(a: Value, x: Value) -> Value:
        good = (a > 0) & (x > 0) & np.isfinite(x) & np.isfinite(a)
        found = _derivative(n, np.where(good, a, 1.0), np.where(good, x, 1.0))
        outside = (a <= 0) | (x < 0) | np.isnan(a + x)
        found = np.where(good, found, np.where(outside, np.nan, 0.0))
        if n == 1:  # the complement is a * E1(x) near a = 0
            found = np.where((a == 0) & (x > 0), -sp.exp1(np.where(x > 0, x, 1.0)), found)
        return found

    def by_x(_out: Value, a: Value, x: Value) -> Value:
        zero = (untraced(x) == 0) & (untraced(a) > 1)  # where the density beats the logarithm
        log = np.log(np.where(zero, 1.0, x))
        return density(a, x) * bell(cumulants(log, a), n)

    return values, (lambda _out, a, x: gamma_by_shape(n + 1)(a, x), by_x)


def cumulants(log_t: Value, a: Value) -> Function:
    """The derivatives by a of log(t**a / Gamma(a))."""
    return lambda n: (log_t - polygamma(0)(a)) if n == 1 else -polygamma(n - 1)(a)


def _derivative(n: int, a: Value, x: Value) -> Value:
    raised = (a < 1) & (x < np.exp(sp.psi(a + 1)))
    shape = np.where(raised, a + 1, a)
    weight = _weight(shape, x)
    found = weight * _tail(n, shape, x)
    if np.any(raised):
        step = weight / x * bell(cumulants(np.log(x), shape), n)
        found = np.where(raised, found + step, found)
    return found


def _tail(n: int, a: Value, x: Value) -> Value:
    """The n-th derivative, over x**a exp(-x) / Gamma(a)."""
    psi = [polygamma(k)(a) for k in range(n)]
    lower = np.log(x) < psi[0]
    sign = np.where(lower, -1.0, 1.0)
    slope = np.absolute(a - x)
    towards = np.where(lower, a - x, x - a)
    scale = 2 / (towards + np.sqrt(slope * slope + 2 * x))

    def integrand(u: Value, a: Value, x: Value, sign: Value, log_x: Value, *psi: Value) -> Value:
        v = sign * u
        exponent = (a - x) * v - x * (np.expm1(v) - v)
        cumulants = [log_x + v - psi[0], *[-p for p in psi[1:]]]
        return np.exp(exponent) * bell(lambda k: cumulants[k - 1], n)

    return -sign * integral(integrand, scale, a, x, sign, np.log(x), *psi)


__all__ = ["cumulants", "density", "gamma_by_shape", "log1p_less", "stirling_error"]
