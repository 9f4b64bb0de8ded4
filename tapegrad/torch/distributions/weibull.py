"""`torch.distributions.weibull`, under the name of PyTorch's file."""

from __future__ import annotations

from tapegrad.torch.distributions._powers import Weibull

__all__ = ["Weibull"]
