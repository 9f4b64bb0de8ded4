"""`tapegrad.numpy`: the derivatives of plain NumPy, and those that it cannot have."""

from __future__ import annotations

import inspect
import pickle
import re
import runpy
import subprocess
import sys

import numpy.testing
import pytest

import tapegrad
import tapegrad.numpy as np
from tapegrad import (
    Array,
    ConversionError,
    NotDifferentiableError,
    _numpy_versions,
    grad,
    jvp,
    vjp,
)
from tapegrad._tree import flatten
from tapegrad.numpy import _lists
from tapegrad.testing import check_grads

X = numpy.array([0.5, -1.2, 2.0])
A = numpy.array([[2.0, 0.3, 0.1], [0.3, 3.0, 0.2], [0.1, 0.2, 4.0]])


# --- The same programs under both names ---------------------------------------------------------


def network(np, x):
    hidden = np.tanh(A @ x + np.ones(3))
    return np.sum(np.exp(-(hidden**2)) / (1 + np.abs(x)))


def joined(np, x):
    parts = np.concatenate([x, np.sort(x)[::-1], np.stack([x[0], x[1]])])
    return np.mean(np.cumsum(parts) ** 2)


def written(np, x):
    buffer = np.zeros_like(x)
    buffer[1:] = x[:-1] * x[1:]
    np.add(buffer, x, out=buffer)
    return np.linalg.norm(buffer)


def algebra(np, x):
    matrix = A + np.outer(x, x)
    values, vectors = np.linalg.eigh(matrix)
    return np.linalg.slogdet(matrix)[1] + np.sum(values * vectors[0] ** 2) + np.trace(matrix)


def lines(np, x):
    line = np.linspace(x[0], x[1], 5) + np.geomspace(1.0, x[2], 5)
    return np.max(line) + np.logspace(x[0], 1.0, 3).sum()


def chosen(np, x):
    return np.where(x > 0, np.sqrt(np.abs(x)), np.sin(x)).sum() + np.einsum("i,i", x, x)


def like(np, x):
    return np.array([x, [1.0, x[0], 2.0]], like=x).sum() + np.full(3, x[1], like=x).prod()


def polynomial(np, x):
    return np.polynomial.polynomial.polyval(x, [1.0, 2.0, 3.0]).sum()


PROGRAMS = [network, joined, written, algebra, lines, chosen, like, polynomial]


@pytest.mark.parametrize("program", PROGRAMS)
def test_both_names_give_the_same_derivatives(program):
    def under(namespace):
        return lambda x: program(namespace, x)

    assert under(np)(X) == under(numpy)(X)
    numpy.testing.assert_array_equal(grad(under(np))(X), grad(under(numpy))(X))
    found = jvp(under(np), (X,), (A[0],))
    assert found == jvp(under(numpy), (X,), (A[0],))
    numpy.testing.assert_array_equal(
        tapegrad.hessian(under(np))(X), tapegrad.hessian(under(numpy))(X)
    )


# --- The namespace ------------------------------------------------------------------------------


def test_every_public_name_of_numpy_is_there():
    assert set(np.__all__) == set(numpy.__all__)
    assert set(dir(numpy)) <= set(dir(np))
    for name in ("linalg", "fft", "polynomial"):
        theirs = getattr(numpy, name)
        ours = getattr(np, name)
        assert set(theirs.__all__ if hasattr(theirs, "__all__") else ()) <= set(dir(ours))
        for public in dir(theirs):
            assert hasattr(ours, public)


def test_plain_functions_are_numpys_own():
    for name in "sin add exp float64 isscalar".split():
        assert getattr(np, name) is getattr(numpy, name)
    for name in "random ma char emath lib rec s_ index_exp newaxis".split():
        assert getattr(np, name) is getattr(numpy, name)
    with pytest.raises(AttributeError, match="no attribute 'sine'"):
        np.sine  # noqa: B018


