"""Sums and shares of exponentials: logsumexp, softmax, log_softmax, softplus.

They run in NumPy's functions on traced values. A maximum is subtracted as a constant; where it is
infinite, the result is that maximum, and its derivative 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad import elementwise, primitive
from tapegrad._core.types import Value
from tapegrad._core.values import any_true, untraced
from tapegrad.scipy.special._expressed import expressed


@primitive
def _still(x: Value) -> Value:
    """A number, with a slope of zero that is no structural one: what moves it may be infinite."""
    return x + 0.0


elementwise(_still, lambda _out, x: np.where(np.isnan(x), np.nan, 0.0))


def _shift(x: Value, axis: Any) -> tuple[Value, Value]:
    """The maximum of the real parts as a constant, 0 where it is infinite; and where it is not."""
    top = np.max(np.real(untraced(x)), axis=axis, keepdims=True)
    finite = ~np.isinf(top)
    return np.where(finite, top, 0), finite


def _terms(powers: Value, b: Value) -> Value:
    """The terms b * exp(powers). One whose b is 0 counts by b alone, also where it overflows."""
    if b is None:
        return np.exp(powers)
    large = (untraced(b) == 0) & (np.real(untraced(powers)) > 0)
    if not any_true(large):
        return np.exp(powers) * b
    least = np.exp(-np.where(large, np.real(untraced(powers)), 0))
    least = np.maximum(least, np.finfo(least.dtype).smallest_subnormal)
    return np.where(large, b / least, np.exp(np.where(large, 0, powers)) * b)


def _logsumexp(
    a: Value, axis: Any = None, b: Value = None, keepdims: bool = False, return_sign: bool = False
) -> Any:
    a = a * 1.0 if hasattr(a, "dtype") else np.asarray(a, float)
    counted = a
    if b is not None:
        nothing = (untraced(b) == 0) | np.zeros(np.shape(a), bool)
        alone = np.all(nothing, axis=axis, keepdims=True)  # then weights of 0 count
        counted = np.where(nothing & ~alone, -np.inf, a)  # of the shape of both
        a = a + np.zeros_like(untraced(counted))
    axis = tuple(range(np.ndim(a))) if axis is None else axis
    shift, finite = _shift(counted, axis)
    terms = _terms(np.where(finite, a, 0) - shift, b)
    total = np.sum(terms, axis=axis, keepdims=True)
    is_complex = total.dtype.kind == "c"
    if is_complex and not return_sign:
        result = np.log(total) + shift
    else:
        result = np.log(np.abs(total)) + shift
    if any_true(~finite):
        highest = np.max(_still(np.real(counted)), axis=axis, keepdims=True)
        result = np.where(finite, result, highest)
    sign = np.sign(total)
    if not return_sign and not is_complex and any_true(untraced(sign) < 0):
        result = result * np.where(untraced(sign) < 0, np.nan, 1.0)
    if not keepdims:
        result, sign = np.squeeze(result, axis), np.squeeze(sign, axis)
    return (result, sign) if return_sign else result


def _softmax(x: Value, axis: Any = None) -> Value:
    top = np.max(untraced(x), axis=axis, keepdims=True)
    shares = np.exp(x - top)
    return shares / np.sum(shares, axis=axis, keepdims=True)


def _log_softmax(x: Value, axis: Any = None) -> Value:
    shifted = x - _shift(x, axis)[0]
    return shifted - np.log(np.sum(np.exp(shifted), axis=axis, keepdims=True))


def _softplus(x: Value, **kwargs: Any) -> Value:
    """log(1 + exp(x)); SciPy has it from 1.17 on, whose ufunc's keywords it takes."""
    return np.logaddexp(0, x, **kwargs)


logsumexp = expressed("logsumexp", _logsumexp)
softmax = expressed("softmax", _softmax)
log_softmax = expressed("log_softmax", _log_softmax)
softplus = expressed("softplus", _softplus)

__all__ = ["log_softmax", "logsumexp", "softmax", "softplus"]
