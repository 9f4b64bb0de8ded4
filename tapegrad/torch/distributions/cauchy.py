"""`torch.distributions.cauchy`, under the name of PyTorch's file."""

from __future__ import annotations

from tapegrad.torch.distributions._location import Cauchy

__all__ = ["Cauchy"]
