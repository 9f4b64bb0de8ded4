"""`torch.distributions.binomial`, under the name of PyTorch's file."""

from __future__ import annotations

from tapegrad.torch.distributions._discrete import Binomial

__all__ = ["Binomial"]
