"""The elementary functions of the native back end, as formulas over vectors: one table.

Knows the formulas, and no syntax of LLVM's: `lanes.py` has the arithmetic that they are written
in. Must not know programs.

All are for float64; those of float32 are computed in float64, and rounded. There is no fused
multiply-add, so that the results are the same bits on every machine. Where a sum of two numbers
carries more digits than one of them, the pair is written (high, low). The polynomials were fitted
with mpmath's `chebyfit` to more than 60 bits over the stated ranges.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad._native.lanes import Real, Truth, Whole

INF, NAN = math.inf, math.nan
SIGN = -(1 << 63)
BIASED_ONE = 0x3FF << 52

LN2 = (0.6931471803691238, 1.9082149292705877e-10)  # the first has 32 bits
HALF_PI = (1.5707963267341256, 6.077100506303966e-11, 2.0222662487111665e-21, 8.4784276603689e-32)
PI_2 = (1.5707963267948966, 6.123233995736766e-17)
PI = (3.141592653589793, 1.2246467991473532e-16)
INVERSE_LN10 = (0.4342944819032518, 1.098319650216765e-17)
INVERSE_LN2 = (1.4426950408889634, 2.0355273740931033e-17)
LN2_PAIR = (0.6931471805599453, 2.3190468138462996e-17)
THIRDS = (0.6666666666666666, 3.700743415417188e-17)

# (sin r - r) / r^3 and (cos r - 1 + r^2/2) / r^4 in r^2, |r| <= pi/4.
SIN = (
    -7.586094789672621e-13,
    1.6058521349954986e-10,
    -2.5052106167335705e-08,
    2.7557319219150783e-06,
    -0.00019841269841264821,
    0.008333333333333331,
    -0.16666666666666666,
)
COS = (
    4.745537017319258e-14,
    -1.1470455178216906e-11,
    2.0876755754879594e-09,
    -2.755731922129809e-07,
    2.480158730158451e-05,
    -0.0013888888888888887,
    0.041666666666666664,
)
# (e^r - 1 - r) / r^2, |r| <= ln(2)/2.
EXP = (
    2.0914707069612355e-09,
    2.510524515390137e-08,
    2.7557273594799413e-07,
    2.755725533255441e-06,
    2.480158732558584e-05,
    0.00019841269873874975,
    0.0013888888888883737,
    0.00833333333332612,
    0.04166666666666667,
    0.1666666666666667,
    0.5,
)
# (log((1+s)/(1-s))/s - 2) / s^2 in s^2, (1+s)/(1-s) from sqrt(1/2) to sqrt(2).
LOG = (
    0.13088034850927555,
    0.13268638369266825,
    0.15386244737621665,
    0.18181795547521137,
    0.22222222392581045,
    0.28571428570799784,
    0.40000000000000885,
    0.6666666666666666,
)
# The same less 2/3, over s^2 once more.
LOG_DEEP = (
    0.1076362151501126,
    0.10456195110401492,
    0.11766819021629554,
    0.13333296397963834,
    0.1538461576290815,
    0.1818181817964499,
    0.2222222222222847,
    0.28571428571428564,
    0.4,
)
# (arctan(t)/t - 1) / t^2 in t^2, |t| <= 7/16.
ARCTAN = (
    0.014759380407779157,
    -0.033114228762660534,
    0.044916556747777434,
    -0.05216532007308444,
    0.05876924062763387,
    -0.06666239748865294,
    0.07692285419714515,
    -0.09090908350382436,
    0.111111110965279,
    -0.14285714285565465,
    0.19999999999999404,
    -0.3333333333333333,
)
# (arcsin(t)/t - 1) / t^2 in t^2, |t| <= 1/2.
ARCSIN = (
    0.02963502626354855,
    -0.019277545928584557,
    0.019579201619744684,
    0.0030350071727267623,
    0.009322101501082774,
    0.00962140274734483,
    0.011566511821890942,
    0.013963775787848137,
    0.017352816768546473,
    0.022372157435623815,
    0.030381944475693704,
    0.04464285714255019,
    0.07500000000000119,
    0.16666666666666666,
)


def polynomial(x: Real, coefficients: tuple[float, ...]) -> Real:
    """The polynomial whose highest coefficient comes first."""
    value = x * coefficients[0] + coefficients[1]
    for c in coefficients[2:]:
        value = value * x + c
    return value


# --- Pairs of numbers ----------------------------------------------------------------------------


def fast_sum(a: Real, b: Real) -> tuple[Real, Real]:
    """a + b as a pair, for |a| >= |b|, or a == 0."""
    s = a + b
    return s, b - (s - a)


def full_sum(a: Real, b: Real) -> tuple[Real, Real]:
    """a + b as a pair."""
    s = a + b
    v = s - a
    return s, (a - (s - v)) + (b - v)


def upper(x: Real) -> Real:
    """x without the lower half of its digits."""
    return (x.bits() & 0xFFFFFFFFF8000000).real()


def product(a: Real, b: Real) -> tuple[Real, Real]:
    """a * b as a pair."""
    p = a * b
    ah, bh = upper(a), upper(b)
    al, bl = a - ah, b - bh
    return p, (((ah * bh - p) + ah * bl) + al * bh) + al * bl


def quotient(a: tuple[Real, Real], b: tuple[Real, Real]) -> tuple[Real, Real]:
    """The quotient of two pairs."""
    q = a[0] / b[0]
    p, e = product(q, b[0])
    return q, ((((a[0] - p) - e) + a[1]) - q * b[1]) / b[0]


def scaled(x: Real, k: Whole) -> Real:
    """x times 2^k, for k from -2044 to 2046, rounded once."""
    half = k >> 1
    return x * power_of_two(half) * power_of_two(k - half)


def power_of_two(k: Whole) -> Real:
    """2^k as a normal number."""
    return ((k << 52) + BIASED_ONE).real()


def signed_like(x: Real, sign: Real) -> Real:
    """x, not negative, with the sign of another."""
    return (x.bits() | (sign.bits() & SIGN)).real()


# --- Exponentials --------------------------------------------------------------------------------


def exp_less_one(x: Real, low: Real | None = None) -> tuple[Whole, Real, Real]:
    """k, high, low: e^x is 2^k (1 + high + low), high from -0.3 to 0.42. |x| below 1,400."""
    k, whole = (x * 1.4426950408889634).rounded()
    a = x - k * LN2[0]
    b = k * LN2[1]
    if low is not None:
        b = b - low
    r = a - b
    rest = (a - r) - b
    high, error = fast_sum(r, r * r * polynomial(r, EXP))
    return whole, high, error + (rest + rest * r)


def exp(x: Real) -> Real:
    k, high, low = exp_less_one(x.clipped(-746.0, 710.0))
    s, e = fast_sum(x.of(1.0), high)
    return scaled(s + (e + low), k)


def expm1(x: Real) -> Real:
    k, high, low = expm1_pair(x.clipped(-40.0, 710.0))
    return (x == 0.0).select(x, scaled(high + low, k))


def expm1_pair(x: Real) -> tuple[Whole, Real, Real]:
    """k, high, low: e^x - 1 is 2^k (high + low), for x from -40 to 710."""
    k, high, low = exp_less_one(x)
    one = (k < 64).select(power_of_two(-k), x.of(0.0))
    rest = 1.0 - one
    s, e = fast_sum(rest, high)
    return k, s, e + (low + ((1.0 - rest) - one))


def exp2(x: Real) -> Real:
    x = x.clipped(-1080.0, 1030.0)
    k, whole = x.rounded()
    r = x - k
    a, b = product(r, x.of(LN2_PAIR[0]))
    b = b + r * LN2_PAIR[1]
    high, error = fast_sum(a, a * a * polynomial(a, EXP))
    s, e = fast_sum(x.of(1.0), high)
    return scaled(s + (e + (error + (b + b * a))), whole)


def tanh(x: Real) -> Real:
    a = abs(x)
    a = (a > 22.0).select(x.of(22.0), a)
    k, high, low = expm1_pair(a + a)
    p = power_of_two(k)
    high, low = high * p, low * p
    s, e = full_sum(high, x.of(2.0))
    q, rest = quotient((high, low), (s, e + low))
    return signed_like(q + rest, x)


def sinh(x: Real) -> Real:
    a = abs(x)
    a = (a > 712.0).select(x.of(712.0), a)
    k, high, low = expm1_pair((a > 24.0).select(x.of(24.0), a))
    p = power_of_two(k)
    high, low = high * p, low * p
    s, e = full_sum(x.of(1.0), high)
    q, rest = quotient((high, low), (s, e + low))
    s, e = fast_sum(high, q)
    small = 0.5 * (s + (e + (low + rest)))
    small = (a < 1e-9).select(a, small)
    return signed_like((a > 24.0).select(_half_exp(a), small), x)


def _half_exp(a: Real) -> Real:
    k, high, low = exp_less_one(a)
    s, e = fast_sum(a.of(1.0), high)
    return scaled(s + (e + low), k - 1)


def cosh(x: Real) -> Real:
    a = abs(x)
    k, high, low = exp_less_one((a > 712.0).select(x.of(712.0), a))
    s, e = fast_sum(x.of(1.0), high)
    low = e + low
    inverse = 1.0 / s
    inverse = inverse - low * inverse * inverse
    shrunk = (k < 60).select(power_of_two(-(k + k)), x.of(0.0))
    big, error = fast_sum(s, inverse * shrunk)
    return scaled(big + (error + low), k - 1)


# --- Logarithms ----------------------------------------------------------------------------------


def mantissa(x: Real) -> tuple[Real, Real]:
    """k and m of x = 2^k m for positive x, m from sqrt(1/2) to sqrt(2)."""
    tiny = x < 2.2250738585072014e-308
    i = tiny.select(x * 18014398509481984.0, x).bits()
    e = (i - 0x3FE6A09E667F3BCD) >> 52
    k = e.small_real()
    return tiny.select(k - 54.0, k), (i - (e << 52)).real()


def log_of(x: Real, low: Real | None = None) -> Real:
    """log(x), or with `low` that added, for positive finite x."""
    k, m = mantissa(x)
    f = m - 1.0
    s = f / (2.0 + f)
    z = s * s
    half = 0.5 * f * f
    rest = k * LN2[1] if low is None else k * LN2[1] + low
    inner = s * (half + z * polynomial(z, LOG)) + rest
    # The large terms first, with what their sum loses.
    big, error = fast_sum(k * LN2[0], f)
    return big + (error + (inner - half))


def logarithm_limits(x: Real, value: Real) -> Real:
    value = (x == INF).select(x, value)
    value = (x == 0.0).select(x.of(-INF), value)
    return (x < 0.0).select(x.of(NAN), (x != x).select(x, value))


def log(x: Real) -> Real:
    return logarithm_limits(x, log_of(x))


def log1p(x: Real) -> Real:
    u, low = full_sum(x.of(1.0), x)
    value = (x == 0.0).select(x, log_of(u, low / u))
    value = (x == INF).select(x, value)
    value = (x == -1.0).select(x.of(-INF), value)
    return (x < -1.0).select(x.of(NAN), (x != x).select(x, value))


def log_pair(x: Real) -> tuple[Real, Real, Real]:
    """k, and log(m) as a pair with 65 bits, of x = 2^k m for positive finite x."""
    k, m = mantissa(x)
    f = m - 1.0
    s, s_low = quotient((f, x.of(0.0)), fast_sum(x.of(2.0), f))
    z, z_low = product(s, s)
    z_low = z_low + 2.0 * s * s_low
    w, w_low = fast_sum(x.of(THIRDS[0]), z * polynomial(z, LOG_DEEP))
    t, t_low = product(z, w)
    t_low = t_low + (z * (w_low + THIRDS[1]) + z_low * w)
    u, u_low = product(s, t)
    u_low = u_low + (s * t_low + s_low * t)
    high, low = fast_sum(s + s, u)
    return k, *fast_sum(high, low + (u_low + (s_low + s_low)))


def whole_log_pair(x: Real) -> tuple[Real, Real]:
    k, high, low = log_pair(x)
    big, error = fast_sum(k * LN2[0], high)
    return fast_sum(big, error + (low + k * LN2[1]))


def log2(x: Real) -> Real:
    k, high, low = log_pair(x)
    p, e = product(high, x.of(INVERSE_LN2[0]))
    big, error = fast_sum(k, p)
    value = big + (error + (e + (high * INVERSE_LN2[1] + low * INVERSE_LN2[0])))
    return logarithm_limits(x, value)


def log10(x: Real) -> Real:
    high, low = whole_log_pair(x)
    p, e = product(high, x.of(INVERSE_LN10[0]))
    value = p + (e + (high * INVERSE_LN10[1] + low * INVERSE_LN10[0]))
    return logarithm_limits(x, value)


def power(x: Real, y: Real) -> Real:
    a = abs(x)
    high, low = whole_log_pair((a > 0.0).select(a, x.of(1.0)))
    bounded = y.clipped(-1e22, 1e22)
    p, e = product(bounded, high)
    e = e + bounded * low
    outside = abs(p) > 800.0
    k, high, low = exp_less_one(p.clipped(-800.0, 800.0), outside.select(x.of(0.0), e))
    s, e = fast_sum(x.of(1.0), high)
    value = scaled(s + (e + low), k)
    value = (a == 0.0).select((y < 0.0).select(x.of(INF), x.of(0.0)), value)
    value = (a == INF).select((y < 0.0).select(x.of(0.0), x.of(INF)), value)
    whole = y.floor() == y
    half = y * 0.5
    odd = whole & (half.floor() != half)
    negative = x.bits() < 0
    value = (negative & odd).select(-value, value)
    inside = (x < 0.0) & (a < INF) & ~whole
    value = inside.select(x.of(NAN), value)
    value = ((x != x) | (y != y)).select(x + y, value)
    one = (x == 1.0) | (y == 0.0) | ((x == -1.0) & (abs(y) == INF))
    return one.select(x.of(1.0), value)


class WholePower:
    """The power to a whole exponent that is known, by products of pairs of numbers."""

    nin, nout = 1, 1

    def __init__(self, exponent: int) -> None:
        self.exponent = exponent
        self.__name__ = f"power_{'m' * (exponent < 0)}{abs(exponent)}"

    def resolve_dtypes(self, kinds: tuple[Any, ...]) -> tuple[Any, ...]:
        return np.square.resolve_dtypes(kinds)

    def __call__(self, x: Real) -> Real:
        left = abs(self.exponent)
        pair = (x, x.of(0.0)) if self.exponent > 0 else _inverse(x)
        # Low parts of the least results would vanish, so that these are scaled.
        step = 1000 // left
        small = abs(pair[0]) < 2.0 ** (-600 // left)
        scale = small.select(x.of(2.0**step), x.of(1.0))
        pair = pair[0] * scale, pair[1] * scale
        plain, out, simple = pair[0], None, None
        while left:
            if left % 2:
                out = pair if out is None else _pair_product(out, pair)
                simple = plain if simple is None else simple * plain
            left //= 2
            if left:
                pair, plain = _pair_product(pair, pair), plain * plain
        assert out is not None
        assert simple is not None
        usual = (abs(out[0]) < INF) & (abs(out[0]) > 0.0)  # else low parts are NaN, or signs lost
        value = usual.select(out[0] + out[1], simple)
        return value * small.select(x.of(2.0 ** (-step * abs(self.exponent))), x.of(1.0))


def _inverse(x: Real) -> tuple[Real, Real]:
    q = 1.0 / x
    p, e = product(q, x)
    rest = ((1.0 - p) - e) / x
    return q, (abs(rest) < INF).select(rest, x.of(0.0))


def _pair_product(a: tuple[Real, Real], b: tuple[Real, Real]) -> tuple[Real, Real]:
    p, e = product(a[0], b[0])
    return fast_sum(p, e + (a[0] * b[1] + a[1] * b[0]))


WHOLE_POWERS = {n: WholePower(n) for n in (*range(-12, -1), *range(3, 13))}


def logaddexp(a: Real, b: Real) -> Real:
    d = a - b
    larger = (d > 0.0).select(a, b)
    value = larger + log1p(exp(-abs(d)))
    value = (a == b).select(a + LN2_PAIR[0], value)
    return ((a != a) | (b != b)).select(a + b, value)


def logaddexp2(a: Real, b: Real) -> Real:
    d = a - b
    larger = (d > 0.0).select(a, b)
    value = larger + log1p(exp2(-abs(d))) * INVERSE_LN2[0]
    value = (a == b).select(a + 1.0, value)
    return ((a != a) | (b != b)).select(a + b, value)


# --- Angles --------------------------------------------------------------------------------------


def reduced(x: Real) -> tuple[Real, Real, Whole]:
    """r, its low part, and q of x = q pi/2 + r, for x >= 0; q counts modulo 4."""
    k, whole = (x * 0.6366197723675814).rounded()
    a = x - k * HALF_PI[0]  # exact, as the first three parts have 33 bits
    r, first = full_sum(a, -(k * HALF_PI[1]))
    r, second = full_sum(r, -(k * HALF_PI[2]))
    r, low = fast_sum(r, (first + second) - k * HALF_PI[3])
    return x.lanes.far_reduced(x, r, low, whole)


def sin_of(r: Real, low: Real) -> Real:
    z = r * r
    return r + (r * (z * polynomial(z, SIN)) + low * (1.0 - 0.5 * z))


def cos_of(r: Real, low: Real) -> Real:
    z = r * r
    half = 0.5 * z
    w = 1.0 - half
    return w + (((1.0 - w) - half) + (z * (z * polynomial(z, COS)) - r * low))


def sin(x: Real) -> Real:
    r, low, q = reduced(abs(x))
    value = q.bit(0).select(cos_of(r, low), sin_of(r, low))
    return (value.bits() ^ ((q & 2) << 62) ^ (x.bits() & SIGN)).real()


def cos(x: Real) -> Real:
    r, low, q = reduced(abs(x))
    value = q.bit(0).select(sin_of(r, low), cos_of(r, low))
    return (value.bits() ^ (((q + 1) & 2) << 62)).real()


def tan(x: Real) -> Real:
    r, low, q = reduced(abs(x))
    z = r * r
    sine = fast_sum(r, r * (z * polynomial(z, SIN)) + low * (1.0 - 0.5 * z))
    half = 0.5 * z
    w = 1.0 - half
    rest = ((1.0 - w) - half) + (z * (z * polynomial(z, COS)) - r * low)
    cosine = fast_sum(w, rest)
    odd = q.bit(0)
    above = [odd.select(c, s) for s, c in zip(sine, cosine, strict=True)]
    below = [odd.select(-s, c) for s, c in zip(sine, cosine, strict=True)]
    value, rest = quotient((above[0], above[1]), (below[0], below[1]))
    value = (x == 0.0).select(abs(x), value + rest)
    return (value.bits() ^ (x.bits() & SIGN)).real()


# From where the arctangent is taken, the numerator and denominator (a, b; c, d) of
# t = (a x + b) / (c x + d), and the arctangent that is added, as a pair.
ARCS = (
    (0.0, (1.0, 0.0, 0.0, 1.0), (0.0, 0.0)),
    (0.4375, (2.0, -1.0, 1.0, 2.0), (0.4636476090008061, 2.2698777452961687e-17)),
    (0.6875, (1.0, -1.0, 1.0, 1.0), (0.7853981633974483, 3.061616997868383e-17)),
    (1.1875, (1.0, -1.5, 1.5, 1.0), (0.982793723247329, 1.3903311031230998e-17)),
    (2.4375, (0.0, -1.0, 1.0, 0.0), PI_2),
)


def arctan_of(a: Real) -> tuple[Real, Real]:
    """The arctangent of a >= 0 as a pair."""
    one = a.of(1.0)
    forms = [
        (a, one),
        (a + a - 1.0, a + 2.0),
        (a - 1.0, a + 1.0),
        (a - 1.5, 1.5 * a + 1.0),
        (-one, a),
    ]
    (above, below), (high, low) = forms[0], (a.of(0.0), a.of(0.0))
    for (start, _, base), form in zip(ARCS[1:], forms[1:], strict=True):
        there = a >= start
        above, below = there.select(form[0], above), there.select(form[1], below)
        high = there.select(a.of(base[0]), high)
        low = there.select(a.of(base[1]), low)
    t = above / below
    z = t * t
    total, error = fast_sum(high, t)
    return total, error + (t * (z * polynomial(z, ARCTAN)) + low)


def arctan(x: Real) -> Real:
    high, low = arctan_of(abs(x))
    value = high + low
    return signed_like((x != x).select(x, abs(value)), x)


def arctan2(y: Real, x: Real) -> Real:
    a, b = abs(y), abs(x)
    both = (a == INF) & (b == INF)
    a, b = both.select(x.of(1.0), a), both.select(x.of(1.0), b)
    ratio = a / b
    high, low = arctan_of((a == 0.0).select(x.of(0.0), ratio))
    # The part that the quotient lost, times the derivative; none where it overflows or underflows.
    p, e = product(ratio, b)
    lost = ((a - p) - e) / (b + ratio * a)
    usual = (ratio > 1e-280) & (ratio < 1e280) & (b < 1e280) & (b > 1e-280) & (a > 1e-280)
    low = low + usual.select(lost, x.of(0.0))
    value = high + low
    s, error = full_sum(x.of(PI[0]), -high)
    value = (x.bits() < 0).select(s + (error + (PI[1] - low)), value)
    return signed_like(((x != x) | (y != y)).select(x.of(NAN), value), y)


def _arcsine_parts(x: Real) -> tuple[Truth, Real, Real, Real]:
    """Whether |x| >= 1/2; t and what it lacks; the polynomial's part at t."""
    a = abs(x)
    far = a >= 0.5
    z = far.select((1.0 - a) * 0.5, a * a)
    root = z.sqrt()
    t = far.select(root, a)
    p, e = product(root, root)
    lack = ((z - p) - e) / (root + root)
    lack = (far & (root > 0.0)).select(lack, x.of(0.0))
    return far, t, lack, t * (z * polynomial(z, ARCSIN))


