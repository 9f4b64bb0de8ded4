"""Times of events as if nothing watched them: records in, events with their times out.

Knows what a thread that is watched is at, and what watching takes: most of it is seen by a clock
and left out as it happens (`Thread.lost`), the rest was measured beforehand (`Costs`). Must not
know what is watched.
"""

from __future__ import annotations

import heapq
import itertools
import threading
from collections.abc import Mapping, Sequence
from operator import attrgetter
from threading import get_ident
from typing import Any, NamedTuple

from tapegrad._look.lines import NO_BASE
from tapegrad._profile.events import FUNCTION, Detail, Event

SHARE = 8  # of the time between two events, one part of so many is left at least


class Costs(NamedTuple):
    """Nanoseconds that watching takes and no clock sees.

    passing: a call within a call. logging: an entry of the tape. within, around: of an event, by
    its kind: between its begin and its end, and before and after these. A call that has a name
    in `within` has what is there.
    """

    passing: int = 0
    logging: int = 0
    within: Mapping[int | str, int] = {}
    around: Mapping[int, int] = {}


class Made:
    """Calls by number: the names of their operations, and the numbers of their sites.

    Numbers, and no tuples: what would be one more object for Python's garbage collection to count
    at each event would bring about collections, in the time of the program.
    """

    __slots__ = ("_numbers", "names", "sites")

    def __init__(self) -> None:
        self._numbers = itertools.count()
        self.names = {-1: ""}
        self.sites = {-1: -1}

    def new(self, name: str, site: int) -> int:
        """The number of a new call."""
        number = next(self._numbers)
        self.names[number], self.sites[number] = name, site
        return number


class Thread:
    """Position of a thread."""

    __slots__ = (
        "base",
        "held",
        "ident",
        "inside",
        "kind",
        "lost",
        "made",
        "order",
        "peaks",
        "pushing",
        "step",
        "tapes",
        "unseen",
    )

    def __init__(self) -> None:
        self.ident = get_ident()
        self.lost = 0  # nanoseconds of watching until now
        self.unseen = (
            0  # nanoseconds that no clock has seen: of calls within calls, and of entries
        )
        self.order = 0  # how many events have begun
        self.inside = self.pushing = False  # a call, the pushing of a tangent
        self.made = -1  # the number of the innermost event: see `Made`
        self.kind = -1  # of the innermost event
        self.base = NO_BASE  # the innermost run of a function
        self.step: int | None = None  # the site of the innermost step of a replay
        self.tapes: list[dict[Any, Any]] = []  # the calls by slot, of the replays that run
        self.peaks: list[int] = []  # of the open events, where memory is watched
        self.held = 0  # bytes, when the watching was entered


class Local(threading.local):
    """The thread that runs."""

    def __init__(self) -> None:
        self.thread = Thread()


FIELDS = 10  # of a record
UNSEEN = 6, 7  # of these, `Thread.unseen` at the begin and the end


def events_of(
    records: Sequence[int], costs: Costs, made: Made, details: Sequence[Detail]
) -> list[Event]:
    """The events of records, in order of their begin, nested, without what watching them took.

    A record is `FIELDS` numbers, added when its event ends: kind, begin, end, thread, the order of
    its begin in its thread, its number (`Made`), `Thread.unseen` at its begin and its end, and
    bytes: what was allocated, and the peak. details: by the number of a site; the last one is of
    those without.
    """
    threads: dict[int, list[_Numbered]] = {}
    fields = [iter(records)] * FIELDS
    for at, record in enumerate(zip(*fields, strict=False)):
        threads.setdefault(record[3], []).append((at, record))
    found = [_of_thread(one, costs, made, details) for one in threads.values()]
    return found[0] if len(found) == 1 else list(heapq.merge(*found, key=attrgetter("begin")))


_Numbered = tuple[int, Any]  # a record, after its place in the order of ends


def _of_thread(
    records: list[_Numbered], costs: Costs, made: Made, details: Sequence[Detail]
) -> list[Event]:
    """Those of one thread.

    The time goes on from one begin or end to the next; what watching took between them is taken
    off that time alone, and never all of it.
    """
    records.sort(key=_order)
    inner: dict[Any, int] = {kind: cost // 2 for kind, cost in costs.within.items()}
    outer = {kind: cost // 2 for kind, cost in costs.around.items()}
    found: list[Event] = []
    stack: list[tuple[int, Any, Event]] = []
    clock = last = records[0][1][1]
    cost = known = 0  # what is taken off after `last`, and what was until then

    def go_on(time: int, unseen: int, more: int) -> int:
        """The clock at a time; what is unseen until then, and what comes before a begin or end."""
        gap = time - last
        return clock + max(gap - (unseen - known) - cost - more, gap // SHARE, 0)

    def within(kind: int, name: str) -> int:
        cost = inner.get(kind, 0)
        return inner.get(name, cost) if kind == FUNCTION else cost

    end = (1 + max(at for at, _ in records), None)
    for at, record in itertools.chain(records, [end]):
        while stack and stack[-1][0] < at:  # it ended before this one did: it is not around it
            _, ended, event = stack.pop()
            event.end = clock = go_on(ended[2], ended[7], within(ended[0], event.name))
            last, known, cost = ended[2], ended[7], outer.get(ended[0], 0)
        if record is None:
            break
        kind, begin, _, thread, _, number, unseen, _, memory, peak = record
        name, site = made.names[number], made.sites[number]
        clock = go_on(begin, unseen, outer.get(kind, 0))
        last, known, cost = begin, unseen, within(kind, name)
        event = Event(name, kind, clock, clock, thread, None)
        detail = details[site]
        event.detail = Detail((), memory, detail.stack, number, detail.site, peak)
        if stack:
            event.parent = parent = stack[-1][2]
            parent.children.append(event)
        stack.append((at, record, event))
        found.append(event)
    return found


def _order(numbered: _Numbered) -> int:
    return int(numbered[1][4])


__all__ = ["FIELDS", "UNSEEN", "Costs", "Local", "Made", "Thread", "events_of"]
