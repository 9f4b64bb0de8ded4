"""Tracebacks of errors that leave a transform: the program's frames, without ours between them.

Knows which frames are ours, and Python's chains of errors. Must not know what raised. A transform
that lets an error out calls `fold`, where nothing is paid unless there is one:

    try:
        ...
    except BaseException as error:
        fold(error)
        raise
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Iterable
from types import FrameType, TracebackType
from typing import Any, ParamSpec, TypeVar

from numpy.lib import mixins

from tapegrad._config import config
from tapegrad._core.tape import CURRENT
from tapegrad._errors import TapegradError
from tapegrad._warning import is_ours, is_tapegrad

P = ParamSpec("P")
R = TypeVar("R")

# NumPy's operators of batched values, which are ours in all but their file.
MIXINS = mixins.__file__

# Errors that say more of the code that raised them than of what it was given.
OF_CODE = (AssertionError, AttributeError, NameError, KeyError, NotImplementedError, SystemError)


def fold(error: BaseException) -> None:
    """Leave our frames out of the traceback of an error that leaves the outermost transform.

    So are NumPy's and SciPy's between two of ours. A line in their place says how to see them. The
    innermost frame stays, if it is ours, where no frame of the program is inside the transform,
    and where the error says of its code. The errors from which it was raised, during which it was
    raised, and of which it is a group, are treated likewise.
    """
    if CURRENT.get() is None and config.tracebacks == "folded":
        for one in _chain(error):
            trace = _folded(one, _MARK if one is error else None)
            BaseException.with_traceback(one, trace)  # also of one that refuses attributes


def folding(function: Callable[P, R]) -> Callable[P, R]:
    """The same for all errors that leave a function, at the price of one more call."""

    @functools.wraps(function)
    def folded(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except BaseException as error:
            fold(error)
            raise

    return folded


def _chain(error: BaseException) -> Iterable[BaseException]:
    """An error, all that it was raised from or during, and all of which it is a group."""
    found: dict[int, BaseException] = {}
    waiting = [error]
    while waiting:
        one = waiting.pop()
        if id(one) in found:
            continue
        found[id(one)] = one
        waiting += [other for other in (one.__cause__, one.__context__) if other is not None]
        if isinstance(one, BaseExceptionGroup):
            waiting += one.exceptions
    return found.values()


def _folded(error: BaseException, mark: Mark | None) -> TracebackType | None:
    entries = _entries(error.__traceback__)
    left_out = _left_out(entries)
    kept = [entry for entry, absent in zip(entries, left_out, strict=True) if not absent]
    if len(kept) == len(entries):
        return error.__traceback__
    if entries[-1] not in kept and _helps(error, bool(kept), mark is None):
        kept.append(entries[-1])
    trace = None
    for entry in reversed(kept):
        trace = TracebackType(trace, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    if trace is not None and mark is not None:
        trace = TracebackType(trace, *mark)
    return trace


def _entries(trace: TracebackType | None) -> list[TracebackType]:
    entries = []
    while trace is not None:
        entries.append(trace)
        trace = trace.tb_next
    return entries


def _left_out(entries: list[TracebackType]) -> list[bool]:
    """Which entries are ours, or NumPy's, SciPy's, contextlib's with ours on both sides."""
    files = [entry.tb_frame.f_code.co_filename for entry in entries]
    scipy = _folder("scipy")
    left_out = [is_tapegrad(file) or file == MIXINS for file in files]
    ours_before = False
    between: list[int] = []
    for at, file in enumerate(files):
        if left_out[at]:
            for place in between:
                left_out[place] = True
        if left_out[at] or not (is_ours(file) or file.startswith(scipy)):
            ours_before, between = left_out[at], []
        elif ours_before:
            between.append(at)
    return left_out


def _folder(package: str) -> str:
    """Where a package lies; what no file begins with, if it is not imported."""
    file = getattr(sys.modules.get(package), "__file__", None)
    return os.path.dirname(file) + os.sep if file else "\0"


def _helps(error: BaseException, has_program: bool, is_chained: bool) -> bool:
    """Whether the innermost frame of an error, which is ours, says anything to the reader."""
    if isinstance(error, TapegradError):
        return is_chained and not has_program  # so that some place is shown; its words say all
    return not has_program or isinstance(error, OF_CODE) or not isinstance(error, Exception)


# --- The line in place of the frames that are left out -------------------------------------------

Mark = tuple[FrameType, int, int]  # a frame, with an instruction and a line


# Python marks parts of a line that is a call, and shows any other line as it is written.


def frames_of_tapegrad() -> Any:
    """Stand in tracebacks for the frames that are left out."""
    yield "left out: tapegrad.config.tracebacks = 'full', or TAPEGRAD_TRACEBACKS=full, shows them"


_AT_THE_LINE = frames_of_tapegrad()
next(_AT_THE_LINE)
_FRAME: FrameType = _AT_THE_LINE.gi_frame
_MARK = (_FRAME, _FRAME.f_lasti, _FRAME.f_lineno)

__all__ = ["fold", "folding"]
