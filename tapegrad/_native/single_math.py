"""The elementary functions of float32, as formulas over float64: one table.

Knows the formulas, and no syntax of LLVM's. Must not know programs.

A result is rounded to 24 bits in the end, so that here 33 right ones are enough: polynomials are
the lower parts of those of `vector_math.py`, no sum is a pair of numbers, and powers of 2 are
normal numbers of float64. Of |x| up to 3.4e38 nothing overflows that does not in float32.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad._native.lanes import Real, Whole
from tapegrad._native.vector_math import (
    CBRT,
    COS,
    EXP,
    FORMULAS,
    HALF_PI,
    INF,
    INVERSE_LN2,
    INVERSE_LN10,
    LN2_PAIR,
    LOG,
    SIGN,
    SIN,
    logarithm_limits,
    polynomial,
    power_of_two,
    signed_like,
)

LN2 = LN2_PAIR[0]
# In their ranges these are within 2^-32 of what they stand for.
SHORT_EXP, SHORT_LOG, SHORT_SIN, SHORT_COS = EXP[-7:], LOG[-6:], SIN[-5:], COS[-4:]


def parts_of_exp(x: Real) -> tuple[Whole, Real]:
    """k and d: e^x is 2^k (1 + d), d from -0.3 to 0.42. |x| below 700."""
    k, whole = (x * INVERSE_LN2[0]).rounded()
    r = x - k * LN2
    return whole, r + r * r * polynomial(r, SHORT_EXP)


def exp(x: Real) -> Real:
    k, d = parts_of_exp(x.clipped(-110.0, 90.0))
    return (1.0 + d) * power_of_two(k)


def exp2(x: Real) -> Real:
    x = x.clipped(-160.0, 130.0)
    k, whole = x.rounded()
    r = (x - k) * LN2
    return (1.0 + (r + r * r * polynomial(r, SHORT_EXP))) * power_of_two(whole)


def less_one(x: Real) -> Real:
    """e^x - 1, for |x| below 700."""
    k, d = parts_of_exp(x)
    p = power_of_two(k)
    return d * p + (p - 1.0)


def expm1(x: Real) -> Real:
    return (x == 0.0).select(x, less_one(x.clipped(-40.0, 90.0)))


def tanh(x: Real) -> Real:
    a = abs(x)
    a = (a > 10.0).select(x.of(10.0), a)
    e = less_one(a + a)
    return signed_like(e / (e + 2.0), x)


def sinh(x: Real) -> Real:
    a = abs(x)
    e = less_one((a > 91.0).select(x.of(91.0), a))
    return signed_like(0.5 * (e + e / (e + 1.0)), x)


def cosh(x: Real) -> Real:
    a = abs(x)
    e = exp_of_size((a > 91.0).select(x.of(91.0), a))
    return 0.5 * (e + 1.0 / e)


def exp_of_size(a: Real) -> Real:
    """e^a, for a from 0 to 700."""
    k, d = parts_of_exp(a)
    return (1.0 + d) * power_of_two(k)


def parts_of_log(x: Real) -> tuple[Real, Real]:
    """k and log(m) of x = 2^k m, for positive normal x."""
    i = x.bits()
    e = (i - 0x3FE6A09E667F3BCD) >> 52
    f = (i - (e << 52)).real() - 1.0
    s = f / (2.0 + f)
    z = s * s
    return e.small_real(), s + s + s * (z * polynomial(z, SHORT_LOG))


def log(x: Real) -> Real:
    k, rest = parts_of_log(x)
    return logarithm_limits(x, k * LN2 + rest)


def log2(x: Real) -> Real:
    k, rest = parts_of_log(x)
    return logarithm_limits(x, k + rest * INVERSE_LN2[0])


def log10(x: Real) -> Real:
    k, rest = parts_of_log(x)
    return logarithm_limits(x, (k * LN2 + rest) * INVERSE_LN10[0])


def log1p(x: Real) -> Real:
    u = x + 1.0
    k, rest = parts_of_log(u)
    value = k * LN2 + (rest + (x - (u - 1.0)))  # what u lost, where it is nearly 1
    value = (abs(x) < 1e-9).select(x, value)
    value = (x == INF).select(x, value)
    value = (x == -1.0).select(x.of(-INF), value)
    return (x < -1.0).select(x.of(float("nan")), (x != x).select(x, value))


def reduced(x: Real) -> tuple[Real, Whole]:
    """r and q of x = q pi/2 + r, for x >= 0; q counts modulo 4."""
    k, whole = (x * 0.6366197723675814).rounded()
    r = ((x - k * HALF_PI[0]) - k * HALF_PI[1]) - k * HALF_PI[2]
    r, _, q = x.lanes.far_reduced(x, r, x.of(0.0), whole)
    return r, q


def sin_of(r: Real) -> Real:
    z = r * r
    return r + r * (z * polynomial(z, SHORT_SIN))


def cos_of(r: Real) -> Real:
    z = r * r
    return (1.0 - 0.5 * z) + z * z * polynomial(z, SHORT_COS)


def sin(x: Real) -> Real:
    r, q = reduced(abs(x))
    value = q.bit(0).select(cos_of(r), sin_of(r))
    return (value.bits() ^ ((q & 2) << 62) ^ (x.bits() & SIGN)).real()


def cos(x: Real) -> Real:
    r, q = reduced(abs(x))
    value = q.bit(0).select(sin_of(r), cos_of(r))
    return (value.bits() ^ (((q + 1) & 2) << 62)).real()


def tan(x: Real) -> Real:
    r, q = reduced(abs(x))
    sine, cosine = sin_of(r), cos_of(r)
    odd = q.bit(0)
    value = odd.select(cosine, sine) / odd.select(-sine, cosine)
    value = (x == 0.0).select(abs(x), value)
    return (value.bits() ^ (x.bits() & SIGN)).real()


def cbrt(x: Real) -> Real:
    a = abs(x)
    usual = (a > 0.0) & (a < INF)
    i = usual.select(a, x.of(1.0)).bits()
    e = (i - 0x3FE6A09E667F3BCD) >> 52
    k, m = e.small_real(), (i - (e << 52)).real()
    third, whole = (k * (1.0 / 3.0)).rounded()
    left = k - 3.0 * third
    m = m * (left > 0.0).select(x.of(2.0), (left < 0.0).select(x.of(0.5), x.of(1.0)))
    r = polynomial(m, CBRT)
    for _ in range(2):
        cube = r * r * r
        r = r * ((cube + (m + m)) / ((cube + cube) + m))
    return signed_like(usual.select(r * power_of_two(whole), a), x)


def logaddexp(a: Real, b: Real) -> Real:
    d = a - b
    larger = (d > 0.0).select(a, b)
    value = larger + log1p(exp(-abs(d)))
    value = (a == b).select(a + LN2, value)
    return ((a != a) | (b != b)).select(a + b, value)


def logaddexp2(a: Real, b: Real) -> Real:
    d = a - b
    larger = (d > 0.0).select(a, b)
    value = larger + log1p(exp2(-abs(d))) * INVERSE_LN2[0]
    value = (a == b).select(a + 1.0, value)
    return ((a != a) | (b != b)).select(a + b, value)


class OfSingles:
    """An elementary function of float32, whose arguments and result are float64."""

    def __init__(self, ufunc: np.ufunc, formula: Callable[..., Any]) -> None:
        self.nin, self.formula = ufunc.nin, formula
        self.__name__ = f"single_{ufunc.__name__}"


_FORMULAS: dict[np.ufunc, Callable[..., Any]] = {
    np.exp: exp,
    np.exp2: exp2,
    np.expm1: expm1,
    np.tanh: tanh,
    np.sinh: sinh,
    np.cosh: cosh,
    np.log: log,
    np.log2: log2,
    np.log10: log10,
    np.log1p: log1p,
    np.sin: sin,
    np.cos: cos,
    np.tan: tan,
    np.cbrt: cbrt,
    np.logaddexp: logaddexp,
    np.logaddexp2: logaddexp2,
}
SINGLES = {ufunc: OfSingles(ufunc, formula) for ufunc, formula in _FORMULAS.items()}
FORMULAS.update({single: single.formula for single in SINGLES.values()})

__all__ = ["SINGLES"]
