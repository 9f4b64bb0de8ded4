"""Whether one object alone holds a value, which may then be written to in place.

Knows how Python counts references. Must not know tapes, or what holds values.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad._core.values import Mapped, Traced

references: Callable[[Any], int] = getattr(sys, "getrefcount", lambda _: sys.maxsize)


class _Holder:
    """Holds a value as a traced or a batched array does, to count its references."""

    __slots__ = ("_value",)

    def __init__(self) -> None:
        self._value = np.empty(1)

    def count(self) -> int:
        value = self._value
        return references(value)


# The result of `value = x._value; references(value)` if only x holds the value.
ALONE = _Holder().count()


def is_own(value: Any) -> bool:
    """Whether a value that one object holds shares its memory with no other value."""
    if type(value) is np.ndarray:
        return value.base is None
    if isinstance(value, Traced):
        return not value.is_view
    return isinstance(value, Mapped) and value.is_alone()


__all__ = ["ALONE", "is_own", "references"]
