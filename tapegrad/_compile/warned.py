"""Warnings that a function itself gives in a recorded run: each call of the program repeats them.

Knows Python's warnings. Must not know programs.

A path of a program is one way through the function, so the same lines warn with the same texts in
each call. NumPy's own warnings are none of these: a program makes NumPy's calls, which warn
themselves.
"""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from types import FrameType
from typing import Any, NamedTuple

from tapegrad._block import contextmanager, setting
from tapegrad._tree import Structure, register

_PROGRAMS = "tapegrad._program."  # whose code makes the calls of a program


class Warned(NamedTuple):
    """A warning, and where it was given."""

    text: str
    category: type[Warning]
    file: str
    line: int
    module: str

    def repeat(self) -> None:
        """Give it again, as from its line."""
        known = vars(sys.modules.get(self.module, warnings))
        registry = known.setdefault("__warningregistry__", {})
        text, category, file, line, module = self
        warnings.warn_explicit(text, category, file, line, module, registry)


class _Warning:
    """Stands in a structure around a result with which warnings are given."""


MUTED: ContextVar[bool] = ContextVar("tapegrad_muted", default=False)  # where nobody listens
_NOTED: ContextVar[list[Warned] | None] = ContextVar("tapegrad_warned", default=None)
_LOCK = threading.Lock()
_OPEN: dict[int, Any] = {}  # runs in all threads whose warnings are noted
_USUAL: list[Any] = [warnings.warn]  # what Python has, or another library has put there


def _given(warned: tuple[Warned, ...], children: Any) -> Any:
    (out,) = children
    if not MUTED.get():
        for each in warned:
            each.repeat()
    return out


register(_Warning, lambda _: ((), None), _given)


def with_warnings(structure: Structure, warned: list[Warned]) -> Structure:
    """The structure of a result, from which it is made with such warnings."""
    return Structure(_Warning, tuple(warned), (structure,)) if warned else structure


@contextmanager
def noting() -> Iterator[list[Warned]]:
    """Note the warnings that the function gives, but for those of calls that a program makes."""
    noted: list[Warned] = []
    try:
        _OPEN[id(noted)] = noted
        _take_place()
        with setting(_NOTED, noted):
            yield noted
    finally:
        _OPEN.pop(id(noted), None)
        _take_place()  # if that is interrupted, the next run does it


def _take_place() -> None:
    """Stand in the place of `warnings.warn` while there are runs, and only then."""
    with _LOCK:
        if _OPEN and warnings.warn is not _warn:
            _USUAL[0], warnings.warn = warnings.warn, _warn
        elif not _OPEN and warnings.warn is _warn:
            warnings.warn = _USUAL[0]


def _warn(
    message: Any, category: Any = None, stacklevel: int = 1, source: Any = None, **more: Any
) -> None:
    """Warn as `warnings.warn` does, and note it."""
    noted = _NOTED.get()
    if noted is not None and not _is_of_program(sys._getframe(1)):
        kind = type(message) if isinstance(message, Warning) else category or UserWarning
        frame = sys._getframe(1)
        for _ in range(stacklevel - 1):
            frame = frame.f_back or frame
        module = frame.f_globals.get("__name__") or "<string>"
        noted.append(Warned(str(message), kind, frame.f_code.co_filename, frame.f_lineno, module))
    _USUAL[0](message, category, stacklevel + 1, source, **more)


def _is_of_program(frame: FrameType | None) -> bool:
    """Whether a call that a program makes gives the warning."""
    while frame is not None:
        name = frame.f_globals.get("__name__")
        if type(name) is str and name.startswith(_PROGRAMS):
            return True
        if frame.f_code is _run_code:
            return False
        frame = frame.f_back
    return False


def run(f: Callable[..., Any], args: Any, kwargs: Any) -> tuple[Any, list[Warned]]:
    """The result of a function, and the warnings that it gave itself."""
    with noting() as noted:
        return f(*args, **kwargs), noted


_run_code = run.__code__

__all__ = ["MUTED", "Warned", "run", "with_warnings"]
