"""How the losses of elements are reduced: the words "mean", "sum" and "none".

Knows PyTorch's words, also its old ones, and arrays. Must not know which losses there are.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from tapegrad._core.types import Value
from tapegrad._warning import warn
from tapegrad.torch._rules.blockwise import LARGE
from tapegrad.torch._rules.symbols import is_own
from tapegrad.torch._types import Axis


def word_for(size_average: bool | None, reduce: bool | None, reduction: str) -> str:
    """The word for a reduction, also from the old arguments for it, with a warning."""
    if size_average is None and reduce is None:
        return reduction
    averaged = size_average is None or size_average
    summed = reduce is None or reduce
    word = "none" if not summed else "mean" if averaged else "sum"
    warn(
        f"size_average and reduce args will be deprecated, please use reduction='{word}' instead."
    )
    return word


def parameter(word: str) -> dict[str, str]:
    """The parameter of a rule for a reduction: none for the usual one."""
    return {} if word == "mean" else {"reduction": word}


def reduced(losses: Value, reduction: str, axis: Axis = None) -> Value:
    """The mean or the sum of losses, or themselves; ValueError for another word."""
    if reduction == "mean":
        if axis is None and is_own(losses) and losses.dtype.char in "fd":
            total = total_of(losses)  # np.mean's wrapper costs as much as the losses
            return total / total.dtype.type(losses.size)
        return np.mean(losses, axis)
    if reduction == "sum":
        if axis is None and is_own(losses) and losses.dtype.char in "fd":
            return total_of(losses)
        return np.sum(losses, axis)
    if reduction == "none":
        return losses
    raise ValueError(f"{reduction} is not a valid value for reduction")


def total_of(losses: Value) -> Value:
    """The sum of an array of floats: of a small one as a product, a third of NumPy's price."""
    size = losses.size
    if size >= LARGE:
        return np.add.reduce(losses, None)
    return losses.reshape(-1).dot(ones_of(size, losses.dtype))


@functools.lru_cache(maxsize=1 << 8)
def ones_of(size: int, dtype: np.dtype[Any]) -> Value:
    """So many ones, which nobody writes to."""
    return np.ones(size, dtype)


def weighted(losses: Value, weight: Value, reduction: str) -> Value:
    """Losses times their weights, reduced: a mean is over the sum of the weights."""
    losses = losses * weight
    return np.sum(losses) / np.sum(weight) if reduction == "mean" else reduced(losses, reduction)
