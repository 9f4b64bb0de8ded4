"""Dropout of channels, and dropout that keeps the moments, as modules.

Knows `Module` and the functions of `nn.functional`. Must not know how these are computed.
"""

from __future__ import annotations

from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch.nn import functional
from tapegrad.torch.nn._module import Module


class _Dropping(Module):
    """Something that is dropped with probability p; ValueError unless p lies in [0, 1]."""

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if p < 0 or p > 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p = p
        self.inplace = inplace

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


class Dropout1d(_Dropping):
    """`nn.functional.dropout1d` while training: whole channels of (n, channels, length)."""

    def forward(self, input: Tensor) -> Tensor:
        return functional.dropout1d(input, self.p, self.training, self.inplace)


class Dropout2d(_Dropping):
    """`nn.functional.dropout2d` while training: whole channels of images."""

    def forward(self, input: Tensor) -> Tensor:
        return functional.dropout2d(input, self.p, self.training, self.inplace)


class Dropout3d(_Dropping):
    """`nn.functional.dropout3d` while training: whole channels of volumes."""

    def forward(self, input: Tensor) -> Tensor:
        return functional.dropout3d(input, self.p, self.training, self.inplace)


class AlphaDropout(_Dropping):
    """`nn.functional.alpha_dropout` while training: it keeps mean 0 and variance 1."""

    def forward(self, input: Tensor) -> Tensor:
        return functional.alpha_dropout(input, self.p, self.training)


class FeatureAlphaDropout(_Dropping):
    """`nn.functional.feature_alpha_dropout` while training: `AlphaDropout` of whole channels."""

    def forward(self, input: Tensor) -> Tensor:
        return functional.feature_alpha_dropout(input, self.p, self.training)
