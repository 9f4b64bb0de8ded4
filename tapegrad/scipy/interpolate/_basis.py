"""B-splines as functions of knots, coefficients and points: the recursions of Cox and de Boor.

Knows how a spline is evaluated, and the banded systems of splines through points.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad._core.types import Value
from tapegrad._core.values import branch_on, itself, untraced
from tapegrad._errors import NotDifferentiableError
from tapegrad.scipy._mirrored import asked
from tapegrad.scipy.interpolate._pieces import banded, beside, places, put, rows
from tapegrad.scipy.sparse._arrays import SparseArray


def local(t: Value, count: int, k: int, points: Value) -> tuple[Any, list[Any]]:
    """For each point the last knot that is not above it, and the 2k knots around.

    The list holds the knots ell - k + 1 ... ell + k, each as an array of the points' shape.
    """
    inner = t[k : count + 1]
    ell = places(inner, points, 0, count - k) + k
    ell = np.minimum(ell, _last_wide(t, count, k))
    return ell, [rows(t, ell + j) for j in range(1 - k, k + 1)]


def _last_wide(t: Value, count: int, k: int) -> int:
    """The last interval within the base that is not empty."""
    still = untraced(t)
    is_wide = branch_on(itself, still[k:count] < still[k + 1 : count + 1])
    wide = np.flatnonzero(np.reshape(is_wide, (-1, count - k))[0])
    return int(wide[-1]) + k if wide.size else count - 1


def de_boor(d: list[Any], knots: list[Any], k: int, points: Value, nu: int, rank: int) -> Any:
    """A derivative of splines at points, of their coefficients ell - k ... ell."""
    p = beside(points, rank)
    knots = [beside(x, rank) for x in knots]
    for step in range(min(nu, k)):
        degree = k - step
        # Differences of degree coefficients: c'[i] = degree (c[i] - c[i-1]) / (t[i+degree] - t[i])
        d = [degree * (d[j + 1] - d[j]) / (knots[j + k] - knots[j + step]) for j in range(degree)]
    if nu > k:
        return 0.0 * p + np.zeros_like(d[0])
    degree = k - nu
    for r in range(1, degree + 1):
        d = [
            d[j]
            + (p - knots[j + nu + r - 1])
            / (knots[j + k] - knots[j + nu + r - 1])
            * (d[j + 1] - d[j])
            for j in range(degree - r + 1)
        ]
    return d[0] + 0.0 * p


def spline_at(t: Value, c: Value, k: int, points: Value, nu: int = 0) -> Any:
    """Splines at points: points.shape + c.shape[1:]."""
    ell, knots = local(t, c.shape[0], k, points)
    d = [rows(c, ell + j) for j in range(-k, 1)]
    return de_boor(d, knots, k, points, nu, c.ndim - 1)


def basis_at(t: Value, count: int, k: int, points: Value, nu: int = 0) -> tuple[Any, Any]:
    """The k + 1 B-splines (or their derivatives) that are not zero: (points, k + 1); and ell."""
    ell, knots = local(t, count, k, points)
    unit = np.eye(k + 1)
    d = [np.broadcast_to(unit[j], (*points.shape, k + 1)) for j in range(k + 1)]
    return de_boor(d, knots, k, points, nu, 1), ell


def tensor_basis_at(
    knots: Sequence[Any],
    degrees: Sequence[int],
    sizes: Sequence[int],
    points: Value,
    nu: Sequence[int],
) -> tuple[Any, Any]:
    """Products of the B-splines of each variable at points (count, ndim), and their numbers.

    Both of shape (count, k1 + 1, k2 + 1, ...).
    """
    index: Any = 0
    weight: Any = 1.0
    for i, (t, k) in enumerate(zip(knots, degrees, strict=True)):
        values, ell = basis_at(t, sizes[i], k, points[:, i], nu[i])
        shape = [-1, *[1] * len(knots)]
        shape[i + 1] = k + 1
        columns = np.expand_dims(ell, -1) + np.arange(-k, 1)
        index = index * sizes[i] + np.reshape(columns, shape)
        weight = weight * np.reshape(values, shape)
    return weight, index


def design_matrix(
    name: str,
    points: Value,
    knots: Sequence[Any],
    degrees: Sequence[int],
    width: int | None = None,
) -> Any:
    """The same as a sparse matrix, of `width` columns or of those up to the last one in use."""
    sizes = [t.shape[0] - k - 1 for t, k in zip(knots, degrees, strict=True)]
    weight, index = tensor_basis_at(knots, degrees, sizes, points, [0] * len(sizes))
    found = asked(index)
    if found is None:
        raise NotDifferentiableError(
            f"scipy.interpolate.{name} inside vmap: the positions of its elements differ from "
            "example to example. Call the spline whose coefficients are np.eye(n) at the points."
        )
    columns = np.ravel(found[0])
    rows_ = np.repeat(np.arange(points.shape[0]), columns.size // max(points.shape[0], 1))
    width = int(np.max(columns, initial=-1)) + 1 if width is None else width
    shape = (points.shape[0], width)
    return SparseArray(np.ravel(weight), (rows_, columns), shape, "csr")


def repeated(first: Value, n: int, middle: Value, last: Value) -> Any:
    return np.concatenate([*[first] * n, middle, *[last] * n])


def not_a_knot(x: Value, k: int) -> Any:
    """The knots of an interpolating spline without further conditions."""
    if k % 2:
        half, t = (k + 1) // 2, x
    else:
        half, t = k // 2, (x[1:] + x[:-1]) / 2
    return repeated(x[:1], k + 1, t[half : len(t) - half], x[-1:])


def interpolating(x: Value, y: Value, t: Value, k: int, left: list[Any], right: list[Any]) -> Any:
    """The coefficients of the spline through y at x with derivatives given at the ends."""
    count = t.shape[0] - k - 1
    parts, sides = [], []
    for order, value in left:
        parts.append(basis_at(t, count, k, x[:1], order))
        sides.append(value[None])
    parts.append(basis_at(t, count, k, x))
    sides.append(y)
    for order, value in right:
        parts.append(basis_at(t, count, k, x[-1:], order))
        sides.append(value[None])
    values = np.concatenate([part for part, _ in parts])
    ell = np.concatenate([at for _, at in parts])
    columns = np.expand_dims(ell, -1) + np.arange(-k, 1)
    at = (k + np.arange(count)[:, None] - columns) * count + columns
    ab = np.reshape(put(at, values, (2 * k + 1) * count), (2 * k + 1, count))
    return banded(ab, np.concatenate(sides), below=k, above=k)


def periodic(x: Value, y: Value, k: int) -> tuple[Any, Any]:
    """Knots and coefficients of a periodic spline: its coefficients repeat after len(x) - 1."""
    n = x.shape[0]
    period = x[-1:] - x[:1]
    inner = x
    if k % 2 == 0:
        inner = np.concatenate([x[:1], x[1:-1] - (x[1:-1] - x[:-2]) / 2, x[-1:]])
    one = inner[:-1]
    turns = k // (n - 1) + 1
    before = np.concatenate([one - period * j for j in range(turns, 0, -1)])
    after = np.concatenate([one + period * j for j in range(1, turns + 1)])
    after = np.concatenate([after, x[:1] + period * (turns + 1)])
    t = np.concatenate([before[len(before) - k :], one, after[: k + 1]])
    values, ell = basis_at(t, n + k - 1, k, x[:-1])
    # Rows are shifted so that the diagonal is the largest B-spline of each point.
    shift = k // 2
    columns = np.expand_dims(ell, -1) + np.arange(-k, 1) - shift
    c = _cyclic(values, columns, y[:-1], k)
    index = (np.arange(n + k - 1) - shift) % (n - 1)
    return t, c[index]


def _cyclic(values: Value, columns: Any, y: Value, k: int) -> Any:
    """The solution of a banded system whose columns go round: by the formula of Woodbury."""
    size = y.shape[0]
    row = np.arange(size)[:, None]
    if size <= 2 * k + 1:
        full = np.reshape(put(row * size + columns % size, values, size * size), (size, size))
        flat = np.linalg.solve(full, np.reshape(y, (size, -1)))
        return np.reshape(flat, y.shape)
    inside = (columns >= 0) & (columns < size)
    at = np.where(inside, (k + row - columns) * size + columns, 0)
    ab = np.reshape(put(at, np.where(inside, values, 0.0), (2 * k + 1) * size), (-1, size))
    beyond = columns % size
    edge = np.where(beyond < k, beyond, beyond - size + 2 * k)  # column among the 2k at the ends
    spot = np.where(inside, 0, row * 2 * k + edge)
    corner = put(spot, np.where(inside, 0.0, values), size * 2 * k)
    corner = np.reshape(corner, (size, 2 * k))
    flat = np.reshape(y, (size, -1))
    both = banded(ab, np.concatenate([flat, corner], axis=1), below=k, above=k)
    one, two = both[:, : flat.shape[1]], both[:, flat.shape[1] :]
    ends = np.concatenate([np.arange(k), np.arange(size - k, size)])
    small = np.eye(2 * k) + two[ends]
    return np.reshape(one - two @ np.linalg.solve(small, one[ends]), y.shape)


__all__ = [
    "basis_at",
    "design_matrix",
    "interpolating",
    "not_a_knot",
    "periodic",
    "repeated",
    "spline_at",
    "tensor_basis_at",
]
