"""Spherical Bessel functions, derivatives of Bessel functions, and functions of several orders.

These are written in Python in SciPy. The derivative of a spherical Bessel function is one of its
neighbours (DLMF 10.51.2, 10.51.5), without a division by the argument. Where SciPy returns values
together with their derivatives, the next derivative is what the differential equation says.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.special

from tapegrad._core.forms import elementwise, general
from tapegrad._core.types import Function, Tangent, Value
from tapegrad._core.values import any_true, untraced
from tapegrad._errors import NotDifferentiableError
from tapegrad._transforms.primitives import primitive
from tapegrad.scipy import _special as sp
from tapegrad.scipy._mirror import mirror
from tapegrad.scipy.special._expressed import expressed
from tapegrad.scipy.special._parameters import whole

_HOME = "tapegrad.scipy.special"


# --- spherical Bessel functions


def _spherical(name: str, lower: int, upper: int) -> Any:
    """The derivative is (lower n f_{n-1} + upper (n + 1) f_{n+1}) / (2 n + 1)."""
    function = getattr(scipy.special, name)

    def value(n: Any, z: Any) -> Any:
        return function(n, z)

    value.__name__ = value.__qualname__ = name
    value.__module__ = _HOME
    plain = primitive(value)

    def slope(n: Value, z: Value) -> Value:
        before = lower * n * plain(np.maximum(n - 1, 0), z)
        return (before + upper * (n + 1) * plain(n + 1, z)) / (2 * n + 1)

    elementwise(plain, whole(value, 0), lambda _out, n, z: slope(n, z), strong=True)

    def definition(n: Value, z: Value, derivative: bool = False) -> Value:
        return slope(n, z) if derivative else plain(n, z)

    return expressed(name, definition)


spherical_jn = _spherical("spherical_jn", 1, -1)
spherical_yn = _spherical("spherical_yn", 1, -1)
spherical_in = _spherical("spherical_in", 1, 1)
spherical_kn = _spherical("spherical_kn", -1, -1)

# --- derivatives of Bessel functions


def _derived(name: str, function: np.ufunc, sign: int, turn: int = 1) -> Any:
    """The n-th derivative by z, by the orders v - n to v + n (DLMF 10.6.7, 10.29.5)."""

    def definition(v: Value, z: Value, n: int = 1) -> Value:
        total: Any = function(v - n, z)
        for k in range(1, n + 1):
            total = total + sign**k * math.comb(n, k) * function(v - n + 2 * k, z)
        return turn**n * total / 2.0**n

    return expressed(name, definition)


jvp = _derived("jvp", sp.jv, -1)
yvp = _derived("yvp", sp.yv, -1)
ivp = _derived("ivp", sp.iv, 1)
kvp = _derived("kvp", sp.kv, 1, -1)
h1vp = _derived("h1vp", sp.hankel1, -1)
h2vp = _derived("h2vp", sp.hankel2, -1)

# --- sequences of orders: two arrays of values and derivatives, the orders along the first axes


def _sequence(name: str, second: Function, last: str) -> Any:
    """second: the second derivatives `(value, slope, x, **params)`; last: the name of x."""

    def jvp_of_both(dots: Sequence[Tangent], out: Any, x: Value, **params: Any) -> list[Any]:
        value, slope = out
        return [slope * dots[0], second(value, slope, x, **params) * dots[0]]

    function = getattr(scipy.special, name)

    @functools.wraps(function)
    def of_numbers(*args: Any, **kwargs: Any) -> Any:
        """SciPy asks for scalars where it takes no arrays: those of a vmap are 0-d arrays."""
        named = {name: _as_number(value) for name, value in kwargs.items()}
        return function(*map(_as_number, args), **named)

    made = mirror(of_numbers, _HOME)
    general(made, jvp=jvp_of_both, arrays=(last,), batch="loop")
    return made


def _as_number(x: Any) -> Any:
    return x[()] if isinstance(x, np.ndarray) and x.ndim == 0 else x


def _orders(count: int, x: Value) -> Any:
    return np.arange(count).reshape(-1, *[1] * np.ndim(x))


def _second_lqn(q: Value, slope: Value, z: Value, n: Any) -> Value:
    k = _orders(n + 1, z)
    return (2 * z * slope - k * (k + 1) * q) / (1 - z * z)


def _second_lqmn(q: Value, slope: Value, z: Value, m: Any, n: Any) -> Value:
    k, order = _orders(n + 1, z), _orders(m + 1, z)[:, None]
    width = 1 - z * z
    return (2 * z * slope - (k * (k + 1) - order * order / width) * q) / width


def _second_riccati(value: Value, _slope: Value, x: Value, n: Any) -> Value:
    k = _orders(n + 1, x)
    return (k * (k + 1) / (x * x) - 1) * value


def _second_lmbda(value: Value, slope: Value, x: Value, v: Any) -> Value:
    """Of gamma(v + 1) (2 / x)**v J_v(x)."""
    order = v - int(v) + _orders(int(v) + 1, x)
    return -value - (2 * order + 1) / x * slope


def _second_cylinder(value: Value, _slope: Value, x: Value, v: Any) -> Value:
    """DLMF 12.2.2, for the orders from the fraction of v on."""
    if v < 0:
        raise NotDifferentiableError(
            f"scipy.special.pbdv_seq, pbvv_seq: not differentiable for the order {v}, expected "
            "one from 0 on: SciPy returns other orders for it. Write scipy.special.pbdv, pbvv."
        )
    return (x * x / 4 - (v - int(v)) - _orders(len(value), x) - 0.5) * value


def _second_of_degrees(value: Value, _slope: Value, z: Value, n: Any) -> Value:
    """The same for the orders 0 to n. SciPy 1.16 to 1.18 lose the imaginary part of D_0."""
    if any_true(np.imag(untraced(z)) != 0):
        raise NotDifferentiableError(
            "scipy.special.pbdn_seq: not differentiable at complex z, where SciPy's values are "
            "wrong. Pass a real z."
        )
    return (z * z / 4 - _orders(n + 1, z) - 0.5) * value


lqn = _sequence("lqn", _second_lqn, "z")
lqmn = _sequence("lqmn", _second_lqmn, "z")
riccati_jn = _sequence("riccati_jn", _second_riccati, "x")
riccati_yn = _sequence("riccati_yn", _second_riccati, "x")
lmbda = _sequence("lmbda", _second_lmbda, "x")
pbdv_seq = _sequence("pbdv_seq", _second_cylinder, "x")
pbvv_seq = _sequence("pbvv_seq", _second_cylinder, "x")
pbdn_seq = _sequence("pbdn_seq", _second_of_degrees, "z")


def _characteristic(name: str, function: np.ufunc) -> Any:
    """The characteristic values of the orders m to n."""
    return expressed(name, lambda m, n, c: function(m, np.arange(int(m), int(n) + 1), c))


pro_cv_seq = _characteristic("pro_cv_seq", sp.pro_cv)
obl_cv_seq = _characteristic("obl_cv_seq", sp.obl_cv)
assoc_laguerre = expressed("assoc_laguerre", lambda x, n, k=0.0: sp.eval_genlaguerre(n, k, x))

__all__ = [
    "assoc_laguerre",
    "h1vp",
    "h2vp",
    "ivp",
    "jvp",
    "kvp",
    "lmbda",
    "lqmn",
    "lqn",
    "obl_cv_seq",
    "pbdn_seq",
    "pbdv_seq",
    "pbvv_seq",
    "pro_cv_seq",
    "riccati_jn",
    "riccati_yn",
    "spherical_in",
    "spherical_jn",
    "spherical_kn",
    "spherical_yn",
    "yvp",
]
