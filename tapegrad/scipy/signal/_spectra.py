"""Powers of segments, by themselves and averaged: periodograms, cross spectra, spectrograms.

A spectrogram of another mode than powers is a short-time Fourier transform.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.signal as ss

from tapegrad._core.forms import composite
from tapegrad._core.types import Value
from tapegrad.scipy._mirror import expressed_by, mirror
from tapegrad.scipy.signal._arrays import HERE, as_array, padded, real_like
from tapegrad.scipy.signal._segments import (
    Plan,
    frequencies,
    inexact,
    is_two_sided,
    plan_of,
    segments_last,
    times_of,
    transforms,
)
from tapegrad.scipy.signal._short_time import short_transforms

periodogram, welch, csd, coherence = (
    mirror(f, HERE) for f in (ss.periodogram, ss.welch, ss.csd, ss.coherence)
)


spectrogram = mirror(ss.spectrogram, HERE)


def _doubled(power: Value, length: int) -> Value:
    """Powers at positive frequencies, with those at the negative ones that are left out."""
    factors = np.full(power.shape[-1], 2.0, real_like(power))
    factors[0] = 1
    if length % 2 == 0:
        factors[-1] = 1
    return power * factors


def _powers(
    x: Value,
    y: Value,
    fs: Any,
    window: Any,
    size: Any,
    overlap: Any,
    length: Any,
    detrend: Any,
    onesided: bool,
    scaling: str,
    axis: int,
) -> tuple[Any, Value, Plan, int]:
    """Frequencies, and cross powers of the segments: (..., segments, frequencies)."""
    same = y is x
    x = np.moveaxis(inexact(as_array(x)), axis, -1)
    y = x if same else np.moveaxis(inexact(as_array(y)), axis, -1)
    count = max(x.shape[-1], y.shape[-1])
    if not same:
        x, y = (padded(v, 0, count - v.shape[-1], -1) for v in (x, y))
    plan = plan_of(window, size, overlap, length, fs, scaling, count)
    onesided = not is_two_sided(x, y, onesided)
    first = transforms(x, plan, detrend, onesided, axis)
    second = first if same else transforms(y, plan, detrend, onesided, axis)
    power = np.conjugate(first) * second
    if same:
        power = np.real(power)
    power = power * plan.scale.astype(real_like(power))
    if onesided:
        power = _doubled(power, plan.length)
    return frequencies(plan.length, fs, onesided), power, plan, count


def _csd(
    x: Value,
    y: Value,
    fs: Any = 1.0,
    window: Any = "hann",
    nperseg: Any = None,
    noverlap: Any = None,
    nfft: Any = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    average: str = "mean",
) -> Any:
    f, power, _, _ = _powers(
        x, y, fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis
    )
    if average == "median":
        bias = _median_bias(power.shape[-2])
        if power.dtype.kind == "c":
            parts = (np.median(part(power), axis=-2) for part in (np.real, np.imag))
            real, imaginary = parts
            mean = (real + 1j * imaginary) / bias
        else:
            mean = np.median(power, axis=-2) / bias
    elif average == "mean":
        mean = np.mean(power, axis=-2)
    else:
        raise ValueError(f"scipy.signal: expected average='mean' or 'median', got {average!r}.")
    return f, np.moveaxis(mean, -1, axis)


def _median_bias(count: int) -> float:
    """How much smaller the median of exponential variates is than their mean.

    B. Allen et al., FINDCHIRP, Physical Review D 85 (2012), appendix B.
    """
    even = 2 * np.arange(1.0, (count - 1) // 2 + 1)
    return float(1 + np.sum(1 / (even + 1) - 1 / even))


def _welch(x: Value, *args: Any, **options: Any) -> Any:
    x = as_array(x)
    return _csd(x, x, *args, **options)


def _periodogram(
    x: Value,
    fs: Any,
    window: Any,
    nfft: int | None,
    detrend: Any,
    return_onesided: bool,
    scaling: str,
    axis: int,
) -> Any:
    x = as_array(x)
    size = x.shape[axis]
    window = "boxcar" if window is None else window
    if nfft is not None and nfft < size:
        x = np.moveaxis(np.moveaxis(x, axis, -1)[..., :nfft], -1, axis)
        size, nfft = nfft, None
    return _welch(x, fs, window, size, 0, nfft, detrend, return_onesided, scaling, axis)


def _coherence(
    x: Value,
    y: Value,
    fs: Any = 1.0,
    window: Any = "hann",
    nperseg: Any = None,
    noverlap: Any = None,
    nfft: Any = None,
    detrend: Any = "constant",
    axis: int = -1,
) -> Any:
    given = (fs, window, nperseg, noverlap, nfft, detrend, True, "density", axis)
    x, y = as_array(x), as_array(y)
    f, cross = _csd(x, y, *given)
    power = np.real(cross) ** 2 + np.imag(cross) ** 2 if cross.dtype.kind == "c" else cross**2
    return f, power / _csd(x, x, *given)[1] / _csd(y, y, *given)[1]


def _spectrogram(
    x: Value,
    fs: Any = 1.0,
    window: Any = ("tukey", 0.25),
    nperseg: Any = None,
    noverlap: Any = None,
    nfft: Any = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    mode: str = "psd",
) -> Any:
    x = as_array(x)
    if mode not in ("psd", "complex", "magnitude", "angle", "phase"):
        raise ValueError(
            "scipy.signal.spectrogram: expected mode='psd', 'complex', 'magnitude', 'angle' or "
            f"'phase', got {mode!r}."
        )
    if noverlap is None:
        noverlap = plan_of(window, nperseg, 0, None, 1.0, scaling, x.shape[axis]).size // 8
    if mode == "psd":
        f, power, plan, count = _powers(
            x, x, fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis
        )
        return f, times_of(plan, count, fs), segments_last(power, axis)
    f, times, spectra = short_transforms(
        x,
        fs,
        window,
        nperseg,
        noverlap,
        nfft,
        detrend,
        return_onesided,
        None,
        False,
        axis,
        scaling,
    )
    if mode == "magnitude":
        spectra = np.absolute(spectra)
    elif mode in ("angle", "phase"):
        spectra = np.angle(spectra)
        if mode == "phase":
            spectra = np.unwrap(spectra, axis=axis - 1 if axis < 0 else axis)
    return f, times, spectra


composite(csd, _csd, batch="loop")


composite(welch, _welch, batch="loop")


expressed_by(periodogram, _periodogram, batch="loop")


composite(coherence, _coherence, batch="loop")


composite(spectrogram, _spectrogram, batch="loop")

__all__ = ["coherence", "csd", "periodogram", "spectrogram", "welch"]
