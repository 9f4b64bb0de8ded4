"""Some eigenvalues and singular values of a sparse matrix, with their vectors.

The tangents of a pair (w, v) of A solve a system bordered by the vector,

    [[A - w M, M v], [(M v)^H, 0]] [v_dot, -w_dot] = [-A_dot v, 0],

(M v here and there times a number about as large as A), of which no other pair is needed: R. B.
Nelson, "Simplified calculation of eigenvector derivatives" (1976), in the form of A. L. Andrew,
K.-W. E. Chu and P. Lancaster (1993). Among equal values of a Hermitian matrix the border is the
whole of their vectors: they keep their rotation.
Phases of vectors are those that the solver chose, as in tapegrad.scipy.linalg.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse
import scipy.sparse.linalg

from tapegrad._core.forms import Constant, general
from tapegrad._core.rule import register
from tapegrad._core.types import Cotangent, Value
from tapegrad._core.values import branch_on, is_mapped, itself, untraced
from tapegrad._errors import BatchingError, NotDifferentiableError
from tapegrad._transforms.primitives import primitive
from tapegrad.implicit._systems import exponent_of
from tapegrad.rules.matrices import conjugated
from tapegrad.scipy.sparse._arrays import SparseArray, matrix_of
from tapegrad.scipy.sparse._construct import is_ours, mirrored
from tapegrad.scipy.sparse.linalg._direct import SuperLU

CLOSE = 1e-8  # the part of the largest value by which equal ones may differ


class Pencil:
    """The positions of A's elements, a constant M, and whether A is Hermitian by promise."""

    def __init__(self, a: SparseArray, mass: Any, hermitian: bool) -> None:
        self.rows, self.columns, self.shape = a.row, a.col, a.shape
        self.mass = None if mass is None else matrix_of(mass)
        self.hermitian = hermitian


def _plain_pairs(_data: Value, w: Value, v: Value, pencil: Pencil) -> tuple[Value, Value]:
    return w, v


def _bordered(data: Value, w: Value, border: Value, turned: Value, pencil: Pencil) -> SuperLU:
    """[[A - w M, M v], [(M v)^H, 0]]"""
    size, count = border.shape
    at = np.arange(size)
    if pencil.mass is None:
        shift = (-w * np.ones(size), at, at)
    else:
        shift = (-w * pencil.mass.data, pencil.mass.row, pencil.mass.col)
    i, j = (x.ravel() for x in np.indices((size, count)))
    parts = [
        (data, pencil.rows, pencil.columns),
        shift,
        (np.ravel(border), i, size + j),
        (np.ravel(turned), size + j, i),
    ]
    values, rows, columns = zip(*parts, strict=True)
    kind = np.result_type(*(value.dtype for value in values))
    joined = np.concatenate([value.astype(kind) for value in values])
    shape = (size + count, size + count)
    return SuperLU(SparseArray(joined, (np.concatenate(rows), np.concatenate(columns)), shape))


def _require_alone(factors: SuperLU, scale: Any) -> None:
    """Raise where a value that is not wanted equals one that is: the border misses its vector."""
    probe = np.cos(np.arange(factors.shape[0]) ** 2)
    try:
        found = factors.solved_plainly(probe)
        alone = np.linalg.norm(found) * CLOSE * scale < np.linalg.norm(probe)
    except RuntimeError:  # exactly singular
        alone = False
    if not alone:
        raise NotDifferentiableError(
            "scipy.sparse.linalg: not differentiable where an eigenvalue or singular value that "
            "is not wanted equals one that is, or has too few vectors. Ask for all equal ones, "
            "by k=."
        )


def _pairs_vjp(
    g: Cotangent, out: Value, data: Value, _w: Value, _v: Value, pencil: Pencil
) -> tuple[Cotangent, None, None]:
    w, v = out
    w_bar, v_bar = g
    plain = branch_on(itself, w)
    scale = np.max(np.abs(plain), initial=0)
    size = v.shape[0]
    level = np.ldexp(np.ones((), plain.real.dtype), exponent_of(np.asarray(scale)))
    total: Any = np.zeros(data.shape, data.dtype)
    for j in range(len(plain)):
        close = (
            np.abs(plain - plain[j]) <= CLOSE * scale if pencil.hermitian else plain == plain[j]
        )
        close[j] = True
        border = v[:, np.flatnonzero(close)]
        own = int(np.flatnonzero(np.flatnonzero(close) == j)[0])
        border = border if pencil.mass is None else pencil.mass @ border
        border = border * level
        factors = _bordered(data, w[j], border, conjugated(border), pencil)
        _require_alone(factors, scale)
        below = -w_bar[j] * level * (np.arange(border.shape[1]) == own)
        right = np.concatenate([v_bar[:, j], below])
        z = factors.solve(right, "T")[:size]
        total = total - np.take(z, pencil.rows, 0) * np.take(v[:, j], pencil.columns, 0)
        if pencil.hermitian:  # and the same of the adjoint
            other = np.take(z, pencil.columns, 0) * np.take(v[:, j], pencil.rows, 0)
            total = total - conjugated(other)
    return total / 2 if pencil.hermitian else total, None, None


