"""Warnings at the line of the program that is to be changed.

Knows which frames are this package's. Must not know what is warned of.

A warning names the line whose call warned, which for a traced call is a line of ours: useless to
the reader, and the same for all lines of the program, of which Python shows the first alone. So
what is about to be shown at a line of ours (`show`, in the hook that the module `warnings` has for
this) is forgotten there, and warned of anew at the innermost line outside this package. Filters,
`catch_warnings` and the memory of what was shown already do the rest, as for any warning of that
line. Nothing is paid before a warning is shown, NumPy's error state stays the user's, and it holds
in every thread.

Python shows a DeprecationWarning by default only where it names a line of the program itself.
A warning of NumPy's for a line of ours is not left to NumPy, and given here: `warn`.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import numpy as np

from tapegrad._block import contextmanager

# The folder of tapegrad, and that of NumPy, whose np.errstate stands between our frames.
HOME = os.path.dirname(os.path.abspath(__file__)) + os.sep
OURS = (HOME, os.path.dirname(os.path.abspath(np.__file__)) + os.sep)
COUNT = [0]  # of our own so far: what has warned must be called again, to warn again
PROGRAM = "<program>"  # the file of code that `compile` has written
BETWEEN = (contextlib.__file__, functools.__file__, PROGRAM)


def warn(text: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the innermost line outside this package, however deep the call stands in it."""
    COUNT[0] += 1
    frame = sys._getframe(1)
    _warn_at(outside(frame) or frame, _with_call(text, frame), category)


# Who may know the line of the program whose call a replay differentiates: each is asked with the
# frame that warns, or failed, and says "model.py:12", or None. Who watches replays adds itself.
FORWARD_LINES: list[Callable[[FrameType], str | None]] = []


def forward_line(frame: FrameType) -> str | None:
    """The line whose derivative is computed in a frame; None outside of replays, or unknown."""
    known = (ask(frame) for ask in reversed(FORWARD_LINES))
    return next((line for line in known if line is not None), None)


def _with_call(text: str, frame: FrameType) -> str:
    line = forward_line(frame)
    return text if line is None else f"{text} The call is at {line}."


@functools.lru_cache(1024)
def is_ours(file: str) -> bool:
    """Whether a file of code is this package's, or one that stands between its own."""
    return file.startswith(OURS) or file in BETWEEN or file.startswith("<frozen importlib")


@functools.lru_cache(1024)
def is_tapegrad(file: str) -> bool:
    """Whether a file of code is this package's, or was written by it."""
    return file.startswith(HOME) or file == PROGRAM


def outside(frame: FrameType | None) -> FrameType | None:
    """The innermost frame from here on that is not ours, or None."""
    while frame is not None and is_ours(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def _warn_at(
    frame: FrameType, text: str | Warning, category: type[Warning], source: Any = None
) -> None:
    known = frame.f_globals
    warnings.warn_explicit(
        text,
        category,
        frame.f_code.co_filename,
        frame.f_lineno,
        known.get("__name__") or "<string>",
        known.setdefault("__warningregistry__", {}),
        source=source,
    )


def show(message: Any) -> None:
    """Show a warning, or, if it names a line of ours, warn anew at the program's line."""
    found = None
    if is_ours(message.filename):
        found = _place_of(message, sys._getframe(1))
    if found is None:
        _USUAL(message)
        return
    named, program = found
    _forget(message, named.f_globals.get("__warningregistry__"))
    _warn_at(program, message.message, message.category, message.source)


def _place_of(message: Any, frame: FrameType | None) -> tuple[FrameType, FrameType] | None:
    """The frame that a warning names, and that of the program; None if it stays where it is.

    A line of NumPy's stays unless a call of ours stands between it and the program.
    """
    while frame is not None and (
        frame.f_lineno != message.lineno or frame.f_code.co_filename != message.filename
    ):
        frame = frame.f_back
    named, traced = frame, False
    while frame is not None and is_ours(frame.f_code.co_filename):
        traced = traced or is_tapegrad(frame.f_code.co_filename)
        frame = frame.f_back
    return (named, frame) if traced and named is not None and frame is not None else None


def _forget(message: Any, registry: Any) -> None:
    """Let a line warn again that has warned for a line of the program."""
    text, category = str(message.message), message.category
    for place in (message.lineno, 0):  # 0: where each module is to warn once
        if registry:
            registry.pop((text, category, place), None)
    getattr(warnings, "onceregistry", {}).pop((text, category), None)


# Python calls this to show what no filter has stopped; "replace if you like", as it says there.
_HOOK = "_showwarnmsg"
_USUAL: Any = getattr(warnings, _HOOK, None)
if _USUAL is not None:
    setattr(warnings, _HOOK, show)


@contextmanager
def catching_warnings() -> Iterator[None]:
    """`warnings.catch_warnings`, which an interrupt does not leave set."""
    filters, shown = warnings.filters, warnings.showwarning
    try:
        with warnings.catch_warnings():
            yield
    finally:
        warnings.filters, warnings.showwarning = filters, shown


__all__ = ["COUNT", "FORWARD_LINES", "forward_line", "is_ours", "is_tapegrad", "outside", "warn"]
