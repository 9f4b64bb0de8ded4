"""Draws of the gamma distribution as functions of its shape parameter.

Knows arrays and rules. Must not know tensors, generators, or distributions.

A draw x of shape a is the quantile of a uniform number u, F(x; a) = u, which stays the same as a
changes. So dx/da = -(dF/da) / (dF/dx) (implicit reparameterisation: Figurnov, Mohamed and Mnih,
Implicit reparameterization gradients, 2018).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from tapegrad._core.quiet import silence
from tapegrad._core.types import Cotangent, Tangent, Value
from tapegrad._errors import NotDifferentiableError
from tapegrad.torch._rules.declare import general
from tapegrad.torch._rules.special import log_derivative_of_gamma

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


def _refused(*_args: Any, **_params: Any) -> NoReturn:
    raise NotDifferentiableError(
        "torch._standard_gamma: the derivative of a draw by its concentration is not "
        "differentiable again. Detach the concentration for second derivatives."
    )


@general("StandardGammaGradBackward0", _refused, _refused, batch="align")
def _slope(a: Value, *, draws: Value) -> Any:
    return slope_of_draws(draws, a).astype(draws.dtype)


def _vjp(g: Cotangent, _out: Value, a: Value, *, draws: Value) -> Cotangent:
    return g * _slope(a, draws=draws)


def _jvp(dots: Sequence[Tangent], _out: Value, a: Value, *, draws: Value) -> Tangent:
    return dots[0] * _slope(a, draws=draws)


@general("StandardGammaBackward0", _vjp, _jvp, batch="align")
def drawn(a: Value, *, draws: Value) -> Any:
    """The draws, which came of the shapes a."""
    return draws.copy()


__all__ = ["drawn", "slope_of_draws"]
