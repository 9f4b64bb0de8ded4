"""`torch.distributions.geometric`, under the name of PyTorch's file."""

from __future__ import annotations

from tapegrad.torch.distributions._discrete import Geometric

__all__ = ["Geometric"]
