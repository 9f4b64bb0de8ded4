"""The line of the program whose call a replay differentiates, while somebody knows the lines.

Knows the frames of replays, and the socket of `_warning`, so that a warning in a replay says which
call it is about. Must not know how lines are noted.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from types import FrameType, TracebackType

from tapegrad._block import Block, setting
from tapegrad._core.careful import replay_carefully
from tapegrad._core.fast.backward import by_definition, replay_backward, replay_within
from tapegrad._warning import FORWARD_LINES

LineOf = Callable[[int], str | None]  # the line of the program that logged a slot, if it is known

_REPLAYS = tuple(
    replay.__code__ for replay in (replay_backward, replay_within, by_definition, replay_carefully)
)
_LINE_OF: ContextVar[LineOf | None] = ContextVar("tapegrad_line_of", default=None)


def told_by(line_of: LineOf) -> Block[None]:
    """A block in which `line_of` tells the lines of the replays."""
    return setting(_LINE_OF, line_of)


def slot_in(frame: FrameType | None) -> int | None:
    """The slot that the outermost replay is at, of those in which a frame runs; None: of none."""
    found = None
    while frame is not None:
        if frame.f_code in _REPLAYS:
            found = frame.f_locals.get("slot", found)  # of the fast one that hands over: none
        frame = frame.f_back
    return found


def slot_of(trace: TracebackType | None) -> int | None:
    """The same for the traceback of an error: the slot at which the outermost replay failed."""
    while trace is not None:
        if trace.tb_frame.f_code in _REPLAYS and "slot" in trace.tb_frame.f_locals:
            slot: int | None = trace.tb_frame.f_locals["slot"]
            return slot
        trace = trace.tb_next
    return None


def _line(frame: FrameType) -> str | None:
    line_of = _LINE_OF.get()
    slot = None if line_of is None else slot_in(frame)
    return None if line_of is None or slot is None else line_of(slot)


FORWARD_LINES.append(_line)

__all__ = ["LineOf", "slot_in", "slot_of", "told_by"]
