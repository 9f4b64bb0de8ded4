"""First calls of their kind, which the tape has twice.

Knows that a function is called by its rule and, if that plans how such calls are made, once more
in the planned way, whose result the program gets. A view shows the second alone. Must not know
what else a view shows.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

from tapegrad._arrays import functions as plain
from tapegrad._arrays import planned_functions as functions
from tapegrad._core.entry import Entry, parents_of
from tapegrad._core.fast.call_plans import learn
from tapegrad._look.watching import Watching
from tapegrad._profile.switch import Place


class _Local(threading.local):
    """Entries of a thread; other threads, which the switch watches too, have logged none."""

    def __init__(self) -> None:
        self.order: list[int] = []  # all slots, as they are logged
        self.mark = 0  # where those of the last call by rule begin
        self.waiting: list[int] = []  # replaced, by what is logged next


class FirstCalls:
    """Notes, within a block of `watched`, which entries a second call has replaced."""

    def __init__(self) -> None:
        self.local = _Local()
        self.replaced: dict[int, int] = {}

    def note(self, slot: int) -> None:
        """An entry is logged."""
        local = self.local
        local.order.append(slot)
        if local.waiting:
            self.replaced.update(dict.fromkeys(local.waiting, slot))
            local.waiting = []

    def watched(self) -> AbstractContextManager[None]:
        """The block."""
        return _WATCHING.by(self)

    def without_repeats(self, entries: Sequence[Entry], kept: dict[int, int]) -> list[Entry]:
        """The entries that were not replaced, or that others read.

        The bytes that the others keep are added to those that replaced them.
        """
        found: list[Entry] = []
        read: set[int] = set()
        for entry in reversed(entries):
            slot = entry[0]
            if slot in self.replaced and slot not in read:
                to = self.replaced[slot]
                if slot in kept:
                    kept[to] = kept.get(to, 0) + kept.pop(slot)
                continue
            read.update(parents_of(entry))
            found.append(entry)
        return found[::-1]


def _places() -> Iterator[Place]:
    by_rule = plain.by_rule

    def marked(*args: Any) -> Any:
        watching = [(one.local, len(one.local.order)) for one in _WATCHING.watchers]
        result = by_rule(*args)
        for local, mark in watching:
            local.mark = mark
        return result

    yield Place(functions, "by_rule", marked)
    yield Place(functions, "learn", _noting(learn))


def _noting(learning: Callable[..., Any]) -> Callable[..., Any]:
    def noted(*args: Any) -> Any:
        plan = learning(*args)
        if plan is not None:
            for one in _WATCHING.watchers:
                one.local.waiting += one.local.order[one.local.mark :]
        return plan

    return noted


_WATCHING: Watching[FirstCalls] = Watching(_places)

__all__ = ["FirstCalls"]
