"""Factorisations: Cholesky, LU, QR, RQ, polar, Schur.

Orders of rows and columns that SciPy chooses by the values are constants. What is left is smooth.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.linalg

from tapegrad._core.types import Cotangent, Tangent, Value
from tapegrad._core.values import any_true, untraced
from tapegrad.rules.matrices import (
    adjoint,
    column,
    conjugated,
    diagonal,
    hermitian_part,
    row,
    transposed,
    unit,
)
from tapegrad.rules.spectra import order_of
from tapegrad.scipy.linalg._equations import PERMUTATION, by_triangle
from tapegrad.scipy.linalg._inputs import arrays, checked, core, expressed, fixed, refuse

# --- Cholesky: I. Murray, "Differentiation of the Cholesky decomposition" (2016), section 3


def _plain_cholesky(a: Value, lower: bool = True) -> Value:
    return scipy.linalg.cholesky(a, lower=lower, check_finite=False)


def _half(x: Value) -> Value:
    """The lower triangle, with half of the diagonal."""
    return np.tril(x) - unit(x) * column(diagonal(x)) / 2


def _cholesky_vjp(g: Cotangent, out: Value, _a: Value, lower: bool = True) -> Cotangent:
    factor = out if lower else adjoint(out)
    bar = conjugated(g) if lower else transposed(g)
    inner = _half(np.matmul(adjoint(factor), np.tril(bar)))
    left = by_triangle(factor, inner, 2, True)
    whole = adjoint(by_triangle(factor, adjoint(left), 2, True))
    return conjugated(hermitian_part(whole))


def _cholesky_jvp(dots: Sequence[Tangent], out: Value, _a: Value, lower: bool = True) -> Tangent:
    factor = out if lower else adjoint(out)
    left = by_triangle(factor, hermitian_part(dots[0]), 0, True)
    inner = adjoint(by_triangle(factor, adjoint(left), 0, True))
    dot = np.matmul(factor, _half(inner))
    return dot if lower else adjoint(dot)


CHOLESKY = core(
    _plain_cholesky,
    vjp=[_cholesky_vjp],
    jvp=_cholesky_jvp,
    hermitian=True,
    name="scipy.linalg.cholesky",
    batch="(m,m)",
)


def _cholesky(
    a: Value, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Value:
    return CHOLESKY.apply_bound([checked(a, check_finite)], {"lower": bool(lower)})


def _cho_factor(
    a: Value, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Value, bool]:
    """The other triangle is that of the matrix, as SciPy leaves it, but a constant."""
    a = checked(a, check_finite)
    other = np.triu(untraced(a), 1) if lower else np.tril(untraced(a), -1)
    return CHOLESKY.apply_bound([a], {"lower": bool(lower)}) + other, lower


cholesky = expressed(scipy.linalg.cholesky, _cholesky)
cho_factor = expressed(scipy.linalg.cho_factor, _cho_factor)

# --- LU: p a = l u, both triangles in one matrix. It is analytic, hence plain transposes.


def _plain_lu(a: Value) -> tuple[Value, Value]:
    return scipy.linalg.lu_factor(a, check_finite=False)


def _lu_vjp(g: Cotangent, out: Value, a: Value) -> tuple[Cotangent]:
    """S. Walter, L. Lehmann (2010), for matrices of any shape, as their square part first."""
    lu, pivots = out
    bar = g[0]
    count = min(lu.shape[-2:])
    square, square_bar = lu[..., :count, :count], bar[..., :count, :count]
    lower = np.tril(square, -1) + unit(square)
    upper = np.triu(square)
    lower_bar, upper_bar = np.tril(square_bar, -1), np.triu(square_bar)
    beside: Any = None
    if lu.shape[-2] > count:  # rows below: l2 = a2 inv(u)
        beside = transposed(by_triangle(square, transposed(bar[..., count:, :])))
        upper_bar = upper_bar - np.matmul(transposed(lu[..., count:, :]), beside)
    if lu.shape[-1] > count:  # columns beside: u2 = inv(l) a2
        beside = by_triangle(square, bar[..., :, count:], 1, True, True)
        lower_bar = lower_bar - np.matmul(beside, transposed(lu[..., :, count:]))
    inner = np.tril(np.matmul(transposed(lower), lower_bar), -1)
    inner = inner + np.triu(np.matmul(upper_bar, transposed(upper)))
    whole = by_triangle(square, inner, 1, True, True)
    whole = transposed(by_triangle(square, transposed(whole)))
    if lu.shape[-2] > count:
        whole = np.concatenate([whole, beside], -2)
    elif lu.shape[-1] > count:
        whole = np.concatenate([whole, beside], -1)
    return (_taken(whole, np.argsort(_order(pivots, a.shape[-2]), axis=-1)),)


def _order(pivots: Value, rows: int) -> Any:
    """The order of all rows: SciPy names no exchange of the rows below a square."""
    pivots = untraced(pivots)
    count = pivots.shape[-1]
    rest = np.broadcast_to(
        np.arange(count, max(rows, count)), (*pivots.shape[:-1], max(rows - count, 0))
    )
    return PERMUTATION.apply_bound([np.concatenate([pivots, rest], -1)], {})


def _taken(x: Value, order: Any) -> Any:
    return np.take_along_axis(x, column(order), -2)


LU = core(_plain_lu, vjp=_lu_vjp, name="scipy.linalg.lu_factor", batch="(m,n)")


def _lu_factor(
    a: Value, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Value, Value]:
    lu, pivots = LU.apply_bound([checked(a, check_finite)], {})
    return lu, pivots


def _lu(
    a: Value, permute_l: bool, overwrite_a: bool, check_finite: bool, p_indices: bool
) -> tuple[Value, ...]:
    a = checked(a, check_finite)
    packed, pivots = LU.apply_bound([a], {})
    rows, columns = a.shape[-2:]
    count = min(rows, columns)
    lower = np.tril(packed[..., :, :count], -1) + np.eye(rows, count, dtype=a.dtype)
    upper = np.triu(packed[..., :count, :])
    inverse = np.argsort(_order(pivots, rows), axis=-1)
    if permute_l:
        return _taken(lower, inverse), upper
    if p_indices:
        return inverse.astype(pivots.dtype), lower, upper
    real = untraced(a).dtype.type(0).real.dtype
    return (column(inverse) == np.arange(rows)).astype(real), lower, upper


lu_factor = expressed(scipy.linalg.lu_factor, _lu_factor)
lu = expressed(scipy.linalg.lu, _lu)

# --- QR


def _plain_order(a: Value) -> Value:
    return scipy.linalg.qr(a, mode="r", pivoting=True, check_finite=False)[-1]


COLUMN_ORDER = fixed(_plain_order)


def _pivoted(a: Value) -> tuple[Value, Value]:
    order = COLUMN_ORDER.apply_bound([untraced(a)], {})
    return np.take_along_axis(a, row(order), -1), order


def _qr(
    a: Value,
    overwrite_a: bool = False,
    lwork: int | None = None,
    mode: str = "full",
    pivoting: bool = False,
    check_finite: bool = True,
) -> tuple[Any, ...]:
    if mode not in ("full", "qr", "r", "economic", "raw"):
        raise ValueError("Mode argument should be one of ['full', 'r', 'economic', 'raw']")
    a = checked(a, check_finite)
    order: tuple[Value, ...] = ()
    if pivoting:
        a, at = _pivoted(a)
        order = (at,)
    if mode == "raw":
        packed, tau = np.linalg.qr(a, "raw")
        packed = transposed(packed)
        return (packed, tau), np.triu(packed[..., : min(a.shape[-2:]), :]), *order
    q, r = np.linalg.qr(a, "reduced" if mode == "economic" else "complete")
    return (r, *order) if mode == "r" else (q, r, *order)


def _rq(a: Value, overwrite_a: bool, lwork: int | None, mode: str, check_finite: bool) -> Any:
    """By the QR factorisation of the matrix turned around: the same reflections."""
    if mode not in ("full", "r", "economic"):
        raise ValueError("Mode argument should be one of ['full', 'r', 'economic']")
    a = checked(a, check_finite)
    turned = adjoint(a)[..., ::-1, ::-1]
    q, r = np.linalg.qr(turned, "reduced" if mode == "economic" else "complete")
    upper = adjoint(r)[..., ::-1, ::-1]
    return upper if mode == "r" else (upper, adjoint(q)[..., ::-1, ::-1])


def _qr_multiply(
    a: Value,
    c: Value,
    mode: str,
    pivoting: bool,
    conjugate: bool,
    overwrite_a: bool,
    overwrite_c: bool,
) -> tuple[Any, ...]:
    if mode not in ("left", "right"):
        raise ValueError(f"Mode argument can only be 'left' or 'right' but not '{mode}'")
    a, c = checked(a, False), checked(c, False)
    q, *rest = _qr(a, mode="economic", pivoting=pivoting)
    q = np.conjugate(q) if conjugate else q
    if mode == "right":
        return np.matmul(c, q), *rest
    if c.shape[0 if c.ndim == 1 else -2] != q.shape[-1]:
        raise refuse("qr_multiply", "more rows of c than columns of a", "Write q @ c with qr(a).")
    return np.matmul(q, c), *rest


qr = expressed(scipy.linalg.qr, _qr)
rq = expressed(scipy.linalg.rq, _rq)
qr_multiply = expressed(scipy.linalg.qr_multiply, _qr_multiply)

# --- Polar


def _polar(a: Value, side: str = "right") -> tuple[Value, Value]:
    if side not in ("right", "left"):
        raise ValueError("`side` must be either 'right' or 'left'")
    w, s, vh = np.linalg.svd(checked(a, False), full_matrices=False)
    if side == "right":
        return np.matmul(w, vh), np.matmul(adjoint(vh) * row(s), vh)
    return np.matmul(w, vh), np.matmul(w * row(s), adjoint(w))


polar = expressed(scipy.linalg.polar, _polar)

# --- Schur


def _plain_schur(a: Value, output: str) -> tuple[Value, Value]:
    return scipy.linalg.schur(a, output=output, check_finite=False)[:2]


SCHUR = fixed(_plain_schur)


def _plain_vectors(a: Value, w: Value) -> Value:
    """The order of NumPy's eigenvalues in which those of the triangle come."""
    return order_of(w, np.linalg.eig(a)[0])


