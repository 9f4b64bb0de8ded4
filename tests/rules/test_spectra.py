"""Eigenvalues and singular values with their vectors, also where they are equal or zero."""

from __future__ import annotations

import math

import numpy as np
import pytest
from matrices import MAKERS, adjoint, complex_, hermitian, nth_derivative, positive, real

import tapegrad
from tapegrad.testing import check_grads

# --- spectra: functions that do not depend on the phases of vectors


@MAKERS
def test_eigh(make):
    weights = make(3, 3)

    def f(x):
        w, v = np.linalg.eigh(hermitian(x))
        return w, np.matmul(v * np.sin(w)[..., None, :], adjoint(v)), np.abs(weights @ v) ** 2

    check_grads(f, (make(2, 3, 3),), order=2)


@pytest.mark.parametrize("UPLO", ["L", "U"])
@MAKERS
def test_eigvalsh(UPLO, make):
    check_grads(lambda x: np.linalg.eigvalsh(hermitian(x), UPLO), (make(2, 3, 3),), order=2)


def test_gradient_of_eigh_is_symmetric():
    gradient = tapegrad.grad(lambda a: np.linalg.eigh(a).eigenvalues[0])(positive(real(3, 3)))
    np.testing.assert_allclose(gradient, gradient.T)


@pytest.mark.part(3)
@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4), (2, 4, 3)])
@pytest.mark.parametrize("full_matrices", [False, True])
@MAKERS
def test_svd(shape, full_matrices, make):
    left, right = make(shape[-2], shape[-2]), make(shape[-1], shape[-1])

    def f(a):
        u, s, vh = np.linalg.svd(a, full_matrices=full_matrices)
        count = s.shape[-1]
        rebuilt = np.matmul(u[..., :count] * np.sin(s)[..., None, :], vh[..., :count, :])
        # The projector on the first columns, and one on those beside them.
        beside = np.matmul(u[..., 2:], adjoint(u[..., 2:]))
        columns, rows = left @ u[..., :2], vh[..., :2, :] @ right
        return s, rebuilt, np.abs(columns) ** 2, np.abs(rows) ** 2, beside

    check_grads(f, (make(*shape),), order=2)


@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4), (2, 4, 3)])
@MAKERS
def test_singular_values(shape, make):
    check_grads(lambda a: np.linalg.svd(a, compute_uv=False), (make(*shape),), order=2)
    check_grads(np.linalg.svdvals, (make(*shape),), order=1)


@MAKERS
def test_eig(make):
    weights = make(3, 3)

    def f(a):
        w, v = np.linalg.eig(a)
        exponential = np.matmul(v * np.exp(w)[..., None, :], np.linalg.inv(v))
        return w, exponential, np.abs(weights @ v) ** 2

    a = make(2, 3, 3) + np.diag([1.0, 4.0, 8.0])
    check_grads(f, (a,), order=2)
    check_grads(np.linalg.eigvals, (a,), order=2)


def test_eigenvalues_that_are_complex_of_a_real_matrix():
    rotation = np.array([[0.5, -1.0], [1.0, 0.3]])
    check_grads(np.linalg.eigvals, (rotation,), order=2)


# --- equal eigenvalues: right wherever the function is differentiable

ROTATION = np.linalg.qr(real(4, 4))[0]
# A step that keeps the eigenvalues of the neighbours apart: their gradients lose digits as they
# close up, which a difference of gradients would divide by its step.
WIDE = {"eps": 1e-4, "rtol": 1e-5, "atol": 1e-5}
DEGENERATE = {
    "identity": np.eye(4),
    "zero": np.zeros((4, 4)),
    "two pairs": hermitian(ROTATION @ np.diag([1.0, 1.0, 2.0, 2.0]) @ ROTATION.T),
    "one triple": np.diag([1.0, 2.0, 1.0, 1.0]),
    "rank one": np.outer(ROTATION[0], ROTATION[0]),
    "in a stack": np.stack([np.eye(4), np.diag([1.0, 2.0, 3.0, 4.0]), 2 * np.eye(4)]),
}
B, C = real(4, 4), real(4, 4)


def spectral(function, a):
    w, v = np.linalg.eigh(a)
    return np.matmul(v * function(w)[..., None, :], adjoint(v))


