"""Functions that choose between arrays, edit one, or apply a function to parts of it.

Where NumPy's own algorithm is long, it is run on the positions of the elements, and its result is
the index that selects them.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from tapegrad._core.forms import composite
from tapegrad._core.types import Function, Index, Tree, Value
from tapegrad._core.values import any_true, getitem, innermost, lift, untraced
from tapegrad._errors import BatchingError
from tapegrad._numpy_versions import INSERTS_BY_MASK
from tapegrad._warning import warn
from tapegrad.rules.index import picked, plain_array


def _array(value: Value) -> Value:
    value = lift(value)
    return value if hasattr(value, "shape") else np.asarray(value)


# --- choosing


def _choose(a: Value, choices: Sequence[Value], mode: str = "raise") -> Value:
    # A Python number gives way to the dtype of the arrays, as in NumPy.
    choices = [x if type(x) in (bool, int, float, complex) else _array(x) for x in choices]
    empty = [np.empty(0, x.dtype) if hasattr(x, "dtype") else x for x in choices]
    dtype = np.choose(np.zeros(0, np.intp), empty).dtype
    parts, positions, start = [], [], 0
    for choice in choices:
        part = _array(choice)
        parts.append(np.ravel(part))
        positions.append(np.arange(start, start + part.size).reshape(part.shape))
        start += part.size
    chosen = _chosen(untraced(a), positions, mode)
    return picked(np.concatenate(parts).astype(dtype), chosen)


def _chosen(a: Value, positions: list[Index], mode: str) -> Value:
    if innermost([a]) is None:
        return np.choose(a, positions, mode=mode)
    count = len(positions)
    if mode == "raise" and any_true((a < 0) | (a >= count)):
        raise ValueError("invalid entry in choice array")
    a = np.clip(a, 0, count - 1) if mode == "clip" else a % count
    chosen = positions[0]
    for number, position in enumerate(positions):
        chosen = np.where(a == number, position, chosen)
    return chosen


def _select(condlist: Sequence[Value], choicelist: Sequence[Value], default: Value = 0) -> Value:
    if len(condlist) != len(choicelist):
        raise ValueError("list of cases must be same length as list of conditions")
    if len(condlist) == 0:
        raise ValueError("select with an empty condition list is not possible")
    conditions = [plain_array(condition) for condition in condlist]
    for position, condition in enumerate(conditions):
        if condition.dtype != bool:
            raise TypeError(f"invalid entry {position} in condlist: should be boolean ndarray")
    choices = [x if type(x) in (int, float, complex) else _array(x) for x in choicelist]
    default = default if type(default) in (int, float, complex) else _array(default)
    dtypes = [x.dtype if hasattr(x, "dtype") else x for x in (*choices, default)]
    dtype = np.result_type(*dtypes)
    # All choices and all conditions determine the shape, even those that are not selected.
    shapes = {getattr(x, "shape", ()) for x in (*choices, default, *conditions)}
    result = _as_dtype(default, dtype)
    if len(shapes) > 1:
        result = np.broadcast_to(result, np.broadcast_shapes(*shapes))
    for condition, choice in zip(reversed(conditions), reversed(choices), strict=True):
        result = np.where(condition, _as_dtype(choice, dtype), result)
    return result


def _as_dtype(value: Value, dtype: Any) -> Value:
    if not hasattr(value, "dtype"):
        return np.asarray(value, dtype)
    return value if value.dtype == dtype else value.astype(dtype)


def _piecewise(x: Value, condlist: Tree, funclist: Sequence[Any], *args: Any, **kw: Any) -> Value:
    """Each function computes the elements of its condition alone, so that no other adds a NaN."""
    differ = innermost([x, condlist]) if innermost(untraced([condlist])) is not None else None
    if differ is not None:
        x = np.asarray(x, like=differ)
    conditions = _conditions(x, untraced(condlist))
    if len(conditions) == len(funclist) - 1:
        conditions = [*conditions, ~functools.reduce(np.logical_or, conditions)]
    elif len(conditions) != len(funclist):
        raise ValueError(
            f"with {len(conditions)} condition(s), either {len(conditions)} or "
            f"{len(conditions) + 1} functions are expected"
        )
    made = np.zeros_like(x) if differ is None else np.zeros(x.shape, x.dtype, like=differ)
    for condition, function in zip(conditions, funclist, strict=True):
        if differ is not None or np.any(condition):
            value = function(x[condition], *args, **kw) if callable(function) else function
            made[condition] = value
    return made


def _conditions(x: Value, condlist: Tree) -> list[Value]:
    if innermost([condlist]) is not None:
        listed = condlist if isinstance(condlist, (list, tuple)) else [condlist]
        return [plain_array(condition) != 0 for condition in listed]
    if np.isscalar(condlist) or (
        not isinstance(condlist[0], (list, np.ndarray)) and np.ndim(x) != 0
    ):
        condlist = [condlist]  # a single condition needs no list around it
    return list(np.asarray(condlist, bool))


composite(np.choose, _choose)
composite(np.select, _select)
composite(np.piecewise, _piecewise)

# --- editing


def _insert(arr: Value, obj: Index, values: Value, axis: int | None = None) -> Value:
    arr, values = _array(arr), _array(values)
    if arr.dtype.kind not in "fc":
        values = untraced(values)  # cast to integers: piecewise constant
    if innermost([untraced(obj)]) is not None:
        raise BatchingError(
            "np.insert: where to insert has to be the same for all examples of a vmap. Of a row x "
            "use np.where(p == i, v, x[np.clip(p - (p > i), 0, n - 1)]), p = np.arange(n + 1)."
        )
    if not INSERTS_BY_MASK and np.asarray(untraced(obj)).dtype.kind == "b":
        warn(
            "in the future insert will treat boolean arrays and array-likes as a boolean index "
            "instead of casting it to integer",
            FutureWarning,
        )
        obj = np.asarray(untraced(obj)).astype(np.intp)
    old = np.arange(arr.size).reshape(arr.shape)
    new = np.arange(arr.size, arr.size + values.size).reshape(values.shape)
    positions = np.insert(old, untraced(obj), new, axis)
    together = np.concatenate([np.ravel(arr), np.ravel(values).astype(arr.dtype)])
    return picked(together, positions)


def _delete(arr: Value, obj: Index, axis: int | None = None) -> Value:
    arr = _array(arr)
    if axis is None:
        arr, axis = np.ravel(arr), 0
    axis = normalize_axis_index(axis, arr.ndim)
    obj = untraced(obj)
    if innermost([obj]) is None:
        kept = np.delete(np.arange(arr.shape[axis]), obj)
    else:
        kept = _without(plain_array(obj), arr.shape[axis])
    return getitem(arr, (slice(None),) * axis + (kept,))


def _without(place: Index, size: int) -> Value:
    """All positions but one, which differs between the examples of a vmap."""
    if place.ndim or place.dtype.kind == "b":
        raise BatchingError(
            "np.delete: how many elements are left may differ from example to example of a vmap. "
            "Delete one by its number, or use np.where(condition, x, 0)."
        )
    if any_true((place < -size) | (place >= size)):
        raise IndexError(f"index out of bounds for axis with size {size}")
    kept = np.arange(size - 1)
    return kept + (kept >= place % size)


composite(np.insert, _insert)
composite(np.delete, _delete)

# --- functions of parts


def _apply_along_axis(func1d: Function, axis: int, arr: Value, *args: Any, **kwargs: Any) -> Value:
    axis = normalize_axis_index(axis, arr.ndim)
    lanes = np.moveaxis(arr, axis, -1)
    loop = lanes.shape[:-1]
    if 0 in loop:
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    results = [_array(func1d(lanes[lane], *args, **kwargs)) for lane in np.ndindex(*loop)]
    dtype, shape = results[0].dtype, results[0].shape  # NumPy's result is like the first
    stacked = np.stack([np.broadcast_to(result, shape).astype(dtype) for result in results])
    sides = range(len(loop), len(loop) + len(shape))
    places = range(axis, axis + len(shape))
    return np.moveaxis(np.reshape(stacked, (*loop, *shape)), tuple(sides), tuple(places))


def _apply_over_axes(func: Function, a: Value, axes: int | Sequence[int]) -> Value:
    for axis in np.atleast_1d(axes).tolist():
        axis = axis % a.ndim if axis < 0 else axis
        result = func(a, axis)
        if result.ndim != a.ndim:
            result = np.expand_dims(result, axis)
        if result.ndim != a.ndim:
            raise ValueError("function is not returning an array of the correct shape")
        a = result
    return a


composite(np.apply_along_axis, _apply_along_axis)
composite(np.apply_over_axes, _apply_over_axes)
