"""Dropouts as modules.

Knows `Module` and the functions. Must not know how these are computed.
"""

from __future__ import annotations

from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch.nn import functional
from tapegrad.torch.nn.module.layers import layer
from tapegrad.torch.nn.module.module import Module


class _DropoutNd(Module):
    """Something that is set to 0 with probability p while training.

    p: The probability of being dropped; the others are divided by 1 - p.
    inplace: Write into the argument.
    ValueError: For a `p` outside of 0 and 1.
    """

    _in_repr = "p inplace"

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if p < 0 or p > 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p = p
        self.inplace = inplace


@layer("dropout")
class Dropout(_DropoutNd):
    """Elements set to 0 at random while training, with the others scaled.

    p: The probability of each; the others are divided by 1 - p.

    >>> layer = torch.nn.Dropout(0.5).eval()
    >>> layer(torch.tensor([1.0, 2.0]))
    tensor([1., 2.])
    """


@layer("dropout1d")
class Dropout1d(_DropoutNd):
    """Whole channels of signals set to 0 at random while training."""


@layer("dropout2d")
class Dropout2d(_DropoutNd):
    """Whole channels of images set to 0 at random while training."""


@layer("dropout3d")
class Dropout3d(_DropoutNd):
    """Whole channels of volumes set to 0 at random while training."""


class AlphaDropout(_DropoutNd):
    """Dropout while training that keeps mean 0 and variance 1, for networks with selu.

    p: The probability of being dropped.
    inplace: Without effect.

    >>> torch.nn.AlphaDropout()(torch.ones(2, 3)).shape
    torch.Size([2, 3])
    """

    def forward(self, input: Tensor) -> Tensor:
        return functional.alpha_dropout(input, self.p, self.training)


class FeatureAlphaDropout(_DropoutNd):
    """As `AlphaDropout`, of whole channels.

    p: The probability of being dropped.
    inplace: Without effect.

    >>> torch.nn.FeatureAlphaDropout()(torch.ones(2, 3, 4)).shape
    torch.Size([2, 3, 4])
    """

    def forward(self, input: Tensor) -> Tensor:
        return functional.feature_alpha_dropout(input, self.p, self.training)


__all__ = ["AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout"]
