"""Sparse matrices of SciPy's beside traced arrays, and sparse matrices of traced elements."""

from __future__ import annotations

import inspect
import pickle

import numpy as np
import pytest

import tapegrad
from tapegrad import grad, hessian, jvp, vmap

scipy_sparse = pytest.importorskip("scipy.sparse")

from scipy_matrices import COLUMNS, DENSE, SIDE, VECTOR, C, check, made  # noqa: E402

from tapegrad.scipy import sparse  # noqa: E402

FORMATS = [
    f"{word}_{kind}"
    for word in "csr csc coo dia bsr lil dok".split()
    for kind in ("array", "matrix")
]
SQUARE = np.outer(VECTOR, VECTOR) + np.eye(SIDE)

# Spellings, the argument, and what the same is with a dense matrix.
SPELLINGS = {
    "A @ x": (lambda a, x: a @ x, lambda d, x: d @ x, VECTOR),
    "A @ X": (lambda a, x: a @ x, lambda d, x: d @ x, COLUMNS),
    "x @ A": (lambda a, x: x @ a, lambda d, x: x @ d, VECTOR),
    "X.T @ A": (lambda a, x: x.T @ a, lambda d, x: x.T @ d, COLUMNS),
    "A.T @ x": (lambda a, x: a.T @ x, lambda d, x: d.T @ x, VECTOR),
    "x.T @ A @ x": (lambda a, x: x.T @ a @ x, lambda d, x: x.T @ d @ x, VECTOR),
    "A + X": (lambda a, x: a + x, lambda d, x: d + x, SQUARE),
    "A - X": (lambda a, x: a - x, lambda d, x: d - x, SQUARE),
    "X - A": (lambda a, x: x - a, lambda d, x: x - d, SQUARE),
    "A * s": (lambda a, s: a * s, lambda d, s: d * s, 2.0),
    "s * A": (lambda a, s: s * a, lambda d, s: d * s, 2.0),
    "A / s": (lambda a, s: a / s, lambda d, s: d / s, 2.0),
}


def total(function, a):
    def f(x):
        found = function(a, x)
        return np.sum(np.sin(found.toarray() if hasattr(found, "toarray") else found))

    return f


def agree(ours, theirs, x):
    f, g = total(*ours), total(*theirs)
    dot = np.ones_like(x)
    assert np.isclose(f(x), g(x))
    assert np.allclose(grad(f)(x), grad(g)(x))
    assert np.allclose(jvp(f, (x,), (dot,))[1], jvp(g, (x,), (dot,))[1])
    examples = np.stack([x, 2 * dot])
    assert np.allclose(vmap(f)(examples), vmap(g)(examples))
    assert np.allclose(vmap(grad(f))(examples), vmap(grad(g))(examples))
    assert np.allclose(hessian(f)(x), hessian(g)(x))


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_spellings(spelling):
    ours, theirs, x = SPELLINGS[spelling]
    agree((ours, scipy_sparse.csr_array(DENSE)), (theirs, DENSE), x)


@pytest.mark.parametrize("name", FORMATS)
def test_formats(name):
    a = getattr(scipy_sparse, name)(DENSE)
    for spelling in ("A @ x", "x @ A", "A * s"):
        ours, theirs, x = SPELLINGS[spelling]
        f, g = total(ours, a), total(theirs, DENSE)
        assert np.allclose(grad(f)(x), grad(g)(x))


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_all_spellings_of_all_formats(name, spelling):
    ours, theirs, x = SPELLINGS[spelling]
    agree((ours, getattr(scipy_sparse, name)(DENSE)), (theirs, DENSE), x)


@pytest.mark.parametrize("name", FORMATS)
def test_stars_mean_what_they_mean_to_scipy(name):
    a = getattr(scipy_sparse, name)(DENSE)
    product = name.endswith("matrix")
    agree((lambda a, x: a * x, a), (lambda d, x: d @ x if product else d * x, DENSE), VECTOR)
    agree((lambda a, x: x * a, a), (lambda d, x: x @ d if product else d * x, DENSE), VECTOR)


def test_numpys_functions_and_methods():
    a = scipy_sparse.csr_array(DENSE)
    agree((lambda a, x: a.dot(x), a), (lambda d, x: d @ x, DENSE), VECTOR)
    dense = grad(lambda x: np.sum(np.sin(DENSE @ x)))(VECTOR)
    assert np.allclose(grad(lambda x: np.sum(np.sin(np.matmul(a, x))))(VECTOR), dense)


