"""Linear algebra: solving, determinants, factorisations, spectra and norms.

Formulas are derived with conjugate cotangents, where the inner product is Re tr(G^H X), and
conjugated at the border: a rule's own cotangents take no conjugates. M. Giles, "An extended
collection of matrix derivative results for forward and reverse mode algorithmic differentiation"
(2008), has the real cases; other sources stand where they are used.

cholesky, eigh and eigvalsh read one triangle of a matrix that is taken to be symmetric (or
Hermitian): cotangents are symmetric, and of a tangent only the symmetric part counts.

Where eigenvalues or singular values are equal, or singular values zero, the formulas have
quotients 0/0. For a function that is differentiable there their limits exist (the vectors may turn
among themselves without changing it), but depend on how cotangents change with the eigenvalues:
`derivatives_along` finds that in the log of the replay. First and second derivatives are then
right; third ones are not, at such points. Of functions that are not differentiable there, such as
one of the vectors or the largest eigenvalue, the result is finite and depends on NumPy's choice of
vectors. Eigenvalues are equal if they differ by no more than 8 n eps times the largest.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad._rule import (
    composite,
    constant,
    derivatives_along,
    general,
    plain,
    strong_product,
)


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

    det(a) * inv(a).T where that is well conditioned. Elsewhere an expansion about the singular
    value decomposition a = u s v: exact, with its first derivative, at every rank.
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
    """Cofactors of a near u @ diag(s) @ v, to first order in the difference.

    That is zero in value, and traced. In the basis of u and v the matrix is diag(s) + e, and its
    determinant up to second order in e is prod(s) + sum_i e_ii prod_{j!=i} s_j
    + sum_{i<j} (e_ii e_jj - e_ij e_ji) prod_{k!=i,j} s_k.
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

# --- Cholesky: I. Murray, "Differentiation of the Cholesky decomposition" (2016), section 3


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

# --- Quotients that are 0/0 at equal eigenvalues, or at a norm of zero


def _is_differentiated_again(w: Any) -> bool:
    """Whether the replay in which a rule meets its own result may itself be differentiated."""
    tape = getattr(w, "tape", None)
    return tape is not None and tape.root.singular


def _close(distance: Any, w: Any) -> Any:
    """Which distances of eigen- or singular values are zero to the precision of a solver."""
    size = np.max(np.abs(plain(w)), axis=-1, initial=0)
    tolerance = 8 * w.shape[-1] * np.finfo(w.dtype).eps * size
    beside = tuple(range(size.ndim, np.ndim(plain(distance))))
    return np.abs(plain(distance)) <= np.expand_dims(tolerance, beside)


def _quotient(x: Any, distance: Any, w: Any, sign: int) -> Any:
    """x_ij / distance_ij for distances w_j + sign * w_i; where both vanish, the limit.

    By l'Hopital's rule along (e_j + sign * e_i) / 2, in which the distance grows by one.
    """
    close = _close(distance, w)
    result = np.where(close, 0, x / np.where(close, 1, distance))
    unit = np.eye(w.shape[-1], dtype=w.dtype)
    limits = close & (unit == 0) if sign < 0 else close
    if not limits.any():
        return result
    directions = _directions(w, limits.any(axis=-1))
    for direction, change in zip(directions, derivatives_along(x, w, directions), strict=True):
        share = (_row(direction) + sign * _column(direction)) / (2 + 2 * (sign > 0) * unit)
        result = result + np.where(limits, share * change, 0)
    if _is_differentiated_again(w):
        result = result - _curvature(x, w, limits, sign) * distance / 2
    return result


def _directions(w: Any, involved: Any) -> list[Any]:
    """Unit tangents of w, one for each index that is involved.

    A first derivative may go along all matrices of a stack at once; a second one must not.
    """
    if _is_differentiated_again(w):
        return [_unit_tangent(w, place) for place in np.argwhere(involved)]
    indices = np.flatnonzero(involved.reshape(-1, w.shape[-1]).any(axis=0))
    return [_unit_tangent(w, (..., index)) for index in indices]


def _unit_tangent(w: Any, place: Any) -> Any:
    tangent = np.zeros(w.shape, w.dtype)
    tangent[tuple(place)] = 1
    return tangent


