"""vmap of programs: axes, containers, nesting, indexing, writes and views, errors, draws."""

from __future__ import annotations

import operator
import threading

import numpy as np
import pytest
from draws import draws
from hypothesis import given, note
from hypothesis import strategies as st

import tapegrad
import tapegrad.numpy
from tapegrad import (
    BatchingError,
    InputError,
    LeakedValueError,
    checkpoint,
    custom_jvp,
    custom_vjp,
    grad,
    hessian,
    hvp,
    jacfwd,
    jacrev,
    jvp,
    vjp,
    vmap,
)

X = np.random.default_rng(0).normal(size=(4, 3, 2))


def loop(f, *batches):
    return np.stack([f(*(x.copy() for x in xs)) for xs in zip(*batches, strict=True)])


def assert_maps(f, *batches):
    kept = [x.copy() for x in batches]
    got, wanted = vmap(f)(*batches), loop(f, *batches)
    assert got.dtype == wanted.dtype
    np.testing.assert_allclose(got, wanted, rtol=1e-12, atol=1e-12)
    for x, before in zip(batches, kept, strict=True):
        np.testing.assert_array_equal(x, before)


# --- Axes and containers ------------------------------------------------------------------------


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2, -3])
@pytest.mark.parametrize("out", [0, 1, 2, -1, -2, -3])
def test_any_axis_counts_the_examples(axis, out):
    got = vmap(lambda x: np.sin(x) * 2, axis, out)(X)
    np.testing.assert_allclose(got, np.moveaxis(np.sin(X) * 2, axis, out))


def test_axes_come_in_containers():
    def f(x, pair, *, k):
        return {"a": x + pair[0], "b": (pair[1] * k,)}

    got = vmap(f, in_axes=(0, (None, 1)), out_axes={"a": 0, "b": (-1,)})(
        np.arange(3.0), (2.0, np.ones((2, 3))), k=np.arange(3.0)
    )
    np.testing.assert_array_equal(got["a"], [2.0, 3.0, 4.0])
    np.testing.assert_array_equal(got["b"][0], np.ones((2, 3)) * np.arange(3.0))


def test_what_is_the_same_for_all_examples():
    assert vmap(lambda x, y: (x, y), (0, None), (0, None))(X[:, 0, 0], 2.0)[1] == 2.0
    np.testing.assert_array_equal(vmap(lambda x: 3.0)(np.zeros(4)), np.full(4, 3.0))
    with pytest.raises(InputError, match="the same for all"):
        vmap(lambda x: x, out_axes=None)(X)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 7])
def test_chunks_change_nothing(size):
    def f(x, y):
        return np.tanh(x) @ y, 1.0

    got = vmap(f, (0, None), (1, None), chunk_size=size)(X, np.arange(2.0))
    np.testing.assert_allclose(got[0], (np.tanh(X) @ np.arange(2.0)).T)
    assert got[1] == 1.0


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: vmap(np.sin, 3)(X), "axis"),
        (lambda: vmap(np.sin, 0, 3)(X), "out_axes"),
        (lambda: vmap(np.sin)(2.0), "in_axes=None"),
        (lambda: vmap(np.sin, (0, 0))(X), "in_axes for 1"),
        (lambda: vmap(np.sin, None)(X), "at least one mapped"),
        (lambda: vmap(np.add)(X, X[:2]), "same number of examples"),
        (lambda: vmap(np.sin, chunk_size=0)(X), "chunk_size"),
    ],
)
def test_wrong_axes_are_named(call, says):
    with pytest.raises(tapegrad.TapegradError, match=says):
        call()


def test_few_examples_and_small_ones():
    assert vmap(np.sin)(np.zeros((0, 3))).shape == (0, 3)
    assert vmap(lambda x: np.sum(x, 0))(np.zeros((0, 3, 2))).shape == (0, 2)
    assert vmap(grad(lambda x: np.sum(x * x)))(np.zeros((0, 3))).shape == (0, 3)
    assert_maps(lambda x: x.T @ x, X[:1])
    assert_maps(lambda x: x * x + 1, X[:, 0, 0])
    assert_maps(lambda x: np.concatenate([x, x * 2]), np.zeros((4, 0)))
    assert_maps(lambda x: x[..., None] * x, X[:, :, 0])


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16", "i4", "i8", "?", "u1"])
def test_dtypes_are_those_of_a_loop(dtype):
    x = (X * 10).astype(dtype)
    assert_maps(lambda x: x + x, x)
    assert_maps(lambda x: np.sum(x), x)
    assert_maps(lambda x: np.where(x > 0, x, 0), x) if dtype[0] != "c" else None
    if dtype != "?":
        assert_maps(lambda x: x * 2, x)
        assert_maps(lambda x: x / 2.0, x)


