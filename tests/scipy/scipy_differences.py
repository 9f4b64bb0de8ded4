"""Gradients by central differences, element by element, for tests of SciPy's functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def differences_of(f: Callable[[Any], Any], x: Any, step: float = 1e-5) -> Any:
    """The gradient of a real function at an array: du/dx - i du/dy of a complex one."""
    found = np.zeros_like(x)
    for at in np.ndindex(x.shape):
        for unit in (1, 1j) if x.dtype.kind == "c" else (1,):
            moved = np.zeros_like(x)
            moved[at] = step * unit
            found[at] += np.conj(unit) * (f(x + moved) - f(x - moved)) / (2 * step)
    return found


__all__ = ["differences_of"]
