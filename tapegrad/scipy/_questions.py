"""Questions about values that decide about a shape or a way of computing.

A value under vmap is many numbers: where the answer is the same for all of them, a function goes
that way; where it is not, it cannot go both. Must not know single functions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad._core.types import Value
from tapegrad._core.values import branch_on, in_trace, innermost, is_mapped, untraced
from tapegrad._errors import BatchingError


def agreed(question: Callable[[Any], Any], value: Value, call: str, name: str) -> Any:
    """Answer to a predicate on a value, of a vmap on each example.

    call, name: the function and the argument, for the error of examples that differ.
    """
    if innermost([value]) is None:
        return question(value)
    if not is_mapped(untraced(value)):
        return branch_on(question, value)
    shape = value.shape
    answers = branch_on(lambda all_: tuple(map(question, np.reshape(all_, (-1, *shape)))), value)
    if not answers or any(answer != answers[0] for answer in answers):
        raise BatchingError(
            f"{call}: {name} decides about the shape, and has to do so alike for all examples of "
            "a vmap. Loop over them."
        )
    return answers[0]


def holds_mapped(value: Any) -> bool:
    """Whether a vmap maps over a value, at any depth."""
    while in_trace(value):
        if is_mapped(value):
            return True
        value = value._value
    return False


__all__ = ["agreed", "holds_mapped"]
