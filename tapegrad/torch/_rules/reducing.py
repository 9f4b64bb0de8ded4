"""How single losses become one number: the words "mean", "sum" and "none".

Knows PyTorch's words, also its old ones, and arrays. Must not know which losses there are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad._warning import warn


def word_for(size_average: Any, reduce: Any, reduction: str) -> str:
    """The word for a reduction, also from the old arguments for it, with a warning."""
    if size_average is None and reduce is None:
        return reduction
    averaged = size_average is None or size_average
    summed = reduce is None or reduce
    word = "none" if not summed else "mean" if averaged else "sum"
    warn(
        f"size_average and reduce args will be deprecated, please use reduction='{word}' instead.",
    )
    return word


def parameter(word: str) -> dict[str, str]:
    """The parameter of a rule for a reduction: none for the usual one."""
    return {} if word == "mean" else {"reduction": word}


def reduced(losses: Any, reduction: str, axis: Any = None) -> Any:
    """The mean or the sum of losses, or themselves; ValueError for another word."""
    if reduction == "mean":
        return np.mean(losses, axis)
    if reduction == "sum":
        return np.sum(losses, axis)
    if reduction == "none":
        return losses
    raise ValueError(f"{reduction} is not a valid value for reduction")


def weighted(losses: Any, weight: Any, reduction: str) -> Any:
    """Losses times their weights, reduced: a mean is over the sum of the weights."""
    losses = losses * weight
    return np.sum(losses) / np.sum(weight) if reduction == "mean" else reduced(losses, reduction)
