"""Functions that pick elements by positions or conditions.

Positions and conditions are constants; `x[index]` itself belongs to the traced array.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from tapegrad._core.fast.call_plans import NUMBER, Kernels, Spec, placed
from tapegrad._core.fast.sums import summing
from tapegrad._core.forms import Linear, composite, constant, linear
from tapegrad._core.types import Cotangent, Function, Index, Params, Tangent, Value
from tapegrad._core.values import getitem, is_ndarray, is_plain_array, lift, untraced
from tapegrad.rules.masks import LARGE, chosen, parted, selected
from tapegrad.rules.positions import moving


def _where_x(g: Cotangent, _out: Value, condition: Value, _x: Value, _y: Value) -> Cotangent:
    return np.where(condition, g, 0)


def _where_y(g: Cotangent, _out: Value, condition: Value, _x: Value, _y: Value) -> Cotangent:
    return np.where(condition, 0, g)


def _where(condition: Value, *branches: Value) -> Any:
    """np.where. The condition is constant; given alone, it is converted to positions."""
    condition = untraced(condition)
    if not branches:
        return np.nonzero(condition)
    if len(branches) != 2:
        return np.where(condition, *map(untraced, branches))  # positions, or NumPy's error
    x, y = map(lift, branches)
    if x is None or y is None:
        raise TypeError("np.where: expected two branches of numbers, got None for one.")
    return WHERE.apply_bound([condition, x, y], {})


def _choose_branch(condition: Value, x: Value, y: Value) -> Value:
    return np.where(condition, x, y)


# By the rule's own functions a gradient costs 1.11 times this (8 elements), 1.11 (8 x 8); the
# tangent 1.22.
def _plan_where(
    specs: tuple[Spec, ...], out: Spec, wanted: Sequence[bool], /, **_params: Any
) -> Kernels | None:
    """The kernels of a choice between arrays of the result's dtype."""
    truth, x, y = specs
    if any(spec.dtype is not out.dtype and spec is not NUMBER for spec in (x, y)):
        return None
    if truth is NUMBER or wanted[0]:
        return None
    _, by_x, by_y = wanted
    shape, dtype = out.shape, out.dtype
    x_sum = summing(shape, x.shape, dtype) if by_x else None
    y_sum = summing(shape, y.shape, dtype) if by_y else None
    plain = out.dtype.char in "fd" and truth.dtype.char == "?"
    large = plain and truth.size >= LARGE and truth.shape == shape

    def pull(g: Cotangent, _out: Value, condition: Value, _x: Value, _y: Value) -> Any:
        x_bar = y_bar = None
        if plain and by_x and by_y:
            x_bar, y_bar = parted(condition, g)
        elif by_x:
            x_bar = chosen(condition, g) if plain else np.where(condition, g, 0)
        if by_y and y_bar is None:
            y_bar = chosen(~condition, g) if plain else np.where(condition, 0, g)
        return (
            None,
            x_sum(x_bar) if by_x and x_sum is not None else x_bar,
            y_sum(y_bar) if by_y and y_sum is not None else y_bar,
        )

    def push(dots: Sequence[Tangent], _out: Value, condition: Value, _x: Value, _y: Value) -> Any:
        _, x_dot, y_dot = dots
        if large and y_dot is None and x_dot.shape == shape:
            return chosen(condition, x_dot)
        dot = selected(condition, 0 if x_dot is None else x_dot, 0 if y_dot is None else y_dot)
        return dot if dot.shape == shape else np.broadcast_to(dot, shape)

    return Kernels(selected if large else None, pull, push)


WHERE = linear(
    _choose_branch,
    _where_x,
    _where_y,
    fixed=1,
    name="np.where",
    fresh=True,
    batch="align",
    plan=_plan_where,
    numbers=True,
    implementation=np.where,
)


def _where_call(*arrays: Any) -> tuple[Any, Sequence[Any], Params] | None:
    """The choice that a call with two branches is."""
    return (WHERE, arrays, {}) if len(arrays) == 3 and None not in arrays else None


composite(np.where, _where, arrays=3, primitive=_where_call)

# --- taking


def plain_array(value: Value) -> Value:
    """Positions or conditions as an untraced array."""
    value = untraced(lift(value))
    return value if hasattr(value, "shape") else np.asarray(value)


def picked(x: Value, positions: Index) -> Value:
    """The elements of x at flat positions, in the shape of the positions."""
    return np.reshape(getitem(np.reshape(x, -1), np.ravel(positions)), np.shape(positions))


