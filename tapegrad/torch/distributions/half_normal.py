"""`torch.distributions.half_normal`, under the name of PyTorch's file."""

from __future__ import annotations

from tapegrad.torch.distributions._location import HalfNormal

__all__ = ["HalfNormal"]
