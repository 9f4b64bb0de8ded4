"""`torch.utils.data._utils`, which programs import `collate` from."""

from __future__ import annotations

from tapegrad.torch.utils.data._utils import collate

__all__ = ["collate"]
