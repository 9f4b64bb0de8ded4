"""`torch.nn.modules.upsampling`: upsampling, under the name of PyTorch's file."""

from __future__ import annotations

from tapegrad.torch.nn._geometry_layers import Upsample, UpsamplingBilinear2d, UpsamplingNearest2d

__all__ = ["Upsample", "UpsamplingBilinear2d", "UpsamplingNearest2d"]
