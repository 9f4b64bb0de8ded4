"""`torch.nn.modules.linear`: linear layers, under the name of PyTorch's file."""

from __future__ import annotations

from tapegrad.torch.nn.linear.modules import Bilinear, Identity, LazyLinear, Linear

__all__ = ["Bilinear", "Identity", "LazyLinear", "Linear"]
