"""Linear algebra against central differences: batched, complex, singular matrices."""

from __future__ import annotations

import numpy as np
import pytest
from matrices import MAKERS, hermitian, positive, real

import tapegrad
from tapegrad.testing import check_grads

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


@pytest.mark.parametrize(("scale", "bar"), [(1e-120, 1e-80), (1e120, 1e80)])
def test_cotangents_of_det_are_no_smaller_or_larger_on_the_way(scale, bar):
    """A cotangent times the determinant is not a number where it is one times a cofactor."""
    a = np.array([[2.0, 1.0], [1.0, 3.0]]) * scale
    for _ in range(3):
        (found,) = tapegrad.vjp(np.linalg.det, a)[1](np.float64(bar))
        np.testing.assert_allclose(found / scale / bar, [[3, -1], [-1, 2]], 1e-12)


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


# --- pseudo-inverses, least squares, condition


@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4), (2, 5, 3)])
@MAKERS
def test_pinv(shape, make):
    check_grads(np.linalg.pinv, (make(*shape),), order=2)


def test_pinv_at_constant_rank():
    def f(x):
        return np.linalg.pinv(np.outer(x[:3], x[3:]))

    check_grads(f, (real(7),), order=1)


def test_second_derivatives_of_pinv_of_an_ill_conditioned_matrix_are_those_of_inv():
    u, v = (np.linalg.qr(real(4, 4))[0] for _ in range(2))
    a, e = (u * [1, 5e-3, 2e-5, 1e-7]) @ v, real(4, 4)

    def second(f):
        return tapegrad.jvp(lambda a: tapegrad.jvp(f, (a,), (e,))[1], (a,), (e,))[1]

    expected = second(np.linalg.inv)
    size = np.abs(expected).max()
    np.testing.assert_allclose(second(np.linalg.pinv), expected, rtol=0, atol=1e-7 * size)


@pytest.mark.parametrize(("a", "b"), [((4, 2), (4,)), ((4, 2), (4, 3)), ((2, 4), (2,))])
def test_lstsq(a, b):
    check_grads(lambda a, b: np.linalg.lstsq(a, b), (real(*a), real(*b)), order=2)


@pytest.mark.parametrize("p", [None, 2, -2, 1, np.inf, "fro"])
def test_cond(p):
    check_grads(lambda x: np.linalg.cond(x, p), (real(3, 3) + 2 * np.eye(3),), order=1)


@pytest.mark.part(3)
@pytest.mark.parametrize("options", [{}, {"rcond": 1e-3}, {"rtol": None}, {"rtol": 0.5}], ids=str)
@pytest.mark.parametrize("is_hermitian", [False, True])
@MAKERS
def test_pinv_by_cutoff(options, is_hermitian, make):
    """A cutoff that leaves out singular values which are not zero among them."""

    def f(a):
        whole = hermitian(a) if is_hermitian else a
        return np.linalg.pinv(whole, hermitian=is_hermitian, **options)

    a = make(2, 3, 3)
    np.testing.assert_allclose(tapegrad.vjp(f, a)[0], f(a), rtol=1e-11, atol=1e-12)
    check_grads(f, (a,), order=2)


def test_pinv_refuses_two_cutoffs_and_takes_empty_matrices():
    with pytest.raises(ValueError, match="rtol"):
        tapegrad.vjp(lambda a: np.linalg.pinv(a, 1e-3, rtol=1e-3), real(2, 2))
    assert tapegrad.vjp(np.linalg.pinv, np.zeros((2, 0)))[0].shape == (0, 2)


@pytest.mark.parametrize("shape", [(2, 3), (2, 0), (0, 2, 2)])
def test_a_traced_cutoff_of_pinv_is_a_constant(shape):
    def f(a, rtol):
        return np.linalg.pinv(a, rtol=rtol)

    a, rtol = np.ones(shape), np.asarray(1e-6)
    out, pullback = tapegrad.vjp(f, a, rtol)
    np.testing.assert_allclose(out, f(a, rtol))
    assert pullback(np.ones_like(out))[1] == 0


SYSTEMS = [
    ((4, 2), (4,)),
    ((4, 2), (4, 3)),
    ((2, 4), (2,)),
    ((2, 4), (2, 3)),
    ((3, 3), (3,)),
    ((4, 2), (4, 0)),
]


