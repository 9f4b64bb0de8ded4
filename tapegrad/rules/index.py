"""Functions that pick, place or choose elements by positions or conditions.

Positions and conditions are constants; `x[index]` itself belongs to the traced array.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad._rule import composite, lift, linear, plain


def _where_x(g: Any, _out: Any, condition: Any, _x: Any, _y: Any) -> Any:
    return np.where(condition, g, 0)


def _where_y(g: Any, _out: Any, condition: Any, _x: Any, _y: Any) -> Any:
    return np.where(condition, 0, g)


def _where(condition: Any, *branches: Any) -> Any:
    """np.where; the condition is constant, and with it alone the result is positions."""
    condition = plain(condition)
    if not branches:
        return np.where(condition)
    x, y = map(lift, branches)
    return WHERE.apply_bound([condition, x, y], {})


def _choose_branch(condition: Any, x: Any, y: Any) -> Any:
    return np.where(condition, x, y)


WHERE = linear(_choose_branch, _where_x, _where_y, fixed=1, name="np.where", batch="align")
composite(np.where, _where)


def _take(a: Any, indices: Any, axis: Any = None, mode: str = "raise") -> Any:
    indices = np.asarray(plain(indices))
    if axis is None:
        a, axis = np.ravel(a), 0
    size = a.shape[axis]
    if mode == "clip":
        indices = np.clip(indices, 0, size - 1)
    elif mode == "wrap":
        indices = indices % size
    return a[(slice(None),) * (axis % a.ndim) + (indices,)]


def _take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> Any:
    indices = plain(indices)
    if axis is None:
        return np.ravel(arr)[indices]
    grid = list(np.indices(arr.shape, sparse=True))
    grid[axis % arr.ndim] = indices
    return arr[tuple(grid)]


composite(np.take, _take)
composite(np.take_along_axis, _take_along_axis)
composite(
    np.compress, lambda condition, a, axis=None: _take(a, np.flatnonzero(plain(condition)), axis)
)
composite(
    np.extract, lambda condition, arr: np.ravel(arr)[np.flatnonzero(np.ravel(plain(condition)))]
)


def _diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    moved = np.moveaxis(a, (axis1, axis2), (-2, -1))
    rows, columns = moved.shape[-2:]
    count = max(min(rows + min(offset, 0), columns - max(offset, 0)), 0)
    i = np.arange(count)
    return moved[..., i - min(offset, 0), i + max(offset, 0)]


def _diag(v: Any, k: int = 0) -> Any:
    return _diagonal(v, k) if v.ndim == 2 else _diagflat(v, k)


def _diagflat(v: Any, k: int = 0) -> Any:
    flat = np.ravel(v)
    size = flat.shape[0] + abs(k)
    i = np.arange(flat.shape[0])
    made = np.zeros((size, size), flat.dtype, like=flat)
    made[i - min(k, 0), i + max(k, 0)] = flat
    return made


composite(np.diagonal, _diagonal)
composite(np.diag, _diag)
composite(np.diagflat, _diagflat)


def _triangle(m: Any, keep: Any) -> Any:
    return np.where(keep, m, 0)


composite(np.tril, lambda m, k=0: _triangle(m, np.tri(*m.shape[-2:], k=k, dtype=bool)))
composite(np.triu, lambda m, k=0: _triangle(m, ~np.tri(*m.shape[-2:], k=k - 1, dtype=bool)))


def _copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    if where is True:
        dst[...] = src
    else:
        dst[...] = np.where(where, src, dst)


def _put(a: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    ind = np.ravel(plain(ind))
    values = np.ravel(v) if hasattr(v, "shape") else np.ravel(np.asarray(v))
    chosen = values[np.arange(ind.size) % values.shape[0]]
    if a.ndim > 0:
        positions = np.take(np.arange(a.size), ind, mode=mode)
        a[np.unravel_index(positions, a.shape)] = chosen
    elif ind.size:
        a[...] = chosen[-1]


def _putmask(a: Any, mask: Any, values: Any) -> None:
    chosen = np.flatnonzero(plain(mask))
    flat = np.ravel(values)
    _put(a, chosen, flat[chosen % flat.shape[0]])


def _place(arr: Any, mask: Any, vals: Any) -> None:
    _put(arr, np.flatnonzero(plain(mask)), vals)


def _fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    step = a.shape[1] + 1 if a.ndim == 2 else 1 + np.cumprod(a.shape[:-1]).sum()
    end = None if wrap or a.ndim > 2 else a.shape[1] ** 2
    _put(a, np.arange(a.size)[:end:step], val)


composite(np.copyto, _copyto)
composite(np.put, _put)
composite(np.putmask, _putmask)
composite(np.place, _place)
composite(np.fill_diagonal, _fill_diagonal)
