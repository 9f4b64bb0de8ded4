"""SparseMatrix: a SparseArray with the operators and methods of SciPy's sparse matrices.

Knows how SciPy's matrices differ from its arrays: two axes always, `*` and `**` of matrices.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad._core.types import Value
from tapegrad.scipy.sparse._arithmetic import power_of
from tapegrad.scipy.sparse._arrays import SparseArray, register
from tapegrad.scipy.sparse._base import KINDS
from tapegrad.scipy.sparse._places import axes_of, reshaped


class SparseMatrix(SparseArray):
    """A `SparseArray` that has the operators and methods of SciPy's sparse matrices.

    It is made by `csr_matrix` and its kin of `tapegrad.scipy.sparse`. `A * x` and `A ** n` are
    products of matrices, and what is left along an axis keeps both axes. Where SciPy has a
    `numpy.matrix`, there is an array with two axes.

    Parameters
    ----------
    data : array, shape (n,)
        The stored elements.
    coords : (array of int, array of int)
        Their rows and columns.
    shape : (int, int)
        The two sides of the matrix.
    format : str, default "coo"
        SciPy's format of `plain()`.

    Examples
    --------
    >>> import numpy as np, tapegrad
    >>> from tapegrad.scipy import sparse
    >>> def f(data):
    ...     a = sparse.csr_matrix((data, [0, 1, 1], [0, 1, 3]), shape=(2, 2))
    ...     return np.sum(a * np.array([1.0, 10.0]))
    >>> tapegrad.grad(f)(np.ones(3))
    array([ 1., 10., 10.])
    """

    of_matrix = True

    def _require_axes(self, shape: Any) -> None:
        if len(shape) != 2:
            raise ValueError(f"expected two sides of a matrix, got {tuple(shape)}")

    def _reduced(self, data: Value, coords: Any, shape: Any, axis: Any) -> Any:
        """Results of a reduction along the other axis, as a sparse matrix."""
        if not shape:
            return np.sum(data)
        line = coords[0] if coords else np.zeros(0, int)
        both = np.zeros_like(line), line
        if axes_of(axis, 2) == (0,):
            return SparseMatrix(data, both, (1, *shape))
        return SparseMatrix(data, both[::-1], (*shape, 1))

    def _along(self, dense: Value, axis: Any) -> Any:
        """Results of a reduction along the other axis, as a dense array with two axes."""
        return np.reshape(dense, (1, -1) if axes_of(axis, 2) == (0,) else (-1, 1))

    def __mul__(self, other: Value) -> Any:
        y = self._operand(other)
        return self @ y if np.ndim(y) else self.multiply(y)

    def __rmul__(self, other: Value) -> Any:
        y = self._operand(other)
        if isinstance(y, SparseArray):
            return y * self
        return y @ self if np.ndim(y) else self.multiply(y)

    def __pow__(self, n: Any) -> Any:
        if not isinstance(n, int | np.integer):
            raise TypeError(
                f"A ** n of a sparse matrix: expected an integer n, got {n}. A.power(n) is the "
                "power of each element."
            )
        return power_of(self, int(n))

    def getnnz(self, axis: int | None = None) -> Any:
        """Return how many elements are stored, or how many along an axis.

        Parameters
        ----------
        axis : int, optional
            0 or 1, or from the end; all elements by default.

        Returns
        -------
        int or array of int
            The counts.
        """
        if axis is None:
            return self.nnz
        places, kept, _ = self._without(axis)
        return np.bincount(places, minlength=kept[0])

    def getrow(self, i: int) -> Any:
        """Return a row.

        Parameters
        ----------
        i : int
            Which one.

        Returns
        -------
        SparseMatrix
            The row, with both axes.
        """
        return self[i, :]

    def getcol(self, j: int) -> Any:
        """Return a column.

        Parameters
        ----------
        j : int
            Which one.

        Returns
        -------
        SparseMatrix
            The column, with both axes.
        """
        return self[:, j]

    def getH(self) -> Any:
        """Return the conjugate transpose.

        Returns
        -------
        SparseMatrix
            The matrix.
        """
        return self.conj().T

    def getformat(self) -> str:
        """Return the name of the format.

        Returns
        -------
        str
            The format.
        """
        return self.format

    def get_shape(self) -> Any:
        """Return the shape.

        Returns
        -------
        (int, int)
            The two sides.
        """
        return self.shape

    def set_shape(self, shape: Any) -> None:
        """Put the elements of this matrix into another shape.

        Parameters
        ----------
        shape : (int, int)
            The two sides.

        Raises
        ------
        ValueError
            Of a shape of other size.
        """
        made = self.reshape(reshaped(self.shape, shape))
        self.coords, self.shape = made.coords, made.shape

    def asfptype(self) -> Any:
        """Return the matrix with elements that are floats.

        Returns
        -------
        SparseMatrix
            This matrix if they are, another one of doubles otherwise.
        """
        return self if self.dtype.kind in "fc" else self.astype(np.float64)


KINDS[True] = SparseMatrix
register(SparseMatrix)

__all__ = ["SparseMatrix"]