def take(a: Value, indices: Index, axis: int | None = None, mode: str = "raise") -> Value:
    """np.take; here the indices may also differ between the examples of a vmap."""
    a = a if hasattr(a, "shape") else np.asarray(a)
    indices = plain_array(indices)
    if issubclass(type(indices), np.generic):  # which would pick a view
        indices = np.asarray(indices)
    if indices.size == 0 and indices.dtype.kind == "f":
        indices = indices.astype(np.intp)  # NumPy's dtype of an empty list
    if indices.dtype.kind not in "iub":
        raise TypeError(f"np.take: expected integer indices, got {indices.dtype}.")
    if indices.dtype.kind == "b":
        indices = indices.astype(np.intp)  # positions 0 and 1 here, not a mask
    if a.ndim == 0 or (axis is None and a.ndim > 1):
        a = np.reshape(a, -1)  # a number counts as a row of one element, as in NumPy
    axis = 0 if axis is None else normalize_axis_index(axis, a.ndim)
    size = a.shape[axis]
    if mode == "clip":
        indices = np.clip(indices, 0, max(size - 1, 0))
    elif mode == "wrap":
        indices = indices % max(size, 1)
    elif mode != "raise":
        raise ValueError(f"np.take: mode must be 'raise', 'wrap' or 'clip', got {mode!r}.")
    found = getitem(a, (*(slice(None),) * axis, indices) if axis else indices)
    return found if _is_in_c_order(untraced(found)) else np.copy(found, "C")  # as np.take's is


def _is_in_c_order(value: Value) -> bool:
    return type(value) is not np.ndarray or value.ndim < 2 or value.flags.c_contiguous


def along(arr: Value, indices: Index, axis: int | None) -> Index:
    """The index with which np.take_along_axis reads, of the flattened array if axis is None."""
    if not np.issubdtype(indices.dtype, np.integer):
        raise IndexError("`indices` must be an integer array")
    if axis is None:
        if indices.ndim != 1:
            raise ValueError("when axis=None, `indices` must have a single dimension.")
        return (indices,)
    if arr.ndim != indices.ndim:
        raise ValueError("`indices` and `arr` must have the same number of dimensions")
    grid = list(np.indices(arr.shape, sparse=True))
    grid[normalize_axis_index(axis, arr.ndim)] = indices
    return tuple(grid)


def _take_along_axis(arr: Value, indices: Index, axis: int | None = -1) -> Value:
    arr = arr if hasattr(arr, "shape") else np.asarray(arr)
    index = along(arr, plain_array(indices), axis)
    return getitem(np.ravel(arr) if axis is None else arr, index)


def _compress(condition: Value, a: Value, axis: int | None = None) -> Value:
    condition = plain_array(condition)
    if condition.ndim != 1:
        raise ValueError("condition must be a 1-d array")
    return take(a, np.flatnonzero(condition), axis)


def _extract(condition: Value, arr: Value) -> Value:
    return np.ravel(arr)[np.flatnonzero(untraced(condition))]


# By the definition a gradient costs 1.3 times this (8 elements), 1.4 (8 x 8).
def _plan_take(
    specs: tuple[Spec, ...],
    out: Spec,
    wanted: Sequence[bool],
    /,
    axis: int | None = None,
    mode: str = "raise",
    **others: Any,
) -> Kernels | None:
    x, at = specs
    if others or mode != "raise" or at.dtype.kind != "i" or not at.ndim or not out.size:
        return None
    if not x.ndim:
        return None
    along = 0 if axis is None else normalize_axis_index(axis, x.ndim)
    lead, shape = (slice(None),) * along, x.shape
    room = (x.size,) if axis is None else shape

    def run(x: Value, at: Value) -> Value:
        return x.take(at, axis)

    dtype = x.dtype

    def pull(g: Cotangent, _out: Value, _x: Value, at: Value) -> Any:
        bar = placed(room, (*lead, at) if lead else at, g)
        return bar.reshape(shape) if axis is None else bar, None

    def pull_rows(g: Cotangent, _out: Value, _x: Value, at: Value) -> Any:
        rows = at.tolist()
        if len(set(rows)) < len(rows) or min(rows) < 0:  # -1 may be another's place
            return placed(room, at, g), None
        bar = np.zeros(shape, dtype)
        bar[at] = g
        return bar, None

    if not lead and axis is not None and at.ndim == 1 and at.size <= 64:
        pull = pull_rows
    return Kernels(run, pull, lambda dots, _out, _x, at: run(dots[0], at))


