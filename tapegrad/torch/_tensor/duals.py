"""Splits dual tensors into primal and tangent.

Knows tensors. Must not know levels, which `autograd.forward_ad` enters and exits.
"""

from __future__ import annotations

from typing import NamedTuple

from tapegrad.torch._graph.dual import is_dual
from tapegrad.torch._tensor.tensor import (
    Tensor,
    of_array,
    of_value,
    plain_of,
    settled,
    tangent_on_graph,
)


class UnpackedDualTensor(NamedTuple):
    """The result of `unpack_dual`."""

    primal: Tensor
    tangent: Tensor | None


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """`(primal, tangent)`: the tensor without its tangent, and the tangent or None."""
    settled(tensor)
    value = tensor._value
    if not is_dual(value):
        return UnpackedDualTensor(tensor, None)
    primal = of_value(value._value, tensor.node)
    dot = tangent_on_graph(tensor)
    if dot is None:
        return UnpackedDualTensor(primal, None)
    tangent = of_array(dot)
    return UnpackedDualTensor(primal, of_value(plain_of(tangent), tangent.node))


__all__ = ["UnpackedDualTensor", "unpack_dual"]
