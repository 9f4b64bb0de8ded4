"""`torch.distributions.transformed_distribution`, under the name of PyTorch's file."""

from __future__ import annotations

from tapegrad.torch.distributions._wrapped import TransformedDistribution

__all__ = ["TransformedDistribution"]
