"""`torch.backends.cudnn`: switches without effect; what is computed here is deterministic."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tapegrad._block import contextmanager

enabled = True
benchmark = False
benchmark_limit = 10
deterministic = False
allow_tf32 = True


def is_available() -> bool:
    """False."""
    return False


def version() -> None:
    """None: there is none."""


@contextmanager
def flags(*_: Any, **__: Any) -> Iterator[None]:
    """Change nothing within a block."""
    yield


__all__ = ["flags", "is_available", "version"]
