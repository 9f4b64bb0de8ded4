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

    def like(self, number: float) -> Real:
        """A constant."""
        return Real(number, self.made, self.dtype)

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


def _root(z: Complex) -> Complex:
    """As C99, annex G.6.4.2, has it; scaled where the size would overflow or lose digits."""
    x, y = z
    limits = np.finfo(x.dtype)
    across, upright = _call(np.absolute, x), _call(np.absolute, y)
    most = _call(np.maximum, across, upright)
    high = _call(np.greater, most, float(limits.max) / 4)
    low = _call(np.less, most, float(limits.tiny) * 2.0 ** (limits.nmant + 3))
    even = limits.nmant + 4 - limits.nmant % 2
    scale = _where(high, 0.0625, _where(low, 2.0**even, 1.0))
    back = _where(high, 4.0, _where(low, 2.0 ** (-even // 2), 1.0))
    x, y = x * scale, y * scale
    large = _call(np.sqrt, (_call(np.hypot, x, y) + _call(np.absolute, x)) * 0.5)
    small = y / (large + large)
    right = _call(np.greater_equal, x, 0)
    real = _where(right, large, _call(np.absolute, small)) * back
    imag = _where(right, small, _call(np.copysign, large, y)) * back
    nothing, endless = _both(_is_zero(x), _is_zero(y)), _call(np.isinf, y)
    real = _where(nothing, 0.0, _where(endless, math.inf, real))
    return real, _where(_call(np.logical_or, nothing, endless), z[1], imag)


def _logarithm(z: Complex) -> Complex:
    x, y = z
    limits = np.finfo(x.dtype)
    across, upright = _call(np.absolute, x), _call(np.absolute, y)
    large, small = _call(np.maximum, across, upright), _call(np.minimum, across, upright)
    high = _call(np.greater, large, float(limits.max) / 4)
    low = _call(np.less, large, float(limits.tiny) * 2.0 ** (limits.nmant + 3))
    steps = limits.nmant + 4
    scale = _where(high, 0.25, _where(low, 2.0**steps, 1.0))
    shift = _where(high, math.log(4.0), _where(low, -steps * math.log(2.0), 0.0))
    size = _call(np.hypot, x * scale, y * scale)
    far = _call(np.log, size) + shift
    near = _both(_call(np.greater, size, 0.5), _call(np.less, size, 2.0))
    near = _both(near, _is_zero(shift))
    # |z|^2 - 1 with all digits, as most of them cancel.
    p, e = _exact_square(_where(near, large, 1.0))
    q, f = _exact_square(_where(near, small, 0.0))
    less = p - 1.0
    first, lost = _exact_sum(less, q)
    lost, b = _exact_sum(lost, p - (less + 1.0))
    rest, c = _exact_sum(e, f)
    lost, d = _exact_sum(lost, rest)
    total, more = _exact_sum(first, lost)
    close = _call(np.log1p, total + (more + (b + c + d))) * 0.5
    return _where(near, close, far), _call(np.arctan2, y, x)


def _exact_sum(a: Real, b: Real) -> tuple[Real, Real]:
    """a + b and what it lacks."""
    total = a + b
    moved = total - a
    return total, (a - (total - moved)) + (b - moved)


def _exact_square(x: Real) -> tuple[Real, Real]:
    """x^2 and what it lacks (T. J. Dekker, Numer. Math. 18, 1971)."""
    c = x * float(2 ** ((np.finfo(x.dtype).nmant + 2) // 2) + 1)
    upper = c - (c - x)
    lower = x - upper
    square = x * x
    return square, ((upper * upper - square) + upper * lower * 2.0) + lower * lower


def _hyperbolic(y: Real) -> tuple[Real, Real, Real]:
    """cosh y and sinh y, both over a factor, and the factor, that none of them overflows."""
    size = _call(np.absolute, y)
    large = _call(np.greater, size, math.floor(math.log(np.finfo(y.dtype).max)))
    half = _call(np.exp, _where(large, size * 0.5, 0.0))
    flat = _where(large, 0.0, y)
    cosine = _where(large, half * 0.5, _call(np.cosh, flat))
    sine = _where(large, _call(np.copysign, half * 0.5, y), _call(np.sinh, flat))
    return cosine, sine, half


def _sine(z: Complex) -> Complex:
    """At infinities and NaNs as C99, annex G.6.2.5, has -i sinh(i z)."""
    x, y = z
    cosine, sine, again = _hyperbolic(y)
    real = _where(_is_zero(x), x, _call(np.sin, x) * cosine * again)
    edge = _where(_is_zero(y), y, math.inf)  # whose sign is free, and in NumPy this one
    return real, _where(_is_strange(x, y), edge, _call(np.cos, x) * sine * again)


def _cosine(z: Complex) -> Complex:
    """At infinities and NaNs as C99, annex G.6.2.4, has cosh(i z)."""
    x, y = z
    cosine, sine, again = _hyperbolic(y)
    strange = _is_strange(x, y)
    real = _call(np.cos, x) * cosine * again
    real = _where(_both(strange, _call(np.isinf, y)), math.inf, real)
    imag = -(_call(np.sin, x) * sine * again)
    nothing = _where(_call(np.isnan, y), x, -(x * _call(np.copysign, 1.0, y)))
    imag = _where(_is_zero(x), nothing, imag)
    return real, _where(_both(strange, _is_zero(y)), 0.0, imag)


def _is_strange(x: Real, y: Real) -> Real:
    """Whether x is infinite or NaN, and y zero or infinite."""
    edge = _call(np.logical_or, _is_zero(y), _call(np.isinf, y))
    return _both(edge, _call(np.logical_not, _call(np.isfinite, x)))


def _hyperbolic_sine(z: Complex) -> Complex:
    imag, real = _sine((z[1], z[0]))
    return real, imag


def _hyperbolic_cosine(z: Complex) -> Complex:
    return _cosine((z[1], -z[0]))


def _hyperbolic_tangent(z: Complex) -> Complex:
    """At infinities and NaNs as C99, annex G.6.2.6, has it."""
    x, y = z
    size = _call(np.absolute, x)
    far = _call(np.greater, size, 22)  # where it is 1 to the last digit
    close = _where(far, 0.0, x)
    sine, cosine = _call(np.sin, y), _call(np.cos, y)
    wide, high = _call(np.sinh, close), _call(np.cosh, close)
    below = wide * wide + cosine * cosine
    both = sine * cosine
    one = _call(np.copysign, 1.0, x)
    real = _where(far, one + both * 0.0, wide * high / below)
    real = _where(_call(np.isinf, x), one, real)
    imag = _where(far, both * 4.0 * _call(np.exp, size * -2.0), both / below)
    real = _where(_is_zero(x), x, _where(_call(np.isnan, x), x, real))
    unclear = _both(_call(np.isinf, x), _call(np.logical_not, _call(np.isfinite, y)))
    imag = _where(unclear, _call(np.copysign, 0.0, y), imag)
    return real, _where(_is_zero(y), y, imag)


def _tangent(z: Complex) -> Complex:
    imag, real = _hyperbolic_tangent((-z[1], z[0]))
    return real, -imag


class Power:
    """The power to a real exponent that is known: whole ones by products, in NumPy's order."""

    def __init__(self, exponent: float) -> None:
        self.exponent = exponent

    def __call__(self, z: Complex) -> Complex:
        if not self.exponent.is_integer() or abs(self.exponent) >= 100:
            return self._by_logarithm(z)
        left, factor, out = abs(int(self.exponent)), z, None
        while left:
            if left % 2:
                out = factor if out is None else _product(out, factor)
            left //= 2
            factor = _square(factor) if left else factor
        assert out is not None
        if self.exponent > 0:
            return out
        real, imag = _quotient((z[0].like(1.0), z[0].like(0.0)), out)
        nothing = _both(_is_zero(z[0]), _is_zero(z[1]))
        return _where(nothing, math.nan, real), _where(nothing, math.nan, imag)

    def _by_logarithm(self, z: Complex) -> Complex:
        real, imag = _logarithm(z)
        # The exponent's imaginary part is a zero, whose product with an infinity is NaN.
        out = _exponential((real * self.exponent, imag * self.exponent + real * 0.0))
        nothing = _both(_is_zero(z[0]), _is_zero(z[1]))
        power = 0.0 if self.exponent > 0 else math.nan
        return _where(nothing, power, out[0]), _where(nothing, power, out[1])


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
    np.log: _logarithm,
    np.sqrt: _root,
    np.sin: _sine,
    np.cos: _cosine,
    np.tan: _tangent,
    np.sinh: _hyperbolic_sine,
    np.cosh: _hyperbolic_cosine,
    np.tanh: _hyperbolic_tangent,
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


def to_complex(function: Any) -> Callable[..., Complex] | None:
    """The formula of a function with a complex result."""
    return function if type(function) is Power else TO_COMPLEX.get(function)


__all__ = ["TO_COMPLEX", "TO_REAL", "TO_TRUTH", "Complex", "Power", "Real", "to_complex"]
