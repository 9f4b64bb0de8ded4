"""Functions that join arrays into one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from tapegrad._core.fast.call_plans import KernelsAll, Spec
from tapegrad._core.forms import composite, linear
from tapegrad._core.types import Cotangent, Function, Params, Tangent, Tree, Value
from tapegrad._core.values import lift
from tapegrad.rules.shape import behind, padded


def _concatenate_transpose(
    g: Cotangent, _out: Value, *_xs: Value, wanted: Sequence[bool], axis: int | None = 0, **_: Any
) -> list[Cotangent]:
    bars, start = [], 0
    for x, want in zip(_xs, wanted, strict=True):
        if axis is None:
            size = x.size
            bars.append(g[start : start + size].reshape(x.shape) if want else None)
        else:
            size = x.shape[axis]
            cut = (slice(None),) * (axis % x.ndim) + (slice(start, start + size),)
            bars.append(g[cut] if want else None)
        start += size
    return bars


def _stack_transpose(
    g: Cotangent, _out: Value, *_xs: Value, wanted: Sequence[bool], axis: int = 0, **_: Any
) -> list[Cotangent]:
    lead = (slice(None),) * (axis % g.ndim)
    return [g[(*lead, i)] if want else None for i, want in enumerate(wanted)]


def _concatenated_examples(arrays: Sequence[Value], axis: int | None = 0, **options: Any) -> Value:
    if axis is None:
        arrays = [np.reshape(x, (x.shape[0], math.prod(x.shape[1:]))) for x in arrays]
        return np.concatenate(arrays, axis=1, **options)
    (axis,) = behind(axis, arrays[0].ndim - 1)
    return np.concatenate(arrays, axis=axis, **options)


def _stacked_examples(arrays: Sequence[Value], axis: int = 0, **options: Any) -> Value:
    (axis,) = behind(axis, arrays[0].ndim)
    return np.stack(arrays, axis=axis, **options)


def _plan_parts(cuts: Sequence[Any], wanted: Sequence[bool], join: Function) -> KernelsAll:
    """The kernels of a call whose cotangents are parts of that of its result."""
    chosen = [cut if want else None for cut, want in zip(cuts, wanted, strict=True)]

    def pull(g: Cotangent, _out: Value, *_xs: Value) -> list[Cotangent]:
        return [None if cut is None else g[cut] for cut in chosen]

    def push(dots: Sequence[Tangent], _out: Value, *xs: Value) -> Tangent:
        return join(
            [
                np.zeros(x.shape, x.dtype) if dot is None else dot
                for dot, x in zip(dots, xs, strict=True)
            ]
        )

    return KernelsAll(pull, push, run=lambda *xs: join(xs))


def _plan_concatenate(
    specs: tuple[Spec, ...],
    out: Spec,
    wanted: Sequence[bool],
    /,
    axis: int | None = 0,
    **others: Any,
) -> KernelsAll | None:
    if others or axis is None or any(spec.dtype is not out.dtype for spec in specs):
        return None
    lead = (slice(None),) * (axis % out.ndim)
    ends = [0, *accumulate(spec.shape[axis] for spec in specs)]
    cuts = [(*lead, slice(start, end)) for start, end in pairwise(ends)]
    return _plan_parts(cuts, wanted, lambda dots: np.concatenate(dots, axis))


def _plan_stack(
    specs: tuple[Spec, ...], out: Spec, wanted: Sequence[bool], /, axis: int = 0, **others: Any
) -> KernelsAll | None:
    if others or not specs[0].ndim or any(spec.dtype is not out.dtype for spec in specs):
        return None
    lead = (slice(None),) * (axis % out.ndim)
    cuts: list[Any] = [(*lead, i) for i in range(len(specs))]
    shape, dtype = out.shape, out.dtype

    def join(xs: Sequence[Value]) -> Value:
        made = np.empty(shape, dtype, like=xs[0])
        for cut, x in zip(cuts, xs):  # noqa: B905 - strict= costs
            made[cut] = x
        return made

    return _plan_parts(cuts, wanted, join)


def _stacked(arrays: Sequence[Value], axis: int = 0, **options: Any) -> Value:
    """np.stack; of NumPy's own arrays of one shape and dtype in one call, at half the cost."""
    first = arrays[0]
    if options or type(first) is not np.ndarray or axis != 0 or not first.ndim:
        return np.stack(arrays, axis=axis, **options)
    shape, dtype = first.shape, first.dtype
    for x in arrays:
        if type(x) is not np.ndarray or x.shape != shape or x.dtype is not dtype:
            return np.stack(arrays, axis=axis, **options)
    made = np.empty((len(arrays), *shape), dtype)
    np.concatenate(arrays, out=made.reshape(len(arrays) * shape[0], *shape[1:]))
    return made