PAIRS = general(
    primitive(_plain_pairs), vjp=_pairs_vjp, arrays=3, name="scipy.sparse.linalg.eigsh"
)


def _plain_found(data: Value, call: Any) -> tuple[Value, ...]:
    found: tuple[Value, ...] = call(data)
    return found


FOUND = register(Constant(primitive(_plain_found), batch="loop", name="scipy.sparse.linalg.eigsh"))


def _refuse_traced(name: str, **options: Any) -> None:
    for key, value in options.items():
        if is_ours(value):
            raise NotDifferentiableError(
                f"scipy.sparse.linalg.{name}: not differentiable by its argument {key!r}. Pass "
                "tapegrad.stop_gradient(...) of it if it is a constant."
            )


def _pairs(name: str, A: Any, hermitian: bool, options: dict[str, Any]) -> Any:
    _refuse_traced(name, **options)
    only_values = not options.pop("return_eigenvectors", True)
    a = matrix_of(A)
    solve = getattr(scipy.sparse.linalg, name)

    def call(data: Any) -> Any:
        matrix = scipy.sparse.coo_array((data, (a.row, a.col)), shape=a.shape).tocsc()
        return solve(matrix, **options)

    data = a.data.astype(np.result_type(a.data.dtype, np.float32))
    if is_mapped(untraced(data)):
        raise BatchingError(
            f"scipy.sparse.linalg.{name} inside vmap: expected one matrix, got one an example. "
            "Loop over the examples."
        )
    w, v = FOUND.apply_bound([untraced(data)], {"call": call})
    if not hermitian and data.dtype.kind != "c":
        data = data.astype(v.dtype)
    pencil = Pencil(a, options.get("M"), hermitian)
    w, v = PAIRS.apply_bound([data, w, v], {"pencil": pencil})
    return w if only_values else (w, v)


@mirrored(scipy.sparse.linalg.eigsh)
def eigsh(A: Any, k: int = 6, M: Any = None, sigma: Any = None, **options: Any) -> Any:
    return _pairs("eigsh", A, True, {"k": k, "M": M, "sigma": sigma, **options})


@mirrored(scipy.sparse.linalg.eigs)
def eigs(A: Any, k: int = 6, M: Any = None, sigma: Any = None, **options: Any) -> Any:
    return _pairs("eigs", A, False, {"k": k, "M": M, "sigma": sigma, **options})


@mirrored(scipy.sparse.linalg.svds)
def svds(A: Any, k: int = 6, **options: Any) -> Any:
    """As the pairs (s, [u, v] / sqrt(2)) of [[0, A], [A^H, 0]]."""
    _refuse_traced("svds", **options)
    word = options.pop("return_singular_vectors", True)
    a = matrix_of(A)
    rows, columns = a.shape
    data = a.data.astype(np.result_type(a.data.dtype, np.float32))
    if is_mapped(untraced(data)):
        raise BatchingError(
            "scipy.sparse.linalg.svds inside vmap: expected one matrix, got one an example. Loop "
            "over the examples."
        )

    def call(data: Any) -> Any:
        matrix = scipy.sparse.coo_array((data, (a.row, a.col)), shape=a.shape).tocsr()
        return scipy.sparse.linalg.svds(matrix, k, return_singular_vectors=True, **options)

    u, s, vh = FOUND.apply_bound([untraced(data)], {"call": call})
    both = SparseArray(
        np.concatenate([data, conjugated(data)]),
        (np.concatenate([a.row, a.col + rows]), np.concatenate([a.col + rows, a.row])),
        (rows + columns, rows + columns),
    )
    joined = np.concatenate([u, np.conjugate(vh.T)]) / np.sqrt(2).astype(s.dtype)
    pencil = Pencil(both, None, True)
    s, joined = PAIRS.apply_bound([both.data, s, joined], {"pencil": pencil})
    if word is False:
        return s
    joined = joined * np.sqrt(2).astype(s.dtype)
    u = joined[:rows] if word in (True, "u") else None
    vh = np.conjugate(joined[rows:].T) if word in (True, "vh") else None
    return u, s, vh


__all__ = ["eigs", "eigsh", "svds"]
