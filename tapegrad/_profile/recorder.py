"""The recorder: functions that record their calls, and the events of one profile.

Knows clocks, threads, frames and Python's account of memory. Must not know which functions are
worth recording, or what their arguments are beyond a shape.

A record is a tuple in the list of a `Log`, which all threads and the recorders that run on it
share: appending to a list is safe. Of it, a recorder takes what began after its start. `LOG` is
that of the functions that layers declare (`switch.py`); who watches by other means has its own.
"""

from __future__ import annotations

import sys
import threading
import tracemalloc
from collections.abc import Callable, Sequence
from threading import get_ident
from time import perf_counter_ns as now
from time import time_ns
from typing import Any, Self

from tapegrad._block import undoing
from tapegrad._profile.events import BACKWARD, FUNCTION, USER, Event, nested
from tapegrad._profile.switch import switch_in, switch_out, watcher
from tapegrad._warning import is_ours

Function = Callable[..., Any]
# The name of a call: a string, or a function of its arguments that returns one.
Name = str | Function

_LOCK = threading.RLock()


class Log:
    """Recorded data: shared by the recorders that run on it.

    declared: whether it is of the functions that layers declare, which are put in place while a
    recorder runs. shapes, memory, stack: whether any recorder asks for it.
    """

    def __init__(self, *, declared: bool = False) -> None:
        self.declared = declared
        self.running: list[Recorder] = []
        self.records: list[tuple[Any, ...]] = []
        self.append = self.records.append
        self.shapes = self.memory = self.stack = False
        self.spent = 0  # bytes that the records themselves take

    @property
    def detailed(self) -> bool:
        """Whether more than times is recorded."""
        return self.shapes or self.memory or self.stack

    def __repr__(self) -> str:
        return "a profile"

    def recording(
        self,
        function: Function,
        name: Name,
        kind: int = FUNCTION,
        number: Function | None = None,
    ) -> Function:
        """A function that calls another and records the call.

        name: of the event, or a function of the arguments that returns it, or None for a call that
        is not recorded. number: finds the number of a call from its result; see `events.Detail`.
        """
        if self.memory:
            return self._measured(function, name, kind, number)
        if self.detailed:
            return self._described(function, name, kind, number)
        if isinstance(name, str):
            return self._timed(function, name, kind)
        return self._named(function, name, kind)

    def _timed(self, function: Function, name: str, kind: int) -> Function:
        append, running = self.append, self.running

        def recorded(*args: Any, **kwargs: Any) -> Any:
            if not running:  # the program kept this function after the profile
                return function(*args, **kwargs)
            begin = now()
            try:
                return function(*args, **kwargs)
            finally:
                append((name, kind, begin, now(), get_ident(), None))

        return recorded

    def _named(self, function: Function, name: Function, kind: int) -> Function:
        append, running = self.append, self.running

        def recorded(*args: Any, **kwargs: Any) -> Any:
            label = name(*args, **kwargs) if running else None
            if label is None:
                return function(*args, **kwargs)
            begin = now()
            try:
                return function(*args, **kwargs)
            finally:
                append((label, kind, begin, now(), get_ident(), None))

        return recorded

    def _described(
        self, function: Function, name: Name, kind: int, number: Function | None
    ) -> Function:
        append, shaped, stacked = self.append, self.shapes and kind == FUNCTION, self.stack

        def recorded(*args: Any, **kwargs: Any) -> Any:
            label = name if isinstance(name, str) else name(*args, **kwargs)
            if label is None or not self.running:
                return function(*args, **kwargs)
            shapes = shapes_of((*args, *kwargs.values()) if kwargs else args) if shaped else ()
            frames = frames_of() if stacked else ()
            made = None
            begin = now()
            try:
                made = function(*args, **kwargs)
                return made
            finally:
                end = now()
                at = -1 if number is None else number(made)
                append((label, kind, begin, end, get_ident(), (shapes, 0, frames, at)))

        return recorded

    def _measured(
        self, function: Function, name: Name, kind: int, number: Function | None
    ) -> Function:
        append = self.append

        def recorded(*args: Any, **kwargs: Any) -> Any:
            label = name if isinstance(name, str) else name(*args, **kwargs)
            if label is None or not self.running:
                return function(*args, **kwargs)
            first = self.allocated()
            shaped = self.shapes and kind == FUNCTION
            shapes = shapes_of((*args, *kwargs.values())) if shaped else ()
            frames = frames_of() if self.stack else ()
            made = None
            before = self.allocated()
            self.spent += before - first
            begin = now()
            try:
                made = function(*args, **kwargs)
                return made
            finally:
                end = now()
                after = self.allocated()
                at = -1 if number is None else number(made)
                detail = (shapes, after - before, frames, at)
                append((label, kind, begin, end, get_ident(), detail))
                self.spent += self.allocated() - after

        return recorded

    def begin(self, titles: tuple[str, str], number: int, shape: Sequence[int]) -> Any:
        """Begin a step of a backward pass, for `end`. titles: of the outer and the inner event."""
        if self.detailed:
            return titles, now(), number, shape, self.allocated()
        return titles, now(), number, (), 0

    def end(self, step: Any) -> None:
        """End a step: two events, of which one is all that the other does."""
        end = now()
        (outer, inner), begin, number, shape, before = step
        thread = get_ident()
        if self.detailed:
            after = self.allocated()
            shapes = [list(shape)] if self.shapes else ()
            detail = (shapes, after - before, (), number)
            self.append((inner, BACKWARD, begin, end, thread, detail))
            self.append((outer, BACKWARD, begin, end, thread, ((), *detail[1:])))
            self.spent += self.allocated() - after
        else:
            self.append((inner, BACKWARD, begin, end, thread, None))
            self.append((outer, BACKWARD, begin, end, thread, None))

    def allocated(self) -> int:
        """The bytes that the program holds now; 0 where no recorder asks for memory."""
        return tracemalloc.get_traced_memory()[0] - self.spent if self.memory else 0


