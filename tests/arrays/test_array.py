"""The traced array as an ndarray: operators, methods, attributes, NumPy's protocols."""

from __future__ import annotations

import copy
import functools
import math
import numbers
import operator
import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tapegrad
from tapegrad import (
    Array,
    ConversionError,
    IndependentOutputWarning,
    NotDifferentiableError,
    grad,
    jacfwd,
    jvp,
    stop_gradient,
)
from tapegrad._arrays import ufunc_methods
from tapegrad._numpy_versions import HAS_TOSTRING, INSTALLED, KNOWN

X = np.array([0.6, -1.25, 1.9])
M = np.array([[0.6, -1.22, 1.9], [1.7, 0.3, -0.4]])
STEP = 1e-6


def parts_of(result):
    """The floating results of a call, one or several."""
    parts = result if isinstance(result, (tuple, list)) else (result,)
    return [part for part in parts if getattr(part, "dtype", np.dtype(int)).kind in "fc"]


def weighted(result):
    total = 0.0
    for number, part in enumerate(parts_of(result)):
        real = np.real(part) + 2 * np.imag(part) if part.dtype.kind == "c" else part
        weights = np.cos(np.arange(real.size) + number).reshape(real.shape)
        total = total + np.sum(np.sin(real) * weights)
    return total


def differences(f, x):
    slopes = np.empty(x.shape)
    for i in np.ndindex(x.shape):
        step = np.zeros(x.shape)
        step[i] = STEP
        slopes[i] = (f(x + step) - f(x - step)) / (2 * STEP)
    return slopes


def traced_result(f, x):
    """Result of f for a traced array, and its gradient by the weighted sum."""
    results = []

    def scalar(x):
        results.append(f(x))
        plain = stop_gradient(results[-1])
        total = weighted(results[-1])
        results[-1] = plain
        return total + 0 * np.sum(x)

    return grad(scalar)(x.copy()), results[0]


def assert_same(ours, theirs):
    if isinstance(theirs, (tuple, list)):
        assert len(ours) == len(theirs)
        for a, b in zip(ours, theirs, strict=True):
            assert_same(a, b)
        return
    np.testing.assert_array_equal(ours, theirs)
    assert np.shape(ours) == np.shape(theirs)
    assert np.asarray(ours).dtype == np.asarray(theirs).dtype


def check(f, x=X):
    """Value, shape and dtype as NumPy's, derivatives in both modes as differences."""
    gradient, result = traced_result(f, x)
    assert_same(result, f(x.copy()))
    np.testing.assert_allclose(
        gradient, differences(lambda x: weighted(f(x)), x), rtol=1e-6, atol=1e-8
    )
    if parts_of(f(x.copy())):
        forward = jacfwd(lambda x: weighted(f(x)) + 0 * np.sum(x))(x.copy())
        np.testing.assert_allclose(forward, gradient, rtol=1e-10, atol=1e-12)


# --- Operators ----------------------------------------------------------------------------------

BINARY = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "divmod": divmod,
}
OTHERS = {
    "float": 1.3,
    "int": 2,
    "bool": True,
    "float64": np.float64(1.3),
    "int64": np.int64(2),
    "0-d": np.array(1.3),
    "array": np.array([0.7, 2.3, 1.1]),
    "int array": np.array([1, 2, 3]),
    "column": np.array([[0.7], [1.1]]),
    "list": [0.7, 2.3, 1.1],
    "tuple": (1, 2, 3),
    "complex": 1.3 + 0.4j,
}


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("sign", BINARY)
def test_operator_with_a_plain_operand(sign, other):
    y = OTHERS[other]
    if other == "complex" and sign in ("//", "%", "divmod"):
        pytest.skip("NumPy has no such operator for complex numbers")
    check(lambda x: BINARY[sign](x, y))
    check(lambda x: BINARY[sign](y, x))


@pytest.mark.parametrize("sign", BINARY)
def test_operator_with_traced_operands(sign):
    check(lambda x: BINARY[sign](x, np.exp(x)))
    check(lambda x: BINARY[sign](x, np.exp(x[0])))
    check(lambda x: BINARY[sign](x[1], np.exp(x)))
    check(lambda x: BINARY[sign](x, [1.0, x[0] * x[0] + 1, 2.0]))
    check(lambda x: BINARY[sign](np.exp(x), np.stack([x, 2 * x])))
    check(lambda x: BINARY[sign](x, x))


@pytest.mark.parametrize("exponent", [2, 3, 0.5, -1, 0, 2.0, 1, np.float64(1.5), -2.5], ids=repr)
def test_power_by_a_constant(exponent):
    check(lambda x: (x * x + 0.5) ** exponent)
    check(lambda x: pow(np.exp(x), exponent))
    check(lambda x: np.power(np.exp(x), exponent))


@pytest.mark.parametrize("base", [2, 2.5, np.float64(0.5), [1.5, 2.0, 0.7]], ids=repr)
def test_power_of_a_constant(base):
    check(lambda x: base**x)
    check(lambda x: pow(base, x))


def test_power_of_traced_values():
    check(lambda x: np.exp(x) ** x)
    check(lambda x: np.exp(x) ** x[0])
    check(lambda x: pow(np.exp(x), x, None))


@pytest.mark.parametrize("power", [lambda x: pow(x, 2, 3), lambda x: pow(2, x, 3)])
def test_power_with_a_modulus_is_refused_as_in_numpy(power):
    with pytest.raises(TypeError):
        grad(lambda x: np.sum(power(x)))(X)


@pytest.mark.parametrize("f", [operator.neg, operator.pos, abs])
def test_unary_operators(f):
    check(f)
    check(lambda x: f(x[0]))


def test_matmul_operator():
    check(lambda x: x @ x)
    check(lambda x: M @ x)
    check(lambda x: x @ M.T)
    check(lambda x: x @ M.T, M)
    check(lambda x: x @ x.T, M)
    check(lambda x: M.tolist() @ x)
    with pytest.raises(ValueError, match=r"matmul|mismatch"):
        grad(lambda x: x @ np.ones(4))(X)


COMPARISONS = {name: getattr(operator, name) for name in ("lt", "le", "gt", "ge", "eq", "ne")}


