"""`torch.nn.modules.lazy`: the base of modules that learn shapes from their first input."""

from __future__ import annotations

from tapegrad.torch.nn.module.lazy import LazyModuleMixin

__all__ = ["LazyModuleMixin"]
