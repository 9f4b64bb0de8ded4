"""Losses that are negative logarithms of likelihoods: of Poisson's and of normal distributions.

Knows PyTorch's parameters, checks and errors. Must not know modules.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tapegrad._core.values import shown_value
from tapegrad.torch._ops.declare import OPERATIONS, as_arrays
from tapegrad.torch._rules.losses import check_word, word_for
from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch.nn.loss.margins import numbered, reduce_tensor
from tapegrad.torch.nn.loss.probabilities import kl_div


def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-8,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Any:
    """The negative logarithm of Poisson's probability of target, up to a constant.

    The logarithm of the factorial of `target` is left out, or, with `full`, Stirling's formula.

    input: The logarithm of the mean, or with `log_input=False` the mean.
    target: Counts, of the shape of `input`.
    log_input: Whether `input` is a logarithm.
    full: Add Stirling's formula for the constant, where `target` is above 1.
    eps: Added to the mean in the logarithm, where `input` is the mean.
    ValueError: For another word as `reduction`.

    >>> F.poisson_nll_loss(torch.tensor([0.0, 1.0]), torch.tensor([1.0, 2.0]), reduction="none")
    tensor([1.0000, 0.7183])
    """
    word = check_word(word_for(size_average, reduce, reduction))
    mean, logarithm = (input.exp(), input) if log_input else (input, (input + eps).log())
    losses = mean - target * logarithm
    if full:
        some = target.masked_fill(target <= 1, 1)  # where the constant counts for nothing
        constant = some * some.log() - some + 0.5 * (2 * math.pi * some).log()
        losses = losses + constant.masked_fill(target <= 1, 0)
    return reduce_tensor(losses, word)


def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Tensor | float,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Any:
    """The negative logarithm of the normal density of target, up to a constant.

    input: The means, of any shape.
    target: What was seen, of the shape of `input`.
    var (Tensor or float): The variances: of the shape of `input`, or with a last dimension of 1 or
        none.
    eps: The least variance that counts; the derivative is that of `var` itself.
    ValueError: For negative variances, for other shapes of them, and for another word as
        `reduction`.

    >>> F.gaussian_nll_loss(torch.tensor([0.0, 1.0]), torch.tensor([2.0, 1.0]), torch.ones(2))
    tensor(1.)
    """
    spread = _variances(input, var)
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not valid")
    known = spread.detach()
    raised = OPERATIONS["where"](known < eps, spread - known + eps, spread)
    losses = 0.5 * (raised.log() + (input - target) ** 2 / raised)
    if full:
        losses = losses + 0.5 * math.log(2 * math.pi)
    return reduce_tensor(losses, reduction)


def _variances(input: Tensor, var: Any) -> Tensor:
    """The variances as a tensor that broadcasts with the means."""
    if isinstance(var, float):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        made: Tensor = var * OPERATIONS["ones_like"](input.detach())
        return made
    if np.any(shown_value(as_arrays(var)) < 0):
        raise ValueError("var has negative entry/entries")
    given: Tensor = var
    if given.shape == input.shape:
        return given
    if input.shape[:-1] == given.shape:
        return given.unsqueeze(-1)
    pairs = zip(input.shape, given.shape, strict=False)
    if input.ndim != given.ndim or sum(y for x, y in pairs if x != y) != 1:
        raise ValueError("var is of incorrect size")
    return given


def _poisson(
    input: Tensor, target: Tensor, log_input: bool, full: bool, eps: float, reduction: str
) -> Any:
    return poisson_nll_loss(input, target, log_input, full, eps=eps, reduction=reduction)


numbered(
    "poisson_nll_loss",
    _poisson,
    5,
    "torch.tensor([0.0, 1.0]), torch.tensor([1.0, 2.0]), True, False, 1e-8, 1",
    "0.8591",
)
numbered(
    "kl_div", kl_div, 2, "torch.tensor([0.25, 0.75]).log(), torch.tensor([0.5, 0.5]), 2", "0.1438"
)


__all__ = ["gaussian_nll_loss", "poisson_nll_loss"]
