"""The polygamma functions of real and complex arguments, and differences of digamma.

Knows recurrences, asymptotic series and reflection. Must not know which ufuncs need them.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tapegrad._core.types import Function, Value
from tapegrad.scipy import _special as sp
from tapegrad.scipy.special._primitives import family

BERNOULLI = (
    *(1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510),
    *(43867 / 798, -174611 / 330),
)
_LARGE = 16  # from here on, and by as much more as the order is, the series are exact


@family
def polygamma(n: int) -> tuple[Function, tuple[Any, ...]]:
    """The n-th derivative of digamma: DLMF 5.15."""

    def values(x: Value) -> Value:
        return sp.psi(x) if n == 0 else _polygamma(n, x)

    return values, (lambda _out, x: polygamma(n + 1)(x),)


def _polygamma(n: int, x: Value) -> Value:
    reflected = x.real < 0.5
    found = _of_right_half(n, np.where(reflected, 1 - x, x))
    if np.any(reflected):
        other = (-1) ** n * found - _cotangent(n, x)
        found = np.where(reflected, other, found)
    pole = (x == np.floor(x.real)) & (x.real <= 0)
    return np.where(pole, np.inf if n % 2 else np.nan, found)


def _of_right_half(n: int, x: Value) -> Value:
    """(-1)**(n + 1) n! zeta(n + 1, x) where the real part is 1/2 or more."""
    s = n + 1
    if x.dtype.kind != "c":
        return (-1.0) ** (n + 1) * math.factorial(n) * sp.zeta(float(s), x)
    first = np.arange(_LARGE + n).reshape(-1, *(1,) * x.ndim)
    total = np.sum((x + first) ** -float(s), axis=0)
    x = x + (_LARGE + n)
    inverse = 1 / x
    total = total + x ** (1.0 - s) / (s - 1) + 0.5 * x ** -float(s)
    factor, power = float(s), x ** (-s - 1.0)
    for k, number in enumerate(BERNOULLI, 1):
        total = total + number / math.factorial(2 * k) * factor * power
        factor *= (s + 2 * k - 1) * (s + 2 * k)
        power = power * inverse * inverse
    return (-1.0) ** (n + 1) * math.factorial(n) * total


def _cotangent(n: int, x: Value) -> Value:
    """The n-th derivative of pi * cot(pi * x): a polynomial in the cotangent."""
    shifted = x - np.round(x.real)
    if x.dtype.kind == "c":
        upper = shifted.imag >= 0
        wave = np.exp(2j * math.pi * np.where(upper, shifted, -shifted))
        cot = -1j * (1 + wave) / (1 - wave)
        cot = np.where(upper, cot, -cot)
        wave = np.where(upper, wave, 1 / wave)
    else:
        cot = 1 / np.tan(math.pi * shifted)
    series = np.polynomial.Polynomial([0.0, 1.0])
    slope = np.polynomial.Polynomial([1.0, 0.0, 1.0])
    if n == 0:
        return math.pi * cot
    series = slope  # a factor 1 + cot**2, which far from the real axis is small, stays outside
    for _ in range(n - 1):
        series = series.deriv() * slope
    rest = series // slope
    if x.dtype.kind == "c":
        decay = np.exp(2j * math.pi * np.where(shifted.imag >= 0, shifted, -shifted))
        factor = -4 * decay / (1 - decay) ** 2
    else:
        factor = 1 / np.sin(math.pi * shifted) ** 2
    return math.pi * (-math.pi) ** n * factor * rest(cot)


@family
def digamma_step(m: int, n: int) -> tuple[Function, tuple[Any, ...]]:
    """psi(a + b) - psi(a), also where b is small, or its derivatives by a (m) and by b (n)."""

    def values(a: Value, b: Value) -> Value:
        return _step(a, b)

    if m or n:
        raise NotImplementedError

    def by_a(_out: Value, a: Value, b: Value) -> Value:
        return polygamma(1)(a + b) - polygamma(1)(a)

    return values, (by_a, lambda _out, a, b: polygamma(1)(a + b))


def _step(a: Value, b: Value) -> Value:
    plain = sp.psi(a + b) - sp.psi(a)
    good = (a > 0) & (a + b > 0)
    a, b = np.where(good, a, 1), np.where(good, b, 0)
    first = a + np.arange(_LARGE).reshape(-1, *(1,) * a.ndim)
    total = np.sum(b / (first * (first + b)), axis=0)
    a = a + _LARGE
    ratio = np.log1p(b / a)
    inverse = 1 / (a * a)
    power, shrinking = inverse, np.expm1(-2 * ratio)
    total = total + ratio + 0.5 * b / (a * (a + b))
    shrunk = shrinking
    for k, number in enumerate(BERNOULLI[:8], 1):  # end**(-2 k) - a**(-2 k)
        total = total - number / (2 * k) * power * shrunk
        power = power * inverse
        shrunk = shrunk + shrinking + shrunk * shrinking
    return np.where(good, total, plain)


__all__ = ["BERNOULLI", "digamma_step", "polygamma"]
