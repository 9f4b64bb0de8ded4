"""Least squares, pseudo-inverses, norms, and bases of subspaces.

Bases of a null space or of a range may be rotated without a change of the space: of what depends
on this the derivative is that of the basis that moves least (docs/kinks.md).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from tapegrad._core.types import Value
from tapegrad._core.values import any_true, branch_on, itself, untraced
from tapegrad.rules.matrices import adjoint, row
from tapegrad.scipy.linalg._inputs import array, arrays, checked, expressed, fixed, refuse
from tapegrad.scipy.linalg._spectra import svd
from tapegrad.scipy.linalg._structure import promised

# Whether SciPy's sums of squares have the dtype of the arguments: from 1.18 on.
_COMPLEX_RESIDUALS = scipy.linalg.lstsq(np.eye(2, 1) + 0j, np.ones(2))[1].dtype.kind == "c"


def _lstsq(
    a: Value,
    b: Value,
    cond: float | None,
    overwrite_a: bool,
    overwrite_b: bool,
    check_finite: bool,
    lapack_driver: str | None,
) -> tuple[Value, Value, Value, Value]:
    a, b = arrays(a, b, check_finite=check_finite)
    if lapack_driver not in (None, "gelsd", "gelsy", "gelss"):
        raise ValueError(f'LAPACK driver "{lapack_driver}" is not found')
    if a.ndim > 2 or b.ndim > 2:
        raise refuse("lstsq", "several matrices", "Use vmap, or a loop over the matrices.")
    kind = np.result_type(a.dtype, b.dtype)
    cutoff = np.finfo(kind).eps if cond is None else cond
    x, residuals, rank, s = np.linalg.lstsq(a, b, rcond=cutoff)
    if lapack_driver == "gelsy":
        return x, np.zeros(0, kind), rank, None
    if b.ndim == 1 and residuals.shape == (1,):
        residuals = residuals[0]
    if _COMPLEX_RESIDUALS:
        residuals = residuals.astype(kind)
    return x, residuals, rank, s


def _cutoff(a: Value, s: Value, atol: Value, rtol: Value) -> Any:
    atol = 0.0 if atol is None else atol
    rtol = max(a.shape[-2:]) * np.finfo(a.dtype).eps if rtol is None else rtol
    if atol < 0 or rtol < 0:
        raise ValueError("atol and rtol values must be positive.")
    return atol + rtol * np.max(np.abs(untraced(s)), axis=-1, initial=0.0, keepdims=True)


def _pinv(
    a: Value, *, atol: float | None, rtol: float | None, return_rank: bool, check_finite: bool
) -> Any:
    a = checked(a, check_finite)
    s = np.linalg.svd(untraced(a), compute_uv=False)
    cutoff = _cutoff(a, s, atol, rtol)
    if atol is None:
        fraction = max(a.shape[-2:]) * np.finfo(a.dtype).eps if rtol is None else rtol
        found = np.linalg.pinv(a, rcond=fraction)
    else:
        u, values, vh = np.linalg.svd(a, full_matrices=False)
        kept = untraced(values) > cutoff
        inverse = np.where(kept, 1 / np.where(kept, values, 1), 0)
        found = np.matmul(adjoint(vh) * row(inverse), adjoint(u))
    return (found, np.sum(s > cutoff, axis=-1)) if return_rank else found


def _pinvh(
    a: Value,
    atol: float | None,
    rtol: float | None,
    lower: bool,
    return_rank: bool,
    check_finite: bool,
) -> Any:
    a = promised(checked(a, check_finite), lower)
    w, v = np.linalg.eigh(a)
    kept = np.abs(untraced(w)) > _cutoff(a, w, atol, rtol)
    inverse = np.where(kept, 1 / np.where(kept, w, 1), 0)
    found = np.matmul(v * row(inverse), adjoint(v))
    return (found, np.sum(kept, axis=-1)) if return_rank else found


def _norm(a: Value, ord: Any, axis: Any, keepdims: bool, check_finite: bool) -> Value:
    return np.linalg.norm(checked(a, check_finite), ord, axis, keepdims)


lstsq = expressed(scipy.linalg.lstsq, _lstsq)
pinv = expressed(scipy.linalg.pinv, _pinv)
pinvh = expressed(scipy.linalg.pinvh, _pinvh)
norm = expressed(scipy.linalg.norm, _norm)

# --- Bases


def _rank(a: Value, s: Value, rcond: float | None) -> int:
    rcond = np.finfo(s.dtype).eps * max(a.shape[-2:]) if rcond is None else rcond
    values = branch_on(itself, s)
    ranks = np.sum(values > rcond * np.max(values, axis=-1, initial=0.0, keepdims=True), axis=-1)
    if ranks.size and np.any(ranks != ranks.flat[0]):
        raise refuse("orth and null_space", "matrices of several ranks", "Loop over the matrices.")
    return int(ranks.flat[0]) if ranks.size else 0


def _null_space(
    A: Value, rcond: float | None, *, overwrite_a: bool, check_finite: bool, lapack_driver: str
) -> Value:
    a = checked(A, check_finite)
    _, s, vh = svd(a, lapack_driver=lapack_driver)
    return adjoint(vh[..., _rank(a, s, rcond) :, :])


def _orth(A: Value, rcond: float | None = None) -> Value:
    a = checked(A)
    u, s, _ = svd(a, full_matrices=False)
    return u[..., :, : _rank(a, s, rcond)]


def _subspace_angles(A: Value, B: Value) -> Value:
    """A. V. Knyazev and M. E. Argentati (2002), as SciPy: by sines where these are smaller."""
    a, b = arrays(A, B)
    if a.ndim != 2 or b.ndim != 2:
        raise ValueError(f"expected 2D array, got shape {a.shape if a.ndim != 2 else b.shape}")
    if len(a) != len(b):
        raise ValueError(f"A and B must have the same number of rows, got {len(a)} and {len(b)}")
    first, second = _orth(a), _orth(b)
    inner = np.matmul(adjoint(first), second)
    cosines = np.linalg.svd(inner, compute_uv=False)
    if first.shape[1] >= second.shape[1]:
        rest = second - np.matmul(first, inner)
    else:
        rest = first - np.matmul(second, adjoint(inner))
    near = untraced(cosines) ** 2 >= 0.5
    angles = np.arccos(np.where(near, 0, cosines[::-1]))
    if not any_true(near):
        return angles
    sines = np.linalg.svd(rest, compute_uv=False)
    return np.where(near, np.arcsin(np.where(near, sines, 0)), angles)


def _orthogonal_procrustes(A: Value, B: Value, check_finite: bool = True) -> tuple[Value, Value]:
    a, b = arrays(A, B, check_finite=check_finite)
    if a.ndim != 2:
        raise ValueError(f"expected ndim to be 2, but observed {a.ndim}")
    if a.shape != b.shape:
        raise ValueError(f"the shapes of A and B differ ({a.shape} vs {b.shape})")
    u, s, vh = np.linalg.svd(np.matmul(adjoint(a), b))
    return np.matmul(u, vh), np.sum(s)


null_space = expressed(scipy.linalg.null_space, _null_space)
orth = expressed(scipy.linalg.orth, _orth)
subspace_angles = expressed(scipy.linalg.subspace_angles, _subspace_angles)
orthogonal_procrustes = expressed(scipy.linalg.orthogonal_procrustes, _orthogonal_procrustes)


def _matrix_balance(
    A: Value, permute: bool, scale: bool, separate: bool, overwrite_a: bool
) -> tuple[Value, Any]:
    """inv(t) a t with a t of powers of two, which is a constant."""
    a = array(A)
    options = {"permute": permute, "scale": scale}
    t = BALANCE.apply_bound([untraced(a)], options)
    balanced = np.linalg.solve(t.astype(a.dtype), np.matmul(a, t.astype(a.dtype)))
    if not separate:
        return balanced, t
    if not isinstance(t, np.ndarray):
        raise refuse("matrix_balance", "separate=True inside vmap", "Leave it away.")
    return balanced, scipy.linalg.matrix_balance(untraced(a), separate=True, **options)[1]


def _plain_balance(a: Value, **options: Any) -> Value:
    return scipy.linalg.matrix_balance(a, **options)[1]


BALANCE = fixed(_plain_balance)
matrix_balance = expressed(scipy.linalg.matrix_balance, _matrix_balance)

__all__ = [
    "lstsq",
    "matrix_balance",
    "norm",
    "null_space",
    "orth",
    "orthogonal_procrustes",
    "pinv",
    "pinvh",
    "subspace_angles",
]
