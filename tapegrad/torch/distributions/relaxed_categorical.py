"""`torch.distributions.relaxed_categorical`, under the name of PyTorch's file."""

from __future__ import annotations

from tapegrad.torch.distributions._relaxed import ExpRelaxedCategorical, RelaxedOneHotCategorical

__all__ = ["ExpRelaxedCategorical", "RelaxedOneHotCategorical"]
