"""Choosing and editing: broadcasting, dtypes, parts without elements, and NumPy's errors."""

from __future__ import annotations

import numpy as np
import pytest

from tapegrad import IndependentOutputWarning, grad, vjp
from tapegrad._numpy_versions import INSERTS_BY_MASK
from tapegrad.testing import check_rule

X = np.array([[0.3, -1.2, 2.1], [1.7, 0.4, -0.6]])
SIDES = np.array([True, False, True])
Y = np.array([2.5, 0.7, -1.1])


# --- choosing


def test_choices_broadcast_with_each_other_and_with_the_positions():
    check_rule(lambda x, y: np.choose([1, 0, 1], [x, y]), X, Y)
    check_rule(lambda x: np.choose(np.array([[2], [0]]), x), np.stack([Y, Y + 1, Y + 2]))
    check_rule(lambda y: np.choose([5, -1, 0], [y, 1.5], mode="clip"), Y)


def test_a_number_among_the_choices_keeps_the_dtype():
    single = Y.astype(np.float32)
    made = vjp(lambda y: np.choose([0, 1, 0], [y, 2.0]), single)[0]
    assert made.dtype == np.float32


def test_choosing_out_of_range_is_numpys_error():
    with pytest.raises(ValueError, match="invalid entry"):
        grad(lambda y: np.sum(np.choose([0, 2, 0], [y, y])))(Y)


def test_selecting_by_the_first_condition_that_holds():
    gradient = grad(lambda x: np.sum(np.select([x > 1, x > 0], [x**2, 3 * x], -x)))(X)
    np.testing.assert_allclose(gradient, np.where(X > 1, 2 * X, np.where(X > 0, 3, -1)))
    check_rule(lambda x, y, z: np.select([X > 1, Y > 0], [x, y], z), X, Y, np.array(2.0))


def test_a_selection_of_conditions_that_are_larger_than_the_choices():
    check_rule(lambda y: np.select([X > 1, X > 0], [y[0], 2.0]), Y)


def test_the_choice_not_selected_adds_no_nan():
    with np.errstate(divide="ignore", invalid="ignore"):
        gradient = grad(lambda x: np.sum(np.select([x > 0], [np.log(x)], 0.0)))(
            np.array([0.0, -1.0, 4.0])
        )
    np.testing.assert_array_equal(gradient, [0, 0, 0.25])


def test_bad_selections_are_numpys_errors():
    with pytest.raises(ValueError, match="same length"):
        grad(lambda x: np.sum(np.select([x > 0], [x, x])))(X)
    with pytest.raises(TypeError, match="should be boolean"):
        grad(lambda x: np.sum(np.select([np.ones(3)], [x])))(X)


@pytest.mark.parametrize(
    ("conditions", "functions"),
    [
        ([X > 0], [np.exp, lambda x: x**2]),
        ([X > 0, X > 1], [np.exp, 2.0, lambda x: x**3]),
        ([X > 9], [np.sin, np.cos]),
        ([X > 0, X <= 0], [np.exp, np.sin]),
    ],
)
def test_functions_by_pieces(conditions, functions):
    check_rule(lambda x: np.piecewise(x, conditions, functions), X)


def test_pieces_of_a_number_and_with_more_arguments():
    check_rule(lambda x: np.piecewise(x, x > 0, [np.exp, 1.5]), Y)
    check_rule(lambda x: np.piecewise(x, [x > 0], [np.exp, np.sin]), np.array(0.5))
    check_rule(lambda x: np.piecewise(x, [x > 0, x < 0], [np.exp, 3.0]), np.array(-0.5))

    def powers(x, a, b=1.0):
        return a * x**2 + b

    check_rule(lambda x, a: np.piecewise(x, [X > 0], [powers, 0.0], a, b=2.0), X, np.array(3.0))


