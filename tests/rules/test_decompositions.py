"""Cholesky and QR factorisations of every mode and shape, and of dependent columns."""

from __future__ import annotations

import numpy as np
import pytest
from matrices import MAKERS, adjoint, positive, real

import tapegrad
from tapegrad._numpy_versions import NORM_OF_NOTHING_IS_ZERO
from tapegrad.testing import check_grads

# --- factorisations


@MAKERS
def test_cholesky(make):
    check_grads(lambda x: np.linalg.cholesky(positive(x)), (make(2, 3, 3),), order=2)


@MAKERS
def test_cholesky_upper(make):
    check_grads(lambda x: np.linalg.cholesky(positive(x), upper=True), (make(2, 3, 3),), order=2)


def test_gradient_of_cholesky_is_symmetric():
    gradient = tapegrad.grad(lambda a: np.sum(np.linalg.cholesky(a)))(positive(real(3, 3)))
    np.testing.assert_allclose(gradient, gradient.T)


@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4), (2, 5, 3)])
@MAKERS
def test_qr(shape, make):
    check_grads(np.linalg.qr, (make(*shape),), order=2)
    check_grads(lambda a: np.linalg.qr(a, "r"), (make(*shape),), order=1)


SHAPES = [(3, 3), (4, 2), (5, 3), (2, 4), (2, 4, 2), (2, 2, 3), (3, 1), (1, 3), (1, 1)]


@pytest.mark.part(6)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("mode", ["reduced", "complete", "r", "raw"])
@MAKERS
def test_qr_of_every_mode(shape, mode, make):
    a = make(*shape)

    def f(a):
        return np.linalg.qr(a, mode)

    out = tapegrad.vjp(f, a)[0]
    for expected, got in zip(f(a), out, strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-11, atol=1e-12)
    check_grads(f, (a,), order=2)


def test_qr_result_keeps_its_names():
    out = tapegrad.vjp(np.linalg.qr, real(3, 2))[0]
    assert type(out) is type(np.linalg.qr(real(3, 2)))
    out = tapegrad.vjp(lambda a: np.linalg.qr(a, "complete"), real(3, 2))[0]
    assert out.Q.shape == (3, 3)


def test_modes_of_qr_that_are_not_modes():
    with pytest.raises(ValueError, match="Unrecognized mode 'other'"):
        tapegrad.vjp(lambda a: np.linalg.qr(a, "other"), real(2, 2))
    for mode in ("full", "economic"):
        a = real(3, 2)
        with pytest.warns(DeprecationWarning, match="deprecated"):
            expected = np.linalg.qr(a, mode)
        with pytest.warns(DeprecationWarning, match="deprecated"):
            found = tapegrad.vjp(lambda a, mode=mode: np.linalg.qr(a, mode), a)[0]
        for one, other in zip(expected, found, strict=True):
            np.testing.assert_allclose(other, one)


def test_columns_that_no_reflection_made_turn_no_more_than_they_must():
    """NumPy's qr jumps at a triangular matrix; the span of the added columns does not."""

    def beside(a):
        q = np.linalg.qr(a, "complete").Q[..., 2:]
        return np.matmul(q, adjoint(q))

    stack = np.stack([np.eye(4)[:, :2], real(4, 2)])
    check_grads(beside, (stack,), order=2)


# --- dependent columns: right where the function is differentiable

X = real(4, 2)
DEPENDENT = {
    "a column of zeros": np.c_[X, np.zeros(4)],
    "the last column": np.c_[X, X[:, 0] + X[:, 1]],
    "the second column": np.c_[X[:, 0], 2 * X[:, 0], X[:, 1]],
    "rank one": np.outer(real(3), real(3)),
    "zeros": np.zeros((3, 2)),
    "wide": np.array([[1.0, 2.0, 3.0, 4.0], [2.0, 4.0, 1.0, 0.0]]),
    "in a stack": np.stack([np.ones((3, 2)), real(3, 2)]),
}


@pytest.mark.parametrize("name", DEPENDENT)
def test_functions_of_a_qr_of_dependent_columns(name):
    a = DEPENDENT[name]
    weights = real(*a.shape)

    def f(a):
        q, r = np.linalg.qr(a)
        gram = np.matmul(adjoint(r), r)
        return np.sum(weights * np.sin(np.matmul(q, r))) + np.sum(np.exp(0.1 * gram))

    check_grads(f, (a,), order=1, eps=1e-6)


def test_a_vector_beside_dependent_columns_has_no_derivative():
    a = np.c_[X, X[:, 0] + X[:, 1]]
    with pytest.warns(RuntimeWarning, match=r"NaN in the derivative of np\.linalg\.qr"):
        assert np.isnan(tapegrad.grad(lambda a: np.linalg.qr(a)[0][0, 2])(a)).all()
    with pytest.raises(np.linalg.LinAlgError, match="no second derivative"):
        tapegrad.hessian(lambda a: np.sum(np.linalg.qr(a)[1] ** 2))(a)


EMPTY = [
    lambda a: np.linalg.qr(a[:0]),
    lambda a: np.linalg.qr(a[:, :0], "complete"),
    lambda a: np.linalg.qr(a[:0], "raw"),
    lambda a: np.linalg.svd(a[:0]),
    lambda a: np.linalg.svd(a[:, :0]),
    lambda a: np.linalg.svd(np.stack([a, a])[:0], hermitian=True),
    lambda a: np.linalg.eigh(a[:0, :0]),
    lambda a: np.linalg.eig(np.stack([a, a])[:0]),
    lambda a: np.linalg.cholesky(a[:0, :0]),
    lambda a: (np.linalg.norm(a[:0], "nuc"), np.linalg.norm(a[:0])),
    lambda a: np.linalg.eig(a[:0, :0]),
    lambda a: np.linalg.eig(a[:0, :0] + 0j),
    lambda a: (np.linalg.eigvals(a[:0, :0]), np.linalg.eigvals(a[:0, :0] + 0j)),
    *[lambda a: (np.linalg.norm(a[:0], 2),)] * NORM_OF_NOTHING_IS_ZERO,
]


@pytest.mark.parametrize("call", EMPTY)
def test_empty_matrices(call):
    a = real(3, 3)
    out, pullback = tapegrad.vjp(call, a)
    for expected, got in zip(call(a), out, strict=True):
        assert (got.shape, got.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_array_equal(pullback(out)[0], np.zeros((3, 3)))
    for expected, got in zip(out, tapegrad.jvp(call, (a,), (a,))[1], strict=True):
        assert (got.shape, got.dtype) == (expected.shape, expected.dtype)