def _curvature(x: Any, w: Any, limits: Any, sign: int) -> Any:
    """Second derivatives of x_ij in the direction in which its distance grows by one.

    x(d) = x' d + x'' d**2 / 2 over d is x' + x'' d / 2, but x'(d) is x' + x'' d: half of that term
    is taken off again. It is zero where d is, and matters to the next derivative alone.
    """
    total = np.zeros(limits.shape, x.dtype)
    for *matrix, i, j in np.argwhere(limits & np.triu(np.ones(limits.shape[-2:], bool))):
        direction = _unit_tangent(w, (*matrix, j)) + sign * _unit_tangent(w, (*matrix, i))
        direction = direction / (4 if i == j else 2)
        (change,) = derivatives_along(x, w, [direction])
        (second,) = derivatives_along(change, w, [direction])
        here = np.zeros(limits.shape, bool)
        here[(*matrix, i, j)] = here[(*matrix, j, i)] = True
        total = total + np.where(here, second, 0)
    return total


def _over_differences(x: Any, w: Any) -> Any:
    """x_ij / (w_j - w_i), zero on the diagonal."""
    return _quotient(x, _row(w) - _column(w), w, -1)


def _over_sums(x: Any, w: Any) -> Any:
    """x_ij / (w_j + w_i)."""
    return _quotient(x, _row(w) + _column(w), w, 1)


def _over_columns(x: Any, w: Any) -> Any:
    """x_ij / w_j."""
    zero = _close(w, w)
    close = np.broadcast_to(_row(zero), x.shape)
    result = np.where(close, 0, x / np.where(close, 1, _row(w)))
    directions = _directions(w, zero)
    for direction, change in zip(directions, derivatives_along(x, w, directions), strict=True):
        result = result + np.where(close, _row(direction) * change, 0)
        if _is_differentiated_again(w):
            (second,) = derivatives_along(change, w, [direction])
            result = result - np.where(close, _row(direction * w) * second, 0) / 2
    return result


# --- Symmetric eigenvalues


def _eigh_vjp(g: Any, out: Any, _a: Any, UPLO: str = "L") -> Any:
    """M. Giles (2008), section 3.1, for Hermitian matrices, in a form that has limits."""
    w, v = out
    w_bar, v_bar = g
    turned = np.matmul(_adjoint(v), _conjugate(v_bar))
    inner = _over_differences(turned - _adjoint(turned), w) / 2 + _unit(v) * _column(w_bar)
    return (_conjugate(np.matmul(np.matmul(v, inner), _adjoint(v))),)


def _eigh_jvp(dots: Any, out: Any, _a: Any, UPLO: str = "L") -> Any:
    w, v = out
    turned = np.matmul(np.matmul(_adjoint(v), _hermitian_part(dots[0])), v)
    return np.real(_diagonal(turned)), np.matmul(v, _over_differences(turned, w))


def _eigvalsh_and_vectors(a: Any, UPLO: str = "L") -> Any:
    """With the values that np.linalg.eigvalsh has: eigh's may differ in the last digit."""
    return np.linalg.eigvalsh(a, UPLO), np.linalg.eigh(a, UPLO)[1]


def _has_equal_values(out: Any) -> bool:
    w = plain(out[0])
    return bool(_close(np.diff(w), w).any())


SYMMETRIC = {"vjp": _eigh_vjp, "jvp": _eigh_jvp, "singular": _has_equal_values, "batch": "(m,m)"}
general(np.linalg.eigh, **SYMMETRIC)
EIGVALSH = general(_eigvalsh_and_vectors, name="np.linalg.eigvalsh", **SYMMETRIC)
composite(np.linalg.eigvalsh, lambda a, UPLO="L": EIGVALSH.apply_bound([a], {"UPLO": UPLO})[0])

# --- Singular values


def _svd_vjp(
    g: Any, out: Any, _a: Any, full_matrices: bool = True, hermitian: bool = False
) -> Any:
    """As `_eigh_vjp` of [[0, a], [a^H, 0]], whose eigenvalues are s and -s.

    Sums of the rotations of u and v have the differences of singular values as denominators, and
    their differences the sums.
    """
    u, s, vh = out
    u_bar, s_bar, vh_bar = g
    v, count = _adjoint(vh), s.shape[-1]
    x = np.matmul(_adjoint(u), _conjugate(u_bar))
    y = np.matmul(vh, _transposed(vh_bar))
    u1, v1 = u[..., :count], v[..., :count]
    both = x[..., :count, :count] + y[..., :count, :count]
    opposed = x[..., :count, :count] - y[..., :count, :count]
    inner = _over_differences(both - _adjoint(both), s) + _over_sums(
        opposed - _adjoint(opposed), s
    )
    inner = inner / 2 + np.eye(count, dtype=s.dtype) * _column(s_bar)
    whole = np.matmul(np.matmul(u1, inner), _adjoint(v1))
    if u.shape[-2] > count:
        beside = _over_columns(_perpendicular(u, x, _conjugate(u_bar), count), s)
        whole = whole + np.matmul(beside, _adjoint(v1))
    if v.shape[-2] > count:
        beside = _over_columns(_perpendicular(v, y, _transposed(vh_bar), count), s)
        whole = whole + np.matmul(u1, _adjoint(beside))
    return (_conjugate(_hermitian_part(whole) if hermitian else whole),)


