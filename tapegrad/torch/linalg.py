"""`torch.linalg`, and the older names of the same functions in `torch`.

Knows PyTorch's conventions and errors; derivatives are the core's, of NumPy's functions. Must not
know how norms are computed (`norms`), or modules.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from tapegrad._core.types import Value
from tapegrad._core.values import untraced
from tapegrad.torch import return_types
from tapegrad.torch._dtypes import word_of
from tapegrad.torch._ops.declare import deliver, operation, private, register
from tapegrad.torch._ops.elementwise.arithmetic import cast
from tapegrad.torch._ops.linalg.checks import require_matrices
from tapegrad.torch._ops.linalg.contractions import cross_along, matrix_power, multi_dot
from tapegrad.torch._ops.linalg.failures import (
    LinAlgError,
    broken_minors,
    partial_factor,
    tried,
    with_codes,
    zero_pivots,
)
from tapegrad.torch._ops.linalg.householder import householder_product
from tapegrad.torch._ops.linalg.old_factors import (
    ldl_factor,
    ldl_factor_ex,
    ldl_solve,
    lu_factor_ex,
    require_pivots,
)
from tapegrad.torch._ops.linalg.products import matmul
from tapegrad.torch._ops.linalg.triangular_factors import lu_of, order_of, packed
from tapegrad.torch._ops.reduce.norms import cond, matrix_norm, matrix_rank, norm, vector_norm
from tapegrad.torch._rules.matrix_exponential import exponential
from tapegrad.torch._tensor.tensor import Tensor

Operation = Callable[..., Any]


def _adjoint(x: Value) -> Value:
    flipped = x.swapaxes(-1, -2)
    return np.conjugate(flipped) if x.dtype.kind == "c" else flipped


# --- Equations ----------------------------------------------------------------------------------

_SINGULAR = (
    "linalg.{word}: {{batch}}The diagonal element {{place}} is zero, the inversion could not be "
    "completed because the input matrix is singular."
)


@register("inverse")
@private("LinalgInvExBackward0", name="linalg_inv", planned=True)
def inv(A: Value) -> Value:
    """The inverse of a square matrix, or of each of a stack.

    -> Tensor: Matrices (..., n, n).
    LinAlgError: If a matrix is singular.
    """
    require_matrices("linalg.inv", A, square=True)
    return tried(_SINGULAR.format(word="inv"), zero_pivots, np.linalg.inv, A)


@private("LinalgInvExBackward0", name="linalg_inv_ex")
def inv_ex(A: Value, *, check_errors: bool = False) -> Any:
    """The inverse, and LAPACK's code of success, which tells of singular matrices.

    check_errors: Whether a singular matrix is an error.
    -> named tuple: The matrices `inverse` (..., n, n), and the codes `info` (...): 0, or
        the place of the first pivot that is zero, where the inverse is NaN, and has no derivative.
    LinAlgError: If a matrix is singular, and `check_errors`.
    """
    require_matrices("linalg.inv", A, square=True)
    message = _SINGULAR.format(word="inv_ex")
    made = with_codes(message, zero_pivots, np.linalg.inv, A, check_errors)
    return return_types.linalg_inv_ex(*made)


@private("LinalgPinvBackward0", name="linalg_pinv")
def pinv(
    A: Value,
    rcond: Value = None,
    hermitian: bool = False,
    *,
    atol: Value = None,
    rtol: Value = None,
) -> Value:
    """The pseudo-inverse: singular values below max(atol, rtol times the largest) are zero.

    A: Matrices (..., n, m).
    rcond (float or Tensor): The older name of `rtol`.
    atol (float or Tensor): The absolute threshold; 0 unless given.
    rtol (float or Tensor): The relative threshold; max(n, m) times the machine epsilon
        unless one is given.
    -> Tensor: Matrices (..., m, n).
    """
    _require_pinv(A)
    given = rcond if rtol is None else rtol
    if given is None:
        given = max(A.shape[-2:]) * np.finfo(A.dtype).eps if atol is None else 0.0
    if atol is not None:
        s = np.linalg.svd(untraced(A), compute_uv=False)
        given = np.maximum(untraced(given), untraced(atol) / np.max(s, axis=-1))
    return np.linalg.pinv(A, rtol=given, hermitian=hermitian)


@operation("LinalgPinvBackward0")
def pinverse(input: Value, rcond: float = 1e-15) -> Value:
    """The pseudo-inverse: the older name of `linalg.pinv`.

    input: Matrices (..., n, m).
    -> Tensor: Matrices (..., m, n).
    """
    _require_pinv(input)
    return np.linalg.pinv(input, rcond)


def _require_pinv(A: Value) -> None:
    if len(A.shape) < 2 or A.dtype.kind not in "fc":
        raise RuntimeError(
            f"linalg.pinv({word_of(A.dtype)}{{{list(A.shape)}}}): expected a tensor with 2 or "
            "more dimensions of float, double, cfloat or cdouble types"
        )


def _require_complex_kind(A: Value) -> None:
    """RuntimeError for integers: PyTorch asks first for the complex dtype of the eigenvalues."""
    if A.dtype.kind not in "fc":
        raise RuntimeError(f"Unknown Complex ScalarType for {word_of(A.dtype)}")


def _is_vector(A: Value, B: Value) -> bool:
    """Whether the right-hand side has a vector for each matrix, and not a matrix."""
    return len(B.shape) == 1 or len(B.shape) == len(A.shape) - 1 and B.shape == A.shape[:-1]


_UNSOLVED = "torch.linalg.{word}: {{batch}}The solver failed because the input matrix is singular."


def _solver(A: Value, B: Value, left: bool = True) -> Callable[[Value], Value]:
    """Solver of the equation for given matrices in the place of A; errors of unfit arguments."""
    require_matrices("linalg.solve", A, square=True)
    if not B.shape:
        raise RuntimeError("linalg.solve: The input tensor B must have at least 2 dimensions.")
    vector = _is_vector(A, B)
    rows, columns = (B.shape[-1], 1) if vector else B.shape[-2:]  # a vector is a column
    if A.shape[-1] != (rows if left else columns):
        raise RuntimeError(
            "linalg.solve: Incompatible shapes of A and B for the equation "
            f"{'AX = B' if left else 'XA = B'} ({A.shape[-2]}x{A.shape[-1]} and {rows}x{columns})"
        )
    if vector and not left:
        raise RuntimeError(
            "linalg.solve: Vector broadcasting of the left hand side is not supported for "
            "left=False. In this case linalg.solve is equivalent to B / A.squeeze(-1)"
        )
    if A.dtype != B.dtype:
        raise RuntimeError(
            f"linalg.solve: Expected A and B to have the same dtype, but found A of type "
            f"{word_of(A.dtype)} and B of type {word_of(B.dtype)} instead"
        )
    if vector and len(B.shape) > 1:
        return lambda matrices: np.linalg.solve(matrices, np.expand_dims(B, -1))[..., 0]
    if vector or left:
        return lambda matrices: np.linalg.solve(matrices, B)
    return lambda matrices: np.linalg.solve(
        matrices.swapaxes(-1, -2), B.swapaxes(-1, -2)
    ).swapaxes(-1, -2)


def _solve(A: Value, B: Value, left: bool = True) -> Value:
    return tried(_UNSOLVED.format(word="solve"), zero_pivots, _solver(A, B, left), A)


@private("LinalgSolveExBackward0", name="linalg_solve", planned=True)
def solve(A: Value, B: Value, *, left: bool = True) -> Value:
    """X with `A @ X == B` (`X @ A == B` if not left).

    A: Matrices (..., n, n).
    B: The right-hand sides (..., n, m) or (..., n), of the dtype of A.
    -> Tensor: The solutions, in the shape of `B`.
    LinAlgError: If A is singular.
    RuntimeError: If shapes or dtypes do not fit.
    """
    return _solve(A, B, left)


@private("LinalgSolveExBackward0", name="linalg_solve_ex")
def solve_ex(A: Value, B: Value, *, left: bool = True, check_errors: bool = False) -> Any:
    """`solve`, and LAPACK's code of success, which tells of singular matrices.

    B: The right-hand sides (..., n, m) or (..., n), of the dtype of A.
    check_errors: Whether a singular matrix is an error.
    -> named tuple: The solutions `result`, and the codes `info` (...): 0, or the place of
        the first pivot that is zero, where the solutions are NaN, and have no derivative.
    LinAlgError: If a matrix is singular, and `check_errors`.
    """
    message, solver = _UNSOLVED.format(word="solve_ex"), _solver(A, B, left)
    rank = 1 if _is_vector(A, B) else 2
    made = with_codes(message, zero_pivots, solver, A, check_errors, rank=rank)
    return return_types.linalg_solve_ex(*made)


def _triangle(A: Value, upper: bool, unitriangular: bool) -> Value:
    part = np.triu if upper else np.tril
    if not unitriangular:
        return part(A)
    return part(A, 1 if upper else -1) + np.eye(A.shape[-1], dtype=A.dtype)


@private("LinalgSolveTriangularBackward0", name="linalg_solve_triangular", planned=True)
def solve_triangular(
    A: Value, B: Value, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Value:
    """`solve` with only one triangle of A; unitriangular: its diagonal counts as 1.

    B: The right-hand sides (..., n, m), of the dtype of A.
    upper: Whether the upper triangle of A is read, else the lower one.
    -> Tensor: The solutions (..., n, m).
    """
    require_matrices("linalg.solve_triangular", A, square=True)
    return _solve(_triangle(A, upper, unitriangular), B, left)


@operation("TriangularSolveBackward0")
def triangular_solve(
    b: Value, A: Value, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> Any:
    """The older form of `solve_triangular`: X with `A @ X == b`, and a copy of A.

    b: The right-hand sides (..., n, m).
    A: Matrices (..., n, n), of which a triangle is read.
    upper: Whether it is the upper triangle.
    -> named tuple: The solutions `solution`, and the copy `cloned_coefficient`.
    """
    whole = _triangle(A, upper, unitriangular)
    solution = _solve(whole.swapaxes(-1, -2) if transpose else whole, b)
    return return_types.triangular_solve(solution, A.copy())


@operation("CholeskySolveBackward0")
def cholesky_solve(B: Value, L: Value, upper: bool = False) -> Value:
    """X with `L @ L.mH @ X == B`.

    B: The right-hand sides (..., n, m).
    upper: Whether the factor is an upper triangle: L.mH @ L @ X == B.
    -> Tensor: The solutions (..., n, m).
    """
    low = _adjoint(np.triu(L)) if upper else np.tril(L)
    return np.linalg.solve(_adjoint(low), np.linalg.solve(low, B))


@operation("CholeskyInverseBackward0")
def cholesky_inverse(L: Value, upper: bool = False) -> Value:
    """The inverse of `L @ L.mH`.

    upper: Whether the factor is an upper triangle: A is L.mH @ L.
    -> Tensor: Matrices (..., n, n).
    """
    inverse = np.linalg.inv(_adjoint(np.triu(L)) if upper else np.tril(L))
    return np.matmul(_adjoint(inverse), inverse)


@private("ViewBackward0", name="linalg_tensorinv")
def tensorinv(A: Value, ind: int = 2) -> Value:
    """The inverse with respect to a tensordot over the first `ind` dimensions.

    A: A tensor whose first `ind` sizes have the product of the others.
    ind: How many dimensions the right-hand side has.
    -> Tensor: The inverse, with those dimensions last.
    """
    if ind <= 0:
        raise RuntimeError("Expected a strictly positive integer for 'ind'")
    try:
        return np.linalg.tensorinv(A, ind)
    except np.linalg.LinAlgError as error:
        raise RuntimeError(f"linalg.tensorinv: {error}") from error


@private("ViewBackward0", name="linalg_tensorsolve")
def tensorsolve(A: Value, B: Value, dims: Sequence[int] | None = None) -> Value:
    """X with `tensordot(A, X, X.ndim) == B`.

    A: A tensor whose first sizes are those of `B`.
    B: The right-hand side.
    dims (sequence of ints): Dimensions of A that are moved to the end first.
    -> Tensor: The solution.
    """
    try:
        return np.linalg.tensorsolve(A, B, dims)
    except (np.linalg.LinAlgError, ValueError) as error:
        raise RuntimeError(f"linalg.tensorsolve: {error}") from error


@private("LinalgLstsqBackward0", name="linalg_lstsq")
def lstsq(A: Value, B: Value, rcond: Value = None, *, driver: str | None = None) -> Any:
    """The least squares solution of `A @ X == B`, its residuals, the rank and singular values.

    A: Matrices (..., n, m).
    B: The right-hand sides (..., n, k) or (..., n).
    rcond (float): Singular values up to this times the largest count as 0.
    driver: "gelsy", which is meant unless given, "gels", "gelsd" or "gelss".
    -> named tuple: The solution `solution`; `residuals` where A has more rows than columns
        and full rank, but not for "gelsy"; `rank`; and `singular_values` for "gelsd" and "gelss".

    >>> A = torch.tensor([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]])
    >>> torch.linalg.lstsq(A, torch.tensor([[1.0], [3.0], [5.0]])).solution.round(decimals=3)
    tensor([[1.],
            [2.]])
    """
    if A.dtype != B.dtype:
        raise RuntimeError(
            "torch.linalg.lstsq: Expected input and other to have the same dtype, but got input's "
            f"dtype {word_of(A.dtype)} and other's dtype {word_of(B.dtype)}"
        )
    require_matrices("linalg.lstsq", A)
    if driver not in (None, "gels", "gelsy", "gelsd", "gelss"):
        raise RuntimeError(
            "torch.linalg.lstsq: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)"
        )
    real = np.finfo(A.dtype).dtype
    cutoff = max(A.shape[-2:]) * np.finfo(A.dtype).eps if rcond is None else untraced(rcond)
    s = np.linalg.svd(untraced(A), compute_uv=False)
    rank = np.sum(s > cutoff * np.max(s, axis=-1, keepdims=True, initial=0), axis=-1)
    if len(A.shape) == 2:
        solution = np.linalg.lstsq(A, B, cutoff)[0]
    else:
        solution = np.matmul(np.linalg.pinv(A, rtol=cutoff), B)
    residuals: Any = np.zeros(0, real)
    known = driver not in (None, "gelsy") and A.shape[-2] > A.shape[-1]
    if known and np.all(rank == A.shape[-1]):
        apart = np.matmul(A, solution) - B
        axis = -1 if len(B.shape) == 1 else -2
        residuals = np.sum(np.real(apart * np.conjugate(apart)), axis=axis)
    values = s.astype(real) if driver in ("gelsd", "gelss") else np.zeros(0, real)
    ranks = np.zeros(0, np.int64) if driver == "gels" else rank.astype(np.int64)
    return return_types.linalg_lstsq(solution, residuals, ranks, values)


# --- Determinants -------------------------------------------------------------------------------


@register("det")
@private("LinalgDetBackward0", name="linalg_det", planned=True)
def det(A: Value) -> Value:
    """The determinant of a square matrix, or of each of a stack.

    -> Tensor: A number for each matrix.
    RuntimeError: If A is not square, or of whole numbers.
    """
    require_matrices("linalg.det", A, square=True)
    return np.linalg.det(A)


@private("LinalgSlogdetBackward0", name="linalg_slogdet")
def slogdet(A: Value) -> Any:
    """The sign of the determinant, and the logarithm of its absolute value.

    -> named tuple: The signs `sign` (...), and the logarithms `logabsdet` (...).
    """
    require_matrices("linalg.slogdet", A, square=True)
    return return_types.linalg_slogdet(*np.linalg.slogdet(A))


@operation("LinalgSlogdetBackward0", name="slogdet")
def _old_slogdet(input: Value) -> Any:
    """The sign of the determinant, and the logarithm of its absolute value.

    input: Matrices (..., n, n).
    -> named tuple: The signs `sign` (...), and the logarithms `logabsdet` (...).
    """
    require_matrices("linalg.slogdet", input, square=True)
    return return_types.slogdet(*np.linalg.slogdet(input))


@operation("WhereBackward0")
def logdet(input: Value) -> Value:
    """The logarithm of the determinant: NaN where that is negative.

    input: Matrices (..., n, n).
    -> Tensor: A number for each matrix.
    """
    require_matrices("logdet", input, square=True)
    sign, logarithm = np.linalg.slogdet(input)
    if input.dtype.kind == "c":
        return logarithm + np.log(sign)
    return np.where(untraced(sign) == -1, np.nan, logarithm).astype(input.dtype)


# --- Decompositions -----------------------------------------------------------------------------


_INDEFINITE = (
    "{word}: {{batch}}The factorization could not be completed because the input is not "
    "positive-definite (the leading minor of order {{place}} is not positive-definite)."
)


def _cholesky(A: Value, upper: bool, word: str) -> Value:
    require_matrices("linalg.cholesky", A, square=True)
    message = _INDEFINITE.format(word=word)
    low = tried(message, broken_minors, np.linalg.cholesky, _adjoint(A) if upper else A)
    return _adjoint(low) if upper else low


@private("LinalgCholeskyExBackward0", name="linalg_cholesky", planned=True)
def cholesky(A: Value, *, upper: bool = False) -> Value:
    """L with `A == L @ L.mH`, or its adjoint if upper.

    upper: Whether the upper triangle U with `A == U.mH @ U` is meant.
    -> Tensor: Triangular matrices (..., n, n).
    LinAlgError: If a matrix is not positive definite.
    """
    return _cholesky(A, upper, "linalg.cholesky")


@operation("CholeskyBackward0", name="cholesky", planned=True)
def _old_cholesky(input: Value, upper: bool = False) -> Value:
    """The older name of `linalg.cholesky`.

    input: Hermitian matrices (..., n, n), positive definite.
    -> Tensor: Triangular matrices (..., n, n).
    LinAlgError: If a matrix is not positive definite.
    """
    return _cholesky(input, upper, "cholesky")


@private("LinalgCholeskyExBackward0", name="linalg_cholesky_ex")
def cholesky_ex(A: Value, *, upper: bool = False, check_errors: bool = False) -> Any:
    """`cholesky`, and LAPACK's code of success, which tells of matrices without a factor.

    check_errors: Whether a matrix that is not positive definite is an error.
    -> named tuple: The triangular matrices `L` (..., n, n), and the codes `info` (...): 0,
        or the order of the first leading minor that is not positive, where L is the part of the
        factor that was reached, and has no derivative.
    LinAlgError: If a matrix is not positive definite, and `check_errors`.
    """
    require_matrices("linalg.cholesky", A, square=True)
    message = _INDEFINITE.format(word="linalg.cholesky_ex")
    read = _adjoint(A) if upper else A
    low, codes = with_codes(
        message, broken_minors, np.linalg.cholesky, read, check_errors, partial=partial_factor
    )
    return return_types.linalg_cholesky_ex(_adjoint(low) if upper else low, codes)


def _qr(A: Value, mode: str) -> tuple[Value, Value]:
    require_matrices("linalg.qr", A)
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), "
            "'r', or 'complete'"
        )
    if mode == "r":
        return np.zeros(0, A.dtype), np.linalg.qr(A, mode="r")
    q, r = np.linalg.qr(A, mode="complete" if mode == "complete" else "reduced")
    return q, r


@private("LinalgQrBackward0", name="linalg_qr", planned=True)
def qr(A: Value, mode: str = "reduced") -> Any:
    """Q with orthonormal columns and R with zeros below the diagonal, `A == Q @ R`.

    A: Matrices (..., n, m).
    mode: "reduced", "complete" (Q is square), or "r" (Q is empty).
    -> named tuple: The matrices `Q` and `R`.

    >>> Q, R = torch.linalg.qr(torch.tensor([[3.0, 1.0], [4.0, 2.0]]))
    >>> torch.allclose(Q @ R, torch.tensor([[3.0, 1.0], [4.0, 2.0]]))
    True
    """
    return return_types.linalg_qr(*_qr(A, mode))


@operation("LinalgQrBackward0", name="qr", planned=True)
def _old_qr(input: Value, some: bool = True) -> Any:
    """`linalg.qr`, complete if not some.

    input: Matrices (..., n, m).
    some: Whether Q has min(n, m) columns only.
    -> named tuple: The matrices `Q` and `R`.

    >>> Q, R = torch.qr(torch.tensor([[3.0, 1.0], [4.0, 2.0]]))
    >>> torch.allclose(Q @ R, torch.tensor([[3.0, 1.0], [4.0, 2.0]]))
    True
    """
    return return_types.qr(*_qr(input, "reduced" if some else "complete"))


def _require_driver(driver: str | None) -> None:
    if driver is not None:
        raise RuntimeError(
            "torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with "
            "cuSOLVER backend."
        )


@private("LinalgSvdBackward0", name="linalg_svd", planned=True)
def svd(A: Value, full_matrices: bool = True, *, driver: str | None = None) -> Any:
    """U, S and Vh with `A == U @ diag(S) @ Vh`, S in descending order.

    A: Matrices (..., n, m).
    driver: None: PyTorch has others on NVIDIA's processors alone, and so refuses any other here.
    -> named tuple: The matrices `U`, the singular values `S`, and the matrices `Vh`.
    """
    _require_driver(driver)
    require_matrices("linalg.svd", A)
    u, s, vh = np.linalg.svd(A, full_matrices=full_matrices)
    return return_types.linalg_svd(u, s, vh)


@operation("LinalgSvdBackward0", name="svd", planned=True)
def _old_svd(input: Value, some: bool = True, compute_uv: bool = True) -> Any:
    """U, S and V with `input == U @ diag(S) @ V.mH`; U and V are zeros if not compute_uv.

    input: Matrices (..., n, m).
    some: Whether U and V have min(n, m) columns only.
    compute_uv: Whether U and V are computed.
    -> named tuple: The matrices `U`, the singular values `S`, and the matrices `V`.
    """
    require_matrices("linalg.svd", input)
    if not compute_uv:
        sides = (np.zeros((*input.shape[:-2], n, n), input.dtype) for n in input.shape[-2:])
        left, right = sides
        return return_types.svd(left, np.linalg.svd(input, compute_uv=False), right)
    u, s, vh = np.linalg.svd(input, full_matrices=not some)
    return return_types.svd(u, s, _adjoint(vh))


@private("LinalgSvdBackward0", name="linalg_svdvals", planned=True)
def svdvals(A: Value, *, driver: str | None = None) -> Value:
    """The singular values, in descending order.

    A: Matrices (..., n, m).
    driver: None: PyTorch has others on NVIDIA's processors alone, and so refuses any other here.
    -> Tensor: The values (..., min(n, m)).
    """
    _require_driver(driver)
    require_matrices("linalg.svd", A)
    return np.linalg.svd(A, compute_uv=False)


def _as_complex(x: Value) -> Value:
    return cast(x, np.result_type(x.dtype, np.complex64))


@private("LinalgEigBackward0", name="linalg_eig")
def eig(A: Value) -> Any:
    """The eigenvalues and eigenvectors (columns of length 1) of a square matrix, complex.

    -> named tuple: The numbers `eigenvalues` (..., n), and the matrices `eigenvectors`
        (..., n, n).
    """
    _require_complex_kind(A)
    require_matrices("linalg.eig", A, square=True)
    values, vectors = np.linalg.eig(A)
    return return_types.linalg_eig(_as_complex(values), _as_complex(vectors))


@private("LinalgEigBackward0", name="linalg_eigvals")
def eigvals(A: Value) -> Value:
    """The eigenvalues of a square matrix, complex.

    -> Tensor: The numbers (..., n).
    """
    _require_complex_kind(A)
    require_matrices("linalg.eig", A, square=True)
    return _as_complex(np.linalg.eigvals(A))


@private("LinalgEighBackward0", name="linalg_eigh", planned=True)
def eigh(A: Value, UPLO: Literal["L", "U"] = "L") -> Any:
    """The eigenvalues, ascending, and eigenvectors of a Hermitian matrix.

    UPLO (str): The triangle that is read, "L" or "U".
    -> named tuple: The real numbers `eigenvalues` (..., n), and the matrices `eigenvectors`
        (..., n, n).
    """
    require_matrices("linalg.eigh", A, square=True)
    return return_types.linalg_eigh(*np.linalg.eigh(A, UPLO))


@private("LinalgEighBackward0", name="linalg_eigvalsh", planned=True)
def eigvalsh(A: Value, UPLO: Literal["L", "U"] = "L") -> Value:
    """The eigenvalues, ascending, of a Hermitian matrix.

    UPLO (str): The triangle that is read, "L" or "U".
    -> Tensor: The real numbers (..., n).
    """
    require_matrices("linalg.eigh", A, square=True)
    return np.linalg.eigvalsh(A, UPLO)


# --- LU -----------------------------------------------------------------------------------------


@private("LinalgLuBackward0", name="linalg_lu")
def lu(A: Value, *, pivot: bool = True) -> Any:
    """P, L and U with `A == P @ L @ U`: a permutation, and two triangular matrices.

    A: Matrices (..., n, m).
    -> named tuple: The matrices `P`, `L` and `U`.
    """
    return return_types.linalg_lu(*lu_of("linalg.lu", A, pivot))


@private("LinalgLuFactorExBackward0", name="linalg_lu_factor")
def lu_factor(A: Value, *, pivot: bool = True) -> Any:
    """L and U in one matrix, and the swaps of rows, as `lu_solve` takes them.

    A: Matrices (..., n, m).
    -> named tuple: The matrices `LU` (..., n, m), and the swaps `pivots` (..., min(n, m)),
        counted from 1.
    RuntimeError: If U has a zero on its diagonal, with which no equation can be solved.

    >>> torch.linalg.lu_factor(torch.tensor([[0.0, 2.0], [4.0, 0.0]]))
    torch.return_types.linalg_lu_factor(
    LU=tensor([[4., 0.],
            [0., 2.]]),
    pivots=tensor([2, 2], dtype=torch.int32))
    """
    factors, swaps = packed("linalg.lu_factor", A, pivot)
    require_pivots("torch.linalg.lu_factor", factors)
    return return_types.linalg_lu_factor(factors, swaps)


@private("LinalgLuSolveBackward0", name="linalg_lu_solve")
def lu_solve(
    LU: Value, pivots: Value, B: Value, *, left: bool = True, adjoint: bool = False
) -> Value:
    """X with `A @ X == B`, from what `lu_factor(A)` returned.

    B: The right-hand sides (..., n, m).
    -> Tensor: The solutions (..., n, m).

    >>> LU, pivots = torch.linalg.lu_factor(torch.tensor([[0.0, 2.0], [4.0, 0.0]]))
    >>> torch.linalg.lu_solve(LU, pivots, torch.tensor([[2.0], [4.0]]))
    tensor([[1.],
            [1.]])
    """
    require_matrices("linalg.lu_solve", LU, square=True)
    side = LU.shape[-1]
    order = order_of(untraced(pivots), side)
    whole = np.matmul(np.tril(LU, -1) + np.eye(side, dtype=LU.dtype), np.triu(LU))
    A = np.take_along_axis(whole, np.argsort(order, -1)[..., None], axis=-2)
    return _solve(_adjoint(A) if adjoint else A, B, left)


@register("lu_solve")
def _old_lu_solve(b: Any, LU_data: Any, LU_pivots: Any, *, out: Any = None) -> Any:
    """The older form of `linalg.lu_solve`: X with `A @ X == b`.

    b (Tensor): The right-hand sides (..., n, m).
    -> Tensor: The solutions (..., n, m).

    >>> LU, pivots = torch.linalg.lu_factor(torch.tensor([[0.0, 2.0], [4.0, 0.0]]))
    >>> torch.lu_solve(torch.tensor([[2.0], [4.0]]), LU, pivots)
    tensor([[1.],
            [1.]])
    """
    made = lu_solve(LU_data, LU_pivots, b)
    return made if out is None else deliver(out, made)


# --- Functions of matrices, and products ---------------------------------------------------------


@register("matrix_exp")
@private("LinalgMatrixExpBackward0", name="linalg_matrix_exp")
def matrix_exp(A: Value) -> Value:
    """The exponential of a square matrix, or of each of a stack.

    -> Tensor: Matrices (..., n, n).
    """
    require_matrices("linalg.matrix_exp", A, square=True)
    return exponential(A)


@private("LinalgCrossBackward0", name="linalg_cross", planned=True)
def cross(input: Value, other: Value, *, dim: int = -1) -> Value:
    """The cross products of vectors of three elements along a dimension.

    dim: The dimension, of length 3.
    other: The second vectors; the shapes broadcast.
    -> Tensor: Vectors, of the shape to which the shapes broadcast.
    """
    return cross_along(input, other, dim)


@private("SumBackward1", name="linalg_vecdot", planned=True)
def vecdot(x: Value, y: Value, *, dim: int = -1) -> Value:
    """Sums of `conj(x) * y` along a dimension.

    x: The first vectors.
    y: The second vectors; the shapes broadcast.
    -> Tensor: The sums, without the dimension.
    """
    return np.sum((np.conjugate(x) if x.dtype.kind == "c" else x) * y, axis=dim)


@private("DiagonalBackward0", view=True, name="linalg_diagonal")
def diagonal(A: Value, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Value:
    """The diagonals of matrices: a view.

    A: Matrices (..., n, m).
    dim1: The first dimension of the matrices.
    dim2: The second one.
    -> Tensor: A view, whose last dimension is the diagonal.
    """
    return np.diagonal(A, offset, dim1, dim2)


@private("CatBackward0", name="linalg_vander")
def vander(x: Value, *, N: int | None = None) -> Value:
    """Rows of the powers 0, 1, ... of each element.

    x: Vectors (..., n).
    N: The number of powers; n unless given.
    -> Tensor: Matrices (..., n, N).
    """
    count = x.shape[-1] if N is None else N
    return np.expand_dims(x, -1) ** np.arange(count).astype(x.dtype)


# --- Under a name of `torch` --------------------------------------------------------------------


@register(method=False)
def lobpcg(
    A: Tensor,
    k: int | None = None,
    B: Tensor | None = None,
    X: Tensor | None = None,
    n: int | None = None,
    iK: Tensor | None = None,
    niter: int | None = None,
    tol: float | None = None,
    largest: bool | None = None,
    method: str | None = None,
    tracker: Callable[..., Any] | None = None,
    ortho_iparams: dict[str, int] | None = None,
    ortho_fparams: dict[str, float] | None = None,
    ortho_bparams: dict[str, bool] | None = None,
) -> tuple[Tensor, Tensor]:
    """The largest or smallest eigenvalues of a symmetric matrix, and their eigenvectors.

    Tensors are dense, so that all are computed at once, by `eigh`: to rounding, where PyTorch
    iterates until `tol` or `niter`. The result is differentiated by A and by B.

    A: Symmetric matrices (..., m, m): of others, the symmetric part counts.
    k (int): How many; as many as X has columns unless given, else one.
    B: Symmetric positive definite matrices (..., m, m): A x = e B x is solved.
    X: Approximate eigenvectors (..., m, n), of which the number alone counts.
    n (int): How many of them there are; k unless given.
    iK: Ignored: what preconditions the iteration.
    niter (int): Ignored: how many iterations there may be.
    tol (float): Ignored: the residual at which the iteration ends.
    largest (bool, default True): The largest eigenvalues, in descending order; or the smallest,
        ascending.
    method (str): Ignored: "basic" or "ortho", how the iteration makes its vectors orthogonal.
    tracker (callable): None: there is no iteration to follow.
    ortho_iparams (dict): Ignored, as are `ortho_fparams` and `ortho_bparams`: settings of the
        iteration.
    ortho_fparams (dict): As `ortho_iparams`.
    ortho_bparams (dict): As `ortho_iparams`.
    -> tuple of Tensors: The eigenvalues (..., k), and the eigenvectors (..., m, k), orthonormal
        with B between.
    AssertionError: For matrices that are not square or of unlike shapes.
    ValueError: If 3 k is larger than m.
    NotImplementedError: If `tracker` is given.

    >>> values, vectors = torch.lobpcg(torch.diag(torch.arange(1.0, 7.0)), k=2)
    >>> values
    tensor([6., 5.])
    """
    assert A.shape[-2] == A.shape[-1], f"A must be square, got shape {A.shape}"
    if B is not None:
        assert A.shape == B.shape, f"A and B must have same shape, got {A.shape} vs {B.shape}"
    if tracker is not None:
        raise NotImplementedError(
            "torch.lobpcg: expected tracker=None, got a function: nothing is iterated that it "
            "could follow."
        )
    k = (1 if X is None else X.shape[-1]) if k is None else k
    m, n = A.shape[-1], (k if X is None else X.shape[-1]) if n is None else n
    if m < 3 * n:
        raise ValueError(
            f"LOBPCG algorithm is not applicable when the number of A rows (={m}) is smaller "
            f"than 3 x the number of requested eigenpairs (={n})"
        )
    matrix, half = (A + A.mT) / 2, None
    if B is not None:
        half = cholesky((B + B.mT) / 2)
        left = solve_triangular(half, matrix, upper=False)
        matrix = solve_triangular(half, left.mT, upper=False)
    values, vectors = eigh(matrix)
    if half is not None:
        vectors = solve_triangular(half.mT, vectors, upper=True)
    if largest is None or largest:
        return values[..., m - k :].flip(-1), vectors[..., m - k :].flip(-1)
    return values[..., :k], vectors[..., :k]


__all__ = [
    "LinAlgError",
    "cholesky",
    "cholesky_ex",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "householder_product",
    "inv",
    "inv_ex",
    "ldl_factor",
    "ldl_factor_ex",
    "ldl_solve",
    "lstsq",
    "lu",
    "lu_factor",
    "lu_factor_ex",
    "lu_solve",
    "matmul",
    "matrix_exp",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "multi_dot",
    "norm",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "solve_ex",
    "solve_triangular",
    "svd",
    "svdvals",
    "tensorinv",
    "tensorsolve",
    "vander",
    "vecdot",
    "vector_norm",
]


def __dir__() -> list[str]:
    return __all__
