"""Functions of scipy.linalg without a derivative: those that are constant, and those that jump."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from tapegrad._core.forms import constant, unsupported
from tapegrad._transforms.primitives import primitive
from tapegrad.scipy._mirror import mirror
from tapegrad.scipy.linalg._inputs import HOME, array, expressed

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


def _constant(name: str) -> primitive:
    made = mirror(getattr(scipy.linalg, name), HOME)
    constant(made, batch="loop")
    return made


def _unsupported(name: str, reason: str) -> primitive:
    made = mirror(getattr(scipy.linalg, name), HOME)
    unsupported(made, reason=reason)
    return made


MADE = {name: _constant(name) for name in _CONSTANT if hasattr(scipy.linalg, name)}
MADE |= {
    name: _unsupported(name, reason)
    for name, reason in _UNSUPPORTED.items()
    if hasattr(scipy.linalg, name)
}

# Of older versions alone.
if hasattr(scipy.linalg, "kron"):
    MADE["kron"] = expressed(scipy.linalg.kron, lambda a, b: np.kron(array(a), array(b)))

__all__ = ["MADE"]
