"""Numbers in order of time, for nodes, versions and hooks.

Must not know what the numbers are given to.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable
from typing import Any

STRETCH = 1 << 12  # numbers from one call of the listeners to the next


class _Zero:
    """A zero that calls `listeners` when it is added."""

    def __init__(self) -> None:
        self.listeners: list[Callable[[], None]] = []

    def __radd__(self, number: int) -> int:
        for listener in self.listeners:
            listener()
        return number


ZERO = _Zero()
_zeros: Any = itertools.cycle((*(0,) * (STRETCH - 1), ZERO))
# A loop of C: each number is drawn before anything of Python runs, so threads get them in order.
next_number: Callable[[], int] = map(operator.add, itertools.count(1), _zeros).__next__

__all__ = ["STRETCH", "ZERO", "next_number"]
