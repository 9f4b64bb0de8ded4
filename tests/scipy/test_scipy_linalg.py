"""tapegrad.scipy.linalg beyond the laws: every name is decided, batches, promises, errors."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from scipy_differences import differences_of

import tapegrad
from tapegrad import grad, hessian, jvp, vjp, vmap
from tapegrad._core.rule import REGISTRY

scipy_linalg = pytest.importorskip("scipy.linalg")

from tapegrad.scipy import linalg as la  # noqa: E402
from tapegrad.scipy._copies import BY_COPY  # noqa: E402
from tapegrad.scipy.linalg._control import (  # noqa: E402
    _continuous_residual,
    _require_solution,
)

# Functions of numbers alone, and of dtypes: they have no arrays to differentiate.
OF_NUMBERS = set(
    "dft get_blas_funcs get_lapack_funcs hadamard helmert hilbert invhilbert invpascal pascal "
    "test".split()
)

rng = np.random.default_rng(3)
A = rng.standard_normal((4, 4)) + 4 * np.diag([1.0, 2, 3, 4])
S = (A + A.T) / 2
P = A @ A.T
B = rng.standard_normal((4, 2))
W = rng.standard_normal((4, 4))


def test_every_public_function_is_decided():
    undecided = {
        name
        for name in dir(scipy_linalg)
        if not name.startswith("_")
        and inspect.isroutine(getattr(scipy_linalg, name))
        and getattr(la, name) not in REGISTRY
        and not hasattr(getattr(la, name), BY_COPY)
    }
    assert undecided <= OF_NUMBERS


def test_plain_values_get_scipys_own_results():
    found, expected = la.lu_factor(A), scipy_linalg.lu_factor(A)
    assert type(found) is type(expected)
    assert np.array_equal(found[0], expected[0])
    assert la.LinAlgError is scipy_linalg.LinAlgError
    assert la.hilbert is scipy_linalg.hilbert


# --- Structures


@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize(
    "word",
    [
        *(None, "gen", "sym", "her", "pos", "diagonal", "tridiagonal", "upper triangular"),
        *("lower triangular", "banded", "hermitian", "symmetric", "positive definite", "general"),
    ],
)
def test_assume_a_reads_what_scipy_reads(word, lower):
    matrix = (
        P if word in ("sym", "her", "pos", "hermitian", "symmetric", "positive definite") else A
    )
    if word == "diagonal":
        matrix = np.diag(np.diag(A))
    if word == "tridiagonal":
        matrix = np.triu(np.tril(A, 1), -1)
    if word == "upper triangular":
        matrix = np.triu(A)
    if word == "lower triangular":
        matrix = np.tril(A)

    def f(a, b):
        return la.solve(a, b, assume_a=word, lower=lower)

    value, slopes = tapegrad.value_and_grad(lambda a, b: np.sum(f(a, b) ** 2), (0, 1))(matrix, B)
    assert np.isclose(value, np.sum(f(matrix, B) ** 2))
    expected = grad(lambda a, b: np.sum(np.linalg.solve(a, b) ** 2), (0, 1))(matrix, B)
    if matrix is P and word is not None:
        assert np.allclose(slopes[0], (expected[0] + expected[0].T) / 2)
    else:
        assert np.allclose(slopes[0], np.where(matrix != 0, expected[0], 0))
    assert np.allclose(slopes[1], expected[1])


def test_an_unknown_structure_is_an_error():
    with pytest.raises(ValueError, match="not a recognized matrix structure"):
        grad(lambda a: np.sum(la.solve(a, B, assume_a="odd")))(A)


@pytest.mark.parametrize("transposed", [False, True])
def test_solve_transposed(transposed):
    matrix = A.T if transposed else A
    slope = grad(lambda a: np.sum(la.solve(a, B, transposed=transposed) * B))(A)
    expected = grad(lambda a: np.sum(np.linalg.solve(a, B) * B))(matrix)
    assert np.allclose(slope, expected.T if transposed else expected)


# --- Batches: SciPy's functions of stacks are loops

STACK = np.stack([A, A + np.eye(4), A.T])
POSITIVE = np.matmul(STACK, np.swapaxes(STACK, -1, -2))
OF_STACKS = {
    "solve": lambda a: la.solve(a, B),
    "inv": la.inv,
    "det": la.det,
    "solve_triangular": lambda a: la.solve_triangular(a, B, lower=True, trans=1),
    "cholesky": lambda a: la.cholesky(np.matmul(a, np.swapaxes(a, -1, -2)), lower=True),
    "lu_factor": lambda a: la.lu_factor(a)[0],
    "lu": lambda a: la.lu(a)[2],
    "lu_solve": lambda a: la.lu_solve(la.lu_factor(a), B),
    "qr": lambda a: la.qr(a, pivoting=True)[1],
    "polar": lambda a: la.polar(a)[0],
    "eigvalsh": la.eigvalsh,
    "eigh": lambda a: la.eigh(a)[1] ** 2,
    "eigh of two": lambda a: la.eigh(a, P)[1] ** 2,
    "eigvals": lambda a: np.real(la.eigvals(a)),
    "svdvals": la.svdvals,
    "expm": lambda a: la.expm(a / 5),
    "logm": lambda a: la.logm(np.matmul(a, np.swapaxes(a, -1, -2))),
    "sqrtm": lambda a: la.sqrtm(np.matmul(a, np.swapaxes(a, -1, -2))),
    "pinv": lambda a: la.pinv(a[..., :2]),
    "norm": lambda a: la.norm(a, axis=(-2, -1)),
    "solve_sylvester": lambda a: la.solve_sylvester(a, a, W),
    "solve_banded": lambda a: la.solve_banded((1, 1), a[..., :3, :] + 9 * SHIFT, B),
    "solve_toeplitz": lambda a: la.solve_toeplitz(a[..., 0, :] + SHIFT[1], B),
    "toeplitz": lambda a: la.toeplitz(a[..., 0, :]),
    "matmul_toeplitz": lambda a: la.matmul_toeplitz(a[..., 0, :], B),
}
SHIFT = np.array([[0.0] * 4, [9.0] * 4, [0.0] * 4])
SHIFT[1] = [9, 0, 0, 0]
SHIFT = np.where(np.arange(3)[:, None] == 1, np.array([9.0, 9, 9, 9]), 0)


@pytest.mark.parametrize("name", OF_STACKS)
def test_stacks_are_loops(name):
    function = OF_STACKS[name]
    if name in ("solve_toeplitz", "matmul_toeplitz"):
        column = np.array([20.0, 0, 0, 0])
        function = (
            (lambda a: la.solve_toeplitz(a[..., 0, :] + column, B))
            if name == "solve_toeplitz"
            else function
        )

    def total(a):
        return np.sum(np.sin(function(a)))

    together = grad(total)(STACK)
    assert np.allclose(together, [grad(total)(a) for a in STACK], rtol=1e-7)
    assert np.allclose(together, vmap(grad(total))(STACK), rtol=1e-7)


# --- Spectra

M = la.expm(S / 8)


@pytest.mark.parametrize("kind", [1, 2, 3])
@pytest.mark.parametrize("lower", [False, True])
def test_the_generalised_symmetric_problem(kind, lower):
    def f(a, b):
        w, v = la.eigh(a, b, type=kind, lower=lower)
        return np.sum(w * np.arange(4)) + np.sum(v**2 * W)

    for slope, position in zip(grad(f, (0, 1))(S, M), (0, 1), strict=True):
        direction = W + W.T

        def along(t, position=position, direction=direction):
            args = [S, M]
            args[position] = args[position] + t * direction
            return f(*args)

        assert np.isclose(
            np.sum(slope * direction), (along(1e-5) - along(-1e-5)) / 2e-5, rtol=1e-6
        )
        assert np.allclose(slope, slope.T)


def test_some_of_the_eigenvalues():
    def f(a, **options):
        w, v = la.eigh(a, **options)
        return np.sum(np.sin(w)) + np.sum(v**2 * W[:, : w.shape[-1]])

    whole = np.linalg.eigvalsh(S)
    middle = (whole[0] + whole[1]) / 2, (whole[2] + whole[3]) / 2
    by_index = grad(lambda a: f(a, subset_by_index=[1, 2]))(S)
    by_value = grad(lambda a: f(a, subset_by_value=middle))(S)
    assert np.allclose(by_index, by_value)
    direction = W + W.T
    along = [f(S + t * direction, subset_by_index=[1, 2]) for t in (1e-5, -1e-5)]
    assert np.isclose(np.sum(by_index * direction), (along[0] - along[1]) / 2e-5, rtol=1e-6)
    wide = np.diff(
        [la.eigvalsh(S + t * direction, subset_by_index=[3, 3])[0] for t in (-1e-5, 1e-5)]
    )
    slope = grad(lambda a: la.eigvalsh(a, subset_by_index=[3, 3])[0])(S)
    assert np.isclose(np.sum(slope * direction), wide[0] / 2e-5, rtol=1e-6)


@pytest.mark.parametrize("complex_matrix", [False, True])
@pytest.mark.parametrize("general", [False, True])
def test_left_and_right_eigenvectors(complex_matrix, general):
    matrix = A + 1j * W / 3 if complex_matrix else A + 9 * np.diag(np.arange(4.0))
    b = M if general else None

    def f(a):
        w, left, right = la.eig(a, b, left=True, right=True)
        sizes = np.abs(left) ** 2 * W + np.abs(right) ** 2 * W.T
        return np.sum(sizes) + np.sum(np.abs(w) ** 2)

    slope = grad(f)(matrix)
    assert np.allclose(slope, differences_of(f, matrix), rtol=1e-5, atol=1e-6)
    w = tapegrad.value_and_grad(lambda a: np.sum(np.real(la.eigvals(a, b) ** 2)))(matrix)[0]
    assert np.isclose(w, np.sum(np.real(scipy_linalg.eigvals(matrix, b) ** 2)))


@pytest.mark.parametrize("kind", [np.triu, np.tril, lambda x: np.diag(np.diag(x)), np.array])
@pytest.mark.parametrize("turn", [1.0, -1.0, 1j])
def test_phases_of_eigenvectors_that_have_zeros(kind, turn):
    """SciPy's phases are found from all components: those that are zero know none."""
    matrix, beside = turn * kind(A), kind(W)
    for b in (None, beside, -1j * beside):
        (w, left, right), _ = vjp(lambda a, b=b: la.eig(a, b, left=True), matrix)
        expected = scipy_linalg.eig(matrix, b, left=True)
        for found, other in zip((w, left, right), expected, strict=True):
            np.testing.assert_allclose(found, other, rtol=1e-9, atol=1e-11)


