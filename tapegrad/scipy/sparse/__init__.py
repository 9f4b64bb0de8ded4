"""scipy.sparse with derivatives: products with traced arrays, and traced elements.

A constant sparse matrix of SciPy's times a traced array (`A @ x`, `x @ A`, `A.dot(x)`, `A * x`)
needs nothing from here. Constructors take traced elements at constant positions and make a
`SparseArray`; of plain arguments they are SciPy's own, as are all names not declared here.

>>> import numpy as np, tapegrad, scipy.sparse
>>> a = scipy.sparse.csr_array([[2.0, 0.0], [1.0, 4.0]])
>>> tapegrad.grad(lambda x: np.sum((a @ x) ** 2))(np.ones(2))
array([18., 40.])
"""

from __future__ import annotations

from typing import Any

from tapegrad.scipy._mirror import namespace, shared_names
from tapegrad.scipy.sparse._arrays import SparseArray
from tapegrad.scipy.sparse._construct import (
    block_array,
    block_diag,
    bmat,
    bsr_array,
    bsr_matrix,
    coo_array,
    coo_matrix,
    csc_array,
    csc_matrix,
    csr_array,
    csr_matrix,
    dia_array,
    dia_matrix,
    diags,
    diags_array,
    dok_array,
    dok_matrix,
    expand_dims,
    find,
    hstack,
    issparse,
    isspmatrix,
    isspmatrix_bsr,
    isspmatrix_coo,
    isspmatrix_csc,
    isspmatrix_csr,
    isspmatrix_dia,
    isspmatrix_dok,
    isspmatrix_lil,
    kron,
    kronsum,
    lil_array,
    lil_matrix,
    permute_dims,
    spdiags,
    swapaxes,
    tril,
    triu,
    vstack,
)
from tapegrad.scipy.sparse._matrices import SparseMatrix
from tapegrad.scipy.sparse._operators import operate

_look_up, __dir__ = namespace(__name__, "scipy.sparse")


def __getattr__(name: str) -> Any:
    if name == "linalg":
        from importlib import import_module

        return import_module(f"{__name__}.linalg")
    return _look_up(name)


__all__ = list(
    shared_names(__name__, "scipy.sparse", "SparseArray", "SparseMatrix", "linalg", "operate")
)
