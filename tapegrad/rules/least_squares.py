"""Least squares solutions: np.linalg.lstsq, and the parts that polynomial fits share."""

from __future__ import annotations

import numpy as np

from tapegrad._core.forms import composite, general
from tapegrad._core.types import Cotangent, Value
from tapegrad._core.values import any_true, innermost, untraced
from tapegrad.rules.matrices import adjoint, column, conjugated, shaped

# --- The solution of a system whose rank does not change


def _plain_solution(a: Value, b: Value, rcond: Value) -> tuple[Value, Value]:
    """The least squares solution and the rank, as LAPACK finds them.

    A solution by the pseudo-inverse would have an error as of the squared condition number.
    """
    if innermost([a, b]) is not None:
        return SOLUTION.apply_bound([a, b], {"rcond": rcond})
    solution, _, rank, _ = np.linalg.lstsq(a, b, rcond)
    return solution, rank


def _solution_vjp(
    g: Cotangent, out: Value, a: Value, b: Value, rcond: Value
) -> tuple[Cotangent, Cotangent]:
    """G. H. Golub and V. Pereyra, "The differentiation of pseudo-inverses" (1973), equation 4.12.

    With p the pseudo-inverse and r = b - a x the residual, a change a_dot moves the solution x by
    -p a_dot x, as a change of b would; by p p^H a_dot^H r; and, where the rank is not full, by
    (1 - p a) a_dot^H p^H x, in the kernel of a.
    """
    x, b, x_bar = (v if v.ndim > 1 else column(v) for v in (out[0], b, np.conjugate(g[0])))
    size = np.max(np.abs(untraced(a)), initial=0)
    level = (1 / np.where(size > 0, size, 1)).astype(np.real(untraced(a)).dtype)
    # Of the size of one, here and below, as the square of the inverse may be out of range.
    inverse, scaled = np.linalg.pinv(a, rcond) / level, x / level
    b_bar = np.matmul(adjoint(inverse), x_bar)
    residual = b - np.matmul(a, x)
    unseen = x_bar - np.matmul(inverse, np.matmul(a * level, x_bar))
    a_bar = (
        np.matmul(residual, adjoint(np.matmul(inverse, b_bar)))
        + np.matmul(np.matmul(adjoint(inverse), scaled), adjoint(unseen))
        - np.matmul(b_bar, adjoint(scaled))
    )
    a_bar, b_bar = a_bar * level * level, b_bar * level
    return np.conjugate(a_bar), np.reshape(np.conjugate(b_bar), (len(a), *out[0].shape[1:]))


SOLUTION = general(_plain_solution, vjp=_solution_vjp, arrays=2, name="np.linalg.lstsq")


def residuals_of(a: Value, b: Value, solution: Value, rank: Value) -> Value:
    """The sums of squared residuals; empty where NumPy's are: without full rank.

    Of a vmap, some examples of which have full rank, the others have NaN in their place.
    """
    full = untraced(rank) == a.shape[1]
    if a.shape[0] <= a.shape[1] or not any_true(full):
        return np.zeros(0, np.real(untraced(solution)).dtype)
    left = b - np.matmul(a, solution)
    squares = np.atleast_1d(np.sum(np.real(left * conjugated(left)), axis=0))
    return squares * np.where(full, 1, np.nan) if any_true(np.logical_not(full)) else squares


# --- np.linalg.lstsq


def _lstsq(a: Value, b: Value, rcond: Value = None) -> tuple[Value, Value, Value, Value]:
    a, b = shaped(a), shaped(b)
    if a.ndim != 2 or b.ndim not in (1, 2) or len(a) != len(b):
        np.linalg.lstsq(np.zeros(a.shape), np.zeros(b.shape))  # raises
    cutoff, rounding = _cutoffs(a, untraced(rcond))
    s = np.linalg.svd(a, compute_uv=False)
    if cutoff > rounding and any_true(_cut_off(s, rounding) != _cut_off(s, cutoff)):
        # Singular vectors that are cut off rotate with the others. The derivative of the
        # pseudo-inverse, which goes through the decomposition, accounts for that.
        rank = np.linalg.lstsq(untraced(a), untraced(b), cutoff)[2]
        solution = np.matmul(np.linalg.pinv(a, cutoff), b)
    else:
        options = {"rcond": min(cutoff, rounding)}
        solution, rank = SOLUTION.apply_bound([a, b], options)
    return solution, residuals_of(a, b, solution, rank), rank, s


def _cutoffs(a: Value, rcond: Value) -> tuple[float, float]:
    """The fractions of the largest singular value that count as zero: by rcond, by rounding."""
    epsilon = float(np.finfo(float).eps)  # NumPy uses this for every dtype
    size = max(a.shape)
    if rcond is None:
        return epsilon * size, 8 * epsilon * size
    # LAPACK uses its own precision in place of any other number.
    return float(rcond) if 0 < rcond < 1 else epsilon / 2, 8 * epsilon * size


def _cut_off(s: Value, cutoff: float) -> Value:
    return untraced(s) <= cutoff * np.max(untraced(s), initial=0)


composite(np.linalg.lstsq, _lstsq, batch="loop")
