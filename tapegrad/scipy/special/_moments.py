"""Families of simple integrals: moments of exp and of a quotient, and integrals of erfc.

They are the derivatives of `exprel`, of powers by their exponent near 0, of `erfcx` and of `wofz`,
in forms without cancellation. Must not know which ufuncs need them.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from tapegrad._core.types import Function, Value
from tapegrad._core.values import any_true
from tapegrad.scipy import _special as sp
from tapegrad.scipy.special._primitives import family, integral

_POINTS, _WEIGHTS = np.polynomial.legendre.leggauss(32)
_POINTS, _WEIGHTS = (_POINTS + 1) / 2, _WEIGHTS / 2


def _by_points(integrand: Function, z: Value) -> Value:
    """The integral over s from 0 to 1, by the rule of Gauss."""
    total = np.zeros_like(z)
    for s, weight in zip(_POINTS, _WEIGHTS, strict=True):
        total = total + weight * integrand(s, z)
    return total


@family
def exp_moment(n: int) -> tuple[Function, tuple[Any, ...]]:
    """The integral of s**n exp(z s) over s from 0 to 1; the derivative by z is the next one."""

    def values(z: Value) -> Value:
        near = np.absolute(z) < 6 + n
        inside = _by_points(lambda s, z: s**n * np.exp(z * s), np.where(near, z, 0))
        far = np.where(near, 1, z)
        found = np.expm1(far) / far
        for k in range(1, n + 1):
            found = (np.exp(far) - k * found) / far
        found = np.where(np.isposinf(far.real), np.inf, np.where(np.isneginf(far.real), 0, found))
        return np.where(near, inside, found)

    return values, (lambda _out, z: exp_moment(n + 1)(z),)


@family
def log_moment(n: int) -> tuple[Function, tuple[Any, ...]]:
    """The integral of s**n / (1 + w s)**(n + 1): of order 0 log1p(w) / w."""

    def values(w: Value) -> Value:
        near = np.absolute(w) < 0.5
        inside = _by_points(lambda s, w: s**n / (1 + w * s) ** (n + 1), np.where(near, w, 0))
        far = np.where(near, 1, w)
        found = np.log1p(far) / far
        for k in range(1, n + 1):
            found = (found - (1 + far) ** -float(k) / k) / far
        return np.where(near, inside, np.where(np.isinf(far), 0, found))

    return values, (lambda _out, w: -(n + 1) * log_moment(n + 1)(w),)


@family
def erfc_integral(n: int) -> tuple[Function, tuple[Any, ...]]:
    """exp(x**2) times the n-th repeated integral of erfc: DLMF 7.18. Of order 0 it is erfcx."""

    def values(x: Value) -> Value:
        if n == 0:
            return sp.erfcx(x)
        far = x > 0.5
        low = np.where(far, 0, x)
        before, found = 2 / math.sqrt(math.pi) * np.ones_like(x), sp.erfcx(low)
        for k in range(1, n + 1):
            before, found = found, (before / 2 - low * found) / k
        high = np.where(far & np.isfinite(x), x, 1)
        scale = 1 / (high + np.sqrt(high * high + 1))
        tail = integral(lambda t, x: t**n * np.exp(-t * (t + 2 * x)), scale, high)
        tail = np.where(np.isinf(x), 0, tail * 2 / math.sqrt(math.pi) / math.factorial(n))
        return np.where(far, tail, np.where(np.isnan(x), x, found))

    return values, (lambda _out, x: -2 * (n + 1) * erfc_integral(n + 1)(x),)


@functools.cache
def _series(n: int) -> list[float]:
    """The factors of the asymptotic series of the n-th derivative of wofz."""
    first = [1.0, *(float(sp.factorial2(2 * k - 1)) / 2**k for k in range(1, 30))]
    return [factor * float(sp.poch(2 * k + 1, n)) for k, factor in enumerate(first)]


@family
def faddeeva(n: int) -> tuple[Function, tuple[Any, ...]]:
    """The n-th derivative of wofz: DLMF 7.10.2, and far away its asymptotic series, 7.12.1."""

    def values(z: Value) -> Value:
        z = z.astype(np.complex128)
        far = ((np.absolute(z) > 7) & (z.imag >= 0)) | ((z * z).real > 49)
        near = np.where(far, 0, z)
        before, found = 0 * near, sp.wofz(near)
        for k in range(1, n + 1):
            extra = 2j / math.sqrt(math.pi) if k == 1 else 0
            before, found = found, -2 * near * found - 2 * (k - 1) * before + extra
        if not any_true(far):
            return found
        away = np.where(far, z, 10)
        series, inverse = np.zeros_like(z), 1 / away
        for k in reversed(range(30)):
            series = series * inverse * inverse + _series(n)[k]
        series = 1j / math.sqrt(math.pi) * (-1) ** n * series * inverse ** (n + 1)
        return np.where(far, series, found)

    return values, (lambda _out, z: faddeeva(n + 1)(z),)


__all__ = ["erfc_integral", "exp_moment", "faddeeva", "log_moment"]
