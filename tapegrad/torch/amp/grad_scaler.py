"""`torch.amp.grad_scaler`, under the name of PyTorch's file."""

from __future__ import annotations

from tapegrad.torch.amp import GradScaler

__all__ = ["GradScaler"]