def test_equal_eigenvalues_of_smooth_functions():
    def f(a):
        w, v = la.eigh(a)
        return ((v * np.exp(w)) @ v.T)[0, 1]

    assert np.allclose(grad(f)(np.eye(2)), [[0, np.e / 2], [np.e / 2, 0]])
    assert np.allclose(grad(lambda a: la.polar(a)[0][0, 1])(np.eye(2)), [[0, 0.5], [-0.5, 0]])
    assert np.allclose(hessian(lambda a: np.sum(la.expm(a)))(np.zeros((2, 2))).sum(), 8)


def test_real_triangles_with_complex_eigenvalues_are_refused():
    turning = np.array([[1.0, 2.0], [-3.0, 1.0]])
    with pytest.raises(tapegrad.NotDifferentiableError, match="output='complex'"):
        grad(lambda a: np.sum(la.schur(a)[0]))(turning)

    def f(a):
        t, z = la.schur(a, output="complex")
        return np.sum(np.abs(t) ** 2 * W[:2, :2]) + np.sum(np.abs(z) ** 2 * W[:2, :2])

    assert np.allclose(grad(f)(turning), differences_of(f, turning), rtol=1e-6, atol=1e-7)


# --- Matrix equations and functions


@pytest.mark.part(4)
@pytest.mark.parametrize("function", ["solve_continuous_are", "solve_discrete_are"])
@pytest.mark.parametrize("general", [False, True])
def test_riccati(function, general):
    solve = getattr(la, function)
    a, b, c = W / 6, B / 2 + np.eye(4, 2), W.T / 6

    def f(a, b, c):
        options = {"e": np.eye(4) + 0.1 * c, "s": 0.1 * c[:, :2]} if general else {}
        x = solve(a, b, c @ c.T + np.eye(4), b.T @ b + np.eye(2), **options)
        return np.sum(np.sin(x / 4) * W)

    for position, slope in enumerate(grad(f, (0, 1, 2))(a, b, c)):
        args = [a, b, c]

        def one(x, position=position):
            return f(*args[:position], x, *args[position + 1 :])  # noqa: B023

        assert np.allclose(slope, differences_of(one, args[position]), rtol=1e-5, atol=1e-7)
    dot = np.ones_like(a)
    second = jvp(grad(lambda a: f(a, b, c)), (a,), (dot,))[1]
    ends = [grad(lambda a: f(a, b, c))(a + t * dot) for t in (1e-5, -1e-5)]
    assert np.allclose(second, (ends[0] - ends[1]) / 2e-5, rtol=1e-4, atol=1e-5)


