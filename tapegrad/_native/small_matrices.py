"""Linear algebra of matrices of a few rows, by their elements: NumPy's elementwise calls.

Knows elimination and minors. Must not know programs, nor what is made of the calls. Where these
do not serve, an error says so: the call stays NumPy's.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad._core.fit import is_finite
from tapegrad._core.values import assume

LARGEST = 4  # rows: of more, the elements are many calls, and LAPACK's time is worth it


def _require_small(a: Any) -> int:
    """The rows of real square matrices that are small enough."""
    rows = a.shape[-1]
    if a.ndim < 2 or a.shape[-2] != rows or not 0 < rows <= LARGEST or a.dtype.kind != "f":
        raise TypeError("expected small matrices of real numbers")
    return int(rows)


def _eliminated(rows: list[list[Any]]) -> Any:
    """Make rows an upper triangle, by partial pivoting; whether an odd number of them moved.

    Of two rows the one with the larger element takes the upper place, one pair after the other,
    so that the largest one of all is the pivot.
    """
    odd = False
    for k, pivot in enumerate(rows):
        for i in range(k + 1, len(rows)):
            moves = np.abs(rows[i][k]) > np.abs(pivot[k])
            odd = np.logical_xor(odd, moves)
            for j in range(k, len(pivot)):
                x, y = pivot[j], rows[i][j]
                pivot[j], rows[i][j] = np.where(moves, y, x), np.where(moves, x, y)
        divisor = np.where(pivot[k] == 0, 1, pivot[k])  # all that is below it is zero, too
        for row in rows[k + 1 :]:
            factor = row[k] / divisor
            for j in range(k + 1, len(pivot)):
                row[j] = row[j] - factor * pivot[j]
    return odd


def solve(a: Any, b: Any) -> Any:
    """`np.linalg.solve`; singular matrices are NumPy's, which raises."""
    count = _require_small(a)
    if b.dtype != a.dtype:
        raise TypeError("expected one dtype")
    right = b[:, None] if b.ndim == 1 else b
    rows = [[a[..., i, j, None] for j in range(count)] + [right[..., i, :]] for i in range(count)]
    _eliminated(rows)
    found: list[Any] = []  # from the last row up
    for i in reversed(range(count)):
        *row, rest = rows[i]
        for x, factor in zip(found, reversed(row), strict=False):
            rest = rest - factor * x
        found.append(rest / row[i])
    out = np.stack(found[::-1], -2)
    if not assume(is_finite, out, True):
        raise np.linalg.LinAlgError
    return out[..., 0] if b.ndim == 1 else out


def inv(a: Any) -> Any:
    """`np.linalg.inv`, as `solve`."""
    return solve(a, np.broadcast_to(np.eye(a.shape[-1], dtype=a.dtype), a.shape))


def det(a: Any) -> Any:
    """`np.linalg.det`: by logarithms, as NumPy's, so that no partial product is out of range."""
    count = _require_small(a)
    rows = [[a[..., i, j] for j in range(count)] for i in range(count)]
    negative = _eliminated(rows)
    size: Any = 0
    for k in range(count):
        negative = np.logical_xor(negative, rows[k][k] < 0)
        size = size + np.log(np.abs(rows[k][k]))
    size = np.exp(size)
    return np.where(negative, -size, size)


BY_ELEMENTS = {np.linalg.solve: solve, np.linalg.inv: inv, np.linalg.det: det}

__all__ = ["BY_ELEMENTS"]
