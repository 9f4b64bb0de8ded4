"""Peaks: where they are is a constant, what is measured there is made of elements."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.signal as ss

from tapegrad._core.forms import composite
from tapegrad._core.types import Value
from tapegrad._core.values import untraced
from tapegrad.scipy._mirror import expressed_by, mirror
from tapegrad.scipy.signal._arrays import HERE, as_array

find_peaks, peak_prominences, peak_widths = (
    mirror(f, HERE) for f in (ss.find_peaks, ss.peak_prominences, ss.peak_widths)
)


def _prominences(x: Value, peaks: Any, left: Any, right: Any) -> Value:
    """How far a peak rises above the higher of its two bases."""
    return x[peaks] - np.maximum(x[left], x[right])


def _ends(x: Value, heights: Value, left: Any, right: Any) -> tuple[Value, Value]:
    """Where the signal crosses the heights, from positions that were found between elements."""
    size = x.shape[0]
    before = np.clip(np.floor(left).astype(int), 0, size - 2)
    after = np.clip(np.ceil(right).astype(int), 1, size - 1)
    results = []
    for found, at, other, sign in ((left, before, before + 1, 1), (right, after, after - 1, -1)):
        rise = x[other] - x[at]
        exact = (found == at) | (untraced(rise) == 0)  # a crossing at an element
        share = (heights - x[at]) / np.where(exact, 1, rise)
        results.append(np.where(exact, found, at + sign * share))
    return results[0], results[1]


def _peak_prominences(x: Value, peaks: Any, wlen: Any = None) -> Any:
    x = as_array(x)
    _, left, right = ss.peak_prominences(untraced(x), peaks, wlen)
    return _prominences(x, np.asarray(peaks, int), left, right), left, right


def _peak_widths(
    x: Value, peaks: Any, rel_height: Any = 0.5, prominence_data: Any = None, wlen: Any = None
) -> Any:
    x, plain = as_array(x), untraced(as_array(x))
    if prominence_data is None:
        given = ss.peak_prominences(plain, peaks, wlen)
        prominences = _prominences(x, np.asarray(peaks, int), given[1], given[2])
    else:
        prominences = prominence_data[0]
        given = (untraced(prominences), *prominence_data[1:])
    found = ss.peak_widths(plain, peaks, untraced(rel_height), given)
    heights = x[np.asarray(peaks, int)] - prominences * rel_height
    left, right = _ends(x, heights, found[2], found[3])
    return right - left, heights, left, right


def _find_peaks(
    x: Value,
    height: Any,
    threshold: Any,
    distance: Any,
    prominence: Any,
    width: Any,
    wlen: Any,
    rel_height: float,
    plateau_size: Any,
) -> Any:
    """Conditions are constants: they choose."""
    x = as_array(x)
    peaks, properties = ss.find_peaks(
        untraced(x),
        untraced(height),
        untraced(threshold),
        untraced(distance),
        untraced(prominence),
        untraced(width),
        wlen,
        rel_height,
        untraced(plateau_size),
    )
    if "peak_heights" in properties:
        properties["peak_heights"] = x[peaks]
    if "left_thresholds" in properties:
        properties["left_thresholds"] = x[peaks] - x[peaks - 1]
        properties["right_thresholds"] = x[peaks] - x[peaks + 1]
    if "prominences" in properties:
        left, right = properties["left_bases"], properties["right_bases"]
        properties["prominences"] = _prominences(x, peaks, left, right)
    if "widths" in properties:
        heights = x[peaks] - properties["prominences"] * rel_height
        left, right = _ends(x, heights, properties["left_ips"], properties["right_ips"])
        properties.update(
            widths=right - left, width_heights=heights, left_ips=left, right_ips=right
        )
    return peaks, properties


expressed_by(find_peaks, _find_peaks, batch="loop")
composite(peak_prominences, _peak_prominences, batch="loop")
composite(peak_widths, _peak_widths, batch="loop")
