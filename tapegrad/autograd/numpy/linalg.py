"""`numpy.linalg` by the name of HIPS autograd's: that of `tapegrad.numpy`, but for `eigh`.

The derivative of a function of symmetric matrices depends on how it is told to matrices that are
not: tapegrad's `np.linalg.eigh` gives a symmetric cotangent, HIPS's one of the triangle that NumPy
reads, as here. For a matrix that a program makes symmetric (`a + a.T`) they are the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import tapegrad.numpy.linalg as _namespace
from tapegrad._core.values import in_trace
from tapegrad.autograd._completed import complete
from tapegrad.autograd.numpy._names import names_of


def T(x: Any) -> Any:
    """The matrices in the last two axes, transposed.

    Parameters
    ----------
    x : array_like
        Of shape (..., m, n).

    Returns
    -------
    ndarray
        Of shape (..., n, m).

    Examples
    --------
    >>> T(np.array([[1.0, 2.0]]))
    array([[1.],
           [2.]])
    """
    return np.swapaxes(x, -1, -2)


def adjoint(x: Any) -> Any:
    """The matrices in the last two axes, transposed and conjugated.

    Parameters
    ----------
    x : array_like
        Of shape (..., m, n).

    Returns
    -------
    ndarray
        Of shape (..., n, m).

    Examples
    --------
    >>> adjoint(np.array([[1j, 2.0]]))
    array([[0.-1.j],
           [2.-0.j]])
    """
    return np.conj(T(x))


def _dot(a: Any, b: Any) -> Any:
    return np.einsum("...ij,...jk->...ik", a, b)


def _of_triangle(a: Any, UPLO: str) -> Any:
    """The Hermitian matrix that a triangle of a stands for."""
    lower = np.tril(a, -1) if UPLO.upper() == "L" else adjoint(np.triu(a, 1))
    diagonal = np.real(np.diagonal(a, axis1=-2, axis2=-1))
    return lower + adjoint(lower) + diagonal[..., None] * np.eye(np.shape(a)[-1])


def eigh(a: Any, UPLO: Any = "L") -> Any:
    """As `numpy.linalg.eigh`; the cotangent has the triangle that UPLO names alone.

    Parameters
    ----------
    a : array_like
        Hermitian matrices of shape (..., n, n).
    UPLO : {"L", "U"}, default "L"
        The triangle that is read.

    Returns
    -------
    EighResult
        The eigenvalues of shape (..., n), rising, and the eigenvectors in columns, (..., n, n).

    See Also
    --------
    tapegrad.numpy.linalg.eigh : Its cotangent is symmetric.

    Examples
    --------
    >>> from tapegrad.autograd import grad
    >>> grad(lambda a: np.sum(eigh(a)[0] ** 2))(np.array([[1.0, 2.0], [2.0, 3.0]]))
    array([[2., 0.],
           [8., 6.]])
    """
    return np.linalg.eigh(_of_triangle(a, UPLO) if in_trace(a) else a, UPLO)


# Programs look into the `__dict__` of this module, to wrap all of its functions.
names_of(_namespace, globals())

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...


complete(__name__)