@pytest.mark.parametrize("name", COMPARISONS)
@pytest.mark.parametrize("other", ["float", "int", "array", "list", "column", "int array"])
def test_comparisons_are_plain(name, other):
    compare, y = COMPARISONS[name], OTHERS[other]
    seen = []
    grad(lambda x: seen.append((compare(x, y), compare(y, x), compare(x, x[::-1]))) or np.sum(x))(
        X
    )
    for ours, theirs in zip(
        seen[0], (compare(X, y), compare(y, X), compare(X, X[::-1])), strict=True
    ):
        assert type(ours) is np.ndarray
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("other", [None, "a", object()], ids=["None", "str", "object"])
def test_equality_with_what_is_no_number(other):
    seen = []
    grad(lambda x: seen.append((x == other, x != other)) or np.sum(x))(X)
    np.testing.assert_array_equal(seen[0][0], [False] * 3)
    np.testing.assert_array_equal(seen[0][1], [True] * 3)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x & 1,
        lambda x: x | 1,
        lambda x: x ^ 1,
        lambda x: ~x,
        lambda x: x << 1,
        lambda x: 1 >> x,
    ],
)
def test_bit_operators_are_type_errors_as_in_numpy(f):
    with pytest.raises(TypeError):
        f(X)
    with pytest.raises(TypeError):
        grad(lambda x: np.sum(x) + f(x))(X)


class Reflecting:
    """A class that wants arrays to leave operators to it."""

    __array_ufunc__ = None

    def __radd__(self, other):
        return "radd"

    def __rmatmul__(self, other):
        return "rmatmul"

    def __rmod__(self, other):
        return "rmod"


def test_operators_leave_the_word_to_classes_that_want_it():
    seen = []
    other = Reflecting()
    grad(lambda x: seen.extend([x + other, x @ other, x % other]) or np.sum(x))(X)
    assert seen == ["radd", "rmatmul", "rmod"]


# --- Python's protocols -------------------------------------------------------------------------


def look(f, x=X):
    """Answer of f on a traced array."""
    seen = []
    grad(lambda x: seen.append(f(x)) or np.sum(x))(x.copy())
    return seen[0]


@pytest.mark.parametrize(
    "f",
    [
        len,
        lambda x: bool(x[0]),
        lambda x: not x[1],
        lambda x: int(x[2]),
        lambda x: 1.9 in x,
        lambda x: 5.0 in x,
        lambda x: x[1] in x,
        str,
        lambda x: f"{x[0]:.2f}",
        lambda x: f"{x}",
        lambda x: format(x[0], "8.3e"),
        lambda x: round(x[0]),
        lambda x: math.floor(x[1]),
        lambda x: math.ceil(x[1]),
        lambda x: math.trunc(x[1]),
        lambda x: "b" if x[0] > 0 else "a",
        lambda x: bool(x[:1]),
        lambda x: any(x > 0),
        lambda x: all(x > 0),
    ],
    ids=range(19),
)
def test_what_python_asks_of_an_array(f):
    assert look(f) == f(X)
    assert type(look(f)) is type(f(X)) or isinstance(look(f), bool)


def test_truth_value_of_many_elements_is_an_error():
    with pytest.raises(ValueError, match="truth value"):
        grad(lambda x: np.sum(x) if x else 0.0)(X)


@pytest.mark.parametrize("f", [len, iter, list, lambda x: x[0]])
def test_0d_arrays_have_no_length_and_no_elements(f):
    with pytest.raises((TypeError, IndexError)):
        grad(lambda x: f(x) or x)(1.0)


def test_iteration():
    check(lambda x: sum(x))
    check(lambda x: [row * row[0] for row in x], M)
    check(lambda x: [a * b for a, b in x.T], M)
    check(lambda x: max(x) * min(x) + sorted(x)[1])
    check(lambda x: list(reversed(x)))
    check(lambda x: x[0] * [*x][2])


def test_round_with_decimals_is_constant():
    assert look(lambda x: round(x[0], 1)) == 0.6


CONVERSIONS = {
    "float": (lambda x: float(x[0]), "stop_gradient"),
    "complex": (lambda x: complex(x[0]), r"x \+ 0j"),
    "index": (lambda x: operator.index(x[0]), r"int\(x\)"),
    "range": (lambda x: range(x[0]), r"int\(x\)"),
    "list index": (lambda x: [1, 2][x[0]], r"int\(x\)"),
    "math.sqrt": (lambda x: math.sqrt(x[0]), r"np\.sqrt"),
    "math.exp": (lambda x: math.exp(x[0]), r"np\.exp"),
    "np.asarray": (np.asarray, r"np\.stack"),
    "np.array": (np.array, r"np\.stack"),
    "np.array of a list": (lambda x: np.array([x[0], x[1]]), r"np\.stack"),
    "np.array with dtype": (lambda x: np.array(x, dtype=np.float32), r"np\.stack"),
    "np.asarray of rows": (lambda x: np.asarray([x, x]), r"np\.stack"),
    "np.float64": (lambda x: np.float64(x[0]), "stop_gradient"),
    "plain write": (lambda x: np.zeros(3).__setitem__(slice(None), x), r"np\.zeros_like"),
    "pickle": (pickle.dumps, "stop_gradient"),
    "tobytes": (lambda x: x.tobytes(), "stop_gradient"),
    "tofile": (lambda x: x.tofile("never"), "stop_gradient"),
    "dump": (lambda x: x.dump("never"), "stop_gradient"),
}


@pytest.mark.parametrize("name", CONVERSIONS)
def test_conversions_that_lose_the_derivative_are_refused(name):
    convert, fix = CONVERSIONS[name]
    with pytest.raises(ConversionError, match=fix):
        grad(lambda x: convert(x) or np.sum(x))(X)


def test_pickle_of_a_view_is_refused_too():
    with pytest.raises(ConversionError, match="pickle"):
        grad(lambda x: pickle.dumps(x[1:]) and np.sum(x))(X)


def test_copies():
    check(lambda x: copy.copy(x) * x)
    check(lambda x: copy.deepcopy({"a": [x]})["a"][0] * x)
    check(lambda x: x.copy() * x)
    check(lambda x: np.copy(x) * x)
    check(lambda x: x.copy(order="F"), M)


def test_no_hash_as_ndarray_has_none():
    with pytest.raises(TypeError, match="unhashable"):
        look(hash)


def test_repr_names_the_values():
    text = look(repr)
    assert text.startswith("Array(")
    assert "-1.25" in text
    assert look(lambda x: repr(np.sum(x) * 0 + 1.5)).startswith("Array(1.5")


