"""Programs that tests interrupt: each sets something that must be undone.

`PROGRAMS` has a function without arguments for each, and the arrays that it reads. What it returns
is compared with what a run without interrupts returns.
"""

from __future__ import annotations

import numpy as np

import tapegrad
import tapegrad.torch as torch
from tapegrad.torch.autograd import forward_ad, graph
from tapegrad.torch.utils.checkpoint import checkpoint as torch_checkpoint

X = np.linspace(0.5, 1.5, 9).reshape(3, 3)
V = np.array([0.5, 1.0, 1.5])
LARGE = np.linspace(0.5, 1.5, 20_000)  # which a transform locks, as it is too large for a copy
PROGRAMS = {}


def interrupted(*arrays):
    def declare(program):
        PROGRAMS[program.__name__] = program, arrays
        return program

    return declare


def loss(x):
    return np.sum(np.sin(x @ x) / x)


def vector(x):
    return np.exp(x) * np.sum(x)


# --- Functions of arrays ------------------------------------------------------------------------


@interrupted(X)
def gradient():
    return tapegrad.value_and_grad(loss)(X)


@interrupted(V)
def second_order():
    return tapegrad.grad(lambda x: np.sum(tapegrad.grad(lambda y: np.sum(np.sin(y) * x))(x) ** 2))(
        V
    )


@interrupted(X)
def tangents():
    out, dot = tapegrad.jvp(loss, (X,), (X,))
    _, push = tapegrad.linearize(vector, V)
    return out, dot, push(V)


@interrupted(V)
def jacobians():
    return tapegrad.jacobian(vector)(V), tapegrad.hessian(lambda x: np.sum(vector(x)))(V)


@interrupted(X)
def mapped():
    return tapegrad.vmap(tapegrad.grad(lambda x: np.sum(np.where(x > 1, x**2, np.log(x)))))(X)


@interrupted(LARGE)
def large_constants():
    return tapegrad.grad(lambda w: np.sum(w * LARGE * np.sin(LARGE * w)))(LARGE)[:3]


@interrupted(V)
def compiled():
    fast = tapegrad.compile(
        tapegrad.grad(lambda x: np.sum(np.sqrt(np.abs(x)) * x)), backend="numpy"
    )
    return [fast(V * (i + 1)) for i in range(4)]


@interrupted(V)
def checkpointed():
    return tapegrad.grad(lambda x: np.sum(tapegrad.checkpoint(vector)(x)))(V)


@interrupted(V)
def custom_rule():
    @tapegrad.custom_vjp
    def clipped(x):
        return np.clip(x, 0, 1)

    clipped.defvjp(lambda x: (clipped(x), None), lambda _, g: (tapegrad.grad(np.sum)(g) * g,))
    return tapegrad.grad(lambda x: np.sum(clipped(x) * x))(V)


@interrupted()
def limits():
    return tapegrad.grad(lambda x: np.cbrt(x**3))(0.0)


@interrupted(V)
def warned():
    return tapegrad.grad(lambda x: np.sum(np.log(x - 0.5)))(V)


@interrupted(V)
def searched_for_nans():
    with tapegrad.debug_nans():
        found = tapegrad.grad(lambda x: np.sum(np.log(x)))(V)
        try:
            tapegrad.grad(lambda x: np.sum(np.log(x - 0.5)))(V)
        except tapegrad.NonFiniteError as error:
            return found, error.operation
    raise AssertionError


@interrupted(V)
def profiled():
    with tapegrad.profile(memory=True) as found:
        tapegrad.grad(lambda x: np.sum(np.sin(x)))(V)
    return found.table("operation").row("np.sin").calls


@interrupted(V)
def configured():
    with tapegrad.config(tracebacks="full"), tapegrad.config(exact_ties="warn"):
        return tapegrad.grad(lambda x: np.sum(np.where(x == 1.0, x, x**2)))(V)


@interrupted(V)
def checked():
    return [
        result.state for result in tapegrad.testing.check(vector, (V,), laws="gradient").results
    ]


@interrupted(V)
def looked_at():
    view = tapegrad.tape(lambda x: np.sum(np.sin(x) * x), V)
    return [row.operation for row in view.run()], tapegrad.memory_report(vector, V).table().row(
        "np.exp"
    ).bytes


