"""Eigenvalues and singular values, with their vectors: the rules of np.linalg's (rules/spectra).

Vectors that SciPy finds in another way than NumPy differ from NumPy's by phases, or by a rotation
among equal values. Such a rotation is a constant here, as it is where the solver is NumPy's:
what depends on it has no derivative that could be relied on (docs/kinks.md).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from tapegrad._core.types import Cotangent, Value
from tapegrad._core.values import branch_on, itself, untraced
from tapegrad.rules.matrices import adjoint, row
from tapegrad.rules.spectra import ORDER, SINGULAR, SYMMETRIC
from tapegrad.scipy.linalg._banded import hermitian_of_band
from tapegrad.scipy.linalg._inputs import array, checked, core, expressed, fixed, refuse
from tapegrad.scipy.linalg._structure import promised

# --- Symmetric: one matrix, all values


def _plain_eigh(a: Value, lower: bool, driver: str | None) -> tuple[Value, Value]:
    w, v = scipy.linalg.eigh(a, lower=lower, driver=driver, check_finite=False)
    return w, v


def _plain_eigvalsh(a: Value, lower: bool, driver: str | None) -> tuple[Value, Value]:
    """With the values that eigvalsh has: those of eigh may differ in the last digit."""
    w = scipy.linalg.eigvalsh(a, lower=lower, driver=driver, check_finite=False)
    return w, scipy.linalg.eigh(a, lower=lower, driver=driver, check_finite=False)[1]


def _eigh_vjp(g: Cotangent, out: Value, _a: Value, lower: bool, driver: Any) -> tuple[Cotangent]:
    found: tuple[Cotangent] = SYMMETRIC["vjp"](g, out, _a)  # type: ignore[operator]
    return found


def _eigh_jvp(dots: Any, out: Value, _a: Value, lower: bool, driver: Any) -> Any:
    return SYMMETRIC["jvp"](dots, out, _a)  # type: ignore[operator]


_OPTIONS: dict[str, Any] = {**SYMMETRIC, "vjp": _eigh_vjp, "jvp": _eigh_jvp, "arrays": 1}
EIGH = core(_plain_eigh, name="scipy.linalg.eigh", **_OPTIONS)
EIGVALSH = core(_plain_eigvalsh, name="scipy.linalg.eigvalsh", **_OPTIONS)

# --- Symmetric: some of the values, two matrices, bands


def _aligned(matrix: Value, w0: Value, y0: Value, first: int | None = None) -> tuple[Value, Value]:
    """Values and vectors of a Hermitian matrix, chosen and turned as the given plain ones are."""
    w, y = np.linalg.eigh(matrix)
    turn = np.matmul(adjoint(untraced(y)), y0)
    count = w0.shape[-1]
    if count != w.shape[-1]:
        if first is None:
            everywhere, some = branch_on(itself, w), branch_on(itself, w0)
            far = [
                np.sum(np.abs(everywhere[at : at + count] - some))
                for at in range(len(w) - count + 1)
            ]
            first = int(np.argmin(far))
        w = w[..., first : first + count]
    return w, np.matmul(y, turn)


def _plain_general(a: Value, b: Value = None, **options: Any) -> tuple[Value, Value]:
    w, v = scipy.linalg.eigh(a, b, check_finite=False, **options)
    return w, v


GENERAL = fixed(_plain_general)


def _plain_some(a: Value, **options: Any) -> tuple[Value, Value]:
    return _plain_general(a, None, **options)


SOME = fixed(_plain_some, batch="loop")


def _eigh(
    a: Value,
    b: Value = None,
    *,
    lower: bool = True,
    eigvals_only: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    type: int = 1,
    check_finite: bool = True,
    subset_by_index: Any = None,
    subset_by_value: Any = None,
    driver: str | None = None,
) -> Any:
    a = checked(a, check_finite)
    options: dict[str, Any] = {"lower": bool(lower), "driver": driver}
    if b is None and subset_by_index is None and subset_by_value is None:
        rule = EIGVALSH if eigvals_only else EIGH
        w, v = rule.apply_bound([a], options)
        return w if eigvals_only else (w, v)
    first = None if subset_by_index is None else int(subset_by_index[0])
    options.update(subset_by_index=subset_by_index, subset_by_value=subset_by_value, type=type)
    if b is None:
        w0, v0 = SOME.apply_bound([untraced(a)], options)
        w, v = _aligned(promised(a, lower), w0, v0, first)
        return w if eigvals_only else (w, v)
    b = checked(b, check_finite)
    w0, v0 = GENERAL.apply_bound([untraced(a), untraced(b)], options)
    w, v = _of_two(promised(a, lower), promised(b, lower), w0, v0, type, first)
    return w if eigvals_only else (w, v)


def _of_two(
    a: Value, b: Value, w0: Value, v0: Value, kind: int, first: int | None
) -> tuple[Value, Value]:
    """By the Cholesky factor of b, as LAPACK's sygst: one matrix with the same eigenvalues."""
    factor = np.linalg.cholesky(b)
    if kind == 1:
        left = np.linalg.solve(factor, a)
        matrix = np.linalg.solve(factor, adjoint(left))
    else:
        matrix = np.matmul(np.matmul(adjoint(factor), a), factor)
    if kind == 3:
        w, y = _aligned(matrix, w0, np.linalg.solve(untraced(factor), v0), first)
        return w, np.matmul(factor, y)
    w, y = _aligned(matrix, w0, np.matmul(adjoint(untraced(factor)), v0), first)
    return w, np.linalg.solve(adjoint(factor), y)


