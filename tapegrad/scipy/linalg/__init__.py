"""scipy.linalg with derivatives. Names that are not declared here are SciPy's own.

Shapes, dtypes and errors are those of SciPy's functions, also of batches; nothing is overwritten
in a trace. Matrices that are Hermitian by promise (`assume_a="pos"`, `eigh`, `cholesky`, ...) have
symmetric gradients, and equal or zero eigenvalues and singular values the policy of NumPy's
functions: docs/kinks.md.

>>> import numpy as np, tapegrad
>>> from tapegrad.scipy import linalg
>>> a = np.array([[2.0, 1.0], [1.0, 3.0]])
>>> factor = linalg.cho_factor(a)
>>> tapegrad.grad(lambda b: np.sum(linalg.cho_solve(factor, b)))(np.ones(2))
array([0.4, 0.2])
>>> tapegrad.grad(lambda t: np.sum(linalg.expm(t * a)))(0.0)
np.float64(7.0)
"""

from __future__ import annotations

from tapegrad.scipy._copied import copied
from tapegrad.scipy._mirror import namespace, shared_names
from tapegrad.scipy.linalg._banded import (
    cho_solve_banded,
    cholesky_banded,
    solve_banded,
    solveh_banded,
)
from tapegrad.scipy.linalg._control import (
    solve_continuous_are,
    solve_continuous_lyapunov,
    solve_discrete_are,
    solve_discrete_lyapunov,
    solve_lyapunov,
    solve_sylvester,
)
from tapegrad.scipy.linalg._equations import cho_solve, det, inv, lu_solve, solve, solve_triangular
from tapegrad.scipy.linalg._factorisations import (
    cho_factor,
    cholesky,
    lu,
    lu_factor,
    polar,
    qr,
    qr_multiply,
    rq,
    rsf2csf,
    schur,
)
from tapegrad.scipy.linalg._functions import (
    coshm,
    cosm,
    expm,
    expm_frechet,
    fractional_matrix_power,
    funm,
    logm,
    signm,
    sinhm,
    sinm,
    sqrtm,
    tanhm,
    tanm,
)
from tapegrad.scipy.linalg._least_squares import (
    lstsq,
    matrix_balance,
    norm,
    null_space,
    orth,
    orthogonal_procrustes,
    pinv,
    pinvh,
    subspace_angles,
)
from tapegrad.scipy.linalg._matrices import (
    block_diag,
    circulant,
    clarkson_woodruff_transform,
    companion,
    convolution_matrix,
    diagsvd,
    fiedler,
    fiedler_companion,
    hankel,
    khatri_rao,
    leslie,
    matmul_toeplitz,
    solve_circulant,
    solve_toeplitz,
    toeplitz,
)
from tapegrad.scipy.linalg._spectra import (
    eig,
    eig_banded,
    eigh,
    eigh_tridiagonal,
    eigvals,
    eigvals_banded,
    eigvalsh,
    eigvalsh_tridiagonal,
    svd,
    svdvals,
)
from tapegrad.scipy.linalg._undecided import MADE

__getattr__, __dir__ = namespace(__name__, "scipy.linalg")
globals().update(copied(__name__))

__all__ = list(shared_names(__name__, "scipy.linalg"))

# Functions without a derivative are not listed.
globals().update(MADE)
