"""Sparse Jacobians and Hessians: equal to dense ones, patterns exact, colours valid."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from draws import draws

pytest.importorskip("scipy")

import scipy.sparse
from hypothesis import assume, given
from hypothesis import strategies as st
from samples import SAMPLES

import tapegrad
from tapegrad import sparse
from tapegrad._core.rule import REGISTRY
from tapegrad.sparse import _sets
from tapegrad.sparse._colouring import WIDE
from tapegrad.sparse._measured import Measured
from tapegrad.testing._rules import Call

RANDOM = np.random.default_rng(3)
X = np.array([0.35, 1.45, 0.8, 1.7, 1.15, 0.55])


def rosenbrock(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def dense(f, *args, argnums=0):
    found = tapegrad.jacobian(f, argnums)(*args)
    rows = np.size(f(*args))
    return np.reshape(found, (rows, -1))


def structure(matrix):
    return matrix.toarray() != 0


def assert_jacobian(f, x, *, exact=True):
    """Every mode gives the dense Jacobian; the pattern has all that is not zero, or just that."""
    expected = dense(f, x)
    for mode in ("auto", "forward", "reverse"):
        found = sparse.jacobian(f, mode=mode)(x)
        assert isinstance(found, scipy.sparse.csr_array)
        assert found.has_canonical_format
        np.testing.assert_allclose(found.toarray(), expected, rtol=1e-12, atol=1e-12)
    where = sparse.pattern(f)(x).toarray()
    assert where[expected != 0].all()
    if exact:
        np.testing.assert_array_equal(where, expected != 0)


# --- functions one by one: exact patterns

W = np.array([[1.0, 0, 2, 0, 0, 0], [0, 0, 0, 0, 3, 0], [0, 4, 0, 5, 0, 6]])
MASK = np.array([1.0, 0, 1, 0, 0, 1])

EXACT = {
    "elementwise": lambda x: np.sin(x) * x + 2.0,
    "constant factors": lambda x: x * MASK + np.exp(x) / 3,
    "constant power": lambda x: x ** np.array([0, 1, 2, 3, 0, 1]),
    "broadcasting": lambda x: x[:3, None] * x[None, 3:] + x[0],
    "reads": lambda x: x[::2] * x[[5, 4, 3]],
    "mask": lambda x: x[x > 1.0] ** 2,
    "where": lambda x: np.where(x > 1, x**2, x[::-1]),
    "sum": lambda x: np.sum(x.reshape(2, 3) ** 2, axis=0),
    "sum where": lambda x: np.sum(x.reshape(2, 3), axis=1, where=[True, False, True]),
    "keepdims": lambda x: x.reshape(2, 3) * np.mean(x.reshape(2, 3), axis=1, keepdims=True),
    "prod": lambda x: np.prod(x.reshape(3, 2), axis=-1),
    "var": lambda x: np.var(x.reshape(2, 3), axis=1) * x[:2],
    "norm": lambda x: np.linalg.norm(x.reshape(2, 3), axis=0),
    "matmul": lambda x: W @ x,
    "vector matmul": lambda x: x @ W.T,
    "matrix matmul": lambda x: W[:, :3] @ x.reshape(3, 2),
    "stacked matmul": lambda x: np.stack([W[:, :3], W[:, 3:]]) @ x.reshape(2, 3, 1),
    "matmul of traced": lambda x: x[:4].reshape(2, 2) @ x[2:].reshape(2, 2),
    "dot": lambda x: np.dot(W[:, ::2], x[:3]),
    "dot with a number": lambda x: np.dot(x, x[2]),
    "dot of three axes": lambda x: np.dot(W.reshape(3, 2, 3), x.reshape(3, 2)),
    "inner": lambda x: np.inner(x.reshape(2, 3), W[:, 1:4]),
    "vdot": lambda x: np.vdot(MASK, x),
    "tensordot": lambda x: np.tensordot(W.reshape(3, 2, 3), x.reshape(3, 2), ([1, 2], [1, 0])),
    "einsum": lambda x: np.einsum("ij,jk,k->i", W[:, :3], x.reshape(3, 2), [1.0, 0.0]),
    "einsum diagonal": lambda x: np.einsum("ii->i", x[:4].reshape(2, 2)),
    "einsum of traced": lambda x: np.einsum("i,ij,j->ij", x[:2], np.eye(2), x[2:4]),
    "outer": lambda x: np.outer(x[:2], x[3:]),
    "convolve": lambda x: np.convolve(x, [1.0, 0.0, 2.0]),
    "convolve same": lambda x: np.convolve(x, [1.0, 0.0, 2.0, 3.0], mode="same"),
    "convolve valid": lambda x: np.convolve([1.0, 0.0], x, mode="valid"),
    "diff": lambda x: np.diff(x, n=2),
    "diff along an axis": lambda x: np.diff(x.reshape(3, 2), axis=0, prepend=0.0),
    "trace": lambda x: np.trace(x.reshape(2, 3)) * x[0],
    "pad": lambda x: np.pad(x, (1, 2)) * 3,
    "pad by reflection": lambda x: np.pad(x, 2, mode="reflect"),
    "concatenate": lambda x: np.concatenate([x[:2], np.ones(3), x**2]),
    "stack": lambda x: np.stack([x, 2 * x[::-1]], axis=1),
    "roll, flip, repeat": lambda x: np.repeat(np.flip(np.roll(x, 2)), 2),
    "transpose": lambda x: np.transpose(x.reshape(1, 2, 3), (2, 0, 1)),
    "tile": lambda x: np.tile(x, 2),
    "windows": lambda x: np.lib.stride_tricks.sliding_window_view(x, 3) ** 2,
    "sort": np.sort,
    "cumsum": np.cumsum,
    "tril": lambda x: np.tril(x[:4].reshape(2, 2)),
    "astype": lambda x: x.astype(np.float32).astype(np.float64),
    "interp": lambda x: np.interp(x, [0.0, 1.0, 2.0], [1.0, 3.0, 0.0]),
    "solve": lambda x: np.linalg.solve(
        np.eye(2) * 3 + x[:4].reshape(2, 1, 2) ** 2, np.ones((2, 2, 1))
    ),
    "inv": lambda x: np.linalg.inv(np.eye(2) * 5 + x[:4].reshape(2, 2, 1) ** 2),
    "scalar": lambda x: x[0] * x[3],
    "a constant": lambda x: np.ones(3) + 0 * x[:3],
    "clip": lambda x: np.clip(x, 0.0, 2.0),
    "modf": lambda x: np.modf(x)[0],
    "linspace": lambda x: np.linspace(x[0], x[1], 4)[1:-1],
    "fft": lambda x: np.fft.fft(x[:4].reshape(2, 2)).real[:, :1],
}


@pytest.mark.parametrize("name", EXACT)
def test_the_pattern_is_exact(name):
    assert_jacobian(EXACT[name], X)


def fills(x):
    buffer = np.zeros_like(x, shape=(4, 3))
    buffer[0] = x[:3]
    buffer[1:, 0] = x[3:] ** 2
    buffer[[2, 3], [1, 1]] += x[:2]
    buffer[0, 1] = 7.0
    return buffer


def steps(x):
    state = [x[0]]
    for i in range(1, 6):
        state.append(np.sin(state[-1]) * x[i] if i % 2 else x[i] * 2)
    return np.stack(state)


def several_results(x):
    sign, logarithm = np.linalg.slogdet(x[:4].reshape(2, 2) + 3 * np.eye(2))
    return sign * logarithm * x[4:]


def with_vmap(x):
    return tapegrad.vmap(lambda row: np.sum(row**2) * row)(x.reshape(3, 2))


def with_grad(x):
    return tapegrad.grad(lambda y: np.sum(np.sin(y) * x * y))(x[::-1])


@pytest.mark.parametrize("f", [fills, steps, several_results, with_vmap, with_grad])
def test_programs(f):
    assert_jacobian(f, X)


SUPERSETS = {
    "a column of a product": lambda x: np.linalg.inv(np.diag(x)),
    "cancelled": lambda x: x - x + x[0],
    "max": lambda x: np.max(x.reshape(2, 3), axis=1),
    "maximum": lambda x: np.maximum(x, x[::-1]),
    "quantile": lambda x: np.quantile(x, [0.2, 0.4]),
    "long cumsum": lambda x: np.cumsum(np.tile(x, 20)),
    "irfft": lambda x: np.fft.irfft(np.fft.rfft(x)),
    "a checkpoint": tapegrad.checkpoint(np.sin),
    "multi_dot": lambda x: np.linalg.multi_dot([W, x.reshape(6, 1), np.ones((1, 2))]),
}


@pytest.mark.parametrize("name", SUPERSETS)
def test_the_pattern_has_at_least_what_is_not_zero(name):
    assert_jacobian(SUPERSETS[name], X, exact=False)


def test_functions_of_users():
    @tapegrad.primitive
    def astype(x):  # a name that stands for another function of NumPy's
        return np.cumsum(x)

    tapegrad.general(astype, vjp=[lambda g, _out, _x: np.cumsum(g[::-1])[::-1]])
    assert_jacobian(astype, X, exact=False)


# --- all rules


def assert_covers(f, leaves):
    """No derivative is other than zero outside the pattern."""
    measured = Measured("f", f, tuple(range(len(leaves))), leaves, {})
    where = measured.pattern()
    known = scipy.sparse.csr_array(
        (np.ones(where.columns.size, bool), where.columns, where.starts), shape=where.shape
    ).toarray()
    for unit in (1, 1j) if any(leaf.dtype.kind == "c" for leaf in leaves) else (1,):
        for column, basis in enumerate(np.eye(where.shape[1]) * unit):
            with np.errstate(all="ignore"):
                moved = measured.forward(basis.astype(measured.dtype))
            assert not np.any((np.abs(moved) > 1e-13) & ~known[:, column])


each_sample = pytest.mark.parametrize(
    "entry",
    [entry for entry in SAMPLES.values() if REGISTRY[entry.function].form != "constant"],
    ids=lambda entry: REGISTRY[entry.function].name,
)


def check_sample(entry, data):
    args, params = entry.draw(data)
    subject = Call(entry.call, args, params).subject("pattern")
    if not subject.leaves:
        return
    assert_covers(subject.function, subject.leaves)

    def total(*leaves):
        squares = [np.sum(np.real(part) ** 2) for part in subject.function(*leaves)]
        return sum(squares, start=0.0 * np.sum(np.real(leaves[0])))

    everything = tuple(range(len(subject.leaves)))
    assert_covers(tapegrad.grad(total, everything), subject.leaves)


@pytest.mark.part(4)
@each_sample
@draws(1, 25)
@given(data=st.data())
def test_the_pattern_of_every_rule_covers_its_derivatives(entry, data):
    check_sample(entry, data)


# --- arguments


def test_several_arguments_follow_one_another():
    def f(x, scale, y):
        return {"product": scale * x * y, "sum": np.sum(y)}

    x, y = X[:3], X[3:]
    found = sparse.jacobian(f, argnums=(2, 0))(x, 2.0, y)
    rows = np.block([[np.diag(2 * x), np.diag(2 * y)], [np.ones(3), np.zeros(3)]])
    np.testing.assert_allclose(found.toarray(), rows)


def test_pytrees_and_keywords():
    def f(parameters, *, power):
        return np.sum(parameters["a"] ** power) * parameters["b"]

    found = sparse.hessian(f)({"a": X[:2], "b": 3.0}, power=2)
    expected = np.diag([6.0, 6.0, 0.0])
    expected[:2, 2] = expected[2, :2] = 2 * X[:2]
    np.testing.assert_allclose(found.toarray(), expected)


def test_dtypes():
    assert sparse.jacobian(np.sin)(X.astype(np.float32)).dtype == np.float32
    assert sparse.hessian(rosenbrock)(X.astype(np.float32)).dtype == np.float32
    assert sparse.jacobian(np.sin)(0.5).shape == (1, 1)
    assert sparse.jacobian(lambda x: x[:0])(X).shape == (0, 6)
    assert sparse.jacobian(np.sin)(X[:0]).shape == (0, 0)


def test_complex_outputs_and_inputs_go_forward():
    found = sparse.jacobian(lambda x: np.exp(1j * x))(X)
    np.testing.assert_allclose(found.toarray(), np.diag(1j * np.exp(1j * X)))
    z = X[:3] + 1j * X[3:]
    np.testing.assert_allclose(sparse.jacobian(np.square)(z).toarray(), np.diag(2 * z))
    with pytest.raises(tapegrad.OutputError, match="forward"):
        sparse.jacobian(np.square, mode="reverse")(z)
    with pytest.raises(tapegrad.InputError, match="real inputs"):
        sparse.hessian(lambda z: np.sum(np.abs(z)))(z)


# --- Hessians

HESSIANS = {
    "rosenbrock": rosenbrock,
    "arrow": lambda x: np.sum(x[0] ** 2 * np.sin(x)),
    "two full rows": lambda x: np.sum(x[0] * x**2 + np.cos(x[3] * x)),
    "dense": lambda x: np.sum(x) ** 3,
    "linear": lambda x: np.sum(W @ x),
    "matmul": lambda x: np.sum(np.tanh(W @ x) ** 2),
    "grid": lambda x: np.sum(np.diff(x.reshape(2, 3), axis=0) ** 4) + np.sum(x[1:] * x[:-1]),
    "hinge": lambda x: np.sum(np.maximum(x[1:] * x[:-1] - 1.0, 0.0)),
    "norms": lambda x: np.sum(np.linalg.norm(x.reshape(3, 2), axis=1) ** 3),
    "solve": lambda x: np.sum(np.linalg.solve(np.eye(2) * 3 + x[:4].reshape(2, 1, 2), np.ones(2))),
    "logarithms": lambda x: np.sum(np.logaddexp(x[1:], x[:-1])),
}


@pytest.mark.parametrize("name", HESSIANS)
def test_hessian(name):
    f = HESSIANS[name]
    expected = tapegrad.hessian(f)(X)
    found = sparse.hessian(f)(X)
    np.testing.assert_allclose(found.toarray(), expected, rtol=1e-12, atol=1e-12)
    where = np.zeros(found.shape, bool)
    where[np.repeat(np.arange(6), np.diff(found.indptr)), found.indices] = True
    np.testing.assert_array_equal(where, expected != 0)


def count_products(transform, x, monkeypatch):
    counts = {"forward": 0, "reverse": 0}
    for name in counts:
        plain = getattr(Measured, name)

        def counted(self, vector, name=name, plain=plain):
            counts[name] += 1
            return plain(self, vector)

        monkeypatch.setattr(Measured, name, counted)
    transform(x)
    return counts["forward"], counts["reverse"]


def test_few_products(monkeypatch):
    x = RANDOM.normal(size=300)
    few = [
        (sparse.hessian(rosenbrock), (3, 0)),
        (sparse.hessian(HESSIANS["arrow"]), (2, 0)),
        (sparse.hessian(lambda x: np.sum(x[:3])), (0, 0)),
        (sparse.jacobian(np.sin), (1, 0)),
        (sparse.jacobian(lambda x: np.sum(x**2)), (0, 1)),
        (sparse.jacobian(lambda x: np.append(x**2, np.sum(x))), (1, 1)),
        (sparse.jacobian(lambda x: x * x[7]), (2, 0)),
        (sparse.jacobian(lambda x: np.append(x**2, np.sum(x)), mode="forward"), (300, 0)),
        (sparse.jacobian(lambda x: np.append(x**2, np.sum(x)), mode="reverse"), (0, 2)),
    ]
    for transform, expected in few:
        with monkeypatch.context() as patch:
            assert count_products(transform, x, patch) == expected


def test_a_grid_takes_five_products(monkeypatch):
    def f(u):
        return np.sum(np.diff(u, axis=0) ** 4) + np.sum(np.diff(u, axis=1) ** 4)

    assert count_products(sparse.hessian(f), RANDOM.normal(size=(40, 35)), monkeypatch) == (5, 0)


def test_a_large_problem_of_scalar_steps():
    assert_jacobian(lambda x: np.stack([x[i] * x[i - 1] for i in range(200)]), np.arange(1.0, 201))


# --- random programs

STEPS = [
    lambda x, i: np.sin(x) * 1.1,
    lambda x, i: x * np.roll(x, 1 + i),
    lambda x, i: x - 1.7 * np.flip(x),
    lambda x, i: np.exp(-(x[i : i + 1] ** 2)) + x,
    lambda x, i: np.concatenate([x[i:], x[:i] ** 2]),
    lambda x, i: np.eye(x.size, k=i)[:, : x.size] @ x + 1,
    lambda x, i: np.pad(x, (i, 0), constant_values=1.5)[: x.size],
    lambda x, i: np.where(np.arange(x.size) % 2 == i % 2, x, np.tanh(x)),
    lambda x, i: np.sum(x.reshape(-1, 2), axis=1).repeat(2),
    lambda x, i: np.prod(x.reshape(2, -1), axis=0, keepdims=True).repeat(2, axis=0).reshape(-1),
    lambda x, i: written(x, i),
    lambda x, i: np.convolve(x, [1.0] + i * [0.0] + [0.5], mode="same")[: x.size],
    lambda x, i: x / (2 + x[::-1] ** 2),
    lambda x, i: np.append(np.diff(x), x[i]),
]


def written(x, i):
    buffer = x.copy()
    buffer[i] = x[-1] * x[0]
    buffer[i::3] += np.sin(x[i::3]) / 2
    return buffer


PROGRAMS = st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 3)), min_size=1, max_size=5)
# Without the last step, differences, nothing cancels.
STRUCTURAL = st.lists(
    st.tuples(st.sampled_from(STEPS[:-1]), st.integers(0, 3)), min_size=1, max_size=5
)


@draws(25, 500)
@given(PROGRAMS, st.integers(0, 10**6))
def test_random_programs(program, seed):
    x = np.random.default_rng(seed).uniform(0.5, 1.5, 6)

    def f(x):
        for step, i in program:
            x = step(x, i)
        return x

    assert_jacobian(f, x, exact=False)

    def g(x):
        return np.sum(np.sin(f(x)) * np.arange(1.0, 7.0))

    found = sparse.hessian(g)(x).toarray()
    np.testing.assert_allclose(found, tapegrad.hessian(g)(x), rtol=1e-9, atol=1e-9)


@draws(20, 300)
@given(STRUCTURAL, st.integers(0, 10**6))
def test_patterns_of_random_programs_are_structural(program, seed):
    """Not larger than what is seen at three random points."""
    random = np.random.default_rng(seed)

    def f(x):
        for step, i in program:
            x = step(x, i)
        return x

    seen = np.zeros((6, 6), bool)
    for _ in range(3):
        x = random.uniform(0.5, 1.5, 6)
        y = x
        for step, i in program:
            y = step(y, i)
            assume(np.abs(y).max() < 20)  # exp(-y**2) must not underflow to a derivative of 0
        seen |= dense(f, x) != 0
    np.testing.assert_array_equal(sparse.pattern(f)(x).toarray(), seen)


# --- colours


def assert_valid(matrix, colours):
    matrix = scipy.sparse.csr_array(matrix)
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    pairs = rows * (colours.max(initial=0) + 1) + colours[matrix.indices]
    assert np.unique(pairs).size == pairs.size
    assert colours.shape == (matrix.shape[1],)
    assert colours.min(initial=0) >= 0


@draws(20, 300)
@given(st.integers(0, 12), st.integers(0, 12), st.floats(0, 1), st.integers(0, 10**6))
def test_colours_are_valid(rows, columns, density, seed):
    random = np.random.default_rng(seed)
    matrix = random.random((rows, columns)) < density
    colours = sparse.colour(matrix)
    assert_valid(matrix, colours)
    assert set(colours.tolist()) == set(range(int(colours.max(initial=-1)) + 1)) or rows == 0


@pytest.mark.parametrize("width", [1, 3, 5, WIDE + 6])
def test_bands_take_as_many_colours_as_they_are_wide(width):
    n = 300
    offsets = np.arange(width) - width // 2
    matrix = scipy.sparse.diags_array([np.ones(n)] * width, offsets=offsets, shape=(n, n))
    colours = sparse.colour(matrix)
    assert_valid(matrix, colours)
    assert colours.max() + 1 <= (width if width <= WIDE else 2 * width)


def test_an_irregular_pattern_of_many_columns():
    matrix = scipy.sparse.random_array((20_000, 20_000), density=2e-4, rng=RANDOM, format="csr")
    colours = sparse.colour(matrix)
    assert_valid(matrix, colours)
    assert colours.max() + 1 <= 2 * np.diff(matrix.indptr).max()


# --- patterns of users


def test_a_given_pattern_is_used():
    expected = tapegrad.hessian(rosenbrock)(X)
    band = np.abs(np.subtract.outer(np.arange(6), np.arange(6))) <= 1
    wider = scipy.sparse.coo_array(np.abs(np.subtract.outer(np.arange(6), np.arange(6))) <= 2)
    for pattern in (band, band.astype(int), wider, scipy.sparse.csc_matrix(band), np.triu(band)):
        transform = sparse.hessian(rosenbrock, pattern=pattern)
        for _ in range(2):
            np.testing.assert_allclose(transform(X).toarray(), expected, atol=1e-9)
    places = (np.array([5, 0, 0, 1, 2, 3, 4, 5, 5]), np.array([5, 0, 0, 1, 2, 3, 4, 5, 5]))
    twice = scipy.sparse.coo_array((np.ones(9), places), shape=(6, 6))
    np.testing.assert_allclose(
        sparse.jacobian(np.sin, pattern=twice)(X).toarray(), np.diag(np.cos(X))
    )
    f = EXACT["reads"]
    for mode in ("auto", "forward", "reverse"):
        transform = sparse.jacobian(f, pattern=sparse.pattern(f)(X), mode=mode)
        np.testing.assert_allclose(transform(X).toarray(), dense(f, X))


@pytest.mark.parametrize("mode", ["auto", "forward", "reverse"])
def test_a_pattern_that_misses_an_entry_is_refused(mode):
    def f(x):
        return x**2 + 0.001 * np.roll(x, 1) ** 2

    right = sparse.pattern(f)(X).toarray()
    for row, column in zip(*np.nonzero(right), strict=True):
        wrong = right.copy()
        wrong[row, column] = False
        with pytest.raises(tapegrad.InputError, match="misses"):
            sparse.jacobian(f, pattern=wrong, mode=mode)(X)
    with pytest.raises(tapegrad.InputError, match="misses"):
        sparse.jacobian(f, pattern=np.zeros((6, 6), bool), mode=mode)(X)


def test_a_hessian_pattern_that_misses_an_entry_is_refused():
    with pytest.raises(tapegrad.InputError, match="row"):
        sparse.hessian(rosenbrock, pattern=np.eye(6))(X)
    with pytest.raises(tapegrad.InputError, match="misses"):
        sparse.hessian(HESSIANS["arrow"], pattern=np.diag(np.ones(6)))(X)


def test_a_pattern_is_no_longer_right_on_another_branch():
    def f(x):
        return x * x[::-1] if x[0] > 0 else x**2

    transform = sparse.jacobian(f, pattern=sparse.pattern(f)(-X))
    np.testing.assert_allclose(transform(-X).toarray(), dense(f, -X))
    with pytest.raises(tapegrad.InputError, match="misses"):
        transform(X)
    transform = sparse.jacobian(f)
    for x in (X, -X, X):
        np.testing.assert_allclose(transform(x).toarray(), dense(f, x))


# --- errors


def test_errors():
    with pytest.raises(tapegrad.InputError, match='"auto"'):
        sparse.jacobian(np.sin, mode="sideways")
    with pytest.raises(tapegrad.ShapeMismatchError, match=r"\(6, 6\)"):
        sparse.jacobian(np.sin, pattern=np.eye(5))(X)
    with pytest.raises(tapegrad.ShapeMismatchError, match="square"):
        sparse.hessian(rosenbrock, pattern=np.ones((6, 5)))
    with pytest.raises(tapegrad.InputError, match="two axes"):
        sparse.jacobian(np.sin, pattern=np.ones(6))
    with pytest.raises(tapegrad.InputError, match="two axes"):
        sparse.colour([["a"]])
    with pytest.raises(tapegrad.OutputError):
        sparse.jacobian(lambda x: x > 0)(X)
    with pytest.raises(tapegrad.OutputError):
        sparse.hessian(np.sin)(X)
    with pytest.raises(tapegrad.InputError):
        sparse.jacobian(np.sin)(np.arange(3))


def test_a_dense_pattern_is_refused_before_it_fills_the_memory(monkeypatch):
    monkeypatch.setattr(_sets, "LIMIT", 100)
    with pytest.raises(tapegrad.InputError, match="sparse pattern"):
        sparse.jacobian(lambda x: x * np.sum(x))(np.arange(1.0, 20.0))


def test_a_value_that_everything_goes_through_costs_no_dense_pattern():
    """Softmax, summed: each of 10^5 elements depends on all, which is one set."""

    def f(x):
        return np.sum(np.exp(x) / np.sum(np.exp(x)) * np.arange(x.size))

    assert sparse.pattern(f)(np.linspace(0, 1, 10**5)).nnz == 10**5


def test_inside_other_transforms():
    def total(x):
        return np.sum(sparse.jacobian(np.sin)(x).toarray())

    def closure(x):
        return np.sum(sparse.jacobian(lambda y: np.sin(y) * x)(X).toarray())

    for f in (total, closure):
        for transform in (
            tapegrad.grad(f),
            lambda x, f=f: tapegrad.jvp(f, (x,), (x,)),
            lambda x, f=f: tapegrad.vmap(f)(np.stack([x, x])),
        ):
            with pytest.raises(tapegrad.NotDifferentiableError, match="SciPy"):
                transform(X)

    def beside(x):
        return np.sum(x * sparse.jacobian(np.sin)(X).diagonal())

    np.testing.assert_allclose(tapegrad.grad(beside)(X), np.cos(X))


def test_without_scipy():
    program = (
        "import sys; sys.modules['scipy'] = sys.modules['scipy.sparse'] = None\n"
        "import numpy, tapegrad.sparse\n"
        "tapegrad.sparse.colour(numpy.eye(2))\n"
        "try: tapegrad.sparse.jacobian(numpy.sin)(numpy.ones(2))\n"
        "except ImportError as error: print(error)"
    )
    command = [sys.executable, "-c", program]
    out = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "tapegrad[scipy]" in out.stdout, out.stderr


def test_names_are_kept():
    assert sparse.hessian(rosenbrock).__name__ == "rosenbrock"
    assert sparse.pattern(rosenbrock).__name__ == "rosenbrock"


def test_a_matrix_of_more_products_than_a_byte_counts():
    def f(x):
        return np.concatenate([np.sum(x**2, keepdims=True), x[1:] * x[:-1]])

    x = np.linspace(-1.0, 1.0, 300)
    expected = np.zeros((300, 300))
    expected[0] = 2 * x
    expected[np.arange(1, 300), np.arange(1, 300)] = x[:-1]
    expected[np.arange(1, 300), np.arange(299)] = x[1:]
    found = sparse.jacobian(f, mode="forward")(x).toarray()
    np.testing.assert_allclose(found, expected, rtol=1e-14)


@pytest.mark.parametrize("turned", [False, True])
def test_an_element_that_depends_on_all_beside_some_that_do_not(turned):
    def f(x):
        other = np.concatenate([np.sum(x * x, keepdims=True), x[-2::-1]])
        return other * x if turned else x * other

    x = np.linspace(0.5, 2.0, 6)
    np.testing.assert_allclose(
        sparse.jacobian(f)(x).toarray(), tapegrad.jacobian(f)(x), rtol=1e-14
    )


def test_a_given_pattern_may_have_infinite_entries():
    x = np.array([0.0, 1.0, 4.0])
    found = sparse.jacobian(np.sqrt, pattern=np.eye(3))(x)
    np.testing.assert_array_equal(found.diagonal(), [np.inf, 0.5, 0.25])


@pytest.mark.parametrize("width", [2, 3, WIDE - 1, WIDE, WIDE + 1])
def test_a_band_has_as_many_colours_as_entries_in_a_row(width):
    size = 3 * WIDE
    band = np.tri(size, k=width - 1, dtype=bool) & ~np.tri(size, k=-1, dtype=bool)
    colours = sparse.colour(band)
    assert colours.max() + 1 == width
    if width <= WIDE:  # the same in turn; beyond, no regular colouring is looked for
        np.testing.assert_array_equal(colours, np.arange(size) % width)
