"""The namespace `torch.linalg`.

Written by docs/torch_stubs.py from what is there at run time: change that, not this.
"""

from builtins import bool as _bool, bytes as _bytes, complex as _complex, float as _float
from builtins import int as _int, str as _str, type as _type
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import IO, Any, Literal, NamedTuple, NoReturn, Self, TypeAlias, overload
import os

import numpy as np

from tapegrad.torch import return_types
from tapegrad.torch._dtypes import Size
from tapegrad.torch._dtypes import device as _device, dtype as _dtype
from tapegrad.torch._ops.create.generator import Generator
from tapegrad.torch._tensor.tensor import Tensor

# A number of Python, what stands for a tensor beside one, and integers one a dimension.
_Number: TypeAlias = _int | _float | _bool | _complex
_Operand: TypeAlias = Tensor | _Number | np.ndarray[Any, Any] | np.generic
_Sizes: TypeAlias = _int | Sequence[_int]
_Device: TypeAlias = _device | _str | _int

class LinAlgError(RuntimeError): ...
def cholesky(A: Tensor, *, upper: _bool = False, out: Tensor | None = None) -> Tensor:
    """L with `A == L @ L.mH`, or its adjoint if upper."""
def cholesky_ex(
    A: Tensor, *, upper: _bool = False, check_errors: _bool = False
) -> return_types.linalg_cholesky_ex:
    """`cholesky`, and LAPACK's code of success, which tells of matrices without a factor."""
def cond(A: Tensor, p: _Number | None = None, *, out: Tensor | None = None) -> Tensor:
    """The condition number: a norm of a matrix times that of its inverse."""
def cross(
    input: Tensor, other: _Operand, *, dim: _int = -1, out: Tensor | None = None
) -> Tensor:
    """The cross products of vectors of three elements along a dimension."""
