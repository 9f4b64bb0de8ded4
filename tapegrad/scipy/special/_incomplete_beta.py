"""The incomplete beta function's derivatives by its parameters, of every order.

As for the incomplete gamma function: the derivative by a is the integral of the density times
log(t) - psi(a) + psi(a + b), taken over the tail where this has one sign, by a double exponential
formula after t = x exp(-u). Parameters below 1 are raised by the recurrence DLMF 8.17.20. Compare
R. J. Boik, J. F. Robinson-Cox, Derivatives of the incomplete beta function, J. Stat. Softw. 3
(1998), whose continued fraction is exact near the mean.

Functions here take x and y, its complement 1 - x, which a caller may know to more digits; they
change as functions of x alone. Must not know which ufuncs need them.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tapegrad._core.types import Function, Value
from tapegrad._core.values import any_true, untraced
from tapegrad.scipy import _special as sp
from tapegrad.scipy.special._digamma import digamma_step, polygamma
from tapegrad.scipy.special._incomplete_gamma import log1p_less, stirling_error
from tapegrad.scipy.special._primitives import bell, family, integral


def powers(a: Value, b: Value, x: Value, y: Value) -> Value:
    """x**a y**b / B(a, b), without the cancellation of large logarithms."""
    total, off = a + b, b * x - a * y
    near_a, near_b = off / a, -off / b
    exponent = _side(a, near_a, x * (total / a)) + _side(b, near_b, y * (total / b))
    exponent = exponent + stirling_error(total) - stirling_error(a) - stirling_error(b)
    return np.sqrt(a / total) * np.sqrt(b / (2 * math.pi)) * np.exp(exponent)


def _side(a: Value, off: Value, ratio: Value) -> Value:
    """a * (log1p(off) - off), where 1 + off is the ratio."""
    far = off < -0.5
    direct = np.log(np.where(far, ratio, 1)) - off
    return a * np.where(far, direct, log1p_less(np.where(far, 0, off)))


@family
def beta_density(*_none: int) -> tuple[Function, tuple[Any, ...]]:
    """x**(a - 1) (1 - x)**(b - 1) / B(a, b)."""

    def values(a: Value, b: Value, x: Value, y: Value) -> Value:
        good = (a > 0) & (b > 0) & np.isfinite(a + b)
        inner = good & (x > 0) & (y > 0)
        a1, b1, x1, y1 = (np.where(inner, v, 1.0) for v in (a, b, x, y))
        found = powers(a1, b1, x1, y1) / x1 / y1
        tiny = inner & (found == 0)
        direct = x1 ** (a1 - 1) * y1 ** (b1 - 1) / sp.beta(a1, b1)
        found = np.where(tiny & np.isfinite(direct), direct, found)
        left = np.where(a == 1, b, np.where(a < 1, np.inf, 0.0))
        right = np.where(b == 1, a, np.where(b < 1, np.inf, 0.0))
        ends = np.where(x == 0, left, np.where(y == 0, right, np.nan))
        nothing = _is_a_point(a, b) & (x > 0) & (y > 0)
        return np.where(inner, found, np.where(good, ends, np.where(nothing, 0.0, np.nan)))

    def by_a(out: Value, a: Value, b: Value, x: Value, _y: Value) -> Value:
        return sp.xlogy(out, x) + out * digamma_step(0, 0)(a, b)

    def by_b(out: Value, a: Value, b: Value, _x: Value, y: Value) -> Value:
        return sp.xlogy(out, y) + out * digamma_step(0, 0)(b, a)

    def by_x(out: Value, a: Value, b: Value, x: Value, y: Value) -> Value:
        return _pull(out, a, b, x, y) - _pull(out, b, a, y, x)

    return values, (by_a, by_b, by_x, 0)


def _pull(out: Value, a: Value, b: Value, x: Value, y: Value) -> Value:
    """The density times (a - 1) / x; where x is 0, by the density of shape a - 1."""
    zero, steep = untraced(x) == 0, untraced(a) > 1
    inside = out * ((a - 1) / np.where(zero, 1.0, x))
    if not any_true(zero):
        return inside
    lower = (a + b - 1) * beta_density()(np.where(steep, a - 1, 1.0), b, x, y)
    at_zero = np.where(steep, lower, np.where(untraced(a) == 1, 0.0, -np.inf))
    return np.where(zero, at_zero, inside)


def density(a: Value, b: Value, x: Value, y: Value) -> Value:
    return beta_density()(a, b, x, y)


@family
def beta_by_shapes(m: int, n: int) -> tuple[Function, tuple[Any, ...]]:
    """The derivatives, m by a and n by b, of the regularized incomplete beta function I."""

    def values(a: Value, b: Value, x: Value, y: Value) -> Value:
        good = (a > 0) & (b > 0) & np.isfinite(a + b) & (x > 0) & (y > 0)
        if not m:  # I(a, b, x) = 1 - I(b, a, y)
            found = -_derivative(n, m, *_safe(good, b, a, y, x))
        else:
            found = _derivative(m, n, *_safe(good, a, b, x, y))
        ends = (a > 0) & (b > 0) & ((x == 0) | (y == 0) | np.isinf(a) | np.isinf(b))
        found = np.where(good, found, np.where(ends, 0.0, np.nan))
        point = _is_a_point(a, b) & (x > 0) & (y > 0)
        if m + n > 1 or not point.any():
            return found
        return np.where(point, _from_a_point(n, a, b, x, y), found)

    def by_x(_out: Value, a: Value, b: Value, x: Value, y: Value) -> Value:
        log_x, log_y = _log_inside(x, a), _log_inside(y, b)
        return density(a, b, x, y) * bell(cumulants(log_x, log_y, a, b), m, n)

    return values, (
        lambda _out, a, b, x, y: beta_by_shapes(m + 1, n)(a, b, x, y),
        lambda _out, a, b, x, y: beta_by_shapes(m, n + 1)(a, b, x, y),
        by_x,
        0,
    )


def _is_a_point(a: Value, b: Value) -> Value:
    """Whether the whole distribution is at 0 or at 1: where one shape is 0, as SciPy has it."""
    return (a == 0) & (b > 0) & np.isfinite(b) | (b == 0) & (a > 0) & np.isfinite(a)


def _from_a_point(n: int, a: Value, b: Value, x: Value, y: Value) -> Value:
    """The first derivatives there, of which that by the shape that is 0 is DLMF 8.17.7's limit."""
    shape, at = (a, x) if n else (b, y)
    still = shape == 0
    shape = np.where(still, 1.0, shape)
    slope = at**shape / shape * sp.hyp2f1(shape, 1.0, shape + 1, at)
    return np.where(still, 0.0, slope if n else -slope)


