"""Every public method and operator of SciPy's sparse classes, on traced elements.

Each name of SciPy's classes stands in one of the tables: what answers as SciPy's does, with its
derivative, or what is refused in words.
"""

from __future__ import annotations

import operator

import numpy as np
import pytest

import tapegrad
from tapegrad import grad, jvp, vmap

scipy_sparse = pytest.importorskip("scipy.sparse")

from tapegrad.scipy import sparse  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::scipy.sparse.SparseEfficiencyWarning")

FORMATS = "csr csc coo dia bsr lil dok".split()
KINDS = ("array", "matrix")
THEIRS = [getattr(scipy_sparse, f"{f}_{k}") for f in FORMATS for k in KINDS]

ROWS, COLUMNS, SHAPE = np.array([0, 0, 1, 2, 2]), np.array([0, 2, 1, 0, 2]), (3, 3)
DATA = np.array([0.52, -0.27, 0.74, 0.33, -0.61])
OTHER = np.array([[0.0, 0.4, 0.2], [0.0, -0.9, 0.1], [0.3, 0.0, -0.6]])
VECTOR = np.array([1.0, -2.0, 0.5])
PUSH = np.linspace(1.0, 2.0, DATA.size)


def made(data, kind="array", format="csr"):
    """A sparse array or matrix: ours of traced elements, SciPy's of plain ones."""
    coo = getattr(sparse, f"coo_{kind}")
    return coo((data, (ROWS, COLUMNS)), shape=SHAPE).asformat(format)


def other(a, of=OTHER):
    """A constant array of the same kind."""
    matrix = isinstance(a, scipy_sparse.spmatrix | sparse.SparseMatrix)
    return (scipy_sparse.csr_matrix if matrix else scipy_sparse.csr_array)(of)


def within(change):
    """A function that changes an array, as one that returns the changed one."""

    def f(a):
        a = a.copy()
        found = change(a)
        return a if found is None else found

    return f


def _set(index, value):
    return within(lambda a: operator.setitem(a, index, value))


