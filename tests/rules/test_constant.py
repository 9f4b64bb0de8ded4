"""Piecewise constant functions, at their steps too, and arrays made beside traced ones."""

from __future__ import annotations

import numpy as np
import pytest

import tapegrad
from tapegrad import Array, ConversionError, IndependentOutputWarning, grad, vjp

STEPS = np.array([-1.5, -1.0, 0.0, 0.5, 1.0, 2.5])
ROUNDING = [np.floor, np.ceil, np.trunc, np.rint, np.round, np.spacing]


@pytest.mark.parametrize("function", ROUNDING)
def test_the_result_is_plain_and_the_gradient_zero_at_the_steps_too(function):
    kinds = []

    def scaled(x):
        out = function(x)
        kinds.append(type(out))
        return np.sum(out * x)

    np.testing.assert_array_equal(grad(scaled)(STEPS), function(STEPS))
    assert kinds == [np.ndarray]


def test_a_function_of_steps_alone_warns_that_its_gradient_is_zero():
    with pytest.warns(IndependentOutputWarning):
        gradient = grad(lambda x: np.sum(np.floor(x)))(STEPS)
    np.testing.assert_array_equal(gradient, np.zeros(6))


def test_operators_with_whole_results():
    np.testing.assert_array_equal(grad(lambda x: np.sum((x // 2) * x))(STEPS), STEPS // 2)
    comparisons = [STEPS < 1, STEPS <= 1, STEPS == 1, STEPS != 1, STEPS > 1, STEPS >= 1]

    def compared(x):
        made = [x < 1, x <= 1, x == 1, x != 1, x > 1, x >= 1]
        assert all(type(part) is np.ndarray and part.dtype == bool for part in made)
        for part, expected in zip(made, comparisons, strict=True):
            np.testing.assert_array_equal(part, expected)
        return np.sum(x)

    grad(compared)(STEPS)


def test_positions_serve_as_indices():
    x = np.array([0.3, 2.0, -1.0])
    np.testing.assert_array_equal(grad(lambda x: x[np.argmax(x)])(x), [0, 1, 0])
    np.testing.assert_array_equal(grad(lambda x: np.sum(x[np.argsort(x)[:2]]))(x), [1, 0, 1])
    np.testing.assert_array_equal(grad(lambda x: np.sum(x[np.nonzero(x > 0)]))(x), [1, 1, 0])


@pytest.mark.parametrize("make", [np.zeros_like, np.ones_like, np.empty_like])
def test_what_is_made_like_a_traced_array_can_be_written_to(make):
    def filled(x):
        y = make(x)
        assert isinstance(y, Array)
        y[...] = 0
        y[1:] = x[:-1] * 2
        return np.sum(y * y)

    np.testing.assert_allclose(grad(filled)(np.array([1.0, 2.0, 3.0])), [8, 16, 0])


def test_made_arrays_take_numpys_parameters():
    def check(x):
        for make in (np.zeros_like, np.ones_like):
            assert make(x, shape=(2,)).shape == (2,)
            assert make(x, dtype=np.float32).dtype == np.float32
            assert type(make(x, dtype=int)) is np.ndarray
        assert np.full_like(x, 3, shape=(4,)).shape == (4,)
        return np.sum(x)

    grad(check)(np.ones(3))


def test_filling_with_a_traced_value():
    _, pullback = vjp(lambda x, v: np.full_like(x, v), np.zeros((2, 3)), np.ones(3))
    x_bar, v_bar = pullback(np.ones((2, 3)))
    np.testing.assert_array_equal(x_bar, np.zeros((2, 3)))
    np.testing.assert_array_equal(v_bar, [2, 2, 2])
    with pytest.raises(
        ConversionError, match="expected a plain value"
    ):  # NumPy asks the first argument alone
        grad(lambda value: np.sum(np.full_like(np.zeros(3), value)))(2.0)


@pytest.mark.parametrize("shape", [(3, 4), (3, 2, 4), (3, 2, 4, 2)])
@pytest.mark.parametrize("axis", [-1, 0])
def test_lexsort_inside_vmap(shape, axis):
    """The elements of a single vector are keys of one element each."""
    x = np.cos(np.arange(np.prod(shape))).reshape(shape)
    found = tapegrad.vmap(lambda keys: np.lexsort(keys, axis))(x)
    np.testing.assert_array_equal(found, np.stack([np.lexsort(keys, axis) for keys in x]))


@pytest.mark.parametrize("axis", [1, -2])
def test_lexsort_inside_vmap_refuses_axes_that_keys_lack(axis):
    with pytest.raises(np.exceptions.AxisError):
        np.lexsort(np.ones((2, 4)), axis)
    with pytest.raises(np.exceptions.AxisError):
        tapegrad.vmap(lambda keys: np.lexsort(keys, axis))(np.ones((3, 2, 4)))


def test_whether_examples_are_equal():
    x = np.array([[1.0, 2], [np.nan, 2], [1, 3]])
    y = np.array([1.0, 2])
    equal = tapegrad.vmap(lambda x: np.array_equal(x, y))
    np.testing.assert_array_equal(equal(x), [True, False, False])
    itself = tapegrad.vmap(lambda x: np.array_equal(x, x, equal_nan=True))
    np.testing.assert_array_equal(itself(x), [True, True, True])
    for function in (np.array_equal, np.array_equiv):
        longer = tapegrad.vmap(lambda x, function=function: function(x, np.ones(3)))
        np.testing.assert_array_equal(longer(x), [False, False, False])
