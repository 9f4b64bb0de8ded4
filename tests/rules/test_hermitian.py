"""Functions of matrices that are Hermitian by promise: what their derivative means, and checks.

NumPy reads one triangle. The derivative is that of the function of Hermitian matrices.
"""

from __future__ import annotations

import numpy as np
import pytest
from draws import draws
from hypothesis import given
from hypothesis import strategies as st
from matrices import adjoint, complex_, hermitian, positive, real

import tapegrad
import tapegrad.torch as torch
from tapegrad import checkpoint, general, grad, jvp, primitive, vjp, vmap
from tapegrad.testing import arrays, check_grads, check_rule
from tapegrad.testing._promises import Promises

la = np.linalg

# A function that reads one triangle, and how its matrix is made.
FUNCTIONS = {
    "eigh": (lambda a: la.eigh(a)[0], hermitian),
    "eigvalsh": (la.eigvalsh, hermitian),
    "eigvalsh upper": (lambda a: la.eigvalsh(a, "U"), hermitian),
    "projections": (lambda a: spectral_sum(*la.eigh(a)), hermitian),
    "projections upper": (lambda a: spectral_sum(*la.eigh(a, UPLO="U")), hermitian),
    "cholesky": (la.cholesky, positive),
    "cholesky upper": (lambda a: la.cholesky(a, upper=True), positive),
    "svd": (lambda a: la.svd(a, hermitian=True, compute_uv=False), hermitian),
    "pinv": (lambda a: la.pinv(a, hermitian=True), hermitian),
    "pinv by rtol": (lambda a: la.pinv(a, hermitian=True, rtol=1e-6), hermitian),
}


def spectral_sum(w, v):
    return np.matmul(v * np.exp(w / 3)[..., None, :], adjoint(v))


# What a program does with an input before such a function gets it: the input that makes a matrix,
# and the way from there to the matrix.
EYE = np.eye(3)
PATHS = {
    "as it is": (lambda a: a, lambda x: x),
    "jitter": (lambda a: a - 1e-3 * EYE, lambda x: x + 1e-3 * EYE),
    "scaled": (lambda a: a / 2, lambda x: 2 * x),
    "transposed": (lambda a: np.swapaxes(a, -1, -2), lambda x: x.T),
    "a part": (lambda a: np.stack([EYE, a]), lambda x: x[1]),
    "raveled": (np.ravel, lambda x: x.reshape(3, 3)),
    "rows": (
        lambda a: np.concatenate([a[0], a[1], a[2]]),
        lambda x: np.stack([x[:3], x[3:6], x[6:]]),
    ),
    "written": (lambda a: a, lambda x: written(x)),
}


def written(x):
    buffer = np.zeros_like(x)
    buffer[:, :2] = x[:, :2]
    buffer[:, 2:] = x[:, 2:]
    return buffer


def apart(x):
    """With eigenvalues that are apart from each other."""
    return x + np.diag([0.0, 8.0, -8.0]) if x.ndim == 2 else x


def matrix(name, make):
    _, form = FUNCTIONS[name]
    made = form(make(3, 3))
    return made if form is positive else apart(made)


# --- check_grads, check_rule --------------------------------------------------------------------


@pytest.mark.part(6)
@pytest.mark.parametrize("make", [real, complex_])
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_check_grads_moves_along_hermitian_directions(name, path, make):
    function, (before, after) = FUNCTIONS[name][0], PATHS[path]
    check_grads(lambda x: function(after(x)), (before(matrix(name, make)),), order=1)


@pytest.mark.part(3)
@pytest.mark.parametrize("modes", [("fwd",), ("rev",), ("fwd", "rev")])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_each_mode_alone_and_to_second_order(name, modes):
    function = FUNCTIONS[name][0]
    check_grads(function, (matrix(name, real),), order=2, modes=modes)
    check_grads(checkpoint(lambda a: function(a)), (matrix(name, complex_),), modes=modes)


def test_inside_vmap_and_trees():
    stack = np.stack([apart(hermitian(real(3, 3))) for _ in range(2)])
    check_grads(la.eigvalsh, (stack,))
    check_grads(vmap(la.eigvalsh), (stack,))
    check_grads(
        lambda tree, b: la.cholesky(tree["a"] + b @ b.T), ({"a": positive(real(3, 3))}, real(3, 3))
    )
    check_grads(lambda a: la.eigvalsh(a)[0], (apart(hermitian(real(3, 3))).astype(np.float32),))


@pytest.mark.parametrize("make", [real, complex_])
@pytest.mark.parametrize("function", [la.eigh, la.eigvalsh, la.cholesky])
def test_check_rule(function, make):
    a = positive(make(3, 3)) if function is la.cholesky else apart(hermitian(make(3, 3)))
    if function is la.eigh and make is complex_:
        return  # its phases are the solver's choice
    check_rule(function, a)
    check_rule(lambda x: function(x + EYE), a)


@draws(8, 100)
@given(
    arrays(shape=(3, 3)),
    st.sampled_from(["L", "U"]),
)
def test_a_matrix_that_is_not_symmetric_at_all(a, uplo):
    """The value is that of the matrix that the triangle makes, and so is the derivative."""
    a = apart(a)
    lower = np.tril(a) if uplo == "L" else np.triu(a)
    whole = lower + lower.T - np.diag(np.diag(a))
    w, pullback = vjp(lambda x: la.eigvalsh(x, uplo), a)
    np.testing.assert_allclose(w, la.eigvalsh(whole), rtol=1e-12)
    bar = pullback(np.array([1.0, 2.0, 4.0]))[0]
    np.testing.assert_allclose(bar, bar.T)
    np.testing.assert_allclose(
        bar, vjp(la.eigvalsh, whole)[1](np.array([1.0, 2.0, 4.0]))[0], atol=1e-12
    )
    along = jvp(lambda x: la.eigvalsh(x, uplo), (a,), (a,))[1]
    np.testing.assert_allclose(along, jvp(la.eigvalsh, (whole,), ((a + a.T) / 2,))[1], atol=1e-10)
    check_rule(la.eigvalsh, a, UPLO=uplo)


