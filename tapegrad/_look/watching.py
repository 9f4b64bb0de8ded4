"""Those who watch one kind of event, and what is switched while any of them does.

Must not know what is watched. Blocks may be nested, and overlap in several threads.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar

from tapegrad._block import contextmanager, undoing
from tapegrad._profile.switch import Place, Switch

Watcher = TypeVar("Watcher")


class Watching(Generic[Watcher]):
    """Watchers, and the functions that stand in for others while there is one.

    places: gives these functions; they tell `watchers`, a tuple that is never changed in place.
    """

    def __init__(self, places: Callable[[], Iterable[Place]]) -> None:
        self.places = places
        self.watchers: tuple[Watcher, ...] = ()
        self._lock = threading.RLock()
        self._switch: Any = Switch()

    @contextmanager
    def by(self, watcher: Watcher) -> Iterator[None]:
        """Tell `watcher` of what happens within the block, in all threads."""

        def leave() -> None:
            with self._lock:
                self.watchers = tuple([one for one in self.watchers if one is not watcher])
                if not self.watchers:
                    self._switch.restore()

        with undoing(leave):
            with self._lock:
                if not self.watchers:
                    self._switch.put(self.places())
                self.watchers = (*self.watchers, watcher)
            yield


__all__ = ["Watching"]
