"""Writes to traced arrays and views of them: NumPy's meaning, and the right derivatives."""

from __future__ import annotations

import array
import operator

import numpy as np
import pytest
from draws import draws
from hypothesis import given
from hypothesis import strategies as st
from numpy.lib.stride_tricks import sliding_window_view

from tapegrad import (
    ConversionError,
    NotDifferentiableError,
    grad,
    hessian,
    hvp,
    jacfwd,
    jacobian,
    jacrev,
    jvp,
    linearize,
    stop_gradient,
    vjp,
    vmap,
)
from tapegrad.testing import check_grads

X = np.array([0.6, -1.25, 1.9])
STEP = 1e-6


def weighted(y):
    """A scalar whose gradient tells the elements of y apart."""
    weights = np.cos(np.arange(y.size)).reshape(y.shape)
    return np.sum(np.sin(y) * weights)


def differences(f, x):
    """The gradient of a scalar function of an array, by central differences."""
    slopes = np.empty(x.shape)
    for i in np.ndindex(x.shape):
        step = np.zeros(x.shape)
        step[i] = STEP
        slopes[i] = (f(x + step) - f(x - step)) / (2 * STEP)
    return slopes


def check(program, x=X):
    """Value as NumPy's own, first derivatives as differences, second ones as each other."""
    values = []

    def scalar(x):
        y = program(x)
        values.append(stop_gradient(y))
        return weighted(y)

    expected = program(x.copy())
    gradient = grad(scalar)(x)
    np.testing.assert_array_equal(values[0], expected)
    assert np.asarray(values[0]).dtype == np.asarray(expected).dtype
    np.testing.assert_allclose(gradient, differences(lambda x: weighted(program(x)), x), atol=1e-8)
    np.testing.assert_allclose(jacfwd(scalar)(x), gradient, rtol=1e-12, atol=1e-14)
    pushed = np.array(
        [jvp(scalar, (x,), (e.reshape(x.shape),))[1] for e in np.eye(x.size)]
    ).reshape(x.shape)
    np.testing.assert_allclose(pushed, gradient, rtol=1e-12, atol=1e-14)
    check_second(scalar, x)


def check_second(scalar, x):
    v = np.linspace(0.5, 1.5, x.size).reshape(x.shape)
    step = STEP * v
    slope = grad(scalar)
    expected = (slope(x + step) - slope(x - step)) / (2 * STEP)
    products = {
        "hvp": hvp(scalar, (x,), (v,)),
        "grad of grad": grad(lambda x: np.sum(slope(x) * v))(x),
        "grad of jvp": grad(lambda x: jvp(scalar, (x,), (v,))[1])(x),
        "grad of pushforward": grad(lambda x: linearize(scalar, x)[1](v))(x),
    }
    for name, product in products.items():
        np.testing.assert_allclose(product, expected, rtol=1e-5, atol=1e-7, err_msg=name)


# --- Writes at an index -------------------------------------------------------------------------

MASK = np.array([True, False, True])
WRITES = {
    "integer": lambda y, x: y.__setitem__(0, x[1] * x[2]),
    "negative integer": lambda y, x: y.__setitem__(-1, x[0]),
    "numpy integer": lambda y, x: y.__setitem__(np.int64(1), x[0]),
    "constant": lambda y, x: y.__setitem__(1, 3.0),
    "plain array": lambda y, x: y.__setitem__(slice(1, None), np.array([1.0, 2.0])),
    "integer constant": lambda y, x: y.__setitem__(1, 3),
    "slice": lambda y, x: y.__setitem__(slice(0, 2), x[1:] * x[0]),
    "reversed slice": lambda y, x: y.__setitem__(slice(None, None, -1), x * x),
    "stepped slice": lambda y, x: y.__setitem__(slice(None, None, 2), x[:2]),
    "empty slice": lambda y, x: y.__setitem__(slice(1, 1), 5.0),
    "all": lambda y, x: y.__setitem__(slice(None), x[::-1]),
    "ellipsis": lambda y, x: y.__setitem__(Ellipsis, x * x),
    "empty tuple": lambda y, x: y.__setitem__((), x * x),
    "integer and ellipsis": lambda y, x: y.__setitem__((0, Ellipsis), x[2]),
    "new axis": lambda y, x: y.__setitem__((None, slice(None)), (x * x).reshape(1, 3)),
    "scalar to all": lambda y, x: y.__setitem__(slice(None), x[1]),
    "list": lambda y, x: y.__setitem__([2, 0], x[:2] * 2),
    "array": lambda y, x: y.__setitem__(np.array([2, 0]), x[0]),
    "duplicates": lambda y, x: y.__setitem__([0, 0, 1], x * 2),
    "boolean": lambda y, x: y.__setitem__(MASK, x[1:] * x[0]),
    "boolean, scalar": lambda y, x: y.__setitem__(MASK, x[1]),
    "boolean of a comparison": lambda y, x: y.__setitem__(y > 0, x[1]),
    "nothing chosen": lambda y, x: y.__setitem__(y > 100, x[1]),
    "True": lambda y, x: y.__setitem__(True, x * x),
    "more axes than the place": lambda y, x: y.__setitem__(slice(None), (x * x).reshape(1, 1, 3)),
    "list of traced values": lambda y, x: y.__setitem__(slice(None), [x[0], 1.0, x[0] * x[1]]),
    "its own reverse": lambda y, x: y.__setitem__(slice(None), y[::-1]),
    "its own shift": lambda y, x: y.__setitem__(slice(1, None), y[:-1]),
    "product in place at an index": lambda y, x: operator.setitem(y, 1, y[1] * x[0]),
    "fill": lambda y, x: y.fill(x[0]),
    "sort": lambda y, x: y.sort(),
    "partition": lambda y, x: y.partition(1),
    "put": lambda y, x: y.put([0, 2], x[1:]),
    "np.put, duplicates": lambda y, x: np.put(y, [0, 0], x[1:]),
    "flat": lambda y, x: y.flat.__setitem__(1, x[0]),
    "np.copyto": lambda y, x: np.copyto(y, x * x),
    "np.copyto where": lambda y, x: np.copyto(y, x * x, where=MASK),
    "np.putmask": lambda y, x: np.putmask(y, MASK, x * x),
    "np.place": lambda y, x: np.place(y, MASK, x[1:] * x[0]),
}


@pytest.mark.parametrize("write", WRITES)
def test_write(write):
    def program(x):
        y = x * 1.5
        WRITES[write](y, x)
        return y * x

    check(program)


@pytest.mark.parametrize("write", WRITES)
def test_write_to_a_view_reaches_the_whole(write):
    def program(x):
        y = np.stack([x, x * x])
        WRITES[write](y[1], x)
        return y * x

    check(program)


@pytest.mark.parametrize("write", WRITES)
def test_write_to_the_input(write):
    # The caller's array is not touched.
    def scalar(x):
        z = x * 2.0
        WRITES[write](x, z)
        return weighted(x * z)

    x = X.copy()
    gradient = grad(scalar)(x)
    np.testing.assert_array_equal(x, X)
    expected = differences(lambda x: float(scalar(x.copy())), x)
    np.testing.assert_allclose(gradient, expected, atol=1e-8)


