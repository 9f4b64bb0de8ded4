"""`torch.nn.modules.batchnorm`: batch norms, and the base that programs look for them by."""

from __future__ import annotations

from tapegrad.torch.nn.normalization.modules import (
    BatchNorm1d,
    BatchNorm2d,
    BatchNorm3d,
    _BatchNorm,
)
from tapegrad.torch.nn.normalization.sync import SyncBatchNorm

__all__ = ["BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "SyncBatchNorm", "_BatchNorm"]
