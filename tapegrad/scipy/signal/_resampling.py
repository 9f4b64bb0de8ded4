"""Resampling: by Fourier transforms, by polyphase filters, and by leaving out."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np
import scipy.signal as ss

from tapegrad._core.forms import composite, multilinear
from tapegrad._core.types import Cotangent, Value
from tapegrad._transforms.primitives import primitive
from tapegrad.scipy import fft
from tapegrad.scipy._mirror import expressed_by, mirror
from tapegrad.scipy.signal import _filters as filters
from tapegrad.scipy.signal import _zero_phase as zero_phase
from tapegrad.scipy.signal._arrays import HERE, along, as_array, padded, part, real_like

resample, resample_poly = mirror(ss.resample, HERE), mirror(ss.resample_poly, HERE)
upfirdn, decimate = mirror(ss.upfirdn, HERE), mirror(ss.decimate, HERE)

# --- by Fourier transforms


def _window(window: Any, size: int) -> Any:
    if callable(window):
        return window(fft.fftfreq(size))
    if hasattr(window, "shape"):
        if window.shape != (size,):
            raise ValueError(
                f"scipy.signal.resample: expected a window of shape ({size},), got {window.shape}."
            )
        return window
    return fft.fftshift(ss.get_window(window, size))


def _resample(
    x: Value, num: int, t: Any = None, axis: int = 0, window: Any = None, domain: str = "time"
) -> Any:
    if domain not in ("time", "freq"):
        raise ValueError(
            f"scipy.signal.resample: expected domain='time' or 'freq', got {domain!r}."
        )
    x = as_array(x)
    x = np.moveaxis(x, axis, -1)
    size = x.shape[-1]
    weights = None if window is None else _window(window, size)
    if domain == "time" and x.dtype.kind != "c":
        made = _from_real(x, num, weights)
    else:
        made = _from_complex(fft.fft(x) if domain == "time" else x, num, weights)
    made = np.moveaxis(made, -1, axis)
    if t is None:
        return made
    return made, t[0] + (t[1] - t[0]) * (size / num) * np.arange(num)


def _from_real(x: Value, num: int, weights: Any) -> Value:
    size = x.shape[-1]
    spectrum = fft.rfft(x)
    if weights is not None:  # the mean of both signs of a frequency
        count = spectrum.shape[-1]
        both = (weights[1:count] + np.flip(weights[size - count + 1 :])) / 2
        both = np.concatenate([weights[:1], both])
        spectrum = spectrum * (both if both.dtype.kind == "c" else both.astype(real_like(x)))
    fewest = min(num, size)
    spectrum = spectrum[..., : fewest // 2 + 1]
    if fewest % 2 == 0 and num != size:  # the highest frequency stands for itself alone, or not
        factors = np.ones(fewest // 2 + 1, real_like(x))
        factors[-1] = 2 if num < size else 0.5
        spectrum = spectrum * factors
    return fft.irfft(spectrum * (num / size), num)


def _from_complex(spectrum: Value, num: int, weights: Any) -> Value:
    size = spectrum.shape[-1]
    if weights is not None:
        spectrum = spectrum * weights
    fewest = min(num, size)
    half = fewest // 2
    low = spectrum[..., : half + 1]
    high = spectrum[..., size - (fewest - half - 1) :] if fewest > half + 1 else spectrum[..., :0]
    middle = np.zeros((*spectrum.shape[:-1], num - fewest), spectrum.dtype)
    if fewest % 2 == 0 and num != size:
        top = spectrum[..., half : half + 1]
        low = low[..., :half]
        if num < size:  # both signs of the highest frequency fall together
            top = top + spectrum[..., size - half : size - half + 1]
            low = np.concatenate([low, top], axis=-1)
        else:
            low = np.concatenate([low, top / 2], axis=-1)
            middle = np.concatenate([middle[..., 1:], top / 2], axis=-1)
    return fft.ifft(np.concatenate([low, middle, high], axis=-1) * (num / size))


composite(resample, _resample)

# --- by polyphase filters


@primitive
def polyphase(h: Value, x: Value, up: int = 1, down: int = 1, axis: int = -1) -> Value:
    """A convolution with zeros between the elements of x, of which every so many are kept."""
    return ss.upfirdn(h, x, up, down, axis)


def _spread(x: Value, count: int) -> Value:
    """The elements along the last axis with zeros between them."""
    if count == 1:
        return x
    zeros = np.zeros((*x.shape, count - 1), x.dtype)
    return np.reshape(np.concatenate([x[..., None], zeros], axis=-1), (*x.shape[:-1], -1))


def _polyphase_by_h(
    g: Cotangent, _out: Value, _h: Value, x: Value, up: int = 1, down: int = 1, axis: int = -1
) -> Cotangent:
    late, early = _spread(np.moveaxis(g, axis, -1), down), _spread(np.moveaxis(x, axis, -1), up)
    size = max(late.shape[-1], early.shape[-1])
    late, early = (padded(v, 0, size - v.shape[-1], -1) for v in (late, early))
    return filters.lag_products(late, early, count=_h.shape[0])


def _polyphase_by_x(
    g: Cotangent, _out: Value, h: Value, _x: Value, up: int = 1, down: int = 1, axis: int = -1
) -> Cotangent:
    size, last = _x.shape[axis], h.shape[0] - 1
    flipped = np.flip(padded(h, 0, -last % up, 0))
    start = (flipped.shape[0] - 1) // up
    bar = polyphase(flipped, g, up=down, down=up, axis=axis)
    bar = padded(bar, 0, max(start + size - bar.shape[axis], 0), axis)
    return part(bar, start, start + size, axis)


multilinear(polyphase, _polyphase_by_h, _polyphase_by_x)

_PADDED = ("constant", "symmetric", "reflect", "edge", "wrap")
_MODES = (*_PADDED, "smooth", "antisymmetric", "antireflect", "line")


def _beyond(x: Value, widths: tuple[int, int], axis: int, mode: str, cval: Any) -> Value:
    """The array as its mode goes on before and after its elements along an axis."""
    pads = [(0, 0)] * x.ndim
    pads[axis] = widths
    word: Any = mode
    if mode == "constant":
        return np.pad(x, pads, word, constant_values=cval)
    if mode in _PADDED:
        return np.pad(x, pads, word)
    if mode == "antireflect":
        return np.pad(x, pads, "reflect", reflect_type="odd")
    before, after = widths
    size = x.shape[axis]
    places = np.arange(-before, size + after)
    if mode == "antisymmetric":  # each second copy has the other sign
        signs = np.where(places // size % 2, -1, 1).astype(real_like(x))
        return np.pad(x, pads, "symmetric") * along(signs, x.ndim, axis)
    if mode not in ("line", "smooth"):
        raise ValueError(
            f"scipy.signal.upfirdn: expected a mode among {', '.join(_MODES)}, got {mode!r}."
        )
    if size < 2:
        raise ValueError(
            f"scipy.signal.upfirdn: mode={mode!r} needs two elements for a slope, got {size}."
        )
    first, last = part(x, 0, 1, axis), part(x, size - 1, size, axis)
    if mode == "line":
        starts = ends = (last - first) / (size - 1)
    else:
        starts = part(x, 1, 2, axis) - first
        ends = last - part(x, size - 2, size - 1, axis)
    steps = along(np.arange(1, max(before, after) + 1).astype(real_like(x)), x.ndim, axis)
    early = first - np.flip(part(steps, 0, before, axis), axis) * starts
    return np.concatenate([early, x, last + part(steps, 0, after, axis) * ends], axis=axis)


def _upfirdn(
    h: Value,
    x: Value,
    up: int = 1,
    down: int = 1,
    axis: int = -1,
    mode: str = "constant",
    cval: float = 0,
) -> Value:
    h, x = as_array(h), as_array(x)
    if mode == "constant" and cval == 0:
        return polyphase(h, x, up=up, down=down, axis=axis)
    size, count = x.shape[axis], h.shape[0]
    made = ((size - 1) * up + count - 1) // down + 1
    before = math.ceil((count - 1) / up / down) * down  # a whole number of results
    x = _beyond(x, (before, math.ceil((count - 1) / up) + 1), axis, mode, cval)
    first = before * up // down
    return part(polyphase(h, x, up=up, down=down, axis=axis), first, first + made, axis)


def _resample_poly(
    x: Value,
    up: int,
    down: int,
    axis: int = 0,
    window: Any = ("kaiser", 5.0),
    padtype: str = "constant",
    cval: float | None = None,
) -> Value:
    x = as_array(x)
    up, down = operator.index(up), operator.index(down)
    if up < 1 or down < 1:
        raise ValueError(
            f"scipy.signal.resample_poly: expected up and down from 1, got {up} and {down}."
        )
    if cval is not None and padtype != "constant":
        raise ValueError(f"scipy.signal.resample_poly: cval has no effect on padtype={padtype!r}.")
    common = math.gcd(up, down)
    up, down = up // common, down // common
    if up == down == 1:
        return np.copy(x)
    if isinstance(window, (list, tuple)) and not isinstance(window[0], str) or in_array(window):
        h = as_array(window)
        half = (h.shape[0] - 1) // 2
    else:
        rate = max(up, down)
        half = 10 * rate
        h = ss.firwin(2 * half + 1, 1 / rate, window=window)
        h = h.astype(x.dtype) if x.dtype.kind in "fc" else h
    before = down - half % down
    removed = (half + before) // down
    size = x.shape[axis]
    count = -(-size * up // down)
    missing = (removed + count - 1) * down + 1 - (size - 1) * up - h.shape[0] - before
    h = padded(h * up, before, max(missing, 0), 0)
    background = _BACKGROUND.get(padtype)
    if background is not None:
        level = background(x, axis=axis, keepdims=True)
        y = _upfirdn(h, x - level, up, down, axis)
        return part(y, removed, removed + count, axis) + level
    y = _upfirdn(h, x, up, down, axis, padtype, cval or 0)
    return part(y, removed, removed + count, axis)


def in_array(window: Any) -> bool:
    return hasattr(window, "shape")


_BACKGROUND: dict[str, Any] = {
    "mean": np.mean,
    "median": np.median,
    "minimum": np.min,
    "maximum": np.max,
}

composite(upfirdn, _upfirdn)
composite(resample_poly, _resample_poly)

# --- by leaving out


def _decimate(x: Value, q: int, n: int | None, ftype: Any, axis: int, zero_phase: bool) -> Value:
    x, q = as_array(x), operator.index(q)
    if ftype == "fir":
        b = ss.firwin((20 * q if n is None else n) + 1, 1 / q, window="hamming")
        return _thinned(b, x, q, axis, zero_phase)
    if ftype == "iir":
        sos = ss.cheby1(8 if n is None else n, 0.05, 0.8 / q, output="sos")
        return _thinned_sections(sos, x, q, axis, zero_phase)
    if not isinstance(ftype, ss.dlti):
        raise TypeError(
            f"scipy.signal.decimate: expected ftype='iir', 'fir' or a dlti, got {ftype!r}."
        )
    poles = ftype.to_zpk()
    system = ftype.to_tf()
    if not poles.poles.size:
        return _thinned(system.num / system.den, x, q, axis, zero_phase)
    if np.any(np.iscomplex(poles.poles)) or np.iscomplex(poles.gain):
        run = zero_phase_filter if zero_phase else filters.lfilter
        return part(run(system.num, system.den, x, axis), None, None, axis, q)
    sos = ss.zpk2sos(poles.zeros, poles.poles, poles.gain)
    return _thinned_sections(sos, x, q, axis, zero_phase)


def zero_phase_filter(b: Any, a: Any, x: Value, axis: int) -> Value:
    return zero_phase.filtfilt(b, a, x, axis)


def _thinned(b: Any, x: Value, q: int, axis: int, centred: bool) -> Value:
    b = b.astype(np.result_type(real_like(x), x.dtype if x.dtype.kind in "fc" else np.float64))
    if centred:
        return _resample_poly(x, 1, q, axis, b)
    count = -(-x.shape[axis] // q)
    return part(_upfirdn(b, x, 1, q, axis), 0, count, axis)


def _thinned_sections(sos: Any, x: Value, q: int, axis: int, centred: bool) -> Value:
    sos = sos.astype(real_like(x))
    run = zero_phase.sosfiltfilt if centred else filters.sosfilt
    return part(run(sos, x, axis), None, None, axis, q)


expressed_by(decimate, _decimate)
