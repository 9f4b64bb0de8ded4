"""Functions of matrices: exponentials, logarithms, roots, powers.

They are analytic, and their Frechet derivative L(a, e) at a along e has the transpose
g -> L(a^T, g): N. J. Higham, "Functions of matrices" (2008), section 3.2. L is found

- of expm by A. H. Al-Mohy and N. J. Higham, "Computing the Frechet derivative of the matrix
  exponential" (2009), which SciPy has;
- of any other function by f([[a, e], [0, a]]) = [[f(a), L(a, e)], [0, f(a)]]: R. Mathias, "A chain
  rule for matrix functions and applications" (1996). This holds for L itself too, to any order;
- of roots and signs by the Sylvester equations that they satisfy;
- of a function that the user gives by eigenvectors on both sides, whose tangents may be any, also
  where the matrix is Hermitian.

Each is asked for of a balanced matrix: badly scaled ones would cost it its digits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.linalg

from tapegrad._core.types import Cotangent, Value
from tapegrad._core.values import any_true, branch_on, itself, shown_value, untraced
from tapegrad._errors import NotDifferentiableError
from tapegrad._transforms.forward import jvp
from tapegrad.rules.limits import are_close, over_differences
from tapegrad.rules.matrices import adjoint, column, diagonal, row, scalar, transposed, unit
from tapegrad.rules.spectra import has_equal_values
from tapegrad.scipy.linalg._control import sylvester
from tapegrad.scipy.linalg._inputs import array, arrays, checked, core, expressed, fixed, refuse

# --- Balance: f(a) = d f(a / d) d^-1 for matrices a / d = d^-1 a d, d diagonal


def _plain_balance(a: Value) -> Value:
    """The factors d_j / d_i, powers of two, by which rows and columns of a have one length.

    Methods that look at norms alone lose the digits of badly scaled matrices.
    """
    ratio = np.ones(a.shape, np.finfo(a.dtype).dtype)
    for at in np.ndindex(a.shape[:-2]):
        if a.shape[-1] > 1 and np.isfinite(a[at]).all():
            _, (d, _) = scipy.linalg.matrix_balance(a[at], permute=False, separate=True)
            ratio[at] = d / column(d)
    return ratio


BALANCE = fixed(_plain_balance, name="scipy.linalg.matrix_balance")


def _balance(a: Value) -> Any:
    return BALANCE.apply_bound([untraced(a)], {})


def _balanced(along: Callable[..., Value], *given: Value) -> Any:
    """`along(*given)`, a product of functions of the first, and one matrix that is any other."""
    ratio = _balance(given[0])
    return along(*(x * ratio for x in given)) / ratio


# --- The exponential


def _blocks(a: Value, b: Value) -> Value:
    """[[a, b], [0, a]]"""
    top = np.concatenate([a, b], -1)
    return np.concatenate([top, np.concatenate([np.zeros_like(a), a], -1)], -2)


def _both(a: Value, e: Value) -> tuple[Value, Value]:
    """Two matrices in one dtype, of one shape."""
    shape = np.broadcast_shapes(a.shape, e.shape)
    kind = np.result_type(a.dtype, e.dtype)
    return np.broadcast_to(a, shape).astype(kind), np.broadcast_to(e, shape).astype(kind)


def _plain_frechet(a: Value, e: Value) -> Value:
    if not a.size:
        return np.zeros_like(e)
    return scipy.linalg.expm_frechet(a, e, compute_expm=False, check_finite=False)


def _frechet_a(g: Cotangent, _out: Value, a: Value, e: Value) -> Cotangent:
    """The transpose of the derivative of expm of the blocks, of which L is the corner."""
    a, e = _both(a, e)
    count = a.shape[-1]
    corner = np.concatenate(
        [np.concatenate([np.zeros_like(a), g], -1), np.zeros_like(_blocks(a, a))[..., :count, :]],
        -2,
    )
    found = frechet(transposed(_blocks(a, e)), corner)
    return found[..., :count, :count] + found[..., count:, count:]


def _frechet_e(g: Cotangent, _out: Value, a: Value, _e: Value) -> Cotangent:
    return frechet(transposed(a), g)


FRECHET = core(
    _plain_frechet,
    vjp=[_frechet_a, _frechet_e],
    name="scipy.linalg.expm_frechet",
    batch="(m,m),(m,m)",
)


def frechet(a: Value, e: Value) -> Any:
    """The Frechet derivative of expm at a along e."""
    return _balanced(lambda a, e: FRECHET.apply_bound(list(_both(a, e)), {}), a, e)


def _plain_expm(a: Value) -> Value:
    return scipy.linalg.expm(a)


EXPM = core(
    _plain_expm,
    vjp=[lambda g, _out, a: frechet(transposed(a), g)],
    jvp=lambda dots, _out, a: frechet(a, dots[0]),
    name="scipy.linalg.expm",
    batch="(m,m)",
)


def exponential(a: Value) -> Any:
    """expm of an array."""
    return EXPM.apply_bound([a], {})


def _expm_frechet(
    A: Value, E: Value, method: str | None, compute_expm: bool, check_finite: bool
) -> Any:
    a, e = arrays(A, E, check_finite=check_finite)
    if method not in (None, "SPS", "blockEnlarge"):
        raise ValueError(f"Unknown implementation {method}")
    return (exponential(a), frechet(a, e)) if compute_expm else frechet(a, e)


expm = expressed(scipy.linalg.expm, lambda A: exponential(array(A)))
expm_frechet = expressed(scipy.linalg.expm_frechet, _expm_frechet)

# --- Trigonometric functions, by the exponential as SciPy's


def _cosm(a: Value) -> Value:
    if a.dtype.kind == "c":
        return (exponential(1j * a) + exponential(-1j * a)) / 2
    return np.real(exponential(1j * a))


def _sinm(a: Value) -> Value:
    if a.dtype.kind == "c":
        return (exponential(1j * a) - exponential(-1j * a)) * -0.5j
    return np.imag(exponential(1j * a))


def _coshm(a: Value) -> Value:
    return (exponential(a) + exponential(-a)) / 2


def _sinhm(a: Value) -> Value:
    return (exponential(a) - exponential(-a)) / 2


cosm = expressed(scipy.linalg.cosm, lambda A: _cosm(array(A)))
sinm = expressed(scipy.linalg.sinm, lambda A: _sinm(array(A)))
tanm = expressed(scipy.linalg.tanm, lambda A: np.linalg.solve(_cosm(array(A)), _sinm(array(A))))
coshm = expressed(scipy.linalg.coshm, lambda A: _coshm(array(A)))
sinhm = expressed(scipy.linalg.sinhm, lambda A: _sinhm(array(A)))
tanhm = expressed(
    scipy.linalg.tanhm, lambda A: np.linalg.solve(_coshm(array(A)), _sinhm(array(A)))
)

# --- By blocks


def _along(function: Callable[[Value], Value], a: Value, e: Value) -> Value:
    """The Frechet derivative of a function, by balanced blocks of about one size."""
    return _balanced(lambda a, e: _corner(function, a, e), *_both(a, e))


def _corner(function: Callable[[Value], Value], a: Value, e: Value) -> Value:
    count = a.shape[-1]
    if not count:
        return e
    sizes = [np.sqrt(np.sum(np.abs(untraced(x)) ** 2, axis=(-2, -1))) for x in (a, e)]
    positive = (sizes[0] > 0) & (sizes[1] > 0)
    scale = scalar(np.where(positive, sizes[1], 1) / np.where(positive, sizes[0], 1))
    return function(_blocks(a, e / scale))[..., :count, count:] * scale


def _plain_logm(a: Value) -> Value:
    return scipy.linalg.logm(a)


def _kind(x: Value) -> str:
    return str(x.dtype.kind)


def _settled(out: Value) -> Any:
    """A result that is real or complex by its values: what is done with it depends on that."""
    branch_on(_kind, out)
    return out


def logarithm(a: Value) -> Any:
    """logm of an array."""
    return _settled(LOGM.apply_bound([a], {}))


def _logarithm_along(a: Value, e: Value) -> Any:
    """The Frechet derivative of logm.

    The blocks have each eigenvalue twice, which rounding parts. Where one lies near the branch cut
    the matrix is turned away from it first: log(a) = log(exp(-i t) a) + i t.
    """
    angles = np.angle(np.linalg.eigvals(untraced(a)))
    if not angles.shape[-1] or not any_true(np.abs(angles) > 3):
        return _along(logarithm, a, e)
    turn = (np.max(angles, axis=-1) + np.min(angles, axis=-1)) / 2
    phase = scalar(np.exp(-1j * turn))
    return _along(lambda x: logarithm(phase * x), a, e)


LOGM = core(
    _plain_logm,
    vjp=[lambda g, _out, a: _logarithm_along(transposed(a), g)],
    jvp=lambda dots, _out, a: _logarithm_along(a, dots[0]),
    name="scipy.linalg.logm",
    batch="(m,m)",
)


def _with_error(function: str, disp: Any) -> None:
    if disp is False:
        raise refuse(function, "disp=False", "Leave it away: the estimate has no derivative.")


def _logm(A: Value, disp: Any = True) -> Value:
    _with_error("logm", disp)
    return logarithm(array(A))


logm = expressed(scipy.linalg.logm, _logm)


def _plain_power(a: Value, t: Value) -> Value:
    found = scipy.linalg.fractional_matrix_power(a, float(t))
    return found.copy() if found is a else found  # a recorded call has results of its own


def _power(a: Value, t: Value) -> Any:
    return _settled(POWER.apply_bound([a, t], {}))


def _power_t(g: Cotangent, out: Value, a: Value, _t: Value) -> Cotangent:
    log = logarithm(a)
    if log.dtype.kind == "c" and out.dtype.kind == "f":
        raise NotDifferentiableError(
            "scipy.linalg.fractional_matrix_power: not differentiable by t at a whole number "
            "where A has negative eigenvalues, as powers nearby are complex. Pass A + 0j."
        )
    return np.sum(g * np.matmul(log, out))


def _power_a(g: Cotangent, _out: Value, a: Value, t: Value) -> Cotangent:
    """As of expm(t logm(a)), more exact than by blocks; whole powers need no logarithm.

    Where t is traced, a power of any other size is near, and its derivative is asked for.
    """
    flipped = transposed(a)
    whole = branch_on(itself, t)
    if shown_value(t) is t and np.ndim(whole) == 0 and whole == int(whole):
        return _along(lambda x: np.linalg.matrix_power(x, int(whole)), flipped, g)

    def along(a: Value, e: Value) -> Value:
        return _logarithm_along(a, t * frechet(t * logarithm(a), e))

    return _balanced(along, flipped, g)


POWER = core(_plain_power, vjp=[_power_a, _power_t], name="scipy.linalg.fractional_matrix_power")
fractional_matrix_power = expressed(
    scipy.linalg.fractional_matrix_power, lambda A, t: _power(array(A), array(t))
)

# --- Roots and signs, by Sylvester equations: Higham (2008), sections 6.1 and 5.1


def _root_along(a: Value, e: Value, root: Value) -> Any:
    return _balanced(lambda _a, e, root: sylvester(root, root, e), a, e, root)


def _plain_sqrtm(a: Value) -> Value:
    return scipy.linalg.sqrtm(a)


SQRTM = core(
    _plain_sqrtm,
    vjp=[lambda g, out, a: _root_along(transposed(a), g, transposed(out))],
    jvp=lambda dots, out, a: _root_along(a, dots[0], out),
    name="scipy.linalg.sqrtm",
    batch="(m,m)",
)


def _sqrtm(A: Value, disp: Any = True, blocksize: Any = None) -> Value:
    _with_error("sqrtm", disp)
    return _settled(SQRTM.apply_bound([array(A)], {}))


def _plain_signm(a: Value) -> Value:
    return scipy.linalg.signm(a)


def _sign_along(a: Value, e: Value, sign: Value) -> Value:
    root = np.matmul(sign, a)
    found = sylvester(root, root, e)
    return found - np.matmul(np.matmul(sign, found), sign)


def _signm_vjp(g: Cotangent, out: Value, a: Value) -> Cotangent:
    return _balanced(_sign_along, transposed(a), g, transposed(out))


SIGNM = core(_plain_signm, vjp=[_signm_vjp], name="scipy.linalg.signm", batch="(m,m)")


def _signm(A: Value, disp: Any = True) -> Value:
    _with_error("signm", disp)
    return SIGNM.apply_bound([array(A)], {})


sqrtm = expressed(scipy.linalg.sqrtm, _sqrtm)
signm = expressed(scipy.linalg.signm, _signm)

# --- Any function, by eigenvalues


_TOO_FEW = (
    "scipy.linalg.funm: not differentiable by this method where A has too few independent "
    "eigenvectors, or nearly so. Use expm, logm, sqrtm, cosm and their kin if func is one of "
    "theirs."
)


def _eigenvectors(a: Value) -> tuple[Value, Value, Value]:
    """Eigenvalues and vectors, orthogonal ones of Hermitian matrices; and which are Hermitian."""
    hermitian = ~np.any(np.abs(a - adjoint(a)) > 0, axis=(-2, -1), keepdims=True)
    if hermitian.all():
        w, v = np.linalg.eigh(a)
        return w.astype(a.dtype), v, hermitian  # values may become complex
    w, v = np.linalg.eig(a)
    if hermitian.any():  # among equal values those of eig may be nearly parallel
        values, vectors = np.linalg.eigh(np.where(hermitian, a, 0))
        w, v = np.where(hermitian[..., 0], values, w), np.where(hermitian, vectors, v)
    return w, v, hermitian


def _plain_spectrum(a: Value) -> tuple[Value, Value, Value]:
    """The w, v, u of a = v diag(w) u with u v = 1; orthogonal vectors of Hermitian matrices."""
    w, v, hermitian = _eigenvectors(a)
    if hermitian.all():
        return w, v, np.array(adjoint(v))
    lengths = np.linalg.svdvals(v)
    if any_true(lengths[..., -1] ** 2 * WEAKEST < np.finfo(v.dtype).eps * lengths[..., 0] ** 2):
        raise NotDifferentiableError(_TOO_FEW)
    return w, v, np.linalg.inv(v)


def _spectrum_vjp(
    g: Sequence[Cotangent], out: tuple[Value, Value, Value], _a: Value
) -> tuple[Cotangent]:
    """With t = u da v: dw = diag(t), dv = v s, du = -s u, s_ij = t_ij / (w_j - w_i).

    Vectors keep their lengths and phases in this sense, on which no function of a depends.
    """
    w, v, u = out
    w_bar, v_bar, u_bar = g
    turned = np.matmul(transposed(v), v_bar) - np.matmul(u_bar, transposed(u))
    inner = over_differences(turned, w) + unit(v) * column(w_bar)
    return (np.matmul(np.matmul(transposed(u), inner), transposed(v)),)


WEAKEST = 1e-4  # the relative error that nearly parallel eigenvectors may cause
SPECTRUM = core(
    _plain_spectrum,
    vjp=_spectrum_vjp,
    name="scipy.linalg.funm",
    singular=has_equal_values,
    batch="(m,m)",
)

# Quotients by differences of nearly equal eigenvalues lose digits, and their vectors may be nearly
# parallel. In clusters of them a stays a matrix, of which func is its Taylor polynomial: P. Davies
# and N. Higham, "A Schur-Parlett algorithm for computing matrix functions" (2003).

# Quotients of values that are further apart than NEAR have eight digits of a second derivative.
NEAR, TERMS, ROUNDS = 2e-4, 8, 3


def _plain_clusters(a: Value) -> tuple[Value, Value, Value, Value]:
    """The eigenvalues, which pairs are joined by steps of less than NEAR, the means of clusters.

    Last, which pairs need it: of a Hermitian matrix not those that are equal.
    """
    w, _, hermitian = _eigenvectors(a)
    size = np.max(np.abs(w), axis=-1, initial=1)[..., None, None]
    joined = np.abs(column(w) - row(w)) <= NEAR * size
    for _ in range(w.shape[-1].bit_length()):
        joined = np.matmul(joined, joined)
    means = np.sum(joined * row(w), -1) / np.sum(joined, -1)
    equal = np.where(hermitian, are_close(column(w) - row(w), w), np.eye(a.shape[-1], dtype=bool))
    return w, joined, means, joined & ~equal


CLUSTERS = fixed(_plain_clusters, name="scipy.linalg.funm")


def _plain_parted(a: Value, joined: Value, rounds: int = ROUNDS) -> tuple[Value, Value, Value]:
    """The b, v, u of a = v b u with u v = 1, and b zero between clusters.

    Within clusters of a matrix that is not Hermitian columns of v are orthonormal.
    """
    w, v, hermitian = _eigenvectors(a)
    v = v.copy()
    for at in np.ndindex(a.shape[:-2]):
        labels = np.argmax(joined[at], axis=-1)
        for label in np.flatnonzero(np.bincount(labels) > 1 if not hermitian[at].all() else []):
            own = labels == label
            v[at][:, own] = _invariant(a[at], w[at], own)
    u = np.linalg.inv(v)
    return np.where(joined, np.matmul(u, np.matmul(a, v)), 0), v, u


def _invariant(a: Value, w: Value, own: Value) -> Value:
    """An orthonormal basis of the subspace that belongs to some of the eigenvalues."""

    def is_own(x: complex, y: float = 0.0) -> bool:
        return bool(own[np.argmin(np.abs(w - (x + 1j * y)))])

    kind = "complex" if w.dtype.kind == "c" else "real"
    _, vectors, count = scipy.linalg.schur(a.astype(w.dtype), kind, sort=is_own)
    if count != np.count_nonzero(own):
        raise NotDifferentiableError(_TOO_FEW)
    return vectors[:, :count]


def _parted_vjp(
    g: Sequence[Cotangent],
    out: tuple[Value, Value, Value],
    _a: Value,
    joined: Value,
    rounds: int = ROUNDS,
) -> tuple[Cotangent, None]:
    """With t = u da v: db = t in clusters, dv = v s, du = -s u; s b - b s = t between them."""
    b, v, u = out
    b_bar, v_bar, u_bar = g
    turned = np.matmul(transposed(v), v_bar) - np.matmul(u_bar, transposed(u))
    w, apart = diagonal(b), ~joined
    inverse = np.where(apart, 1 / np.where(apart, row(w) - column(w), 1), 0)
    beside = transposed(b) - unit(b) * row(w)
    first = found = turned * inverse
    for _ in range(rounds):  # each for one more derivative, and one more power of what is beside
        found = first - (np.matmul(found, beside) - np.matmul(beside, found)) * inverse
    inner = found + np.where(joined, b_bar, 0)
    return np.matmul(np.matmul(transposed(u), inner), transposed(v)), None


PARTED = core(
    _plain_parted, vjp=_parted_vjp, arrays=2, name="scipy.linalg.funm", batch="(m,m),(m,m)"
)


def _plain_rest(b: Value, orders: int) -> Value:
    """Zero, which is differentiable no more than `orders` times: what a polynomial leaves out."""
    return np.zeros_like(b)


def _next_rest(b: Value, orders: int) -> Any:
    if orders == 0:
        raise NotDifferentiableError(
            "scipy.linalg.funm: not differentiable so many times where eigenvalues nearly "
            "coincide. Use expm, logm, sqrtm, cosm and their kin if func is one of theirs."
        )
    return REST.apply_bound([b], {"orders": orders - 1})


REST = core(
    _plain_rest,
    vjp=[lambda _g, _out, b, orders: _next_rest(b, orders)],
    jvp=lambda _dots, _out, b, orders: _next_rest(b, orders),
    arrays=1,
    name="scipy.linalg.funm",
    batch="(m,m)",
)


def _coefficients(func: Callable[[Value], Value], x: Value) -> list[Value]:
    """Those of the Taylor polynomials of func at the elements of x."""
    found, factor = [], 1.0
    for order in range(TERMS):
        factor *= max(order, 1)
        found.append(func(x) / factor)

        def func(x: Value, func: Callable[[Value], Value] = func) -> Value:
            return jvp(func, (x,), (np.ones_like(x),))[1]

    return found


def _in_clusters(func: Callable[[Value], Value], a: Value) -> Any:
    """func of a by clusters; None where there are none, or the series is short."""
    w, joined, means, near = CLUSTERS.apply_bound([untraced(a)], {})
    if not any_true(near):
        return None
    most = next(n for n in range(1, a.shape[-1] + 1) if not any_true(np.sum(joined, -1) > n))
    coefficients = _coefficients(func, means)
    plain = sum(untraced(c) * (w - means) ** k for k, c in enumerate(coefficients))
    values = untraced(func(w))
    if any_true(~(np.abs(plain - values) <= 1e-13 * np.max(np.abs(values), initial=0))):
        return None
    b, v, u = PARTED.apply_bound([a, joined], {"rounds": ROUNDS + 2 * (most - 1)})
    step = b - unit(b) * row(means)
    # Products of steps, d of them differentiated, vanish from the power d + (d + 1)(most - 1) + 1
    # on if steps are triangular; steps as small as NEAR, of normal matrices, leave four orders.
    steep = any_true(
        np.abs(untraced(step)) > 10 * NEAR * np.max(np.abs(w), axis=-1, initial=1)[..., None, None]
    )
    orders = (TERMS - most) // most if steep else 4
    if orders < 1:
        return None
    inner = unit(b) * row(coefficients[-1]) + REST.apply_bound([b], {"orders": orders})
    for c in coefficients[-2::-1]:
        inner = np.matmul(inner, step) + unit(b) * row(c)
    return np.matmul(np.matmul(v, inner), u)


def _funm(A: Value, func: Callable[[Value], Value], disp: bool = True) -> Value:
    _with_error("funm", disp)
    given = checked(A)
    a = given.astype(np.result_type(given.dtype, float))
    ratio = _balance(a)
    found = _in_clusters(func, a * ratio)
    if found is None:
        w, v, u = SPECTRUM.apply_bound([a * ratio], {})
        found = np.matmul(v * row(func(w)), u)
    found = found / ratio
    if given.dtype.kind != "c" and found.dtype.kind == "c":
        parts = untraced(found)
        bound = 1e3 * np.finfo(given.dtype).eps * np.max(np.abs(parts), initial=0)
        found = found if any_true(np.abs(np.imag(parts)) > bound) else np.real(found)
    single = given.dtype.itemsize < a.dtype.itemsize
    return found.astype(found.dtype.char.translate(SINGLE)) if single else found


SINGLE = str.maketrans("dD", "fF")
funm = expressed(scipy.linalg.funm, _funm)

__all__ = [
    "coshm",
    "cosm",
    "expm",
    "expm_frechet",
    "fractional_matrix_power",
    "funm",
    "logm",
    "signm",
    "sinhm",
    "sinm",
    "sqrtm",
    "tanhm",
    "tanm",
]
