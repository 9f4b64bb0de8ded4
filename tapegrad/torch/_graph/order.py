"""Numbers in order of time, for nodes, versions and hooks.

Must not know what the numbers are given to.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

STRETCH = 1 << 12  # numbers from one call of the listeners to the next
_PART = 1 << 8  # numbers that are in memory at a time; a stretch has many of these parts
LISTENERS: list[Callable[[], None]] = []


class _Numbers(list[int]):
    """Some of the numbers; when the last of a stretch was drawn the listeners are called."""

    def __del__(self) -> None:
        if not self[-1] % STRETCH:
            for listener in LISTENERS:
                listener()


# A loop of C as fast as a counter. Only the end of a part runs Python, when nothing is half done:
# another thread that comes then begins the next part, so numbers are unique and grow.
_ends = itertools.count(1 + _PART, _PART)
_parts = map(_Numbers, map(range, itertools.count(1, _PART), _ends))
next_number: Callable[[], int] = itertools.chain.from_iterable(_parts).__next__

__all__ = ["LISTENERS", "STRETCH", "next_number"]
