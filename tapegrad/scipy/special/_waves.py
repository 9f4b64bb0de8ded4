"""Mathieu functions, spheroidal wave functions and parabolic cylinder functions.

Each function comes with its derivative by the argument; the second derivative is what its
differential equation says (DLMF 28.2.1, 28.20.1, 30.2.1, 12.2.2, 12.14.1). By the other parameters
see `_parameters`; orders that are whole numbers have no derivative.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad._core.forms import elementwise
from tapegrad._core.types import Function, Value
from tapegrad._core.values import any_true, untraced
from tapegrad._errors import NotDifferentiableError
from tapegrad.scipy import _special as sp
from tapegrad.scipy.special._joint import joint
from tapegrad.scipy.special._parameters import REACH, along, by_parameter, warn_of, whole


def _along_both(function: np.ufunc, at: int, reach: Any = REACH) -> Function:
    """The partials of both results by a parameter."""

    def partials(_out: Any, *args: Value) -> tuple[Value, ...]:
        near = reach(*args) if callable(reach) else reach
        name = function.__name__
        return tuple(
            by_parameter(lambda *at_points, i=i: function(*at_points)[i], args, at, near, name)
            for i in (0, 1)
        )

    return partials


# --- Mathieu functions

for _value in (sp.mathieu_a, sp.mathieu_b):
    elementwise(_value, whole(_value, 0), along(_value, 1), strong=True)

_DEGREE = np.pi / 180


def _angular(characteristic: np.ufunc) -> Function:
    """By x in degrees; the second result is the derivative by x in radians."""

    def partials(out: Any, m: Value, q: Value, x: Value) -> tuple[Value, Value]:
        factor = characteristic(m, q) - 2 * q * np.cos(2 * _DEGREE * x)
        return _DEGREE * out[1], -_DEGREE * factor * out[0]

    return partials


def _radial(characteristic: np.ufunc) -> Function:
    def partials(out: Any, m: Value, q: Value, x: Value) -> tuple[Value, Value]:
        return out[1], (characteristic(m, q) - 2 * q * np.cosh(2 * x)) * out[0]

    return partials


def _quarter(at: int) -> Function:
    """Within a quarter of a parameter that is positive."""
    return lambda *args: np.minimum(0.4, np.abs(untraced(args[at])) / 4)


for _function, _value in ((sp.mathieu_cem, sp.mathieu_a), (sp.mathieu_sem, sp.mathieu_b)):
    joint(_function, whole(_function, 0), _along_both(_function, 1), _angular(_value))
for _function, _value in (
    (sp.mathieu_modcem1, sp.mathieu_a),
    (sp.mathieu_modcem2, sp.mathieu_a),
    (sp.mathieu_modsem1, sp.mathieu_b),
    (sp.mathieu_modsem2, sp.mathieu_b),
):
    by_q = _along_both(_function, 1, _quarter(1))
    joint(_function, whole(_function, 0), by_q, _radial(_value))

# --- spheroidal wave functions


def _wave(sign: int, radial: bool) -> Function:
    """Of x, given the characteristic value: sign 1 for prolate functions, -1 for oblate ones.

    Only the radial oblate functions satisfy the equation of an imaginary argument.
    """

    def partials(out: Any, m: Value, c: Value, value: Value, x: Value) -> tuple[Value, Value]:
        s, s_prime = out
        if sign < 0 and radial:
            width = 1 + x * x
            factor = value - c * c * x * x - m * m / width
            return s_prime, (factor * s - 2 * x * s_prime) / width
        width = 1 - x * x
        factor = value - sign * c * c * x * x - m * m / width
        return s_prime, (2 * x * s_prime - factor * s) / width

    return partials


def _not_apart(name: str, at: int) -> Function:
    def partials(_out: Any, *args: Value) -> tuple[Value, ...]:
        raise NotDifferentiableError(
            f"scipy.special.{name}: not differentiable by its argument {at}, because the "
            "characteristic value belongs to c: one cannot change without the other. Write "
            f"scipy.special.{name.removesuffix('_cv')}, which computes it, or pass "
            "tapegrad.stop_gradient(...)."
        )

    return partials


for _value in (sp.pro_cv, sp.obl_cv):
    elementwise(_value, whole(_value, 0), whole(_value, 1), along(_value, 2), strong=True)


def _right(sign: int, name: str, value: Value, *args: Value) -> Value:
    """1 where a radial function of the second kind has SciPy's Wronskian right, else NaN.

    DLMF 30.11.7: R1 R2' - R1' R2 is 1 / (c (x**2 - sign)). SciPy's functions miss it by far at
    small c x, where their values are wrong.
    """
    first, slope = getattr(sp, name.replace("rad2", "rad1"))(*map(untraced, args))
    second, second_slope = (untraced(part) for part in value)
    c, x = untraced(args[2]), untraced(args[-1])
    off = c * (x * x - sign) * (first * second_slope - slope * second) - 1
    wrong = ~(np.abs(off) < 1e-7)
    if any_true(wrong):
        warn_of(name, "SciPy's own value is wrong")
    return np.where(wrong, np.nan, 1.0)


def _declare_wave(kind: str, sign: int, value: np.ufunc, radial: bool) -> None:
    function, given = getattr(sp, kind), getattr(sp, f"{kind}_cv")
    equation = _wave(sign, radial)

    def by_x(name: str) -> Function:
        def partials(out: Any, *args: Value) -> tuple[Value, ...]:
            m, n, c, x = args[0], args[1], args[2], args[-1]
            cv = args[3] if len(args) == 5 else value(m, n, c)
            slopes = equation(out, m, c, cv, x)
            if "rad2" not in kind:
                return slopes
            right = _right(sign, name, out, *args)
            return slopes[0] * right, slopes[1] * right

        return partials

    joint(
        function,
        whole(function, 0),
        whole(function, 1),
        _along_both(function, 2, _quarter(2)),
        by_x(kind),
    )
    joint(
        given,
        whole(given, 0),
        whole(given, 1),
        _not_apart(given.__name__, 2),
        _not_apart(given.__name__, 3),
        by_x(f"{kind}_cv"),
    )


for _kind in ("ang1", "rad1", "rad2"):
    _declare_wave(f"pro_{_kind}", 1, sp.pro_cv, _kind != "ang1")
    _declare_wave(f"obl_{_kind}", -1, sp.obl_cv, _kind != "ang1")

# --- parabolic cylinder functions

for _function in (sp.pbdv, sp.pbvv):
    joint(
        _function,
        _along_both(_function, 0),
        lambda out, v, x: (out[1], (x * x / 4 - v - 0.5) * out[0]),
    )
joint(sp.pbwa, _along_both(sp.pbwa, 0), lambda out, a, x: (out[1], (a - x * x / 4) * out[0]))
