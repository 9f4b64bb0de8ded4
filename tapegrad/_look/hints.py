"""Which functions of a program would save memory under `checkpoint`, by what its tape keeps.

Knows what a checkpointed call keeps: its arguments. Must not know how a tape is watched.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any

import numpy as np

from tapegrad._core.entry import Entry
from tapegrad._core.tape import COPY_BYTES
from tapegrad._core.values import Mapped, Traced, is_inexact
from tapegrad._look.lines import Frame, Site, line_at
from tapegrad._look.rows import Memory, kinds_of, slots_read
from tapegrad._tree import flatten
from tapegrad._warning import is_ours

LEAST = 0.01  # of what is kept, below which nothing is hinted


@dataclass(eq=False, slots=True)
class Call:
    """One call of a function of the program.

    arrays: its arguments that are plain arrays. given: the slots of those that are traced.
    """

    code: CodeType
    outer: Call | None
    arrays: list[np.ndarray[Any, Any]]
    given: set[int]
    closes: bool  # whether the function closes over a traced value, which checkpoint refuses
    caller: tuple[CodeType, int] | None = None  # the instruction of the program that calls it
    slots: list[int] = field(default_factory=list)  # of the entries within, also in calls within


class CallStack:
    """The calls of the program's functions in which entries of tapes are logged.

    It holds the frames of the last entry, so that no other frame can be taken for one of them.
    """

    def __init__(self, outermost: FrameType | None) -> None:
        self.outermost = outermost
        self.frames: list[tuple[FrameType, Call]] = []
        self.calls: list[Call] = []
        self.ours: dict[CodeType, bool] = {}

    def note(self, frame: FrameType | None, slot: int) -> None:
        """An entry is logged, somewhere within a frame."""
        now: list[FrameType] = []
        while frame is not None and frame is not self.outermost:
            code = frame.f_code
            skipped = self.ours.get(code)
            if skipped is None:
                skipped = self.ours[code] = is_ours(code.co_filename)
            if not skipped:
                now.append(frame)
            frame = frame.f_back
        now.reverse()
        same = 0
        for (known, _), other in zip(self.frames, now, strict=False):
            if known is not other:
                break
            same += 1
        del self.frames[same:]
        for frame in now[same:]:
            outer = self.frames[-1][1] if self.frames else None
            call = Call(frame.f_code, outer, *_arguments(frame))
            if self.frames:
                around = self.frames[-1][0]
                call.caller = around.f_code, around.f_lasti
            self.calls.append(call)
            self.frames.append((frame, call))
        for _, call in self.frames:
            call.slots.append(slot)

    def clear(self) -> None:
        """Forget the frames, and the calls."""
        self.frames, self.calls = [], []


def _arguments(frame: FrameType) -> tuple[list[np.ndarray[Any, Any]], set[int], bool]:
    """The plain arrays among a call's arguments, the slots of traced ones, and `Call.closes`."""
    code, values = frame.f_code, frame.f_locals
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & 4) + bool(code.co_flags & 8)  # *args, **kwargs
    given = flatten([values.get(name) for name in code.co_varnames[:count]])[0]
    arrays = [leaf for leaf in given if type(leaf) is np.ndarray]
    outside = flatten([values.get(name) for name in code.co_freevars])[0]
    slots: set[int] = set()
    for leaf in given:
        while isinstance(leaf, (Traced, Mapped)):
            if isinstance(leaf, Traced):
                slots.add(leaf.slot)
            leaf = leaf._value
    return arrays, slots, any(isinstance(leaf, Traced) for leaf in outside)


@dataclass(frozen=True, slots=True)
class Hint:
    """Savings by `checkpoint` around a function of the program.

    Hints are for one function each: of functions that call each other, choose one.

    Attributes
    ----------
    function, file : str
        Where the function is.
    line, end : int
        Its first and its last line.
    callers : tuple
        The lines that call it, which are those to change: `layer(x)` to `checkpoint(layer)(x)`,
        each once, in order of time.
    calls : int
        Of it, in the program.
    kept : int
        Bytes that the replay would keep less when it begins.
    saved : int
        About how much lower the peak would be, as one call at a time is run again, with all that
        it keeps and returns.
    seconds : float
        How long the calls take, which run once more.
    """

    function: str
    file: str
    line: int
    calls: int
    kept: int
    saved: int
    seconds: float
    end: int = 0
    callers: Site = ()


