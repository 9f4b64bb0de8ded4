"""Discrete Fourier transforms.

The four transforms along one axis are linear maps, and transposes take no conjugates. The matrix
exp(-2 pi i j k / n) is symmetric, so `fft` is its own transpose, except that the transpose cuts
off what `n` has padded and pads what `n` has cut off. All other transforms are composed of these
four as NumPy composes them.

A transform to real numbers, or from them, keeps one half of the frequencies. Each of these stands
for two, itself and its conjugate at the negative frequency, except frequency zero and, for an even
length, the highest one. The transposes weight them accordingly.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad._core.forms import composite, linear
from tapegrad._core.types import Cotangent, Function, Value
from tapegrad._warning import warn


def _of_length(x: Value, count: int, axis: int) -> Value:
    """The array cut, or padded with zeros, to `count` elements along an axis."""
    size = x.shape[axis]
    if size == count:
        return x
    if size > count:
        return x[(slice(None),) * (axis % len(x.shape)) + (slice(count),)]
    shape = list(x.shape)
    shape[axis] = count - size
    return np.concatenate([x, np.zeros(shape, x.dtype)], axis=axis)


# --- between complex numbers, along one axis


def _fft_transpose(
    g: Cotangent, _out: Value, _a: Value, n: int | None = None, axis: int = -1, norm: Any = None
) -> Cotangent:
    return _of_length(np.fft.fft(g, None, axis, norm), _a.shape[axis], axis)


def _ifft_transpose(
    g: Cotangent, _out: Value, _a: Value, n: int | None = None, axis: int = -1, norm: Any = None
) -> Cotangent:
    return _of_length(np.fft.ifft(g, None, axis, norm), _a.shape[axis], axis)


linear(np.fft.fft, _fft_transpose, batch="axis")
linear(np.fft.ifft, _ifft_transpose, batch="axis")

# --- from and to real numbers


def _weights(n: int, between: float, like: Value, axis: int) -> Value:
    """1 for the frequencies that stand for themselves alone, `between` for all others."""
    weights = np.full(n // 2 + 1, between, like.dtype.type(0).real.dtype)
    weights[0] = 1
    if n % 2 == 0:
        weights[-1] = 1
    return np.reshape(weights, (-1,) + (1,) * (-1 - axis if axis < 0 else like.ndim - 1 - axis))


def _rfft_transpose(
    g: Cotangent, _out: Value, _a: Value, n: int | None = None, axis: int = -1, norm: Any = None
) -> Cotangent:
    n = _a.shape[axis] if n is None else n
    # hfft counts the frequencies between twice, but each element of `g` is to count once.
    bar = np.fft.hfft(g * _weights(n, 0.5, g, axis), n, axis, norm)
    return _of_length(bar, _a.shape[axis], axis)


def _irfft_transpose(
    g: Cotangent, _out: Value, _a: Value, n: int | None = None, axis: int = -1, norm: Any = None
) -> Cotangent:
    n = g.shape[axis]
    bar = np.fft.ihfft(g, None, axis, norm) * _weights(n, 2.0, g, axis)
    return _of_length(bar, _a.shape[axis], axis)


linear(np.fft.rfft, _rfft_transpose, batch="axis")
linear(np.fft.irfft, _irfft_transpose, batch="axis")

_OPPOSITE = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}


def _opposite(norm: Any) -> Any:
    """The scaling of the inverse transform."""
    try:
        return _OPPOSITE[norm]
    except KeyError:
        raise ValueError(
            f"np.fft: expected norm='backward', 'ortho' or 'forward', got {norm!r}."
        ) from None


def _hfft(
    a: Value, n: int | None = None, axis: int = -1, norm: Any = None, out: Value = None
) -> Value:
    n = 2 * (np.shape(a)[axis] - 1) if n is None else n
    return np.fft.irfft(np.conjugate(a), n, axis, _opposite(norm))


def _ihfft(
    a: Value, n: int | None = None, axis: int = -1, norm: Any = None, out: Value = None
) -> Value:
    return np.conjugate(np.fft.rfft(a, n, axis, _opposite(norm)))


composite(np.fft.hfft, _hfft)
composite(np.fft.ihfft, _ihfft)

# --- along several axes: one after the other, from the last one to the first

Sides = Sequence[int] | None


def _sides_and_axes(
    a: Value, s: Sides, axes: Sides, *, to_real: bool = False
) -> tuple[list[int], list[int]]:
    """The length of the transform along each axis, and the axes, as NumPy reads `s` and `axes`."""
    if axes is None:
        if s is not None:
            warn(
                "`axes` should not be `None` if `s` is not `None` (Deprecated in NumPy 2.0). In a "
                "future version of NumPy, this will raise an error and `s[i]` will correspond to "
                "the size along the transformed axis specified by `axes[i]`. To retain current "
                "behaviour, pass a sequence [0, ..., k-1] to `axes` for an array of dimension k.",
                DeprecationWarning,
            )
        axes = range(-(a.ndim if s is None else len(s)), 0)
    if s is None:
        sides = [a.shape[axis] for axis in axes]
        if to_real:
            sides[-1] = 2 * (sides[-1] - 1)
    else:
        if len(s) != len(axes):
            raise ValueError("Shape and axes have different lengths.")
        if None in s:
            warn(
                "Passing an array containing `None` values to `s` is deprecated in NumPy 2.0 and "
                "will raise an error in a future version of NumPy. To use the default behaviour "
                "of the corresponding 1-D transform, pass the value matching the default for its "
                "`n` parameter. To use the default behaviour for every axis, the `s` argument can "
                "be omitted.",
                DeprecationWarning,
            )
        sides = [a.shape[axis] if n == -1 else n for n, axis in zip(s, axes, strict=True)]
    return sides, list(axes)


def _in_turn(function: Function, a: Value, sides: list[int], axes: list[int], norm: Any) -> Value:
    for n, axis in zip(reversed(sides), reversed(axes), strict=True):
        a = function(a, n, axis, norm)
    return a


def _fftn(
    a: Value, s: Sides = None, axes: Sides = None, norm: Any = None, out: Value = None
) -> Value:
    return _in_turn(np.fft.fft, a, *_sides_and_axes(a, s, axes), norm)


def _ifftn(
    a: Value, s: Sides = None, axes: Sides = None, norm: Any = None, out: Value = None
) -> Value:
    return _in_turn(np.fft.ifft, a, *_sides_and_axes(a, s, axes), norm)


def _rfftn(
    a: Value, s: Sides = None, axes: Sides = None, norm: Any = None, out: Value = None
) -> Value:
    sides, given = _sides_and_axes(a, s, axes)
    a = np.fft.rfft(a, sides[-1], given[-1], norm)
    return _in_turn(np.fft.fft, a, sides[:-1], given[:-1], norm)


def _irfftn(
    a: Value, s: Sides = None, axes: Sides = None, norm: Any = None, out: Value = None
) -> Value:
    sides, given = _sides_and_axes(a, s, axes, to_real=True)
    # NumPy goes from the first axis to the last but one here. The order matters where an axis
    # comes twice.
    a = _in_turn(np.fft.ifft, a, sides[-2::-1], given[-2::-1], norm)
    return np.fft.irfft(a, sides[-1], given[-1], norm)


def _over_two_axes(function: Function) -> Function:
    def transform(
        a: Value, s: Sides = None, axes: Sides = (-2, -1), norm: Any = None, out: Value = None
    ) -> Value:
        return function(a, s, axes, norm)

    return transform


composite(np.fft.fftn, _fftn)
composite(np.fft.ifftn, _ifftn)
composite(np.fft.rfftn, _rfftn)
composite(np.fft.irfftn, _irfftn)
composite(np.fft.fft2, _over_two_axes(_fftn))
composite(np.fft.ifft2, _over_two_axes(_ifftn))
composite(np.fft.rfft2, _over_two_axes(_rfftn))
composite(np.fft.irfft2, _over_two_axes(_irfftn))

# --- zero frequency to the middle, and back


def _rolled(x: Value, axes: int | Sequence[int] | None, sign: int) -> Value:
    if axes is None:
        axes = tuple(range(x.ndim))
    elif isinstance(axes, (int, np.integer)):
        axes = (axes,)
    return np.roll(x, [sign * (x.shape[axis] // 2) for axis in axes], axes)


composite(np.fft.fftshift, lambda x, axes=None: _rolled(x, axes, 1))
composite(np.fft.ifftshift, lambda x, axes=None: _rolled(x, axes, -1))
