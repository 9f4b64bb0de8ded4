"""`torch.backends.cuda`: switches without effect."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

matmul: Any = SimpleNamespace(
    allow_tf32=False,
    allow_fp16_reduced_precision_reduction=True,
    allow_bf16_reduced_precision_reduction=True,
)


def is_built() -> bool:
    """False."""
    return False


__all__ = ["is_built", "matmul"]
