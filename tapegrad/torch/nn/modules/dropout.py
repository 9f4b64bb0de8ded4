"""`torch.nn.modules.dropout`: dropouts, under the name of PyTorch's file."""

from __future__ import annotations

from tapegrad.torch.nn._layers import Dropout
from tapegrad.torch.nn._noise_layers import (
    AlphaDropout,
    Dropout1d,
    Dropout2d,
    Dropout3d,
    FeatureAlphaDropout,
)

__all__ = ["AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout"]
