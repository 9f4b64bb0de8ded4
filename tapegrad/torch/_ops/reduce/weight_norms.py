"""Norms along all dimensions but one, and weights that have given norms.

Knows tensors. Must not know modules.
"""

from __future__ import annotations

from typing import Any

from tapegrad.torch._dims import wrapped
from tapegrad.torch._ops.declare import register
from tapegrad.torch._tensor.tensor import Tensor


@register(method=False)
def norm_except_dim(v: Tensor, pow: float = 2, dim: int = 0) -> Any:
    """The norms along all dimensions but `dim`, which stay as 1; of everything where it is -1.

    v: The tensor.
    pow: The order of the norm.
    dim: The dimension that stays; -1 for none.
    -> Tensor: The norms.

    >>> torch.norm_except_dim(torch.tensor([[3.0, 4.0], [6.0, 8.0]]))
    tensor([[ 5.],
            [10.]])
    """
    if dim == -1:
        return v.norm(pow)
    place = wrapped(dim, v.dim())
    others = tuple(axis for axis in range(v.dim()) if axis != place)
    return v.norm(pow, others, keepdim=True) if others else v.abs()


@register("_weight_norm", method=False)
def weight_of(v: Tensor, g: Tensor, dim: int = 0) -> Any:
    """The vectors along all dimensions but `dim` in the direction of those of v, of length g."""
    return v * (g / norm_except_dim(v, 2, dim))


__all__ = ["norm_except_dim", "weight_of"]
