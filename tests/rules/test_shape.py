"""Shapes: memory orders, lists of unlike parts, padding and cutting by unequal amounts."""

from __future__ import annotations

import numpy as np
import pytest

from tapegrad import grad, vjp
from tapegrad.testing import check_rule

X = np.array([[0.3, -1.2, 2.1], [1.7, 0.4, -0.6]])
W = np.arange(6.0)


@pytest.mark.parametrize("order", ["C", "F", "A", "K"])
@pytest.mark.parametrize("axes", [(0, 1, 2), (2, 1, 0), (1, 2, 0), (0, 2, 1)])
def test_a_row_in_the_order_of_memory(order, axes):
    # The transposed sum lies in memory in an order of its own, which A and K follow.
    x = np.arange(24.0).reshape(2, 3, 4)

    def row(x):
        return np.ravel(np.transpose(x, axes) * 1.0, order=order)

    out, pullback = vjp(row, x)
    np.testing.assert_array_equal(out, row(x))
    np.testing.assert_array_equal(pullback(row(x))[0], x)


def test_arrays_that_are_not_of_one_rank():
    check_rule(np.column_stack, [X[0], X.T])
    check_rule(np.hstack, [X[0], X[1, :1]])
    check_rule(np.vstack, [X, X[0]])
    check_rule(np.dstack, [X, X])
    check_rule(np.append, X, X[0])


def test_constants_among_the_parts():
    for join in (np.concatenate, np.stack, np.vstack, np.hstack):
        gradient = grad(lambda x, join=join: np.sum(join([np.ones(3), x, np.zeros(3)]) ** 2))(X[0])
        np.testing.assert_allclose(gradient, 2 * X[0])


def test_one_array_twice_in_a_list():
    gradient = grad(lambda x: np.sum(np.concatenate([x, x * 2, x])))(X)
    np.testing.assert_array_equal(gradient, np.full_like(X, 4))


def test_parts_of_several_dtypes():
    single = X.astype(np.float32)
    check_rule(np.concatenate, [single, X])
    check_rule(np.stack, [X, X + 1j])


def test_joining_flat():
    check_rule(np.concatenate, [X, X[0]], axis=None)


@pytest.mark.parametrize("width", [1, (1, 2), ((0, 1), (2, 0)), ((1, 1),)])
@pytest.mark.parametrize("mode", ["constant", "edge", "wrap", "reflect", "symmetric"])
def test_padding_by_unequal_amounts(width, mode):
    check_rule(np.pad, X, width, mode=mode)


def test_padding_with_values_and_by_axis():
    check_rule(np.pad, X, 1, constant_values=2.5)
    check_rule(np.pad, X, 1, constant_values=((1, 2), (3, 4)))


@pytest.mark.parametrize("repeats", [[2, 0, 1], [0, 0, 0], 2, [3]])
def test_repeating_by_unequal_amounts(repeats):
    check_rule(np.repeat, X, repeats, axis=1)


def test_repeating_flat():
    check_rule(np.repeat, X, [1, 0, 2, 1, 0, 3])


@pytest.mark.parametrize("cuts", [[1], [0, 1, 1, 3], [-1], [2, 5]])
def test_cutting_unequally_and_past_the_end(cuts):
    check_rule(np.split, X, cuts, axis=1)
    check_rule(np.array_split, X, cuts, axis=1)


def test_cutting_where_it_does_not_fit_is_numpys_error():
    with pytest.raises(ValueError, match="equal division"):
        grad(lambda x: np.sum(np.split(x, 2, axis=1)[0]))(X)


@pytest.mark.parametrize(
    ("shift", "axis"), [((1, 2), (0, 1)), ((1, 1), (0, 0)), (2, (0, 1)), (7, None)]
)
def test_rolling_several_axes(shift, axis):
    check_rule(np.roll, X, shift, axis=axis)


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
@pytest.mark.parametrize("start", [-3, -1, 0, 2, 3])
def test_rolling_an_axis_to_any_start(axis, start):
    check_rule(np.rollaxis, X.reshape(1, 2, 3), axis, start)


def test_moving_several_axes():
    check_rule(np.moveaxis, X.reshape(1, 2, 3), (0, 2), (-1, 0))


def test_blocks_of_unlike_ranks():
    check_rule(np.block, [[X[:, :2], X[:, :1]], [X[:1]]])
    check_rule(np.block, [X[0], X[1]])
    check_rule(np.block, [[X[0]], [X[1]]])


def test_broadcasting_to_nothing_and_to_a_higher_rank():
    check_rule(np.broadcast_to, X[:, :1], (4, 2, 0))
    check_rule(np.broadcast_to, X, (4, 2, 3))
    np.testing.assert_array_equal(grad(lambda x: np.sum(np.broadcast_to(x, (2, 3))))(2.0), 6)


def test_tiles_of_fewer_and_more_ranks():
    for counts in [2, (2,), (2, 3), (2, 1, 3), (0, 1)]:
        check_rule(np.tile, X, counts)
