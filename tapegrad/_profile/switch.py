"""Functions that are switched for others while something watches them, and switched back.

Knows attributes of classes and modules. Must not know what is watched, or by whom.

A layer declares a source: a function that takes the watcher and yields the places, each with the
function to be put there. Where nothing watches, the layer's own functions stand there, so that
watching costs nothing while it is off.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, ClassVar, NamedTuple

from tapegrad._block import contextmanager, undoing

Attributes = Any  # of a class or module: setattr; of a dictionary: an item


class Place(NamedTuple):
    """An attribute of a class or module, or an item of a dictionary, and what to put there."""

    holder: Attributes
    name: str
    value: Any


Source = Callable[[Any], Iterable[Place]]

_SOURCES: list[Source] = []
_LOCK = threading.RLock()
_ABSENT = object()


class Switch:
    """Attributes that hold other values for a time.

    Several switches may hold the same attribute, and be restored in any order: what one that is
    not the last has put there is then what no other restores.
    """

    holding: ClassVar[list[Switch]] = []  # the switches that hold something

    def __init__(self) -> None:
        self.changed: list[tuple[Place, Any]] = []

    def put(self, places: Iterable[Place]) -> None:
        """Put values in their places; where one cannot be, all is as before, and it raises."""
        with _LOCK:
            try:
                if self not in self.holding:
                    self.holding.append(self)
                for place in tuple(places):
                    self.changed.append((place, _stored(place)))
                    _store(place, place.value)
            except BaseException:
                self.restore()
                raise

    @contextmanager
    def holding_places(self, places: Callable[[], Iterable[Place]]) -> Iterator[None]:
        """Put values in their places for the block."""
        with undoing(self.restore):
            self.put(places())
            yield

    def restore(self) -> None:
        """Put back what stood in all places. One that someone changed since stays as it is.

        If it is interrupted, another call goes on.
        """
        with _LOCK:
            while self.changed:
                place, before = self.changed[-1]
                now = _stored(place)
                if now is place.value:
                    _store(place, before)
                elif now is not before:
                    self._leave(place, before)
                self.changed.pop()
            if self in self.holding:
                self.holding.remove(self)

    def _leave(self, place: Place, before: Any) -> None:
        """Let the switch that has taken a place since put back what stood there before this."""
        for switch in self.holding:
            for at, (other, found) in enumerate(switch.changed):
                same = other.holder is place.holder and other.name == place.name
                if same and found is place.value:
                    switch.changed[at] = other, before
                    return


class _State(Switch):
    """Stand-ins for other functions now, and who watches."""

    watcher: Any = None

    def leave(self, watcher: Any) -> None:
        """Let a watcher go, if it is this one."""
        with _LOCK:
            if self.watcher is watcher:
                self.restore()
                self.watcher = None


_STATE = _State()


def declare(source: Source) -> Source:
    """Let a layer's functions be watched: `source(watcher)` yields their places."""
    _SOURCES.append(source)
    return source


def watcher() -> Any:
    """Who watches; None where nobody does."""
    return _STATE.watcher


def switch_in(given: Any) -> None:
    """Put the functions of a watcher in place; RuntimeError where another one watches."""
    with _LOCK:
        if _STATE.watcher is not None:
            raise RuntimeError(
                f"{given} cannot start while {_STATE.watcher} runs: leave its block first."
            )
        try:
            _STATE.watcher = given
            _STATE.put([place for source in _SOURCES for place in source(given)])
        except BaseException:
            switch_out(given)
            raise


def switch_out(given: Any) -> None:
    """Put back what stood where a watcher has put its functions; nothing where it watches not.

    A place that someone changed since stays as it is.
    """
    with undoing(partial(_STATE.leave, given)):
        pass


def _stored(place: Place) -> Any:
    holder = place.holder
    return (holder if isinstance(holder, dict) else vars(holder)).get(place.name, _ABSENT)


def _store(place: Place, value: Any) -> None:
    if isinstance(place.holder, dict):
        place.holder[place.name] = value
    elif value is _ABSENT:
        delattr(place.holder, place.name)
    else:
        setattr(place.holder, place.name, value)


__all__ = ["Place", "Switch", "declare", "switch_in", "switch_out", "watcher"]
