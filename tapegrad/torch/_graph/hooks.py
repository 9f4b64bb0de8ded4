"""Hooks: functions in the order of their registration, and the handles that remove them.

Must not know who calls them.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, Self

from tapegrad._core.types import Function
from tapegrad.torch._graph.order import next_number


class Hooks(dict[int, Callable[..., Any]]):
    """Functions in the order in which they were registered."""

    def add(self, hook: Function) -> Handle:
        """Register a function; the handle removes it."""
        key = next_number()
        self[key] = hook
        return Handle(self, key)


class Handle:
    """The result of registering a hook: `remove()` unregisters it. It is a context manager too."""

    __slots__ = ("_hooks", "id")

    def __init__(self, hooks: Hooks, key: int) -> None:
        self._hooks = weakref.ref(hooks)
        self.id = key

    def remove(self) -> None:
        """Unregister the hook; a second call does nothing."""
        hooks = self._hooks()
        if hooks is not None:
            hooks.pop(self.id, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


__all__ = ["Handle", "Hooks"]