def test_functions_of_plain_values_return_what_numpy_returns():
    for name in ("mean", "sum", "std", "median", "sort", "reshape"):
        args = ([1.0, 3.0, 2.0], -1) if name == "reshape" else ([1.0, 3.0, 2.0],)
        found, expected = getattr(np, name)(*args), getattr(numpy, name)(*args)
        numpy.testing.assert_array_equal(found, expected)
        assert type(found) is type(expected)
    assert np.array([1, 2], dtype=float).dtype == float
    assert np.arange(3).dtype == numpy.arange(3).dtype
    assert np.fromiter(iter([1, 2, 3]), int).tolist() == [1, 2, 3]
    numpy.testing.assert_array_equal(np.r_[1:3, 4], numpy.r_[1:3, 4])
    numpy.testing.assert_array_equal(np.c_[X, X], numpy.c_[X, X])
    assert len(np.r_) == len(numpy.r_) == 0


def test_star_imports_pickles_and_submodules():
    program = (
        "from tapegrad.numpy import *\nimport tapegrad.numpy.linalg as la, tapegrad.numpy.fft\n"
        "import tapegrad.numpy.polynomial.chebyshev as ch\nimport numpy\n"
        "assert sin is numpy.sin and array is not numpy.array and linalg is la\n"
        "assert ch.chebval(0.5, [1, 2]) == 2 and ch.Chebyshev([1, 2])(0.5) == 2\n"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True)
    assert pickle.loads(pickle.dumps(np.mean)) is np.mean
    assert pickle.loads(pickle.dumps(np.linalg.norm)) is np.linalg.norm
    series = pickle.loads(pickle.dumps(np.polynomial.Polynomial([1.0, 2.0])))
    assert isinstance(series, np.polynomial.Polynomial)


# --- Creation -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        lambda x: np.array(x),
        lambda x: np.array([x, [1.0, x[0], 2 * x[1]]]),
        lambda x: np.array((x, [0, 1, 2]), dtype=complex, ndmin=4, order="F"),
        lambda x: np.array([[[x[0]]]], dtype=np.float64),
        lambda x: np.asarray([x, x]),
        lambda x: np.asanyarray((x[0], 1)),
        lambda x: np.asarray_chkfinite([x, x]),
        lambda x: np.ascontiguousarray(x.T[None].T),
        lambda x: np.asfortranarray([x, x]),
        lambda x: np.require([x, 2 * x], requirements=["F"]),
        lambda x: np.full((2, 3), x),
        lambda x: np.full(4, x[0]),
        lambda x: np.full((2, 3), [x[0], 1.0, x[1]], order="F"),
        lambda x: np.full_like(A, x),
        lambda x: np.full_like(X, x[1]),
        lambda x: np.fromfunction(lambda i, j: x[0] * i + x[1] * j, (2, 3)),
        lambda x: np.fromiter((x[0] * k for k in range(3)), float),
        lambda x: np.fromiter((x[0] * k for k in range(9)), float, 3),
        lambda x: np.arange(x[0], x[0] + 3),
        lambda x: np.arange(0, 3.1, x[2]),
        lambda x: np.arange(x[0], stop=4.3, step=0.7),
        lambda x: np.r_[x, 0.0, x[1], 1:3, [2, x[0]]],
        lambda x: np.r_[x[0] : x[1] : 4j, x[1] : 2.0],
        lambda x: np.r_["0,2", x, X],
        lambda x: np.r_["0,2,0", x, X, 1.0],
        lambda x: np.r_["1,3,0", x, X],
        lambda x: np.r_["-1", x, X],
        lambda x: np.c_[x, X, x * x],
        lambda x: np.c_[np.outer(x, x), x],
        lambda x: np.mgrid[0 : x[2] : 3j, 0:2],
        lambda x: np.mgrid[x[0] : x[2] : 3j],
        lambda x: np.ogrid[x[0] : 3.1, x[1] : x[2] : 4j],
    ],
)
def test_creation(make):
    check_grads(make, (X,), order=2)