def _perpendicular(u: Any, x: Any, u_bar: Any, count: int) -> Any:
    """The part of a cotangent of u that turns its columns out of their span; x is u^H u_bar."""
    if u.shape[-1] == count:
        return u_bar - np.matmul(u, x)
    return np.matmul(u[..., count:], x[..., count:, :count] - _adjoint(x[..., :count, count:]))


def _svd_parts(a: Any, full_matrices: bool = True, hermitian: bool = False) -> Any:
    return np.linalg.svd(a, full_matrices=full_matrices, hermitian=hermitian)


def _singular_values_and_vectors(a: Any, full_matrices: bool, hermitian: bool = False) -> Any:
    u, _, vh = np.linalg.svd(a, full_matrices=full_matrices, hermitian=hermitian)
    return u, np.linalg.svd(a, compute_uv=False, hermitian=hermitian), vh


def _has_equal_or_zero_values(out: Any) -> bool:
    s = plain(out[1])
    return bool(_close(np.diff(s), s).any() or _close(s, s).any())


SINGULAR = {"vjp": _svd_vjp, "singular": _has_equal_or_zero_values, "batch": "(m,n)"}
SVD = general(_svd_parts, name="np.linalg.svd", **SINGULAR)
SVDVALS = general(_singular_values_and_vectors, name="np.linalg.svdvals", **SINGULAR)


def _svd(
    a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False
) -> Any:
    if compute_uv:
        return SVD.apply_bound([a], {"full_matrices": full_matrices, "hermitian": hermitian})
    return SVDVALS.apply_bound([a], {"full_matrices": False, "hermitian": hermitian})[1]


composite(np.linalg.svd, _svd)
composite(np.linalg.svdvals, lambda x, /: _svd(x, compute_uv=False))

# --- QR: S. Walter, L. Lehmann, "Algorithmic differentiation of linear algebra functions" (2010)


def _qr_vjp(g: Any, out: Any, _a: Any, mode: str = "reduced") -> Any:
    q, r = out
    q_bar, r_bar = _conjugate(g[0]), _conjugate(g[1])
    count = q.shape[-1]
    square, wide = r[..., :count], r[..., count:]
    if wide.shape[-1] == 0:
        return (_conjugate(_qr_square(q, square, q_bar, r_bar)),)
    # a = (x, y) with x = q @ square and y = q @ wide: wide is q^H y.
    y = np.matmul(q, wide)
    wide_bar = r_bar[..., count:]
    q_bar = q_bar + np.matmul(y, _adjoint(wide_bar))
    left = _qr_square(q, square, q_bar, r_bar[..., :count])
    return (_conjugate(np.concatenate([left, np.matmul(q, wide_bar)], axis=-1)),)


def _qr_square(q: Any, r: Any, q_bar: Any, r_bar: Any) -> Any:
    inner = np.matmul(r, _adjoint(r_bar)) - np.matmul(_adjoint(q_bar), q)
    # The lower triangle, mirrored; the diagonal of r is real.
    lower = _lower_with_half_diagonal(inner)
    total = q_bar + np.matmul(q, lower + _adjoint(lower))
    return _adjoint(np.linalg.solve(r, _adjoint(total)))


def _qr_parts(a: Any, mode: str = "reduced") -> Any:
    return np.linalg.qr(a, mode)


QR = general(_qr_parts, vjp=_qr_vjp, name="np.linalg.qr", batch="(m,n)")


def _qr(a: Any, mode: str = "reduced") -> Any:
    if mode == "r":
        return QR.apply_bound([a], {"mode": "reduced"})[1]
    if mode == "reduced" or mode == "complete" and a.shape[-2] <= a.shape[-1]:
        return QR.apply_bound([a], {"mode": mode})
    raise NotImplementedError(
        f"np.linalg.qr: no derivative rule for mode={mode!r} of shape {a.shape}. Use "
        "mode='reduced'."
    )


composite(np.linalg.qr, _qr)

# --- Pseudo-inverse: G. Golub, V. Pereyra, "The differentiation of pseudo-inverses" (1973), 4.12