MATRIX = np.linspace(-1, 1.6, 6).reshape(2, 3)
MATRIX_WRITES = {
    "row": lambda y, x: y.__setitem__(0, x[1] * x[0]),
    "column": lambda y, x: y.__setitem__((slice(None), 0), x[0, :2]),
    "element": lambda y, x: y.__setitem__((1, 2), x[0, 0]),
    "row of a list": lambda y, x: y.__setitem__((1, [0, 2]), x[0, :2]),
    "outer lists": lambda y, x: y.__setitem__(([0, 1], [0, 2]), x[0, :2]),
    "duplicate places": lambda y, x: y.__setitem__(([0, 0], [1, 1]), x[0, :2]),
    "duplicate rows": lambda y, x: y.__setitem__([0, 0], x),
    "np.ix_": lambda y, x: y.__setitem__(np.ix_([1, 0], [0, 2]), x[:, :2] * 2),
    "boolean": lambda y, x: y.__setitem__(y > 0, x[0, 1]),
    "boolean columns": lambda y, x: y.__setitem__((slice(None), MASK), x[:, :2]),
    "boolean rows": lambda y, x: y.__setitem__(np.array([True, False]), x[1] * 2),
    "lists apart": lambda y, x: y[None].__setitem__((0, slice(None), [0, 1]), x[:, 1:]),
    "broadcast row": lambda y, x: y.__setitem__(Ellipsis, x[0] * x[1]),
    "broadcast column": lambda y, x: y.__setitem__(Ellipsis, x[:, :1]),
    "diagonal": lambda y, x: np.fill_diagonal(y, x[0, 1]),
    "sort axis 0": lambda y, x: y.sort(axis=0),
    "x[i][j]": lambda y, x: y[1].__setitem__(0, x[0, 0]),
}


@pytest.mark.parametrize("write", MATRIX_WRITES)
def test_write_to_a_matrix(write):
    def program(x):
        y = x * 1.5 + 0.1
        MATRIX_WRITES[write](y, x)
        return y * x

    check(program, MATRIX)


# --- In-place operators and out= ----------------------------------------------------------------

IN_PLACE = {
    "+=": operator.iadd,
    "-=": operator.isub,
    "*=": operator.imul,
    "/=": operator.itruediv,
    "**=": operator.ipow,
    "%=": operator.imod,
    "//=": operator.ifloordiv,
}
OPERANDS = {
    "traced": lambda x: np.tanh(x) + 1.5,
    "element": lambda x: x[1:2] * x[1:2] + 0.3,
    "0-d": lambda x: np.exp(x[0]),
    "plain": lambda x: np.array([0.7, 1.3, 2.1]),
    "float": lambda x: 1.7,
    "int": lambda x: 2,
    "list": lambda x: [0.7, 1.3, 2.1],
    "numpy scalar": lambda x: np.float64(1.7),
}


@pytest.mark.parametrize("operand", OPERANDS)
@pytest.mark.parametrize("sign", IN_PLACE)
def test_in_place_operator(sign, operand):
    def program(x):
        y = np.exp(x) + 0.1
        same = y
        y = IN_PLACE[sign](y, OPERANDS[operand](x))
        assert y is same
        return y * x

    check(program)


@pytest.mark.parametrize("sign", IN_PLACE)
@pytest.mark.parametrize(
    "index",
    [0, slice(1, None), [0, 2], [0, 0], MASK, Ellipsis],
    ids=["integer", "slice", "list", "duplicates", "boolean", "ellipsis"],
)
def test_in_place_operator_at_an_index(sign, index):
    def program(x):
        y = np.exp(x) + 0.1
        y[index] = IN_PLACE[sign](y[index], 1.5 * np.exp(x[1]))
        return y * x

    check(program)


def test_matmul_in_place():
    def program(x):
        y = x.reshape(1, 3) * 2
        y @= np.outer(x, x) + np.eye(3)
        return y

    check(program)


@pytest.mark.parametrize("sign", sorted(IN_PLACE.keys() - {"//="}))
def test_a_plain_array_does_not_take_a_traced_value_in_place(sign):
    with pytest.raises((ConversionError, NotDifferentiableError), match=r"np\.zeros_like"):
        grad(lambda x: np.sum(IN_PLACE[sign](np.ones(3), x)))(X)


def test_broadcasting_to_a_larger_result_is_refused_in_place():
    with pytest.raises(ValueError, match="shape"):
        grad(lambda x: np.sum(operator.iadd(x * 1.0, np.ones((2, 3)))))(X)


def test_a_complex_result_does_not_fit_in_place():
    with pytest.raises(TypeError, match="complex"):
        grad(lambda x: np.sum(operator.iadd(x * 1.0, 1j)))(X)


OUT = {
    "unary": lambda y, x: np.exp(x, out=y),
    "unary, positional": lambda y, x: np.exp(x, y),
    "unary, tuple": lambda y, x: np.exp(x, out=(y,)),
    "on itself": lambda y, x: np.sin(y, out=y),
    "binary": lambda y, x: np.multiply(x, y, out=y),
    "binary, positional": lambda y, x: np.add(x, y, y),
    "view": lambda y, x: np.multiply(x[:2], x[1:], out=y[1:]),
    "where": lambda y, x: np.multiply(x, x, out=y, where=MASK),
    "sum": lambda y, x: np.sum(np.outer(x, x), axis=0, out=y),
    "cumsum": lambda y, x: np.cumsum(x * x, out=y),
    "method": lambda y, x: np.outer(x, x).sum(axis=1, out=y),
    "clip": lambda y, x: np.clip(x * x, 0.3, 3.0, out=y),
    "concatenate": lambda y, x: np.concatenate([x[:1] * 2, x[1:]], out=y),
    "stack": lambda y, x: np.stack([x[0], x[0] * x[1], x[2]], out=y),
    "matmul": lambda y, x: np.matmul(np.outer(x, x), x, out=y),
    "dot": lambda y, x: np.dot(np.outer(x, x), x, out=y),
    "maximum": lambda y, x: np.maximum(x, 0.7, out=y),
    "round": lambda y, x: np.round(x, out=y),
    "round, method": lambda y, x: x.round(0, y),
    "floor": lambda y, x: np.floor(x, out=y),
    "floor, view": lambda y, x: np.floor(x[:2], out=y[1:]),
    "reduce": lambda y, x: np.add.reduce(np.outer(x, x), out=y),
    "accumulate": lambda y, x: np.multiply.accumulate(x, out=y),
    "outer": lambda y, x: np.multiply.outer(x, x[:1], out=y.reshape(3, 1)),
    "take": lambda y, x: np.take(x * x, [2, 1, 1], out=y),
}


@pytest.mark.parametrize("call", OUT)
def test_out(call):
    def program(x):
        y = x * 1.5
        returned = OUT[call](y, x)
        assert returned is not None
        return y * x + returned.size

    check(program)


CONSTANT = {"round", "round, method", "floor", "floor, view"}  # plain results fit plain arrays


@pytest.mark.parametrize("call", sorted(OUT.keys() - CONSTANT - {"on itself"}))
def test_out_into_a_plain_array_is_refused(call):
    with pytest.raises((NotDifferentiableError, ConversionError), match=r"np\.zeros_like"):
        grad(lambda x: np.sum(x) + np.sum(OUT[call](np.ones(3), x)))(X)


