"""`torch.nn.modules.distance`: distances, under the name of PyTorch's file."""

from __future__ import annotations

from tapegrad.torch.nn.distance.modules import CosineSimilarity, PairwiseDistance

__all__ = ["CosineSimilarity", "PairwiseDistance"]
