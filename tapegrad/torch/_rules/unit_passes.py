"""Activations and their slopes in place: the passes over parts of large arrays.

Knows NumPy arrays, and which of NumPy's functions are fast. Must not know rules.

The formulas stand beside the rules; `parts.by_passes` joins the two. Here nothing makes an array,
and each pass reads what the last one left in the cache. A choice by a random condition (np.where)
costs as much as thirty sums, a maximum with a number three times as much as np.clip. So the
choices are made by bounds and by products with conditions.

A function that returns True does not know a part: NaN, say, in one that counts conditions.
"""

from __future__ import annotations

import math

import numpy as np

from tapegrad._core.types import Value
from tapegrad.torch._rules.blockwise import logistic_into, softplus_into
from tapegrad.torch._types import Number

_ROOT_HALF, _DENSITY = math.sqrt(0.5), 1 / math.sqrt(2 * math.pi)
_HALF_BITS = -0.5 / math.log(2)
_ROOT, _CUBE = math.sqrt(2 / math.pi), 0.044715


def has_nan(x: Value) -> bool:
    """Whether a part has a NaN: no sum of squares of other numbers is one."""
    return bool(np.isnan(np.dot(x, x)))


# --- Piecewise ----------------------------------------------------------------------------------


def leaky_and_slopes(made: Value, slopes: Value, x: Value, slope: Number) -> None:
    """leaky_relu with a slope within (0, 1]."""
    np.copyto(slopes, np.greater(x, 0))
    np.clip(slopes, slope, 1, out=slopes)
    np.multiply(x, slopes, made)


def hardsigmoid(made: Value, x: Value) -> None:
    np.add(x, 3, made)
    np.clip(made, 0, 6, out=made)
    np.divide(made, 6, made)


def hardswish(made: Value, x: Value) -> None:
    np.add(x, 3, made)
    np.clip(made, 0, 6, out=made)
    np.multiply(x, made, made)
    np.multiply(made, 1 / 6, made)


def hardswish_slopes(made: Value, x: Value) -> bool:
    """x / 3 + 1 / 2 of x within (-3, 3): -1/2 or 3/2 at the bounds, where 0 or 1 is right."""
    if has_nan(x):
        return True
    np.clip(x, -3, 3, out=made)
    np.multiply(made, 1 / 3, made)
    np.add(made, 0.5, made)
    beyond = np.less_equal(x, -3).view(np.int8)
    np.subtract(beyond, np.greater_equal(x, 3).view(np.int8), beyond)
    made += np.multiply(beyond, 0.5, dtype=made.dtype)
    return False


def softshrink(made: Value, room: Value, x: Value, limit: Number) -> None:
    np.subtract(x, limit, made)
    np.clip(made, 0, np.inf, out=made)
    np.add(x, limit, room)
    np.clip(room, -np.inf, 0, out=room)
    np.add(made, room, made)


# --- Exponential --------------------------------------------------------------------------------


def elu(
    made: Value, room: Value, x: Value, alpha: Number, scale: Number, recording: Number
) -> None:
    np.clip(x, -np.inf, 0, out=made)
    if recording != 1:
        np.multiply(made, recording, made)
    np.expm1(made, made)
    if alpha * scale != 1:
        np.multiply(made, alpha * scale, made)
    np.clip(x, 0, np.inf, out=room)
    if scale != 1:
        np.multiply(room, scale, room)
    np.add(room, made, made)


def elu_and_slopes(
    made: Value, slopes: Value, room: Value, x: Value, alpha: Number, scale: Number, by: Number
) -> None:
    """`elu` and its slopes, of numbers for which `elu_slopes` is right on both sides."""
    np.clip(x, -np.inf, 0, out=room)
    if by != 1:
        np.multiply(room, by, room)
    np.expm1(room, made)
    np.exp(room, slopes)
    if alpha * scale != 1:
        np.multiply(made, alpha * scale, made)
    np.clip(x, 0, np.inf, out=room)
    if scale != 1:
        np.multiply(slopes, scale, slopes)
        np.multiply(room, scale, room)
    np.add(room, made, made)
    if has_nan(x):
        slopes[np.isnan(x)] = scale


def elu_slopes(made: Value, x: Value, alpha: Number, scale: Number, recording: Number) -> bool:
    """exp(min(x, 0) * recording) * scale, if that is right on both sides."""
    if alpha * scale * recording != scale or has_nan(x):
        return True
    np.clip(x, -np.inf, 0, out=made)
    if recording != 1:
        np.multiply(made, recording, made)
    np.exp(made, made)
    if scale != 1:
        np.multiply(made, scale, made)
    return False


def silu(made: Value, x: Value) -> None:
    np.negative(x, made)
    np.exp(made, made)
    np.add(made, 1, made)
    np.divide(x, made, made)


def silu_and_slopes(made: Value, slopes: Value, room: Value, x: Value) -> None:
    """`silu`, and (1 + x - x * s) * s, of the logistic function s."""
    np.negative(x, slopes)
    np.exp(slopes, slopes)
    np.add(slopes, 1, slopes)
    np.divide(x, slopes, made)
    np.subtract(x, made, room)
    np.add(room, 1, room)
    np.divide(room, slopes, slopes)


def silu_slopes(made: Value, room: Value, x: Value) -> None:
    """s * (1 + x * (1 - s)), of the logistic function s."""
    logistic_into(made, x)
    np.subtract(1, made, room)
    np.multiply(room, x, room)
    np.add(room, 1, room)
    np.multiply(made, room, made)


def logistic_slopes(made: Value, out: Value) -> None:
    np.subtract(1, out, made)
    np.multiply(out, made, made)


