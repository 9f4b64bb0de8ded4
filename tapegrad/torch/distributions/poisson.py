"""`torch.distributions.poisson`, under the name of PyTorch's file."""

from __future__ import annotations

from tapegrad.torch.distributions._discrete import Poisson

__all__ = ["Poisson"]
