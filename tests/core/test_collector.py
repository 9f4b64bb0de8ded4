"""Full searches of Python's collector are rare while a tape is long, and as before after it."""

from __future__ import annotations

import gc
import sys
import threading
import weakref

import numpy as np
import pytest

import tapegrad
import tapegrad.torch as torch
from tapegrad._core.collector import STRETCH, hold, release
from tapegrad.torch._graph.order import next_number

LONG = 30_000


@pytest.fixture(autouse=True)
def usual():
    """The thresholds that Python sets itself; what a test has set is taken back."""
    before = gc.get_threshold()
    gc.collect()
    gc.set_threshold(700, 10, 10)
    yield
    assert gc.get_threshold() == (700, 10, 10)
    gc.set_threshold(*before)


class Chain:
    """A function of `length` products, which sees the thresholds and the full searches."""

    def __init__(self, length=LONG, at_end=lambda: None):
        self.length, self.at_end = length, at_end

    def __call__(self, x):
        before = full_searches()
        y = x
        for _ in range(self.length):
            y = y * 0.99999
        self.searches = full_searches() - before
        self.thresholds = gc.get_threshold()
        self.at_end()
        return np.sum(y)


def full_searches():
    return gc.get_stats()[2]["collections"]


def test_threshold_grows_with_the_tape_and_goes_with_it():
    f = Chain()
    tapegrad.grad(f)(np.ones(3))
    young, middle, old = f.thresholds
    assert (young, middle) == (700, 10)
    assert 4 * (LONG - STRETCH) // 7000 <= old <= 4 * LONG // 7000


@pytest.mark.slow
def test_no_full_search_goes_through_a_tape_that_grows():
    f = Chain(300_000)
    tapegrad.grad(f)(np.ones(3))
    assert f.searches <= 2  # it had 8


