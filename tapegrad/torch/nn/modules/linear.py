"""`torch.nn.modules.linear`: linear layers, under the name of PyTorch's file."""

from __future__ import annotations

from tapegrad.torch.nn._geometry_layers import Bilinear
from tapegrad.torch.nn._layers import Identity, Linear
from tapegrad.torch.nn._lazy_layers import LazyLinear

__all__ = ["Bilinear", "Identity", "LazyLinear", "Linear"]
