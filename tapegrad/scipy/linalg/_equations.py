"""Equations with one matrix: solve, solve_triangular, factors, inverses, determinants.

x solves m x = b: a change moves it by inv(m) (b_dot - m_dot x).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.linalg

from tapegrad._core.types import Cotangent, Tangent, Value
from tapegrad.rules.matrices import adjoint, column, conjugated, row, shaped, transposed
from tapegrad.scipy.linalg._inputs import arrays, as_columns, checked, core, expressed, fixed
from tapegrad.scipy.linalg._structure import structured

# --- Any matrix


def _solve(
    a: Value,
    b: Value,
    lower: bool,
    overwrite_a: bool,
    overwrite_b: bool,
    check_finite: bool,
    assume_a: str | None,
    transposed: bool,
) -> Value:
    a, b = arrays(a, b, check_finite=check_finite)
    matrix = structured(a, assume_a, lower)
    return np.linalg.solve(np.swapaxes(matrix, -1, -2) if transposed else matrix, b)


def _inv(
    a: Value, overwrite_a: bool, check_finite: bool, *, assume_a: str | None, lower: bool
) -> Value:
    return np.linalg.inv(structured(checked(a, check_finite), assume_a, lower))


def _det(a: Value, overwrite_a: bool = False, check_finite: bool = True) -> Value:
    """A double, as SciPy's, of any matrix."""
    a = checked(a, check_finite)
    return np.linalg.det(a).astype(np.result_type(a.dtype, float))


solve = expressed(scipy.linalg.solve, _solve)
inv = expressed(scipy.linalg.inv, _inv)
det = expressed(scipy.linalg.det, _det)

# --- Triangles

_TRANS = {"N": 0, "T": 1, "C": 2}


def _plain_triangular(
    a: Value, b: Value, trans: int = 0, lower: bool = False, unit_diagonal: bool = False
) -> Value:
    return scipy.linalg.solve_triangular(a, b, trans, lower, unit_diagonal, check_finite=False)


def _triangle(a: Value, lower: bool, unit_diagonal: bool) -> Any:
    offset = int(unit_diagonal)
    return np.tril(a, -offset) if lower else np.triu(a, offset)


def _triangular_b(
    g: Cotangent,
    _out: Value,
    a: Value,
    _b: Value,
    trans: int = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
) -> Cotangent:
    if trans == 2:
        return conjugated(by_triangle(a, conjugated(g), 0, lower, unit_diagonal))
    return by_triangle(a, g, 1 - trans, lower, unit_diagonal)


def _triangular_a(
    g: Cotangent,
    out: Value,
    a: Value,
    b: Value,
    trans: int = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
) -> Cotangent:
    b_bar = _triangular_b(g, out, a, b, trans, lower, unit_diagonal)
    vector = len(b.shape) == 1
    bar = -column(b_bar) * row(out) if vector else -np.matmul(b_bar, transposed(out))
    bar = transposed(bar) if trans else bar
    return _triangle(conjugated(bar) if trans == 2 else bar, lower, unit_diagonal)


def _triangular_jvp(
    dots: Sequence[Tangent],
    out: Value,
    a: Value,
    _b: Value,
    trans: int = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
) -> Tangent:
    a_dot, b_dot = dots
    if a_dot is None:
        return by_triangle(a, b_dot, trans, lower, unit_diagonal)
    change = _triangle(a_dot, lower, unit_diagonal)
    change = (change, transposed(change), adjoint(change))[trans]
    moved = as_columns(lambda x: np.matmul(change, x), out)
    return by_triangle(a, -moved if b_dot is None else b_dot - moved, trans, lower, unit_diagonal)


TRIANGULAR = core(
    _plain_triangular,
    vjp=[_triangular_a, _triangular_b],
    jvp=_triangular_jvp,
    name="scipy.linalg.solve_triangular",
    batch="(m,m),(m,k?)->(m,k?)",
)


def by_triangle(
    a: Value, b: Value, trans: int = 0, lower: bool = False, unit_diagonal: bool = False
) -> Any:
    params = {"trans": trans, "lower": lower, "unit_diagonal": unit_diagonal}
    return TRIANGULAR.apply_bound([a, b], params)


def _solve_triangular(
    a: Value,
    b: Value,
    trans: int | str,
    lower: bool,
    unit_diagonal: bool,
    overwrite_b: bool,
    check_finite: bool,
) -> Value:
    a, b = arrays(a, b, check_finite=check_finite)
    return by_triangle(a, b, _TRANS.get(trans, trans), bool(lower), bool(unit_diagonal))  # type: ignore[arg-type]


solve_triangular = expressed(scipy.linalg.solve_triangular, _solve_triangular)

# --- By factors that are at hand


def _cho_solve(
    c_and_lower: tuple[Value, bool], b: Value, overwrite_b: bool, check_finite: bool
) -> Value:
    c, b = arrays(c_and_lower[0], b, check_finite=check_finite)
    lower = bool(c_and_lower[1])
    if c.shape[-2] != c.shape[-1]:
        raise ValueError("The factored matrix c is not square.")
    first, second = (0, 2) if lower else (2, 0)
    return by_triangle(c, by_triangle(c, b, first, lower), second, lower)


def _lu_solve(
    lu_and_piv: tuple[Value, Value], b: Value, trans: int, overwrite_b: bool, check_finite: bool
) -> Value:
    lu, b = arrays(lu_and_piv[0], b, check_finite=check_finite)
    order = PERMUTATION.apply_bound([shaped(lu_and_piv[1])], {})
    vector = len(b.shape) == 1
    b = column(b) if vector else b
    if trans == 0:
        b = _rows(b, order)
        x = by_triangle(lu, by_triangle(lu, b, 0, True, True), 0, False)
    elif trans in (1, 2):
        y = by_triangle(lu, b, trans, False)
        x = _rows(by_triangle(lu, y, trans, True, True), np.argsort(order, axis=-1))
    else:
        raise ValueError(f"illegal value in trans: expected 0, 1 or 2, got {trans!r}")
    return x[..., 0] if vector else x


def permutation_of(pivots: Any) -> Any:
    """The order of rows that LAPACK's exchanges of rows, one after another, come to."""
    count = pivots.shape[-1]
    order = np.empty(pivots.shape, np.intp)
    for at in np.ndindex(pivots.shape[:-1]):
        rows = list(range(count))  # its elements are exchanged in a tenth of an array's time
        for i, j in enumerate(pivots[at].tolist()):
            rows[i], rows[j] = rows[j], rows[i]
        order[at] = rows
    return order


PERMUTATION = fixed(permutation_of)


def _rows(x: Value, order: Value) -> Any:
    shape = np.broadcast_shapes(x.shape[:-2], order.shape[:-1])
    order = np.broadcast_to(column(order), (*shape, order.shape[-1], x.shape[-1]))
    return np.take_along_axis(np.broadcast_to(x, order.shape), order, -2)


cho_solve = expressed(scipy.linalg.cho_solve, _cho_solve)
lu_solve = expressed(scipy.linalg.lu_solve, _lu_solve)

__all__ = [
    "PERMUTATION",
    "by_triangle",
    "cho_solve",
    "det",
    "inv",
    "lu_solve",
    "solve",
    "solve_triangular",
]
