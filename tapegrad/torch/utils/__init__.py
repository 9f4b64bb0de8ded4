"""`torch.utils`: loading data, and segments of a model that are computed anew.

Knows which modules there are.
"""

from __future__ import annotations

from tapegrad.torch.utils import checkpoint, data
from tapegrad.torch.utils._swapping import swap_tensors

__all__ = ["checkpoint", "data", "swap_tensors"]


def __dir__() -> list[str]:
    return __all__