def _eigvalsh(a: Value, b: Value, **options: Any) -> Any:
    return _eigh(a, b, eigvals_only=True, **options)


eigh = expressed(scipy.linalg.eigh, _eigh)
eigvalsh = expressed(scipy.linalg.eigvalsh, _eigvalsh)


def _plain_tridiagonal(d: Value, e: Value, **options: Any) -> tuple[Value, Value]:
    w, v = scipy.linalg.eigh_tridiagonal(d, e, check_finite=False, **options)
    return w, v


def _plain_band(band: Value, **options: Any) -> tuple[Value, Value]:
    w, v = scipy.linalg.eig_banded(band, check_finite=False, **options)
    return w, v


TRIDIAGONAL = fixed(_plain_tridiagonal, arrays=2, batch="loop")
BAND = fixed(_plain_band, batch="loop")


def _first(select: Any, select_range: Any) -> int | None:
    """The first of the values that are selected by their numbers."""
    return int(select_range[0]) if select in ("i", 2) else None


def _eigh_tridiagonal(
    d: Value,
    e: Value,
    eigvals_only: bool = False,
    select: str = "a",
    select_range: Any = None,
    check_finite: bool = True,
    tol: float = 0.0,
    lapack_driver: str = "auto",
) -> Any:
    """By the whole matrix, at the cost of one that is not tridiagonal."""
    d, e = checked(d, check_finite), checked(e, check_finite)
    options = {"select": select, "select_range": select_range, "tol": tol}
    options["lapack_driver"] = lapack_driver if select == "a" else "auto"
    w0, v0 = TRIDIAGONAL.apply_bound([untraced(d), untraced(e)], options)
    count = d.shape[-1]
    i, j = np.indices((count, count))
    beside = np.abs(i - j) == 1
    matrix = np.where(i == j, row(d), 0)
    if count > 1:
        matrix = matrix + np.where(beside, e[..., np.where(beside, np.minimum(i, j), 0)], 0)
    w, v = _aligned(matrix, w0, v0, _first(select, select_range))
    return w if eigvals_only else (w, v)


def _eigvalsh_tridiagonal(
    d: Value,
    e: Value,
    select: str,
    select_range: Any,
    check_finite: bool,
    tol: float,
    lapack_driver: str,
) -> Value:
    return _eigh_tridiagonal(
        d, e, True, select, select_range, check_finite, tol, lapack_driver="auto"
    )


def _eig_banded(
    a_band: Value,
    lower: bool = False,
    eigvals_only: bool = False,
    overwrite_a_band: bool = False,
    select: str = "a",
    select_range: Any = None,
    max_ev: int = 0,
    check_finite: bool = True,
) -> Any:
    """By the whole matrix, at the cost of one that is not banded."""
    band = checked(a_band, check_finite)
    options = {"lower": lower, "select": select, "select_range": select_range, "max_ev": max_ev}
    w0, v0 = BAND.apply_bound([untraced(band)], options)
    first = _first(select, select_range)
    w, v = _aligned(hermitian_of_band(band, lower), w0, v0, first)
    return w if eigvals_only else (w, v)


def _eigvals_banded(
    a_band: Value,
    lower: bool,
    overwrite_a_band: bool,
    select: str,
    select_range: Any,
    check_finite: bool,
) -> Value:
    return _eig_banded(a_band, lower, True, False, select, select_range, 0, check_finite)


eigh_tridiagonal = expressed(scipy.linalg.eigh_tridiagonal, _eigh_tridiagonal)
eigvalsh_tridiagonal = expressed(scipy.linalg.eigvalsh_tridiagonal, _eigvalsh_tridiagonal)
eig_banded = expressed(scipy.linalg.eig_banded, _eig_banded)
eigvals_banded = expressed(scipy.linalg.eigvals_banded, _eigvals_banded)

# --- Singular values


def _plain_svd(a: Value, full_matrices: bool, driver: str) -> tuple[Value, Value, Value]:
    u, s, vh = scipy.linalg.svd(a, full_matrices, check_finite=False, lapack_driver=driver)
    return u, s, vh


def _plain_svdvals(a: Value, full_matrices: bool, driver: str) -> tuple[Value, Value, Value]:
    u, _, vh = scipy.linalg.svd(a, False, check_finite=False, lapack_driver=driver)
    s = scipy.linalg.svd(a, compute_uv=False, check_finite=False, lapack_driver=driver)
    return u, s, vh


