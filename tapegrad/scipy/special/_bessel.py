"""The Bessel and Hankel functions, by their argument and by their order, and their integrals.

By the argument: DLMF 10.6.1 and 10.29.1 give the derivative as two neighbouring orders, without a
division by the argument. By the order there is no closed formula (DLMF 10.15, 10.38): the
derivative is taken numerically, see `_parameters`.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad._core.forms import elementwise, general, resolved_product
from tapegrad._core.types import Cotangent, Function, Tangent, Value
from tapegrad._core.values import untraced
from tapegrad.rules.kinks import direction_of
from tapegrad.scipy import _special as sp
from tapegrad.scipy.special._joint import joint
from tapegrad.scipy.special._parameters import along, by_parameter, whole
from tapegrad.scipy.special._primitives import in_double

# --- order 0 and 1

elementwise(sp.j0, lambda _out, x: -sp.j1(x))
elementwise(sp.j1, lambda _out, x: (sp.j0(x) - sp.jv(2, x)) / 2)
elementwise(sp.y0, lambda _out, x: -sp.y1(x), strong=True)
elementwise(sp.y1, lambda _out, x: (sp.y0(x) - sp.yn(2, x)) / 2, strong=True)
elementwise(sp.i0, lambda _out, x: sp.i1(x), strong=True)
elementwise(sp.i1, lambda _out, x: (sp.i0(x) + sp.iv(2, x)) / 2, strong=True)
elementwise(sp.k0, lambda _out, x: -sp.k1(x), strong=True)
elementwise(sp.k1, lambda _out, x: -(sp.k0(x) + sp.kn(2, x)) / 2, strong=True)

# --- any order


def _at_zero(function: np.ufunc) -> Function:
    """The partial by order of J or I, which at the argument 0 is 0 above the order 0."""
    name = function.__name__

    def partial(_out: Value, v: Value, z: Value) -> Value:
        origin = untraced(z) == 0
        inside = by_parameter(function, (v, np.where(origin, 1, z)), 0, name=name)
        v = untraced(v)
        end = np.where(v > 0, 0.0, np.where(v == 0, -np.inf, np.nan))
        return np.where(origin, end, inside)

    return partial


def _difference(function: np.ufunc) -> Function:
    return lambda _out, v, z: (function(v - 1, z) - function(v + 1, z)) / 2


def _sum(function: np.ufunc, half: float = 0.5) -> Function:
    return lambda _out, v, z: half * (function(v - 1, z) + function(v + 1, z))


elementwise(sp.jv, _at_zero(sp.jv), _difference(sp.jv), strong=True)
elementwise(sp.iv, _at_zero(sp.iv), _sum(sp.iv), strong=True)
elementwise(sp.yv, along(sp.yv, 0), _difference(sp.yv), strong=True)
elementwise(sp.kv, along(sp.kv, 0), _sum(sp.kv, -0.5), strong=True)
for _hankel in (sp.hankel1, sp.hankel2):
    elementwise(_hankel, along(_hankel, 0), _difference(_hankel), strong=True)


def _yn_by_x(_out: Value, n: Value, x: Value) -> Value:
    n = np.trunc(untraced(n))  # as SciPy does; that of n - 1 is another for 0 < n < 1
    return (sp.yn(n - 1, x) - sp.yn(n + 1, x)) / 2


def _kn_by_x(_out: Value, n: Value, x: Value) -> Value:
    n = np.trunc(untraced(n))
    return -(sp.kn(np.abs(n - 1), x) + sp.kn(n + 1, x)) / 2


elementwise(sp.yn, whole(sp.yn, 0, "Write scipy.special.yv"), _yn_by_x, strong=True)
elementwise(sp.kn, whole(sp.kn, 0, "Write scipy.special.kv"), _kn_by_x, strong=True)

# --- scaled by the exponential of an analytic function of z


def _decay(out: Value, v: Value, z: Value, sign: int, near: Value) -> Value:
    """The derivative of a scaled K (sign 1) or I (sign -1): far out from DLMF 10.40.1, 10.40.2.

    There the terms of `near` cancel, to 1 / (2 z) of their size. Of complex z, K alone.
    """
    size = untraced(z) if sign < 0 or z.dtype.kind != "c" else np.abs(untraced(z))
    far = size > 100 * (1 + untraced(v) ** 2)
    safe = sign * np.where(far, z, 100.0)
    mu = np.where(far, 4 * v * v, 1.0)
    term: Any = 1.0
    series: Any = 1.0
    slope: Any = 0.0
    for k in range(1, 9):
        term = term * (mu - (2 * k - 1) ** 2) / (8 * k) / safe
        series, slope = series + term, slope - k * term
    slope = slope / series - 0.5
    return np.where(far, out * (sign * slope / safe), near)


@functools.cache
def _scaled_i(n: int) -> Any:
    """I_n of real x, scaled by exp(-|x|)."""
    made = {0: sp.i0e, 1: sp.i1e}.get(n) or in_double(functools.partial(sp.ive, n), f"i{n}e")

    def by_x(out: Value, x: Value) -> Value:
        near = (_scaled_i(abs(n - 1))(x) + _scaled_i(n + 1)(x)) / 2 - direction_of(x) * out
        far_below = -_decay(out, n, -x, -1, -near)
        return np.where(untraced(x) < 0, far_below, _decay(out, n, x, -1, near))

    elementwise(made, by_x, along=lambda x: np.exp(-np.abs(x)) * sp.iv(n, x))
    return made


for _order in (0, 1):
    _scaled_i(_order)
elementwise(sp.k0e, lambda out, x: _decay(out, 0.0, x, 1, out - sp.k1e(x)), strong=True)
elementwise(
    sp.k1e,
    lambda out, x: _decay(out, 1.0, x, 1, out - (sp.k0e(x) + sp.kve(2, x)) / 2),
    strong=True,
)
elementwise(
    sp.kve,
    along(sp.kve, 0),
    lambda out, v, z: _decay(out, v, z, 1, out - (sp.kve(v - 1, z) + sp.kve(v + 1, z)) / 2),
    strong=True,
)
elementwise(
    sp.hankel1e,
    along(sp.hankel1e, 0),
    lambda out, v, z: (sp.hankel1e(v - 1, z) - sp.hankel1e(v + 1, z)) / 2 - 1j * out,
    strong=True,
)
elementwise(
    sp.hankel2e,
    along(sp.hankel2e, 0),
    lambda out, v, z: (sp.hankel2e(v - 1, z) - sp.hankel2e(v + 1, z)) / 2 + 1j * out,
    strong=True,
)


# --- scaled by exp(-|Im z|) or exp(-|Re z|), which is not analytic


def _scaled(function: np.ufunc, by_order: Function, by_z: Function, of_real: bool) -> None:
    """Declare a function times exp(-|Re z|) (of_real) or exp(-|Im z|).

    by_z: the derivative but for that of the exponential
    """

    def of_reals(out: Value, v: Value, z: Value) -> Value:
        slope = by_z(out, v, z)
        return _decay(out, v, z, -1, slope - direction_of(z) * out) if of_real else slope

    def parts(z: Value) -> Value:
        return np.sign(np.real(z) if of_real else np.imag(z))

    def z_vjp(g: Cotangent, out: Value, v: Value, z: Value) -> Cotangent:
        if z.dtype.kind != "c":
            return resolved_product(g, of_reals(out, v, z))
        bar = resolved_product(g, by_z(out, v, z))
        change = resolved_product(np.real(resolved_product(g, out)), parts(z))
        return bar - change if of_real else bar + 1j * change

    def jvp(dots: Sequence[Tangent], out: Value, v: Value, z: Value) -> Tangent:
        v_dot, z_dot = dots
        total: Any = 0 if v_dot is None else resolved_product(v_dot, by_order(out, v, z))
        if z_dot is None:
            return total
        if z.dtype.kind != "c":
            return total + resolved_product(z_dot, of_reals(out, v, z))
        total = total + resolved_product(z_dot, by_z(out, v, z))
        rate = parts(z) * (np.real(z_dot) if of_real else np.imag(z_dot))
        return total - resolved_product(rate, out)

    def v_vjp(g: Cotangent, out: Value, v: Value, z: Value) -> Cotangent:
        return resolved_product(g, by_order(out, v, z))

    general(function, vjp=[v_vjp, z_vjp], jvp=jvp, arrays=2, batch="align")


_scaled(sp.jve, _at_zero(sp.jve), _difference(sp.jve), of_real=False)
_scaled(sp.yve, along(sp.yve, 0), _difference(sp.yve), of_real=False)
_scaled(sp.ive, _at_zero(sp.ive), _sum(sp.ive), of_real=True)

# --- integrals from 0 to x


def _series(square: Value) -> Value:
    """sum (-1)**k square**k / (k + 1)!**2, for square up to 1."""
    total: Any = 0.0
    for k in range(12, -1, -1):
        total = 1 - total * square / (k + 2) ** 2 if k else 1 - total * square / 4
    return total


def _one_minus(function: np.ufunc, sign: int) -> Function:
    """(1 - J0(x)) / x, or (1 - I0(x)) / x, also near 0, where the difference cancels."""

    def ratio(x: Value) -> Value:
        near = np.abs(untraced(x)) < 2
        inside = np.where(near, x, 1.0)
        outside = np.where(near, 3.0, x)
        close = sign * inside / 4 * _series(sign * inside * inside / 4)
        return np.where(near, close, (1 - function(outside)) / outside)

    return ratio


_one_minus_j0, _one_minus_i0 = _one_minus(sp.j0, 1), _one_minus(sp.i0, -1)

joint(sp.itj0y0, lambda _out, x: (sp.j0(x), sp.y0(x)))
joint(sp.iti0k0, lambda _out, x: (sp.i0(x), sp.k0(x)))
joint(sp.it2j0y0, lambda _out, x: (_one_minus_j0(x), -sp.y0(x) / x))
joint(sp.it2i0k0, lambda _out, x: (-_one_minus_i0(x), -sp.k0(x) / x))


def _within(_a: Value, lmb: Value, nu: Value) -> Value:
    """A quarter of the way to where the integral diverges."""
    return np.minimum(0.5, np.abs(untraced(lmb) + untraced(nu) + 1) / 4)


elementwise(
    sp.besselpoly,
    # The integral from 0 to 1 of x**lmb J_nu(2 a x), under which a is differentiated.
    lambda _out, a, lmb, nu: sp.besselpoly(a, lmb + 1, nu - 1) - sp.besselpoly(a, lmb + 1, nu + 1),
    along(sp.besselpoly, 1, _within),
    along(sp.besselpoly, 2, _within),
)