def arcsin(x: Real) -> Real:
    far, t, lack, rest = _arcsine_parts(x)
    s, e = fast_sum(x.of(PI_2[0]), -(t + t))
    bent = s + (e + (PI_2[1] - 2.0 * (lack + rest)))
    return signed_like(far.select(bent, t + rest), x)


def arccos(x: Real) -> Real:
    far, t, lack, rest = _arcsine_parts(x)
    right = x.bits() >= 0
    near = t + rest
    s, e = fast_sum(x.of(PI_2[0]), right.select(-t, t))
    middle = s + (e + (PI_2[1] + right.select(-rest, rest)))
    near = 2.0 * (t + (lack + rest))
    s, e = fast_sum(x.of(PI[0]), -(t + t))
    away = s + (e + (PI[1] - 2.0 * (lack + rest)))
    return far.select(right.select(near, away), middle)


# --- Areas, roots -------------------------------------------------------------------------------

CBRT = (-0.07194574, 0.49578343, 0.56647034)  # within 4 % from 0.35 to 2.84
LARGE = 134217728.0  # 2^27, beyond which sqrt(x^2 + 1) is x


def root_pair(x: tuple[Real, Real]) -> tuple[Real, Real]:
    """The square root of a pair."""
    high, low = x
    r = high.sqrt()
    p, e = product(r, r)
    rest = (((high - p) - e) + low) / (r + r)
    return r, (r > 0.0).select(rest, r.of(0.0))