@pytest.mark.parametrize(
    "call",
    [
        lambda np, x: np.array([x, x]),
        lambda np, x: np.array([x[0], 1]),
        lambda np, x: np.array(x, dtype=np.float32),
        lambda np, x: np.array([x, x], ndmin=3),
        lambda np, x: np.asarray([x, [1, 2, 3]]),
        lambda np, x: np.full((2, 3), x),
        lambda np, x: np.full_like(X, x[0], shape=(2,)),
        lambda np, x: np.arange(x[0], 4),
        lambda np, x: np.arange(x[2]),
        lambda np, x: np.arange(x[0], 3.0, 0.1, dtype=np.float32),
        lambda np, x: np.arange(5, x[0], -x[2]),
        lambda np, x: np.r_[x, 1, x[0]],
        lambda np, x: np.r_["0,2,0", x, 1.0, X],
        lambda np, x: np.r_["1,3,1", x, X],
        lambda np, x: np.r_["0,3,-2", x, X],
        lambda np, x: np.r_[x[0] : 4 : 5j],
        lambda np, x: np.r_[x.astype(np.float32), 1.5],
        lambda np, x: np.c_[x, x],
        lambda np, x: np.c_[1:4, x, 1.0 + x],
        lambda np, x: np.mgrid[0 : x[2] : 3j, 0:2],
        lambda np, x: np.mgrid[x[0] : 3 : 3j],
        lambda np, x: np.ogrid[x[0] : 3 : 3j],
        lambda np, x: np.ogrid[x[0] : 3, 0:2][0],
        lambda np, x: np.ogrid[x[0] : 3, 0:2][1],
        lambda np, x: np.fromiter(x, np.float32, 2),
        lambda np, x: np.vectorize(lambda t: t * 2)(x),
        lambda np, x: np.mean([x, 2 * x], axis=0),
    ],
)
def test_values_shapes_and_dtypes_are_those_of_plain_values(call):
    found = vjp(lambda x: call(np, x), X)[0]
    expected = call(numpy, X)
    numpy.testing.assert_array_equal(found, expected)
    assert found.dtype == expected.dtype


def test_copies_and_identities_are_numpys():
    def program(x):
        assert np.asarray(x) is x
        assert np.asanyarray(x, dtype=x.dtype) is x
        copied = np.array(x)
        copied[0] = 0.0
        with pytest.raises(ValueError, match="Unable to avoid copy"):
            np.asarray([x, x], copy=False)
        with pytest.raises(ValueError, match="Unable to avoid copy"):
            np.asarray(np.outer(x, x), numpy.float32, order="F", copy=False)
        return np.sum(x) + np.sum(copied)

    numpy.testing.assert_array_equal(grad(program)(X), [1, 2, 2])


def test_whole_numbers_are_plain():
    def program(x):
        assert type(np.array([x, x], dtype=int)) is numpy.ndarray
        assert type(np.full(3, x[0], dtype=int)) is numpy.ndarray
        return np.sum(x)

    grad(program)(X)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda x: np.array([x, [x, x]]), ValueError),
        (lambda x: np.array([x[0], None]), TypeError),
        (lambda x: np.array([x, x], dtype=object), NotDifferentiableError),
        (lambda x: np.asarray(x, dtype="U8"), NotDifferentiableError),
        (lambda x: np.r_["r", x], NotDifferentiableError),
        (lambda x: np.r_[x, "0,2"], ValueError),
        (lambda x: np.r_["sideways", x], ValueError),
        (lambda x: np.matrix([x, x]), ConversionError),
        (lambda x: np.asmatrix(x), ConversionError),
        (lambda x: np.frompyfunc(abs, 1, 1)(x), NotDifferentiableError),
        (lambda x: np.float64(x[0]), ConversionError),
        (lambda x: np.sin([x[0], x[1]]), ConversionError),
        (lambda x: np.random.default_rng(0).normal(x), ConversionError),
        (lambda x: np.random.normal(x[0], 1.0), ConversionError),
        (lambda x: np.random.default_rng(0).permutation(x), ConversionError),
        (lambda x: np.asarray_chkfinite(x / 0), ValueError),
    ],
)
@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
def test_what_cannot_carry_a_derivative_raises(call, error):
    with numpy.errstate(all="ignore"), pytest.raises(error):
        grad(lambda x: np.sum(call(x)))(X)


