"""Derivatives by a parameter for which no closed formula is known: orders, degrees and the like.

Knows how a function is differentiated through its values near a point. Must not know which
functions exist.

A special function is analytic in its order. Its polynomial through Chebyshev points around the
order converges geometrically, and the derivative of that polynomial is the derivative sought, to
the rounding of the function's values times some 30 (L. N. Trefethen, Approximation Theory and
Approximation Practice, SIAM 2013, chapters 8 and 21). A power such as (z/2)**v is divided out
first, so that small arguments lose nothing. The last Chebyshev coefficients say what is left of
truncation and of the function's own errors: where they are not small, the derivative is NaN, and
a backward pass warns of it.

This is NumPy code over the function itself. Mixed derivatives are therefore derivatives of
the function at the points, in closed form where it has them; a second derivative by the parameter
takes points around each point.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad._core.quiet import is_telling, silence
from tapegrad._core.types import Function, Value
from tapegrad._core.values import any_true, untraced
from tapegrad._errors import NotDifferentiableError
from tapegrad._warning import warn

COUNT = 17
REACH = 0.5
_MIDDLE = COUNT // 2
_DIGITS = 1e-9

_ANGLES = (2 * np.arange(COUNT) + 1) * np.pi / (2 * COUNT)
NODES = np.cos(_ANGLES)
NODES[_MIDDLE] = 0.0
# sum_j _TO_COEFFICIENTS[k, j] f(NODES[j]) is the coefficient of the Chebyshev polynomial T_k.
_TO_COEFFICIENTS = 2 / COUNT * np.cos(np.outer(np.arange(COUNT), _ANGLES))
_TO_COEFFICIENTS[0] /= 2
# T_k'(0) is k sin(k pi / 2); thereby the weights of the derivative in the middle.
_WEIGHTS = (np.arange(COUNT) * np.sin(np.arange(COUNT) * np.pi / 2)) @ _TO_COEFFICIENTS
_TAIL = _TO_COEFFICIENTS[-3:]


def by_parameter(
    function: Function,
    args: tuple[Value, ...],
    at: int,
    reach: Any = REACH,
    name: str = "",
    *,
    relative: float | None = None,
) -> Value:
    """The derivative of an elementwise function by its argument `at`, which is real.

    function: NumPy code over the arguments, which broadcast
    reach: how far from the argument the function is evaluated at first. Where it proves singular
        or undefined within that, a quarter and a sixteenth of it are tried
    name: what a warning calls the function
    relative: the error of the derivative that is borne; without it one of 9 digits of the value
        or the derivative, whichever is larger
    """
    reach = untraced(reach)
    derivative, bad = _derivative(function, args, at, reach, relative)
    for nearer in (4, 16):
        if not any_true(bad):
            return derivative
        again, still = _derivative(function, args, at, reach / nearer, relative)
        derivative = np.where(bad & ~still, again, derivative)
        bad = bad & still
    if any_true(bad):
        warn_of(name, f"by argument {at} it is not known to 9 digits there")
    return np.where(bad, np.nan, derivative)


def _derivative(
    function: Function, args: tuple[Value, ...], at: int, reach: Any, relative: float | None
) -> tuple[Value, Value]:
    """The derivative, and where it is not accurate."""
    rank = max(getattr(arg, "ndim", 0) for arg in args)
    nodes = NODES.reshape(-1, *[1] * rank)
    values = function(*args[:at], args[at] + reach * nodes, *args[at + 1 :])
    with silence():
        known = untraced(values)
        slope = _growth(known)
        scale = np.exp(-slope * nodes)
        weights = scale * _WEIGHTS.reshape(nodes.shape)
        derivative = np.sum(values * weights, axis=0) / reach
        derivative = derivative + values[_MIDDLE] * (slope / reach)
        return derivative, _is_inaccurate(known * scale, untraced(derivative), reach, relative)


def _growth(values: Value) -> Value:
    """The exponent by which the values grow along the points, on both sides of the middle."""
    logs = np.log(np.abs(values))
    after, before = logs[0] - logs[_MIDDLE], logs[_MIDDLE] - logs[-1]
    slope = np.where(np.abs(after) < np.abs(before), after, before)  # a zero is no growth
    steady = np.isfinite(slope) & (after * before > 0) & (np.abs(slope) > 1)
    return np.where(steady, slope, 0.0) / NODES[0]


def _is_inaccurate(values: Value, derivative: Value, reach: Any, relative: float | None) -> Value:
    """Whether the last coefficients say so, or the function has no value at some point.

    Of a derivative that is small beside the value, 9 digits are asked as those of the value are,
    by a change of the parameter by REACH; of points that are nearer, fewer of them.
    """
    if relative is None:
        size = np.max(np.abs(values), axis=0) * np.minimum(1.0, reach / REACH)
    else:
        size = np.max(np.abs(values - values[_MIDDLE]), axis=0)
    rows = _TAIL.reshape(len(_TAIL), -1, *[1] * (values.ndim - 1))
    tail = sum(np.abs(np.sum(values * row, axis=0)) for row in rows)
    return ~(tail * COUNT <= (relative or _DIGITS) * (size + np.abs(derivative) * reach))


def warn_of(name: str, reason: str) -> None:
    """Warn of a derivative that is NaN; forward mode is silent, as it is of NumPy's warnings."""
    if is_telling():
        warn(f"scipy.special.{name}: its derivative is NaN somewhere ({reason}).", RuntimeWarning)


def along(function: Function, at: int, reach: Any = REACH) -> Function:
    """The partial of a ufunc by its argument `at`; `reach` may be a function of the arguments."""

    def partial(_out: Value, *args: Value) -> Value:
        near = reach(*args) if callable(reach) else reach
        return by_parameter(function, args, at, near, function.__name__)

    return partial


def whole(function: Any, at: int, advice: str = "") -> Function:
    """The partial by an argument that stands for a whole number: asking for it is an error."""

    def partial(_out: Value, *args: Value) -> Value:
        raise NotDifferentiableError(
            f"scipy.special.{function.__name__}: not differentiable by its argument {at}, which "
            f"stands for a whole number. {advice or 'Pass an integer'}, or "
            "tapegrad.stop_gradient(...) of it."
        )

    return partial


def distance_to_poles(x: Value) -> Value:
    """How far a number is from 0, -1, -2, ..., at most 1: those are the poles of gamma(x)."""
    x = untraced(x)
    return np.where(x > 0, np.minimum(np.abs(x), 1.0), np.abs(x - np.round(x)))


__all__ = ["REACH", "along", "by_parameter", "distance_to_poles", "warn_of", "whole"]