# --- Complex matrices: conjugates that real ones do not show


def test_riccati_is_refused_where_scipys_solution_is_none():
    """Scaled by balanced=True, the pencil has solutions of another equation for this e."""
    rng = np.random.default_rng(7)
    a = rng.normal(size=(4, 4)) + 3 * np.eye(4)
    e, b = np.eye(4) + 0.1 * (a + a.T), rng.normal(size=(4, 2))
    given = (a, b, a @ a.T + np.eye(4), 2 * np.eye(2))

    def f(t, balanced):
        return np.sum(la.solve_continuous_are(t * given[0], *given[1:], e, balanced=balanced))

    with pytest.raises(tapegrad.NotDifferentiableError, match="balanced=False"):
        grad(lambda t: f(t, True))(1.0)
    wrong, apart = 2 * la.solve_continuous_are(*given), np.zeros((4, 2))
    with pytest.raises(tapegrad.NotDifferentiableError, match="Scale states"):
        _require_solution(_continuous_residual, False, wrong, *given, np.eye(4), apart)
    slope = (f(1 + 1e-5, False) - f(1 - 1e-5, False)) / 2e-5
    np.testing.assert_allclose(grad(lambda t: f(t, False))(1.0), slope, rtol=1e-4)


def riccati(name, general):
    def solved(L, a, b, c):
        options = {"e": np.eye(4) + 0.1 * c, "s": 0.1 * c[:, :2]} if general else {}
        q, r = c @ np.conj(c.T) + np.eye(4), np.conj(b.T) @ b + np.eye(2)
        return getattr(L, name)(a / 6, b, q, r, **options)

    return solved


def of_both_ends(L, a, b, c):
    w, left, right = L.eig(a + 9 * np.diag(np.arange(4.0)), left=True, right=True)
    return w, left, right


