"""Whether what a library gives is what the reference has: a sentence that says how it differs.

Knows how much two right libraries may differ by. Must not know programs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.testing._machines.reference import Slope
from tapegrad.testing._machines.texts import array_text

Array = Any


def value_differs(text: str, found: Array, expected: Array, rtol: float) -> str:
    """How a value differs from NumPy's: "" where it does not."""
    if np.shape(found) != expected.shape:
        return f"{text} has the shape {np.shape(found)}, and {expected.shape} in NumPy"
    allowed = rtol * (1.0 + np.abs(expected))
    if np.all(np.abs(found - expected) <= allowed):
        return ""
    return _differing(text, found, expected, allowed)


def slope_differs(
    text: str, found: Array, slope: Slope, rtol: float, shape: tuple[int, ...] = ()
) -> str:
    """How a derivative of a shape differs from the one that was measured: "" where it does not."""
    if np.shape(found) != shape:
        return f"{text} has the shape {np.shape(found)}, and its value {shape}"
    allowed = (rtol * (1.0 + slope.size) + 4.0 * slope.error).reshape(shape)
    expected = slope.best.reshape(shape)
    if np.all((np.abs(found - expected) <= allowed) | np.isinf(allowed)):
        return ""
    return _differing(text, found, expected, allowed)


def _differing(text: str, found: Array, expected: Array, allowed: Array) -> str:
    """Found and expected values, with an error bound."""
    error = float(np.max(np.where(np.isfinite(allowed), allowed, 0.0), initial=0.0))
    return (
        f"{text} is\n    {array_text(found)}\nand the reference has\n    "
        f"{array_text(expected)}\nwhich may be off by {error:.1e}"
    )
