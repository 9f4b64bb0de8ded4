"""`torch.nn.modules.pixelshuffle`: shuffled pixels, under the name of PyTorch's file."""

from __future__ import annotations

from tapegrad.torch.nn.upsampling.modules import PixelShuffle, PixelUnshuffle

__all__ = ["PixelShuffle", "PixelUnshuffle"]
