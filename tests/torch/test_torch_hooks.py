"""Hooks on tensors, nodes and saved tensors; edges; threads; batched gradients; old names."""

from __future__ import annotations

import gc
import threading
import weakref
from typing import Any

import numpy as np
import pytest
from transcripts import Log, compare, logged

import tapegrad.torch as torch
from tapegrad.torch.autograd import Variable, grad, graph

PROGRAMS: dict[str, Any] = {}


def program(function: Any) -> Any:
    PROGRAMS[function.__name__] = function
    return function


@program
def leaf_hooks(T: Any, log: Log) -> None:
    v = T.tensor([1.0, 2.0], requires_grad=True)
    first = v.register_hook(lambda g: (log("first", g), g * 2)[1])
    v.register_hook(lambda g: log("second", g))
    v.register_post_accumulate_grad_hook(lambda p: log("after", p is v, p.grad))
    node = (v * 1).grad_fn.next_functions[0][0]
    log(node.variable is v)
    node.register_prehook(lambda gs: log("node before", gs))
    node.register_hook(lambda inner, outer: log("node after", inner, outer))
    for _ in range(2):
        (v * 3).sum().backward()
        log(v.grad)
        first.remove()
        first.remove()
    log(T.autograd.grad((v * 3).sum(), v))
    log.attempt(lambda: v.detach().register_hook(print), "cannot register a hook on a tensor that")
    log.attempt(lambda: (v * 2).register_post_accumulate_grad_hook(print), "non-leaf")


@program
def inner_hooks(T: Any, log: Log) -> None:
    v = T.tensor([1.0, 2.0], requires_grad=True)
    t = v * 2
    t.retain_grad()
    t.register_hook(lambda g: g * 10)
    t.register_hook(lambda g: log(t.grad))
    (t * 3).sum().backward()
    log(t.grad, v.grad)
    t = v * 2

    def removes_itself(g: Any) -> None:
        log("itself", g)
        handle.remove()

    handle = t.register_hook(removes_itself)
    t.register_hook(lambda g: log("other", g))
    s = (t * 3).sum()
    s.backward(retain_graph=True)
    s.backward()
    with t.register_hook(lambda g: log("never", g)):
        pass
    t = v * 2
    t.register_hook(lambda g: T.ones(3))
    log.attempt(lambda: t.sum().backward(), "has changed the size of value")
    t = v * 2
    t.register_hook(lambda g: 5)
    log.attempt(lambda: t.sum().backward(), "expected Variable, but hook returned 'int'")


@program
def node_hooks(T: Any, log: Log) -> None:
    u = T.tensor([2.0], requires_grad=True)
    n = u**3
    n.grad_fn.register_prehook(lambda gs: (gs[0] * 2,))
    n.grad_fn.register_hook(lambda inner, outer: (inner[0] + 1,))
    log(T.autograd.grad(n.sum(), u))
    n = u * u
    n.grad_fn.register_hook(lambda inner, outer: (inner[0],))
    log.attempt(lambda: T.autograd.grad(n.sum(), u), "incorrect number of values (got 1, but")
    n = u * u
    n.grad_fn.register_prehook(lambda gs: (gs[0], gs[0]))
    log.attempt(lambda: T.autograd.grad(n.sum(), u), "incorrect number of values (got 2, but")
    n = u * u
    n.grad_fn.register_prehook(lambda gs: log("node"))
    n.register_hook(lambda g: log("tensor"))
    n.sum().backward()
    a, _ = T.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True).unbind(0)
    a.register_hook(lambda g: log("a", g))
    a.grad_fn.register_prehook(lambda gs: log(gs))
    (a * 2).sum().backward()


@program
def writes(T: Any, log: Log) -> None:
    u = T.tensor([2.0], requires_grad=True)
    n = u * 2
    n.register_hook(lambda g: log("old", g))
    n.mul_(3)
    n.register_hook(lambda g: log("new", g))
    (n * 5).sum().backward()
    n = u * 2
    n.retain_grad()
    n.mul_(3)
    (n * 5).sum().backward()
    log(n.grad)


@program
def created(T: Any, log: Log) -> None:
    """Hooks take part in a graph that is made of a backward pass."""
    u = T.tensor([2.0], requires_grad=True)
    k = u**2
    k.register_hook(lambda g: g * k)
    (g,) = T.autograd.grad((k**2).sum(), u, create_graph=True)
    log(g, T.autograd.grad(g.sum(), u))
    k = u**2
    k.retain_grad()
    (k**3).sum().backward(create_graph=True)
    log(k.grad, u.grad)


