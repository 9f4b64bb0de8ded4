"""Lifetimes of values that the graph keeps alive."""

from __future__ import annotations

import gc
import sys
import tracemalloc
import weakref

import numpy as np
import pytest

import tapegrad.torch as torch


def net(x, weights):
    for w in weights:
        x = torch.tanh(x @ w)
    return x.sum()


@pytest.fixture
def weights():
    draw = np.random.default_rng(0)
    return [
        torch.from_numpy(draw.normal(size=(4, 4)).astype(np.float32)).requires_grad_(True)
        for _ in range(3)
    ]


def kept_by(count, step):
    """Bytes that `count` more steps leave behind, after some to warm up."""
    for _ in range(50):
        step()
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(count):
            step()
        gc.collect()
        return tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()


def forward_passes(count, weights):
    x = torch.ones(2, 4)
    return kept_by(count, lambda: net(x, weights))


@pytest.mark.slow
def test_forward_passes_without_backward_leave_nothing(weights):
    assert forward_passes(2_000, weights) < 20_000


def test_a_linear_layer_holds_one_array_beside_its_input():
    layer, x = torch.nn.Linear(128, 128), torch.ones(256, 128)
    with torch.no_grad():
        for _ in range(3):  # until the call is planned
            layer(x)
        tracemalloc.start()
        try:
            layer(x)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert peak < 1.5 * x.numpy().nbytes


@pytest.mark.slow
def test_many_forward_passes_without_backward_leave_nothing(weights):
    assert forward_passes(100_000, weights) < 20_000


def training_steps(count, weights):
    x = torch.ones(2, 4)

    def step():
        for w in weights:
            w.grad = None
        net(x, weights).backward()
        with torch.no_grad():
            for w in weights:
                w -= 0.001 * w.grad

    return kept_by(count, step)


@pytest.mark.slow
def test_training_steps_leave_nothing(weights):
    assert training_steps(500, weights) < 40_000


@pytest.mark.slow
def test_many_training_steps_leave_nothing(weights):
    assert training_steps(10_000, weights) < 40_000


def test_a_graph_dies_by_reference_count_alone(weights):
    gc.disable()
    try:
        x = torch.ones(2, 4)
        y = net(x, weights)
        node = weakref.ref(y.grad_fn)
        inner = weakref.ref(y.grad_fn.next_functions[0][0])
        assert node() is not None
        del y
        assert node() is None
        assert inner() is None
    finally:
        gc.enable()


def test_a_node_of_several_results_dies_by_reference_count_alone():
    gc.disable()
    try:
        x = torch.tensor([[2.0, 0.5], [0.5, 1.0]], requires_grad=True)
        y = x * 1
        kept = weakref.ref(y.grad_fn)
        values, vectors = torch.linalg.eigh(y)
        (values * vectors.sum(0)).sum()
        del y, values, vectors
        assert kept() is None
    finally:
        gc.enable()


def test_second_derivatives_through_several_results():
    def f(x):
        values, vectors = torch.linalg.eigh(x + x.mT)
        return (values.exp() * (vectors**2)[0]).sum()

    x = torch.tensor([[2.0, 0.5], [0.3, 1.0]], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradgradcheck(f, (x,))


def steps_of(function):
    """How many instructions of Python's it takes: what a busy machine does not change."""
    count = 0

    def traced(frame, event, arg):
        nonlocal count
        frame.f_trace_opcodes = True
        count += event == "opcode"
        return traced

    before = sys.gettrace()
    gc.disable()  # which would call finalizers
    sys.settrace(traced)
    try:
        function()
    finally:
        sys.settrace(before)
        gc.enable()
    return count


def test_live_graphs_do_not_slow_a_backward_pass(weights):
    x = torch.ones(2, 4)

    def backward():
        net(x, weights).backward()

    for _ in range(3):  # until the calls are planned, and Python 3.12 has begun to count
        steps_of(backward)
    alone = steps_of(backward)
    others = [net(x, weights) for _ in range(1000)]
    assert len(others) == 1000
    assert steps_of(backward) < alone + 500


def test_cycles_through_hooks_are_collected():
    x = torch.ones(3, requires_grad=True)

    def doubled():
        y = x * 2
        y.register_hook(lambda g: g + y.detach())  # y's node -> hook -> y
        return weakref.ref(y)

    gone = doubled()
    gc.collect()
    assert gone() is None


def test_cycles_through_create_graph_are_collected():
    x = torch.ones(3, requires_grad=True)
    (x**3).sum().backward(create_graph=True)  # x -> grad -> graph -> x
    gone = weakref.ref(x)
    del x
    gc.collect()
    assert gone() is None


def test_a_backward_pass_frees_what_the_graph_kept():
    x = torch.ones(1000, requires_grad=True)
    y = x.exp()
    kept = weakref.ref(y._value)
    loss = y.sum()
    del y
    assert kept() is not None
    loss.backward()
    assert kept() is None


def test_without_history_nothing_is_kept():
    x = torch.ones(1000, requires_grad=True)
    with torch.no_grad():
        y = x.exp()
        kept = weakref.ref(y._value)
        y = y.sum()
    assert kept() is None


def test_a_long_chain_dies_without_recursion():
    limit = sys.getrecursionlimit()
    x = torch.ones(1, requires_grad=True)
    y = x
    for _ in range(20 * limit):
        y = y * 1.0
    y.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [1.0])
    y = x
    for _ in range(20 * limit):
        y = y * 1.0
    del y
    gc.collect()
