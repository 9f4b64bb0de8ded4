"""Special functions of real arrays, which NumPy has not: error, gamma and polygamma functions.

Knows SciPy, which computes them fastest where it is installed, and methods with NumPy alone.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from decimal import Decimal

import numpy as np

from tapegrad._core.quiet import silence
from tapegrad._core.types import Function, Value
from tapegrad.torch._rules.blockwise import LARGE, clipped, in_parts
from tapegrad.torch._rules.declare import elementwise
from tapegrad.torch._rules.symbols import is_own

ROOT_PI = math.sqrt(math.pi)


@functools.cache
def scipy_function(name: str) -> Function | None:
    """A function of SciPy's, or None without SciPy."""
    try:
        import scipy.special
    except ImportError:
        return None
    found: Function = getattr(scipy.special, name)
    return found


def _evaluate(name: str, fallback: Function, x: Value) -> Value:
    function = scipy_function(name)
    made = fallback(x.astype(np.float64)) if function is None else function(x)
    return made if made.dtype == x.dtype else made.astype(x.dtype)


def by_number(function: Callable[[float], float]) -> Function:
    """A function of Python's floats as one of arrays."""

    def call(x: Value) -> Value:
        values = [function(value) for value in np.ravel(x).tolist()]
        return np.asarray(values, np.float64).reshape(np.shape(x))[()]

    return call


# --- Error functions ----------------------------------------------------------------------------


# erf(z) is tanh(z * q(z * z)) to 2e-7 in float32, where q is this polynomial up to z = 4, the
# least squares of logit(erf) / (2 z) with weights that were raised where the error was largest.
_TANH_OF_ERF = (
    1.12837898,
    0.10277221,
    -0.000197309495,
    -0.000616853709,
    8.71507378e-05,
    -5.67300225e-06,
    1.46002205e-07,
)
_ERF_LIMIT = 16.0  # the square of the largest z; beyond, tanh is 1 anyway


def is_many_singles(x: Value) -> bool:
    """Whether `erf_of_singles` serves: SciPy's takes five times as long for 200 000 elements."""
    return is_own(x) and x.size >= LARGE and x.dtype.char == "f"


def erf_of_singles(x: Value, scale: float = 1.0) -> Value:
    """erf(x * scale) of single precision."""
    square = clipped(x * x, 0, _ERF_LIMIT / scale**2)
    terms = [c * scale ** (2 * k + 1) for k, c in enumerate(_TANH_OF_ERF)]
    made = square * terms[-1] + terms[-2]
    for term in terms[-3::-1]:
        made = made * square + term
    return np.tanh(made * x)


_erf_of_parts = in_parts(erf_of_singles)


@elementwise("ErfBackward0", lambda _out, x: (2 / ROOT_PI) * np.exp(-x * x))
def erf(x: Value) -> Value:
    """2 / sqrt(pi) times the integral of exp(-t**2) from 0 to x."""
    return _erf_of_parts(x) if is_many_singles(x) else _evaluate("erf", by_number(math.erf), x)


@elementwise("ErfcBackward0", lambda _out, x: (-2 / ROOT_PI) * np.exp(-x * x))
def erfc(x: Value) -> Value:
    """1 - erf(x), without cancellation."""
    return _evaluate("erfc", by_number(math.erfc), x)


def _slope_of_erfinv(_out: Value, x: Value) -> Value:
    return (ROOT_PI / 2) * np.exp(erfinv(x) ** 2)


@elementwise("ErfinvBackward0", _slope_of_erfinv, strong=True)
def erfinv(x: Value) -> Value:
    """The inverse of erf."""
    return _evaluate("erfinv", inverse_of_erf, x)


def inverse_of_erf(y: Value) -> Value:
    """Halley's method from Winitzki's approximation, on erfc where that is more accurate."""
    size = np.absolute(y)
    with silence():
        logarithm = np.log1p(-size * size)
        middle = 2 / (math.pi * 0.147) + logarithm / 2
        x = np.sqrt(np.sqrt(middle * middle - logarithm / 0.147) - middle)
        erf_of, erfc_of = by_number(math.erf), by_number(math.erfc)
        for _ in range(3):
            x = np.where(np.isfinite(x), x, 0)
            error = np.where(size < 0.5, erf_of(x) - size, (1 - size) - erfc_of(x))
            step = error / (2 / ROOT_PI * np.exp(-x * x))
            x = x - step / (1 + x * step)
        x = np.where(size < 1, x, np.where(size == 1, np.inf, np.nan))
    return np.copysign(x, y)


# --- Gamma functions ----------------------------------------------------------------------------


def _log_gamma(x: float) -> float:
    try:
        return math.lgamma(x)
    except (ValueError, OverflowError):
        return math.inf  # at a pole, or too large


def _digamma_of(_out: Value, x: Value) -> Value:
    return digamma(x)


def _next_polygamma(_out: Value, x: Value, n: int = 0) -> Value:
    return polygamma(x, n + 1)