@program
def saved_hooks(T: Any, log: Log) -> None:
    hooks = T.autograd.graph.saved_tensors_hooks
    x = T.tensor([1.0, 2.0, 3.0], requires_grad=True)

    def pack(t: Any) -> Any:
        log("pack", t.detach(), t.requires_grad)
        return t.detach().numpy().copy()

    def unpack(kept: Any) -> Any:
        log("unpack", kept.tolist())
        return T.tensor(kept)

    with hooks(pack, unpack):
        w = ((x * x).exp() * 2).sum()
    w.backward()
    log(x.grad)
    log.attempt(lambda: w.backward(), "Trying to backward through the graph a second time")
    with hooks(lambda t: t * 0 + 5, lambda t: t):
        y = x**2
    log(T.autograd.grad(y.sum(), x))
    with hooks(pack, unpack):
        y = x.exp()
    (g,) = T.autograd.grad(y.sum(), x, create_graph=True)
    log(g, T.autograd.grad(g.sum(), x))
    with hooks(lambda t: 3, lambda t: 4):
        y = x**2
    log.attempt(lambda: y.sum().backward(), "unpack_hook expected to be a Tensor")

    def writing() -> Any:
        with hooks(lambda t: t.mul_(2), lambda t: t):
            return (x * 1) ** 2

    log.attempt(writing, "A saved tensor pack hook is modifying its input in place")
    with T.autograd.graph.save_on_cpu():
        y = x.exp().sin()
    log(T.autograd.grad(y.sum(), x))

    def disabled() -> None:
        with T.autograd.graph.disable_saved_tensors_hooks("not now"), hooks(pack, unpack):
            pass

    log.attempt(disabled, "not now")
    with T.autograd.graph.allow_mutation_on_saved_tensors():
        w = T.ones(2, requires_grad=True)
        c = w.clone()
        out = (c**2).sum()
        c.sin_()
        out.backward()
        log(w.grad)

    class Saving(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x.exp()
            ctx.save_for_backward(x, y)
            return y

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[1]

    with hooks(pack, unpack):
        y = Saving.apply(x)
    (g,) = T.autograd.grad(y.sum(), x, create_graph=True)
    log(g, T.autograd.grad(g.sum(), x))


@program
def several_tensors(T: Any, log: Log) -> None:
    a, b, c, d = (T.ones(2, requires_grad=True) for _ in range(4))
    register = T.autograd.graph.register_multi_grad_hook
    handle = register((a, b, c, d), lambda grads: log("all", grads))
    y = (a * 2 + b).sum()
    y.backward(retain_graph=True)
    y.backward()
    ((a * b) * d).sum().backward(inputs=(a, b))
    handle.remove()
    (a + b).sum().backward()
    register((a, b), lambda g: log("any", g), mode="any")
    (a + b).sum().backward()
    log.attempt(lambda: register((a,), print, mode="some"))


@program
def edges(T: Any, log: Log) -> None:
    edge_of = T.autograd.graph.get_gradient_edge
    x = T.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    z = y.sum()
    log(edge_of(y).node is y.grad_fn, edge_of(y).output_nr, edge_of(x).node.variable is x)
    log(isinstance(y.grad_fn, T.autograd.graph.Node))
    log(T.autograd.grad(z, edge_of(y), retain_graph=True))
    log(T.autograd.grad(edge_of(z), [x, edge_of(x)], retain_graph=True))
    parts = x.unbind(0)
    log([edge_of(part).output_nr for part in parts])
    log.attempt(lambda: edge_of(x.detach()), "does not require gradients")


@program
def modes(T: Any, log: Log) -> None:
    x = T.ones(2, requires_grad=True)
    with T.inference_mode():
        i = x * 2
        log(i, i.is_inference(), T.is_inference_mode_enabled(), T.is_grad_enabled())
        i.add_(1)
        with T.enable_grad():
            log((x * 2).requires_grad, T.is_grad_enabled())
        v = i[:1]
        ordinary = T.ones(2)
    log(v.is_inference(), (i + 1).is_inference(), i.clone().is_inference())
    log.attempt(lambda: i.add_(1), "Inplace update to inference tensor outside InferenceMode")
    log.attempt(lambda: v.add_(1))
    log.attempt(lambda: i.requires_grad_(), "Setting requires_grad=True on inference tensor")
    log.attempt(lambda: i._version, "Inference tensors do not track version counter")
    log.attempt(lambda: (i.clone() * x).requires_grad)
    log.attempt(lambda: ordinary.add_(1))
    w = T.ones(2)
    with T.no_grad(), T.inference_mode(False):
        log((x * 2).requires_grad, T.is_grad_enabled())
    with T.inference_mode():
        w.add_(1)
        z = w.view(2)
        with T.inference_mode(False):
            log((x * 2).requires_grad)
    log(w._version, w.is_inference(), z.is_inference())
    log.attempt(lambda: z.add_(1))
    for decorate in (T.no_grad(), T.no_grad, T.inference_mode(), T.inference_mode):
        log(decorate(lambda: (x * 2).requires_grad)())
    decorated = T.set_grad_enabled(False)(T.is_grad_enabled)
    log(T.is_grad_enabled(), decorated(), T.is_grad_enabled())
    T.set_grad_enabled(False)
    log(T.is_grad_enabled())
    with T.set_grad_enabled(True):
        log(T.is_grad_enabled())
    log(T.is_grad_enabled())
    T.set_grad_enabled(True)


@program
def generators(T: Any, log: Log) -> None:
    @T.no_grad()
    def generate() -> Any:
        try:
            log("sent", (yield 1), T.is_grad_enabled())
            yield 2
        except ValueError:
            log("caught", T.is_grad_enabled())
            yield 3
        finally:
            log("finally", T.is_grad_enabled())
        return 9

    it = generate()
    log(next(it), T.is_grad_enabled(), it.send(5), it.throw(ValueError()), T.is_grad_enabled())
    try:
        next(it)
    except StopIteration as stop:
        log(stop.value)
    it = generate()
    next(it)
    it.close()


@program
def batched(T: Any, log: Log) -> None:
    x = T.tensor([1.0, 2.0, 3.0], requires_grad=True)
    w = T.tensor([[1.0, 2.0, 3.0], [0.0, 1.0, -1.0]], requires_grad=True)
    unused = T.ones(2, requires_grad=True)
    y = (w @ x).sin() * x.sum()
    found = T.autograd.grad(y, (x, w), T.eye(2), is_grads_batched=True, create_graph=True)
    log(found, T.autograd.grad(found[0].sum(), x, retain_graph=True))
    z = x * 2
    several = [T.ones(4, 2), T.ones(4, 3)]
    some = T.autograd.grad([y, z], [x, unused], several, is_grads_batched=True, allow_unused=True)
    log(some)
    log.attempt(
        lambda: T.autograd.grad(x * 2, x, T.ones(3), is_grads_batched=True),
        "we interpret the first dimension",
    )


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_see_what_they_see_with_pytorch(name):
    compare(PROGRAMS[name])


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_run(name):
    assert logged(PROGRAMS[name])


def test_a_cycle_through_a_hook_is_collected():
    class Held:
        pass

    def cycle() -> weakref.ref[Held]:
        held = Held()
        y = torch.ones(3, requires_grad=True) * 2
        y.register_hook(lambda g: print(held, y))
        y.grad_fn.metadata["y"] = y
        return weakref.ref(held)

    died = cycle()
    gc.collect()
    assert died() is None


def test_a_batched_gradient_falls_back_to_one_pass_an_example():
    class Peeks(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * (3 if bool(g.sum() > 1) else 2)  # needs a plain value

    x = torch.ones(2, requires_grad=True)
    (found,) = grad(
        Peeks.apply(x), x, torch.tensor([[1.0, 0.0], [1.0, 1.0]]), is_grads_batched=True
    )
    assert found.tolist() == [[2.0, 0.0], [3.0, 3.0]]


def test_backward_passes_of_several_threads_add_to_shared_leaves():
    x = torch.ones(20, requires_grad=True)
    failed = []

    def work(factor: int) -> None:
        try:
            for _ in range(50):
                (x * float(factor)).sum().backward()
        except Exception as error:  # noqa: BLE001 - told below
            failed.append(error)

    threads = [threading.Thread(target=work, args=(factor,)) for factor in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert x.grad.tolist() == [50.0 * 15] * 20


def test_a_graph_of_one_thread_runs_in_others():
    x = torch.ones(3, requires_grad=True)
    y = (x * x).exp().sum()
    threads = [
        threading.Thread(target=y.backward, kwargs={"retain_graph": True}) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    np.testing.assert_allclose(x.grad.numpy(), 16 * np.e, rtol=1e-5)


def test_grad_mode_is_that_of_a_thread():
    seen = []
    with torch.no_grad():
        thread = threading.Thread(target=lambda: seen.append(torch.is_grad_enabled()))
        thread.start()
        thread.join()
    assert seen == [True]


def test_the_older_document():
    with pytest.warns(DeprecationWarning, match="requires_grad_"):
        v = Variable(torch.tensor([0.0, 0.0, 0.0]), requires_grad=True)
    assert isinstance(v, Variable)
    handle = v.register_hook(lambda grad: grad * 2)
    v.backward(torch.tensor([1.0, 1.0, 1.0]))
    assert v.grad.data.tolist() == [2.0, 2.0, 2.0]
    handle.remove()
    with (
        pytest.warns(DeprecationWarning, match="Variable is deprecated"),
        pytest.warns(UserWarning, match="torch.no_grad"),
    ):
        assert not Variable(torch.ones(2), volatile=True).requires_grad
    with pytest.raises(TypeError, match="Variable data has to be a tensor"), pytest.warns():
        Variable(3.0)
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    with pytest.warns(FutureWarning, match="grad_tensors"):
        torch.autograd.backward(y, grad_variables=torch.ones(2), retain_graph=True)
    with pytest.warns(DeprecationWarning, match="retain_graph"):
        torch.autograd.backward(y, torch.ones(2), retain_variables=True)
    assert x.grad.tolist() == [4.0, 4.0]


def test_saved_hooks_as_a_decorator():
    seen = []

    @graph.saved_tensors_hooks(lambda t: seen.append(1) or t, lambda t: t)
    def run(x):
        return x.exp()

    assert run(torch.ones(2, requires_grad=True)).requires_grad
    assert seen == [1]


# --- What the program keeps ---------------------------------------------------------------------


class Keeps(torch.autograd.Function):
    """The identity, which keeps the cotangents that it sees."""

    seen: list = []  # noqa: RUF012

    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        Keeps.seen.append(g)
        return g


KEPT = {
    "a Function": lambda x, seen: (Keeps.apply(x) * 3).sum(),
    "a Function beside": lambda x, seen: (Keeps.apply(x) + x).sum(),
    "a Function and rows": lambda x, seen: Keeps.apply(x).reshape(3, 4)[[0, 2, 2]].sum(),
    "a hook of a leaf": lambda x, seen: x.register_hook(seen.append) and (x * 2).sum(),
    "a hook of a result": lambda x, seen: _hooked(x * 2, seen) + x.sum(),
}


def _hooked(z, seen):
    z.register_hook(seen.append)
    return z.sum()


@pytest.mark.parametrize("name", KEPT)
def test_a_kept_cotangent_is_not_added_to_by_a_later_pass(name):
    Keeps.seen.clear()
    x = torch.arange(12.0, requires_grad=True)
    seen = [] if "hook" in name else Keeps.seen
    y = KEPT[name](x, seen)
    y.backward(retain_graph=True)
    first, gradient = seen[0].tolist(), x.grad.tolist()
    y.backward()
    assert seen[0].tolist() == first
    assert x.grad.tolist() == [2 * g for g in gradient]


class _WithoutGradient(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        return None


@pytest.mark.parametrize("node_by_node", [False, True])
def test_hooks_get_none_where_a_function_gives_no_gradient(node_by_node):
    seen: list[Any] = []
    x = torch.ones(2, requires_grad=True)
    y = x.clone()
    y.register_hook(lambda g: seen.append(("y", g)))
    w = y * x
    w.register_hook(lambda g: seen.append(("w", g)))
    if node_by_node:
        w.grad_fn.register_prehook(lambda gs: seen.append(("before", gs)))
        w.grad_fn.register_hook(lambda inputs, gs: seen.append(("after", inputs, gs)))
    _WithoutGradient.apply(w).sum().backward(retain_graph=True)
    around = [("before", (None,)), ("after", (None, None), (None,))] if node_by_node else []
    assert seen == [("w", None), *around, ("y", None)]
    assert x.grad is None
    seen.clear()
    (_WithoutGradient.apply(w.clone()).sum() + (2 * w).sum()).backward()  # w has one by the other
    assert [name for name, *_ in seen] == ["w", *(name for name, *_ in around), "y"]
    assert "None" not in str([gradient for _, gradient, *_ in seen])


def test_a_hook_cannot_replace_none():
    y = torch.ones(2, requires_grad=True).clone()
    y.register_hook(lambda _: torch.ones(2))
    with pytest.raises(RuntimeError, match="can't replace a None gradient with a non-None value"):
        _WithoutGradient.apply(y).sum().backward()


@pytest.mark.parametrize("name", ["backward_hook", "full_backward_hook", "full_backward_pre_hook"])
def test_hooks_of_modules_get_none_where_a_function_gives_no_gradient(name):
    seen: list[Any] = []
    layer = torch.nn.ReLU()
    getattr(layer, f"register_{name}")(lambda _, *grads: seen.append(grads))
    x = torch.ones(2, requires_grad=True)
    _WithoutGradient.apply(layer(x * 1)).sum().backward()
    (grads,) = seen
    assert grads[-1] == (None,)
    if name == "full_backward_hook":
        assert grads[0][0].tolist() == [0, 0]
