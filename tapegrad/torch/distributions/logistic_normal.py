"""`torch.distributions.logistic_normal`, under the name of PyTorch's file."""

from __future__ import annotations

from tapegrad.torch.distributions._relaxed import LogisticNormal

__all__ = ["LogisticNormal"]
