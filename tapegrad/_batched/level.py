"""`VmapLevel`, one call of vmap: which values are its own, and where their examples lie.

Knows how many examples there are, and that a batched value has them along axis 0. Must not know
what such a value does: `_mapped` sets its class.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad._core.tape import next_level
from tapegrad._core.types import Value
from tapegrad._core.values import Mapped
from tapegrad._errors import LeakedValueError


class VmapLevel:
    """One call of vmap: how many examples there are, and whether it is still running."""

    __slots__ = ("level", "name", "open", "size")

    array: type[Any] = Mapped  # the class of batched values: `_mapped` sets its own

    def __init__(self, name: str, size: int) -> None:
        self.name = name
        self.size = size
        self.level = next_level()
        self.open = True

    def require_open(self) -> None:
        """Raise LeakedValueError if the vmap has returned."""
        if not self.open:
            raise LeakedValueError(
                f"value from {self.name} used after {self.name} returned. A batched value lives "
                "as long as its vmap: return it from the function."
            )

    def owns(self, value: Value) -> bool:
        """Whether a value is this vmap's: it shows one of these examples."""
        return isinstance(value, VmapLevel.array) and value.vmap_level is self

    def front(self, value: Value) -> Any:
        """A value with the examples along axis 0: its own, or itself for each."""
        if isinstance(value, VmapLevel.array) and value.vmap_level is self:  # `owns`, written out
            return value.value
        if not hasattr(value, "shape"):
            value = np.asarray(value)
        return np.broadcast_to(value, (self.size, *value.shape))

    def fitted(self, value: Value, rank: int) -> Any:
        """A value of up to `rank` axes beside others with their examples along axis 0."""
        if not (isinstance(value, VmapLevel.array) and value.vmap_level is self):
            return value
        inner = value.value
        missing = rank - (len(inner.shape) - 1)
        if missing > 0:
            return np.reshape(inner, (self.size, *(1,) * missing, *inner.shape[1:]))
        if missing < 0:  # a write of (1, n) into n places
            return np.reshape(inner, (self.size, *inner.shape[1 - missing :]))
        return inner

    def wrap(self, value: Value) -> Any:
        """A result with the examples along axis 0, as the function sees it."""
        return VmapLevel.array(value, self)


__all__ = ["VmapLevel"]