def test_nested_maps_keep_their_examples_apart():
    def f(x, y):
        return np.sum(x) * y + x[0]

    got = vmap(lambda x: vmap(lambda y: f(x, y))(X[:, 0]))(X[:, 1])
    wanted = np.stack([np.stack([f(x, y) for y in X[:, 0]]) for x in X[:, 1]])
    np.testing.assert_allclose(got, wanted)
    table, places = X[:, :, 0], np.array([0, 2, 1])
    got = vmap(lambda x: vmap(lambda i: x[i])(places))(table)
    np.testing.assert_array_equal(got, table[:, places])
    got = vmap(lambda i: vmap(lambda x: x[i])(table))(places)
    np.testing.assert_array_equal(got, table[:, places].T)
    got = vmap(vmap(vmap(lambda x: x * 2, 0, 0), 1, 1), 0, -1)(X)
    np.testing.assert_allclose(got, np.moveaxis(X * 2, 0, -1))


# --- Transforms ---------------------------------------------------------------------------------


def energy(x):
    y = np.tanh(x) @ np.arange(1.0, 3.0)
    y[0] = y[1] * y[2]
    return np.sum(np.exp(np.sin(y))) * x[0, 0]


@pytest.mark.parametrize(
    "transform",
    [
        grad,
        lambda f: lambda x: jvp(f, (x,), (np.ones_like(x),))[1],
        lambda f: lambda x: vjp(f, x)[1](2.0)[0],
        lambda f: lambda x: hvp(f, (x,), (np.cos(x),)),
        jacrev,
        jacfwd,
        hessian,
        lambda f: jacrev(jacrev(f)),
        lambda f: grad(checkpoint(f)),
        lambda f: grad(lambda x: np.sum(grad(f)(x) ** 2)),
    ],
)
def test_transforms_map_and_maps_transform(transform):
    assert_maps(transform(energy), X)
    g = transform(lambda x: np.sum(vmap(energy)(np.stack([x, x * 2, x + 1]))))
    w = transform(lambda x: energy(x) + energy(x * 2) + energy(x + 1))
    np.testing.assert_allclose(g(X[0]), w(X[0]), rtol=1e-10, atol=1e-12)


def test_values_closed_over_may_be_traced_or_batched():
    def outer(w):
        return np.sum(vmap(grad(lambda x: np.sum(np.sin(x * w))))(X[:, 0]) ** 2)

    def plainly(w):
        return sum(np.sum(grad(lambda x: np.sum(np.sin(x * w)))(x) ** 2) for x in X[:, 0])

    w = np.array([0.3, 0.7])
    np.testing.assert_allclose(grad(outer)(w), grad(plainly)(w))
    np.testing.assert_allclose(hessian(outer)(w), hessian(plainly)(w), rtol=1e-10)
    assert_maps(grad(outer), X[:, 1])


def test_rules_of_ones_own():
    @custom_vjp
    def cube(x):
        return x**3

    cube.defvjp(lambda x: (x**3, x), lambda x, g: (3 * x**2 * g,))

    @custom_jvp
    def square(x):
        return x * x

    square.defjvp(lambda primals, tangents: (primals[0] ** 2, 2 * primals[0] * tangents[0]))
    for f in (cube, square):
        assert_maps(f, X)
        assert_maps(grad(lambda x, f=f: np.sum(f(x) * x)), X)


def test_threads_do_not_meet():
    found = {}

    def work(k):
        found[k] = vmap(grad(lambda x: np.sum(np.sin(k * x))))(X)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k in range(8):
        np.testing.assert_allclose(found[k], k * np.cos(k * X))


# --- Indexing -----------------------------------------------------------------------------------

PLACES = np.array([2, 0, 1, -1])


@pytest.mark.filterwarnings("ignore::tapegrad.IndependentOutputWarning")  # of np.arange(10)[i]
@pytest.mark.parametrize(
    "f",
    [
        lambda x, i: x[i],
        lambda x, i: x[i, 1],
        lambda x, i: x[:, i % 2],
        lambda x, i: x[..., i % 2],
        lambda x, i: x[i, [0, 1]],
        lambda x, i: x[[0, 1], i % 2],
        lambda x, i: x[None, i],
        lambda x, i: x[np.stack([i, i * 0])],
        lambda x, i: x[np.stack([i, i * 0]), None, :],
        lambda x, i: x[1:][i % 2],
        lambda x, i: x[np.array([True, False, True])][i % 2],
        lambda x, i: np.take(x, i, axis=0),
        lambda x, i: np.take_along_axis(x, np.stack([i, i * 0])[:, None] % 3, 0),
        lambda x, i: np.arange(10.0, like=x)[i],
        lambda x, i: np.where(x > 0, x, i),
        lambda x, i: np.choose(i % 3, list(x)),
    ],
)
def test_indices_may_differ(f):
    assert_maps(f, X, PLACES)
    assert_maps(lambda x, i: grad(lambda x: np.sum(f(x, i) ** 2))(x), X, PLACES)
    assert_maps(lambda x, i: jvp(lambda x: f(x, i) ** 2, (x,), (x,))[1], X, PLACES)


