"""Orthogonal functions of real degree, by their three-term recurrence from degrees below 2.

SciPy's come from a hypergeometric function of the degree, which from degrees of 15 on loses all
digits at some arguments. The recurrences (DLMF 18.9.1 and table 18.9.1) hold for real degrees too,
and upwards they are stable. Must not know which derivatives need them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad._core.types import Function, Value
from tapegrad.scipy import _special as sp
from tapegrad.scipy.special._hypergeometric import hypergeometric
from tapegrad.scipy.special._primitives import in_double

_MOST = 3000  # steps; higher degrees give NaN
_LOSS = 1e3  # of the rounding
_CANCELLED = 1e5  # likewise, of what follows from each of the two first values alone


def _upwards(n: Value, start: Function, step: Function, directly: Any = np.False_) -> Value:
    """The function of degree n.

    start: of low degrees, the function
    step: of a degree, and the functions of that and of the one before, that of the next
    directly: where the degree is low enough as it is
    """
    known = n < _MOST
    count = np.where(known & (n >= 1) & ~directly, np.floor(n), 0)
    low = np.where(known, n, 0.0) - count
    first, second = start(low), start(low + (count > 0))
    # The function, and the parts of it that follow from the first value and from the second.
    before, value = np.stack([first, first, 0 * first]), np.stack([second, 0 * second, second])
    top = np.maximum(np.abs(first), np.abs(second))
    for j in range(1, int(np.max(count, initial=0))):
        raised = step(low + j, value, before)
        more = j < count
        before, value = np.where(more, value, before), np.where(more, raised, value)
        top = np.maximum(top, np.abs(value[0]))
    last = np.maximum(np.abs(before[0]), np.abs(value[0]))
    parts = np.max(np.abs(value[1:]), axis=0)
    lost = (top > _LOSS * last) | (parts > _CANCELLED * last)  # upwards is unstable then
    return np.where(known & ~lost, value[0], np.nan)


def _unless_zero(factor: Value, series: Value) -> Value:
    """The product, which is 0 for the degree -1 also where the series has no value."""
    return np.where(factor == 0, 0.0, factor * series)


def _jacobi(n: Value, a: Value, b: Value, x: Value) -> Value:
    total = a + b

    def start(n: Value) -> Value:
        series = hypergeometric(0, 0, 0, 0)(-n, n + total + 1, a + 1, (1 - x) / 2)
        return _unless_zero(sp.binom(n + a, n), series)

    def step(m: Value, value: Value, before: Value) -> Value:
        twice, scale = 2 * m + total, 2 * (m + 1) * (m + total + 1)
        slope = (twice + 1) * ((twice + 2) * x + (a - b) * total / twice)
        return (slope * value - 2 * (m + a) * (m + b) * (twice + 2) / twice * before) / scale

    return _upwards(n, start, step)


def _gegenbauer(n: Value, a: Value, x: Value) -> Value:
    def start(n: Value) -> Value:
        factor = sp.poch(2 * a, n) * sp.rgamma(n + 1)
        series = hypergeometric(0, 0, 0, 0)(-n, n + 2 * a, a + 0.5, (1 - x) / 2)
        return _unless_zero(factor, series)

    def step(m: Value, value: Value, before: Value) -> Value:
        return (2 * (m + a) * x * value - (m + 2 * a - 1) * before) / (m + 1)

    return _upwards(n, start, step)


def _laguerre(n: Value, a: Value, x: Value) -> Value:
    def start(n: Value) -> Value:
        return _unless_zero(sp.binom(n + a, n), hypergeometric(0, 0, 0)(-n, a + 1, x))

    def step(m: Value, value: Value, before: Value) -> Value:
        return ((2 * m + 1 + a - x) * value - (m + a) * before) / (m + 1)

    directly = (n <= 12) | (x.real > 4 * n + 2 * a + 2)  # there the functions fall with the degree
    return _upwards(n, start, step, directly)


def _angle(n: Value, x: Value) -> tuple[Value, Value, Value]:
    """arccos(|x|), or arccos(x); whether it is imaginary; the sign of what |x| stands for.

    Left of -1 there are polynomials alone: Chebyshev's of whole degrees, odd or even.
    """
    if x.dtype.kind == "c":
        return np.arccos(x), np.zeros(x.shape, bool), 1.0
    left = (x < -1) & (n == np.floor(n))
    sign = np.where(left & (n % 2 == 1), -1.0, 1.0)
    beyond = (x > 1) | left
    inner = np.where(beyond, 1.0, x)
    return (
        np.where(beyond, np.arccosh(np.where(beyond, abs(x), 1)), np.arccos(inner)),
        beyond,
        sign,
    )


def _chebyshev_t(n: Value, x: Value) -> Value:
    """DLMF 18.5.1."""
    angle, beyond, sign = _angle(n, x)
    return sign * np.where(beyond, np.cosh(n * angle), np.cos(n * angle))


def _chebyshev_u(n: Value, x: Value) -> Value:
    """DLMF 18.5.2."""
    angle, beyond, sign = _angle(n, x)
    angle = np.where(angle == 0, 1e-9, angle)
    real = np.sin((n + 1) * angle) / np.sin(angle)
    return sign * np.where(beyond, np.sinh((n + 1) * angle) / np.sinh(angle), real)


jacobi: Any = in_double(_jacobi, "eval_jacobi")
gegenbauer: Any = in_double(_gegenbauer, "eval_gegenbauer")
laguerre: Any = in_double(_laguerre, "eval_genlaguerre")
chebyshev_t: Any = in_double(_chebyshev_t, "eval_chebyt")
chebyshev_u: Any = in_double(_chebyshev_u, "eval_chebyu")

__all__ = ["chebyshev_t", "chebyshev_u", "gegenbauer", "jacobi", "laguerre"]
