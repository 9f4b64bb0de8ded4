"""How often Python's collector looks through a long tape.

Python searches for cycles in all objects, those of the tape among them, each time that a quarter
has been added to these: of a tape that grows it looks at every entry several times. So while a
tape is long such a full search waits until a multiple of its entries has been made since the last.
Searches through young objects, which find most garbage of a program, stay as they are, and with
the tape goes the change of `gc.get_threshold()[2]`. To turn the collector off would be simpler,
but a program may run for hours within one transform, and make cycles that hold large arrays.

Knows thresholds of `gc`. Must not know what a tape is.
"""

from __future__ import annotations

import gc
import threading
from typing import Any

STRETCH = 1 << 12  # calls after which a tape that grows tells its length
# An entry has 1 to 4 objects at which the collector looks.
OBJECTS = 4

HELD: dict[Any, int] = {}  # who holds long tapes, and how many entries these have
_lock = threading.RLock()  # a search within it may let tapes go


class _Threshold:
    """That of full searches: what the program has set, and what is in its place."""

    usual = ours = gc.get_threshold()[2]


def hold(holder: Any, entries: int) -> None:
    """Let full searches be as rare as a tape of so many entries asks for."""
    HELD[holder] = entries
    _adjust()


def release(holder: Any) -> None:
    """Take back what `hold` has asked for, if it has."""
    if HELD.pop(holder, 0):
        _adjust()


def _adjust() -> None:
    now = _Threshold
    with _lock:
        young, middle, old = gc.get_threshold()
        if old != now.ours:  # the program has set its own since
            now.usual = old
        objects = OBJECTS * sum(list(HELD.values()))
        now.ours = max(now.usual, objects // max(young * middle, 1) if young else 0)
        gc.set_threshold(young, middle, now.ours)
