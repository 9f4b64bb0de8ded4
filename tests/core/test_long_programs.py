"""Long programs: no call recurses along them, and parts of parts cost no more than parts."""

from __future__ import annotations

import gc
import sys
import threading
import time

import numpy as np
import pytest
from draws import draws
from hypothesis import given
from hypothesis import strategies as st

import tapegrad
import tapegrad.torch as torch
from tapegrad import checkpoint, grad, hvp, jacobian, jvp, linearize, value_and_grad, vjp, vmap
from tapegrad._arrays.composed_index import composed
from tapegrad.testing.strategies import indices, shapes

LENGTH = 1500  # beyond Python's limit of recursion
X = np.linspace(0.5, 1.0, 3 * LENGTH)


def slices_of_slices(x):
    v, total = x, 0.0
    while len(v):
        w, v = v[:3], v[3:]
        total = total + np.sum(w * w)
    return total


def elements_of_slices(x):
    v, total = x[::3], 0.0
    while len(v):
        total = total + v[0] * v[0]
        v = v[1:]
    return total


def slices_from_both_ends(x):
    v, total = x.reshape(1, -1), 0.0
    while v.shape[1] > 1:
        total = total + v[0, 0] * v[..., -1][0]
        v = v[:, 1:-1][:, ::-1]
    return total


def writes_through_slices_of_slices(x):
    y = np.copy(x[:LENGTH])
    v = y
    while len(v) > 1:
        v[1] += 0.5 * v[0]
        v = v[1:]
    return np.sum(y * y)


def slices_of_what_was_written(x):
    y = np.copy(x)
    y[0] *= 2
    return slices_of_slices(y)


def rearrangements(x):
    v = x[:6].reshape(2, 3)
    for i in range(LENGTH):
        v = v.T if i % 2 else v.reshape(v.shape[::-1])
    return np.sum(v * v)


def writes_through_rearrangements(x):
    y = np.copy(x[:6])
    for i in range(LENGTH):
        y = np.atleast_1d(y.reshape(-1))
        y *= 0.999
        y[i % 6] = y[i % 5]
    return np.sum(y * y)


def new_axes(x):
    v = np.copy(x[:3])
    for _ in range(LENGTH):
        v = v[None][..., :, None][0, :, 0]
    v[0] *= 2
    return np.sum(v * v)


def single_writes(x):
    y = np.copy(x[:6])
    for i in range(LENGTH):
        y[i % 6] = np.sin(y[(i + 1) % 6] * y[i % 5])
    return np.sum(y)