def _svd_vjp(
    g: Cotangent, out: Value, _a: Value, full_matrices: bool, driver: str
) -> tuple[Cotangent]:
    found: tuple[Cotangent] = SINGULAR["vjp"](g, out, _a)  # type: ignore[operator]
    return found


_OF_SINGULAR: dict[str, Any] = {**SINGULAR, "vjp": _svd_vjp, "arrays": 1}
SVD = core(_plain_svd, name="scipy.linalg.svd", **_OF_SINGULAR)
SVDVALS = core(_plain_svdvals, name="scipy.linalg.svdvals", **_OF_SINGULAR)


def _svd(
    a: Value,
    full_matrices: bool = True,
    compute_uv: bool = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Any:
    a = checked(a, check_finite)
    options = {"full_matrices": full_matrices and compute_uv, "driver": lapack_driver}
    if compute_uv:
        u, s, vh = SVD.apply_bound([a], options)
        return u, s, vh
    return SVDVALS.apply_bound([a], options)[1]


svd = expressed(scipy.linalg.svd, _svd)
svdvals = expressed(
    scipy.linalg.svdvals,
    lambda a, overwrite_a=False, check_finite=True: _svd(
        a, compute_uv=False, check_finite=check_finite
    ),
)

# --- Any square matrix


def _plain_eig(a: Value, b: Value = None) -> tuple[Value, Value, Value]:
    w, left, right = scipy.linalg.eig(a, b, left=True, right=True, check_finite=False)
    return w, left, right


EIG = fixed(_plain_eig)


def _matrix(a: Value, b: Value, check_finite: bool) -> Value:
    a = checked(a, check_finite)
    return a if b is None else np.linalg.solve(checked(b, check_finite), a)


def _complex(w: Value) -> Value:
    return w if w.dtype.kind == "c" else w.astype(np.result_type(w.dtype, np.complex64))


def _eig(
    a: Value,
    b: Value,
    left: bool,
    right: bool,
    overwrite_a: bool,
    overwrite_b: bool,
    check_finite: bool,
    homogeneous_eigvals: bool,
) -> Any:
    if homogeneous_eigvals:
        raise refuse("eig", "homogeneous_eigvals=True", "Leave it away for a regular b.")
    matrix = _matrix(a, b, check_finite)
    plain = [untraced(array(a)), None if b is None else untraced(array(b))]
    w0, left0, right0 = EIG.apply_bound(plain, {})
    w, v = np.linalg.eig(matrix)
    order = ORDER.apply_bound([w0, untraced(w)], {})
    w, v = np.take_along_axis(w, order, -1), np.take_along_axis(v, row(order), -1)
    if right0.dtype.kind == "f":
        v = np.real(v)  # complex from NumPy 2.5 on
    found = [_complex(w)]
    if left:
        base = v if b is None else np.matmul(checked(b), v)
        beside = adjoint(np.linalg.inv(base))
        found.append(_turned(beside / row(np.linalg.norm(beside, axis=-2)), left0))
    if right:
        found.append(_with_phases(v, right0))
    return tuple(found) if len(found) > 1 else found[0]


def _with_phases(v: Value, v0: Value) -> Value:
    """Vectors of length one with the phases of the given plain ones."""
    along = np.sum(np.conjugate(untraced(v)) * v0, axis=-2)
    return v * row(along / np.abs(along))


def _turned(v: Value, v0: Value) -> Value:
    """The same for vectors whose own phase is not fixed: the largest component stays as it is."""
    if v.dtype.kind != "c":
        return _with_phases(v, v0)
    size = np.abs(v0)
    at = row(np.argmax(size, axis=-2))
    pivot = np.take_along_axis(v, at, -2)
    given = np.take_along_axis(v0, at, -2)
    return v * (np.conjugate(pivot) / np.abs(pivot)) * (given / np.abs(given))


def _eigvals(
    a: Value, b: Value, overwrite_a: bool, check_finite: bool, homogeneous_eigvals: bool
) -> Value:
    if homogeneous_eigvals:
        raise refuse("eigvals", "homogeneous_eigvals=True", "Leave it away for a regular b.")
    matrix = _matrix(a, b, check_finite)
    plain = [untraced(array(a)), None if b is None else untraced(array(b))]
    w = np.linalg.eigvals(matrix)
    order = ORDER.apply_bound([EIGVALS.apply_bound(plain, {}), untraced(w)], {})
    return _complex(np.take_along_axis(w, order, -1))


def _plain_eigvals(a: Value, b: Value = None) -> Value:
    return scipy.linalg.eigvals(a, b, check_finite=False)


EIGVALS = fixed(_plain_eigvals)
eig = expressed(scipy.linalg.eig, _eig)
eigvals = expressed(scipy.linalg.eigvals, _eigvals)

__all__ = [
    "eig",
    "eig_banded",
    "eigh",
    "eigh_tridiagonal",
    "eigvals",
    "eigvals_banded",
    "eigvalsh",
    "eigvalsh_tridiagonal",
    "svd",
    "svdvals",
]
