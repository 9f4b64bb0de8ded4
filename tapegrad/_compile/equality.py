"""Whether results are the same: to the bit, or but for the rounding of machine code.

Knows arrays and numbers. Must not know programs.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def are_equal(found: list[Any], expected: list[Any], *, exact: bool, scale: float = 0.0) -> bool:
    """Whether leaves of one structure are the same."""
    return all(equal(a, b, exact=exact, scale=scale) for a, b in zip(found, expected, strict=True))


def largest(leaf: Any) -> float:
    """The largest finite number in a result."""
    if not isinstance(leaf, (np.ndarray, np.generic, float, complex)):
        return 0.0
    x = np.asarray(leaf)
    if x.dtype.kind not in "fc":
        return 0.0
    return float(np.max(np.abs(x), initial=0, where=np.isfinite(x)))


def equal(a: Any, b: Any, *, exact: bool, scale: float) -> bool:
    """Whether two results are the same; machine code's, but for rounding, at some scale."""
    if not isinstance(b, (np.ndarray, np.generic, float, complex)):
        return bool(a == b)
    a, b = np.asarray(a), np.asarray(b)
    if exact or a.shape != b.shape or b.dtype.kind not in "fc":
        return np.array_equal(a, b, equal_nan=a.dtype.kind in "fc")
    small = float(np.sqrt(np.finfo(b.dtype).eps))
    scale = max(scale, largest(b))
    return np.allclose(a, b, rtol=small, atol=small * scale, equal_nan=True)


__all__ = ["are_equal", "largest"]
