"""Normalization of arrays along axes: one rule, with its closed form in both directions.

Knows arrays and rules. Must not know tensors, channels or running statistics.

With mean m and r = 1 / sqrt(variance + eps) along the axes, the result is `(x - m) * r * weight +
bias`. For g' = g * weight and y = (x - m) * r the cotangent of x is

    r * (g' - mean(g') - y * mean(g' * y))

and the tangent has the same form. Without centring m = 0, and the first mean is missing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tapegrad._core.entry import Spec
from tapegrad._core.fast.call_plans import KernelsAll
from tapegrad._core.fit import fit_cotangent
from tapegrad._core.forms import General
from tapegrad._core.types import Cotangent, Params, Tangent, Value
from tapegrad._core.values import innermost
from tapegrad.torch._graph.names import name_nodes
from tapegrad.torch._rules import norm_kernels, norm_passes
from tapegrad.torch._rules.fused import Fused, Kept
from tapegrad.torch._rules.norm_passes import is_even

Axes = tuple[int, ...]
add_up = np.add.reduce


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
    apart = x
    if centred:
        mean = add_up(x, axes, keepdims=True) / count
        apart = x - mean
    variance = add_up(apart * apart, axes, keepdims=True) / count
    return Statistics(x, mean, variance, 1 / np.sqrt(variance + eps)), apart


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
    if norm_passes.are_plain(x, *affine):
        weight, bias = (*affine, None, None)[:2]
        whole = x if split is None else x.reshape(split)
        out, *statistics = norm_passes.forward(whole, weight, bias, axes, eps, centred)
        if kept is not None:
            kept.found = Statistics(x, *statistics)
        return out.reshape(x.shape)
    if split is not None:
        whole = np.reshape(x, split)
        out = _normalized(whole, *affine, axes=axes, eps=eps, centred=centred)
        return np.reshape(out, x.shape)
    found, apart = _statistics(x, axes, eps, centred)
    if kept is not None and type(x) is np.ndarray:
        kept.found = found
    if not affine:
        return apart * found.scale
    out = (
        apart * (found.scale * affine[0])
        if is_even(affine[0], axes)
        else (apart * found.scale * affine[0])
    )
    return out if len(affine) == 1 else out + affine[1]


class Normalization(General, Fused):
    """The rule for `count` arrays: x, then a weight, then a bias, which broadcast to x's shape."""

    def __init__(self, count: int) -> None:
        super().__init__(
            _normalized,
            vjp=lambda g, _out, x, weight=None, _bias=None: (g, x, weight),
            arrays=count,
            name="normalized",
            signature=", ".join(("x", "weight", "bias")[:count]),
            batch=_of_examples,
        )
        name_nodes(self, "NativeLayerNormBackward0")

    def needs(self, wanted: Sequence[bool]) -> tuple[Sequence[bool], bool]:
        return [True, True, False][: len(wanted)], False

    def pull(
        self,
        g: Cotangent,
        out: Value,
        args: Sequence[Value],
        params: Params,
        wanted: Sequence[bool],
    ) -> Sequence[Cotangent]:
        x, axes = args[0], params["axes"]
        if "aligned" in params:
            rest = dict(params)
            shape = rest.pop("aligned")
            arrays = [args[0], *(_reshaped(part, shape) for part in args[1:])]
            bars = list(self.pull(g, out, arrays, rest, wanted))
            affine = zip(bars[1:], args[1:], strict=True)
            return [bars[0], *(_narrowed(bar, shape, part.shape) for bar, part in affine)]
        weight = args[1] if len(args) > 1 else None
        found, split = _kept_in(params), params.get("split", x.shape)
        if found is not None and found.of is x and norm_passes.are_plain(x, g, weight):
            parts = (g.reshape(split), x.reshape(split))
            made = norm_passes.backward(*parts, weight, found.mean, found.scale, axes, x.shape)
            if made is not None:
                return made[: len(args)]
        if split != x.shape:
            whole, rest = np.reshape(x, split), {**params, "kept": Kept()}
            del rest["split"]
            bars = list(self.pull(np.reshape(g, split), out, (whole, *args[1:]), rest, wanted))
            bars[0] = None if bars[0] is None else np.reshape(bars[0], x.shape)
            return bars
        found, y = _of_call(x, params)
        of_weight, of_bias = (*wanted, False, False)[1:3]
        if weight is not None and is_even(weight, axes) and wanted[0]:
            # The sums for the weight and the bias are those for x, before they are scaled.
            total = add_up(g, axes, keepdims=True) if of_bias or found.mean is not None else None
            along = add_up(g * y, axes, keepdims=True)
            bars = [None, along if of_weight else None, total if of_bias else None]
            bars[0] = _projected(g, y, total, along, _count(x, axes), found, weight)
            return bars[: len(args)]
        bars = [None, g * y if of_weight else None, g if of_bias else None]
        if wanted[0]:
            inner = g if weight is None else g * weight
            total = None if found.mean is None else add_up(inner, axes, keepdims=True)
            along = add_up(inner * y, axes, keepdims=True)
            bars[0] = _projected(inner, y, total, along, _count(x, axes), found, None)
        return bars[: len(args)]

    def kernels(
        self, specs: Sequence[Any], out: Spec, wanted: tuple[bool, ...], **params: Any
    ) -> KernelsAll:
        params.pop("kept", None)

        def keep(*arrays: Value) -> Any:
            kept = Kept()
            return _normalized(*arrays, kept=kept, **params), kept

        def pull(g: Cotangent, out: Value, *args: Value) -> Any:
            *arrays, kept = args
            bars = self.pull(g, out, arrays, {"kept": kept, **params}, wanted)
            return [
                None if bar is None or not want else fit_cotangent(bar, like, self)
                for bar, want, like in zip(bars, wanted, specs, strict=True)
            ]

        small = _of_small(specs, wanted, **params) if _are_of_one_dtype(specs) else None
        return KernelsAll(pull, keep=keep) if small is None else small(keep, pull)

    def push(
        self, dots: Sequence[Tangent], out: Value, args: Sequence[Value], params: Params
    ) -> Tangent:
        x, axes = args[0], params["axes"]
        if "aligned" in params:
            rest = dict(params)
            shape = rest.pop("aligned")
            affine = [_reshaped(part, shape) for part in args[1:]]
            parts = [dots[0], *(_reshaped(dot, shape) for dot in dots[1:])]
            return self.push(parts, out, (x, *affine), rest)
        if "split" in params:
            rest = {**params, "kept": Kept()}
            split = rest.pop("split")
            parts = list(dots)
            parts[0] = None if dots[0] is None else np.reshape(dots[0], split)
            whole = (np.reshape(x, split), *args[1:])
            return np.reshape(self.push(parts, None, whole, rest), x.shape)
        found, y = _of_call(x, params)
        result: Tangent = None
        if dots[0] is not None:
            x_dot = dots[0]
            total = None if found.mean is None else add_up(x_dot, axes, keepdims=True)
            along = add_up(x_dot * y, axes, keepdims=True)
            result = _projected(x_dot, y, total, along, _count(x, axes), found, None)
            if len(args) > 1:
                result = result * args[1]
        if len(args) > 1 and dots[1] is not None:
            result = y * dots[1] if result is None else result + y * dots[1]
        if len(args) > 2 and dots[2] is not None:
            result = x * 0 + dots[2] if result is None else result + dots[2]
        return result


