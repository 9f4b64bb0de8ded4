"""Linear algebra against central differences: batched, complex, singular, degenerate matrices."""

from __future__ import annotations

import numpy as np
import pytest

import tapegrad
from tapegrad.testing import check_grads

RNG = np.random.default_rng(5)


def real(*shape):
    return RNG.standard_normal(shape)


def complex_(*shape):
    return real(*shape) + 1j * real(*shape)


MAKERS = pytest.mark.parametrize("make", [real, complex_])


def adjoint(x):
    return np.conjugate(np.swapaxes(x, -1, -2))


def hermitian(x):
    return (x + adjoint(x)) / 2


def positive(x):
    return np.matmul(x, adjoint(x)) + 2 * np.eye(x.shape[-1])


# --- solve, inv, det


@MAKERS
def test_inv(make):
    check_grads(np.linalg.inv, (make(2, 3, 3) + 3 * np.eye(3),), order=2)
    check_grads(np.linalg.inv, (np.zeros((0, 3, 3)),), order=1)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ((3, 3), (3,)),
        ((3, 3), (3, 2)),
        ((2, 3, 3), (3,)),
        ((2, 3, 3), (3, 2)),
        ((3, 3), (2, 3, 2)),
        ((2, 1, 3, 3), (4, 3, 1)),
        ((3, 3), (3, 0)),
    ],
)
@MAKERS
def test_solve(a, b, make):
    check_grads(np.linalg.solve, (make(*a) + 3 * np.eye(3), make(*b)), order=2)


def test_solve_with_plain_operands():
    a, b = real(3, 3) + 3 * np.eye(3), real(3)
    check_grads(lambda b: np.linalg.solve(a, b), (b,), order=2)
    check_grads(lambda a: np.linalg.solve(a, b), (a,), order=2)


def test_tensorinv_and_tensorsolve():
    check_grads(np.linalg.tensorinv, (real(4, 6, 8, 3) + 2,), order=1)
    check_grads(lambda a: np.linalg.tensorinv(a, ind=1), (real(6, 2, 3),), order=1)
    check_grads(np.linalg.tensorsolve, (real(2, 3, 6), real(2, 3)), order=2)
    check_grads(
        lambda a, b: np.linalg.tensorsolve(a, b, axes=(0,)), (real(6, 2, 3), real(2, 3)), order=1
    )


@pytest.mark.parametrize("size", [0, 1, 2, 4])
@MAKERS
def test_det(size, make):
    check_grads(np.linalg.det, (make(2, size, size),), order=2)


SINGULAR = {
    "rank 2 of 3": np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [5.0, 7.0, 9.0]]),
    "rank 2 of 3, rounded": np.arange(1.0, 10).reshape(3, 3),
    "rank 1 of 3": np.outer([1.0, 2.0, 3.0], [1.0, -1.0, 0.5]),
    "zeros": np.zeros((3, 3)),
    "rank 1 of 2": np.array([[1.0, 2.0], [2.0, 4.0]]),
    "one zero": np.zeros((1, 1)),
    "permuted": np.diag([1.0, 2.0, 0.0])[[1, 2, 0]],
    "in a batch": np.stack([np.eye(3), np.zeros((3, 3)), np.ones((3, 3))]),
}


@pytest.mark.parametrize("name", SINGULAR)
@MAKERS
def test_det_of_singular_matrices(name, make):
    phase = 1 if make is real else np.exp(1j)
    check_grads(np.linalg.det, (SINGULAR[name] * phase,), order=2)


def test_gradient_of_det_of_a_singular_matrix_is_its_cofactors():
    gradient = tapegrad.grad(np.linalg.det)
    np.testing.assert_allclose(gradient(np.array([[1.0, 2], [2, 4]])), [[4, -2], [-2, 1]])
    np.testing.assert_allclose(gradient(np.zeros((3, 3))), np.zeros((3, 3)))