def log_doubled(x: Real) -> Real:
    """log(2 x), for large x."""
    high, low = whole_log_pair(x)
    s, e = fast_sum(high, x.of(LN2_PAIR[0]))
    return s + (e + (low + LN2_PAIR[1]))


def arcsinh(x: Real) -> Real:
    a = abs(x)
    small = (a < LARGE).select(a, x.of(1.0))
    square = product(small, small)
    s, e = full_sum(x.of(1.0), square[0])
    r, r_low = root_pair((s, e + square[1]))
    d, e = fast_sum(r, x.of(1.0))
    w, w_low = quotient(square, (d, e + r_low))
    t, e = fast_sum(small, w)
    u, low = full_sum(x.of(1.0), t)
    value = log_of(u, (low + (e + w_low)) / u)
    value = (a < LARGE).select(value, log_doubled((a < INF).select(a, x.of(1.0))))
    value = (a < 1e-9).select(a, value)
    value = (a < INF).select(value, a)
    return signed_like(value, x)


def arccosh(x: Real) -> Real:
    near = (x < LARGE) & (x >= 1.0)
    a = near.select(x, x.of(2.0))
    square, low = product(a, a)
    s, e = full_sum(square, x.of(-1.0))
    r, r_low = root_pair((s, e + low))
    u, e = fast_sum(a, r)
    value = log_of(u, (e + r_low) / u)
    value = near.select(value, log_doubled(((x >= LARGE) & (x < INF)).select(x, x.of(2.0))))
    value = (x == INF).select(x, value)
    return (x >= 1.0).select(value, x.of(NAN))


