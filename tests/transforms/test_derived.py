"""Gauss-Newton products and transposes of linear functions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tapegrad
from tapegrad import (
    InputError,
    ShapeMismatchError,
    ggnvp,
    grad,
    hessian,
    hvp,
    jacobian,
    jvp,
    linear_transpose,
    vjp,
    vmap,
)

GENERATOR = np.random.default_rng(3)
A = GENERATOR.normal(size=(4, 3))
X, V = GENERATOR.normal(size=(2, 3))


def model(x):
    return np.tanh(A @ x) * np.sum(x)


def cross_entropy(out):
    return np.log(np.sum(np.exp(out))) - out[1]


# --- ggnvp --------------------------------------------------------------------------------------


def test_it_is_the_product_of_three_matrices():
    j = jacobian(model)(X)
    np.testing.assert_allclose(ggnvp(model, (X,), (V,)), j.T @ j @ V)
    h = hessian(cross_entropy)(model(X))
    np.testing.assert_allclose(ggnvp(model, (X,), (V,), cross_entropy), j.T @ h @ j @ V)
    np.testing.assert_allclose(ggnvp(model, (X,), (V,), loss=cross_entropy), j.T @ h @ j @ V)


def test_for_a_linear_model_it_is_the_hessian():
    def linear(x):
        return A @ x

    np.testing.assert_allclose(
        ggnvp(linear, (X,), (V,), cross_entropy),
        hvp(lambda x: cross_entropy(linear(x)), (X,), (V,)),
    )


def test_its_matrix_is_symmetric_and_positive_semidefinite():
    matrix = vmap(lambda v: ggnvp(model, (X,), (v,), cross_entropy))(np.eye(3))
    np.testing.assert_allclose(matrix, matrix.T, atol=1e-14)
    assert np.min(np.linalg.eigvalsh(matrix)) > -1e-12


def test_trees_and_several_primals():
    def net(parameters, x):
        return {"out": np.tanh(parameters["w"] @ x + parameters["b"]), "again": x}

    def error(out):
        return np.sum(out["out"] ** 4) + np.sum(np.exp(out["again"]))

    parameters = {"w": A, "b": A[:, 0]}
    directions = {"w": np.cos(A), "b": np.sin(A[:, 0])}
    for loss in (None, error):
        bar, x_bar = ggnvp(net, (parameters, X), (directions, V), loss)
        assert bar["w"].shape == (4, 3)
        assert x_bar.shape == (3,)
        # As with all in one vector.
        flat = np.concatenate([A.ravel(), A[:, 0], X])

        def of_flat(v):
            out = net({"w": v[:12].reshape(4, 3), "b": v[12:16]}, v[16:])
            return np.concatenate([out["out"], out["again"]])

        def loss_of_flat(v):
            return np.sum(v[:4] ** 4) + np.sum(np.exp(v[4:]))

        v = np.concatenate([np.cos(A).ravel(), np.sin(A[:, 0]), V])
        product = ggnvp(of_flat, (flat,), (v,), None if loss is None else loss_of_flat)
        found = np.concatenate([bar["w"].ravel(), bar["b"], x_bar])
        np.testing.assert_allclose(found, product, rtol=1e-12)


def test_of_complex_outputs_the_squared_size():
    turn = np.exp(1j * np.arange(4.0))

    def complex_model(x):
        return turn * np.tanh(A @ x)

    j = jacobian(complex_model)(X)
    np.testing.assert_allclose(ggnvp(complex_model, (X,), (V,)), np.real(j.conj().T @ j @ V))

    def half_square(out):
        return np.sum(np.abs(out) ** 2) / 2

    np.testing.assert_allclose(
        ggnvp(complex_model, (X,), (V,)), ggnvp(complex_model, (X,), (V,), half_square)
    )


def test_it_is_differentiable_and_maps():
    def along(x):
        return ggnvp(model, (x,), (V,)) @ V

    h = 1e-6
    slope = (along(X + h * V) - along(X - h * V)) / (2 * h)
    np.testing.assert_allclose(grad(along)(X) @ V, slope, rtol=1e-7)
    np.testing.assert_allclose(jvp(along, (X,), (V,))[1], slope, rtol=1e-7)
    points = np.stack([X, 2 * X])
    np.testing.assert_allclose(vmap(along)(points), [along(X), along(2 * X)])


def test_bad_calls():
    with pytest.raises(ShapeMismatchError):
        ggnvp(model, (X,), (V[:2],))
    with pytest.raises(InputError):
        ggnvp(model, (X,), (V, V))
    with pytest.raises(InputError, match="floating"):
        ggnvp(model, (np.arange(3),), (V,))
    with pytest.raises(tapegrad.OutputError):
        ggnvp(model, (X,), (V,), lambda out: out)


# --- linear_transpose ---------------------------------------------------------------------------

ROWS = np.array([2, 0, 2, 1])
LINEAR = {
    "matrix": lambda x: A @ x,
    "sum": np.sum,
    "reverse": lambda x: 2.0 * x[::-1],
    "gather": lambda x: x[ROWS],
    "cumsum": np.cumsum,
    "fft": np.fft.fft,
    "solve": lambda x: np.linalg.solve(A[:3] + 4 * np.eye(3), x),
    "nothing": lambda x: np.zeros(3) * x,
    "constant": lambda x: np.zeros(4),
    "tree": lambda x: {"a": x[0], "b": [x, -x]},
    "branch": lambda x: x if x.shape == (3,) else x * x,
}


@pytest.mark.parametrize("f", LINEAR.values(), ids=LINEAR)
def test_the_transpose_is_the_adjoint(f):
    transposed = linear_transpose(f, np.zeros(3))
    out, pullback = vjp(f, X)
    bars = tapegrad._tree.tree_map(lambda leaf: np.cos(leaf) + 0 * leaf, out)
    (bar,) = transposed(bars)
    np.testing.assert_allclose(bar, pullback(bars)[0], rtol=1e-12)
    if isinstance(out, np.ndarray) and out.dtype.kind == "f":
        np.testing.assert_allclose(np.sum(out * bars), X @ bar, rtol=1e-12)


def test_the_transpose_of_a_transpose():
    def transposed(g):
        return linear_transpose(LINEAR["matrix"], np.zeros(3))(g)[0]

    np.testing.assert_allclose(linear_transpose(transposed, np.zeros(4))(X)[0], A @ X)


def test_several_primals_trees_and_kinds():
    def f(p, y):
        return 2 * p["a"] + p["b"] * 3.0 - y

    transposed = linear_transpose(f, {"a": np.zeros(3), "b": 1.0}, np.float32(0))
    by_p, by_y = transposed(X)
    np.testing.assert_array_equal(by_p["a"], 2 * X)
    np.testing.assert_allclose(by_p["b"], 3 * np.sum(X))
    assert type(by_y) is np.float32


class Like:
    """A shape and a dtype, and nothing else."""

    shape, dtype = (3,), np.dtype(np.float64)


def test_the_primals_need_a_shape_and_a_dtype_alone():
    np.testing.assert_array_equal(
        linear_transpose(LINEAR["matrix"], Like())(A[:, 0])[0], A[:, 0] @ A
    )
    (bar,) = linear_transpose(lambda x: 2 * x, np.full(3, np.nan))(X)
    np.testing.assert_array_equal(bar, 2 * X)


def test_linear_over_the_real_numbers():
    z = X + 1j * V
    np.testing.assert_array_equal(linear_transpose(np.conj, z)(z)[0], np.conj(z))
    np.testing.assert_array_equal(linear_transpose(np.real, z)(X)[0], X)
    np.testing.assert_array_equal(linear_transpose(lambda x: 1j * x, z)(z)[0], 1j * z)


NOT_LINEAR = {
    "square": np.square,
    "affine": lambda x: x + 1,
    "abs": np.abs,
    "relu": lambda x: np.maximum(x, 0),
    "norm": np.linalg.norm,
    "max": np.max,
    "sort": np.sort,
    "round": np.round,
    "ratio": lambda x: x * x[0] / x[1],
    "branch": lambda x: x if x[0] > 0 else 2 * x,
    "one in a tree": lambda x: (x, {"a": np.sin(x)}),
    "small": lambda x: x + 1e-3 * x**2,
    "constant": lambda x: np.ones(3),
}


@pytest.mark.parametrize("f", NOT_LINEAR.values(), ids=NOT_LINEAR)
def test_what_is_not_linear_is_refused(f):
    with pytest.raises(InputError, match="a linear function"):
        linear_transpose(f, np.zeros(3))
    if f not in (np.linalg.norm, np.max, np.sort, NOT_LINEAR["ratio"]):
        with pytest.raises((InputError, IndexError)):
            linear_transpose(f, np.zeros(1))


HUGE = np.array([1e20, 1.0, 1.0])


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.stack([1e20 * x[0], x[1] ** 2]),
        lambda x: np.stack([1e15 * x[0], np.sin(x[1])]),
        lambda x: np.stack([1e15 * x[0], np.abs(x[1])]),
        lambda x: np.stack([1e15 * x[0], x[1] * 0 + 1]),
        lambda x: HUGE * (x + 1e-9 * x**2),
    ],
)
def test_one_small_element_that_is_not_linear_is_noticed(f):
    with pytest.raises(InputError, match="a linear function"):
        linear_transpose(f, np.zeros(3))


@pytest.mark.parametrize(
    ("f", "size"),
    [
        (lambda x: np.array([1e300, 1e-5, 1e-300]) * x, 3),
        (lambda x: (x + 1) - 1, 3),
        (lambda x: (x * 3 + x) - 4 * x, 3),
        (lambda x: np.fft.ifft(np.fft.fft(x)).imag, 37),
        (lambda x: np.cumsum(x) - x, 1000),
        (lambda x: np.linalg.solve(np.vander(np.linspace(1, 2, 8)), x), 8),
        (lambda x: (x, x > 0), 3),
    ],
)
def test_rounding_is_no_reason_to_call_a_function_not_linear(f, size):
    linear_transpose(f, np.zeros(size))


def test_whole_numbers_are_refused():
    with pytest.raises(InputError, match="floating or complex"):
        linear_transpose(np.sum, np.arange(3))
    with pytest.raises(InputError, match="floating or complex"):
        linear_transpose(np.sum, 3)


def test_it_may_close_over_what_other_transforms_trace_or_map():
    def energy(w):
        return np.sum(linear_transpose(lambda x: w * x, X)(w)[0])

    np.testing.assert_allclose(grad(energy)(X), 2 * X)
    np.testing.assert_allclose(jvp(energy, (X,), (V,))[1], 2 * X @ V)
    np.testing.assert_allclose(vmap(energy)(np.stack([X, V])), [X @ X, V @ V])
    transposed = linear_transpose(LINEAR["matrix"], X)
    np.testing.assert_allclose(vmap(lambda g: transposed(g)[0])(np.eye(4)), A)
    np.testing.assert_allclose(
        hessian(lambda g: np.sum(transposed(g)[0] ** 2))(np.ones(4)), 2 * A @ A.T
    )


@given(st.integers(1, 5), st.integers(1, 5), st.integers(0, 1000))
def test_a_matrix_and_its_transpose(rows, columns, seed):
    matrix = np.random.default_rng(seed).normal(size=(rows, columns))
    found = vmap(lambda g: linear_transpose(lambda x: matrix @ x, np.zeros(columns))(g)[0])(
        np.eye(rows)
    )
    np.testing.assert_allclose(found, matrix, rtol=1e-12)


# --- JAX ----------------------------------------------------------------------------------------


@pytest.mark.peers
def test_as_jax_does():
    jax = pytest.importorskip("jax")
    jnp = pytest.importorskip("jax.numpy")
    with jax.enable_x64(True):
        for name in ("matrix", "sum", "reverse", "gather", "cumsum"):
            theirs = {
                "matrix": lambda x: A @ x,
                "sum": jnp.sum,
                "reverse": lambda x: 2.0 * x[::-1],
                "gather": lambda x: x[ROWS],
                "cumsum": jnp.cumsum,
            }[name]
            bar = np.cos(np.asarray(LINEAR[name](X)))
            expected = jax.linear_transpose(theirs, X)(jnp.asarray(bar))
            found = linear_transpose(LINEAR[name], X)(bar)
            assert isinstance(found, tuple)
            np.testing.assert_allclose(found[0], expected[0], rtol=1e-12)

        def their_model(x):
            return jnp.tanh(A @ x) * jnp.sum(x)

        out, out_dot = jax.jvp(their_model, (X,), (V,))

        def their_loss(out):
            return jnp.log(jnp.sum(jnp.exp(out))) - out[1]

        turned = jax.jvp(jax.grad(their_loss), (out,), (out_dot,))[1]
        expected = jax.vjp(their_model, X)[1](turned)[0]
        np.testing.assert_allclose(ggnvp(model, (X,), (V,), cross_entropy), expected, rtol=1e-11)