@elementwise("LgammaBackward0", _digamma_of, strong=True)
def lgamma(x: Value) -> Value:
    """The logarithm of the absolute value of the gamma function."""
    found = _evaluate("gammaln", by_number(_log_gamma), x)
    return np.where(x == -np.inf, -x, found) if np.any(x == -np.inf) else found


@elementwise("DigammaBackward0", _next_polygamma, strong=True)
def digamma(x: Value) -> Value:
    """The derivative of lgamma; at 0 minus infinity, NaN at the poles below."""
    found = _evaluate("psi", log_derivative_of_gamma, x)
    pole = (x < 0) & (x == np.floor(x))
    return np.where(pole, np.asarray(np.nan, found.dtype), found) if np.any(pole) else found


# The Bernoulli numbers B[2k], in the coefficients of the asymptotic series.
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)
_STEPS = 12  # of the recurrence, up to arguments for which these series are exact to rounding
_ROOT = Decimal("1.46163214496836234126265954232572132846819620400644")
_ROOT_HIGH = float(_ROOT)
_ROOT_LOW = float(_ROOT - Decimal(_ROOT_HIGH))


def log_derivative_of_gamma(x: Value) -> Value:
    """The digamma function by its recurrence, asymptotic series and reflection."""
    x = np.asarray(x, np.float64)
    with silence():
        reflected = x < 0.5
        high = np.where(reflected, 1 - x, x)
        found = _digamma_of_positive(high)
        fraction = x - np.round(x)
        found = np.where(reflected, found - math.pi / np.tan(math.pi * fraction), found)
        return np.where(x == 0, np.copysign(np.inf, -x), found)[()]


def _digamma_of_positive(x: Value) -> Value:
    total, shifted = np.zeros_like(x), x
    for _ in range(_STEPS):
        total = total - np.where(shifted < _STEPS, 1 / shifted, 0)
        shifted = np.where(shifted < _STEPS, shifted + 1, shifted)
    inverse = 1 / (shifted * shifted)
    series, power = np.zeros_like(x), inverse
    for k, number in enumerate(_BERNOULLI, 1):
        series = series + number / (2 * k) * power
        power = power * inverse
    found = total + (np.log(shifted) - 0.5 / shifted - series)
    near = np.absolute(x - _ROOT_HIGH) < 0.25
    if not np.any(near):
        return found
    # Near the root by Taylor's series: the sum above has only absolute accuracy there.
    distance = (x - _ROOT_HIGH) - _ROOT_LOW
    value = np.zeros_like(x)
    for coefficient in reversed(_coefficients_at_root()):
        value = (value + coefficient) * distance
    return np.where(near, value, found)


@functools.cache
def _coefficients_at_root() -> tuple[float, ...]:
    at = np.asarray(_ROOT_HIGH)
    return tuple((-1.0) ** (k + 1) * float(hurwitz_zeta(k + 1, at)) for k in range(1, 26))


def hurwitz_zeta(s: int, x: Value) -> Value:
    """The sum of (x + k) ** -s over k >= 0, by the formula of Euler and Maclaurin."""
    lowest = float(np.min(x, initial=0, where=np.isfinite(x)))
    total, shifted = np.zeros_like(x), x
    enough = _STEPS + s
    for _ in range(enough + int(-lowest)):
        if lowest < 0:
            total = total + np.where(shifted < enough, shifted**-s, 0)
            shifted = np.where(shifted < enough, shifted + 1, shifted)
        else:
            total += (1 / shifted) ** s
            shifted = shifted + 1
    inverse = 1 / shifted
    total = total + inverse ** (s - 1) * (1 / (s - 1) + 0.5 * inverse)
    factor, square, series = float(s), inverse * inverse, []
    for k, number in enumerate(_BERNOULLI, 1):
        series.append(number / math.factorial(2 * k) * factor)
        factor *= (s + 2 * k - 1) * (s + 2 * k)
    rest = square * series[-1] + series[-2]
    for term in series[-3::-1]:
        rest = rest * square + term
    return total + rest * inverse ** (s + 1)


@elementwise("PolygammaBackward0", _next_polygamma, 0, strong=True)
def polygamma(x: Value, n: int) -> Value:
    """The n-th derivative of digamma."""
    return digamma(x) if n == 0 else _polygamma(x, n)


@in_parts
def _polygamma(x: Value, n: int) -> Value:
    values = np.asarray(x, np.float64)
    with silence():
        if n > 1:
            found = (-1.0) ** (n + 1) * math.factorial(n) * hurwitz_zeta(n + 1, values)
        elif not np.any(reflected := values < 0.5):
            found = hurwitz_zeta(2, values)
        else:
            sine = np.sin(math.pi * (values - np.round(values)))
            found = hurwitz_zeta(2, np.where(reflected, 1 - values, values))
            found = np.where(reflected, (math.pi / sine) ** 2 - found, found)
    return found.astype(x.dtype)[()]
