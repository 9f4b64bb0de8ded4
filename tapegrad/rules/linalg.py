"""Linear algebra: equations, inverses, determinants, condition numbers.

Formulas are derived with conjugate cotangents, where the inner product is Re tr(G^H X). The
cotangents of the tape take no conjugates, so a rule conjugates what it gets and returns, unless
that cancels. M. Giles, "An extended collection of matrix derivative results for forward and
reverse mode algorithmic differentiation" (2008), has the real cases; other sources are cited where
they are used.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad._core.fast.call_plans import Kernels, Spec
from tapegrad._core.forms import Constant, composite, constant, general, resolved_product
from tapegrad._core.quiet import errstate, silence
from tapegrad._core.types import Cotangent, Function, Tangent, Value
from tapegrad._core.values import any_true, innermost, is_ndarray, untraced
from tapegrad._numpy_versions import COND_IS_REAL
from tapegrad.rules.kinks import largest_size
from tapegrad.rules.matrices import (
    adjoint,
    column,
    conjugated,
    diagonal,
    outer,
    row,
    scalar,
    shaped,
    times,
    transposed,
    unit,
)

# --- inverse and solve


def _inv_vjp(g: Cotangent, out: Value, _a: Value) -> Cotangent:
    inverse = transposed(out)
    return -times(times(inverse, g), inverse)


def _inv_jvp(dots: Sequence[Tangent], out: Value, _a: Value) -> Tangent:
    return -times(times(out, dots[0]), out)


general(np.linalg.inv, vjp=[_inv_vjp], jvp=_inv_jvp, batch="(m,m)")


def _solve_b(g: Cotangent, _out: Value, a: Value, _b: Value) -> Cotangent:
    flipped = transposed(shaped(a))
    if len(_b.shape) == 1:  # a vector for all matrices; anything else is a stack of matrices
        return np.linalg.solve(flipped, column(g))[..., 0]
    return np.linalg.solve(flipped, g)


def _solve_a(g: Cotangent, out: Value, a: Value, _b: Value) -> Cotangent:
    b_bar = _solve_b(g, out, a, _b)
    if len(_b.shape) == 1:
        return -outer(b_bar, out)
    return -np.matmul(b_bar, transposed(out))


def _solve_jvp(dots: Sequence[Tangent], out: Value, a: Value, _b: Value) -> Tangent:
    a_dot, b_dot = dots
    vector = len(_b.shape) == 1
    x = column(out) if vector else out
    right = 0 if b_dot is None else column(b_dot) if vector else b_dot
    right = right if a_dot is None else right - np.matmul(a_dot, x)
    out_dot = np.linalg.solve(shaped(a), right)
    return out_dot[..., 0] if vector else out_dot


# By the rule's own functions a gradient costs 1.5 times this (8 x 8).
def _plan_solve(specs: tuple[Spec, ...], out: Spec, wanted: Sequence[bool], /) -> Kernels | None:
    """The kernels of one matrix with a vector or with columns."""
    a, b = specs
    if a.ndim != 2 or not 0 < b.ndim <= 2 or not b.size or not a.dtype is b.dtype is out.dtype:
        return None
    by_a, by_b = wanted

    def pull(g: Cotangent, out: Value, a: Value, _b: Value) -> tuple[Cotangent, Cotangent]:
        b_bar = np.linalg.solve(a.T, g)
        a_bar = None
        if by_a:
            sides = (b_bar, out.T) if b_bar.ndim == 2 else (b_bar[:, None], out[None])
            a_bar = np.negative(sides[0].dot(sides[1]))
        return a_bar, b_bar if by_b else None

    def push(dots: Sequence[Tangent], out: Value, a: Value, _b: Value) -> Tangent:
        a_dot, b_dot = dots
        if a_dot is None:
            return np.linalg.solve(a, b_dot)
        change = a_dot.dot(out)
        return np.linalg.solve(a, -change if b_dot is None else b_dot - change)

    return Kernels(None, pull, push)


general(
    np.linalg.solve,
    vjp=[_solve_a, _solve_b],
    jvp=_solve_jvp,
    batch="(m,m),(m,k?)->(m,k?)",
    plan=_plan_solve,
)


def _tensorinv(a: Value, ind: int = 2) -> Value:
    if ind <= 0:
        raise ValueError("Invalid ind argument.")
    shape = a.shape[ind:] + a.shape[:ind]
    size = int(np.prod(a.shape[ind:]))
    return np.reshape(np.linalg.inv(np.reshape(a, (-1, size))), shape)


def _tensorsolve(a: Value, b: Value, axes: Sequence[int] | None = None) -> Value:
    a, b = shaped(a), shaped(b)
    if axes is not None:
        order = list(range(a.ndim))
        for axis in axes:
            order.remove(axis)
            order.append(axis)
        a = np.transpose(a, order)
    shape = a.shape[b.ndim :]
    if a.size != int(np.prod(shape)) ** 2:
        raise np.linalg.LinAlgError(
            "Input arrays must satisfy the requirement prod(a.shape[b.ndim:]) == "
            "prod(a.shape[:b.ndim])"
        )
    square = np.reshape(a, (-1, int(np.prod(shape))))
    return np.reshape(np.linalg.solve(square, np.ravel(b)), shape)


composite(np.linalg.tensorinv, _tensorinv)
composite(np.linalg.tensorsolve, _tensorsolve)

# --- determinants

# Beyond this ratio of largest to smallest singular value, det(a) * inv(a) loses more digits in a
# second derivative than the expansion about the singular values, which is good to that order.
_ILL_CONDITIONED = 1e5


def _cofactors(a: Value, det: Value) -> Value:
    """The matrix of cofactors, d det / d a.

    Of up to three rows, products of elements. Of more, det(a) * inv(a).T where that is well
    conditioned; elsewhere an expansion about the singular value decomposition a = u s v: exact,
    with its first derivative, at every rank.
    """
    if a.shape[-1] == 0:
        return np.zeros(a.shape, a.dtype)
    by_elements = _BY_ELEMENTS.get(a.shape[-1])
    inverse = None if by_elements else _inverse_if_well_conditioned(untraced(a))
    if inverse is not None:
        if untraced(a) is not a:
            inverse = np.linalg.inv(a)
        return scalar(det) * transposed(inverse)
    finite = np.isfinite(untraced(a)).all((-2, -1))
    if any_true(~finite):  # LAPACK may look for the singular values for ever
        found = _cofactors(np.where(scalar(finite), a, unit(a)), np.where(finite, det, 1))
        return np.where(scalar(finite), found, np.nan)
    if by_elements:
        return by_elements(a)
    u, s, v = np.linalg.svd(untraced(a))
    ill = ~(s[..., -1] * _ILL_CONDITIONED > s[..., 0])
    if not any_true(ill):
        return scalar(det) * transposed(np.linalg.inv(a))
    expand = _expanded_cofactors if _orders_to_come(a) < 2 else _adjugate
    expanded = expand(a, u, s, v)
    if not any_true(~ill):
        return expanded
    safe = np.where(scalar(ill), unit(a), a)
    return np.where(scalar(ill), expanded, scalar(det) * transposed(np.linalg.inv(safe)))


def _cofactors_of_two(a: Value) -> Value:
    return a[..., ::-1, ::-1] * np.array([[1.0, -1.0], [-1.0, 1.0]], a.real.dtype)


def _cofactors_of_three(a: Value) -> Value:
    """The minors, whose signs are right where rows and columns go round."""
    twice = np.concatenate([a, a], -1)
    twice = np.concatenate([twice, twice], -2)
    after, last = slice(1, 4), slice(2, 5)
    plus = twice[..., after, after] * twice[..., last, last]
    return plus - twice[..., after, last] * twice[..., last, after]


_BY_ELEMENTS: dict[int, Function] = {1: np.ones_like, 2: _cofactors_of_two, 3: _cofactors_of_three}


def _inverse_if_well_conditioned(a: Value) -> Value | None:
    """The inverse of matrices that are far from singular; None if that is not cheap to tell.

    The product of the norms of a matrix and its inverse is never below the ratio of its singular
    values, and costs a tenth of these.
    """
    if not is_ndarray(a) or not a.size:
        return None
    try:
        inverse = np.linalg.inv(a)
    except np.linalg.LinAlgError:
        return None
    with silence():
        squares = [np.add.reduce(np.square(np.abs(x)), (-2, -1)) for x in (a, inverse)]
        well = squares[0] * squares[1] < _ILL_CONDITIONED**2  # not where there is NaN
    return inverse if well.all() else None


def _orders_to_come(x: Value) -> int:
    """How many transforms may still differentiate a result of x."""
    count = 0
    while hasattr(x, "tape"):
        tape, x = x.tape, x._value
        while tape is not None:
            tape, count = tape.parent, count + 1
    return count


def _adjugate(a: Value, *_: Any) -> Value:
    """The cofactors as a polynomial of the matrix, by the recursion of Faddeev and LeVerrier.

    Exact to any order, but less so for large matrices than the expansion of low order: F. R.
    Gantmacher, "The theory of matrices" (1959), chapter IV, section 5.
    """
    count = a.shape[-1]
    power: Any = unit(a)
    for k in range(1, count):
        product = np.matmul(a, power)
        power = product - unit(a) * scalar(np.trace(product, 0, -2, -1)) / k
    return transposed(power) * (-1.0) ** (count - 1)


def _expanded_cofactors(a: Value, u: Value, s: Value, v: Value) -> Value:
    """Cofactors of a near u @ diag(s) @ v, to first order in the difference.

    The difference is zero in value, but traced. In the basis of u and v the matrix is diag(s) + e,
    and its determinant up to second order in e is prod(s) + sum_i e_ii prod_{j!=i} s_j
    + sum_{i<j} (e_ii e_jj - e_ij e_ji) prod_{k!=i,j} s_k.
    """
    count = a.shape[-1]
    others = ~np.eye(count, dtype=bool)
    without_one = np.prod(np.where(others, row(s), 1), axis=-1)
    both = others[:, None, :] & others[None, :, :]
    without_two = np.prod(np.where(both, s[..., None, None, :], 1), axis=-1) * others
    rotated = np.matmul(np.matmul(adjoint(u), a), adjoint(v))
    e = rotated - np.eye(count) * column(s)
    inner = -without_two * transposed(e)
    along = without_one + np.matmul(without_two, column(diagonal(e)))[..., 0]
    inner = inner + np.eye(count) * column(along)
    phase = scalar(np.linalg.det(u) * np.linalg.det(v))
    return phase * np.matmul(np.matmul(np.conjugate(u), inner), np.conjugate(v))


def _det_vjp(g: Cotangent, out: Value, a: Value) -> Cotangent:
    return scalar(g) * _cofactors(a, out)


def _det_jvp(dots: Sequence[Tangent], out: Value, a: Value) -> Tangent:
    return np.sum(_cofactors(a, out) * dots[0], axis=(-2, -1))


# By the rule's own functions a gradient costs 1.8 times this (8 x 8), 1.10 (100 x 100).
def _plan_det(a: Spec, out: Spec, /) -> Kernels | None:
    if a.ndim != 2 or a.shape[-1] in (0, *_BY_ELEMENTS):
        return None
    if out.dtype is not a.dtype or a.dtype.kind != "f":
        return None

    def inverse_of(a: Value) -> Value | None:
        """As `_inverse_if_well_conditioned`, of one matrix of real numbers."""
        try:
            inverse = np.linalg.inv(a)
        except np.linalg.LinAlgError:
            return None
        row, other = a.reshape(-1), inverse.reshape(-1)
        return inverse if row.dot(row) * other.dot(other) < _ILL_CONDITIONED**2 else None

    def pull(g: Cotangent, out: Value, a: Value) -> Cotangent:
        inverse = inverse_of(a)
        return g * (_cofactors(a, out) if inverse is None else out * inverse.T)

    def push(dot: Tangent, out: Value, a: Value) -> Tangent:
        inverse = inverse_of(a)
        changes = (_cofactors(a, out) if inverse is None else inverse.T) * dot
        total = np.add.reduce(changes, None)
        return total if inverse is None else out * total

    return Kernels(np.linalg.det, pull, push)


general(np.linalg.det, vjp=[_det_vjp], jvp=_det_jvp, batch="(m,m)", plan=_plan_det)


def _inverse_for_logarithm(a: Value, sign: Value) -> Value:
    """The inverse; nan for singular matrices, where log|det| is -inf and has no derivative."""
    singular = scalar(untraced(sign) == 0)
    if not any_true(singular):
        return np.linalg.inv(a)
    return np.where(singular, np.nan, np.linalg.inv(np.where(singular, unit(a), a)))


def _slogdet_vjp(g: Cotangent, out: Value, a: Value) -> tuple[Cotangent]:
    sign, _ = out
    sign_bar, log_bar = g
    if sign.dtype.kind == "c":
        # d sign = sign * i Im tr(inv(a) da), d log = Re tr(inv(a) da)
        log_bar = log_bar + 1j * np.imag(sign_bar * sign)
    return (resolved_product(scalar(log_bar), transposed(_inverse_for_logarithm(a, sign))),)


def _slogdet_jvp(dots: Sequence[Tangent], out: Value, a: Value) -> tuple[Tangent, Tangent]:
    sign, _ = out
    inverse = transposed(_inverse_for_logarithm(a, sign))
    change = np.sum(resolved_product(dots[0], inverse), axis=(-2, -1))
    if sign.dtype.kind == "c":
        return sign * 1j * np.imag(change), np.real(change)
    return None, change


general(np.linalg.slogdet, vjp=_slogdet_vjp, jvp=_slogdet_jvp, batch="(m,m)")

# --- Pseudo-inverse: G. Golub, V. Pereyra, "The differentiation of pseudo-inverses" (1973), 4.12


def _pinv_vjp(g: Cotangent, out: Value, a: Value, **_: Any) -> Cotangent:
    p, p_bar = out, conjugated(g)
    above = adjoint(p)
    total = np.matmul(np.matmul(above, p_bar), above)
    # In this order, as p above and above p alone may be out of range.
    beside_range = _beside(a, p)
    if beside_range is not None:
        total = total + np.matmul(np.matmul(np.matmul(beside_range, adjoint(p_bar)), p), above)
    beside_rows = _beside(p, a)
    if beside_rows is not None:
        total = total + np.matmul(above, np.matmul(p, np.matmul(adjoint(p_bar), beside_rows)))
    return -conjugated(total)


def _beside(a: Value, b: Value) -> Value:
    """The projection a b - 1; None, or zero, where the rank is full and it is rounding alone."""
    beside, rank = np.matmul(a, b) - np.eye(a.shape[-2], dtype=a.dtype), a.shape[-2]
    short = np.real(np.trace(untraced(beside), axis1=-2, axis2=-1)) < -0.5
    if rank > a.shape[-1]:
        return beside
    return np.where(scalar(short), beside, 0) if any_true(short) else None


def _pinv_of_constant_rank(a: Value, rcond: Value = None, *, rtol: Value = ...) -> Value:
    options = {} if rtol is ... else {"rtol": rtol}
    return np.linalg.pinv(a, rcond, **options)


PINV = general(_pinv_of_constant_rank, vjp=[_pinv_vjp], name="np.linalg.pinv", batch="(m,n)")


def _pinv(a: Value, rcond: Value = None, hermitian: bool = False, *, rtol: Value = ...) -> Value:
    """The pseudo-inverse by the rule for constant rank, or by the singular value decomposition.

    The rule holds if the singular values below the cutoff are zero. The vectors of those that are
    not rotate with the others, which the derivative of the decomposition accounts for.
    """
    options = {} if rtol is ... else {"rtol": rtol}
    relative = _relative_cutoff(a, rcond, rtol)
    if a.size == 0 or rcond is not None and rtol is not ...:  # the latter is NumPy's error
        fixed = {name: untraced(value) for name, value in {"rcond": rcond, **options}.items()}
        return PINV.apply_bound([a], fixed)
    largest = 8 * max(a.shape[-2:]) * np.finfo(a.dtype).eps
    if not hermitian and innermost([relative]) is None and np.all(relative <= largest):
        return PINV.apply_bound([a], {"rcond": rcond, **options})
    u, s, vh = np.linalg.svd(a, full_matrices=False, hermitian=hermitian)
    kept = untraced(s) > column(relative) * np.max(untraced(s), axis=-1, keepdims=True)
    inverse = np.where(kept, 1 / np.where(kept, s, 1), 0)
    return np.matmul(adjoint(vh) * row(inverse), adjoint(u))


def _relative_cutoff(a: Value, rcond: Value, rtol: Value) -> Value:
    if rtol is None:
        return np.asarray(max(a.shape[-2:]) * np.finfo(a.dtype).eps)
    return shaped(1e-15 if rcond is None and rtol is ... else rcond if rtol is ... else rtol)


composite(np.linalg.pinv, _pinv)


# --- condition and rank


def _plain_cond(x: Value, p: Any) -> Value:
    return np.linalg.cond(x, p)


COND = Constant(_plain_cond, batch=_plain_cond)


def _cond(x: Value, p: Any = None) -> Value:
    given = x = shaped(x)
    value = COND.apply_bound([untraced(x)], {"p": p})
    infinite, undefined = np.isinf(value), np.isnan(value)
    scale = _scale(x)
    if scale is not None:  # which it does not depend on
        x = x / scale
        infinite = infinite & np.isinf(COND.apply_bound([untraced(x)], {"p": p}))
    if any_true(infinite | undefined):
        # Infinite condition numbers have no derivative, but the rest of the stack does. Solvers
        # find no vectors of a matrix with NaN.
        x = np.where(scalar(infinite | undefined), np.eye(x.shape[-2], x.shape[-1]), x)
    if p is None or p in (2, -2):
        s = np.linalg.svd(x, compute_uv=False)
        found = s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
    else:
        axes = (-2, -1)
        found = np.linalg.norm(x, p, axes) * np.linalg.norm(np.linalg.inv(x), p, axes)
    found = np.where(infinite, value, found) if any_true(infinite) else found
    if scale is not None:  # to NumPy's value, where its norms overflow too
        found = found + np.where(infinite | undefined, 0, value - untraced(found))
    if any_true(undefined):  # and so is the derivative, by every element
        with errstate(invalid="ignore"):
            total = np.sum(np.real(given), axis=(-2, -1)) * np.where(undefined, np.nan, 1)
        found = np.where(undefined, total, found)
    return found if COND_IS_REAL else found.astype(value.dtype, copy=False)


def _scale(x: Value) -> Value | None:
    """Powers of two near the sizes of matrices whose powers leave the range; None without any."""
    sizes = largest_size(x, (-2, -1)) * 1.0
    bound = np.finfo(sizes.dtype).max ** 0.125
    extreme = ((sizes > bound) | (sizes < 1 / bound)) & (sizes > 0) & (sizes < np.inf)
    if not any_true(extreme):
        return None
    return np.exp2(np.where(extreme, np.floor(np.log2(np.where(extreme, sizes, 1))), 0))


composite(np.linalg.cond, _cond)


def _ranks(A: Value, tol: Value = None, hermitian: bool = False, **options: Any) -> Value:
    if A.ndim < 3:  # numbers and vectors have the rank 1 unless they are zero
        return np.any(A != 0, axis=tuple(range(1, A.ndim))).astype(int)
    return np.linalg.matrix_rank(A, tol, hermitian, **options)


constant(np.linalg.matrix_rank, batch=_ranks)