def test_repr_in_forward_mode_and_nested():
    seen = []
    jvp(lambda x: seen.append(repr(x)) or x, (X,), (X,))
    grad(lambda x: jvp(lambda y: seen.append(repr(y * x)) or np.sum(y), (x,), (x,))[1])(X)
    assert all("Array(" in text for text in seen)


def test_isinstance():
    assert look(lambda x: isinstance(x, Array) and isinstance(x[1:], Array))
    assert not isinstance(X, Array)


PARTS = {
    "itself": lambda x: x,
    "element": lambda x: x[0],
    "slice": lambda x: x[1:],
    "view": lambda x: x.reshape(3, 1).T,
    "view of one element": lambda x: x[:1].reshape(()),
    "read of everything": lambda x: x[0, ...],
    "result": np.sin,
    "sum": np.sum,
    "sum with axes": lambda x: np.sum(x, keepdims=True),
    "written to": lambda x: (y := x.copy(), y.__setitem__(0, 2.0))[0],
    "0-d": lambda x: np.zeros_like(x, shape=()),
}


CLASSES = (
    *(np.ndarray, np.generic, np.number, np.inexact, np.floating, np.float64, np.float32),
    *(np.integer, np.bool_, np.complexfloating, bool, int, float, complex, list),
    *(numbers.Number, numbers.Complex, numbers.Real, numbers.Integral),
)


def asked(x):
    """Queries before a branch: the classes of a value, and whether it is a number."""
    return [isinstance(x, kind) for kind in CLASSES] + [np.isscalar(x)]


@pytest.mark.parametrize("part", PARTS)
def test_isinstance_is_as_for_the_plain_value(part):
    f = PARTS[part]
    expected = asked(f(X))
    assert look(lambda x: asked(f(x))) == expected
    assert look(lambda x: look(lambda y: asked(f(y * x)))) == expected
    seen = []
    jvp(lambda x: seen.append(asked(f(x))) or x, (X,), (X,))
    assert seen == [expected]


@pytest.mark.parametrize("part", sorted(PARTS.keys() - {"0-d"}))  # which one example has none of
def test_isinstance_inside_vmap_is_as_for_one_example(part):
    f = PARTS[part]
    expected = asked(f(X))
    seen = []
    mapped = tapegrad.vmap(lambda x: seen.append(asked(f(x))) or x)
    mapped(np.stack([X, X]))
    tapegrad.vmap(grad(lambda x: seen.append(asked(f(x))) or np.sum(x)))(np.stack([X, X]))
    grad(lambda xs: np.sum(mapped(xs)))(np.stack([X, X]))
    assert seen == [expected] * 3


NUMBER_TYPES = [np.float64, np.float32, np.float16, np.longdouble, np.complex128, np.complex64]


@pytest.mark.parametrize("kind", NUMBER_TYPES)
def test_isinstance_of_a_number_is_as_for_the_number_in_every_transform(kind):
    number, seen = kind(0.5), []

    def f(x):
        seen.append(asked(x))
        return np.abs(x * x)

    grad(f)(number)
    jvp(f, (number,), (number,))
    tapegrad.linearize(f, number)
    tapegrad.vjp(f, number)
    grad(tapegrad.checkpoint(f))(number)
    tapegrad.vmap(f)(np.array([number]))
    tapegrad.vmap(tapegrad.vmap(f))(np.array([[number]]))
    tapegrad.vmap(grad(f))(np.array([number]))
    grad(lambda xs: np.sum(tapegrad.vmap(f)(xs)))(np.array([number]))
    jvp(grad(f), (number,), (number,))
    if kind not in (np.complex128, np.complex64):
        tapegrad.jacobian(f)(number)
        tapegrad.hessian(f)(number)
    assert len(seen) >= 10
    assert all(answers == asked(number) for answers in seen)


def test_isinstance_of_a_python_number_and_of_a_0d_array():
    seen = []
    grad(lambda x: seen.append(asked(x)) or x)(0.5)
    assert seen == [asked(np.float64(0.5))]
    assert look(asked, np.array(0.5)) == asked(np.array(0.5))


@pytest.mark.parametrize("kind", [np.int64, np.uint8, np.bool_])
def test_isinstance_of_a_whole_number_inside_vmap(kind):
    seen = []
    tapegrad.vmap(lambda x: seen.append(asked(x)) or x)(np.ones(3, kind))
    assert seen == [asked(kind(1))]


def scaled(x, factor):
    """Code in the manner of NumPy's and SciPy's own, with a branch for numbers."""
    if np.isscalar(factor):
        return x * factor
    return np.outer(factor, x)


def test_the_branch_for_numbers_runs_for_traced_numbers():
    assert grad(lambda s: np.sum(scaled(X, s)))(2.0) == np.sum(X)
    np.testing.assert_allclose(jvp(lambda s: scaled(X, s), (2.0,), (1.0,))[1], X)
    mapped = tapegrad.vmap(lambda s: scaled(X, s))(X)
    np.testing.assert_allclose(mapped, [scaled(X, s) for s in X])
    nested = tapegrad.vmap(grad(lambda s: np.sum(scaled(X, s) ** 2)))(X)
    np.testing.assert_allclose(nested, 2 * X * np.sum(X * X))


def test_the_type_stays_and_only_isinstance_answers_for_the_value():
    assert issubclass(look(type), Array)
    assert look(lambda x: x.__class__) is np.ndarray
    assert look(lambda x: issubclass(type(x), np.ndarray)) is False
    assert not look(lambda x: isinstance(x, (np.matrix, np.memmap, np.ma.MaskedArray)))


def test_a_leaked_value_still_says_what_it_is():
    assert isinstance(look(lambda x: x), np.ndarray)
    assert isinstance(look(lambda x: x[1:]), np.ndarray)


def test_dispatch_by_class_finds_what_is_meant_for_arrays():
    @functools.singledispatch
    def twice(_):
        raise AssertionError

    twice.register(np.ndarray, lambda x: 2 * x)
    np.testing.assert_array_equal(grad(lambda x: np.sum(twice(x)))(X), np.full(3, 2.0))


