"""Convolution, and the two special functions that NumPy has."""

from __future__ import annotations

import functools
import math

import numpy as np

from tapegrad._core.forms import Elementwise, composite, elementwise, multilinear
from tapegrad._core.types import Cotangent, Function, Value
from tapegrad._core.values import any_true, innermost
from tapegrad.rules.differences import as_array

# --- Convolution


def _mode_name(mode: str | int) -> str:
    """NumPy reads the first letter alone, and knows the modes by number too."""
    return {"v": "valid", "s": "same", "f": "full", 0: "valid", 1: "same", 2: "full"}[
        mode[0].lower() if isinstance(mode, str) else int(mode)
    ]


def _cotangent(g: Cotangent, x: Value, other: Value, mode: str | int) -> Cotangent:
    """The cotangent of one factor x of a convolution, in as many products as the convolution."""
    other = np.atleast_1d(other)
    size, count = max(x.size, 1), other.size
    shorter = min(size, count)
    mode = _mode_name(mode)
    if mode == "valid" and count > size:
        return np.reshape(np.convolve(other, g[::-1], "valid")[::-1], x.shape)
    if mode == "valid":
        return np.reshape(np.convolve(g, other[::-1], "full"), x.shape)
    if mode == "same":  # a middle part of the full one, which NumPy starts here
        start = (shorter - 1) // 2
        g = np.pad(g, (start, shorter - 1 - start))
    return np.reshape(np.convolve(g, other[::-1], "valid"), x.shape)


def _convolved_examples(a: Value, v: Value, mode: str | int = "full") -> Value:
    """Windows of the longer array times the shorter one."""
    a, v = (np.reshape(x, (x.shape[0], -1)) for x in (a, v))
    a, v = (a, v) if a.shape[1] >= v.shape[1] else (v, a)
    size, count = a.shape[1], v.shape[1]
    if count == 0:
        np.convolve(a[0], v[0])  # raises NumPy's error
    first, last = {
        "full": (0, size + count - 1),
        "same": ((count - 1) // 2, (count - 1) // 2 + size),
        "valid": (count - 1, size),
    }[_mode_name(mode)]
    padded = np.pad(a, [(0, 0), (count - 1, count - 1)])
    windows = np.arange(first, last)[:, None] + np.arange(count)
    return np.matmul(padded[:, windows], v[:, ::-1, None])[..., 0]


multilinear(
    np.convolve,
    lambda g, _out, _a, v, mode="full": _cotangent(g, _a, v, mode),
    lambda g, _out, a, _v, mode="full": _cotangent(g, _v, a, mode),
    batch=_convolved_examples,
)


def _correlate(a: Value, v: Value, mode: str | int = "valid") -> Value:
    """A convolution by the reverse of the second array. NumPy reverses the one that is shorter."""
    a, v = as_array(a), as_array(v)
    if a.ndim != 1 or v.ndim != 1:
        raise ValueError(f"object of the wrong depth: expected vectors, got {a.shape}, {v.shape}")
    if v.dtype.kind == "c":
        v = np.conjugate(v)
    if v.size > a.size:
        return np.convolve(v, a[::-1], mode)[::-1]
    return np.convolve(a, v[::-1], mode)


composite(np.correlate, _correlate)

# --- Modified Bessel functions of the first kind: I_n' = (I_(n-1) + I_(n+1)) / 2 for every n, and
# I_0' = I_1, so that no order has to divide by x. DLMF 10.29.1.


def _bessel(order: int, x: Value) -> Value:
    """I_n as I_0 times the ratios I_k / I_(k-1), from their continued fraction (DLMF 10.33.1).

    All its terms are positive, and an error in where it starts shrinks like exp(-steps**2 / |x|).
    """
    top = 720.0 if np.finfo(x.dtype).nmant <= 52 else 11500.0  # beyond it I_0 is infinite
    bounded = np.clip(x, -top, top)
    digits = (np.finfo(x.dtype).nmant + 4) * math.log(2.0)
    largest = float(np.max(np.absolute(bounded), initial=0.0, where=~np.isnan(bounded)))
    steps = order + 8 + int(math.sqrt(digits * largest))
    ratio = bounded * 0
    product = np.i0(x)
    for k in range(steps, 0, -1):
        ratio = bounded / (2 * k + bounded * ratio)
        if k <= order:
            product = product * ratio
    return product


@functools.cache
def _bessel_rule(order: int) -> Elementwise:
    """The rule of the function of one order; each order's derivative needs its neighbours."""

    def partial(_out: Value, x: Value) -> Value:
        lower = np.i0(x) if order == 1 else _call(_bessel_rule(order - 1), x)
        return 0.5 * (lower + _call(_bessel_rule(order + 1), x))

    return _strong(lambda x: _bessel(order, x), partial, f"I{order}")


def _strong(function: Function, partial: Function, name: str) -> Elementwise:
    """A rule for a function that NumPy lacks; it passes traced and batched values to the rule."""

    def dispatched(x: Value) -> Value:
        return function(x) if innermost([x]) is None else _call(rule, x)

    rule = Elementwise(dispatched, (partial,), strong=True, name=name, batch="align")
    return rule


def _call(rule: Elementwise, x: Value) -> Value:
    return rule.apply_bound([x], {})


def _i0_partial(_out: Value, x: Value) -> Value:
    return _call(_bessel_rule(1), x)


elementwise(np.i0, _i0_partial, strong=True)

# --- The derivatives of sin(y) / y. The n-th is the integral of s**n cos(y s + n pi / 2)
# over s from 0 to 1, a function without any singularity.


def _moment(order: int, y: Value) -> Value:
    """The integral above: by its power series near 0, elsewhere by parts from sin(y) / y.

    Each way loses digits where the other is taken: the sum by cancellation, as exp(|y|), the
    recurrence by n! / |y|**n.
    """
    radius = 1 + 0.4 * order
    near = np.absolute(y) < radius
    if not any_true(near):
        return _moment_by_parts(order, y)
    if not any_true(~near):
        return _moment_series(order, radius, y)
    small, large = np.where(near, y, 0), np.where(near, 1, y)
    return np.where(near, _moment_series(order, radius, small), _moment_by_parts(order, large))


def _moment_series(order: int, radius: float, y: Value) -> Value:
    square, total = y * y, y * 0
    first, end = order % 2, int(26 + 4 * radius)  # powers of one parity alone
    for m in reversed(range(first, end, 2)):
        sign = -1 if (order + m) % 4 else 1
        total = total * square + sign / ((order + m + 1) * math.factorial(m))
    return total * y if first else total


def _moment_by_parts(order: int, y: Value) -> Value:
    sine, cosine = np.sin(y), np.cos(y)
    moment = sine / y
    for n in range(1, order + 1):
        moment = ((sine, cosine, -sine, -cosine)[n % 4] - n * moment) / y
    return moment


@functools.cache
def _moment_rule(order: int) -> Elementwise:
    def partial(_out: Value, y: Value) -> Value:
        return _call(_moment_rule(order + 1), y)

    return _strong(lambda y: _moment(order, y), partial, f"sinc, derivative {order}")


elementwise(np.sinc, lambda _out, x: np.pi * _call(_moment_rule(1), np.pi * x), strong=True)
