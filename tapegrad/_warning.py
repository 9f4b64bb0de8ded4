"""Warnings at the line of the program that is to be changed.

Knows which frames are this package's. Must not know what is warned of.
Python shows a DeprecationWarning by default only where it names a line of the program itself.
What NumPy would warn of at a line of ours is therefore not asked of NumPy, and warned of here.
Recording its warnings would not do: `warnings.catch_warnings` is not safe among threads, and lets
every line warn anew that has warned already.
"""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from typing import Any

import numpy as np

# The folder of tapegrad, and that of NumPy, whose np.errstate stands between our frames.
OURS = tuple(os.path.dirname(os.path.abspath(file)) + os.sep for file in (__file__, np.__file__))
COUNT = [0]  # of all warnings so far: what has warned must be called again, to warn again
CONTEXTLIB = contextlib.contextmanager.__code__.co_filename


def warn(text: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the innermost line outside this package, however deep the call stands in it."""
    COUNT[0] += 1
    level = 2
    frame: Any = sys._getframe(1)
    while frame.f_back is not None and is_ours(frame.f_code.co_filename):
        frame = frame.f_back
        level += 1
    warnings.warn(text, category, stacklevel=level)


def is_ours(file: str) -> bool:
    """Whether a file of code is this package's, or one that stands between its own."""
    return file.startswith(OURS) or file == CONTEXTLIB


__all__ = ["COUNT", "is_ours", "warn"]
