"""`torch.utils.data.dataloader`: the loader, under the name of PyTorch's file."""

from __future__ import annotations

from tapegrad.torch.utils.data._collate import default_collate, default_convert
from tapegrad.torch.utils.data._loader import DataLoader
from tapegrad.torch.utils.data._workers import get_worker_info

__all__ = ["DataLoader", "default_collate", "default_convert", "get_worker_info"]
