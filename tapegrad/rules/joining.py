"""Functions that join arrays into one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from tapegrad._core.fast.call_plans import Kernels, Spec
from tapegrad._core.forms import composite, linear
from tapegrad._core.types import Cotangent, Function, Params, Tangent, Tree, Value
from tapegrad._core.values import lift
from tapegrad.rules.shape import behind, padded

# --- which part of the cotangent of a result belongs to which array


def _cuts(shapes: Sequence[tuple[int, ...]], ndim: int, axis: int) -> list[Any]:
    """For each array its part of arrays of these shapes, joined along an axis of `ndim`.

    An array of fewer axes takes one place along that axis, and the first of one more before.
    """
    axis %= ndim
    lead = (slice(None),) * axis
    cuts: list[Any] = []
    start = 0
    for shape in shapes:
        if len(shape) == ndim:
            cuts.append((*lead, slice(start, start + shape[axis])))
            start += shape[axis]
        else:  # np.dstack puts a new axis in front of a vector as well
            cuts.append((0, *lead[1:], start) if ndim - len(shape) > 1 else (*lead, start))
            start += 1
    return cuts


def _concatenate_transpose(
    g: Cotangent, _out: Value, *_xs: Value, wanted: Sequence[bool], axis: int | None = 0, **_: Any
) -> list[Cotangent]:
    if axis is None:
        cuts = _cuts([(x.size,) for x in _xs], 1, 0)
        return [
            g[cut].reshape(x.shape) if want else None
            for x, cut, want in zip(_xs, cuts, wanted, strict=True)
        ]
    return _parts(g, _cuts([x.shape for x in _xs], g.ndim, axis), wanted)


def _stack_transpose(
    g: Cotangent, _out: Value, *_xs: Value, wanted: Sequence[bool], axis: int = 0, **_: Any
) -> list[Cotangent]:
    return _parts(g, _cuts([x.shape for x in _xs], g.ndim, axis), wanted)


def _parts(g: Cotangent, cuts: Sequence[Any], wanted: Sequence[bool]) -> list[Cotangent]:
    return [g[cut] if want else None for cut, want in zip(cuts, wanted, strict=True)]


def _concatenated_examples(arrays: Sequence[Value], axis: int | None = 0, **options: Any) -> Value:
    if axis is None:
        arrays = [np.reshape(x, (x.shape[0], math.prod(x.shape[1:]))) for x in arrays]
        return np.concatenate(arrays, axis=1, **options)
    (axis,) = behind(axis, arrays[0].ndim - 1)
    return np.concatenate(arrays, axis=axis, **options)


def _stacked_examples(arrays: Sequence[Value], axis: int = 0, **options: Any) -> Value:
    (axis,) = behind(axis, arrays[0].ndim)
    return np.stack(arrays, axis=axis, **options)


_NDARRAYS = {np.ndarray}


def _stacked(arrays: Sequence[Value], axis: int = 0, **options: Any) -> Value:
    """np.stack, which takes longer to make a view of a small array than to copy it."""
    if options or axis or set(map(type, arrays)) != _NDARRAYS or arrays[0].dtype.hasobject:
        return np.stack(arrays, axis, **options)
    try:
        return np.array(arrays)
    except ValueError:
        return np.stack(arrays)  # says how the shapes differ


def _put_together(out: Spec, cuts: Sequence[Any], arrays: Sequence[Value]) -> Value:
    made = np.empty(out.shape, out.dtype, like=arrays[0])
    for cut, x in zip(cuts, arrays):  # noqa: B905 - strict= costs
        made[cut] = x
    return made


def _joining(join: Function, axis_of: Function | None = None, default: int | None = 0) -> Function:
    """The plan of a function that joins arrays along `axis_of(ndim)`, or its parameter `axis`."""

    def plan(
        specs: tuple[Spec, ...],
        out: Spec,
        wanted: Sequence[bool],
        /,
        axis: int | None = default,
        **others: Any,
    ) -> Kernels | None:
        if others or any(spec.dtype is not out.dtype or not spec.ndim for spec in specs):
            return None
        if axis is None and (out.ndim > 1 or any(spec.ndim > 1 for spec in specs)):
            return None
        along = (axis or 0) if axis_of is None else axis_of(out.ndim)
        cuts = _cuts([spec.shape for spec in specs], out.ndim, along)
        call = join
        if all(spec.ndim == out.ndim for spec in specs):
            call = partial(np.concatenate, axis=along)
        elif join is np.stack and not along:
            call = np.array
        elif axis_of is None:
            call = partial(_put_together, out, cuts)
        chosen = [cut if want else None for cut, want in zip(cuts, wanted, strict=True)]

        def pull(g: Cotangent, _out: Value, *_xs: Value) -> list[Cotangent]:
            return [None if cut is None else g[cut] for cut in chosen]

        def push(dots: Sequence[Tangent], _out: Value, *xs: Value) -> Tangent:
            return call(
                [
                    np.zeros(x.shape, x.dtype) if dot is None else dot
                    for dot, x in zip(dots, xs, strict=True)
                ]
            )

        return Kernels(lambda *xs: call(xs), pull, push)

    return plan


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
    plan=_joining(np.concatenate),
    **JOINING,
)
linear(
    np.stack,
    _stack_transpose,
    batch=_stacked_examples,
    plan=_joining(np.stack),
    implementation=_stacked,
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
        plan=_joining(_function, _axis),
    )
composite(np.append, _append, arrays=2, linear=True, plan=_joining(np.append, default=None))


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