OF_COMPLEX = {
    **{f"care {general}": riccati("solve_continuous_are", general) for general in (False, True)},
    **{f"dare {general}": riccati("solve_discrete_are", general) for general in (False, True)},
    "sylvester": lambda L, a, b, c: L.solve_sylvester(a, c, b @ b.T),
    "lyapunov": lambda L, a, b, c: L.solve_continuous_lyapunov(a, c),
    "discrete lyapunov": lambda L, a, b, c: L.solve_discrete_lyapunov(a / 20, c),
    **{
        f"qr {mode}{pivoting}": (
            lambda L, a, b, c, m=mode, p=pivoting: L.qr(a[:, :3], mode=m, pivoting=p)[:2]
        )
        for mode in ("economic", "r")
        for pivoting in (False, True)
    },
    "rq": lambda L, a, b, c: L.rq(a),
    **{
        f"qr_multiply {mode} {conjugate}": (
            lambda L, a, b, c, m=mode, k=conjugate: L.qr_multiply(
                a, b.T if m == "right" else b, m, conjugate=k, pivoting=k
            )[0]
        )
        for mode in ("right", "left")
        for conjugate in (False, True)
    },
    "lu": lambda L, a, b, c: L.lu(a),
    "lu_solve": lambda L, a, b, c: [L.lu_solve(L.lu_factor(a), b, trans=t) for t in (0, 1, 2)],
    "solve_triangular": lambda L, a, b, c: [
        L.solve_triangular(a, b, trans=t, lower=True) for t in (0, 1, 2)
    ],
    "cholesky": lambda L, a, b, c: L.cholesky(a @ np.conj(a.T), lower=True),
    "cho_solve": lambda L, a, b, c: L.cho_solve(L.cho_factor(a @ np.conj(a.T)), b),
    "polar": lambda L, a, b, c: [*L.polar(a), *L.polar(a, side="left")],
    "eig": of_both_ends,
    "eigh": lambda L, a, b, c: L.eigvalsh(a + np.conj(a.T), c @ np.conj(c.T) + np.eye(4)),
    "svdvals": lambda L, a, b, c: L.svdvals(a),
    "pinv": lambda L, a, b, c: L.pinv(a[:, :2]),
    "lstsq": lambda L, a, b, c: L.lstsq(a[:, :2], b)[:2],
    "procrustes": lambda L, a, b, c: L.orthogonal_procrustes(a, c),
    "toeplitz": lambda L, a, b, c: [L.toeplitz(a[0]), L.matmul_toeplitz((a[0], c[0]), b)],
    "solve_toeplitz": lambda L, a, b, c: L.solve_toeplitz((a[0], c[0]), b),
    "solve_circulant": lambda L, a, b, c: L.solve_circulant(a[0], b),
    "norm": lambda L, a, b, c: [L.norm(a, order) * 1.0 for order in (None, 2, "nuc", 1)],
}


@pytest.mark.parametrize("name", OF_COMPLEX)
def test_complex_matrices(name):
    """The value is SciPy's, the tangent that of differences, and the cotangent its transpose."""
    rng = np.random.default_rng(5)

    def drawn(*shape):
        return rng.standard_normal(shape) + 1j * rng.standard_normal(shape)

    args = A + 1j * W / 3, B + np.eye(4, 2) + 1j * drawn(4, 2) / 4, W.T / 3 + 1j * drawn(4, 4) / 6
    dots = tuple(drawn(*x.shape) for x in args)

    def flat(L, *args):
        found = OF_COMPLEX[name](L, *args)
        parts = found if isinstance(found, (list, tuple)) else [found]
        return np.concatenate([np.reshape(part, -1) for part in parts])

    out, dot = jvp(lambda *args: flat(la, *args), args, dots)
    assert np.allclose(out, flat(scipy_linalg, *args), rtol=1e-9)
    ends = [
        flat(scipy_linalg, *(x + t * d for x, d in zip(args, dots, strict=True)))
        for t in (1e-5, -1e-5)
    ]
    assert np.allclose(dot, (ends[0] - ends[1]) / 2e-5, rtol=1e-5, atol=1e-6)
    g = drawn(*out.shape) if out.dtype.kind == "c" else rng.standard_normal(out.shape)
    bars = vjp(lambda *args: flat(la, *args), *args)[1](g)
    total = sum(np.sum(bar * d) for bar, d in zip(bars, dots, strict=True))
    assert np.isclose(np.real(total), np.real(np.sum(g * dot)), rtol=1e-8)


def test_powers_of_matrices_by_the_exponent_and_of_whole_ones():
    base = M
    slope = grad(lambda t: np.sum(la.fractional_matrix_power(base, t)))(0.4)
    assert np.isclose(slope, np.sum(la.logm(base) @ la.fractional_matrix_power(base, 0.4)))
    singular = np.array([[0.0, 1.0], [0.0, 0.0]])
    whole = grad(lambda a: np.sum(la.fractional_matrix_power(a, 2)))(singular)
    assert np.allclose(whole, grad(lambda a: np.sum(a @ a))(singular))


def test_lstsq_is_right_where_the_rank_is_not_full():
    a = np.outer([1.0, 2.0, 3.0], [1.0, -1.0])
    b = np.array([1.0, 0.5, 2.0])
    found = grad(lambda a, b: np.sum(la.lstsq(a, b)[0] * [1.0, 3.0]), (0, 1))(a, b)
    expected = grad(lambda a, b: np.sum(np.linalg.lstsq(a, b)[0] * [1.0, 3.0]), (0, 1))(a, b)
    for part, other in zip(found, expected, strict=True):
        assert np.allclose(part, other)


# --- Sizes, dtypes, errors


@pytest.mark.parametrize("side", [0, 1])
def test_empty_and_single_matrices(side):
    a = 2 * np.ones((side, side))
    for function in (la.inv, la.expm, la.cholesky, la.svdvals, la.eigvalsh, la.pinv):
        assert grad(lambda a, f=function: np.sum(f(a)))(a).shape == a.shape
    assert np.allclose(grad(lambda a: np.sum(la.expm(a)))(a), np.exp(a))
    if side:
        assert np.allclose(grad(lambda a: np.sum(la.logm(a)))(a), 0.5)
        assert np.allclose(grad(lambda a: np.sum(la.sqrtm(a)))(a), 0.5 / np.sqrt(2))


