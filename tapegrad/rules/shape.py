"""Functions that move, repeat, join or cut arrays without computing anything new."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.exceptions import AxisError
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple
from numpy.lib.stride_tricks import sliding_window_view

from tapegrad._core.fast.call_plans import Kernels, Spec
from tapegrad._core.fast.sums import summing
from tapegrad._core.forms import Linear, composite, linear
from tapegrad._core.types import Cotangent, Tangent, Value
from tapegrad._core.values import (
    Mapped,
    Scatter,
    as_order,
    getitem,
    innermost,
    is_array,
    is_recorded,
    is_scalar,
    lift,
    memory_of,
    untraced,
)
from tapegrad._numpy_versions import MESHGRID_IS_TUPLE, TRIMS_AXES, TRIMS_SEVERAL_AXES
from tapegrad.rules.positions import FEW, moved, moved_by_axes, moving, viewing

# --- one array, rearranged; NumPy may return a view of it


def _reshape_transpose(
    g: Cotangent,
    _out: Value,
    _x: Value,
    shape: int | Sequence[int] | None = None,
    order: str = "C",
    **_: Any,
) -> Cotangent:
    # 'A' has been replaced by 'C' or 'F' before: a replay does not know the argument's memory.
    return _reshaped(g, _x.shape, order)


def _reshaped(x: Value, shape: Sequence[int], order: str) -> Value:
    """np.reshape; order= is passed for "F" alone, as not every library's arrays take it."""
    return np.reshape(x, shape, order="F") if order == "F" else np.reshape(x, shape)


def _ravel(a: Value, order: Any) -> Value:
    """np.ravel; "A" and "K" ask for the order in memory, which is known here, not in a replay."""
    order = "C" if order is None else as_order(order)
    if type(order) is not str or order not in ("C", "F", "A", "K"):
        np.empty(0).ravel(order)  # raises NumPy's error
    if order == "A":
        order = "F" if memory_of(a).flags.fnc else "C"
    elif order == "K":
        strides = memory_of(a).strides
        a, order = np.transpose(a, sorted(range(a.ndim), key=lambda i: -abs(strides[i]))), "C"
    row = _reshaped(a, (-1,), order)
    # Reshaping copies only where it must, ravel wherever the elements have gaps between them.
    flags = getattr(memory_of(a), "flags", None)
    if flags is None or (flags.f_contiguous if order == "F" else flags.c_contiguous):
        return row
    return row.copy()


def _transposed(
    g: Cotangent, _out: Value, _x: Value, axes: Sequence[int] | None = None
) -> Cotangent:
    if axes is None:
        return np.transpose(g)
    return np.transpose(g, tuple(np.argsort(_positive(axes, _x.ndim))))


def _positive(axes: Sequence[int], ndim: int) -> list[int]:
    return [int(axis) % ndim for axis in axes]


def _to_argument(g: Cotangent, _out: Value, _x: Value, *_: Any, **__: Any) -> Cotangent:
    """For functions that keep the elements in C order: back to the argument's shape."""
    return np.reshape(g, _x.shape)


# --- the same for calls that are planned


def _moving_ravel(x: Spec, out: Spec, /, order: Any = "C") -> Kernels | None:
    # `order` is asked of the array's memory where it is not "C".
    kernels = None if order != "C" else moved_by_axes(x, out, np.ravel)
    return kernels and kernels._replace(run=lambda a: a.ravel(), view=True)


def _viewing_reshape(x: Spec, out: Spec, /, order: Any = "C", **params: Any) -> Kernels | None:
    return viewing(np.reshape)(x, out, **params) if order == "C" and "copy" not in params else None


# --- the same for a batch, whose examples lie along the first axis


def behind(axis: int | Sequence[int], ndim: int) -> tuple[int, ...]:
    """Axes of one example, as axes of the batch."""
    return tuple(i + 1 for i in normalize_axis_tuple(axis, ndim, None, True))


def _transposed_examples(a: Value, axes: Sequence[int] | None = None) -> Value:
    axes = tuple(range(a.ndim - 1))[::-1] if axes is None else axes
    return np.transpose(a, (0, *behind(axes, a.ndim - 1)))


def _squeezed_examples(a: Value, axis: Any = None) -> Value:
    if axis is None:
        axis = [i for i, side in enumerate(a.shape[1:]) if side == 1]
    if a.ndim == 1 and axis in (0, -1):
        return a  # NumPy takes an axis 0 of a number
    return np.squeeze(a, behind(axis, a.ndim - 1))


