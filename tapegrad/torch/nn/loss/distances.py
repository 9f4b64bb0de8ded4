"""Losses that compare two tensors element by element, such as mse_loss and l1_loss.

Must not know the rules (`_rules.losses`), or modules.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad._core.types import Value
from tapegrad._warning import warn
from tapegrad.torch._dtypes import require_kind
from tapegrad.torch._ops.call_plans import planned
from tapegrad.torch._ops.declare import private
from tapegrad.torch._ops.elementwise.arithmetic import promoted
from tapegrad.torch._rules import losses as _losses
from tapegrad.torch._rules.losses import reduced, weighted, word_for
from tapegrad.torch._tensor.tensor import Tensor


def _operands(input: Value, target: Value, word: str) -> tuple[Value, Value]:
    """The two arrays in one dtype and one shape."""
    x, y = promoted(input, target)
    if x.shape != y.shape:
        shape = np.broadcast_shapes(x.shape, y.shape)
        warn(
            f"Using a target size (torch.Size({list(y.shape)})) that is different to the input "
            f"size (torch.Size({list(x.shape)})). This will likely lead to incorrect results due "
            "to broadcasting. Please ensure they have the same size."
        )
        x, y = np.broadcast_to(x, shape), np.broadcast_to(y, shape)
    require_kind(x.dtype, f"{word}_cpu", "fVc" if word == "l1" else "fV")
    return x, y


def _pair(
    rule: Any,
    input: Value,
    target: Value,
    word: str,
    reduction: str,
    weight: Value = None,
    **params: Any,
) -> Value:
    arrays = _operands(input, target, word)
    return rule.of(*arrays, reduction=reduction, weight=weight, **params)


def _check_size(input: Tensor, weight: Tensor | None) -> None:
    """ValueError for weights of another size than the input."""
    if weight is not None and tuple(weight.shape) != tuple(input.shape):
        raise ValueError("Weights and input must have the same size.")


@private("MseLossBackward0", name="mse_loss", planned=True)
def _mse(input: Value, target: Value, reduction: str, weight: Value = None) -> Value:
    return _pair(_losses.MSE, input, target, "mse", reduction, weight)


@planned
def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Any = None,
) -> Any:
    """Squares of `input - target`, and their mean or sum.

    weight (Tensor): Factors of the losses, in the shape of `input`; the mean is then divided by
        their sum.
    ValueError: For a `weight` of another shape.

    >>> F.mse_loss(torch.tensor([1.0, 2.0]), torch.tensor([0.0, 0.0]))
    tensor(2.5000)
    """
    _check_size(input, weight)
    return _mse(input, target, word_for(size_average, reduce, reduction), weight)


_L1_LABELS = {"mean": "MeanBackward0", "sum": "SumBackward0", "none": "AbsBackward0"}


@private("SubBackward0", name="l1_difference", planned=True)
def _difference(input: Value, target: Value) -> Value:
    x, y = _operands(input, target, "l1")
    return x - y


@private(lambda _, reduction, *__: _L1_LABELS.get(reduction, "AbsBackward0"), planned=True)
def _l1(difference: Value, reduction: str, weight: Value = None) -> Value:
    if difference.dtype.kind != "c":
        return _losses.L1.of(difference, reduction=reduction, weight=weight)
    losses = np.absolute(difference)  # the derivative is not just a sign
    return reduced(losses, reduction) if weight is None else weighted(losses, weight, reduction)


@planned
def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Any:
    """Absolute values of `input - target`, and their mean or sum.

    weight: Factors of the losses, in the shape of `input`; the mean is then divided by their sum.
    ValueError: For a `weight` of another shape.

    >>> F.l1_loss(torch.tensor([1.0, 2.0]), torch.tensor([0.0, 4.0]))
    tensor(1.5000)
    """
    _check_size(input, weight)
    word = word_for(size_average, reduce, reduction)
    return _l1(_difference(input, target), word, weight)


@private("SmoothL1LossBackward0", planned=True)
def _smooth_l1(input: Value, target: Value, reduction: str, beta: float) -> Value:
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    return _pair(_losses.SMOOTH_L1, input, target, "smooth_l1", reduction, beta=beta)


@planned
def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Any:
    """Squares where input and target differ by less than `beta`, else absolute values.

    A difference d costs `d**2 / (2 * beta)` below `beta`, and `|d| - beta / 2` above it.

    beta: Where the one form passes into the other.
    RuntimeError: For a `beta` below 0.

    >>> F.smooth_l1_loss(torch.tensor([0.5, 3.0]), torch.zeros(2), reduction="none")
    tensor([0.1250, 2.5000])
    """
    return _smooth_l1(input, target, word_for(size_average, reduce, reduction), beta)


@private("HuberLossBackward0", planned=True)
def _huber(input: Value, target: Value, reduction: str, delta: float) -> Value:
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    return _pair(_losses.HUBER, input, target, "huber", reduction, delta=delta)


@planned
def huber_loss(
    input: Tensor,
    target: Tensor,
    reduction: str = "mean",
    delta: float = 1.0,
    weight: Tensor | None = None,
) -> Any:
    """Squares where input and target differ by at most `delta`, else absolute values.

    A difference d costs `d**2 / 2` up to `delta`, and `delta * (|d| - delta / 2)` above it.

    delta: Where the one form passes into the other.
    weight: Factors of the losses, in the shape of `input`; the mean is that of the products.
    RuntimeError: For a `delta` of 0 or below.
    ValueError: For a `weight` of another shape.

    >>> F.huber_loss(torch.tensor([0.5, 3.0]), torch.zeros(2), reduction="none", delta=2.0)
    tensor([0.1250, 4.0000])
    """
    if weight is None:
        return _huber(input, target, reduction, delta)
    _check_size(input, weight)
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(
            f"Invalid reduction mode: {reduction}. Expected one of 'none', 'mean', 'sum'."
        )
    losses = _huber(input, target, "none", delta) * weight
    if reduction == "mean":  # of the losses, not over the sum of the weights: as PyTorch
        return losses.mean()
    return losses.sum() if reduction == "sum" else losses


__all__ = ["huber_loss", "l1_loss", "mse_loss", "smooth_l1_loss"]
