"""Losses as functions of arrays, each with a rule of its own: one node of the graph.

Knows arrays and rules. Must not know tensors or modules.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapegrad._core.forms import General
from tapegrad._core.types import Cotangent, Function, Params, Tangent, Value, Values, Wanted
from tapegrad._core.values import shown_value, untraced
from tapegrad._warning import warn
from tapegrad.torch._graph.names import name_nodes
from tapegrad.torch._rules.blockwise import LARGE, clipped, logistic_of, softplus_of
from tapegrad.torch._rules.declare import Fused
from tapegrad.torch._rules.symbols import is_own
from tapegrad.torch._types import Axis

WORDS = ("none", "mean", "sum")  # in the order of at::Reduction


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


def check_word(reduction: str) -> str:
    """The word for a reduction; ValueError for one that there is not."""
    if reduction not in WORDS:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return reduction


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
    check_word(reduction)
    return losses


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


class PairLoss(General, Fused):
    """A loss that compares two arrays element by element, reduced to its mean or sum.

    `losses(x, y)` returns the loss of each element, `partials` its derivatives by x and by y; with
    one partial the loss is one of x alone, which is the difference of the two. All of them get the
    parameters of the loss. `by_weights`: a weighted mean divides by the sum of the weights.
    `total(x, y)`: the sum of the losses, where fewer calls give it.
    """

    def __init__(
        self,
        losses: Function,
        partials: Sequence[Function],
        label: str,
        *,
        by_weights: bool = True,
        total: Callable[[Value, Value], Value] | None = None,
    ) -> None:
        self.losses = losses
        self.total = total
        self.of_each = partials
        self.by_weights = by_weights
        super().__init__(
            self._reduce,
            vjp=lambda g, _out, *arrays, **_params: (g,) * len(arrays),
            arrays=len(partials),
            name=label.removesuffix("Backward0"),
            signature=f"{'x, y'[: 3 * len(partials) - 2]}, reduction",
            batch=self._of_examples,
        )
        name_nodes(self, label)

    def of(self, *arrays: Value, reduction: str, weight: Value = None, **params: Any) -> Value:
        """The loss with PyTorch's word for the reduction; weight: one an element, or None."""
        if weight is None:
            return self.apply(*arrays, **params, **parameter(reduction))
        losses = self.apply(*arrays, **params, reduction="none")
        if self.by_weights:
            return weighted(losses, weight, reduction)
        return reduced(losses * weight, reduction)

    def _reduce(self, *arrays: Value, reduction: str = "mean", **params: Any) -> Value:
        if self.total is not None and reduction in ("mean", "sum") and _are_alike(*arrays):
            total = self.total(*arrays)
            return total / total.dtype.type(arrays[0].size) if reduction == "mean" else total
        return reduced(self.losses(*arrays, **params), reduction)

    def _of_examples(self, *arrays: Value, reduction: str = "mean", **params: Any) -> Value:
        losses = self.losses(*arrays, **params)
        return reduced(losses, reduction, tuple(range(1, losses.ndim)))

    def pull(
        self, g: Cotangent, out: Value, args: Values, params: Params, wanted: Wanted
    ) -> Sequence[Cotangent]:
        rest = dict(params)
        if rest.pop("reduction", "mean") == "mean":
            g = g / _count(args[0])  # of an array of no dimensions NumPy makes a number
        return [
            g * partial(*args, **rest) if want else None
            for partial, want in zip(self.of_each, wanted, strict=True)
        ]

    def push(self, dots: Sequence[Tangent], out: Value, args: Values, params: Params) -> Value:
        rest = dict(params)
        reduction = rest.pop("reduction", "mean")
        terms = [
            dot * partial(*args, **rest)
            for dot, partial in zip(dots, self.of_each, strict=True)
            if dot is not None
        ]
        return reduced(terms[0] if len(terms) == 1 else terms[0] + terms[1], reduction)


def _are_alike(x: Value, y: Value) -> bool:
    """Whether these are NumPy's arrays of floats, of one shape and dtype, and not empty."""
    return (
        is_own(x)
        and is_own(y)
        and x.dtype is y.dtype
        and x.shape == y.shape
        and x.dtype.kind == "f"
        and x.size > 0
    )


def _count(x: Value) -> int | float:
    return math.prod(x.shape) or math.nan


# --- Distances ----------------------------------------------------------------------------------


def _squares(x: Value, y: Value) -> Value:
    return np.square(x - y)


def _sum_of_squares(x: Value, y: Value) -> Value:
    """Of arrays of one shape; BLAS may round the squares or not."""
    made = (x - y).ravel()
    return made.dot(made)


