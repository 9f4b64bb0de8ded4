"""Sorting: ties keep their order, infinities and NaN go where NumPy puts them."""

from __future__ import annotations

import numpy as np
import pytest

from tapegrad import grad, vjp
from tapegrad.testing import check_rule

X = np.array([[0.3, -1.2, 2.1], [1.7, 0.4, -0.6]])


def test_ties_keep_their_order():
    _, pullback = vjp(np.sort, np.array([2.0, 1.0, 2.0, 1.0]))
    np.testing.assert_array_equal(pullback(np.arange(4.0))[0], [2, 0, 3, 1])


def test_a_nan_is_last_and_has_the_last_cotangent():
    out, pullback = vjp(np.sort, np.array([np.nan, 1.0, -np.inf]))
    np.testing.assert_array_equal(out, [-np.inf, 1.0, np.nan])
    np.testing.assert_array_equal(pullback(np.arange(3.0))[0], [2, 1, 0])


@pytest.mark.parametrize("axis", [0, 1, -1, None])
@pytest.mark.parametrize("kind", [None, "stable", "heapsort"])
def test_sorting_by_any_method(axis, kind):
    check_rule(np.sort, X, axis=axis, kind=kind)


def test_complex_numbers_are_sorted_by_real_part_first():
    check_rule(np.sort, np.array([1.25 + 2j, 0.5 - 1j, 1 - 2j]))


def test_partitions_by_several_positions():
    check_rule(np.partition, X, (0, 1), axis=1)
    check_rule(lambda x: np.partition(x, -1, axis=None)[-1], X)


def test_the_median_of_a_partition():
    median = grad(lambda x: np.partition(x, 2)[2])(np.array([5.0, 1.0, 3.0, 2.0, 4.0]))
    np.testing.assert_array_equal(median, [0, 0, 1, 0, 0])


def test_a_method_sorts_in_place():
    def ranked(x):
        y = x * 1
        y.sort()
        return np.sum(y * np.arange(3.0))

    np.testing.assert_array_equal(grad(ranked)(np.array([3.0, 1.0, 2.0])), [2, 0, 1])