def test_dtypes_stay():
    a = A.astype(np.float32)
    for function in (la.inv, la.expm, lambda a: la.lu_factor(a)[0], lambda a: la.eigh(a)[0]):
        slope = grad(lambda a, f=function: np.sum(f(a)))(a)
        assert slope.dtype == np.float32


def test_arguments_are_not_overwritten():
    a, b = A.copy(), B.copy()
    grad(lambda a: np.sum(la.solve(a, b, overwrite_a=True, overwrite_b=True)))(a)
    assert np.array_equal(a, A)
    assert np.array_equal(b, B)


def test_orders_of_rows_are_constants():
    tall = A[:, :2]
    value, pullback = tapegrad.vjp(lambda a: la.lu(a, p_indices=True)[1:], tall)
    order, lower, upper = scipy_linalg.lu(tall, p_indices=True)
    assert np.allclose(value[0][order] @ value[1], tall)
    assert np.allclose(lower, value[0])
    bar = pullback((np.ones_like(lower), np.zeros_like(upper)))[0]
    whole = grad(lambda a: np.sum(la.lu(a)[1]))(tall)
    assert np.allclose(bar, whole)
    permuted = grad(lambda a: np.sum(la.lu(a, permute_l=True)[0] * tall))(tall)
    expected = differences_of(lambda a: np.sum(la.lu(a, permute_l=True)[0] * tall), tall)
    assert np.allclose(permuted, expected)


def test_errors():
    with pytest.raises(tapegrad.ConversionError, match=r"from tapegrad\.scipy import linalg"):
        grad(lambda a: np.sum(scipy_linalg.expm(a)))(A)
    with pytest.raises(tapegrad.NotDifferentiableError, match=r"scipy\.linalg\.ldl.*cholesky"):
        grad(lambda a: np.sum(la.ldl(a)[0]))(A)
    with pytest.raises(tapegrad.NotDifferentiableError, match="homogeneous_eigvals"):
        grad(lambda a: np.sum(la.eigvals(a, homogeneous_eigvals=True)))(A)
    with pytest.raises(ValueError, match="infs or NaNs"):
        grad(lambda a: np.sum(la.solve(a, B)))(np.full((4, 4), np.nan))
    with pytest.raises(la.LinAlgError):
        grad(lambda a: np.sum(la.solve(a, B)))(np.zeros((4, 4)))
    with pytest.raises(TypeError, match="unsupported in linalg"):
        grad(lambda a: np.sum(la.expm(a)))(A.astype(np.longdouble))


def test_rsf2csf_turns_blocks_as_scipy_does():
    t, z = scipy_linalg.schur(np.array([[0.0, 2, 0.3], [-1, 0.1, 0.2], [0.4, 0.1, 3]]))
    (first, second), _ = vjp(la.rsf2csf, t, z)
    expected = scipy_linalg.rsf2csf(t, z)
    np.testing.assert_allclose(first, expected[0], atol=1e-15)
    np.testing.assert_allclose(second, expected[1], atol=1e-15)
    weights = np.cos(np.arange(9.0)).reshape(3, 3)

    def loss(t, z, module=la):
        triangle, vectors = module.rsf2csf(np.triu(t, -1), z)
        return np.sum(weights * np.real(triangle) ** 2 + weights.T * np.imag(vectors))

    by_t, by_z = grad(loss, (0, 1))(t, z)
    step = 1e-6 * np.where(abs(t) > 1e-12, weights, 0.0)
    change = loss(t + step, z, scipy_linalg) - loss(t - step, z, scipy_linalg)
    np.testing.assert_allclose(np.sum(by_t * step), change / 2, rtol=1e-6)
    change = loss(t, z + step, scipy_linalg) - loss(t, z - step, scipy_linalg)
    np.testing.assert_allclose(np.sum(by_z * step), change / 2, rtol=1e-6)
    found = vmap(grad(loss), (0, None))(np.stack([t, 1.1 * t]), z)
    np.testing.assert_allclose(found[1], grad(loss)(1.1 * t, z))


def test_constant_functions():
    assert grad(lambda a: np.sum(a) * la.bandwidth(a)[0])(np.eye(3) + 0)[0, 0] == 0
    assert la.issymmetric(S)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["expm", "inv", "det", "cholesky", "sqrtm", "polar", "lu", "svd", "toeplitz"]
)
def test_compiled(name):
    function = getattr(la, name)

    def f(a):
        found = function(P * 0.1 if name == "toeplitz" else a @ a.T / 9)
        return np.sum(np.sin(found[-1] if isinstance(found, tuple) else found) * a[0, 0])

    compiled = tapegrad.compile(grad(f))
    for _ in range(3):
        assert np.allclose(compiled(A), grad(f)(A))


# --- JAX


