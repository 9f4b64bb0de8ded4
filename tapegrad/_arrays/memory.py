"""The memory layout of values, and whether other objects share their memory.

Knows strides, and that traced and batched values hold another value. Must not know reads and
writes, or the classes of those values.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad._core.types import Index, Value
from tapegrad._core.values import Mapped, Traced, in_trace, is_ndarray, memory_of, raw_value

# --- Sharing ------------------------------------------------------------------------------------


def shares(out: Value, value: Value) -> bool:
    """Whether a result is a view of the array that the call got."""
    if isinstance(out, Traced):
        return out.is_view
    if out is value:
        return True
    if isinstance(out, Mapped):
        if not isinstance(value, Mapped) or out.picked:
            return out.picked
        if type(out._value) is np.ndarray and type(value._value) is np.ndarray:
            return np.may_share_memory(out._value, value._value)  # these are often views of views
        return shares(out._value, value._value)
    base = getattr(out, "base", None)
    if base is not None and type(base) is not np.ndarray:
        base = getattr(base, "base", base)  # np.lib.stride_tricks puts a holder in between
    return base is not None and (base is value or base is getattr(value, "base", None))


# --- Layout -------------------------------------------------------------------------------------


def copy_like(view: Value) -> Any:
    """A copy for which reshape and ravel return a view exactly where they do for `view`."""
    if isinstance(view, Mapped) and view.records:
        return view.apply(copy_like)
    if in_trace(view):
        made = view.copy()
        made._value = copy_like(view._value)
        return made
    if not is_ndarray(view) or view.flags.forc:
        return view.copy("K") if is_ndarray(view) else view.copy()
    shape, itemsize = view.shape, view.itemsize
    strides, step, natural = [0] * view.ndim, itemsize, itemsize
    for axis in sorted(range(view.ndim), key=lambda axis: abs(view.strides[axis])):
        # The copy has a gap of one element wherever the view has a gap.
        stride = abs(view.strides[axis])
        has_gap = shape[axis] > 1 and stride != natural
        strides[axis] = step + itemsize * has_gap
        step, natural = strides[axis] * shape[axis], stride * shape[axis]
    room = np.ndarray(shape, view.dtype, np.empty(step // itemsize, view.dtype), 0, strides)
    if min(view.strides) < 0:  # the reverse of a reversed array is in order
        room = room[tuple([slice(None, None, -1 if at < 0 else None) for at in view.strides])]
    room[...] = view
    return room


def laid_out_as(before: Any, value: Value) -> Any:
    """A value in the memory layout of the value before it, because a write keeps the layout.

    A 0-d array stays a 0-d array, too, and does not become a number.
    """
    kind: Any = Traced if isinstance(before, Traced) else Mapped
    if isinstance(value, Mapped) and value.records and isinstance(before, Mapped):
        same = memory_of(before).strides == memory_of(value).strides
        return value if same else before.apply(laid_out_as, value)
    if isinstance(before, kind) and isinstance(value, kind):
        inner = laid_out_as(before._value, value._value)
        array = kind is Mapped and value.is_number() and not before.is_number()
        if inner is value._value and not array:
            return value
        made = (before if array else value).copy()
        made._value = inner
        return made
    if type(before) is np.ndarray and issubclass(type(value), np.generic):
        return np.asarray(value)
    if (
        type(before) is type(value) is np.ndarray
        and before.shape == value.shape
        and before.strides != value.strides
    ):
        room = copy_like(before)
        room[...] = value
        return room
    return value


def laid_out_as_read(found: Any, array: Value, index: Index) -> Any:
    """Elements selected by an array, in the memory layout that NumPy gives those of one example.

    The layout decides which reshapes of them are views.
    """
    if not len(found):
        return found
    one = memory_of(array.vmap_level.wrap(found))
    wanted = memory_of(array)
    if not is_ndarray(one) or not is_ndarray(wanted):
        return found
    at = tuple(map(raw_value, index)) if type(index) is tuple else raw_value(index)
    strides = wanted[at].strides
    if one.strides == strides:
        return found
    return _in_order(found, sorted(range(one.ndim), key=lambda i: -abs(strides[i])))


def _in_order(found: Any, order: list[int]) -> Any:
    """An array that nobody else holds, with its last axes in an order in memory."""
    if type(found) is np.ndarray:
        ahead = found.ndim - len(order)
        axes = (*range(ahead), *(ahead + i for i in order))
        return np.transpose(np.ascontiguousarray(np.transpose(found, axes)), np.argsort(axes))
    if isinstance(found, Mapped) and found.records:
        return found.apply(_in_order, order)
    if not hasattr(found, "parent"):
        found._value = _in_order(found._value, order)
    return found
