"""Numbers in order of time, for nodes, versions and hooks.

Must not know what the numbers are given to.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

STRETCH = 1 << 12  # numbers from one call of the listeners to the next
LISTENERS: list[Callable[[], None]] = []


class _Numbers(list[int]):
    """The numbers of a stretch; when the last was drawn the listeners are called."""

    def __del__(self) -> None:
        for listener in LISTENERS:
            listener()


# A loop of C as fast as a counter. Only the end of a stretch runs Python, when nothing is half
# done: another thread that comes then begins the next stretch, so numbers are unique and grow.
_ends = itertools.count(1 + STRETCH, STRETCH)
_stretches = map(_Numbers, map(range, itertools.count(1, STRETCH), _ends))
next_number: Callable[[], int] = itertools.chain.from_iterable(_stretches).__next__

__all__ = ["LISTENERS", "STRETCH", "next_number"]