def test_one_table_for_all_examples():
    table = np.arange(10.0) ** 2
    at = np.array([1, 3, 5])
    wanted = np.zeros((3, 10))
    wanted[np.arange(3), at] = 2 * table[at]
    np.testing.assert_array_equal(vmap(lambda i: grad(lambda t: t[i] ** 2)(table))(at), wanted)
    total = grad(lambda t: np.sum(vmap(lambda i: t[i] ** 2)(at)))(table)
    np.testing.assert_array_equal(total, wanted.sum(0))
    with pytest.raises(BatchingError, match=r"np\.take"):
        vmap(lambda i: table[i])(at)
    shared = vmap(lambda i: tapegrad.numpy.take(table, i) * 2)(at)
    np.testing.assert_array_equal(shared, table[at] * 2)


# --- Errors -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("f", "says"),
    [
        (lambda x: x if x > 0 else -x, "np.where"),
        (lambda x: 1.0 if x else 2.0, "np.where"),
        (lambda x: x * int(x), "astype"),
        (lambda x: x * float(x), "Keep|take batched values"),
        (lambda x: x * complex(x), "0j"),
        (lambda x: [x for _ in range(x.astype(int))], "the same for all"),
        (lambda x: np.zeros(x.astype(int)), "the same for all|sequence of integers"),
        (lambda x: np.array([x, x]), "np.stack"),
        (lambda x: np.nonzero(x), "np.where"),
        (lambda x: np.stack([x, x])[np.stack([x, x]) > 0], "np.where"),
        (lambda x: 1.0 in np.stack([x, x]), "np.any"),
        (lambda x: np.zeros(3).__setitem__(slice(1), x), "np.zeros_like"),
        (lambda x: np.add.at(np.zeros(3), [0], x), "np.zeros_like"),
        (lambda x: x.astype(object), "object"),
        (lambda x: max(x, 0.0), "np.where"),
        (lambda x: np.reshape(x, (1,), 1, 2, 3, 4), "positional"),
    ],
)
def test_what_may_differ_cannot_decide(f, says):
    with pytest.raises((tapegrad.TapegradError, TypeError), match=says):
        vmap(f)(np.array([1.0, -1.0]))


def test_values_do_not_outlive_their_vmap():
    kept = []
    vmap(lambda x: kept.append(x) or x)(X)
    for use in (lambda x: x + 1, np.sin, lambda x: x[0], np.sum, lambda x: x * x):
        with pytest.raises(LeakedValueError):
            use(kept[0])


def test_an_exception_leaves_nothing_behind():
    with pytest.raises(ZeroDivisionError):
        vmap(lambda x: 1 / 0)(X)
    assert_maps(np.sin, X)
    np.testing.assert_allclose(grad(np.sin)(0.0), 1.0)


# --- Random draws -------------------------------------------------------------------------------

RANDOM = np.random.default_rng(0)


def test_a_draw_is_refused_unless_it_is_meant_for_all():
    within = np.random.default_rng(1)
    for f in (
        lambda x: x + np.random.normal(),  # noqa: NPY002
        lambda x: x + RANDOM.normal(),
        lambda x: x + within.normal(size=3),
        lambda x: grad(lambda x: x * within.normal())(x),
        grad(lambda x: x * RANDOM.normal()),
    ):
        with pytest.raises(BatchingError, match="its own numbers"):
            vmap(f)(X[:, 0, 0])
        assert vmap(f, randomness="same")(X[:, 0, 0]).shape[0] == 4
    with pytest.raises(BatchingError, match="its own numbers"):
        vmap(lambda x, r: x + r.normal(), (0, None))(X, RANDOM)
    for _ in range(2):  # of two normal numbers, the second is there already
        with pytest.raises(BatchingError, match="its own numbers"):
            vmap(lambda x: x + np.random.normal())(X)  # noqa: NPY002
    assert_maps(lambda x, e: x + e, X[:, 0, 0], RANDOM.normal(size=4))
    with pytest.raises(InputError, match="as an argument"):
        vmap(np.sin, randomness="independent")


