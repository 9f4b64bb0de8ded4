"""`torch.distributions.categorical`, under the name of PyTorch's file."""

from __future__ import annotations

from tapegrad.torch.distributions._discrete import Categorical

__all__ = ["Categorical"]
