"""Activations: the kernels of calls that come again.

Knows NumPy arrays and numbers. Must not know rules; the formulas stand beside these.

A small array costs as much as the calls of NumPy that it goes through. So each function here makes
few of them, in place (but for maxima and minima, which that slows down), with numbers that are
arrays without dimensions: NumPy asks for several hundred nanoseconds what a number of Python's is.
Values that both passes need the backward one takes from the forward one. Large arrays go part by
part (`unit_passes`), and have kernels of their own where the forward pass finds the slopes as
well. A cotangent where the slope is 0 is chosen and not multiplied: an infinite one leaves a 0
there.

Each activation of small arrays is a function of what makes such an array of a number, and of the
numbers of its calls. In its `Unit`, `run(x, *numbers)` is the result, `keep(x, *numbers)` this and
what is kept, and `pull(g, out, x, *numbers, kept)` gives the cotangent of x, in a tuple; one that
has no `keep` gets nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tapegrad._core.entry import Spec
from tapegrad._core.fast.call_plans import KernelsAll
from tapegrad._core.types import Cotangent, Function, Value
from tapegrad.rules.masks import chosen
from tapegrad.torch._rules.blockwise import LARGE, Constant, constant_of, kept_by_passes
from tapegrad.torch._types import Number

MakeKernels = Callable[..., KernelsAll | None]
Bars = tuple[Cotangent]

_ROOT, _CUBE = math.sqrt(2 / math.pi), 0.044715


class Unit(NamedTuple):
    """An activation of arrays of one dtype, with its numbers."""

    pull: Callable[..., Bars]
    run: Callable[..., Value] | None = None
    keep: Callable[..., Any] | None = None


class Large(NamedTuple):
    """The kernels of large arrays of these dtypes, and with numbers of which `takes` is true."""

    pull: Callable[..., Bars]
    keep: Callable[..., Any] | None = None
    dtypes: str = "fd"
    takes: Callable[..., bool] = lambda *_numbers: True


def _pull_by_slopes(g: Cotangent, _out: Value, _x: Value, *others: Any) -> Bars:
    return (np.multiply(g, others[-1]),)


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


def kernels_of(unit: Callable[..., Unit] | None, large: Large | None = None) -> MakeKernels:
    """The kernels of an elementwise function of one array and numbers."""
    by_size = large

    def kernels(
        specs: Any, out: Spec, wanted: tuple[bool, ...], **params: Any
    ) -> KernelsAll | None:
        x, *numbers = specs
        if x is not out or not x.ndim or x.dtype.char not in "fd" or params:
            return None
        numbers = [_number_of(number, x.dtype) for number in numbers]
        if any(wanted[1:]) or None in numbers:
            return None
        if x.size < LARGE:
            if unit is None:
                return None
            pull, run, keep = unit(constant_of(x.dtype), *numbers)
            return KernelsAll(pull, run=run, keep=keep)
        if by_size is None or x.dtype.char not in by_size.dtypes or not by_size.takes(*numbers):
            return None
        return KernelsAll(by_size.pull, keep=by_size.keep)

    return kernels


def _number_of(given: Any, dtype: np.dtype[Any]) -> Number | None:
    """A number, also one that is an array of a dtype without dimensions; None for all else."""
    if type(given) is int or type(given) is float:
        return given
    if isinstance(given, (np.ndarray, np.generic)) and not given.ndim and given.dtype == dtype:
        return float(given)
    return None


# --- Piecewise ----------------------------------------------------------------------------------


def leaky(constant: Constant, slope: Number) -> Unit:
    zero, factor = constant(0), constant(slope)

    def run(x: Value, _slope: Number) -> Value:
        return np.maximum(x, np.multiply(x, factor))

    def pull(g: Cotangent, _out: Value, x: Value, _slope: Number) -> Bars:
        bar = np.multiply(g, factor)
        np.copyto(bar, g, where=np.greater(x, zero))
        return (bar,)

    return Unit(pull, run if 0 < slope <= 1 else None)


def between(constant: Constant, low: Number, high: Number) -> Unit:
    """Of hardtanh: nothing at the bounds, and all at NaN."""
    least, most, zero = constant(low), constant(high), constant(0)

    def pull(g: Cotangent, _out: Value, x: Value, _low: Number, _high: Number) -> Bars:
        beyond = np.less_equal(x, least)
        np.logical_or(beyond, np.greater_equal(x, most), beyond)
        return (np.where(beyond, zero, g),)

    return Unit(pull, _clamping(least, most))


def pull_between(g: Cotangent, _out: Value, x: Value, low: Number, high: Number) -> Bars:
    """The same of a large array, by bits."""
    beyond = np.less_equal(x, low)
    np.logical_or(beyond, np.greater_equal(x, high), beyond)
    np.logical_not(beyond, beyond)
    return (chosen(beyond, g),)


def clamped(constant: Constant, low: Number, high: Number) -> Unit:
    """Of clamp: all at the bounds, and nothing at NaN."""
    least, most, zero = constant(low), constant(high), constant(0)

    def pull(g: Cotangent, _out: Value, x: Value, _low: Number, _high: Number) -> Bars:
        within = np.greater_equal(x, least)
        np.logical_and(within, np.less_equal(x, most), within)
        return (np.where(within, g, zero),)

    return Unit(pull, _clamping(least, most))


def _clamping(least: Value, most: Value) -> Callable[..., Value]:
    def run(x: Value, _low: Number, _high: Number) -> Value:
        return np.minimum(np.maximum(x, least), most)

    return run


def at_least(constant: Constant, low: Number) -> Unit:
    least, zero = constant(low), constant(0)

    def pull(g: Cotangent, _out: Value, x: Value, _low: Number) -> Bars:
        return (np.where(np.greater_equal(x, least), g, zero),)

    return Unit(pull, lambda x, _low: np.maximum(x, least))


def at_most(constant: Constant, high: Number) -> Unit:
    most, zero = constant(high), constant(0)

    def pull(g: Cotangent, _out: Value, x: Value, _high: Number) -> Bars:
        return (np.where(np.less_equal(x, most), g, zero),)

    return Unit(pull, lambda x, _high: np.minimum(x, most))


def threshold(constant: Constant, limit: Number, _value: Number) -> Unit:
    bound, zero = constant(limit), constant(0)

    def pull(g: Cotangent, _out: Value, x: Value, *_numbers: Number) -> Bars:
        return (np.where(np.less_equal(x, bound), zero, g),)

    return Unit(pull)


def beyond(constant: Constant, limit: Number) -> Unit:
    """Of the shrink functions: nothing within the limits, and all at NaN."""
    least, most, zero = constant(-limit), constant(limit), constant(0)

    def pull(g: Cotangent, _out: Value, x: Value, _limit: Number) -> Bars:
        within = np.greater_equal(x, least)
        np.logical_and(within, np.less_equal(x, most), within)
        return (np.where(within, zero, g),)

    return Unit(pull)


def elu(constant: Constant, alpha: Number, scale: Number, recording: Number) -> Unit:
    zero, whole, pace = constant(0), constant(scale), constant(recording)
    share, slope = constant(alpha * scale), constant(alpha * scale * recording)
    is_scaled, is_paced = scale != 1, recording != 1
    has_share, has_slope = alpha * scale != 1, alpha * scale * recording != 1

    def run(x: Value, *_numbers: Number) -> Value:
        made = np.minimum(x, zero)
        if is_paced:
            np.multiply(made, pace, made)
        np.expm1(made, made)
        if has_share:
            np.multiply(made, share, made)
        above = np.maximum(x, zero)
        if is_scaled:
            np.multiply(above, whole, above)
        return np.add(above, made, above)

    def pull(g: Cotangent, _out: Value, x: Value, *_numbers: Number) -> Bars:
        low = np.minimum(x, zero)
        if is_paced:
            np.multiply(low, pace, low)
        np.exp(low, low)
        if has_slope:
            np.multiply(low, slope, low)
        np.multiply(low, g, low)
        above = np.multiply(g, whole) if is_scaled else g
        return (np.where(np.less_equal(x, zero), low, above),)

    return Unit(pull, run)


def hardsigmoid(constant: Constant) -> Unit:
    """Nothing at NaN."""
    zero, three, six, least = constant(0), constant(3), constant(6), constant(-3)
    sixth = constant(1 / 6)

    def run(x: Value) -> Value:
        made = np.minimum(np.maximum(np.add(x, three), zero), six)
        return np.divide(made, six, made)

    def pull(g: Cotangent, _out: Value, x: Value) -> Bars:
        within = np.greater(x, least)
        np.logical_and(within, np.less(x, three), within)
        return (np.where(within, np.multiply(g, sixth), zero),)

    return Unit(pull, run)


def hardswish(constant: Constant) -> Unit:
    zero, half, three, six = constant(0), constant(0.5), constant(3), constant(6)
    least = constant(-3)

    def run(x: Value) -> Value:
        made = np.minimum(np.maximum(np.add(x, three), zero), six)
        np.multiply(x, made, made)
        return np.divide(made, six, made)

    def pull(g: Cotangent, _out: Value, x: Value) -> Bars:
        slopes = np.divide(x, three)
        np.add(slopes, half, slopes)
        np.multiply(slopes, g, slopes)
        bar: Value = np.where(np.less(x, three), slopes, g)
        np.copyto(bar, zero, where=np.less_equal(x, least))
        return (bar,)

    return Unit(pull, run)


# --- Smooth -------------------------------------------------------------------------------------


def _above_ramp(x: Value) -> Value:
    """log(1 + exp(-|x|)): how far softplus lies above max(x, 0). It cannot overflow."""
    made: Value = np.absolute(x)
    np.negative(made, made)
    np.exp(made, made)
    return np.log1p(made, made)


def silu(constant: Constant) -> Unit:
    """The slope is part * (1 + x * (1 - part))."""
    one = constant(1)

    def keep(x: Value) -> Any:
        divisor = np.negative(x)
        np.exp(divisor, divisor)
        np.add(divisor, one, divisor)
        return np.divide(x, divisor), divisor

    def pull(g: Cotangent, _out: Value, x: Value, divisor: Value) -> Bars:
        part = np.divide(one, divisor)
        slopes = np.subtract(one, part)
        np.multiply(slopes, x, slopes)
        np.add(slopes, one, slopes)
        np.multiply(slopes, part, slopes)
        return (np.multiply(slopes, g, slopes),)

    return Unit(pull, keep=keep)


def softplus(constant: Constant, beta: Number, limit: Number) -> Unit:
    zero, one, rate, most = constant(0), constant(1), constant(beta), constant(limit)
    is_whole = one.dtype.char == "f" and limit >= 20  # beyond it the two are the same number

    def run(x: Value, *_numbers: Number) -> Value:
        given = x if beta == 1 else np.multiply(x, rate)
        made = _above_ramp(given)
        np.add(made, np.maximum(given, zero), made)
        if beta != 1:
            np.divide(made, rate, made)
        return made if is_whole else np.where(np.greater(given, most), x, made)

    def pull(g: Cotangent, _out: Value, x: Value, *_numbers: Number) -> Bars:
        given = x if beta == 1 else np.multiply(x, rate)
        part = np.negative(given)
        np.exp(part, part)
        np.add(part, one, part)
        np.divide(g, part, part)
        return (part if is_whole else np.where(np.greater(given, most), g, part),)

    return Unit(pull, run)


def log_logistic(constant: Constant) -> Unit:
    zero, one = constant(0), constant(1)

    def run(x: Value) -> Value:
        made = _above_ramp(x)
        np.add(np.maximum(np.negative(x), zero), made, made)
        return np.negative(made, made)

    def pull(g: Cotangent, _out: Value, x: Value) -> Bars:
        part = np.exp(x)
        np.add(part, one, part)
        return (np.divide(g, part, part),)

    return Unit(pull, run)


def mish(constant: Constant) -> Unit:
    """The slope is inner + x * part * (1 - inner**2), inner the tanh of softplus."""
    zero, one = constant(0), constant(1)

    def keep(x: Value) -> Any:
        inner = _above_ramp(x)
        np.add(np.maximum(x, zero), inner, inner)
        np.tanh(inner, inner)
        return np.multiply(x, inner), inner

    def pull(g: Cotangent, _out: Value, x: Value, inner: Value) -> Bars:
        divisor = np.negative(x)
        np.exp(divisor, divisor)
        np.add(divisor, one, divisor)
        part = np.divide(one, divisor, divisor)
        np.multiply(x, part, part)
        rest = np.multiply(inner, inner)
        np.subtract(one, rest, rest)
        np.multiply(part, rest, part)
        np.add(inner, part, part)
        return (np.multiply(g, part, part),)

    return Unit(pull, keep=keep)


def gelu_tanh(constant: Constant) -> Unit:
    """The slope is (1 + inner) / 2 + x / 2 * (1 - inner**2) * root * (1 + 3 * cube * x**2)."""
    one, half, root, cube = constant(1), constant(0.5), constant(_ROOT), constant(_CUBE)
    bend = constant(3 * _CUBE * _ROOT)

    def keep(x: Value) -> Any:
        inner = np.multiply(cube, x)
        np.multiply(inner, x, inner)
        np.multiply(inner, x, inner)
        np.add(x, inner, inner)
        np.multiply(root, inner, inner)
        np.tanh(inner, inner)
        made = np.multiply(half, x)
        return np.multiply(made, np.add(one, inner), made), inner

    def pull(g: Cotangent, _out: Value, x: Value, inner: Value) -> Bars:
        slopes = np.multiply(x, x)
        np.multiply(slopes, bend, slopes)
        np.add(slopes, root, slopes)
        np.multiply(slopes, x, slopes)
        rest = np.multiply(inner, inner)
        np.subtract(one, rest, rest)
        np.multiply(slopes, rest, slopes)
        np.add(slopes, inner, slopes)
        np.add(slopes, one, slopes)
        np.multiply(slopes, half, slopes)
        return (np.multiply(slopes, g, slopes),)

    return Unit(pull, keep=keep)


__all__ = ["Large", "MakeKernels", "Unit", "kernels_of", "with_slopes"]
