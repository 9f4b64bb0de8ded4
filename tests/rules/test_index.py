"""Positions: negative, repeated and out of range, and functions that write to their argument."""

from __future__ import annotations

import numpy as np
import pytest

from tapegrad import grad, jvp, vjp, vmap
from tapegrad.rules.masks import LARGE
from tapegrad.testing import check_rule

X = np.array([[0.3, -1.2, 2.1], [1.7, 0.4, -0.6]])


def after(write):
    """Contents that a writing function leaves in a copy of its first argument."""

    def result(x, *args, **params):
        y = np.copy(x)
        write(y, *args, **params)
        return y

    return result


@pytest.mark.parametrize("mode", ["wrap", "clip"])
def test_positions_out_of_range(mode):
    positions = np.array([[-9, 9], [0, 4]])
    check_rule(np.take, X, positions, mode=mode)
    check_rule(np.take, X, positions, axis=-1, mode=mode)
    check_rule(after(np.put), X, positions, X[0, :2], mode=mode)


def test_positions_out_of_range_are_numpys_error_by_default():
    with pytest.raises(IndexError):
        grad(lambda x: np.sum(np.take(x, [9])))(X)
    with pytest.raises(IndexError):
        grad(lambda x: np.sum(after(np.put)(x, [9], 1.0)))(X)


def test_a_place_taken_many_times_sums_its_cotangents():
    gradient = grad(lambda x: np.sum(np.take(x, [1, 1, 1, 0])))(X)
    np.testing.assert_array_equal(gradient, [[1, 3, 0], [0, 0, 0]])


def test_a_place_written_many_times_keeps_the_last():
    values = np.array([1.0, 2.0, 3.0])
    _, pullback = vjp(lambda x, v: after(np.put)(x, [0, 0, 4], v), X, values)
    x_bar, v_bar = pullback(np.ones_like(X))
    np.testing.assert_array_equal(x_bar, [[0, 1, 1], [1, 0, 1]])
    np.testing.assert_array_equal(v_bar, [0, 1, 1])


def test_too_few_values_are_repeated_as_numpy_does():
    check_rule(after(np.put), X, [0, 2, 5], np.array([0.7, 0.8]))
    check_rule(after(np.putmask), X, X > 0, np.array([0.7, 0.8]))
    check_rule(after(np.place), X, X > 0, np.array([0.7, 0.8]))


@pytest.mark.parametrize("shape", [(3, 3), (3, 5), (5, 3), (3, 3, 3)])
@pytest.mark.parametrize("wrap", [False, True])
def test_filling_a_diagonal(shape, wrap):
    x = np.linspace(-1, 1, int(np.prod(shape))).reshape(shape)
    check_rule(after(np.fill_diagonal), x, np.array(2.5), wrap=wrap)
    check_rule(after(np.fill_diagonal), x, np.array([2.5, 1.5, 0.5]), wrap=wrap)


@pytest.mark.parametrize("k", [-4, -2, -1, 0, 1, 3])
def test_diagonals_that_are_not_square_or_lie_outside(k):
    check_rule(np.diag, X, k)
    check_rule(np.diag, X[0], k)
    check_rule(np.diagonal, X.reshape(1, 2, 3), k, axis1=-1, axis2=1)
    check_rule(np.tril, X, k)
    check_rule(np.triu, X, k)


def test_triangles_of_stacks_and_vectors():
    check_rule(np.tril, X.reshape(1, 2, 3))
    check_rule(np.triu, X[0])


def test_selecting_where_broadcasting_makes_all_three_larger():
    check_rule(np.where, np.array([[True], [False]]), X[0], np.array(2.5))
    assert len(np.where(X > 0)) == 2


def test_the_condition_may_depend_on_what_is_differentiated():
    gradient = grad(lambda x: np.sum(np.where(x > 0, x * 2, x * 3)))(X)
    np.testing.assert_array_equal(gradient, np.where(X > 0, 2, 3))
    positions = grad(lambda x: np.sum(x[np.where(x > 0)]))(X)
    np.testing.assert_array_equal(positions, X > 0)


def test_a_nan_in_the_branch_not_taken():
    x = np.array([np.nan, 4.0])
    gradient = grad(lambda x: np.sum(np.where(np.isnan(x), 0.0, np.sqrt(x))))(x)
    np.testing.assert_array_equal(gradient, [0, 0.25])