def test_out_of_two_results():
    def program(x):
        whole, fraction = np.zeros_like(x), np.zeros_like(x)
        np.modf(x * x + 0.3, out=(fraction, whole))
        return fraction * x + whole

    check(program)


AT = {
    "add": lambda y, x: np.add.at(y, [0, 0, 1], x),
    "add, one value": lambda y, x: np.add.at(y, [0, 0, 1], x[2]),
    "add, constant": lambda y, x: np.add.at(y, [0, 0, 1], 1.5),
    "add, no duplicates": lambda y, x: np.add.at(y, [2, 0, 1], x * x),
    "add, boolean": lambda y, x: np.add.at(y, MASK, x[1:]),
    "add, slice": lambda y, x: np.add.at(y, slice(0, 2), x[1:]),
    "add, integer": lambda y, x: np.add.at(y, 1, x[0]),
    "multiply": lambda y, x: np.multiply.at(y, [0, 0, 1], np.exp(x)),
    "subtract": lambda y, x: np.subtract.at(y, [1, 1], x[:2]),
    "divide": lambda y, x: np.divide.at(y, [1, 1], np.exp(x[:2])),
    "maximum": lambda y, x: np.maximum.at(y, [0, 0, 1], np.exp(x)),
    "negative": lambda y, x: np.negative.at(y, [0, 1]),
    "negative, duplicates": lambda y, x: np.negative.at(y, [0, 0, 1]),
    "sin, duplicates": lambda y, x: np.sin.at(y, [0, 0, 1]),
    "two-dimensional index": lambda y, x: np.add.at(
        y, np.array([[0, 0], [1, 0]]), np.outer(x[:2], x[1:])
    ),
    "empty": lambda y, x: np.add.at(y, np.array([], int), 1.0),
}


@pytest.mark.parametrize("call", AT)
def test_ufunc_at(call):
    def program(x):
        y = x * 1.5
        AT[call](y, x)
        return y * x

    check(program)


@pytest.mark.parametrize("ufunc", [np.add, np.maximum, np.power, np.hypot], ids=str)
@pytest.mark.parametrize("count", [3, 30])
def test_ufunc_at_refuses_what_numpy_refuses_with_its_words(ufunc, count):
    """Also at the bounds themselves, of rows that are changed as a whole or in their elements."""
    for index in ([count], [0, count], [-count - 1], [-1, count + 1], [count - 1, -count]):
        for positions in (index, np.array(index)):

            def program(x, index=positions):
                y = x * 1.5
                ufunc.at(y, index, 2.0)
                return y

            x, refused = np.ones(count), None
            try:
                value = program(x)
            except IndexError as error:
                refused = str(error)
            if refused is None:
                np.testing.assert_array_equal(vjp(program, x)[0], value)
                continue
            with pytest.raises(IndexError) as caught:
                vjp(program, x)
            assert str(caught.value) == refused


@pytest.mark.parametrize("index", [0, slice(1, None), (slice(None), 1), [1, 0]], ids=str)
@pytest.mark.parametrize("value", ["traced", "plain"])
@pytest.mark.parametrize("target", ["array", "view"])
def test_adding_a_part_is_adding_a_part(target, value, index):
    """`add_part`, by which replays accumulate, of all kinds of arrays that these make."""

    def program(x, *, once):
        y = x * 1.5
        part = y.T if target == "view" else y
        added = (x * x).T[index] if value == "traced" else 2.0
        if once:
            part.add_part(index, added)
        else:
            part[index] += added
        return y * x

    square = MATRIX[:, :2]
    found, pull = vjp(lambda x: program(x, once=True), square)
    expected, back = vjp(lambda x: program(x, once=False), square)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(pull(square), back(square))


def test_ufunc_at_in_a_matrix():
    def program(x):
        y = x * 1.5
        np.add.at(y, ([0, 0, 1], [1, 1, 2]), x[0])
        np.multiply.at(y, (slice(None), [0, 0]), np.exp(x[:, 1:]))
        return y * x

    check(program, MATRIX)


@pytest.mark.parametrize("call", ["add", "multiply", "add, slice"])
def test_ufunc_at_on_a_plain_array_is_refused(call):
    with pytest.raises(NotDifferentiableError, match=r"np\.zeros_like"):
        grad(lambda x: AT[call](np.ones(3), x) or np.sum(x))(X)


# --- Views --------------------------------------------------------------------------------------

VIEWS = {
    "slice": lambda y: y[1:],
    "reverse": lambda y: y[::-1],
    "row": lambda y: y[1],
    "column": lambda y: y[:, 1],
    "whole": lambda y: y[:],
    "new axis": lambda y: y[None],
    "ellipsis": lambda y: y[..., 0],
    "0-d": lambda y: y[1, 2, ...],
    "steps": lambda y: y[:, ::2],
    "reshape": lambda y: y.reshape(3, 2),
    "reshape -1": lambda y: y.reshape(-1),
    "np.reshape": lambda y: np.reshape(y, (6, 1)),
    "ravel": lambda y: y.ravel(),
    "T": lambda y: y.T,
    "mT": lambda y: y.mT,
    "transpose": lambda y: y.transpose(1, 0),
    "swapaxes": lambda y: y.swapaxes(0, 1),
    "moveaxis": lambda y: np.moveaxis(y, 0, 1),
    "rollaxis": lambda y: np.rollaxis(y, 1),
    "flip": lambda y: np.flip(y),
    "flip axis": lambda y: np.flip(y, 1),
    "fliplr": lambda y: np.fliplr(y),
    "flipud": lambda y: np.flipud(y),
    "rot90": lambda y: np.rot90(y),
    "squeeze": lambda y: np.squeeze(y[:1]),
    "expand_dims": lambda y: np.expand_dims(y, 1),
    "atleast_3d": lambda y: np.atleast_3d(y),
    "split": lambda y: np.split(y, 3, axis=1)[1],
    "view()": lambda y: y.view(),
    "T of a slice": lambda y: y[:, 1:].T,
    "slice of T": lambda y: y.T[1:, 0],
    "reshape of a slice": lambda y: y[:1].reshape(3),
    "slice of a slice": lambda y: y[1:][0][1:],
    "iteration": lambda y: list(y)[1],
    "reverse of reverse": lambda y: y[::-1, ::-1][::-1],
    "broadcast same": np.atleast_2d,
    "T of T": lambda y: y.T.T,
    "four turns": lambda y: np.rot90(np.rot90(np.rot90(np.rot90(y)))),
    "there and back": lambda y: y.reshape(-1).reshape(2, 3)[:, None].reshape(2, 3),
    "conj of real": lambda y: y.conj(),
    "real_if_close": np.real_if_close,
    "unstack": lambda y: np.unstack(y, axis=1)[1],
    "permute_dims": lambda y: np.permute_dims(y, (1, 0)),
    "matrix_transpose": np.matrix_transpose,
    "einsum diagonal": lambda y: np.einsum("ii->i", y[:, 1:]),
    "einsum diagonal by lists": lambda y: np.einsum(y.T[:2], [0, 0], [0]),
    "einsum diagonals": lambda y: np.einsum("...ii->i...", y[None, :, ::2]),
    "einsum transpose": lambda y: np.einsum("ij->ji", y),
    "einsum same": lambda y: np.einsum("ij", y),
    "windows": lambda y: sliding_window_view(y, 2, axis=1, writeable=True)[:, 0],
    "meshgrid": lambda y: np.meshgrid(y[0], y[1], copy=False, sparse=True)[1],
    # copies, where NumPy copies: writes must not reach y
    "copy": lambda y: y.copy(),
    "fancy": lambda y: y[[0, -1]],
    "boolean": lambda y: y[y > 0],
    "flatten": lambda y: y.flatten(),
    "flat.copy": lambda y: y.flat.copy(),
    "flat, slice": lambda y: y.flat[1:4],
    "flat, all": lambda y: y.flat[:],
    "ravel of T": lambda y: y.T.ravel(),
    "reshape of T": lambda y: y.T.reshape(6),
    "scalar": lambda y: y[0, 0] * np.ones(2),
    "roll": lambda y: np.roll(y, 1),
    "ravel F": lambda y: y.ravel("F"),
    "astype": lambda y: y.astype(float),
    "+": lambda y: +y,
    "take": lambda y: y.take([0, 1]),
    "np.array": lambda y: np.copy(y),
    "einsum sum": lambda y: np.einsum("ij->i", y),
    "np.conj": np.conj,
    "resize": lambda y: np.resize(y, (2, 3)),
    "tile": lambda y: np.tile(y, 1),
}
CHANGES = {
    "fill": lambda v, x: v.fill(x[0, 1] * x[1, 1]),
    "*=": lambda v, x: operator.imul(v, x[0, 1] * x[1, 1]),
    "out": lambda v, x: np.multiply(v, x[0, 0], out=v),
}


