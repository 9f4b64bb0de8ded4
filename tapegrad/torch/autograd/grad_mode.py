"""`torch.autograd.grad_mode`: whether operations are logged."""

from __future__ import annotations

from typing import Self

from tapegrad.torch._graph.modes import (
    Manager,
    enable_grad,
    inference_mode,
    no_grad,
    set_grad_enabled,
)


class set_multithreading_enabled(Manager):
    """Whether a backward pass may use several threads. It never does: this has no effect.

    mode: Kept as the attribute `mode`.

    >>> torch.autograd.grad_mode.set_multithreading_enabled(False).mode
    False
    """

    def __init__(self, mode: bool) -> None:
        super().__init__()
        self.mode: bool = bool(mode)
        self.changes = {}

    def clone(self) -> Self:
        """Another manager of the same kind.

        -> Manager: Entered once; each call of a decorated function enters one of its own.
        """
        return type(self)(self.mode)


__all__ = [
    "enable_grad",
    "inference_mode",
    "no_grad",
    "set_grad_enabled",
    "set_multithreading_enabled",
]
