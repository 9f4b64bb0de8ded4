"""torch.func: grad, vjp, jvp, jacrev, jacfwd, hessian, linearize, vmap; as PyTorch's."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from pytorch_answers import of_pytorch
from transcripts import Log, compare, logged, same_logs

import tapegrad
import tapegrad.torch as torch
from tapegrad.torch import func

PROGRAMS: dict[str, Any] = {}


def program(function: Any) -> Any:
    PROGRAMS[function.__name__] = function
    return function


def numbers(T: Any, *shape: int, seed: int = 0, dtype: str = "float64") -> Any:
    draw = np.random.default_rng(seed)
    values = draw.normal(size=shape)
    if dtype.startswith("complex"):
        values = values + 1j * draw.normal(size=shape)
    return T.from_numpy(np.asarray(values).astype(dtype))


def weights(T: Any, x: Any) -> Any:
    values = np.arange(1.0, x.numel() + 1).reshape(tuple(x.shape)) / 3
    return T.from_numpy(np.asarray(values)).to(x.dtype)


def with_writes(T: Any, x: Any) -> Any:
    y = x * 2
    y[0] = x[1] * x[1]
    y += x
    y[1:].mul_(x[1:])
    z = T.zeros_like(y)
    z[1] = y[0]
    z.add_(y)
    return y * z


def into_new(T: Any, x: Any) -> Any:
    """A tensor made within is written to, whole and by parts and through views."""
    y = T.zeros(3, dtype=x.dtype)
    for i in range(3):
        y[i] = x[i] ** (i + 1)
    view = y[1:].view(2, 1)
    view.mul_(x[0])
    w = T.ones(2, 3, dtype=x.dtype)
    w[0].copy_(y)
    w.t()[2] = x[:2]
    w[:, 0].fill_(2.0)
    return (w.sum(0) * y).exp()


def several_views(T: Any, x: Any) -> Any:
    y = x.clone()
    a, b = y.view(3, 1), y[::2]
    a.add_(1)
    b.mul_(x[1])
    return a.squeeze(1) * y


def masked(T: Any, x: Any) -> Any:
    y = x.clone()
    y[T.tensor([True, False, True])] = x[1]
    y.masked_fill_(T.tensor([False, False, True]), 2.0)
    return T.where(x > 0, y, x * x)


def without_grad(T: Any, x: Any) -> Any:
    with T.no_grad():
        scale = x * 3
    return x * scale


def detached(T: Any, x: Any) -> Any:
    return x * x.detach()


# Functions of a tensor of shape (3,) to one of shape (3,).
ONE = {
    "sin": lambda T, x: x.sin() * x,
    "softmax": lambda T, x: x.softmax(0),
    "roll": lambda T, x: x.roll(1) * x.flip(0),
    "cumsum": lambda T, x: x.cumsum(0).exp(),
    "sort": lambda T, x: x.sort().values * x,
    "max": lambda T, x: x * x.max(),
    "norm": lambda T, x: x / x.norm(),
    "outer": lambda T, x: T.outer(x, x.exp()).sum(1),
    "stack": lambda T, x: T.stack([x[0], x[1] * x[2], x.sum()]),
    "cat": lambda T, x: T.cat([x[1:], x[:1] ** 2]),
    "index": lambda T, x: x[T.tensor([2, 0, 0])] * x,
    "gather": lambda T, x: x.gather(0, T.tensor([2, 0, 0])) * x,
    "writes": with_writes,
    "new": into_new,
    "views": several_views,
    "masked": masked,
    "no grad": without_grad,
    "detached": detached,
    "identity": lambda T, x: x,
    "constant": lambda T, x: T.ones(3, dtype=x.dtype),
    "linear": lambda T, x: x * 3 + 1,
    "diag": lambda T, x: (T.diag(x) @ T.diag(x)).diagonal(),
    "einsum": lambda T, x: T.einsum("i,j->i", x, x),
    "solve": lambda T, x: T.linalg.solve(T.eye(3, dtype=x.dtype) * 4 + T.outer(x, x), x),
    "inner grad": lambda T, x: T.func.grad(lambda y: (y**3 * x).sum())(x),
    "inner vmap": lambda T, x: T.func.vmap(lambda a: (a * x).sum())(x),
    "inner jvp": lambda T, x: T.func.jvp(lambda y: y.sin() * x, (x,), (x * 2,))[1],
    "inner jacobian": lambda T, x: T.func.jacrev(lambda y: y.sin() * x)(x).sum(0),
}
TRANSFORMS: dict[str, Any] = {
    "grad": lambda T, f, x: T.func.grad(lambda x: (f(x) * weights(T, x)).sum())(x),
    "grad of grad": lambda T, f, x: T.func.grad(
        lambda x: (T.func.grad(lambda x: (f(x) ** 2 * weights(T, x)).sum())(x) ** 2).sum()
    )(x),
    "grad_and_value": lambda T, f, x: T.func.grad_and_value(lambda x: (f(x) ** 2).sum())(x),
    "vjp": lambda T, f, x: vjp_at(T, f, x),
    "jvp": lambda T, f, x: T.func.jvp(f, (x,), (weights(T, x),)),
    "jvp twice": lambda T, f, x: (
        *T.func.jvp(f, (x,), (weights(T, x),)),
        T.func.jvp(f, (x,), (weights(T, x) * 2,))[1],
    ),
    "jacrev": lambda T, f, x: T.func.jacrev(f)(x),
    "jacrev in chunks": lambda T, f, x: T.func.jacrev(f, chunk_size=2)(x),
    "jacfwd": lambda T, f, x: T.func.jacfwd(f)(x),
    "hessian": lambda T, f, x: T.func.hessian(f)(x),
    "jacrev of jacrev": lambda T, f, x: T.func.jacrev(T.func.jacrev(f))(x),
    "jacfwd of jacfwd": lambda T, f, x: T.func.jacfwd(T.func.jacfwd(f))(x),
    "linearize": lambda T, f, x: linearized(T, f, x),
    "vmap": lambda T, f, x: T.func.vmap(f)(T.stack([x, x * 2])),
    "vmap in chunks": lambda T, f, x: T.func.vmap(f, chunk_size=2)(T.stack([x, x * 2, x + 1])),
    "vmap along 1": lambda T, f, x: T.func.vmap(f, 1, 1)(T.stack([x, x * 2], 1)),
    "vmap of grad": lambda T, f, x: T.func.vmap(T.func.grad(lambda x: (f(x) ** 2).sum()))(
        T.stack([x, x * 2])
    ),
    "vmap of jacrev": lambda T, f, x: T.func.vmap(T.func.jacrev(f))(T.stack([x, x * 2])),
    "vmap of jacfwd": lambda T, f, x: T.func.vmap(T.func.jacfwd(f))(T.stack([x, x * 2])),
    "vmap of vmap": lambda T, f, x: T.func.vmap(T.func.vmap(f))(
        T.stack([x, x * 2, x + 1, -x]).reshape(2, 2, 3)
    ),
    "grad of vmap": lambda T, f, x: T.func.grad(
        lambda x: (T.func.vmap(f)(T.stack([x, x * 2])) ** 2).sum()
    )(x),
}
# Where PyTorch's own result is wrong, with the transform that gives the right one here.
WRONG_THERE = {
    ("jacfwd of jacfwd", "solve"): "jacrev of jacrev",
    ("vmap of jacfwd", "solve"): "vmap of jacrev",
    ("linearize", "writes"): "jvp twice",
    ("linearize", "new"): "jvp twice",
    ("linearize", "views"): "jvp twice",
    ("linearize", "inner jacobian"): "jvp twice",
}


def vjp_at(T: Any, f: Any, x: Any) -> Any:
    out, pullback = T.func.vjp(f, x)
    return out, pullback(weights(T, out)), pullback(weights(T, out) * 2)


def linearized(T: Any, f: Any, x: Any) -> Any:
    out, pushforward = T.func.linearize(f, x)
    return out, pushforward(weights(T, x)), pushforward(weights(T, x) * 2)


@pytest.mark.part(4)
@pytest.mark.parametrize("name", ONE)
@pytest.mark.parametrize("transform", TRANSFORMS)
def test_transforms(transform: str, name: str) -> None:
    def run(T: Any, log: Log) -> None:
        x = numbers(T, 3)
        log(TRANSFORMS[transform](T, lambda x: ONE[name](T, x), x))

    if (transform, name) not in WRONG_THERE:
        compare_where_pytorch_can(run)


@pytest.mark.parametrize(("case", "other"), WRONG_THERE.items(), ids=str)
def test_transforms_that_are_wrong_in_pytorch(case: tuple[str, str], other: str) -> None:
    transform, name = case
    x = numbers(torch, 3)
    mine = TRANSFORMS[transform](torch, lambda x: ONE[name](torch, x), x)
    right = TRANSFORMS[other](torch, lambda x: ONE[name](torch, x), x)
    for ours, expected in zip(mine, right, strict=True):
        np.testing.assert_allclose(ours.numpy(), expected.numpy(), 1e-12, 1e-12)


def compare_where_pytorch_can(run: Any) -> None:
    """Compare a program that PyTorch may refuse."""

    def seen(pytorch: Any) -> Any:
        try:
            return logged(run, pytorch)
        except RuntimeError as error:
            return f"PyTorch refuses: {error}"[:80]

    theirs = of_pytorch(seen, digits=7)
    if isinstance(theirs, str):
        pytest.skip(theirs)
    same_logs(logged(run), theirs)


# --- Arguments ----------------------------------------------------------------------------------


@program
def argument_numbers(T: Any, log: Log) -> None:
    x, y, z = numbers(T, 3), numbers(T, 3, seed=1), numbers(T, 3, seed=2)

    def f(x: Any, y: Any, z: Any, scale: float = 1.0) -> Any:
        return (x * y**2 * z.exp()).sum() * scale

    for name in ("grad", "grad_and_value", "jacrev", "jacfwd", "hessian"):
        for argnums in (0, 1, (0, 2), (1,), -1, (2, 0)):
            if argnums == -1 and name in ("jacfwd", "hessian"):
                continue  # PyTorch's are 0
            log(getattr(T.func, name)(f, argnums=argnums)(x, y, z))
    log(T.func.grad(f)(x, y, z, scale=3.0))
    log(T.func.jacrev(lambda x, y: x * y, argnums=(0, 1))(x, y))
    log(T.func.jacfwd(lambda x, y: (x * y, x.sum()), argnums=(0, 1))(x, y))
    log(T.func.grad(lambda x, power: (x**power).sum())(x, 3))
    log(T.func.jvp(f, (x, y, z), (y, z, x)))
    log(T.func.vjp(f, x, y, z)[1](T.tensor(2.0, dtype=T.float64)))


@program
def trees(T: Any, log: Log) -> None:
    x, y = numbers(T, 3), numbers(T, 2, seed=1)

    def f(p: Any) -> Any:
        return (p["x"] ** 2).sum() * (p["rest"][0] ** 3).sum()

    given = {"x": x, "rest": [y, y * 2]}
    made = T.func.grad(f)(given)
    log(sorted(made), made["x"], made["rest"], type(made["rest"]).__name__)
    out, pullback = T.func.vjp(lambda p: {"a": p["x"] * 2, "b": (p["rest"][0],)}, given)
    (bars,) = pullback({"a": x, "b": (y,)})
    log(out["a"], out["b"], bars["x"], bars["rest"])
    made = T.func.jacrev(lambda p: {"a": p["x"] * p["rest"][0].sum()})(given)
    log(made["a"]["x"], made["a"]["rest"])
    made = T.func.jacfwd(lambda p: p["x"] * p["rest"][0].sum())(given)
    log(made["x"], made["rest"])
    out, dot = T.func.jvp(lambda p: {"a": p["x"] * 2}, (given,), (given,))
    log(out["a"], dot["a"])
    made = T.func.vmap(lambda p: {"a": p["x"] * p["y"].sum()}, in_dims=({"x": 0, "y": None},))(
        {"x": x, "y": y}
    )
    log(made["a"])


@program
def auxiliary(T: Any, log: Log) -> None:
    x = numbers(T, 3)

    def f(x: Any) -> Any:
        return (x**2).sum(), {"twice": x * 2}

    def g(x: Any) -> Any:
        return x**2, (x * 2, x.sum())

    found, aux = T.func.grad(f, has_aux=True)(x)
    log(found, aux["twice"])
    found, (value, aux) = T.func.grad_and_value(f, has_aux=True)(x)
    log(found, value, aux["twice"])
    log(T.func.jacrev(g, has_aux=True)(x))
    log(T.func.jacfwd(g, has_aux=True)(x))
    out, pullback, aux = T.func.vjp(g, x, has_aux=True)
    log(out, pullback(x), aux)
    log(T.func.jvp(g, (x,), (x,), has_aux=True))
    log(T.func.grad(lambda x: T.func.grad(f, has_aux=True)(x)[0].sum())(x))


@program
def kinds_of_numbers(T: Any, log: Log) -> None:
    for kind in ("float32", "float64", "complex64", "complex128"):
        z = numbers(T, 3, dtype=kind)
        log(T.func.grad(lambda z: (z * z.conj()).real.sum())(z))
        log(T.func.jvp(lambda z: z * z * z.conj(), (z,), (z,)))
        log.attempt(lambda z=z: T.func.jacrev(lambda z: (z * z.conj()).real)(z))
        log.attempt(lambda z=z: T.func.jacfwd(lambda z: z * z)(z))
        log(T.func.vjp(lambda z: z * z * z.conj(), z)[1](z))
    z = numbers(T, 3, dtype="complex128")
    log(T.func.vmap(T.func.grad(lambda z: (z * z.conj()).real))(z))
    log.attempt(lambda: T.func.jacrev(lambda x: x + 1j)(z.real))
    log.attempt(lambda: T.func.hessian(lambda z: (z * z.conj()).real.sum())(z))


@program
def around_the_graph(T: Any, log: Log) -> None:
    """Tensors that a function closes over, and arguments, may require grad."""
    x, w = numbers(T, 3).requires_grad_(), numbers(T, 3, seed=1).requires_grad_()

    def f(x: Any) -> Any:
        return (x**3 * w).sum()

    made = T.func.grad(f)(x)
    log(made)
    log(T.autograd.grad((made**2).sum(), (x, w)))
    for out in (
        T.func.jacrev(lambda x: x.sin() * w)(x),
        T.func.jacfwd(lambda x: x.sin() * w)(x),
        T.func.hessian(f)(x),
        T.func.jvp(f, (x,), (w,))[1],
        T.func.vjp(f, x)[1](T.tensor(2.0, dtype=T.float64))[0],
        T.func.vmap(lambda a: (a * w).exp())(x),
        T.func.vmap(T.func.grad(lambda a: (a**3 * w).sum()))(x),
        T.func.grad_and_value(f)(x)[1],
    ):
        log(out)
        first = T.autograd.grad((out**2).sum(), (x, w), create_graph=True)
        log(first)
        log(T.autograd.grad((first[0] ** 2).sum(), (x, w)))
    detached = T.func.grad(f)(x.detach())
    log(detached)
    log(T.autograd.grad(detached.sum(), w))


@program
def grad_modes(T: Any, log: Log) -> None:
    x, w = numbers(T, 3), numbers(T, 3, seed=1).requires_grad_()

    def f(x: Any) -> Any:
        return (x**3 * w).sum()

    with T.no_grad():
        log(T.func.grad(f)(x))
        log(T.func.grad(f)(w))
        log(T.func.jacrev(lambda x: x**2 * w)(x))
        log(T.func.vjp(f, x)[1](T.tensor(1.0, dtype=T.float64)))
        log(T.func.jvp(f, (x,), (x,)))
        log(T.func.hessian(f)(x))
        log(T.func.vmap(T.func.grad(f))(T.stack([x, x])))
        log(T.is_grad_enabled())

    def inner(y: Any) -> Any:
        with T.no_grad():
            return (y * T.func.grad(lambda z: (z**2 * y).sum())(y)).sum()

    log(T.func.grad(lambda y: (y * inner(y)).sum())(x))
    log(T.func.grad(lambda y: y.sum() * T.func.vmap(lambda a: a * a.detach())(y).sum())(x))
    log(T.func.jvp(lambda y: y * inner(y), (x,), (x,)))


@program
def writes_to_arguments(T: Any, log: Log) -> None:
    x = numbers(T, 3)

    def f(x: Any) -> Any:
        y = x.clone()
        y.mul_(2)
        y[0] = 3
        y[1:] *= y[1:].clone()
        return (y * x).sum()

    log(T.func.grad(f)(x), x)
    log(T.func.vmap(f)(T.stack([x, x * 2])))
    log(T.func.vmap(T.func.grad(f))(T.stack([x, x * 2])))
    z = T.stack([x, x * 2])
    log(T.func.vmap(lambda a: a.mul_(2).sum())(z), z)


@program
def modules(T: Any, log: Log) -> None:
    net = T.nn.Sequential(T.nn.Linear(3, 4), T.nn.Tanh(), T.nn.Linear(4, 2)).double()
    with T.no_grad():
        for number, parameter in enumerate(net.parameters()):
            parameter.copy_(numbers(T, *parameter.shape, seed=number))
    parameters = {name: p.detach() for name, p in net.named_parameters()}
    x, t = numbers(T, 5, 3, seed=7), T.tensor([0, 1, 1, 0, 1])

    def loss(parameters: Any, x: Any, t: Any) -> Any:
        out = T.func.functional_call(net, parameters, (x.unsqueeze(0),))
        return T.nn.functional.cross_entropy(out, t.unsqueeze(0))

    single = T.func.vmap(T.func.grad(loss), in_dims=(None, 0, 0))(parameters, x, t)
    for name in sorted(single):
        log(name, single[name])
    one = T.func.grad(loss)(parameters, x[2], t[2])
    log([(one[name] - single[name][2]).abs().max().item() < 1e-12 for name in sorted(one)])
    log(T.func.functional_call(net, {"0.bias": parameters["0.bias"] * 2}, x))
    log(T.func.functional_call(net, ({"0.bias": parameters["0.bias"] * 2}, {}), (x,)))
    log.attempt(lambda: T.func.functional_call(net, {"0.bias": x[0]}, x, strict=True))
    log.attempt(lambda: T.func.functional_call(net, {"nothing": x[0]}, x))
    log.attempt(lambda: T.func.functional_call(net, 3, x))
    nets = [net, T.nn.Sequential(T.nn.Linear(3, 4), T.nn.Tanh(), T.nn.Linear(4, 2)).double()]
    nets[1].load_state_dict({name: p * 2 for name, p in net.state_dict().items()})
    stacked, buffers = T.func.stack_module_state(nets)
    log(sorted(stacked), buffers, stacked["0.weight"])
    log(T.func.vmap(lambda p, x: T.func.functional_call(net, p, x), in_dims=(0, None))(stacked, x))
    log.attempt(lambda: T.func.stack_module_state([]))
    log.attempt(lambda: T.func.stack_module_state([net, T.nn.Linear(3, 4)]))


@program
def tied_modules(T: Any, log: Log) -> None:
    class Tied(T.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a = T.nn.Linear(3, 3, bias=False)
            self.b = T.nn.Linear(3, 3, bias=False)
            self.b.weight = self.a.weight
            self.register_buffer("scale", T.ones(3))

        def forward(self, x: Any, *, twice: bool = False) -> Any:
            self.scale.mul_(2)
            return self.b(self.a(x)) * self.scale * (2 if twice else 1)

    net, x, w = Tied(), numbers(T, 3, dtype="float32"), numbers(T, 3, 3, dtype="float32")
    with T.no_grad():
        net.a.weight.fill_(0.5)
    call = T.func.functional_call
    log(call(net, {"a.weight": w}, x))
    log(call(net, {"a.weight": w}, x, {"twice": True}, tie_weights=False))
    log(net.scale, net.a.weight)
    scale = T.ones(3)
    log(call(net, {"a.weight": w, "scale": scale}, (x,), strict=True), scale, net.scale)
    log.attempt(lambda: call(net, {"a.weight": w}, x, strict=True))
    log.attempt(lambda: call(net, {"a.weight": w, "b.weight": w * 2}, x))
    log.attempt(lambda: call(net, ({"a.weight": w}, {"a.weight": w}), x))
    log.attempt(lambda: T.func.stack_module_state([net, Tied().eval()]))


@program
def functions_with_their_own_derivative(T: Any, log: Log) -> None:
    class Cube(T.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x: Any) -> Any:
            return x**3

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(inputs[0])
            ctx.save_for_forward(inputs[0])

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return g * 3 * x**2

        @staticmethod
        def jvp(ctx: Any, dot: Any) -> Any:
            (x,) = ctx.saved_tensors
            return dot * 3 * x**2

    class Within(T.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            gradient, value = T.func.grad_and_value(lambda y: (y**3).sum())(x)
            ctx.save_for_backward(gradient)
            return value

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (gradient,) = ctx.saved_tensors
            return g * gradient

    x = numbers(T, 3)
    log(T.func.grad(lambda x: Cube.apply(x).sum())(x))
    log(T.func.vmap(Cube.apply)(x))
    log(T.func.vmap(T.func.grad(Cube.apply))(x))
    log(T.func.jacrev(Cube.apply)(x))
    log(T.func.jvp(Cube.apply, (x,), (x,)))
    log(T.func.hessian(lambda x: Cube.apply(x).sum())(x))
    log(T.func.jacrev(T.func.jacrev(Cube.apply))(x))
    leaf = numbers(T, 3).requires_grad_()
    log(T.autograd.grad(Within.apply(leaf), leaf))


@program
def randomness(T: Any, log: Log) -> None:
    x = numbers(T, 4, 3)
    T.manual_seed(1)
    same = T.vmap(lambda a: a * 0 + T.rand(3), randomness="same")(x)
    different = T.vmap(lambda a: a * 0 + T.rand(3), randomness="different")(x)
    log(same.shape, different.shape)
    log([bool((same[0] == same[i]).all()) for i in range(4)])
    log([bool((different[0] == different[i]).all()) for i in range(4)])
    log.attempt(lambda: T.vmap(lambda a: a.bernoulli())(x.sigmoid()))
    log(
        T.vmap(lambda a: T.nn.functional.dropout(a, 0.5), randomness="different")(x).shape,
    )
    outside = T.zeros(3, dtype=T.float64)
    log(T.vmap(lambda a: (outside + a).sum())(x), outside)


@program
def writes_to_tensors_from_outside(T: Any, log: Log) -> None:
    x, outside = numbers(T, 3), numbers(T, 3, seed=1)

    def f(x: Any) -> Any:
        buffer = T.zeros(3, dtype=T.float64)
        buffer.copy_(x * 2)
        buffer[0] += outside[0]
        return (buffer**2).sum()

    log(T.func.grad(f)(x))
    log(T.func.hessian(f)(x))
    log(T.func.jvp(f, (x,), (x,)))
    T.func.vmap(lambda a: outside.mul_(2).sum() + a)(x)
    log(outside)


@program
def dimensions(T: Any, log: Log) -> None:
    x, y = numbers(T, 2, 3), numbers(T, 3, 2, seed=1)
    log(T.vmap(T.mul, in_dims=(0, 1))(x, y))
    log(T.vmap(T.mul, in_dims=(0, 1), out_dims=1)(x, y))
    log(T.vmap(T.mul, in_dims=(-1, 0), out_dims=-1)(x, y))
    log(T.vmap(T.dot, in_dims=(0, None))(x, y[:, 0]))
    log(T.vmap(lambda a: (a, a.sum()), out_dims=(1, 0))(x))
    log(T.vmap(lambda a, b: a * b, in_dims=(0, None))(x, 2.0))
    log(T.vmap(lambda p: p[0] * p[1], in_dims=([0, 1],))([x, y]))
    log(T.vmap(lambda a, b: a + b)(x, x))
    log(T.vmap(T.vmap(lambda a, b: a * b), in_dims=(0, None))(x, y[:, 0]))
    log(T.vmap(T.vmap(lambda a, b: a.sum() * b, in_dims=(None, 0)), in_dims=(0, None))(x, y))
    log(T.vmap(lambda a: a * a, chunk_size=1)(x))
    log(T.vmap(lambda a, *, scale: a * scale)(x, scale=x))
    log(T.vmap(lambda a: T.ones(2))(x))
    log(T.vmap(lambda a: {"a": a})(x)["a"])


DIMENSIONS: dict[str, Any] = {
    "no arguments": lambda T, x: T.vmap(lambda: x)(),
    "nothing mapped": lambda T, x: T.vmap(T.sin, in_dims=None)(x),
    "nothing mapped of two": lambda T, x: T.vmap(T.mul, in_dims=(None, None))(x, x),
    "too few in_dims": lambda T, x: T.vmap(T.mul, in_dims=(0,))(x, x),
    "in_dims of a float": lambda T, x: T.vmap(T.sin, in_dims=0.5)(x),
    "no such dim": lambda T, x: T.vmap(T.sin, in_dims=2)(x),
    "mapped number": lambda T, x: T.vmap(T.mul)(x, 2.0),
    "sizes": lambda T, x: T.vmap(T.mul)(x, x[:1]),
    "no dimensions": lambda T, x: T.vmap(T.sin)(x[0, 0]),
    "structure": lambda T, x: T.vmap(T.sin, in_dims=((0, 0),))(x),
    "returns a number": lambda T, x: T.vmap(lambda a: 3.0)(x),
    "returns nothing": lambda T, x: T.vmap(lambda a: None)(x),
    "too few out_dims": lambda T, x: T.vmap(lambda a: (a, a), out_dims=(0,))(x),
    "out_dims of a float": lambda T, x: T.vmap(T.sin, out_dims=0.5)(x),
    "no such out dim": lambda T, x: T.vmap(T.sin, out_dims=3)(x),
    "control flow": lambda T, x: T.vmap(lambda a: a if a.sum() > 0 else -a)(x),
    "item": lambda T, x: T.vmap(lambda a: a.sum().item() * a)(x),
    "randomness": lambda T, x: T.vmap(T.sin, randomness="any")(x),
    "chunk size": lambda T, x: T.vmap(T.sin, chunk_size=0)(x),
    "draws": lambda T, x: T.vmap(lambda a: a + T.randn(3))(x),
    "dropout": lambda T, x: T.vmap(lambda a: T.nn.functional.dropout(a))(x),
}


@pytest.mark.parametrize("name", DIMENSIONS)
def test_errors_of_vmap(name: str) -> None:
    compare(lambda T, log: log.attempt(lambda: DIMENSIONS[name](T, numbers(T, 2, 3))))


ERRORS: dict[str, Any] = {
    "grad of no number": lambda F, T, x: F.grad(T.sin)(x),
    "grad of one element": lambda F, T, x: F.grad(lambda x: x.sum().reshape(1))(x),
    "grad of a tuple": lambda F, T, x: F.grad(lambda x: (x.sum(), x))(x),
    "grad of a float": lambda F, T, x: F.grad(lambda x: 3.0)(x),
    "grad of a complex number": lambda F, T, x: F.grad(lambda x: (x * 1j).sum())(x),
    "grad by a number": lambda F, T, x: F.grad(lambda x: x)(2.0),
    "grad by integers": lambda F, T, x: F.grad(lambda x: x.sum())(x.long()),
    "no such argument": lambda F, T, x: F.grad(T.sum, argnums=1)(x),
    "no such negative argument": lambda F, T, x: F.grad(T.sum, argnums=-2)(x),
    "argnums of a string": lambda F, T, x: F.grad(T.sum, argnums="x")(x),
    "empty argnums": lambda F, T, x: F.grad(T.sum, argnums=())(x),
    "repeated argnums": lambda F, T, x: F.grad(T.dot, argnums=(0, 0))(x, x),
    "aux missing": lambda F, T, x: F.grad(T.sum, has_aux=True)(x),
    "aux of three": lambda F, T, x: F.grad(lambda x: (x.sum(), x, x), has_aux=True)(x),
    "jvp tangent shape": lambda F, T, x: F.jvp(T.sin, (x,), (x[:2],)),
    "jvp tangents too few": lambda F, T, x: F.jvp(T.mul, (x, x), (x,)),
    "jvp of no tuple": lambda F, T, x: F.jvp(T.sin, x, x),
    "jvp of nothing": lambda F, T, x: F.jvp(lambda: x, (), ()),
    "jvp by a number": lambda F, T, x: F.jvp(T.sin, (2.0,), (1.0,)),
    "jvp of a float": lambda F, T, x: F.jvp(lambda x: 3.0, (x,), (x,)),
    "jvp strict": lambda F, T, x: F.jvp(lambda x: T.ones(2), (x,), (x,), strict=True),
    "vjp by a number": lambda F, T, x: F.vjp(T.sin, 2.0),
    "vjp of a float": lambda F, T, x: F.vjp(lambda x: 3.0, x),
    "vjp cotangent shape": lambda F, T, x: F.vjp(T.sin, x)[1](x[:2]),
    "vjp cotangent structure": lambda F, T, x: F.vjp(lambda x: (x, x), x)[1](x),
    "jacrev of a float": lambda F, T, x: F.jacrev(lambda x: 3.0)(x),
    "jacrev of no argument": lambda F, T, x: F.jacrev(T.sin, argnums=1)(x),
    "jacrev chunk size": lambda F, T, x: F.jacrev(T.sin, chunk_size=0)(x),
    "jacfwd of a float": lambda F, T, x: F.jacfwd(lambda x: 3.0)(x),
    "jacfwd of no argument": lambda F, T, x: F.jacfwd(T.sin, argnums=1)(x),
    "error of the function": lambda F, T, x: F.grad(lambda x: (x @ T.ones(9)).sum())(x),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name: str) -> None:
    compare(lambda T, log: log.attempt(lambda: ERRORS[name](T.func, T, numbers(T, 3))))


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    compare(PROGRAMS[name])


# --- Without PyTorch ----------------------------------------------------------------------------


@pytest.mark.part(3)
@pytest.mark.parametrize("name", ONE)
def test_transforms_agree(name: str) -> None:
    """Forward and reverse mode, products and matrices, batched and not: one derivative."""
    if name in ("detached", "no grad"):
        pytest.skip("only reverse mode is cut")

    def f(x: Any) -> Any:
        return ONE[name](torch, x)

    x = numbers(torch, 3)
    matrix = func.jacrev(f)(x).numpy()
    np.testing.assert_allclose(func.jacfwd(f)(x).numpy(), matrix, 1e-12, 1e-12)
    _, dot = func.jvp(f, (x,), (weights(torch, x),))
    np.testing.assert_allclose(dot.numpy(), matrix @ weights(torch, x).numpy(), 1e-12, 1e-12)
    _, pullback = func.vjp(f, x)
    (bar,) = pullback(weights(torch, x))
    np.testing.assert_allclose(bar.numpy(), weights(torch, x).numpy() @ matrix, 1e-12, 1e-12)
    if name != "new":  # it writes into a tensor that the examples share
        batched = func.vmap(func.jacrev(f))(torch.stack([x, x]))
        np.testing.assert_allclose(batched[1].numpy(), matrix, 1e-12, 1e-12)
    step = 1e-6
    columns = [
        (f(x + step * e) - f(x - step * e)).numpy() / (2 * step)
        for e in torch.eye(3, dtype=torch.float64)
    ]
    np.testing.assert_allclose(np.stack(columns, 1), matrix, 1e-6, 1e-6)
    third = func.jacfwd(func.hessian(f))(x).numpy()
    expected = func.jacrev(func.jacrev(func.jacrev(f)))(x).numpy()
    np.testing.assert_allclose(third, expected, 1e-9, 1e-9)


def test_a_tensor_from_outside_does_not_keep_values_of_a_transform_silently() -> None:
    outside = torch.zeros(())
    func.grad(lambda a: outside.add_(a) * a)(torch.tensor(1.0))
    with pytest.raises((RuntimeError, TypeError)):
        outside + 1


@pytest.mark.parametrize(
    "write",
    [
        lambda w, x, i: w.copy_(x),
        lambda w, x, i: w.add_(x),
        lambda w, x, i: w.fill_(x[0]),
        lambda w, x, i: w.__setitem__(0, x[0]),
        lambda w, x, i: w.__setitem__(i, 1.0),
        lambda w, x, i: w.masked_fill_(x > 2, 1.0),
        lambda w, x, i: w.scatter_(0, i, 1.0),
    ],
)
def test_examples_are_not_written_into_a_tensor_that_they_share(write: Any) -> None:
    x, i = torch.ones(2, 3), torch.tensor([[0], [1]])

    def f(x: Any, i: Any) -> Any:
        w = torch.zeros(3)
        write(w, x, i)
        return w

    for call in (f, func.grad(lambda x, i: f(x, i).sum())):
        with pytest.raises(RuntimeError, match="`self` is not vmapped over"):
            func.vmap(call)(x, i)

    def own(x: Any, i: Any) -> Any:
        w = torch.zeros_like(x)
        write(w, x, i)
        write(x.new_zeros(3), x, i)
        return w

    rows = [own(*each) for each in zip(x, i, strict=True)]
    assert func.vmap(own)(x, i).tolist() == torch.stack(rows).tolist()


def test_no_grad_within_a_transform_cuts_and_around_it_does_not() -> None:
    def f(x: Any) -> Any:
        with torch.no_grad():
            y = x * 2
        return (x * y).sum()

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    np.testing.assert_array_equal(func.grad(f)(x).detach().numpy(), [2.0, 4.0])
    with torch.no_grad():
        made = func.grad(lambda x: (x * x).sum())(x)
    np.testing.assert_array_equal(made.numpy(), [2.0, 4.0])
    assert not made.requires_grad


def test_names() -> None:
    assert torch.vmap is func.vmap
    assert torch.func is func


def under_no_grad(x: Any) -> Any:
    y = x * 3
    with torch.no_grad():
        y.mul_(2)
    return (y * x).sum()


def part_under_no_grad(x: Any) -> Any:
    y = x * 3
    with torch.no_grad():
        y[0] = 5.0
    return (y * x).sum()


def required(x: Any) -> Any:
    y = x * 2
    y.requires_grad_()
    return y.sum()


def with_jacobian(x: Any) -> Any:
    return torch.autograd.functional.jacobian(torch.sin, x, create_graph=True).sum()


@pytest.mark.parametrize("f", [under_no_grad, part_under_no_grad, required, with_jacobian])
def test_what_would_lose_a_derivative_is_an_error(f: Any) -> None:
    x = torch.tensor([1.0, 2.0, 3.0])
    for call in (func.grad(f), func.jacrev(f)):
        with pytest.raises(RuntimeError, match="transform"):
            call(x)
    with pytest.raises(RuntimeError, match="transform"):
        func.vmap(func.grad(f))(torch.stack([x, x]))


def test_writes_under_no_grad_in_forward_mode() -> None:
    x = torch.tensor([1.0, 2.0, 3.0])
    assert func.jvp(under_no_grad, (x,), (torch.ones(3),))[1] == 72
    assert func.jvp(part_under_no_grad, (x,), (torch.ones(3),))[1] == 35
    with pytest.raises(RuntimeError, match="transform"):
        func.jvp(required, (x,), (x,))


def test_detach_in_place_within_a_transform() -> None:
    def f(x: Any) -> Any:
        y = x.clone()
        y.detach_()
        return (y * x).sum()

    x = torch.tensor([1.0, 2.0])
    np.testing.assert_array_equal(func.grad(f)(x).numpy(), [1.0, 2.0])
    assert func.jvp(f, (x,), (torch.ones(2),))[1] == 3


COPIES: dict[str, Any] = {
    "flip": lambda x: x.flip(0),
    "flipud": torch.flipud,
    "rot90": lambda x: x.reshape(3, 1).rot90(2)[:, 0],
    "roll": lambda x: x.roll(0),
    "contiguous": lambda x: x.reshape(3, 1).expand(3, 2).t().contiguous()[0],
    "clone": lambda x: x.clone(),
    "repeat": lambda x: x.repeat(1),
    "tile": lambda x: x.tile(1),
    "cat": lambda x: torch.cat([x]),
    "index_select": lambda x: x.index_select(0, torch.arange(3)),
}


@pytest.mark.parametrize("copy", COPIES.values(), ids=COPIES)
def test_a_write_into_a_copy_leaves_the_tensor(copy: Any) -> None:
    """NumPy has views where PyTorch copies: in a transform and a program as elsewhere."""

    def f(x: Any) -> Any:
        y = x * 1
        copy(y)[0] = 9.0
        return (y * y).sum()

    x = torch.tensor([1.0, 2.0, 3.0])
    for slope in (func.grad(f), tapegrad.compile(func.grad(f), backend="numpy")):
        for n in range(3):
            np.testing.assert_array_equal(slope(x + n).numpy(), 2 * (x + n).numpy())
    assert func.jvp(f, (x,), (torch.ones(3),))[1] == 12
    assert (func.vmap(f)(torch.stack([x, x])) == 14).all()


def test_views_within_nested_maps_are_written() -> None:
    """A tensor made inside gets room for all maps around it, before its views are written to."""

    def written(x: Any) -> Any:
        w = x.new_ones(2, 3)
        w[0].copy_(x)
        w.t()[2] = x[:2]
        w[:, 0].fill_(2.0)
        return w.sum(0) * x

    x = torch.arange(24.0, dtype=torch.float64).reshape(2, 4, 3)
    rows = [written(row) for row in x.reshape(8, 3)]
    mapped = torch.func.vmap(torch.func.vmap(written))(x)
    assert mapped.reshape(8, 3).tolist() == torch.stack(rows).tolist()


# Writes through one of two tensors over one memory: the value of each at [1, 2, 3], and the
# gradient, are PyTorch 2.13's.
def _through_detached(x: Any) -> Any:
    w = torch.ones(3)
    w.detach().mul_(x)
    return (w * x).sum()


def _through_data(x: Any) -> Any:
    w = torch.ones(3)
    w.data.mul_(x)
    return (w * x).sum()


def _read_detached(x: Any) -> Any:
    w = torch.ones(3)
    d = w.detach()
    w.mul_(x)
    return (d * x).sum()


def _of_what_is_traced(x: Any) -> Any:
    y = x * 2
    d = y.detach()
    y.mul_(x)
    return (d * x).sum()


def _into_what_is_traced(x: Any) -> Any:
    y = x.clone()
    y.detach().copy_(x * x)
    return (y * y).sum()


def _through_parts(x: Any) -> Any:
    w = torch.zeros(3)
    w.detach()[:2].copy_(x[:2])
    w[1:].detach()[1:].copy_(x[2:])
    return (w * x).sum()


def _part_of_what_is_traced(x: Any) -> Any:
    y = x.clone()
    whole = y.detach()
    y[:2].detach().mul_(x[1:])
    return (y * whole).sum()


def _between_detached(x: Any) -> Any:
    w = torch.ones(3)
    a, b = w.detach(), w.detach()
    del w
    a.mul_(x)
    return (b * x).sum()


def _parameter(x: Any) -> Any:
    w = torch.ones(3)
    p = torch.nn.Parameter(w, requires_grad=False)
    w.mul_(x)
    return (p * x).sum()


def _as_complex(x: Any) -> Any:
    w = torch.zeros(3, 2)
    torch.view_as_complex(w).real.copy_(x)
    return (w[:, 0] * x).sum()


def _as_real(x: Any) -> Any:
    w = torch.zeros(3, dtype=torch.complex64)
    torch.view_as_real(w)[:, 0] = x
    return (w.real * x).sum()


def _as_real_of_traced(x: Any) -> Any:
    w = x + 1j * x
    parts = torch.view_as_real(w)
    parts[:, 1] = x * x
    w.mul_(2)
    return (parts[:, 1] * x).sum()


def _diagonal(x: Any) -> Any:
    w = torch.zeros(3, 3)
    w.diagonal().copy_(x)
    return (w @ x).sum()


def _windows(x: Any) -> Any:
    w = torch.zeros(3)
    w.unfold(0, 2, 2).copy_(x[:2])
    return (w * x).sum()


def _strided(x: Any) -> Any:
    w = torch.zeros(3)
    w.as_strided((2,), (2,)).copy_(x[:2])
    return (w * x).sum()


@pytest.mark.parametrize(
    ("f", "value", "slope"),
    [
        (_through_detached, 14.0, [1.0, 2.0, 3.0]),
        (_through_data, 14.0, [1.0, 2.0, 3.0]),
        (_read_detached, 14.0, [1.0, 2.0, 3.0]),
        (_of_what_is_traced, 72.0, [2.0, 8.0, 18.0]),
        (_into_what_is_traced, 98.0, [2.0, 8.0, 18.0]),
        (_through_parts, 14.0, [1.0, 2.0, 3.0]),
        (_part_of_what_is_traced, 49.0, [2.0, 6.0, 3.0]),
        (_between_detached, 14.0, [1.0, 2.0, 3.0]),
        (_parameter, 14.0, [1.0, 2.0, 3.0]),
        (_as_complex, 14.0, [2.0, 4.0, 6.0]),
        (_as_real, 14.0, [2.0, 4.0, 6.0]),
        (_as_real_of_traced, 72.0, [6.0, 24.0, 54.0]),
        (_diagonal, 14.0, [2.0, 4.0, 6.0]),
        (_windows, 5.0, [2.0, 4.0, 0.0]),
        (_strided, 7.0, [2.0, 3.0, 2.0]),
    ],
)
def test_tensors_over_one_memory_show_each_others_writes(f: Any, value: float, slope: Any) -> None:
    x = torch.tensor([1.0, 2.0, 3.0])
    assert f(x.clone()) == value
    assert func.grad(f)(x).tolist() == slope
    out, dot = func.jvp(f, (x,), (torch.ones(3),))
    assert (out, dot) == (value, sum(slope))
    for compiled, expected in ((f, value), (func.grad(f), slope)):
        call = tapegrad.compile(compiled, backend="numpy")
        for _ in range(3):
            np.testing.assert_allclose(call(x).numpy(), expected)


def test_a_detached_tensor_from_outside_is_not_written_to_without_its_own() -> None:
    w = torch.ones(3)
    d = w.detach()
    x = torch.tensor([1.0, 2.0, 3.0])

    def f(x: Any) -> Any:
        d.mul_(x)
        return (w * x).sum()

    with pytest.raises(RuntimeError, match="others share its memory"):
        func.grad(f)(x)
    assert w.tolist() == [1.0, 1.0, 1.0]
    call = tapegrad.compile(f, backend="numpy")
    with warnings.catch_warnings():  # a reason may be told, or none
        warnings.simplefilter("ignore", tapegrad.EagerWarning)
        assert [float(call(x)) for _ in range(6)] == [14.0, 36.0, 98.0, 276.0, 794.0, 2316.0]
    assert w.tolist() == d.tolist() == [1.0, 64.0, 729.0]


@pytest.mark.parametrize(
    "write",
    [
        lambda w: w[1:].copy_(w[:2]),
        lambda w: w.__setitem__(slice(1, None), w[:2]),
        lambda w: w[1:].add_(w[:2]),
        lambda w: w.detach()[:2].copy_(w[1:]),
        lambda w: w[:1].expand(3).copy_(w + 1),
    ],
)
def test_overlapping_writes_are_refused_in_programs(write: Any) -> None:
    def f(x: Any) -> Any:
        w = x.clone()
        write(w)
        return (w * x).sum()

    x = torch.tensor([1.0, 2.0, 3.0])
    for call in (f, func.grad(f), lambda x: func.jvp(f, (x,), (x,)), tapegrad.compile(f)):
        with pytest.raises(RuntimeError, match=r"refers? to a single memory location"):
            call(x)


def test_data_of_a_value_of_a_vmap_is_refused() -> None:
    with pytest.raises(RuntimeError, match="accessing `data`"):
        func.vmap(lambda x: x.data)(torch.ones(2, 3))


def test_a_flat_view_of_a_cross_product_shares_its_memory_under_vmap() -> None:
    def f(x):
        made = torch.linalg.cross(x, 2 * x + 1)
        made.view(-1).mul_(3)
        return made

    x = torch.arange(18.0).view(2, 3, 3)
    assert torch.equal(func.vmap(f)(x), torch.stack([f(row) for row in x]))


# --- autograd.grad within transforms, and writes to what is differentiated -----------------------

POINT = [0.3, -0.7, 1.2]
WITHIN = {
    "sum": lambda x: (x**3).sum(),
    "twice": lambda x: (x * x.exp()).sum() * x[0],
    "view": lambda x: (x.reshape(3, 1) @ x[None]).sin().sum(),
    "in place": lambda x: (x * 1).mul_(x).index_add(0, torch.tensor([0]), x[:1]).exp().sum(),
    "complex": lambda x: (torch.complex(x, x**2) ** 3).abs().sum(),
    "branch": lambda x: torch.where(x > 0, x.clamp(min=1e-3).sqrt(), x**2).sum(),
}


AROUND = {
    "grad": lambda f: torch.func.grad(lambda x: (f(x) ** 2).sum()),
    "jacrev": torch.func.jacrev,
    "grad of grad": lambda f: torch.func.grad(
        lambda x: torch.func.grad(lambda y: (f(y) * x).sum())(x).sum()
    ),
    "grad of vmap": lambda f: torch.func.grad(
        lambda x: torch.func.vmap(torch.func.grad(lambda y: (f(y) * x).sum()))(
            torch.stack([x, 2 * x])
        ).sum()
    ),
}


@pytest.mark.parametrize("inner", WITHIN.values(), ids=WITHIN)
@pytest.mark.parametrize("around", AROUND.values(), ids=AROUND)
def test_autograd_grad_within_a_transform_is_a_transform(inner, around):
    def by_pass(x):
        return torch.autograd.grad(inner(x), x, create_graph=True)[0]

    for dtype in (torch.float32, torch.float64):
        x = torch.tensor(POINT, dtype=dtype)
        found, wanted = around(by_pass)(x), around(torch.func.grad(inner))(x)
        assert found.dtype == dtype
        assert torch.allclose(found, wanted, rtol=1e-4)


def test_inputs_and_outputs_of_autograd_grad_within_a_transform():
    w = torch.ones(3, requires_grad=True)
    plain = torch.ones(3)

    def slopes(x):
        z = 2 * x
        y = (z**3 * w).sum()
        by_x, by_z, none = torch.autograd.grad(y, [x, z, w], create_graph=True, allow_unused=True)
        assert none is None
        assert torch.autograd.grad(z, x, plain)[0].tolist() == [2.0, 2.0, 2.0]
        assert torch.autograd.grad(x, x, plain)[0].tolist() == [1.0, 1.0, 1.0]
        with pytest.raises(RuntimeError, match="appears to not have been used in the graph"):
            torch.autograd.grad(y, w)
        with pytest.raises(RuntimeError, match="does not require grad"):
            torch.autograd.grad(y, plain)
        with pytest.raises(RuntimeError, match="Mismatch in shape"):
            torch.autograd.grad(y, x, plain)
        with pytest.raises(RuntimeError, match="only for scalar outputs"):
            torch.autograd.grad(z, x)
        with pytest.raises(
            RuntimeError, match=r"backward\(\) called inside a functorch transform"
        ):
            y.backward()
        return (by_x * by_z).sum()

    x = torch.tensor(POINT)
    found = torch.func.grad(slopes)(x)
    assert torch.allclose(found, 1152 * x**3)
    found.sum().backward()
    assert w.grad is not None
    constant = torch.func.grad(lambda x: (torch.autograd.grad((x**2).sum(), x)[0] * x).sum())
    assert torch.allclose(constant(x), 2 * x)
    with pytest.raises(RuntimeError, match="pass create_graph=True"):
        torch.func.grad(lambda x: constant(x).sum())(x)


@pytest.mark.parametrize(
    "write",
    [
        lambda x: x.mul_(2),
        lambda x: x.zero_(),
        lambda x: x.__setitem__(0, 5.0),
        lambda x: x[:2].add_(1),
        lambda x: x.copy_(torch.ones(3)),
        lambda x: x.view(3).sin_(),
    ],
)
def test_the_argument_of_a_reverse_transform_is_not_written_to(write):
    def squares(x):
        write(x)
        return (x**2).sum()

    x = torch.tensor(POINT)
    for transform in (
        torch.func.grad(squares),
        torch.func.jacrev(squares),
        torch.func.hessian(squares),
        lambda x: torch.func.vjp(squares, x),
        torch.func.grad(lambda x: torch.func.grad(squares)(x).sum()),
    ):
        with pytest.raises(RuntimeError, match="leaf Variable that requires grad is being used"):
            transform(x)
    assert x.tolist() == torch.tensor(POINT).tolist()
    copied = torch.func.grad(lambda x: squares(x.clone()))(x)
    assert copied.shape == x.shape
    assert torch.func.jvp(squares, (x,), (x,))[1].shape == ()


@pytest.mark.parametrize("place", ["captured", "own"])
def test_a_differentiated_value_is_not_written_by_out(place):
    x = torch.ones(3)

    def f(a):
        out = x.clone() if place == "captured" else torch.empty_like(a)
        return torch.mul(a, 2, out=out).sum()

    for call in (torch.func.grad(f), torch.func.grad(torch.func.grad(f)), torch.func.jacrev(f)):
        with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
            call(x)
    with pytest.raises(NotImplementedError, match="it is an out= function"):
        torch.func.jvp(f, (x,), (x,))
    written = torch.zeros(3)
    torch.func.grad(lambda a: (torch.mul(x, 2, out=written) * a).sum())(x)
    assert written.tolist() == [2.0, 2.0, 2.0]
