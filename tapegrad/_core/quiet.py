"""Floating-point warnings off, or noticed, at the tenth of a small operation's price.

Knows that NumPy holds its error state in a context variable. Must not know tapes.

`np.errstate` builds a new state each time that it is entered, which costs as much as the operation
inside. Forward mode computes a tangent for each call of the program, and must not warn about it.

NumPy looks at the processor's flags after each ufunc anyway. So a replay is told for nothing when
a product becomes NaN, or a quotient infinite, and does not look at each array for that.
"""

from __future__ import annotations

import contextvars
import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tapegrad._block import contextmanager

Changes = set[str]
Kinds = tuple[tuple[str, str], ...]  # of errors, with what is done then


def _state(**options: Any) -> tuple[Any, Any]:
    """NumPy's context variable of its error state, and its value by these options."""
    before = dict(contextvars.copy_context().items())
    with np.errstate(all="ignore", **options):
        for variable, state in contextvars.copy_context().items():
            if variable.name.startswith("numpy") and before.get(variable) is not state:
                return variable, state
    raise ImportError("NumPy's error state: expected a context variable, found none.")


class _Always(set[str]):
    """Where nothing is noticed: something may have happened at any time."""

    def clear(self) -> None:
        """Do nothing."""


ALWAYS = _Always({"unknown"})


class Asked(_Always):
    """Where a program is recorded: it looks in any case, and goes on by what has happened."""


ASKED = Asked({"unknown"})

# The events in the state `WATCHING` since somebody cleared it: an infinity from finite
# numbers, or a NaN from others. All threads share it: what another thread has done, or has
# cleared, costs a look too many, or one at the end of the replay.
NOTICED: Changes = set()


def _notice(kind: str, _flag: int) -> None:
    NOTICED.add(kind)


# In place of np.errstate(all="ignore"), where even `silence` costs too much: `before =
# VARIABLE.get()`, then `VARIABLE.set(SILENT)` inside `try`, and `VARIABLE.set(before)` first in
# `finally`, so that an interrupt leaves nothing set.
VARIABLE, SILENT = _state()
_, WATCHING = _state(invalid="call", divide="call", over="call", call=_notice)


@contextmanager
def silence() -> Iterator[None]:
    """`np.errstate(all="ignore")`, which an interrupt does not leave set."""
    before = VARIABLE.get()
    try:
        VARIABLE.set(SILENT)
        yield
    finally:
        VARIABLE.set(before)


@contextmanager
def errstate(**kinds: Any) -> Iterator[None]:
    """`np.errstate`, which no interrupt leaves set, nor one of NumPy's own within the block."""
    before = VARIABLE.get()
    try:
        np.seterr(**kinds)
        yield
    finally:
        VARIABLE.set(before)


@functools.lru_cache(64)
def changed(state: Any, changes: Kinds) -> Any:
    """A state of the context variable with other ways for some kinds of errors."""
    before = VARIABLE.get()
    try:
        VARIABLE.set(state)
        kinds: Any = dict(changes)
        np.seterr(**kinds)
        return VARIABLE.get()
    finally:
        VARIABLE.set(before)


def take(noticed: Changes) -> bool:
    """Whether anything has happened until now, that is not taken already."""
    if isinstance(noticed, Asked):
        noticed = NOTICED
    found = bool(noticed)
    noticed.clear()
    return found


# `silently(function, *arrays)`: the same for one call of a function of NumPy's own arrays, in a
# context that has nothing but this state. To enter a context costs a fifth of changing a variable
# and changing it back. Where another call has entered it, that raises: see `silently_again`.
_SILENT_CONTEXT = contextvars.Context()
_SILENT_CONTEXT.run(VARIABLE.set, SILENT)
silently = _SILENT_CONTEXT.run


def silently_again(error: RuntimeError, function: Callable[..., Any], *arrays: Any) -> Any:
    """The call of a function whose call by `silently` has raised `error`.

    A context is entered once at a time. So another thread, or code that Python runs in between, as
    it does for an object that goes, gets here where a call is inside. Any other error is raised.
    """
    if not str(error).startswith("cannot enter context"):
        raise error
    before = VARIABLE.get()
    try:
        VARIABLE.set(SILENT)
        return function(*arrays)
    finally:
        VARIABLE.set(before)


def _is_noticed() -> bool:
    """Whether this processor has the flags."""
    outer = VARIABLE.get()
    try:
        VARIABLE.set(WATCHING)
        np.multiply(np.zeros(3), np.inf)
        return bool(NOTICED)
    finally:
        VARIABLE.set(outer)
        NOTICED.clear()


def _is_in_main_interpreter() -> bool:
    """Whether NumPy may call: to do so it asks for the lock that the main interpreter has."""
    for name in ("_interpreters", "_xxsubinterpreters"):  # since Python 3.13, and before
        try:
            interpreters = __import__(name)
        except ImportError:
            continue
        return str(interpreters.get_current()) == str(interpreters.get_main())
    return True


if not (_is_in_main_interpreter() and _is_noticed()):
    WATCHING, NOTICED = SILENT, ALWAYS

__all__ = [
    "ALWAYS",
    "ASKED",
    "NOTICED",
    "SILENT",
    "VARIABLE",
    "WATCHING",
    "Asked",
    "Changes",
    "Kinds",
    "changed",
    "errstate",
    "silence",
    "silently",
    "silently_again",
    "take",
]