@pytest.mark.part(4)
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("view", VIEWS)
def test_views_and_copies_alias_as_in_numpy(view, change):
    def program(x):
        y = x * 1.5
        v = VIEWS[view](y)
        CHANGES[change](v, x)
        y *= 2
        y[0, 1] += x[1, 0]
        return np.concatenate([np.ravel(y), np.ravel(v)])  # a view sees later writes, a copy not

    check(program, MATRIX)


@pytest.mark.parametrize("view", VIEWS)
def test_what_is_a_view_in_numpy_is_one_here(view):
    """The values of all rows above, as the derivatives are looked at in one of four."""

    def program(x):
        y = x * 1.5
        VIEWS[view](y)[...] = 7.0
        return y

    np.testing.assert_array_equal(vjp(program, MATRIX)[0], program(MATRIX))


@pytest.mark.part(3)
@pytest.mark.parametrize("second", ["slice", "reverse", "T", "reshape -1", "fancy", "new axis"])
@pytest.mark.parametrize("first", ["slice", "T", "reverse", "steps", "ravel", "flip axis"])
def test_views_of_views(first, second):
    def program(x):
        y = x * 1.5
        v = VIEWS[first](y)
        w = VIEWS[second](v)
        w *= x[0, 0]
        v[...] = v * x[1, 1]
        w += 1
        return np.concatenate([np.ravel(y), np.ravel(v), np.ravel(w)])

    check(program, MATRIX)


@pytest.mark.parametrize("part", ["real", "imag"])
def test_assigning_a_part_of_a_complex_array(part):
    def program(x):
        z = x + 1j * x * x
        same = z
        setattr(z, part, getattr(z, part) * x + 1)
        return np.abs(same)

    check(program)


COMPONENT_WRITES = {
    "element": lambda z, x: operator.setitem(z.real, 0, x[1]),
    "slice": lambda z, x: operator.setitem(z.imag, slice(1, None), x[:2] * x[1]),
    "reversed": lambda z, x: operator.setitem(z[::-1].imag, slice(2), x[0]),
    "condition": lambda z, x: operator.setitem(z.imag, x > 0, 0),
    "positions": lambda z, x: operator.setitem(z.real, [2, 0, 2], x),
    "in place": lambda z, x: operator.imul(z.real, x),
    "twice": lambda z, x: operator.iadd(np.real(z)[1:][:1], np.imag(z)[2:] * x[0]),
    "out": lambda z, x: np.multiply(z.imag, x, out=z.imag),
    "reshaped": lambda z, x: operator.setitem(z.reshape(3, 1).T.imag, 0, x[::-1]),
    "of a constant": lambda z, x: operator.setitem(z.real, slice(None), 1.5),
    "component of a view of one": lambda z, x: operator.imul(z.real.real[1:].T, x[0]),
    "fill": lambda z, x: z.imag.fill(x[0]),
    "at": lambda z, x: np.add.at(z.real, [0, 0, 1], x),
}


@pytest.mark.parametrize("write", COMPONENT_WRITES)
def test_writing_through_a_part_of_a_complex_array(write):
    def program(x):
        z = x + 1j * x * x
        before = z.real
        COMPONENT_WRITES[write](z, x)
        z *= 1 + 0.5j
        return np.concatenate([np.abs(z), before])

    check(program)
    rows = np.stack([X, [0.3, -0.4, 0.7]])
    gradients = [grad(lambda x: weighted(program(x)))(row) for row in rows]
    together = grad(lambda rows: np.sum(vmap(lambda x: weighted(program(x)))(rows)))(rows)
    np.testing.assert_allclose(together, gradients, rtol=1e-12)
    apart = vmap(grad(lambda x: weighted(program(x))))(rows)
    np.testing.assert_allclose(apart, gradients, rtol=1e-12)
    np.testing.assert_array_equal(vmap(program)(rows), [program(row) for row in rows])


def test_a_component_of_complex_inputs():
    """z -> conj(z) by a write is not analytic: its cotangents are conjugates."""

    def mirrored(z):
        z = np.copy(z)
        z.imag *= -1
        return z

    z, g = np.array([1 + 2j, np.inf - 3j, -0.0 + 1j]), np.array([1j, 2.0, 3 + 1j])
    np.testing.assert_array_equal(vjp(mirrored, z)[0], np.conj(z))
    np.testing.assert_array_equal(vjp(mirrored, z)[1](g)[0], np.conj(g))
    np.testing.assert_array_equal(jvp(mirrored, (z,), (g,))[1], np.conj(g))


READ_ONLY = {
    "diagonal": lambda y: y.diagonal(),
    "diagonal, turned": lambda y: np.diagonal(y[None], 0, 1, 2).T,
    "np.diag": np.diag,
    "broadcast_to": lambda y: np.broadcast_to(y, (2, 2, 3)),
    "broadcast_to, turned": lambda y: np.broadcast_to(y, (2, 3)).T.T,
    "windows": lambda y: sliding_window_view(y, 2, axis=0),
    "imag of real": lambda y: y.imag,
}


