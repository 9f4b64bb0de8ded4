"""Sequences between two ends, and arrays made like a traced one."""

from __future__ import annotations

import numpy as np
import pytest

import tapegrad
from tapegrad import Array, NotDifferentiableError, grad, jacobian, vjp
from tapegrad.testing import check_grads, check_rule

X = np.array([1.0, 2.0, 3.0])
COLUMN = np.array([[2.0], [5.0]])


@pytest.mark.parametrize("function", [np.linspace, np.logspace, np.geomspace])
@pytest.mark.parametrize("ends", [(X, 4.0), (1.5, COLUMN), (X, COLUMN + 1j), (1, X), (X, 4)])
def test_one_end_an_array(function, ends):
    check_rule(function, *ends, 4)
    check_rule(function, *ends, num=3, endpoint=False, axis=-1)


def test_linspace_with_its_step():
    check_rule(np.linspace, X, COLUMN, 4, True, True)
    check_rule(np.linspace, X, 4.0, num=3, endpoint=False, retstep=True)
    line, step = np.linspace(1.0, 2.0, 1, retstep=True)
    traced, pullback, found = vjp(
        lambda x: np.linspace(x, 2.0, 1, retstep=True), 1.0, has_aux=True
    )
    np.testing.assert_array_equal(traced, line)
    assert np.isnan(found)
    assert np.isnan(step)
    assert pullback(np.ones(1)) == (1.0,)


@pytest.mark.parametrize("function", [np.linspace, np.geomspace])
def test_whole_numbers_are_constant(function):
    seen = []

    def program(x):
        seen.append(function(x, 9.0, 4, dtype=int))
        return np.sum(x * seen[-1])

    assert grad(program)(1.0) == np.sum(function(1.0, 9.0, 4, dtype=int))
    assert type(seen[0]) is np.ndarray


def test_dtypes_of_sequences():
    for function in (np.linspace, np.logspace, np.geomspace):
        made, pullback = vjp(lambda x, f=function: f(x, 2.0, 4, dtype=np.float32), 1.0)
        np.testing.assert_array_equal(made, function(1.0, 2.0, 4, dtype=np.float32))
        assert made.dtype == np.float32
        assert pullback(np.ones_like(made))[0].dtype == np.float64


def test_an_array_of_bases():
    bases = np.array([2.0, 3.0, 4.0])
    check_rule(np.logspace, X, 4.0, 4, base=bases)
    check_rule(np.logspace, 0.5, X, 4, base=bases, axis=-1)


def test_geometric_sequences_of_negative_and_complex_numbers():
    check_rule(np.geomspace, -1.0, -3.0, 4)
    check_rule(np.geomspace, 1 + 2j, -3 + 1j, 5)
    with pytest.raises(ValueError, match="cannot include zero"):
        grad(lambda x: np.sum(np.geomspace(x, 1.0)))(0.0)


def test_bad_calls_raise_numpys_errors():
    with pytest.raises(ValueError, match="must be non-negative"):
        grad(lambda x: np.sum(np.linspace(x, 1.0, -1)))(0.5)
    with pytest.raises(ValueError, match="Device not understood"):
        grad(lambda x: np.sum(np.linspace(x, 1.0, 3, device="moon")))(0.5)
    with pytest.raises(TypeError):
        grad(lambda x: np.sum(np.linspace(x, 1.0, 2.5)))(0.5)


# --- like= --------------------------------------------------------------------------------------


def test_nested_lists_like_a_traced_array():
    def program(x, y):
        return np.array([x, [1.0, y, 2 * y]], like=x)

    check_grads(program, (X, 0.5), order=2)
    np.testing.assert_array_equal(vjp(program, X, 0.5)[0], [[1, 2, 3], [1, 0.5, 1]])


@pytest.mark.parametrize(
    "make",
    [
        lambda x: np.array(x, like=x),
        lambda x: np.array([x, x], dtype=complex, like=x),
        lambda x: np.array(x, ndmin=3, order="F", like=x),
        lambda x: np.asarray([x, 1.0 - x], like=x),
        lambda x: np.asanyarray(x, like=x),
        lambda x: np.ascontiguousarray(x, like=x),
        lambda x: np.asfortranarray([x, x], like=x),
        lambda x: np.require([x, x], requirements=["F", "W"], like=x),
        lambda x: np.full((3, 2), x, like=x),
        lambda x: np.full((2, 2, 2), [x, [1.0, 2.0]], order="F", like=x),
        lambda x: np.fromfunction(lambda i, j: x * i + j, (3, 2), like=x),
        lambda x: np.fromiter([x[0], x[1] * x[0]], float, like=x),
        lambda x: np.arange(0.0, 2.0, like=x) * x,
    ],
)
def test_creation_like_a_traced_array(make):
    check_grads(make, (np.array([0.7, -1.3]),), order=2)


def test_creation_like_a_traced_array_makes_arrays_to_write_to():
    def program(x):
        total = x
        for buffer in (
            np.zeros(3, like=x),
            np.ones((3,), np.float64, like=x),
            np.array([1.0, 2.0, 3.0], like=x),
            np.full(3, 2.0, like=x),
            np.eye(3, like=x)[0],
        ):
            buffer[1] = x * x
            total = total + np.sum(buffer)
        return total

    assert grad(program)(3.0) == 1 + 5 * 6


def test_a_traced_array_as_an_array_is_itself_and_array_is_a_copy():
    def program(x):
        assert np.asarray(x, like=x) is x
        copied = np.array(x, like=x)
        copied[0] = 0.0
        return np.sum(x) + np.sum(copied)

    np.testing.assert_array_equal(grad(program)(X), [1, 2, 2])


def test_whole_numbers_like_a_traced_array_are_plain():
    def program(x):
        assert type(np.array([x, 2 * x], dtype=int, like=x)) is np.ndarray
        assert type(np.zeros(3, int, like=x)) is np.ndarray
        assert isinstance(np.zeros(3, like=x), Array)
        return x

    grad(program)(1.5)


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda x: np.array([x, [x, x]], like=x), ValueError),
        (lambda x: np.array([x, None], like=x), TypeError),
        (lambda x: np.array([x, "1"], like=x), TypeError),
        (lambda x: np.array([x, x], dtype=object, like=x), NotDifferentiableError),
        (lambda x: np.array([x, x], copy=False, like=x), ValueError),
        (lambda x: np.asarray(x, np.float32, copy=False, like=x), ValueError),
        (lambda x: np.full((2, 2), [x, x, x], like=x), ValueError),
        (lambda x: np.fromiter([x], float, 2, like=x), ValueError),
        (lambda x: np.require([x], requirements="CF", like=x), ValueError),
    ],
)
def test_what_makes_no_array_of_numbers_raises(make, error):
    with pytest.raises(error):
        grad(lambda x: np.sum(make(x)))(1.0)


def test_fill_of_several_values():
    found = jacobian(lambda x: np.full((2, 3), x, like=x))(X)
    np.testing.assert_array_equal(found, np.stack([np.eye(3)] * 2))


def test_the_second_derivative_of_a_sequence():
    assert tapegrad.hessian(lambda x: np.sum(np.linspace(x, 2.0, 3) ** 2))(1.0) == 2 * 1.25
