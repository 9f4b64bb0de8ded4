"""`torch.nn.modules.normalization`: norms, under the name of PyTorch's file."""

from __future__ import annotations

from tapegrad.torch.nn._norm_layers import GroupNorm, LayerNorm, LocalResponseNorm, RMSNorm
from tapegrad.torch.nn._older import CrossMapLRN2d

__all__ = ["CrossMapLRN2d", "GroupNorm", "LayerNorm", "LocalResponseNorm", "RMSNorm"]
