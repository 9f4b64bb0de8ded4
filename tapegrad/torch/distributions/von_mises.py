"""`torch.distributions.von_mises`, under the name of PyTorch's file."""

from __future__ import annotations

from tapegrad.torch.distributions._circle import VonMises

__all__ = ["VonMises"]
