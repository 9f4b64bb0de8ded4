"""`torch.distributions.independent`, under the name of PyTorch's file."""

from __future__ import annotations

from tapegrad.torch.distributions._wrapped import Independent

__all__ = ["Independent"]
