"""scipy.sparse.linalg with derivatives, by right sides and by the elements of sparse matrices.

Matrices are SciPy's sparse ones (constants), a `SparseArray` of `tapegrad.scipy.sparse`, or dense.
Names that are not declared here are SciPy's own.

>>> import numpy as np, tapegrad
>>> from tapegrad.scipy import sparse
>>> from tapegrad.scipy.sparse.linalg import spsolve
>>> def f(c):
...     a = sparse.diags_array([c * np.ones(2), np.full(3, 2.0)], offsets=[-1, 0])
...     return np.sum(spsolve(a, np.ones(3)))
>>> tapegrad.grad(f)(0.0)
np.float64(-0.5)
"""

from __future__ import annotations

from tapegrad.scipy._mirror import namespace, shared_names
from tapegrad.scipy.sparse.linalg._direct import (
    SuperLU,
    factorized,
    splu,
    spsolve,
    spsolve_triangular,
)
from tapegrad.scipy.sparse.linalg._functions import REFUSED, expm_multiply, matrix_power, norm
from tapegrad.scipy.sparse.linalg._iterative import SOLVERS
from tapegrad.scipy.sparse.linalg._spectra import eigs, eigsh, svds

bicg, bicgstab, cg, cgs = (SOLVERS[name] for name in ("bicg", "bicgstab", "cg", "cgs"))
gmres, lgmres, minres, qmr = (SOLVERS[name] for name in ("gmres", "lgmres", "minres", "qmr"))
gcrotmk, tfqmr = SOLVERS["gcrotmk"], SOLVERS["tfqmr"]

__getattr__, __dir__ = namespace(__name__, "scipy.sparse.linalg")

__all__ = list(shared_names(__name__, "scipy.sparse.linalg"))

# Functions that refuse traced matrices, and say what to use, are not listed.
globals().update(REFUSED)
