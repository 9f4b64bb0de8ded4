"""Whether results are the same but for rounding.

Knows arrays and numbers. Must not know programs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

_UNITS = 16  # in the last place of the largest number: what is left of sums that cancel


def are_equal(found: list[Any], expected: list[Any]) -> bool:
    """Whether leaves of one structure are the same but for rounding."""
    scale = max(map(_largest, expected), default=0.0)
    return all(_equal(a, b, scale) for a, b in zip(found, expected, strict=True))


def _largest(leaf: Any) -> float:
    """The largest finite number in a leaf."""
    if not isinstance(leaf, (np.ndarray, np.generic, float, complex)):
        return 0.0
    x = np.asarray(leaf)
    if x.dtype.kind not in "fc":
        return 0.0
    return float(np.max(np.abs(x), initial=0, where=np.isfinite(x)))


def _equal(a: Any, b: Any, scale: float) -> bool:
    if not isinstance(b, (np.ndarray, np.generic, float, complex)):
        return bool(a == b)
    a, b = np.asarray(a), np.asarray(b)
    if a.shape != b.shape or b.dtype.kind not in "fc":
        return np.array_equal(a, b)
    eps = float(np.finfo(b.dtype).eps)
    room = max(eps**0.5 * _largest(b), _UNITS * eps * scale)
    return np.allclose(a, b, rtol=0, atol=room, equal_nan=True)


__all__ = ["are_equal"]
