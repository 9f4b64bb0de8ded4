"""Rules of the ufuncs: one partial per argument.

Partials are written with Python scalars, so that they keep the dtype of their arguments. `strong`
marks those that can be infinite, at a singularity or by overflow.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad._core.forms import Over, composite, elementwise, general, linear
from tapegrad._core.types import Cotangent, Function, Tangent, Value
from tapegrad._core.values import Traced, any_true, in_trace, untraced
from tapegrad.rules.kinks import (
    direction_of,
    ratio,
    sign_bit_of,
    sign_on_one_side,
    slope_of_magnitude,
)

LN2, LN10 = float(np.log(2.0)), float(np.log(10.0))

# --- arithmetic
elementwise(np.add, 1, 1)
elementwise(np.subtract, 1, -1)
elementwise(np.multiply, lambda _out, _x, y: y, lambda _out, x, _y: x, product=True)


def _quotients(by_x: Any, by_y: Any) -> Function:
    """The cotangents of a quotient that broadcasts: g / y, and what is left of that times -out."""

    def pull(g: Cotangent, out: Value, _x: Value, y: Value) -> tuple[Cotangent, Cotangent]:
        bar = g / y
        if by_y is False:
            return (bar if by_x is None else by_x(bar)), None
        share = bar * out
        if by_y is not None:
            share = by_y(share)
        share = -share
        return (bar if by_x is None else None if by_x is False else by_x(bar)), share

    return pull


elementwise(
    np.divide,
    Over(lambda _out, _x, y: y),
    Over(lambda _out, _x, y: -y, of_out=True),
    strong=True,
    zeros=(None, 0),
    broadcast_vjp=_quotients,
)
elementwise(np.negative, -1)
elementwise(np.positive, 1)
elementwise(np.nextafter, 1, 0)  # the neighbour of x changes as x does
elementwise(np.reciprocal, Over(lambda _out, x: -x, of_out=True), strong=True)
elementwise(np.square, lambda _out, x: x + x)  # 2 * x at half the cost
elementwise(np.sqrt, lambda out, _x: 0.5 / out, strong=True)
elementwise(np.cbrt, Over(lambda out, _x: 3 * out * out), strong=True, never_nan=True)


def _rounded(number: Value, beside: Value) -> Value:
    """A Python number as NumPy rounds it beside a float32 or float16, to inf if it is large."""
    small = beside.dtype.char in "ef" and type(number) in (bool, int, float)
    return beside.dtype.type(number).item() if small else number


def _power_by_base(_out: Value, x: Value, y: Value) -> Value:
    """y * x**(y - 1); where that is 0 * inf, at x = y = 0 and at infinite y, it is 0."""
    kind = type(y)
    if kind is float or kind is int or issubclass(kind, (int, float, complex)):  # not in a trace
        if x.dtype is not _DOUBLE:
            y = _rounded(y, x)
        if y == 2:
            return 2 * x
        if y in _INFINITIES:
            power = x**y
            return np.where(untraced(power) == 0, 0, y).astype(power.dtype) * power
        return y * x ** (y - 1) if y else x * 0
    if y.dtype.kind in "ub":
        y = y.astype(np.result_type(x, 1.0))  # an unsigned 0 - 1 wraps
    zero = (untraced(y) == 0) & (untraced(x) == 0)
    power = x ** (np.where(zero, 1, y - 1) if any_true(zero) else y - 1)
    infinite = np.isinf(untraced(y))
    if any_true(infinite):
        y = np.where(infinite & (untraced(power) == 0), 0, y)
    return y * power


def _quick_power_by_base(_out: Value, x: Value, y: Value) -> Value:
    """The same by a root, which NumPy computes in half the time of a power.

    That of minus infinity is NaN, and the partial 0: where a replay gets a NaN it asks `partials`.
    """
    if type(y) is float and y == 0.5 and x.dtype.kind == "f":
        return 0.5 / np.sqrt(x + 0.0)  # that of -0.0 would be -0.0
    return _power_by_base(_out, x, y)


_INFINITIES = (np.inf, -np.inf)
_DOUBLE = np.dtype(float)


def _power_by_exponent(out: Value, x: Value, _y: Value) -> Value:
    """out * log(x); where x is 0, the limit 0 for y >= 0, and minus infinity for y < 0."""
    if issubclass(type(x), (int, float)):
        if out.dtype is not _DOUBLE:
            x = _rounded(x, out)
        return (
            out * float(np.log(float(x)))
            if x > 0
            else out
            * (
                np.log(complex(x))
                if (x and out.dtype.kind == "c")
                else np.nan
                if x
                else _log_of_zero(out)
            )
        )
    if (
        hasattr(x, "dtype") and x.dtype != out.dtype
    ):  # a logarithm of small integers is of half precision
        x = x.astype(out.dtype)
    zero = untraced(x) == 0
    if not any_true(zero):
        return out * np.log(x)
    return out * np.where(zero, _log_of_zero(out), np.log(np.where(zero, 1, x)))


def _log_of_zero(out: Value) -> Value:
    """Value of log(0) beside 0 ** y: 0 where that is finite, and else minus infinity."""
    infinite = np.isinf(untraced(out))
    return np.where(infinite, -np.inf, 0.0).astype(out.dtype) if any_true(infinite) else 0.0


for power in (np.power, np.float_power):
    _rule = elementwise(power, _power_by_base, _power_by_exponent, strong=True, zeros=(1, None))
    _rule.x_partial = _quick_power_by_base
elementwise(np.remainder, 1, lambda _out, x, y: -np.floor(x / y), strong=True)
elementwise(np.fmod, 1, lambda _out, x, y: -np.trunc(x / y), strong=True)

# --- exponentials and logarithms: out overflows to inf before x does
elementwise(np.exp, lambda out, _x: out, strong=True, never_nan=True)
elementwise(np.exp2, lambda out, _x: LN2 * out, strong=True, never_nan=True)
# By x: out + 1 has lost the digits of exp(x) where that is small.
elementwise(np.expm1, lambda _out, x: np.exp(x), strong=True, never_nan=True)
elementwise(np.log, Over(lambda _out, x: x), strong=True)
elementwise(np.log2, Over(lambda _out, x: LN2 * x), strong=True)
elementwise(np.log10, Over(lambda _out, x: LN10 * x), strong=True)
elementwise(np.log1p, Over(lambda _out, x: 1 + x), strong=True)


def _is_traced(x: Value) -> bool:
    """Whether what a partial computes is differentiated again, at any depth under vmaps."""
    while in_trace(x):
        if isinstance(x, Traced):
            return True
        x = x._value
    return False


def _share(x: Value, out: Value) -> Value:
    """The logarithm of the share of exp(x) in a sum of exponentials; 0 where all are 0."""
    empty = untraced(out) == -np.inf
    return np.where(empty, 0, x - out) if any_true(empty) else x - out


def share_of(x: Value, out: Value) -> Value:
    """The share of exp(x) in a sum of exponentials whose logarithm is out."""
    empty = untraced(out) == -np.inf
    return np.exp(x - out) if not any_true(empty) else np.where(empty, 0, np.exp(_share(x, out)))


def _share_beside(x: Value, y: Value, out: Value, scale: float = 1.0) -> Value:
    """The share of exp(x) beside exp(y); the derivative of exp(x - out) cancels near 1."""
    share = share_of(scale * x, scale * out) if scale != 1.0 else share_of(x, out)
    if not (_is_traced(x) or _is_traced(y)):
        return share
    larger = untraced(x) > untraced(y)  # False beside a NaN
    less = np.where(larger, y - x, 0)
    return np.where(larger, 1 / (1 + np.exp(scale * less)), share)


def _shares(wanted: tuple[bool, ...]) -> Function:
    """The cotangents by shares of exp(x) and exp(y); infinities are left to the partials."""
    by_x, by_y = wanted

    def pull(g: Cotangent, out: Value, x: Value, y: Value) -> tuple[Cotangent, ...] | None:
        if np.count_nonzero(np.isfinite(out)) != out.size:
            return None
        return _times_exp(g, x - out) if by_x else None, _times_exp(g, y - out) if by_y else None

    return pull


def _times_exp(g: Cotangent, power: Value) -> Cotangent:
    np.exp(power, power)
    return np.multiply(power, g, power)


elementwise(
    np.logaddexp,
    lambda out, x, y: _share_beside(x, y, out),
    lambda out, x, y: _share_beside(y, x, out),
    fused_vjp=_shares,
)
elementwise(
    np.logaddexp2,
    lambda out, x, y: _share_beside(x, y, out, LN2),
    lambda out, x, y: _share_beside(y, x, out, LN2),
)

# --- trigonometric and hyperbolic functions, and their inverses


def _out_of_range(square: Value) -> bool:
    """Whether a sum of squares, or the slopes of what it is in, under- or overflow somewhere."""
    square = untraced(square)
    low, high = _RANGES[square.dtype.char]
    return any_true(~((square > low) & (square < high)))


_RANGES = {
    char: (float(np.finfo(char).tiny) ** 0.5, float(np.finfo(char).max) ** 0.5) for char in "efd"
}
_RANGES["g"] = _RANGES["d"]


def _scaled(x: Value, y: Value, square: Value) -> tuple[Value, Value, Value]:
    """Two numbers over the larger of their sizes, and that size, a constant; 1 at the origin."""
    size = np.maximum(np.absolute(untraced(x)), np.absolute(untraced(y)))
    size = np.where(size == 0, 1, size).astype(square.dtype)
    return x / size, y / size, size


def _rest_of_one(x: Value) -> Value:
    """1 - x**2, as a product, which is right to the last digit near 1.

    The derivative of the product cancels near 0. So where a rule is differentiated, it is a
    difference there.
    """
    product = (1 - x) * (1 + x)
    if x.dtype.kind == "c" or not _is_traced(x):
        return product
    return np.where(np.absolute(untraced(x)) < 0.5, 1 - x * x, product)


def _other_side(x: Value) -> Value:
    """sqrt(1 - x**2), on the branch of arcsin and arccos also for complex x.

    A complex x on their branch cuts has the imaginary part 0.0 or -0.0, whose sign says on which
    side of the cut x lies. `1 - x`, `x + 1` and products lose that sign; `x - 1` and `x - -1` keep
    it.
    """
    if x.dtype.kind != "c":
        return np.sqrt(_rest_of_one(x))
    return np.sqrt(-(x - 1)) * np.sqrt(x - -1)


elementwise(np.sin, lambda _out, x: np.cos(x))
elementwise(np.cos, lambda _out, x: -np.sin(x))
elementwise(np.tan, lambda out, _x: 1 + out * out)
elementwise(np.arcsin, Over(lambda _out, x: _other_side(x)), strong=True)
elementwise(np.arccos, lambda _out, x: -1 / _other_side(x), strong=True)
elementwise(np.arctan, Over(lambda _out, x: 1 + x * x))
elementwise(np.sinh, lambda _out, x: np.cosh(x), strong=True)
elementwise(np.cosh, lambda _out, x: np.sinh(x), strong=True)


def _tanh_slope(out: Value, x: Value) -> Value:
    """1 - out**2; by an exponential where x is so large that 1 and out**2 cancel."""
    slope = 1 - out * out
    size = untraced(slope)
    cancelled = (np.absolute(size) if size.dtype.kind == "c" else size) < _CANCELLED
    if not any_true(cancelled):
        return slope
    secant = _squared_secant(x)
    return np.where(cancelled, secant, slope) if slope.shape else secant


def _squared_secant(x: Value) -> Value:
    """1 / cosh(x)**2, without overflow."""
    power = np.exp(np.where(np.real(untraced(x)) < 0, 2, -2).astype(x.dtype) * x)
    rest = 1 + power
    return 4 * power / (rest * rest)


_CANCELLED = 2.0**-10  # at most ten binary digits are lost


def _arcsinh_divisor(_out: Value, x: Value) -> Value:
    """cosh of the result, sqrt(1 + x**2). For complex x a root would lose the side of the cut."""
    if x.dtype.kind == "c":
        return np.cosh(np.arcsinh(x))
    square = 1 + x * x
    if not any_true(untraced(square) > _RANGES[square.dtype.char][1]):
        return np.sqrt(square)
    size = np.maximum(np.absolute(untraced(x)), 1)
    x, one = x / size, 1 / size
    return np.sqrt(x * x + one * one) * size


elementwise(np.tanh, _tanh_slope)
elementwise(np.arcsinh, Over(_arcsinh_divisor))
# Two roots, not one root of the product: the two lie on the branch of complex arccosh.
elementwise(np.arccosh, lambda _out, x: 1 / np.sqrt(x - 1) / np.sqrt(x - -1), strong=True)
elementwise(np.arctanh, Over(lambda _out, x: _rest_of_one(x)), strong=True)


def _promoted(x: Value, y: Value) -> tuple[Value, Value]:
    """Two operands in the dtype of their result: negatives and squares of integers wrap."""
    if not (hasattr(x, "dtype") and hasattr(y, "dtype")) or x.dtype == y.dtype:
        return x, y
    dtype = np.result_type(x.dtype, y.dtype)
    return x.astype(dtype), y.astype(dtype)


def _over_square(side: Value, x: Value, y: Value) -> Value:
    """side / (x**2 + y**2); 0 at the origin, where arctan2 gets the gradient 0."""
    square = x * x + y * y
    if not _out_of_range(square):
        return side / square
    x, y, size = _scaled(x, y, square)
    square = x * x + y * y
    origin = untraced(square) == 0
    return np.where(origin, 0, side / size) / np.where(origin, 1, square) / size


def _angle_by_y(_out: Value, y: Value, x: Value) -> Value:
    x, y = _promoted(x, y)
    return _over_square(x, x, y)


def _angle_by_x(_out: Value, y: Value, x: Value) -> Value:
    x, y = _promoted(x, y)
    return _over_square(-y, x, y)


elementwise(np.arctan2, _angle_by_y, _angle_by_x)


def _ratios(wanted: tuple[bool, ...]) -> Function:
    """The cotangents by the ratios of the sides to the length; 0 is left to the partials."""
    by_x, by_y = wanted

    def pull(g: Cotangent, out: Value, x: Value, y: Value) -> tuple[Cotangent, ...] | None:
        if np.count_nonzero(out == 0):
            return None
        return g * (x / out) if by_x else None, g * (y / out) if by_y else None

    return pull


# Both sides are kept: a limit forms the length anew.
elementwise(
    np.hypot,
    lambda out, x, y: ratio(x, out),
    lambda out, x, y: ratio(y, out),
    fused_vjp=_ratios,
)
for degrees in (np.degrees, np.rad2deg):
    elementwise(degrees, lambda _out, _x: 180 / np.pi)
for radians in (np.radians, np.deg2rad):
    elementwise(radians, lambda _out, _x: np.pi / 180)

# --- magnitudes, signs, complex parts
elementwise(
    np.absolute,
    slope_of_magnitude,
    to_real=True,
)
elementwise(np.fabs, slope_of_magnitude)
elementwise(
    np.copysign,
    lambda out, x, y: direction_of(x) * sign_bit_of(out, y),
    lambda out, _x, _y: out * 0,
    selects=(False, True),
)
elementwise(
    np.heaviside,
    lambda out, _x, _y: out * 0,
    lambda out, x, _y: (x == 0) + out * 0,
    selects=True,
)
elementwise(np.ldexp, lambda out, _x, i: np.ldexp(np.ones_like(untraced(out)), i), 0)
linear(np.conjugate, lambda g, _out, _x: np.conjugate(g), batch="align")
linear(np.real, lambda g, _out, _x: g, batch="align", view=True)
linear(np.imag, lambda g, _out, _x: g * -1j, batch="align", view=True)


def _sign_vjp(g: Cotangent, out: Value, x: Value) -> Cotangent:
    """x / |x| changes with the part of x_dot perpendicular to x; real signs are constant."""
    if x.dtype.kind != "c":
        return g * 0
    return np.imag(g * out) * ratio(1j * np.conjugate(out), np.absolute(x))


def _sign_jvp(dots: Sequence[Tangent], out: Value, x: Value) -> Tangent:
    if x.dtype.kind != "c":
        return dots[0] * 0
    return np.imag(dots[0] * np.conjugate(out)) * ratio(1j * out, np.absolute(x))


def _angle(z: Value, deg: bool = False) -> Value:
    radians = np.arctan2(np.imag(z), np.real(z))
    return np.degrees(radians) if deg else radians


general(np.sign, vjp=[_sign_vjp], jvp=_sign_jvp, batch="align", formula=sign_on_one_side)
composite(np.angle, _angle)


# --- the larger and the smaller: ties share the cotangent evenly
def _wins(out: Value, x: Value, y: Value) -> Value:
    """1 where x is the result, 1/2 where y is as well, 0 elsewhere."""
    x, y, out = untraced(x), untraced(y), untraced(out)
    taken, other = x == out, y == out
    if type(taken) is type(other) is np.ndarray:
        one = np.count_nonzero(taken ^ other)
        if one == out.size:
            return taken.astype(out.dtype)  # the frequent case: no ties, and no NaN
    taken = (x == out) | ((x != x) & (out != out))
    other = (y == out) | ((y != y) & (out != out))
    return (taken / np.where(other, 2, 1)).astype(out.dtype)


def _halves(of_larger: bool) -> Function:
    """Half of the cotangent for each, and the other half for the one that wins.

    NaN, and two infinities, give NaN, and so are left to the partials.
    """

    def together(wanted: tuple[bool, ...]) -> Function:
        by_x, by_y = wanted

        def pull(g: Cotangent, out: Value, *pair: Value) -> tuple[Cotangent, ...]:
            x, y = pair if of_larger else pair[::-1]
            half = g * 0.5
            if out.size > FEW:  # a comparison takes a sixth of the time of a sign
                wins, loses = x > y, x < y
                ties = out.size - np.count_nonzero(wins) - np.count_nonzero(loses)
                if not ties or ties == np.count_nonzero(x == y):  # no NaN
                    share = (1 + wins.view(np.int8) - loses.view(np.int8)).astype(g.dtype)
                    share *= half
                    return share if by_x else None, g - share if by_y else None
            other = x - y
            np.sign(other, other)
            other *= half
            if not by_y:
                return np.add(half, other, other), None
            return half + other if by_x else None, np.subtract(half, other, other)

        return pull

    return together


FEW = 1024  # elements, up to which the number of calls decides what a cotangent costs

CHOICES = {
    choice: elementwise(
        choice,
        _wins,
        lambda out, x, y: _wins(out, y, x),
        strong=True,
        never_nan=True,
        selects=True,
        fused_vjp=_halves(choice in (np.maximum, np.fmax)),
    )
    for choice in (np.maximum, np.minimum, np.fmax, np.fmin)
}

# --- two results
general(
    np.modf,
    vjp=lambda g, _out, _x: g[0],
    jvp=lambda dots, _out, _x: (dots[0], dots[0] * 0),
    batch="align",
)
general(
    np.frexp,
    vjp=lambda g, out, _x: g[0] * np.ldexp(1.0, -out[1]),
    jvp=lambda dots, out, _x: (dots[0] * np.ldexp(1.0, -out[1]), None),
    batch="align",
)
composite(np.divmod, lambda x, y: (np.floor_divide(x, y), np.remainder(x, y)))


# --- replacing what is not a number, or not complex


def _nan_to_num(
    x: Value, copy: bool = True, nan: Value = 0.0, posinf: Value = None, neginf: Value = None
) -> Value:
    """A replaced element has the derivative 0, and the replacement the derivative 1."""
    limits = np.finfo(x.dtype)
    replacements = (
        nan,
        limits.max if posinf is None else posinf,
        limits.min if neginf is None else neginf,
    )
    if x.dtype.kind == "c":
        result = np.stack([_replaced(part, replacements) for part in (np.real(x), np.imag(x))])
        result = result[0] + 1j * result[1]
    else:
        result = _replaced(x, replacements)
    if not copy:
        x[...] = result
        result = x
    return result if result.shape else result[()]  # NumPy returns a scalar for a 0-d array


def _replaced(x: Value, replacements: tuple[Value, Value, Value]) -> Value:
    values, result = untraced(x), np.copy(x)
    for absent, replacement in zip(
        (np.isnan(values), np.isposinf(values), np.isneginf(values)), replacements, strict=True
    ):
        if any_true(absent):
            made = replacement if hasattr(replacement, "dtype") else np.asarray(replacement)
            result = np.where(absent, made.astype(x.dtype), result)
    return result


def _real_if_close(a: Value, tol: float = 100) -> Value:
    if a.dtype.kind != "c":
        return a
    if tol > 1:
        tol = float(np.finfo(a.dtype).eps) * tol
    return a if any_true(~(np.absolute(np.imag(untraced(a))) < tol)) else np.real(a)


composite(np.nan_to_num, _nan_to_num)
composite(np.real_if_close, _real_if_close)
