"""Samples of tapegrad.scipy.linalg: factorisations, spectra, functions of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st
from makers import Draw, positive, symmetric, tall, upper
from sampling import FLAGS, LAPACK, LAPACK_REAL, pick

from scipy_samples.linalg_equations import (
    band,
    each,
    full,
    one,
    one_positive,
    one_square,
    sample,
    vector,
)
from tapegrad.scipy import linalg as la


def squared(function: Any) -> Any:
    """Quantities that arbitrary signs of vectors leave determined."""

    def result(*args: Any, **params: Any) -> Any:
        values, vectors = function(*args, **params)
        return values, vectors * vectors

    return result


def triangle(function: Any) -> Any:
    return lambda a, lower: (np.tril if lower else np.triu)(function(a, lower)[0])


def tall_or_wide(d: Draw) -> Any:
    """One matrix of full rank, with singular values that are apart."""
    made = one("m", "n")(d)
    raised = 0.4 * made + 4 * np.eye(*made.shape) * np.arange(1, made.shape[-1] + 1)
    d.arrays[-1] = raised.astype(d.dtype)
    return d.arrays[-1]


def one_symmetric(d: Draw) -> Any:
    made = one_square(d)
    d.arrays[-1] = ((made + np.conj(made.T)) / 2).astype(d.dtype)
    return d.arrays[-1]


def one_upper(d: Draw) -> Any:
    """One matrix whose eigenvalues are real, positive and apart."""
    made = 0.1 * one("n", "n")(d)
    raised = made + 3 * np.arange(1, made.shape[-1] + 1) * np.eye(made.shape[-1])
    d.arrays[-1] = raised.astype(d.dtype)
    return d.arrays[-1]


def small(d: Draw) -> Any:
    """One matrix of a norm about one."""
    side = d(st.integers(1, 3))
    return d.array((side, side))


def small_power(d: Draw) -> Any:
    """One matrix of two rows near a diagonal one."""
    return 0.1 * d.array((2, 2)) + np.diag([1.0, 3.0])


sample(la.cholesky, positive, lower=FLAGS, dtypes=LAPACK)
sample(la.cho_factor, one_positive, lower=FLAGS, dtypes=LAPACK, via=triangle)
sample(la.lu_factor, tall_or_wide, dtypes=LAPACK)
sample(la.lu, tall_or_wide, permute_l=FLAGS, dtypes=LAPACK_REAL)
sample(
    la.qr,
    tall_or_wide,
    mode=pick("full", "r", "economic", "raw"),
    pivoting=FLAGS,
    dtypes=LAPACK_REAL,
)
sample(la.rq, full(2, 3), mode=pick("full", "r", "economic"), dtypes=LAPACK_REAL)
sample(
    la.qr_multiply,
    full(3, 2),
    one("k", "k"),
    dtypes=LAPACK_REAL,
    via=lambda f: lambda a, c: f(a, np.ones((2, 3), c.dtype) * c[0, 0], pivoting=True),
)
sample(la.polar, tall_or_wide, side=pick("right", "left"), dtypes=LAPACK)
sample(la.schur, one_upper, output="real", dtypes="d", via=squared)

sample(la.eigh, one_symmetric, lower=FLAGS, driver=pick(None, "evd"), dtypes="df", via=squared)
sample(la.eigvalsh, symmetric, lower=FLAGS, dtypes=LAPACK)
sample(la.eigh_tridiagonal, vector(3), vector(2), on=[(-3, 3), (0.5, 1)], dtypes="d")
sample(la.eigvalsh_tridiagonal, vector(3), vector(2), on=[(-3, 3), (0.5, 1)], dtypes="d")
sample(la.eig_banded, band(0, 1), dtypes="d")
sample(la.eigvals_banded, band(0, 1), select="i", select_range=(1, 2), dtypes="dD")
sample(la.svd, tall_or_wide, full_matrices=False, compute_uv=FLAGS, dtypes="d")
sample(la.svdvals, tall, dtypes=LAPACK)
sample(la.eig, one_upper, dtypes=LAPACK_REAL, via=squared)
sample(la.eigvals, upper, dtypes=LAPACK)

each([la.expm, la.cosm, la.sinm, la.coshm, la.sinhm], small, dtypes=LAPACK)
each([la.tanm, la.tanhm], small, on=(-0.3, 0.3), dtypes=LAPACK)
sample(la.expm_frechet, small, lambda d: d.array(d.x.shape), compute_expm=FLAGS, dtypes="dD")
each([la.logm, la.sqrtm, la.signm], one_upper, dtypes="dD")
sample(la.fractional_matrix_power, small_power, np.float64(0.3), dtypes="d")
sample(la.funm, one_upper, np.sin, dtypes="dD")
