"""Sorting and sets: the order is a constant index, by which the values are selected.

Of equal elements, sorting takes them in their order in the array, and a set takes the first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from tapegrad._core.fast.call_plans import Kernels, Spec
from tapegrad._core.forms import composite
from tapegrad._core.types import Cotangent, Function, Index, Tangent, Value
from tapegrad._core.values import (
    getitem,
    is_ndarray,
    is_numpy,
    is_plain_array,
    memory_of,
    untraced,
)
from tapegrad.rules.index import picked

# --- order


def _picked_along(a: Value, axis: int | None, order: Function) -> Value:
    if axis is None:
        a, axis = np.ravel(a), -1
    if not a.ndim:  # np.argsort takes a number for an array of one element
        raise np.exceptions.AxisError(axis, 0)
    turn = _axes_in_memory(a)
    if turn is None or not -a.ndim <= axis < a.ndim:
        return np.take_along_axis(a, order(untraced(a), axis), axis)
    turned = _picked_along(np.transpose(a, turn), turn.index(axis % a.ndim), order)
    return np.transpose(turned, [turn.index(i) for i in range(a.ndim)])


def _axes_in_memory(a: Value) -> list[int] | None:
    """The axes in their order in memory, which the result is to have too; None for C order."""
    values = memory_of(a)
    if not is_ndarray(values) or values.flags.c_contiguous:
        return None
    axes = sorted(range(a.ndim), key=lambda axis: -abs(values.strides[axis]))
    return axes if axes != sorted(axes) else None


def _sort(
    a: Value,
    axis: int | None = -1,
    kind: Any = None,
    order: Any = None,
    *,
    stable: bool | None = None,
    **descending: Any,
) -> Value:
    # kind= decides the order of ties alone, which does not change the values.
    np.sort(np.zeros(1), kind=kind, order=order, stable=stable, **descending)  # NumPy's errors
    keep_ties: dict[str, Any] = {"stable": True} if descending else {"kind": "stable"}
    return _picked_along(
        a, axis, lambda values, along: np.argsort(values, along, **keep_ties, **descending)
    )


def _partition(
    a: Value,
    kth: int | Sequence[int],
    axis: int | None = -1,
    kind: Any = "introselect",
    order: Any = None,
) -> Value:
    def order_of(values: Value, along: int) -> Index:
        if not (is_numpy(values) or is_plain_array(values)):
            return np.argsort(values, along)  # a sorted array is partitioned too, in any library
        # Not np.argpartition, which leaves other elements on either side than np.partition.
        done = np.argsort(np.partition(values, kth, along, kind, order), along, kind="stable")
        ranks = np.argsort(done, along)
        return np.take_along_axis(np.argsort(values, along, kind="stable"), ranks, along)

    return _picked_along(a, axis, order_of)


def _sort_complex(a: Value) -> Value:
    values = _sort(a)
    if values.dtype.kind == "c":
        return values
    return values.astype(np.clongdouble if values.dtype.char == "g" else np.complex128)


# By the definition a gradient costs 2.3 times this (8 elements), 2.0 (8 x 8), 1.4 (100 x 100).
def _plan_sort(
    x: Spec,
    out: Spec,
    /,
    axis: int | None = -1,
    kind: Any = None,
    order: Any = None,
    **others: Any,
) -> Kernels | None:
    """The kernels of a sort, whose order is found again where a derivative asks for it."""
    if kind is not None or order is not None or others or not x.ndim or not out.size:
        return None
    along = 0 if axis is None else normalize_axis_index(axis, x.ndim)
    grid: list[Any] = list(np.indices(out.shape, sparse=True))
    shape, dtype = x.shape, x.dtype

    def run(a: Value) -> Value:
        made = a.flatten() if axis is None else a.copy("K")
        made.sort(along)
        return made

    def places(x: Value) -> tuple[Any, ...]:
        index = list(grid)
        index[along] = stable_order(x.reshape(-1) if axis is None else x, along)
        return tuple(index)

    def pull(g: Cotangent, _out: Value, x: Value) -> Cotangent:
        x_bar = np.empty(shape, dtype)
        (x_bar.reshape(-1) if axis is None else x_bar)[places(x)] = g
        return x_bar

    def push(dot: Tangent, _out: Value, x: Value) -> Tangent:
        return (dot.reshape(-1) if axis is None else dot)[places(x)]

    return Kernels(run, pull, push)


SHORT = 64  # elements of a row, from which NumPy's fastest sort pays


def stable_order(x: Value, axis: int) -> Index:
    """np.argsort with equal elements in their order; fast where there are none."""
    if x.shape[axis] < SHORT:
        return x.argsort(axis, kind="stable")
    found = x.argsort(axis)
    values = np.take_along_axis(x, found, axis)
    lead = (slice(None),) * axis
    rising = values[(*lead, slice(1, None))] > values[(*lead, slice(None, -1))]  # not beside NaN
    return found if rising.all() else x.argsort(axis, kind="stable")


composite(np.sort, _sort, plan=_plan_sort)


# By the definition a gradient costs 2.3 times this (8 elements), 2.1 (8 x 8), 1.27 (100 x
# 100).
def _plan_partition(
    x: Spec,
    out: Spec,
    /,
    kth: Any,
    axis: int | None = -1,
    kind: Any = "introselect",
    order: Any = None,
) -> Kernels | None:
    """The kernels of a partition: where its elements come from is told by sorting both arrays."""
    if kind != "introselect" or order is not None or axis is None or not x.ndim or not out.size:
        return None
    along = normalize_axis_index(axis, x.ndim)
    grid: list[Any] = list(np.indices(x.shape, sparse=True))
    shape, dtype = x.shape, x.dtype

    def run(a: Value) -> Value:
        made = a.copy("K")
        made.partition(kth, along)
        return made

    def places(x: Value) -> Index:
        index = list(grid)
        index[along] = stable_order(x, along)
        return tuple(index)

    def pull(g: Cotangent, _out: Value, x: Value) -> Cotangent:
        x_bar = np.empty(shape, dtype)
        x_bar[places(x)] = g[places(run(x))]
        return x_bar

    def push(dot: Tangent, _out: Value, x: Value) -> Tangent:
        made = np.empty(shape, dtype)
        made[places(run(x))] = dot[places(x)]
        return made

    return Kernels(run, pull, push)


composite(np.partition, _partition, plan=_plan_partition)
composite(np.sort_complex, _sort_complex)

# --- sets


def _located(flat: Value, values: Value) -> Index:
    """The first position of each value in a flat array that holds them all."""
    order = np.argsort(flat, kind="stable")
    return getitem(order, np.searchsorted(flat[order], values))


def _together(*arrays: Value) -> Value:
    return np.concatenate([np.ravel(x) for x in arrays])


def _unique(
    ar: Value,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    **options: Any,
) -> Any:
    others = {"return_inverse": return_inverse, "return_counts": return_counts, "axis": axis}
    if not (return_index or return_inverse or return_counts) and axis is None:
        # With sorted=False NumPy's order is not known, so the values come from a separate call.
        values = np.unique(untraced(ar), **options)
        return picked(ar, _located(np.ravel(untraced(ar)), values))
    _, first, *rest = np.unique(untraced(ar), return_index=True, **others, **options)
    values = picked(ar, first) if axis is None else np.take(ar, first, axis)
    results = (values, *([first] if return_index else []), *rest)
    return results if len(results) > 1 else values


def _unique_values(x: Value) -> Value:
    return picked(x, _located(np.ravel(untraced(x)), np.unique_values(untraced(x))))


def _unique_tuple(function: Function) -> Function:
    """A function that returns NumPy's named tuple with differentiable values."""

    def result(x: Value) -> Any:
        found = function(untraced(x))
        return found._replace(values=picked(x, _located(np.ravel(untraced(x)), found.values)))

    return result