@pytest.mark.parametrize("dtype", [np.float32, np.complex64, np.complex128])
def test_dtypes(dtype):
    a = scipy_sparse.csr_array(DENSE.astype(dtype))
    x = (VECTOR + 0.5).astype(dtype)

    def f(x, a=a):
        return np.sum(np.abs(a @ x) ** 2)

    slope = grad(f)(x)
    assert slope.dtype == dtype
    assert np.allclose(slope, grad(lambda x: f(x, a.toarray()))(x), rtol=1e-4)
    mixed = grad(lambda x: np.sum(np.abs((1j * C) @ x) ** 2))(VECTOR)
    assert np.allclose(mixed, 2 * DENSE.T @ DENSE @ VECTOR)


def test_compiled():
    a = scipy_sparse.csr_array(DENSE)
    for f in (lambda x: np.sum((a @ x) ** 2), lambda x: np.sum((x @ a) ** 3)):
        compiled = tapegrad.compile(grad(f))
        for x in (VECTOR, 2 * VECTOR, VECTOR):
            assert np.allclose(compiled(x), grad(f)(x))
        hvp = tapegrad.compile(lambda x, v, f=f: jvp(grad(f), (x,), (v,))[1])
        assert np.allclose(hvp(VECTOR, VECTOR), hessian(f)(VECTOR) @ VECTOR)


def test_later_changes_of_the_matrix_do_not_matter():
    a = scipy_sparse.csr_array(DENSE)
    _, pullback = tapegrad.vjp(lambda x: a @ x, VECTOR)
    a.data = a.data * 0
    assert np.allclose(pullback(np.ones(SIDE))[0], DENSE.sum(axis=0))


@pytest.mark.parametrize("write", ["csr_array", "multiply", "dot", "divide", "add", "shape"])
def test_errors_say_what_to_write(write):
    a, b = scipy_sparse.csr_array(DENSE), scipy_sparse.coo_array(DENSE)
    calls = {
        "csr_array": (lambda x: scipy_sparse.csr_array((x, (C.row[:5], C.col[:5]))), "from tape"),
        "multiply": (lambda x: a.multiply(x), r"A \* x of a sparse array"),
        "dot": (lambda x: b.dot(x), "A @ x"),
        "divide": (lambda x: x / a, "A.toarray()"),
        "add": (lambda x: a + x[0], "nonzero scalar"),
        "shape": (lambda x: a @ x[:3], "dimension mismatch"),
    }
    call, words = calls[write]
    kinds = (tapegrad.TapegradError, ValueError, NotImplementedError)
    with pytest.raises(kinds, match=words.replace("()", r"\(\)")):
        grad(lambda x: np.sum(call(x)))(VECTOR)
    with pytest.raises(tapegrad.NotDifferentiableError, match="A @ x"):
        grad(lambda x: np.sum(np.dot(a, x)))(VECTOR)


# --- Traced elements


def test_products_by_the_elements():
    check(lambda d, x: np.sum((made(d) @ x) ** 2), C.data, VECTOR)
    check(lambda d, x: np.sum((x.T @ made(d)) ** 2), C.data, COLUMNS)
    check(lambda d, x: np.sum((made(d) @ made(d).T @ x) ** 2), C.data, VECTOR, second=False)


def test_arithmetic_is_that_of_the_dense_matrix():
    eye = scipy_sparse.eye_array(SIDE)

    def both(a):
        found = a * a + eye * a - a.T / 2 + 3 * a - abs(a) + a.power(3) + a.multiply(VECTOR)
        sums = a.sum(axis=0) @ a.sum(axis=1) + a.sum() + a.trace() + np.sum(a.diagonal(1))
        return found, sums + a[0, 0] + a.mean()

    def f(data):
        found, sums = both(made(data))
        return np.sum(np.sin(found.toarray())) + sums

    def g(data):
        d = np.zeros((SIDE, SIDE))
        d = np.zeros_like(data, shape=d.shape)
        d[C.row, C.col] = data
        found = d * d + np.eye(SIDE) * d - d.T / 2 + 3 * d - np.abs(d) + d**3 + d * VECTOR
        sums = np.sum(d, axis=0) @ np.sum(d, axis=1) + np.sum(d) + np.trace(d)
        sums = sums + np.sum(np.diagonal(d, 1)) + d[0, 0] + np.mean(d)
        return np.sum(np.sin(found)) + sums

    value, slope = tapegrad.value_and_grad(f)(C.data)
    assert np.isclose(value, g(C.data))
    assert np.allclose(slope, grad(g)(C.data))