# By the definition a gradient costs 1.3 times this (8 x 8), 1.4 (100 x 100); the tangent 1.6.
def _plan_take_along(
    specs: tuple[Spec, ...], out: Spec, wanted: Sequence[bool], /, axis: int | None = -1
) -> Kernels | None:
    x, at = specs
    if axis is None or at.dtype.kind != "i" or x.ndim != at.ndim or not x.size:
        return None
    along = normalize_axis_index(axis, x.ndim)
    grid, shape, size, side = np.indices(x.shape, sparse=True), x.shape, x.size, x.shape[along]
    before, after = grid[:along], grid[along + 1 :]
    step = math.prod(shape[along + 1 :])
    start = np.arange(size).reshape(shape)[(slice(None),) * along + (slice(0, 1),)]
    counted, large = x.dtype.char == "d", at.size >= MANY

    def flat(at: Value) -> Value:
        """The positions in the flattened array, of indices that are within bounds."""
        if not large:
            return start + at % side * step
        if np.minimum.reduce(at, None) < 0:
            at = np.where(at < 0, at + side, at)
        return at * step + start

    def run(x: Value, at: Value) -> Value:
        if not large or np.maximum.reduce(at, None) >= side or np.minimum.reduce(at, None) < -side:
            return x[(*before, at, *after)]
        return x.take(flat(at))

    def pull(g: Cotangent, _out: Value, _x: Value, at: Value) -> Any:
        if not counted:
            return placed(shape, (*before, at, *after), g), None
        return np.bincount(flat(at).reshape(-1), g.reshape(-1), size).reshape(shape), None

    return Kernels(run, pull, lambda dots, _out, _x, at: run(dots[0], at))


MANY = 1 << 10  # positions, from which reading by one index is faster though it is made first
TAKING: Params = {"arrays": 2, "linear": True, "fixed": (1,)}
composite(np.take, take, plan=_plan_take, **TAKING)
composite(np.take_along_axis, _take_along_axis, plan=_plan_take_along, **TAKING)
composite(np.compress, _compress)
composite(np.extract, _extract)

# --- diagonals and triangles


def diagonal_transpose(
    g: Cotangent, _out: Value, _x: Value, offset: int = 0, axis1: int = 0, axis2: int = 1
) -> Cotangent:
    """Zeros with a cotangent on a diagonal."""
    x_bar = np.zeros(_x.shape, g.dtype, like=g)
    moved = np.moveaxis(x_bar, (axis1, axis2), (-2, -1))
    i = np.arange(g.shape[-1])
    moved[..., i - min(offset, 0), i + max(offset, 0)] = g
    return x_bar


def _diag(v: Value, k: int = 0) -> Value:
    if v.ndim not in (1, 2):
        raise ValueError("Input must be 1- or 2-d.")
    return np.diagonal(v, k) if v.ndim == 2 else _diagflat(v, k)


def _on_diagonal(v: Value, k: int = 0) -> Value:
    return _on_diagonals(np.reshape(v, (1, -1)), k)[0]


def _on_diagonals(rows: Value, k: int = 0) -> Value:
    """A matrix for each row, with its elements on a diagonal."""
    rows = np.reshape(rows, (rows.shape[0], math.prod(rows.shape[1:])))
    size = rows.shape[1] + abs(k)
    i = np.arange(rows.shape[1])
    made = np.zeros((rows.shape[0], size, size), rows.dtype, like=rows)
    made[:, i - min(k, 0), i + max(k, 0)] = rows
    return made


def _diagflat_at_once(v: Value, k: int = 0) -> Value:
    return np.diagflat(v.ravel(), k) if is_plain_array(v) else _on_diagonal(v, k)


DIAGFLAT = Linear(
    _on_diagonal,
    [lambda g, _out, _v, k=0: np.reshape(np.diagonal(g, k), _v.shape)],
    name="np.diagflat",
    batch=_on_diagonals,
    implementation=_diagflat_at_once,
)


def _diagflat(v: Value, k: int = 0) -> Value:
    v = lift(v)
    return DIAGFLAT.apply_bound([v if hasattr(v, "shape") else np.asarray(v)], {"k": k})


_moving_diagflat = moving(np.diagflat, DIAGFLAT)


def _moving_diag(x: Spec, out: Spec, /, **params: Any) -> Kernels | None:
    return None if x.ndim != 1 else _moving_diagflat(x, out, **params)


# By the rule's own functions a gradient costs 2.0 times this (8 x 8), 1.8 (100 x 100); for
# np.trace 2.2.
def plan_diagonals(
    x: Spec, offset: int, axis1: int, axis2: int, run: Function, *, summed: bool = False
) -> Kernels:
    """Kernels of a read of diagonals, or of their sums, whose cotangents are put there again."""
    shape, dtype = x.shape, x.dtype
    whole = _slice_of_diagonal(x, offset, axis1, axis2)
    spread = summed and x.ndim > 2

    def diagonals(bar: Cotangent) -> Any:
        if whole is not None and bar.flags.c_contiguous:
            return bar.reshape(-1)[whole]
        part = bar.diagonal(offset, axis1, axis2)
        part.flags.writeable = True  # it is a view of an array of ours
        return part

    def add(bar: Cotangent, g: Cotangent) -> None:
        part = diagonals(bar)
        part += g[..., None] if spread else g

    def pull(g: Cotangent, _out: Value, _x: Value) -> Cotangent:
        bar = np.zeros(shape, dtype, like=g if isinstance(g, np.ndarray) else None)
        diagonals(bar)[...] = g[..., None] if spread else g
        return bar

    return Kernels(run, pull, lambda dot, _out, _x: run(dot), add=add)