# --- Lists of traced values ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.mean([x[0], x[1] * x[2]]),
        lambda x: np.std([x, 2 * X], axis=0),
        lambda x: np.sum([x[0], 1.0, x[1]]),
        lambda x: np.var((x, x * x), axis=(0, 1)),
        lambda x: np.max([x[0], x[1]]),
        lambda x: np.prod([x, [1.0, 2.0, 3.0]], axis=0),
        lambda x: np.cumsum([x[0], x[1]]),
        lambda x: np.sort([x[2], x[0], x[1]]),
        lambda x: np.transpose([x, x * x]),
        lambda x: np.reshape([x, x], (3, 2)),
        lambda x: np.dot([x[0], x[1]], [1.0, 2.0]),
        lambda x: np.outer([x[0], 1.0], x),
        lambda x: np.diff([x[0], x[1] ** 2, 1.0]),
        lambda x: np.where([True, False], [x[0], x[1]], 0.0),
        lambda x: np.diag([x[0], x[1]]),
        lambda x: np.pad(X, 1, constant_values=x[0]),
        lambda x: np.meshgrid(x, [x[0], 1.0]),
        lambda x: np.einsum("ij,j", [[x[0], 1.0], [2.0, x[1]]], [x[2], 3.0]),
        lambda x: np.atleast_2d([x[0], 1.0]),
        lambda x: np.average([x[0], x[1]], weights=[x[2], 1.0]),
        lambda x: np.cov([x, x * x]),
        lambda x: np.interp(0.5, [0.0, 1.0], [x[0], x[1]]),
        lambda x: np.linalg.norm([x[0], x[1]]),
        lambda x: np.linalg.det([[x[0], x[1]], [x[2], 1.0]]),
        lambda x: np.linalg.solve([[2.0, x[0]], [x[1], 3.0]], [x[2], 1.0]),
    ],
)
def test_lists_of_traced_values(call):
    check_grads(call, (X,), order=2)


def test_lists_in_plain_numpy_raise():
    for call in (numpy.mean, numpy.sum, numpy.linalg.norm, numpy.sort):
        with pytest.raises(ConversionError):
            grad(lambda x, f=call: f([x[0], x[1]]))(X)


# --- vectorize ----------------------------------------------------------------------------------


def branch(t, s=1.0):
    return t * s if t > 0 else t * t


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.vectorize(branch)(x),
        lambda x: np.vectorize(branch)(A, x),
        lambda x: np.vectorize(branch, otypes=[float])(t=x, s=x[0]),
        lambda x: np.vectorize(branch, excluded={"s"})(X, s=x[0]),
        lambda x: np.vectorize(branch, excluded={1})(x, 2.0),
        lambda x: np.vectorize(lambda k: x[0] * k)(numpy.arange(3.0)),
        lambda x: np.vectorize(lambda t: (t, t * t))(x),
        lambda x: np.vectorize(lambda t: t * t)([x[0], 2.0]),
        lambda x: np.vectorize(lambda u, v: u @ v, signature="(n),(n)->()")(x, A),
        lambda x: np.vectorize(lambda u: np.outer(u, u), signature="(n)->(n,n)")(x),
        lambda x: np.vectorize(lambda u: (u.sum(), u * u), signature="(n)->(),(n)")(A * x),
    ],
)
def test_vectorize(call):
    check_grads(call, (X,), order=2)