def _are_of_one_dtype(specs: Sequence[Any]) -> bool:
    kinds = {spec.dtype if type(spec) is Spec else None for spec in specs}
    return len(kinds) == 1 and kinds <= {np.dtype(np.float32), np.dtype(np.float64)}


def _of_small(
    specs: Sequence[Spec],
    wanted: tuple[bool, ...],
    axes: Axes,
    eps: float,
    centred: bool = True,
    split: tuple[int, ...] | None = None,
    aligned: tuple[int, ...] | None = None,
) -> Any:
    """A function that returns kernels of small arrays, from those of others; None for large."""
    x, shapes = specs[0], {spec.shape for spec in specs[1:]}
    if len(shapes) > 1:
        return None
    shape, given = split or x.shape, next(iter(shapes), None)
    weight = given if aligned is None else aligned
    three = (*wanted, False, False)[:3]
    found = norm_kernels.kernels_of(
        norm_kernels.Norm(shape, x.dtype, axes, eps, centred, weight, three)
    )
    if found is None:
        return None
    keep_small, pull_small = found
    count = len(specs)

    def small(keep: Any, pull: Any) -> KernelsAll:
        def keep_one(x: Value, weight: Value = None, bias: Value = None) -> Any:
            if not x.flags.c_contiguous:
                return keep(*(x, weight, bias)[:count])
            if split is not None:
                x = x.reshape(split)
            if aligned is not None:
                weight, bias = (
                    weight.reshape(aligned),
                    bias if bias is None else bias.reshape(aligned),
                )
            out, kept = keep_small(x, weight, bias)
            return (out if split is None else out.reshape(specs[0].shape)), kept

        def pull_one(g: Cotangent, out: Value, *args: Value) -> Any:
            kept = args[-1]
            if type(kept) is Kept:
                return pull(g, out, *args)
            weight: Any = args[1] if count > 1 else None
            if split is not None:
                g = g.reshape(split)
            if aligned is None:
                bars = pull_small(g, weight, kept)
            else:
                bar, *others = pull_small(g, weight.reshape(aligned), kept)
                bars = (bar, *(b if b is None else b.reshape(given) for b in others))
            if split is not None and bars[0] is not None:
                bars = (bars[0].reshape(x.shape), *bars[1:])
            return bars[:count]

        return KernelsAll(pull_one, keep=keep_one)

    return small


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
    lead = len(bar.shape) - len(aligned)
    axes = [a for a, side in enumerate((*(1,) * lead, *aligned)) if side != bar.shape[a]]
    axes = sorted({*axes, *range(lead)})
    return np.reshape(np.sum(bar, tuple(axes), keepdims=True) if axes else bar, shape)


def _of_call(x: Value, params: Params) -> tuple[Statistics, Value]:
    """The statistics of x, kept from the call unless these are differentiated, and y."""
    found = _kept_in(params)
    if found is not None and found.of is x:
        apart = x if found.mean is None else x - found.mean
    else:
        found, apart = _statistics(x, params["axes"], params["eps"], params.get("centred", True))
    return found, apart * found.scale


def _projected(
    g: Value,
    y: Value,
    total: Value,
    along: Value,
    count: float,
    found: Statistics,
    weight: Value,
) -> Value:
    """`scale * (g - total / count - y * along / count)`, times the weight."""
    rest = g - y * (along / count)
    if total is not None:
        rest = rest - total / count
    return rest * (found.scale if weight is None else found.scale * weight)


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


_RULES = [Normalization(count) for count in (1, 2, 3)]


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
    params: dict[str, Any] = {"axes": axes, "eps": eps, "kept": Kept()}
    if not centred:
        params["centred"] = False
    if split is not None:
        params["split"] = split
    if aligned is not None and len(arrays) > 1:
        params["aligned"] = aligned
    if innermost(arrays) is None:
        out = _normalized(*arrays, **params)
    else:
        out = _RULES[len(arrays) - 1].apply_bound(arrays, params)
    return out.astype(given) if half else out


__all__ = ["moments", "moments_kept", "normalized"]
