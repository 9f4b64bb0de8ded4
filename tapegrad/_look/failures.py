"""The forward line of an error that was raised within a replay.

Knows how a function is run again with its lines noted. Nothing is noted before an error: the line
is looked up afterwards, and told only if the second run came to the same entries.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any

from tapegrad._block import setting
from tapegrad._core.entry import Entry, parents_of
from tapegrad._core.types import Cotangent, Value
from tapegrad._core.values import untraced
from tapegrad._errors import add_note, text_of
from tapegrad._look import replays
from tapegrad._look.lines import Site, derivative_note
from tapegrad._look.rows import operation_of
from tapegrad._look.tapes import Lines
from tapegrad._transforms.recording import Recording
from tapegrad._tree import flatten

_LOOKING: ContextVar[bool] = ContextVar("tapegrad_looking", default=False)


class _Last:
    """Watches a replay: the entries that it has begun and not ended."""

    def __init__(self) -> None:
        self.open: list[Entry] = []

    def before(self, entry: Entry, _cotangent: Cotangent, _bars: Any) -> None:
        self.open.append(entry)

    def after(self, _entry: Entry, _cotangent: Cotangent, _bars: Any) -> None:
        self.open.pop()

    def left(self, _entry: Entry) -> None:
        pass  # the entries at which it has raised are what is asked for


def explain(
    error: Exception,
    run: Callable[[list[Any]], Any],
    leaves: list[Value],
    recording: Recording,
    slots: Sequence[int],
    bars: Sequence[Cotangent],
) -> None:
    """Add a note to an error of a replay: the operation, and the line of its forward call.

    run: calls the function on traced leaves, in place of `leaves`. It is called once more: what it
    prints and draws happens again. slots, bars: what was replayed, and from what.
    """
    if _LOOKING.get():
        return
    with setting(_LOOKING, True):
        try:
            found = _found(error, run, list(map(untraced, leaves)), recording, slots, bars)
        except Exception as other:  # noqa: BLE001 - the error itself is what the program gets
            found = f"running it again raised {type(other).__name__}: {text_of(other)}"
    if isinstance(found, str):
        name = recording.tape.name
        add_note(error, f"Raised in the replay of {name}; no forward line: {found}.")
        return
    operation, site = found
    add_note(error, derivative_note(operation, site))


def _found(
    error: Exception,
    run: Callable[[list[Any]], Any],
    leaves: list[Value],
    recording: Recording,
    slots: Sequence[int],
    bars: Sequence[Cotangent],
) -> tuple[str, Site] | str:
    """The operation whose derivative has failed, and its site; or why they are not known."""
    first, lines, last = list(recording.entries), Lines(), _Last()

    def found(again: Recording) -> Any:
        again.tape.log = lines.log_of(again.tape.log)
        out = run(again.inputs(leaves))
        again.finish(out)
        now = [slot for slot in map(again.slot_of, flatten(out)[0]) if slot is not None]
        if len(now) != len(slots) or not _is_the_same(first, slots, again.entries, now):
            return "the function did something else when it was run again"
        with replays.watched(last):
            try:
                again.pull(now, [untraced(bar) for bar in bars])
            except Exception as second:  # noqa: BLE001 - it is compared with the first
                if type(second) is type(error) and text_of(second) == text_of(error) and last.open:
                    entry = last.open[0]
                    sites = lines.sites.sites()
                    return operation_of(entry), sites[lines.numbers[entry[0]]]
        return "its replay did not fail again"

    return Recording(recording.tape.name, copies=True).run(found)


def _is_the_same(
    first: Sequence[Any], slots: Sequence[int], second: Sequence[Entry], now: Sequence[int]
) -> bool:
    """Whether two runs logged the same, as far as their results at the slots depend on it."""
    if None in first:  # the replay has used up the last of them
        left = [operation_of(entry) for entry in first if entry is not None]
        return left == [operation_of(entry) for entry in second[: len(left)]]
    return _operations(first, slots) == _operations(second, now)


def _operations(entries: Sequence[Entry], slots: Sequence[int]) -> list[tuple[str, list[int]]]:
    """The entries on which the values at these slots depend: names, and which of them they read.

    A function that is called for the first time may be logged twice; the first of the two is dead.
    """
    needed, live = set(slots), []
    for entry in reversed(entries):
        if entry[0] in needed:
            live.append(entry)
            needed.update(parents_of(entry))
    rank = {entry[0]: position for position, entry in enumerate(reversed(live))}
    return [
        (operation_of(entry), [rank[slot] for slot in parents_of(entry) if slot in rank])
        for entry in reversed(live)
    ]


__all__ = ["explain"]
