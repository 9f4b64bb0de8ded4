"""Sorting: ties keep their order, infinities and NaN go where NumPy puts them."""

from __future__ import annotations

import numpy as np
import pytest

from tapegrad import compile, grad, jvp, vjp
from tapegrad.testing import check_rule

X = np.array([[0.3, -1.2, 2.1], [1.7, 0.4, -0.6]])


def test_ties_keep_their_order():
    _, pullback = vjp(np.sort, np.array([2.0, 1.0, 2.0, 1.0]))
    np.testing.assert_array_equal(pullback(np.arange(4.0))[0], [2, 0, 3, 1])


def test_a_nan_is_last_and_has_the_last_cotangent():
    out, pullback = vjp(np.sort, np.array([np.nan, 1.0, -np.inf]))
    np.testing.assert_array_equal(out, [-np.inf, 1.0, np.nan])
    np.testing.assert_array_equal(pullback(np.arange(3.0))[0], [np.nan, 1, 0])


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


@pytest.mark.parametrize("kind", ["quicksort", "heapsort", "stable"])
def test_ties_keep_their_order_by_any_method(kind):
    _, pullback = vjp(lambda x: np.sort(x, kind=kind), np.array([2.0, 1.0] * 20))
    half = np.arange(20.0)
    np.testing.assert_array_equal(pullback(np.arange(40.0))[0].reshape(20, 2).T, [half + 20, half])


@pytest.mark.parametrize("dtype", ["f4", "f8", "c16"])
@pytest.mark.parametrize("size", [63, 64, 300])  # NumPy's sort changes its method with the size
@pytest.mark.parametrize("function", [np.sort, lambda x, axis: np.partition(x, 31, axis)])
def test_ties_keep_their_order_at_any_size(function, size, dtype):
    for axis in (0, 1, None):
        x = np.random.default_rng(size).integers(0, 9, (2, size)).astype(dtype)
        x = x.T if axis == 0 else x
        out, pullback = vjp(lambda x, axis=axis: function(x, axis), x)
        g = np.arange(float(out.size)).reshape(out.shape).astype(dtype)
        expected, along = np.empty_like(x), -1 if axis is None else axis
        flat = expected.reshape(-1) if axis is None else expected
        order = np.argsort(x, axis, kind="stable")
        moved = np.take_along_axis(g, np.argsort(out, along, kind="stable"), along)
        np.put_along_axis(flat, order, moved, along)
        np.testing.assert_array_equal(pullback(g)[0], expected)
        np.testing.assert_array_equal(
            jvp(lambda x, axis=axis: function(x, axis), (x,), (expected,))[1], g
        )


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.sort(x, kind="bogo"),
        lambda x: np.sort(x, order="a"),
        lambda x: np.sort(x, kind="stable", stable=True),
        lambda x: np.sort(x, axis=2),
        lambda x: np.partition(x, 9),
        lambda x: np.partition(x, 0, kind="bogo"),
        lambda x: np.unique(x, axis=2),
    ],
)
def test_bad_calls_are_numpys_errors(call):
    with pytest.raises((TypeError, ValueError)) as expected:
        call(X)
    with pytest.raises(expected.type):
        grad(lambda x: np.sum(call(x)))(X)


@pytest.mark.parametrize("kth", [0, 57, -1, (3, 50)])
def test_a_partition_is_numpys_to_the_last_element(kth):
    x = np.random.default_rng(0).normal(size=(3, 60))
    out, pullback = vjp(lambda x: np.partition(x, kth), x)
    np.testing.assert_array_equal(out, np.partition(x, kth))
    np.testing.assert_array_equal(pullback(out)[0], x)
    program = compile(lambda x: jvp(lambda x: np.partition(x, kth), (x,), (x,)), backend="numpy")
    for _ in range(3):
        np.testing.assert_array_equal(program(x), (out, out))


def test_complex_results_of_sorting():
    for dtype, expected in (("f", "D"), ("d", "D"), ("F", "F"), ("g", "G")):
        x = X.astype(dtype)
        assert vjp(np.sort_complex, x)[0].dtype.char == expected == np.sort_complex(x).dtype.char


# --- sets


def test_of_equal_elements_a_set_takes_the_first():
    x = np.array([2.0, 1.0, 2.0, 1.0, 3.0])
    for function in (np.unique, np.unique_values, lambda x: np.unique_counts(x).values):
        out, pullback = vjp(function, x)
        np.testing.assert_array_equal(out, [1, 2, 3])
        np.testing.assert_array_equal(pullback(np.array([10.0, 20, 30]))[0], [20, 10, 0, 0, 30])