def _of_difference(
    losses: Function, slope: Function, label: str, total: Function | None = None
) -> PairLoss:
    """A loss of `x - y`: its derivative by y is that by x, negated."""
    partials = [slope, lambda x, y, **params: -slope(x, y, **params)]
    return PairLoss(losses, partials, label, total=total)


L1 = PairLoss(np.absolute, [np.sign], "MeanBackward0")
MSE = _of_difference(_squares, lambda x, y: 2 * (x - y), "MseLossBackward0", total=_sum_of_squares)


def _smooth(x: Value, y: Value, beta: float) -> Value:
    apart = np.absolute(x - y)
    if beta == 0:
        return apart
    near = clipped(apart, -np.inf, beta)
    return near * (apart - 0.5 * near) * (1 / beta)


def _smooth_slope(x: Value, y: Value, beta: float) -> Value:
    apart = x - y
    if beta == 0:
        return np.sign(apart)
    if is_own(apart):
        return clipped(apart * (1 / beta), -1, 1)
    return np.where(np.absolute(apart) < beta, apart * (1 / beta), np.sign(apart))


SMOOTH_L1 = _of_difference(_smooth, _smooth_slope, "SmoothL1LossBackward0")


def _huber(x: Value, y: Value, delta: float) -> Value:
    apart = np.absolute(x - y)
    near = clipped(apart, -np.inf, delta)
    return near * (apart - 0.5 * near)


def _huber_slope(x: Value, y: Value, delta: float) -> Value:
    apart = x - y
    if is_own(apart):
        return clipped(apart, -delta, delta)
    return np.where(np.absolute(apart) < delta, apart, delta * np.sign(apart))


HUBER = _of_difference(_huber, _huber_slope, "HuberLossBackward0")

# --- Two classes --------------------------------------------------------------------------------

LEAST_LOGARITHM = -100.0  # what PyTorch takes for the logarithm of zero


def _bounded_logarithm(x: Value) -> Value:
    return np.maximum(np.log(x), LEAST_LOGARITHM)


def _binary(x: Value, y: Value) -> Value:
    return (y - 1) * _bounded_logarithm(1 - x) - y * _bounded_logarithm(x)


BINARY = PairLoss(
    _binary,
    [
        lambda x, y: (x - y) / np.maximum(x * (1 - x), 1e-12),
        lambda x, _y: _bounded_logarithm(1 - x) - _bounded_logarithm(x),
    ],
    "BinaryCrossEntropyBackward0",
    by_weights=False,
)


def _softplus_of_minus(x: Value) -> Value:
    """log(1 + exp(-x)) without overflow."""
    return softplus_of(-x)


def _share_of(y: Value, pos_weight: Value) -> Value:
    return 1 if type(pos_weight) is int else 1 + (pos_weight - 1) * y


def _with_logits(x: Value, y: Value, pos_weight: Value = 1) -> Value:
    return (1 - y) * x + _share_of(y, pos_weight) * _softplus_of_minus(x)


WITH_LOGITS = PairLoss(
    _with_logits,
    [
        lambda x, y, pos_weight=1: 1 - y - _share_of(y, pos_weight) * logistic_of(-x),
        lambda x, _y, pos_weight=1: (pos_weight - 1) * _softplus_of_minus(x) - x,
    ],
    "BinaryCrossEntropyWithLogitsBackward0",
    by_weights=False,
)

# --- Several classes ----------------------------------------------------------------------------


def log_probabilities(x: Value, axis: int) -> Value:
    """Logarithms of the softmax along an axis."""
    shifted = x - np.max(untraced(x), axis=axis, keepdims=True, initial=-np.inf)
    return shifted - np.log(np.sum(np.exp(shifted), axis=axis, keepdims=True))


def picked_losses(
    scores: Value, target: Value, weight: Value, reduction: str, ignore_index: int
) -> tuple[Value, Value]:
    """`-scores` at the classes of `target`, along axis 1; and the weights of a mean (or None)."""
    valid = target != ignore_index
    bounds = np.where(valid, target, 0)
    wrong = shown_value((bounds < 0) | (bounds >= scores.shape[1]))
    if np.any(wrong):
        found = shown_value(target)[wrong].ravel()[0]
        raise IndexError(f"Target {found} is out of bounds.")
    picked = np.take_along_axis(scores, np.expand_dims(bounds, 1), 1)[:, 0]
    counts = valid.astype(scores.dtype) if weight is None else weight[bounds] * valid
    losses = -np.where(valid, picked, 0) * counts
    if reduction == "mean":
        return reduced(losses, "sum") / np.sum(counts), counts
    return reduced(losses, reduction), counts
