"""`torch.nn.modules.flatten`: modules that change shapes, under the name of PyTorch's file."""

from __future__ import annotations

from tapegrad.torch.nn.linear.modules import Flatten, Unflatten

__all__ = ["Flatten", "Unflatten"]