composite(np.unique, _unique, batch="ragged")
composite(np.unique_values, _unique_values, batch="ragged")
for _function in (np.unique_all, np.unique_counts, np.unique_inverse):
    composite(_function, _unique_tuple(_function), batch="ragged")


def _intersect1d(
    ar1: Value, ar2: Value, assume_unique: bool = False, return_indices: bool = False
) -> Any:
    if not return_indices:
        values = np.intersect1d(untraced(ar1), untraced(ar2), assume_unique)
        first, second = (_located(np.ravel(untraced(x)), values) for x in (ar1, ar2))
        return _shared(ar1, ar2, first, second)
    _, first, second = np.intersect1d(
        untraced(ar1), untraced(ar2), assume_unique, return_indices=True
    )
    return _shared(ar1, ar2, first, second), first, second


def _shared(x: Value, y: Value, first: Index, second: Index) -> Value:
    """Elements that two arrays have in common: a tie, which np.maximum shares evenly."""
    return np.maximum(getitem(np.ravel(x), first), getitem(np.ravel(y), second))


def _setdiff1d(ar1: Value, ar2: Value, assume_unique: bool = False) -> Value:
    values = np.setdiff1d(untraced(ar1), untraced(ar2), assume_unique)
    return getitem(np.ravel(ar1), _located(np.ravel(untraced(ar1)), values))


def _setxor1d(ar1: Value, ar2: Value, assume_unique: bool = False) -> Value:
    together = _together(ar1, ar2)
    values = np.setxor1d(untraced(ar1), untraced(ar2), assume_unique)
    return together[_located(untraced(together), values)]


def _union1d(ar1: Value, ar2: Value) -> Value:
    return _unique(_together(ar1, ar2))


composite(np.intersect1d, _intersect1d, batch="ragged")
composite(np.setdiff1d, _setdiff1d, batch="ragged")
composite(np.setxor1d, _setxor1d, batch="ragged")
composite(np.union1d, _union1d, batch="ragged")
