"""Functions that move, repeat, join or cut arrays without computing anything new."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad._rule import composite, linear, plain

# --- one array, rearranged; NumPy may return a view of it


def _reshape_transpose(
    g: Any, _out: Any, _x: Any, shape: Any = None, order: str = "C", **_: Any
) -> Any:
    return np.reshape(g, _x.shape, order=_known_order(order))


def _known_order(order: str) -> str:
    """'A' and 'K' depend on the memory of the argument, which the tape has made plain."""
    return "F" if order == "F" else "C"


def _ravel(a: Any, order: str) -> Any:
    """The elements in a row; "A" and "K" ask for the order in memory, known here and not later."""
    if order == "A":
        flags = plain(a).flags
        order = "F" if flags.f_contiguous and not flags.c_contiguous else "C"
    elif order == "K":
        strides = plain(a).strides
        a, order = np.transpose(a, sorted(range(a.ndim), key=lambda i: -abs(strides[i]))), "C"
    return np.reshape(a, -1, order=order)


def _transposed(g: Any, _out: Any, _x: Any, axes: Any = None) -> Any:
    if axes is None:
        return np.transpose(g)
    return np.transpose(g, np.argsort(_positive(axes, _x.ndim)))


def _positive(axes: Any, ndim: int) -> list[int]:
    return [int(axis) % ndim for axis in axes]


def _to_argument(g: Any, _out: Any, _x: Any, *_: Any, **__: Any) -> Any:
    """For functions that keep the elements in C order: back to the argument's shape."""
    return np.reshape(g, _x.shape)


linear(np.reshape, _reshape_transpose, view=True, signature="a, shape, order, copy")
composite(np.ravel, lambda a, order="C": _ravel(a, order))
linear(np.transpose, _transposed, view=True, batch="axis")
linear(np.matrix_transpose, lambda g, _out, _x: np.swapaxes(g, -1, -2), view=True)
linear(
    np.swapaxes,
    lambda g, _out, _x, axis1, axis2: np.swapaxes(g, axis1, axis2),
    view=True,
    batch="axis",
)
linear(
    np.moveaxis,
    lambda g, _out, _x, source, destination: np.moveaxis(g, destination, source),
    view=True,
    batch="axis",
)
linear(np.squeeze, _to_argument, view=True, batch="axis")
linear(np.expand_dims, _to_argument, view=True, batch="axis")
linear(np.flip, lambda g, _out, _x, axis=None: np.flip(g, axis), view=True, batch="axis")
linear(
    np.rot90, lambda g, _out, _x, k=1, axes=(0, 1): np.rot90(g, -k, axes), view=True, batch="axis"
)
composite(np.fliplr, lambda m: m[:, ::-1])
composite(np.flipud, lambda m: m[::-1, ...])
composite(
    np.rollaxis,
    lambda a, axis, start=0: _rollaxis(a, axis % a.ndim, start if start >= 0 else start + a.ndim),
)


def _rollaxis(a: Any, axis: int, start: int) -> Any:
    return np.moveaxis(a, axis, start - (axis < start))


linear(
    np.roll,
    lambda g, _out, _x, shift, axis=None: np.roll(
        g, [-s for s in shift] if isinstance(shift, (tuple, list)) else -shift, axis
    ),
    batch="axis",
)
linear(np.copy, lambda g, _out, _x, *_a, **_k: g, batch="align")


def _at_least(count: int, *arrays: Any) -> Any:
    made = [_padded(array, count) for array in arrays]
    return made[0] if len(made) == 1 else tuple(made)


def _padded(array: Any, count: int) -> Any:
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

linear(np.broadcast_to, lambda g, _out, _x, *_a, **_k: g, signature="array, shape, subok")
composite(
    np.broadcast_arrays,
    lambda *args, subok=False: tuple(
        np.broadcast_to(x, np.broadcast_shapes(*(np.shape(a) for a in args))) for x in args
    ),
)


def _repeat_transpose(g: Any, _out: Any, _x: Any, repeats: Any, axis: Any = None) -> Any:
    """Each element gets the sum of its copies: differences of a running sum at their ends."""
    count = _x.size if axis is None else _x.shape[axis]
    if np.ndim(repeats) == 0:
        axis_ = 0 if axis is None else axis % _x.ndim
        shape = (*g.shape[:axis_], count, int(repeats), *g.shape[axis_ + 1 :])
        return np.sum(g.reshape(shape), axis=axis_ + 1).reshape(_x.shape)
    owner = np.repeat(np.arange(count), repeats)
    moved = g if axis is None else np.moveaxis(g, axis, 0)
    chosen = np.zeros((count, len(owner)), g.dtype)
    chosen[owner, np.arange(len(owner))] = 1
    summed = np.tensordot(chosen, moved, 1)
    return summed.reshape(_x.shape) if axis is None else np.moveaxis(summed, 0, axis)


def _tile(A: Any, reps: Any) -> Any:
    counts = (reps,) if np.ndim(reps) == 0 else tuple(reps)
    ndim = max(len(counts), A.ndim)
    shape = (1,) * (ndim - A.ndim) + A.shape
    counts = (1,) * (ndim - len(counts)) + counts
    doubled = [size for pair in zip([1] * ndim, shape, strict=True) for size in pair]
    wide = [size for pair in zip(counts, shape, strict=True) for size in pair]
    total = [count * size for count, size in zip(counts, shape, strict=True)]
    return np.broadcast_to(A.reshape(doubled), wide).reshape(total)


linear(np.repeat, _repeat_transpose, batch="axis")
composite(np.tile, _tile)

# --- joining


