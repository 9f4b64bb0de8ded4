"""Operators of SciPy's sparse matrices with traced arrays: as SciPy has them.

`A @ x`, `x @ A`, `A * x` (elementwise for sparse arrays, a product for sparse matrices), `A + x`,
`A - x`, `A / x`. `_core.operands` hands these here.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse

from tapegrad._core.types import Value
from tapegrad._errors import NotDifferentiableError
from tapegrad.scipy.sparse._arrays import of
from tapegrad.scipy.sparse._products import times


def operate(ufunc: np.ufunc, method: str, inputs: Sequence[Value], kwargs: dict[str, Any]) -> Any:
    """Return the result of an operator of a constant sparse matrix of SciPy's and a traced value.

    Traced values call it, through `__array_ufunc__`.

    Parameters
    ----------
    ufunc : numpy.ufunc
        What NumPy calls the operator: np.matmul of `@`.
    method : str
        "__call__" alone.
    inputs : sequence
        The two operands.
    kwargs : dict
        Must be empty.

    Returns
    -------
    array or SparseArray
        The result, as SciPy has it.

    Raises
    ------
    NotDifferentiableError
        If it is no operator (@, *, +, -, /), or divides by the matrix.

    Examples
    --------
    >>> import numpy as np, scipy.sparse, tapegrad
    >>> a = scipy.sparse.csr_array([[2.0, 0.0], [1.0, 4.0]])
    >>> tapegrad.grad(lambda x: np.sum(a @ x))(np.ones(2))
    array([3., 4.])
    """
    function = _MEANINGS.get(ufunc) if method == "__call__" and not kwargs else None
    if function is None or len(inputs) != 2:
        raise NotDifferentiableError(
            f"np.{ufunc.__name__} of a sparse matrix and a traced value: expected an operator "
            "(@, *, +, -, /) or A.dot(x). Use A.toarray() for all else."
        )
    a, x = inputs
    no_number = np.ndim(a) and np.ndim(x)
    of_matrices = no_number and any(map(scipy.sparse.isspmatrix, inputs))
    if function is operator.matmul or function is operator.mul and of_matrices:
        return _matmul(a, x)
    is_dense = no_number and function in (operator.add, operator.sub)
    ours: Any = operator.methodcaller("toarray") if is_dense else of
    return function(*(ours(y) if scipy.sparse.issparse(y) else y for y in inputs))


def _matmul(a: Any, x: Any) -> Any:
    if max(np.ndim(a), np.ndim(x)) > 2:
        return of(a) @ x if scipy.sparse.issparse(a) else a @ of(x)
    if scipy.sparse.issparse(a):
        return times(a, _shaped(x))
    a = _shaped(a)
    found = times(x.T, a.T if a.ndim == 2 else a)
    return found.T if a.ndim == 2 else found


def _shaped(x: Any) -> Any:
    return x if hasattr(x, "shape") else np.asarray(x)


_MEANINGS: dict[np.ufunc, Any] = {
    np.matmul: operator.matmul,
    np.multiply: operator.mul,
    np.add: operator.add,
    np.subtract: operator.sub,
    np.divide: operator.truediv,
}

__all__ = ["operate"]
