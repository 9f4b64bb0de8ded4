"""`torch.nn.modules.normalization`: norms, under the name of PyTorch's file."""

from __future__ import annotations

from tapegrad.torch.nn.normalization.modules import (
    CrossMapLRN2d,
    GroupNorm,
    LayerNorm,
    LocalResponseNorm,
    RMSNorm,
)

__all__ = ["CrossMapLRN2d", "GroupNorm", "LayerNorm", "LocalResponseNorm", "RMSNorm"]