def test_short_tapes_change_nothing():
    f = Chain(STRETCH // 2)
    tapegrad.grad(f)(np.ones(3))
    assert f.thresholds == (700, 10, 10)


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_threshold_is_set_again_after_an_error(error):
    def fail():
        raise error

    f = Chain(at_end=fail)
    with pytest.raises(error):
        tapegrad.grad(f)(np.ones(3))
    assert f.thresholds[2] > 10


def test_transforms_within_transforms_share_the_threshold():
    inner, outer = Chain(), Chain(at_end=lambda: tapegrad.grad(inner)(np.ones(3)))
    tapegrad.grad(outer)(np.ones(3))
    assert inner.thresholds[2] > outer.thresholds[2] > 10

    def nested(x):
        return x[0] * tapegrad.grad(inner)(x)[0]

    tapegrad.grad(nested)(np.ones(3))
    assert inner.thresholds[2] > 10


def test_threads_share_the_threshold():
    both = threading.Barrier(2, timeout=60)
    chains = [Chain(at_end=both.wait), Chain(at_end=both.wait)]
    threads = [threading.Thread(target=tapegrad.grad(f), args=(np.ones(3),)) for f in chains]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(f.thresholds[2] > 10 for f in chains)


def test_threshold_of_the_program_stays():
    gc.set_threshold(700, 10, 1000)
    f = Chain()
    tapegrad.grad(f)(np.ones(3))
    assert f.thresholds == gc.get_threshold() == (700, 10, 1000)
    f = Chain(at_end=lambda: gc.set_threshold(700, 10, 12))
    tapegrad.grad(f)(np.ones(3))
    assert gc.get_threshold() == (700, 10, 12)
    gc.set_threshold(0)
    f = Chain()
    tapegrad.grad(f)(np.ones(3))
    assert f.thresholds == gc.get_threshold() == (0, 10, 12)
    gc.set_threshold(700, 10, 10)


def test_collector_that_is_off_stays_off():
    gc.disable()
    try:
        tapegrad.grad(Chain())(np.ones(3))
        assert not gc.isenabled()
    finally:
        gc.enable()


class Cyclic:
    """Garbage that only a search finds."""

    def __init__(self):
        self.own = self


def test_young_garbage_is_found_while_a_tape_grows():
    alive: weakref.WeakSet[Cyclic] = weakref.WeakSet()
    most = 0

    def f(x):
        nonlocal most
        y = x
        for _ in range(LONG):
            y = y * 0.99999
            alive.add(Cyclic())
            most = max(most, len(alive))
        return np.sum(y)

    tapegrad.grad(f)(np.ones(3))
    assert most < 1000


def made_until_old_garbage_is_found():
    """How many objects are made until a cycle in the oldest generation goes."""
    old = Cyclic()
    gone = weakref.ref(old)
    gc.collect(1)
    gc.collect(1)
    del old
    kept = []
    while gone() is not None and len(kept) < 40 * LONG:
        kept.append([])
    return len(kept)


def test_old_garbage_is_found_while_a_tape_lives():
    """Full searches still come, when about four times as much as the tape holds was made."""
    if made_until_old_garbage_is_found() == 40 * LONG:
        pytest.skip("this Python does not find it without a tape either, as 3.13.0")
    found = []

    def f(x):
        y = x
        for _ in range(LONG):
            y = y * 0.99999
        found.append(made_until_old_garbage_is_found())
        return np.sum(y)

    tapegrad.grad(f)(np.ones(3))
    assert found[0] < 20 * LONG


def test_holders_add_up():
    first, second = object(), object()
    hold(first, 70_000)
    assert gc.get_threshold()[2] == 40
    hold(second, 70_000)
    assert gc.get_threshold()[2] == 80
    hold(first, 140_000)
    assert gc.get_threshold()[2] == 120
    release(first)
    release(first)
    assert gc.get_threshold()[2] == 40
    release(second)
    assert gc.get_threshold()[2] == 10


def test_tapes_without_end_have_slots_in_order():
    slots = []

    def f(x):
        for _ in range(2 * STRETCH + 10):
            x = x * 1.0
            slots.append(x.slot)
        return np.sum(x)

    tapegrad.grad(f)(np.ones(1))
    assert slots == list(range(slots[0], slots[0] + len(slots)))


# --- The graph of tensors -----------------------------------------------------------------------


def graph(length):
    y = torch.ones(2, dtype=torch.float64).requires_grad_()
    for _ in range(length):
        y = y * 0.99999
    return y


def test_threshold_grows_with_the_graph_and_goes_with_it():
    loss = graph(LONG).sum()
    assert 3 * LONG // 7000 <= gc.get_threshold()[2] <= 5 * LONG // 7000
    loss.backward()
    del loss
    assert gc.get_threshold()[2] == 10


def test_graphs_that_go_at_once_change_nothing():
    for _ in range(100):
        graph(200)
    gc.collect()
    assert gc.get_threshold()[2] == 10


def test_graph_in_a_cycle_is_let_go():
    y = graph(LONG)
    gone = weakref.ref(y.grad_fn)
    y.grad_fn.metadata["own"] = y
    del y
    assert gc.get_threshold()[2] > 10
    gc.collect()
    assert gone() is None


def test_long_graph_without_young_searches():
    """With the collector off, nobody looks through all objects for a node."""
    gc.disable()
    try:
        kept = [[] for _ in range(1 << 15)]
        assert graph(LONG).requires_grad
        assert len(kept) == 1 << 15
    finally:
        gc.enable()


@pytest.mark.slow
def test_no_full_search_goes_through_a_graph_that_grows():
    before = full_searches()
    graph(300_000).sum().backward()
    assert full_searches() - before <= 3  # it had 10


@pytest.mark.slow
def test_graph_of_a_million_operations_is_let_go():
    y = graph(1_000_000)
    gone = weakref.ref(y.grad_fn)
    del y
    assert gone() is None


def test_numbers_of_nodes_are_unique_and_grow_in_each_thread():
    drawn = [[] for _ in range(4)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)

    def draw(numbers):
        for _ in range(5 * STRETCH):
            numbers.append(next_number())

    try:
        threads = [threading.Thread(target=draw, args=(numbers,)) for numbers in drawn]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert all(numbers == sorted(numbers) for numbers in drawn)
    assert len(set().union(*drawn)) == 20 * STRETCH
    assert next_number() > max(map(max, drawn))
