"""`torch.nn.parameter`: parameters and buffers."""

from __future__ import annotations

from tapegrad.torch.nn._parameter import Buffer, Parameter


def is_lazy(_: object) -> bool:
    """False: every parameter has its shape."""
    return False


__all__ = ["Buffer", "Parameter", "is_lazy"]
