"""The searches for NaNs of layers above, which a block of `debug_nans` opens too.

Knows nothing of them: a layer adds a function that opens its own.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

# Each takes `infinities`, whether these count as NaNs do, and returns a context manager.
LAYERS: list[Callable[[bool], AbstractContextManager[Any]]] = []

__all__ = ["LAYERS"]