@pytest.mark.parametrize("view", READ_ONLY)
@pytest.mark.parametrize(
    "transform",
    [
        grad,
        lambda f: lambda x: vmap(grad(f))(np.stack([x, x])),
        lambda f: lambda x: jvp(f, (x,), (x,)),
    ],
)
def test_views_that_numpy_makes_read_only(view, transform):
    def program(x):
        y = x * 1.5
        READ_ONLY[view](y)[...] = 1.0
        return np.sum(y)

    with pytest.raises(ValueError, match=r"read-only|cannot be written to"):
        program(MATRIX.copy())
    with pytest.raises(ValueError, match="cannot be written to"):
        transform(program)(MATRIX)


def test_the_real_part_of_a_real_array_is_the_array():
    def program(x):
        y = x * 2
        y.real[0] = x[1]
        y.real *= x
        return y

    check(program)


def test_complex_writes():
    def program(x):
        z = np.zeros(3, complex, like=x)
        z[0] = x[0]
        z[1:] = 1j * x[1:] * x[0]
        z += x
        return np.abs(z) ** 2

    check(program)


@pytest.mark.parametrize("rearranged", ["T", "reshape(3, 2)", "[:, ::-1]"])
def test_flat_writes_to_what_is_not_contiguous(rearranged):
    def program(x):
        y = x * 1.0
        v = eval(f"y.{rearranged}".replace(".[", "["))
        v.flat[1] = x[0, 0]
        v.flat[2:4] = x[1, :2]
        return y

    check(program, MATRIX)


def test_assignment_to_attributes_that_write():
    def program(x):
        y = x * 2
        y.flat = x.ravel() ** 2
        y.real = y * x
        return y

    check(program, MATRIX)


def test_swap_of_elements_and_of_rows():
    def program(x):
        y = x * 1.0
        y[0, 0], y[1, 2] = y[1, 2] * 2, y[0, 0]
        y[[0, 1]] = y[[1, 0]]
        return y

    check(program, MATRIX)


def test_a_read_element_is_not_changed_by_later_writes():
    def program(x):
        y = x * 1.0
        s = y[0]  # a NumPy scalar
        y[0] = x[2]
        y[1] = s * s
        return y

    check(program)


def test_names_bound_to_one_array_see_each_other():
    def program(x):
        y = x * 1.0
        z = y
        z += x
        z = z * 2
        z[0] = 5.0
        return np.concatenate([y, z])

    check(program)


def test_a_function_that_changes_its_argument():
    def scale(a, by):
        a *= by

    def program(x):
        y = x * 1.0
        scale(y[1:], x[0])
        scale(y, x[1])
        return y

    check(program)


# --- Loops --------------------------------------------------------------------------------------


def test_loop_that_fills_an_array():
    def program(x):
        y = np.zeros_like(x)
        for i in range(len(x)):
            y[i] = x[i] * y[i - 1] + x[0]
        return y

    check(program)


@pytest.mark.parametrize(
    "make",
    [
        lambda x: np.zeros_like(x),
        lambda x: np.empty_like(x),
        lambda x: np.ones_like(x),
        lambda x: np.zeros(3, like=x),
        lambda x: np.empty(3, like=x),
        lambda x: np.ones(3, like=x),
        lambda x: np.full(3, 2.0, like=x),
        lambda x: np.full_like(x, 2.0),
        lambda x: np.array([1.0, 2.0, 3.0], like=x),
        lambda x: 0 * x,
        lambda x: np.full_like(x, x[1]),
    ],
    ids=[
        "zeros_like",
        "empty_like",
        "ones_like",
        "zeros",
        "empty",
        "ones",
        "full",
        "full_like",
        "array",
        "0*x",
        "full_like traced",
    ],
)
def test_buffers_made_for_writing(make):
    def program(x):
        y = make(x)
        for i in range(3):
            y[i] = x[i] * x[0]
        y[1:] *= y[:-1]
        return y

    check(program)


def test_dynamic_programming_table():
    def program(x):
        table = np.zeros((4, 4), like=x)
        for i in range(1, 4):
            for j in range(1, 4):
                table[i, j] = np.logaddexp(table[i - 1, j], table[i, j - 1] + x[i - 1] * x[j - 1])
        return table

    check(program)


def test_explicit_time_steps_in_place():
    def program(x):
        u = x.copy()
        for _ in range(10):
            u[1:-1] += 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
            u[0] = u[-1]
        return u

    check(program, np.array([0.1, 0.5, -0.3, 0.8, 0.2]))


def test_gaussian_elimination_in_place():
    def program(x):
        a = np.eye(3) * 3 + np.outer(x, x) + 0 * x
        b = x * 1.0
        for i in range(3):
            pivot = a[i, i]
            a[i] /= pivot
            b[i] /= pivot
            for j in range(3):
                if j != i:
                    factor = a[j, i]
                    a[j] -= factor * a[i]
                    b[j] -= factor * b[i]
        return b

    check(program)
    np.testing.assert_allclose(program(X), np.linalg.solve(np.eye(3) * 3 + np.outer(X, X), X))


# --- Writes across nested transforms ------------------------------------------------------------


def test_an_inner_value_written_into_an_outer_constant():
    def outer(x):
        def inner(y):
            buffer = np.zeros_like(x)
            buffer[0] = y * y * x[0]
            buffer[1:] = x[1:] * y
            return np.sum(buffer * buffer)

        return grad(inner)(2.0)

    # sum = y**4 x0**2 + y**2 (x1**2 + x2**2); d/dy at 2
    np.testing.assert_allclose(grad(outer)(X), [64 * X[0], 8 * X[1], 8 * X[2]])
    np.testing.assert_allclose(jacfwd(outer)(X), [64 * X[0], 8 * X[1], 8 * X[2]])


def test_an_outer_value_written_into_an_inner_array():
    def outer(x):
        def inner(y):
            z = y * 1.0
            z[0] = x[0] * x[0]
            return np.sum(z * z * x)

        return np.sum(grad(inner)(X))

    np.testing.assert_allclose(grad(outer)(X), [0.0, 2 * X[1], 2 * X[2]])


MODES = {"grad": grad, "jacfwd": jacfwd, "jacrev": jacrev}


@pytest.mark.parametrize("outer", MODES)
@pytest.mark.parametrize("inner", MODES)
def test_writes_at_both_levels(outer, inner):
    def program(x):
        buffer = np.zeros_like(x)
        buffer[1] = x[0] * x[2]

        def f(y):
            z = buffer * y
            z[0] = y[1] * x[1]
            z[1:] += y[:2] * y[1:]
            return weighted(z)

        buffer[2] = weighted(MODES[inner](f)(x))
        return weighted(buffer)

    np.testing.assert_allclose(MODES[outer](program)(X), differences(program, X), atol=1e-8)


def test_a_gradient_may_be_written_to():
    def program(x):
        slope = grad(lambda y: np.sum(y**3))(x)
        slope[0] = x[1]
        slope *= x
        return slope

    check(program)


def test_writing_to_one_gradient_does_not_reach_another():
    def program(x):
        first, second = grad(lambda a, b: np.sum(np.sin(a + b)), (0, 1))(x, x)
        first *= x
        return first + second

    check(program)


def test_writing_to_an_inner_output_does_not_reach_its_pullback():
    def program(x):
        out, pullback = vjp(np.exp, x)
        out *= x
        return out + pullback(x)[0]

    check(program)