@pytest.mark.parametrize(
    "take",
    [
        np.asanyarray,
        np.ascontiguousarray,
        np.ma.asarray,
        np.ma.masked_invalid,
        np.asmatrix,
        np.bmat,
        np.rec.array,
        memoryview,
        bytes,
        np.ctypeslib.as_ctypes,
        np.from_dlpack,
        lambda x: np.testing.assert_allclose(x, X),
    ],
)
@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
def test_what_takes_an_ndarray_for_its_memory_raises(take):
    with pytest.raises((TypeError, AttributeError, ValueError, BufferError)):
        grad(lambda x: (take(x), np.sum(x))[1])(X)


# --- Attributes ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "shape",
        "ndim",
        "size",
        "dtype",
        "itemsize",
        "nbytes",
        "strides",
        "device",
    ],
)
@pytest.mark.parametrize(
    "x",
    [X, M, np.array(1.5), np.zeros((0, 2)), M.astype(np.float32)],
    ids=["1-d", "2-d", "0-d", "empty", "float32"],
)
def test_plain_attributes(name, x):
    assert look(operator.attrgetter(name), x) == getattr(x, name)


def test_flags():
    assert look(lambda x: x.flags.c_contiguous, M)
    assert not look(lambda x: x.T.flags.c_contiguous, M)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x.T,
        lambda x: x.mT,
        lambda x: x.real * x,
        lambda x: x.imag + x,
        lambda x: (x * 1j).imag,
        lambda x: (x * 1j).real + x,
        lambda x: np.stack(list(x.flat)),
        lambda x: x.flat[2] * x,
        lambda x: x.flat[1:3],
        lambda x: x.T.flat[1:3],
    ],
    ids=[
        "T",
        "mT",
        "real",
        "imag",
        "imag of complex",
        "real of complex",
        "flat",
        "flat[]",
        "flat[:]",
        "T.flat",
    ],
)
def test_differentiable_attributes(f):
    check(f, M)


@pytest.mark.parametrize("name", ["dims", "coords", "chunks", "foo", "__array_struct__", "iloc"])
def test_unknown_attributes_are_attribute_errors(name):
    assert not look(lambda x: hasattr(x, name))
    with pytest.raises(AttributeError, match=name):
        look(lambda x: getattr(x, name))


def test_new_attributes_cannot_be_set():
    with pytest.raises(AttributeError):
        look(lambda x: setattr(x, "foo", 1))


@pytest.mark.parametrize("name", ["data", "ctypes"])
def test_attributes_of_memory_are_attribute_errors_that_name_the_fix(name):
    assert not look(lambda x: hasattr(x, name))
    assert look(lambda x: getattr(x, name, 3)) == 3
    with pytest.raises(ConversionError, match=rf"x\.{name}: .*stop_gradient\(x\)\.{name}"):
        look(lambda x: getattr(x, name))


@pytest.mark.parametrize("name", ["data", "ctypes", "strides", "flags"])
def test_attributes_of_memory_inside_vmap(name):
    with pytest.raises(AttributeError, match=rf"x\.{name}: "):
        tapegrad.vmap(lambda x: getattr(x, name))(M)


@pytest.mark.parametrize("name", ["byteswap", "getfield", "setfield", "setflags"])
def test_methods_of_memory_are_refused(name):
    for transform in (look, lambda f: tapegrad.vmap(f)(M)):
        with pytest.raises(NotDifferentiableError, match=rf"x\.{name}\(\)"):
            transform(lambda x: getattr(x, name)(0, np.float64))


def ndarray_names():
    private = {"data", "ctypes"}  # of memory, not of values
    names = [n for n in dir(np.ndarray) if not n.startswith("_") and n not in private]
    return [n for n in names if hasattr(M, n)]  # some are there only to say what replaced them


@pytest.mark.skipif(INSTALLED not in KNOWN, reason="a NumPy that we have not decided on yet")
@pytest.mark.parametrize("name", ndarray_names())
def test_every_name_of_ndarray_is_there(name):
    assert look(lambda x: hasattr(x, name), M)


def test_reshaping_to_none_keeps_the_shape():
    assert look(lambda x: x.reshape(None).shape, M) == M.shape
    np.testing.assert_array_equal(tapegrad.vmap(lambda row: row.reshape(None))(M), M)


BITS = {
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<<": operator.lshift,
    ">>": operator.rshift,
    "~": lambda x, _: ~x,
}


@pytest.mark.parametrize("sign", BITS)
def test_operators_of_bits_are_those_of_numpy(sign):
    """A TypeError for floating numbers, with NumPy's words; integers of a vmap have them."""
    for x, y in ((M, 1), (M, M), (M, np.ones(M.shape, int))):
        with pytest.raises(TypeError, match="not supported for the input types"):
            look(lambda x, y=y: BITS[sign](x, y), x)
    with pytest.raises(TypeError, match="not supported for the input types"):
        look(lambda x: BITS[sign](1, x) if sign != "~" else ~x, M)
    n = np.arange(6).reshape(2, 3)
    found = tapegrad.vmap(lambda row: BITS[sign](row, 2))(n)
    np.testing.assert_array_equal(found, BITS[sign](n, 2))


# --- Methods ------------------------------------------------------------------------------------

