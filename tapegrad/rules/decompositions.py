"""Factorisations: Cholesky, eigenvalues and vectors, singular values and vectors, QR.

Formulas are derived with conjugate cotangents, where the inner product is Re tr(G^H X), and
conjugated at the border: a rule's own cotangents take no conjugates. M. Giles, "An extended
collection of matrix derivative results for forward and reverse mode algorithmic differentiation"
(2008), has the real cases; other sources stand where they are used.

cholesky, eigh and eigvalsh read one triangle of a matrix that is taken to be symmetric (or
Hermitian): cotangents are symmetric, and of a tangent only the symmetric part counts.

Vectors of a complex matrix have arbitrary phases, and the columns of `svd(full_matrices=True)`
beside the singular ones may turn among themselves: of a function that depends on these choices
the derivative is taken as if solvers never changed them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad._rule import composite, general, plain
from tapegrad.rules.limits import are_close, over_columns, over_differences, over_sums
from tapegrad.rules.matrices import (
    adjoint,
    column,
    conjugated,
    diagonal,
    hermitian_part,
    row,
    transposed,
    unit,
)

# --- Cholesky: I. Murray, "Differentiation of the Cholesky decomposition" (2016), section 3


def _lower_with_half_diagonal(x: Any) -> Any:
    mask = np.tril(np.ones(x.shape[-2:])) - np.eye(x.shape[-1]) / 2
    return x * mask.astype(x.real.dtype)


def _cholesky_vjp(g: Any, out: Any, _a: Any, upper: bool = False) -> Any:
    lower = adjoint(out) if upper else out
    lower_bar = transposed(g) if upper else conjugated(g)
    inner = _lower_with_half_diagonal(np.matmul(adjoint(lower), lower_bar))
    above = adjoint(lower)
    left = np.linalg.solve(above, inner)
    whole = adjoint(np.linalg.solve(above, adjoint(left)))
    return conjugated(hermitian_part(whole))


def _cholesky_jvp(dots: Any, out: Any, _a: Any, upper: bool = False) -> Any:
    lower = adjoint(out) if upper else out
    left = np.linalg.solve(lower, hermitian_part(dots[0]))
    inner = adjoint(np.linalg.solve(lower, adjoint(left)))
    lower_dot = np.matmul(lower, _lower_with_half_diagonal(inner))
    return adjoint(lower_dot) if upper else lower_dot


general(np.linalg.cholesky, vjp=[_cholesky_vjp], jvp=_cholesky_jvp, batch="(m,m)")

# --- Symmetric eigenvalues


def _eigh_vjp(g: Any, out: Any, _a: Any, UPLO: str = "L") -> Any:
    """M. Giles (2008), section 3.1, for Hermitian matrices, in a form that has limits."""
    w, v = out
    w_bar, v_bar = g
    turned = np.matmul(adjoint(v), conjugated(v_bar))
    inner = over_differences(turned - adjoint(turned), w) / 2 + unit(v) * column(w_bar)
    return (conjugated(np.matmul(np.matmul(v, inner), adjoint(v))),)


def _eigh_jvp(dots: Any, out: Any, _a: Any, UPLO: str = "L") -> Any:
    w, v = out
    turned = np.matmul(np.matmul(adjoint(v), hermitian_part(dots[0])), v)
    return np.real(diagonal(turned)), np.matmul(v, over_differences(turned, w))


def _eigvalsh_and_vectors(a: Any, UPLO: str = "L") -> Any:
    """With the values that np.linalg.eigvalsh has: eigh's may differ in the last digit."""
    return np.linalg.eigvalsh(a, UPLO), np.linalg.eigh(a, UPLO)[1]


