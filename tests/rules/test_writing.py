"""Functions that write: broadcasting, casts, few values, plain targets, and NumPy's errors."""

from __future__ import annotations

import numpy as np
import pytest
from makers import written

from tapegrad import ConversionError, grad, vjp
from tapegrad.testing import check_rule

X = np.array([[0.3, -1.2, 2.1], [1.7, 0.4, -0.6]])
V = np.array([2.5, 0.7, -1.1])


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_putting_along_an_axis(axis):
    order = np.argsort(X, axis=axis)[:, :2] if axis else np.argsort(X, axis=0)[:1]
    put = written(np.put_along_axis)
    check_rule(lambda x, v: put(x, order, v, axis), X, V[: order.shape[1]])
    check_rule(lambda x, v: put(x, order, v, axis=axis), X, V[0])


def test_putting_along_the_flat_array():
    check_rule(lambda x, v: written(np.put_along_axis)(x, np.array([4, 0, -1]), v, None), X, V)


def test_a_place_put_twice_along_an_axis_keeps_the_last():
    put = written(np.put_along_axis)
    _, pullback = vjp(lambda x, v: put(x, np.array([1, 1]), v, 0), V, V[:2])
    x_bar, v_bar = pullback(np.ones(3))
    np.testing.assert_array_equal(x_bar, [1, 0, 1])
    np.testing.assert_array_equal(v_bar, [0, 1])


def test_values_may_be_lists_with_traced_parts():
    def filled(x):
        y = X * x
        np.put(y, [0, 1], [x, x**2])
        np.place(y, X > 1, [x, 2 * x])
        return np.sum(y)

    x = 1.5
    kept = X.copy()
    kept.flat[[0, 1, 2, 3]] = 0
    np.testing.assert_allclose(grad(filled)(x), np.sum(kept) + 1 + 2 * x + 1 + 2)


def test_copying_casts_only_as_it_is_told():
    copy = written(np.copyto)
    with pytest.raises(TypeError, match="Cannot cast"):
        grad(lambda x: np.sum(copy(x, X * 1j)))(X)
    with pytest.raises(TypeError, match="Cannot cast"):
        grad(lambda x: np.sum(copy(x.astype(np.float32), x, casting="safe")))(X)
    gradient = grad(lambda x: np.sum(copy(X * x, x * X * 1j + 2 * x, casting="unsafe")))(1.0)
    np.testing.assert_allclose(gradient, 12)
    made = vjp(lambda x: copy(x, 2.5), X.astype(np.float32))[0]
    assert made.dtype == np.float32


@pytest.mark.parametrize(
    "write",
    [
        lambda plain, x: np.copyto(plain, x),
        lambda plain, x: np.put(plain, [0], x),
        lambda plain, x: np.place(plain, plain == 0, x),
        lambda plain, x: np.putmask(plain, plain == 0, x),
        lambda plain, x: np.put_along_axis(plain, np.array([[0]]), x[:1, :1], 1),
        lambda plain, x: np.fill_diagonal(plain, x[0]),
    ],
)
def test_a_plain_target_cannot_take_traced_values(write):
    with pytest.raises(ConversionError):
        grad(lambda x: write(np.zeros((2, 3)), x) or np.sum(x))(X)


@pytest.mark.parametrize(
    "write",
    [
        lambda x: np.place(x, X > 0, []),
        lambda x: np.place(x, [True], 1.0),
        lambda x: np.putmask(x, [True], 1.0),
        lambda x: np.put(x, [9], 1.0),
        lambda x: np.put(x, [0], 1.0, mode="sideways"),
        lambda x: np.fill_diagonal(x[0], 1.0),
        lambda x: np.fill_diagonal(x.reshape(1, 2, 3), 1.0),
        lambda x: np.put_along_axis(x, np.array([0]), 1.0, 0),
        lambda x: np.put_along_axis(x, np.array([[0.5]]), 1.0, 0),
        lambda x: np.copyto(x, np.ones(7)),
    ],
)
def test_bad_writes_are_numpys_errors(write):
    with pytest.raises((ValueError, TypeError, IndexError)) as expected:
        write(X.copy())
    with pytest.raises(expected.type):
        grad(lambda x: write(x * 1) or np.sum(x))(X)


def test_nothing_is_written_where_nothing_is_chosen():
    for write in (
        lambda y: np.put(y, [], []),
        lambda y: np.place(y, X > 9, [1.0]),
        lambda y: np.putmask(y, X > 9, [1.0]),
    ):
        check_rule(written(write), X)
