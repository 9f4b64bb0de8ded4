"""The lines of the user's program that a call comes from.

Knows Python's frames, and which files are this package's. Must not know tapes.
"""

from __future__ import annotations

import linecache
import os
import sys
import threading
from collections.abc import Collection
from types import CodeType, FrameType
from typing import Any, NamedTuple

from tapegrad._warning import is_ours


class Frame(NamedTuple):
    """A line of the user's program that is being executed, and the function that it is in."""

    file: str
    line: int
    function: str

    def __str__(self) -> str:
        return f"{os.path.basename(self.file)}:{self.line}"


# Where a call comes from: the user's frames, innermost first.
Site = tuple[Frame, ...]


def derivative_note(operation: str, site: Site) -> str:
    """Text of a note on an error in a derivative: the operation, and where it was called."""
    lines = [f"Raised in the derivative of {operation}, which was called at"]
    for frame in site[:1]:
        lines.append(f'  File "{frame.file}", line {frame.line}, in {frame.function}')
        source = linecache.getline(frame.file, frame.line).strip()
        lines += [f"    {source}"] if source else []
    return "\n".join(lines)


class Base(NamedTuple):
    """A frame around which all stays as it is while it runs, and the number of its site."""

    frame: FrameType | None
    site: int


NO_BASE = Base(None, -1)


class Sites:
    """Sites by number: a program comes to the same one again and again.

    Frames of this package are left out, and what called the frame `outermost`.

    A site is found by the frames' instructions, and its lines are looked up when it is new. The
    walk along the frames is what noting a site takes: each one is made an object for it.
    """

    def __init__(self, outermost: FrameType | None = None) -> None:
        self.outermost = outermost
        self.known: dict[tuple[Any, ...], int] = {}  # by codes and instructions
        self.numbers: dict[tuple[Any, ...], int] = {}  # by codes and lines
        self.keys: list[tuple[Any, ...]] = []  # by their numbers
        self.ours: dict[CodeType, bool] = {}
        self.lock = threading.Lock()

    def here(self, level: int = 1) -> int:
        """The number of the site where the caller's caller is called; `level` frames above it."""
        return self.within(sys._getframe(level + 1), (), None)

    def within(
        self,
        frame: FrameType | None,
        replays: Collection[CodeType],
        forward: int | None,
        base: Base = NO_BASE,
    ) -> int:
        """The number of the site of a frame, where frames of `replays` may be around it.

        What called the innermost of these is left out, and the site with the number `forward` is
        in its place: that of the call which is replayed. None: nothing is replayed. What is around
        the frame of `base` is known.
        """
        ours, outermost, stop = self.ours, self.outermost, base.frame
        key: list[Any] = []
        rest = -1
        while frame is not None and frame is not outermost:
            if frame is stop:
                rest = base.site
                break
            code = frame.f_code
            if forward is not None and code in replays:
                rest = forward
                break
            skipped = ours.get(code)
            if skipped is None:
                skipped = ours[code] = is_ours(code.co_filename)
            if not skipped:
                key += (code, frame.f_lasti)
            frame = frame.f_back
        if rest >= 0 and not key:
            return rest
        key.append(rest)
        found = tuple(key)
        number = self.known.get(found)
        if number is None:
            number = self.known[found] = self._number(found)
        return number

    def _number(self, found: tuple[Any, ...]) -> int:
        """The number of a site: codes, each with its instruction, and the number of the rest."""
        rest = found[-1]
        lines = [
            part
            for code, at in zip(found[:-1:2], found[1::2], strict=True)
            for part in (code, line_at(code, at))
        ]
        key = (*lines, *(self.keys[rest] if rest >= 0 else ()))
        with self.lock:
            number = self.numbers.setdefault(key, len(self.numbers))
            if number == len(self.keys):
                self.keys.append(key)
        return number

    def site(self) -> Site:
        """The site where the caller's caller is called."""
        number = self.here(level=2)
        return self.sites()[number]

    def sites(self) -> list[Site]:
        """All sites until now, by their numbers."""
        return [
            tuple(
                Frame(code.co_filename, line, code.co_qualname)
                for code, line in zip(key[::2], key[1::2], strict=True)
            )
            for key in self.keys
        ]


def line_at(code: CodeType, instruction: int) -> int:
    """The line of an instruction."""
    for begin, end, line in code.co_lines():
        if begin <= instruction < end and line is not None:
            return line
    return code.co_firstlineno


__all__ = ["NO_BASE", "Base", "Frame", "Site", "Sites", "derivative_note", "line_at"]