SCHUR_ORDER = fixed(_plain_vectors)


def _schur(
    a: Value, output: str, lwork: int | None, overwrite_a: bool, sort: Any, check_finite: bool
) -> tuple[Value, Value]:
    """By the eigenvectors in the order of the triangle's diagonal, made orthonormal.

    q r = v gives a = q (r diag(w) inv(r)) q^H. The vectors' phases are those that SciPy chose.
    """
    a = checked(a, check_finite)
    if sort is not None:
        raise refuse("schur", "sort=", "Leave the eigenvalues in SciPy's order.")
    if output not in ("real", "complex", "r", "c"):
        raise ValueError("argument must be 'real', or 'complex'")
    word = "complex" if output[0] == "c" or a.dtype.kind == "c" else "real"
    t0, z0 = SCHUR.apply_bound([untraced(a)], {"output": word})
    if word == "real" and any_true(np.diagonal(t0, -1, -2, -1) != 0):
        raise refuse("schur", "complex eigenvalues in a real triangle", "Pass output='complex'.")
    if word == "complex" and a.dtype.kind != "c":
        a = a + 0j
    order = SCHUR_ORDER.apply_bound([untraced(a), np.diagonal(t0, 0, -2, -1)], {})
    _, v = np.linalg.eig(a)
    v = v if a.dtype.kind == "c" else np.real(v)  # complex since NumPy 2.5
    q, _ = np.linalg.qr(np.take_along_axis(v, row(order), -1))
    phases = np.sum(np.conjugate(untraced(q)) * z0, axis=-2)
    q = q * row(phases / np.abs(phases))
    return np.triu(np.matmul(np.matmul(adjoint(q), a), q)), q