METHODS = {
    "all": lambda x: x.all(),
    "any(0)": lambda x: x.any(0),
    "argmax": lambda x: x.argmax(),
    "argmax(1)": lambda x: x.argmax(1),
    "argmin": lambda x: x.argmin(axis=0),
    "argsort": lambda x: x.argsort(1),
    "argpartition": lambda x: x.argpartition(1),
    "nonzero": lambda x: x.nonzero(),
    "searchsorted": lambda x: np.sort(x[0]).searchsorted(0.5),
    "round": lambda x: x.round(1),
    "astype(int)": lambda x: x.astype(int),
    "astype(bool)": lambda x: x.astype(bool),
    "astype(complex)": lambda x: x.astype(complex),
    "astype('f8')": lambda x: x.astype("f8"),
    "astype(copy=False)": lambda x: x.astype(float, copy=False),
    "clip": lambda x: x.clip(-1, 1),
    "clip(min=)": lambda x: x.clip(min=0.1),
    "clip(max=)": lambda x: x.clip(max=0.1),
    "clip(None, 1)": lambda x: x.clip(None, 1.0),
    "clip by traced": lambda x: x.clip(x[0, 1], x[0, 0]),
    "compress": lambda x: x.compress([True, False, True], axis=1),
    "compress flat": lambda x: x.compress([True, False, True]),
    "conj": lambda x: (x + 1j * x).conj(),
    "conjugate": lambda x: x.conjugate(),
    "copy": lambda x: x.copy(),
    "cumprod": lambda x: x.cumprod(),
    "cumprod(1)": lambda x: x.cumprod(1),
    "cumsum": lambda x: x.cumsum(),
    "cumsum(0)": lambda x: x.cumsum(axis=0),
    "diagonal": lambda x: x.diagonal(),
    "diagonal(1)": lambda x: x.diagonal(1),
    "dot": lambda x: x.dot(x.T),
    "dot plain": lambda x: x.dot(np.ones(3)),
    "dot scalar": lambda x: x.dot(2.0),
    "flatten": lambda x: x.flatten(),
    "flatten F": lambda x: x.flatten("F"),
    "item": lambda x: x[:1, :1].item() * x,
    "item(i)": lambda x: x.item(4) * x,
    "item(i, j)": lambda x: x.item(1, 2) * x,
    "item((i, j))": lambda x: x.item((1, 2)) * x,
    "max": lambda x: x.max(),
    "max(0)": lambda x: x.max(0),
    "max keepdims": lambda x: x.max(1, keepdims=True),
    "max initial": lambda x: x.max(initial=0.2, axis=0),
    "min": lambda x: x.min(),
    "min where": lambda x: x.min(where=x > 0, initial=9.0),
    "mean": lambda x: x.mean(),
    "mean((0, 1))": lambda x: x.mean((0, 1)),
    "mean where": lambda x: x.mean(where=x > 0),
    "prod": lambda x: x.prod(),
    "prod(0)": lambda x: x.prod(0),
    "prod initial": lambda x: x.prod(initial=2.0),
    "ravel": lambda x: x.ravel(),
    "ravel F": lambda x: x.ravel("F"),
    "ravel order=": lambda x: x.T.ravel(order="C"),
    "repeat": lambda x: x.repeat(2),
    "repeat axis": lambda x: x.repeat([2, 0, 1], axis=1),
    "reshape": lambda x: x.reshape(3, 2),
    "reshape tuple": lambda x: x.reshape((3, 2)),
    "reshape -1": lambda x: x.reshape(-1),
    "reshape F": lambda x: x.reshape(3, 2, order="F"),
    "reshape ()": lambda x: x[0, :1].reshape(()),
    "squeeze": lambda x: x[None].squeeze(),
    "squeeze(0)": lambda x: x[None].squeeze(0),
    "std": lambda x: x.std(),
    "std(ddof)": lambda x: x.std(0, ddof=1),
    "sum": lambda x: x.sum(),
    "sum(0)": lambda x: x.sum(0),
    "sum(-1)": lambda x: x.sum(-1),
    "sum keepdims": lambda x: x.sum(axis=0, keepdims=True),
    "sum where": lambda x: x.sum(where=x > 0),
    "sum initial": lambda x: x.sum(initial=2.0),
    "sum((0, 1))": lambda x: x.sum((0, 1)),
    "sum dtype": lambda x: x.sum(dtype=complex),
    "swapaxes": lambda x: x.swapaxes(0, 1),
    "take": lambda x: x.take([0, 5, 5]),
    "take axis": lambda x: x.take([2, 0], axis=1),
    "take scalar": lambda x: x.take(1),
    "take wrap": lambda x: x.take([7], mode="wrap"),
    "tolist": lambda x: x[0].tolist(),
    "trace": lambda x: x.trace(),
    "trace(1)": lambda x: x.trace(1),
    "transpose": lambda x: x.transpose(),
    "transpose(1, 0)": lambda x: x.transpose(1, 0),
    "transpose((1, 0))": lambda x: x.transpose((1, 0)),
    "transpose(array)": lambda x: x.transpose(np.array([1, 0])),
    "transpose of 0-d": lambda x: x.sum().transpose(()) + x[0, 0, None].transpose(0),
    "var": lambda x: x.var(),
    "var(1)": lambda x: x.var(1, ddof=1),
    "var keepdims": lambda x: x.var(0, keepdims=True),
    "view": lambda x: x.view(),
    "__copy__": lambda x: x.__copy__(),
}


@pytest.mark.parametrize("name", METHODS)
def test_method(name):
    if name == "tolist":
        gradient, result = traced_result(lambda x: np.stack(x[0].tolist()), M)
        np.testing.assert_array_equal(result, M[0])
        assert np.all(gradient[0] != 0)
        return
    check(METHODS[name], M)


def test_astype_to_a_smaller_dtype():
    gradient = grad(lambda x: np.sum(x.astype(np.float32) ** 2))(X)
    assert gradient.dtype == np.float64
    np.testing.assert_allclose(gradient, 2 * X, rtol=1e-6)
    seen = []
    grad(lambda x: seen.append(x.astype(np.float16).dtype) or np.sum(x))(X)
    assert seen == [np.dtype(np.float16)]
    with pytest.raises(TypeError, match="Cannot cast"):
        grad(lambda x: x.astype(np.float32, casting="safe"))(X)


def test_astype_complex_to_real_warns_or_takes_the_real_part():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gradient = grad(lambda x: np.sum((x * (1 + 2j)).astype(float)))(X)
    np.testing.assert_allclose(gradient, np.ones(3))


def test_view_with_a_dtype_is_refused():
    with pytest.raises(NotDifferentiableError, match="astype"):
        grad(lambda x: np.sum(x.view(np.int64)))(X)


def test_item_and_tolist_stay_traced():
    assert look(lambda x: isinstance(x[:1].item(), Array))
    assert look(lambda x: isinstance(x.tolist()[1], Array))
    with pytest.raises(ValueError, match="size 1"):
        look(lambda x: x.item())


ORDERED = {
    "x.reshape": lambda x, order: x.reshape((3, 2), order=order),
    "np.reshape": lambda x, order: np.reshape(x.T, -1, order),
    "np.ravel": lambda x, order: np.ravel(x[::-1], order),
    "x.ravel": lambda x, order: x.T.ravel(order),
    "x.flatten": lambda x, order: x.flatten(order),
    "np.copy": lambda x, order: np.copy(x, order).ravel("K"),
    "np.asarray": lambda x, order: np.asarray(x, order=order, like=x).ravel("K"),
}


@pytest.mark.parametrize(
    "order", ["f", b"F", b"f", b"C", np.str_("f"), np.str_("F"), np.str_("a")]
)
@pytest.mark.parametrize("name", ORDERED)
def test_every_spelling_of_an_order_is_meant_in_the_derivative_too(name, order):
    check(lambda x: ORDERED[name](x, order), M)


