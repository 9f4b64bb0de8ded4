"""How often Python's collector looks through a long tape.

Python searches for cycles in all objects, the tape among them, each time that a quarter has been
added to them: the longer the tape, the longer each search. While a tape is long such a full search
comes only when a multiple of what the tape holds has been made since the last one. Garbage of the
program is still found, most of it in the searches through young objects, which stay as they are;
what the program has set is set again when the tape ends.

Knows thresholds of `gc`. Must not know what a tape is.
"""

from __future__ import annotations

import gc
import threading
from typing import Any

STRETCH = 1 << 12  # calls after which a tape that grows tells its length
# A call makes 2 to 4 objects for its entry that the collector looks at.
OBJECTS = 4

_HELD: dict[Any, int] = {}  # who holds long tapes, and how many calls they have
_LOCK = threading.Lock()


class _Thresholds:
    """The thresholds that the program has set, and those in their place."""

    usual = ours = gc.get_threshold()
    settled = True


def hold(holder: Any, calls: int) -> None:
    """Let full searches be as rare as a tape of so many calls asks for."""
    _HELD[holder] = calls
    _adjust()


def release(holder: Any) -> None:
    """Take back what was asked for; nothing if there was nothing."""
    if _HELD and _HELD.pop(holder, 0):
        _adjust()


def _adjust() -> None:
    # No waiting for the lock: a tape may end while its own thread has it, within a search.
    now = _Thresholds
    now.settled = False
    while not now.settled and _LOCK.acquire(blocking=False):
        try:
            now.settled = True
            found = gc.get_threshold()
            if found != now.ours:  # the program has set its own since
                now.usual = found
            young, middle, old = now.usual
            if young:  # else nothing is searched by itself
                made = OBJECTS * sum(list(_HELD.values()))
                now.ours = young, middle, max(old, made // (young * max(middle, 1)))
                gc.set_threshold(*now.ours)
        finally:
            _LOCK.release()
