"""Functions of complex numbers in real and imaginary parts.

Knows formulas, with NumPy's values at infinities and NaNs. Must not know where their calls go.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np


class Real:
    """A real part, as an argument of a call; what is computed with it are calls of the path.

    They are computed in a dtype, which is not that of truth values.
    """

    __slots__ = ("argument", "dtype", "made")

    def __init__(self, argument: Any, made: Callable[..., Any], dtype: Any) -> None:
        self.argument, self.made, self.dtype = argument, made, dtype

    def __add__(self, other: Any) -> Real:
        return _call(np.add, self, other)

    def __sub__(self, other: Any) -> Real:
        return _call(np.subtract, self, other)

    def __mul__(self, other: Any) -> Real:
        return _call(np.multiply, self, other)

    def __truediv__(self, other: Any) -> Real:
        return _call(np.divide, self, other)

    def __neg__(self) -> Real:
        return _call(np.negative, self)


Complex = tuple[Real, Real]


def _call(function: Any, *args: Any) -> Real:
    of = next(x for x in args if type(x) is Real)
    plain = tuple([x.argument if type(x) is Real else x for x in args])
    return Real(of.made(function, plain), of.made, of.dtype)


def _where(condition: Real, x: Any, y: Any) -> Real:
    return _call(np.where, condition, x, y)


def _is_zero(x: Real) -> Real:
    return _call(np.equal, x, 0)


def _both(x: Real, y: Real) -> Real:
    return _call(np.logical_and, x, y)


def _product(z: Complex, w: Complex) -> Complex:
    return z[0] * w[0] - z[1] * w[1], z[0] * w[1] + z[1] * w[0]


def _square(z: Complex) -> Complex:
    return z[0] * z[0] - z[1] * z[1], z[0] * z[1] + z[1] * z[0]


def _quotient(z: Complex, w: Complex) -> Complex:
    """R. L. Smith's (Algorithm 116, Comm. ACM 5, 1962), in the order in which NumPy computes."""
    across, upright = _call(np.absolute, w[0]), _call(np.absolute, w[1])
    flat = _call(np.greater_equal, across, upright)
    large, small = _where(flat, w[0], w[1]), _where(flat, w[1], w[0])
    ratio = small / large
    scale = _call(np.divide, 1.0, large + small * ratio)
    real = (_where(flat, z[0], z[1]) + _where(flat, z[1], z[0]) * ratio) * scale
    imag = _where(flat, z[1] - z[0] * ratio, z[1] * ratio - z[0]) * scale
    nothing = _both(_is_zero(across), _is_zero(upright))
    return _where(nothing, z[0] / across, real), _where(nothing, z[1] / across, imag)


def _exponential(z: Complex) -> Complex:
    """exp(x) (cos y + i sin y), at infinities and NaNs with the values of C99, annex G.6.3.1."""
    x, y = z
    # exp(x / 2) does not overflow where exp(x) cos y may not.
    large = _call(np.greater, x, math.floor(math.log(np.finfo(x.dtype).max)))
    size = _call(np.exp, _where(large, x * 0.5, x))
    again = _where(large, size, 1)
    real = size * _call(np.cos, y) * again
    imag = size * _call(np.sin, y) * again
    strange = _both(_call(np.isinf, x), _call(np.logical_not, _call(np.isfinite, y)))
    real = _where(strange, size, real)
    vanishes = _both(strange, _call(np.less, x, 0))
    imag = _where(vanishes, _call(np.copysign, 0.0, y), imag)
    return real, _where(_is_zero(y), y, imag)


def _sign(z: Complex) -> Complex:
    """z / |z|; if that size is infinite, the sign of an infinite real part, else of the other."""
    x, y = z
    size = _call(np.hypot, x, y)
    over, tall = _call(np.isinf, size), _call(np.isinf, x)
    one = _call(np.logical_not, _both(tall, _call(np.isinf, y)))  # of two, NaN
    plain = _call(np.logical_not, _call(np.logical_or, _both(over, one), _is_zero(size)))
    real = _where(plain, x / size, _where(tall, _call(np.sign, x), 0.0))
    high = _both(over, _call(np.logical_not, tall))
    return real, _where(plain, y / size, _where(high, _call(np.sign, y), 0.0))


# Functions of complex arguments with a complex result.
TO_COMPLEX: dict[Any, Callable[..., Complex]] = {
    np.add: lambda z, w: (z[0] + w[0], z[1] + w[1]),
    np.subtract: lambda z, w: (z[0] - w[0], z[1] - w[1]),
    np.multiply: _product,
    np.divide: _quotient,
    np.negative: lambda z: (-z[0], -z[1]),
    np.positive: lambda z: z,
    np.conjugate: lambda z: (z[0], -z[1]),
    np.square: _square,
    np.exp: _exponential,
    np.sign: _sign,
}
# Functions of complex arguments with a real result, or truth values.
TO_REAL: dict[Any, Callable[..., Real]] = {
    np.absolute: lambda z: _call(np.hypot, z[0], z[1]),
    np.equal: lambda z, w: _both(_call(np.equal, z[0], w[0]), _call(np.equal, z[1], w[1])),
    np.not_equal: lambda z, w: _call(
        np.logical_or, _call(np.not_equal, z[0], w[0]), _call(np.not_equal, z[1], w[1])
    ),
    np.isfinite: lambda z: _both(_call(np.isfinite, z[0]), _call(np.isfinite, z[1])),
    np.isnan: lambda z: _call(np.logical_or, _call(np.isnan, z[0]), _call(np.isnan, z[1])),
}
# Functions, of those that the formulas call, that give truth values.
TO_TRUTH = frozenset(
    (
        np.equal,
        np.not_equal,
        np.less,
        np.greater,
        np.greater_equal,
        np.isfinite,
        np.isinf,
        np.isnan,
        np.logical_and,
        np.logical_or,
        np.logical_not,
    )
)

__all__ = ["TO_COMPLEX", "TO_REAL", "TO_TRUTH", "Complex", "Real"]
