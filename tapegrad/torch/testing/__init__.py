"""`torch.testing`: comparisons that say where values differ, and tensors drawn at random."""

from __future__ import annotations

from tapegrad.torch.testing._comparison import assert_close
from tapegrad.torch.testing._making import make_tensor

__all__ = ["assert_close", "make_tensor"]


def __dir__() -> list[str]:
    return __all__
