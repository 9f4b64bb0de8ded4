"""Products of reflections, and the factors of QR as LAPACK packs them.

Knows NumPy's raw QR. Must not know tensors.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad._core.types import Value
from tapegrad.torch import return_types
from tapegrad.torch._ops.declare import operation, private
from tapegrad.torch._ops.linalg.checks import require_matrices
from tapegrad.torch._rules.declare import general, refused


def _adjoint(x: Value) -> Value:
    flipped = np.swapaxes(x, -1, -2)
    return np.conjugate(flipped) if x.dtype.kind == "c" else flipped


@general("GeqrfBackward0", refused("the derivative for 'geqrf' is not implemented."))
def _raw_factors(x: Value) -> Any:
    raw, tau = np.linalg.qr(x, mode="raw")
    return np.ascontiguousarray(np.swapaxes(raw, -1, -2)), tau


@operation("GeqrfBackward0")
def geqrf(input: Value) -> Any:
    """QR as LAPACK packs it: R above, the vectors of reflections below, and their factors tau.

    It has no derivative: a backward pass is a NotImplementedError. `linalg.qr` has one.

    input: Matrices (..., n, m).
    -> named tuple: The matrices `a` (..., n, m), and the factors `tau` (..., min(n, m)).
    """
    require_matrices("geqrf", input)
    return return_types.geqrf(*_raw_factors(input))


def _check(word: str, A: Value, tau: Value) -> None:
    if len(A.shape) < 2:
        raise RuntimeError(f"{word}: input must have at least 2 dimensions.")
    if A.shape[-2] < A.shape[-1]:
        raise RuntimeError(
            f"{word}: input.shape[-2] must be greater than or equal to input.shape[-1]"
        )
    if A.shape[-1] < tau.shape[-1]:
        raise RuntimeError(
            f"{word}: input.shape[-1] must be greater than or equal to tau.shape[-1]"
        )
    if A.shape[:-2] != tau.shape[:-1]:
        raise RuntimeError(
            f"{word}: Expected batch dimensions of tau to be equal to input.shape[:-2], but got "
            f"{list(tau.shape[:-1])}"
        )
    if A.dtype != tau.dtype:
        raise RuntimeError(f"{word}: tau dtype {tau.dtype} does not match input dtype {A.dtype}")


def _reflected(A: Value, tau: Value, k: int, x: Value, adjoint: bool = False) -> Value:
    """Reflection number k of a matrix x from the left."""
    rows = A.shape[-2]
    unit = (np.arange(rows) == k).astype(A.dtype)
    below = (np.arange(rows) > k).astype(A.dtype)
    v = (A[..., :, k] * below + unit)[..., None]
    factor = tau[..., k, None, None]
    factor = np.conjugate(factor) if adjoint and A.dtype.kind == "c" else factor
    return x - factor * np.matmul(v, np.matmul(_adjoint(v), x))


def _product(A: Value, tau: Value) -> Value:
    _check("torch.linalg.householder_product", A, tau)
    rows, columns = A.shape[-2:]
    made = np.broadcast_to(np.eye(rows, columns, dtype=A.dtype), A.shape)
    for k in reversed(range(tau.shape[-1])):
        made = _reflected(A, tau, k, made)
    return made


@private("LinalgHouseholderProductBackward0", name="linalg_householder_product")
def householder_product(A: Value, tau: Value) -> Value:
    """The first columns of the product of reflections that geqrf packs.

    A: Vectors of reflections (..., n, m), as `geqrf` packs them.
    -> Tensor: Matrices (..., n, m) of orthonormal columns.
    """
    return _product(A, tau)


@operation("LinalgHouseholderProductBackward0")
def orgqr(input: Value, input2: Value) -> Value:
    """The older name of `linalg.householder_product`.

    input: Vectors of reflections (..., n, m), as `geqrf` packs them.
    input2: The factors (..., k) of the reflections.
    -> Tensor: Matrices (..., n, m) of orthonormal columns.
    """
    return _product(input, input2)


@operation("OrmqrBackward0")
def ormqr(
    input: Value, tau: Value, other: Value, left: bool = True, transpose: bool = False
) -> Value:
    """`Q @ other`, or `other @ Q` if not left, for the square Q of reflections.

    input: Vectors of reflections (..., n, k), as `geqrf` packs them.
    other: The matrices (..., n, m) that Q multiplies.
    left: Whether Q stands on the left.
    transpose: Whether Q.mH is meant.
    -> Tensor: Matrices in the shape of `other`.
    """
    if len(input.shape) < 2:
        raise RuntimeError("torch.ormqr: input must have at least 2 dimensions.")
    if len(other.shape) < 2:
        raise RuntimeError("torch.ormqr: other must have at least 2 dimensions.")
    if other.shape[-2 if left else -1] < tau.shape[-1]:
        raise RuntimeError(
            f"torch.ormqr: other.shape[{-2 if left else -1}] must be greater than or equal to "
            "tau.shape[-1]"
        )
    if other.shape[-2 if left else -1] != input.shape[-2]:
        raise RuntimeError(
            f"torch.ormqr: other.shape[{-2 if left else -1}] must be equal to input.shape[-2]"
        )
    made = other if left else _adjoint(other)
    # From the right, other @ Q is the adjoint of Q.mH @ other.mH.
    adjoint = transpose is left
    order = range(tau.shape[-1]) if adjoint else reversed(range(tau.shape[-1]))
    for k in order:
        made = _reflected(input, tau, k, made, adjoint)
    return made if left else _adjoint(made)
