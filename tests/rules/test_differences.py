"""Differences, slopes and integrals: every way to give the spacing, ends, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from tolerances import assert_close

from tapegrad import grad, jacobian, vjp
from tapegrad.testing import check_grads, check_rule

X = np.array([[0.3, -1.2, 2.1, 0.9], [1.7, 0.4, -0.6, 0.2], [0.1, 1.1, 2.2, -1.3]])
T = np.array([0.0, 0.5, 1.25, 1.5])


# --- differences


@pytest.mark.parametrize("axis", [0, 1, -1, -2])
@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 5])
def test_differences_of_any_order(axis, n):
    check_rule(np.diff, X, n, axis)


def test_differences_from_given_ends():
    check_rule(np.diff, X, axis=0, prepend=np.array(0.5), append=X[:1] + 1)
    check_rule(np.diff, X, 2, -1, X[:, :2] + 1, np.array(2.0))
    assert_close(grad(lambda end: np.sum(np.diff(X, prepend=end)))(0.5), -3.0)
    assert_close(grad(lambda x: np.sum(np.diff(x, append=[7.0]) ** 2))(np.ones(1)), [-12.0])


@pytest.mark.parametrize("dx", [[2], (1.0, 2.0, 0.5), np.array([2.0, 1.0, 3.0]), np.float32(0.5)])
def test_widths_in_a_list_or_an_array(dx):
    for _ in range(3):  # the later calls are planned
        area, pullback = vjp(lambda x: np.trapezoid(x * X, dx=dx), X)
        assert_close(area, np.trapezoid(X * X, dx=dx))
        weights = np.stack([np.trapezoid(row, dx=dx) for row in np.eye(4)])
        assert_close(pullback(np.ones(3))[0], X * weights)


@pytest.mark.parametrize("dx", [1.0, 2, True, np.float32(0.5), [1, 2], np.array([1.0, 2.0])])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.complex64])
def test_a_width_gives_way_to_the_dtype_as_in_numpy(dtype, dx):
    x = np.array([1, 2, 4], dtype)
    area, pullback = vjp(lambda x: np.trapezoid(x, dx=dx), x)
    assert area.dtype == np.trapezoid(x, dx=dx).dtype
    assert pullback(np.ones_like(area))[0].dtype == dtype


def test_widths_of_more_axes_than_values():
    f = lambda x: np.trapezoid(x, dx=[[1.0, 2.0]])  # noqa: E731
    assert_close(vjp(f, T[:3])[0], f(T[:3]))


def test_complex_differences_and_float32():
    check_rule(np.diff, X[0] + 1j * X[1])
    check_rule(np.diff, X.astype(np.float32), append=np.float64(1.0))


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.diff(x[0, 0]),
        lambda x: np.diff(x, -1),
        lambda x: np.diff(x, axis=2),
        lambda x: np.diff(x, prepend=np.ones(3)),
        lambda x: np.gradient(x[0], 1.0, 2.0),
        lambda x: np.gradient(x[0], np.ones(3)),
        lambda x: np.gradient(x[0], np.ones((2, 2))),
        lambda x: np.gradient(x[0], edge_order=3),
        lambda x: np.gradient(x[0, :1]),
        lambda x: np.ediff1d(x, 1j),
    ],
)
def test_bad_calls_raise_as_numpy_does(call):
    with pytest.raises((ValueError, TypeError)) as expected:
        call(X)
    with pytest.raises(type(expected.value)) as found:
        vjp(call, X)
    assert found.type is expected.type


def test_differences_in_a_row_with_loose_ends():
    check_rule(np.ediff1d, X, to_end=np.array([5.0, 6.0]), to_begin=np.array(-3.0))
    check_rule(np.ediff1d, X, np.array([[5.0], [6.0]]))
    check_rule(np.ediff1d, np.array(2.0), 3.0)
    by_ends = grad(lambda end: np.sum(np.ediff1d(np.arange(3.0), end, end) ** 2))(2.0)
    assert by_ends == 8


# --- slopes


@pytest.mark.parametrize("edge_order", [1, 2])
@pytest.mark.parametrize("axis", [None, 0, 1, -1, (1, 0), (-1,), ()])
def test_slopes_along_any_axes(axis, edge_order):
    check_rule(np.gradient, X, axis=axis, edge_order=edge_order)
    check_rule(np.gradient, X, 0.5, axis=axis, edge_order=edge_order)


@pytest.mark.parametrize("edge_order", [1, 2])
def test_slopes_at_given_coordinates(edge_order):
    check_rule(np.gradient, X, np.array(0.5), T, edge_order=edge_order)
    check_rule(np.gradient, X, T, axis=1, edge_order=edge_order)
    check_rule(np.gradient, X, [0, 1, 4, 6], axis=1, edge_order=edge_order)
    check_grads(lambda f, t: np.gradient(f, t, edge_order=edge_order), (T**2, T + 0.1), order=2)


@pytest.mark.parametrize("edge_order", [1, 2])
def test_equal_spacing_that_varies_has_a_derivative_by_each_coordinate(edge_order):
    def slope(t):
        return np.gradient(X[0], t, edge_order=edge_order)

    even = np.arange(4.0)
    assert_close(slope(even), vjp(slope, even)[0])
    by_each = jacobian(slope)(even)
    for i in range(4):
        step = np.where(np.arange(4) == i, 1e-6, 0.0)
        np.testing.assert_allclose(
            by_each[:, i], (slope(even + step) - slope(even - step)) / 2e-6, rtol=1e-6, atol=1e-8
        )


def test_slopes_of_whole_numbers_and_of_the_smallest_arrays():
    check_rule(np.gradient, np.arange(4) ** 2, np.array(0.5))
    check_rule(np.gradient, X[:2, :2])
    check_rule(np.gradient, X[:2, :2], T[:2], T[:2], edge_order=1)
    check_rule(np.gradient, X[:, :3], axis=1, edge_order=2)
    check_rule(np.gradient, X[0] + 1j * X[1], T)


def test_slopes_keep_the_dtype_of_the_function():
    check_rule(np.gradient, X.astype(np.float32), T, axis=1)


# --- integrals


def test_integrals_over_any_spacing():
    check_rule(np.trapezoid, X)
    check_rule(np.trapezoid, X, axis=0, dx=np.array(0.25))
    check_rule(np.trapezoid, X, T)
    check_rule(np.trapezoid, X, T[:3], axis=0)
    check_rule(np.trapezoid, X, X * X + np.arange(4), axis=-1)
    check_rule(np.trapezoid, [1, 2, 4], T[:3])
    check_rule(np.trapezoid, X[:, :1])


def test_the_area_under_moving_points():
    assert_close(grad(lambda t: np.trapezoid(t**2, t))(np.array([0.0, 1.0, 2.0])), [-0.5, 0, 4.5])


# --- angles


def test_unwrapped_angles():
    angles = np.array([[0.1, 3.0, -3.0, 0.5], [5.0, -1.0, 2.0, 9.0]])
    check_rule(np.unwrap, angles)
    check_rule(np.unwrap, angles, axis=0)
    check_rule(np.unwrap, angles, 4.0, -1)
    check_rule(np.unwrap, angles, period=2.5)
    check_rule(np.unwrap, angles.astype(np.float32))


def test_unwrapped_angles_move_with_the_period():
    angles = np.array([0.1, 3.0, -2.9, 0.5, 9.0])
    check_rule(np.unwrap, angles, period=np.array(2.6))
    slopes = grad(lambda p, period: np.unwrap(p, period=period)[1], (0, 1))
    assert slopes(np.array([0.0, 5.0]), 6.0)[1] == -1


def test_an_angle_at_the_jump_has_the_slope_one():
    assert_close(jacobian(np.unwrap)(np.array([0.0, np.pi, 3 * np.pi])), np.eye(3))