# Calls by the names that they are of; a matrix's own are below.
CALLS = {
    "asformat": [lambda a: a.asformat("csc")],
    "astype": [lambda a: a.astype(np.float32), lambda a: a.astype(complex, "safe", False)],
    "check_format": [within(lambda a: a.check_format())],
    "conj conjugate": [lambda a: (a * 1j).conj() * 1j, lambda a: a.conjugate()],
    "copy": [lambda a: a.copy()],
    "count_nonzero": [lambda a: a.count_nonzero(), lambda a: a.count_nonzero(axis=0)],
    "diagonal": [lambda a: a.diagonal(), lambda a: a.diagonal(-1), lambda a: a.diagonal(5)],
    "dot": [lambda a: a.dot(VECTOR), lambda a: a.dot(2.0), lambda a: a.dot(other(a))],
    "dtype": [lambda a: a * a.dtype.itemsize],
    "eliminate_zeros": [within(lambda a: a.eliminate_zeros())],
    "format": [lambda a: a * len(a.format)],
    "nnz size": [lambda a: a.nnz, lambda a: a.size],
    "ndim shape": [lambda a: a.ndim, lambda a: a.shape],
    "max": [lambda a: a.max(), lambda a: a.max(axis=0), lambda a: a.max(axis=-1, explicit=True)],
    "min": [lambda a: a.min(), lambda a: a.min(axis=1), lambda a: a.min(axis=0, explicit=True)],
    "nanmax": [lambda a: a.nanmax(), lambda a: a.nanmax(axis=1)],
    "nanmin": [lambda a: a.nanmin(), lambda a: a.nanmin(axis=0)],
    "argmax": [lambda a: a.argmax(), lambda a: a.argmax(axis=0)],
    "argmin": [lambda a: a.argmin(), lambda a: a.argmin(axis=1, explicit=True)],
    "maximum": [lambda a: a.maximum(other(a)), lambda a: a.maximum(0.1), lambda a: a.maximum(-1)],
    "minimum": [lambda a: a.minimum(other(a)), lambda a: a.minimum(-0.1)],
    "mean": [lambda a: a.mean(), lambda a: a.mean(axis=0), lambda a: a.mean(axis=-1)],
    "multiply": [
        lambda a: a.multiply(2.0),
        lambda a: a.multiply(OTHER),
        lambda a: a.multiply(VECTOR),
        lambda a: a.multiply(VECTOR[:, None]),
        lambda a: a.multiply(other(a)),
        lambda a: a.multiply(other(a, VECTOR[None])),
        lambda a: a[[1], :].multiply(OTHER),
    ],
    "nonzero": [lambda a: np.array(a.nonzero())],
    "power": [lambda a: a.power(2), lambda a: a.power(3, dtype=complex)],
    "prune": [within(lambda a: a.prune())],
    "real imag": [lambda a: (a * 1j).imag, lambda a: a.real],
    "reshape": [
        lambda a: a.reshape(9, 1),
        lambda a: a.reshape((1, -1), order="F"),
    ],
    "resize": [within(lambda a: a.resize(2, 4)), within(lambda a: a.resize((3, 2)))],
    "setdiag": [within(lambda a: a.setdiag(3.0)), within(lambda a: a.setdiag([1.0, 2.0], 1))],
    "sort_indices": [within(lambda a: a.sort_indices())],
    "sorted_indices has_sorted_indices": [lambda a: a.sorted_indices() * a.has_sorted_indices],
    "sum": [
        lambda a: a.sum(),
        lambda a: a.sum(axis=0),
        lambda a: a.sum(axis=-1, dtype=complex),
        lambda a: a.sum(axis=(0, 1)),
    ],
    "sum_duplicates has_canonical_format": [
        within(lambda a: a.sum_duplicates()),
        lambda a: a * a.has_canonical_format,
    ],
    "T mT transpose": [
        lambda a: a.T,
        lambda a: getattr(a, "mT", a.T),
        lambda a: a.transpose(),
        lambda a: a.transpose((1, 0)),
    ],
    "toarray": [lambda a: a.toarray()],
    "todense": [lambda a: a.todense()],
    "tobsr tocoo tocsc tocsr todia todok tolil": [
        lambda a: a.tobsr((1, 1)).tocoo().tocsc().tocsr().todia().todok().tolil()
    ],
    "row col coords": [lambda a: a.tocoo().row, lambda a: a.tocoo().col],
    "trace": [lambda a: a.trace(), lambda a: a.trace(1)],
    "__abs__ __neg__ __round__": [abs, operator.neg, lambda a: round(a, 1)],
    "__add__ __radd__ __sub__ __rsub__ __iadd__ __isub__": [
        lambda a: a + other(a),
        lambda a: other(a) - a,
        lambda a: a + OTHER,
        lambda a: OTHER - a,
        lambda a: sum([a, a]),
        within(lambda a: operator.isub(a, other(a))),
    ],
    "__mul__ __rmul__ __imul__ __truediv__ __itruediv__": [
        lambda a: a * VECTOR[:, None],
        lambda a: VECTOR * a,
        lambda a: a * other(a),
        lambda a: 3 * a,
        lambda a: a / 3,
        lambda a: a / (OTHER + 2),
        lambda a: a / other(a, OTHER + 2),
        within(lambda a: operator.imul(a, 2.0)),
        within(lambda a: operator.itruediv(a, 2.0)),
    ],
    "__matmul__ __rmatmul__": [
        lambda a: a @ VECTOR,
        lambda a: OTHER @ a,
        lambda a: a @ other(a),
        lambda a: other(a) @ a,
    ],
    "__pow__": [lambda a: a**2],
    "__eq__ __ne__ __lt__ __le__ __gt__ __ge__": [
        lambda a: a == other(a),
        lambda a: a != 0.5,
        lambda a: a < 0.1,
        lambda a: a > OTHER,
        lambda a: a <= other(a),
        lambda a: a >= 0,
    ],
    "__getitem__ __iter__": [
        lambda a: a[0, 2],
        lambda a: a[-1, 1],
        lambda a: a[1],
        lambda a: a[:, 2],
        lambda a: a[1:, ::-1],
        lambda a: a[[2, 0, 2]],
        lambda a: a[[2, 0, 1], [2, 0, 0]],
        lambda a: a[a > 0.4],
        lambda a: list(a)[2],
        lambda a: a[..., 1],
    ],
    "__setitem__": [
        _set((0, 1), 7.0),
        _set((0, 0), 7.0),
        _set((1, slice(None)), VECTOR),
        _set(([2, 0, 2], [1, 1, 1]), VECTOR),
        within(lambda a: operator.setitem(a, (slice(None), [0, 2]), other(a)[:, [0, 1]])),
        within(lambda a: operator.setitem(a, a > 0.4, 2.0)),
    ],
    "__bool__ __len__": [lambda a: bool(a[[0], :][:, [0]])],
    **{
        name: [lambda a, n=name: getattr(abs(a), n)()]
        for name in (
            "arcsin arcsinh arctan arctanh ceil deg2rad expm1 floor log1p rad2deg rint sign sin "
            "sinh sqrt tan tanh trunc"
        ).split()
    },
    "__array_ufunc__": [
        *(
            lambda a, name=name: getattr(np, name)(abs(a))
            for name in (
                "absolute arcsin arcsinh arctan arctanh conjugate deg2rad expm1 log1p negative "
                "rad2deg rint sin sinh sqrt square tan tanh"
            ).split()
        ),
        *(
            lambda a, ufunc=ufunc: ufunc(a, other(a, OTHER + 2))
            for ufunc in (np.add, np.divide, np.multiply, np.subtract)
        ),
        lambda a: np.power(a, 2),
    ],
}
ARRAYS = {
    "reshape": [lambda a: a.reshape(9), lambda a: a.reshape(-1).max()],
    "__getitem__": [lambda a: a[0][[0, 2]], lambda a: a[2][2], lambda a: a[0] @ a[2]],
    "__matmul__": [lambda a: a[0] @ a, lambda a: a @ a[2], lambda a: a @ other(a)[2]],
    "multiply": [lambda a: a[0] * VECTOR, lambda a: a[0].multiply(OTHER)],
}
MATRICES = {
    "asfptype": [lambda a: a.asfptype()],
    "getH": [lambda a: a.getH()],
    "get_shape": [lambda a: a.get_shape()],
    "getcol getrow": [lambda a: a.getcol(2), lambda a: a.getrow(0)],
    "getformat": [lambda a: a * len(a.getformat())],
    "getnnz": [lambda a: a.getnnz(), lambda a: a.getnnz(axis=0)],
    "set_shape": [within(lambda a: a.set_shape((1, 9)))],
    "__pow__": [lambda a: a**1, lambda a: a**5],
    "__mul__": [lambda a: a * VECTOR, lambda a: OTHER * a, lambda a: a * OTHER],
}
# Of arrays of three axes, SciPy's coo_array alone.
CUBES = {
    "tensordot": [
        lambda a: a.tensordot(OTHER, 1),
        lambda a: a.tensordot(other(a).tocoo(), ([1], [0])),
        lambda a: a.tensordot(a, 3),
    ],
    "__matmul__": [
        lambda a: a @ OTHER,
        lambda a: OTHER @ a,
        lambda a: a @ VECTOR,
        lambda a: a @ a,
    ],
    "dot": [lambda a: a.dot(OTHER), lambda a: a.dot(VECTOR)],
    "sum": [lambda a: a.sum(axis=0), lambda a: a.sum(axis=(0, 2)), lambda a: a.mean(axis=1)],
    "max": [lambda a: a.max(axis=1), lambda a: a.min(axis=2), lambda a: a.max()],
    "transpose": [lambda a: a.transpose((2, 0, 1)), lambda a: a.T, lambda a: a.reshape(9, 2)],
    "__mul__": [lambda a: a * a, lambda a: a + a, lambda a: a.maximum(a * 2)],
    "__getitem__": [lambda a: a[1], lambda a: a[:, 1], lambda a: a[1, :, 0], lambda a: a[1, 2, 2]],
}
REFUSED = (
    "blocksize clear fromkeys get getmaxprint getrowview indices indptr items keys maxprint "
    "offsets pop popitem rows setdefault update values"
).split()
# Operators of one format alone, which are Python's errors.
BESIDE = "__contains__ __delitem__ __ior__ __or__ __reversed__ __ror__"
PYTHONS = set(
    """__abstractmethods__ __annotations__ __array_priority__ __class_getitem__ __firstlineno__
    __rtruediv__ __setstate__ __slots__ __static_attributes__ __weakref__ __module__""".split()
)


