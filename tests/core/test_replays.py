"""Savings of replays: entries that outputs do not need, copies of tangents, strong products."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tapegrad
from tapegrad import grad, hessian, hvp, jacfwd, jacrev, jvp, linearize, vjp, vmap
from tapegrad._core.entry import ADD, WRITE
from tapegrad._transforms import jacobians

X = np.linspace(0.2, 0.9, 6)
T = np.linspace(-1.0, 1.0, 6)


def overlapping(x):
    """Reads that overlap, whose cotangents are added up part by part."""
    return np.sum(x[1:] * x[:-1] ** 2) + np.sum(x[::2] ** 3) + np.sum(x[2:] * x[:-2] * x[1:-1])


def writing(x):
    y = np.zeros_like(x)
    before = y[:3]
    y[:4] = np.sin(x[:4])
    read = np.copy(y[1:3]) * x[0]
    y[1:3] = read * y[2:4]
    y[4:] = x[:2]
    y += x
    return y * np.sum(before)


def kept(x):
    y = np.copy(x)
    y[0] = x[1] * x[2]
    seen = y[:2]
    z = np.copy(y)
    z[:2] = seen * 2.0
    y[1:] = y[1:] * z[:-1]
    return np.concatenate([y, z, seen])


def entries_of(f, x):
    return linearize(f, x)[1].recording.entries


def test_a_replay_that_is_differentiated_adds_parts_in_one_entry_each():
    added = [entry for entry in entries_of(grad(overlapping), X) if entry[1] is ADD]
    assert len(added) == 6  # reads
    assert not any(entry[1] is WRITE for entry in entries_of(grad(overlapping), X))


@pytest.mark.parametrize("outer", [jacrev, jacfwd])
@pytest.mark.parametrize("inner", [jacrev, jacfwd])
def test_parts_are_differentiated_to_third_order(outer, inner):
    third = outer(inner(grad(overlapping)))(X)
    step = 1e-5
    for i in range(6):
        moved = np.eye(6)[i] * step
        change = hessian(overlapping)(X + moved) - hessian(overlapping)(X - moved)
        np.testing.assert_allclose(third[..., i], change / (2 * step), atol=1e-8)


def test_parts_of_mapped_arrays():
    xs = np.stack([X, X[::-1], X**2])
    each = [hessian(overlapping)(x) for x in xs]
    np.testing.assert_allclose(vmap(hessian(overlapping))(xs), each, rtol=1e-13)
    np.testing.assert_allclose(
        hessian(lambda x: np.sum(vmap(overlapping)(x)))(xs)[1, :, 1], each[1]
    )


def test_the_pattern_of_parts():
    sparse = pytest.importorskip("tapegrad.sparse")
    pytest.importorskip("scipy")
    found = sparse.hessian(overlapping)(X).toarray()
    np.testing.assert_allclose(found, hessian(overlapping)(X), atol=1e-13)


@pytest.mark.parametrize("f", [writing, kept, grad(overlapping), grad(lambda x: np.sum(kept(x)))])
def test_tangents_are_written_to_only_where_nothing_else_reads_them(f):
    expected = jvp(f, (X,), (T,))[1]
    _, push = linearize(f, X)
    given = T.copy()
    first = push(given)
    np.testing.assert_array_equal(given, T)
    first += 1
    np.testing.assert_allclose(push(given), expected, rtol=1e-13)
    np.testing.assert_allclose(vmap(push)(np.stack([T, 2 * T]))[1], 2 * expected, rtol=1e-13)
    np.testing.assert_allclose(jacfwd(f)(X), jacrev(f)(X), atol=1e-13)


def test_a_pushforward_runs_what_its_outputs_need():
    ran = []

    @tapegrad.primitive
    def watched(x):
        return x * 1.0

    tapegrad.general(
        watched,
        vjp=[lambda g, _out, _x: g],
        jvp=lambda dots, _out, _x: ran.append("ran") or dots[0],
    )

    def f(x):
        np.sum(watched(x))
        return x * 2.0

    np.testing.assert_array_equal(linearize(f, X)[1](T), 2 * T)
    assert not ran


def test_infinite_tangents_meet_zeros():
    with np.errstate(all="ignore"):
        for f in (
            lambda x: np.sqrt(x) ** 2 * x,
            lambda x: np.sqrt(x[:2]) * 0.0,
            lambda x: x**0.5 * x**2,
        ):
            x = np.array([0.0, 1.0, 4.0])
            expected = jvp(f, (x,), (np.ones(3),))[1]
            found = linearize(f, x)[1](np.ones(3))
            np.testing.assert_array_equal(found, expected)
            assert np.all(np.isfinite(found))


# Each tangent is zero at x[0] = 0, where a partial is infinite.
SINGULAR = {
    "a function": lambda x, _c: np.sqrt(x),
    "a product": lambda x, _c: np.sqrt(x) * x,
    "a quotient": lambda x, _c: x / np.sqrt(x + 0.0),
    "a sum with a number": lambda x, _c: 2 + np.sqrt(x),
    "a constant": lambda x, c: x * c,
    "an infinite number": lambda x, _c: x[:1] * np.inf,
    "a column": lambda x, _c: np.sqrt(x)[..., None] * x,
    "columns of constants": lambda x, c: x[:, None] * np.stack([c, c], axis=1),
    "an element": lambda x, _c: np.sqrt(x[0]) * x[0],
    "an element and a constant": lambda x, c: x[0] * c[0],
    "what was selected": lambda x, _c: np.fmax(x, np.log(x - 10.0) * np.sqrt(x)),
}


@pytest.mark.parametrize("dtype", ["d", "f", "e", "g", "D", "F"])
@pytest.mark.parametrize("name", SINGULAR)
def test_a_tangent_of_zero_stays_zero(name, dtype):
    if dtype in "DF" and name in ("a quotient", "what was selected"):
        pytest.skip("0j * inf is NaN in one part, and np.fmax takes complex numbers in order")
    x, t = np.array([0.0, 1.0, 4.0], dtype), np.array([0.0, 1.0, 2.0], dtype)
    c = np.array([np.inf, 2.0, 3.0], dtype)

    def f(x):
        return SINGULAR[name](x, c)

    def along(x):
        return jvp(f, (x,), (t,))[1]

    with np.errstate(all="ignore"):
        found = along(x)
        assert found.dtype == dtype
        assert not np.isnan(found).any()
        assert found.ravel()[0] == 0
        np.testing.assert_array_equal(jvp(f, (x,), (0 * t,))[1], 0 * found)
        # The same where the tangents are traced themselves, or batched.
        np.testing.assert_array_equal(linearize(along, x)[0], found)
        batched = vmap(lambda t: jvp(f, (x,), (t,))[1])(np.stack([t, t]))
        np.testing.assert_array_equal(batched, np.stack([found, found]))


@pytest.mark.parametrize("shape", [(0,), (0, 3), (), (1,)])
def test_tangents_of_few_elements(shape):
    x = np.ones(shape)
    out, dot = jvp(lambda x: np.sin(x) * x / (x + 1), (x,), (x,))
    assert dot.shape == out.shape == shape
    np.testing.assert_allclose(dot, np.full(shape, np.cos(1) / 2 + np.sin(1) / 4))


@pytest.mark.parametrize("dtype", ["d", "f", "e", "g", "D", "F"])
def test_the_greatest_element_is_nan_if_any_is(dtype):
    """By which forward mode finds a NaN in a tangent."""
    for position in range(40):
        x = np.repeat(np.array([-np.inf, np.inf], dtype), 20)
        x[position] = np.nan
        assert np.isnan(x[x.argmax()])
        assert np.isnan(x.reshape(5, 8).T.item(x.reshape(5, 8).T.argmax()))
        if dtype in "DF":
            x[position] = complex(1, np.nan)
            assert np.isnan(x[x.argmax()])


def test_a_tangent_of_a_number_meets_it_as_in_numpy():
    """Python's arithmetic raises where NumPy's gives inf: in partials by one of two arguments."""
    with np.errstate(all="ignore"):
        for f in (lambda x: x / 0.0, lambda x: x * 10**200 * 10**200, lambda x: 0.0**x):
            for x in (np.float64(2.0), np.array([2.0, 3.0])):
                np.testing.assert_array_equal(jvp(f, (x,), (x * 0,))[1], x * 0)
                found, expected = jvp(f, (x,), (x,))[1], linearize(f, x)[1](x)
                np.testing.assert_array_equal(found, expected)


def test_forward_mode_warns_where_the_program_does():
    x = np.array([0.0, 1.0])
    with np.errstate(all="warn"):
        with pytest.warns(RuntimeWarning, match="divide by zero encountered in log"):
            jvp(lambda x: np.log(x), (x,), (x,))
        jvp(np.sqrt, (x,), (x,))  # its tangent alone divides by zero
    with np.errstate(over="raise"):
        jvp(lambda x: x * 1e300, (x,), (x * 1e300,))


@pytest.mark.parametrize("dtype", [float, complex])
def test_jacobians_by_parts_of_a_basis(monkeypatch, dtype):
    x = (np.linspace(0.1, 1.0, 150) + (0.5j if dtype is complex else 0)).astype(dtype)

    def f(x):
        return {"a": np.sin(x) * x[::-1], "b": np.sum(x.reshape(50, 3) ** 2, axis=1)}

    whole = [jacrev(f, chunk_size=1000)(x), jacfwd(f, chunk_size=1000)(x)]
    monkeypatch.setattr(jacobians, "CACHED_BYTES", 1)
    for transform, expected in zip((jacrev, jacfwd), whole, strict=True):
        parts = transform(f)(x)
        for name in "ab":
            np.testing.assert_allclose(parts[name], expected[name], rtol=1e-13)
            assert parts[name].dtype == expected[name].dtype
    assert jacrev(np.sin)(np.zeros(0)).shape == jacfwd(np.sin)(np.zeros(0)).shape == (0, 0)


def test_a_loop_over_elements_is_replayed_at_once(monkeypatch):
    """Where each value is small, there is room for all unit vectors."""
    sizes = []
    original = jacobians._bases

    def bases(like, at, shown):
        sizes.append(at)
        return original(like, at, shown)

    monkeypatch.setattr(jacobians, "_bases", bases)

    def f(x):
        return sum(x[i] * x[i + 1] for i in range(999))

    hessian(f)(np.ones(1000))
    assert sizes[0] > 1000
    hessian(lambda x: np.sum(x**3))(np.ones(1000))
    assert 32 <= sizes[1] < 500


def test_pullbacks_outlive_changes_but_jacobians_need_not_copy():
    table = np.ones((100, 100))
    _, pull = vjp(lambda x: table @ x, np.ones(100))
    expected = pull(np.ones(100))[0]
    assert table.flags.writeable
    table[:] = 5.0
    np.testing.assert_array_equal(pull(np.ones(100))[0], expected)
    np.testing.assert_array_equal(jacrev(lambda x: table @ x)(np.ones(100)), table)
    assert table.flags.writeable


# --- Cotangents of rows -------------------------------------------------------------------------


@given(
    count=st.integers(1, 6),
    width=st.sampled_from([1, 31, 32, 33, 40]),
    rows=st.lists(st.integers(-1, 5), max_size=12),
    dtype=st.sampled_from([np.float32, np.float64, complex]),
    positions=st.sampled_from([np.intp, np.uint8, np.int32]),
)
def test_rows_looked_up_many_times_or_never(count, width, rows, dtype, positions):
    rows = np.array(rows, int).clip(-1 if positions is not np.uint8 else 0, count - 1)
    rows = rows.astype(positions)
    table = np.ones((count, width), dtype)
    weights = np.arange(rows.size * width, dtype=float).reshape(rows.size, width).astype(dtype)
    expected = np.zeros_like(table)
    np.add.at(expected, rows, weights)
    for f in (
        lambda x: np.sum((x[rows] * weights).real),
        lambda x: np.sum((np.take(x, rows, axis=0) * weights).real),
        lambda x: np.sum((np.reshape(x, (count, width))[rows] * weights).real),
    ):
        np.testing.assert_array_equal(grad(f)(table), expected)
        gradient = grad(f)(table.copy())
        assert gradient.base is None
        assert gradient.flags.writeable


@pytest.mark.parametrize(
    "rearranged",
    [
        lambda x: x.reshape(6, 4),
        lambda x: x.reshape(4, 6, order="F")[::2],
        lambda x: np.squeeze(x.reshape(1, 24), 0),
        lambda x: np.expand_dims(x.reshape(6, 4), (0, 2))[0, :, 0],
        lambda x: np.reshape(x.reshape(4, 6).T, -1).reshape(3, 8),
    ],
)
def test_a_replay_gives_a_buffer_of_its_own_another_shape(rearranged):
    x = np.arange(24.0)
    rows = np.array([1, 0, 1])

    def f(x):
        return np.sum(rearranged(x)[rows].T * np.arange(3.0))

    gradient = grad(f)(x)
    expected = np.array([f(row) for row in np.eye(24)])  # linear
    np.testing.assert_array_equal(gradient, expected)
    assert gradient.base is None


def test_a_cotangent_that_a_rule_has_kept_stays_as_it_was():
    seen = []

    @tapegrad.custom_vjp
    def kept(x):
        return x

    kept.defvjp(lambda x: (x, None), lambda _, g: (seen.append(g), (g,))[1])
    table = np.arange(12.0)
    gradient = grad(lambda x: np.sum(kept(x.reshape(3, 4))[[0, 2, 2]]))(table)
    np.testing.assert_array_equal(gradient.reshape(3, 4)[:, 0], [1, 0, 2])
    assert [g.shape for g in seen] == [(3, 4)]


PARTS = [
    (slice(None), [2, 0]),
    (slice(None), np.array([1])),
    (slice(None, None, -1),),
    (slice(1, None), slice(None, -1)),
    (None, ..., slice(None, None, -1)),
    (slice(None), None),
    (..., np.array([True, False, True])),
    (np.array([1, 2]),),
    (slice(0, 3), slice(0, 1)),
    (),
]


@pytest.mark.parametrize("second", PARTS, ids=str)
@pytest.mark.parametrize("first", PARTS, ids=str)
def test_parts_of_an_array_add_up(first, second):
    def f(x):
        return np.sum(np.sin(x[first])) + np.sum(x[second] ** 3 * np.sum(x[:, 1] * x[2]))

    x = np.arange(9.0).reshape(3, 3)
    np.testing.assert_allclose(grad(f)(x), jacfwd(f)(x), rtol=1e-13, atol=1e-13)


def test_two_gradients_through_one_cotangent_share_no_memory():
    gradients = grad(lambda x, y: np.sum((x.reshape(3, 4) + y.reshape(3, 4))[[0, 0]]), (0, 1))
    first, second = gradients(np.ones(12), np.ones(12))
    first += 1
    np.testing.assert_array_equal(second.reshape(3, 4)[:, 0], [2, 0, 0])


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int16, np.uint16, np.uint64])
@pytest.mark.parametrize("width", [1, 7, 64, 300])
def test_positions_of_narrow_dtypes(dtype, width):
    """Products of a position and a side do not fit into the dtype of the positions."""
    few, many = (np.arange(n) % 10 for n in (20, 300))
    for rows in (few, many):
        table, counts = np.ones((10, width)), np.bincount(rows)
        expected = np.broadcast_to(counts[:, None], table.shape)
        picked = rows.astype(dtype)
        np.testing.assert_array_equal(grad(lambda x, i=picked: np.sum(x[i]))(table), expected)
        np.testing.assert_array_equal(
            grad(lambda x, i=picked: np.sum(np.take(x, i, axis=0) + x[i]))(table), 2 * expected
        )
        turned = grad(lambda x, i=picked: np.sum(x[:, i]))(table.T)
        np.testing.assert_array_equal(turned, expected.T)


# --- Infinities that nothing looks for


GUARDED = {
    "sqrt": lambda x: np.where(x > 0, np.sqrt(x), 0),
    "log": lambda x: np.where(x > 0, np.log(x), 0),
    "1 / x": lambda x: np.where(x != 0, 1 / x, 0),
    "x / x": lambda x: np.where(x != 0, x / x, 0),
    "1 / row": lambda x: np.where(x != 0, np.ones((2, 3)) / x, 0),
    "x ** 0.5": lambda x: np.where(x > 0, x**0.5, 0),
    "x ** x": lambda x: np.where(x > 0, x**x, 0),
    "exp": lambda x: np.where(x < 1, np.exp(1e3 * x), x),
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("f", GUARDED.values(), ids=GUARDED.keys())
def test_a_singular_branch_that_is_not_taken_adds_nothing(f, dtype):
    x = np.array([-1.0, 0.0, 4.0], dtype)
    with np.errstate(all="ignore"):
        for _ in range(2):  # the second call is planned
            gradient = grad(lambda x: np.sum(f(x)))(x)
            assert np.isfinite(gradient).all()


@pytest.mark.parametrize("function", [np.exp, np.sinh, lambda x: np.maximum(x, 1.0)])
def test_the_gradient_of_a_nan_is_nan_but_for_branches_that_are_not_taken(function):
    x = np.array([np.nan, 4.0, -1.0])

    def f(x):
        return np.sum(np.where(tapegrad.stop_gradient(x > 0), function(x), 0)) + x[0]

    for _ in range(3):
        np.testing.assert_array_equal(grad(f)(x), [np.nan, np.nan, 0])
        many = vmap(grad(f))(np.array([x, x, np.ones(3)]))
        np.testing.assert_array_equal(np.isnan(many), [[1, 1, 0], [1, 1, 0], [0, 0, 0]])


# --- Lists that change after a call -------------------------------------------------------------

OF_LISTS = {
    "transpose": (np.transpose, [1, 2, 0]),
    "moveaxis": (lambda x, to: np.moveaxis(x, [0, 1, 2], to), [2, 0, 1]),
    "expand_dims": (lambda x, at: np.squeeze(np.expand_dims(x, tuple(at))), [0, 2]),
    "roll": (lambda x, by: np.roll(x, by, (0, 1, 2)), [1, 2, 0]),
    "pad": (np.pad, [[0, 1], [2, 0], [0, 0]]),
    "repeat": (lambda x, counts: np.repeat(x, counts, 1), [2, 0, 1]),
    "tile": (np.tile, [1, 2, 3]),
    "reshape": (np.reshape, [2, 3, 4]),
    "split": (lambda x, at: np.split(x, at, 2)[1], [1, 3]),
    "take": (lambda x, at: np.take(x, at, 1), [2, 0, 0]),
    "delete": (lambda x, at: np.delete(x, at, 2), [3, 1]),
    "insert": (lambda x, at: np.insert(x, at, 2 * x[..., :2], 2), [3, 1]),
    "tensordot": (lambda x, axes: np.tensordot(x, x, axes), [[0, 1], [0, 1]]),
    "einsum": (lambda x, letters: np.einsum(x, letters, [0, 2]), [0, 1, 2]),
    "fftn": (lambda x, axes: np.real(np.fft.fftn(x, None, axes)), [0, 2]),
    "rot90": (lambda x, axes: np.rot90(x, 1, axes), [0, 2]),
    "reduceat": (lambda x, at: np.add.reduceat(x, at, 2), [0, 2]),
    "gradient": (lambda x, at: np.gradient(x, at, axis=1), [0.0, 1.0, 3.0]),
}


def turned(given):
    for part in given:
        if isinstance(part, list):
            part[:] = part[::-1]
    given[:] = given[1:] + given[:1]


@pytest.mark.parametrize("name", OF_LISTS)
def test_a_list_may_change_after_its_use(name):
    function, given = OF_LISTS[name]
    x = np.random.default_rng(0).normal(size=(2, 3, 4))

    def f(x, *, changes=True):
        total = 0.0
        for _ in range(3):  # the second and the third call are known by now
            own = copy.deepcopy(given)
            y = np.sin(function(x, own))
            total = total + np.sum(y * np.cos(np.arange(y.size)).reshape(y.shape))
            if changes:
                turned(own)
        return total

    expected, along = grad(lambda x: f(x, changes=False))(x), np.cos(x)
    assert np.any(expected)
    np.testing.assert_array_equal(grad(f)(x), expected)
    np.testing.assert_allclose(jvp(f, (x,), (along,))[1], np.sum(expected * along), rtol=1e-12)
    np.testing.assert_array_equal(
        hvp(f, (x,), (along,)), hvp(lambda x: f(x, changes=False), (x,), (along,))
    )


# --- One cotangent of two values ----------------------------------------------------------------

PARTS = {
    "trace": np.trace,
    "diagonal": lambda x: np.diagonal(x, 1),
    "element": lambda x: x[0, 1],
    "rows": lambda x: x[1:],
    "picked": lambda x: x[[2, 0, 2]],
    "masked": lambda x: x[np.eye(4, dtype=bool)],
    "sum": lambda x: np.sum(x, 0),
    "mean": np.mean,
    "largest": lambda x: np.max(x, 1),
    "taken": lambda x: np.take(x, [1, 1], 1),
    "turned": lambda x: x.T,
    "reversed": lambda x: x[::-1, ::-1],
    "whole": lambda x: x[None],
}


@pytest.mark.parametrize("name", PARTS)
@pytest.mark.parametrize("first", [True, False])
def test_a_cotangent_that_two_values_share_is_not_added_to(name, first):
    x, y = np.random.default_rng(0).normal(size=(2, 4, 4))
    weights = np.cos(x)

    def f(x, y):
        a, b = 1.0 * x, 1.0 * y
        of_part = np.sum(PARTS[name](a) ** 2) if first else 0.0
        both = np.sum(weights * (a + b))
        return both + (of_part if first else np.sum(PARTS[name](a) ** 2))

    alone = grad(lambda x: np.sum(PARTS[name](x) ** 2))(x)
    for _ in range(3):  # the second and the third call are known by now
        x_bar, y_bar = grad(f, (0, 1))(x, y)
        np.testing.assert_array_equal(y_bar, weights)
        np.testing.assert_allclose(x_bar, weights + alone, rtol=1e-14, atol=1e-14)