def arctanh(x: Real) -> Real:
    a = abs(x)
    inside = (a < 1.0).select(a, x.of(0.5))
    w, w_low = quotient((inside + inside, x.of(0.0)), fast_sum(x.of(1.0), -inside))
    u, low = full_sum(x.of(1.0), w)
    value = 0.5 * log_of(u, (low + w_low) / u)
    value = (a < 1e-9).select(a, value)
    value = (a == 1.0).select(x.of(INF), value)
    return ((a < 1.0) | (a == 1.0)).select(signed_like(value, x), x.of(NAN))


def hypot(x: Real, y: Real) -> Real:
    a, b = abs(x), abs(y)
    first = a > b
    big, small = first.select(a, b), first.select(b, a)
    down, up = big > 1e150, big < 1e-140
    scale = down.select(x.of(2.0**-600), up.select(x.of(2.0**600), x.of(1.0)))
    back = down.select(x.of(2.0**600), up.select(x.of(2.0**-600), x.of(1.0)))
    big, small = big * scale, small * scale
    p, e = product(big, big)
    q, f = product(small, small)
    s, rest = fast_sum(p, q)
    r, low = root_pair((s, rest + (e + f)))
    value = (r + low) * back
    value = (small == 0.0).select(big * back, value)
    value = ((x != x) | (y != y)).select(x.of(NAN), value)
    return ((a == INF) | (b == INF)).select(x.of(INF), value)


