"""Floating-point warnings off, at the tenth of a small operation's price.

Knows that NumPy holds its error state in a context variable. Must not know tapes.

`np.errstate` builds a new state each time that it is entered, which costs as much as the operation
inside. Forward mode computes a tangent for each call of the program, and must not warn about it.
"""

from __future__ import annotations

import contextvars
import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tapegrad._block import contextmanager

Kinds = tuple[tuple[str, str], ...]  # of errors, with what is done then


def _state(told: Any = None) -> tuple[Any, Any]:
    """NumPy's context variable of its error state, and its value where nothing is told."""
    before = dict(contextvars.copy_context().items())
    with np.errstate(all="ignore", call=told):
        for variable, state in contextvars.copy_context().items():
            if variable.name.startswith("numpy") and before.get(variable) is not state:
                return variable, state
    raise ImportError("NumPy's error state: expected a context variable, found none.")


def _tell(kind: str, flag: int) -> None:
    """Mark the state `TELLING`; nobody calls it."""


# In place of np.errstate(all="ignore"), where even `silence` costs too much: `before =
# VARIABLE.get()`, then `VARIABLE.set(SILENT)` inside `try`, and `VARIABLE.set(before)` first in
# `finally`, so that an interrupt leaves nothing set.
VARIABLE, SILENT = _state()
_, TELLING = _state(_tell)  # the same, in which rules warn of a derivative that is NaN


def is_telling() -> bool:
    """Whether a rule shall warn of a derivative that is NaN."""
    return np.geterr()["invalid"] != "ignore" or np.geterrcall() is _tell


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


# `silently(function, *arrays)`: the same for one call of a function of NumPy's own arrays, in a
# context that has nothing but this state. To enter a context costs a fifth of changing a variable
# and changing it back. Where another call has entered it, that raises: see `silently_again`.
_SILENT_CONTEXT = contextvars.Context()
_SILENT_CONTEXT.run(VARIABLE.set, SILENT)
silently = _SILENT_CONTEXT.run


# The same, in which a whole number that is divided by 0 raises FloatingPointError.
_STRICT_CONTEXT = contextvars.Context()
_STRICT_CONTEXT.run(VARIABLE.set, changed(SILENT, (("divide", "raise"),)))
strictly = _STRICT_CONTEXT.run


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


__all__ = [
    "SILENT",
    "TELLING",
    "VARIABLE",
    "Kinds",
    "changed",
    "errstate",
    "is_telling",
    "silence",
    "silently",
    "silently_again",
    "strictly",
]