def _pinv_vjp(g: Any, out: Any, a: Any, **_: Any) -> Any:
    p, p_bar = out, _conjugate(g)
    beside_range = np.matmul(a, p) - np.eye(a.shape[-2], dtype=a.dtype)
    beside_rows = np.matmul(p, a) - np.eye(a.shape[-1], dtype=a.dtype)
    adjoint = _adjoint(p)
    total = np.matmul(np.matmul(adjoint, p_bar), adjoint)
    total = total + np.matmul(np.matmul(beside_range, _adjoint(p_bar)), np.matmul(p, adjoint))
    total = total + np.matmul(np.matmul(adjoint, p), np.matmul(_adjoint(p_bar), beside_rows))
    return -_conjugate(total)


general(np.linalg.pinv, vjp=[_pinv_vjp], batch="(m,n)")


def _lstsq(a: Any, b: Any, rcond: Any = None) -> Any:
    """np.linalg.lstsq by the pseudo-inverse, which has the derivative at any rank that stays."""
    a, b = _shaped(a), _shaped(b)
    _, _, rank, _ = np.linalg.lstsq(plain(a), plain(b), rcond)
    if rcond is None:
        rcond = np.finfo(a.dtype).eps * max(a.shape)
    x = np.matmul(np.linalg.pinv(a, rcond), b)
    if rank < a.shape[1] or a.shape[0] <= a.shape[1]:
        residuals = np.zeros(0, x.dtype)
    else:
        difference = b - np.matmul(a, x)
        squares = np.sum(np.real(np.conjugate(difference) * difference), axis=0)
        residuals = squares if b.ndim > 1 else np.reshape(squares, (1,))
    return x, residuals, rank, np.linalg.svd(a, compute_uv=False)


composite(np.linalg.lstsq, _lstsq)

# --- Eigenvalues of any matrix: C. Boeddeker et al., "On the computation of complex-valued
# gradients with application to statistically optimum beamforming" (2017), section 4


def _eig_vjp(g: Any, out: Any, _a: Any) -> Any:
    w, v = out
    w_bar, v_bar = _conjugate(g[0]), _conjugate(g[1])
    above = _adjoint(v)
    turned = np.matmul(above, v_bar)
    lengths = np.matmul(above, v) * _row(np.real(_diagonal(turned)))
    distance = np.conjugate(_row(w) - _column(w))
    same = plain(distance) == 0
    inner = np.where(same, 0, (turned - lengths) / np.where(same, 1, distance))
    inner = inner + np.eye(v.shape[-1]) * _column(w_bar)
    return (_conjugate(np.matmul(np.linalg.solve(above, inner), above)),)


def _eigvals_and_vectors(a: Any) -> Any:
    return np.linalg.eigvals(a), np.linalg.eig(a)[1]


general(np.linalg.eig, vjp=_eig_vjp, batch="(m,m)")
EIGVALS = general(_eigvals_and_vectors, vjp=_eig_vjp, name="np.linalg.eigvals", batch="(m,m)")
composite(np.linalg.eigvals, lambda a: EIGVALS.apply_bound([a], {})[0])

# --- Norms


