"""Sparse matrices, and the derivatives of a function of arrays held against differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse
from scipy_differences import differences_of

from tapegrad import grad, jvp
from tapegrad.scipy import sparse

rng = np.random.default_rng(5)
SIDE = 5
DENSE = rng.standard_normal((SIDE, SIDE)) * (rng.random((SIDE, SIDE)) < 0.5) + 5 * np.eye(SIDE)
C = scipy.sparse.coo_array(DENSE)
BOTH = scipy.sparse.coo_array((DENSE + DENSE.T) / 2 + np.diag(np.arange(5.0)))
LOWER = np.flatnonzero(BOTH.row >= BOTH.col)
HALF = BOTH.data[LOWER]
VECTOR = rng.standard_normal(SIDE)
COLUMNS = rng.standard_normal((SIDE, 2))


def made(data: Any, kind: str = "csr") -> Any:
    """The matrix of `C` with other elements."""
    make = sparse.csr_array if kind == "csr" else sparse.csc_array
    return make((data, (C.row, C.col)), shape=C.shape)


def symmetric(half: Any) -> Any:
    """The symmetric matrix of `BOTH` with other elements in its lower triangle."""
    lower = sparse.coo_array((half, (BOTH.row[LOWER], BOTH.col[LOWER])), shape=BOTH.shape)
    return (lower + sparse.tril(lower, -1).T).tocsr()


def check(
    function: Callable[..., Any], *args: Any, second: bool = True, tol: float = 1e-6
) -> None:
    """Both modes, and the second derivative, by each argument."""
    for position, x in enumerate(args):

        def one(v: Any, position: int = position) -> Any:
            return function(*args[:position], v, *args[position + 1 :])

        slope = grad(one)(x)
        assert np.allclose(slope, differences_of(one, x), rtol=tol, atol=tol)
        dot = np.cos(np.arange(x.size, dtype=float)).reshape(x.shape).astype(x.dtype)
        assert np.isclose(jvp(one, (x,), (dot,))[1], np.real(np.sum(slope * dot)), rtol=1e-6)
        if second:

            def along(v: Any, one: Any = one, dot: Any = dot) -> Any:
                return np.sum(grad(one)(v) * dot)

            expected = differences_of(along, x)
            assert np.allclose(grad(along)(x), expected, rtol=1e-4, atol=1e-5)


__all__ = ["BOTH", "COLUMNS", "DENSE", "HALF", "SIDE", "VECTOR", "C", "check", "made", "symmetric"]
