"""Floating-point warnings off, at the tenth of a small operation's price.

Knows that NumPy holds its error state in a context variable. Must not know tapes.

`np.errstate` builds a new state each time that it is entered, which costs as much as the operation
inside. Forward mode computes a tangent for each call of the program, and must not warn about it.
"""

from __future__ import annotations

import contextvars
from typing import Any

import numpy as np


def _state_of_silence() -> tuple[Any, Any]:
    """NumPy's context variable of its error state, and the value by which nothing warns."""
    before = dict(contextvars.copy_context().items())
    with np.errstate(all="ignore"):
        for variable, state in contextvars.copy_context().items():
            if variable.name.startswith("numpy") and before.get(variable) is not state:
                return variable, state
    raise ImportError("NumPy's error state: expected a context variable, found none.")


# In place of np.errstate(all="ignore"): `token = VARIABLE.set(SILENT)`, `VARIABLE.reset(token)`.
VARIABLE, SILENT = _state_of_silence()

__all__ = ["SILENT", "VARIABLE"]
