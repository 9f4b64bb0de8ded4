"""`torch.distributions.continuous_bernoulli`, under the name of PyTorch's file."""

from __future__ import annotations

from tapegrad.torch.distributions._circle import ContinuousBernoulli

__all__ = ["ContinuousBernoulli"]