def _expanded_examples(a: Value, axis: int | Sequence[int]) -> Value:
    count = len(axis) if isinstance(axis, (tuple, list)) else 1
    return np.expand_dims(a, behind(axis, a.ndim - 1 + count))


def _rolled_examples(a: Value, shift: Value, axis: int | tuple[int, ...] | None = None) -> Value:
    if axis is not None:
        return np.roll(a, shift, behind(axis, a.ndim - 1))
    rows = np.reshape(a, (a.shape[0], math.prod(a.shape[1:])))
    return np.reshape(np.roll(rows, shift, 1), a.shape)


def _reshaped_examples(
    a: Value, shape: Any = None, order: str = "C", copy: bool | None = None
) -> Value:
    sides = list(shape) if isinstance(shape, (tuple, list)) else [shape]
    if -1 in sides:  # without examples NumPy cannot find the missing size
        known = -math.prod(sides)
        sides[sides.index(-1)] = math.prod(a.shape[1:]) // known if known else 0
    options = {} if copy is None else {"copy": copy}
    if order == "A":
        order = "F" if a.shape[0] and memory_of(a)[0].flags.fnc else "C"
    # The examples stay apart in either order: they are the first axis before and after.
    return np.reshape(a, (a.shape[0], *sides), order="F" if order == "F" else "C", **options)


def _copied_examples(a: Value, order: str = "K", **_: Any) -> Value:
    if order == "A":
        order = "F" if a.shape[0] and memory_of(a)[0].flags.fnc else "C"
    if order != "F":
        return np.copy(a, order)
    turned = (0, *range(a.ndim - 1, 0, -1))
    return np.transpose(np.copy(np.transpose(a, turned), "C"), turned)


linear(
    np.reshape,
    _reshape_transpose,
    view=True,
    signature="a, shape, order, copy",
    batch=_reshaped_examples,
    plan=_viewing_reshape,
)
composite(np.ravel, lambda a, order="C": _ravel(a, order), linear=True, plan=_moving_ravel)
linear(
    np.transpose, _transposed, view=True, batch=_transposed_examples, plan=viewing(np.transpose)
)
linear(
    np.matrix_transpose,
    lambda g, _out, _x: np.swapaxes(g, -1, -2),
    view=True,
    batch="(m,n)->(n,m)",
    plan=viewing(np.matrix_transpose),
)
linear(
    np.swapaxes,
    lambda g, _out, _x, axis1, axis2: np.swapaxes(g, axis1, axis2),
    view=True,
    batch="axis",
    plan=viewing(np.swapaxes),
)
linear(
    np.moveaxis,
    lambda g, _out, _x, source, destination: np.moveaxis(g, destination, source),
    view=True,
    batch="axis",
    plan=viewing(np.moveaxis),
)
linear(
    np.squeeze,
    _to_argument,
    view=True,
    batch=_squeezed_examples,
    plan=viewing(np.squeeze),
)
linear(
    np.expand_dims,
    _to_argument,
    view=True,
    batch=_expanded_examples,
    plan=viewing(np.expand_dims),
)
linear(
    np.flip,
    lambda g, _out, _x, axis=None: np.flip(g, axis),
    view="number",
    batch="axis",
    plan=viewing(np.flip),
)
linear(
    np.rot90,
    lambda g, _out, _x, k=1, axes=(0, 1): np.rot90(g, -k, axes),
    view=True,
    batch="axis",
    plan=viewing(np.rot90),
)


def _fliplr(m: Value) -> Value:
    if m.ndim < 2:
        raise ValueError("Input must be >= 2-d.")
    return m[:, ::-1]


def _flipud(m: Value) -> Value:
    if m.ndim < 1:
        raise ValueError("Input must be >= 1-d.")
    return m[::-1, ...]


def _rollaxis(a: Value, axis: int, start: int = 0) -> Value:
    axis = normalize_axis_index(axis, a.ndim)
    start = normalize_axis_index(start, a.ndim + 1) if start >= 0 else start + a.ndim
    if start < 0:
        raise AxisError(start - a.ndim, a.ndim)
    return np.moveaxis(a, axis, start - (axis < start))


SMALL = 1 << 12  # elements that are copied faster than a view is made of them
composite(np.fliplr, _fliplr, linear=True, plan=viewing(np.fliplr))
composite(np.flipud, _flipud, linear=True, plan=viewing(np.flipud))
composite(np.rollaxis, _rollaxis)


