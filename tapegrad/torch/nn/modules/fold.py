"""`torch.nn.modules.fold`: sliding blocks, under the name of PyTorch's file."""

from __future__ import annotations

from tapegrad.torch.nn.convolution.modules import Fold, Unfold

__all__ = ["Fold", "Unfold"]
