"""Trends, analytic signals, and local polynomials: linear functions along an axis."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import scipy.signal as ss

from tapegrad._core.forms import composite
from tapegrad._core.types import Value
from tapegrad.scipy import fft
from tapegrad.scipy._mirror import expressed_by, mirror
from tapegrad.scipy.signal._arrays import HERE, along, as_array, part, real_like, require_numpy

detrend, hilbert, hilbert2 = (mirror(f, HERE) for f in (ss.detrend, ss.hilbert, ss.hilbert2))
savgol_coeffs, savgol_filter = mirror(ss.savgol_coeffs, HERE), mirror(ss.savgol_filter, HERE)


def _detrend(
    data: Value, axis: int = -1, type: str = "linear", bp: Any = 0, overwrite_data: bool = False
) -> Value:
    data = as_array(data)
    if type in ("constant", "c"):
        return data - np.mean(data, axis, keepdims=True)
    if type not in ("linear", "l"):
        raise ValueError(
            f"scipy.signal.detrend: expected type='linear' or 'constant', got {type!r}."
        )
    size = data.shape[axis]
    breaks = np.unique(np.concatenate([[0], np.atleast_1d(bp), [size]])).astype(int)
    if breaks[-1] > size:
        raise ValueError(
            f"scipy.signal.detrend: expected breakpoints up to {size}, got {breaks[-1]}."
        )
    data = np.moveaxis(data, axis, -1)
    pieces = []
    for start, stop in itertools.pairwise(breaks.tolist()):
        # Orthonormal columns of what a line can be: their part is taken away.
        line = np.stack([np.ones(stop - start), np.arange(start, stop) - start], axis=-1)
        q = np.linalg.qr(line)[0].astype(real_like(data))
        piece = data[..., start:stop]
        pieces.append(piece - (piece @ q) @ q.T)
    return np.moveaxis(np.concatenate(pieces, axis=-1), -1, axis)


composite(detrend, _detrend)

# --- analytic signals


def _positive(size: int, dtype: Any, *, both: bool) -> Any:
    """Twice the positive frequencies and none of the negative ones.

    both: the frequency that is its own negative, of an even size, stays.
    """
    weights = np.zeros(size, dtype)
    weights[0] = 1
    weights[1 : (size + 1) // 2] = 2
    if both and size % 2 == 0:
        weights[size // 2] = 1
    return weights


def _require_real(x: Value, name: str) -> Value:
    x = as_array(x)
    if x.dtype.kind == "c":
        raise ValueError(f"scipy.signal.{name}: expected real numbers, got {x.dtype}.")
    return x


def _hilbert(x: Value, N: int | None = None, axis: int = -1) -> Value:
    x = _require_real(x, "hilbert")
    size = x.shape[axis] if N is None else N
    if size <= 0:
        raise ValueError(f"scipy.signal.hilbert: expected a positive N, got {size}.")
    weights = along(_positive(size, real_like(x), both=True), x.ndim, axis)
    return fft.ifft(fft.fft(x, size, axis) * weights, axis=axis)


def _hilbert2(x: Value, N: Any = None, axes: tuple[int, int] = (-2, -1)) -> Value:
    x = np.atleast_2d(_require_real(x, "hilbert2"))
    if axes[0] % x.ndim == axes[1] % x.ndim:
        raise ValueError(f"scipy.signal.hilbert2: expected two axes that differ, got {axes}.")
    sides = [x.shape[axis] for axis in axes] if N is None else np.broadcast_to(N, 2).tolist()
    transformed = fft.fft2(x, sides, axes)
    for side, axis in zip(sides, axes, strict=True):
        if side <= 0:
            raise ValueError(f"scipy.signal.hilbert2: expected a positive N, got {N}.")
        weights = _positive(side, real_like(x), both=False)
        transformed = transformed * along(weights, x.ndim, axis)
    return fft.ifft2(transformed, axes=axes)


composite(hilbert, _hilbert)
composite(hilbert2, _hilbert2)

# --- local polynomials


def _savgol_coeffs(
    window_length: int,
    polyorder: int,
    deriv: int,
    delta: Value,
    pos: Any,
    use: str,
    *,
    xp: Any,
    device: Any,
) -> Value:
    """The step alone is continuous: a derivative is divided by its power."""
    require_numpy(xp, device)
    return ss.savgol_coeffs(window_length, polyorder, deriv, 1.0, pos, use) / delta**deriv


expressed_by(savgol_coeffs, _savgol_coeffs, batch="loop")


def _savgol_filter(
    x: Value,
    window_length: int,
    polyorder: int,
    deriv: int,
    delta: Value,
    axis: int,
    mode: str,
    cval: float,
) -> Value:
    from tapegrad.scipy import ndimage

    if mode not in ("mirror", "constant", "nearest", "wrap", "interp"):
        raise ValueError(
            "scipy.signal.savgol_filter: expected mode='mirror', 'constant', 'nearest', 'wrap' or "
            f"'interp', got {mode!r}."
        )
    x = as_array(x)
    if x.dtype not in (np.float32, np.float64):
        x = x.astype(np.float64)
    scale = 1 / delta**deriv
    coefficients = ss.savgol_coeffs(window_length, polyorder, deriv) * scale
    if mode != "interp":
        return ndimage.convolve1d(x, coefficients, axis, mode=mode, cval=cval)
    size, half = x.shape[axis], window_length // 2
    if window_length > size:
        raise ValueError(
            f"scipy.signal.savgol_filter: expected window_length up to the {size} elements in "
            f"mode 'interp', got {window_length}."
        )
    inner = ndimage.convolve1d(x, coefficients, axis, mode="constant")
    # At the ends the derivative of the polynomial through the first and last windows.
    rows = [
        ss.savgol_coeffs(window_length, polyorder, deriv, pos=pos, use="dot")
        for pos in range(half)
    ]
    rows += [
        ss.savgol_coeffs(window_length, polyorder, deriv, pos=pos, use="dot")
        for pos in range(window_length - half, window_length)
    ]
    ends = np.stack(rows) if rows else np.zeros((0, window_length))
    ends = (ends * scale).astype(x.dtype)
    first = np.tensordot(ends[:half], part(x, 0, window_length, axis), ([1], [axis]))
    last = np.tensordot(ends[half:], part(x, size - window_length, size, axis), ([1], [axis]))
    first, last = (np.moveaxis(end, 0, axis) for end in (first, last))
    return np.concatenate([first, part(inner, half, size - half, axis), last], axis=axis)


expressed_by(savgol_filter, _savgol_filter)
