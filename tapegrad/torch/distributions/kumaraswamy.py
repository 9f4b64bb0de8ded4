"""`torch.distributions.kumaraswamy`, under the name of PyTorch's file."""

from __future__ import annotations

from tapegrad.torch.distributions._powers import Kumaraswamy

__all__ = ["Kumaraswamy"]
