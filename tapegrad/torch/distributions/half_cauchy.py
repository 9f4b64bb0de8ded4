"""`torch.distributions.half_cauchy`, under the name of PyTorch's file."""

from __future__ import annotations

from tapegrad.torch.distributions._location import HalfCauchy

__all__ = ["HalfCauchy"]