def test_each_example_draws_its_own_where_that_is_said():
    drawn = vmap(lambda x: x + RANDOM.normal(size=2), randomness="different")(np.zeros(5))
    assert drawn.shape == (5, 2)
    assert len(np.unique(drawn)) == 10
    again = np.random.default_rng(7)
    mapped = vmap(lambda x: x * again.normal(), randomness="different")(np.arange(4.0))
    np.testing.assert_array_equal(mapped, np.arange(4.0) * np.random.default_rng(7).normal(size=4))
    slopes = vmap(grad(lambda x: x * RANDOM.normal()), randomness="different")(np.ones(3))
    assert len(np.unique(slopes)) == 3


# --- Writes and views ---------------------------------------------------------------------------

INDICES = st.sampled_from(
    [
        0,
        -1,
        slice(None),
        slice(1, None),
        slice(None, None, -1),
        (slice(None), 1),
        (Ellipsis, 0),
        [0, 2],
        (slice(None), [1, 0]),
        None,
        ([0, 1], [1, 1]),
        np.array([True, False, True]),
    ]
)
VIEWS = {
    "x": lambda x: x,
    "x[1, 1]": lambda x: x[1, 1],
    "x[..., 1, 1]": lambda x: x[..., 1, 1],
    "np.sum(x)": np.sum,
    "x[1:]": lambda x: x[1:],
    "x[::-1]": lambda x: x[::-1],
    "x.T": lambda x: x.T,
    "x.reshape(-1)": lambda x: x.reshape(-1),
    "x[0]": lambda x: x[0],
    "np.ravel(x)": np.ravel,
    "x[None]": lambda x: x[None],
    "np.swapaxes": lambda x: np.swapaxes(x, 0, -1),
    "x.copy()": lambda x: x.copy(),
    "x * 1": lambda x: x * 1,
    "np.broadcast_to": lambda x: np.broadcast_to(x, (2, *x.shape)),
    "np.diagonal": lambda x: np.diagonal(x),
    "x[[0, -1]]": lambda x: x[[0, -1]],
}
WRITES = {
    "=": lambda x, i, v: x.__setitem__(i, v),
    "+=": lambda x, i, v: x.__setitem__(i, x[i] + v),
    "+= whole": lambda x, i, v: operator.iadd(x, v),
    "*= whole": lambda x, i, v: operator.imul(x, v),
    "fill": lambda x, i, v: x[...].fill(v) if x.shape else x.__setitem__(0, v),
    "fill_diagonal": lambda x, i, v: np.fill_diagonal(x, v),
    "add.at": lambda x, i, v: np.add.at(x, i, v),
    "out=": lambda x, i, v: np.multiply(x, v, out=x),
    "sort": lambda x, i, v: x.sort(0),
}


@st.composite
def programs(draw):
    """Steps on a list of arrays: views and copies of them, and writes into them."""
    steps = []
    for _ in range(draw(st.integers(1, 6))):
        position = draw(st.integers(0, 5))
        if draw(st.booleans()):
            steps.append(("view", position, draw(st.sampled_from(sorted(VIEWS))), None))
        else:
            steps.append(("write", position, draw(st.sampled_from(sorted(WRITES))), draw(INDICES)))
    return steps


def run(steps, x):
    arrays = [x]
    factor = np.sum(x) * 0.1
    for kind, position, name, index in steps:
        chosen = arrays[position % len(arrays)]
        if kind == "view":
            arrays.append(VIEWS[name](chosen))
        else:
            changed = WRITES[name](chosen, index, factor)
            if "whole" in name:
                arrays[position % len(arrays)] = changed
            factor = factor * 1.5 + 0.25
    return tuple(arrays)


@draws(40, 500)
@given(programs())
def test_writes_and_views_are_those_of_each_example(steps):
    note(repr(steps))
    try:
        rows = [run(steps, x.copy()) for x in X]
    except (AttributeError, IndexError, ValueError, TypeError):
        return
    try:
        got = vmap(lambda x: run(steps, x))(X.copy())
    except (tapegrad.TapegradError, ValueError):
        return  # refused, not wrong
    for part, wanted in zip(got, zip(*rows, strict=True), strict=True):
        np.testing.assert_allclose(part, np.stack(wanted), rtol=1e-12, atol=1e-12)

    def total(x):
        return sum(np.sum(np.sin(part)) for part in run(steps, x))

    try:
        wanted = np.stack([grad(total)(x) for x in X])
    except tapegrad.TapegradError:
        return
    np.testing.assert_allclose(vmap(grad(total))(X), wanted, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(
        grad(lambda xs: np.sum(vmap(total)(xs)))(X), wanted, rtol=1e-10, atol=1e-10
    )
