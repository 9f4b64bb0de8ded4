"""`torch.distributions.fishersnedecor`, under the name of PyTorch's file."""

from __future__ import annotations

from tapegrad.torch.distributions._powers import FisherSnedecor

__all__ = ["FisherSnedecor"]
