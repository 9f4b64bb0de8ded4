"""Short-time Fourier transforms, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.signal as ss

from tapegrad._core.forms import composite
from tapegrad._core.types import Value
from tapegrad._core.values import any_true, untraced
from tapegrad._warning import warn
from tapegrad.scipy import fft
from tapegrad.scipy._mirror import mirror
from tapegrad.scipy.signal._arrays import HERE, as_array, padded, real_like
from tapegrad.scipy.signal._segments import (
    added_up,
    frequencies,
    inexact,
    is_two_sided,
    plan_of,
    segments_last,
    times_of,
    transforms,
)
from tapegrad.scipy.signal._zero_phase import extension

stft, istft = (mirror(f, HERE) for f in (ss.stft, ss.istft))


def _stft(
    x: Value,
    fs: Any = 1.0,
    window: Any = "hann",
    nperseg: Any = 256,
    noverlap: Any = None,
    nfft: Any = None,
    detrend: Any = False,
    return_onesided: bool = True,
    boundary: Any = "zeros",
    padded: bool = True,
    axis: int = -1,
    scaling: str = "spectrum",
) -> Any:
    words = {"spectrum": "spectrum", "psd": "density"}
    if scaling not in words:
        raise ValueError(
            f"scipy.signal.stft: expected scaling='spectrum' or 'psd', got {scaling!r}."
        )
    return short_transforms(
        as_array(x), fs, window, nperseg, noverlap, nfft, detrend, return_onesided, boundary,
        padded, axis, words[scaling],
    )  # fmt: skip


def short_transforms(
    x: Value,
    fs: Any,
    window: Any,
    size: Any,
    overlap: Any,
    length: Any,
    detrend: Any,
    onesided: bool,
    boundary: Any,
    whole: bool,
    axis: int,
    scaling: str,
) -> Any:
    """Transforms of segments, with the root of the scale that their powers would have."""
    x = np.moveaxis(inexact(x), axis, -1)
    plan = plan_of(window, size, overlap, length, fs, scaling, x.shape[-1])
    if boundary is not None:
        x = extension(x, boundary, plan.size // 2, -1)
    if whole:
        x = padded(x, 0, (-(x.shape[-1] - plan.size) % plan.step) % plan.size, -1)
    onesided = not is_two_sided(x, x, onesided)
    spectra = transforms(x, plan, detrend, onesided, axis)
    spectra = spectra * np.sqrt(plan.scale).astype(real_like(spectra))
    times = times_of(plan, x.shape[-1], fs)
    if boundary is not None:
        times = times - plan.size / 2 / fs
    f = frequencies(plan.length, fs, onesided)
    return f, times, segments_last(spectra, axis)


def _istft(
    Zxx: Value,
    fs: Any = 1.0,
    window: Any = "hann",
    nperseg: Any = None,
    noverlap: Any = None,
    nfft: Any = None,
    input_onesided: bool = True,
    boundary: bool = True,
    time_axis: int = -1,
    freq_axis: int = -2,
    scaling: str = "spectrum",
) -> Any:
    z = as_array(Zxx) + 0j
    if z.ndim < 2 or time_axis % z.ndim == freq_axis % z.ndim:
        raise ValueError("scipy.signal.istft: expected two axes that differ, of two or more.")
    usual = 2 * (z.shape[freq_axis] - 1) if input_onesided else z.shape[freq_axis]
    size = usual if nperseg is None else int(nperseg)
    if nfft is None:
        nfft = size if input_onesided and size == usual + 1 else usual
    ndim = z.ndim
    z = np.moveaxis(z, (time_axis, freq_axis), (-2, -1))
    length = size + (z.shape[-2] - 1) * (size - (size // 2 if noverlap is None else noverlap))
    words = {"spectrum": "spectrum", "psd": "density"}
    if scaling not in words:
        raise ValueError(
            f"scipy.signal.istft: expected scaling='spectrum' or 'psd', got {scaling!r}."
        )
    plan = plan_of(window, size, noverlap, nfft, fs, words[scaling], max(length, size))
    segments = (fft.irfft if input_onesided else fft.ifft)(z, nfft)[..., :size]
    win = plan.window
    segments = segments * (np.sqrt(1 / plan.scale) * win).astype(real_like(segments))
    x = added_up(segments, step=plan.step, length=length)
    squares = np.ones((z.shape[-2], 1)) * (win * win)
    norm = added_up(squares, step=plan.step, length=length)
    if boundary:
        x, norm = (v[..., size // 2 : length - size // 2] for v in (x, norm))
    covered = untraced(norm) > 1e-10
    if any_true(~covered):
        warn("NOLA condition failed, STFT may not be invertible.", UserWarning)
    x = x / np.where(covered, norm, 1).astype(real_like(x))
    if x.ndim > 1:
        position = range(ndim)[time_axis]
        x = np.moveaxis(x, -1, position - (range(ndim)[freq_axis] < position))
    return np.arange(x.shape[0]) / fs, x


composite(stft, _stft, batch="loop")


composite(istft, _istft, batch="loop")

__all__ = ["istft", "short_transforms", "stft"]