@interrupted()
def implicit():
    root = tapegrad.implicit.root(lambda x, a: x**3 + x - a, 1.0, 2.0)
    return tapegrad.grad(lambda a: tapegrad.implicit.root(lambda x, b: x**3 + x - b, 1.0, a))(
        2.0
    ), root


# --- Tensors ------------------------------------------------------------------------------------


def leaf():
    return torch.tensor(V, requires_grad=True)


def step(x):
    return (x.exp() * x.sin()).log().sum()


@interrupted()
def backward():
    x = leaf()
    step(x * 2).backward()
    (first,) = torch.autograd.grad(step(x), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    return x.grad.numpy(), second.numpy()


@interrupted()
def modes():
    x = leaf()
    with torch.no_grad():
        y = x * 2
        with torch.enable_grad():
            z = x * y
    with torch.inference_mode():
        w = x * 3

    @torch.no_grad()
    def unlogged():
        return (x * 4).requires_grad

    return y.requires_grad, z.requires_grad, w.is_inference(), unlogged()


@interrupted()
def anomalies():
    x = leaf()
    with torch.autograd.detect_anomaly():
        try:
            (x - 1).sqrt().sum().backward()
        except RuntimeError as error:
            return str(error)
    raise AssertionError


@interrupted()
def profiled_tensors():
    with torch.autograd.profiler.profile(record_shapes=True) as found:
        torch.add(leaf(), 1).sum().backward()
    return [event.name for event in found.function_events]


@interrupted()
def profiled_in_steps():
    with torch.profiler.profile(
        schedule=torch.profiler.schedule(wait=0, warmup=1, active=1)
    ) as later:
        for _ in range(2):
            torch.add(leaf(), 1).sum().backward()
            later.step()
    return len(later.events())


@interrupted()
def gradient_check():
    return torch.autograd.gradcheck(step, (leaf(),)), torch.autograd.gradgradcheck(step, (leaf(),))


@interrupted()
def hooks():
    x, seen = leaf(), []
    with x.register_hook(lambda g: seen.append(g.sum().item())):
        with graph.saved_tensors_hooks(lambda t: t.numpy(), torch.tensor):
            y = step(x)
        y.backward()
    with graph.allow_mutation_on_saved_tensors():
        z = x.exp()
        w = z.sin()
        z.detach().zero_()
        w.sum().backward()
    return seen, x.grad.numpy()


@interrupted()
def functions():
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            inner = leaf()
            with torch.enable_grad():
                return g * torch.autograd.grad(step(inner), inner)[0]

    x = leaf()
    Double.apply(x).sum().backward()
    return x.grad.numpy()


@interrupted()
def transformed():
    x = torch.tensor(V)
    with torch.no_grad():
        gradient = torch.func.grad(step)(x)
        jacobian = torch.func.jacfwd(lambda x: x.sin() * x)(x)
        mapped = torch.func.vmap(torch.func.grad(lambda x: x.sin() ** 2))(x)
    return gradient.numpy(), jacobian.numpy(), mapped.numpy()


@interrupted()
def duals():
    with forward_ad.dual_level():
        x = forward_ad.make_dual(torch.tensor(V), torch.tensor(V))
        return forward_ad.unpack_dual(x * x.exp()).tangent.numpy()


@interrupted()
def checkpointed_tensors():
    torch.manual_seed(0)
    x = leaf()
    y = torch_checkpoint(lambda x: torch.nn.functional.dropout(x).exp(), x, use_reentrant=False)
    y.sum().backward()
    with torch.random.fork_rng():
        drawn = torch.rand(2).numpy()
    return x.grad.numpy(), drawn, torch.rand(2).numpy()


@interrupted()
def trained():
    torch.manual_seed(0)
    net = torch.nn.Linear(3, 1)
    optimizer = torch.optim.Adam(net.parameters())
    for _ in range(2):
        optimizer.zero_grad()
        net(torch.tensor(X.astype("f"))).sum().backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
    given = {"weight": torch.ones(1, 3)}
    called = torch.func.functional_call(net, given, (torch.ones(1, 3),))
    return net.weight.detach().numpy(), called.detach().numpy()


__all__ = ["PROGRAMS"]
