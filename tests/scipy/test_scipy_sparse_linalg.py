"""Solvers and spectra of sparse matrices, by their elements and by right sides."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import tapegrad
from tapegrad import grad, jvp, vjp, vmap

scipy_linalg = pytest.importorskip("scipy.sparse.linalg")

import scipy.sparse  # noqa: E402
from scipy_matrices import (  # noqa: E402
    BOTH,
    COLUMNS,
    DENSE,
    HALF,
    SIDE,
    VECTOR,
    C,
    check,
    made,
    symmetric,
)

from tapegrad.scipy import sparse  # noqa: E402
from tapegrad.scipy.sparse import linalg  # noqa: E402

# --- Direct


def test_spsolve():
    check(lambda d, b: np.sum(linalg.spsolve(made(d), b) ** 2), C.data, VECTOR)
    check(lambda d, b: np.sum(linalg.spsolve(made(d), b) ** 2), C.data, COLUMNS, second=False)
    complex_data = C.data * (1 + 0.1j)
    b = VECTOR + 1j * VECTOR[::-1]
    check(
        lambda d, b: np.sum(np.abs(linalg.spsolve(made(d), b)) ** 2), complex_data, b, second=False
    )
    constant = C.tocsc()
    slope = grad(lambda b: np.sum(linalg.spsolve(constant, b)))(VECTOR)
    assert np.allclose(slope, np.linalg.solve(DENSE.T, np.ones(SIDE)))


@pytest.mark.parametrize("trans", ["N", "T", "H"])
def test_splu(trans):
    check(
        lambda d, b: np.sum(linalg.splu(made(d, "csc")).solve(b, trans) ** 2),
        C.data,
        COLUMNS,
        second=trans == "T",
    )
    factors = linalg.splu(C.tocsc())
    plain = scipy_linalg.splu(C.tocsc())
    for found in (factors, scipy_linalg.spilu(C.tocsc())):
        assert isinstance(found, linalg.SuperLU)
        assert isinstance(found, scipy_linalg.SuperLU)
    assert not isinstance(C, linalg.SuperLU)
    assert np.array_equal(factors.solve(VECTOR, trans), plain.solve(VECTOR, trans))
    assert factors.L.shape == plain.L.shape
    solve = linalg.factorized(C.tocsc())
    slope = grad(lambda b: np.sum(solve(b) ** 2))(VECTOR)
    inverse = np.linalg.inv(DENSE)
    assert np.allclose(slope, 2 * inverse.T @ inverse @ VECTOR)
    complex_slope = grad(lambda b: np.sum(np.abs(solve(b)) ** 2))(VECTOR + 0j)
    assert np.allclose(complex_slope, slope)
    batched = vmap(grad(lambda d: np.sum(linalg.spsolve(made(d), VECTOR))))
    both = batched(np.stack([C.data, 2 * C.data]))
    assert np.allclose(both[1], both[0] / 4)


def test_triangles():
    check(
        lambda d: np.sum(
            linalg.spsolve_triangular(sparse.tril(made(d), format="csr"), VECTOR) ** 2
        ),
        C.data,
    )

    def upper(d, b):
        a = sparse.triu(made(d), format="csr")
        return np.sum(linalg.spsolve_triangular(a, b, lower=False, unit_diagonal=True) ** 2)

    check(upper, C.data, VECTOR, second=False)


def test_singular_matrices():
    with (
        pytest.warns(scipy_linalg.MatrixRankWarning),
        np.errstate(invalid="ignore"),
    ):
        slope = grad(lambda d: np.sum(linalg.spsolve(made(d - C.data), VECTOR)))(C.data)
    assert np.all(np.isnan(slope))
    with pytest.raises(tapegrad.NotDifferentiableError, match=r"splu\(A\)\.L"):
        grad(lambda d: np.sum(linalg.splu(made(d)).L.toarray()))(C.data)


# --- Iterative


@pytest.mark.parametrize("name", ["cg", "minres"])
def test_solvers_of_symmetric_matrices(name):
    solve = getattr(linalg, name)
    check(lambda p, b: np.sum(solve(symmetric(p), b, rtol=1e-12)[0] ** 2), HALF, VECTOR)


@pytest.mark.part(3)
@pytest.mark.parametrize(
    "name", ["bicg", "bicgstab", "cgs", "gmres", "lgmres", "qmr", "gcrotmk", "tfqmr"]
)
def test_solvers_of_any_matrices(name):
    solve = getattr(linalg, name)
    check(
        lambda d, b: np.sum(solve(made(d), b, rtol=1e-12)[0] ** 2),
        C.data,
        VECTOR,
        second=name == "gmres",
    )


def test_dense_matrices_operators_and_preconditioners():
    diagonal = scipy.sparse.diags_array(1 / np.diag(DENSE))
    check(
        lambda a, b: np.sum(linalg.gmres(a, b, rtol=1e-12, M=diagonal)[0] ** 2),
        DENSE,
        VECTOR,
        second=False,
    )
    operator = scipy_linalg.aslinearoperator(C)
    slope = grad(lambda b: np.sum(linalg.bicgstab(operator, b, rtol=1e-12)[0]))(VECTOR)
    assert np.allclose(slope, np.linalg.solve(DENSE.T, np.ones(SIDE)))
    x, info = linalg.cg(BOTH, VECTOR)
    assert info == 0
    assert isinstance(x, np.ndarray)
    infos = []
    grad(lambda b: [infos.append(found := linalg.cg(BOTH, b)), np.sum(found[0])][1])(VECTOR)
    assert infos[0][1] == 0


@pytest.mark.parametrize("name", ["cg", "gmres", "bicgstab", "minres"])
def test_matrices_given_by_functions(name):
    solve = getattr(linalg, name)
    dense = BOTH.toarray()

    def f(scale, b):
        return np.sum(solve(lambda v: dense @ v + scale * v, b, rtol=1e-12)[0] ** 2)

    check(f, np.array(0.5), VECTOR, second=False)


def test_what_does_not_converge_has_no_derivative():
    with pytest.raises(tapegrad.NotDifferentiableError, match=r"did not converge \(info=1\)"):
        grad(lambda b: np.sum(linalg.cg(BOTH, b, maxiter=1)[0]))(VECTOR)
    with pytest.raises(tapegrad.NotDifferentiableError, match=r"tapegrad\.implicit"):
        grad(lambda b: np.sum(linalg.qmr(lambda v: v, b)[0]))(VECTOR)
    with pytest.raises(tapegrad.NotDifferentiableError, match="argument 'M'"):
        grad(lambda b: np.sum(linalg.cg(BOTH, VECTOR, M=np.eye(SIDE) * b)[0]))(VECTOR)


@pytest.mark.parametrize("size", [1e-250, 1e-9, 1e250])
@pytest.mark.parametrize(
    "name", "bicg bicgstab cg cgs gcrotmk gmres lgmres minres qmr tfqmr".split()
)
def test_small_and_large_cotangents_and_tangents(name, size):
    """The squares of their norm are out of range, or below what was the absolute tolerance."""
    solve, matrix = getattr(linalg, name), BOTH if name in ("cg", "minres") else C
    options = {"rtol": 1e-12} if name == "minres" else {"rtol": 0, "atol": 1e-8}
    expected = np.linalg.solve(matrix.toarray().T, VECTOR)
    close = functools.partial(np.testing.assert_allclose, rtol=1e-6, atol=1e-7)

    def f(b):
        return solve(matrix, b, **options)[0]

    close(vjp(f, VECTOR)[1](size * VECTOR)[0] / size, expected)
    dots = jvp(f, (VECTOR,), (size * VECTOR,))[1]
    close(dots / size, np.linalg.solve(matrix.toarray(), VECTOR))
    single = vjp(lambda b: solve(matrix.astype("f"), b)[0], VECTOR.astype("f"))[1]
    small = np.float32(1e-25)
    close(single(small * VECTOR.astype("f"))[0] / small, expected, rtol=1e-4, atol=1e-4)


# --- Spectra

MASS = scipy.sparse.diags_array(np.arange(1.0, SIDE + 1)).tocsc()
START = np.ones(SIDE)


def of_pairs(found):
    w, v = found
    weights = np.outer(np.arange(SIDE), np.arange(1.0, w.shape[0] + 1))
    return np.sum(np.abs(v) ** 2 * weights) + np.sum(np.abs(w) ** 2)


@pytest.mark.part(2)
@pytest.mark.parametrize("options", [{}, {"M": MASS}, {"sigma": 5.0}, {"which": "SA"}])
def test_eigsh(options):
    options = {"k": 2, "v0": START, **options}
    check(
        lambda p: of_pairs(linalg.eigsh(symmetric(p), **options)),
        HALF,
        second="M" not in options,
    )
    only = grad(lambda p: np.sum(linalg.eigsh(symmetric(p), return_eigenvectors=False, k=2)))
    assert only(HALF).shape == HALF.shape


@pytest.mark.parametrize("exponent", [-60, 60])
def test_spectra_of_small_and_large_matrices(exponent):
    c = 2.0**exponent
    for f in (
        lambda p: linalg.eigsh(symmetric(p), k=2, v0=START)[0],
        lambda p: linalg.svds(symmetric(p), k=2, v0=START, return_singular_vectors=False),
    ):
        near, far = (vjp(f, p)[1](np.array([1.0, 2]))[0] for p in (HALF, c * HALF))
        np.testing.assert_allclose(far, near, rtol=1e-8, atol=1e-10)


def test_eigsh_gives_what_eigh_gives():
    def f(a, few):
        matrix = sparse.csr_array(a) if few else a
        w, v = linalg.eigsh(matrix, k=2, which="LA") if few else np.linalg.eigh(a)
        return np.sum(np.sin(w[-2:])) + np.sum(v[:, -2:] ** 2 * COLUMNS)

    dense = BOTH.toarray()
    assert np.allclose(grad(lambda a: f(a, True))(dense), grad(lambda a: f(a, False))(dense))


def test_equal_eigenvalues_that_are_all_wanted():
    a = np.diag([5.0, 5.0, 1.0, 0.5, 0.2])

    def f(a):
        w, v = linalg.eigsh(sparse.csr_array(a), k=2)
        return ((v * np.exp(w)) @ v.T)[0, 2] + np.sum(w)

    slope = grad(f)(a)
    expected = np.exp(5) / (5 - 1) / 2  # v's move, their values do not
    assert np.isclose(slope[0, 2], expected)
    assert np.allclose(np.diag(slope), [1, 1, 0, 0, 0])
    cut = np.diag([5.0, 3.0, 3.0, 0.5, 0.2])
    for call in (f, lambda a: linalg.svds(sparse.csr_array(a), k=2)[1][0]):
        with pytest.raises(tapegrad.NotDifferentiableError, match="Ask for all equal ones"):
            grad(call)(cut)


def test_eigs_and_svds():
    data = C.data + np.arange(C.nnz) * 0.1
    check(lambda d: of_pairs(linalg.eigs(made(d), k=2, which="LR", v0=START)), data, second=False)

    def singular(d):
        u, s, vh = linalg.svds(made(d), k=2, v0=START)
        return of_pairs((s, u)) + of_pairs((s, vh.T))

    check(singular, C.data, second=False)
    only = grad(lambda d: np.sum(linalg.svds(made(d), 2, return_singular_vectors=False)))(C.data)
    assert only.shape == C.data.shape


# --- Functions


def test_exponentials_powers_and_norms():
    data = C.data / 5
    check(lambda d, b: np.sum(linalg.expm_multiply(made(d), b) ** 2), data, VECTOR, tol=1e-5)
    value = tapegrad.value_and_grad(
        lambda d: np.sum(linalg.expm_multiply(made(d), VECTOR, start=0, stop=1, num=3))
    )(C.data)[0]
    plain = scipy_linalg.expm_multiply(C, VECTOR, start=0, stop=1, num=3)
    assert np.isclose(value, np.sum(plain))
    check(lambda d: np.sum((linalg.matrix_power(made(d), 3) @ VECTOR) ** 2), data, second=False)
    for order in (None, 1, np.inf):
        check(lambda d, order=order: linalg.norm(made(d), order), C.data, second=False)


@pytest.mark.parametrize("name", ["inv", "expm", "lsqr", "lsmr", "spilu", "onenormest", "lobpcg"])
def test_refused_functions_say_what_to_use(name):
    with pytest.raises(tapegrad.NotDifferentiableError, match=f"linalg.{name}.*Use "):
        grad(lambda d: getattr(linalg, name)(made(d), VECTOR))(C.data)


def test_batches_of_spectra_are_refused():
    for call in (linalg.eigsh, linalg.svds):
        with pytest.raises(tapegrad.TapegradError, match="Loop over the examples"):
            vmap(lambda d, call=call: call(made(d), k=2)[0])(np.stack([C.data, C.data]))


def test_plain_scipy_names_the_way_out():
    with pytest.raises(tapegrad.ConversionError, match=r"from tapegrad\.scipy\.sparse import"):
        grad(lambda b: np.sum(scipy_linalg.spsolve(C.tocsc(), b)))(VECTOR)


@pytest.mark.parametrize("size", [0.0, 1e-9, 1e-7, 1.0])
@pytest.mark.parametrize("rtol", [1e-5, 0.0])
def test_an_absolute_tolerance_above_the_right_hand_side_leaves_its_derivative(size, rtol):
    A = np.array([[4.0, 1.0], [1.0, 3.0]])
    b = size * np.array([1.0, 2.0])
    found = grad(lambda b: np.sum(linalg.cg(A, b, rtol=rtol, atol=1e-8)[0]))(b)
    np.testing.assert_allclose(found, np.linalg.solve(A, np.ones(2)), rtol=1e-4)
