"""`torch.distributions.inverse_gamma`, under the name of PyTorch's file."""

from __future__ import annotations

from tapegrad.torch.distributions._powers import InverseGamma

__all__ = ["InverseGamma"]