@pytest.mark.parametrize(
    "transform",
    [
        lambda f, x: vjp(f, x)[0],
        lambda f, x: jvp(f, (x,), (x,))[0],
        lambda f, x: linearize(f, x)[0],
    ],
    ids=["vjp", "jvp", "linearize"],
)
def test_inner_functions_may_change_their_argument(transform):
    def halve(y):
        y /= 2
        y[0] = 1.0
        return y * y

    def program(x):
        z = x * 3
        return transform(halve, z) + z

    check(program)


def test_jacobian_of_a_program_of_writes():
    def program(x):
        y = np.zeros((2, 3), like=x)
        y[0] = x * x
        y[1, ::-1] = np.exp(x)
        y[:, 1] *= x[0]
        return y

    expected = np.stack([differences(lambda x, i=i: program(x).flat[i], X) for i in range(6)])
    for mode in ("forward", "reverse"):
        np.testing.assert_allclose(
            jacobian(program, mode=mode)(X).reshape(6, 3), expected, atol=1e-8
        )


def test_hessian_of_a_program_of_writes():
    def program(x):
        y = np.zeros_like(x)
        y[0] = x[1] ** 2
        y[1:] = x[:2] * x[1:]
        y *= y
        return np.sum(y)

    # x1**4 + (x0 x1)**2 + (x1 x2)**2
    a, b, c = X
    expected = [
        [2 * b * b, 4 * a * b, 0],
        [4 * a * b, 12 * b * b + 2 * a * a + 2 * c * c, 4 * b * c],
        [0, 4 * b * c, 2 * b * b],
    ]
    np.testing.assert_allclose(hessian(program)(X), expected, atol=1e-13)


# --- Refusals -----------------------------------------------------------------------------------

PLAIN_WRITES = {
    "element": lambda buffer, x: buffer.__setitem__(0, x[0]),
    "slice": lambda buffer, x: buffer.__setitem__(slice(None), x),
    "list": lambda buffer, x: buffer.__setitem__([0, 1], x[:2]),
    "boolean": lambda buffer, x: buffer.__setitem__(MASK, x[:2]),
    "flat": lambda buffer, x: buffer.flat.__setitem__(slice(None), x),
    "fill": lambda buffer, x: buffer.fill(x[0]),
    "np.copyto": lambda buffer, x: np.copyto(buffer, x),
    "np.put": lambda buffer, x: np.put(buffer, [0], x[0]),
    "np.putmask": lambda buffer, x: np.putmask(buffer, MASK, x),
    "np.place": lambda buffer, x: np.place(buffer, MASK, x),
    "list of traced values": lambda buffer, x: buffer.__setitem__(slice(None), [x[0], x[1], 1.0]),
}


@pytest.mark.parametrize("write", PLAIN_WRITES)
def test_writing_into_a_plain_array_names_the_fix(write):
    def program(x):
        buffer = np.zeros(3)
        PLAIN_WRITES[write](buffer, x)
        return np.sum(buffer)

    with pytest.raises((ConversionError, NotDifferentiableError, ValueError)) as caught:
        grad(program)(X)
    chain = [caught.value, caught.value.__cause__, caught.value.__context__]
    assert any("np.zeros" in str(error) for error in chain)


@pytest.mark.parametrize(
    ("error", "index", "value"),
    [
        (IndexError, 3, 1.0),
        (ValueError, slice(0, 2), np.ones(3)),
        (TypeError, 0, 1j),
    ],
)
def test_numpy_errors_of_writes_stay(error, index, value):
    with pytest.raises(error):
        grad(lambda x: operator.setitem(x * 1.0, index, value) or np.sum(x))(X)


def test_an_element_of_flat_of_a_plain_array_is_refused():
    with pytest.raises(ConversionError, match="zeros_like"):
        grad(lambda x: np.zeros(3).flat.__setitem__(0, x[0]) or np.sum(x))(X)


def test_elements_cannot_be_deleted():
    with pytest.raises((ValueError, TypeError)):
        grad(lambda x: operator.delitem(x, 0) or np.sum(x))(X)


def test_a_failed_write_changes_nothing():
    def program(x):
        y = x * 2
        with pytest.raises(ValueError, match="shape"):
            y[:2] = x
        with pytest.raises(IndexError):
            y[7] = x[0]
        return y

    check(program)


# --- Any sequence of reads, writes and views ----------------------------------------------------

INDICES = st.sampled_from(
    [
        0,
        -1,
        slice(None),
        slice(1, None),
        slice(None, None, -1),
        slice(None, None, 2),
        [0, 0, 1],
        [-1],
        Ellipsis,
        (Ellipsis, 0),
        (Ellipsis, slice(1, None)),
        (0, Ellipsis),
        None,
        (slice(None), None),
    ]
)
REARRANGEMENTS = {
    "T": lambda a: a.T,
    "ravel": lambda a: a.ravel(),
    "flip": np.flip,
    "reshape": lambda a: a.reshape(a.shape[::-1]),
    "copy": lambda a: a.copy(),
    "expand": lambda a: np.expand_dims(a, 0),
    "squeeze": np.squeeze,
    "tail": lambda a: a[1:],
    "tail of tail": lambda a: a[..., 1:][None, ::-1][:, -1:],
    "T of T": lambda a: a.T.T,
    "real": lambda a: a.real,
    "imag": lambda a: a.imag,
    "diagonal": lambda a: np.einsum("ii...->i...", a),
    "windows": lambda a: sliding_window_view(a, 1, axis=0, writeable=True),
}


def bounded(a):
    """np.sin, of the real and imaginary parts apart: that of complex numbers grows too fast."""
    return np.sin(a.real) + 1j * np.sin(a.imag) if a.dtype.kind == "c" else np.sin(a)


SAME_SHAPE = {
    "sin": lambda a: bounded(a),
    "square": lambda a: a * a,
    "plus": lambda a: a + 0.5,
    "alias": lambda a: a,
}
WRITERS = {
    "set": lambda a, i, v: operator.setitem(a, i, v),
    "add": lambda a, i, v: operator.setitem(a, i, a[i] + v),
    "mul": lambda a, i, v: operator.setitem(a, i, a[i] * v),
    "add.at": lambda a, i, v: np.add.at(a, i, v),
}
OPERATORS = {"+=": operator.iadd, "*=": operator.imul, "-=": operator.isub}


@st.composite
def steps(draw):
    """Steps of a program over a pool of arrays; each names its arrays by position."""
    program = []
    for _ in range(draw(st.integers(1, 8))):
        kind = draw(st.sampled_from(["index", "rearrange", "same", "write", "write", "operate"]))
        position, other = draw(st.integers(0, 7)), draw(st.integers(0, 7))
        detail = {
            "index": INDICES,
            "rearrange": st.sampled_from(sorted(REARRANGEMENTS)),
            "same": st.sampled_from(sorted(SAME_SHAPE)),
            "write": st.tuples(st.sampled_from(sorted(WRITERS)), INDICES),
            "operate": st.sampled_from(sorted(OPERATORS)),
        }[kind]
        program.append((kind, position, other, draw(detail)))
    return program


