"""Losses with a margin: of pairs, of triplets, and of classes.

Knows PyTorch's parameters, checks and errors. Must not know modules.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad._core.types import Value
from tapegrad._core.values import shown_value, untraced
from tapegrad.torch._dtypes import word_of
from tapegrad.torch._ops.declare import OPERATIONS, private, register
from tapegrad.torch._ops.elementwise.activations import logsigmoid
from tapegrad.torch._ops.elementwise.arithmetic import promoted
from tapegrad.torch._rules.losses import WORDS, check_word, reduced, word_for
from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch.nn.distance.functions import pairwise_distance


def reduce_tensor(losses: Tensor, reduction: str) -> Any:
    """The mean or the sum of losses, or themselves."""
    if reduction == "mean":
        return losses.mean()
    return losses.sum() if reduction == "sum" else losses


_OF_TORCH = """\
`nn.functional.{word}`, with a number for its reduction.

*args: The arguments of `nn.functional.{word}`, without older forms of the reduction.
reduction: 0 for none, as in PyTorch's own calls without it, 1 for the mean, 2 for the sum.
**kwargs: The arguments by their names.
-> Tensor: A number, or without reduction the losses.

>>> torch.{word}({arguments})
tensor({result})
"""


def numbered(word: str, call: Callable[..., Any], count: int, arguments: str, result: str) -> None:
    """Register `torch.<word>`: its argument after `count` others, the reduction, is a number.

    arguments, result: what the example in its docstring gives, and what that prints.
    """

    def of(*args: Any, reduction: int = 0, **kwargs: Any) -> Any:
        if len(args) > count:
            args, reduction = args[:count] + args[count + 1 :], args[count]
        return call(*args, reduction=WORDS[reduction], **kwargs)

    of.__name__ = of.__qualname__ = word
    of.__doc__ = _OF_TORCH.format(word=word, arguments=arguments, result=result)
    register(method=False)(of)


# --- Pairs --------------------------------------------------------------------------------------


def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Any:
    """Losses max(0, margin - target * (input1 - input2)), of which of two ranks higher.

    input1: Scores of the first, of any shape.
    input2: Scores of the second; the shapes broadcast.
    target: 1 where the first should rank higher, -1 where the second should.
    -> Tensor: A number, or with `reduction="none"` the losses in the shape to which all broadcast.
    RuntimeError: Unless all have the same number of dimensions.
    ValueError: For another word as `reduction`.

    >>> F.margin_ranking_loss(torch.tensor([2.0, 1.0]), torch.tensor([1.0, 3.0]), torch.ones(2))
    tensor(1.)
    """
    word = check_word(word_for(size_average, reduce, reduction))
    if input1.dim() != input2.dim() or input1.dim() != target.dim():
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"input1: {input1.size()}, input2: {input2.size()}, target: {target.size()} "
        )
    losses = (-target * (input1 - input2) + margin).clamp_min(0)
    return reduce_tensor(losses, word)


def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Any:
    """Losses `input` where target is 1, and max(0, margin - input) where it is -1.

    input: Distances, of any shape.
    target: 1 or -1 for each of them; the shapes broadcast.
    -> Tensor: A number, or with `reduction="none"` the losses.
    ValueError: For another word as `reduction`.

    >>> F.hinge_embedding_loss(torch.tensor([0.5, 0.5]), torch.tensor([1.0, -1.0]))
    tensor(0.5000)
    """
    word = check_word(word_for(size_average, reduce, reduction))
    zeros = OPERATIONS["zeros_like"](input.detach())
    hinge = (margin - input).clamp_min(0)
    where = OPERATIONS["where"]
    return reduce_tensor(
        where(target.ne(1), hinge, zeros) + where(target.ne(-1), input, zeros), word
    )


def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Any:
    """Losses 1 - cos of two vectors where target is 1, and max(0, cos - margin) where it is -1.

    input1: Vectors, (n, d) or (d,).
    input2: Others, of the same number of dimensions.
    target: 1 or -1 for each pair: (n,) or ().
    margin: The largest cosine of unlike vectors that costs nothing.
    -> Tensor: A number, or with `reduction="none"` the losses in the shape of `target`.
    RuntimeError: For other numbers of dimensions.
    ValueError: For another word as `reduction`.

    >>> first, second = torch.tensor([[1.0, 0.0]]), torch.tensor([[1.0, 1.0]])
    >>> F.cosine_embedding_loss(first, second, torch.tensor([1.0]))
    tensor(0.2929)
    """
    word = check_word(word_for(size_average, reduce, reduction))
    dim = target.dim()
    if dim not in (0, 1):
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if input1.dim() != dim + 1 or input2.dim() != dim + 1:
        raise RuntimeError(
            f"{dim}D target tensor expects {dim + 1}D input tensors, but found inputs with sizes "
            f"{list(input1.shape)} and {list(input2.shape)}."
        )
    first = (input1 * input1).sum(dim) + 1e-12
    second = (input2 * input2).sum(dim) + 1e-12
    cosine = (input1 * input2).sum(dim) / (first * second).sqrt()
    zeros = OPERATIONS["zeros_like"](cosine.detach())
    where = OPERATIONS["where"]
    like = where(target.eq(1), 1 - cosine, zeros)
    unlike = where(target.eq(-1), (cosine - margin).clamp_min(0), zeros)
    return reduce_tensor(like + unlike, word)


# --- Triplets -----------------------------------------------------------------------------------


def _check_triplet(anchor: Tensor, positive: Tensor, negative: Tensor) -> None:
    if not anchor.ndim == positive.ndim == negative.ndim:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of "
            f"dimensions, but got: anchor {anchor.ndim}D, positive {positive.ndim}D, and negative "
            f"{negative.ndim}D inputs"
        )


def _of_triplet(
    distance: Callable[[Tensor, Tensor], Any],
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float,
    swap: bool,
) -> Any:
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = OPERATIONS["minimum"](far, distance(positive, negative))
    return (margin + near - far).clamp_min(0)


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Any:
    """Losses `max(0, margin + |anchor - positive| - |anchor - negative|)`, of norms.

    -> Tensor: A number, or with `reduction="none"` the losses, without the last dimension.
    ValueError: Unless `margin` is positive, and for another word as `reduction`.
    RuntimeError: Unless all have the same number of dimensions.

    >>> at = torch.tensor([[0.0, 0.0]])
    >>> F.triplet_margin_loss(at, torch.tensor([[3.0, 4.0]]), torch.tensor([[0.0, 5.0]]))
    tensor(1.0000)
    """
    word = check_word(word_for(size_average, reduce, reduction))
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    _check_triplet(anchor, positive, negative)

    def distance(x: Tensor, y: Tensor) -> Any:
        return pairwise_distance(x, y, p, eps)

    return reduce_tensor(_of_triplet(distance, anchor, positive, negative, margin, swap), word)


def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Any] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Any:
    """Losses max(0, margin + d(anchor, positive) - d(anchor, negative)), of any distance d.

    distance_function (callable): The distances of two tensors of vectors; `pairwise_distance`
        unless given.
    -> Tensor: A number, or with `reduction="none"` the losses.
    ValueError: Unless `margin` is positive, and for another word as `reduction`.
    RuntimeError: Unless all have the same number of dimensions.

    >>> def by_sum(x, y):
    ...     return (x - y).abs().sum(-1)
    >>> at, near, far = torch.zeros(1, 2), torch.ones(1, 2), torch.full((1, 2), 1.25)
    >>> F.triplet_margin_with_distance_loss(at, near, far, distance_function=by_sum)
    tensor(0.5000)
    """
    word = check_word(reduction)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    _check_triplet(anchor, positive, negative)
    distance = distance_function or pairwise_distance
    return reduce_tensor(_of_triplet(distance, anchor, positive, negative, margin, swap), word)


# --- Classes ------------------------------------------------------------------------------------


def _refuse_derivative(word: str, argument: str, given: Any) -> None:
    if isinstance(given, Tensor) and given.requires_grad:
        raise RuntimeError(
            f"The function '{word}' is not differentiable with respect to argument '{argument}'. "
            "This input cannot have requires_grad True."
        )


def _check_matrix(x: Value) -> None:
    if len(x.shape) > 2 or (x.shape and x.shape[-1] == 0):
        raise RuntimeError(
            "Expected non-empty vector or matrix with optional 0-dim batch size, but got: "
            f"{list(x.shape)}"
        )


def _check_long(target: Value) -> None:
    if target.dtype != np.int64:
        raise RuntimeError(f"expected scalar type Long but found {word_of(target.dtype)}")


@private("MultiMarginLossBackward0", name="multi_margin_loss")
def _multi_margin(
    input: Value, target: Value, p: int, margin: float, weight: Value, reduction: str
) -> Value:
    _check_matrix(input)
    rows = input.reshape(-1, input.shape[-1] if input.shape else 1)
    count, classes = rows.shape
    if len(target.shape) > 1 or math.prod(target.shape) != count:
        raise RuntimeError(
            "multi_margin_loss: target tensor should be 1-D with size equal to the number of "
            f"input samples (batch size). Expected target size [{count}], but got "
            f"{list(target.shape)}. Input has shape {list(input.shape)}."
        )
    _check_long(target)
    if weight is not None and math.prod(weight.shape) != classes:
        raise RuntimeError(f"inconsistent weight size: {list(weight.shape)}")
    picked = np.reshape(untraced(target), (count, 1))
    _check_range(picked, classes, 0, "target out of range")
    own = np.take_along_axis(rows, picked, 1)
    others = (picked != np.arange(classes)).astype(rows.dtype)
    hinge = _above_zero(margin - own + rows) * others
    if p == 2:
        hinge = hinge * hinge
    if weight is not None:
        hinge = hinge * np.take(weight, picked)
    losses = np.sum(hinge, axis=1) / classes
    return _reduced_rows(losses, reduction, np.shape(target))


def _above_zero(x: Value) -> Value:
    """max(x, 0), with the slope 0 at 0."""
    return np.where(untraced(x) > 0, x, 0)


def _reduced_rows(losses: Value, reduction: str, shape: tuple[int, ...]) -> Value:
    if reduction == "mean" and not losses.shape[0]:
        return np.sum(losses)
    return losses.reshape(shape) if reduction == "none" else reduced(losses, reduction)


def _check_range(target: Value, classes: int, lowest: int, text: str) -> None:
    value = shown_value(target)
    if np.any((value < lowest) | (value >= classes)):
        raise RuntimeError(text)


def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Any:
    """How far scores of other classes come within a margin of that of the class of `target`.

    It is the sum over the other classes of max(0, margin - own + other)**p, times the weight of
    the class, over the number of classes.

    input: Scores, (n, classes) or (classes,).
    target: The classes, (n,) or (), of int64.
    p ({1, 2}): The power.
    weight: A factor for each class.
    -> Tensor: A number, or with `reduction="none"` the losses in the shape of `target`.
    ValueError: For another `p`, another word as `reduction`, and a `weight` that is no vector.
    RuntimeError: For shapes and dtypes that do not fit, for classes out of range, and for a
        `weight` that requires grad.

    >>> F.multi_margin_loss(torch.tensor([[0.5, 1.0, 0.0]]), torch.tensor([1]))
    tensor(0.1667)
    """
    word = check_word(word_for(size_average, reduce, reduction))
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.dim() != 1:
        raise ValueError("weight must be one-dimensional")
    _refuse_derivative("multi_margin_loss", "weight", weight)
    return _multi_margin(input, target, p, margin, weight, word)


@private("MultilabelMarginLossBackward0", name="multilabel_margin_loss")
def _multilabel_margin(input: Value, target: Value, reduction: str) -> Value:
    _check_matrix(input)
    if tuple(target.shape) != tuple(input.shape):
        raise RuntimeError(
            f"inconsistent target size: {list(target.shape)} for input of size: "
            f"{list(input.shape)}"
        )
    _check_long(target)
    classes = input.shape[-1] if input.shape else 1
    rows, labels = input.reshape(-1, classes), np.reshape(untraced(target), (-1, classes))
    _check_range(labels, classes, -1, "argument #2 'target' is out of range")
    given = np.cumsum(labels == -1, axis=1) == 0  # the labels before the first -1
    most = int(np.max(np.sum(shown_value(given), axis=1), initial=0))
    labels, given = labels[:, :most], given[:, :most]
    chosen = np.where(given, labels, 0)
    is_target = np.any((chosen[..., None] == np.arange(classes)) & given[..., None], axis=1)
    own = np.take_along_axis(rows, chosen, 1)
    hinge = _above_zero(1 - np.expand_dims(own, 2) + np.expand_dims(rows, 1))
    counts = (given[:, :, None] & ~is_target[:, None, :]).astype(rows.dtype)
    losses = np.sum(hinge * counts, axis=(1, 2)) / classes
    return _reduced_rows(losses, reduction, tuple(input.shape[:-1]))


def multilabel_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Any:
    """How far scores of other classes come within a margin of 1 of those of the target classes.

    input: Scores, (n, classes) or (classes,).
    target: Of the shape of `input`, of int64: the classes, up to the first -1.
    -> Tensor: A number, or with `reduction="none"` one for each example.
    RuntimeError: For shapes and dtypes that do not fit, and for classes out of range.
    ValueError: For another word as `reduction`.

    >>> F.multilabel_margin_loss(torch.tensor([0.5, 1.0, 0.0]), torch.tensor([1, -1, 0]))
    tensor(0.1667)
    """
    word = check_word(word_for(size_average, reduce, reduction))
    return _multilabel_margin(input, target, word)


@private("SoftMarginLossBackward0", name="soft_margin_loss")
def _soft_margin(input: Value, target: Value, reduction: str) -> Value:
    x, y = promoted(input, target)
    return reduced(np.logaddexp(0, -y * x), reduction)


def soft_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Any:
    """Losses log(1 + exp(-target * input)), with targets of 1 and -1.

    input: Scores, of any shape.
    target: 1 or -1 for each; it may not require grad.
    -> Tensor: A number, or with `reduction="none"` the losses.
    TypeError: For an argument that is no tensor.
    RuntimeError: For a `target` that requires grad.
    ValueError: For another word as `reduction`.

    >>> F.soft_margin_loss(torch.tensor([0.0, 2.0]), torch.tensor([1.0, -1.0]), reduction="none")
    tensor([0.6931, 2.1269])
    """
    word = check_word(word_for(size_average, reduce, reduction))
    for place, (name, part) in enumerate((("input", input), ("target", target)), 1):
        if not isinstance(part, Tensor):
            raise TypeError(
                f"soft_margin_loss(): argument '{name}' (position {place}) must be Tensor, not "
                f"{type(part).__name__}"
            )
    _refuse_derivative("soft_margin_loss", "target", target)
    return _soft_margin(input, target, word)


def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Any:
    """Means over classes of the binary cross entropies of logits with targets.

    input: Logits, (..., classes).
    target: 0 or 1 for each.
    weight: A factor for each class.
    -> Tensor: A number, or with `reduction="none"` one for each example.
    ValueError: For another word as `reduction`.

    >>> F.multilabel_soft_margin_loss(torch.tensor([[0.0, 2.0]]), torch.tensor([[1.0, 1.0]]))
    tensor(0.4100)
    """
    word = word_for(size_average, reduce, reduction)
    losses = -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))
    if weight is not None:
        losses = losses * weight
    losses = losses.sum(dim=-1) / input.size(-1)
    if word not in WORDS:
        raise ValueError(f"{word} is not valid")
    return reduce_tensor(losses, word)


numbered(
    "margin_ranking_loss",
    margin_ranking_loss,
    4,
    "torch.tensor([2.0, 1.0]), torch.tensor([1.0, 3.0]), torch.ones(2), reduction=1",
    "1.",
)
numbered(
    "hinge_embedding_loss",
    hinge_embedding_loss,
    3,
    "torch.tensor([0.5, 0.5]), torch.tensor([1.0, -1.0]), reduction=1",
    "0.5000",
)
numbered(
    "cosine_embedding_loss",
    cosine_embedding_loss,
    4,
    "torch.tensor([[1.0, 0.0]]), torch.tensor([[1.0, 1.0]]), torch.ones(1), reduction=1",
    "0.2929",
)
numbered(
    "triplet_margin_loss",
    triplet_margin_loss,
    7,
    "torch.zeros(1, 2), torch.tensor([[3.0, 4.0]]), torch.tensor([[0.0, 5.0]]), reduction=1",
    "1.0000",
)


__all__ = [
    "cosine_embedding_loss",
    "hinge_embedding_loss",
    "margin_ranking_loss",
    "multi_margin_loss",
    "multilabel_margin_loss",
    "multilabel_soft_margin_loss",
    "soft_margin_loss",
    "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
]
