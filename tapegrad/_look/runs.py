"""One run of a function on a tape of its own, with notes of lines, times and cotangents.

Knows how a function is run and replayed, and turns what was noted into rows. Must not know how
these are shown.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from sys import _getframe
from time import perf_counter_ns as now
from typing import Any

import numpy as np

from tapegrad._block import contextmanager, setting
from tapegrad._core.entry import Entry
from tapegrad._core.tape import CURRENT
from tapegrad._core.types import Cotangent, Function, Tree
from tapegrad._core.values import Traced, is_inexact
from tapegrad._errors import InputError, describe, message, name_of
from tapegrad._look import calls, replays
from tapegrad._look.findings import raw
from tapegrad._look.first_calls import FirstCalls
from tapegrad._look.forward_lines import told_by
from tapegrad._look.lines import Sites, derivative_note
from tapegrad._look.rows import Row, bytes_kept, kinds_of, operation_of, row_of, slots_read
from tapegrad._transforms.recording import Recording
from tapegrad._tree import flatten, flatten_like, paths_of, unflatten


class _Here(threading.local):
    """Where a thread is: calls and replays are watched in all threads."""

    def __init__(self) -> None:
        self.at: int | None = None  # the slot that a replay is at
        self.around: list[int | None] = []  # those of the replays in which it runs
        self.clock = 0  # when the entry that is logged next has begun; 0 outside of calls
        self.logged = -1  # the slot that was logged last in the call that runs


class Notes:
    """Notes on the entries of one tape, by slot, as they are logged and replayed."""

    def __init__(self, sites: Sites) -> None:
        self.sites = sites
        self.site: dict[int, int] = {}
        self.of: dict[int, int] = {}  # for entries of a replay: the slot that it was at
        self.entry: dict[int, int] = {}  # the entry's id: other tapes have the same slots
        self.forward: dict[int, int] = {}  # nanoseconds
        self.backward: dict[int, int] = {}
        self.norm: dict[int, float] = {}
        self.here = _Here()
        self.first_calls = FirstCalls()

    def line_of(self, slot: int) -> str | None:
        """The user's line that logged an entry."""
        number = self.site.get(slot)
        site = () if number is None else self.sites.sites()[number]
        return str(site[0]) if site else None

    def log_of(self, log: Callable[[Entry], None]) -> Callable[[Entry], None]:
        """A tape's `log` that notes the user's line first."""
        sites, note, mine = self.sites.here, self.first_calls.note, self.here

        def logged(entry: Entry) -> None:
            slot = entry[0]
            note(slot)
            self.entry[slot] = id(entry)
            at = mine.at
            if at is not None:  # a replay has the lines of what it replays
                self.of[slot] = at
                self.site[slot] = self.site[at]
            else:
                self.site[slot] = sites()
            if mine.clock:
                time = now()
                self.forward[slot] = time - mine.clock
                mine.logged = slot
                mine.clock = time
            log(entry)

        return logged

    # From `calls.watched`: the times of calls, divided among the entries that they log.

    def begin(self, _name: Function, _args: tuple[Any, ...], _kwargs: dict[str, Any]) -> None:
        self.here.logged = -1
        self.here.clock = now()

    def end(self, _result: Any, _error: BaseException | None) -> None:
        here = self.here
        if here.logged >= 0:
            self.forward[here.logged] += now() - here.clock
        here.clock = 0

    # From replays that run while the program does: where they are.

    def before(self, entry: Entry, _cotangent: Cotangent, _bars: Any) -> None:
        here = self.here
        here.around.append(here.at)
        if self.entry.get(entry[0]) == id(entry):
            here.at = entry[0]

    def after(self, _entry: Entry, _cotangent: Cotangent, _bars: Any) -> None:
        self.here.at = self.here.around.pop()

    def left(self, _entry: Entry) -> None:
        self.here.at = self.here.around.pop()

    @contextmanager
    def watching(self, *, timed: bool) -> Iterator[None]:
        """Note what happens within the block."""
        times = calls.watched(self) if timed else nullcontext()
        with self.first_calls.watched(), replays.watched(self), replays.steps_watched(self), times:
            yield


