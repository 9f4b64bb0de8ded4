"""Comparisons by `==` and `!=` of traced values that an exact tie decides, told to who watches.

`if new != self.s: self.s = new` keeps the old value where both are the same: the branch is right,
and the derivative of what it leaves away is lost. No derivative can be right there, but somebody
can be told of the line.

Knows frames and settings. Must not know tapes, or how a comparison computes.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

import numpy as np

from tapegrad._block import contextmanager, setting
from tapegrad._config import config
from tapegrad._core.values import raw_value
from tapegrad._errors import ExactTieWarning
from tapegrad._warning import is_tapegrad, warn

_WATCHED: ContextVar[list[str] | None] = ContextVar("tapegrad_ties", default=None)
_HERE = frozenset(
    os.path.join(os.path.dirname(os.path.abspath(__file__)), name)
    for name in ("operators.py", "ties.py", "ufuncs.py")
)
_SIGNS: dict[Any, str] = {np.equal: "==", np.not_equal: "!="}
_ADVICE = (
    "by an exact tie of traced values: what depends on the branch that is not taken has lost its "
    "derivative. Take one branch for both, or compare within a tolerance"
)


@contextmanager
def watching_ties() -> Iterator[list[str]]:
    """Collect what is to be said of each tie, once for each line."""
    seen: list[str] = []
    with setting(_WATCHED, seen):
        yield seen


def note_tie(found: Any, ufunc: np.ufunc) -> Any:
    """The result of a comparison; a tie in it is told of if a line of a program compares."""
    if _WATCHED.get() is None and config.exact_ties == "ignore":
        return found
    if hasattr(found, "dtype"):  # else it is that of None, or a text
        answers = np.asarray(raw_value(found))
        if np.any(answers if ufunc is np.equal else ~answers):
            _tell(_SIGNS[ufunc])
    return found


def _tell(sign: str) -> None:
    seen = _WATCHED.get()
    frame: Any = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename in _HERE:
        frame = frame.f_back
    if frame is None or is_tapegrad(frame.f_code.co_filename):
        return  # a rule's own comparison
    if seen is None:
        warn(f"{sign} was decided {_ADVICE}.", ExactTieWarning)
        return
    text = f"{sign} at {frame.f_code.co_filename}:{frame.f_lineno} was decided {_ADVICE}"
    if text not in seen:
        seen.append(text)


__all__ = ["note_tie", "watching_ties"]