@pytest.mark.parametrize("dtype", ["f", "d"])
@pytest.mark.parametrize(
    "choose",
    [
        lambda c, x, y: np.where(c, x, y),
        lambda c, x, y: np.where(c, x, 0.0),
        lambda c, x, y: np.where(c, -1, y),
        lambda c, x, y: np.where(c, x, x * y),
    ],
)
def test_choices_between_many_elements(choose, dtype):
    """From LARGE elements on they are chosen bit by bit: as in pieces, whatever they are."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, LARGE)).astype(dtype)
    x[::7], y[::5], y[::11] = np.nan, -np.inf, -0.0
    condition, g = rng.random(LARGE) < 0.3, rng.normal(size=LARGE).astype(dtype)

    def ways(c, x, y, g):
        out, pullback = vjp(lambda x, y: choose(c, x, y), x, y)
        pushed = [
            jvp(lambda x: choose(c, x, y), (x,), (g,)),
            jvp(lambda y: choose(c, x, y), (y,), (g,)),
        ]
        both = jvp(lambda x, y: choose(c, x, y), (x, y), (g, -g))
        return [out, *pullback(g), *pushed[0], *pushed[1], *both]

    with np.errstate(invalid="ignore"):
        for _ in range(2):  # the second call is known by now
            whole = ways(condition, x, y, g)
            pieces = [ways(*(part[i::2] for part in (condition, x, y, g))) for i in (0, 1)]
            for a, *halves in zip(whole, *pieces, strict=True):
                assert a.dtype == dtype
                np.testing.assert_array_equal(a, np.stack(halves, 1).reshape(-1))


def test_copying_where_and_by_broadcasting():
    check_rule(after(np.copyto), X, X[0])
    check_rule(after(np.copyto), X, np.array(1.5), where=X > 0)


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_compressing_by_a_short_condition(axis):
    check_rule(np.compress, [False, True], X, axis=axis)


def test_along_an_axis_with_sides_that_broadcast():
    order = np.argsort(X, axis=1)
    check_rule(np.take_along_axis, X, order, axis=1)
    check_rule(np.take_along_axis, X[:1], order, axis=1)
    check_rule(np.take_along_axis, X, order[:1], axis=1)
    check_rule(np.take_along_axis, X, np.array([4, 0]), axis=None)


# --- calls as NumPy takes them


def _sum_with_doubled_row(x):
    row = np.take(x, np.int64(1), 1)  # no view
    row *= 2
    return np.sum(x) + np.sum(row)


def test_taking_as_numpy_takes_it():
    check_rule(lambda x: np.take(x, 1), X)
    check_rule(lambda x: np.take(x, [[1], [0]], 1), X)
    check_rule(lambda x: np.take(x, []), X)
    check_rule(lambda x: np.take(x, [0, 0]), np.array(1.5))
    check_rule(lambda x: np.take(x, [True, False]), X)
    check_rule(lambda x: np.ravel(np.take(x, [1, 0], 1), "K"), X)  # in C order
    check_rule(_sum_with_doubled_row, X)
    assert type(vjp(lambda x: np.take(x, 1), X)[0]) is np.float64
    with pytest.raises(TypeError):
        grad(lambda x: np.sum(np.take(x, [0.5])))(X)
    with pytest.raises(ValueError, match="mode"):
        grad(lambda x: np.sum(np.take(x, [0], mode="sideways")))(X)


@pytest.mark.parametrize("function", [np.take, np.compress])
def test_results_are_written_to_out(function):
    def twice(x):
        out = np.zeros_like(x[:, :2])
        args = ([True, False, True], x) if function is np.compress else (x, [0, 2])
        assert function(*args, 1, out) is out
        return np.sum(out * function(*args, axis=1))

    np.testing.assert_allclose(grad(twice)(X), 2 * X * [1, 0, 1])


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.diag(x.reshape(1, 2, 3)),
        lambda x: np.diagonal(x[0]),
        lambda x: np.diagonal(x, 0, 1, 1),
        lambda x: np.take(x, [0], axis=2),
        lambda x: np.take_along_axis(x, np.array([0]), 0),
        lambda x: np.take_along_axis(x, np.array([[0.5]]), 0),
        lambda x: np.take_along_axis(x, np.array([[0]]), None),
        lambda x: np.take_along_axis(x, np.array([[0]]), 5),
        lambda x: np.compress([[True]], x),
        lambda x: np.compress([False] * 9 + [True], x),
        lambda x: np.where([True], x),
        lambda x: np.ix_(x),
        lambda x: np.ravel_multi_index((x, x), (3, 3)),
        lambda x: np.unravel_index(x, (3, 3)),
    ],
)
def test_bad_calls_are_numpys_errors(call):
    with pytest.raises((TypeError, ValueError, IndexError)) as expected:
        call(X)
    with pytest.raises(expected.type):
        grad(lambda x: call(x) and np.sum(x))(X)


def test_an_open_mesh_of_numbers_keeps_them():
    check_rule(lambda x, y: np.ix_(x, y)[0] * np.ix_(x, y)[1], X[0], X[1, :2])
    mesh = vjp(lambda x: (x, *np.ix_([1, 0], x)), X[0])[0]
    assert type(mesh[1]) is np.ndarray
    assert mesh[2].shape == (1, 3)


@pytest.mark.parametrize(
    "index",
    [
        (np.arange(400) % 31,),
        (np.arange(-400, 0) % 7 - 7,),
        (slice(None), np.arange(40) % 13),
        (slice(None), np.arange(40).reshape(8, 5) % 13),
        (np.arange(300) % 40, np.arange(300) % 17),
        (np.arange(40)[:, None], np.arange(13)),
        (slice(None), slice(3, 9), [0, 1, 1]),
        (np.arange(40) > 7,),
    ],
)
def test_many_positions_sum_their_cotangents(index):
    x = np.random.default_rng(0).normal(size=(40, 17, 3))
    expected = np.zeros_like(x)
    np.add.at(expected, index, np.cos(x[index]))
    np.testing.assert_allclose(grad(lambda x: np.sum(np.sin(x[index])))(x), expected)


@pytest.mark.parametrize("dtype", ["d", "f"])
@pytest.mark.parametrize("first", [0, -30])
def test_many_positions_along_an_axis(dtype, first):
    rng = np.random.default_rng(0)
    x, at = rng.normal(size=(40, 30)).astype(dtype), rng.integers(first, 30, size=(40, 30))
    assert at.size >= 1 << 10  # from there on they are read by one index
    expected = np.zeros_like(x)
    np.add.at(expected, (np.arange(40)[:, None], at), np.cos(np.take_along_axis(x, at, 1)))
    of_x = grad(lambda x: np.sum(np.sin(np.take_along_axis(x, at, 1))))
    np.testing.assert_allclose(of_x(x), expected, rtol=1e-6)
    np.testing.assert_allclose(of_x(2 * x / 2), expected, rtol=1e-6)  # the call is known by now
    with pytest.raises(IndexError):
        grad(lambda x: np.sum(np.take_along_axis(x, at + 30, 1)))(x)


RNG = np.random.default_rng(0)
FROM_THE_END = {  # the length of an axis, and places there
    "few, apart": (3, np.array([-1, -3, -2])),
    "few, one twice": (3, np.array([2, 0, -1])),
    "many, apart": (80, RNG.permutation(80) - 80 * RNG.integers(0, 2, 80)),
    "many, one twice": (80, np.append(RNG.permutation(79), -80)),
    "more than places": (40, RNG.integers(-40, 40, 1500)),
}


@pytest.mark.parametrize("places", FROM_THE_END)
@pytest.mark.parametrize(
    ("read", "index"),
    [
        (lambda x, at: np.take(x, at, 0), lambda at: at),
        (lambda x, at: np.take(x, at, 1), lambda at: (slice(None), at)),
        (lambda x, at: np.take_along_axis(x, at[:, None], 0)[:, 0], lambda at: (at, 0)),
        (lambda x, at: x[at], lambda at: at),
        (lambda x, at: x[:, at], lambda at: (slice(None), at)),
        (lambda x, at: x[at, -at - 1], lambda at: (at, -at - 1)),
    ],
)
def test_a_place_counted_from_the_end_is_the_same_place(read, index, places):
    size, at = FROM_THE_END[places]
    x = np.random.default_rng(1).normal(size=(size, size))
    expected = np.zeros_like(x)
    np.add.at(expected, index(at), np.cos(x[index(at)]))
    slope = grad(lambda x: np.sum(np.sin(read(x, at))))
    for _ in range(2):  # the second call is known by now
        np.testing.assert_allclose(slope(x), expected, rtol=1e-12)


@pytest.mark.parametrize("at", [[0, 1], [2, 0], [1, 2], [3, 1, 0]])
@pytest.mark.parametrize(
    "read",
    [
        lambda x, at: np.take(x, at, 0),
        lambda x, at: x[at],
        lambda x, at: np.take(x, at),
        lambda x, at: x[..., at],
    ],
    ids=["take", "x[at]", "take, flat", "x[..., at]"],
)
def test_a_place_that_is_read_once_gets_the_bits_of_its_cotangent(read, at):
    """-0.0 too, which a sum with zeros would lose."""
    at = np.array(at)
    expected = np.zeros(4)
    expected[at] = -0.0
    for _ in range(2):  # the second call is known by now
        (bar,) = vjp(lambda x: read(x, at), np.ones(4))[1](-np.zeros(at.size))
        np.testing.assert_array_equal(np.signbit(bar), np.signbit(expected))


def test_positions_of_each_example_become_one_number():
    x = np.random.default_rng(0).normal(size=(5, 3, 4))

    def largest(x):
        place = np.unravel_index(np.argmax(x), x.shape)
        return np.ravel(x)[np.ravel_multi_index(place, x.shape)]

    np.testing.assert_array_equal(vmap(largest)(x), x.max((1, 2)))


@pytest.mark.parametrize("branches", [(None, 1), (1, None)])
def test_a_branch_of_where_that_is_none(branches):
    with pytest.raises(TypeError, match="expected two branches of numbers, got None for one"):
        grad(lambda x: np.sum(np.where(x > 0, *(x if b else b for b in branches))))(X)


@pytest.mark.parametrize(
    "take",
    [
        lambda a: np.take(a, [1, 0], axis=1),
        lambda a: np.take(a, 1, axis=0, mode="clip"),
        lambda a: a.take([0, 1], axis=2),
        lambda a: np.compress([True, False, True], a, axis=1),
    ],
)
def test_what_is_taken_lies_in_c_order(take):
    a = np.asfortranarray(np.arange(24.0).reshape(2, 3, 4))
    out, out_dot = jvp(take, (a,), (a,))
    assert out.strides == out_dot.strides == take(a).strides
