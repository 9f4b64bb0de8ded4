"""`torch.distributions.relaxed_bernoulli`, under the name of PyTorch's file."""

from __future__ import annotations

from tapegrad.torch.distributions._relaxed import LogitRelaxedBernoulli, RelaxedBernoulli

__all__ = ["LogitRelaxedBernoulli", "RelaxedBernoulli"]
