"""Samples of tapegrad.scipy.linalg: equations, bands, special matrices, least squares, control."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st
from makers import Draw, matrix, square, tall
from sampling import FLAGS, LAPACK, LAPACK_REAL, pick
from scipy_sampling import sample as _sample

import tapegrad
from tapegrad.scipy import linalg as la


def in_double(call: Any) -> Any:
    """A call as a function of its own, which rounds as composite ones do, of doubles at most.

    SciPy's functions of matrices take long doubles for doubles, so that differences in these lie.
    """

    def plain(*args: Any, **params: Any) -> Any:
        if any(getattr(x, "dtype", np.dtype(float)).char in "gG" for x in args):
            raise TypeError
        return call(*args, **params)

    made = tapegrad.primitive(plain)
    tapegrad.composite(made, call)
    return made


def sample(function: Any, *parts: Any, via: Any = None, **options: Any) -> None:
    _sample(function, *parts, via=lambda f: in_double(via(f) if via else f), **options)


def each(functions: Any, *parts: Any, **options: Any) -> None:
    for function in functions:
        sample(function, *parts, **options)


def one(*core: str) -> Any:
    """As `matrix`, without loop sides."""

    def made(d: Draw) -> Any:
        sides = d.__dict__.setdefault("sides", {})
        return d.array(tuple(sides.setdefault(c, d(st.integers(1, 3))) for c in core))

    return made


def one_square(d: Draw) -> Any:
    """One well-conditioned matrix."""
    made = one("n", "n")(d)
    raised = 0.4 * made + 3 * np.arange(1, made.shape[-1] + 1) * np.eye(made.shape[-1])
    d.arrays[-1] = raised.astype(d.dtype)
    return d.arrays[-1]


def band(below: int, above: int) -> Any:
    """A band with a large diagonal."""

    def made(d: Draw) -> Any:
        size = d.__dict__.setdefault("sides", {}).setdefault("n", 4)
        made = d.array((below + above + 1, size))
        raised = 0.4 * made
        raised[above] = np.arange(3, 3 + size)
        d.arrays[-1] = raised.astype(d.dtype)
        return d.arrays[-1]

    return made


def full(rows: int, columns: int) -> Any:
    """A matrix of full rank."""

    def made(d: Draw) -> Any:
        found = 0.4 * d.array((rows, columns)) + 2 * np.eye(rows, columns)
        d.arrays[-1] = found.astype(d.dtype)
        return d.arrays[-1]

    return made


def toeplitz_column(d: Draw) -> Any:
    d.arrays.append((0.3 * d.array((4,)) + np.array([4.0, 0, 0, 0])).astype(d.dtype))
    return d.arrays[-1]


def one_positive(d: Draw) -> Any:
    made = one_square(d)
    d.arrays[-1] = (made @ np.conj(made.T)).astype(d.dtype)
    return d.arrays[-1]


def vector(count: int) -> Any:
    return lambda d: d.array((count,))


sample(
    la.solve,
    one_positive,
    one("n", "k"),
    assume_a=pick(None, "gen", "banded", "tridiagonal", "upper triangular", "diagonal"),
    lower=FLAGS,
    transposed=FLAGS,
    dtypes="df",
)
each([la.inv], square, dtypes=LAPACK)
sample(la.det, square, dtypes="dD")
sample(
    la.solve_triangular,
    square,
    matrix("n", "k"),
    trans=pick(0, 1, 2, "N", "T", "C"),
    lower=FLAGS,
    unit_diagonal=FLAGS,
    dtypes=LAPACK,
)
sample(
    la.cho_solve,
    square,
    matrix("n", "k"),
    dtypes=LAPACK,
    lower=FLAGS,
    via=lambda f: lambda c, b, lower: f((c, lower), b),
)
sample(
    la.lu_solve,
    one_square,
    one("n", "k"),
    dtypes=LAPACK,
    trans=pick(0, 1, 2),
    via=lambda f: lambda a, b, trans: f(la.lu_factor(a), b, trans),
)
sample(
    la.solve_banded,
    band(1, 2),
    vector(4),
    dtypes=LAPACK,
    via=lambda f: lambda ab, b: f((1, 2), ab, b),
)
sample(la.solveh_banded, band(0, 1), vector(4), lower=False, dtypes=LAPACK_REAL)
sample(la.cholesky_banded, band(1, 0), lower=True, dtypes=LAPACK_REAL)
sample(
    la.cho_solve_banded,
    band(0, 1),
    vector(4),
    dtypes=LAPACK,
    via=lambda f: lambda cb, b: f((cb, False), b),
)

sample(
    la.solve_toeplitz,
    toeplitz_column,
    matrix("n", "n"),
    dtypes=LAPACK,
    via=lambda f: lambda c, b: f((c, 0.9 * c), np.ones((4, 1)) * b[..., :1, :1]),
)
sample(
    la.matmul_toeplitz,
    vector(3),
    matrix("n", "n"),
    dtypes=LAPACK,
    via=lambda f: lambda c, b: f((c, 0.9 * c), np.ones((3, 1)) * b[..., :1, :1]),
)
sample(la.solve_circulant, toeplitz_column, vector(4), dtypes=LAPACK_REAL)

each([la.toeplitz, la.circulant, la.fiedler], vector(3), dtypes=LAPACK)
sample(la.hankel, vector(3), vector(3), dtypes=LAPACK)
sample(la.block_diag, one("m", "n"), vector(2), one("k", "k"), dtypes=LAPACK)
sample(la.companion, toeplitz_column, dtypes=LAPACK)
sample(la.fiedler_companion, toeplitz_column, dtypes=LAPACK)
sample(la.leslie, vector(3), vector(2), dtypes=LAPACK_REAL)
sample(la.convolution_matrix, vector(3), 4, mode=pick("full", "valid", "same"), dtypes=LAPACK)
sample(la.khatri_rao, one("m", "n"), one("k", "n"), dtypes=LAPACK)
sample(la.diagsvd, vector(2), 2, 3, dtypes=LAPACK_REAL)
sample(la.clarkson_woodruff_transform, full(4, 2), 3, rng=7, dtypes=LAPACK_REAL)

sample(la.lstsq, full(4, 2), vector(4), dtypes=LAPACK, via=lambda f: lambda *xs: f(*xs)[:2])
sample(la.pinv, tall, dtypes=LAPACK)
sample(la.pinvh, one_positive, lower=FLAGS, dtypes="dD")
sample(
    la.norm,
    full(3, 2),
    ord=pick(None, "fro", 1, 2, np.inf, "nuc"),
    dtypes=LAPACK_REAL,
    via=lambda f: lambda a, ord: f(a, ord) * a.dtype.type(1),  # SciPy's may be a Python number
)
sample(la.orthogonal_procrustes, full(4, 2), full(4, 2), dtypes=LAPACK)
# Angles of about 27 and 63 degrees. Where one is large and the other near 0, SciPy takes the small
# one from its cosine, next to 1: at .003 its values have a noise of 7e-14, and their differences
# over steps of 1e-4 know a second derivative to 1e-9 alone.
PLANE = 8 * np.array([[1, 0], [0, 1], [0, 0], [0, 0]])
APART = 8 * np.array([[1, 0], [0, 1], [0.5, 0], [0, 2]])
sample(
    la.subspace_angles,
    full(4, 2),
    full(4, 2),
    dtypes="d",
    via=lambda f: lambda a, b: f(a + PLANE, b + APART),
)
sample(la.orth, full(3, 2), dtypes="d", via=lambda f: lambda a: f(a) ** 2)
sample(la.null_space, full(1, 2), dtypes="d", via=lambda f: lambda a: f(a) ** 2)
sample(la.matrix_balance, one_square, dtypes="d")

sample(la.solve_sylvester, one_square, one_square, one("n", "n"), dtypes=LAPACK)
sample(la.solve_continuous_lyapunov, one_square, one("n", "n"), dtypes=LAPACK)
sample(
    la.solve_discrete_lyapunov,
    one("n", "n"),
    one("n", "n"),
    method=pick("direct", "bilinear"),
    on=[(-0.2, 0.2), (-2, 2)],
    dtypes=LAPACK,
)