@pytest.mark.parametrize("order", ["Fo", "", b"", "\xe9", 1, ["F"]])
@pytest.mark.parametrize("name", ["x.reshape", "np.ravel", "x.flatten", "np.copy"])
def test_an_order_that_numpy_does_not_know_is_refused(name, order):
    for run in (lambda f: f(M), lambda f: look(f, M)):
        with pytest.raises((TypeError, ValueError)):
            run(lambda x: ORDERED[name](x, order))


def test_errors_of_methods_are_numpys():
    for f, error in [
        (lambda x: x.reshape(7), ValueError),
        (lambda x: x.sum(3), ValueError),
        (lambda x: x[9], IndexError),
        (lambda x: x["a"], IndexError),
        (lambda x: x[1.0], IndexError),
        (lambda x: x[0, 0], IndexError),
        (lambda x: x.transpose(1, 0), ValueError),
        (lambda x: x[None].transpose(0), ValueError),
        (lambda x: x.transpose(()), ValueError),
        (lambda x: x[:1].reshape(), TypeError),
        (lambda x: x.argmax(axis=5), ValueError),
        (lambda x: x + np.ones(4), ValueError),
        (lambda x: x.sum(nonsense=1), TypeError),
        (lambda x: np.sum(x, 0, None, None, 0, 0, 0, 0), TypeError),
        (lambda x: x[[5]], IndexError),
        (lambda x: x[np.ones(4, bool)], IndexError),
    ]:
        with pytest.raises(error):
            f(X)
        with pytest.raises(error):
            look(f)


# --- Indexing -----------------------------------------------------------------------------------

INDICES = {
    "int": 1,
    "negative": -1,
    "np.int64": np.int64(1),
    "slice": slice(0, 1),
    "step": slice(None, None, -1),
    "tuple": (1, 2),
    "mixed": (0, slice(1, None)),
    "ellipsis": Ellipsis,
    "(..., 0)": (Ellipsis, 0),
    "None": None,
    "(:, None)": (slice(None), None),
    "()": (),
    "list": [1, 0, 1],
    "empty list": [],
    "array": np.array([0, 1, 1]),
    "0-d index": np.array(1),
    "2-d array": np.array([[0, 1], [1, 1]]),
    "(list, list)": ([0, 1], [2, 0]),
    "(slice, list)": (slice(None), [2, 0, 2]),
    "(list, slice)": ([1, 1], slice(None, 2)),
    "(int, list)": (1, [0, 0]),
    "boolean": M > 0,
    "boolean axis": np.array([True, False]),
    "boolean list": [False, True],
    "(slice, boolean)": (slice(None), np.array([True, False, True])),
    "True": True,
    "False": False,
    "ix_": np.ix_([1, 0], [0, 2]),
    "nonzero": (M > 0).nonzero(),
    "out of order": ([0], slice(None), None),
    "uint8": np.array([1, 0], np.uint8),
}


@pytest.mark.parametrize("name", INDICES)
def test_index(name):
    check(lambda x: x[INDICES[name]] * 2, M)


def test_index_by_what_the_program_computed():
    check(lambda x: x[x.argmax()] * x)
    check(lambda x: x[np.argsort(x)])
    check(lambda x: x[x > 0])
    check(lambda x: x[np.abs(x) > 1] * x[0])
    check(lambda x: np.array([10.0, 20.0, 30.0])[x > 0] * x[x > 0])


def test_a_traced_value_is_no_index():
    for f in (lambda x: x[x[0]], lambda x: X[x]):
        with pytest.raises((IndexError, TypeError)):
            look(f)


@given(st.integers(-4, 3), st.integers(-4, 4), st.sampled_from([-2, -1, 1, 2, None]))
def test_any_slice(start, stop, stride):
    x = np.linspace(-1, 1, 4)
    part = slice(start, stop, stride)
    gradient = grad(lambda x: np.sum(x[part] * np.arange(len(x[part])) ** 2) + 0 * x[0])(x)
    expected = np.zeros(4)
    expected[part] = np.arange(len(expected[part])) ** 2
    np.testing.assert_array_equal(gradient, expected)


# --- ufuncs: keywords and methods ---------------------------------------------------------------

KEYWORDS = {
    "dtype complex": lambda x: np.multiply(x, 2.0, dtype=complex),
    "casting": lambda x: np.add(x, 1.0, casting="same_kind"),
    "order": lambda x: np.add(x, 1.0, order="F"),
    "subok": lambda x: np.add(x, 1.0, subok=False),
    "all": lambda x: np.add(x, 1.0, dtype=float, casting="no", order="K"),
    "constant": lambda x: np.isfinite(x, where=True),
}


@pytest.mark.parametrize("name", KEYWORDS)
def test_ufunc_keywords(name):
    check(KEYWORDS[name])


def test_where_with_out_leaves_the_rest():
    mask = np.array([True, False, True])

    def f(x):
        out = x * x
        np.exp(x, out=out, where=mask)
        return out

    check(f)


def test_where_computes_nothing_elsewhere():
    # No warning, no infinity from the places left out.
    def f(x):
        out = np.zeros_like(x)
        np.log(x, out=out, where=x > 0)
        return np.sum(out)

    np.testing.assert_array_equal(grad(f)(np.array([0.0, 2.0, -1.0])), [0.0, 0.5, 0.0])


def test_dtype_of_a_ufunc():
    seen = []
    grad(lambda x: seen.append(np.add(x, 1.0, dtype=np.float32).dtype) or np.sum(x))(X)
    assert seen == [np.dtype(np.float32)]


