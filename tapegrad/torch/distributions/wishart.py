"""`torch.distributions.wishart`, under the name of PyTorch's file."""

from __future__ import annotations

from tapegrad.torch.distributions._matrices import Wishart

__all__ = ["Wishart"]
