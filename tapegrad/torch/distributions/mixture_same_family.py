"""`torch.distributions.mixture_same_family`, under the name of PyTorch's file."""

from __future__ import annotations

from tapegrad.torch.distributions._mixture import MixtureSameFamily

__all__ = ["MixtureSameFamily"]