UFUNCS = {
    "add": np.add,
    "multiply": np.multiply,
    "subtract": np.subtract,
    "divide": np.divide,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "logaddexp": np.logaddexp,
    "hypot": np.hypot,
    "fmax": np.fmax,
}
WAYS = {
    "reduce": lambda u, x: u.reduce(x),
    "reduce(1)": lambda u, x: u.reduce(x, axis=1),
    "reduce keepdims": lambda u, x: u.reduce(x, axis=-1, keepdims=True),
    "accumulate": lambda u, x: u.accumulate(x),
    "accumulate(1)": lambda u, x: u.accumulate(x, axis=1),
    "reduceat": lambda u, x: u.reduceat(x, [0, 2], axis=1),
    "reduceat falling": lambda u, x: u.reduceat(x, [2, 0, 1, 1], axis=1),
    "outer": lambda u, x: u.outer(x[0], x),
    "outer left": lambda u, x: u.outer(x, [0.3, 1.2]),
    "outer right": lambda u, x: u.outer(np.array([0.3, 1.2]), x),
    "outer 0-d": lambda u, x: u.outer(x, 0.7),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", UFUNCS)
def test_ufunc_method(name, way):
    check(lambda x: WAYS[way](UFUNCS[name], x), M)


@pytest.mark.parametrize("way", [way for way in WAYS if "reduce(" not in way])
def test_methods_of_ufuncs_without_partials_go_step_by_step(way, monkeypatch):
    """As of SciPy's ufuncs, and a program's own, whose rules do not tell partials."""
    monkeypatch.setattr(ufunc_methods, "has_partials", lambda ufunc: False)
    for ufunc in (np.hypot, np.subtract):
        check(lambda x, ufunc=ufunc: WAYS[way](ufunc, x), M)
        check(lambda x, ufunc=ufunc: WAYS[way](ufunc, x), M[:, :2] @ M)


@pytest.mark.parametrize("ufunc", [np.add, np.multiply])
def test_reduce_over_axes_and_with_options(ufunc):
    check(lambda x: ufunc.reduce(x, axis=None), M)
    check(lambda x: ufunc.reduce(x, axis=(0, 1)), M)
    check(lambda x: ufunc.reduce(x, axis=0, initial=2.0), M)
    check(lambda x: ufunc.reduce(x, axis=1, where=x > 0), M)
    check(lambda x: ufunc.reduce(x, 0, None, None, True), M)


def test_maximum_reduce_with_options():
    check(lambda x: np.maximum.reduce(x, axis=None), M)
    check(lambda x: np.maximum.reduce(x, axis=1, where=x > 0, initial=-1.0), M)
    check(lambda x: np.subtract.reduce(x, axis=0, initial=1.0), M)


def test_methods_of_constant_ufuncs_are_plain():
    check(lambda x: np.logical_and.reduce(x > 0), M)
    check(lambda x: np.less.outer(x, x))
    check(lambda x: np.logical_or.reduce(x))


@pytest.mark.parametrize("ufunc", [np.logaddexp, np.hypot])
def test_reductions_without_a_rule_go_step_by_step(ufunc):
    check(lambda x: ufunc.reduce(x, axis=(0, 1)), M)
    check(lambda x: ufunc.reduce(x, axis=()), M)
    check(lambda x: ufunc.reduce(x, axis=None, keepdims=True), M)
    check(lambda x: ufunc.reduce(x, axis=1, where=x > 0), M)
    check(lambda x: ufunc.reduce(x, axis=0, initial=None), M)


def test_one_element_is_itself_or_combined_with_the_start():
    check(lambda x: np.hypot.reduce(-x[:1]))
    check(lambda x: np.hypot.reduce(-x[:1], initial=None))
    check(lambda x: np.subtract.reduce(x[0], axis=None))
    check(lambda x: np.hypot.reduce(x[:0], axis=0), M)


def test_what_a_constant_reduction_starts_with_is_not_constant():
    check(lambda x: np.floor_divide.reduce(x[:1]))
    check(lambda x: np.floor_divide.accumulate(x, axis=1), M)
    check(lambda x: np.floor_divide.reduceat(x, [0, 2, 1]))


def test_methods_with_bad_arguments_raise_numpys_errors():
    with pytest.raises(ValueError, match="does not have an identity"):
        look(lambda x: np.subtract.reduce(x, axis=0, where=x > 0), M)
    with pytest.raises(ValueError, match="not reorderable"):
        look(lambda x: np.subtract.reduce(x, axis=(0, 1)), M)
    with pytest.raises(ValueError, match="no identity"):
        look(lambda x: np.subtract.reduce(x[:0]))


@pytest.mark.parametrize("reduce", [np.sum, np.max, np.add.reduce, np.hypot.reduce])
def test_a_traced_condition_of_a_plain_array_is_refused(reduce):
    with pytest.raises(NotDifferentiableError, match="not differentiable by its argument 'where'"):
        look(lambda x: reduce(M, where=x[0], initial=0.0))


def test_out_of_a_ufunc_may_be_larger_than_its_inputs():
    def f(x):
        out = np.zeros_like(x)
        np.multiply(x[0], 2.0, out=out)
        np.isnan(x[0], out=out[1])
        return out

    check(f, M)
    check(lambda x: np.modf(x[0], np.zeros_like(x)), M)


def test_core_dimensions_may_be_any_axes():
    check(lambda x: np.matmul(x, x, axes=[(0, 1), (1, 0), (1, 0)]), M)
    check(lambda x: np.vecdot(x, 2 * x, axis=0, keepdims=True), M)
    check(lambda x: np.vecdot(x, x, keepdims=True), M)


# --- __array_function__ -------------------------------------------------------------------------

CREATION = {
    "zeros": lambda x: np.zeros((2, 3), like=x),
    "ones": lambda x: np.ones(3, like=x),
    "full": lambda x: np.full((2, 3), 1.5, like=x),
    "eye": lambda x: np.eye(3, like=x),
    "identity": lambda x: np.identity(3, like=x),
    "arange": lambda x: np.arange(3.0, like=x),
    "tri": lambda x: np.tri(3, like=x),
    "array": lambda x: np.array([1.0, 2.0, 3.0], like=x),
    "asarray": lambda x: np.asarray([1.0, 2.0, 3.0], like=x),
    "zeros_like": np.zeros_like,
    "ones_like": np.ones_like,
    "full_like": lambda x: np.full_like(x, 2.0),
    "zeros_like shape": lambda x: np.zeros_like(x, shape=(2, 3)),
    "zeros_like dtype": lambda x: np.zeros_like(x, dtype=complex),
    "zeros int": lambda x: np.zeros(3, int, like=x),
}


@pytest.mark.parametrize("name", CREATION)
def test_creation_beside_a_traced_array(name):
    check(lambda x: CREATION[name](x) * x[0])
    check(CREATION[name])


def test_creation_from_traced_parts():
    check(lambda x: np.full_like(x, x[1]))
    check(lambda x: np.array([x[0], 2 * x[1], 1.0], like=x) * x)
    check(lambda x: np.asarray([x, x * x], like=x))


LISTS = {
    "stack": lambda x: np.stack([x[0], x[1] * x[2]]),
    "vstack": lambda x: np.vstack([x, x * x]),
    "hstack": lambda x: np.hstack([x, x[0] * x]),
    "concatenate": lambda x: np.concatenate([x, x[:1]]),
    "concatenate plain": lambda x: np.concatenate([X, x]),
    "concatenate list": lambda x: np.concatenate([x, [1.0, 2.0]]),
    "concatenate list first": lambda x: np.concatenate([[1.0, 2.0], x]),
    "concatenate lists": lambda x: np.concatenate([[x[0], x[1]], [1.0, 2.0], x]),
    "concatenate None": lambda x: np.concatenate([x, np.stack([x, x])], axis=None),
    "dstack": lambda x: np.dstack([x, x]),
    "column_stack": lambda x: np.column_stack([x, x * 2]),
    "block": lambda x: np.block([[x, x], [1.0 * X, x]]),
    "stack tuple": lambda x: np.stack((x, x), axis=1),
    "stack with numbers": lambda x: np.stack([x[0], 1.0, x[2]]),
    "hstack with numbers": lambda x: np.hstack([x[0], 1.0, x]),
    "maximum": lambda x: np.maximum(x[:2], [x[2], 0.1]),
    "where": lambda x: np.where([True, False, True], x, [0.0, x[0], 1.0]),
    "add": lambda x: [*x, x[0], 1.0, 2.0],
    "dot": lambda x: np.dot(x, [x[0], 1.0, 2.0]),
    "einsum": lambda x: np.einsum("i,i->", x, [1.0, 2.0, 3.0]),
    "append": lambda x: np.append(x, x[0]),
    "append list": lambda x: np.append(x, [1.0, 2.0]),
}


@pytest.mark.parametrize("name", LISTS)
def test_lists_of_traced_values(name):
    check(LISTS[name])


@pytest.mark.parametrize(
    "f",
    [
        np.mean,
        np.std,
        np.sum,
        np.max,
        np.linalg.norm,
        np.sin,
    ],
    ids=["mean", "std", "sum", "max", "norm", "sin"],
)
def test_lists_in_functions_that_numpy_does_not_hand_over_name_the_fix(f):
    # NumPy turns a bare list into an array before anyone else can see it.
    with pytest.raises(ConversionError, match=r"np\.stack"):
        look(lambda x: f([x[0], x[1]]))


QUESTIONS = {
    "np.shape": np.shape,
    "np.ndim": np.ndim,
    "np.size": np.size,
    "np.size(1)": lambda x: np.size(x, 1),
    "iscomplexobj": np.iscomplexobj,
    "isrealobj": np.isrealobj,
    "result_type": lambda x: np.result_type(x, np.float32),
    "array_equal": lambda x: np.array_equal(x, x),
    "allclose": lambda x: np.allclose(x, x + 1e-12),
    "isclose": lambda x: np.isclose(x, M),
    "isnan": np.isnan,
    "argmax": np.argmax,
    "argsort": np.argsort,
    "floor": np.floor,
    "rint": np.rint,
    "round": lambda x: np.round(x, 1),
    "nonzero": np.nonzero,
    "where": lambda x: np.where(x > 0),
    "searchsorted": lambda x: np.searchsorted(X, x[0]),
    "any": np.any,
    "count_nonzero": np.count_nonzero,
    "digitize": lambda x: np.digitize(x, [0.0, 1.0]),
    "array2string": np.array2string,
    "isin": lambda x: np.isin(x, [0.6]),
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_questions_have_plain_answers(name):
    answer = look(lambda x: QUESTIONS[name](x), M)
    assert not isinstance(answer, Array)
    assert_same(answer, QUESTIONS[name](M))


@pytest.mark.parametrize(
    ("f", "name"),
    [
        (np.busday_count, "np.busday_count"),
        (np.gcd, "np.gcd"),
        (np.invert, "np.invert"),
    ],
)
def test_functions_without_a_rule_say_so(f, name):
    arguments = 1 if f is np.invert else 2
    with pytest.raises((NotDifferentiableError, TypeError), match=name.split(".")[1]):
        look(lambda x: f(*[x] * arguments))


def test_the_message_for_functions_without_a_rule_names_ways_out():
    unknown = np.frompyfunc(lambda a: a, 1, 1)
    with pytest.raises(NotDifferentiableError, match="no derivative rule") as caught:
        look(unknown)
    assert "tapegrad.primitive" in str(caught.value)
    assert "tapegrad.stop_gradient" in str(caught.value)


def test_the_output_warning_is_a_user_warning():
    assert issubclass(IndependentOutputWarning, UserWarning)
    assert issubclass(tapegrad.TapegradError, Exception)


@pytest.mark.parametrize("args", [(0, "stable"), (-1, "stable"), (-1, None, None)], ids=str)
def test_sorting_in_place_takes_its_kind_by_position(args):
    def ordered(x):
        y = x * 1.0
        y.sort(*args)
        y.partition(1, -1, "introselect")
        return y

    np.testing.assert_array_equal(tapegrad.vjp(ordered, M)[0], ordered(M))
    np.testing.assert_array_equal(tapegrad.vmap(ordered)(M[None]), ordered(M)[None])


@pytest.mark.skipif(not HAS_TOSTRING, reason="NumPy has no x.tostring()")
def test_tostring_is_refused_as_tobytes_is():
    with pytest.raises(ConversionError, match=r"x\.tobytes\(\)"):
        look(lambda x: x.tostring(), M)


def test_no_public_attribute_detaches():
    """`p.value if hasattr(p, "value") else p`, as other libraries' wrappers are unwrapped."""

    def look(x):
        for part in (x, x[1:], x[0], np.reshape(x, (1, 3)), (x * 1j).real, np.sum(x)):
            own = {name for name in dir(type(part)) if not hasattr(np.ndarray, name)}
            for name in own:
                if not name.startswith("_"):
                    found = getattr(part, name, None)
                    kind = type(found)  # a traced array may show another one
                    assert not issubclass(kind, (np.ndarray, np.generic, float)), name
            for name in ("value", "val", "values", "item_", "numpy", "detach", "magnitude"):
                assert not hasattr(part, name), name
        return np.sum(x)

    for transform in (grad, tapegrad.vmap, lambda f: tapegrad.vmap(grad(f))):
        transform(look)(np.ones((3, 3)) if transform is not grad else np.ones(3))