def _roll_transpose(
    g: Cotangent, _out: Value, _x: Value, shift: Value, axis: int | tuple[int, ...] | None = None
) -> Cotangent:
    back = [-s for s in shift] if isinstance(shift, (tuple, list)) else -shift
    return _rolled(g, back, axis)


@lru_cache(1 << 10)
def _blocks(shape: tuple[int, ...], shift: int, axis: int) -> list[tuple[Any, Any]]:
    """The blocks that change places: pairs of an index to write and one to read."""
    lead = (slice(None),) * normalize_axis_index(axis, len(shape))
    at = shift % shape[axis]
    if not at:
        return [(..., ...)]
    return [
        ((*lead, slice(at, None)), (*lead, slice(None, -at))),
        ((*lead, slice(None, at)), (*lead, slice(-at, None))),
    ]


def _rolled(a: Value, shift: Value, axis: int | tuple[int, ...] | None = None) -> Value:
    """np.roll; of NumPy's own arrays along one axis by copies of blocks, at half the cost."""
    # Of few elements a program has one read by positions.
    plain = type(a) is np.ndarray or is_recorded(a) and a.size > FEW
    if not plain or type(shift) is not int or not a.size:
        return np.roll(a, shift, axis)
    if axis is None:
        return _rolled(a.reshape(-1), shift, 0).reshape(a.shape)
    if type(axis) is not int:
        return np.roll(a, shift, axis)
    return _by_blocks(a, _blocks(a.shape, shift, axis))


def _by_blocks(a: Value, blocks: list[tuple[Any, Any]]) -> Value:
    made = np.empty_like(a)
    for to, of in blocks:
        made[to] = a[of]
    return made


ROLL = Linear(np.roll, [_roll_transpose], batch=_rolled_examples, implementation=_rolled)


def _roll(a: Value, shift: Value, axis: int | tuple[int, ...] | None = None) -> Value:
    if innermost([shift]) is None:
        return ROLL.apply_bound([a], {"shift": shift, "axis": axis})
    shift = untraced(lift(shift))  # it differs between the examples
    if axis is None:
        flat = np.reshape(a, -1)
        return np.reshape(_rolled_by_positions(flat, np.sum(shift), 0), a.shape)
    axes = normalize_axis_tuple(axis, a.ndim, None, True)
    shifts = [shift] * len(axes) if shift.ndim == 0 else shift
    for along, each in zip(axes, shifts, strict=True):
        a = _rolled_by_positions(a, each, along)
    return a


def _rolled_by_positions(a: Value, shift: Value, axis: int) -> Value:
    size = a.shape[axis]
    positions = (np.arange(size) - shift) % max(size, 1)
    return getitem(a, (*(slice(None),) * axis, positions))


_moving_roll = moving(np.roll, ROLL)


# By the functions of ROLL a stencil of large arrays that are rolled costs 1.12 times this.
def _plan_roll(x: Spec, out: Spec, /, shift: Any, axis: Any = None) -> Kernels | None:
    """The kernels of one axis of a large array: its blocks are known."""
    if x.size <= FEW or type(shift) is not int or type(axis) is not int:
        return _moving_roll(x, out, shift=shift, axis=axis)
    there, back = _blocks(x.shape, shift, axis), _blocks(x.shape, -shift, axis)
    return moved(lambda a: _by_blocks(a, there), lambda g: _by_blocks(g, back))


composite(np.roll, _roll, linear=True, plan=_plan_roll)
linear(np.copy, lambda g, _out, _x, *_a, **_k: g, fresh=True, batch=_copied_examples)


def _astype(x: Value, dtype: Any, /, *, copy: bool = True, device: str | None = None) -> Value:
    if device not in (None, "cpu"):
        raise ValueError(f'Device not understood. Only "cpu" is allowed, but received: {device}')
    return x.astype(dtype, copy=copy)


composite(np.astype, _astype)


def _at_least(count: int, *arrays: Value) -> Value | tuple[Value, ...]:
    made = [padded(array, count) for array in arrays]
    return made[0] if len(made) == 1 else tuple(made)


def padded(array: Value, count: int) -> Value:
    """The array with at least `count` axes, new ones where np.atleast_1d, 2d and 3d put them."""
    array = lift(array)
    array = array if hasattr(array, "shape") else np.asarray(array)
    if array.ndim >= count:
        return array
    if count == 3:
        shape = {0: (1, 1, 1), 1: (1, *array.shape, 1), 2: (*array.shape, 1)}[array.ndim]
    else:
        shape = (1,) * (count - array.ndim) + array.shape
    return np.reshape(array, shape)