def test_vectorize_of_plain_values_is_numpys():
    for args in ((X,), (A, X), ([1, -2],)):
        numpy.testing.assert_array_equal(
            np.vectorize(branch)(*args), numpy.vectorize(branch)(*args)
        )
    assert isinstance(np.vectorize(branch), numpy.vectorize)
    assert np.vectorize(str)(X).dtype == numpy.vectorize(str)(X).dtype

    @np.vectorize(otypes=[float])
    def doubled(t):
        return 2 * t

    assert grad(lambda x: doubled(x).sum())(X).tolist() == [2, 2, 2]
    with pytest.raises(ValueError, match="size 0"):
        grad(lambda x: np.sum(np.vectorize(branch)(x[:0])))(X)
    with pytest.raises(ValueError, match="inconsistent size"):
        grad(lambda x: np.vectorize(lambda u, v: u @ v, signature="(n),(n)->()")(x, x[:2]))(X)


@pytest.mark.parametrize(
    ("function", "options"),
    [
        (lambda t: 2.0 * t, {"otypes": "f"}),
        (lambda t: 1 if t == 0.5 else t, {}),
        (lambda t: t if t == 0.5 else 1, {}),
        (lambda u: 2.0 * u, {"signature": "(n)->(n)", "otypes": "f"}),
        (lambda u: (u.sum(), u), {"signature": "(n)->(),(n)", "otypes": "df"}),
    ],
)
def test_dtypes_of_vectorize_are_numpys(function, options):
    x = numpy.array([0.5, -1.25, 2.0])
    expected = flatten(numpy.vectorize(function, **options)(x))[0]
    found = flatten(vjp(lambda x: np.vectorize(function, **options)(x), x)[0])[0]
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == other.dtype
        numpy.testing.assert_array_equal(one, other)


def test_a_plain_vectorize_refuses_traced_values():
    with pytest.raises(ConversionError):
        grad(lambda x: numpy.sum(numpy.vectorize(branch)(x)))(X)
    assert isinstance(vjp(lambda x: np.vectorize(branch)(x), X)[0], numpy.ndarray)
    seen = []
    grad(lambda x: seen.append(np.vectorize(branch)(x)) or np.sum(x))(X)
    assert isinstance(seen[0], Array)


@pytest.mark.parametrize(
    "call",
    [
        "np.arange(x)",
        "np.arange(stop=x)",
        "np.arange(x, None, 0.7)",
        "np.arange(0.5, x, None)",
        "np.arange(0.5, x, 0.7, 'f4')",
        "np.arange(x, 9, dtype='f4')",
        "np.arange(x, 1)",
        "np.arange(5, x, -0.5)",
        "np.arange(x, step=2.0)",
        "np.arange(start=x)",
        "np.arange(0, 1, x, float, 3)",
        "np.arange(1, 2, 3, stop=x)",
        "np.arange(start_or_stop=x)",
    ],
)
def test_arange_takes_what_numpy_takes(call):
    def found(namespace, x):
        return eval(call, {"np": namespace, "x": x})

    try:
        expected = found(numpy, 3.3)
    except TypeError as error:
        with pytest.raises(TypeError, match=re.escape(str(error))):
            tapegrad.jvp(lambda x: found(np, x), (3.3,), (1.0,))
        return
    for value in (found(np, 3.3), tapegrad.jvp(lambda x: found(np, x), (3.3,), (1.0,))[0]):
        numpy.testing.assert_array_equal(value, expected)
        assert value.dtype == expected.dtype


def test_arange_has_the_signature_of_numpy():
    assert str(inspect.signature(np.arange)) == (
        "(start_or_stop, /, stop=None, step=1, *, dtype=None, device=None, like=None)"
    )


# --- Iterables of arrays ------------------------------------------------------------------------

