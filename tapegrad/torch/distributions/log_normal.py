"""`torch.distributions.log_normal`, under the name of PyTorch's file."""

from __future__ import annotations

from tapegrad.torch.distributions._wrapped import LogNormal

__all__ = ["LogNormal"]
