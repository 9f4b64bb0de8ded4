"""`torch.nn.grad`: the gradients of convolutions, as functions.

Knows that they are the transposes of linear maps. Must not know how convolutions are computed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch.nn.convolution.functions import gradient_of_input, gradient_of_weight

Settings = int | tuple[int, ...]

_DOCUMENT = """\
The gradient of `torch.nn.functional.conv{dims}d` by its {of}.

{entries}
grad_output: The gradient of the result, of its shape.
stride (int or tuple of ints): As of the convolution.
padding (int or tuple of ints): As of the convolution.
dilation (int or tuple of ints): As of the convolution.
groups: The number of blocks of channels.
-> Tensor: The gradient, which can be differentiated by both tensors.
RuntimeError: For shapes that do not fit.

>>> torch.nn.grad.conv{dims}d_{of}({first}, {second}, torch.ones({sides})).shape
torch.Size([{shape}])
"""
_SIZE = "{of}_size (sequence of ints): The shape of the {of}."
_TENSOR = "{of}: The {of} of the convolution."


def _of_input(dims: int) -> Callable[..., Tensor]:
    def conv_input(
        input_size: Any,
        weight: Tensor,
        grad_output: Tensor,
        stride: Settings = 1,
        padding: Settings = 0,
        dilation: Settings = 1,
        groups: int = 1,
    ) -> Tensor:
        settings = stride, padding, dilation, groups
        return gradient_of_input(weight, grad_output, tuple(input_size), settings, dims)

    return _named(conv_input, dims, "input")


def _of_weight(dims: int) -> Callable[..., Tensor]:
    def conv_weight(
        input: Tensor,
        weight_size: Any,
        grad_output: Tensor,
        stride: Settings = 1,
        padding: Settings = 0,
        dilation: Settings = 1,
        groups: int = 1,
    ) -> Tensor:
        settings = stride, padding, dilation, groups
        return gradient_of_weight(input, grad_output, tuple(weight_size), settings, dims)

    return _named(conv_weight, dims, "weight")


def _named(call: Callable[..., Tensor], dims: int, of: str) -> Callable[..., Tensor]:
    """A function with its name, and its docstring: it takes the size of `of` for that."""
    call.__name__ = call.__qualname__ = f"conv{dims}d_{of}"
    sides = {"input": f"1, 1{', 3' * dims}", "weight": f"1, 1{', 1' * dims}"}
    first, second = (f"({s})" if name == of else f"torch.ones({s})" for name, s in sides.items())
    entries = ((_SIZE if name == of else _TENSOR).format(of=name) for name in sides)
    words = {"entries": "\n".join(entries), "first": first, "second": second}
    call.__doc__ = _DOCUMENT.format(
        dims=dims, of=of, sides=sides["input"], shape=sides[of], **words
    )
    return call


conv1d_input, conv2d_input, conv3d_input = map(_of_input, (1, 2, 3))
conv1d_weight, conv2d_weight, conv3d_weight = map(_of_weight, (1, 2, 3))

__all__ = [
    "conv1d_input",
    "conv1d_weight",
    "conv2d_input",
    "conv2d_weight",
    "conv3d_input",
    "conv3d_weight",
]