@pytest.mark.slow
@pytest.mark.peers
@pytest.mark.parametrize(
    ("name", "call"),
    {
        "solve": lambda la, np: lambda a: la.solve(a, B),
        "solve pos": lambda la, np: lambda a: la.solve(a @ a.T, B, assume_a="pos"),
        "solve_triangular": lambda la, np: lambda a: la.solve_triangular(a, B, lower=True),
        "cho_solve": lambda la, np: lambda a: la.cho_solve(la.cho_factor(a @ a.T), B),
        "lu_solve": lambda la, np: lambda a: la.lu_solve(la.lu_factor(a), B),
        "lu": lambda la, np: lambda a: la.lu(a)[2],
        "expm": lambda la, np: lambda a: la.expm(a / 5),
        "sqrtm": lambda la, np: lambda a: np.real(la.sqrtm(a @ a.T)),
        "eigh": lambda la, np: lambda a: la.eigh((a + a.T) / 2)[1] ** 2,
        "svd": lambda la, np: lambda a: la.svd(a)[0] ** 2,
        "qr": lambda la, np: lambda a: la.qr(a)[1] ** 2,
        "toeplitz": lambda la, np: lambda a: la.toeplitz(a[0], a[1]),
        "block_diag": lambda la, np: lambda a: la.block_diag(a, a[0]),
        "det": lambda la, np: lambda a: la.det(a),
        "expm_frechet": lambda la, np: lambda a: la.expm_frechet(a / 5, a.T)[1],
    }.items(),
)
def test_as_jax(name, call):
    if name == "sqrtm":
        pytest.skip("JAX has no derivative of sqrtm")
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    theirs = call(jax.scipy.linalg, jax.numpy)
    ours = call(la, np)
    expected = jax.grad(lambda a: jax.numpy.sum(jax.numpy.sin(theirs(a))))(A)
    assert np.allclose(grad(lambda a: np.sum(np.sin(ours(a))))(A), expected, rtol=1e-8)


# --- Functions of matrices that are real or complex by their values ------------------------------

_REAL = np.array([[2.0, 0.3, 0.1], [0.1, 3.0, -0.4], [0.2, 0.5, 4.0]])
_NEGATIVE = np.random.default_rng(0).normal(size=(3, 3)) - np.diag([5.0, -3.0, 0.0])


def _sum_of_squares(f):
    weights = np.cos(np.arange(9.0)).reshape(3, 3)

    def loss(*args):
        out = f(*args)
        return np.sum(weights * np.real(out) ** 2) + np.sum(np.imag(out) * weights.T)

    return loss