def step(pool, kind, position, other, detail):
    a, b = pool[position % len(pool)], pool[other % len(pool)]
    if kind == "index":
        pool.append(a[detail])
    elif kind == "rearrange":
        pool.append(REARRANGEMENTS[detail](a))
    elif kind == "same":
        pool.append(SAME_SHAPE[detail](a))
    elif kind == "write":
        writer, index = detail
        value = b if b.ndim == 0 else bounded(b).ravel()[0]
        WRITERS[writer](a, index, value if a.dtype.kind == "c" else value.real)
    else:
        pool[position % len(pool)] = OPERATORS[detail](a, np.tanh(b.real).sum())


def start(x, *, is_complex):
    return [x * 1.0, x + 0.25j if is_complex else x + 0.25]


def run_steps(program, pool):
    """All arrays of the pool at the end. Steps that NumPy refuses are left out."""
    for parts in program:
        try:
            step(pool, *parts)
        except (IndexError, ValueError):
            continue
        except TypeError:  # a NumPy scalar does not take writes, a traced one does
            continue
    return pool


def refused(program, pool):
    """The steps at which plain NumPy raises; scalars are left to read."""
    allowed = []
    for parts in program:
        target = pool[parts[1] % len(pool)]
        if not isinstance(target, np.ndarray) and parts[0] != "same":
            continue
        try:
            step(pool, *parts)
        except (IndexError, ValueError, TypeError):
            continue
        allowed.append(parts)
    return allowed