def test_a_function_by_pieces_sees_its_own_piece_alone():
    gradient = grad(lambda x: np.sum(np.piecewise(x, [x > 0], [np.log, 0.0])))(X)
    np.testing.assert_allclose(gradient, np.where(X > 0, 1 / X, 0))


def test_too_few_functions_are_numpys_error():
    with pytest.raises(ValueError, match="functions are expected"):
        grad(lambda x: np.sum(np.piecewise(x, [x > 0], [np.sin, np.cos, np.exp])))(X)


# --- editing


@pytest.mark.parametrize(
    "at", [0, 2, -1, [1], [0, 2], [2, 2], slice(0, 2), *[SIDES] * INSERTS_BY_MASK]
)
def test_inserting_along_an_axis(at):
    count = len(np.insert(Y, at, 0.0)) - 3
    check_rule(lambda x, v: np.insert(x, at, v, axis=1), X, np.array(1.5))
    check_rule(lambda x, v: np.insert(x, at, v, axis=-1), X, np.ones((2, count)) * 0.5)
    check_rule(lambda x, v: np.insert(x, at, v), Y, np.linspace(1, 2, count))


def test_inserting_flat_and_a_row():
    check_rule(lambda x, v: np.insert(x, 4, v), X, Y)
    check_rule(lambda x, v: np.insert(x, 1, v, axis=0), X, Y)
    check_rule(lambda v: np.insert(np.zeros(2), 1, v), Y)


def test_what_is_inserted_takes_the_arrays_dtype():
    made = vjp(lambda x, v: np.insert(x, 1, v), Y.astype(np.float32), np.array(1.5))[0]
    assert made.dtype == np.float32
    with pytest.warns(IndependentOutputWarning):
        assert grad(lambda v: np.sum(np.insert([1, 2], 1, v)) * 1.0)(2.5) == 0


@pytest.mark.parametrize("at", [0, -1, [0, 2], [1, 1], slice(None, None, 2), [True, False, True]])
def test_deleting(at):
    check_rule(lambda x: np.delete(x, at, axis=1), X)
    check_rule(lambda x: np.delete(x, at), Y)


def test_deleting_flat_and_nothing():
    check_rule(lambda x: np.delete(x, [0, 4]), X)
    check_rule(lambda x: np.delete(x, []), Y)


def test_editing_out_of_range_is_numpys_error():
    with pytest.raises(IndexError):
        grad(lambda x: np.sum(np.delete(x, 9)))(Y)
    with pytest.raises(IndexError):
        grad(lambda x: np.sum(np.insert(x, 9, 1.0)))(Y)


# --- functions of parts


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize(
    "function",
    [
        np.sum,
        lambda v: v**2,
        lambda v: np.outer(v, v[:2]),
        lambda v: [v[0], 2.0, v[0] * v[-1]],
    ],
)
def test_a_function_along_an_axis(axis, function):
    check_rule(lambda x: np.apply_along_axis(function, axis, x) * 1.0, X)


def test_a_function_along_an_axis_with_more_arguments():
    def line(v, slope, start):
        return v * slope + start

    check_rule(lambda x, p: np.apply_along_axis(line, 0, x, p, start=2.0), X, Y[:2])
    np.testing.assert_array_equal(
        vjp(lambda x: np.apply_along_axis(np.argmax, 1, x) + 0 * x[:, 0], X)[0], [2, 0]
    )
    with pytest.raises(ValueError, match="iteration dimensions are 0"):
        grad(lambda x: np.sum(np.apply_along_axis(np.sum, 1, x[:0])))(X)


def test_a_function_over_axes():
    check_rule(lambda x: np.apply_over_axes(np.sum, x, [0, -1]), X)
    check_rule(lambda x: np.apply_over_axes(np.cumsum, x, 1), X)
    with pytest.raises(ValueError, match="correct shape"):
        grad(lambda x: np.sum(np.apply_over_axes(lambda a, axis: np.sum(a), x, [0])))(X[None])
