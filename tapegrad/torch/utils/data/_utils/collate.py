"""`torch.utils.data._utils.collate`: batches of examples, under the name of PyTorch's file."""

from __future__ import annotations

from tapegrad.torch.utils.data._collate import default_collate, default_convert

__all__ = ["default_collate", "default_convert"]