class _Replay:
    """Watcher of this thread's outermost replay for `replays.watched`: times and norms."""

    def __init__(self, notes: Notes, known: set[int]) -> None:
        self.notes, self.known = notes, known
        self.thread = threading.get_ident()
        self.begun: list[int] = []
        self.failed: Entry | None = None  # where the replay has raised

    def before(self, entry: Entry, cotangent: Cotangent, _bars: Any) -> None:
        if threading.get_ident() != self.thread:
            return
        if len(self.begun) == 0 and entry[0] in self.known:
            self.notes.norm[entry[0]] = norm_of(cotangent)
        self.begun.append(now())

    def after(self, entry: Entry, _cotangent: Cotangent, _bars: Any) -> None:
        if threading.get_ident() != self.thread:
            return
        begun = self.begun.pop()
        if not self.begun and entry[0] in self.known:
            times = self.notes.backward
            times[entry[0]] = times.get(entry[0], 0) + now() - begun

    def left(self, entry: Entry) -> None:
        if threading.get_ident() == self.thread:
            self.begun.pop()
            self.failed = None if self.begun else entry


def norm_of(cotangent: Cotangent) -> float:
    """The root of the sum of squares; of several cotangents, or of all examples, together."""
    if isinstance(cotangent, list):
        return float(np.sqrt(sum(norm_of(part) ** 2 for part in cotangent if part is not None)))
    return float(np.linalg.norm(np.ravel(np.asarray(raw(cotangent)))))


class Run:
    """One run of a function on a tape of its own, with notes."""

    def __init__(
        self, f: Function, args: tuple[Tree, ...], kwargs: dict[str, Any], *, timed: bool
    ) -> None:
        self.title = name_of(f)
        leaves, structure = flatten((args, kwargs))
        self.places = [i for i, leaf in enumerate(leaves) if is_inexact(leaf) or _is_float(leaf)]
        if not self.places:
            raise InputError(
                message(
                    f"tape({self.title}, ...)",
                    "an argument with floating or complex numbers, to trace",
                    ", ".join(map(describe, leaves)) or "none",
                    "Pass floats: 3.0 for 3, x.astype(float)",
                )
            )
        names = list(paths_of_arguments(f, args, kwargs))
        self.notes = notes = Notes(Sites(_getframe(2)))  # what called this is not the program

        def logged(recording: Recording) -> None:
            recording.tape.log = notes.log_of(recording.tape.log)
            given = [leaves[i] for i in self.places]
            traced = recording.inputs([np.asarray(x)[()] if _is_float(x) else x for x in given])
            self.inputs = {x.slot: x for x in traced}
            self.names = {x.slot: names[i] for x, i in zip(traced, self.places, strict=True)}
            for i, x in zip(self.places, traced, strict=True):
                leaves[i] = x
            new_args, new_kwargs = unflatten(structure, leaves)
            with notes.watching(timed=timed):
                out = f(*new_args, **new_kwargs)
            recording.finish(out)
            self._take_outputs(out)

        with setting(CURRENT, None):  # what transforms around trace is a constant here
            self.recording = Recording(f"tape of {self.title}", copies=True)
            self.recording.run(logged)

    def _take_outputs(self, out: Tree) -> None:
        leaves, self.out_structure = flatten(out)
        self.out_leaves = leaves
        self.outputs: list[tuple[int, Traced]] = []
        self.places_of_outputs: dict[str, int | None] = {}  # the slots; None for constants
        for leaf, path in zip(leaves, paths_of(out), strict=True):
            slot = self.recording.slot_of(leaf)
            known = slot is not None and slot >= 0
            self.places_of_outputs[f"output{path}"] = slot if known else None
            if known:
                self.outputs.append((slot, leaf))
                self.names.setdefault(slot, f"output{path}")

    def replay(self, cotangent: Tree | None) -> None:
        """Replay the run backward; times and norms are noted."""
        if cotangent is None:
            bars = [np.ones(x.shape, x.dtype)[()] for _, x in self.outputs]
        else:
            given = flatten_like(self.out_structure, cotangent, "TapeView.run")
            bars = [
                bar
                for bar, leaf in zip(given, self.out_leaves, strict=True)
                if self.recording.slot_of(leaf) is not None
            ]
        known = {*self.inputs, *(entry[0] for entry in self.recording.entries)}
        watcher = _Replay(self.notes, known)
        try:
            with replays.watched(watcher), told_by(self.notes.line_of):
                found = self.recording.pull([slot for slot, _ in self.outputs], list(bars)) or []
        except Exception as error:
            self._explain(error, watcher.failed)
            raise
        for slot, bar in zip(self.recording.slots, found, strict=False):
            if bar is not None:
                self.notes.norm[slot] = norm_of(bar)

    def _explain(self, error: Exception, entry: Entry | None) -> None:
        """Add the forward line to an error of the replay."""
        number = None if entry is None else self.notes.site.get(entry[0])
        if entry is not None and number is not None:
            site = self.notes.sites.sites()[number]
            error.add_note(derivative_note(operation_of(entry), site))

    def rows(self) -> list[Row]:
        """Notes until now."""
        notes, entries = self.notes, self.recording.entries
        kinds: dict[int, Any] = {slot: x.spec for slot, x in self.inputs.items()}
        kinds_of(entries, kinds)
        kept = bytes_kept(entries)
        entries = notes.first_calls.without_repeats(entries, kept)
        sites = notes.sites.sites()
        forward, backward, norm = notes.forward.get, notes.backward.get, notes.norm.get
        site, of, bytes_of, name = notes.site.get, notes.of.get, kept.get, self.names.get
        times = None, None
        found = [
            row_of(
                x, "input", (), kinds[x], self.names[x], (), None, bytes_of(x, 0), times, norm(x)
            )
            for x in self.inputs
        ]
        for entry in entries:
            slot = entry[0]
            at = site(slot)
            found.append(
                row_of(
                    slot,
                    operation_of(entry),
                    slots_read(entry),
                    kinds[slot],
                    name(slot, ""),
                    () if at is None else sites[at],
                    of(slot),
                    bytes_of(slot, 0),
                    (forward(slot), backward(slot)),
                    norm(slot),
                )
            )
        return found


