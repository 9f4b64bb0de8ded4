"""SparseArray: elements that may be traced, at positions that are constant.

Knows how a sparse array is written in SciPy. It is a pytree of its elements: transforms take it as
an input and return it as a gradient.
"""

from __future__ import annotations

import numpy as np

from tapegrad._tree import register as register_pytree
from tapegrad.scipy.sparse._arithmetic import Arithmetic
from tapegrad.scipy.sparse._base import KINDS, Stored, matrix_of, of
from tapegrad.scipy.sparse._formats import Formats
from tapegrad.scipy.sparse._reductions import Reductions


class SparseArray(Formats, Arithmetic, Reductions):
    """A sparse array whose stored elements may be traced; their positions are constants.

    It is made by `csr_array` and its kin of `tapegrad.scipy.sparse`, and by arithmetic of SciPy's
    sparse arrays with traced ones. It is a pytree of its elements: transforms take it as an input
    and return it as a gradient. Elements at equal positions add up, as in a `coo_array`. It has
    the methods of SciPy's sparse arrays; those that SciPy has for one format alone, such as
    `indptr`, say what to take. A `SparseMatrix` has the methods and operators of SciPy's matrices.

    Parameters
    ----------
    data : array, shape (n,)
        The stored elements.
    coords : tuple of array of int, shape (n,)
        Their positions, an array an axis.
    shape : tuple of int
        The sides of the array.
    format : str, default "coo"
        SciPy's format of `plain()`.

    Attributes
    ----------
    data : array, shape (n,)
        The stored elements.
    coords : tuple of array of int, shape (n,)
        Their positions.
    shape : tuple of int
        The sides.
    format : str
        The format.

    Examples
    --------
    >>> import numpy as np, tapegrad
    >>> from tapegrad.scipy import sparse
    >>> def f(data):
    ...     a = sparse.csr_array((data, [0, 1, 1], [0, 1, 3]), shape=(2, 2))
    ...     return np.sum(a @ np.array([1.0, 10.0]))
    >>> tapegrad.grad(f)(np.ones(3))
    array([ 1., 10., 10.])
    """


class _Rest:
    """Structure of a SparseArray beside its elements; equal for equal positions."""

    def __init__(self, a: Stored) -> None:
        self.kind, self.coords, self.rest = type(a), a.coords, (a.shape, a.format)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Rest):
            return NotImplemented
        return (self.kind, self.rest) == (other.kind, other.rest) and all(
            x is y or np.array_equal(x, y) for x, y in zip(self.coords, other.coords, strict=True)
        )

    def __hash__(self) -> int:
        return hash((len(self.coords[0]), self.rest))


def register(kind: type[Stored]) -> None:
    """Make a class a pytree of its elements."""
    register_pytree(
        kind,
        lambda a: ((a.data,), _Rest(a)),
        lambda rest, leaves: rest.kind(*leaves, rest.coords, *rest.rest),
    )


register(SparseArray)
KINDS[False] = SparseArray

__all__ = ["SparseArray", "matrix_of", "of", "register"]
