"""Linear algebra: solving, determinants, factorisations, spectra and norms.

Formulas are derived with conjugate cotangents, where the inner product is Re tr(G^H X), and
conjugated at the border: a rule's own cotangents take no conjugates. M. Giles, "An extended
collection of matrix derivative results for forward and reverse mode algorithmic differentiation"
(2008), has the real cases; other sources stand where they are used.

cholesky, eigh and eigvalsh read one triangle of a matrix that is taken to be symmetric (Hermitian):
cotangents are symmetric, and of a tangent only the symmetric part counts.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad._rule import composite, constant, general, plain, strong_product, unsupported


def _transposed(x: Any) -> Any:
    return np.swapaxes(x, -1, -2)


def _adjoint(x: Any) -> Any:
    return np.conjugate(_transposed(x)) if x.dtype.kind == "c" else _transposed(x)


def _conjugate(x: Any) -> Any:
    return np.conjugate(x) if x.dtype.kind == "c" else x


def _hermitian_part(x: Any) -> Any:
    return (x + _adjoint(x)) / 2


def _column(x: Any) -> Any:
    return np.expand_dims(x, -1)


def _row(x: Any) -> Any:
    return np.expand_dims(x, -2)


def _diagonal(x: Any) -> Any:
    return np.diagonal(x, 0, -2, -1)


def _scalar(x: Any) -> Any:
    """Numbers, one a matrix, beside the matrices."""
    return _column(_column(x))


def _unit(x: Any) -> Any:
    return np.eye(x.shape[-1], dtype=x.dtype)


def _shaped(x: Any) -> Any:
    return x if hasattr(x, "shape") else np.asarray(x)


# --- inverse and solve


def _inv_vjp(g: Any, out: Any, _a: Any) -> Any:
    inverse = _transposed(out)
    return -np.matmul(np.matmul(inverse, g), inverse)


def _inv_jvp(dots: Any, out: Any, _a: Any) -> Any:
    return -np.matmul(np.matmul(out, dots[0]), out)


general(np.linalg.inv, vjp=[_inv_vjp], jvp=_inv_jvp, batch="(m,m)")


def _solve_b(g: Any, _out: Any, a: Any, _b: Any) -> Any:
    transposed = _transposed(_shaped(a))
    if len(_b.shape) == 1:  # a vector for all matrices; anything else is a stack of matrices
        return np.linalg.solve(transposed, _column(g))[..., 0]
    return np.linalg.solve(transposed, g)


def _solve_a(g: Any, out: Any, a: Any, _b: Any) -> Any:
    b_bar = _solve_b(g, out, a, _b)
    if len(_b.shape) == 1:
        return -_column(b_bar) * _row(out)
    return -np.matmul(b_bar, _transposed(out))


def _solve_jvp(dots: Any, out: Any, a: Any, _b: Any) -> Any:
    a_dot, b_dot = dots
    vector = len(_b.shape) == 1
    x = _column(out) if vector else out
    right = 0 if b_dot is None else _column(b_dot) if vector else b_dot
    right = right if a_dot is None else right - np.matmul(a_dot, x)
    out_dot = np.linalg.solve(_shaped(a), right)
    return out_dot[..., 0] if vector else out_dot


general(np.linalg.solve, vjp=[_solve_a, _solve_b], jvp=_solve_jvp, batch="(m,m),(m,k?)")


def _tensorinv(a: Any, ind: int = 2) -> Any:
    shape = a.shape[ind:] + a.shape[:ind]
    size = int(np.prod(a.shape[ind:]))
    return np.reshape(np.linalg.inv(np.reshape(a, (-1, size))), shape)


def _tensorsolve(a: Any, b: Any, axes: Any = None) -> Any:
    a, b = _shaped(a), _shaped(b)
    if axes is not None:
        axes = [axis % a.ndim for axis in axes]
        a = np.transpose(a, [axis for axis in range(a.ndim) if axis not in axes] + axes)
    shape = a.shape[b.ndim :]
    square = np.reshape(a, (-1, int(np.prod(shape))))
    return np.reshape(np.linalg.solve(square, np.ravel(b)), shape)


composite(np.linalg.tensorinv, _tensorinv)
composite(np.linalg.tensorsolve, _tensorsolve)

# --- determinants

# Beyond this ratio of largest to smallest singular value, det(a) * inv(a) loses more digits in a
# second derivative than the expansion about the singular values, which is good to that order.
_ILL_CONDITIONED = 1e5


def _cofactors(a: Any, det: Any) -> Any:
    """The matrix of cofactors, d det / d a.

    det(a) * inv(a).T where that is well conditioned. Elsewhere an expansion about the singular value
    decomposition a = u s v: exact, with its first derivative, at every rank.
    """
    if a.shape[-1] == 0:
        return np.zeros(a.shape, a.dtype)
    u, s, v = np.linalg.svd(plain(a))
    ill = ~(s[..., -1] * _ILL_CONDITIONED > s[..., 0])
    if not ill.any():
        return _scalar(det) * _transposed(np.linalg.inv(a))
    expanded = _expanded_cofactors(a, u, s, v)
    if ill.all():
        return expanded
    safe = np.where(_scalar(ill), _unit(a), a)
    return np.where(_scalar(ill), expanded, _scalar(det) * _transposed(np.linalg.inv(safe)))


def _expanded_cofactors(a: Any, u: Any, s: Any, v: Any) -> Any:
    """Cofactors of a near u @ diag(s) @ v, to first order in the difference (zero but for tracing).

    In the basis of u and v the matrix is diag(s) + e, and its determinant up to second order in e is
    prod(s) + sum_i e_ii prod_{j!=i} s_j + sum_{i<j} (e_ii e_jj - e_ij e_ji) prod_{k!=i,j} s_k.
    """
    count = a.shape[-1]
    others = ~np.eye(count, dtype=bool)
    without_one = np.prod(np.where(others, _row(s), 1), axis=-1)
    both = others[:, None, :] & others[None, :, :]
    without_two = np.prod(np.where(both, s[..., None, None, :], 1), axis=-1) * others
    rotated = np.matmul(np.matmul(_adjoint(u), a), _adjoint(v))
    e = rotated - np.eye(count) * _column(s)
    inner = -without_two * _transposed(e)
    diagonal = without_one + np.matmul(without_two, _column(_diagonal(e)))[..., 0]
    inner = inner + np.eye(count) * _column(diagonal)
    phase = _scalar(np.linalg.det(u) * np.linalg.det(v))
    return phase * np.matmul(np.matmul(np.conjugate(u), inner), np.conjugate(v))


def _det_vjp(g: Any, out: Any, a: Any) -> Any:
    return _scalar(g) * _cofactors(a, out)


def _det_jvp(dots: Any, out: Any, a: Any) -> Any:
    return np.sum(_cofactors(a, out) * dots[0], axis=(-2, -1))


general(np.linalg.det, vjp=[_det_vjp], jvp=_det_jvp, batch="(m,m)")


def _inverse_for_logarithm(a: Any, sign: Any) -> Any:
    """The inverse; nan for singular matrices, where log|det| is -inf and has no derivative."""
    singular = _scalar(plain(sign) == 0)
    if not singular.any():
        return np.linalg.inv(a)
    return np.where(singular, np.nan, np.linalg.inv(np.where(singular, _unit(a), a)))


def _slogdet_vjp(g: Any, out: Any, a: Any) -> Any:
    sign, _ = out
    sign_bar, log_bar = g
    if sign.dtype.kind == "c":
        # d sign = sign * i Im tr(inv(a) da), d log = Re tr(inv(a) da)
        log_bar = log_bar + 1j * np.imag(sign_bar * sign)
    return (strong_product(_scalar(log_bar), _transposed(_inverse_for_logarithm(a, sign))),)


def _slogdet_jvp(dots: Any, out: Any, a: Any) -> Any:
    sign, _ = out
    inverse = _transposed(_inverse_for_logarithm(a, sign))
    change = np.sum(strong_product(dots[0], inverse), axis=(-2, -1))
    if sign.dtype.kind == "c":
        return sign * 1j * np.imag(change), np.real(change)
    return None, change


general(np.linalg.slogdet, vjp=_slogdet_vjp, jvp=_slogdet_jvp, batch="(m,m)")

# --- Cholesky: I. Murray, "Differentiation of the Cholesky decomposition" (2016), equations 7 and 10


def _lower_with_half_diagonal(x: Any) -> Any:
    mask = np.tril(np.ones(x.shape[-2:])) - np.eye(x.shape[-1]) / 2
    return x * mask.astype(x.real.dtype)


def _cholesky_vjp(g: Any, out: Any, _a: Any, upper: bool = False) -> Any:
    lower = _adjoint(out) if upper else out
    lower_bar = _transposed(g) if upper else _conjugate(g)
    inner = _lower_with_half_diagonal(np.matmul(_adjoint(lower), lower_bar))
    above = _adjoint(lower)
    left = np.linalg.solve(above, inner)
    whole = _adjoint(np.linalg.solve(above, _adjoint(left)))
    return _conjugate(_hermitian_part(whole))


def _cholesky_jvp(dots: Any, out: Any, _a: Any, upper: bool = False) -> Any:
    lower = _adjoint(out) if upper else out
    left = np.linalg.solve(lower, _hermitian_part(dots[0]))
    inner = _adjoint(np.linalg.solve(lower, _adjoint(left)))
    lower_dot = np.matmul(lower, _lower_with_half_diagonal(inner))
    return _adjoint(lower_dot) if upper else lower_dot


general(np.linalg.cholesky, vjp=[_cholesky_vjp], jvp=_cholesky_jvp, batch="(m,m)")