def cube(data):
    """Two matrices as an array of three axes."""
    places = np.repeat([0, 1], 5), np.tile(ROWS, 2), np.tile(COLUMNS, 2)
    return sparse.coo_array((np.concatenate([data, data**2]), places), shape=(2, *SHAPE))


def dense(found):
    """Its numbers, as an array: of what may be a sparse array, a matrix of NumPy's, an array."""
    found = found.toarray() if hasattr(found, "toarray") else found
    return np.asarray(found) if isinstance(found, tuple | np.matrix) else found


def answers(call, make):
    """The values of a call for traced elements, and the slopes along PUSH: it is as SciPy's."""
    theirs, seen = call(make(DATA)), []

    def f(data):
        seen.append(call(make(data)))
        return dense(seen[-1])

    expected = dense(theirs)
    got, slope = jvp(f, (DATA,), (PUSH,))
    np.testing.assert_allclose(got, expected, rtol=1e-14)
    assert np.shape(got) == np.shape(expected)
    dtypes = np.result_type(got), np.result_type(expected)
    assert dtypes[0] == dtypes[1] or dtypes[0].kind == "i"  # positions are of int64
    assert scipy_sparse.issparse(theirs) == isinstance(seen[0], sparse.SparseArray)
    if scipy_sparse.issparse(theirs):
        assert isinstance(theirs, scipy_sparse.spmatrix) == seen[0].of_matrix
    return f, expected, slope