@draws(30, 500)
@given(steps(), st.sampled_from([(3,), (2, 3), (2, 2, 2)]), st.booleans())
def test_any_program_of_writes_and_views(program, shape, is_complex):
    x = np.linspace(-0.8, 1.1, int(np.prod(shape))).reshape(shape)
    program = refused(program, start(x, is_complex=is_complex))
    seen = []

    def scalar(x):
        pool = start(x, is_complex=is_complex)
        for parts in program:
            step(pool, *parts)
        seen.append([stop_gradient(a) for a in pool])
        return sum(
            weighted(part) * (i + 1)
            for i, a in enumerate(pool)
            for part in ((a.real, a.imag) if a.dtype.kind == "c" else (a,))
        )

    gradient = grad(scalar)(x)
    plain = run_steps(program, start(x, is_complex=is_complex))
    for ours, theirs in zip(seen[0], plain, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_allclose(gradient, differences(scalar, x), rtol=1e-5, atol=1e-6)
    v = np.cos(np.arange(x.size)).reshape(shape)
    np.testing.assert_allclose(
        jvp(scalar, (x,), (v,))[1], np.sum(gradient * v), rtol=1e-10, atol=1e-10
    )
    forward = hvp(scalar, (x,), (v,))
    np.testing.assert_allclose(
        grad(lambda x: np.sum(grad(scalar)(x) * v))(x), forward, rtol=1e-8, atol=1e-8
    )
    np.testing.assert_allclose(
        grad(lambda x: jvp(scalar, (x,), (v,))[1])(x), forward, rtol=1e-8, atol=1e-8
    )


# --- Arrays without axes ------------------------------------------------------------------------

PLACES = ["()", "...", "None", "(None, ...)", "True", "False", "np.array(True)", "np.array(False)"]


@pytest.mark.part(3)
@pytest.mark.parametrize("place", [*PLACES, "(..., False)", "(True, ...)", "(None, False)"])
def test_a_number_is_written_where_the_index_says(place):
    """Conditions too: `x[False] = v` writes nowhere, as in NumPy."""
    index = eval(place, {"np": np})

    def f(x):
        y = np.copy(np.sin(x))
        y[index] = x * x * 3.0
        y = y * 1.0
        z = np.copy(y)
        z[index] = 5.0
        w = np.copy(x)
        w[index] += x**3
        return y * 2 + z * x + w * y

    x = np.array(0.7)
    chosen = np.ones(())[index].size > 0
    y = (lambda x: 3 * x * x) if chosen else np.sin

    def expected(x):
        return y(x) * 2 + (5.0 if chosen else y(x)) * x + (x + chosen * x**3) * y(x)

    def third(g):
        return jacfwd(jacrev(jacfwd(g)))(x)

    for transform in (
        lambda g: vjp(g, x)[0],
        lambda g: grad(g)(x),
        lambda g: jvp(g, (x,), (1.0,))[1],
        lambda g: hessian(g)(x),
        lambda g: jacrev(jacrev(g))(x),
        lambda g: jacfwd(jacfwd(g))(x),
        lambda g: vmap(g)(np.array([0.7, 0.2])),
        lambda g: vmap(grad(g))(np.array([0.7, 0.2])),
        third,
    ):
        np.testing.assert_allclose(transform(f), transform(expected), rtol=1e-12)


@pytest.mark.parametrize(
    "derivative",
    [
        lambda f, x, v: jvp(grad(f), (x,), (v,))[1],
        lambda f, x, v: hvp(f, (x,), (v,)),
        lambda f, x, v: grad(lambda x: np.sum(grad(f)(x) * v))(x),
        lambda f, x, v: jacfwd(grad(f))(x) @ v,
        lambda f, x, v: grad(lambda x: jvp(f, (x,), (v,))[1])(x),
    ],
)
def test_a_write_through_a_reversed_view_keeps_the_layout_in_nested_transforms(derivative):
    """ravel() is a view of an array as it lies in memory: b below, as it did before the write."""

    def f(x):
        b = x + 0.25
        np.flip(b)[:1] += x[0] ** 2
        e = b.ravel()
        b[0] = b[0] + x[0] ** 2
        return np.sum(e**2 * np.array([1.0, 2.0, -0.5]))

    def same(x):
        return (
            (x[0] + 0.25 + x[0] ** 2) ** 2
            + 2 * (x[1] + 0.25) ** 2
            - 0.5 * (x[2] + 0.25 + x[0] ** 2) ** 2
        )

    x, v = np.array([-0.8, 0.3, 1.1]), np.array([1.0, 0.5, -0.4])
    np.testing.assert_allclose(derivative(f, x, v), hessian(same)(x) @ v, rtol=1e-12)


REVERSED = {
    "a part": lambda y: np.flip(y[:, ::-1], 1),
    "rows": lambda y: np.flip(np.flip(y, 0), 0),
    "both axes": lambda y: np.flip(np.flip(y)),
    "turned": lambda y: np.rot90(np.rot90(y), -2),
    "turned once": lambda y: np.rot90(np.rot90(y), -1),
    "of a transpose": lambda y: np.flip(y.T[::-1], 0).T,
    "with a gap": lambda y: np.flip(y[:, ::-2], 1),
}


@pytest.mark.parametrize("name", REVERSED)
@pytest.mark.parametrize("into", ["the array", "the view"])
def test_the_reverse_of_a_reversed_view_is_in_order_after_a_write(name, into):
    """So ravel() is a view of it, and not of its copy with a gap."""

    def f(x):
        y = np.outer(x, x)
        if into == "the array":
            y[0] = x**2
        view = REVERSED[name](y)
        if into == "the view":
            view[0] = x[: view.shape[1]] ** 2
        row = view.ravel()
        row[1] = 5 * x[0]
        return weighted(y) + weighted(row)

    assert f(X) == pytest.approx(float(vjp(f, X)[0]))
    slopes = differences(f, X)
    np.testing.assert_allclose(grad(f)(X), slopes, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(vmap(grad(f))(np.stack([X, X]))[1], slopes, rtol=1e-6, atol=1e-6)


def test_a_write_of_an_inner_value_into_an_array_of_the_transform_around():
    """The tangent of y depends on x, what is written on t: both are on one tape, t further in."""

    def slope(x):
        def inner(t):
            def innermost(u):
                y = x * u
                y[0] = t * u
                return np.sum(y**3)

            return jvp(innermost, (t,), (1.0,))[1]

        return grad(inner)(x[0])

    gradient = grad(slope)(X)
    assert type(gradient) is np.ndarray
    np.testing.assert_allclose(gradient, differences(slope, X), rtol=1e-6)
    np.testing.assert_allclose(jvp(slope, (X,), (X,))[1], gradient @ X)
    np.testing.assert_allclose(vmap(grad(slope))(np.stack([X, X]))[1], gradient)


# --- Views of new axes and of 0-d arrays ---------------------------------------------------------


@pytest.mark.parametrize("step", [-2, -1, 2])
def test_a_write_through_a_rearranged_view_of_a_new_axis(step):
    def program(x):
        y = x * 1.0
        view = np.rot90(y[None])
        view[::step] *= 3 * view[::step]
        return np.sum(y * y)

    check_grads(program, (np.array([0.3, -1.2, 0.7, 2.0, 0.5]),))


def test_a_number_read_from_a_0_d_array_that_other_reads_share():
    def program(x):
        alone = np.reshape(x[:1], ())
        return alone * alone + alone[...] + np.sin(alone[()]) + np.cos(alone[()])

    x = np.array([0.3, -1.2])
    check_grads(program, (x,))
    assert np.isclose(grad(program)(x)[0], 0.6 + 1 + np.cos(0.3) - np.sin(0.3))


# --- Constants of other types that the program changes later -------------------------------------


class Elements:
    """A container that NumPy reads, and that can be written to."""

    def __init__(self, elements):
        self.elements = np.array(elements)

    def __setitem__(self, index, value):
        self.elements[index] = value

    def __array__(self, dtype=None, copy=None):
        return np.array(self.elements, dtype, copy=copy)


MUTABLE = {
    "list": list,
    "array.array": lambda x: array.array("l" if type(x[0]) is int else "d", x),
    "memoryview": lambda x: memoryview(np.array(x)),
    "subclass": lambda x: np.array(x).view(type("Plain", (np.ndarray,), {})),
    "masked": np.ma.array,
    "container": Elements,
}


class Table:
    """Values with a shape and no dtype, as a data frame's: NumPy reads them by `__array__`."""

    shape = (3,)

    def __array__(self, dtype=None, copy=None):
        return np.array([0.5, -2.0, 4.0], dtype)


@pytest.mark.parametrize("value", [Table(), memoryview(np.array([0.5, -2.0, 4.0]))])
@pytest.mark.parametrize("part", [lambda y: y, lambda y: y[0], lambda y: y.T[:, 1]])
def test_what_numpy_reads_as_an_array_can_be_written(value, part):
    def f(x):
        y = np.stack([x, x**2])
        part(y)[...] = value
        return weighted(y)

    assert vjp(f, X)[0] == f(X)
    np.testing.assert_allclose(grad(f)(X), differences(f, X), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(vmap(grad(f))(np.stack([X, X]))[0], grad(f)(X))


@pytest.mark.parametrize("name", MUTABLE)
def test_an_index_may_change_after_its_use(name):
    def read(x):
        index = MUTABLE[name]([0, 1])
        picked = x[index]
        index[0] = 2
        return np.sum(picked * picked)

    def written(x):
        index, y = MUTABLE[name]([0, 1]), x * 1.0
        y[index] = 7 * x[0]
        index[0] = 2
        return np.sum(y * x)

    x = np.array([1.0, 2.0, 3.0])
    for program in (read, written):
        assert np.allclose(grad(program)(x), differences(program, x))
        assert np.allclose(jvp(program, (x,), (x,))[1], differences(program, x) @ x)


SQUARE = np.array([[0.6, -1.25, 1.9], [0.4, 2.0, -0.7], [1.1, 0.2, 0.9]])
PLACES_OF_ROWS = {  # of a matrix of three rows; the same array may be a part of several
    "positions": lambda i, m: i,
    "mask": lambda i, m: m,
    "positions among others": lambda i, m: (slice(None), i),
    "mask among others": lambda i, m: (slice(1, 3), m, None),
    "both": lambda i, m: (i, m),
    "bound": lambda i, m: slice(i[1:].reshape(())),
}
USES = {
    "read": lambda y, at: y[at] ** 2,
    "read a view": lambda y, at: y[::-1][at] ** 2,
    "written": lambda y, at: [y.__setitem__(at, y[0, 0] * 3), y][-1],
    "written to a view": lambda y, at: [y[::-1].__setitem__(at, y[0, 0] * 3), y][-1],
    "added to": lambda y, at: [y.__setitem__(at, y[at] + y[0, 0]), y][-1],
    "added in place": lambda y, at: operator.setitem(y, at, operator.iadd(y[at], y[0, 0])) or y,
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("index", PLACES_OF_ROWS)
def test_arrays_in_an_index_may_change_after_its_use(index, use):
    def program(x, *, changes=True):
        positions, mask = np.array([0, 2]), np.array([True, False, True])
        y = x * 1.0
        found = USES[use](y, PLACES_OF_ROWS[index](positions, mask))
        if changes:
            positions[:], mask[:] = 1, [False, True, False]
        return weighted(found)

    expected = grad(lambda x: program(x, changes=False))(SQUARE)
    assert np.any(expected != grad(lambda x: weighted(x * 1.0))(SQUARE))
    np.testing.assert_array_equal(grad(program)(SQUARE), expected)
    dot = np.cos(SQUARE)
    np.testing.assert_allclose(jvp(program, (SQUARE,), (dot,))[1], np.sum(expected * dot))
    np.testing.assert_allclose(linearize(program, SQUARE)[1](dot), np.sum(expected * dot))
    curved = hvp(lambda x: program(x, changes=False), (SQUARE,), (dot,))
    np.testing.assert_array_equal(hvp(program, (SQUARE,), (dot,)), curved)


@pytest.mark.parametrize("name", ["list", "memoryview", "subclass"])
@pytest.mark.parametrize(
    "function",
    [
        lambda x, y: np.dot(x * x, y),
        lambda x, y: np.sum(np.where(y, x, x * x)),
        lambda x, y: np.sum(np.interp(y, [0, 2, 5.0], x)),
        lambda x, y: np.sum(np.convolve(x * x, y) ** 2),
        lambda x, y: np.sum(x * x * y),
    ],
)
def test_a_constant_may_change_after_its_use(name, function):
    def program(x):
        constant = MUTABLE[name]([0.0, 1.5, 2.5])
        out = function(x, np.asarray(constant) if type(x) is np.ndarray else constant)
        constant[0], constant[1] = 7.0, 0.0
        return out

    x = np.array([1.0, 2.0, 3.0])
    assert np.allclose(grad(program)(x), differences(program, x))
