"""`torch.nn.modules.fold`: sliding blocks, under the name of PyTorch's file."""

from __future__ import annotations

from tapegrad.torch.nn._convolution_layers import Fold, Unfold

__all__ = ["Fold", "Unfold"]
