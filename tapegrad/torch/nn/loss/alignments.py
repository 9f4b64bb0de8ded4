"""ctc_loss: PyTorch's ways to give targets and lengths.

Knows checks and errors. Must not know the recursions (`_rules.alignments`), or modules.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad._core.types import Value
from tapegrad._core.values import shown_value
from tapegrad.torch._dtypes import word_of
from tapegrad.torch._ops.declare import OPERATIONS, private
from tapegrad.torch._rules.alignments import chains_of, ctc
from tapegrad.torch._rules.declare import Found
from tapegrad.torch._rules.losses import check_word
from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch.nn.loss.margins import numbered

_CHECKING = "(while checking arguments for ctc_loss_allocate_outputs)"


@private("CtcLossBackward0", name="ctc_loss")
def _ctc(
    log_probs: Value,
    targets: Value,
    input_lengths: Value,
    target_lengths: Value,
    blank: int,
    zero_infinity: bool,
) -> Value:
    if log_probs.dtype not in (np.float32, np.float64):
        raise NotImplementedError(
            f"\"ctc_loss_cpu\" not implemented for '{word_of(log_probs.dtype)}'"
        )
    steps, count, classes = log_probs.shape
    if not 0 <= blank < classes:
        raise RuntimeError("blank must be in label range")
    inputs, lengths = shown_value(input_lengths), shown_value(target_lengths)
    if len(inputs) != count:
        raise RuntimeError("input_lengths must be of size batch_size")
    if len(lengths) != count:
        raise RuntimeError("target_lengths must be of size batch_size")
    for word, given in (("input", inputs), ("target", lengths)):
        if given.min(initial=0) < 0:
            raise RuntimeError(
                f"Expected {word}_lengths to have value at least 0, but got value "
                f"{given[given < 0][0]} {_CHECKING}"
            )
    if inputs.max(initial=0) > steps:
        raise RuntimeError(
            f"Expected input_lengths to have value at most {steps}, but got value "
            f"{inputs[inputs > steps][0]} {_CHECKING}"
        )
    padded = _padded(shown_value(targets), lengths)
    chains = chains_of(padded, lengths, inputs, blank)
    return ctc(log_probs, chains=chains, kept=Found(), **({"safe": True} if zero_infinity else {}))


def _padded(targets: Value, lengths: Value) -> Value:
    """Targets as (n, longest), from that or from all labels in a row."""
    longest = int(lengths.max(initial=0))
    if targets.ndim == 2:
        if targets.shape[1] < longest:
            raise RuntimeError(
                f"Expected tensor to have size at least {longest} at dimension 1, but got size "
                f"{targets.shape[1]} for argument #2 'targets' {_CHECKING}"
            )
        return targets[:, :longest].astype(np.int64)
    if targets.ndim != 1:
        raise RuntimeError(
            f"Expected 1 to 2 dimensions, but got {targets.ndim}-dimensional tensor for argument "
            f"#2 'targets' {_CHECKING}"
        )
    if targets.shape[0] != lengths.sum():
        raise RuntimeError(
            f"Expected tensor to have size {lengths.sum()} at dimension 0, but got size "
            f"{targets.shape[0]} for argument #2 'targets' {_CHECKING}"
        )
    made = np.zeros((len(lengths), longest), np.int64)
    made[np.arange(longest) < lengths[:, None]] = targets
    return made


def _lengths(given: Any, name: str) -> Tensor:
    """Lengths as a tensor of one dimension."""
    if not isinstance(given, Tensor):
        return OPERATIONS["tensor"](list(given)) if len(given) else _none()
    if given.is_floating_point():
        raise RuntimeError(f"{name} must be integral")
    return given.reshape(-1)


def _none() -> Any:
    return OPERATIONS["tensor"]([]).long()


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor | Sequence[int],
    target_lengths: Tensor | Sequence[int],
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Any:
    """The connectionist temporal classification loss, of labels without times.

    log_probs: Logarithms of probabilities, (time, n, classes) or (time, classes), from
        log_softmax, whose derivative the loss assumes; float32 or float64.
    targets: The labels, (n, longest), padded; or all in a row, of length sum(target_lengths).
    input_lengths (Tensor or sequence of int): The lengths of the sequences, (n,).
    target_lengths (Tensor or sequence of int): The numbers of labels, (n,).
    reduction ({"mean", "sum", "none"}): What is returned: the mean of the losses, each divided by
        the length of its target; their sum; or each of them.
    -> Tensor: A number, or with `reduction="none"` the losses, (n,).
    RuntimeError: For lengths that do not fit, and for dimensions.
    ValueError: For another word as `reduction`.
    Notes: A. Graves and others, Connectionist temporal classification (2006).

    >>> even = torch.zeros(3, 1, 2).log_softmax(-1)
    >>> F.ctc_loss(even, torch.tensor([[1]]), [3], [1])
    tensor(0.2877)
    """
    word = check_word(reduction)
    batched = log_probs.dim() == 3
    inputs = _lengths(input_lengths, "input_lengths")
    lengths = _lengths(target_lengths, "target_lengths")
    if log_probs.dim() not in (2, 3):
        raise RuntimeError(
            f"Expected 3-dimensional tensor, but got {log_probs.dim() + 1}-dimensional tensor for "
            f"argument #1 'log_probs' {_CHECKING}"
        )
    if not log_probs.numel():
        raise RuntimeError("log_probs tensor must not be empty")
    rows = log_probs if batched else log_probs.unsqueeze(1)
    losses = _ctc(rows, targets, inputs, lengths, blank, zero_infinity)
    if zero_infinity:
        zeros = OPERATIONS["zeros_like"](losses.detach())
        losses = OPERATIONS["where"](losses.detach() == np.inf, zeros, losses)
    if word == "mean":
        return (losses / lengths.clamp_min(1).to(losses.dtype)).mean()
    if word == "sum":
        return losses.sum()
    return losses if batched else losses.squeeze(0)


numbered(
    "ctc_loss",
    ctc_loss,
    5,
    "torch.zeros(3, 1, 2).log_softmax(-1), torch.tensor([[1]]), [3], [1], reduction=1",
    "0.2877",
)


__all__ = ["ctc_loss"]
