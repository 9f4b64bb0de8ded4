"""`torch.distributions.lowrank_multivariate_normal`, under the name of PyTorch's file."""

from __future__ import annotations

from tapegrad.torch.distributions._low_rank import LowRankMultivariateNormal

__all__ = ["LowRankMultivariateNormal"]
