"""Errors raised within replays get a note that names the forward call.

Knows that a replay has failed. Must not know how the line is found: `_look`, above, looks it up
afterwards by running the function again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from tapegrad._core.types import Function, Value
from tapegrad._errors import mark
from tapegrad._transforms.recording import Recording


class ForwardLine:
    """The line of a forward call."""

    explain: ClassVar[Callable[..., None]]  # set by `_look.explanations`: it adds the note


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
        ForwardLine.explain(error, run, leaves, recording, *failed)


def first_of(f: Function) -> Function:
    """A function that returns the first of f's results: without what `has_aux` hands through."""
    return lambda *args, **kwargs: f(*args, **kwargs)[0]


__all__ = ["ForwardLine", "add_forward_note", "first_of"]