@dataclass(slots=True)
class Candidate:
    """A hint without its time: of the calls at `slots`."""

    code: CodeType
    calls: int
    kept: int
    saved: int
    slots: set[int]
    callers: Site


def candidates(
    entries: Sequence[Entry], inputs: dict[int, Any], calls: Iterable[Call]
) -> list[Candidate]:
    """Savings by checkpointed functions, those that save most first.

    inputs: something with shape and dtype, by the slot of an input.
    """
    whole = Memory(entries)
    now = sum(owner.nbytes for owner, _ in whole.owners.values())
    kinds = dict(inputs)
    kinds_of(entries, kinds)
    logged = {entry[0] for entry in entries}
    by_code: dict[CodeType, list[Call]] = {}
    for call in calls:
        outer = call.outer
        while outer is not None and outer.code is not call.code:
            outer = outer.outer
        if outer is None and any(slot in logged for slot in call.slots):
            by_code.setdefault(call.code, []).append(call)
    reads = {entry[0]: slots_read(entry) for entry in entries}
    found = []
    for code, group in by_code.items():
        if any(call.closes or _reads_more(call, reads) for call in group):
            continue
        made = _candidate(code, group, entries, whole, kinds)
        if made.saved > LEAST * now:
            found.append(made)
    return sorted(found, key=lambda one: -one.saved)


def _reads_more(call: Call, reads: dict[int, tuple[int, ...]]) -> bool:
    """Whether a call reads a traced value that is no argument: of a global, an attribute."""
    known = call.given.union(call.slots)
    return any(slot not in known for at in call.slots for slot in reads.get(at, ()))


def _candidate(
    code: CodeType,
    group: list[Call],
    entries: Sequence[Entry],
    whole: Memory,
    kinds: dict[int, Any],
) -> Candidate:
    inside = {slot for call in group for slot in call.slots}
    rest = Memory([entry for entry in entries if entry[0] not in inside])
    kept = {key: owner.nbytes for key, (owner, _) in rest.owners.items()}
    copies = 0

    def keep(slot: int) -> None:
        at = whole.root(slot)
        owner = whole.values.get(slot, whole.values.get(at))
        if owner is not None:
            kept[id(owner)] = owner.nbytes
        else:
            kind = kinds[at]
            parts = kind if isinstance(kind, tuple) else (kind,)
            kept[-1 - at] = sum(_size(part) for part in parts)

    # A checkpointed call keeps its arguments and its results.
    call_of = {slot: call for call in group for slot in call.slots}
    for entry in entries:
        for slot in slots_read(entry):
            if call_of.get(slot) is not call_of.get(entry[0]):
                keep(slot)
    for one in group:
        for array in one.arrays:
            shared = is_inexact(array) and array.nbytes > COPY_BYTES and array.flags.owndata
            if shared:
                kept[id(array)] = array.nbytes
            else:
                copies += array.nbytes
    # Results are made again too, beside those that the rest of the tape keeps.
    again: dict[int, int] = {}
    for owner, at in whole.owners.values():
        if at in call_of:
            call = id(call_of[at])
            again[call] = again.get(call, 0) + owner.nbytes
    now = sum(owner.nbytes for owner, _ in whole.owners.values())
    saved = now - sum(kept.values()) - copies
    lower = saved - max(again.values(), default=0)
    return Candidate(code, len(group), saved, lower, inside, _callers(group))


def _callers(group: list[Call]) -> Site:
    found = dict.fromkeys(call.caller for call in group if call.caller is not None)
    frames = [Frame(by.co_filename, line_at(by, at), by.co_qualname) for by, at in found]
    return tuple(dict.fromkeys(frames))


def _size(kind: Any) -> int:
    return int(np.prod(kind.shape, dtype=int)) * np.dtype(kind.dtype).itemsize


__all__ = ["Call", "CallStack", "Candidate", "Hint", "candidates"]
