"""Elliptic integrals and functions, by Carlson's symmetric integrals (DLMF chapter 19).

Legendre's integrals have derivatives in closed form whose terms cancel as the parameter m goes to
0. Carlson's R_D is the same without a cancellation (DLMF 19.25).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad._core.forms import elementwise
from tapegrad._core.types import Function, Value
from tapegrad._core.values import any_true, untraced
from tapegrad.scipy import _special as sp
from tapegrad.scipy.special._joint import joint
from tapegrad.scipy.special._parameters import by_parameter

# --- Carlson's integrals


def _quotient(difference: Value, by: Value, near: Value, limit: Function, x: Value) -> Value:
    """difference / by; near its removable singularity, `limit` of x."""
    if not any_true(near):
        return difference / by
    return np.where(near, limit(np.where(near, x, 1.0)), difference / np.where(near, 1.0, by))


def _near(x: Value, z: Value) -> Value:
    x, z = untraced(x), untraced(z)
    return (np.abs(x - z) < 0.02 * (np.abs(x) + np.abs(z))) & (x != 0)


def _by_numbers(function: Function, x: Value, *rest: Value) -> Value:
    """The derivative by the first argument, where the closed formula is 0/0."""
    return by_parameter(function, (x, *rest), 0, 0.3 * np.abs(untraced(x)), function.__name__)


def _rd_by_side(x: Value, y: Value, z: Value) -> Value:
    """The derivative of R_D(x, y, z) by x, by partial fractions of 1 / ((t + x) (t + z))."""
    near = _near(x, z)
    difference = -0.5 * (sp.elliprd(y, z, x) - sp.elliprd(x, y, z))
    rest = [np.where(near, value, 1.0) for value in (y, z)]
    return _quotient(difference, z - x, near, lambda x: _by_numbers(sp.elliprd, x, *rest), x)


def _times(x: Value, slope: Value) -> Value:
    """x times a slope that may be infinite at 0, slower than 1 / x."""
    origin = untraced(x) == 0
    return np.where(origin, 0.0, x * np.where(origin, 0.0, slope))


def _rd_by_z(out: Value, x: Value, y: Value, z: Value) -> Value:
    """By the other two: R_D is homogeneous, of degree -3/2."""
    sides = _times(x, _rd_by_side(x, y, z)) + _times(y, _rd_by_side(y, x, z))
    return -(1.5 * out + sides) / z


elementwise(
    sp.elliprd,
    lambda _out, x, y, z: _rd_by_side(x, y, z),
    lambda _out, x, y, z: _rd_by_side(y, x, z),
    _rd_by_z,
    strong=True,
)
elementwise(
    sp.elliprf,
    lambda _out, x, y, z: -sp.elliprd(y, z, x) / 6,
    lambda _out, x, y, z: -sp.elliprd(x, z, y) / 6,
    lambda _out, x, y, z: -sp.elliprd(x, y, z) / 6,
    strong=True,
)


def _rg_by(x: Value, y: Value, z: Value) -> Value:
    return (sp.elliprf(x, y, z) - _times(x, sp.elliprd(y, z, x)) / 3) / 4


elementwise(
    sp.elliprg,
    lambda _out, x, y, z: _rg_by(x, y, z),
    lambda _out, x, y, z: _rg_by(y, x, z),
    lambda _out, x, y, z: _rg_by(z, x, y),
    strong=True,
)


def _is_principal(y: Value) -> Value:
    """Whether R_C or R_J is a principal value of Cauchy's."""
    y = untraced(y)
    return (np.real(y) < 0) & (np.imag(y) == 0)


def _rc_by_x(out: Value, x: Value, y: Value) -> Value:
    """R_C(x, y) is R_F(x, y, y); where it is a principal value, by DLMF 19.2.17."""
    principal = _is_principal(y)
    positive = np.where(principal, 1.0, y)
    apart = np.where(principal, x - y, 1.0)
    closed = (1 / np.sqrt(x) - out) / (2 * apart)
    return np.where(principal, closed, -sp.elliprd(positive, positive, x) / 6)


