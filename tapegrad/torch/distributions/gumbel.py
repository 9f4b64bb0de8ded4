"""`torch.distributions.gumbel`, under the name of PyTorch's file."""

from __future__ import annotations

from tapegrad.torch.distributions._location import Gumbel

__all__ = ["Gumbel"]
