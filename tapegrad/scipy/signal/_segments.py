"""Segments of a signal, and their Fourier transforms under a window.

A signal is cut into overlapping segments; cutting and adding up overlapping segments are linear
and transposes of each other. All else is NumPy's, with a window that may be traced. Must not know
which spectra are made of them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tapegrad._core.forms import linear
from tapegrad._core.types import Cotangent, Value
from tapegrad._transforms.primitives import primitive
from tapegrad._warning import warn
from tapegrad.scipy import fft
from tapegrad.scipy.signal import _trends as trends
from tapegrad.scipy.signal._arrays import as_array, real_like
from tapegrad.scipy.signal._windows import window_of


@primitive
def cut(x: Value, size: int = 1, step: int = 1) -> Value:
    """Segments of the last axis, one each step: a new axis before it."""
    windows = np.lib.stride_tricks.sliding_window_view(x, size, -1)
    return windows[..., ::step, :].copy()


@primitive
def added_up(segments: Value, step: int = 1, length: int = 1) -> Value:
    """The sum of segments, each at its place."""
    total = np.zeros((*segments.shape[:-2], length), segments.dtype)
    for k in range(segments.shape[-2]):
        total[..., k * step : k * step + segments.shape[-1]] += segments[..., k, :]
    return total


def _cut_transpose(
    g: Cotangent, _out: Value, _x: Value, size: int = 1, step: int = 1
) -> Cotangent:
    return added_up(g, step=step, length=_x.shape[-1])


def _added_transpose(
    g: Cotangent, _out: Value, _segments: Value, step: int = 1, length: int = 1
) -> Cotangent:
    count, size = _segments.shape[-2:]
    used = (count - 1) * step + size
    return cut(g[..., :used], size=size, step=step)


linear(cut, _cut_transpose, batch="(n)")


linear(added_up, _added_transpose, batch="(m,n)")


class Plan(NamedTuple):
    """Window, lengths and scale of a spectrum."""

    window: Value
    size: int
    step: int
    length: int  # of the transform
    scale: Value


def plan_of(
    window: Any, size: Any, overlap: Any, length: Any, fs: Any, scaling: str, count: int
) -> Plan:
    if isinstance(window, (str, tuple)):
        size = 256 if size is None else int(size)
        if size < 1:
            raise ValueError(f"scipy.signal: expected nperseg from 1, got {size}.")
        if size > count:
            warn(
                f"nperseg = {size} is greater than input length = {count}, using {count}",
                UserWarning,
            )
            size = count
        made = window_of(window, size)
    else:
        made = as_array(window)
        size = made.shape[0] if size is None else int(size)
        if made.ndim != 1 or made.shape[0] != size or size > count:
            raise ValueError(
                f"scipy.signal: expected a window of nperseg={size} elements, at most {count}, "
                f"got {made.shape}."
            )
    length = size if length is None else int(length)
    overlap = size // 2 if overlap is None else int(overlap)
    if length < size or overlap >= size:
        raise ValueError(
            f"scipy.signal: expected nfft={length} from nperseg={size}, and noverlap={overlap} "
            "below it."
        )
    if scaling not in ("density", "spectrum"):
        raise ValueError(
            f"scipy.signal: expected scaling='density' or 'spectrum', got {scaling!r}."
        )
    squares = fs * np.sum(made * made) if scaling == "density" else np.sum(made) ** 2
    return Plan(made, size, size - overlap, length, 1 / squares)


def transforms(x: Value, plan: Plan, detrend: Any, onesided: bool, axis: int) -> Value:
    """Fourier transforms of the segments: (..., segments, frequencies)."""
    segments = cut(x, size=plan.size, step=plan.step)
    if detrend:
        if callable(detrend):
            moved = np.moveaxis(segments, -1, axis) if axis != -1 else segments
            moved = detrend(moved)
            segments = np.moveaxis(moved, axis, -1) if axis != -1 else moved
        else:
            segments = trends.detrend(segments, type=detrend)
    segments = segments * plan.window.astype(_window_kind(x, plan.window))
    transform = fft.rfft if onesided else fft.fft
    return transform(segments, plan.length)


def _window_kind(x: Value, window: Value) -> Any:
    kind = real_like(x)
    return np.result_type(kind, np.complex64) if window.dtype.kind == "c" else kind


def is_two_sided(x: Value, y: Value, onesided: bool) -> bool:
    return not onesided or x.dtype.kind == "c" or y.dtype.kind == "c"


def frequencies(length: int, fs: Any, onesided: bool) -> Any:
    made = fft.rfftfreq(length) if onesided else fft.fftfreq(length)
    return made * fs


def inexact(x: Value) -> Value:
    return x if x.dtype.kind in "fc" else x.astype(np.float64)


def times_of(plan: Plan, count: int, fs: Any) -> Any:
    return np.arange(plan.size / 2, count - plan.size / 2 + 1, plan.step) / fs


def segments_last(spectra: Value, axis: int) -> Value:
    """Segments to the last axis, frequencies to the axis of time."""
    spectra = np.moveaxis(spectra, -2, -1)
    return np.moveaxis(spectra, -2, axis - 1 if axis < 0 else axis)


__all__ = [
    "Plan",
    "added_up",
    "cut",
    "frequencies",
    "inexact",
    "is_two_sided",
    "plan_of",
    "segments_last",
    "times_of",
    "transforms",
]
