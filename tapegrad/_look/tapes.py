"""The lines of all tapes that are made within a block.

Knows that a tape's `log` can be another function. Where no block is open, nothing of this is in
place, and nothing is paid.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

from tapegrad._block import contextmanager, undoing
from tapegrad._core.entry import Entry
from tapegrad._core.tape import Tape
from tapegrad._look.lines import Site, Sites
from tapegrad._profile.switch import Place, Switch
from tapegrad._transforms.recording import Recording

_LOCK = threading.RLock()
_SWITCH = Switch()
_OPEN: dict[object, None] = {}  # blocks


class Lines:
    """The sites of the entries of one tape, and of those that share its entries."""

    def __init__(self) -> None:
        self.sites = Sites()
        self.numbers: dict[Any, int] = {}

    def log_of(self, log: Callable[[Entry], None]) -> Callable[[Entry], None]:
        """A `log` that notes the line first."""
        numbers, here = self.numbers, self.sites.here

        def logged(entry: Entry) -> None:
            numbers[entry[0]] = here()
            log(entry)

        return logged


def site_of(tape: Tape, slot: Any) -> Site:
    """Where the entry of a slot was logged; empty if it was logged outside of all blocks."""
    lines = getattr(tape.root, "lines", None)
    if lines is None or slot not in lines.numbers:
        return ()
    site: Site = lines.sites.sites()[lines.numbers[slot]]
    return site


def _places() -> Iterator[Place]:
    begin = Recording.__init__

    def noted(self: Recording, name: str, copies: bool = False) -> None:
        begin(self, name, copies)
        root: Any = self.tape.root
        if self.tape.parent is None:
            root.lines = Lines()
            self.tape.log = root.lines.log_of(self.tape.log)

    yield Place(Recording, "__init__", noted)


@contextmanager
def noted() -> Iterator[None]:
    """Note the lines of the tapes that are made within the block, in all threads."""
    block = object()

    def leave() -> None:
        with _LOCK:
            _OPEN.pop(block, None)
            if not _OPEN:
                _SWITCH.restore()

    with undoing(leave):
        with _LOCK:
            if not _OPEN:
                _SWITCH.put(_places())
            _OPEN[block] = None
        yield


__all__ = ["Lines", "noted", "site_of"]
