"""`torch.distributions.laplace`, under the name of PyTorch's file."""

from __future__ import annotations

from tapegrad.torch.distributions._location import Laplace

__all__ = ["Laplace"]