def _rc_by_y(out: Value, x: Value, y: Value) -> Value:
    principal = _is_principal(y)
    positive = np.where(principal, 1.0, y)
    apart = np.where(principal, x - y, 1.0)
    closed = (out - np.sqrt(x) / y) / (2 * apart)
    return np.where(principal, closed, -sp.elliprd(x, positive, positive) / 3)


elementwise(sp.elliprc, _rc_by_x, _rc_by_y, strong=True)


def _rj_by_side(out: Value, x: Value, y: Value, z: Value, p: Value) -> Value:
    """The derivative of R_J(x, y, z, p) by x, by partial fractions of 1 / ((t + x) (t + p))."""
    near = _near(x, p)
    rest = [np.where(near, value, 1.0) for value in (y, z, p)]
    difference = -0.5 * (sp.elliprd(y, z, x) - out)
    return _quotient(difference, p - x, near, lambda x: _by_numbers(sp.elliprj, x, *rest), x)


def _rj_by_p(out: Value, x: Value, y: Value, z: Value, p: Value) -> Value:
    """By the other three: R_J is homogeneous, of degree -3/2."""
    sides = _times(x, _rj_by_side(out, x, y, z, p)) + _times(y, _rj_by_side(out, y, x, z, p))
    return -(1.5 * out + sides + _times(z, _rj_by_side(out, z, x, y, p))) / p


elementwise(
    sp.elliprj,
    _rj_by_side,
    lambda out, x, y, z, p: _rj_by_side(out, y, x, z, p),
    lambda out, x, y, z, p: _rj_by_side(out, z, x, y, p),
    _rj_by_p,
    strong=True,
)

# --- Legendre's integrals


def _complete_f(m: Value) -> Value:
    return sp.elliprd(0.0, 1.0, 1 - m) / 6


def _complete_e(m: Value) -> Value:
    return -sp.elliprd(0.0, 1 - m, 1.0) / 6


elementwise(sp.ellipk, lambda _out, m: _complete_f(m), strong=True)
elementwise(sp.ellipe, lambda _out, m: _complete_e(m), strong=True)
elementwise(sp.ellipkm1, lambda _out, p: -sp.elliprd(0.0, 1.0, p) / 6, strong=True)


def _incomplete(inside: Function, complete: Function) -> Any:
    """A derivative by m, from its integral up to an angle within pi/2 and whole half turns."""

    def by_m(_out: Value, phi: Value, m: Value) -> Value:
        turns = np.round(untraced(phi) / np.pi)
        sine, cosine = np.sin(phi - turns * np.pi), np.cos(phi - turns * np.pi)
        rest = sine**3 / 6 * inside(cosine * cosine, 1 - m * sine * sine)
        turned = turns != 0
        whole = 2 * turns * complete(np.where(turned, m, 0.0))
        return rest + np.where(turned, whole, 0.0)

    return by_m


_f_by_m = _incomplete(lambda square, delta: sp.elliprd(square, 1.0, delta), _complete_f)
_e_by_m = _incomplete(lambda square, delta: -sp.elliprd(square, delta, 1.0), _complete_e)


def _squared_delta(phi: Value, m: Value) -> Value:
    sine = np.sin(phi)
    return 1 - m * sine * sine


elementwise(
    sp.ellipkinc, lambda _out, phi, m: 1 / np.sqrt(_squared_delta(phi, m)), _f_by_m, strong=True
)
elementwise(
    sp.ellipeinc, lambda _out, phi, m: np.sqrt(_squared_delta(phi, m)), _e_by_m, strong=True
)

# --- Jacobi's functions: sn, cn, dn, and the amplitude (DLMF 22.13, 22.16.11)


def _jacobi_by_m(out: Any, _u: Value, m: Value) -> tuple[Value, ...]:
    """From the amplitude, of which the incomplete integral at m is u."""
    sn, cn, dn, amplitude = out
    turn = -dn * _f_by_m(None, amplitude, m)
    return cn * turn, -sn * turn, -(sn * sn / 2 + m * sn * cn * turn) / dn, turn


joint(
    sp.ellipj,
    lambda out, _u, m: (out[1] * out[2], -out[0] * out[2], -m * out[0] * out[1], out[2]),
    _jacobi_by_m,
)