schur = expressed(scipy.linalg.schur, _schur)


def _rotation(block: Value) -> Value:
    """Rotation of two rows to an upper triangle, as SciPy turns it; of a triangle, eye."""
    below = abs(untraced(block[1, 0]))
    scale = abs(untraced(block[0, 0])) + abs(untraced(block[1, 1]))
    turned = below > np.finfo(float).eps * scale
    block = np.where(turned, block, np.array([[0.0, 1.0], [-1.0, 0.0]]))
    mu, low = np.linalg.eigvals(block)[0] - block[1, 1], block[1, 0]
    radius = np.sqrt(np.real(mu) ** 2 + np.imag(mu) ** 2 + np.real(low * np.conj(low)))
    c, s = mu / radius, low / radius
    return np.where(turned, np.stack([np.stack([np.conj(c), s]), np.stack([-s, c])]), np.eye(2))


def _turned(x: Value, m: int, rows: int, adjoint_of: Value) -> Value:
    """Two columns of the first rows, turned."""
    part = x[:rows, m - 1 : m + 1] @ np.conj(adjoint_of).T
    columns = np.concatenate([part, x[rows:, m - 1 : m + 1]], 0)
    return np.concatenate([x[:, : m - 1], columns, x[:, m + 1 :]], 1)


def _rsf2csf(t: Value, z: Value, check_finite: bool = True) -> tuple[Value, Value]:
    """Rotations of the blocks of two rows, from the last one up."""
    z, t = arrays(z, t, check_finite=check_finite)
    for name, x in (("Z", z), ("T", t)):
        if len(x.shape) != 2 or x.shape[0] != x.shape[1]:
            raise ValueError(f"Input '{name}' must be square.")
    if t.shape != z.shape:
        raise ValueError(f"Input array shapes must match: Z: {z.shape} vs. T: {t.shape}")
    kind = np.result_type(t.dtype, z.dtype, np.complex64)
    t, z = t.astype(kind), z.astype(kind)
    for m in range(t.shape[0] - 1, 0, -1):
        rotation = _rotation(t[m - 1 : m + 1, m - 1 : m + 1])
        part = rotation.astype(kind) @ t[m - 1 : m + 1, m - 1 :]
        rows = np.concatenate([t[m - 1 : m + 1, : m - 1], part], 1)
        t = _turned(np.concatenate([t[: m - 1], rows, t[m + 1 :]], 0), m, m + 1, rotation)
        z = _turned(z, m, t.shape[0], rotation)
        place = np.zeros(t.shape, bool)
        place[m, m - 1] = True
        t = np.where(place, np.zeros((), kind), t)
    return t, z


rsf2csf = expressed(scipy.linalg.rsf2csf, _rsf2csf)

__all__ = [
    "cho_factor",
    "cholesky",
    "lu",
    "lu_factor",
    "polar",
    "qr",
    "qr_multiply",
    "rq",
    "rsf2csf",
    "schur",
]
