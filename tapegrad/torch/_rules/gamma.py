"""The regularized incomplete gamma functions of real arrays, and draws of the gamma distribution.

Knows SciPy, which computes the functions fastest where it is installed, and methods with NumPy
alone: the series below a + 1, the continued fraction above (W. Press and others, Numerical
Recipes, 6.2). The derivative by the shape, which PyTorch refuses, is that of `tapegrad.scipy`, and
needs SciPy. Must not know tensors, generators, or distributions.

A draw x of shape a is the quantile of a uniform number u, F(x; a) = u, which stays the same as a
changes. So dx/da = -(dF/da) / (dF/dx) (implicit reparameterisation: Figurnov, Mohamed and Mnih,
Implicit reparameterization gradients, 2018).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad._core.quiet import silence
from tapegrad._core.types import Cotangent, Function, Value
from tapegrad._errors import NotDifferentiableError
from tapegrad.torch._rules.declare import elementwise, general, refused
from tapegrad.torch._rules.special import lgamma, log_derivative_of_gamma, scipy_function

LIMIT = 100_000  # terms; about the root of the larger argument is enough
TINY = 1e-300


def _by_shape(word: str) -> Function:
    """The derivative of the lower function by a, to be refused as PyTorch does without SciPy."""

    def partial(_out: Value, a: Value, x: Value) -> Value:
        if scipy_function("gammainc") is None:
            raise NotImplementedError(
                f"the derivative for '{word}: input' is not implemented without SciPy. Install it."
            )
        from tapegrad.scipy.special._incomplete_gamma import gamma_by_shape

        return gamma_by_shape(1)(a, x)

    return partial


def _density(a: Value, x: Value) -> Value:
    """The derivative of the lower function by x."""
    return np.exp((a - 1) * np.log(x) - x - lgamma(a))


@elementwise(
    "IgammaBackward0", _by_shape("igamma"), lambda _out, a, x: _density(a, x), strong=True
)
def lower(a: Value, x: Value) -> Value:
    """The integral of t**(a - 1) exp(-t) from 0 to x, divided by that to infinity."""
    return _evaluate("gammainc", a, x)


@elementwise(
    "IgammacBackward0",
    lambda out, a, x: -_by_shape("igammac")(out, a, x),
    lambda _out, a, x: -_density(a, x),
    strong=True,
)
def upper(a: Value, x: Value) -> Value:
    """1 - lower(a, x), exact also where that is small."""
    return _evaluate("gammaincc", a, x)


def _evaluate(name: str, a: Value, x: Value) -> Value:
    function = scipy_function(name)
    if function is not None:
        with silence():
            return function(a, x).astype(x.dtype)
    low, high = both(np.asarray(a, np.float64), np.asarray(x, np.float64))
    return (low if name == "gammainc" else high).astype(x.dtype)[()]


def both(a: Any, x: Any) -> tuple[Any, Any]:
    """The lower and the upper function, with NumPy alone."""
    a, x = np.broadcast_arrays(a, x)
    with silence():
        inner = (a > 0) & (x > 0) & np.isfinite(a) & np.isfinite(x)
        small = inner & (x < a + 1)
        scale = np.exp(a * np.log(x) - x - np.asarray(lgamma(a)))
        low = np.where(small, scale * _series(a, x, small), np.nan)
        high = np.where(inner & ~small, scale * _fraction(a, x, inner & ~small), np.nan)
        low, high = np.where(small, low, 1 - high), np.where(small, 1 - low, high)
    known = {  # at the borders
        0.0: (x == 0) & (a > 0) | (a == np.inf) & (x >= 0) & (x < np.inf),
        1.0: (a == 0) & (x > 0) | (x == np.inf) & (a > 0) & (a < np.inf),
    }
    for value, places in known.items():
        low, high = np.where(places, value, low), np.where(places, 1 - value, high)
    return low, high


def _series(a: Any, x: Any, needed: Any) -> Any:
    """The sum of x**n / (a (a + 1) ... (a + n)) over n >= 0."""
    term = 1 / a
    total, count = term, a
    for _ in range(LIMIT):
        count = count + 1
        term = term * x / count
        total = total + term
        if not np.any(needed & (term > total * 1e-17)):
            break
    return total


def _fraction(a: Any, x: Any, needed: Any) -> Any:
    """The continued fraction 1 / (x + 1 - a - 1 (1 - a) / (x + 3 - a - ...)), by Lentz."""
    b = x + 1 - a
    c = np.full_like(b, 1 / TINY)
    d = 1 / b
    total = d
    for n in range(1, LIMIT):
        b = b + 2
        numerator = -n * (n - a)
        d = numerator * d + b
        d = 1 / np.where(np.absolute(d) < TINY, TINY, d)
        c = b + numerator / c
        c = np.where(np.absolute(c) < TINY, TINY, c)
        total = total * d * c
        if not np.any(needed & (np.absolute(d * c - 1) > 1e-16)):
            break
    return total


# Nodes and weights of the double exponential rule for integrals over s > 0, s = exp(sinh t).
_T = np.linspace(-3.6, 3.0, 141)
_S = np.exp(np.pi / 2 * np.sinh(_T))
_WEIGHTS = (_T[1] - _T[0]) * np.pi / 2 * np.cosh(_T) * _S


_SMALL = 2.0  # below it the power series is exact with few terms
_TERMS = 36


@silence()
def slope_of_draws(x: Value, a: Value) -> Value:
    """dx/da of a draw x > 0 of the gamma distribution with shape a and rate 1."""
    x, a = np.broadcast_arrays(np.asarray(x, float), np.asarray(a, float))
    return np.where(x < _SMALL, _by_series(np.minimum(x, _SMALL), a), _by_integral(x, a))


def _by_series(x: Value, a: Value) -> Value:
    """By F = x**a exp(-x) / Gamma(a + 1) * (1 + x / (a + 1) + x**2 / ((a + 1)(a + 2)) + ...)."""
    term, harmonic, total, slope = np.ones_like(x), np.zeros_like(x), np.ones_like(x), 0.0
    for k in range(1, _TERMS):
        term = term * x / (a + k)
        harmonic = harmonic + 1 / (a + k)
        total = total + term
        slope = slope + term * harmonic
    return x / a * (slope - total * (np.log(x) - log_derivative_of_gamma(a + 1)))


def _by_integral(x: Value, a: Value) -> Value:
    """dF/da is the integral of p(t) (log t - psi(a)) up to x, or minus that from x on.

    Of the two the one in which the second factor keeps its sign is taken, so that nothing cancels.
    With t = x exp(-s) or x exp(s), p(t) / p(x) is at most of order one.
    """
    offset = np.log(x) - log_derivative_of_gamma(a)
    side = np.where(offset < 0, -1.0, 1.0)
    # p falls over a length of 1 / |d log p / ds| or, near its maximum, of 1 / sqrt(x).
    steepness = np.abs(a - x) + np.sqrt(x) + np.minimum(a, 1)
    s = side[..., None] * _S / steepness[..., None]
    ratio = np.exp(a[..., None] * s - x[..., None] * np.expm1(s))
    terms = ratio * np.abs(offset[..., None] + s) * _WEIGHTS
    return x * np.sum(np.where(np.isfinite(terms), terms, 0), axis=-1) / steepness


_ONCE = (
    "torch._standard_gamma: the derivative of a draw by its concentration is not differentiable "
    "again. Detach the concentration for second derivatives."
)


@general("StandardGammaGradBackward0", refused(_ONCE, NotDifferentiableError), batch="align")
def _slope(a: Value, *, draws: Value) -> Any:
    return slope_of_draws(draws, a).astype(draws.dtype)


def _vjp(g: Cotangent, _out: Value, a: Value, *, draws: Value) -> Cotangent:
    return g * _slope(a, draws=draws)


@general("StandardGammaBackward0", _vjp, batch="align")
def drawn(a: Value, *, draws: Value) -> Any:
    """The draws, which came of the shapes a."""
    return draws.copy()