def _slice_of_diagonal(x: Spec, offset: int, axis1: int, axis2: int) -> slice | None:
    """Where the diagonal of a matrix lies in its memory."""
    if x.ndim != 2 or (axis1 % 2, axis2 % 2) != (0, 1):
        return None
    rows, columns = x.shape
    count = max(min(rows + min(offset, 0), columns - max(offset, 0)), 0)
    start = offset if offset >= 0 else -offset * columns
    return slice(start, start + count * (columns + 1), columns + 1) if count else slice(0)


def _plan_diagonal(
    x: Spec, _out: Spec, /, offset: int = 0, axis1: int = 0, axis2: int = 1
) -> Kernels:
    return plan_diagonals(x, offset, axis1, axis2, lambda a: a.diagonal(offset, axis1, axis2))


linear(np.diagonal, diagonal_transpose, view="part", batch="axis", plan=_plan_diagonal)
composite(np.diag, _diag, linear=True, plan=_moving_diag)
composite(np.diagflat, _diagflat, linear=True, plan=_moving_diagflat)


def _kept(m: Value, mask: Value) -> Value:
    """The elements of matrices where the mask has True, and zeros elsewhere."""
    if type(m) is not np.ndarray or m.ndim == 1:
        return np.where(mask, m, 0)
    made = np.zeros(m.shape, m.dtype)  # np.where, at half the price
    np.copyto(made, m, where=mask)
    return made


def _triangle(rows: int, columns: int, k: int, above: bool) -> Value:
    """Where a matrix has its part up to the diagonal k, or with `above` what is beyond it."""
    below = np.tri(rows, columns, k, bool)
    return ~below if above else below


_known_triangle = lru_cache(16)(_triangle)  # one object also lets a program see what is the same


def _mask(m: Value, k: int, above: bool = False) -> Value:
    """`_triangle` of the last two axes; a vector stands for a square of such rows."""
    rows, columns = m.shape[-2:] if m.ndim > 1 else (m.shape[0], m.shape[0])
    known = rows * columns <= FEW and type(k) is int
    return (_known_triangle if known else _triangle)(rows, columns, k, above)


FEW = 1 << 16  # elements of a matrix, up to which its triangle is remembered


def _tril(m: Value, k: int = 0) -> Value:
    return _kept(m, _mask(m, k))


def _triu(m: Value, k: int = 0) -> Value:
    return _kept(m, _mask(m, k - 1, above=True))


def _declare_triangle(function: Function, part: Function) -> None:
    """Declare np.tril or np.triu; a vector stands for a square of such rows."""

    def examples(m: Value, k: int = 0) -> Value:
        return part(m if m.ndim > 2 else np.repeat(m[:, None], m.shape[1], 1), k)

    rule = Linear(
        part,
        [lambda g, _out, _m, k=0: part(g, k)],
        name=f"np.{function.__name__}",
        batch=examples,
    )

    def definition(m: Value, k: int = 0) -> Value:
        m = lift(m)
        return rule.apply_bound([m if hasattr(m, "shape") else np.asarray(m)], {"k": k})

    composite(function, definition, linear=True, plan=moving(function, rule))


_declare_triangle(np.tril, _tril)
_declare_triangle(np.triu, _triu)

# --- positions

constant(np.unravel_index)
constant(
    np.ravel_multi_index,
    batch=lambda multi_index, *args, **options: np.ravel_multi_index(
        tuple(np.moveaxis(multi_index, 1, 0)), *args, **options
    ),
)
constant(np.diag_indices_from, np.tril_indices_from, np.triu_indices_from, batch="example")


def _open_mesh(*args: Value) -> tuple[Value, ...]:
    """np.ix_; of arrays of numbers it changes the shapes alone, so traced ones stay traced."""
    made = []
    for position, given in enumerate(map(lift, args)):
        shape = [1] * len(args)
        shape[position] = -1
        if is_ndarray(given) or isinstance(given, (list, tuple)) or not hasattr(given, "shape"):
            given = np.ix_(given)[0]
        elif given.ndim != 1:
            raise ValueError("Cross index must be 1 dimensional")
        made.append(np.reshape(given, shape))
    return tuple(made)


composite(np.ix_, _open_mesh)