def log_logistic(made: Value, room: Value, x: Value) -> None:
    np.absolute(x, made)
    np.negative(made, made)
    np.exp(made, made)
    np.log1p(made, made)
    np.clip(x, -np.inf, 0, out=room)
    np.subtract(room, made, made)


def log_logistic_slopes(made: Value, x: Value) -> None:
    np.exp(x, made)
    np.add(made, 1, made)
    np.divide(1, made, made)


def _has_large(x: Value, limit: Number) -> bool:
    """Whether softplus(x) is to be x itself somewhere and is not; in float32 it is from 17 on."""
    return (x.dtype.char != "f" or limit < 17) and not bool(np.maximum.reduce(x) <= limit)


def softplus(made: Value, room: Value, x: Value, beta: Number, limit: Number) -> bool:
    if beta != 1 or _has_large(x, limit):
        return True
    softplus_into(made, room, x)
    return False


def softplus_and_slopes(
    made: Value, slopes: Value, room: Value, x: Value, *_numbers: Number
) -> None:
    """`softplus` and the logistic function, in float32 with a beta of 1 and a limit from 17 on."""
    np.absolute(x, slopes)
    np.negative(slopes, slopes)
    np.exp(slopes, slopes)
    np.log1p(slopes, made)
    np.clip(x, 0, np.inf, out=room)
    np.add(room, made, made)
    # exp(-|x|) or 1, over 1 + exp(-|x|)
    np.greater_equal(x, 0, room)
    np.maximum(room, slopes, out=room)
    np.add(slopes, 1, slopes)
    np.divide(room, slopes, slopes)


def softplus_slopes(made: Value, room: Value, x: Value, beta: Number, limit: Number) -> bool:
    if beta != 1:
        x = np.multiply(x, beta, room)
    if _has_large(x, limit):
        return True
    logistic_into(made, x)
    return False


# --- The normal distribution --------------------------------------------------------------------

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


def _of_scaled(scale: float) -> tuple[float, ...]:
    """The coefficients for erf(z * scale)."""
    return tuple(c * scale ** (2 * k + 1) for k, c in enumerate(_TANH_OF_ERF))


_TANH_OF_NORMAL = _of_scaled(_ROOT_HALF)


def _erf_by(made: Value, room: Value, x: Value, terms: tuple[float, ...], limit: float) -> bool:
    if x.dtype.char != "f":
        return True
    np.multiply(x, x, room)
    np.clip(room, 0, limit, out=room)
    np.multiply(room, terms[-1], made)
    for term in terms[-2:0:-1]:
        np.add(made, term, made)
        np.multiply(made, room, made)
    np.add(made, terms[0], made)
    np.multiply(made, x, made)
    np.tanh(made, made)
    return False


def erf(made: Value, room: Value, x: Value) -> bool:
    """The error function, in float32 alone."""
    return _erf_by(made, room, x, _TANH_OF_ERF, _ERF_LIMIT)


def density(made: Value, x: Value) -> None:
    """The slopes of the error function."""
    np.multiply(x, x, made)
    np.negative(made, made)
    np.exp(made, made)
    np.multiply(made, 2 / math.sqrt(math.pi), made)


def gelu(made: Value, room: Value, x: Value) -> bool:
    """x * (1 + erf(x / sqrt(2))) / 2, in float32 alone."""
    if _erf_by(made, room, x, _TANH_OF_NORMAL, 2 * _ERF_LIMIT):
        return True
    np.multiply(made, 0.5, made)
    np.add(made, 0.5, made)
    np.multiply(made, x, made)
    return False


def gelu_and_slopes(made: Value, slopes: Value, room: Value, x: Value) -> None:
    """`gelu` and `gelu_slopes`, in float32 alone."""
    _erf_by(slopes, room, x, _TANH_OF_NORMAL, 2 * _ERF_LIMIT)
    np.multiply(slopes, 0.5, slopes)
    np.add(slopes, 0.5, slopes)
    np.multiply(slopes, x, made)
    np.multiply(x, x, room)
    np.multiply(room, _HALF_BITS, room)
    np.exp2(room, room)  # twice as fast as np.exp
    np.multiply(room, _DENSITY, room)
    np.multiply(room, x, room)
    np.add(slopes, room, slopes)


def gelu_slopes(made: Value, room: Value, x: Value) -> bool:
    """The distribution function of x plus x times its density, in float32 alone."""
    if _erf_by(made, room, x, _TANH_OF_NORMAL, 2 * _ERF_LIMIT):
        return True
    np.multiply(made, 0.5, made)
    np.add(made, 0.5, made)
    np.multiply(x, x, room)
    np.multiply(room, -0.5, room)
    np.exp(room, room)
    np.multiply(room, _DENSITY, room)
    np.multiply(room, x, room)
    np.add(made, room, made)
    return False


def _share_by_tanh(made: Value, x: Value) -> None:
    """(1 + tanh(u)) / 2, the share of x that the gelu by tanh is."""
    np.multiply(x, x, made)
    np.multiply(made, _ROOT * _CUBE, made)
    np.add(made, _ROOT, made)
    np.multiply(made, x, made)
    np.tanh(made, made)
    np.multiply(made, 0.5, made)
    np.add(made, 0.5, made)


def gelu_tanh(made: Value, x: Value) -> None:
    _share_by_tanh(made, x)
    np.multiply(made, x, made)


def gelu_tanh_slopes(made: Value, room: Value, x: Value) -> None:
    """s + 2 x s (1 - s) u', of the share s = (1 + tanh(u)) / 2."""
    _share_by_tanh(made, x)
    np.multiply(x, x, room)
    np.multiply(room, 6 * _ROOT * _CUBE, room)
    np.add(room, 2 * _ROOT, room)
    np.multiply(room, x, room)
    np.multiply(room, made, room)
    room -= np.multiply(room, made)
    np.add(made, room, made)
