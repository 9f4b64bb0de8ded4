"""`torch.nn.modules.distance`: distances, under the name of PyTorch's file."""

from __future__ import annotations

from tapegrad.torch.nn._geometry_layers import PairwiseDistance
from tapegrad.torch.nn._layers import CosineSimilarity

__all__ = ["CosineSimilarity", "PairwiseDistance"]
