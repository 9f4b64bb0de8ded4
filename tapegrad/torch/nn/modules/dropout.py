"""`torch.nn.modules.dropout`: dropouts, under the name of PyTorch's file."""

from __future__ import annotations

from tapegrad.torch.nn.dropout.modules import (
    AlphaDropout,
    Dropout,
    Dropout1d,
    Dropout2d,
    Dropout3d,
    FeatureAlphaDropout,
)

__all__ = ["AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout"]
