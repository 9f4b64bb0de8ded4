"""`torch.nn.parallel`: a model on several devices, of which there is one here.

Knows modules. Must not know devices.
"""

from __future__ import annotations

from tapegrad.torch.nn.parallel.data_parallel import DataParallel, data_parallel

__all__ = ["DataParallel", "data_parallel"]


def __dir__() -> list[str]:
    return __all__
