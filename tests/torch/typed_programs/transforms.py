"""torch.func: gradients, maps and Jacobians of functions; a module as a function."""

from typing import assert_type

import tapegrad.torch as torch
from tapegrad.torch import Tensor, nn
from tapegrad.torch.func import functional_call, grad, hessian, jacrev, jvp, vjp, vmap


def energy(x: Tensor) -> Tensor:
    return (x**2).sum()


x = torch.randn(3)
gradient: Tensor = grad(energy)(x)
by_lambda: Tensor = grad(lambda x: (x**2).sum())(x)
curvature: Tensor = hessian(energy)(x)
rows: Tensor = jacrev(torch.sin)(x)
assert_type(vmap(energy)(torch.randn(4, 3)), Tensor)
assert_type(torch.vmap(energy)(torch.randn(4, 3)), Tensor)
out, tangent = jvp(energy, (x,), (torch.ones(3),))
value, pullback = vjp(energy, x)

model = nn.Linear(3, 1)
parameters = dict(model.named_parameters())
assert_type(parameters, dict[str, nn.Parameter])


def loss(weights: dict[str, Tensor], x: Tensor) -> Tensor:
    result: Tensor = functional_call(model, weights, (x,))
    return result.sum()


detached = {name: p.detach() for name, p in parameters.items()}
gradients: dict[str, Tensor] = grad(loss)(detached, x)
each: dict[str, Tensor] = vmap(grad(loss), in_dims=(None, 0))(detached, torch.randn(4, 3))
whole: Tensor = jacrev(model)(x)
