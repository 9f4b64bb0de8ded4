"""`torch.distributions.bernoulli`, under the name of PyTorch's file."""

from __future__ import annotations

from tapegrad.torch.distributions._discrete import Bernoulli

__all__ = ["Bernoulli"]
