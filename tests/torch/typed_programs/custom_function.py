"""A custom autograd.Function, checked by gradcheck, and gradients asked for by hand."""

from typing import assert_type

import tapegrad.torch as torch
from tapegrad.torch import Tensor
from tapegrad.torch.autograd import Function
from tapegrad.torch.autograd.function import FunctionCtx


class Cube(Function):
    """x**3, with its derivative."""

    @staticmethod
    def forward(ctx: FunctionCtx, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx: FunctionCtx, grad_output: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return grad_output * 3 * x**2


def cube(x: Tensor) -> Tensor:
    made: Tensor = Cube.apply(x)
    return made


x = torch.tensor([1.0, 2.0], dtype=torch.double, requires_grad=True)
assert_type(torch.autograd.gradcheck(cube, (x,)), bool)
(first,) = torch.autograd.grad(cube(x).sum(), x, create_graph=True)
assert_type(first, Tensor)
(second,) = torch.autograd.grad(first.sum(), [x])
assert_type(second, Tensor)
with torch.autograd.set_detect_anomaly(True):
    cube(x).sum().backward()
with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
    y = cube(x)
node = y.grad_fn
assert node is not None
assert_type(node.name(), str)
