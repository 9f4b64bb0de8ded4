"""`torch.nn.parameter`: parameters and buffers."""

from __future__ import annotations

from tapegrad.torch.nn._parameter import Buffer, Parameter
from tapegrad.torch.nn._uninitialized import (
    UninitializedBuffer,
    UninitializedParameter,
    UninitializedTensorMixin,
    is_lazy,
)

# PyTorch's name of the module, which error messages and pickles have.
for _kind in (
    Buffer,
    Parameter,
    UninitializedBuffer,
    UninitializedParameter,
    UninitializedTensorMixin,
):
    _kind.__module__ = __name__

__all__ = [
    "Buffer",
    "Parameter",
    "UninitializedBuffer",
    "UninitializedParameter",
    "UninitializedTensorMixin",
    "is_lazy",
]
