"""Losses of probabilities: kl_div, the cross entropy of two classes, and likelihoods.

Knows PyTorch's parameters and checks. Must not know the rules (`_rules.losses`), or modules.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tapegrad._core.types import Value
from tapegrad._core.values import shown_value, untraced
from tapegrad._warning import warn
from tapegrad.torch._ops.call_plans import planned
from tapegrad.torch._ops.declare import OPERATIONS, as_arrays, private
from tapegrad.torch._ops.elementwise.arithmetic import promoted
from tapegrad.torch._ops.elementwise.functions import _xlogy
from tapegrad.torch._rules import losses as _losses
from tapegrad.torch._rules.losses import check_word, reduced, word_for
from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch.nn.loss.margins import numbered, reduce_tensor

_KL_LABELS = {"mean": "MeanBackward0", "batchmean": "DivBackward0", "none": "SubBackward0"}


@private(lambda _x, _y, word, _: _KL_LABELS.get(word, "SumBackward0"), name="kl_div")
def _kl(input: Value, target: Value, reduction: str, log_target: bool) -> Value:
    if input.dtype.kind in "biu" or target.dtype.kind in "biu":
        raise RuntimeError("kl_div: Integral inputs not supported.")
    x, y = promoted(input, target)
    losses = np.exp(y) * (y - x) if log_target else _xlogy(y, y) - y * x
    if reduction == "batchmean":
        return np.sum(losses) / (x.shape[0] if x.shape else 1)
    return reduced(losses, reduction)


@planned
def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Any:
    """The Kullback-Leibler divergence of `target` from the probabilities exp(`input`).

    input: Logarithms of probabilities, of any shape.
    target: Probabilities, or with `log_target` their logarithms.
    reduction ({"mean", "sum", "none", "batchmean"}): What is returned: the mean over all elements,
        with a warning, their sum, each of them, or the sum over the number of examples, which is
        the divergence.
    log_target: Whether `target` holds logarithms.
    -> Tensor: A number, or with `reduction="none"` the losses.
    RuntimeError: For integers.

    >>> probabilities = torch.tensor([[0.5, 0.5]])
    >>> F.kl_div(torch.tensor([[0.25, 0.75]]).log(), probabilities, reduction="batchmean")
    tensor(0.1438)
    """
    word = word_for(size_average, reduce, reduction)
    if word == "mean":
        warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support size."
            "'batchmean' divides only by the batch size, and aligns with the KL div math "
            "definition.'mean' will be changed to behave the same as 'batchmean' in the next "
            "major release."
        )
    return _kl(input, target, word, log_target)


@private("BinaryCrossEntropyBackward0")
def _binary(input: Value, target: Value, weight: Value, reduction: str) -> Value:
    if input.shape != target.shape:
        raise ValueError(
            f"Using a target size (torch.Size({list(target.shape)})) that is different to the "
            f"input size (torch.Size({list(input.shape)})) is deprecated. Please ensure they have "
            "the same size."
        )
    if input.dtype != target.dtype:
        raise RuntimeError("Found dtype of target that differs from that of input")
    value = shown_value(input)
    if np.any((value < 0) | (value > 1)):
        raise RuntimeError("all elements of input should be between 0 and 1")
    return _losses.BINARY.of(input, target, reduction=reduction, weight=weight)


def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Any:
    """The binary cross entropy of probabilities with `target`.

    input: Probabilities between 0 and 1, of any shape.
    target: What they should be, of the same shape and dtype.
    weight: Factors of the losses, which broadcast.
    ValueError: For different shapes.
    RuntimeError: For different dtypes, and numbers outside of 0 and 1.

    >>> F.binary_cross_entropy(torch.tensor([0.5, 0.9]), torch.tensor([1.0, 1.0]))
    tensor(0.3993)
    """
    return _binary(input, target, weight, word_for(size_average, reduce, reduction))


@private("BinaryCrossEntropyWithLogitsBackward0", planned=True)
def _with_logits(
    input: Value, target: Value, weight: Value, pos_weight: Value, reduction: str
) -> Value:
    if input.shape != target.shape:
        raise ValueError(
            f"Target size (torch.Size({list(target.shape)})) must be the same as input size "
            f"(torch.Size({list(input.shape)}))"
        )
    x, y = promoted(input, target)
    params = {} if pos_weight is None else {"pos_weight": untraced(pos_weight)}
    return _losses.WITH_LOGITS.of(x, y, reduction=reduction, weight=weight, **params)


@planned
def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Any:
    """As `binary_cross_entropy` of `sigmoid(input)`, without the rounding of sigmoid.

    input: Logits, of any shape.
    target: Probabilities, of the same shape.
    weight: Factors of the losses, which broadcast.
    pos_weight: Factors of the part of the loss that `target` multiplies, which broadcast.
    ValueError: For different shapes.

    >>> F.binary_cross_entropy_with_logits(torch.tensor([0.0, 2.0]), torch.tensor([1.0, 1.0]))
    tensor(0.4100)
    """
    word = word_for(size_average, reduce, reduction)
    return _with_logits(input, target, weight, pos_weight, word)


# --- Likelihoods of Poisson's and of normal distributions ---------------------------------------


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


__all__ = [
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "gaussian_nll_loss",
    "kl_div",
    "poisson_nll_loss",
]
