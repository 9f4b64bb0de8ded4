"""Events in the trace event format of Chrome, which Perfetto reads as well.

Knows the format: https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU.
Must not know what the events are of. Times there are in microseconds.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from tapegrad._profile.events import BACKWARD, FUNCTION, Event

CATEGORIES = {FUNCTION: "cpu_op", BACKWARD: "cpu_op"}


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
    starts = {e.detail.number: e for e in events if e.kind == FUNCTION and e.detail.number >= 0}
    found = []
    for event in events:
        start = starts.get(event.detail.number) if event.kind == BACKWARD else None
        if start is None or (event.parent is not None and event.parent.kind == BACKWARD):
            continue
        shared = {"cat": "fwdbwd", "name": "fwdbwd", "pid": pid, "id": event.detail.number}
        found.append({**shared, "ph": "s", "tid": start.thread, "ts": start.begin / 1000})
        end = {**shared, "ph": "f", "bp": "e", "tid": event.thread, "ts": event.begin / 1000}
        found.append(end)
    return found


__all__ = ["trace_of"]