def test_third_derivative_of_det():
    def f(t):
        return np.linalg.det(t * np.eye(3) + np.ones((3, 3)))  # t**3 + 3 t**2

    third = tapegrad.grad(tapegrad.grad(tapegrad.grad(f)))
    np.testing.assert_allclose(third(2.0), 6)


@MAKERS
def test_slogdet(make):
    check_grads(np.linalg.slogdet, (make(2, 3, 3),), order=2)
    assert np.linalg.slogdet(np.eye(2)).sign == 1


def test_slogdet_result_keeps_its_names():
    assert tapegrad.grad(lambda a: np.linalg.slogdet(a).logabsdet)(2 * np.eye(1)) == 0.5


def test_slogdet_of_a_singular_matrix_in_a_branch_not_taken():
    def f(a):
        sign, logabsdet = np.linalg.slogdet(a)
        return np.sum(np.where(sign == 0, 0.0, logabsdet))

    gradient = tapegrad.grad(f)(np.stack([np.zeros((2, 2)), 2 * np.eye(2)]))
    np.testing.assert_allclose(gradient, np.stack([np.zeros((2, 2)), np.eye(2) / 2]))


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


@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4), (2, 5, 3)])
@MAKERS
def test_pinv(shape, make):
    check_grads(np.linalg.pinv, (make(*shape),), order=2)


def test_pinv_at_constant_rank():
    def f(x):
        return np.linalg.pinv(np.outer(x[:3], x[3:]))

    check_grads(f, (real(7),), order=1)


@pytest.mark.parametrize(("a", "b"), [((4, 2), (4,)), ((4, 2), (4, 3)), ((2, 4), (2,))])
def test_lstsq(a, b):
    check_grads(lambda a, b: np.linalg.lstsq(a, b), (real(*a), real(*b)), order=2)


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


@pytest.mark.parametrize("name", DEGENERATE)
@pytest.mark.parametrize("function", SPECTRAL)
def test_functions_of_a_matrix_with_equal_eigenvalues(function, name):
    check_grads(lambda x: SPECTRAL[function](hermitian(x)), (DEGENERATE[name],), order=2, **WIDE)


@pytest.mark.parametrize("name", ["identity", "zero", "one triple"])
def test_functions_of_a_complex_matrix_with_equal_eigenvalues(name):
    weights = complex_(4, 4)

    def f(x):
        return np.real(np.sum(weights * spectral(np.exp, hermitian(x))))

    check_grads(f, (DEGENERATE[name].astype(complex),), order=2, **WIDE)


def odd(function, a):
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    return np.matmul(u * function(s)[..., None, :], vh)


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


# --- norms

NORMS = [
    *({"ord": order} for order in (None, "fro", 1, 2, -1, -2, np.inf, -np.inf, "nuc")),
    *({"ord": order, "axis": 1} for order in (None, 0, 1, 2, 3, -1, 2.5, np.inf, -np.inf)),
    {"axis": -1, "keepdims": True},
    {"ord": 2, "axis": (1, 0), "keepdims": True},
    {"ord": 1, "axis": (1, 0), "keepdims": True},
    {"axis": (0, 1)},
    {"keepdims": True},
]


@pytest.mark.parametrize("options", NORMS, ids=str)
@MAKERS
def test_norm(options, make):
    x = make(3, 4)
    np.testing.assert_array_equal(
        tapegrad.vjp(lambda x: np.linalg.norm(x, **options), x)[0], np.linalg.norm(x, **options)
    )
    check_grads(lambda x: np.linalg.norm(x, **options), (x,), order=2)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"ord": "fro"},
        {"axis": (0, 2)},
        {"ord": 2, "axis": (2, 0)},
        {"ord": "nuc", "axis": (1, 2)},
    ],
    ids=str,
)
def test_norm_of_a_stack(options):
    x = real(2, 3, 4) if options.get("axis") or not options else real(3, 4)
    check_grads(lambda x: np.linalg.norm(x, **options), (x,), order=2)


