"""compile beside everything else: sparse derivatives, tensors, trees, threads, processes."""

from __future__ import annotations

import asyncio
import dataclasses
import multiprocessing
import os
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import pytest
from test_compile import assert_same, by_numpy, check, has_program

import tapegrad
import tapegrad.sparse

X = np.random.default_rng(0).standard_normal(6)


def rosenbrock(x):
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def moved(x):
    return lambda n: x + 0.25 * n


class Point(NamedTuple):
    x: np.ndarray
    y: np.ndarray


@dataclasses.dataclass
class Layer:
    w: np.ndarray
    b: np.ndarray
    name: str = dataclasses.field(default="layer", metadata={"static": True})


def test_trees():
    def loss(layers, point):
        h = point.x
        for layer in layers["all"]:
            h = np.tanh(layer.w @ h + layer.b)
        return np.sum((h - point.y) ** 2)

    def layers(n):
        rng = np.random.default_rng(n)
        made = [Layer(rng.standard_normal((3, 3)), rng.standard_normal(3)) for _ in range(2)]
        return {"all": made}

    point = Point(X[:3], X[3:])
    check(tapegrad.value_and_grad(loss), layers, lambda n: point)
    fast = by_numpy(tapegrad.grad(loss))
    for n in range(4):
        found = fast(layers(n), point)
    assert type(found["all"][0]) is Layer
    assert found["all"][0].name == "layer"


@pytest.mark.filterwarnings("ignore::tapegrad.EagerWarning")
def test_what_scipy_computes_with_sparse_derivatives_is_called_as_it_is():
    pytest.importorskip("scipy")
    jacobian = tapegrad.sparse.jacobian(lambda x: 10 * (x[1:] - x[:-1] ** 2))
    hessian = tapegrad.sparse.hessian(rosenbrock)
    check(lambda x: jacobian(x).toarray(), moved(X), program=False)
    check(lambda x: hessian(x).toarray(), moved(X), program=False)


def test_custom_rules_and_checkpoints():
    @tapegrad.custom_vjp
    def clipped(x):
        return np.sin(x) * x

    clipped.defvjp(lambda x: (clipped(x), x), lambda x, g: (np.clip(g, -1, 1) * np.cos(x),))

    @tapegrad.custom_jvp
    def doubled(x):
        return np.exp(x)

    def push(primals, tangents):
        return doubled(*primals), 2 * doubled(*primals) * tangents[0]

    doubled.defjvp(push)

    def step(state, rate):
        return state + rate * np.sin(state)

    def long(x):
        return np.sum(tapegrad.checkpoint_sequence(step, x, 6, x[0] * 0.1, snapshots=2))

    for f in (lambda x: np.sum(clipped(x) * x), lambda x: np.sum(doubled(x) * x), long):
        check(tapegrad.grad(f), moved(X))
    fast = by_numpy(step)
    check(tapegrad.grad(lambda x: np.sum(tapegrad.checkpoint_sequence(fast, x, 6, 0.1))), moved(X))


def assert_right_in_threads(fast, f, x, calls, same):
    """Eight threads call a compiled function at once, with x and numbers added to it."""
    expected = [f(x + n) for n in range(calls)]
    wrong, ready = [], threading.Barrier(8)

    def work():
        ready.wait()
        for n in range(calls):
            try:
                same(fast(x + n), expected[n])
            except BaseException as error:  # noqa: BLE001 - told by the test's own thread
                wrong.append(error)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_eight_threads_at_once():
    f = tapegrad.value_and_grad(rosenbrock)
    fast = by_numpy(f)
    assert_right_in_threads(fast, f, X, 40, assert_same)
    assert has_program(fast)


def test_other_threads_are_not_recorded():
    """Calls of another thread while a function is recorded are not part of the program."""
    entered, go_on = threading.Event(), threading.Event()

    def slow(x):
        entered.set()
        assert go_on.wait(5)
        return np.sum(np.sin(x) * x)

    fast = by_numpy(tapegrad.grad(slow))
    thread = threading.Thread(target=fast, args=(X,))
    thread.start()
    assert entered.wait(10)
    found = tapegrad.grad(rosenbrock)(X)
    go_on.set()
    thread.join()
    assert type(found) is np.ndarray
    assert_same(found, tapegrad.grad(rosenbrock)(X))


def test_what_another_thread_set_is_not_put_back():
    """Whoever waits for it once more, in a second run, waits no longer."""
    begun = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(lambda: 2.0 * begun.wait(5))

        def f(x):
            begun.set()
            return np.sum(x) * future.result(timeout=5)

        fast = tapegrad.compile(f, backend="numpy")
        assert [fast(X) for _ in range(4)] == [2 * np.sum(X)] * 4
    assert has_program(fast)


def test_asyncio():
    fast = by_numpy(tapegrad.grad(rosenbrock))

    async def work(n):
        await asyncio.sleep(0)
        return fast(X + n)

    async def everything():
        return await asyncio.gather(*[work(n) for n in range(20)])

    for n, found in enumerate(asyncio.run(everything())):
        assert_same(found, tapegrad.grad(rosenbrock)(X + n))


FAST = by_numpy(tapegrad.grad(rosenbrock))


def in_a_child(sent, x):
    sent.send_bytes(pickle.dumps(FAST(x)))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_fork():
    for n in range(4):
        FAST(X + n)
    context = multiprocessing.get_context("fork")
    received, sent = context.Pipe(duplex=False)
    child = context.Process(target=in_a_child, args=(sent, X))
    child.start()
    assert received.poll(30)
    assert_same(pickle.loads(received.recv_bytes()), tapegrad.grad(rosenbrock)(X))
    child.join()
    assert child.exitcode == 0


def test_a_pickle_holds_the_call():
    for n in range(4):
        FAST(X + n)
    again = pickle.loads(pickle.dumps(FAST))
    assert not again.call.programs
    for n in range(4):
        assert_same(again(X + n), FAST(X + n))
    assert has_program(again)


def test_an_index_that_comes_in_is_asked_whether_it_repeats():
    """A write at places that are distinct, and one at places that are not, differ in bits."""
    places = [np.array([0, 1, 2]), np.array([2, 0, 1]), np.array([1, 1, 1]), np.array([0, 2, 0])]
    f = tapegrad.grad(lambda x, at: np.sum(np.sin(x[at]) * x[at]) + x[at][0])
    check(f, moved(X), lambda n: places[n % 4], calls=12)
