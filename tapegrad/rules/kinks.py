"""The slopes of magnitudes at 0, where another derivative is known on each side alone.

Knows what |x|, lengths and deviations grow by, and that at 0 the slope is 0 and its derivative a
limit, which a replay takes: that of (|x|)**2 is that of x**2. Must not know how. Knows as well
whether the squares in a length under- or overflow, and by which scale they do not.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from tapegrad._core.forms import elementwise
from tapegrad._core.types import Value
from tapegrad._core.values import Mapped, Traced, any_true, untraced, without_traces


def is_differentiated(value: Any) -> bool:
    """Whether a transform differentiates what is computed of a value, whose kinks have limits.

    The object layer has none, as PyTorch.
    """
    while isinstance(value, (Traced, Mapped)):
        if isinstance(value, Traced):
            return value.tape.has_limits
        value = value._value
    return False


def slope_of_magnitude(_out: Value, x: Value) -> Value:
    """The conjugate of x / |x|, by which |x| changes."""
    if type(x) is np.ndarray and x.dtype.kind == "f":  # the frequent case
        return np.sign(x)
    if x.dtype.kind != "c":
        return direction_of(x)
    if is_differentiated(x) and any_true(_is_zero(x)):
        return np.conjugate(ratio(x, np.absolute(x)))
    return np.conjugate(np.sign(x))


def direction_of(x: Value) -> Value:
    """The sign of real x, which is the slope of |x|."""
    if is_differentiated(x) and any_true(_is_zero(x)):
        return DIRECTION.apply_bound([x], {})
    return np.sign(x)


def ratio(x: Value, length: Value) -> Value:
    """x / length, and 0 where that is 0."""
    zero = _is_zero(length)
    if not any_true(zero):
        return x / length
    if is_differentiated(length):
        return RATIO.apply_bound([x, length], {})
    return np.where(zero, 0, x / np.where(zero, 1, length))


def _is_zero(x: Value) -> Any:
    return untraced(x) == 0


# --- lengths whose squares under- or overflow


@functools.cache
def least_exact(dtype: Any) -> float:
    """The least length of whose squares the smallest numbers lose nothing."""
    info = np.finfo(dtype)
    return float(np.sqrt(info.tiny / info.eps))


def is_inexact(length: Value) -> Any:
    """Where the squares in a length may have under- or overflown: in a length of 0 as well."""
    length = untraced(length)
    return (length < least_exact(length.dtype)) | (length == np.inf)


def is_unusual(sizes: Value) -> Any:
    """Which magnitudes are such that squares of them, or of their differences, are inexact."""
    info = np.finfo(sizes.dtype)
    return (sizes < least_exact(sizes.dtype) / info.eps) | (sizes > np.sqrt(info.max) * info.eps)


def scale_of(sizes: Value, inexact: Value) -> Value | None:
    """By what to divide elements of these magnitudes where their powers are inexact.

    None where no elements have to be. The shares of elements in a length do not depend on it.
    """
    extreme = inexact & (sizes > 0) & (sizes < np.inf)
    return np.where(extreme, sizes, sizes.dtype.type(1)) if any_true(extreme) else None


def largest_size(x: Value, axis: Any = None) -> Value:
    """The largest magnitude along axes, which are kept; of complex numbers that of a part."""
    x = untraced(x)
    parts = (x.real, x.imag) if x.dtype.kind == "c" else (x,)
    along: Any = {"axis": axis, "keepdims": True} | ({"initial": 0} if 0 in x.shape else {})
    sizes = [np.max(np.abs(part), **along) for part in parts]
    return sizes[0] if len(sizes) == 1 else np.maximum(*sizes)


DIRECTION = elementwise(
    direction_of,
    lambda _out, x: x * 0,
    along=np.sign,
    kink=lambda x: without_traces(x) == 0,
    name="the slope of np.absolute",
    batch="align",
    opposite=True,
)
RATIO = elementwise(
    ratio,
    lambda _out, _x, length: 1 / length,
    lambda out, _x, length: -out / length,
    along=np.divide,
    kink=lambda _x, length: without_traces(length) == 0,
    name="the slope of a length",
    batch="align",
)


def sign_bit_of(out: Value, y: Value) -> Value:
    """1 or -1 by the sign bit of y, of the dtype of a result."""
    if is_differentiated(y) and any_true(_is_zero(y)):
        return SIDE.apply_bound([y], {})
    return np.copysign(np.ones_like(untraced(out)), untraced(y))


SIDE = elementwise(
    lambda y: np.copysign(np.ones_like(untraced(y)), untraced(y)),
    lambda _out, y: y * 0,
    along=np.sign,
    kink=lambda y: without_traces(y) == 0,
    name="the side of np.copysign",
    batch="align",
)


def sign_on_one_side(x: Value) -> Value:
    """The sign of x, for a limit, in which it is another one at 0 than on both sides."""
    return x / np.absolute(x) if x.dtype.kind == "c" else DIRECTION.apply_bound([x], {})


__all__ = [
    "direction_of",
    "is_differentiated",
    "is_inexact",
    "is_unusual",
    "largest_size",
    "least_exact",
    "ratio",
    "scale_of",
    "sign_bit_of",
    "sign_on_one_side",
    "slope_of_magnitude",
]