ITERABLES = {
    "list": list,
    "tuple": tuple,
    "values": lambda parts: dict(enumerate(parts)).values(),
    "generator": lambda parts: (part for part in parts),
    "map": lambda parts: map(np.negative, map(np.negative, parts)),
    "zip": lambda parts: (pair[0] for pair in zip(parts, parts, strict=True)),
}
JOINS = (
    "stack vstack hstack dstack column_stack concatenate concat array asarray asanyarray "
    "ascontiguousarray asfortranarray asarray_chkfinite require"
).split()


@pytest.mark.part(6)
@pytest.mark.parametrize("name", JOINS)
@pytest.mark.parametrize("kind", ITERABLES)
@pytest.mark.parametrize("traced", [0, 1, 2])
def test_any_iterable_of_arrays_joins(name, kind, traced):
    """As the list of its items does, whether none, some or all of them are traced."""
    join, plain = getattr(np, name), getattr(numpy, name)

    def parts(x):
        return [x if traced else X, 2 * x if traced > 1 else 2 * X, X - 1]

    def f(x):
        return join(ITERABLES[kind](parts(x)))

    expected = plain([X, 2 * X, X - 1])
    numpy.testing.assert_array_equal(f(X), expected)
    assert type(f(X)) is numpy.ndarray
    out, out_dot = jvp(f, (X,), (numpy.ones(3),))
    numpy.testing.assert_array_equal(out, expected)
    numpy.testing.assert_array_equal(
        out_dot, plain([numpy.full(3, 1.0 + i if i < traced else 0.0) for i in range(3)])
    )
    numpy.testing.assert_array_equal(tapegrad.vmap(f)(A), numpy.stack([f(row) for row in A]))


@pytest.mark.parametrize("kind", ITERABLES)
def test_options_beside_an_iterable(kind):
    made = grad(lambda x: np.stack(arrays=ITERABLES[kind]([x, X]), axis=1)[2, 0])(X)
    numpy.testing.assert_array_equal(made, [0, 0, 1])
    made = grad(lambda x: np.concatenate(ITERABLES[kind]([x, X]), axis=None)[1])(X)
    numpy.testing.assert_array_equal(made, [0, 1, 0])
    if kind != "tuple":  # as NumPy: only lists arrange blocks
        made = grad(lambda x: np.block([ITERABLES[kind]([x, x]), [X, x]])[1, 4])(X)
        numpy.testing.assert_array_equal(made, [0, 1, 0])
        made = grad(lambda x: np.block(ITERABLES[kind]([x, x]))[4])(X)
        numpy.testing.assert_array_equal(made, [0, 1, 0])


@pytest.mark.parametrize("name", ["stack", "vstack", "hstack", "dstack", "column_stack"])
def test_numpys_own_functions_take_what_they_take_of_plain_arrays(name):
    for kind in ("values", "generator"):
        with pytest.raises(TypeError, match="sequence"):
            getattr(numpy, name)(ITERABLES[kind]([X, X]))
        with pytest.raises(TypeError, match="sequence"):
            vjp(lambda x, kind=kind: getattr(numpy, name)(ITERABLES[kind]([x, X])), X)
    with pytest.raises(TypeError, match="sequence"):
        vjp(lambda x: numpy.concatenate(part for part in (x, X)), X)


class Asked:
    """An array that answers each function of NumPy's with a word."""

    def __array_function__(self, function, types, args, kwargs):
        return "asked"


@pytest.mark.parametrize("name", sorted(_lists.OF_SEVERAL))
def test_the_protocols_see_each_array_of_these_functions(name):
    """So that a lifted call may go to NumPy's function, at the price of that."""
    ours = name in _lists.LIFTED["numpy"]  # the others are ufuncs there
    function = getattr(numpy if ours else numpy.linalg, name)
    count = 3 if name in ("clip", "interp", "where") else 2
    before = ("i,i",) if name == "einsum" else ()
    for position in range(count):
        arrays = [numpy.ones(3) for _ in range(count)]
        arrays[position] = Asked()
        assert function(*before, *arrays) == "asked"


