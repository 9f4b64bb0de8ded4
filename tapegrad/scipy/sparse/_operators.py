"""Operators of SciPy's sparse matrices with traced arrays: as SciPy has them.

`A @ x`, `x @ A`, `A * x` (elementwise for sparse arrays, a product for sparse matrices), `A + x`,
`A - x`, `A / x`. `_core.operands` hands these here.
"""

from __future__ import annotations

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
    return function(a, x)


def _matmul(a: Any, x: Any) -> Any:
    if max(np.ndim(a), np.ndim(x)) > 2:
        return of(a) @ x if scipy.sparse.issparse(a) else a @ of(x)
    if scipy.sparse.issparse(a):
        return times(a, _shaped(x))
    a = _shaped(a)
    found = times(x.T, a.T if a.ndim == 2 else a)
    return found.T if a.ndim == 2 else found


def _multiply(a: Any, x: Any) -> Any:
    matrix, other = (a, x) if scipy.sparse.issparse(a) else (x, a)
    if scipy.sparse.isspmatrix(matrix) and np.ndim(other):
        return _matmul(a, x)
    return of(matrix).multiply(other)


def _add(a: Any, x: Any) -> Any:
    matrix, other = (a, x) if scipy.sparse.issparse(a) else (x, a)
    return _dense(matrix, other) + other


def _subtract(a: Any, x: Any) -> Any:
    if scipy.sparse.issparse(a):
        return _dense(a, x) - x
    return a - _dense(x, a)


def _divide(a: Any, x: Any) -> Any:
    if not scipy.sparse.issparse(a):
        raise NotDifferentiableError(
            "x / A of a sparse matrix A: expected a dense one. Divide by A.toarray(), or solve "
            "with tapegrad.scipy.sparse.linalg.spsolve."
        )
    return of(a) / x


def _dense(matrix: Any, other: Any) -> Any:
    if not np.ndim(other):
        raise NotImplementedError("adding a nonzero scalar to a sparse array is not supported")
    return matrix.toarray()


def _shaped(x: Any) -> Any:
    return x if hasattr(x, "shape") else np.asarray(x)


_MEANINGS: dict[np.ufunc, Any] = {
    np.matmul: _matmul,
    np.multiply: _multiply,
    np.add: _add,
    np.subtract: _subtract,
    np.divide: _divide,
}

__all__ = ["operate"]
