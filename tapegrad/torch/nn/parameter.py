"""`torch.nn.parameter`: parameters and buffers."""

from __future__ import annotations

from tapegrad.torch.nn._parameter import Buffer, Parameter
from tapegrad.torch.nn._uninitialized import (
    UninitializedBuffer,
    UninitializedParameter,
    UninitializedTensorMixin,
    is_lazy,
)

__all__ = [
    "Buffer",
    "Parameter",
    "UninitializedBuffer",
    "UninitializedParameter",
    "UninitializedTensorMixin",
    "is_lazy",
]