def test_gradient_of_the_exponential_at_the_identity():
    def f(a):
        w, v = np.linalg.eigh(a)
        return np.sum(B * ((v * np.exp(w)) @ v.T))

    np.testing.assert_allclose(tapegrad.grad(f)(np.eye(4)), np.e * hermitian(B), atol=1e-14)


def test_gradient_of_the_logarithm_at_the_identity_where_it_is_zero():
    gradient = tapegrad.grad(lambda a: np.sum(B * spectral(np.log, a)))(np.eye(4))
    np.testing.assert_allclose(gradient, hermitian(B), atol=1e-14)


SPECTRAL = {
    "one function": lambda a: np.sum(B * spectral(np.exp, a)),
    "the values alone": lambda a: np.sum(np.linalg.eigvalsh(a) ** 3),
    "the matrix itself": lambda a: np.sum(B * spectral(lambda w: w, a)),
    "two functions of one decomposition": lambda a: _two_functions(*np.linalg.eigh(a)),
    "nonlinear": lambda a: (
        np.sin(np.sum(B * spectral(np.sin, a))) * np.sum(C * spectral(np.exp, a))
    ),
}


def _two_functions(w, v):
    def matrix(values):
        return np.matmul(v * values[..., None, :], adjoint(v))

    return np.sum(B * matrix(np.exp(w))) + np.sum(C * matrix(np.cos(w))) + np.sum(np.log1p(w * w))


@pytest.mark.slow
@pytest.mark.parametrize("name", DEGENERATE)
@pytest.mark.parametrize("function", SPECTRAL)
def test_functions_of_a_matrix_with_equal_eigenvalues(function, name):
    check_grads(lambda x: SPECTRAL[function](hermitian(x)), (DEGENERATE[name],), order=2, **WIDE)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["identity", "zero", "one triple"])
def test_functions_of_a_complex_matrix_with_equal_eigenvalues(name):
    weights = complex_(4, 4)

    def f(x):
        return np.real(np.sum(weights * spectral(np.exp, hermitian(x))))

    check_grads(f, (DEGENERATE[name].astype(complex),), order=2, **WIDE)


def odd(function, a):
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    return np.matmul(u * function(s)[..., None, :], vh)


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4)])
@pytest.mark.parametrize("values", [(1.0, 1.0), (0.0, 0.0), (2.0, 0.0)])
@MAKERS
def test_functions_of_a_matrix_with_equal_or_zero_singular_values(shape, values, make):
    weights = make(*shape)
    a = np.zeros(shape, weights.dtype)
    a[0, 0], a[1, 1] = values

    def f(a):
        return np.real(np.sum(weights * odd(np.sin, a))) + np.sum(np.linalg.svdvals(a) ** 2)

    check_grads(f, (a,), order=2, **WIDE)


def test_a_matrix_rebuilt_from_its_singular_values():
    a = np.outer([1.0, 2.0, 3.0], [1.0, -1.0])
    np.testing.assert_allclose(
        tapegrad.grad(lambda a: np.sum(C[:3, :2] * odd(lambda s: s, a)))(a), C[:3, :2]
    )


def test_the_largest_of_equal_eigenvalues_has_a_finite_gradient():
    gradient = tapegrad.grad(lambda a: np.linalg.eigh(a)[0][-1])(np.eye(2))
    np.testing.assert_allclose(gradient, np.diag([0.0, 1.0]))


def test_a_single_vector_of_equal_eigenvalues_has_a_finite_gradient():
    gradient = tapegrad.grad(lambda a: np.linalg.eigh(a)[1][0, 0])(np.eye(2))
    assert np.isfinite(gradient).all()


def test_a_tie_does_not_disturb_the_rest_of_a_stack():
    stack = np.stack([np.eye(3), np.diag([1.0, 2.0, 4.0])])
    weights = real(2, 3, 3)

    def f(a):
        return np.sum(weights * np.linalg.eigh(a).eigenvectors ** 2)

    def alone(a):
        return np.sum(weights[1] * np.linalg.eigh(a).eigenvectors ** 2)

    np.testing.assert_allclose(tapegrad.grad(f)(stack)[1], tapegrad.grad(alone)(stack[1]))