def _is_float(leaf: Any) -> bool:
    return type(leaf) is float or type(leaf) is complex


def paths_of_inputs(f: Function, args: tuple[Tree, ...], kwargs: dict[str, Any]) -> list[str]:
    """The paths of the leaves that can be traced."""
    paths = paths_of_arguments(f, args, kwargs)
    leaves = flatten((args, kwargs))[0]
    return [path for path, x in zip(paths, leaves, strict=True) if is_inexact(x) or _is_float(x)]


def paths_of_arguments(
    f: Function, args: tuple[Tree, ...], kwargs: dict[str, Any]
) -> Iterator[str]:
    """Where the leaves of a call are, by the names of the parameters: `parameters['w'][0]`."""
    try:
        bound = inspect.signature(f).bind_partial(*args).arguments
        names = [
            name if kind is not inspect.Parameter.VAR_POSITIONAL else f"{name}[{i}]"
            for name, kind, i in _positional(f, bound)
        ]
    except (TypeError, ValueError):
        names = [f"args[{i}]" for i in range(len(args))]
        if isinstance(f, np.ufunc):  # of which older NumPys tell no signature
            names = ["x"] if f.nin == 1 else [f"x{i + 1}" for i in range(f.nin)]
            names += ["out"] * (len(args) - len(names))
    for name, arg in zip([*names, *kwargs], [*args, *kwargs.values()], strict=True):
        for path in paths_of(arg):
            yield f"{name}{path}"


def _positional(f: Function, bound: dict[str, Any]) -> Iterator[tuple[str, Any, int]]:
    kinds = {name: p.kind for name, p in inspect.signature(f).parameters.items()}
    for name, value in bound.items():
        several = kinds[name] is inspect.Parameter.VAR_POSITIONAL
        for i in range(len(value) if several else 1):
            yield name, kinds[name], i


__all__ = ["Notes", "Run", "norm_of", "paths_of_inputs"]
