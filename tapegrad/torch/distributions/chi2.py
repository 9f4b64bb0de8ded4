"""`torch.distributions.chi2`, under the name of PyTorch's file."""

from __future__ import annotations

from tapegrad.torch.distributions._gammas import Chi2

__all__ = ["Chi2"]
