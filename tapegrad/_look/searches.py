"""The searches for NaNs of layers above, which a block of `debug_nans` opens too.

Knows nothing of them: a layer adds a function that opens its own.
"""

from collections.abc import Callable
from typing import Any

from tapegrad._block import Block

# Each takes `infinities`, whether these count as NaNs do, and returns a context manager.
Layer = Callable[[bool], Block[Any]]
LAYERS: list[Layer] = []

__all__ = ["LAYERS", "Layer"]
