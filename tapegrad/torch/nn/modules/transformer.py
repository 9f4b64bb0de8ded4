"""`torch.nn.modules.transformer`: transformers, under the name of PyTorch's file."""

from __future__ import annotations

from tapegrad.torch.nn.attention.transformers import (
    Transformer,
    TransformerDecoder,
    TransformerDecoderLayer,
    TransformerEncoder,
    TransformerEncoderLayer,
)

__all__ = [
    "Transformer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
]
