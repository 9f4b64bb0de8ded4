"""Arguments of a strategy: checked when it is called, not when it draws.

Knows no Hypothesis: what may be a strategy is checked here where it is none.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from tapegrad._errors import InputError, describe, message

Shape = tuple[int, ...]


def refuse(call: str, expected: str, got: object, advice: str) -> NoReturn:
    """Raise InputError; `got` is described unless it is a text already."""
    words = got if isinstance(got, str) else describe(got)
    raise InputError(message(f"tapegrad.testing.{call}", expected, words, advice))


def asked_shape(call: str, shape: Any) -> Shape:
    """A shape as a tuple of integers, from a tuple, a list or one integer."""
    try:
        sides = (operator.index(shape),) if np.ndim(shape) == 0 else tuple(shape)
        found = tuple(operator.index(side) for side in sides)
    except (TypeError, ValueError):
        found = (-1,)
    if min(found, default=0) < 0:
        refuse(
            call,
            "a shape, or a strategy for one",
            repr(shape),
            "Pass integers of 0 or more, as (2, 3)",
        )
    return found


def square_shape(call: str, shape: Shape) -> Shape:
    """The shape of a stack of square matrices."""
    if len(shape) < 2 or shape[-1] != shape[-2]:
        refuse(call, "the shape of square matrices", str(shape), "Pass shape=(..., n, n)")
    return shape


def matrix_shape(call: str, shape: Shape) -> Shape:
    """The shape of a stack of matrices."""
    if len(shape) < 2:
        refuse(call, "the shape of matrices", str(shape), "Pass shape=(..., m, n)")
    return shape


def asked_dtype(call: str, dtype: Any, kinds: str = "fc") -> np.dtype[Any]:
    """A dtype of these kinds, by anything that NumPy takes for one."""
    words = {
        "f": "a floating dtype",
        "fc": "a floating or complex dtype",
        "fciub": "a dtype of numbers or booleans",
    }
    try:
        found = np.dtype(dtype)
    except TypeError:
        found = None
    if found is None or found.kind not in kinds:
        refuse(call, words[kinds], repr(dtype), "Pass one, as np.float64, or a strategy for one")
    return found


def asked_count(call: str, name: str, value: Any, least: int = 0, most: int | None = None) -> int:
    """An integer between two others."""
    try:
        found = operator.index(value)
    except TypeError:
        found = least - 1
    if found < least or (most is not None and found > most):
        upper = "or more" if most is None else f"to {most}"
        refuse(call, f"{name} of {least} {upper}", repr(value), "Pass such an integer")
    return found


def asked_between(call: str, low_name: str, low: Any, high_name: str, high: Any) -> None:
    """Two integers in order."""
    asked_count(call, low_name, low)
    asked_count(call, high_name, high)
    if low > high:
        refuse(
            call,
            f"{low_name} of at most {high_name}",
            f"{low_name}={low}, {high_name}={high}",
            "Exchange them",
        )


def asked_words(call: str, name: str, words: Any, known: Sequence[str]) -> tuple[str, ...]:
    """One word, or several, of those that are known."""
    found = (words,) if isinstance(words, str) else words
    if not isinstance(found, (tuple, list, set, frozenset)) or not found or set(found) - {*known}:
        listed = ", ".join(map(repr, known))
        refuse(call, f"{name} from {listed}", repr(words), "Pass one, or a tuple of several")
    return tuple(found)


def asked_number(call: str, name: str, value: Any) -> float:
    """A finite real number."""
    try:
        found = float(value)
    except (TypeError, ValueError):
        found = np.nan
    if not np.isfinite(found):
        refuse(call, f"a finite number for {name}", repr(value), "Pass a number")
    return found
