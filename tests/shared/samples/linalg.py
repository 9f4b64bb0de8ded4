"""Samples of tapegrad.rules.linalg, decompositions, spectra and norms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st
from makers import (
    Draw,
    array,
    axes,
    axis_or_none,
    matrix,
    maybe,
    positive,
    square,
    symmetric,
    tall,
    tensor,
    unsigned,
    upper,
)
from sampling import FLAGS, LAPACK, LAPACK_REAL, N1, each, la, pick, sample

MATRIX_ORDERS = pick("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf)
VECTOR_ORDERS = pick(0, 1, 2, 3, -1, -2, 2.5, np.inf, -np.inf)


def alone(d: Draw) -> Any:
    """One matrix of full rank, wide or tall, with singular values that are apart."""
    rows, columns = d(st.integers(1, 3)), d(st.integers(1, 3))
    d.array((rows, columns))
    d.arrays[-1] = (0.4 * d.x + np.eye(rows, columns) * np.arange(2, 2 + columns)).astype(d.dtype)
    return d.x


def right_side(d: Draw) -> Any:
    """One vector beside the matrix, or several, of the size of a solution."""
    rows = d.x.shape[:1]
    return d.array(rows if d(st.booleans()) else (*rows, d(st.integers(1, 2))))


def hermitian_or_not(d: Draw) -> Any:
    d.__dict__["hermitian"] = d(st.booleans())
    return symmetric(d) if d.hermitian else tall(d)


def axis_pair(d: Draw) -> Any:
    """One axis, two different ones, or none."""
    if d.x.ndim < 2 or d(st.booleans()):
        return axis_or_none(d)
    first, second, *_ = d(st.permutations(range(d.x.ndim)))
    return (first, second - d.x.ndim)


def order_of(d: Draw) -> Any:
    """An order of vectors or of matrices, whichever the axes are of."""
    if isinstance(d.axis, tuple):
        by_svd = ("nuc", 2, -2)  # which LAPACK has not in long double
        return d(MATRIX_ORDERS.filter(lambda order: d.dtype.char != "g" or order not in by_svd))
    return d(VECTOR_ORDERS) if d.axis is not None or d.x.ndim == 1 else None


def remembered_axis(d: Draw) -> Any:
    d.__dict__["axis"] = axis_pair(d)
    return d.axis


def in_order(function: Callable[..., Any]) -> Callable[..., Any]:
    """Eigenvalues from the least real part on: LAPACK's own order may change at any point."""

    def result(a: Any) -> Any:
        w = function(a)
        return np.take_along_axis(w, np.argsort(np.real(w), axis=-1), -1)

    return result


each([la.inv, la.det, la.slogdet], square, dtypes=LAPACK)
sample(la.solve, square, matrix("n", "k"), dtypes=LAPACK)
sample(la.tensorinv, tensor, ind=2, dtypes=LAPACK_REAL)
sample(la.tensorsolve, tensor, array(2, 3), dtypes=LAPACK_REAL)
sample(la.pinv, tall, rcond=maybe(pick(1e-15, 1e-3)), dtypes=LAPACK)
sample(la.lstsq, alone, right_side, rcond=pick(None, -1, 1e-3), on=[(-1, 1)], dtypes=LAPACK)
sample(la.cond, square, p=pick(None, 2, -2, "fro", "nuc"), dtypes=LAPACK)
sample(la.cholesky, positive, upper=FLAGS, dtypes=LAPACK)
sample(la.qr, tall, mode=pick("reduced", "complete", "r", "raw"), dtypes=LAPACK)
sample(la.eigh, symmetric, UPLO=pick("L", "U"), dtypes=LAPACK_REAL)
sample(la.eigvalsh, symmetric, UPLO=pick("L", "U"), dtypes=LAPACK)
sample(
    la.svd,
    hermitian_or_not,
    full_matrices=False,
    compute_uv=FLAGS,
    hermitian=lambda d: d.hermitian,
    dtypes=LAPACK_REAL,
)
sample(la.svdvals, tall, dtypes=LAPACK)
sample(la.eigvals, upper, dtypes=LAPACK, via=in_order)
sample(la.eig, upper, dtypes=LAPACK_REAL, via=unsigned)
sample(la.norm, N1, axis=remembered_axis, ord=order_of, keepdims=FLAGS, dtypes=LAPACK)
sample(la.vector_norm, N1, ord=VECTOR_ORDERS, axis=axes, keepdims=FLAGS)
sample(la.matrix_norm, tall, ord=MATRIX_ORDERS, keepdims=FLAGS, dtypes=LAPACK)
