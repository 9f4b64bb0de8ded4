"""`torch.amp.autocast_mode`, under the name of PyTorch's file."""

from __future__ import annotations

from tapegrad.torch.amp import autocast, custom_bwd, custom_fwd, is_autocast_available

__all__ = ["autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]
