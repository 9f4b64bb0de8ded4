"""Factorisations: Cholesky and QR.

Formulas are derived with conjugate cotangents, where the inner product is Re tr(G^H X). The
cotangents of the tape take no conjugates, so a rule conjugates what it gets and returns, unless
that cancels.

cholesky reads one triangle of a matrix that is taken to be symmetric (or Hermitian): cotangents
are symmetric, and of a tangent only the symmetric part counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from tapegrad._core.directions import derivatives_along
from tapegrad._core.forms import Constant, composite, general
from tapegrad._core.types import Cotangent, Tangent, Value
from tapegrad._core.values import any_true, untraced
from tapegrad._warning import warn
from tapegrad.rules.limits import replays_to_come
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

# --- Cholesky: I. Murray, "Differentiation of the Cholesky decomposition" (2016), section 3


def _lower_with_half_diagonal(x: Value) -> Value:
    return x * _half_mask(x.shape[-1], x.dtype.type(0).real.dtype)


@lru_cache(1 << 6)
def _half_mask(count: int, dtype: np.dtype[Any]) -> Any:
    mask = (np.tril(np.ones((count, count))) - np.eye(count) / 2).astype(dtype)
    mask.flags.writeable = False
    return mask


def _cholesky_vjp(g: Cotangent, out: Value, _a: Value, upper: bool = False) -> Cotangent:
    lower = adjoint(out) if upper else out
    lower_bar = transposed(g) if upper else conjugated(g)
    inner = _lower_with_half_diagonal(np.matmul(adjoint(lower), lower_bar))
    above = adjoint(lower)
    left = np.linalg.solve(above, inner)
    whole = adjoint(np.linalg.solve(above, adjoint(left)))
    return conjugated(hermitian_part(whole))


def _cholesky_jvp(dots: Sequence[Tangent], out: Value, _a: Value, upper: bool = False) -> Tangent:
    lower = adjoint(out) if upper else out
    left = np.linalg.solve(lower, hermitian_part(dots[0]))
    inner = adjoint(np.linalg.solve(lower, adjoint(left)))
    lower_dot = np.matmul(lower, _lower_with_half_diagonal(inner))
    return adjoint(lower_dot) if upper else lower_dot


general(
    np.linalg.cholesky,
    vjp=[_cholesky_vjp],
    jvp=_cholesky_jvp,
    hermitian=True,
    batch="(m,m)",
)

# --- QR: S. Walter, L. Lehmann, "Algorithmic differentiation of linear algebra functions" (2010)


def _qr_vjp(g: Cotangent, out: Value, _a: Value) -> tuple[Cotangent]:
    q, r = out
    q_bar, r_bar = conjugated(g[0]), conjugated(g[1])
    count = q.shape[-1]
    square, wide = r[..., :count], r[..., count:]
    if wide.shape[-1] == 0:
        return (conjugated(_qr_square(q, square, q_bar, r_bar, r)),)
    # a = (x, y) with x = q @ square and y = q @ wide: wide is q^H y.
    y = np.matmul(q, wide)
    wide_bar = r_bar[..., count:]
    q_bar = q_bar + np.matmul(y, adjoint(wide_bar))
    left = _qr_square(q, square, q_bar, r_bar[..., :count], r)
    return (conjugated(np.concatenate([left, np.matmul(q, wide_bar)], axis=-1)),)


def _qr_square(q: Value, r: Value, q_bar: Cotangent, r_bar: Cotangent, whole: Value) -> Cotangent:
    inner = np.matmul(r, adjoint(r_bar)) - np.matmul(adjoint(q_bar), q)
    # The Hermitian matrix with this lower triangle: its diagonal is real, as that of r is.
    lower = _lower_with_half_diagonal(inner)
    return _over_adjoint(q_bar + np.matmul(q, lower + adjoint(lower)), r, whole)


def _over_adjoint(x: Value, r: Value, whole: Value) -> Value:
    """x @ inv(r^H); where r has zeros on its diagonal, the limit as these become nonzero.

    Let the columns of n span the kernel of r^H. Then x n must be zero too, or the function is not
    differentiable. Differentiating y r^H = x gives y d^H n = x' n, where d and x' are the
    derivatives of r and x as the zeros grow; y solves both equations. This gives the first
    derivative only.
    """
    zero = _zeros_on_diagonal(untraced(r))
    if not any_true(zero):
        return adjoint(np.linalg.solve(r, adjoint(x)))
    if replays_to_come(whole):
        raise np.linalg.LinAlgError(
            "np.linalg.qr: no second derivative at a matrix whose first columns are dependent. "
            "Use np.linalg.svd."
        )
    u, _, _ = np.linalg.svd(untraced(r))
    kernel = u * row(_smallest(untraced(r)))
    kernel = np.matmul(kernel, adjoint(kernel))
    growth = np.where(row(zero), unit(r), 0)
    beside = np.zeros((*whole.shape[:-1], whole.shape[-1] - r.shape[-1]), r.dtype)
    (change,) = derivatives_along(x, whole, [np.concatenate([growth, beside], -1)])
    grown = adjoint(untraced(r)) + np.matmul(growth, kernel)
    left = np.matmul(untraced(x), kernel)
    size = np.max(np.abs(untraced(x)), axis=(-2, -1), initial=0, keepdims=True)
    infinite = np.max(np.abs(left), axis=(-2, -1), keepdims=True) > (
        np.sqrt(np.finfo(r.dtype).eps) * size
    )
    right = x - left + np.matmul(change, kernel)
    right = np.where(infinite, np.nan, right)
    return adjoint(np.linalg.solve(adjoint(grown), adjoint(right)))


def _zeros_on_diagonal(r: Value) -> Value:
    size = np.abs(diagonal(r))
    largest = np.max(np.abs(r), axis=(-2, -1), initial=0)
    return size <= 8 * r.shape[-1] * np.finfo(r.dtype).eps * column(largest)


def _smallest(r: Value) -> Value:
    """Which singular values are zero to rounding."""
    s = np.linalg.svdvals(r)
    return s <= 8 * r.shape[-1] * np.finfo(r.dtype).eps * s[..., :1]


def _has_zeros_on_diagonal(out: Value) -> bool:
    r = untraced(out[1])
    return any_true(_zeros_on_diagonal(r[..., : r.shape[-2]]))


QR = general(
    lambda a: np.linalg.qr(a),
    vjp=_qr_vjp,
    singular=_has_zeros_on_diagonal,
    name="np.linalg.qr",
    batch="(m,n)",
)


def _complete(a: Value) -> Value:
    return np.linalg.qr(a, "complete")[0]


COMPLETE = Constant(_complete, batch=_complete)
_QRResult: Any = type(np.linalg.qr(np.eye(1)))
_OLD_MODES = {"f": "reduced", "full": "reduced", "e": "economic", "economic": "economic"}


def _qr(a: Value, mode: str = "reduced") -> Any:
    if mode in _OLD_MODES:
        warn(f"np.linalg.qr: mode={mode!r} is deprecated.", DeprecationWarning)
        mode = _OLD_MODES[mode]
    if a.ndim < 2:
        mode = "reduced"  # where NumPy raises its error
    if mode in ("raw", "economic"):
        packed, tau = _householder(a)
        return (packed, tau) if mode == "raw" else transposed(packed)
    if mode == "complete" and a.shape[-2] > a.shape[-1]:
        q, r = QR.apply_bound([a], {})
        return _completed(q, r, COMPLETE.apply_bound([untraced(a)], {}))
    if mode not in ("reduced", "complete", "r"):
        raise ValueError(f"Unrecognized mode '{mode}'")
    q, r = QR.apply_bound([a], {})
    return r if mode == "r" else _QRResult(q, r)


def _completed(q: Value, r: Value, value: Value) -> Any:
    """The result with the columns that complete q, by the Householder reflections that make q.

    With q = (e - v t v1^H) and e the first columns of the unit matrix, the same v and t make the
    other columns; G. Ballard et al., "Reconstructing Householder vectors from tall-skinny QR"
    (2014), section 3, find them from q, provided that no reflection is left out (is the identity):
    then the first rows of e - q are a regular matrix.
    """
    rows, count = q.shape[-2:]
    others = value[..., count:]
    if count == 0:
        return _QRResult(value, np.zeros((*r.shape[:-2], rows, 0), r.dtype))
    first = np.eye(count, dtype=q.dtype) - q[..., :count, :]
    left_out = scalar(~(np.linalg.cond(untraced(first)) < 1 / np.sqrt(np.finfo(q.dtype).eps)))
    if any_true(~left_out):
        safe = np.where(left_out, unit(first), first) if any_true(left_out) else first
        e = np.eye(rows, dtype=q.dtype)
        turned = np.linalg.solve(adjoint(safe), adjoint(q[..., count:, :]))
        made = e[:, count:] + np.matmul(e[:, :count] - q, turned)
        beside = made + (others - untraced(made))  # NumPy's value to the last digit
    else:
        beside = others
    if any_true(left_out):
        beside = np.where(left_out, _beside(q, others), beside)
    zeros = np.zeros((*r.shape[:-2], rows - count, count), r.dtype)
    return _QRResult(np.concatenate([q, beside], -1), np.concatenate([r, zeros], -2))


def _beside(q: Value, others: Value) -> Value:
    """The other columns, kept orthogonal to q as q changes, without rotating among themselves."""
    left = others - np.matmul(q, np.matmul(adjoint(q), others))
    lower = np.linalg.cholesky(np.matmul(adjoint(left), left))
    return adjoint(np.linalg.solve(lower, adjoint(left)))


def _householder(a: Value) -> tuple[Value, Value]:
    """The reflections that LAPACK's geqrf takes, packed below the transposed r, and their scales.

    E. Anderson et al., "LAPACK Users' Guide" (1999), section 5.4: each is 1 - tau v v^H.
    """
    if a.size == 0:
        return np.zeros_like(transposed(a)), np.zeros((*a.shape[:-2], min(a.shape[-2:])), a.dtype)
    block = a
    tops: list[Any] = []
    columns: list[Any] = []
    taus: list[Any] = []
    for _ in range(min(a.shape[-2:])):
        v, tau, top = _reflection(block[..., 0])
        rest = block[..., 1:]
        taken = np.matmul(np.conjugate(row(v)), rest) * np.conjugate(scalar(tau))
        rest = rest - column(v) * taken
        above = [row_[..., at : at + 1] for row_, at in _passed(tops, len(columns))]
        columns.append(np.concatenate([*above, column(top), v[..., 1:]], -1))
        taus.append(tau)
        tops.append(rest[..., 0, :])
        block = rest[..., 1:, :]
    for _ in range(a.shape[-1] - len(columns)):
        above = [row_[..., at : at + 1] for row_, at in _passed(tops, len(columns))]
        columns.append(np.concatenate(above, -1))
    return np.stack(columns, -2), np.stack(taus, -1)


def _passed(tops: list[Value], count: int) -> list[tuple[Value, int]]:
    """The finished rows of r, each with the position in it of the column number `count`."""
    return [(top, count - 1 - i) for i, top in enumerate(tops)]


def _reflection(x: Value) -> tuple[Value, Value, Value]:
    """The v, with v[0] = 1, and the tau that take vectors x to `top` times the first unit vector.

    Where x is such a vector already and its first element is real, tau is 0: no reflection.
    """
    first, rest = x[..., 0], x[..., 1:]
    none = ~np.any(untraced(rest), axis=-1) & (np.imag(untraced(first)) == 0)
    sign = np.where(np.real(untraced(first)) < 0, 1, -1).astype(x.dtype.type(0).real.dtype)
    top = np.where(none, np.real(first), sign * np.linalg.norm(x, axis=-1)).astype(x.dtype)
    tau = np.where(none, 0, (top - first) / np.where(none, 1, top))
    v = rest / column(np.where(none, 1, first - top))
    return np.concatenate([np.ones_like(x[..., :1]), v], -1), tau, top


composite(np.linalg.qr, _qr)