@pytest.mark.part(9)
@pytest.mark.parametrize(("a", "b"), SYSTEMS)
@pytest.mark.parametrize("rcond", [None, -1, 0, 0.6, 1, 2.5])
@MAKERS
def test_all_results_of_lstsq(a, b, rcond, make):
    a, b = make(*a), make(*b)

    def f(a, b):
        return np.linalg.lstsq(a, b, rcond)

    for expected, got in zip(f(a, b), tapegrad.vjp(f, a, b)[0], strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-11, atol=1e-12)
        assert np.asarray(got).dtype == np.asarray(expected).dtype
    check_grads(f, (a, b), order=2)


def test_lstsq_at_constant_rank():
    def f(x, b):
        return np.linalg.lstsq(np.outer(x[:4], x[4:]), b)[0]

    check_grads(f, (real(6), real(4)), order=1)
    assert tapegrad.vjp(f, real(6), real(4))[0].shape == (2,)


@pytest.mark.parametrize("rcond", [None, -1, 1e-9])
def test_lstsq_of_an_ill_conditioned_system_has_numpys_value(rcond):
    a = np.vander(np.linspace(1, 2, 9), 7)  # its condition is 1e8
    b = np.sin(np.arange(9.0))
    f = lambda a, b: np.linalg.lstsq(a, b, rcond)[0]  # noqa: E731
    value, pull = tapegrad.vjp(f, a, b)
    np.testing.assert_array_equal(value, f(a, b))
    # Where b is met exactly, twice the matrix is half the solution.
    exact = a @ np.ones(7)
    x, moved = tapegrad.jvp(lambda t: f(a * t, exact), (1.0,), (1.0,))
    np.testing.assert_allclose(moved, -x, rtol=1e-6)


def test_lstsq_refuses_as_numpy_does():
    for a, b in [((3,), (3,)), ((3, 2), (2,)), ((3, 2), (3, 1, 1))]:
        with pytest.raises(np.linalg.LinAlgError):
            np.linalg.lstsq(real(*a), real(*b))
        with pytest.raises(np.linalg.LinAlgError):
            tapegrad.vjp(np.linalg.lstsq, real(*a), real(*b))


def test_lstsq_with_plain_operands():
    a, b = real(4, 2), real(4)
    check_grads(lambda b: np.linalg.lstsq(a, b)[:2], (b,), order=2)
    check_grads(lambda a: np.linalg.lstsq(a, b)[:2], (a,), order=2)


@pytest.mark.part(3)
@pytest.mark.parametrize("p", [None, 2, -2, 1, -1, np.inf, -np.inf, "fro", "nuc"])
@MAKERS
def test_cond_of_a_stack(p, make):
    a = make(2, 3, 3) + np.eye(3)
    check_grads(lambda a: np.linalg.cond(a, p), (a,), order=2)


@pytest.mark.parametrize("p", [None, -2, 1, "fro"])
def test_cond_of_a_singular_matrix_is_numpys(p):
    stack = np.stack([np.zeros((2, 2)), np.diag([1.0, 2.0]), np.ones((2, 2))])
    out, pullback = tapegrad.vjp(lambda a: np.linalg.cond(a, p), stack)
    np.testing.assert_allclose(out, np.linalg.cond(stack, p))
    assert pullback(np.ones(3))[0][1].any()


@pytest.mark.parametrize("n", [-3, -1, 0, 1, 2, 3, 6])
@MAKERS
def test_matrix_power(n, make):
    check_grads(lambda a: np.linalg.matrix_power(a, n), (make(2, 3, 3) + 3 * np.eye(3),), order=2)


def test_matrix_rank_is_plain():
    seen = []
    tapegrad.grad(lambda a: seen.append(np.linalg.matrix_rank(a)) or np.sum(a))(np.eye(3))
    assert seen == [3]
    assert not hasattr(seen[0], "tape")


