"""A claimed derivative against a measured one: right, wrong, or at a place where there is none.

Knows what was measured, and what a derivative may be at a kink: any value between the slopes of
the two sides. Must not know transforms.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tapegrad._core.quiet import silence
from tapegrad.testing._measuring.verdicts import (
    EDGE,
    JUMP,
    KINK,
    NOISY,
    SMOOTH,
    STEEP,
    UNDEFINED,
    Measured,
)

SAFETY = 2.0  # errors of differences are estimates
BROKEN = (KINK, STEEP, JUMP)


class Bounds(NamedTuple):
    """Between what a derivative may lie, without and with what the bounds may be off by."""

    low: Any
    high: Any
    error: Any


def bounds_of(measured: Measured) -> Bounds:
    """Derivatives that can be told from the measurement; everything, if nothing can."""
    low: Any = np.where(
        _is(measured, *BROKEN), np.fmin(measured.left, measured.right), measured.slope
    )
    high: Any = np.where(
        _is(measured, *BROKEN), np.fmax(measured.left, measured.right), measured.slope
    )
    error: Any = np.where(_is(measured, KINK), measured.side_error, measured.error)
    error = np.where(_is(measured, NOISY), 15 * error, error)  # of noise even its size is unsure
    # Of a slope that grows without bound it is only known that it is at least what was seen.
    is_steep = _is(measured, STEEP)
    seen = np.where(np.isfinite(measured.slope), measured.slope, 0.0)
    low = np.where(is_steep & (low == np.inf), np.minimum(seen, 0.5 * abs(seen)), low)
    high = np.where(is_steep & (high == -np.inf), np.maximum(seen, -0.5 * abs(seen)), high)
    error = np.where(is_steep, 0.0, error)
    everything = _is(measured, JUMP, UNDEFINED)
    low, high = np.where(everything, -np.inf, low), np.where(everything, np.inf, high)
    return Bounds(low, high, np.where(everything, 0.0, SAFETY * error))


def weighted(bounds: Bounds, weights: Any) -> Bounds:
    """The bounds of a sum of elements times weights, as vectors of one element."""
    with silence():
        ends = np.stack([bounds.low * weights, bounds.high * weights])
        ends = np.where(weights == 0, 0.0, ends)
        low, high = np.sum(np.min(ends, axis=0)), np.sum(np.max(ends, axis=0))
        error = np.sum(bounds.error * np.abs(weights))
    low = -np.inf if np.isnan(low) else low
    high = np.inf if np.isnan(high) else high
    return Bounds(*(np.atleast_1d(value) for value in (low, high, error)))


def outside(claim: Any, bounds: Bounds, allowed: Any) -> Any:
    """How far a claim is out of bounds, beyond all that is uncertain; inf for NaN."""
    with silence():
        slack = bounds.error + allowed
        above, below = claim - bounds.high, bounds.low - claim
        above = np.where(claim == bounds.high, 0.0, above)
        below = np.where(claim == bounds.low, 0.0, below)
        over = np.maximum(above, below) - slack
    unbounded = np.isneginf(bounds.low) & np.isposinf(bounds.high)
    over = np.where(np.isnan(over) & ~unbounded, np.inf, over)
    return np.where(unbounded, 0.0, np.maximum(over, 0.0))


def describe_place(measured: Measured, at: int, unit: float = 1.0) -> str:
    """Feature at an element, in words: "a kink lies here: one-sided slopes -1 and 1".

    unit: what the argument moves by, along a path from 0 to 1.
    """
    code = int(measured.verdict[at])
    left, right = measured.left[at] / unit, measured.right[at] / unit
    left, right = (left + 0.0, right + 0.0) if unit > 0 else (right + 0.0, left + 0.0)
    slopes = f"one-sided slopes {left:.6g} and {right:.6g}"
    return {
        SMOOTH: f"the slope is {measured.slope[at]:.9g} ± {measured.error[at]:.1g}",
        EDGE: "the function is finite on one side only: "
        f"the slope there is {measured.slope[at]:.6g} ± {measured.error[at]:.1g}",
        KINK: f"a kink lies here: {slopes}",
        STEEP: f"the slope grows without bound here: {slopes}",
        JUMP: f"a jump lies here: {slopes}",
        NOISY: f"the slope {measured.slope[at]:.3g} ± {measured.error[at]:.1g} is lost in the "
        f"noise of the function, {measured.noise[at]:.1g} at the value {measured.value[at]:.3g}",
        UNDEFINED: "differences do not settle here, or the function is not finite",
    }[code]


def first_of(measured: Measured, *codes: int) -> int | None:
    """The first element with one of these verdicts."""
    found = np.flatnonzero(_is(measured, *codes))
    return int(found[0]) if found.size else None


def _is(measured: Measured, *codes: int) -> Any:
    return np.isin(measured.verdict, codes)
