"""Common code of the statistics of samples: their table, and how their arguments are read.

Of plain values each statistic is SciPy's own. Rows with NaN propagate it: `nan_policy=` is not
taken with traced values.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad._core.values import lift
from tapegrad._errors import InputError

DEFINITIONS: dict[str, Callable[..., Any]] = {}


def defines(function: Callable[..., Any]) -> Callable[..., Any]:
    """Enter a definition in the table, under its name."""
    DEFINITIONS[function.__name__] = function
    return function


def given(x: Any, axis: int | None, nan_policy: str = "propagate") -> tuple[Any, int]:
    """An array, and its axis; None means the flattened array."""
    if nan_policy != "propagate":
        raise InputError(
            f"scipy.stats: nan_policy={nan_policy!r} is not taken with traced values, which "
            "propagate NaN. Leave NaN out with np.where or an index, and pass the rest."
        )
    x = lift(x)
    if isinstance(x, (list, tuple, int, float)):
        x = np.asarray(x)
    return (np.ravel(x), 0) if axis is None else (x, axis)


def kept(out: Any, axis: int, keepdims: bool) -> Any:
    return np.expand_dims(out, axis) if keepdims else out


def central(x: Any, axis: int, order: int) -> Any:
    return np.mean((x - np.mean(x, axis=axis, keepdims=True)) ** order, axis=axis)


# Functions of ranks and counts, which stay as they are where a value moves a little.
CONSTANT = (
    "chatterjeexi",
    "cumfreq",
    "kendalltau",
    "mode",
    "percentileofscore",
    "rankdata",
    "relfreq",
    "somersd",
    "spearmanr",
    "spearmanrho",
    "tiecorrect",
    "weightedtau",
)


__all__ = ["CONSTANT", "DEFINITIONS", "central", "defines", "given", "kept"]
