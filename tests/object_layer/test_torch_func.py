"""torch.func: grad, vjp, jvp, jacrev, jacfwd, hessian, linearize, vmap; as PyTorch's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from transcripts import Log, compare

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
    b.mul_(y[1])
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
# What PyTorch cannot do (in-place writes of batched values into plain ones, mostly).
UNABLE_WRITES = {"new"}


def vjp_at(T: Any, f: Any, x: Any) -> Any:
    out, pullback = T.func.vjp(f, x)
    return out, pullback(weights(T, out)), pullback(weights(T, out) * 2)


def linearized(T: Any, f: Any, x: Any) -> Any:
    out, pushforward = T.func.linearize(f, x)
    return out, pushforward(weights(T, x)), pushforward(weights(T, x) * 2)


@pytest.mark.peers
@pytest.mark.parametrize("name", ONE)
@pytest.mark.parametrize("transform", TRANSFORMS)
def test_transforms(transform: str, name: str) -> None:
    def run(T: Any, log: Log) -> None:
        x = numbers(T, 3)
        log(TRANSFORMS[transform](T, lambda x: ONE[name](T, x), x))

    compare(run)
