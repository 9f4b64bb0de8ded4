"""The gamma function and its logarithm, quotients of it, and the digamma function.

Must not know the incomplete functions.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tapegrad._core.forms import constant, elementwise
from tapegrad._core.types import Function, Value
from tapegrad._core.values import untraced
from tapegrad.scipy import _special as sp
from tapegrad.scipy.special._digamma import digamma_step, polygamma
from tapegrad.scipy.special._primitives import bell, family, widened


@family
def rgamma_derivative(n: int) -> tuple[Function, tuple[Any, ...]]:
    """The n-th derivative of 1 / Gamma(x), which is entire: by reflection left of 1/2."""

    def values(x: Value) -> Value:
        left = x.real < 0.5
        right = np.where(left, 1.0, x)
        found = sp.rgamma(right) * bell(lambda k: -polygamma(k - 1)(right), n)
        if not np.any(left):
            return found
        near = np.where(left, x, 0.0)
        nearest = np.round(near.real)
        phase = math.pi * (near - nearest)
        sign = 1 - 2 * (nearest % 2)
        waves = [np.sin(phase), np.cos(phase), -np.sin(phase), -np.cos(phase)]
        other = 1 - near
        total: Any = 0.0
        for k in range(n + 1):
            rest = n - k
            slope = (-1) ** rest * bell(lambda i: polygamma(i - 1)(other), rest)
            total = total + math.comb(n, k) * slope * math.pi ** (k - 1) * waves[k % 4]
        return np.where(left, sign * sp.gamma(other) * total, found)

    return values, (lambda _out, x: rgamma_derivative(n + 1)(x),)


_OVERFLOW = 170  # of the gamma function


def _is_pole(x: Value) -> Value:
    x = untraced(x)
    return (x <= 0) & (x == np.floor(x))


elementwise(sp.gamma, lambda out, x: out * sp.psi(x), strong=True)
elementwise(sp.gammaln, lambda _out, x: sp.psi(x), strong=True)
elementwise(sp.loggamma, lambda _out, x: sp.psi(x), strong=True)
elementwise(sp.rgamma, lambda _out, x: rgamma_derivative(1)(x), strong=True)
elementwise(sp.psi, lambda _out, x: polygamma(1)(x), strong=True)
constant(sp.gammasgn)

# --- quotients


def _poch_by_z(out: Value, z: Value, m: Value) -> Value:
    """out * (psi(z + m) - psi(z)), left of 0 without the poles of both.

    Where z + m is right of 0, by the derivative of 1 / Gamma(z); else by reflection, DLMF 5.5.4,
    which leaves of the poles the difference of two cotangents.
    """
    end, whole = untraced(z) + untraced(m), untraced(m) == np.round(untraced(m))
    low = untraced(z) <= 0
    alone = low & (end >= 0.5) & (end < _OVERFLOW)
    both = low & (end < 0.5) & (whole | ~_is_pole(end))
    start = np.where(alone, 1.0, np.where(both, 1 - z - m, z))
    step = digamma_step(0, 0)(start, np.where(alone, 1.0, m))
    zero = sp.gamma(np.where(alone, z + m, 1.0)) * rgamma_derivative(1)(np.where(alone, z, 1.0))
    rest = out * sp.psi(np.where(alone, z + m, 1.0))
    found = np.where(alone, zero + rest, np.where(both, -out, out) * step)
    return found + np.where(both & ~whole, _cotangents(z, m, both & ~whole), 0.0)


def _cotangents(z: Value, m: Value, chosen: Value) -> Value:
    """poch(z, m) pi (cot(pi z) - cot(pi (z + m))), a quotient where poch(z, m) may be 0."""
    z, m = np.where(chosen, z, -0.25), np.where(chosen, m, -0.5)
    turns = np.round(untraced(m))
    rest = m - turns
    wave = (1 - 2 * (turns % 2)) * np.sin(math.pi * rest)
    pole = np.sin(math.pi * (z - np.round(untraced(z)) + rest))  # z + m may round to the pole
    return sp.poch(1 - z - m, m) * (math.pi * wave / (pole * pole))


def _poch_by_m(out: Value, z: Value, m: Value) -> Value:
    return out * sp.psi(z + m)


elementwise(sp.poch, widened(_poch_by_z), widened(_poch_by_m), strong=True)


def _binomial(n: Value, k: Value) -> tuple[Value, Value, Value]:
    """Where Gamma(k + 1) or Gamma(n - k + 1) is near a pole, and the slope by the latter there."""
    small = (np.absolute(untraced(n)) < _OVERFLOW) & (np.absolute(untraced(k)) < _OVERFLOW)
    small = small & ~_is_pole(untraced(n) + 1)
    below = small & (untraced(k) < -0.5)
    above = small & (untraced(n) - untraced(k) < -0.5) & ~below
    whole = sp.gamma(np.where(above, n + 1, 1.0))
    slope = rgamma_derivative(1)(np.where(above, n - k + 1, 1.0))
    return below, above, whole * sp.rgamma(np.where(above, k + 1, 1.0)) * slope


def _binom_by_n(out: Value, n: Value, k: Value) -> Value:
    _below, above, slope = _binomial(n, k)
    step = digamma_step(0, 0)(np.where(above, 1.0, n - k + 1), np.where(above, 1.0, k))
    rest = out * sp.psi(np.where(above, n + 1, 1.0))
    return np.where(above, slope + rest, out * step)


def _binom_by_k(out: Value, n: Value, k: Value) -> Value:
    below, above, slope = _binomial(n, k)
    zero = below | above
    start, end = np.where(zero, 1.0, k + 1), np.where(zero, 1.0, n - k + 1)
    step = digamma_step(0, 0)(start, end - start)
    rising = sp.gamma(np.where(below, n + 1, 1.0)) * sp.rgamma(np.where(below, n - k + 1, 1.0))
    rising = rising * rgamma_derivative(1)(np.where(below, k + 1, 1.0))
    rising = rising + out * sp.psi(np.where(below, n - k + 1, 1.0))
    slope = slope + out * sp.psi(np.where(above, k + 1, 1.0))
    return np.where(below, rising, np.where(above, -slope, out * step))


elementwise(sp.binom, widened(_binom_by_n), widened(_binom_by_k), strong=True)


def _beta_slope(out: Value, a: Value, b: Value) -> Value:
    """By a; next to a pole of Gamma(a + b), where beta is near 0, by the slope of 1 / Gamma."""
    end = untraced(a) + untraced(b)
    near = (end < 0.25) & (np.absolute(end - np.round(end)) < 0.25)
    for x in (a, b):
        near = near & (np.absolute(untraced(x)) < _OVERFLOW) & ~_is_pole(x)
    plain = -out * digamma_step(0, 0)(np.where(near, 1.0, a), np.where(near, 1.0, b))
    first, second = np.where(near, a, 1.0), np.where(near, b, 1.0)
    whole = sp.gamma(first) * sp.gamma(second) * rgamma_derivative(1)(first + second)
    return np.where(near, out * sp.psi(first) + whole, plain)


elementwise(
    sp.beta, widened(_beta_slope), widened(lambda out, a, b: _beta_slope(out, b, a)), strong=True
)
elementwise(
    sp.betaln,
    lambda _out, a, b: -digamma_step(0, 0)(a, b),
    lambda _out, a, b: -digamma_step(0, 0)(b, a),
    strong=True,
)

__all__ = ["rgamma_derivative"]
