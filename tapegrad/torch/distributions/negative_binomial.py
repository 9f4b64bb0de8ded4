"""`torch.distributions.negative_binomial`, under the name of PyTorch's file."""

from __future__ import annotations

from tapegrad.torch.distributions._mixture import NegativeBinomial

__all__ = ["NegativeBinomial"]
