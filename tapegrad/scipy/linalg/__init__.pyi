"""`scipy.linalg` with derivatives, for type checkers and editors.

Written by docs/scipy_stubs.py with SciPy 1.17: change that, not this.
"""

from numpy.typing import ArrayLike
from tapegrad.scipy._kinds import Array, Shape
from typing import Any, Literal, overload
import numpy as np
from scipy.linalg import LinAlgError as LinAlgError
from scipy.linalg import LinAlgWarning as LinAlgWarning
from scipy.linalg import basic as basic
from scipy.linalg import blas as blas
from scipy.linalg import cython_blas as cython_blas
from scipy.linalg import cython_lapack as cython_lapack
from scipy.linalg import decomp as decomp
from scipy.linalg import decomp_cholesky as decomp_cholesky
from scipy.linalg import decomp_lu as decomp_lu
from scipy.linalg import decomp_qr as decomp_qr
from scipy.linalg import decomp_schur as decomp_schur
from scipy.linalg import decomp_svd as decomp_svd
from scipy.linalg import lapack as lapack
from scipy.linalg import matfuncs as matfuncs
from scipy.linalg import misc as misc
from scipy.linalg import special_matrices as special_matrices

def bandwidth(a: Any) -> tuple[int, int]: ...
def block_diag(*arrs: Any) -> Array: ...
def cdf2rdf(w: Any, v: Any) -> tuple[Array, Array]: ...
def cho_factor(
    a: Any,
    lower: bool = False,
    overwrite_a: bool = False,
    check_finite: bool = True,
) -> tuple[Array, bool]: ...
def cho_solve(
    c_and_lower: Any,
    b: Any,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Array: ...
def cho_solve_banded(
    cb_and_lower: Any,
    b: Any,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Array: ...
def cholesky(
    a: Any,
    lower: bool = False,
    overwrite_a: bool = False,
    check_finite: bool = True,
) -> Array: ...
def cholesky_banded(
    ab: Any,
    overwrite_ab: bool = False,
    lower: bool = False,
    check_finite: bool = True,
) -> Array: ...
def circulant(c: Any) -> Array: ...
def clarkson_woodruff_transform(
    input_matrix: Any,
    sketch_size: Any,
    rng: Any = None,
    *,
    seed: Any = None,
) -> Any: ...
def companion(a: Any) -> Array: ...
def convolution_matrix(a: Any, n: Any, mode: Any = 'full') -> Array: ...
def coshm(A: Any) -> Array: ...
def cosm(A: Any) -> Array: ...
def cossin(
    X: Any,
    p: Any = None,
    q: Any = None,
    separate: bool = False,
    swap_sign: bool = False,
    compute_u: bool = True,
    compute_vh: bool = True,
) -> Any: ...
def det(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any: ...
def dft(n: Any, scale: Any = None) -> Array: ...
def diagsvd(s: Any, M: Any, N: Any) -> Array: ...
@overload
def eig(
    a: ArrayLike,
    b: Any = None,
    left: Literal[False] = False,
    right: Literal[True] = True,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    homogeneous_eigvals: bool = False,
) -> tuple[Array, Array]: ...
@overload
def eig(
    a: ArrayLike,
    b: Any = None,
    left: Literal[False] = False,
    *,
    right: Literal[False],
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    homogeneous_eigvals: bool = False,
) -> Array: ...
@overload
def eig(
    a: ArrayLike,
    b: Any = None,
    *,
    left: Literal[True],
    right: Literal[True] = True,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    homogeneous_eigvals: bool = False,
) -> tuple[Array, Array, Array]: ...
@overload
def eig(
    a: ArrayLike,
    b: Any = None,
    left: bool = False,
    right: bool = True,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    homogeneous_eigvals: bool = False,
) -> Any: ...
@overload
def eig_banded(
    a_band: Any,
    lower: bool = False,
    eigvals_only: Literal[False] = False,
    overwrite_a_band: bool = False,
    select: Any = 'a',
    select_range: Any = None,
    max_ev: Any = 0,
    check_finite: bool = True,
) -> tuple[Array, Array]: ...
@overload
def eig_banded(
    a_band: Any,
    lower: bool = False,
    *,
    eigvals_only: Literal[True],
    overwrite_a_band: bool = False,
    select: Any = 'a',
    select_range: Any = None,
    max_ev: Any = 0,
    check_finite: bool = True,
) -> Array: ...
@overload
def eig_banded(
    a_band: Any,
    lower: bool = False,
    eigvals_only: bool = False,
    overwrite_a_band: bool = False,
    select: Any = 'a',
    select_range: Any = None,
    max_ev: Any = 0,
    check_finite: bool = True,
) -> Any: ...
@overload
def eigh(
    a: Any,
    b: Any = None,
    *,
    lower: bool = True,
    eigvals_only: Literal[False] = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    type: Any = 1,
    check_finite: bool = True,
    subset_by_index: Any = None,
    subset_by_value: Any = None,
    driver: Any = None,
) -> tuple[Array, Array]: ...
@overload
def eigh(
    a: Any,
    b: Any = None,
    *,
    lower: bool = True,
    eigvals_only: Literal[True],
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    type: Any = 1,
    check_finite: bool = True,
    subset_by_index: Any = None,
    subset_by_value: Any = None,
    driver: Any = None,
) -> Array: ...
@overload
def eigh(
    a: Any,
    b: Any = None,
    *,
    lower: bool = True,
    eigvals_only: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    type: Any = 1,
    check_finite: bool = True,
    subset_by_index: Any = None,
    subset_by_value: Any = None,
    driver: Any = None,
) -> Any: ...
@overload
def eigh_tridiagonal(
    d: Any,
    e: Any,
    eigvals_only: Literal[False] = False,
    select: Any = 'a',
    select_range: Any = None,
    check_finite: bool = True,
    tol: Any = 0.0,
    lapack_driver: Any = 'auto',
) -> tuple[Array, Array]: ...
@overload
def eigh_tridiagonal(
    d: Any,
    e: Any,
    *,
    eigvals_only: Literal[True],
    select: Any = 'a',
    select_range: Any = None,
    check_finite: bool = True,
    tol: Any = 0.0,
    lapack_driver: Any = 'auto',
) -> Array: ...
@overload
def eigh_tridiagonal(
    d: Any,
    e: Any,
    eigvals_only: bool = False,
    select: Any = 'a',
    select_range: Any = None,
    check_finite: bool = True,
    tol: Any = 0.0,
    lapack_driver: Any = 'auto',
) -> Any: ...
def eigvals(
    a: Any,
    b: Any = None,
    overwrite_a: bool = False,
    check_finite: bool = True,
    homogeneous_eigvals: bool = False,
) -> Array: ...
def eigvals_banded(
    a_band: Any,
    lower: bool = False,
    overwrite_a_band: bool = False,
    select: Any = 'a',
    select_range: Any = None,
    check_finite: bool = True,
) -> Array: ...
def eigvalsh(
    a: Any,
    b: Any = None,
    *,
    lower: bool = True,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    type: Any = 1,
    check_finite: bool = True,
    subset_by_index: Any = None,
    subset_by_value: Any = None,
    driver: Any = None,
) -> Array: ...
def eigvalsh_tridiagonal(
    d: Any,
    e: Any,
    select: Any = 'a',
    select_range: Any = None,
    check_finite: bool = True,
    tol: Any = 0.0,
    lapack_driver: Any = 'auto',
) -> Array: ...
def expm(A: Any) -> Array: ...
def expm_cond(A: Any, check_finite: bool = True) -> Any: ...
@overload
def expm_frechet(
    A: Any,
    E: Any,
    method: Any = None,
    compute_expm: Literal[True] = True,
    check_finite: bool = True,
) -> tuple[Array, Array]: ...
@overload
def expm_frechet(
    A: Any,
    E: Any,
    method: Any = None,
    *,
    compute_expm: Literal[False],
    check_finite: bool = True,
) -> Array: ...
@overload
def expm_frechet(
    A: Any,
    E: Any,
    method: Any = None,
    compute_expm: bool = True,
    check_finite: bool = True,
) -> Any: ...
def fiedler(a: Any) -> Array: ...
def fiedler_companion(a: Any) -> Array: ...
def find_best_blas_type(arrays: Any = ..., dtype: Any = None) -> Any: ...
def fractional_matrix_power(A: Any, t: Any) -> Array: ...
def funm(A: Any, func: Any, disp: bool = True) -> Any: ...
def get_blas_funcs(
    names: Any,
    arrays: Any = ...,
    dtype: Any = None,
    ilp64: bool = False,
) -> Any: ...
def get_lapack_funcs(
    names: Any,
    arrays: Any = ...,
    dtype: Any = None,
    ilp64: bool = False,
) -> Any: ...
def hadamard(n: Any, dtype: Any = ...) -> Array: ...
def hankel(c: Any, r: Any = None) -> Array: ...
def helmert(n: Any, full: bool = False) -> Array: ...
@overload
def hessenberg(
    a: Any,
    calc_q: Literal[False] = False,
    overwrite_a: bool = False,
    check_finite: bool = True,
) -> Array: ...
@overload
def hessenberg(
    a: Any,
    *,
    calc_q: Literal[True],
    overwrite_a: bool = False,
    check_finite: bool = True,
) -> tuple[Array, Array]: ...
@overload
def hessenberg(
    a: Any,
    calc_q: bool = False,
    overwrite_a: bool = False,
    check_finite: bool = True,
) -> Any: ...
def hilbert(n: Any) -> Array: ...
def inv(
    a: Any,
    overwrite_a: bool = False,
    check_finite: bool = True,
    *,
    assume_a: Any = None,
    lower: bool = False,
) -> Array: ...
def invhilbert(n: Any, exact: bool = False) -> Array: ...
def invpascal(n: Any, kind: Any = 'symmetric', exact: bool = True) -> Any: ...
def ishermitian(a: Any, atol: Any = None, rtol: Any = None) -> bool: ...
def issymmetric(a: Any, atol: Any = None, rtol: Any = None) -> bool: ...
def khatri_rao(a: Any, b: Any) -> Array: ...
def ldl(
    A: Any,
    lower: bool = True,
    hermitian: bool = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
) -> tuple[Array, Array, Array]: ...
def leslie(f: Any, s: Any) -> Array: ...
def logm(A: Any, disp: Any = ...) -> Array: ...
def lstsq(
    a: ArrayLike,
    b: ArrayLike,
    cond: Any = None,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    lapack_driver: str | None = None,
) -> tuple[Array, Array, Any, Array | None]: ...
@overload
def lu(
    a: Any,
    permute_l: Literal[False] = False,
    overwrite_a: bool = False,
    check_finite: bool = True,
    p_indices: bool = False,
) -> tuple[Array, Array, Array]: ...
@overload
def lu(
    a: Any,
    *,
    permute_l: Literal[True],
    overwrite_a: bool = False,
    check_finite: bool = True,
    p_indices: bool = False,
) -> tuple[Array, Array]: ...
@overload
def lu(
    a: Any,
    permute_l: bool = False,
    overwrite_a: bool = False,
    check_finite: bool = True,
    p_indices: bool = False,
) -> Any: ...
def lu_factor(
    a: Any,
    overwrite_a: bool = False,
    check_finite: bool = True,
) -> tuple[Array, Array]: ...
def lu_solve(
    lu_and_piv: Any,
    b: Any,
    trans: Any = 0,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Array: ...
def matmul_toeplitz(
    c_or_cr: Any,
    x: Any,
    check_finite: bool = False,
    workers: Any = None,
) -> Array: ...
@overload
def matrix_balance(
    A: Any,
    permute: bool = True,
    scale: bool = True,
    separate: Literal[False] = False,
    overwrite_a: bool = False,
) -> tuple[Array, Array]: ...
@overload
def matrix_balance(
    A: Any,
    permute: bool = True,
    scale: bool = True,
    *,
    separate: Literal[True],
    overwrite_a: bool = False,
) -> tuple[Array, tuple[Array, Array]]: ...
@overload
def matrix_balance(
    A: Any,
    permute: bool = True,
    scale: bool = True,
    separate: bool = False,
    overwrite_a: bool = False,
) -> Any: ...
@overload
def norm(
    a: ArrayLike,
    ord: Any = None,
    axis: None = None,
    keepdims: Literal[False] = False,
    check_finite: bool = True,
) -> np.float64: ...
@overload
def norm(
    a: ArrayLike,
    ord: Any = None,
    *,
    axis: Shape,
    keepdims: bool = False,
    check_finite: bool = True,
) -> Array: ...
@overload
def norm(
    a: ArrayLike,
    ord: Any = None,
    axis: Shape | None = None,
    keepdims: bool = False,
    check_finite: bool = True,
) -> Any: ...
def null_space(
    A: Any,
    rcond: Any = None,
    *,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: Any = 'gesdd',
) -> Array: ...
def ordqz(
    A: Any,
    B: Any,
    sort: Any = 'lhp',
    output: Any = 'real',
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any: ...
def orth(A: Any, rcond: Any = None) -> Array: ...
def orthogonal_procrustes(A: Any, B: Any, check_finite: bool = True) -> Any: ...
def pascal(n: Any, kind: Any = 'symmetric', exact: bool = True) -> Array: ...
@overload
def pinv(
    a: Any,
    *,
    atol: Any = None,
    rtol: Any = None,
    return_rank: Literal[False] = False,
    check_finite: bool = True,
) -> Array: ...
@overload
def pinv(
    a: Any,
    *,
    atol: Any = None,
    rtol: Any = None,
    return_rank: Literal[True],
    check_finite: bool = True,
) -> tuple[Array, int]: ...
@overload
def pinv(
    a: Any,
    *,
    atol: Any = None,
    rtol: Any = None,
    return_rank: bool = False,
    check_finite: bool = True,
) -> Any: ...
@overload
def pinvh(
    a: Any,
    atol: Any = None,
    rtol: Any = None,
    lower: bool = True,
    return_rank: Literal[False] = False,
    check_finite: bool = True,
) -> Array: ...
@overload
def pinvh(
    a: Any,
    atol: Any = None,
    rtol: Any = None,
    lower: bool = True,
    *,
    return_rank: Literal[True],
    check_finite: bool = True,
) -> tuple[Array, int]: ...
@overload
def pinvh(
    a: Any,
    atol: Any = None,
    rtol: Any = None,
    lower: bool = True,
    return_rank: bool = False,
    check_finite: bool = True,
) -> Any: ...
def polar(a: Any, side: Any = 'right') -> tuple[Array, Array]: ...
@overload
def qr(
    a: ArrayLike,
    overwrite_a: bool = False,
    lwork: Any = None,
    mode: Literal['full', 'economic'] = 'full',
    pivoting: Literal[False] = False,
    check_finite: bool = True,
) -> tuple[Array, Array]: ...
@overload
def qr(
    a: ArrayLike,
    overwrite_a: bool = False,
    lwork: Any = None,
    mode: Literal['full', 'economic'] = 'full',
    *,
    pivoting: Literal[True],
    check_finite: bool = True,
) -> tuple[Array, Array, Array]: ...
@overload
def qr(
    a: ArrayLike,
    overwrite_a: bool = False,
    lwork: Any = None,
    *,
    mode: Literal['r'],
    pivoting: Literal[False] = False,
    check_finite: bool = True,
) -> tuple[Array]: ...
@overload
def qr(
    a: ArrayLike,
    overwrite_a: bool = False,
    lwork: Any = None,
    mode: str = 'full',
    pivoting: bool = False,
    check_finite: bool = True,
) -> tuple[Any, ...]: ...
def qr_delete(
    Q: Any,
    R: Any,
    k: Any,
    p: Any = 1,
    which: Any = 'row',
    overwrite_qr: bool = False,
    check_finite: bool = True,
) -> Any: ...
def qr_insert(
    Q: Any,
    R: Any,
    u: Any,
    k: Any,
    which: Any = 'row',
    rcond: Any = None,
    overwrite_qru: bool = False,
    check_finite: bool = True,
) -> Any: ...
def qr_multiply(
    a: Any,
    c: Any,
    mode: Any = 'right',
    pivoting: bool = False,
    conjugate: bool = False,
    overwrite_a: bool = False,
    overwrite_c: bool = False,
) -> Any: ...
def qr_update(
    Q: Any,
    R: Any,
    u: Any,
    v: Any,
    overwrite_qruv: bool = False,
    check_finite: bool = True,
) -> Any: ...
def qz(
    A: Any,
    B: Any,
    output: Any = 'real',
    lwork: Any = None,
    sort: Any = None,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> tuple[Array, Array, Array, Array]: ...
@overload
def rq(
    a: Any,
    overwrite_a: bool = False,
    lwork: Any = None,
    mode: Literal['full', 'economic'] = 'full',
    check_finite: bool = True,
) -> tuple[Array, Array]: ...
@overload
def rq(
    a: Any,
    overwrite_a: bool = False,
    lwork: Any = None,
    *,
    mode: Literal['r'],
    check_finite: bool = True,
) -> Array: ...
@overload
def rq(
    a: Any,
    overwrite_a: bool = False,
    lwork: Any = None,
    mode: Any = 'full',
    check_finite: bool = True,
) -> Any: ...
def rsf2csf(T: Any, Z: Any, check_finite: bool = True) -> tuple[Array, Array]: ...
@overload
def schur(
    a: Any,
    output: Any = 'real',
    lwork: Any = None,
    overwrite_a: bool = False,
    sort: None = None,
    check_finite: bool = True,
) -> tuple[Array, Array]: ...
@overload
def schur(
    a: Any,
    output: Any = 'real',
    lwork: Any = None,
    overwrite_a: bool = False,
    *,
    sort: str,
    check_finite: bool = True,
) -> tuple[Array, Array, int]: ...
@overload
def schur(
    a: Any,
    output: Any = 'real',
    lwork: Any = None,
    overwrite_a: bool = False,
    sort: Any = None,
    check_finite: bool = True,
) -> Any: ...
def signm(A: Any, disp: Any = ...) -> Array: ...
def sinhm(A: Any) -> Array: ...
def sinm(A: Any) -> Array: ...
def solve(
    a: Any,
    b: Any,
    lower: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    assume_a: Any = None,
    transposed: bool = False,
) -> Array: ...
def solve_banded(
    l_and_u: Any,
    ab: Any,
    b: Any,
    overwrite_ab: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Array: ...
def solve_circulant(
    c: Any,
    b: Any,
    singular: Any = 'raise',
    tol: Any = None,
    caxis: Any = -1,
    baxis: Any = 0,
    outaxis: Any = 0,
) -> Array: ...
def solve_continuous_are(
    a: Any,
    b: Any,
    q: Any,
    r: Any,
    e: Any = None,
    s: Any = None,
    balanced: bool = True,
) -> Array: ...
def solve_continuous_lyapunov(a: Any, q: Any) -> Array: ...
def solve_discrete_are(
    a: Any,
    b: Any,
    q: Any,
    r: Any,
    e: Any = None,
    s: Any = None,
    balanced: bool = True,
) -> Array: ...
def solve_discrete_lyapunov(a: Any, q: Any, method: Any = None) -> Array: ...
def solve_lyapunov(a: Any, q: Any) -> Array: ...
def solve_sylvester(a: Any, b: Any, q: Any) -> Array: ...
def solve_toeplitz(c_or_cr: Any, b: Any, check_finite: bool = True) -> Array: ...
def solve_triangular(
    a: Any,
    b: Any,
    trans: Any = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Array: ...
def solveh_banded(
    ab: Any,
    b: Any,
    overwrite_ab: bool = False,
    overwrite_b: bool = False,
    lower: bool = False,
    check_finite: bool = True,
) -> Array: ...
def sqrtm(A: Any, disp: Any = ..., blocksize: Any = ...) -> Array: ...
def subspace_angles(A: Any, B: Any) -> Array: ...
@overload
def svd(
    a: Any,
    full_matrices: bool = True,
    compute_uv: Literal[True] = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: Any = 'gesdd',
) -> tuple[Array, Array, Array]: ...
@overload
def svd(
    a: Any,
    full_matrices: bool = True,
    *,
    compute_uv: Literal[False],
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: Any = 'gesdd',
) -> Array: ...
@overload
def svd(
    a: Any,
    full_matrices: bool = True,
    compute_uv: bool = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: Any = 'gesdd',
) -> Any: ...
def svdvals(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Array: ...
def tanhm(A: Any) -> Array: ...
def tanm(A: Any) -> Array: ...
def toeplitz(c: Any, r: Any = None) -> Array: ...
