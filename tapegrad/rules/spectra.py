"""Spectra: eigenvalues and singular values, with their vectors.

Formulas are derived with conjugate cotangents, where the inner product is Re tr(G^H X). The
cotangents of the tape take no conjugates, so a rule conjugates what it gets and returns, unless
that cancels. M. Giles, "An extended collection of matrix derivative results for forward and
reverse mode algorithmic differentiation" (2008), has the real cases; other sources are cited where
they are used.

eigh and eigvalsh read one triangle of a matrix that is taken to be symmetric (or Hermitian):
cotangents are symmetric, and of a tangent only the symmetric part counts.

The vectors of eigh and svd of a complex matrix have arbitrary phases, and the columns of
`svd(full_matrices=True)` beside the singular ones may rotate among themselves: for a function that
depends on these choices the derivative is taken as if the solver never changed them. The vectors
of eig have the length and phase that NumPy gives them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad._core.forms import Constant, composite, general
from tapegrad._core.types import Cotangent, Tangent, Value
from tapegrad._core.values import any_true, untraced
from tapegrad.rules.limits import (
    are_close,
    over_columns,
    over_conjugate_differences,
    over_differences,
    over_sums,
)
from tapegrad.rules.matrices import (
    adjoint,
    column,
    conjugated,
    diagonal,
    hermitian_part,
    row,
    scalar,
    transposed,
    unit,
)

# --- Symmetric eigenvalues


def _eigh_vjp(g: Cotangent, out: Value, _a: Value, UPLO: str = "L") -> tuple[Cotangent]:
    """M. Giles (2008), section 3.1, for Hermitian matrices, in a form that has limits."""
    w, v = out
    w_bar, v_bar = g
    if type(v_bar) is np.ndarray and not np.count_nonzero(v_bar):  # of eigenvalues alone
        return (conjugated(np.matmul(v * row(w_bar), adjoint(v))),)
    turned = np.matmul(adjoint(v), conjugated(v_bar))
    inner = over_differences(turned - adjoint(turned), w) / 2 + unit(v) * column(w_bar)
    return (conjugated(np.matmul(np.matmul(v, inner), adjoint(v))),)


def _eigh_jvp(
    dots: Sequence[Tangent], out: Value, _a: Value, UPLO: str = "L"
) -> tuple[Tangent, Tangent]:
    w, v = out
    turned = np.matmul(np.matmul(adjoint(v), hermitian_part(dots[0])), v)
    return np.real(diagonal(turned)), np.matmul(v, over_differences(turned, w))


def _eigvalsh_and_vectors(a: Value, UPLO: str = "L") -> tuple[Value, Value]:
    """With the values that np.linalg.eigvalsh has: eigh's may differ in the last digit."""
    return np.linalg.eigvalsh(a, UPLO), np.linalg.eigh(a, UPLO)[1]


def _has_equal_values(out: Value) -> bool:
    w = untraced(out[0])
    return any_true(are_close(w[..., 1:] - w[..., :-1], w))


SYMMETRIC = {
    "vjp": _eigh_vjp,
    "jvp": _eigh_jvp,
    "hermitian": True,
    "singular": _has_equal_values,
    "batch": "(m,m)",
}
general(np.linalg.eigh, **SYMMETRIC)
EIGVALSH = general(_eigvalsh_and_vectors, name="np.linalg.eigvalsh", **SYMMETRIC)
composite(np.linalg.eigvalsh, lambda a, UPLO="L": EIGVALSH.apply_bound([a], {"UPLO": UPLO})[0])

# --- Singular values


def _svd_vjp(
    g: Cotangent, out: Value, _a: Value, full_matrices: bool = True, hermitian: bool = False
) -> tuple[Cotangent]:
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


def _perpendicular(u: Value, x: Value, u_bar: Cotangent, count: int) -> Cotangent:
    """The part of a cotangent of u that moves its columns out of their span; x is u^H u_bar."""
    if u.shape[-1] == count:
        return u_bar - np.matmul(u, x)
    return np.matmul(u[..., count:], x[..., count:, :count] - adjoint(x[..., :count, count:]))


def _svd_parts(
    a: Value, full_matrices: bool = True, hermitian: bool = False
) -> tuple[Value, Value, Value]:
    return np.linalg.svd(a, full_matrices=full_matrices, hermitian=hermitian)


def _singular_values_and_vectors(
    a: Value, full_matrices: bool, hermitian: bool = False
) -> tuple[Value, Value, Value]:
    u, _, vh = np.linalg.svd(a, full_matrices=full_matrices, hermitian=hermitian)
    return u, np.linalg.svd(a, compute_uv=False, hermitian=hermitian), vh


def _has_equal_or_zero_values(out: Value) -> bool:
    s = untraced(out[1])
    return any_true(are_close(np.diff(s), s)) or any_true(are_close(s, s))


SINGULAR = {"vjp": _svd_vjp, "singular": _has_equal_or_zero_values, "batch": "(m,n)"}
SVD = general(_svd_parts, name="np.linalg.svd", **SINGULAR)
SVDVALS = general(_singular_values_and_vectors, name="np.linalg.svdvals", **SINGULAR)


_SVDResult: Any = type(np.linalg.svd(np.eye(1)))