@pytest.mark.parametrize("make", [real, complex_])
@pytest.mark.parametrize("upper", [False, True])
def test_the_factor_of_a_matrix_that_is_not_symmetric_at_all(upper, make):
    a = positive(make(3, 3))
    other = a + (np.tril if upper else np.triu)(make(3, 3), -1 if upper else 1)
    weights = make(3, 3)
    results = [vjp(lambda x: la.cholesky(x, upper=upper), x) for x in (a, other)]
    np.testing.assert_array_equal(results[0][0], results[1][0])
    bars = [pullback(weights.astype(a.dtype))[0] for _, pullback in results]
    np.testing.assert_array_equal(*bars)
    np.testing.assert_allclose(bars[0], adjoint(bars[0]))
    check_rule(la.cholesky, other, upper=upper)


# --- Directions ---------------------------------------------------------------------------------


def test_a_direction_that_needs_nothing_stays_bit_for_bit():
    b, dot = real(3, 3), real(3, 3)
    for function in (lambda b: la.eigvalsh(b @ b.T), lambda b: la.inv(b), np.sin):
        assert Promises(function, (b,)).along([dot])[0] is dot


@pytest.mark.parametrize("make", [real, complex_])
@pytest.mark.parametrize("path", PATHS)
def test_a_direction_is_the_nearest_that_stays_hermitian(path, make):
    before, after = PATHS[path]
    x = before(apart(hermitian(make(3, 3))))
    dot = before(make(3, 3)).astype(x.dtype)
    kept = Promises(lambda x: la.eigvalsh(after(x)), (x,)).along([dot])[0]
    assert kept.dtype == dot.dtype
    moved = jvp(after, (x,), (kept,))[1]
    np.testing.assert_allclose(moved, adjoint(moved), atol=1e-12)
    np.testing.assert_allclose(
        moved, hermitian(jvp(after, (x,), (dot,))[1]), atol=1e-12, err_msg="not the nearest"
    )


def test_leaves_move_on_their_own():
    a, b = apart(hermitian(real(3, 3))), real(3, 3)
    dots = [real(3, 3), real(3, 3)]
    first, second = Promises(lambda a, b: la.eigvalsh(a + b.T @ b), (a, b)).along(dots)
    np.testing.assert_allclose(first, hermitian(dots[0]))
    assert second is dots[1]


# --- What is wrong is found all the same --------------------------------------------------------


def eigenvalues_with(factor, **options):
    values = primitive(lambda a: la.eigvalsh(a))

    def pull(g, _out, a):
        v = la.eigh(a)[1]
        return (factor * (v * g) @ v.T,)

    general(values, vjp=pull, **options)
    return values


@pytest.mark.parametrize("modes", [("fwd",), ("rev",), ("fwd", "rev")])
def test_a_rule_of_the_programs_own_declares_the_promise(modes):
    a = apart(hermitian(real(3, 3)))
    check_grads(eigenvalues_with(1.0, hermitian=True), (a,), modes=modes)
    with pytest.raises(AssertionError, match="order 1"):
        check_grads(eigenvalues_with(1.01, hermitian=True), (a,), modes=modes)
    with pytest.raises(AssertionError, match="order 1"):
        check_grads(eigenvalues_with(1.0), (a,), modes=modes)
    check_rule(eigenvalues_with(1.0, hermitian=True), a)


def test_a_nan_is_found_as_ever():
    nan = tapegrad.custom_jvp(lambda a: a)
    nan.defjvp(lambda primals, tangents: (primals[0], tangents[0] * np.nan))
    with np.errstate(invalid="ignore"), pytest.raises(AssertionError):
        check_grads(lambda a: la.cholesky(nan(a)), (positive(real(3, 3)),), order=1)


def test_reverse_mode_alone_asks_nothing_of_forward_mode():
    refusing = tapegrad.custom_vjp(lambda a: 2 * a)
    refusing.defvjp(lambda a: (2 * a, None), lambda _, g: (np.asarray(2 * g),))
    check_grads(refusing, (real(3),), order=1, modes=("rev",))


def test_eigenvalues_of_scipy():
    linalg = pytest.importorskip("scipy.linalg", reason="SciPy's eigh as a primitive")
    values = primitive(linalg.eigvalsh)
    general(
        values,
        vjp=[lambda g, _out, a: np.einsum("ij,j,kj->ik", (v := la.eigh(a)[1]), g, v)],
        hermitian=True,
    )
    check_grads(values, (apart(hermitian(real(3, 3))),))


# --- The object layer does as PyTorch -----------------------------------------------------------


@pytest.mark.parametrize("name", ["eigvalsh", "cholesky"])
def test_gradcheck_moves_single_elements(name):
    """PyTorch's advice is to symmetrise in the function; its gradients are symmetric too."""
    function = getattr(torch.linalg, name)
    a = torch.tensor(positive(real(3, 3)), requires_grad=True)
    assert torch.autograd.gradcheck(lambda a: function((a + a.mH) / 2), (a,))
    assert not torch.autograd.gradcheck(function, (a,), raise_exception=False)
    function(a).sum().backward()
    np.testing.assert_allclose(a.grad.numpy(), a.grad.numpy().T)
    np.testing.assert_allclose(
        a.grad.numpy(), grad(lambda a: getattr(la, name)(a).sum())(a.detach().numpy())
    )
