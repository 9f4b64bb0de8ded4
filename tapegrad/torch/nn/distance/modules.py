"""Distances as modules.

Knows `Module` and the functions. Must not know how these are computed.
"""

from __future__ import annotations

from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch.nn import functional
from tapegrad.torch.nn.module.layers import layer
from tapegrad.torch.nn.module.module import Module


@layer("cosine_similarity")
class CosineSimilarity(Module):
    """The cosines of the angles between vectors along a dimension."""


class PairwiseDistance(Module):
    """The norms of differences along the last dimension.

    eps: Added to each difference, so that the norm has a derivative.
    """

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm = p
        self.eps = eps
        self.keepdim = keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return functional.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)


__all__ = ["CosineSimilarity", "PairwiseDistance"]
