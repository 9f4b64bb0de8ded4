"""`torch.distributions.pareto`, under the name of PyTorch's file."""

from __future__ import annotations

from tapegrad.torch.distributions._powers import Pareto

__all__ = ["Pareto"]