CONSTRUCTED = {
    "csr": lambda d: sparse.csr_array((d, [0, 2, 1], [0, 2, 3]), shape=(2, 3)),
    "csc": lambda d: sparse.csc_array((d, [0, 2, 1], [0, 2, 3]), shape=(3, 2)),
    "coo": lambda d: sparse.coo_array((d, ([0, 1, 1], [1, 0, 0])), shape=(2, 2)),
    "coo without shape": lambda d: sparse.coo_matrix((d, ([0, 1, 1], [1, 0, 0]))),
    "dia": lambda d: sparse.dia_array((d[None], [1]), shape=(3, 3)),
    "bsr": lambda d: sparse.bsr_array((d[:, None, None] * np.ones((2, 2)), [0, 1, 0], [0, 2, 3])),
    "dense": lambda d: sparse.csr_array(np.outer(np.arange(1.0, 3.0), np.arange(1.0, 4.0)) * d),
    "diags": lambda d: sparse.diags([d, d[1:]], [0, 1]),
    "diags_array": lambda d: sparse.diags_array(d, offsets=-1),
    "spdiags": lambda d: sparse.spdiags(d, 1, 3, 3),
    "kron": lambda d: sparse.kron(sparse.diags_array(d), [[1.0, 2.0]]),
    "kronsum": lambda d: sparse.kronsum(sparse.diags_array(d), np.eye(2)),
    "block_array": lambda d: sparse.block_array([[sparse.diags_array(d), None], [None, [[2.0]]]]),
    "hstack": lambda d: sparse.hstack([sparse.diags_array(d), np.eye(3)]),
    "vstack": lambda d: sparse.vstack([sparse.diags_array(d), np.eye(3)]),
    "block_diag": lambda d: sparse.block_diag([sparse.diags_array(d), [[1.0, 2.0]]]),
    "tril": lambda d: sparse.tril(sparse.csr_array(np.ones((3, 3)) * d)),
    "triu": lambda d: sparse.triu(sparse.csr_array(np.ones((3, 3)) * d), 1),
}


@pytest.mark.parametrize("name", CONSTRUCTED)
def test_constructors(name):
    make = CONSTRUCTED[name]
    data = np.array([1.5, 2.0, -3.0])
    plain = make(data)
    assert scipy_sparse.issparse(plain)
    assert sparse.issparse(plain)
    value, pullback = tapegrad.vjp(lambda d: make(d).toarray(), data)
    assert np.allclose(value, plain.toarray())
    weights = np.arange(1.0, 1 + value.size).reshape(value.shape)
    steps = [np.sum(make(data + e).toarray() * weights) for e in np.eye(3)]
    expected = np.array(steps) - np.sum(plain.toarray() * weights)
    assert np.allclose(pullback(weights)[0], expected)


def test_sparse_arrays_are_pytrees():
    a = sparse.SparseArray(C.data, C.coords, C.shape, "csr")
    assert sparse.issparse(a)
    assert a.plain().format == "csr"
    slope = grad(lambda a: np.sum((a @ VECTOR) ** 2))(a)
    assert isinstance(slope, sparse.SparseArray)
    expected = 2 * np.outer(DENSE @ VECTOR, VECTOR)[C.row, C.col]
    assert np.allclose(slope.data, expected)
    assert repr(a).startswith("<SparseArray of")
    found = vmap(lambda d: made(d) @ VECTOR)(np.stack([C.data, 2 * C.data]))
    assert np.allclose(found, [DENSE @ VECTOR, 2 * DENSE @ VECTOR])


def test_what_a_sparse_array_cannot_do_says_what_can():
    with pytest.raises(tapegrad.NotDifferentiableError, match="x / A of a sparse matrix"):
        grad(lambda d: np.sum((1 / made(d)).toarray()))(C.data)
    with pytest.raises(TypeError, match=r"no out="):
        grad(lambda d: made(d).sum(out=np.zeros(())))(C.data)
    with pytest.raises(TypeError, match=r"A.nnz or A.shape"):
        grad(lambda d: len(made(d)) * np.sum(d))(C.data)
    with pytest.raises(NotImplementedError, match="zero power"):
        grad(lambda d: made(d).power(0).sum())(C.data)
    with pytest.raises(tapegrad.BatchingError, match=r"SparseArray.argmax.*alike"):
        vmap(lambda d: made(d).argmax())(np.stack([C.data, -C.data]))
    with pytest.raises(tapegrad.NotDifferentiableError, match="csr_array"):
        grad(lambda d: np.sum(sparse.lil_array(d).toarray()))(DENSE)
    with pytest.raises(tapegrad.NotDifferentiableError, match="inside vmap"):
        vmap(lambda d: made(d).plain().sum())(C.data[None])
    with pytest.raises(ValueError, match="as many elements"):
        grad(lambda d: np.sum(made(d[:2]).toarray()))(C.data)
    with pytest.raises(ValueError, match="dimension mismatch"):
        grad(lambda d: np.sum(made(d) @ np.ones(3)))(C.data)


