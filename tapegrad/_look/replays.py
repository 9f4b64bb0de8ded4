"""Replays, told to who watches them: each entry when its turn comes, and when it is done.

Knows that a replay asks for an entry after it has used the one before. Must not know what the
watchers do. Where nobody watches, nothing of this is in place, and nothing is paid.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any, Protocol

from tapegrad._core import replay
from tapegrad._core.entry import Entry
from tapegrad._core.types import Cotangent
from tapegrad._look.watching import Watching
from tapegrad._profile.switch import Place
from tapegrad._transforms import forward, recording

Function = Callable[..., Any]
Telling = Callable[[Iterable[Entry], Any], Generator[Entry, None, None]]


class Watcher(Protocol):
    """Watcher of the entries of a replay, each in the thread that replays it."""

    def before(self, entry: Entry, cotangent: Cotangent, bars: Any) -> None:
        """An entry is replayed next: the cotangent of its result, and those of all slots."""

    def after(self, entry: Entry, cotangent: Cotangent, bars: Any) -> None:
        """The entry has been replayed."""

    def left(self, entry: Entry) -> None:
        """The replay has raised at the entry."""


def told(entries: Iterable[Entry], bars: Any) -> Generator[Entry, None, None]:
    """The entries of a replay, of whose cotangents the watchers are told."""
    bar_of = bars.get if isinstance(bars, Mapping) else bars.__getitem__
    for entry in entries:
        cotangent = bar_of(entry[0])
        if cotangent is None:
            yield entry
            continue
        watchers = _WATCHING.watchers
        for watcher in watchers:
            watcher.before(entry, cotangent, bars)
        try:
            yield entry
        except GeneratorExit:
            _tell_left(watchers, entry)
            raise
        for watcher in reversed(watchers):
            watcher.after(entry, cotangent, bars)


def _tell_left(watchers: tuple[Watcher, ...], entry: Entry) -> None:
    for watcher in reversed(watchers):
        watcher.left(entry)


def _told_by(replay: Function, tell: Telling) -> Function:
    """A replay, with `tell` around its entries."""

    def watched_replay(entries: Iterable[Entry], bars: Any, *args: Any, **options: Any) -> None:
        steps = tell(entries, bars)
        try:
            replay(steps, bars, *args, **options)
        finally:
            steps.close()  # at once where the replay has raised, not when its frames are freed

    return watched_replay


def places(tell: Telling = told) -> Iterator[Place]:
    """The replays, with `tell` around their entries: it yields each, and is asked for the next."""
    for module, name in (
        (recording, "replay_backward"),
        (recording, "replay_carefully"),
        (forward, "replay_backward"),
        (replay, "replay_backward"),
    ):
        yield Place(module, name, _told_by(getattr(module, name), tell))


_WATCHING: Watching[Watcher] = Watching(places)


def watched(watcher: Watcher) -> AbstractContextManager[None]:
    """Tell `watcher` of the replays of all threads within the block. Blocks may be nested."""
    return _WATCHING.by(watcher)


# -- Replays of tangents ---------------------------------------------------------------------


def _told_steps(steps: Iterable[Any]) -> Generator[Any, None, None]:
    for step in steps:
        watchers = _STEPS.watchers
        for watcher in watchers:
            watcher.before(step[0], None, None)
        try:
            yield step
        except GeneratorExit:
            _tell_left(watchers, step[0])
            raise
        for watcher in reversed(watchers):
            watcher.after(step[0], None, None)


def _places_of_steps() -> Iterator[Place]:
    push = vars(forward)["replay_forward"]

    def watched_push(steps: Iterable[Any], *args: Any, **options: Any) -> None:
        told_steps = _told_steps(steps)
        try:
            push(told_steps, *args, **options)
        finally:
            told_steps.close()

    yield Place(forward, "replay_forward", watched_push)


_STEPS: Watching[Watcher] = Watching(_places_of_steps)


def steps_watched(watcher: Watcher) -> AbstractContextManager[None]:
    """The same for the entries of replays of tangents; no cotangents are told."""
    return _STEPS.by(watcher)


__all__ = ["Watcher", "places", "steps_watched", "told", "watched"]
