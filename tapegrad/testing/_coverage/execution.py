"""Which lines of code objects run, and which ways from their conditional jumps.

Knows `sys.monitoring` (from Python 3.12 on), which tells of single code objects at almost no cost,
and `sys.settrace`, which is asked at each call of any function. Must not know rules.
"""

from __future__ import annotations

import sys
import threading
from types import CodeType, FrameType
from typing import Any

from tapegrad.testing._coverage.conditions import codes_of, jumped, lines_of, places_of

Way = tuple[int, bool]  # the offset of a conditional jump, and whether it was made


class Seen:
    """Executed lines, by code object."""

    def __init__(self) -> None:
        self.lines: dict[CodeType, set[int]] = {}
        self.ways: dict[CodeType, set[Way]] = {}
        self.unwatched = ""  # why nothing can be seen, if so


class _Watch:
    """Tells all that look at something what runs. One for the process."""

    def __init__(self) -> None:
        self.seen: tuple[Seen, ...] = ()
        self.codes: dict[int, CodeType] = {}  # by id: to compare them takes longer
        self.lock = threading.RLock()

    def open(self, seen: Seen) -> None:
        """From now on what runs is told to `seen`, too."""
        with self.lock:
            if not self.seen:
                seen.unwatched = self.begin()
            else:
                self.again()
            self.seen = (*self.seen, seen)

    def close(self, seen: Seen) -> None:
        with self.lock:
            self.seen = tuple([one for one in self.seen if one is not seen])
            if not self.seen:
                self.end()
                self.codes.clear()

    def add(self, function_code: CodeType) -> None:
        """Watch a function, and those within it."""
        with self.lock:
            for code in codes_of(function_code):
                if id(code) not in self.codes:
                    self.codes[id(code)] = code
                    self.watch(code)

    def begin(self) -> str:
        raise NotImplementedError

    def end(self) -> None:
        raise NotImplementedError

    def again(self) -> None:
        """Let what has been told be told again."""

    def watch(self, code: CodeType) -> None:
        """A code object is new."""

    def ran(self, code: CodeType, line: int) -> None:
        for seen in self.seen:
            seen.lines.setdefault(code, set()).add(line)

    def went(self, code: CodeType, way: Way) -> None:
        for seen in self.seen:
            seen.ways.setdefault(code, set()).add(way)


class _Monitored(_Watch):
    """By `sys.monitoring`: each line is told once, each way as well."""

    tool = -1

    def begin(self) -> str:
        monitoring: Any = sys.monitoring  # type: ignore[attr-defined, unused-ignore]
        # 0 to 2 are meant for debuggers, coverage and profilers; Hypothesis takes 3 now and then.
        free = [tool for tool in (4, 2, 1, 3) if monitoring.get_tool(tool) is None]
        if not free:
            return "other tools have taken all places of sys.monitoring"
        events = monitoring.events
        # From Python 3.14 on each way has an event of its own.
        self.branches = [
            getattr(events, name)
            for name in (
                ("BRANCH_LEFT", "BRANCH_RIGHT") if hasattr(events, "BRANCH_LEFT") else ("BRANCH",)
            )
        ]
        self.api, self.tool = monitoring, free[0]
        monitoring.use_tool_id(self.tool, "tapegrad.testing.rule_coverage")
        monitoring.register_callback(self.tool, events.PY_START, self._started)
        monitoring.register_callback(self.tool, events.LINE, self._line)
        for event in self.branches:
            monitoring.register_callback(self.tool, event, self._branch)
        monitoring.restart_events()
        return ""

    def end(self) -> None:
        if self.tool < 0:
            return
        for code in self.codes.values():
            self.api.set_local_events(self.tool, code, 0)
        events = self.api.events
        for event in (events.PY_START, events.LINE, *self.branches):
            self.api.register_callback(self.tool, event, None)
        self.api.free_tool_id(self.tool)
        self.tool = -1

    def again(self) -> None:
        if self.tool >= 0:
            self.api.restart_events()

    def watch(self, code: CodeType) -> None:
        if self.tool >= 0:
            events = self.api.events.LINE | self.api.events.PY_START
            for event in self.branches:
                events |= event
            self.api.set_local_events(self.tool, code, events)

    def _started(self, code: CodeType, _offset: int) -> Any:
        """A lambda begins on the line of its body, of which no event of its own tells."""
        if code.co_firstlineno in lines_of(code):
            self.ran(code, code.co_firstlineno)
        return self.api.DISABLE

    def _line(self, code: CodeType, line: int) -> Any:
        self.ran(code, line)
        return self.api.DISABLE

    def _branch(self, code: CodeType, offset: int, destination: int) -> Any:
        place = next((one for one in places_of(code) if one.offset == offset), None)
        if place is None:
            return self.api.DISABLE
        self.went(code, (offset, jumped(place, destination)))
        if len(self.branches) > 1 or all(
            {(offset, True), (offset, False)} <= seen.ways.get(code, set()) for seen in self.seen
        ):
            return self.api.DISABLE
        return None


class _Traced(_Watch):
    """By `sys.settrace`: a code object is left alone when all of it has run."""

    def begin(self) -> str:
        if sys.gettrace() is not None:
            return "another tool (a debugger, coverage.py) has taken sys.settrace"
        threading.settrace(self._called)
        sys.settrace(self._called)
        return ""

    def end(self) -> None:
        if sys.gettrace() == self._called:
            sys.settrace(None)
        if threading.gettrace() == self._called:
            threading.settrace(None)  # type: ignore[arg-type, unused-ignore]

    def again(self) -> None:
        self.done: set[int] = set()

    def add(self, function_code: CodeType) -> None:
        if not hasattr(self, "done"):
            self.done = set()
        super().add(function_code)

    def _called(self, frame: FrameType, event: str, _: Any) -> Any:
        code = frame.f_code
        if id(code) not in self.codes or id(code) in self.done:
            return None
        if self._is_done(code):
            self.done.add(id(code))
            return None
        frame.f_trace_opcodes = True
        places = {place.offset: place for place in places_of(code)}
        before = -1

        def local(frame: FrameType, event: str, _: Any) -> Any:
            nonlocal before
            if event == "line":
                self.ran(code, frame.f_lineno)
            elif event == "opcode":
                if before in places:
                    way = before, jumped(places[before], frame.f_lasti)
                    self.went(code, way)
                before = frame.f_lasti
            return local

        return local

    def _is_done(self, code: CodeType) -> bool:
        return all(
            lines_of(code) <= seen.lines.get(code, set())
            and 2 * len(places_of(code)) == len(seen.ways.get(code, ()))
            for seen in self.seen
        )


WATCH: _Watch = _Monitored() if sys.version_info >= (3, 12) else _Traced()

__all__ = ["WATCH", "Seen", "Way"]