def _log_inside(x: Value, a: Value) -> Value:
    """log(x), and 0 where a density of shape a is zero and beats the logarithm."""
    return np.log(np.where((untraced(x) == 0) & (untraced(a) > 1), 1.0, x))


def _safe(good: Value, *args: Value) -> list[Value]:
    return [
        np.where(good, x, default) for x, default in zip(args, (1.0, 1.0, 0.5, 0.5), strict=True)
    ]


def cumulants(log_x: Value, log_y: Value, a: Value, b: Value) -> Function:
    """The derivatives by a and b of log(x**a y**b / B(a, b))."""

    def cumulant(i: int, j: int) -> Value:
        if i + j == 1:
            return (log_x + digamma_step(0, 0)(a, b)) if i else (log_y + digamma_step(0, 0)(b, a))
        together = polygamma(i + j - 1)(a + b)
        if i and j:
            return together
        return together - polygamma(i + j - 1)(a if i else b)

    return cumulant


def logs(x: Value, y: Value) -> tuple[Value, Value]:
    """Those of x and its complement, each from the smaller one."""
    log_x = np.where(y < x, np.log1p(-np.minimum(y, 0.5)), np.log(x))
    return log_x, np.where(x < y, np.log1p(-np.minimum(x, 0.5)), np.log(y))