def test_rows_of_sparse_arrays_multiply_traced_arrays():
    a = scipy_sparse.csr_array([[2.0, 0.0, 1.0], [0.0, 3.0, 4.0]])
    row, x, m = a[1], np.array([1.0, 2.0, 5.0]), np.arange(6.0).reshape(3, 2)
    dense = row.toarray()
    for f, plain, y in [
        (lambda y: row @ y, lambda y: dense @ y, x),
        (lambda y: y @ row, lambda y: y @ dense, x),
        (lambda y: row @ y, lambda y: dense @ y, m),
        (lambda y: y @ row, lambda y: y @ dense, m.T),
    ]:
        for run in (tapegrad.jacfwd, tapegrad.jacrev):
            np.testing.assert_array_equal(run(f)(y), run(plain)(y))
        stack = np.stack([y, 2 * y])
        np.testing.assert_allclose(tapegrad.vmap(f)(stack), [f(y), 2 * f(y)])
    slope = tapegrad.grad(lambda y: np.sum((row * y).toarray() ** 2))(x)
    np.testing.assert_array_equal(slope, 2 * x * dense.ravel() ** 2)
    with pytest.raises(ValueError, match=r"A\[\[i\]\] keeps both"):
        tapegrad.grad(lambda y: np.sum(sparse.tril(row * y).toarray()))(x)


def test_what_methods_of_constant_matrices_advise():
    a = scipy_sparse.csr_array(np.eye(3))
    with pytest.raises(tapegrad.ConversionError, match=r"A \* x of a sparse array for A.multiply"):
        tapegrad.grad(lambda x: a.multiply(x).sum())(np.ones(3))


@pytest.mark.parametrize("kind", ["csr_array", "csc_matrix", "coo_array"])
def test_a_traced_power_is_refused_by_what_to_write(kind):
    a = getattr(scipy_sparse, kind)(np.eye(3))
    for transform in (tapegrad.grad, lambda f: lambda x: tapegrad.vmap(f)(np.array([x, x]))):
        with pytest.raises(NotImplementedError, match=r"A \*\* x .*A\.data \*\* x"):
            transform(lambda x: (a**x).sum())(2.0)
    found = tapegrad.grad(lambda x: np.sum((a**2) @ x))(np.ones(3))
    np.testing.assert_array_equal(found, np.ones(3))


MATRICES = {
    "csr_matrix": lambda d: sparse.csr_matrix((d, [0, 2, 1], [0, 2, 3]), shape=(2, 3)),
    "coo_matrix of a row": lambda d: sparse.coo_matrix(d),
    "diags": lambda d: sparse.diags(d),
    "diags of constants times a number": lambda d: scipy_sparse.eye(3) * d[1],
    "spdiags": lambda d: sparse.spdiags(d, 1, 3, 3),
    "kron": lambda d: sparse.kron(sparse.diags(d), [[1.0, 2.0]]),
    "bmat": lambda d: sparse.bmat([[sparse.diags(d), None], [None, [[2.0]]]]),
    "hstack": lambda d: sparse.hstack([sparse.diags(d), scipy_sparse.eye(3)]),
    "block_diag": lambda d: sparse.block_diag([sparse.diags(d), [[1.0, 2.0]]]),
    "tril": lambda d: sparse.tril(sparse.csr_matrix(np.ones((3, 3)) * d)),
}


@pytest.mark.parametrize("name", MATRICES)
def test_a_star_of_matrices_is_a_product_as_scipys(name):
    make, data = MATRICES[name], np.array([1.5, 2.0, -3.0])
    plain = make(data)
    assert isinstance(plain, scipy_sparse.spmatrix)
    x = np.arange(1.0, 1 + plain.shape[1])

    def f(d):
        a = make(d)
        assert sparse.isspmatrix(a)
        assert isinstance(a, getattr(sparse, f"{a.format}_matrix"))
        assert not isinstance(a, getattr(sparse, f"{a.format}_array"))
        return a * x

    rest = make(np.zeros(3)) @ x
    slope = tapegrad.jacobian(f)(data)
    np.testing.assert_allclose(slope @ data + rest, plain @ x, rtol=1e-14)
    slope = tapegrad.jacobian(lambda d: (plain.T * make(d)).toarray())(data)
    expected = (plain.T @ (plain - make(np.zeros(3)))).toarray()
    np.testing.assert_allclose(slope @ data, expected, rtol=1e-14)


