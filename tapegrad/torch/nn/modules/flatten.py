"""`torch.nn.modules.flatten`: modules that change shapes, under the name of PyTorch's file."""

from __future__ import annotations

from tapegrad.torch.nn._geometry_layers import Unflatten
from tapegrad.torch.nn._layers import Flatten

__all__ = ["Flatten", "Unflatten"]
