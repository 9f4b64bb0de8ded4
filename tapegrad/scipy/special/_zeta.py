"""The zeta functions of Riemann and Hurwitz by all arguments, and Spence's function.

The derivatives by the exponent are those of the terms of Euler and Maclaurin's formula, DLMF
25.11.28, carried as power series; further left those of the functional equation, DLMF 25.4.1.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tapegrad._core.forms import elementwise
from tapegrad._core.types import Function, Value
from tapegrad._core.values import untraced
from tapegrad.scipy import _special as sp
from tapegrad.scipy.special._digamma import BERNOULLI, polygamma
from tapegrad.scipy.special._moments import log_moment
from tapegrad.scipy.special._primitives import family, widened

_MOST = 4096  # terms that are summed one by one


def _product(first: list[Any], second: list[Any]) -> list[Any]:
    """The product of two power series, cut off."""
    count = len(first)
    return [sum(first[i] * second[k - i] for i in range(k + 1)) for k in range(count)]


def _power(x: Value, s: Value, count: int) -> list[Any]:
    """x**-(s + e) as a power series in e."""
    log, power = -np.log(x), x**-s
    return [power * log**k / math.factorial(k) for k in range(count)]


@family
def zeta_derivative(n: int) -> tuple[Function, tuple[Any, ...]]:
    """The n-th derivative by s of the zeta function of Hurwitz, for q > 0 and Re(s) >= -1."""

    def values(s: Value, q: Value) -> Value:
        good = (q > 0) & (s.real >= -1) & np.isfinite(s) & np.isfinite(q)
        found = _summed(n, np.where(good, s, 2.0), np.where(good, q, 1.0))
        vanishing = (q > 0) & (np.isposinf(s.real) | np.isinf(q))
        return np.where(good, found, np.where(vanishing, 0.0, np.nan))

    def by_q(_out: Value, s: Value, q: Value) -> Value:
        slope = -s * zeta_derivative(n)(s + 1, q)
        return slope - n * zeta_derivative(n - 1)(s + 1, q) if n else slope

    return values, (lambda _out, s, q: zeta_derivative(n + 1)(s, q), by_q)


def _summed(n: int, s: Value, q: Value) -> Value:
    enough = 16 + n + np.absolute(s)
    total = np.zeros_like(s * q)
    x = q
    for _ in range(min(_MOST, max(0, int(np.max(enough - q, initial=0)) + 1))):
        below = x < enough
        base = np.where(below, x, 1.0)
        total = total + np.where(below, (-np.log(base)) ** n * base**-s, 0)
        x = np.where(below, x + 1, x)
    power = _power(x, s, n + 1)
    pole = [(-1.0) ** k / (s - 1) ** (k + 1) for k in range(n + 1)]
    rest = x * _product(power, pole)[n] + 0.5 * power[n]
    rising = [s, np.ones_like(s), *[np.zeros_like(s)] * n][: n + 1]
    scale = 1 / x
    for k, number in enumerate(BERNOULLI, 1):
        rest = rest + number / math.factorial(2 * k) * scale * _product(power, rising)[n]
        for i in (2 * k - 1, 2 * k):
            rising = _product(rising, [s + i, np.ones_like(s), *[np.zeros_like(s)] * n][: n + 1])
        scale = scale / (x * x)
    return total + math.factorial(n) * rest


def _hurwitz_by_s(_out: Value, s: Value, q: Value) -> Value:
    return zeta_derivative(1)(s, q)


def _hurwitz_by_q(_out: Value, s: Value, q: Value) -> Value:
    return -s * sp.zeta(s + 1, q)


def _riemann_slope(_out: Value, s: Value) -> Value:
    left = np.real(untraced(s)) < -0.5  # nearer to 0 the reflected terms are poles that cancel
    mirrored = np.where(left, 1 - s, 2.0)
    right = zeta_derivative(1)(np.where(left, 2.0, s), 1.0)
    zeta, slope = zeta_derivative(0)(mirrored, 1.0), zeta_derivative(1)(mirrored, 1.0)
    angle = np.pi / 2 * (1 - mirrored)
    sine, cosine = np.sin(angle), np.cos(angle)
    log = math.log(2 * math.pi) - polygamma(0)(mirrored)
    found = (log * sine + np.pi / 2 * cosine) * zeta - sine * slope
    factor = (2 * np.pi) ** (1 - mirrored) / np.pi * sp.gamma(mirrored)
    return np.where(left, factor * found, right)


elementwise(sp.zetac, widened(_riemann_slope), strong=True)
if hasattr(sp, "_riemann_zeta"):
    _riemann = sp._riemann_zeta
    elementwise(_riemann, widened(_riemann_slope), strong=True, name="scipy.special.zeta")
elementwise(sp._zeta, _hurwitz_by_s, _hurwitz_by_q, strong=True, name="scipy.special.zeta")


def _spence_slope(_out: Value, z: Value) -> Value:
    """log(z) / (1 - z), near 1 without a cancellation and near 0 without a rounded z - 1."""
    low = np.absolute(untraced(z)) < 0.5
    inside = np.where(low, z, 0.5)
    return np.where(low, np.log(inside) / (1 - inside), -log_moment(0)(np.where(low, 1, z) - 1))


elementwise(sp.spence, _spence_slope, strong=True)

__all__ = ["zeta_derivative"]