def test_functions_of_axes_and_positions():
    def f(d):
        a = made(d)
        assert sparse.permute_dims(a, axes=(1, 0)).shape == sparse.swapaxes(a, 0, 1).shape
        assert sparse.expand_dims(a, axis=-1).shape == (SIDE, SIDE, 1)
        rows, columns, found = sparse.find(sparse.swapaxes(a, 0, -1) * 2)
        return np.sum(found * rows * columns**2)

    np.testing.assert_array_equal(grad(f)(C.data), 2.0 * C.row**2 * C.col)
    kinds = []
    for make in (sparse.csr_array, sparse.csr_matrix):
        grad(lambda d, make=make: kinds.append(make((d, C.coords))) or np.sum(d))(C.data)
    for ask, answers in {
        sparse.issparse: [True, True],
        sparse.isspmatrix: [False, True],
        sparse.isspmatrix_csr: [False, True],
        sparse.isspmatrix_csc: [False, False],
    }.items():
        assert [ask(a) for a in kinds] == [ask(a.plain()) for a in kinds] == answers


def test_constructors_are_asked_for_as_scipys_classes():
    plain = sparse.csr_array(DENSE)
    assert type(plain) is scipy_sparse.csr_array
    assert isinstance(plain, sparse.csr_array)
    assert not isinstance(plain, (sparse.csc_array, sparse.csr_matrix))
    assert issubclass(scipy_sparse.csr_array, sparse.csr_array)
    assert issubclass(sparse.csr_array, scipy_sparse.sparray)
    kind = type(plain)
    assert kind == sparse.csr_array
    assert kind != sparse.csr_matrix
    assert {scipy_sparse.csr_array: 1}[sparse.csr_array] == 1
    assert pickle.loads(pickle.dumps(sparse.csr_array)) is sparse.csr_array
    assert inspect.signature(sparse.csr_array) == inspect.signature(scipy_sparse.csr_array)
    assert not scipy_sparse.issparse(object())  # ABCMeta asks all subclasses

    class Named(sparse.csr_array):
        name = "A"

    assert isinstance(Named(DENSE), scipy_sparse.csr_array)
    assert isinstance(Named(DENSE), sparse.csr_array)
    assert not isinstance(plain, Named)
    assert Named != sparse.csr_array
    assert Named(DENSE).name == "A"
    kinds = []

    def f(d):
        kinds.extend([isinstance(made(d), sparse.csr_array), isinstance(made(d), list)])
        return made(d).tocsr().sum()

    grad(f)(C.data)
    assert kinds == [made(C.data).format == "csr", False]


def test_zeros_beside_the_elements_are_of_their_dtype():
    def dtypes(x):
        a = sparse.csr_array((x, ([0, 1], [1, 0])), shape=(2, 2))
        kinds = [y.dtype for y in (a.max(), a.min(), a.maximum(a * 2), a.minimum(a * 2))]
        assert kinds == [x.dtype] * 4
        a *= np.float64(2)
        a /= 3
        assert a.dtype == x.dtype
        with pytest.raises(TypeError, match="Cannot cast"):
            a *= 1j
        return np.sum(x)

    grad(dtypes)(np.array([1.0, 2.0], np.float32))


@pytest.mark.parametrize("dtype", [np.uint8, np.uint64, np.int8, bool])
def test_differences_are_in_the_dtype_of_both(dtype):
    """An unsigned element has no negative, nor has a bool."""
    plain = np.array([[1, 0], [0, 2]]).astype(dtype)
    theirs = scipy_sparse.csr_array(plain)

    def differences(x):
        a = sparse.csr_array((x, ([0, 1], [0, 1])), shape=(2, 2))
        return (a - theirs).toarray(), (theirs - a).toarray(), a - plain, plain - a

    values, slopes = jvp(differences, (np.array([0.5, 0.25]),), (np.ones(2),))
    expected = np.diag([0.5, 0.25]) - plain
    assert np.array_equal(values, [expected, -expected, expected, -expected])
    assert np.array_equal(slopes, [np.eye(2), -np.eye(2), np.eye(2), -np.eye(2)])
