"""Functions that write into their first argument, which must be a traced array for that.

Each is one write by an index; NumPy itself refuses traced values for a plain array.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad._core.forms import composite
from tapegrad._core.types import Index, Value
from tapegrad._core.values import innermost, is_ndarray, lift, untraced
from tapegrad.rules.index import along, picked, plain_array, take


def _array(value: Value) -> Value:
    value = lift(value)
    return value if hasattr(value, "shape") else np.asarray(value)


def _copyto(dst: Value, src: Value, casting: Any = "same_kind", where: Value = True) -> None:
    where = untraced(where)
    src = lift(src)
    if is_ndarray(dst):
        np.copyto(dst, _refused(src), casting, _refused(where))
        return
    source_dtype = getattr(src, "dtype", None)
    if source_dtype is None:
        src = np.asarray(src)  # a Python number has no dtype whose cast could be refused
        source_dtype = np.result_type(dst.dtype, src) if src.ndim == 0 else src.dtype
    if not np.can_cast(source_dtype, dst.dtype, casting):
        raise TypeError(
            f"Cannot cast array data from {source_dtype!r} to {dst.dtype!r} according to the "
            f"rule {casting!r}"
        )
    if src.dtype.kind == "c" and dst.dtype.kind != "c":
        src = np.real(src)
    dst[...] = src if where is True else np.where(where, src, dst)


def _refused(value: Value) -> Value:
    """A value to write into an untraced array; np.asarray of a traced one raises an error."""
    return value if isinstance(value, bool) else np.asarray(value)


def _put(a: Value, ind: Index, v: Value, mode: Any = "raise") -> None:
    values = np.ravel(_array(v))
    if is_ndarray(a):
        np.put(a, _refused(plain_array(ind)), _refused(values), mode)
        return
    ind = np.ravel(plain_array(ind))
    if ind.size == 0 or values.shape[0] == 0:
        return
    positions = take(np.arange(a.size), ind, mode=mode)
    _write_flat(a, positions, values)


def _write_flat(a: Value, positions: Index, values: Value) -> None:
    """Write at flat positions; too few values are repeated."""
    if len(positions) == 0:
        return
    if values.shape[0] == 0:
        raise ValueError("Cannot insert from an empty array!")
    if values.shape[0] != len(positions):
        values = values[np.arange(len(positions)) % values.shape[0]]
    if a.ndim == 0:
        a[...] = values[-1]
    else:
        a[np.unravel_index(positions, a.shape)] = values


def _condition(a: Value, mask: Value) -> Value:
    mask = plain_array(mask)
    if mask.size != a.size:
        raise ValueError("place or putmask: mask and data must be the same size")
    return np.ravel(mask) != 0


def _write_chosen(a: Value, condition: Value, positions: Index, values: Value) -> None:
    """Write the values at these positions wherever a condition of the examples holds."""
    if values.shape[0]:
        given = picked(values, positions % values.shape[0])
        a[...] = np.reshape(np.where(condition, given, np.ravel(a)), a.shape)


def _putmask(a: Value, mask: Value, values: Value) -> None:
    """The k-th element gets the k-th value, counted also where the mask is False."""
    values = np.ravel(_array(values))
    if is_ndarray(a):
        np.putmask(a, _refused(plain_array(mask)), _refused(values))
        return
    condition = _condition(a, mask)
    if innermost([condition]) is not None:
        _write_chosen(a, condition, np.arange(a.size), values)
    elif values.shape[0]:
        chosen = np.flatnonzero(condition)
        _write_flat(a, chosen, values[chosen % values.shape[0]])


def _place(arr: Value, mask: Value, vals: Value) -> None:
    """The k-th True of the mask gets the k-th value."""
    values = np.ravel(_array(vals))
    if is_ndarray(arr):
        np.place(arr, _refused(plain_array(mask)), _refused(values))
        return
    condition = _condition(arr, mask)
    if innermost([condition]) is not None:
        _write_chosen(arr, condition, np.cumsum(condition) - 1, values)
    else:
        _write_flat(arr, np.flatnonzero(condition), values)


def _put_along_axis(arr: Value, indices: Index, values: Value, axis: int | None) -> None:
    indices, values = plain_array(indices), _array(values)
    if is_ndarray(arr):
        np.put_along_axis(arr, _refused(indices), _refused(values), axis)
        return
    index = along(arr, indices, axis)
    if axis is None:
        index = np.unravel_index(np.arange(arr.size)[index], arr.shape)
    arr[index] = values


def _fill_diagonal(a: Value, val: Value, wrap: bool = False) -> None:
    if a.ndim < 2:
        raise ValueError("array must be at least 2-d")
    if a.ndim > 2 and len(set(a.shape)) > 1:
        raise ValueError("All dimensions of input must be of equal length")
    step = a.shape[1] + 1 if a.ndim == 2 else 1 + np.cumprod(a.shape[:-1]).sum()
    end = None if wrap or a.ndim > 2 else a.shape[1] ** 2
    positions = np.arange(a.size)[:end:step]
    _write_flat(a, positions, np.ravel(_array(val)))


composite(np.copyto, _copyto)
composite(np.put, _put)
composite(np.putmask, _putmask)
composite(np.place, _place)
composite(np.put_along_axis, _put_along_axis)
composite(np.fill_diagonal, _fill_diagonal)
