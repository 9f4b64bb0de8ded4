"""`torch.distributions.uniform`, under the name of PyTorch's file."""

from __future__ import annotations

from tapegrad.torch.distributions._location import Uniform

__all__ = ["Uniform"]
