"""`torch.distributions.multivariate_normal`, under the name of PyTorch's file."""

from __future__ import annotations

from tapegrad.torch.distributions._vectors import MultivariateNormal

__all__ = ["MultivariateNormal"]
