"""Samples of tapegrad.rules.linalg."""

from __future__ import annotations

import numpy as np
from makers import (
    array,
    axes,
    axis_or_none,
    matrix,
    of_hermitian_part,
    positive,
    square,
    symmetric,
    tall,
    tall_alone,
    tensor,
    unsigned,
    upper,
)
from sampling import FLAGS, LAPACK, LAPACK_REAL, N1, each, la, pick, sample

each([la.inv, la.det, la.slogdet, la.pinv], square, dtypes=LAPACK)
sample(la.solve, square, matrix("n", "k"), dtypes=LAPACK)
sample(la.tensorinv, tensor, ind=2, dtypes=LAPACK_REAL)
sample(la.tensorsolve, tensor, array(2, 3), dtypes=LAPACK_REAL)
sample(la.cholesky, positive, upper=FLAGS, dtypes=LAPACK, via=of_hermitian_part)
each([la.eigh], symmetric, UPLO=pick("L", "U"), dtypes=LAPACK_REAL, via=of_hermitian_part)
sample(la.eigvalsh, symmetric, UPLO=pick("L", "U"), dtypes=LAPACK, via=of_hermitian_part)
sample(la.svd, tall, full_matrices=False, compute_uv=FLAGS, dtypes=LAPACK_REAL)
sample(la.svdvals, tall, dtypes=LAPACK)
sample(la.qr, tall, dtypes=LAPACK)
sample(la.lstsq, tall_alone, lambda d: d.array((d.x.shape[0], 2)), rcond=None, dtypes=LAPACK_REAL)
sample(la.eigvals, upper, dtypes=LAPACK_REAL)
sample(la.eig, upper, dtypes=LAPACK_REAL, via=unsigned)
sample(la.norm, N1, axis=axis_or_none, keepdims=FLAGS)
sample(la.vector_norm, N1, ord=pick(1, 2, 3, np.inf, -np.inf), axis=axes, keepdims=FLAGS)
sample(la.matrix_norm, tall, ord=pick("fro", "nuc", 1, -1, 2, -2, np.inf), dtypes=LAPACK)
sample(la.cond, square, dtypes=LAPACK)
