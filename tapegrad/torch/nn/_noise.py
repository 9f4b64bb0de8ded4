"""Dropout, which draws random numbers while a model is trained.

Knows the generator by the operations that use it. Must not know modules.
"""

from __future__ import annotations

from typing import Any

from tapegrad.torch._ops.declare import OPERATIONS
from tapegrad.torch._tensor.tensor import Tensor


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Each element 0 with probability p, else divided by 1 - p; the input if not training."""
    if not 0 <= p <= 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if not training or p == 0:
        return input
    kept = OPERATIONS["rand_like"](input.detach()) >= p
    scale = kept.to(input.dtype) / (1 - p) if p < 1 else kept.to(input.dtype) * 0
    return input.mul_(scale) if inplace else input * scale
