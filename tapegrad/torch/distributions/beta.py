"""`torch.distributions.beta`, under the name of PyTorch's file."""

from __future__ import annotations

from tapegrad.torch.distributions._gammas import Beta

__all__ = ["Beta"]
