"""Events in the trace event format of Chrome, which Perfetto reads as well.

Knows the format: https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU.
Must not know what the events are of. Times there are in microseconds.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tapegrad._profile.events import (
    AGAIN,
    BACKWARD,
    FUNCTION,
    PROGRAM,
    REPLAY,
    TANGENT,
    WHOLE,
    Event,
)

CATEGORIES = {
    FUNCTION: "cpu_op",
    BACKWARD: "cpu_op",
    TANGENT: "cpu_op",
    REPLAY: "replay",
    PROGRAM: "python_function",
    AGAIN: "python_function",
    WHOLE: "profile",
}
_SAFE = str.maketrans(" ;\t\n", "____")


def trace_of(
    events: Sequence[Event], threads: Mapping[int, str], *, process: str = "python"
) -> dict[str, Any]:
    """A trace: a complete event ("X") for each event, names of threads, and flows.

    A flow leads from a call to the step of a backward pass that has its number.
    """
    pid = os.getpid()
    found: list[dict[str, Any]] = [_named("process_name", pid, 0, process)]
    for thread in dict.fromkeys(event.thread for event in events):
        name = threads.get(thread, f"thread {thread}")
        found.append(_named("thread_name", pid, thread, name))
    found += [_complete(event, pid, place) for place, event in enumerate(events)]
    return {
        "schemaVersion": 1,
        "displayTimeUnit": "ms",
        "traceEvents": found + _flows(events, pid),
    }


def _named(what: str, pid: int, thread: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": what, "pid": pid, "tid": thread, "ts": 0, "args": {"name": name}}


def _complete(event: Event, pid: int, place: int) -> dict[str, Any]:
    detail = event.detail
    args: dict[str, Any] = {"External id": place + 1}
    if detail.shapes:
        args["Input Dims"] = detail.shapes
    if detail.number >= 0:
        args["Sequence number"] = detail.number
    if detail.memory:
        args["Bytes"] = detail.memory
    if detail.stack:
        args["Call stack"] = ";".join(detail.stack)
    if detail.site:
        frame = detail.site[0]
        args |= {"file": frame.file, "line": frame.line, "function": frame.function}
    return {
        "ph": "X",
        "cat": CATEGORIES.get(event.kind, "user_annotation"),
        "name": event.name,
        "pid": pid,
        "tid": event.thread,
        "ts": event.begin / 1000,
        "dur": event.total / 1000,
        "args": args,
    }


def _flows(events: Sequence[Event], pid: int) -> list[dict[str, Any]]:
    """A flow for each step of a backward pass: the first of a call has the call's number."""
    starts = {e.detail.number: e for e in events if e.kind == FUNCTION and e.detail.number >= 0}
    found = []
    unused = max(starts, default=0) + 1
    used: set[int] = set()
    for event in events:
        start = starts.get(event.detail.number) if event.kind == BACKWARD else None
        if start is None or (event.parent is not None and event.parent.kind == BACKWARD):
            continue
        number = event.detail.number
        if number in used:
            number, unused = unused, unused + 1
        used.add(number)
        shared = {"cat": "fwdbwd", "name": "fwdbwd", "pid": pid, "id": number}
        found.append({**shared, "ph": "s", "tid": start.thread, "ts": start.begin / 1000})
        end = {**shared, "ph": "f", "bp": "e", "tid": event.thread, "ts": event.begin / 1000}
        found.append(end)
    return found


def stack_lines(stacks: Iterable[tuple[Sequence[str], int]]) -> list[str]:
    """Stacks, innermost frame first, with a number each, as tools for flame graphs read them.

    Those without frames, and those whose number is not positive, are left out.
    """
    return [
        ";".join(frame.translate(_SAFE) for frame in reversed(frames)) + f" {value}"
        for frames, value in stacks
        if frames and value > 0
    ]


__all__ = ["stack_lines", "trace_of"]