def det(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The determinant of a square matrix, or of each of a stack."""
def diagonal(
    A: Tensor,
    *,
    offset: _int = 0,
    dim1: _int = -2,
    dim2: _int = -1,
    out: Tensor | None = None,
) -> Tensor:
    """The diagonals of matrices: a view."""
def eig(A: Tensor) -> return_types.linalg_eig:
    """The eigenvalues and eigenvectors (columns of length 1) of a square matrix, complex."""
def eigh(A: Tensor, UPLO: Literal['L', 'U'] = 'L') -> return_types.linalg_eigh:
    """The eigenvalues, ascending, and eigenvectors of a Hermitian matrix."""
def eigvals(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The eigenvalues of a square matrix, complex."""
def eigvalsh(
    A: Tensor, UPLO: Literal['L', 'U'] = 'L', *, out: Tensor | None = None
) -> Tensor:
    """The eigenvalues, ascending, of a Hermitian matrix."""
def householder_product(A: Tensor, tau: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The first columns of the product of reflections that geqrf packs."""
def inv(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of a square matrix, or of each of a stack."""
def inv_ex(A: Tensor, *, check_errors: _bool = False) -> return_types.linalg_inv_ex:
    """The inverse, and LAPACK's code of success, which tells of singular matrices."""
def ldl_factor(A: Tensor, *, hermitian: _bool = False, out: Tensor | None = None) -> Tensor:
    """The factors of a symmetric matrix L @ D @ L.mT as LAPACK packs them, and their pivots."""
def ldl_factor_ex(
    A: Tensor,
    *,
    hermitian: _bool = False,
    check_errors: _bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """`ldl_factor`, and LAPACK's code of success."""
def ldl_solve(
    LD: Tensor,
    pivots: Tensor,
    B: Tensor,
    *,
    hermitian: _bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """X with `A @ X == B`, from what `ldl_factor(A)` returned."""
def lstsq(
    A: Tensor, B: Tensor, rcond: Tensor | _float | None = None, *, driver: _str | None = None
) -> return_types.linalg_lstsq:
    """The least squares solution of `A @ X == B`, its residuals, the rank and singular values."""
def lu(A: Tensor, *, pivot: _bool = True) -> return_types.linalg_lu:
    """P, L and U with `A == P @ L @ U`: a permutation, and two triangular matrices."""
def lu_factor(A: Tensor, *, pivot: _bool = True) -> return_types.linalg_lu_factor:
    """L and U in one matrix, and the swaps of rows, as `lu_solve` takes them."""
def lu_factor_ex(
    A: Tensor, *, pivot: _bool = True, check_errors: _bool = False, out: Tensor | None = None
) -> Tensor:
    """`lu_factor`, and the place of the first zero on the diagonal of U, 0 for none."""
def lu_solve(
    LU: Tensor,
    pivots: Tensor,
    B: Tensor,
    *,
    left: _bool = True,
    adjoint: _bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """X with `A @ X == B`, from what `lu_factor(A)` returned."""
def matmul(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """`input @ other`: of vectors, matrices, and stacks of matrices that broadcast."""
def matrix_exp(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The exponential of a square matrix, or of each of a stack."""
def matrix_norm(
    A: Tensor,
    ord: _Number | _str = 'fro',
    dim: _Sizes = (-2, -1),
    keepdim: _bool = False,
    *,
    dtype: _dtype | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """The norm of matrices: ord "fro", "nuc", inf, -inf, 1, -1, 2 or -2."""
def matrix_power(input: Tensor, n: _int, *, out: Tensor | None = None) -> Tensor:
    """A square matrix multiplied n times; of its inverse where n is negative."""
def matrix_rank(
    A: Tensor,
    tol: Tensor | _float | None = None,
    hermitian: _bool = False,
    *,
    atol: Tensor | _float | None = None,
    rtol: Tensor | _float | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """How many singular values are above max(atol, rtol times the largest)."""
def multi_dot(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """The product of matrices, in the order that costs least; the ends may be vectors."""
def norm(
    A: Tensor,
    ord: _Number | _str | None = None,
    dim: _Sizes | None = None,
    keepdim: _bool = False,
    *,
    dtype: _dtype | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """The norm of matrices where ord is given for two dimensions, else of vectors."""
def pinv(
    A: Tensor,
    rcond: Tensor | _float | None = None,
    hermitian: _bool = False,
    *,
    atol: Tensor | _float | None = None,
    rtol: Tensor | _float | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """The pseudo-inverse: singular values below max(atol, rtol times the largest) are zero."""
def qr(A: Tensor, mode: _str = 'reduced') -> return_types.linalg_qr:
    """Q with orthonormal columns and R with zeros below the diagonal, `A == Q @ R`."""
def slogdet(A: Tensor) -> return_types.linalg_slogdet:
    """The sign of the determinant, and the logarithm of its absolute value."""
def solve(A: Tensor, B: Tensor, *, left: _bool = True, out: Tensor | None = None) -> Tensor:
    """X with `A @ X == B` (`X @ A == B` if not left)."""
def solve_ex(
    A: Tensor, B: Tensor, *, left: _bool = True, check_errors: _bool = False
) -> return_types.linalg_solve_ex:
    """`solve`, and LAPACK's code of success, which tells of singular matrices."""
def solve_triangular(
    A: Tensor,
    B: Tensor,
    *,
    upper: _bool,
    left: _bool = True,
    unitriangular: _bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """`solve` with only one triangle of A; unitriangular: its diagonal counts as 1."""
def svd(
    A: Tensor, full_matrices: _bool = True, *, driver: _str | None = None
) -> return_types.linalg_svd:
    """U, S and Vh with `A == U @ diag(S) @ Vh`, S in descending order."""
def svdvals(A: Tensor, *, driver: _str | None = None, out: Tensor | None = None) -> Tensor:
    """The singular values, in descending order."""
def tensorinv(A: Tensor, ind: _int = 2, *, out: Tensor | None = None) -> Tensor:
    """The inverse with respect to a tensordot over the first `ind` dimensions."""
def tensorsolve(
    A: Tensor, B: Tensor, dims: Sequence[_int] | None = None, *, out: Tensor | None = None
) -> Tensor:
    """X with `tensordot(A, X, X.ndim) == B`."""
def vander(x: Tensor, *, N: _int | None = None, out: Tensor | None = None) -> Tensor:
    """Rows of the powers 0, 1, ... of each element."""
def vecdot(x: Tensor, y: Tensor, *, dim: _int = -1, out: Tensor | None = None) -> Tensor:
    """Sums of `conj(x) * y` along a dimension."""
def vector_norm(
    x: Tensor,
    ord: _Number = 2,
    dim: _Sizes | None = None,
    keepdim: _bool = False,
    *,
    dtype: _dtype | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """The norm of all elements, or along dimensions: (sum of abs(x)**ord) ** (1/ord)."""
