"""`torch.distributions.exponential`, under the name of PyTorch's file."""

from __future__ import annotations

from tapegrad.torch.distributions._location import Exponential

__all__ = ["Exponential"]