composite(np.atleast_1d, lambda *arrays: _at_least(1, *arrays))
composite(np.atleast_2d, lambda *arrays: _at_least(2, *arrays))
composite(np.atleast_3d, lambda *arrays: _at_least(3, *arrays))

# --- repetition


# By the rule's own functions a gradient costs 1.18 times this (8 elements), 1.21 (8 x 8), 4.0
# (100 x 100).
def _plan_broadcast(x: Spec, out: Spec, /, shape: Any, subok: bool = False) -> Kernels:
    total = summing(out.shape, x.shape, out.dtype)

    def push(dot: Tangent, _out: Value, _x: Value) -> Tangent:
        if out.size > SMALL or not isinstance(dot, np.ndarray):
            return np.broadcast_to(dot, shape)
        made = np.empty(out.shape, out.dtype, like=dot)  # cheaper than np.broadcast_to
        made[...] = dot
        return made

    return Kernels(
        lambda a: np.broadcast_to(a, shape, subok=subok),
        lambda g, _out, _x: g if total is None else total(g),
        push,
    )


linear(
    np.broadcast_to,
    lambda g, _out, _x, *_a, **_k: g,
    view="part",
    batch="shape",
    signature="array, shape, subok",
    plan=_plan_broadcast,
)


def _broadcast_copy(x: Value, shape: Sequence[int]) -> Value:
    return np.broadcast_to(x, shape)


# np.broadcast_to whose result is no view: later writes to x do not change it.
BROADCAST_COPY = linear(
    _broadcast_copy, lambda g, _out, _x, shape: g, name="np.broadcast_to", batch="shape"
)


def _broadcast_into_copy(x: Value, shape: Sequence[int]) -> Value:
    return BROADCAST_COPY.apply_bound([x], {"shape": tuple(shape)})


def _own(made: Value) -> Value:
    """A reshaped BROADCAST_COPY, with memory of its own: that of a vmap may be a view."""
    return made.copy() if isinstance(made, Mapped) else made


def _broadcast_arrays(*args: Value, subok: bool = False) -> tuple[Value, ...]:
    shape = np.broadcast_shapes(*(np.shape(x) for x in args))

    def broadcast(x: Value) -> Value:
        # As in NumPy, an array that has the shape is given back itself, and can be written to.
        is_whole = is_array(x) and x.shape == shape and not is_scalar(x)
        return x if is_whole else np.broadcast_to(x, shape)

    return tuple(broadcast(x) for x in args)


def _grid(x: Value, shape: Sequence[int]) -> Value:
    return np.broadcast_to(x, shape).copy()


# One result of np.meshgrid, from an array with an axis for each.
GRID = linear(_grid, lambda g, _out, _x, shape: g, name="np.meshgrid", batch="shape")


def _meshgrid(
    *xi: Value, copy: bool = True, sparse: bool = False, indexing: str = "xy"
) -> Sequence[Value]:
    if indexing not in ("xy", "ij"):
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    places = list(range(len(xi)))
    if indexing == "xy" and len(xi) > 1:
        places[:2] = [1, 0]  # the first array runs along the columns
    grids = []
    for x, place in zip(xi, places, strict=True):
        shape = [1] * len(xi)
        shape[place] = -1
        grids.append(np.reshape(x, shape))
    if copy and not sparse:
        whole = np.broadcast_shapes(*(x.shape for x in grids))
        return tuple(GRID.apply_bound([x], {"shape": whole}) for x in grids)
    made = grids if sparse else np.broadcast_arrays(*grids)
    if copy:
        return tuple(np.copy(x) for x in made)
    return made if sparse and not MESHGRID_IS_TUPLE else tuple(made)


composite(np.broadcast_arrays, _broadcast_arrays)
composite(np.meshgrid, _meshgrid)


def _summed(g: Cotangent, axes: int | tuple[int, ...]) -> Cotangent:
    """np.sum; for NumPy's own arrays without its wrapper."""
    return np.add.reduce(g, axes) if type(g) is np.ndarray else np.sum(g, axes)


def _repeated(a: Value, repeats: Value, axis: int | None = None) -> Value:
    return a.repeat(repeats, axis) if type(a) is np.ndarray else np.repeat(a, repeats, axis)