PROGRAMS = {
    f.__name__: f
    for f in (
        slices_of_slices,
        elements_of_slices,
        slices_from_both_ends,
        writes_through_slices_of_slices,
        slices_of_what_was_written,
        rearrangements,
        writes_through_rearrangements,
        new_axes,
        single_writes,
    )
}
V = np.cos(np.arange(X.size))
REVERSE = {
    "grad": lambda f: grad(f)(X),
    "value_and_grad": lambda f: value_and_grad(f)(X)[1],
    "vjp": lambda f: vjp(f, X)[1](1.0)[0],
    "jacobian": lambda f: jacobian(lambda x: np.stack([f(x), 2 * f(x)]))(X)[0],
    "vmap of grad": lambda f: vmap(grad(f))(np.stack([X, X + 1]))[0],
    "grad of vmap": lambda f: grad(lambda xs: np.sum(vmap(f)(xs)))(np.stack([X, X + 1]))[0],
    "checkpoint": lambda f: grad(checkpoint(f))(X),
}
FORWARD = {
    "jvp": lambda f: jvp(f, (X,), (V,))[1],
    "linearize": lambda f: linearize(f, X)[1](V),
    "vmap": lambda f: vmap(lambda v: jvp(f, (X,), (v,))[1])(np.stack([V, X]))[0],
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_no_transform_recurses_along_a_program(name):
    f = PROGRAMS[name]
    gradient = grad(f)(X)
    slope = (f(X + 1e-6 * V) - f(X - 1e-6 * V)) / 2e-6
    np.testing.assert_allclose(gradient @ V, slope, rtol=1e-6, atol=1e-5)
    for found in (transform(f) for transform in REVERSE.values()):
        np.testing.assert_allclose(found, gradient, rtol=1e-12)
    for found in (transform(f) for transform in FORWARD.values()):
        np.testing.assert_allclose(found, gradient @ V, rtol=1e-9)
    twice = hvp(f, (X,), (V,))
    np.testing.assert_allclose(grad(lambda x: grad(f)(x) @ V)(X), twice, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("f", [slices_of_slices, slices_of_what_was_written])
def test_parts_of_parts_are_read_from_the_whole(f):
    """Then the cotangent of each read is added to one buffer, and needs none of its own."""
    tapes = []

    def program(x):
        tapes.append(x.tape)
        return f(x)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tapegrad._core.tape.Tape, "close", lambda self, **_: None)
        grad(program)(X)
    reads = [entry for entry in tapes[0].entries if entry[1] is tapegrad._core.entry.READ]
    assert len(reads) >= LENGTH
    assert len({entry[5] for entry in reads}) <= 2  # the slots that are read from


def seconds(f, x):
    start = time.perf_counter()
    grad(f)(x)
    return time.perf_counter() - start


@pytest.mark.slow
def test_a_hundred_thousand_slices_take_linear_time():
    """Quadratic time would be a hundred times as much for ten times the length."""
    short = min(seconds(slices_of_slices, np.ones(30_000)) for _ in range(2))
    assert seconds(slices_of_slices, np.ones(300_000)) < 40 * short


@pytest.mark.slow
@pytest.mark.parametrize("f", [slices_of_slices, writes_through_slices_of_slices, rearrangements])
def test_tensors_do_not_recurse_along_a_program(f):
    def program(x):
        if f is slices_of_slices:
            return f(x)
        if f is rearrangements:
            v = y = x.clone()
            for _ in range(LENGTH):
                v = v.t() if v.dim() == 2 else v[None]
            v.mul_(2)
            return (y * y).sum()
        y = x[:LENGTH].clone()
        v = y
        while len(v) > 1:
            v[1] += 0.5 * v[0]
            v = v[1:]
        return (y * y).sum()

    x = torch.tensor(X, requires_grad=True)
    total = program(x)
    total.backward()
    assert x.grad is not None
    expected = grad(f)(X) if f is not rearrangements else 8 * X
    np.testing.assert_allclose(x.grad.numpy(), expected, rtol=1e-12)
    del total
    gc.collect()


@pytest.mark.slow
def test_functions_that_call_themselves_a_hundred_thousand_times():
    """The program's own recursion, on a stack that it has made large enough."""

    @tapegrad.custom_vjp
    def halved(x):
        return x * 0.5

    halved.defvjp(lambda x: (halved(x), None), lambda _, g: (g * 0.5,))

    def down(x, n):
        return x if n == 0 else np.sin(down(x, n - 1))

    def through(x, n):
        return x if n == 0 else 2 * halved(through(x, n - 1))

    def saved(x, n):
        return x if n == 0 else checkpoint(lambda v: v * 1.0)(saved(x, n - 1))

    found = []

    def run():
        x = np.array([0.5, 0.6])
        found.append(grad(lambda x: np.sum(down(x, 100_000)))(x))
        found.append(grad(lambda x: np.sum(through(x, 5_000)))(x))
        found.append(grad(lambda x: np.sum(saved(x, 5_000)))(x))
        found.append(jvp(lambda x: through(x, 5_000), (x,), (x,))[1])

    limit, size = sys.getrecursionlimit(), threading.stack_size(512 << 20)
    sys.setrecursionlimit(10**6)
    try:
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
    finally:
        sys.setrecursionlimit(limit)
        threading.stack_size(size)
    (first, *rest) = found
    assert np.all((first > 0) & (first < 1e-3))
    for one in rest[:2]:
        np.testing.assert_allclose(one, [1, 1])
    np.testing.assert_allclose(rest[2], [0.5, 0.6])


# --- One index for two --------------------------------------------------------------------------


@draws(100, 2000)
@given(shapes(max_side=5), st.data())
def test_one_index_for_a_part_of_a_part(shape, data):
    x = np.arange(np.prod(shape)).reshape(shape)
    first = data.draw(indices(shape, "basic"))
    outer = x[first]
    then = data.draw(indices(np.shape(outer), "basic"))
    expected = outer[then]
    index = composed(shape, first, then)
    if not isinstance(outer, np.ndarray):
        return
    if index is None:
        assert expected.size == 0  # a new axis of length 0 has no index
        return
    found = x[index]
    np.testing.assert_array_equal(found, expected)
    assert type(found) is type(expected)
    assert found.shape == expected.shape
