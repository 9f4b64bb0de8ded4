"""Banded matrices in LAPACK's storage: row u + i - j of the band holds element (i, j) in column j.

Every element is stored once, so that derivatives by the elements of the storage are those of the
matrix, without any promise; what lies outside of the matrix is not read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.linalg

from tapegrad._core.types import Cotangent, Tangent, Value
from tapegrad.rules.matrices import column, conjugated
from tapegrad.scipy.linalg._inputs import arrays, as_columns, checked, core, expressed


def _taken(band: Value, rows: Any, columns: Any) -> Any:
    """Elements of a band at rows and columns, zero where the column lies outside."""
    inside = (columns >= 0) & (columns < band.shape[-1])
    found = band[..., rows, np.where(inside, columns, 0)]
    return np.where(inside, found, 0)


def transposed_band(band: Value, below: int) -> Any:
    """The band of the transpose, which has `below` diagonals above."""
    count = band.shape[-2]
    rows = np.arange(count)[:, None]
    columns = np.arange(band.shape[-1]) + rows - below
    return _taken(band, count - 1 - rows + 0 * columns, columns)


def whole_band(band: Value, lower: bool) -> tuple[int, Any]:
    """The band of a Hermitian matrix from its stored half, with its number of diagonals."""
    width = band.shape[-2] - 1
    half = band if lower else conjugated(transposed_band(band, 0))
    above = conjugated(transposed_band(half, width))[..., :-1, :]
    diagonal = np.real(half[..., :1, :]).astype(half.dtype)
    return width, np.concatenate([above, diagonal, half[..., 1:, :]], -2)


def dense(band: Value, below: int, above: int) -> Any:
    """The matrix of a band."""
    count = band.shape[-1]
    i, j = np.indices((count, count))
    inside = (i - j <= below) & (j - i <= above)
    return np.where(inside, band[..., np.where(inside, above + i - j, 0), j], 0)


def hermitian_of_band(band: Value, lower: bool) -> Any:
    """The Hermitian matrix of which a band holds one half."""
    width, whole = whole_band(band, lower)
    return dense(whole, width, width)


# --- Equations


def _plain_banded(ab: Value, b: Value, below: int, above: int) -> Value:
    return scipy.linalg.solve_banded((below, above), ab, b, check_finite=False)


def _banded_b(
    g: Cotangent, _out: Value, ab: Value, _b: Value, below: int, above: int
) -> Cotangent:
    return BANDED.apply_bound([transposed_band(ab, below), g], {"below": above, "above": below})


def _positions(ab: Value, above: int) -> tuple[Any, Any]:
    """The row of the matrix where each element of a band lies, and whether there is one."""
    rows = np.arange(ab.shape[-1]) + np.arange(ab.shape[-2])[:, None] - above
    inside = (rows >= 0) & (rows < ab.shape[-1])
    return np.where(inside, rows, 0), inside


def _banded_a(g: Cotangent, out: Value, ab: Value, b: Value, below: int, above: int) -> Cotangent:
    b_bar = _banded_b(g, out, ab, b, below, above)
    if len(b.shape) == 1:
        b_bar, out = column(b_bar), column(out)
    rows, inside = _positions(ab, above)
    products = np.sum(b_bar[..., rows, :] * np.expand_dims(out, -3), axis=-1)
    return np.where(inside, -products, 0)


def _banded_jvp(
    dots: Sequence[Tangent], out: Value, ab: Value, _b: Value, below: int, above: int
) -> Tangent:
    ab_dot, b_dot = dots
    right = b_dot
    if ab_dot is not None:
        turned = transposed_band(ab_dot, below)  # its columns are rows of the matrix

        def times(x: Value) -> Value:
            columns, inside = _positions(turned, below)
            return np.sum(
                np.expand_dims(np.where(inside, turned, 0), -1) * x[..., columns, :], axis=-3
            )

        moved = as_columns(times, out)
        right = -moved if b_dot is None else b_dot - moved
    return BANDED.apply_bound([ab, right], {"below": below, "above": above})


BANDED = core(
    _plain_banded,
    vjp=[_banded_a, _banded_b],
    jvp=_banded_jvp,
    name="scipy.linalg.solve_banded",
    batch="(d,m),(m,k?)->(m,k?)",
)


def by_band(ab: Value, b: Value, below: int, above: int) -> Any:
    """The solution of a banded system."""
    return BANDED.apply_bound([ab, b], {"below": below, "above": above})


def _solve_banded(
    l_and_u: tuple[int, int],
    ab: Value,
    b: Value,
    overwrite_ab: bool,
    overwrite_b: bool,
    check_finite: bool,
) -> Value:
    ab, b = arrays(ab, b, check_finite=check_finite)
    below, above = map(int, l_and_u)
    if below + above + 1 != ab.shape[-2]:
        raise ValueError(
            f"invalid values for the number of lower and upper diagonals: l+u+1 "
            f"({below + above + 1}) does not equal ab.shape[0] ({ab.shape[-2]})"
        )
    return by_band(ab, b, below, above)


def _solveh_banded(
    ab: Value, b: Value, overwrite_ab: bool, overwrite_b: bool, lower: bool, check_finite: bool
) -> Value:
    ab, b = arrays(ab, b, check_finite=check_finite)
    width, whole = whole_band(ab, lower)
    return by_band(whole, b, width, width)


solve_banded = expressed(scipy.linalg.solve_banded, _solve_banded)
solveh_banded = expressed(scipy.linalg.solveh_banded, _solveh_banded)

# --- Cholesky


def _cholesky_banded(
    ab: Value, overwrite_ab: bool = False, lower: bool = False, check_finite: bool = True
) -> Value:
    """By the whole matrix, at the cost of one that is not banded."""
    ab = checked(ab, check_finite)
    factor = np.linalg.cholesky(hermitian_of_band(ab, lower), upper=not lower)
    rows, inside = _positions(ab, 0 if lower else ab.shape[-2] - 1)
    return np.where(inside, factor[..., rows, np.arange(ab.shape[-1])], ab)


def _cho_solve_banded(
    cb_and_lower: tuple[Value, bool], b: Value, overwrite_b: bool, check_finite: bool
) -> Value:
    cb, b = arrays(cb_and_lower[0], b, check_finite=check_finite)
    width = cb.shape[-2] - 1
    if cb_and_lower[1]:
        turned = conjugated(transposed_band(cb, width))
        return by_band(turned, by_band(cb, b, width, 0), 0, width)
    turned = conjugated(transposed_band(cb, 0))
    return by_band(cb, by_band(turned, b, width, 0), 0, width)


cholesky_banded = expressed(scipy.linalg.cholesky_banded, _cholesky_banded)
cho_solve_banded = expressed(scipy.linalg.cho_solve_banded, _cho_solve_banded)

__all__ = [
    "cho_solve_banded",
    "cholesky_banded",
    "hermitian_of_band",
    "solve_banded",
    "solveh_banded",
]