def _has_equal_values(out: Any) -> bool:
    w = plain(out[0])
    return bool(are_close(np.diff(w), w).any())


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
    v, count = adjoint(vh), s.shape[-1]
    x = np.matmul(adjoint(u), conjugated(u_bar))
    y = np.matmul(vh, transposed(vh_bar))
    u1, v1 = u[..., :count], v[..., :count]
    both = x[..., :count, :count] + y[..., :count, :count]
    opposed = x[..., :count, :count] - y[..., :count, :count]
    inner = over_differences(both - adjoint(both), s) + over_sums(opposed - adjoint(opposed), s)
    inner = inner / 2 + np.eye(count, dtype=s.dtype) * column(s_bar)
    whole = np.matmul(np.matmul(u1, inner), adjoint(v1))
    if u.shape[-2] > count:
        beside = over_columns(_perpendicular(u, x, conjugated(u_bar), count), s)
        whole = whole + np.matmul(beside, adjoint(v1))
    if v.shape[-2] > count:
        beside = over_columns(_perpendicular(v, y, transposed(vh_bar), count), s)
        whole = whole + np.matmul(u1, adjoint(beside))
    return (conjugated(hermitian_part(whole) if hermitian else whole),)


def _perpendicular(u: Any, x: Any, u_bar: Any, count: int) -> Any:
    """The part of a cotangent of u that turns its columns out of their span; x is u^H u_bar."""
    if u.shape[-1] == count:
        return u_bar - np.matmul(u, x)
    return np.matmul(u[..., count:], x[..., count:, :count] - adjoint(x[..., :count, count:]))


def _svd_parts(a: Any, full_matrices: bool = True, hermitian: bool = False) -> Any:
    return np.linalg.svd(a, full_matrices=full_matrices, hermitian=hermitian)


def _singular_values_and_vectors(a: Any, full_matrices: bool, hermitian: bool = False) -> Any:
    u, _, vh = np.linalg.svd(a, full_matrices=full_matrices, hermitian=hermitian)
    return u, np.linalg.svd(a, compute_uv=False, hermitian=hermitian), vh


def _has_equal_or_zero_values(out: Any) -> bool:
    s = plain(out[1])
    return bool(are_close(np.diff(s), s).any() or are_close(s, s).any())


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
    q_bar, r_bar = conjugated(g[0]), conjugated(g[1])
    count = q.shape[-1]
    square, wide = r[..., :count], r[..., count:]
    if wide.shape[-1] == 0:
        return (conjugated(_qr_square(q, square, q_bar, r_bar)),)
    # a = (x, y) with x = q @ square and y = q @ wide: wide is q^H y.
    y = np.matmul(q, wide)
    wide_bar = r_bar[..., count:]
    q_bar = q_bar + np.matmul(y, adjoint(wide_bar))
    left = _qr_square(q, square, q_bar, r_bar[..., :count])
    return (conjugated(np.concatenate([left, np.matmul(q, wide_bar)], axis=-1)),)


def _qr_square(q: Any, r: Any, q_bar: Any, r_bar: Any) -> Any:
    inner = np.matmul(r, adjoint(r_bar)) - np.matmul(adjoint(q_bar), q)
    # The lower triangle, mirrored; the diagonal of r is real.
    lower = _lower_with_half_diagonal(inner)
    total = q_bar + np.matmul(q, lower + adjoint(lower))
    return adjoint(np.linalg.solve(r, adjoint(total)))


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

# --- Eigenvalues of any matrix: C. Boeddeker et al., "On the computation of complex-valued
# gradients with application to statistically optimum beamforming" (2017), section 4


def _eig_vjp(g: Any, out: Any, _a: Any) -> Any:
    w, v = out
    w_bar, v_bar = conjugated(g[0]), conjugated(g[1])
    above = adjoint(v)
    turned = np.matmul(above, v_bar)
    lengths = np.matmul(above, v) * row(np.real(diagonal(turned)))
    distance = np.conjugate(row(w) - column(w))
    same = plain(distance) == 0
    inner = np.where(same, 0, (turned - lengths) / np.where(same, 1, distance))
    inner = inner + np.eye(v.shape[-1]) * column(w_bar)
    return (conjugated(np.matmul(np.linalg.solve(above, inner), above)),)


def _eigvals_and_vectors(a: Any) -> Any:
    return np.linalg.eigvals(a), np.linalg.eig(a)[1]


general(np.linalg.eig, vjp=_eig_vjp, batch="(m,m)")
EIGVALS = general(_eigvals_and_vectors, vjp=_eig_vjp, name="np.linalg.eigvals", batch="(m,m)")
composite(np.linalg.eigvals, lambda a: EIGVALS.apply_bound([a], {})[0])
