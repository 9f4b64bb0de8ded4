"""Losses of numbered classes, one node each: of logits, or of logarithms of probabilities.

Knows arrays and rules. Must not know tensors, or losses of more than one class per row.

With log-probabilities l, weights w and the class t of a row, and a share s for all C classes, the
loss of the row is

    -(1 - s) * w[t] * l[t] - s / C * sum(w * l)

and 0 if its class is ignored. A mean is divided by the sum of the w[t] that count. So the loss is
linear in l; with logits x there is l = x - log(sum(exp(x))), and the derivative by x is the one by
l less the softmax times its sum.
All this is the same for x + c with a number c for each row. So what is kept is such an array, and
not x, to which the program may write.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tapegrad._core.entry import Spec
from tapegrad._core.fast.call_plans import Kernels
from tapegrad._core.fit import fit_cotangent
from tapegrad._core.recorded import is_recording
from tapegrad._core.types import Cotangent, Params, Value, Values, Wanted
from tapegrad._core.values import Traced, is_mapped, untraced
from tapegrad.torch._graph.node import is_on_graph
from tapegrad.torch._rules.declare import Fused, Instead, Kept, Whole, ruled
from tapegrad.torch._rules.losses import log_probabilities, picked_losses, reduced, total_of


def _class_losses(
    x: Value,
    target: Value,
    weight: Value = None,
    *,
    logits: bool,
    reduction: str,
    ignored: int,
    share: float,
    kept: Kept | None = None,
) -> Value:
    target = target.reshape(-1)
    plain = weight is None and ignored < 0 and not share and type(x) is np.ndarray
    if plain and x.dtype.char in "fd" and _are_usual(target, x.shape[1]):
        out, besides = usual_of(x.shape, x.dtype, logits, reduction).keep(x, target)
        if kept is not None:
            kept.found = besides
            kept.instead = besides[0] if logits else None
        return out
    scores = log_probabilities(x, 1) if logits else x
    if kept is not None and logits and type(x) is np.ndarray:
        kept.instead = scores
    hard, counts = picked_losses(scores, target, weight, reduction, ignored)
    if not share:
        return hard
    weighted = scores if weight is None else scores * weight
    even = -np.where(target != ignored, np.sum(weighted, axis=1), 0)
    even = np.sum(even) / np.sum(counts) if reduction == "mean" else reduced(even, reduction)
    return (1 - share) * hard + share / scores.shape[1] * even


def _are_usual(target: Value, classes: int) -> bool:
    """Whether all classes are ones that count; there are some."""
    if target.dtype.char != "l" or not target.size:
        return False
    # As uint64, negative classes are large. Whether all flags are set their bytes tell: a third of
    # the price of NumPy's reductions.
    below = np.less(target.view(np.uint64), np.array(classes, np.uint64))
    return b"\0" not in below.tobytes()


def _slopes(
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    target: Value,
    weight: Value,
    reduction: str,
    ignored: int,
    share: float,
) -> Value:
    """The derivatives of the losses by the log-probabilities; of a mean by its divisor as well."""
    rows, classes = shape
    valid = target != ignored
    bounds = np.where(valid, target, 0)
    counts = valid.astype(dtype) if weight is None else weight[bounds] * valid
    slopes = np.zeros(shape, dtype)
    slopes[np.arange(rows), bounds] = (share - 1) * counts
    if share:
        even = np.full(classes, -share / classes, dtype)
        slopes += valid[:, None] * (even if weight is None else even * weight)
    if reduction == "mean":
        slopes /= np.sum(counts)
        slopes[~valid] = 0  # also where nothing counts, and the mean is NaN
    return slopes


class ClassLoss(Whole, Fused):
    """The rule for x and the classes, and for these with a weight for each class."""

    def pull(
        self, g: Cotangent, out: Value, args: Values, params: Params, wanted: Wanted
    ) -> Sequence[Cotangent]:
        x = args[0]
        rest = [None] * (len(args) - 1)
        bar, kept = g, params.get("kept")
        g = g[:, None] if params["reduction"] == "none" else g
        if kept is not None and kept.found is not None and type(x) is type(bar) is np.ndarray:
            usual = usual_of(x.shape, x.dtype, params["logits"], params["reduction"])
            return [usual.pull(bar, kept.found), *rest]
        slopes = self._slopes(args, params)
        if not params["logits"]:
            return [np.where(slopes == 0, 0, g) * slopes, *rest]
        counts = np.any(slopes, axis=1, keepdims=True)  # else an infinite g makes NaN there
        given = g if np.all(counts) else np.where(counts, g, 0)
        return [given * (slopes - _softmax(x) * np.sum(slopes, 1, keepdims=True)), *rest]

    def _slopes(self, args: Values, params: Params) -> Value:
        x, target, weight = (*args, None)[:3]
        words = {word: params[word] for word in ("reduction", "ignored", "share")}
        classes = untraced(target).reshape(-1)
        return _slopes(x.shape, x.dtype, classes, untraced(weight), **words)

    def kernels(
        self, specs: Sequence[Any], out: Spec, wanted: tuple[bool, ...], **params: Any
    ) -> Kernels:
        params.pop("kept", None)

        def keep(*arrays: Value) -> Any:
            kept = Kept()
            losses = _class_losses(*arrays, kept=kept, **params)
            return losses, kept if kept.instead is None else Instead((kept.instead, kept))

        def pull(g: Cotangent, out: Value, *args: Value) -> Any:
            *arrays, kept = args
            if type(kept) is Instead:
                kept = kept[1]
            bars = self.pull(np.asarray(g), out, arrays, {"kept": kept, **params}, wanted)
            pairs = zip(bars, arrays, strict=True)
            return [bar if bar is None else fit_cotangent(bar, x, self) for bar, x in pairs]

        x = specs[0]
        unusual = len(specs) > 2 or params["share"] or params["ignored"] >= 0
        if unusual or out.dtype is not x.dtype or not x.size or x.dtype.char not in "fd":
            return Kernels(None, pull, keep=keep)
        usual = usual_of(x.shape, x.dtype, params["logits"], params["reduction"])
        classes, logits, keep_usual, pull_usual = x.shape[1], params["logits"], *usual

        def keep_one(x: Value, target: Value) -> Any:
            if not _are_usual(target, classes):
                return keep(x, target)
            out, besides = keep_usual(x, target)
            return out, (Instead(besides) if logits else besides)

        def pull_one(g: Cotangent, out: Value, *args: Value) -> Any:
            kept = args[-1]
            if type(kept) is Kept or len(kept) == 2:
                return pull(g, out, *args)
            return pull_usual(g, kept), None

        return Kernels(None, pull_one, keep=keep_one)


class Usual(NamedTuple):
    """The losses of rows whose classes all count, and their derivatives."""

    keep: Callable[[Value, Value], tuple[Value, tuple[Value, ...]]]  # the losses, and what is kept
    pull: Callable[[Cotangent, Any], Cotangent]


@functools.lru_cache(1 << 8)
def usual_of(shape: tuple[int, ...], dtype: np.dtype[Any], logits: bool, reduction: str) -> Usual:
    """Of NumPy's own arrays of a shape.

    The general functions take 2.6x of the time of these, of logarithms 3.3x (8 x 8, forward and
    backward).
    """
    rows, classes = shape
    starts, number, highest = np.arange(rows) * classes, dtype.type, np.maximum.reduce
    ones, each, is_mean = np.ones((classes, 1), dtype), reduction == "none", reduction == "mean"
    divisor = number(rows if is_mean else 1)

    def total(losses: Value) -> Value:
        if each:
            return losses
        found = total_of(losses)
        return found / divisor if is_mean else found

    def keep(x: Value, target: Value) -> Any:
        if not x.flags.c_contiguous:
            x = np.ascontiguousarray(x)
        shifted = np.subtract(x, highest(x, 1, keepdims=True))
        places = np.add(starts, target.reshape(-1))
        picked = shifted.reshape(-1).take(places)
        powers = np.exp(shifted)
        totals = powers.dot(ones)
        losses = np.log(totals.reshape(-1))
        np.subtract(losses, picked, losses)
        return total(losses), (shifted, powers, totals, places)

    def pull(g: Cotangent, kept: Any) -> Cotangent:
        _, powers, totals, places = kept  # whose quotients are the probabilities
        scale = g if each else number(g / divisor)
        bar = powers * ((scale.reshape(rows, 1) if each else scale) / totals)
        bar.reshape(-1)[places] -= scale
        return bar

    def keep_picked(x: Value, target: Value) -> Any:
        places = np.add(starts, target.reshape(-1))
        losses = x.reshape(-1).take(places)
        np.negative(losses, losses)
        return total(losses), (places,)

    def pull_picked(g: Cotangent, kept: Any) -> Cotangent:
        bar = np.zeros(shape, g.dtype)
        bar.reshape(-1)[kept[0]] = -g if each else -g / divisor
        return bar

    return Usual(keep, pull) if logits else Usual(keep_picked, pull_picked)


def _softmax(x: Value) -> Value:
    powers = np.exp(x - np.max(untraced(x), axis=1, keepdims=True))
    return powers / np.sum(powers, axis=1, keepdims=True)


def are_mapped(*values: Value) -> bool:
    """Whether a vmap maps over one of these values."""
    for value in values:
        while isinstance(value, Traced):
            value = value._value
        if is_mapped(value):
            return True
    return False


_BY_COUNT = {
    count: ruled(
        "NllLossBackward0",
        ClassLoss,
        count,
        name="class_loss",
        signature=", ".join(("x", "target", "weight")[:count]),
        batch="loop",
    )(_class_losses)
    for count in (2, 3)
}


def class_losses(
    x: Value,
    target: Value,
    weight: Value,
    reduction: str,
    ignored: int,
    *,
    logits: bool = True,
    share: float = 0.0,
) -> Value:
    """The losses of rows of logits, or of logarithms of probabilities, with their classes.

    x: (n, classes); target: n integers, of any shape. weight: one number for each class, or None.
    ignored: a class that does not count. share: how much of each loss is that of all classes.
    IndexError for other classes.
    """
    if is_recording() and weight is None and ignored < 0 and not share and x.shape[0]:
        classes = untraced(target)
        if np.all((classes >= 0) & (classes < x.shape[1])):
            # The calls that a program makes best: one by one.
            scores = log_probabilities(x, 1) if logits else x
            return reduced(-scores[np.arange(x.shape[0]), target.reshape(-1)], reduction)
    params: dict[str, Any] = {"logits": logits, "reduction": reduction, "ignored": ignored}
    params |= {"share": share, "kept": Kept()}
    arrays = [x, target] if weight is None else [x, target, weight]
    made = _BY_COUNT[len(arrays)](*arrays, **params)
    if is_on_graph(made) and params["kept"].instead is not None:
        rule, out, args, *rest = made.slot._entry
        made.slot._entry = rule, out, (params["kept"].instead, *args[1:]), *rest
    return made
