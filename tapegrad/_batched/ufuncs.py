"""Ufuncs and their methods (reduce, accumulate, outer, at) over a leading axis of examples.

Knows how NumPy defines them. Must not know the class of batched values: `VmapLevel` wraps results.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad._arrays.masked import holds_condition
from tapegrad._arrays.ufunc_methods import call_along_axes
from tapegrad._batched.batching_rules import (
    call_batched,
    call_with_signature,
    map_results,
    rank_of,
    refuse_param,
    stacked,
)
from tapegrad._batched.indexing import flat_positions, in_rows, row_numbers
from tapegrad._batched.level import VmapLevel
from tapegrad._core.out import write_out
from tapegrad._core.rule import REGISTRY
from tapegrad._core.types import Index, Value
from tapegrad._core.values import is_mapped, lift
from tapegrad._errors import BatchingError


def call_ufunc(
    vmap_level: VmapLevel,
    ufunc: np.ufunc,
    method: str,
    inputs: tuple[Value, ...],
    kwargs: dict[str, Any],
) -> Any:
    """Call a ufunc, or a method of it; this vmap batches some of the arguments."""
    if method != "__call__":
        return _METHODS[method](vmap_level, ufunc, *inputs, **kwargs)
    out = kwargs.pop("out", None)
    where = kwargs.pop("where", True)
    if where is not True:  # a 1 where it is false avoids warnings and keeps no values
        inputs = tuple(np.where(where, x, 1) if hasattr(x, "shape") else x for x in inputs)
    inputs = tuple(map(stacked, inputs))
    if not any(map(vmap_level.owns, inputs)):  # out= or where= alone is batched
        result = ufunc(*inputs, **kwargs)
    elif ufunc.signature is not None:
        result = _number(vmap_level, _call_gufunc(vmap_level, ufunc, inputs, kwargs))
    else:
        rank = max(map(rank_of, inputs))
        # No name here may hold an operand's memory: a write to out= may have to replace it.
        result = map_results(
            vmap_level, ufunc(*[vmap_level.fitted(x, rank) for x in inputs], **kwargs)
        )
    if where is not True:
        result = _where_computed(where, result, out)
    return result if out is None else write_out(out, result, f"np.{ufunc.__name__}")


def _call_gufunc(
    vmap_level: VmapLevel, ufunc: np.ufunc, inputs: tuple[Value, ...], kwargs: dict[str, Any]
) -> Any:
    """A ufunc with core dimensions; axis=, axes= and keepdims= count the axes of one example."""
    rule = REGISTRY.get(ufunc)
    if rule is not None and callable(rule.batch) and not kwargs:
        return call_batched(vmap_level, rule, list(inputs), {})
    names = kwargs.keys() & {"axis", "axes", "keepdims"}
    along = {name: kwargs.pop(name) for name in names}

    def call(*arrays: Value) -> Any:
        return ufunc(*arrays, **kwargs)

    def call_examples(*arrays: Value) -> Any:
        return call_with_signature(vmap_level, str(ufunc.signature), call, list(arrays))

    if along:
        return call_along_axes(ufunc, call_examples, inputs, **along)
    return call_examples(*inputs)


def _number(vmap_level: VmapLevel, result: Value) -> Any:
    """The result of a ufunc: without axes it is a number, not a 0-d array."""
    if isinstance(result, tuple):
        return tuple(_number(vmap_level, part) for part in result)
    return vmap_level.wrap(result._value) if vmap_level.owns(result) else result


def _where_computed(where: Value, result: Value, out: Value) -> Any:
    """Results of a ufunc with where=; where it is false, the values of out=, or zero."""
    if isinstance(result, tuple):
        olds = out if isinstance(out, tuple) else (None,) * len(result)
        return tuple(
            np.where(where, part, 0 if old is None else old)
            for part, old in zip(result, olds, strict=True)
        )
    old = out[0] if isinstance(out, tuple) else out
    return np.where(where, result, 0 if old is None else old)


# --- Methods ------------------------------------------------------------------------------------


def _shifted(axis: int, ndim: int) -> int:
    if not -ndim <= axis < ndim:
        raise np.exceptions.AxisError(axis, ndim)
    return axis % ndim + 1


def _reduce(
    vmap_level: VmapLevel,
    ufunc: np.ufunc,
    array: Value,
    axis: Any = 0,
    dtype: Any = None,
    out: Value = None,
    keepdims: bool = False,
    initial: Value = None,
    where: Value = True,
) -> Any:
    value = vmap_level.front(array)
    ndim = value.ndim - 1
    axes = range(ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    if not ndim and axes in ((0,), (-1,)) and axis is not axes:
        axes = ()  # NumPy takes an axis 0 of a number
    options: dict[str, Any] = {"dtype": dtype, "keepdims": keepdims}
    if initial is not None:
        if is_mapped(initial):
            refuse_param(f"np.{ufunc.__name__}.reduce", "initial")
        options["initial"] = initial
    if where is not True:
        options["where"] = vmap_level.fitted(where, ndim)
    shifted = tuple([_shifted(a, ndim) for a in axes])
    return _done(vmap_level, ufunc.reduce(value, axis=shifted, **options), out)


def _accumulate(
    vmap_level: VmapLevel,
    ufunc: np.ufunc,
    array: Value,
    axis: int = 0,
    dtype: Any = None,
    out: Value = None,
) -> Any:
    value = vmap_level.front(array)
    return _done(vmap_level, ufunc.accumulate(value, _shifted(axis, value.ndim - 1), dtype), out)


def _reduceat(
    vmap_level: VmapLevel,
    ufunc: np.ufunc,
    array: Value,
    indices: Index,
    axis: int = 0,
    dtype: Any = None,
    out: Value = None,
) -> Any:
    value = vmap_level.front(array)
    shifted = _shifted(axis, value.ndim - 1)
    return _done(vmap_level, ufunc.reduceat(value, indices, shifted, dtype), out)


def _outer(vmap_level: VmapLevel, ufunc: np.ufunc, x: Value, y: Value, **kwargs: Any) -> Any:
    x = x if hasattr(x, "shape") else np.asarray(x)
    y = y if hasattr(y, "shape") else np.asarray(y)
    return ufunc(np.reshape(x, x.shape + (1,) * y.ndim), y, **kwargs)


def _at(vmap_level: VmapLevel, ufunc: np.ufunc, x: Value, index: Index, *operands: Value) -> None:
    """`ufunc.at` of each example, as one call with the positions of all examples."""
    if not vmap_level.owns(x):
        raise BatchingError(
            f"np.{ufunc.__name__}.at: a batched value cannot be written into, nor choose the "
            "places of, an array that all examples share. Make the array inside the vmap, with "
            "np.zeros_like(v, shape=shape) or x + np.zeros_like(v, shape=x.shape) of a batched v."
        )
    if holds_condition(index):  # it selects no position twice
        x[index] = ufunc(x[index], *operands)
        return
    if x.picked:  # x has no memory of its own
        whole = x.copy()
        _at(vmap_level, ufunc, whole, index, *operands)
        x[...] = whole
        return
    operands = tuple(map(lift, operands))
    for operand in operands:
        x.make_room(operand)
    positions = flat_positions(x, list(index) if type(index) is tuple else [index])
    x.make_room(positions)  # an outer vmap may batch them
    where = vmap_level.front(positions)
    values = [vmap_level.fitted(operand, rank_of(positions)) for operand in operands]
    flat = in_rows(x._value).copy()
    ufunc.at(flat, (np.broadcast_to(row_numbers(where), where.shape), where), *values)
    x._value[...] = np.reshape(flat, x._value.shape)


def _done(vmap_level: VmapLevel, value: Value, out: Value) -> Any:
    result = vmap_level.wrap(value)
    return result if out is None else write_out(out, result, "reduce")


_METHODS: dict[str, Callable[..., Any]] = {
    "reduce": _reduce,
    "accumulate": _accumulate,
    "reduceat": _reduceat,
    "outer": _outer,
    "at": _at,
}


__all__ = ["call_ufunc"]
