"""NumPy's linear algebra, for lists of traced values too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.numpy import _lists

if TYPE_CHECKING:  # the names and types are NumPy's
    from numpy.linalg import *  # noqa: F403

__all__ = list(np.linalg.__all__)


def __getattr__(name: str) -> Any:
    found = _lists.look_up(np.linalg, name)
    globals()[name] = found  # the next access finds it without this call
    return found


def __dir__() -> list[str]:
    return dir(np.linalg)
