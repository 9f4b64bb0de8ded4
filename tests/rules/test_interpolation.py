"""Interpolation: at its knots, outside of them, periodic, by every argument."""

from __future__ import annotations

import numpy as np
import pytest
from tolerances import assert_close

import tapegrad
from tapegrad import grad, vjp
from tapegrad.testing import check_grads, check_rule

KNOTS = np.array([0.0, 1.0, 3.0, 4.0])
VALUES = np.array([1.0, 3.0, 2.0, 5.0])


def test_a_knot_has_the_mean_of_both_slopes():
    slope = grad(lambda x: np.interp(x, KNOTS, VALUES))
    assert slope(1.0) == (2 - 0.5) / 2
    assert slope(0.0) == 1  # constant before: half the slope after
    assert slope(4.0) == 1.5
    assert slope(-1.0) == slope(5.0) == 0


def test_a_last_knot_before_a_jump_has_the_slope_inside():
    slope = grad(lambda x: np.interp(x, KNOTS, VALUES, left=-7.0, right=-7.0))
    assert slope(0.0) == 2
    assert slope(4.0) == 3
    assert slope(-1.0) == slope(5.0) == 0
    assert grad(lambda x: np.interp(x, KNOTS[:1], VALUES[:1], 0.0, 0.0))(0.0) == 0


def test_at_a_knot_the_value_there_counts_alone():
    by_values = grad(lambda fp: np.interp(1.0, KNOTS, fp))(VALUES)
    np.testing.assert_array_equal(by_values, [0, 1, 0, 0])
    by_knots = grad(lambda xp: np.interp(1.0, xp, VALUES))(KNOTS)
    np.testing.assert_array_equal(by_knots, [0, -0.75, 0, 0])


def test_interpolation_by_everything_at_once():
    x = np.array([[-0.5, 0.25], [3.5, 9.0], [1.5, 0.75]])
    ends = np.array(-2.0), np.array(0.5)
    check_rule(np.interp, x, KNOTS, VALUES, *ends)
    check_rule(np.interp, x, KNOTS, VALUES, right=ends[1])
    check_grads(lambda *args: np.interp(*args), (x, KNOTS, VALUES, *ends), order=2)
    check_rule(np.interp, np.array(0.3), KNOTS, VALUES + 1j * VALUES[::-1])
    check_rule(np.interp, x, [0, 1, 3, 4], VALUES.astype(np.float32))
    check_rule(np.interp, [0.5, 2.0], KNOTS, VALUES)


@pytest.mark.parametrize("period", [5.0, -5.0, np.array(4.5)])
def test_interpolation_of_something_periodic(period):
    x = np.array([-7.1, 0.25, 4.2, 12.6])
    check_rule(np.interp, x, KNOTS[[2, 0, 3, 1]] - 5.3, VALUES, period=period)
    with pytest.raises(ValueError, match="non-zero"):
        vjp(lambda x: np.interp(x, KNOTS, VALUES, period=0), x)


def test_interpolation_outside_of_infinite_and_missing_numbers():
    x = np.array([-np.inf, np.nan, 0.5, np.inf])
    out, pullback = vjp(lambda x: np.interp(x, KNOTS, VALUES), x)
    np.testing.assert_array_equal(out, np.interp(x, KNOTS, VALUES))
    np.testing.assert_array_equal(pullback(np.ones(4))[0], [0, 0, 2, 0])


def test_points_that_numpy_refuses():
    with pytest.raises(ValueError, match="array of sample points is empty"):
        vjp(lambda x: np.interp(x, [], []), 0.5)
    with pytest.raises(ValueError, match="not of the same length"):
        vjp(lambda x: np.interp(x, KNOTS, VALUES[:2]), 0.5)
    with pytest.raises(ValueError, match="not of the same length"):
        vjp(lambda x: np.interp(x, KNOTS, VALUES[:2], period=2), 0.5)


def test_gradients_of_interpolations_under_vmap():
    x, values = np.array([0.5, -1.0, 3.0]), np.stack([VALUES, VALUES**2, -VALUES])
    gradients = grad(lambda *args: np.interp(*args) ** 2, (0, 1, 2))
    knots = np.stack([KNOTS, KNOTS * 2, KNOTS + 0.1])
    found = tapegrad.vmap(gradients)(x, knots, values)
    for i in range(3):
        for part, expected in zip(found, gradients(x[i], knots[i], values[i]), strict=True):
            assert_close(part[i], expected)