@pytest.mark.parametrize(
    "call",
    [
        lambda a: np.linalg.tensorinv(a, 0),
        lambda a: np.linalg.tensorinv(a, 1),
        lambda a: np.linalg.tensorsolve(a, np.ones(2)),
        lambda a: np.linalg.tensorsolve(a, np.ones(2), axes=(-1,)),
        lambda a: np.linalg.inv(a),
        lambda a: np.linalg.cond(a[:0]),
        lambda a: np.linalg.lstsq(a, np.ones(5)),
        lambda a: np.linalg.cholesky(-np.eye(3) + 0 * a[:, :1]),
    ],
)
def test_errors_are_numpys(call):
    a = real(3, 4)
    with pytest.raises((ValueError, TypeError)) as plain:
        call(a)
    with pytest.raises(plain.type):
        tapegrad.vjp(call, a)


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


@pytest.mark.parametrize("p", [None, 2, -2, 1, "fro"])
@pytest.mark.parametrize("factor", [1, 1j])
def test_cond_of_a_matrix_with_nan_is_numpys(p, factor):
    """NaN with a derivative of NaN, or LAPACK's error; the rest of a stack has its own."""
    stack = np.stack([np.full((2, 2), np.nan), np.diag([1.0, 2.0])])

    def cond(x):
        return np.linalg.cond(factor * x, p)

    try:
        expected = cond(stack)
    except np.linalg.LinAlgError as error:
        with pytest.raises(np.linalg.LinAlgError, match=str(error)):
            tapegrad.vjp(cond, stack)
        return
    out, pullback = tapegrad.vjp(cond, stack)
    np.testing.assert_array_equal(out, expected)
    np.testing.assert_array_equal(tapegrad.vmap(cond)(stack[None]), expected[None])
    (gradient,) = pullback(np.ones_like(out))
    assert np.isnan(gradient[0]).all()
    alone = tapegrad.grad(lambda x: np.real(cond(x)))(stack[1])
    np.testing.assert_allclose(gradient[1], alone)


def test_a_determinant_with_infinities_has_no_derivative():
    """It is NaN; LAPACK's singular values of such a matrix may take for ever."""
    a = np.array([[1.0, -np.inf, 0.0], [np.inf, 1.0, 2.0], [0.0, 1.0, 1.0]])
    with np.errstate(all="ignore"):
        assert np.isnan(tapegrad.grad(np.linalg.det)(a)).all()
        both = tapegrad.vjp(np.linalg.det, np.stack([a, np.eye(3)]))[1](np.ones(2))[0]
    assert np.isnan(both[0]).all()
    np.testing.assert_array_equal(both[1], np.eye(3))


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_the_third_order_of_det_at_a_singular_matrix(rank):
    """A case that no inverse covers, nor the expansion of low order."""
    rng = np.random.default_rng(rank)
    a = rng.normal(size=(4, rank)) @ rng.normal(size=(rank, 4))
    b = rng.normal(size=(4, 4))
    found = tapegrad.grad(tapegrad.grad(tapegrad.grad(lambda t: np.linalg.det(a + t * b))))(0.0)
    points = np.arange(-2.0, 3.0)  # det is a polynomial of degree 4 in t
    values = [np.linalg.det(a + t * b) for t in points]
    np.testing.assert_allclose(found, 6 * np.polyfit(points, values, 4)[1], rtol=1e-9)


@pytest.mark.parametrize("p", [None, 2, -2, 1, np.inf, "fro", "nuc"])
@pytest.mark.parametrize("scale", [1e200, 1e-200, 1e150])
def test_a_condition_number_does_not_depend_on_the_scale(p, scale):
    """Not even where NumPy's norms overflow, or powers of the inverse underflow."""
    x = np.array([[2.0, 1.0], [0.5, 3.0]])
    along = np.array([[0.3, -1.0], [0.7, 0.2]])

    def curve(x, dot):
        return tapegrad.jvp(lambda x: tapegrad.jvp(cond, (x,), (dot,))[1], (x,), (dot,))

    def cond(x):
        return np.linalg.cond(x, p)

    for made in (x, x * (1 + 0.3j)):
        with np.errstate(over="ignore"):
            np.testing.assert_array_equal(tapegrad.vjp(cond, made * scale)[0], cond(made * scale))
            found, expected = curve(made * scale, along * scale), curve(made, along)
            np.testing.assert_allclose(found, expected, rtol=1e-12)
            # cond of complex matrices is complex before NumPy 2.3.
            slope = tapegrad.grad(lambda x: np.real(cond(x)))
            pair = tapegrad.vmap(slope)(np.stack([made, made * scale]))
        np.testing.assert_allclose(pair[1] * scale, pair[0], rtol=1e-12)
