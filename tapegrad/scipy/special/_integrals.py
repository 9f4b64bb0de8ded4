"""Exponential, trigonometric and Fresnel integrals; Wright's and Lambert's functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad._core.forms import elementwise
from tapegrad._core.types import Value
from tapegrad._core.values import any_true, untraced
from tapegrad.scipy import _special as sp
from tapegrad.scipy.special._joint import joint
from tapegrad.scipy.special._parameters import along, warn_of, whole

# --- exponential integrals (DLMF 6.2, 8.19.13)

elementwise(sp.exp1, lambda _out, z: -np.exp(-z) / z, strong=True)
elementwise(sp.expi, lambda _out, z: np.exp(z) / z, strong=True)


def _expn_by_x(_out: Value, n: Value, x: Value) -> Value:
    """-E_{n-1}(x), and for n = 0 the derivative of exp(-x) / x."""
    lowest = untraced(n) < 1
    closed = np.exp(-x) * (1 + 1 / x) / x
    return -np.where(lowest, closed, sp.expn(np.where(lowest, 1, n) - 1, x))


elementwise(sp.expn, whole(sp.expn, 0), _expn_by_x, strong=True)

# --- integrals of sin(z) / z and its kin, which is smooth at 0


def _sinc(z: Value, sign: int) -> Value:
    """sin(z) / z (sign -1) or sinh(z) / z (sign 1), with all of its derivatives at 0.

    Near 0 it is the hypergeometric function of DLMF 10.16.9.
    """
    near = np.abs(untraced(z)) < 1
    inside, outside = np.where(near, z, 0.5), np.where(near, 1.5, z)
    quotient = (np.sin if sign < 0 else np.sinh)(outside) / outside
    return np.where(near, sp.hyp0f1(1.5, sign * inside * inside / 4), quotient)


joint(sp.sici, lambda _out, z: (_sinc(z, -1), np.cos(z) / z))
joint(sp.shichi, lambda _out, z: (_sinc(z, 1), np.cosh(z) / z))

# --- Fresnel integrals


def _fresnel_integrands(_out: Value, z: Value) -> tuple[Value, Value]:
    angle = np.pi / 2 * z * z
    return np.sin(angle), np.cos(angle)


joint(sp.fresnel, _fresnel_integrands)


def _modulated(out: Any, x: Value, sign: int) -> tuple[Value, Value]:
    """F is the integral of exp(i t**2) from x on, and K is F exp(-i (x**2 + pi/4)) / sqrt(pi).

    K is erfcx(z) / 2 for z = x exp(-i pi/4). Far out the terms of its derivative cancel: there it
    is that of the series of DLMF 7.12.1. The other sign stands for the complex conjugate.
    """
    turn = np.exp(-0.25j * np.pi * sign)
    near = -2j * sign * x * out[1] - turn / np.sqrt(np.pi)
    far = untraced(x) > 8
    square = 1 / (turn * turn * np.where(far, x * x, 1.0))
    series: Any = 0.0
    for k in range(20, -1, -1):
        series = 1 - (k + 1.5) * square * series
    slope = -turn / np.sqrt(4 * np.pi) * square * series
    found = -np.exp(1j * sign * x * x), np.where(far, slope, near)
    if not _NEGATIVE_IS_WRONG:
        return found
    below = untraced(x) < 0
    if any_true(below):
        warn_of("modfresnelp, modfresnelm", "SciPy's own values of negative arguments are wrong")
    return np.where(below, np.nan, found[0]), np.where(below, np.nan, found[1])


# SciPy 1.16 to 1.18 exchange the parts: the sum of F(1) and F(-1) is sqrt(pi) exp(i pi/4).
_SUM = sp.modfresnelp(1.0)[0] + sp.modfresnelp(-1.0)[0]
_NEGATIVE_IS_WRONG = bool(abs(_SUM.real - _SUM.imag) > 1e-6)


joint(sp.modfresnelp, lambda out, x: _modulated(out, x, 1))
joint(sp.modfresnelm, lambda out, x: _modulated(out, x, -1))

# --- Wright's functions


def _inside(at: int) -> object:
    """Within a >= 0 and b >= 0, where SciPy computes them."""
    return lambda *args: np.minimum(0.5, untraced(args[at]))


elementwise(
    sp.wright_bessel,
    along(sp.wright_bessel, 0, _inside(0)),
    along(sp.wright_bessel, 1, _inside(1)),
    lambda _out, a, b, x: sp.wright_bessel(a, a + b, x),  # termwise, DLMF 10.46.1
    strong=True,
)
elementwise(
    sp.log_wright_bessel,
    along(sp.log_wright_bessel, 0, _inside(0)),
    along(sp.log_wright_bessel, 1, _inside(1)),
    lambda out, a, b, x: np.exp(sp.log_wright_bessel(a, a + b, x) - out),
    strong=True,
)
elementwise(sp.wrightomega, lambda out, _z: out / (1 + out), strong=True)

# DLMF 4.13.4 in a form that holds at 0; the branch k and the tolerance are settings.
elementwise(sp._lambertw, lambda out, _z, _k, _tol: np.exp(-out) / (1 + out), 0, 0, strong=True)