def test_of_many_equal_elements_too_a_set_takes_the_first():
    x = np.random.default_rng(0).integers(0, 7, 300).astype(float)
    values, first = np.unique(x, return_index=True)
    expected = np.zeros(300)
    expected[first] = np.arange(1, len(values) + 1)
    for function in (np.unique, np.unique_values, lambda x: np.union1d(x, x)):
        out, pullback = vjp(function, x)
        np.testing.assert_array_equal(np.sort(out), values)
        np.testing.assert_array_equal(pullback(1 + np.searchsorted(values, out))[0], expected)


def test_what_comes_beside_the_unique_values_is_plain():
    def check(x):
        values, index, inverse, counts = np.unique(x, True, True, True)
        for part in (index, inverse, counts, *np.unique_all(x)[1:]):
            assert type(part) is np.ndarray
        return np.sum(values[inverse] * x * counts[inverse])

    x = np.array([2.0, 1.0, 2.0, 1.0])
    np.testing.assert_array_equal(grad(check)(x), [12, 6, 4, 2])
    assert type(vjp(np.unique_all, x)[0]).__name__ == "UniqueAllResult"


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_unique_rows(axis):
    x = np.stack([X[0], X[1], X[0]], axis=axis)
    out, pullback = vjp(lambda x: np.unique(x, axis=axis), x)
    np.testing.assert_array_equal(out, np.unique(x, axis=axis))
    twice = np.moveaxis(pullback(np.ones_like(out))[0], axis, 0)
    np.testing.assert_array_equal(twice, [[1] * 3, [1] * 3, [0] * 3])


def test_a_nan_in_a_set():
    x = np.array([np.nan, 1.0, np.nan])
    for options in ({}, {"equal_nan": False}):
        out, _ = vjp(lambda x, options=options: np.unique(x, **options), x)
        np.testing.assert_array_equal(out, np.unique(x, **options))


def test_an_element_of_two_sets_is_shared():
    x, y = np.array([1.0, 2.0, 3.0]), np.array([[3.0, 1.0], [5.0, 1.0]])
    out, pullback = vjp(np.intersect1d, x, y)
    np.testing.assert_array_equal(out, [1, 3])
    x_bar, y_bar = pullback(np.array([2.0, 4.0]))
    np.testing.assert_array_equal(x_bar, [1, 0, 2])
    np.testing.assert_array_equal(y_bar, [[2, 1], [0, 0]])
    out, first, second = vjp(lambda x: np.intersect1d(x, y, return_indices=True), x)[0]
    np.testing.assert_array_equal(first, [0, 2])
    np.testing.assert_array_equal(second, [1, 0])
    constant = grad(lambda y: np.sum(np.intersect1d([1.0, 2.0], y)))(y[0])
    np.testing.assert_array_equal(constant, [0, 0.5])


def test_differences_and_unions_of_sets():
    x, y = np.array([4.0, 1.0, 3.0, 4.0]), np.array([3.0, 5.0])
    for function, expected in (
        (np.setdiff1d, ([1, 1, 0, 0], [0, 0])),
        (np.setxor1d, ([1, 1, 0, 0], [0, 1])),
        (np.union1d, ([1, 1, 1, 0], [0, 1])),
    ):
        out, pullback = vjp(function, x, y)
        np.testing.assert_array_equal(out, function(x, y))
        for bar, ones in zip(pullback(np.ones_like(out)), expected, strict=True):
            np.testing.assert_array_equal(bar, ones)
    out, pullback = vjp(lambda x: np.setdiff1d(x, [1.0], assume_unique=True), x)
    np.testing.assert_array_equal(out, [4, 3, 4])


ORDERED = np.random.default_rng(0).normal(size=(3, 4, 5))
LAYOUTS = {
    "C": ORDERED,
    "F": np.asfortranarray(ORDERED),
    "turned": ORDERED.transpose(1, 0, 2),
    "backwards": ORDERED[::-1],
    "gaps": ORDERED[:, ::2].T,
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("axis", [0, 1, -1, None])
@pytest.mark.parametrize("function", [np.sort, lambda x, axis: np.partition(x, 1, axis)])
def test_sorted_arrays_lie_in_memory_as_numpys_do(layout, axis, function):
    x = LAYOUTS[layout]
    expected, seen = function(x, axis), []
    jvp(lambda x: seen.append(function(x, axis).strides) or x, (x,), (x,))
    assert seen == [expected.strides]
    value, dots = jvp(lambda x: function(x, axis), (x,), (np.exp(x),))
    np.testing.assert_array_equal(value, expected)
    np.testing.assert_allclose(dots, np.exp(expected))
