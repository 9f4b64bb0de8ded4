"""Activations: the ways of calls that come again.

Knows NumPy arrays and numbers. Must not know rules; the formulas stand beside these.

A small array costs as much as the calls of NumPy that it goes through. So each function here makes
few of them, in place, and takes over from the forward pass what both passes need. Large arrays go
part by part (`unit_passes`), and have ways of their own where the forward pass finds the slopes as
well. A cotangent where the slope is 0 is chosen and not multiplied: an infinite one leaves a 0.

`keep(x, *numbers)` returns the result and what is kept, `pull(g, out, x, *numbers, kept)` the
cotangent of x; one without a `keep` gets nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tapegrad._core.entry import Spec
from tapegrad._core.settled import AllWays
from tapegrad._core.types import Cotangent, Function, Value
from tapegrad.rules.masks import chosen
from tapegrad.torch._rules.parts import LARGE, kept_by_passes
from tapegrad.torch._types import Number

Ways = Callable[..., AllWays | None]

_ROOT, _CUBE = math.sqrt(2 / math.pi), 0.044715


class Large(NamedTuple):
    """The ways of large arrays of these dtypes, and with numbers of which `takes` is true."""

    pull: Function
    keep: Callable[..., Any] | None = None
    dtypes: str = "fd"
    takes: Callable[..., bool] = lambda *_numbers: True


def _pull_by_slopes(g: Cotangent, _out: Value, _x: Value, *others: Any) -> Cotangent:
    return np.multiply(g, others[-1])


def with_slopes(
    passes: Function, *, work: int, dtypes: str = "fd", takes: Callable[..., bool] | None = None
) -> Large:
    """The forward pass finds the slopes as well, where they share most of its work.

    passes: as of `kept_by_passes`.
    """

    def keep(x: Value, *numbers: Number) -> Any:
        return kept_by_passes(passes, x, *numbers, work=work)

    large = Large(_pull_by_slopes, keep, dtypes)
    return large if takes is None else large._replace(takes=takes)


def ways_of(
    pull: Function | None,
    keep: Callable[..., Any] | None = None,
    run: Function | None = None,
    large: Large | None = None,
) -> Ways:
    """The ways of an elementwise function of one array and numbers."""
    by_size = large

    def ways(specs: Any, out: Spec, wanted: tuple[bool, ...], **params: Any) -> AllWays | None:
        x, *numbers = specs
        if x is not out or not x.ndim or x.dtype.char not in "fd" or params:
            return None
        if any(wanted[1:]) or any(type(number) not in (int, float) for number in numbers):
            return None
        rest = (None,) * len(numbers)
        if x.size < LARGE:
            if pull is None:
                return None
            return AllWays(lambda *given: (pull(*given), *rest), run=run, keep=keep)
        if by_size is None or x.dtype.char not in by_size.dtypes or not by_size.takes(*numbers):
            return None
        pull_large = by_size.pull
        return AllWays(lambda *given: (pull_large(*given), *rest), keep=by_size.keep)

    return ways


# --- Piecewise ----------------------------------------------------------------------------------


def pull_leaky(g: Cotangent, _out: Value, x: Value, slope: Number) -> Cotangent:
    return np.where(np.greater(x, 0), g, np.multiply(g, slope))


def pull_between(g: Cotangent, _out: Value, x: Value, low: Number, high: Number) -> Cotangent:
    """Of hardtanh: nothing at the bounds, and all at NaN."""
    beyond = np.less_equal(x, low)
    np.logical_or(beyond, np.greater_equal(x, high), beyond)
    np.logical_not(beyond, beyond)
    return chosen(beyond, g)


def run_clamped(x: Value, low: Number, high: Number) -> Value:
    made = np.maximum(x, low)
    return np.minimum(made, high, out=made)


def pull_clamped(g: Cotangent, _out: Value, x: Value, low: Number, high: Number) -> Cotangent:
    """Of clamp: all at the bounds, and nothing at NaN."""
    within = np.greater_equal(x, low)
    np.logical_and(within, np.less_equal(x, high), within)
    return chosen(within, g)


def pull_at_least(g: Cotangent, _out: Value, x: Value, low: Number) -> Cotangent:
    return chosen(np.greater_equal(x, low), g)


def pull_at_most(g: Cotangent, _out: Value, x: Value, high: Number) -> Cotangent:
    return chosen(np.less_equal(x, high), g)


def run_elu(x: Value, alpha: Number, scale: Number, recording: Number) -> Value:
    made = np.minimum(x, 0)
    if recording != 1:
        made *= recording
    np.expm1(made, made)
    share = alpha * scale
    if share != 1:
        made *= share
    above = np.maximum(x, 0)
    if scale != 1:
        above *= scale
    above += made
    return above


def pull_elu(
    g: Cotangent, _out: Value, x: Value, alpha: Number, scale: Number, recording: Number
) -> Cotangent:
    low = np.minimum(x, 0)
    if recording != 1:
        low *= recording
    np.exp(low, low)
    share = alpha * scale * recording
    if share != 1:
        low *= share
    low *= g
    return np.where(np.less_equal(x, 0), low, g if scale == 1 else g * scale)


def pull_hardswish(g: Cotangent, _out: Value, x: Value) -> Cotangent:
    slopes = x / 3
    slopes += 0.5
    slopes *= g
    middle = np.where(np.less(x, 3), slopes, g)
    return chosen(np.logical_not(np.less_equal(x, -3)), middle)


# --- Smooth -------------------------------------------------------------------------------------


def keep_silu(x: Value) -> Any:
    divisor = np.negative(x)
    np.exp(divisor, divisor)
    divisor += 1
    return x / divisor, divisor


def pull_silu(g: Cotangent, _out: Value, x: Value, divisor: Value) -> Cotangent:
    """part * (1 + x * (1 - part))."""
    part = 1 / divisor
    slopes = 1 - part
    slopes *= x
    slopes += 1
    slopes *= part
    slopes *= g
    return slopes


def run_softplus(x: Value, beta: Number, limit: Number) -> Value:
    given = x if beta == 1 else x * beta
    made = np.absolute(given)
    np.negative(made, made)
    np.exp(made, made)
    np.log1p(made, made)
    made += np.maximum(given, 0)
    if beta != 1:
        made /= beta
    if x.dtype.char == "f" and limit >= 20:  # there the two are the same number
        return made
    return np.where(np.greater(given, limit), x, made)


def pull_softplus(g: Cotangent, _out: Value, x: Value, beta: Number, limit: Number) -> Cotangent:
    given = x if beta == 1 else x * beta
    part = np.negative(given)
    np.exp(part, part)
    part += 1
    np.divide(g, part, part)
    if x.dtype.char == "f" and limit >= 20:
        return part
    return np.where(np.greater(given, limit), g, part)


def pull_log_logistic(g: Cotangent, _out: Value, x: Value) -> Cotangent:
    part = np.exp(x)
    part += 1
    return np.divide(g, part, part)


def pull_gelu_tanh(g: Cotangent, _out: Value, x: Value, inner: Value) -> Cotangent:
    """(1 + inner) / 2 + x / 2 * (1 - inner**2) * root * (1 + 3 * cube * x**2)."""
    slopes = x * x
    slopes *= 3 * _CUBE * _ROOT
    slopes += _ROOT
    slopes *= x
    rest = inner * inner
    np.subtract(1, rest, rest)
    slopes *= rest
    slopes += inner
    slopes += 1
    slopes *= 0.5
    slopes *= g
    return slopes


def keep_gelu_tanh(x: Value) -> Any:
    inner = np.tanh(_ROOT * (x + _CUBE * x * x * x))
    return 0.5 * x * (1 + inner), inner


__all__ = ["Large", "Ways", "ways_of", "with_slopes"]