@pytest.mark.part(3)
@pytest.mark.parametrize("name", ["identity", "one triple", "two pairs"])
@pytest.mark.parametrize("order", [1, 2, pytest.param(3, marks=pytest.mark.slow)])
def test_higher_derivatives_at_equal_eigenvalues(order, name):
    start, step = DEGENERATE[name][:3, :3], hermitian(real(3, 3))
    start = hermitian(start)
    weights = real(3, 3)

    def along(t):
        return np.sum(weights * spectral(np.exp, start + t * step))

    # exp of a block matrix has the Taylor terms of exp(start + t * step) in its first row.
    count = order + 1
    blocks = np.kron(np.eye(count), start) + np.kron(np.eye(count, k=1), step)
    whole = term = np.eye(3 * count)
    for i in range(1, 80):
        term = term @ blocks / i
        whole = whole + term
    expected = np.sum(weights * whole[:3, 3 * order :]) * math.factorial(order)
    np.testing.assert_allclose(nth_derivative(along, order)(0.0), expected, rtol=1e-8)


# --- eig


@MAKERS
def test_eig_has_the_lengths_and_phases_of_numpy(make):
    a = make(2, 3, 3)
    assert type(tapegrad.vjp(np.linalg.eig, a)[0]) is type(np.linalg.eig(a))
    check_grads(np.linalg.eig, (a,), order=2)


def of_any_matrix(function, a):
    w, v = np.linalg.eig(a)
    return np.matmul(v * function(w)[..., None, :], np.linalg.inv(v))


TURN = real(4, 4)
EQUAL = {
    "identity": np.eye(4),
    "one triple": np.diag([1.0, 2.0, 1.0, 1.0]),
    "two pairs": TURN @ np.diag([1.0, 1.0, 2.0, 2.0]) @ np.linalg.inv(TURN),
    "two rotations": np.kron(np.eye(2), [[0.0, -1.0], [1.0, 0.0]]),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", EQUAL)
def test_functions_of_any_matrix_with_equal_eigenvalues(name):
    def f(a):
        return np.sum(B * np.real(of_any_matrix(np.exp, a)))

    def values(a):
        return np.sum(np.real(np.linalg.eigvals(a) ** 3))

    check_grads(f, (EQUAL[name],), order=2, **WIDE)
    check_grads(values, (EQUAL[name],), order=2, **WIDE)
    check_grads(f, (EQUAL[name] + 0j,), order=1, **WIDE)


def test_a_matrix_with_fewer_vectors_than_values_has_no_derivative():
    def f(a):
        return np.sum(np.real(np.linalg.eigvals(a)) ** 2)

    with pytest.warns(RuntimeWarning, match=r"NaN in the derivative of np\.linalg\.eigvals"):
        assert np.isnan(tapegrad.grad(f)(np.array([[1.0, 1.0], [0.0, 1.0]]))).any()


def test_eigvals_in_another_order_than_eig_has():
    a = np.array(
        [
            [3.15863158, 0.18363158, -0.17261842],
            [0.02113158, 6.10863158, 0.14613158],
            [-0.02261842, 0.05863158, 9.07113158],
        ]
    )
    exact = tapegrad.grad(lambda a: np.max(np.real(np.linalg.eigvals(a))))(a)
    by_vectors = tapegrad.grad(lambda a: np.max(np.real(np.linalg.eig(a)[0])))(a)
    np.testing.assert_allclose(exact, by_vectors)


# --- svd(hermitian=True)


def test_svd_of_a_hermitian_matrix_with_eigenvalues_of_opposite_signs():
    a = np.diag([1.0, -1.0, 2.0]) + 0.1 * hermitian(real(3, 3))

    def f(x):
        return np.linalg.svd(hermitian(x), hermitian=True)

    assert type(tapegrad.vjp(f, a)[0]) is type(f(a))
    check_grads(f, (a,), order=2)

    def sine(x):
        u, s, vh = f(x)
        return np.matmul(u * np.sin(s), vh)

    check_grads(sine, (np.diag([1.0, -1.0, 2.0]),), order=2, **WIDE)


@MAKERS
def test_singular_values_of_a_hermitian_matrix(make):
    def f(x):
        return np.linalg.svd(hermitian(x), compute_uv=False, hermitian=True)

    a = make(2, 3, 3)
    np.testing.assert_array_equal(tapegrad.vjp(f, a)[0], f(a))
    check_grads(f, (a,), order=2)
