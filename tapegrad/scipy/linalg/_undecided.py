"""Functions of scipy.linalg without a derivative: those that are constant, and those that jump."""

from __future__ import annotations

from tapegrad.scipy._mirror import constant_or_refused
from tapegrad.scipy.linalg._inputs import HOME

_CONSTANT = ("bandwidth", "ishermitian", "issymmetric", "find_best_blas_type")

# Functions of values whose results are not smooth, or for which no rule is known, and why.
_UNSUPPORTED = {
    "cossin": "its factors are not unique; use scipy.linalg.svd of the blocks",
    "hessenberg": "its reflections have no rule yet; use scipy.linalg.schur",
    "ldl": "its blocks of two rows jump; use scipy.linalg.cholesky, lu, or eigh",
    "ordqz": "its order jumps; use scipy.linalg.eig(a, b)",
    "qr_delete": "take scipy.linalg.qr of the matrix without these rows or columns",
    "qr_insert": "take scipy.linalg.qr of the matrix with these rows or columns",
    "qr_update": "take scipy.linalg.qr of the changed matrix",
    "qz": "its factors are not unique; use scipy.linalg.eig(a, b)",
}

MADE = constant_or_refused(HOME, _CONSTANT, _UNSUPPORTED)

__all__ = ["MADE"]