LOG = Log(declared=True)


class Recorder:
    """One profile: records calls of all threads between `start` and `stop`.

    shapes: of the arguments. memory: bytes that each call allocated less those that it freed, as
    `tracemalloc` counts them, for Python's objects and NumPy's arrays, in all threads. stack: the
    frames of the program at each call. log: where the records are. Several recorders may run at a
    time.
    """

    def __init__(
        self,
        *,
        shapes: bool = False,
        memory: bool = False,
        stack: bool = False,
        log: Log = LOG,
    ) -> None:
        self.log = log
        self.shapes, self.memory, self.stack = shapes, memory, stack
        self.begin = self.end = self.wall = 0
        self.records: list[tuple[Any, ...]] = []
        self.threads: dict[int, str] = {}
        self.first = 0
        self.traces = False  # whether this recorder started tracemalloc
        self.open = False  # whether there is something to stop

    def start(self) -> Self:
        """Begin to record; RuntimeError where something else watches the same functions."""
        with _LOCK:
            log = self.log
            try:
                self.open = True
                if self.memory and not tracemalloc.is_tracing():
                    self.traces = True
                    tracemalloc.start(1)
                log.running.append(self)
                _adapt(log, first=len(log.running) == 1)
                self.first = len(log.records)
                self.wall, self.begin = time_ns(), now()
            except BaseException:
                self._stop()
                raise
        return self

    def stop(self) -> None:
        """End the recording and keep its records. Calls that are open are not part of it."""
        with undoing(self._stop):
            pass

    def _stop(self) -> None:
        """`stop`; where it was interrupted, another call goes on."""
        with _LOCK:
            log = self.log
            if not self.open:
                return
            if self in log.running:
                self.end = now()
                taken = log.records[self.first :]
                self.records = [r for r in taken if r[2] >= self.begin and r[3] <= self.end]
                self.threads = {thread.ident or 0: thread.name for thread in threading.enumerate()}
                log.running.remove(self)
            if log.running:
                _adapt(log)
            else:
                if log.declared:
                    switch_out(log)
                log.records.clear()
            if self.traces:
                heir = next((r for r in log.running if r.memory), None)
                if heir is not None:
                    heir.traces = True
                else:
                    tracemalloc.stop()
                self.traces = False
            self.open = False

    def events(self) -> list[Event]:
        """The events in order of their begin, nested."""
        return nested(self.records)


def _adapt(log: Log, *, first: bool = False) -> None:
    """Switch to functions that record what the running recorders ask for together."""
    wanted = tuple(
        any(getattr(r, what) for r in log.running) for what in ("shapes", "memory", "stack")
    )
    known = wanted == (log.shapes, log.memory, log.stack)
    if not first and known and (not log.declared or watcher() is log):
        return
    if not first and log.declared:
        switch_out(log)
    log.shapes, log.memory, log.stack = wanted
    log.spent = 0
    if log.declared:
        switch_in(log)


def is_recording() -> bool:
    """Whether a recorder runs."""
    return bool(LOG.running)


class Range:
    """A stretch of the program with a name, recorded where a recorder runs."""

    __slots__ = ("before", "begin", "frames", "name", "shapes")

    def __init__(self, name: str) -> None:
        self.name = name
        self.begin: int | None = None

    def start(self) -> None:
        """Begin the stretch, in this thread."""
        if LOG.running:
            self.frames = frames_of() if LOG.stack else ()
            self.before = LOG.allocated()
            self.begin = now()

    def stop(self) -> None:
        """End the stretch."""
        if self.begin is None:
            return
        end = now()
        if LOG.running:
            detail = ((), LOG.allocated() - self.before, self.frames, -1)
            LOG.append((self.name, USER, self.begin, end, get_ident(), detail))
        self.begin = None


# --- Details ------------------------------------------------------------------------------------


def shapes_of(values: Any) -> list[Any]:
    """The shapes of arguments: [] for one that has none; a list of arrays has a list of shapes.

    Classes are left out.
    """
    return [_shape_of(value) for value in values if not isinstance(value, type)]


def _shape_of(value: Any) -> list[Any]:
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple):
        return list(shape)
    if isinstance(value, (list, tuple)) and any(hasattr(part, "shape") for part in value):
        return shapes_of(value)
    return []


def frames_of() -> tuple[str, ...]:
    """The frames of the program as `file(line): function`, innermost first."""
    found = []
    frame: Any = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if not is_ours(code.co_filename):
            found.append(f"{code.co_filename}({frame.f_lineno}): {code.co_name}")
        frame = frame.f_back
    return tuple(found)


__all__ = ["LOG", "Log", "Range", "Recorder", "frames_of", "is_recording", "shapes_of"]