def _svd(
    a: Value, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False
) -> Any:
    if hermitian:
        return _svd_of_hermitian(a, compute_uv)
    if compute_uv:
        return SVD.apply_bound([a], {"full_matrices": full_matrices})
    return SVDVALS.apply_bound([a], {"full_matrices": False})[1]


def _svd_of_hermitian(a: Value, compute_uv: bool) -> Any:
    """By eigenvalues, as NumPy does.

    So equal singular values from eigenvalues of opposite signs keep vectors of their own. An
    eigenvalue of zero counts as positive.
    """
    w, v = np.linalg.eigh(a) if compute_uv else (np.linalg.eigvalsh(a), None)
    sign = np.copysign(1, untraced(w))
    order = np.argsort(np.abs(untraced(w)), axis=-1)[..., ::-1]
    sign = np.take_along_axis(sign, order, -1)
    s = np.take_along_axis(w, order, -1) * sign
    if v is None:
        return s
    u = np.take_along_axis(v, row(order), -1)
    return _SVDResult(u, s, adjoint(u * row(sign)))


composite(np.linalg.svd, _svd)
composite(np.linalg.svdvals, lambda x, /: _svd(x, compute_uv=False))

# --- Eigenvalues of any matrix: C. Boeddeker et al., "On the computation of complex-valued
# gradients with application to statistically optimum beamforming" (2017), section 4


def _eig_vjp(g: Cotangent, out: Value, _a: Value) -> tuple[Cotangent]:
    w, v = out
    w_bar, v_bar = conjugated(g[0]), conjugated(g[1])
    above = adjoint(v)
    inner = np.matmul(above, v_bar - _of_lengths_and_phases(v, v_bar))
    inner = over_conjugate_differences(inner, w) + unit(v) * column(w_bar)
    defective = _is_defective(w, v)
    if not any_true(defective):
        return (conjugated(np.matmul(np.linalg.solve(above, inner), above)),)
    safe = np.where(defective, unit(v), above)
    bar = np.matmul(np.linalg.solve(safe, inner), safe)
    return (conjugated(bar * np.where(defective, np.nan, 1)),)


def _of_lengths_and_phases(v: Value, v_bar: Cotangent) -> Cotangent:
    """The part of a cotangent without effect: vectors keep their length, a component its phase."""
    along = row(np.sum(np.conjugate(v) * v_bar, axis=-2))
    if v.dtype.kind != "c":
        return v * along
    # LAPACK chooses the phase of each vector so that its largest component is real.
    values = untraced(v)
    size = np.abs(values)
    real = np.where(values.imag == 0, size, 0)
    size = np.where(np.any(real > 0, axis=-2, keepdims=True), real, size)
    if not v.size:
        return v
    pivots = np.arange(v.shape[-2])[:, None] == row(np.argmax(size, axis=-2))
    pivot = np.sum(np.where(pivots, v, 0), axis=-2, keepdims=True)
    turned = 1j * np.imag(along) / np.conjugate(pivot)
    return v * np.real(along) + np.where(pivots, turned, 0)


def _is_defective(w: Value, v: Value) -> Value:
    """Which matrices have fewer independent eigenvectors than rows: no derivative exists."""
    w, v = untraced(w), untraced(v)
    if not has_equal_values((w,)):
        return np.zeros(())
    return scalar(np.linalg.svdvals(v)[..., -1] <= 8 * v.shape[-1] * np.finfo(v.dtype).eps)


def has_equal_values(out: Value) -> bool:
    """Whether any matrix has two equal eigenvalues; they come first in `out`."""
    w = untraced(out[0])
    close = are_close(row(w) - column(w), w)
    return any_true(close & ~np.eye(w.shape[-1], dtype=bool))


def _eigvals_and_vectors(a: Value) -> tuple[Value, Value]:
    """NumPy's eigvals, and the vectors in their order, which is not always that of eig."""
    w = np.linalg.eigvals(a)
    values, vectors = np.linalg.eig(a)
    if not w.size:
        return w, vectors
    order = ORDER.apply_bound([untraced(w), untraced(values)], {})
    if any_true(order != np.arange(w.shape[-1])):
        vectors = np.take_along_axis(vectors, row(order), -1)
    return w, vectors


def order_of(w: Value, values: Value) -> Value:
    """For each number in w the position of the nearest of `values`, each of them taken once."""
    order = np.argmin(np.abs(column(w) - row(values)), axis=-1)
    if np.all(order == np.arange(w.shape[-1])):  # the usual case
        return order
    for matrix in np.ndindex(w.shape[:-1]):
        rest = list(range(w.shape[-1]))
        near = [np.abs(values[matrix] - number) for number in w[matrix]]
        order[matrix] = [rest.pop(int(np.argmin(far[rest]))) for far in near]
    return order


ORDER = Constant(order_of, batch=order_of)
GENERAL = {"vjp": _eig_vjp, "singular": has_equal_values, "batch": "(m,m)"}
general(np.linalg.eig, **GENERAL)
EIGVALS = general(_eigvals_and_vectors, name="np.linalg.eigvals", **GENERAL)
composite(np.linalg.eigvals, lambda a: EIGVALS.apply_bound([a], {})[0])