def matrix(data):
    return made(data, "matrix")


CASES = [
    pytest.param(call, make, id=f"{make.__name__}-{names.split()[0]}-{i}")
    for make, tables in ((made, (CALLS, ARRAYS)), (matrix, (CALLS, MATRICES)), (cube, (CUBES,)))
    for table in tables
    for names, calls in table.items()
    for i, call in enumerate(calls)
]


@pytest.mark.parametrize("make", [made, matrix, cube])
def test_values_and_kinds_are_scipys(make):
    for case in CASES:
        if case.values[1] is make:
            try:
                answers(*case.values)
            except Exception as error:
                error.add_note(case.id)
                raise


@pytest.mark.slow
@pytest.mark.parametrize(("call", "make"), CASES)
def test_slopes_are_those_of_differences_and_examples_are_alike(call, make):
    f, expected, slope = answers(call, make)
    if np.result_type(expected) in (np.float64, np.complex128):
        step = 1e-6
        up, down = (dense(call(make(DATA + s * PUSH))) for s in (step, -step))
        np.testing.assert_allclose(slope, (up - down) / (2 * step), atol=1e-8)
        stack = np.stack([DATA, DATA * 1.01])
        each = [dense(call(make(d))) for d in stack]
        np.testing.assert_allclose(vmap(f)(stack), each, rtol=1e-13)
        _, pullback = tapegrad.vjp(f, DATA)
        weights = np.cos(np.arange(expected.size)).reshape(expected.shape).astype(expected.dtype)
        one, other_ = np.sum(pullback(weights)[0] * PUSH), np.real(np.sum(weights * slope))
        np.testing.assert_allclose(one, other_, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", REFUSED)
def test_what_one_format_alone_has_says_what_to_take(name):
    def f(data):
        assert not hasattr(made(data), name)
        return getattr(made(data), name)

    with pytest.raises(tapegrad.ConversionError, match=rf"\.{name}: .*coords"):
        tapegrad.grad(f)(DATA)


@pytest.mark.parametrize(
    "call", [np.exp, lambda a: np.add.outer(a, a), lambda a: np.add(a, a, out=np.ones(SHAPE))]
)
def test_other_ufuncs_are_refused(call):
    with pytest.raises(TypeError, match=r"of a sparse array: expected an operator"):
        tapegrad.grad(lambda data: call(made(data)).sum())(DATA)


def test_every_name_of_scipys_classes_is_in_a_table():
    tables = " ".join((*CALLS, *ARRAYS, *MATRICES, *CUBES))
    known = {*tables.split(), *REFUSED, *BESIDE.split(), *dir(object), "__dict__", "__doc__"}
    names = {name for kind in THEIRS for name in dir(kind)}
    assert {name for name in names if name[0] != "_" or name.endswith("__")} - known <= PYTHONS


# --- the elements as they lie

UNSORTED = np.array([2, 0, 1, 0, 2]), np.array([1, 2, 0, 2, 0])  # with a duplicate
LIES = [
    lambda of, a: of.csr_array(a, shape=(3, 3)),
    lambda of, a: of.csc_array(a, shape=(3, 3)),
    lambda of, a: of.coo_array(a, shape=(3, 3)),
    lambda of, a: of.csc_matrix(a, shape=(3, 3)).tocsr(),
    lambda of, a: of.csr_array(a, shape=(3, 3)).T,
    lambda of, a: of.csr_array(a, shape=(3, 3)).T.tocsr(),
    lambda of, a: of.csc_array(a, shape=(3, 3)).tocoo(),
    lambda of, a: of.csc_array(a, shape=(3, 3)).reshape(1, 9).tocsc(),
    lambda of, a: of.coo_array(a, shape=(3, 3)) + scipy_sparse.eye_array(3),
    lambda of, a: of.csr_array(a, shape=(3, 3)) - scipy_sparse.eye_array(3),
    lambda of, a: of.csr_array((a[0], [2, 0, 0, 1, 0], [0, 3, 5])).tocsc(),
    lambda of, a: of.kron(of.coo_array(a), np.ones((1, 2)), "csc"),
    lambda of, a: of.hstack([of.coo_array(a)] * 2, "csr"),
    lambda of, a: of.tril(of.csr_array(a), format="csc"),
    lambda of, a: within(lambda b: b.setdiag(9.0))(of.csr_array(a, shape=(3, 3))),
]


@pytest.mark.parametrize("make", LIES)
def test_elements_lie_in_scipys_order_without_duplicates(make):
    def elements(of, data):
        return make(of, (data, UNSORTED)).data

    value, slope = jvp(lambda data: elements(sparse, data), (DATA,), (PUSH,))
    np.testing.assert_allclose(value, elements(scipy_sparse, DATA), rtol=1e-14)
    moved = elements(scipy_sparse, DATA + PUSH) - elements(scipy_sparse, DATA)  # it is affine
    np.testing.assert_allclose(slope, moved, rtol=1e-13, atol=1e-15)


def test_arrays_without_elements_and_of_other_shapes():
    def f(data):
        none = sparse.csr_array((data[:0], ([], [])), shape=(2, 2))
        assert none.max(explicit=True) == 0
        assert (none @ none).nnz == 0
        assert (none == made(data)) is False
        assert (none != made(data)) is True
        return np.sum(data) + (none @ none).sum()

    np.testing.assert_array_equal(grad(f)(DATA), np.ones(DATA.size))
