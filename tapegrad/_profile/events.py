"""Events: what was called when, in which thread, and which call was made within which.

Knows times and names. Must not know how events are recorded.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

# Kinds of events: of a function, a step of a backward pass, or a range that the program named.
FUNCTION, BACKWARD, USER = 0, 1, 7
# A tangent that is pushed through a call; all of a replay; a function of the program as a
# transform runs it; the same as a checkpoint runs it again; and all that is profiled.
TANGENT, REPLAY, PROGRAM, AGAIN, WHOLE = 16, 17, 18, 19, 20


class Detail(NamedTuple):
    """Details of a call beside its time, where the profile asked for it."""

    shapes: Sequence[Any] = ()  # of the arguments; [] for one that has no shape
    memory: int = 0  # bytes: what was allocated within the call less what was freed
    stack: tuple[str, ...] = ()  # the frames of the program, innermost first
    number: int = -1  # the same of a call and of the step of a backward pass that belongs to it
    site: tuple[Any, ...] = ()  # the same frames with their parts: file, line, function
    peak: int = 0  # bytes: the most that was allocated at a time within the call, and before it


NOTHING = Detail()


class Event:
    """One call: its times in nanoseconds, and the calls that were made within it."""

    __slots__ = (
        "begin",
        "children",
        "detail",
        "end",
        "kind",
        "name",
        "parent",
        "thread",
    )

    def __init__(
        self, name: str, kind: int, begin: int, end: int, thread: int, detail: Any
    ) -> None:
        self.name = name
        self.kind = kind
        self.begin = begin
        self.end = end
        self.thread = thread
        self.detail = NOTHING if detail is None else Detail(*detail)
        self.parent: Event | None = None
        self.children: list[Event] = []

    @property
    def total(self) -> int:
        """The time from begin to end, in nanoseconds."""
        return self.end - self.begin

    @property
    def own(self) -> int:
        """The time without that of the calls within."""
        return self.total - sum(child.total for child in self.children)

    def __repr__(self) -> str:
        return f"<Event {self.name}: {self.total} ns, {len(self.children)} within>"


def nested(records: Iterable[tuple[Any, ...]]) -> list[Event]:
    """Records as events in order of their begin, each within the innermost that contains it.

    Of two records with the same times the later one is the outer: a call is recorded at its end.
    A function that calls itself, or another way to the same operation, is one event, as is one in
    place (`relu_`) and the function within it.
    """
    numbered = list(enumerate(records))
    numbered.sort(key=lambda pair: (pair[1][2], -pair[1][3], -pair[0]))
    found: list[Event] = []
    open_in: dict[int, list[Event]] = {}
    for _, record in numbered:
        event = Event(*record)
        stack = open_in.setdefault(event.thread, [])
        while stack and not _is_within(event, stack[-1]):
            stack.pop()
        if stack:
            parent = stack[-1]
            same = parent.name in (event.name, f"{event.name}_")
            if event.kind == parent.kind == FUNCTION and same:
                continue  # what is called within it belongs to the outer one
            event.parent = parent
            parent.children.append(event)
        stack.append(event)
        found.append(event)
    return found


def _is_within(event: Event, outer: Event) -> bool:
    if event.begin == outer.begin:
        return event.end <= outer.end
    return event.begin < outer.end and event.end <= outer.end


__all__ = [
    "AGAIN",
    "BACKWARD",
    "FUNCTION",
    "NOTHING",
    "PROGRAM",
    "REPLAY",
    "TANGENT",
    "USER",
    "WHOLE",
    "Detail",
    "Event",
    "nested",
]
