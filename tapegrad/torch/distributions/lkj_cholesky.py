"""`torch.distributions.lkj_cholesky`, under the name of PyTorch's file."""

from __future__ import annotations

from tapegrad.torch.distributions._matrices import LKJCholesky

__all__ = ["LKJCholesky"]
