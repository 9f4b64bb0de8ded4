"""The Airy functions and the Kelvin functions, by their argument (DLMF 9.2.1, 10.61, 10.68)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad._core.forms import elementwise, general, resolved_product
from tapegrad._core.types import Cotangent, Tangent, Value
from tapegrad._core.values import untraced
from tapegrad.scipy import _special as sp
from tapegrad.scipy.special._joint import joint

# --- Airy functions

joint(sp.airy, lambda out, z: (out[1], z * out[0], out[3], z * out[2]))


def _airy_integrands(_out: Any, x: Value) -> tuple[Value, ...]:
    ai, _, bi, _ = sp.airy(x)
    ai_minus, _, bi_minus, _ = sp.airy(-x)
    return ai, bi, ai_minus, bi_minus


joint(sp.itairy, _airy_integrands)


# airye: Ai and Ai' times exp(zeta), Bi and Bi' times exp(-|Re zeta|), zeta = 2/3 z**1.5. The
# latter factor is not analytic, and 1 for negative real z.


def _of_real_part(z: Value) -> tuple[Value, Value]:
    """The sign of Re zeta and its derivative by z; for real z both are 0 below 0."""
    if z.dtype.kind != "c":
        positive = z > 0
        return positive + 0.0, np.sqrt(np.where(positive, z, 0.0))
    root = np.sqrt(z)
    return np.sign(np.real(z * root)), root


_FAR = 30.0  # from here on the terms of the derivatives cancel: DLMF 9.7.2, 9.7.5 to 9.7.8
_U = tuple(
    math.prod(range(2 * k + 1, 6 * k, 2)) / (216**k * math.factorial(k)) for k in range(1, 9)
)
_V = tuple(-(6 * k + 1) / (6 * k - 1) * u for k, u in enumerate(_U, 1))


def _log_slope(z: Value, power: float, coefficients: tuple[float, ...], sign: int) -> Value:
    """The logarithmic derivative of z**power times the series 1 + sum c_k (sign / zeta)**k."""
    over = sign / (z * np.sqrt(z) * (2 / 3))
    series, slope = 1.0, 0.0
    for k, c in enumerate(coefficients, 1):
        series, slope = series + c * over**k, slope - 1.5 * k * c * over**k / z
    return power / z + slope / series


def _airye_partials(out: Any, z: Value) -> tuple[Value, ...]:
    """By analytic z: of Bi and Bi' but for the exponential."""
    ai, ai_prime, bi, bi_prime = out
    root = np.sqrt(z)
    slopes = ai_prime + root * ai, z * ai + root * ai_prime
    if z.dtype.kind != "c":
        far = untraced(z) > _FAR
        safe = np.where(far, z, _FAR)
        slopes = (
            np.where(far, ai * _log_slope(safe, -0.25, _U, -1), slopes[0]),
            np.where(far, ai_prime * _log_slope(safe, 0.25, _V, -1), slopes[1]),
        )
    return *slopes, bi_prime, z * bi


def _far_bi(out: Any, z: Value, slopes: Sequence[Value]) -> list[Value]:
    """The derivatives of Bi and Bi' with their exponential, for real z where they cancel."""
    far = untraced(z) > _FAR
    safe = np.where(far, z, _FAR)
    found = out[2] * _log_slope(safe, -0.25, _U, 1), out[3] * _log_slope(safe, 0.25, _V, 1)
    return [np.where(far, x, y) for x, y in zip(found, slopes, strict=True)]


def _airye_of_real(out: Any, z: Value) -> list[Value]:
    partials = _airye_partials(out, z)
    _, root = _of_real_part(z)
    slopes = [p - root * value for p, value in zip(partials[2:], out[2:], strict=True)]
    return [*partials[:2], *_far_bi(out, z, slopes)]


def _airye_jvp(dots: Sequence[Tangent], out: Any, z: Value) -> list[Tangent]:
    dot = dots[0]
    if z.dtype.kind != "c":
        return [resolved_product(dot, p) for p in _airye_of_real(out, z)]
    found = [resolved_product(dot, p) for p in _airye_partials(out, z)]
    sign, root = _of_real_part(z)
    rate = sign * np.real(root * dot)
    return [*found[:2], found[2] - rate * out[2], found[3] - rate * out[3]]


def _airye_vjp(g: Sequence[Cotangent], out: Any, z: Value) -> Cotangent:
    if z.dtype.kind != "c":
        pairs = zip(g, _airye_of_real(out, z), strict=True)
        return sum(resolved_product(bar, p) for bar, p in pairs)
    parts = zip(g, _airye_partials(out, z), strict=True)
    total = sum(resolved_product(bar, p) for bar, p in parts)
    sign, root = _of_real_part(z)
    rate = np.real(resolved_product(g[2], out[2])) + np.real(resolved_product(g[3], out[3]))
    return total - rate * sign * root


general(sp.airye, vjp=[_airye_vjp], jvp=_airye_jvp, batch="align")

# --- Kelvin functions: ber + i bei is J0(x exp(3 pi i / 4)), ker + i kei is K0(x exp(pi i / 4))

_TURN_J, _TURN_K = np.exp(0.75j * np.pi), np.exp(0.25j * np.pi)


def _be(order: int, x: Value) -> Value:
    """The first or the second derivative of ber + i bei, by DLMF 10.6.1."""
    z = _TURN_J * x
    if order == 1:
        return -_TURN_J * sp.jv(1, z)
    return _TURN_J**2 * (sp.jv(2, z) - sp.jv(0, z)) / 2


def _ke(order: int, x: Value) -> Value:
    """The same of ker + i kei, by DLMF 10.29.1."""
    z = _TURN_K * x
    if order == 1:
        return -_TURN_K * sp.kv(1, z)
    return _TURN_K**2 * (sp.kv(2, z) + sp.kv(0, z)) / 2


# The first derivatives are SciPy's: near 0 a part of J1 or K1 cancels.
elementwise(sp.ber, lambda _out, x: sp.berp(x), strong=True)
elementwise(sp.bei, lambda _out, x: sp.beip(x), strong=True)
elementwise(sp.ker, lambda _out, x: sp.kerp(x), strong=True)
elementwise(sp.kei, lambda _out, x: sp.keip(x), strong=True)
elementwise(sp.berp, lambda _out, x: np.real(_be(2, x)), strong=True)
elementwise(sp.beip, lambda _out, x: np.imag(_be(2, x)), strong=True)
elementwise(sp.kerp, lambda _out, x: np.real(_ke(2, x)), strong=True)
elementwise(sp.keip, lambda _out, x: np.imag(_ke(2, x)), strong=True)
joint(sp.kelvin, lambda _out, x: (_be(1, x), _ke(1, x), _be(2, x), _ke(2, x)))