def _beside(value: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    """A norm, or its cotangent, with the axes of the array that it was taken of."""
    if keepdims:
        return value
    axes = tuple(range(len(x.shape))) if axis is None else axis
    return np.expand_dims(value, axes)


def _euclidean(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The root of the sum of squares, in NumPy's own way for these axes."""
    return np.linalg.norm(x, None, axis, keepdims)


def _euclidean_vjp(g: Any, out: Any, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """g * x / out: the gradient at zero is zero.

    The quotient g / out is formed first. In norm(x)**2, g is 2 * out: the quotient has a limit at
    zero, and the second derivative there, which is the limit, is right.
    """
    zero = plain(out) == 0
    if not zero.any():
        return _beside(g / out, x, axis, keepdims) * _conjugate(x)
    (limit,) = derivatives_along(g, out, [np.where(zero, 1, plain(out) * 0)])
    ratio = np.where(zero, limit, g / np.where(zero, 1, out))
    return strong_product(_conjugate(x), _beside(ratio, x, axis, keepdims))


def _euclidean_jvp(dots: Any, out: Any, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    zero = plain(out) == 0
    change = np.sum(np.real(_conjugate(x) * dots[0]), axis=axis, keepdims=keepdims)
    return np.where(zero, 0, change / np.where(zero, 1, out)) if zero.any() else change / out


def _has_zeros(out: Any) -> bool:
    return not np.all(plain(out))


EUCLIDEAN = general(
    _euclidean,
    vjp=[_euclidean_vjp],
    jvp=_euclidean_jvp,
    singular=_has_zeros,
    name="np.linalg.norm",
    batch="axis",
)


def _norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    x = _lifted(x)
    if axis is None and (
        ord is None or ord in ("f", "fro") and x.ndim == 2 or ord == 2 and x.ndim == 1
    ):
        return EUCLIDEAN.apply_bound([x], {"keepdims": keepdims} if keepdims else {})
    axes = tuple(range(x.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    axes = tuple(int(a) % x.ndim for a in axes)
    if len(axes) == 1:
        return _norm_of_vectors(x, ord, axes[0], keepdims)
    if len(axes) == 2:
        return _norm_of_matrices(x, ord, axes, keepdims)
    raise ValueError("Improper number of dimensions to norm.")


def _lifted(x: Any) -> Any:
    return np.stack(list(map(_lifted, x))) if isinstance(x, (list, tuple)) else x


def _norm_of_vectors(x: Any, order: Any, axis: int, keepdims: bool) -> Any:
    if order in ("f", "fro", "nuc"):
        raise ValueError(f"Invalid norm order '{order}' for vectors")
    if order is None or order == 2:
        return EUCLIDEAN.apply_bound([x], {"axis": (axis,), "keepdims": keepdims})
    if order == np.inf:
        return np.max(np.abs(x), axis=axis, keepdims=keepdims, initial=0)
    if order == -np.inf:
        return np.min(np.abs(x), axis=axis, keepdims=keepdims)
    if order == 0:
        return np.linalg.norm(plain(x), 0, axis, keepdims)
    if order == 1:
        return np.sum(np.abs(x), axis=axis, keepdims=keepdims)
    total = np.sum(np.abs(x) ** order, axis=axis, keepdims=keepdims)
    root = float(np.reciprocal(order, dtype=total.dtype))
    zero = plain(total) == 0  # the gradient there is zero, not 0 * inf
    if not zero.any():
        return total**root
    return np.where(zero, plain(total) ** root, np.where(zero, 1, total) ** root)


def _norm_of_matrices(x: Any, order: Any, axes: tuple[int, int], keepdims: bool) -> Any:
    if axes[0] == axes[1]:
        raise ValueError("Duplicate axes given.")
    if order is None or order in ("f", "fro"):
        return EUCLIDEAN.apply_bound([x], {"axis": axes, "keepdims": keepdims})
    matrices = np.moveaxis(x, axes, (-2, -1))
    if order in (2, -2, "nuc"):
        values = np.linalg.svd(matrices, compute_uv=False)
        reduced = _reduced_spectrum(values, order)
    elif order in (1, -1, np.inf, -np.inf):
        sums = np.sum(np.abs(matrices), axis=-2 if abs(order) == 1 else -1)
        reduced = np.max(sums, axis=-1, initial=0) if order > 0 else np.min(sums, axis=-1)
    else:
        raise ValueError("Invalid norm order for matrices.")
    return np.expand_dims(reduced, axes) if keepdims else reduced


def _reduced_spectrum(values: Any, order: Any) -> Any:
    if order == "nuc":
        return np.sum(values, axis=-1)
    return np.max(values, axis=-1, initial=0) if order == 2 else np.min(values, axis=-1)


def _vector_norm(
    x: Any,
    /,
    *,
    axis: Any = None,
    keepdims: bool = False,
    ord: Any = 2,
) -> Any:
    x = _lifted(x)
    axes = tuple(range(x.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    axes = tuple(int(a) % x.ndim for a in axes)
    moved = np.moveaxis(x, axes, range(len(axes)))
    flat = np.reshape(moved, (-1, *moved.shape[len(axes) :]))
    result = _norm_of_vectors(flat, ord, 0, False)
    return np.expand_dims(result, axes) if keepdims else result


def _matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    return _norm(x, ord, (-2, -1), keepdims)


def _cond(x: Any, p: Any = None) -> Any:
    if p is None or p in (2, -2):
        s = np.linalg.svd(x, compute_uv=False)
        return s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
    return _norm(x, p, (-2, -1)) * _norm(np.linalg.inv(x), p, (-2, -1))


composite(np.linalg.norm, _norm)
composite(np.linalg.vector_norm, _vector_norm)
composite(np.linalg.matrix_norm, _matrix_norm)
composite(np.linalg.cond, _cond)
constant(np.linalg.matrix_rank)
