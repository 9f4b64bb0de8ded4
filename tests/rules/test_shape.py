"""Shapes: memory orders, lists of unlike parts, padding and cutting by unequal amounts."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided, sliding_window_view

import tapegrad.numpy
from tapegrad import ConversionError, grad, vjp, vmap
from tapegrad._numpy_versions import TRIMS_AXES, TRIMS_SEVERAL_AXES
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


@pytest.mark.parametrize("shape", [(), (6,), (2, 3), (2, 1, 3)])
@pytest.mark.parametrize("laid", ["C", "F"])
@pytest.mark.parametrize("order", ["C", "F", "A", "K"])
def test_examples_in_the_order_of_their_memory(order, laid, shape):
    # Each example is what it is alone: laid out in memory as Fortran would, or as C.
    x = np.arange(4.0 * np.prod(shape, dtype=int)).reshape(4, *shape)
    size = x[0].size

    def programs(a):
        a = np.copy(a, laid)
        flat = np.ravel(a, order)
        again = a if order == "K" else np.reshape(a, (size, 1), order)
        return flat, again, np.ravel(np.copy(a, order), "K")

    for got, *expected in zip(vmap(programs)(x), *map(programs, x), strict=True):
        np.testing.assert_array_equal(got, np.stack(expected))


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


def test_repeating_much_takes_no_more_than_the_result():
    counts = np.arange(4000) % 3
    x = np.linspace(-1, 1, 4000)
    gradient = grad(lambda x: np.sum(np.repeat(x, counts) ** 2))(x)  # 128 MB as a dense matrix
    np.testing.assert_allclose(gradient, 2 * counts * x)
    check_rule(lambda x: np.repeat(x, [2, 0, 1], axis=1), X)
    check_rule(lambda x: np.repeat(x, [2, 0, 1, 3, 1, 0]), X)


@pytest.mark.parametrize("shape", [(3, 3), 4, (2, 1), (0,), (7, 2), (), (2, 3, 4)])
def test_resizing_repeats(shape):
    check_rule(lambda x: np.resize(x, shape), X)
    check_rule(lambda x: np.resize(x, shape), np.array(1.5))
    check_rule(lambda x: np.resize(x, shape), np.zeros(0))


def test_resizing_in_place_says_what_to_do_instead():
    with pytest.raises(ValueError, match=r"np\.resize"):
        grad(lambda x: x.resize((2, 2)))(X)
    with pytest.raises(ValueError, match="non-negative"):
        grad(lambda x: np.sum(np.resize(x, -1)))(X)


@pytest.mark.parametrize(
    ("window", "axis"), [((1, 2), None), (2, 1), (2, 0), ((2, 2), (0, 1)), ((2, 2), (1, 1))]
)
def test_sliding_windows(window, axis):
    check_rule(lambda x: sliding_window_view(x, window, axis), X)


def test_windows_see_what_is_written_and_can_be_written_to_if_asked():
    def moved(x):
        y = x * 1
        windows = sliding_window_view(y, 2)
        y[0] = 10 * x[2]
        return np.sum(windows * [[1.0, 2.0], [3.0, 4.0]])

    np.testing.assert_array_equal(grad(moved)(X[0]), [0, 5, 14])

    def written(x):
        y = x * 1
        sliding_window_view(y, 2, writeable=True)[1] *= 5.0
        return np.sum(y)

    np.testing.assert_array_equal(grad(written)(X[0]), [1, 5, 5])

    def refused(x):
        sliding_window_view(x * 1, 2)[0] = 1.0

    with pytest.raises(ValueError, match=r"sliding_window_view: its result cannot be written"):
        grad(refused)(X[0])


def test_strides_would_read_memory():
    with pytest.raises(ConversionError):
        grad(lambda x: as_strided(x, (2, 2), (8, 8)))(X)


@pytest.mark.parametrize("trim", ["fb", "f", "B"])
@pytest.mark.parametrize("inner", [X, X[:0]])
def test_trimming_zeros(trim, inner):
    check_rule(lambda x: np.trim_zeros(np.pad(x.ravel(), (2, 3)), trim), inner)
    check_rule(lambda x: np.trim_zeros(x.ravel() * 0, trim), inner)


def test_trimming_several_axes():
    if TRIMS_AXES:
        check_rule(lambda x: np.trim_zeros(np.pad(x, ((1, 2), (3, 0)))), X)
        check_rule(lambda x: np.trim_zeros(np.pad(x, 1), axis=-1), X)
        with pytest.raises(ValueError, match="trim"):
            grad(lambda x: np.sum(np.trim_zeros(x, "x")))(X[0])
    if TRIMS_SEVERAL_AXES:
        check_rule(lambda x: np.trim_zeros(np.pad(x, 1), axis=()), X)


@pytest.mark.parametrize("indexing", ["xy", "ij"])
@pytest.mark.parametrize("sparse", [False, True])
def test_meshes(indexing, sparse):
    options = {"indexing": indexing, "sparse": sparse}
    check_rule(lambda x: np.meshgrid(x, **options), X[0])
    check_rule(lambda x, y: np.meshgrid(x, y, [1.0, 2.0], **options), X[0], X[1, :2])
    check_rule(lambda x: np.meshgrid(x, x, copy=False, **options), X)
    with pytest.raises(ValueError, match="indexing"):
        grad(lambda x: np.meshgrid(x, indexing="yx"))(X[0])


def test_a_mesh_that_was_copied_can_be_written_to():
    def filled(x):
        rows, columns = np.meshgrid(x, x)
        rows[0, 0] = 0
        return np.sum(rows * columns)

    np.testing.assert_allclose(grad(filled)(X[0]), 2 * np.sum(X[0]) - [2 * X[0, 0], 0, 0])


def test_unstacking():
    check_rule(lambda x: np.unstack(x, axis=-1), X)
    check_rule(lambda x: (*np.unstack(x[:0]), x), X)
    with pytest.raises(ValueError, match="at least 1-d"):
        grad(lambda x: np.unstack(x))(1.0)


@pytest.mark.parametrize("dtype", [np.float32, np.complex64, int, bool, None])
def test_the_function_astype(dtype):
    made = vjp(lambda x: (np.astype(x, dtype or x.dtype), x), X)[0][0]
    np.testing.assert_array_equal(made, X.astype(dtype or X.dtype))
    assert made.dtype == np.dtype(dtype or X.dtype)
    with pytest.raises(ValueError, match="cpu"):
        grad(lambda x: np.astype(x, float, device="gpu"))(X)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.split(x, [1], axis=2),
        lambda x: np.array_split(x, 0),
        lambda x: np.split(x, 4),
        lambda x: np.vsplit(x[0], 1),
        lambda x: np.dsplit(x, 1),
        lambda x: np.hsplit(x[0, 0], 1),
        lambda x: np.fliplr(x[0]),
        lambda x: np.flipud(x[0, 0]),
        lambda x: np.rollaxis(x, 2),
        lambda x: np.rollaxis(x, 0, 3),
        lambda x: np.rollaxis(x, 0, -3),
        lambda x: np.rot90(x, axes=(0, 0)),
        lambda x: np.block((x, x)),
        lambda x: np.block([[x], x]),
        lambda x: np.block([[x], []]),
        lambda x: np.concatenate([x, x[0]]),
        lambda x: np.concatenate([x, x], axis=2),
        lambda x: np.concatenate([x], dtype=np.float32, casting="no"),
        lambda x: np.stack([x, x[0]]),
        lambda x: np.stack([]),
        lambda x: np.broadcast_to(x, (3, 2)),
    ],
)
def test_bad_calls_are_numpys_errors(call):
    with pytest.raises((TypeError, ValueError, IndexError)) as expected:
        call(X)
    with pytest.raises(expected.type):
        grad(lambda x: call(x) and np.sum(x))(X)


# --- joining


@pytest.mark.parametrize("join", [np.concatenate, np.stack, np.hstack, np.vstack])
@pytest.mark.parametrize("dtype", [np.float32, np.complex128, int])
def test_joining_into_another_dtype(join, dtype):
    expected = join([X, X], dtype=dtype, casting="unsafe")
    made = vjp(lambda x: (join([x, X], dtype=dtype, casting="unsafe"), x), X)[0][0]
    assert made.dtype == dtype
    np.testing.assert_array_equal(made, expected)
    if dtype is complex:
        check_rule(lambda x: join([x, x], dtype=dtype), X)


@pytest.mark.parametrize(
    "join",
    [
        lambda x, y, axis: np.concatenate([x, y], axis),
        lambda x, y, axis: np.append(x, y, axis),
    ],
    ids=["concatenate", "append"],
)
@pytest.mark.parametrize("axis", [None, 0, 1, 2, -1, -2, -3])
def test_joining_along_every_axis(join, axis):
    x = np.linspace(-1, 1, 8).reshape(2, 2, 2)
    check_rule(lambda x, y: join(x, y, axis), x, np.cos(x))
    if axis in (None, 0, -1):
        check_rule(lambda x, y: join(x, y, axis), X[0], X[1])


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2, -3])
def test_stacking_along_every_axis(axis):
    check_rule(lambda x, y: np.stack([x, y], axis), X, np.cos(X))


@pytest.mark.parametrize("join", [np.concatenate, np.stack])
def test_joining_into_out(join):
    def twice(x):
        out = np.zeros_like(join([x, x]))
        assert join([x, 2 * x], 0, out) is out
        return np.sum(out**2)

    np.testing.assert_allclose(grad(twice)(X), 10 * X)


def test_lists_within_lists_of_parts():
    check_rule(lambda x: np.vstack([[x[0, 0], 2.0, x[1, 1]], x]), X)
    check_rule(lambda x: np.append(x[0], [x[0, 0], 1.0]), X)
    check_rule(lambda x: np.concatenate(x), X)
    check_rule(lambda x: np.stack(x, axis=1), X)


def test_what_is_as_large_as_others_is_not_broadcast_and_can_be_written_to():
    def written(x):
        y = x * 1.0
        whole, _ = np.broadcast_arrays(y, [1.0, 2.0, 3.0])
        whole[0] *= x[1]
        rows, _ = np.meshgrid(y[:1], y[1:2], copy=False)
        rows[0] *= y[2]
        return y

    check_rule(written, X[0])
    check_rule(lambda x: np.broadcast_arrays(x[0], 2.0), X[0])


def test_a_block_of_one_array_is_a_copy():
    def copied(x):
        y = np.block(x)
        y[0] = 0
        return np.sum(x) + np.sum(y)

    np.testing.assert_array_equal(grad(copied)(X[0]), [1, 2, 2])
    check_rule(lambda x: np.block(x), np.array(1.5))
    check_rule(lambda x: np.block([x, 2.0]), X[0])


@pytest.mark.parametrize(
    "function",
    [
        lambda y: np.broadcast_to(y, (2, 2, 3)),
        lambda y: np.broadcast_arrays(y, np.ones((3, 1, 1))),
        lambda y: np.broadcast_arrays(y, y[0]),
        lambda y: np.meshgrid(y[0], y[1], copy=False),
        lambda y: np.meshgrid(y[0], y[1]),
        lambda y: np.meshgrid(y[0], y[1], sparse=True),
        lambda y: np.meshgrid(y[0], y[1], sparse=True, copy=False),
        lambda y: np.nan_to_num(y),
        lambda y: np.nan_to_num(y[0], copy=False),
        lambda y: np.diagonal(y),
        lambda y: np.diag(y, 1),
        lambda y: np.split(y, 3, axis=1),
        lambda y: np.atleast_3d(y),
        lambda y: np.trim_zeros(y[0]),
        lambda y: sliding_window_view(y, 2, axis=0),
        lambda y: np.tile(y, 1),
        lambda y: np.tile(y, (2, 1, 1)),
        lambda y: np.resize(y, (2, 3)),
        lambda y: np.repeat(y, 1, axis=0),
        lambda y: np.insert(y, 0, []),
        lambda y: np.delete(y, []),
        lambda y: np.pad(y, 0, "edge"),
        lambda y: np.take(y, [0, 1]),
        lambda y: np.block(y),
    ],
)
def test_views_follow_later_writes_and_copies_do_not(function):
    def total(x):
        y = x * 1.0
        made = function(y)
        y[0, 0] = 10 * y[1, 1]
        parts = made if isinstance(made, (list, tuple)) else [made]
        return sum(np.sum(part * part) for part in parts)

    check_rule(total, X)


ORDERED = [("reshape", order) for order in "cfa"] + [  # there is no reshape in order "K"
    (call, order)
    for call in ("ravel", "flatten", "copy", "np.copy", "np.array")
    for order in "cfak"
]


@pytest.mark.parametrize(("call", "order"), ORDERED)
def test_orders_in_lower_case(call, order):
    calls = {
        "reshape": lambda x, order: x.reshape((3, 2), order=order),
        "ravel": lambda x, order: np.ravel(x, order),
        "flatten": lambda x, order: x.flatten(order),
        "copy": lambda x, order: x.copy(order),
        "np.copy": lambda x, order: np.copy(x, order),
        "np.array": lambda x, order: tapegrad.numpy.array(x, order=order),
    }

    def f(x, order):
        return np.sum(calls[call](x, order).reshape(-1) * np.arange(6.0))

    for x in (np.arange(6.0).reshape(2, 3), np.asfortranarray(np.arange(6.0).reshape(2, 3))):
        small, large = order, order.upper()
        for transform in (tapegrad.grad, tapegrad.jacfwd, tapegrad.hessian):
            found = transform(lambda x, o=small: f(x, o))(x)
            np.testing.assert_array_equal(found, transform(lambda x, o=large: f(x, o))(x))
        layout = np.asfortranarray if x.flags.f_contiguous else np.ascontiguousarray
        units = [layout(unit.reshape(2, 3)) for unit in np.eye(6)]
        slopes = np.reshape([f(unit, order) for unit in units], (2, 3))
        np.testing.assert_array_equal(tapegrad.grad(lambda x, o=small: f(x, o))(x), slopes)