JOINING = {
    "sequence": True,
    "variadic": True,
    "arrays": 1,
    "signature": "arrays, axis, out, dtype, casting",
}
linear(
    np.concatenate,
    _concatenate_transpose,
    batch=_concatenated_examples,
    plan_all=_plan_concatenate,
    **JOINING,
)
linear(
    np.stack,
    _stack_transpose,
    batch=_stacked_examples,
    implementation=_stacked,
    plan_all=_plan_stack,
    **JOINING,
)


def _cast_options(options: Params) -> Params:
    """The options that differ from the default, because not every library has all of them."""
    return {key: value for key, value in options.items() if value not in (None, "same_kind")}


def _hstack(tup: Sequence[Value], *, dtype: Any = None, casting: str = "same_kind") -> Value:
    parts = [padded(part, 1) for part in tup]
    options = _cast_options({"dtype": dtype, "casting": casting})
    return np.concatenate(parts, axis=0 if parts[0].ndim == 1 else 1, **options)


def _vstack(tup: Sequence[Value], *, dtype: Any = None, casting: str = "same_kind") -> Value:
    options = _cast_options({"dtype": dtype, "casting": casting})
    return np.concatenate([padded(part, 2) for part in tup], axis=0, **options)


def _dstack(tup: Sequence[Value]) -> Value:
    return np.concatenate([padded(part, 3) for part in tup], axis=2)


def _column_stack(tup: Sequence[Value]) -> Value:
    columns = [part if np.ndim(part) > 1 else padded(part, 2).T for part in tup]
    return np.concatenate(columns, axis=1)


def _append(arr: Value, values: Value, axis: int | None = None) -> Value:
    arr, values = lift(arr), lift(values)
    if axis is None:
        return np.concatenate([np.ravel(arr), np.ravel(values)])
    return np.concatenate([arr, values], axis=axis)


def _plan_joined(axis: Function, join: Function) -> Function:
    """The kernels of a concatenation along an axis that arrays of fewer axes are given first."""

    def plan(
        specs: tuple[Spec, ...], out: Spec, wanted: Sequence[bool], /, **others: Any
    ) -> KernelsAll | None:
        if others or any(spec.dtype is not out.dtype or not spec.ndim for spec in specs):
            return None
        along = axis(out.ndim)
        if all(spec.ndim == out.ndim for spec in specs):
            return _plan_concatenate(specs, out, wanted, axis=along)
        cuts: list[Any] = []
        start = 0
        for spec in specs:
            lead = (slice(None),) * along
            if spec.ndim == out.ndim:
                cuts.append((*lead, slice(start, start + spec.shape[along])))
                start += spec.shape[along]
            else:  # np.dstack puts a new axis in front of a vector as well
                cuts.append((0, *lead[1:], start) if out.ndim - spec.ndim > 1 else (*lead, start))
                start += 1
        return _plan_parts(cuts, wanted, join)

    return plan


def _plan_append(
    specs: tuple[Spec, ...], out: Spec, wanted: Sequence[bool], /, axis: int | None = None
) -> KernelsAll | None:
    if axis is None and (specs[0].ndim != 1 or specs[1].ndim != 1):
        return None
    return _plan_concatenate(specs, out, wanted, axis=axis or 0)


for _function, _definition, _axis in (
    (np.hstack, _hstack, lambda ndim: min(ndim, 2) - 1),
    (np.vstack, _vstack, lambda _: 0),
    (np.dstack, _dstack, lambda _: 2),
    (np.column_stack, _column_stack, lambda _: 1),
):
    composite(
        _function,
        _definition,
        sequence=True,
        linear=True,
        plan_all=_plan_joined(_axis, _function),
    )
composite(np.append, _append, arrays=2, linear=True, plan_all=_plan_append)


def _block(arrays: Tree) -> Value:
    """The innermost lists join along the last axis, each list around them one axis earlier."""
    depth = _depth(arrays)
    ndim = max(depth, *(np.ndim(leaf) for leaf in _leaves(arrays)))
    joined = _block_level(arrays, depth, ndim)
    return joined if depth else np.copy(joined)


def _depth(arrays: Tree) -> int:
    if isinstance(arrays, tuple):
        raise TypeError(
            "np.block: expected nested lists of arrays, got a tuple. Only lists arrange blocks."
        )
    if not isinstance(arrays, list):
        return 0
    if not arrays:
        raise ValueError("np.block: a list cannot be empty")
    depths = {_depth(part) for part in arrays}
    if len(depths) > 1:
        raise ValueError("np.block: list depths are mismatched")
    return 1 + depths.pop()


def _leaves(arrays: Tree) -> list[Value]:
    if isinstance(arrays, list):
        return [leaf for part in arrays for leaf in _leaves(part)]
    return [arrays]


def _block_level(arrays: Tree, depth: int, ndim: int) -> Value:
    if depth == 0:
        array = arrays if hasattr(arrays, "shape") else np.asarray(arrays)
        return array.reshape((1,) * (ndim - array.ndim) + array.shape)
    return np.concatenate([_block_level(part, depth - 1, ndim) for part in arrays], axis=-depth)


composite(np.block, _block)
