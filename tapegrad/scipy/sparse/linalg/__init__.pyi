"""`scipy.sparse.linalg` with derivatives, for type checkers and editors.

Written by docs/scipy_stubs.py with SciPy 1.17: change that, not this.
"""

from tapegrad.scipy._kinds import Array
from typing import Any
from scipy.sparse.linalg import ArpackError as ArpackError
from scipy.sparse.linalg import ArpackNoConvergence as ArpackNoConvergence
from scipy.sparse.linalg import LaplacianNd as LaplacianNd
from scipy.sparse.linalg import LinearOperator as LinearOperator
from scipy.sparse.linalg import MatrixRankWarning as MatrixRankWarning
from scipy.sparse.linalg import dsolve as dsolve
from scipy.sparse.linalg import eigen as eigen
from scipy.sparse.linalg import interface as interface
from scipy.sparse.linalg import isolve as isolve
from scipy.sparse.linalg import matfuncs as matfuncs
from tapegrad.scipy.sparse.linalg._direct import SuperLU as SuperLU

def aslinearoperator(A: Any) -> Any: ...
def bicg(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    rtol: Any = 1e-05,
    atol: Any = 0.0,
    maxiter: Any = None,
    M: Any = None,
    callback: Any = None,
) -> tuple[Array, int]: ...
def bicgstab(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    rtol: Any = 1e-05,
    atol: Any = 0.0,
    maxiter: Any = None,
    M: Any = None,
    callback: Any = None,
) -> tuple[Array, int]: ...
def cg(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    rtol: Any = 1e-05,
    atol: Any = 0.0,
    maxiter: Any = None,
    M: Any = None,
    callback: Any = None,
) -> tuple[Array, int]: ...
def cgs(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    rtol: Any = 1e-05,
    atol: Any = 0.0,
    maxiter: Any = None,
    M: Any = None,
    callback: Any = None,
) -> tuple[Array, int]: ...
def eigs(
    A: Any,
    k: Any = 6,
    M: Any = None,
    sigma: Any = None,
    which: Any = 'LM',
    v0: Any = None,
    ncv: Any = None,
    maxiter: Any = None,
    tol: Any = 0,
    return_eigenvectors: bool = True,
    Minv: Any = None,
    OPinv: Any = None,
    OPpart: Any = None,
    rng: Any = None,
) -> Any: ...
def eigsh(
    A: Any,
    k: Any = 6,
    M: Any = None,
    sigma: Any = None,
    which: Any = 'LM',
    v0: Any = None,
    ncv: Any = None,
    maxiter: Any = None,
    tol: Any = 0,
    return_eigenvectors: bool = True,
    Minv: Any = None,
    OPinv: Any = None,
    mode: Any = 'normal',
    rng: Any = None,
) -> Any: ...
def expm(A: Any) -> Any: ...
def expm_multiply(
    A: Any,
    B: Any,
    start: Any = None,
    stop: Any = None,
    num: Any = None,
    endpoint: Any = None,
    traceA: Any = None,
) -> Array: ...
def factorized(A: Any) -> Any: ...
def funm_multiply_krylov(
    f: Any,
    A: Any,
    b: Any,
    *,
    assume_a: Any = 'general',
    t: Any = 1.0,
    atol: Any = 0.0,
    rtol: Any = 1e-06,
    restart_every_m: Any = None,
    max_restarts: Any = 20,
) -> Array: ...
def gcrotmk(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    rtol: Any = 1e-05,
    atol: Any = 0.0,
    maxiter: Any = 1000,
    M: Any = None,
    callback: Any = None,
    m: Any = 20,
    k: Any = None,
    CU: Any = None,
    discard_C: bool = False,
    truncate: Any = 'oldest',
) -> tuple[Array, int]: ...
def gmres(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    rtol: Any = 1e-05,
    atol: Any = 0.0,
    restart: Any = None,
    maxiter: Any = None,
    M: Any = None,
    callback: Any = None,
    callback_type: Any = None,
) -> tuple[Array, int]: ...
def inv(A: Any) -> Any: ...
def is_sptriangular(A: Any) -> Any: ...
def lgmres(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    rtol: Any = 1e-05,
    atol: Any = 0.0,
    maxiter: Any = 1000,
    M: Any = None,
    callback: Any = None,
    inner_m: Any = 30,
    outer_k: Any = 3,
    outer_v: Any = None,
    store_outer_Av: bool = True,
    prepend_outer_v: bool = False,
) -> tuple[Array, int]: ...
def lobpcg(
    A: Any,
    X: Any,
    B: Any = None,
    M: Any = None,
    Y: Any = None,
    tol: Any = None,
    maxiter: Any = None,
    largest: bool = True,
    verbosityLevel: Any = 0,
    retLambdaHistory: bool = False,
    retResidualNormsHistory: bool = False,
    restartControl: Any = 20,
) -> Any: ...
def lsmr(
    A: Any,
    b: Any,
    damp: Any = 0.0,
    atol: Any = 1e-06,
    btol: Any = 1e-06,
    conlim: Any = 100000000.0,
    maxiter: Any = None,
    show: bool = False,
    x0: Any = None,
) -> Any: ...
def lsqr(
    A: Any,
    b: Any,
    damp: Any = 0.0,
    atol: Any = 1e-06,
    btol: Any = 1e-06,
    conlim: Any = 100000000.0,
    iter_lim: Any = None,
    show: bool = False,
    calc_var: bool = False,
    x0: Any = None,
) -> Any: ...
def matrix_power(A: Any, power: Any) -> Any: ...
def minres(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    rtol: Any = 1e-05,
    shift: Any = 0.0,
    maxiter: Any = None,
    M: Any = None,
    callback: Any = None,
    show: bool = False,
    check: bool = False,
) -> tuple[Array, int]: ...
def norm(x: Any, ord: Any = None, axis: Any = None) -> Any: ...
def onenormest(
    A: Any,
    t: Any = 2,
    itmax: Any = 5,
    compute_v: bool = False,
    compute_w: bool = False,
) -> Any: ...
def qmr(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    rtol: Any = 1e-05,
    atol: Any = 0.0,
    maxiter: Any = None,
    M1: Any = None,
    M2: Any = None,
    callback: Any = None,
) -> tuple[Array, int]: ...
def spbandwidth(A: Any) -> Any: ...
def spilu(
    A: Any,
    drop_tol: Any = None,
    fill_factor: Any = None,
    drop_rule: Any = None,
    permc_spec: Any = None,
    diag_pivot_thresh: Any = None,
    relax: Any = None,
    panel_size: Any = None,
    options: Any = None,
) -> Any: ...
def splu(A: Any, **options: Any) -> Any: ...
def spsolve(A: Any, b: Any, permc_spec: Any = None, use_umfpack: bool = True) -> Any: ...
def spsolve_triangular(
    A: Any,
    b: Any,
    lower: bool = True,
    overwrite_A: bool = False,
    overwrite_b: bool = False,
    unit_diagonal: bool = False,
) -> Array: ...
def svds(
    A: Any,
    k: Any = 6,
    ncv: Any = None,
    tol: Any = 0,
    which: Any = 'LM',
    v0: Any = None,
    maxiter: Any = None,
    return_singular_vectors: bool = True,
    solver: Any = 'arpack',
    rng: Any = None,
    options: Any = None,
    *,
    random_state: Any = None,
) -> Any: ...
def tfqmr(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    rtol: Any = 1e-05,
    atol: Any = 0.0,
    maxiter: Any = None,
    M: Any = None,
    callback: Any = None,
    show: bool = False,
) -> tuple[Array, int]: ...
def use_solver(**kwargs: Any) -> Any: ...
