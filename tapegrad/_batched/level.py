"""`VmapLevel`, one call of vmap: which values belong to it, and the axis of their examples.

Knows the number of examples, and that a batched value has them along axis 0. Must not know how
such a value computes: `array.py` sets its class.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from tapegrad._core.tape import next_level
from tapegrad._core.types import Value
from tapegrad._core.values import Mapped
from tapegrad._errors import LeakedValueError


class VmapLevel:
    """One call of vmap: the number of examples, and whether it is still running."""

    __slots__ = ("level", "name", "open", "refused", "size")

    # Set by `_batched.array`: the class of batched values, and what makes one.
    array: type[Any] = Mapped
    batched: ClassVar[Callable[..., Any]]

    def __init__(self, name: str, size: int) -> None:
        self.name = name
        self.size = size
        self.level = next_level()
        self.open = True
        self.refused: dict[Any, Any] | None = None  # by the instruction that asked; the last last

    def require_open(self) -> None:
        """Raise LeakedValueError if the vmap has returned."""
        if not self.open:
            raise LeakedValueError(
                f"value from {self.name} used after {self.name} returned. A batched value lives "
                "as long as its vmap: return it from the function."
            )

    def owns(self, value: Value) -> bool:
        """Whether this call of vmap batches a value."""
        return isinstance(value, VmapLevel.array) and value.vmap_level is self

    def front(self, value: Value) -> Any:
        """A value with the examples along axis 0; an unbatched value is broadcast."""
        if isinstance(value, VmapLevel.array) and value.vmap_level is self:  # `owns`, written out
            return value._value
        if not hasattr(value, "shape"):
            value = np.asarray(value)
        return np.broadcast_to(value, (self.size, *value.shape))

    def fitted(self, value: Value, rank: int) -> Any:
        """A value with its examples along axis 0, broadcastable to an example of `rank` axes."""
        if not (isinstance(value, VmapLevel.array) and value.vmap_level is self):
            return value
        inner = value._value
        missing = rank - (len(inner.shape) - 1)
        if missing > 0:
            return np.reshape(inner, (self.size, *(1,) * missing, *inner.shape[1:]))
        if missing < 0:  # a write of shape (1, n) into n positions
            return np.reshape(inner, (self.size, *inner.shape[1 - missing :]))
        return inner

    def wrap(self, value: Value) -> Any:
        """A batched array for a result with the examples along axis 0."""
        return VmapLevel.batched(value, self)


__all__ = ["VmapLevel"]
