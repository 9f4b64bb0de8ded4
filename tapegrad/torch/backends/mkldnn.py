"""`torch.backends.mkldnn`: NumPy has its own library of linear algebra."""

from __future__ import annotations

enabled = False


def is_available() -> bool:
    """False: NumPy chooses its own."""
    return False


__all__ = ["is_available"]
