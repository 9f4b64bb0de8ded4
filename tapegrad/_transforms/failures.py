"""Errors raised within replays get a note that names the forward call.

Knows that a replay has failed. Must not know how the line is found: that is looked up afterwards,
above, by running the function again.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from tapegrad._core.types import Function, Value
from tapegrad._errors import mark
from tapegrad._transforms.recording import Recording


def add_forward_note(
    error: BaseException,
    run: Callable[[list[Any]], Any],
    leaves: list[Value],
    recording: Recording,
) -> None:
    """Add the note to an error of a replay; do nothing if it was raised elsewhere.

    run: calls the function on traced leaves, in place of `leaves`.
    """
    failed, recording.failed = recording.failed, None  # a pullback may be called again
    if failed is not None and isinstance(error, Exception) and mark(error, "_explained"):
        look = importlib.import_module("tapegrad._look.failures")
        look.explain(error, run, leaves, recording, *failed)


def first_of(f: Function) -> Function:
    """A function that returns the first of f's results: without what `has_aux` hands through."""
    return lambda *args, **kwargs: f(*args, **kwargs)[0]


__all__ = ["add_forward_note", "first_of"]
