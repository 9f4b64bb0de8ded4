"""`torch.distributions.multinomial`, under the name of PyTorch's file."""

from __future__ import annotations

from tapegrad.torch.distributions._discrete import Multinomial

__all__ = ["Multinomial"]
