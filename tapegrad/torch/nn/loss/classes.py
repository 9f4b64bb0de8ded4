"""Losses of numbered classes, nll_loss and cross_entropy, and one_hot.

Knows PyTorch's parameters and checks. Must not know the rules, or modules.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tapegrad._core.types import Value
from tapegrad._core.values import shown_value
from tapegrad.torch._dtypes import require_kind, word_of
from tapegrad.torch._ops.call_plans import planned
from tapegrad.torch._ops.declare import private
from tapegrad.torch._ops.elementwise.activations import log_softmax_of
from tapegrad.torch._rules import losses as _losses
from tapegrad.torch._rules.class_losses import are_mapped, class_losses
from tapegrad.torch._rules.losses import check_word, reduced, word_for
from tapegrad.torch._tensor.tensor import Tensor


def _nll_label(
    input: Tensor, _target: Tensor, _weight: Tensor | None, _ignored: int, reduction: str
) -> str:
    if input.ndim <= 2:
        return "NllLossBackward0"
    return "ViewBackward0" if input.ndim != 4 and reduction == "none" else "NllLoss2DBackward0"


def _check_classes(x: Value, target: Value) -> None:
    """Checks of PyTorch, in its order: sizes first, then the dtype."""
    if len(x.shape) == 0:
        raise ValueError("Expected input to have at least 1 dimension")
    batch = x.shape[:1] if len(x.shape) > 1 else ()
    if len(x.shape) > 1 and target.shape[:1] != batch:
        given = target.shape[0] if target.shape else 0
        raise ValueError(
            f"Expected input batch_size ({x.shape[0]}) to match target batch_size ({given})."
        )
    if len(x.shape) == 1 and len(target.shape) == 1:
        if target.shape[0] != 1:
            raise ValueError(
                f"For 1D input, 1D target must have size 1, but got target size: {target.shape[0]}"
            )
        return
    if len(x.shape) < 3 and len(target.shape) > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if tuple(target.shape) != (*batch, *x.shape[2:]):
        raise RuntimeError(
            f"Expected target size {[*batch, *x.shape[2:]]}, got {list(target.shape)}"
        )
    if target.dtype not in (np.int64, np.uint8):
        raise RuntimeError(
            f"expected target dtype to be Long or Byte, but got {word_of(target.dtype)}"
        )


@private(_nll_label, name="nll_loss", planned=True)
def _nll(input: Value, target: Value, weight: Value, ignore_index: int, reduction: str) -> Value:
    check_word(reduction)
    _check_classes(input, target)
    _check_weight(input, weight)
    if are_mapped(input, target, weight):
        return _nll_of_arrays(input, target, weight, ignore_index, reduction)
    return _by_rows(input, target, weight, reduction, ignore_index, logits=False)


def _by_rows(
    x: Value, target: Value, weight: Value, reduction: str, ignored: int, **options: Any
) -> Value:
    """The losses of arrays of any dimensions, with the classes in dimension 1 or the only one."""
    if len(x.shape) == 2:
        return class_losses(x, target, weight, reduction, ignored, **options)
    if len(x.shape) == 1:
        rows = np.expand_dims(x, 0)
    else:
        rows = np.reshape(np.moveaxis(x, 1, -1), (-1, x.shape[1]))
    made = class_losses(rows, target, weight, reduction, ignored, **options)
    if reduction != "none":
        return made
    return np.reshape(made, target.shape if len(x.shape) > 1 else ())


def _check_weight(x: Value, weight: Value) -> None:
    classes = x.shape[min(1, len(x.shape) - 1)]
    if weight is not None and weight.shape != (classes,):
        raise RuntimeError(
            f"weight tensor should be defined either for all {classes} classes or no classes but "
            f"got weight tensor of shape: {list(weight.shape)}"
        )


def _nll_of_arrays(
    x: Value, target: Value, weight: Value, ignore_index: int, reduction: str
) -> Value:
    if len(x.shape) == 1:
        x, target = np.expand_dims(x, 0), np.reshape(target, (1,))
        loss, _ = _losses.picked_losses(x, target, weight, reduction, ignore_index)
        return loss[0] if reduction == "none" else loss
    return _losses.picked_losses(x, target, weight, reduction, ignore_index)[0]


@planned
def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Any:
    """The negative logarithms of the probabilities of given classes.

    input: Logarithms of probabilities, (n, classes, ...) or (classes,).
    target: The classes, (n, ...) or (), of int64 or uint8.
    -> Tensor: A number, or with `reduction="none"` the losses in the shape of `target`.
    RuntimeError: For shapes and dtypes that do not fit.
    ValueError: For an `input` without dimensions, for different numbers of examples, and for
        another `reduction`.

    >>> F.nll_loss(torch.tensor([[-0.5, -1.0], [-2.0, -0.1]]), torch.tensor([0, 1]))
    tensor(0.3000)
    """
    word = word_for(size_average, reduce, reduction)
    return _nll(input, target, weight, ignore_index, word)


def _cross_entropy_label(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None,
    ignored: int,
    reduction: str,
    smoothing: float,
) -> str:
    if target.is_floating_point():
        return "DivBackward1" if reduction == "mean" else "NegBackward0"
    return "AddBackward0" if smoothing else _nll_label(input, target, weight, ignored, reduction)


@private(_cross_entropy_label, name="cross_entropy", planned=True, order="contiguous")
def _cross_entropy(
    input: Value,
    target: Value,
    weight: Value,
    ignore_index: int,
    reduction: str,
    label_smoothing: float,
) -> Value:
    check_word(reduction)
    require_kind(input.dtype, "log_softmax_lastdim_kernel_impl")
    axis = 1 if len(input.shape) > 1 else 0
    if input.shape == target.shape:
        if target.dtype.kind not in "fV":
            raise RuntimeError(
                "Expected floating point type for target with class probabilities, got "
                f"{word_of(target.dtype)}"
            )
        return _soft_cross_entropy(input, target, weight, reduction, label_smoothing, axis)
    _check_classes(input, target)
    _check_weight(input, weight)
    if not are_mapped(input, target, weight):
        return _by_rows(
            input, target, weight, reduction, ignore_index, share=float(label_smoothing)
        )
    scores = _losses.log_probabilities(input, axis)
    if not label_smoothing:
        return _nll_of_arrays(scores, target, weight, ignore_index, reduction)
    if axis == 0:
        scores, target = np.expand_dims(scores, 0), np.expand_dims(target, 0)
    hard, counts = _losses.picked_losses(scores, target, weight, reduction, ignore_index)
    weighted = scores if weight is None else scores * _beside_classes(weight, scores, 1)
    valid = target != ignore_index
    even = -np.where(valid, np.sum(weighted, axis=1), 0)
    even = np.sum(even) / np.sum(counts) if reduction == "mean" else reduced(even, reduction)
    share = label_smoothing / scores.shape[1]
    made = (1 - label_smoothing) * hard + share * even
    return made[0] if axis == 0 and reduction == "none" else made


def _beside_classes(weight: Value, scores: Value, axis: int) -> Value:
    return np.reshape(weight, (-1, *(1,) * (len(scores.shape) - 1 - axis)))


def _soft_cross_entropy(
    x: Value, target: Value, weight: Value, reduction: str, label_smoothing: float, axis: int
) -> Value:
    if label_smoothing:
        target = target * (1 - label_smoothing) + label_smoothing / x.shape[axis]
    scores = log_softmax_of(x, axis=axis) * target
    if weight is not None:
        scores = scores * _beside_classes(weight, scores, axis)
    if reduction == "mean":
        examples = math.prod(side for place, side in enumerate(x.shape) if place != axis)
        return -np.sum(scores) / np.asarray(examples, scores.dtype)
    return -np.sum(scores, axis=axis) if reduction == "none" else -reduced(scores, reduction)


@planned
def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Any = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:
    """The cross entropy of logits with classes, or with probabilities of classes.

    input: Logits, (n, classes, ...) or (classes,).
    target: The classes, (n, ...) or (), of int64 or uint8; or probabilities of them,
        floating-point numbers of the shape of `input`.
    -> Tensor: A number, or with `reduction="none"` the losses, (n, ...) or ().
    RuntimeError: For shapes and dtypes that do not fit, and for another `label_smoothing`.
    ValueError: For another `reduction`.

    >>> logits = torch.tensor([[2.0, 0.0], [0.0, 0.0]])
    >>> F.cross_entropy(logits, torch.tensor([0, 1]))
    tensor(0.4100)
    """
    word = word_for(size_average, reduce, reduction)
    if not 0 <= label_smoothing <= 1:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    return _cross_entropy(input, target, weight, ignore_index, word, label_smoothing)


@private("NotDifferentiable", order="contiguous")
def one_hot(tensor: Value, num_classes: int = -1) -> Value:
    """Rows that are 1 at the given classes, else 0.

    tensor: The classes, int64, of any shape.
    num_classes: How many there are; with -1, one more than the largest given.
    -> Tensor: Of int64, with a dimension of the classes after those of `tensor`.
    RuntimeError: For another dtype, and for classes below 0 or beyond `num_classes`.

    >>> F.one_hot(torch.tensor([0, 2]))
    tensor([[1, 0, 0],
            [0, 0, 1]])
    """
    if tensor.dtype != np.int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    value = shown_value(tensor)
    if value.size and value.min() < 0:
        raise RuntimeError("Class values must be non-negative.")
    if num_classes == -1:
        if not value.size:
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
        num_classes = int(value.max()) + 1
    elif value.size and value.max() >= num_classes:
        raise RuntimeError("Class values must be smaller than num_classes.")
    return (np.expand_dims(tensor, -1) == np.arange(num_classes)).astype(np.int64)


__all__ = ["cross_entropy", "nll_loss", "one_hot"]