def test_vector_norm_and_matrix_norm():
    x = real(2, 3, 4)
    check_grads(np.linalg.vector_norm, (x,), order=2)
    check_grads(lambda x: np.linalg.vector_norm(x, axis=(0, 2), ord=3, keepdims=True), (x,))
    check_grads(lambda x: np.linalg.matrix_norm(x, ord=2), (x,), order=2)
    check_grads(lambda x: np.linalg.matrix_norm(x, keepdims=True), (x,), order=2)


@pytest.mark.parametrize("p", [None, 2, -2, 1, np.inf, "fro"])
def test_cond(p):
    check_grads(lambda x: np.linalg.cond(x, p), (real(3, 3) + 2 * np.eye(3),), order=1)


@pytest.mark.parametrize("order", [None, 1, 2, 3, np.inf])
def test_gradient_of_a_norm_at_zero_is_zero(order):
    gradient = tapegrad.grad(lambda x: np.linalg.norm(x, order))(np.zeros(3))
    np.testing.assert_array_equal(gradient, np.zeros(3))
    _, out_dot = tapegrad.jvp(lambda x: np.linalg.norm(x, order), (np.zeros(3),), (np.ones(3),))
    assert out_dot == 0


def test_norm_at_zero_along_an_axis():
    x = np.array([[0.0, 0.0], [3.0, 4.0]])
    gradient = tapegrad.grad(lambda x: np.sum(np.linalg.norm(x, axis=1)))(x)
    np.testing.assert_allclose(gradient, [[0, 0], [0.6, 0.8]])


def _square(size):
    return size * size


SMOOTH = {
    "squared": (lambda x: np.linalg.norm(x) ** 2, 2.0),
    "product": (lambda x: _square(np.linalg.norm(x)), 2.0),
    "cosine": (lambda x: np.cos(np.linalg.norm(x)), -1.0),
    "cubed": (lambda x: np.linalg.norm(x) ** 3, 0.0),
    "rows": (lambda x: np.sum(np.linalg.norm(x.reshape(2, 2), axis=1) ** 2), 2.0),
}


@pytest.mark.parametrize("name", SMOOTH)
def test_hessian_at_zero_of_smooth_functions_of_a_norm(name):
    f, factor = SMOOTH[name]
    zero, direction = np.zeros(4), real(4)
    expected = factor * np.eye(4)
    np.testing.assert_allclose(tapegrad.hessian(f)(zero), expected)
    np.testing.assert_allclose(tapegrad.jacrev(tapegrad.grad(f))(zero), expected)
    np.testing.assert_allclose(tapegrad.hvp(f, (zero,), (direction,)), factor * direction)
    along = tapegrad.jvp(tapegrad.grad(f), (zero,), (direction,))[1]
    np.testing.assert_allclose(along, factor * direction)


# --- dtypes


@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
def test_small_dtypes_stay(dtype):
    a = positive(real(3, 3) + (0 if dtype is np.float32 else 1j * real(3, 3))).astype(dtype)
    for function in (
        np.linalg.inv,
        np.linalg.det,
        np.linalg.cholesky,
        np.linalg.eigh,
        np.linalg.slogdet,
        np.linalg.norm,
        np.linalg.eigvalsh,
        np.linalg.svd,
        np.linalg.qr,
        np.linalg.pinv,
        np.linalg.svdvals,
        lambda a: np.linalg.norm(a, "nuc"),
        lambda a: np.linalg.norm(a, 2),
    ):
        out, pullback = tapegrad.vjp(function, a)
        assert pullback(out)[0].dtype == dtype
        out, out_dot = tapegrad.jvp(function, (a,), (a,))
        outs = out if isinstance(out, tuple) else (out,)
        dots = out_dot if isinstance(out_dot, tuple) else (out_dot,)
        assert [part.dtype for part in outs] == [part.dtype for part in dots]