def test_traced_values_that_the_protocols_do_not_see():
    x = numpy.array([1.0, 3.0, 2.0])
    assert grad(lambda d: np.trapezoid(x, dx=d))(2.0) == 4.5
    assert grad(lambda v: np.mean(a=v))(x).tolist() == [1 / 3] * 3
    assert grad(lambda p: np.sum(np.pad(x, 1, constant_values=p)))(1.0) == 2.0
    assert grad(lambda v: np.sum(np.clip(x, v, a_max=2.5)))(1.5) == 1.0
    assert grad(lambda v: np.roots([1.0, v, -1.0])[0].real)(0.0) == pytest.approx(-0.5)


# --- Differences between releases of NumPy -------------------------------------------------------

SINCE = {  # the release from which on each is true, and those until which it is
    (2, 2): "HAS_MATVEC INSERTS_BY_MASK TEXT_DISPATCHES TRIMS_AXES",
    (2, 3): "NORM_OF_NOTHING_IS_ZERO COND_IS_REAL",
    (2, 4): "TRIMS_SEVERAL_AXES PADS_BY_AXIS POLYNOMIALS_DISPATCH",
    (2, 5): "FIX_WARNS HAS_VALND SORTS_DESCENDING MESHGRID_IS_TUPLE HAS_UFUNC_OF_PARTS "
    "EIGVALS_STAY_COMPLEX",
}
UNTIL = {
    (2, 3): "BINCOUNT_TAKES_NONE HAS_TOSTRING",
    (2, 4): "FORMATS_BY_STYLE TAKES_BIAS",
    (2, 5): "CROSSES_PAIRS",
}


@pytest.mark.parametrize("release", [*_numpy_versions.KNOWN, (2, 10), (3, 0)], ids=str)
def test_each_release_does_what_it_is_known_to_do(release, monkeypatch):
    monkeypatch.setattr(numpy, "__version__", "{}.{}.1".format(*release))
    found = runpy.run_path(_numpy_versions.__file__)
    assert found["INSTALLED"] == release
    flags = {name: value for name, value in found.items() if type(value) is bool}
    since = {name: release >= first for first, names in SINCE.items() for name in names.split()}
    until = {name: release < first for first, names in UNTIL.items() for name in names.split()}
    assert flags == since | until


def test_the_installed_release_does_what_it_is_known_to_do():
    """Those that can be seen at a call; the others are seen by the tests of their rules."""
    order_one = numpy.linalg.cond(numpy.eye(2) + 0j, 1)
    assert (order_one.dtype.kind == "f") is _numpy_versions.COND_IS_REAL
    mesh = numpy.meshgrid(X, X, sparse=True, copy=False)
    assert (type(mesh) is tuple) is _numpy_versions.MESHGRID_IS_TUPLE
    stays = numpy.linalg.eigvals(numpy.eye(2)).dtype.kind == "c"
    assert stays is _numpy_versions.EIGVALS_STAY_COMPLEX
    for name, flag in (("matvec", "HAS_MATVEC"), ("vecmat", "HAS_MATVEC")):
        assert hasattr(numpy, name) is getattr(_numpy_versions, flag)
    assert hasattr(X, "tostring") is _numpy_versions.HAS_TOSTRING
    assert hasattr(numpy.polynomial.polynomial, "polyvalnd") is _numpy_versions.HAS_VALND


@pytest.mark.parametrize("make", [np.array, np.asarray])
def test_arrays_of_unlike_lengths_are_objects_of_one_array(make):
    def program(x):
        row = make([x, numpy.ones(2), x[:1] ** 2], dtype=object)
        assert type(row) is numpy.ndarray
        assert row.dtype == object
        assert row.shape == (3,)
        return sum(np.sum(part) for part in row)

    numpy.testing.assert_array_equal(grad(program)(numpy.arange(1.0, 4)), [3, 1, 1])
    assert program(numpy.arange(1.0, 4)) == 9
