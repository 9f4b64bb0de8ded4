"""Normalization of arrays along axes: one rule, with the closed form of its cotangents.

Knows arrays and rules. Must not know tensors, channels or running statistics.

With mean m and r = 1 / sqrt(variance + eps) along the axes, the result is `(x - m) * r * weight +
bias`. For g' = g * weight and y = (x - m) * r the cotangent of x is

    r * (g' - mean(g') - y * mean(g' * y))

Without centring m = 0, and the first mean is missing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tapegrad._core.entry import Spec
from tapegrad._core.fast.call_plans import Kernels
from tapegrad._core.recorded import is_recording
from tapegrad._core.types import Cotangent, Params, Value, Values, Wanted
from tapegrad.torch._rules.blockwise import scaled_sums, sums_of_products_over, sums_over
from tapegrad.torch._rules.declare import Fused, Kept, Whole, ruled
from tapegrad.torch._rules.generated import generated_kernels
from tapegrad.torch._rules.symbols import is_own, summed

Axes = tuple[int, ...]


class Statistics(NamedTuple):
    """Statistics of the arrays that are normalized together."""

    of: Value  # the array itself
    mean: Value  # None without centring
    variance: Value  # the mean square without centring
    scale: Value  # 1 / sqrt(variance + eps)


def _statistics(x: Value, axes: Axes, eps: float, centred: bool) -> tuple[Statistics, Value]:
    """The statistics of an array, and the array less its mean."""
    count = _count(x, axes)
    mean = None
    deviation = x
    if centred:
        mean = sums_over(x, axes) / count
        deviation = x - mean
    variance = sums_of_products_over(deviation, deviation, axes) / count
    return Statistics(x, mean, variance, 1 / np.sqrt(variance + eps)), deviation


def _same(weight: Value, axes: Axes) -> Axes:
    """The axes along which a weight is the same for all elements."""
    shape = weight.shape
    return tuple([axis for axis in axes if len(shape) < -axis or shape[axis] == 1])


def _count(x: Value, axes: Axes) -> int | float:
    return math.prod(x.shape[axis] for axis in axes) or math.nan


def _normalized(
    x: Value,
    *affine: Value,
    axes: Axes,
    eps: float,
    centred: bool = True,
    kept: Kept | None = None,
    split: tuple[int, ...] | None = None,
    aligned: tuple[int, ...] | None = None,
) -> Value:
    if aligned is not None:
        affine = tuple([np.reshape(part, aligned) for part in affine])
    if split is not None:
        whole = np.reshape(x, split)
        out = _normalized(whole, *affine, axes=axes, eps=eps, centred=centred)
        return np.reshape(out, x.shape)
    found, deviation = _statistics(x, axes, eps, centred)
    if kept is not None and is_own(x):
        kept.found = found
    if not affine:
        return deviation * found.scale
    out = (
        deviation * (found.scale * affine[0])
        if _same(affine[0], axes)
        else (deviation * found.scale * affine[0])
    )
    return out if len(affine) == 1 else out + affine[1]


class Normalization(Whole, Fused):
    """The rule for `count` arrays: x, then a weight, then a bias, which broadcast to x's shape."""

    def needs(self, wanted: Wanted) -> tuple[Sequence[bool], bool]:
        return [True, True, False][: len(wanted)], False

    def pull(
        self, g: Cotangent, out: Value, args: Values, params: Params, wanted: Wanted
    ) -> Sequence[Cotangent]:
        x, axes = args[0], params["axes"]
        if not x.size:
            return [
                np.zeros(arg.shape, arg.dtype) if want else None
                for arg, want in zip(args, wanted, strict=True)
            ]
        if "aligned" in params:
            rest = dict(params)
            shape = rest.pop("aligned")
            arrays = [args[0], *(_reshaped(part, shape) for part in args[1:])]
            bars = list(self.pull(g, out, arrays, rest, wanted))
            affine = zip(bars[1:], args[1:], strict=True)
            return [bars[0], *(_narrowed(bar, shape, part.shape) for bar, part in affine)]
        weight = args[1] if len(args) > 1 else None
        split = params.get("split", x.shape)
        if split != x.shape:
            whole, rest = np.reshape(x, split), {**params, "kept": Kept()}
            del rest["split"]
            bars = list(self.pull(np.reshape(g, split), out, (whole, *args[1:]), rest, wanted))
            bars[0] = None if bars[0] is None else np.reshape(bars[0], x.shape)
            return bars
        found, deviation = _of_call(x, params)
        scale, count = found.scale, _count(x, axes)
        of_weight, of_bias = (*wanted, False, False)[1:3]
        same = axes if weight is None else _same(weight, axes)
        if not same:
            return self._by_rows(g, deviation, weight, found, axes, wanted)
        # The sums for the weight and the bias are those for x, before they are weighted.
        total = sums_over(g, same) if of_bias or found.mean is not None else None
        along = sums_of_products_over(g, deviation, same)
        bars = [None, along * scale if of_weight else None, total if of_bias else None]
        if not wanted[0]:
            return bars[: len(args)]
        if weight is not None:
            others = tuple([axis for axis in axes if axis not in same])
            along = sums_over(along * weight, others)
            total = None if found.mean is None else sums_over(total * weight, others)
        bar = g * (scale if weight is None else scale * weight)
        bar = bar - deviation * (along * (scale * scale * scale / count))
        bars[0] = bar if found.mean is None else bar - total * (scale / count)
        return bars[: len(args)]

    def _by_rows(
        self,
        g: Cotangent,
        deviation: Value,
        weight: Value,
        found: Statistics,
        axes: Axes,
        wanted: Wanted,
    ) -> list[Cotangent]:
        """The same of a weight for each of the elements that are normalized together."""
        scale, count = found.scale, _count(deviation, axes)
        made = g * deviation
        bars = [None, None, g][: len(wanted)]
        if wanted[1]:
            bars[1] = scaled_sums(made, scale, weight.shape, axes)
        if wanted[0]:
            along = sums_of_products_over(made, weight, axes)
            bar = g * weight - deviation * (along * (scale * scale / count))
            if found.mean is not None:
                bar = bar - sums_of_products_over(g, weight, axes) / count
            bars[0] = bar * scale
        return bars

    def kernels(
        self, specs: Sequence[Any], out: Spec, wanted: tuple[bool, ...], **params: Any
    ) -> Kernels | None:
        kept = Kept()

        def moments_of() -> Sequence[Any]:
            return () if kept.found is None else (kept.found.mean, kept.found.variance)

        return generated_kernels(self, specs, out, wanted, {**params, "kept": kept}, moments_of)