@pytest.mark.part(4)
@pytest.mark.parametrize("t", [-1.0, 0.0, 1.0, 2.0])
def test_whole_powers_that_are_traced_have_mixed_derivatives(t):
    slope = tapegrad.grad(_sum_of_squares(la.fractional_matrix_power))
    change = (slope(_REAL, t + 1e-6) - slope(_REAL, t - 1e-6)) / 2e-6
    np.testing.assert_allclose(tapegrad.jacfwd(slope, 1)(_REAL, t), change, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(tapegrad.jacrev(slope, 1)(_REAL, t), change, rtol=1e-6, atol=1e-7)


@pytest.mark.part(6)
@pytest.mark.parametrize(
    "f", [la.logm, lambda a: la.fractional_matrix_power(a, 0.4)], ids=["logm", "power"]
)
@pytest.mark.parametrize("seed", range(3))
def test_second_derivatives_of_matrices_with_negative_eigenvalues(f, seed):
    a = np.random.default_rng(seed).normal(size=(3, 3)) - np.diag([5.0, -3.0, 0.0])
    direction = np.sin(np.arange(9.0)).reshape(3, 3)
    slope = tapegrad.grad(_sum_of_squares(f))
    change = (slope(a + 1e-5 * direction) - slope(a - 1e-5 * direction)) / 2e-5
    found = tapegrad.hvp(_sum_of_squares(f), (a,), (direction,))
    np.testing.assert_allclose(np.reshape(found, (3, 3)), change, rtol=1e-5, atol=1e-6)
    found = tapegrad.grad(lambda a: np.sum(slope(a) * direction))(a)
    np.testing.assert_allclose(found, change, rtol=1e-5, atol=1e-6)


@pytest.mark.part(3)
@pytest.mark.parametrize("backend", ["numpy", "interpreter"])
@pytest.mark.parametrize(
    "f",
    [la.logm, la.sqrtm, lambda a: la.fractional_matrix_power(a, 0.5)],
    ids=["logm", "sqrtm", "power"],
)
def test_a_program_of_a_real_result_is_not_that_of_a_complex_one(f, backend):
    run = tapegrad.grad(_sum_of_squares(f))
    fast = tapegrad.compile(run, backend=backend)
    for _ in range(4):
        fast(_REAL)
    found = fast(_NEGATIVE)
    assert found.dtype == float
    np.testing.assert_allclose(found, run(_NEGATIVE), rtol=1e-9)


def test_a_program_of_a_power_that_was_one():
    """SciPy's first power is its argument itself, which a record must not take for it."""
    run = tapegrad.grad(_sum_of_squares(la.fractional_matrix_power), (0, 1))
    fast = tapegrad.compile(run, backend="numpy")
    for t in (1.0, 1.0, 1.0, 1.0, 1.01, -0.3):
        for found, expected in zip(fast(_REAL, t), run(_REAL, t), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_powers_that_turn_complex_nearby_are_refused():
    A = np.array([[-2.0, 0.3], [0.1, 3.0]])
    with pytest.raises(tapegrad.NotDifferentiableError, match=r"Pass A \+ 0j"):
        grad(lambda t: np.sum(la.fractional_matrix_power(A, t)))(2.0)
    slope = grad(lambda t: np.sum(np.real(la.fractional_matrix_power(A + 0j, t))))(2.0)
    ends = [np.sum(la.fractional_matrix_power(A + 0j, 2.0 + h).real) for h in (-1e-5, 1e-5)]
    np.testing.assert_allclose(slope, (ends[1] - ends[0]) / 2e-5, rtol=1e-7)


# --- Tangents of any kind, and matrices of any scale

_HERMITIAN = _REAL @ _REAL.T + 1j * (_REAL - _REAL.T)
_OF_MATRICES = {
    "cosm": (la.cosm, np.cos),
    "expm": (la.expm, np.exp),
    "inv": (la.inv, lambda w: 1 / w),
    "logm": (la.logm, np.log),
    "power": (lambda a: la.fractional_matrix_power(a, 0.3), lambda w: w**0.3),
    "sqrtm": (la.sqrtm, np.sqrt),
    "tanhm": (la.tanhm, np.tanh),
}


@pytest.mark.parametrize(
    ("name", "a"),
    [
        *((name, _REAL @ _REAL.T / 9) for name in _OF_MATRICES),
        *((name, _HERMITIAN / 9) for name in _OF_MATRICES),
        ("expm", np.diag([2.0, 2, 1])),
        ("logm", 2 * np.eye(3)),
    ],
)
def test_funm_at_hermitian_matrices_takes_tangents_that_are_not(name, a):
    """The derivatives of the function that has a rule of its own; eigh's are symmetric."""
    right, func = _OF_MATRICES[name]

    def funm(a):
        return la.funm(a, func)

    e, other = np.arange(9.0).reshape(3, 3), _NEGATIVE + a
    e, other = e.astype(a.dtype), other.astype(a.dtype)
    for f in (funm, lambda a: jvp(funm, (a,), (other,))[1]):
        g = right if f is funm else lambda a: jvp(right, (a,), (other,))[1]
        for ours, theirs in [
            (jvp(f, (a,), (e,)), jvp(g, (a,), (e,))),
            (vjp(f, a)[1](e), vjp(g, a)[1](e)),
        ]:
            size = np.abs(theirs[-1]).max()
            np.testing.assert_allclose(ours[-1], theirs[-1], rtol=0, atol=1e-11 * size)


@pytest.mark.parametrize("gap", [1e-4, 1e-8, 1e-13])
@pytest.mark.parametrize("vectors", [np.eye(4), np.eye(4) + np.triu(np.ones((4, 4)), 2)])
def test_funm_of_nearly_equal_eigenvalues(gap, vectors):
    """Quotients by their differences would lose all digits of the second derivatives."""
    a = vectors @ np.diag([1, 1 + gap, 1 + 3 * gap, 2]) @ np.linalg.inv(vectors)
    e, other = np.arange(16.0).reshape(4, 4) / 9, np.cos(np.arange(16.0)).reshape(4, 4)

    def orders(f):
        def first(a):
            return jvp(f, (a,), (e,))[1]

        def second(a):
            return jvp(first, (a,), (other,))[1]

        return first(a), second(a), vjp(second, a)[1](other)[0], vjp(first, a)[1](e)[0]

    def funm(a, c=1.0):
        return la.funm(a, lambda w: np.exp(c * w))

    for found, expected in zip(orders(funm), orders(la.expm), strict=True):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * np.abs(expected).max())
    by_c = jvp(lambda c: vjp(lambda a: funm(a, c), a)[1](e)[0], (1.0,), (1.0,))[1]
    expected = jvp(lambda c: vjp(lambda a: la.expm(c * a), a)[1](e)[0], (1.0,), (1.0,))[1]
    np.testing.assert_allclose(by_c, expected, rtol=0, atol=1e-12 * np.abs(expected).max())
    compiled = tapegrad.compile(lambda a: vjp(funm, a)[1](e)[0])
    stack = np.stack([a, a.T, np.diag([1.0, 2, 3, 5])])
    each = [compiled(x) for x in (*stack, *stack)]
    mapped = vmap(lambda a: vjp(funm, a)[1](e)[0])(stack)
    right = [vjp(la.expm, x)[1](e)[0] for x in stack]
    size = np.abs(right).max()
    np.testing.assert_allclose(mapped, right, rtol=0, atol=1e-11 * size)
    np.testing.assert_allclose(each, right + right, rtol=0, atol=1e-11 * size)


def test_funm_of_a_stack_that_is_symmetric_in_part():
    stack = np.stack([np.diag([1.0, 1, 2]), _REAL, _REAL + _REAL.T])
    e = np.arange(9.0).reshape(3, 3)
    found = vmap(lambda a: jvp(lambda a: la.funm(a, np.exp), (a,), (e,))[1])(stack)
    expected = np.stack([jvp(la.expm, (a,), (e,))[1] for a in stack])
    np.testing.assert_allclose(found, expected, rtol=1e-12)


_DEFECTIVE = np.array([[2, 1, 0.3], [0, 2, 0.7], [0, 0, 2]])
_NEARLY_DEFECTIVE = [
    (np.array([[2, 1], [4e-12, 2]]), 2),  # which had 6 percent of the second derivatives wrong
    (np.array([[2, 1.0], [0, 2]]), 2),
    (np.array([[1, 5.0], [0, 1.0001]]), 2),
    (np.array([[1.0, 1e-3], [-1e-7, 1]]), 2),
    (np.array([[2, 1, 0.3], [0, 2, 0.7], [0, 0, 5]]), 2),
    (_DEFECTIVE, 1),
]


def _orders(f, a, count):
    """The first derivatives along one direction, as functions."""
    e = np.arange(1.0, a.size + 1).reshape(a.shape)
    for _ in range(count):
        f = lambda x, f=f: jvp(f, (x,), (e,))[1]  # noqa: E731
        yield f


@pytest.mark.parametrize(("a", "count"), _NEARLY_DEFECTIVE)
def test_funm_of_nearly_defective_matrices(a, count):
    both = zip(
        _orders(lambda x: la.funm(x, np.exp), a, count), _orders(la.expm, a, count), strict=True
    )
    for ours, right in both:
        expected = right(a)
        np.testing.assert_allclose(ours(a), expected, rtol=0, atol=1e-11 * np.abs(expected).max())


@pytest.mark.parametrize(
    ("a", "most"),
    [
        (_DEFECTIVE, 1),
        pytest.param(_NEARLY_DEFECTIVE[0][0], 3, marks=pytest.mark.slow),
        pytest.param(np.diag([1, 1 + 1e-5, 2.0]), 4, marks=pytest.mark.slow),
    ],
)
def test_orders_of_funm_that_its_polynomials_lack_are_refused(a, most):
    *_, last = _orders(lambda x: la.funm(x, np.exp), a, most)
    *_, right = _orders(la.expm, a, most)
    np.testing.assert_allclose(last(a), right(a), rtol=1e-10)
    for call in (lambda: jvp(last, (a,), (a,)), lambda: vjp(last, a)[1](a)):
        with pytest.raises(tapegrad.NotDifferentiableError, match="so many times"):
            call()


def test_funm_without_enough_eigenvectors_is_refused():
    with pytest.raises(tapegrad.NotDifferentiableError, match="eigenvectors"):
        vjp(lambda a: la.funm(a, np.exp), np.eye(9) + np.eye(9, k=1))


def test_funm_of_single_precision():
    out, dot = jvp(lambda a: la.funm(a, np.exp), (_REAL.astype("f") / 9,), (np.ones((3, 3), "f"),))
    assert out.dtype == dot.dtype == np.float32


@pytest.mark.parametrize(
    ("name", "power"),
    [
        *((name, 8) for name in [*sorted(_OF_MATRICES.keys() - {"inv"}), "funm", "signm", "cube"]),
        *((name, 16) for name in ("expm", "logm", "power", "sqrtm")),
    ],
)
def test_derivatives_of_badly_scaled_matrices(name, power):
    """f(d a / d) = d f(a) / d, exactly where d is of powers of two, with all derivatives."""
    f = {
        "cube": lambda a: la.fractional_matrix_power(a, 3),
        "funm": lambda a: la.funm(a, np.exp),
        "signm": la.signm,
    }.get(name) or _OF_MATRICES[name][0]
    a = _REAL - 5 * np.diag([0.0, 1, 0]) if name == "signm" else _REAL
    d = 2.0 ** np.array([0, power, -power])
    ratio = d / d[:, None]
    e, other = _NEGATIVE, np.arange(1.0, 10).reshape(3, 3)
    for g in (f, _second_along(f, other, ratio)):
        for near, far, turn in [
            (jvp(g, (a,), (e,)), jvp(g, (a / ratio,), (e / ratio,)), ratio),
            (vjp(g, a)[1](e), vjp(g, a / ratio)[1](e / ratio.T), ratio.T),
        ]:
            np.testing.assert_allclose(far[-1] * turn, near[-1], rtol=1e-8, atol=1e-10)


def _second_along(f, e, ratio):
    """The derivative along e of a matrix that is near, or scaled."""

    def along(a):
        scaled = abs(a[0, 1]) > 2 or abs(a[0, 1]) < 0.01
        return jvp(f, (a,), (e / ratio if scaled else e,))[1]

    return along


def test_expm_of_a_badly_scaled_matrix():
    """By mpmath at 120 digits, central differences."""
    a = np.array([[-1, 1e16], [1e-16, -0.5]])
    found = jvp(la.expm, (a,), (np.array([[0.3, 0.2], [0.7, 0.1]]),))[1]
    expected = [
        [1809025898573755.0, 6.119142388579171e30],
        [0.45359231554343854, 2114983018002713.5],
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-13)


@pytest.mark.parametrize("exponent", [-600, 600])
@pytest.mark.parametrize("shape", [(6, 3), (3, 6)])
def test_pseudoinverses_whose_squares_are_out_of_range(shape, exponent):
    """f(c a) = f(a) / c with all its derivatives."""
    rng, c = np.random.default_rng(5), 2.0**exponent
    a, e, other, b = (rng.normal(size=size) for size in (shape, shape, shape, shape[0]))
    for f in (la.pinv, lambda a: la.lstsq(a, b)[0]):

        def along(a, e, f=f):
            return jvp(f, (a,), (e,))[1]

        np.testing.assert_allclose(along(c * a, c * e) * c, along(a, e), rtol=1e-10)
        second = jvp(lambda a: along(a, c * e), (c * a,), (c * other,))[1]
        expected = jvp(lambda a: along(a, e), (a,), (other,))[1]
        np.testing.assert_allclose(second * c, expected, rtol=1e-10)
