"""`torch.distributions.dirichlet`, under the name of PyTorch's file."""

from __future__ import annotations

from tapegrad.torch.distributions._gammas import Dirichlet

__all__ = ["Dirichlet"]
