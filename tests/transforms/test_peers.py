"""Random programs, differentiated here, by JAX and by HIPS autograd: the same numbers."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import tapegrad

pytestmark = pytest.mark.peers

SIZE = 4
UNARY = {
    "sin": lambda np, x: np.sin(x),
    "tanh": lambda np, x: np.tanh(x),
    "exp": lambda np, x: np.exp(0.3 * np.tanh(x)),
    "log1p": lambda np, x: np.log1p(x * x),
    "sqrt": lambda np, x: np.sqrt(1 + x * x),
    "arctan": lambda np, x: np.arctan(x),
    "square": lambda np, x: x**2 / 4,
    "negative": lambda np, x: -x,
    "reciprocal": lambda np, x: 1 / (2 + np.cos(x)),
    "power": lambda np, x: (1.5 + np.sin(x)) ** 1.7,
    "abs": lambda np, x: np.abs(x),
    "softmax": lambda np, x: np.exp(x - np.max(x)) / np.sum(np.exp(x - np.max(x))),
    "cumsum": lambda np, x: np.cumsum(x) / SIZE,
    "reverse": lambda np, x: x[::-1],
    "roll": lambda np, x: np.roll(x, 1),
    "sort": lambda np, x: np.sort(x),
    "where": lambda np, x: np.where(x > 0.1, x, 0.5 * x),
    "outer": lambda np, x: np.sum(np.outer(x, np.sin(x)), axis=0) / SIZE,
    "reshape": lambda np, x: np.reshape(np.reshape(x, (2, 2)).T, (-1,)),
    "mean": lambda np, x: x - np.mean(x),
    "std": lambda np, x: x / (1 + np.std(x)),
    "matmul": lambda np, x: np.dot(MATRIX, x),
    "concatenate": lambda np, x: np.concatenate([x[2:], x[:2] * x[2:]]),
    "fancy": lambda np, x: x[INDEX] * x,
    "prod": lambda np, x: x * np.prod(np.tanh(x)),
    "max": lambda np, x: x + np.max(x) * np.min(x),
    "norm": lambda np, x: x / (1 + np.linalg.norm(x)),
    "einsum": lambda np, x: np.einsum("i,ij,j->i", x, MATRIX, x),
    "solve": lambda np, x: np.linalg.solve(MATRIX + np.outer(x, x), x),
    "det": lambda np, x: x * np.linalg.det(np.eye(SIZE) + np.outer(x, np.cos(x))),
}
BINARY = {
    "add": lambda np, x, y: x + y,
    "subtract": lambda np, x, y: x - y,
    "multiply": lambda np, x, y: x * y,
    "divide": lambda np, x, y: x / (1 + y * y),
    "maximum": lambda np, x, y: np.maximum(x, y),
    "logaddexp": lambda np, x, y: np.logaddexp(x, y),
    "arctan2": lambda np, x, y: np.arctan2(x, 2 + np.tanh(y)),
}
rng = np.random.default_rng(7)
MATRIX = rng.normal(size=(SIZE, SIZE)) / 2 + 2 * np.eye(SIZE)
INDEX = np.array([0, 2, 2, 1])


def random_steps(seed, length):
    rng = np.random.default_rng(seed)
    for i in range(length):
        if rng.random() < 0.7:
            yield UNARY[sorted(UNARY)[rng.integers(len(UNARY))]], (int(rng.integers(i + 1)),)
        else:
            places = tuple(int(rng.integers(i + 1)) for _ in range(2))
            yield BINARY[sorted(BINARY)[rng.integers(len(BINARY))]], places


def program(seed, namespace, length=6):
    """A scalar function over a namespace of NumPy's functions, and its input."""
    steps = list(random_steps(seed, length))

    def f(x):
        values = [x]
        for function, places in steps:
            values.append(function(namespace, *(values[-1 - i] for i in places)))
        return namespace.sum(namespace.tanh(values[-1]) * namespace.cos(namespace.arange(SIZE)))

    x = np.random.default_rng(seed).normal(size=SIZE)
    return f, x


