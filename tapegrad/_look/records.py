"""Records of events: what begins and ends in each thread, and functions whose calls are events.

Knows how an event is recorded while a recorder (`_profile`) runs. Must not know what is worth
recording: `events.py`.

The clock of an event leaves out what the watching itself takes (`clock.py`): times add up to what
the program would take alone, as far as that can be seen. What the watching does between two looks
at the clock is kept short: an event's begin is over when `Thread.lost` is set, and its end begins
with a look at the clock.
"""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import Callable
from time import perf_counter_ns as now
from types import FrameType
from typing import Any

from tapegrad._core.careful import replay_carefully, replay_forward_carefully
from tapegrad._core.fast.backward import by_definition, replay_backward, replay_within
from tapegrad._core.replay import replay_forward
from tapegrad._look.clock import Costs, Local, Made, Thread, events_of
from tapegrad._look.hints import CallStack
from tapegrad._look.kept import Kept
from tapegrad._look.lines import Base, Site, Sites
from tapegrad._profile.events import AGAIN, FUNCTION, PROGRAM, WHOLE, Detail, Event
from tapegrad._profile.recorder import Log

Function = Callable[..., Any]

_REPLAYS = tuple(
    replay.__code__
    for replay in (
        replay_backward,
        replay_within,
        by_definition,
        replay_carefully,
        replay_forward,
        replay_forward_carefully,
    )
)

UNKNOWN = Costs()


class Records:
    """Events that are noted as they begin and end.

    memory: whether to note what is allocated, by `tracemalloc`. outermost: see `Sites`. functions:
    whether to note the calls of the program's functions.
    """

    def __init__(
        self,
        *,
        memory: bool = False,
        outermost: FrameType | None = None,
        costs: Costs = UNKNOWN,
        functions: bool = False,
    ) -> None:
        self.stack = CallStack(outermost) if functions else None
        self.costs = costs
        self.log = Log()
        self.memory = memory
        self.local = Local()
        self.sites = Sites(outermost)
        self.kept: Kept | None = None  # of the recording that keeps most
        self.made = Made()
        self.records: list[int] = []  # flat: see `events_of`
        self._whole: Any = None
        self._held: list[Any] = []  # what is freed after the profile, as it would take time within

    # -- events ----------------------------------------------------------------------------------

    def _open(self, thread: Thread, made: int, kind: int, entered: int) -> Any:
        """An event begins: what to close it with. The caller adds to `lost` what this takes."""
        order = thread.order = thread.order + 1
        allocated = self._allocated(thread) if self.memory else 0
        depth = len(thread.peaks)
        if self.memory:
            thread.peaks.append(0)
        around = thread.made, thread.kind, thread.step, thread.base
        thread.made, thread.kind = made, kind
        begin = entered - thread.lost, thread.unseen
        return made, kind, begin, order, around, depth, allocated

    def _close(self, thread: Thread, opened: Any, entered: int) -> None:
        """The event ends, and with it all that an error has left open within."""
        made, kind, begin, order, around, depth, allocated = opened
        end = entered - thread.lost
        memory = peak = 0
        if self.memory:
            memory = self._allocated(thread) - allocated
            peak = max(thread.peaks[depth:])
            del thread.peaks[depth:]
            if depth:
                thread.peaks[-1] = max(thread.peaks[-1], peak)
        thread.made, thread.kind, thread.step, thread.base = around
        at, unseen = begin
        numbers = (kind, at, end, thread.ident, order, made, unseen, thread.unseen, memory, peak)
        self.records.extend(numbers)

    def _allocated(self, thread: Thread) -> int:
        """The bytes that the program holds; the peak since the last time is the event's."""
        held, peak = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        spent = self.log.spent
        if thread.peaks:
            thread.peaks[-1] = max(thread.peaks[-1], peak - spent)
        thread.held = held
        return held - spent

    def _leave(self, thread: Thread, entered: int) -> None:
        if self.memory:
            self.log.spent += tracemalloc.get_traced_memory()[0] - thread.held
        thread.lost += now() - entered

    def _here(self, thread: Thread, level: int) -> int:
        """The number of the site of the program; within a replay, that of the forward call.

        What the program's own functions do within a replay is at their lines, as called there.
        """
        return self.sites.within(sys._getframe(level), _REPLAYS, thread.step, thread.base)

    def begin_whole(self, title: str) -> None:
        """All that is profiled begins."""
        thread, entered = self.local.thread, now()
        self._whole = self._open(thread, self.made.new(title, -1), WHOLE, entered)
        self._leave(thread, entered)

    def end_whole(self) -> None:
        """It ends."""
        self._close(self.local.thread, self._whole, now())

    def forget(self) -> None:
        """Let go of the program's frames, which hold its arrays."""
        self.sites.outermost = None
        self._held.clear()
        self.stack = None

    def within(self, function: Function, kind: int, name: str | Function) -> Function:
        """A function whose calls are events without a line."""
        local, running = self.local, self.log.running

        def recorded(*args: Any, **kwargs: Any) -> Any:
            if not running:
                return function(*args, **kwargs)
            entered = now()
            thread = local.thread
            title = name if isinstance(name, str) else name(*args)
            base = site = -1
            if kind in (PROGRAM, AGAIN):
                base = self._here(thread, 2)
                site = base if kind == AGAIN else -1
            opened = self._open(thread, self.made.new(title, site), kind, entered)
            if base >= 0:
                thread.base = Base(sys._getframe(), base)
            inside, pushing, tapes = thread.inside, thread.pushing, len(thread.tapes)
            self._leave(thread, entered)
            try:
                return function(*args, **kwargs)
            finally:
                entered = now()
                thread.inside, thread.pushing = inside, pushing
                del thread.tapes[tapes:]
                self._close(thread, opened, entered)
                self._leave(thread, entered)

        return recorded

    def called(self, function: Function, name: Function, inside: bool = True) -> Function:
        """A function of traced values, whose outermost calls are events: see `calls.places`.

        inside: whether calls within it belong to it.
        """
        local, running, passing = self.local, self.log.running, self.costs.passing
        new = self.made.new

        def call(*args: Any, **kwargs: Any) -> Any:
            thread = local.thread
            if thread.inside or not running:
                thread.unseen += passing
                return function(*args, **kwargs)
            entered = now()
            thread.inside = inside
            made = new(name(*args), self._here(thread, 2))
            opened = self._open(thread, made, FUNCTION, entered)
            if self.memory:
                self._leave(thread, entered)
            else:
                thread.lost += now() - entered
            try:
                return function(*args, **kwargs)
            finally:
                entered = now()
                thread.inside = False
                self._close(thread, opened, entered)
                if self.memory:
                    self._leave(thread, entered)
                else:
                    thread.lost += now() - entered

        return call

    # -- results ---------------------------------------------------------------------------------

    def events(self) -> list[Event]:
        """The recording, with the lines of its sites."""
        details = [
            Detail(stack=tuple(f"{f.file}({f.line}): {f.function}" for f in site), site=site)
            for site in self.sites.sites()
        ]
        return events_of(self.records, self.costs, self.made, [*details, Detail()])

    def name_of(self, number: int) -> str:
        """The operation of a call."""
        return self.made.names[number]

    def site_of(self, number: int) -> Site:
        """The site of a call."""
        site = self.made.sites[number]
        return self.sites.sites()[site] if site >= 0 else ()


__all__ = ["Function", "Records"]
