"""`torch.distributions.gamma`, under the name of PyTorch's file."""

from __future__ import annotations

from tapegrad.torch.distributions._gammas import Gamma

__all__ = ["Gamma"]
