"""`torch.utils.hooks`: what registering a hook returns."""

from __future__ import annotations

from tapegrad.torch._graph.hooks import Handle as RemovableHandle

__all__ = ["RemovableHandle"]
