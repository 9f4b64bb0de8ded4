"""Parameters as one vector, and back. Knows tensors alone."""

from __future__ import annotations

from collections.abc import Iterable

from tapegrad.torch._ops.families import OPERATIONS
from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch.nn.module.attributes import type_name


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """The elements of all parameters, one after another.

    parameters (iterable of Tensor): The parameters.
    -> Tensor: Of one dimension.

    >>> torch.nn.utils.parameters_to_vector([torch.ones(1), torch.zeros(1, 2)])
    tensor([1., 0., 0.])
    """
    return OPERATIONS["cat"]([parameter.view(-1) for parameter in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Let parameters share the memory of a vector, one after another.

    vec: The vector.
    parameters (iterable of Tensor): The parameters.
    TypeError: For a `vec` that is no tensor.

    >>> w = torch.ones(2, 1)
    >>> torch.nn.utils.vector_to_parameters(torch.tensor([3.0, 4.0]), [w])
    >>> w
    tensor([[3.],
            [4.]])
    """
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {type_name(vec)}")
    start = 0
    for parameter in parameters:
        end = start + parameter.numel()
        parameter.data = vec[start:end].view_as(parameter).data
        start = end


__all__ = ["parameters_to_vector", "vector_to_parameters"]