def moments_kept(kept: Any) -> tuple[Value, Value] | None:
    """Mean and variance from what a call of arrays keeps; None if it does not tell."""
    if type(kept) is not Kept:
        return None if kept is None else kept[-2:]
    found = kept.found
    return None if found is None else (found.mean, found.variance)


def moments(x: Value, axes: Axes, eps: float) -> tuple[Value, Value]:
    """Mean and variance of an untraced array, as a call finds them."""
    kept = Kept()
    _normalized(x, axes=axes, eps=eps, kept=kept)
    found = moments_kept(kept)
    assert found is not None
    return found


def _kept_in(params: Params) -> Statistics | None:
    kept = params.get("kept")
    found: Statistics | None = None if kept is None else kept.found
    return found


def _reshaped(part: Value, shape: tuple[int, ...]) -> Value:
    """An array in another shape; what is no array is left."""
    return part if part is None or type(part) is Spec else np.reshape(part, shape)


def _narrowed(bar: Cotangent, aligned: tuple[int, ...], shape: tuple[int, ...]) -> Cotangent:
    """The cotangent of a weight that was given a shape first: its sums, in the shape it has."""
    if bar is None:
        return None
    return np.reshape(summed(bar, aligned), shape)


def _of_call(x: Value, params: Params) -> tuple[Statistics, Value]:
    """The statistics of x, kept from the call unless these are differentiated, and x - mean."""
    found = _kept_in(params)
    if found is not None and found.of is x:
        deviation = x if found.mean is None else x - found.mean
    else:
        found, deviation = _statistics(
            x, params["axes"], params["eps"], params.get("centred", True)
        )
    return found, deviation


def _of_examples(x: Value, *affine: Value, **params: Any) -> Value:
    params.pop("kept", None)
    shape = x.shape
    if "split" in params:
        x = np.reshape(x, (shape[0], *params.pop("split")))
    if "aligned" in params:
        given = params.pop("aligned")
        affine = tuple([np.reshape(part, (part.shape[0], *given)) for part in affine])
    aligned = [
        np.reshape(part, (part.shape[0], *(1,) * (x.ndim - part.ndim), *part.shape[1:]))
        for part in affine
    ]
    return np.reshape(_normalized(x, *aligned, **params), shape)


_BY_COUNT = [
    ruled(
        "NativeLayerNormBackward0",
        Normalization,
        count,
        name="normalized",
        signature=", ".join(("x", "weight", "bias")[:count]),
        batch=_of_examples,
    )(_normalized)
    for count in (1, 2, 3)
]


def normalized(
    x: Value,
    weight: Value,
    bias: Value,
    axes: Axes,
    eps: float,
    *,
    centred: bool = True,
    split: tuple[int, ...] | None = None,
    aligned: tuple[int, ...] | None = None,
) -> Value:
    """x with mean 0 and variance 1 along negative axes, times weight plus bias (arrays, or None).

    x: a real floating array. eps is added to the variance. centred: whether the mean is taken
    away. split: the shape that x is given first, in which the axes and the weights are counted;
    aligned: the one that weight and bias are given. A weight or bias broadcasts to x; of half
    precision is computed in single precision.
    """
    half = x.dtype.itemsize == 2
    given = x.dtype
    arrays = [x, weight, bias]
    if half:
        arrays = [None if part is None else part.astype(np.float32) for part in arrays]
    if arrays[2] is not None and arrays[1] is None:
        arrays[1] = np.ones(arrays[2].shape, arrays[2].dtype)
    arrays = [part for part in arrays if part is not None]
    params: dict[str, Any] = {"axes": axes, "eps": eps}
    if not is_recording():
        params["kept"] = Kept()
    if not centred:
        params["centred"] = False
    if split is not None:
        params["split"] = split
    if aligned is not None and len(arrays) > 1:
        params["aligned"] = aligned
    out = _BY_COUNT[len(arrays) - 1](*arrays, **params)
    return out.astype(given) if half else out
