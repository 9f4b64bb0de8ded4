"""`torch.backends.mps`: there is none."""

from __future__ import annotations


def is_available() -> bool:
    """False: tensors are computed with NumPy, on the CPU."""
    return False


def is_built() -> bool:
    """False."""
    return False


__all__ = ["is_available", "is_built"]