def cbrt(x: Real) -> Real:
    a = abs(x)
    usual = (a > 0.0) & (a < INF)
    k, m = mantissa(usual.select(a, x.of(1.0)))
    third, whole = (k * (1.0 / 3.0)).rounded()
    left = k - 3.0 * third
    m = m * (left > 0.0).select(x.of(2.0), (left < 0.0).select(x.of(0.5), x.of(1.0)))
    r = polynomial(m, CBRT)
    for _ in range(3):
        cube = r * r * r
        r = r * ((cube + (m + m)) / ((cube + cube) + m))
    p, e = product(r, r)
    cube, f = product(p, r)
    rest = ((m - cube) - (f + e * r)) / (3.0 * p)
    value = (r + rest) * power_of_two(whole)
    return signed_like(usual.select(value, a), x)


# The table: what each ufunc is.
FORMULAS: dict[Any, Callable[..., Any]] = {
    **{power: power for power in WHOLE_POWERS.values()},
    np.exp: exp,
    np.exp2: exp2,
    np.expm1: expm1,
    np.log: log,
    np.log2: log2,
    np.log10: log10,
    np.log1p: log1p,
    np.sin: sin,
    np.cos: cos,
    np.tan: tan,
    np.sinh: sinh,
    np.cosh: cosh,
    np.tanh: tanh,
    np.arcsin: arcsin,
    np.arccos: arccos,
    np.arctan: arctan,
    np.arctan2: arctan2,
    np.arcsinh: arcsinh,
    np.arccosh: arccosh,
    np.arctanh: arctanh,
    np.hypot: hypot,
    np.cbrt: cbrt,
    np.power: power,
    np.float_power: power,
    np.logaddexp: logaddexp,
    np.logaddexp2: logaddexp2,
}

__all__ = ["FORMULAS", "WHOLE_POWERS"]
