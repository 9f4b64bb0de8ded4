"""`torch.nn.modules.upsampling`: upsampling, under the name of PyTorch's file."""

from __future__ import annotations

from tapegrad.torch.nn.upsampling.modules import (
    Upsample,
    UpsamplingBilinear2d,
    UpsamplingNearest2d,
)

__all__ = ["Upsample", "UpsamplingBilinear2d", "UpsamplingNearest2d"]