def _repeat_transpose(
    g: Cotangent, _out: Value, _x: Value, repeats: Value, axis: int | None = None
) -> Cotangent:
    """Each element gets the sum of the cotangents of its copies."""
    if not _x.ndim:
        axis = None  # NumPy takes 0 and -1 of a number as well
    count = _x.size if axis is None else _x.shape[axis]
    if type(repeats) is int or np.ndim(repeats) == 0:
        axis_ = 0 if axis is None else axis % _x.ndim
        shape = (*g.shape[:axis_], count, int(repeats), *g.shape[axis_ + 1 :])
        return _summed(g.reshape(shape), axis_ + 1).reshape(_x.shape)
    if not _x.ndim:
        return np.sum(g)
    owner = np.repeat(np.arange(count), repeats)
    if axis is None:
        return Scatter(np.unravel_index(owner, _x.shape), g)
    return Scatter((slice(None),) * (axis % _x.ndim) + (owner,), g)


@lru_cache(1 << 10)
def _copies(
    shape: tuple[int, ...], reps: tuple[int, ...]
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """How often np.tile repeats each axis, the sides of one copy, and both with axes of their own.

    The last are the axes of the copies.
    """
    ndim = max(len(reps), len(shape))
    counts = (1,) * (ndim - len(reps)) + reps
    sides = (1,) * (ndim - len(shape)) + shape
    apart = tuple([size for pair in zip(counts, sides, strict=True) for size in pair])
    return counts, sides, apart, tuple([2 * i for i, count in enumerate(counts) if count != 1])


def _as_counts(reps: Any) -> tuple[int, ...]:
    return (int(reps),) if type(reps) is int or np.ndim(reps) == 0 else tuple(map(int, reps))


def _tile_transpose(g: Cotangent, _out: Value, _A: Value, reps: Any) -> Cotangent:
    """Each element gets the sum of the cotangents of its copies."""
    _, _, apart, axes = _copies(tuple(_A.shape), _as_counts(reps))
    return _summed(g.reshape(apart), axes).reshape(_A.shape)


def _tiled_examples(A: Value, reps: Any) -> Value:
    counts, sides, _, _ = _copies(tuple(A.shape[1:]), _as_counts(reps))
    return np.tile(np.reshape(A, (A.shape[0], *sides)), (1, *counts))


def _tiled(A: Value, reps: Any) -> Value:
    """np.tile; of a value whose calls are recorded by calls that a program joins with others."""
    if not is_recorded(A):
        return np.tile(A, reps)
    counts, sides, apart, _ = _copies(A.shape, _as_counts(reps))
    rows = np.reshape(A, [size for side in sides for size in (1, side)])
    whole = [count * side for count, side in zip(counts, sides, strict=True)]
    return np.reshape(np.broadcast_to(rows, apart), whole).copy()


TILE = Linear(np.tile, [_tile_transpose], batch=_tiled_examples, implementation=_tiled)


def _tile(A: Value, reps: Any) -> Value:
    A = lift(A)
    return TILE.apply_bound(
        [A if hasattr(A, "shape") else np.asarray(A)], {"reps": untraced(reps)}
    )


def _resize(a: Value, new_shape: Any) -> Value:
    """The elements again and again, until the new shape is full."""
    shape = (new_shape,) if np.ndim(new_shape) == 0 else tuple(new_shape)
    if any(side < 0 for side in shape):
        raise ValueError("all elements of `new_shape` must be non-negative")
    total = math.prod(shape)
    if a.size == 0 or total == 0:
        return np.zeros_like(a, shape=shape)
    copies = _broadcast_into_copy(np.reshape(a, (1, a.size)), (-(-total // a.size), a.size))
    return _own(np.reshape(np.reshape(copies, -1)[:total], shape))


linear(
    np.repeat,
    _repeat_transpose,
    batch="flat",
    implementation=_repeated,
    plan=moving(np.repeat),
)
composite(np.tile, _tile, linear=True, plan=moving(np.tile, TILE))
composite(np.resize, _resize, linear=True, plan=moving(np.resize))


def _windows_transpose(
    g: Cotangent,
    _out: Value,
    _x: Value,
    window_shape: int | Sequence[int],
    axis: int | tuple[int, ...] | None = None,
    **_: Any,
) -> Cotangent:
    """Each element gets the sum over its windows: one slice for each position in a window."""
    axes = range(_x.ndim) if axis is None else normalize_axis_tuple(axis, _x.ndim, None, True)
    sizes = g.shape[_x.ndim :]
    x_bar = np.zeros(_x.shape, g.dtype, like=g)
    for place in np.ndindex(*sizes):
        start = [0] * _x.ndim
        for along, offset in zip(axes, place, strict=True):
            start[along] += offset
        inner = tuple(slice(s, s + n) for s, n in zip(start, g.shape, strict=False))
        x_bar[inner] += g[(..., *place)]
    return x_bar


linear(sliding_window_view, _windows_transpose, view="part", batch="axis")

# --- cutting


def _cuts(
    ary: Value, indices_or_sections: int | Sequence[int], axis: int, *, equal: bool
) -> list[Value]:
    total = ary.shape[axis]
    lead = (slice(None),) * (axis % ary.ndim)
    cuts = untraced(indices_or_sections)
    inner = _evenly(total, int(cuts), equal) if np.ndim(cuts) == 0 else list(cuts)
    parts = [slice(start, end) for start, end in pairwise([0, *inner, total])]
    return [ary[(*lead, part)] if lead else ary[part] for part in parts]


def _evenly(total: int, sections: int, equal: bool) -> list[int]:
    """Where to cut into parts of one size, or of two with the larger ones in front."""
    if sections <= 0:
        raise ValueError("number sections must be larger than 0.")
    size, larger = divmod(total, sections)
    if equal and larger:
        raise ValueError("array split does not result in an equal division")
    return [size * i + min(i, larger) for i in range(1, sections)]


def _split(ary: Value, indices_or_sections: int | Sequence[int], axis: int = 0) -> list[Value]:
    return _cuts(ary, indices_or_sections, axis, equal=True)


def _array_split(
    ary: Value, indices_or_sections: int | Sequence[int], axis: int = 0
) -> list[Value]:
    return _cuts(ary, indices_or_sections, axis, equal=False)


def _hsplit(ary: Value, indices_or_sections: int | Sequence[int]) -> list[Value]:
    if ary.ndim == 0:
        raise ValueError("hsplit only works on arrays of 1 or more dimensions")
    return _split(ary, indices_or_sections, min(ary.ndim, 2) - 1)


def _vsplit(ary: Value, indices_or_sections: int | Sequence[int]) -> list[Value]:
    if ary.ndim < 2:
        raise ValueError("vsplit only works on arrays of 2 or more dimensions")
    return _split(ary, indices_or_sections, 0)


def _dsplit(ary: Value, indices_or_sections: int | Sequence[int]) -> list[Value]:
    if ary.ndim < 3:
        raise ValueError("dsplit only works on arrays of 3 or more dimensions")
    return _split(ary, indices_or_sections, 2)


composite(np.split, _split)
composite(np.array_split, _array_split)
composite(np.hsplit, _hsplit)
composite(np.vsplit, _vsplit)
composite(np.dsplit, _dsplit)


def _unstack(x: Value, /, *, axis: int = 0) -> tuple[Value, ...]:
    if x.ndim == 0:
        raise ValueError("Input array must be at least 1-d.")
    lead = (slice(None),) * normalize_axis_index(axis, x.ndim)
    return tuple(x[(*lead, i)] for i in range(x.shape[axis]))


composite(np.unstack, _unstack)


def _trim_zeros(filt: Value, trim: str = "fb", axis: Any = None) -> Value:
    """Which elements are zero is constant, so the result is a slice."""
    sides = trim.lower()
    if sides not in ("fb", "bf", "f", "b"):
        raise ValueError(f"unexpected character(s) in `trim`: {trim!r}")
    if axis is not None and not TRIMS_SEVERAL_AXES:
        axis = operator.index(axis)
    axes = range(filt.ndim) if axis is None else normalize_axis_tuple(axis, filt.ndim)
    nonzero = np.argwhere(untraced(filt))
    cut = [slice(None)] * filt.ndim
    for along in axes:
        if len(nonzero) == 0:
            cut[along] = slice(0, 0)
            continue
        first, last = nonzero[:, along].min(), nonzero[:, along].max()
        cut[along] = slice(
            int(first) if "f" in sides else None, int(last) + 1 if "b" in sides else None
        )
    return filt[tuple(cut)] if len(axes) else filt


def _trim_zeros_of_sequence(filt: Value, trim: str = "fb") -> Value:
    """As NumPy before 2.2, for a sequence of numbers."""
    sides = trim.upper()
    nonzero = [i for i, number in enumerate(untraced(filt)) if number != 0]
    if not nonzero:
        nonzero = [len(filt)] if "F" in sides else [-1]
    first = nonzero[0] if "F" in sides else 0
    last = nonzero[-1] + 1 if "B" in sides else len(filt)
    return filt[first:last]


composite(np.trim_zeros, _trim_zeros if TRIMS_AXES else _trim_zeros_of_sequence, batch="ragged")
