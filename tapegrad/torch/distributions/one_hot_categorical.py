"""`torch.distributions.one_hot_categorical`, under the name of PyTorch's file."""

from __future__ import annotations

from tapegrad.torch.distributions._discrete import OneHotCategorical
from tapegrad.torch.distributions._relaxed import OneHotCategoricalStraightThrough

__all__ = ["OneHotCategorical", "OneHotCategoricalStraightThrough"]
