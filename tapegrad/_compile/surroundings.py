"""State that a function reaches from outside: closures, globals, defaults, attributes, containers.

Knows where Python keeps what a function refers to (`search.py`). Must not know programs.

A program holds what its function found outside when it was recorded. So each call looks at these
places again: numbers, strings and other objects must be the same, arrays must hold the same
elements; else the call belongs to another program. What a recorded run has changed there can be
put back, so that the function may run again as if for the first time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from operator import is_
from types import CodeType
from typing import Any

import numpy as np

from tapegrad._compile.guards import Kept, guard_of
from tapegrad._compile.places import Place, Variable
from tapegrad._compile.search import (
    PLAIN,
    Search,
    Settings,
    hidden_states,
    is_of_installed,
    noting_code,
)
from tapegrad._compile.standard import Cache
from tapegrad._compile.state import are_of_one_kind, is_state
from tapegrad._core.types import Function

OFTEN = 2  # changes between calls, after which a variable is an input of the programs
_LOOKS = 3  # that are made by reading all places, before there is code
_GENERATED = 1000  # places for which there is code, as some 25 us a place are paid for it


class _State:
    """State found outside at some time."""

    def __init__(self, search: Search, known: dict[int, Kept], changes: int = 0) -> None:
        self.places: list[Place] = search.places
        self.held = [place.read() for place in search.places]  # what was in each
        self.arrays: dict[int, Kept] = {}  # arrays among that, by id
        for array in search.arrays:
            before = known.get(id(array))
            if before is None or before.array is not array or not before.is_in(array):
                before = Kept(array)
            self.arrays[id(array)] = before
        self.changes = changes  # how often something had changed until then
        self.random = tuple(search.random)  # generators
        self.caches = search.caches
        self.unseen = search.unseen  # why not all of it can be looked at
        self.settings: list[Settings] = search.settings  # of classes of installed packages
        self.looks = 0
        self.guard: Callable[[], bool] | None = None  # the same question as generated code
        # Whether the last look found the very same objects, whose arrays are views of no others.
        self.is_plain = False
        self.are_whole = all(kept.array.base is None for kept in self.arrays.values())

    def is_now(self) -> bool:
        """Whether what is outside is as it was."""
        try:
            if self.guard is not None:
                if self.guard():
                    self.is_plain = self.are_whole
                    return True
            elif self.looks < _LOOKS or len(self.places) > _GENERATED:
                self.looks += 1
            else:
                pairs = zip(self.places, self.held, strict=True)
                self.guard = guard_of(pairs, self.arrays.values(), self._are_alike)
        except Exception:  # noqa: BLE001, S110 - of a name that has gone, of another array
            pass
        self.is_plain = False
        try:
            return all(
                self._are_alike(place.read(), held)
                for place, held in zip(self.places, self.held, strict=True)
            ) and all(kept.is_in(kept.array) for kept in self.arrays.values())
        except Exception:  # noqa: BLE001 - of an object that does not let itself be looked at
            return False

    def memory(self) -> list[Any]:
        """The arrays outside, and equal ones that are there now instead."""
        found = [kept.array for kept in self.arrays.values()]
        for place, held in zip(self.places, self.held, strict=True):
            found += _other_arrays(place.read(), held)
        return found

    def moved(self) -> list[Variable]:
        """The variables that hold another number or array of the same kind now."""
        written = {id(x.array) for x in self.arrays.values() if not x.is_in(x.array)}
        found: list[Variable | None] = []
        for place, held in zip(self.places, self.held, strict=True):
            try:
                now = place.read()
            except Exception:  # noqa: BLE001, S112 - of an object that does not let itself be read
                continue
            if len(now) == len(held):
                found += [
                    place.variable(at)
                    for at, (a, b) in enumerate(zip(now, held, strict=True))
                    if id(b) in written
                    or (a is not b and are_of_one_kind(a, b) and not _equal(a, b, self.arrays))
                ]
        return [one for one in found if one is not None]

    def _are_alike(self, now: Any, held: Any) -> bool:
        return _identical(now, held) or _alike(now, held, self.arrays)


class Surroundings:
    """The places from which a function may read what is not an argument."""

    def __init__(self, f: Function, loose: frozenset[Any] = frozenset()) -> None:
        self.f = f
        self.loose = loose  # keys of variables that are state of f, and may be other ones
        self.state: _State | None = None  # found at the first call
        self.lock = threading.Lock()  # one thread finds, and counts a change once
        # The code that has run, of an installed package: all of it is much to look at.
        self.ran: set[CodeType] | None = set() if is_of_installed(f) else None
        self.is_known = self.ran is None  # whether a call has shown it
        # Variables that hold other numbers or arrays of their kind than at the call before.
        self.moved: dict[Any, tuple[int, Variable]] = {}
        self.counted: dict[int, set[str]] = {}  # settings that calls of f change themselves
        self.is_lean = True  # whether no run has read what few functions read of objects

    def run(self, call: Function, *args: Any, **kwargs: Any) -> tuple[Any, bool]:
        """The result of a call of f, and whether code ran in it that is not known yet."""
        settings = [] if self.state is None else self.state.settings
        before = [each.read() for each in settings]
        out = self._noted(call, *args, **kwargs)
        if settings:
            self._count(settings, before)
        return out

    def _count(self, settings: list[Settings], before: list[dict[str, Any]]) -> None:
        """Look no more at settings that a call of f has changed, as a counter of objects."""
        found = [
            (id(each.kind), name)
            for each, was in zip(settings, before, strict=True)
            for name, value in each.read().items()
            if value is not was[name] and not _equal(value, was[name], {})
        ]
        if found:
            with self.lock:
                for kind, name in found:
                    self.counted.setdefault(kind, set()).add(name)
                if self.state is not None:
                    self.state = self._found(self.state.changes)

    def _noted(self, call: Function, *args: Any, **kwargs: Any) -> tuple[Any, bool]:
        ran = self.ran
        if ran is None:
            return call(*args, **kwargs), False
        self.is_known = True
        out, found = noting_code(self.f, call, args, kwargs)
        if found is not None and found <= ran:
            return out, False
        with self.lock:  # if nobody knows, all is looked at
            self.ran = None if self.ran is None or found is None else self.ran | found
            if self.state is not None:
                self.state = self._found(self.state.changes)
        return out, True

    @property
    def changes(self) -> int:
        """How often what is outside has changed, as far as is known."""
        return 0 if self.state is None else self.state.changes

    @property
    def unseen(self) -> str | None:
        """Why not all places can be looked at, as there are too many; None if they are."""
        return None if self.state is None else self.state.unseen

    def version(self) -> int:
        """How often what is outside has changed: the same number if nothing has since."""
        state = self.state
        if state is None or not state.is_now():
            with self.lock:
                state = self.state
                if state is None:
                    state = self.state = self._found(0)
                elif not state.is_now():
                    for one in state.moved():
                        count = self.moved.get(one.key, (0, one))[0]
                        self.moved[one.key] = count + 1, one
                    state = self.state = self._found(state.changes + 1)
        return state.changes

    def often_moved(self) -> list[Variable]:
        """The variables that were given other values between calls, more than once."""
        return [one for count, one in self.moved.values() if count >= OFTEN]

    def are_those(self, version: int) -> bool:
        """Whether what is outside is that of a version."""
        state = self.state
        return state is not None and state.changes == version and state.is_now()

    def _found(self, changes: int) -> _State:
        known = {} if self.state is None else self.state.arrays
        search = Search(self.f, self.ran, self.counted, self.loose, lean=self.is_lean)
        return _State(search, known, changes)

    def look_at_all(self) -> None:
        """Look also at what few functions read of objects, as f does."""
        with self.lock:
            self.is_lean = False
            self.state = self._found(self.changes)

    def shares_memory(self, arrays: list[Any]) -> bool:
        """Whether arrays have memory in common with what is outside."""
        outside = [] if self.state is None else self.state.memory()
        return any(np.may_share_memory(a, b) for a in arrays for b in outside)

    def holds_none_of(self, arrays: list[Any]) -> bool:
        """Whether arrays that are views of no others are not outside either; False in doubt."""
        state = self.state
        if state is None or not state.is_plain:
            return False
        return state.arrays.keys().isdisjoint(map(id, arrays))

    def before(self) -> Before:
        """State outside now, before a run that may change it."""
        state = self.state
        if state is None or not state.is_now():  # the calls may be those of its `Functional`
            state = self._found(0)
        return Before(state, self)


class Before:
    """State outside before a run of the function: what it changes there can be put back."""

    def __init__(self, state: _State, of: Surroundings) -> None:
        self.state, self.of = state, of
        self.held = [place.read() for place in state.places]
        self.random = hidden_states(state.random)
        self.caches = [(cache, cache.filled()) for cache in state.caches]

    def drew(self) -> bool:
        """Whether the run has drawn random numbers."""
        return any(read() != was for read, _, was in self.random)

    def holds(self, found: Callable[[Any], bool]) -> bool:
        """Whether there is now, where the run has changed something, a value such as asked for."""
        if any(found(value) for cache in self._filled() for value in cache.values()):
            return True
        if all(_identical(x.read(), was) for x, was in self._pairs()):
            return False
        now = Search(self.of.f, self.of.ran, state=self.of.loose)
        return any(found(value) for x in now.places for value in x.read())

    def changed(self) -> list[Variable] | None:
        """The variables that hold other values than before, or arrays with other elements.

        None if the run has bound new names, or added elements, as a first call does.
        """
        kept = self.state.arrays
        written = {id(x.array) for x in kept.values() if not x.is_in(x.array)}
        found: list[Variable | None] = []
        for place, was in self._pairs():
            now = place.read()
            if len(now) != len(was):
                return None
            found += [
                place.variable(at)
                for at, (a, b) in enumerate(zip(now, was, strict=True))
                if (a is not b and not _equal(a, b, kept) or written and _holds(b, written))
                and is_state(a)
                and is_state(b)
            ]
        return [one for one in found if one is not None]

    def restore(self) -> None:
        """Put back what was there."""
        for place, was in self._pairs():
            if not _identical(place.read(), was):
                place.write(was)
        for kept in self.state.arrays.values():
            if kept.array.flags.writeable and not kept.is_in(kept.array):
                np.copyto(kept.array, kept.copy)
        for read, write, was in self.random:
            if read() != was:
                write(was)
        for cache in self._filled():  # one value alone cannot be taken out
            cache.empty()

    def _filled(self) -> list[Cache]:
        return [cache for cache, was in self.caches if cache.filled() != was]

    def _pairs(self) -> Any:
        return zip(self.state.places, self.held, strict=True)


def _holds(value: Any, ids: set[int]) -> bool:
    """Whether it is one of these arrays, or a tuple with one."""
    if type(value) is tuple:
        return any(_holds(part, ids) for part in value)
    return id(value) in ids


def _other_arrays(now: Any, held: Any) -> list[Any]:
    """Arrays, also in tuples, that are other objects than before."""
    found: list[Any] = []
    for a, b in zip(now, held, strict=False):
        if a is b:
            continue
        if type(a) is np.ndarray:
            found.append(a)
        elif type(a) is tuple and type(b) is tuple:
            found += _other_arrays(a, b)
    return found


def _identical(now: list[Any], held: list[Any]) -> bool:
    return len(now) == len(held) and all(map(is_, now, held))


def _alike(now: Any, held: Any, arrays: dict[int, Kept]) -> bool:
    return len(now) == len(held) and all(
        a is b or _equal(a, b, arrays) for a, b in zip(now, held, strict=True)
    )


def _equal(a: Any, b: Any, arrays: dict[int, Kept]) -> bool:
    """Whether another object than before is equal: numbers, strings, arrays; of floats the bits.

    All else counts as changed.
    """
    kind = type(a)
    if kind is not type(b):
        return False
    if kind is np.ndarray:
        before = arrays.get(id(b))
        return before is not None and a.strides == b.strides and before.is_in(a)
    if kind is float or kind is complex:
        return repr(a) == repr(b)
    if kind is tuple:
        return _alike(a, b, arrays)
    if issubclass(kind, np.generic) and not hasattr(a, "__dict__"):
        return not a.dtype.hasobject and a.tobytes() == b.tobytes() and a.dtype == b.dtype
    return kind in PLAIN and bool(a == b)


__all__ = ["Before", "Surroundings"]