def _concatenate_transpose(
    g: Any, _out: Any, *_xs: Any, wanted: Any, axis: Any = 0, **_: Any
) -> list[Any]:
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
    g: Any, _out: Any, *_xs: Any, wanted: Any, axis: int = 0, **_: Any
) -> list[Any]:
    lead = (slice(None),) * (axis % g.ndim)
    return [g[(*lead, i)] if want else None for i, want in enumerate(wanted)]


JOINING = {
    "sequence": True,
    "variadic": True,
    "arrays": 1,
    "batch": "axis",
    "signature": "arrays, axis, out, dtype, casting",
}
linear(np.concatenate, _concatenate_transpose, **JOINING)
linear(np.stack, _stack_transpose, **JOINING)


def _cast_options(options: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in options.items() if value is not None}


def _hstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    parts = [_padded(part, 1) for part in tup]
    options = _cast_options({"dtype": dtype, "casting": casting})
    return np.concatenate(parts, axis=0 if parts[0].ndim == 1 else 1, **options)


def _vstack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    options = _cast_options({"dtype": dtype, "casting": casting})
    return np.concatenate([_padded(part, 2) for part in tup], axis=0, **options)


def _dstack(tup: Any) -> Any:
    return np.concatenate([_padded(part, 3) for part in tup], axis=2)


def _column_stack(tup: Any) -> Any:
    columns = [part if np.ndim(part) > 1 else _padded(part, 2).T for part in tup]
    return np.concatenate(columns, axis=1)


def _append(arr: Any, values: Any, axis: Any = None) -> Any:
    if axis is None:
        return np.concatenate([np.ravel(arr), np.ravel(values)])
    return np.concatenate([arr, values], axis=axis)


composite(np.hstack, _hstack)
composite(np.vstack, _vstack)
composite(np.dstack, _dstack)
composite(np.column_stack, _column_stack)
composite(np.append, _append)


def _block(arrays: Any) -> Any:
    """The innermost lists join along the last axis, each list around them one axis earlier."""
    depth = _depth(arrays)
    ndim = max(depth, *(np.ndim(leaf) for leaf in _leaves(arrays)))
    return _block_level(arrays, depth, ndim)


def _depth(arrays: Any) -> int:
    return 1 + _depth(arrays[0]) if isinstance(arrays, list) else 0


def _leaves(arrays: Any) -> list[Any]:
    if isinstance(arrays, list):
        return [leaf for part in arrays for leaf in _leaves(part)]
    return [arrays]


def _block_level(arrays: Any, depth: int, ndim: int) -> Any:
    if depth == 0:
        array = arrays if hasattr(arrays, "shape") else np.asarray(arrays)
        return array.reshape((1,) * (ndim - array.ndim) + array.shape)
    return np.concatenate([_block_level(part, depth - 1, ndim) for part in arrays], axis=-depth)


composite(np.block, _block)

# --- cutting


def _cuts(ary: Any, indices_or_sections: Any, axis: int, *, equal: bool) -> list[Any]:
    """The parts that NumPy would cut, found by cutting positions."""
    function = np.split if equal else np.array_split
    lead = (slice(None),) * (axis % ary.ndim)
    positions = function(np.arange(ary.shape[axis]), plain(indices_or_sections))
    return [
        ary[(*lead, slice(int(p[0]), int(p[-1]) + 1) if p.size else slice(0, 0))]
        for p in positions
    ]


composite(
    np.split,
    lambda ary, indices_or_sections, axis=0: _cuts(ary, indices_or_sections, axis, equal=True),
)
composite(
    np.array_split,
    lambda ary, indices_or_sections, axis=0: _cuts(ary, indices_or_sections, axis, equal=False),
)
composite(
    np.hsplit,
    lambda ary, indices_or_sections: _cuts(
        ary, indices_or_sections, 0 if ary.ndim == 1 else 1, equal=True
    ),
)
composite(
    np.vsplit, lambda ary, indices_or_sections: _cuts(ary, indices_or_sections, 0, equal=True)
)
composite(
    np.dsplit, lambda ary, indices_or_sections: _cuts(ary, indices_or_sections, 2, equal=True)
)

# --- padding


def _pad_transpose(g: Any, _out: Any, _x: Any, pad_width: Any, **_: Any) -> Any:
    pairs = np.broadcast_to(pad_width, (_x.ndim, 2))
    inner = tuple(
        slice(int(low), int(low) + size) for (low, _), size in zip(pairs, _x.shape, strict=True)
    )
    return g[inner]


def _pad(array: Any, pad_width: Any, mode: Any = "constant", **options: Any) -> Any:
    """Constant padding is linear; modes that copy elements are an index into the array."""
    if isinstance(pad_width, dict):
        pairs: Any = np.zeros((array.ndim, 2), int)
        for axis, width in pad_width.items():
            pairs[axis] = width
        pad_width = pairs
    if mode == "constant":
        values = options.pop("constant_values", 0)
        return _pad_constant(array, pad_width) + np.pad(
            np.zeros(array.shape, array.dtype), pad_width, constant_values=plain(values)
        )
    if mode in ("edge", "wrap", "reflect", "symmetric") and not options:
        positions = np.arange(array.size).reshape(array.shape)
        return np.ravel(array)[np.pad(positions, pad_width, mode)]
    raise NotImplementedError(f"np.pad: no derivative rule yet for mode={mode!r} with {options}.")


def _pad_zeros(array: Any, pad_width: Any) -> Any:
    return np.pad(array, pad_width)


PAD = linear(_pad_zeros, _pad_transpose, name="np.pad")


def _pad_constant(array: Any, pad_width: Any) -> Any:
    return PAD.apply_bound([array], {"pad_width": pad_width})


composite(np.pad, _pad)
