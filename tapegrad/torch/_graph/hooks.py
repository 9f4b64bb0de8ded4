"""Hooks: functions in the order of their registration, and the handles that remove them.

Must not know who calls them.
"""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable, Generator
from typing import Any, Self

from tapegrad._block import Block, undoing
from tapegrad._core.types import Function
from tapegrad.torch._graph.order import next_number


class Hooks(OrderedDict[int, Callable[..., Any]]):
    """Functions in the order in which they were registered."""

    def add(self, hook: Function) -> Handle:
        """Register a function; the handle removes it."""
        return Handle.adding(self, hook)


class Handle(Block[Any]):
    """The result of registering a hook: `remove()` unregisters it. It is a context manager too."""

    id: int

    def __init__(
        self, hooks: OrderedDict[int, Any], key: int, *also: OrderedDict[int, Any]
    ) -> None:
        self._hooks = weakref.ref(hooks)
        self._also = tuple(map(weakref.ref, also))
        self.id = key

    @classmethod
    def adding(
        cls,
        hooks: OrderedDict[int, Any],
        hook: Any,
        *flags: tuple[OrderedDict[int, bool], bool],
        prepend: bool = False,
    ) -> Handle:
        """Register a hook, first of all if `prepend`; return its handle.

        flags: tables of what holds for some hooks, and whether it holds for this one.
        """
        key = next_number()
        while key in hooks:  # those of a pickle have the numbers of another process
            key = next_number()
        hooks[key] = hook
        if prepend:
            hooks.move_to_end(key, last=False)
        for table, holds in flags:
            if holds:
                table[key] = True
        return cls(hooks, key, *(table for table, _ in flags))

    def remove(self) -> None:
        """Unregister the hook; a second call does nothing."""
        for reference in (self._hooks, *self._also):
            hooks = reference()
            if hooks is not None:
                hooks.pop(self.id, None)

    def __getstate__(self) -> Any:
        return self._hooks(), self.id, tuple(table() for table in self._also)

    def __setstate__(self, state: Any) -> None:
        hooks, self.id, also = state
        self._hooks = weakref.ref(Hooks() if hooks is None else hooks)
        self._also = tuple(weakref.ref(table) for table in also if table is not None)

    def _opened(self) -> Generator[Self]:
        with undoing(self.remove):
            yield self


__all__ = ["Handle", "Hooks"]