def _derivative(m: int, n: int, a: Value, b: Value, x: Value, y: Value) -> Value:
    """Where m is 1 or more."""
    log_x, log_y = logs(x, y)
    raised = (a < 1) & (log_x < -digamma_step(0, 0)(a + 1, np.maximum(b, 1)))
    first = np.where(raised, a + 1, a)
    weight = powers(first, b, x, y)
    found = weight * _tail(m, n, first, b, x, y, log_x, log_y)
    if np.any(raised):
        term = weight / (x * (a + b)) * bell(raising(log_x, log_y, a, b), m, n)
        found = np.where(raised, found + term, found)
    return found


def raising(log_x: Value, log_y: Value, a: Value, b: Value) -> Function:
    """The derivatives of log(x**a y**b / (a B(a, b)))."""
    plain = cumulants(log_x, log_y, a, b)

    def cumulant(i: int, j: int) -> Value:
        if i == 1 and j == 0:  # psi(a + b) - psi(a + 1)
            return log_x + digamma_step(0, 0)(a + 1, b - 1)
        if j:
            return plain(i, j)
        return polygamma(i - 1)(a + b) - polygamma(i - 1)(a + 1)

    return cumulant


def _tail(
    m: int, n: int, a: Value, b: Value, x: Value, y: Value, log_x: Value, log_y: Value
) -> Value:
    """The derivative, over x**a y**b / B(a, b)."""

    def factor(first: Value, second: Value, constants: list[Value]) -> Value:
        known = iter(constants)
        table = {(i, j): next(known) for i in range(m + 1) for j in range(n + 1) if i + j}
        table[1, 0] = table[1, 0] + first
        if n:
            table[0, 1] = table[0, 1] + second
        return bell(lambda i, j: table[i, j], m, n)

    constants = [np.broadcast_to(c, a.shape) for c in _constants(m, n, a, b)]
    return over_tail(factor, constants, a, b, x, y, log_x, log_y)


def over_tail(
    factor: Function,
    constants: list[Value],
    a: Value,
    b: Value,
    x: Value,
    y: Value,
    log_x: Value,
    log_y: Value,
) -> Value:
    """The integral from 0 to x of t**(a - 1) (1 - t)**(b - 1) times a factor, over x**a y**b.

    factor: a function of log(t), log(1 - t) and the constants. Beyond the mean it is less the
        whole integral, that is over the other tail
    """
    lower = log_x < -digamma_step(0, 0)(a, np.maximum(b, 1))
    p: Value = np.where(lower, a, b)
    q: Value = np.where(lower, b, a)
    near: Value = np.where(lower, x, y)
    far: Value = np.where(lower, y, x)
    ratio = near / far
    slope = p - (q - 1) * ratio
    scale = np.where(q > 1, slope, p)
    bend = 2 * np.maximum(q - 1, 0) * ratio * (1 + ratio)
    root = np.sqrt(scale * scale + bend)
    scale = np.where(scale > 0, 2 / (scale + root), 2 * (root - scale) / np.maximum(bend, 1e-300))
    scale = np.where(p < 1, np.maximum(scale, 1 / p), scale)

    def integrand(u: Value, *args: Value) -> Value:
        p, q, ratio, log_near, log_far, lower, *constants = args
        spread = np.log1p(-ratio * np.expm1(-u))
        log_t, log_rest = log_near - u, log_far + spread
        is_lower = lower > 0
        first = np.where(is_lower, log_t, log_rest)
        second = np.where(is_lower, log_rest, log_t)
        return np.exp((q - 1) * spread - p * u) * factor(first, second, constants)

    sign = np.where(lower, 1.0, -1.0)
    log_near, log_far = np.where(lower, log_x, log_y), np.where(lower, log_y, log_x)
    args = (p, q, ratio, log_near, log_far, sign, *constants)
    return sign / far * integral(integrand, scale, *args)


def _constants(m: int, n: int, a: Value, b: Value) -> list[Value]:
    cumulant = cumulants(0.0, 0.0, a, b)
    return [cumulant(i, j) for i in range(m + 1) for j in range(n + 1) if i + j]


__all__ = ["beta_by_shapes", "cumulants", "density", "logs", "over_tail", "powers", "raising"]
