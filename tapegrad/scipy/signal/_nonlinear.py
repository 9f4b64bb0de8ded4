"""Order filters, Wiener's filter, envelopes, and transforms along spirals."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.signal as ss

from tapegrad._core.forms import composite, linear
from tapegrad._core.types import Cotangent, Value
from tapegrad.scipy import fft, ndimage
from tapegrad.scipy._mirror import expressed_by, mirror
from tapegrad.scipy.signal import _convolution as convolution
from tapegrad.scipy.signal import _resampling as resampling
from tapegrad.scipy.signal._arrays import HERE, along, as_array, real_like

medfilt, medfilt2d, order_filter = (
    mirror(f, HERE) for f in (ss.medfilt, ss.medfilt2d, ss.order_filter)
)
wiener, envelope = mirror(ss.wiener, HERE), mirror(ss.envelope, HERE)
czt, zoom_fft = mirror(ss.czt, HERE), mirror(ss.zoom_fft, HERE)


def _sizes(size: Any, ndim: int, name: str) -> list[int]:
    sizes = [3] * ndim if size is None else np.broadcast_to(size, ndim).tolist()
    if any(side % 2 != 1 for side in sizes):
        raise ValueError(f"scipy.signal.{name}: expected odd sizes, got {size}.")
    return sizes


def _medfilt(volume: Value, kernel_size: Any = None) -> Value:
    x = np.atleast_1d(as_array(volume))
    sizes = _sizes(kernel_size, x.ndim, "medfilt")
    return ndimage.rank_filter(x, int(np.prod(sizes)) // 2, size=sizes, mode="constant")


def _medfilt2d(input: Value, kernel_size: Any = 3) -> Value:
    x = as_array(input)
    if x.ndim != 2:
        raise ValueError(f"scipy.signal.medfilt2d: expected a matrix, got {x.shape}.")
    return _medfilt(x, kernel_size)


def _order_filter(a: Value, domain: Any, rank: int) -> Value:
    domain = np.asarray(domain)
    _sizes(domain.shape, domain.ndim, "order_filter")
    return ndimage.rank_filter(as_array(a), rank, footprint=domain, mode="constant")


def _wiener(im: Value, mysize: Any = None, noise: Value = None) -> Value:
    """The mean of each window, and the more of what differs from it the larger its variance."""
    x = as_array(im)
    sizes = [3] * x.ndim if mysize is None else np.broadcast_to(mysize, x.ndim).tolist()
    ones, count = np.ones(sizes), float(np.prod(sizes))
    mean = convolution.correlate(x, ones, "same") / count
    variance = convolution.correlate(x * x, ones, "same") / count - mean * mean
    if noise is None:
        noise = np.mean(variance)
    # Where there is less variance than noise, the result does not depend on it.
    below = variance < noise
    share = 1 - noise / np.where(below, noise + 1, variance)
    return np.where(below, mean, (x - mean) * share + mean)


def _beyond(size: int, first: int, stop: int, residual: str) -> Any:
    """1 for the frequencies outside of the band, with "lowpass" for those below it."""
    kept = np.ones(size)
    if first <= 0 < stop:
        kept[:stop], kept[first:] = 0, 0
    else:
        kept[first:stop] = 0
    if residual == "lowpass":
        if stop > 0:
            kept[stop : (size + 1) // 2] = 0
        else:
            kept[first:], kept[: (size + 1) // 2] = 0, 0
    return kept


def _envelope(
    z: Value, bp_in: Any, *, n_out: int | None, squared: bool, residual: Any, axis: int
) -> Value:
    """The modulus of the analytic signal within a band, and what lies outside of the band."""
    z = np.moveaxis(as_array(z), axis, -1)
    size = z.shape[-1]
    made = size if n_out is None else n_out
    first = -(size // 2) if bp_in[0] is None else bp_in[0]
    stop = (size + 1) // 2 if bp_in[1] is None else bp_in[1]
    if not -size // 2 <= first < stop <= (size + 1) // 2:
        raise ValueError(f"scipy.signal.envelope: expected a band within the signal, got {bp_in}.")
    if residual not in ("lowpass", "all", None):
        raise ValueError(
            f"scipy.signal.envelope: expected residual='lowpass', 'all' or None, got {residual!r}."
        )
    complex_signal = z.dtype.kind == "c"
    spectrum = fft.fft(z)
    numbers = np.fft.fftfreq(size, 1 / size).round().astype(int)
    kind = real_like(z)
    if not complex_signal:  # only frequencies from 0 on, and those of the band twice
        weights = (numbers >= 0).astype(kind)
        weights[size // 2] = 1 if size % 2 == 0 else weights[size // 2]
        if first > 0:
            weights[(numbers >= first) & (numbers < stop)] *= 2
        elif stop > 0:
            weights[(numbers >= 1) & (numbers < stop)] *= 2
        spectrum = spectrum * weights
    scale = made / size
    chosen = fft.fftshift(spectrum, -1)[..., first + size // 2 : stop + size // 2]
    if first > 0 or stop <= 0:
        chosen = spectrum[..., first:stop] if first >= 0 or stop < 0 else spectrum[..., first:]
    band = fft.ifft(chosen, made) * scale
    power = np.real(band) ** 2 + np.imag(band) ** 2
    result = power if squared else np.absolute(band)
    if residual is None:
        return np.moveaxis(result, -1, axis)
    rest = spectrum * _beyond(size, first, stop, residual).astype(kind)
    if complex_signal:
        left = resampling.resample(rest, made, axis=-1, domain="freq")
    else:
        fewest = min(size, made)
        rest = rest[..., : made // 2 + 1]
        if made != size and fewest % 2 == 0 and fewest // 2 < rest.shape[-1]:
            factors = np.ones(rest.shape[-1], kind)
            factors[fewest // 2] = 2 if made < size else 0.5
            rest = rest * factors
        left = fft.irfft(rest, made) * scale
    return np.stack([np.moveaxis(v, -1, axis) for v in (result, left)])


composite(medfilt, _medfilt)
composite(medfilt2d, _medfilt2d, batch="loop")
composite(order_filter, _order_filter)
composite(wiener, _wiener, batch="loop")
expressed_by(envelope, _envelope)

# --- along spirals: sum of x[n] a**-n w**(n k)


def _spiral(g: Cotangent, like: Value, w: Any, a: Any, axis: int) -> Cotangent:
    """The transpose: the same sum over k, then the factors a**-n."""
    size = like.shape[axis]
    powers = along(complex(a) ** -np.arange(size), g.ndim, axis)
    return czt(g, size, w, axis=axis) * powers


def _czt_transpose(
    g: Cotangent,
    _out: Value,
    _x: Value,
    m: Any = None,
    w: Any = None,
    a: Any = 1 + 0j,
    axis: int = -1,
) -> Cotangent:
    if w is None:
        w = np.exp(-2j * np.pi / g.shape[axis])
    return _spiral(g, _x, w, a, axis)


def _zoom_transpose(
    g: Cotangent,
    _out: Value,
    _x: Value,
    fn: Any = None,
    m: Any = None,
    fs: Any = 2,
    endpoint: bool = False,
    axis: int = -1,
) -> Cotangent:
    plan = ss.ZoomFFT(_x.shape[axis], fn, m, fs=fs, endpoint=endpoint)
    return _spiral(g, _x, plan.w, plan.a, axis)


linear(czt, _czt_transpose, batch="axis")
linear(zoom_fft, _zoom_transpose, batch="axis")