@pytest.fixture(scope="module")
def jax():
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    return jax


@pytest.mark.parametrize("seed", range(8))
def test_first_and_second_derivatives_as_in_jax(jax, seed):
    ours, x = program(seed, np)
    theirs, _ = program(seed, jax.numpy)
    value, gradient = jax.jit(jax.value_and_grad(theirs))(x)
    matrix = jax.jit(jax.jacrev(jax.grad(theirs)))(x)
    np.testing.assert_allclose(ours(x), value, rtol=1e-9)
    np.testing.assert_allclose(tapegrad.grad(ours)(x), gradient, rtol=1e-7, atol=1e-10)
    np.testing.assert_allclose(tapegrad.jacfwd(ours)(x), gradient, rtol=1e-7, atol=1e-10)
    for how in (tapegrad.hessian(ours), tapegrad.jacrev(tapegrad.jacrev(ours))):
        np.testing.assert_allclose(how(x), matrix, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("seed", range(40))
def test_gradients_as_in_autograd(seed):
    autograd = pytest.importorskip("autograd")
    namespace = pytest.importorskip("autograd.numpy")
    ours, x = program(seed, np, length=8)
    theirs, _ = program(seed, namespace, length=8)
    np.testing.assert_allclose(
        tapegrad.grad(ours)(x), autograd.grad(theirs)(x), rtol=1e-7, atol=1e-10
    )


@pytest.mark.part(3)
@pytest.mark.parametrize("seed", range(40))
def test_all_ways_agree_without_a_peer(seed):
    f, x = program(seed, np, length=8)
    v = np.cos(np.arange(SIZE))
    gradient = tapegrad.grad(f)(x)
    np.testing.assert_allclose(tapegrad.jvp(f, (x,), (v,))[1], gradient @ v, rtol=1e-9, atol=1e-12)
    product = tapegrad.hvp(f, (x,), (v,))
    np.testing.assert_allclose(tapegrad.vhp(f, (x,), (v,)), product, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(
        tapegrad.grad(lambda x: tapegrad.jvp(f, (x,), (v,))[1])(x), product, rtol=1e-8, atol=1e-10
    )


COMPLEX = {
    "abs": lambda np, z: np.abs(z) ** 2,
    "real": lambda np, z: np.real(z * z),
    "exp": lambda np, z: np.imag(np.exp(z) * z),
    "angle": lambda np, z: np.angle(z) * np.abs(z),
    "conj": lambda np, z: np.real(np.conj(z) * np.sin(z)),
    "sqrt": lambda np, z: np.abs(np.sqrt(z) + 1j * z),
    "power": lambda np, z: np.real(z**3 / (2 + z)),
    "dot": lambda np, z: np.abs(np.dot(MATRIX[: len(z), : len(z)] * 1j, z)),
}


@pytest.mark.parametrize("name", COMPLEX)
def test_complex_gradients_as_in_jax(jax, name):
    z = np.array([1 + 2j, 0.5 - 0.3j])
    ours = tapegrad.grad(lambda z: np.sum(COMPLEX[name](np, z)))(z)
    theirs = jax.grad(lambda z: jax.numpy.sum(COMPLEX[name](jax.numpy, z)))(z)
    np.testing.assert_allclose(ours, theirs, rtol=1e-10)


@pytest.mark.parametrize(("outer", "inner"), list(itertools.product(["grad", "jvp"], repeat=2)))
def test_nested_derivatives_with_closures_as_in_jax(jax, outer, inner):
    def nest(np, grad, jvp):
        ways = {"grad": grad, "jvp": lambda f: lambda x: jvp(f, (x,), (1.0,))[1]}

        def f(x):
            return ways[inner](lambda y: np.sin(x * y) * y + x**2 / y)(x + 1.0) * x

        return ways[outer](f)(0.7)

    ours = nest(np, tapegrad.grad, tapegrad.jvp)
    theirs = nest(jax.numpy, jax.grad, jax.jvp)
    np.testing.assert_allclose(ours, theirs, rtol=1e-12)
