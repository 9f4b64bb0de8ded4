"""State of a function, which its calls change outside, as an argument and a result of another.

Knows variables, and how recorded values lie in them during a run. Must not know when a call is
recorded, nor how a program runs.

A filter, an optimiser or a simulator keeps arrays and counters in attributes, and each call hands
them on to the next. Such a function is a function of the state too, `Functional`, which changes
nothing outside: it puts the state that it gets where the function looks for it, calls it, and
returns what lies there then. Of that there is a program, as of any function of arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import is_
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from tapegrad._compile.arguments import has_more
from tapegrad._compile.guards import reader_of
from tapegrad._compile.places import Missing, Variable
from tapegrad._compile.signatures import (
    NUMBERS,
    STATIC,
    Changing,
    key_of,
    signature_of,
)
from tapegrad._core.recorded import RECORDING
from tapegrad._core.types import Function
from tapegrad._errors import name_of
from tapegrad._program.containers import CONTAINERS
from tapegrad._program.recorded import Recorded
from tapegrad._program.recorder import NotRecordableError
from tapegrad._program.recording import Draw
from tapegrad._tree import flatten, register, tree_map

SAME, UNBOUND, WRITTEN = "same", "unbound", "written"
FRESH, STATE, ARGUMENT = range(3)  # new values, those of the state, the arguments' leaves

# Classes of values that hold no others, as far as these are frequent.
_LEAVES = frozenset((np.ndarray, *(NUMBERS - {int}), *(STATIC - {int})))

_VIEWS = (
    "it keeps views of one array outside, or of an argument, which see each other's writes: keep "
    "a copy"
)


class Next(NamedTuple):
    """The result of a call, and the state after it.

    which: for each variable the place of its value: `SAME` for the object that it had, `WRITTEN`
    if a recorded run wrote into that; else a position in a list: `FRESH`, `STATE` or `ARGUMENT`.
    """

    out: Any
    fresh: Sequence[Any]  # new values, each once
    which: tuple[Any, ...]


register(
    Next,
    lambda x: ((x.out, *x.fresh), x.which),
    lambda which, children: Next(children[0], children[1:], which),  # type: ignore[index]
)


class Functional:
    """A function of its state, its arguments and its keywords, that changes nothing outside."""

    def __init__(
        self, f: Function, variables: Iterable[Variable], draws: dict[Any, list[Draw]]
    ) -> None:
        self.f = self.__wrapped__ = f
        self.__name__ = name_of(f)
        self.variables = list(variables)
        self.keys = frozenset(one.key for one in self.variables)
        self.shares_memory: Any = None  # whether arrays do with what else is outside
        self.draws = draws  # of random numbers, that calls with a short key make, in order
        self.ahead: list[Draw] = []  # those of this call
        self.put_back: list[Callable[[], None]] = []  # the generators, before they drew ahead
        self.own = 0  # calls of f that were not recorded
        self.seconds = 0.0  # of the last one
        self.reader = reader_of(self.variables)

    def state(self) -> list[Any]:
        """The state as arguments: for an array that is there twice, the position of the first."""
        try:
            values = self.reader()
        except (AttributeError, KeyError, IndexError, ValueError):  # where one is not bound
            values = [one.read() for one in self.variables]
        found = [x if type(x) is np.ndarray else _as_argument(x) for x in values]
        if len(set(map(id, values))) < len(values):
            first: dict[int, int] = {}
            for at, x in enumerate(values):
                if _has_identity(x) and first.setdefault(id(x), at) != at:
                    found[at] = first[id(x)]
        return found

    def drawn(self, args: Any, kwargs: Any) -> list[Any]:
        """The random numbers of a call as arguments, drawn ahead.

        A call of f itself puts the generators back, and draws them again.
        """
        if not self.draws:
            return []
        self.ahead = self.draws.get(key_of(args, kwargs, []), [])
        sources = {id(one.source): one.source for one in self.ahead}
        self.put_back = [source.keeping() for source in sources.values()]
        return [one.numbers() for one in self.ahead]

    def take(self, after: Next, state: Sequence[Any], args: Any, kwargs: Any) -> None:
        """Let the variables hold their values after a call with this state and these arguments."""
        for one, place in zip(self.variables, after.which, strict=True):
            if place is SAME:
                continue
            if place is WRITTEN:
                one.written()
            elif place is UNBOUND:
                one.delete()
            else:
                kind, at = place
                if kind == FRESH:
                    one.write(after.fresh[at])
                elif kind == STATE:
                    one.write(state[at])
                else:
                    one.write(flatten((args, kwargs))[0][at])

    def __call__(self, state: list[Any], drawn: list[Any], args: Any, kwargs: Any) -> Next:
        before = [one.read() for one in self.variables]
        versions = [one.version() for one in self.variables]
        given: list[Any] = []
        for x, now in zip(state, before, strict=True):
            given.append(given[x] if type(x) is int else _as_state(x, now))
        is_own = all(map(is_, before, given))
        self._bind(given)
        recording = RECORDING.get()
        if recording is None:
            self.own += 1
            for put_back in self.put_back:
                put_back()
        else:
            recording.holders = frozenset(id(one.holder) for one in self.variables)
            if self.ahead:
                recording.given = list(zip(self.ahead, drawn, strict=True))
        try:
            start = perf_counter()
            out = self.f(*args, **kwargs)
            self.seconds = perf_counter() - start
            now = [one.read() for one in self.variables]
            counted = [
                one.version() != before
                for one, before in zip(self.variables, versions, strict=True)
            ]
            fresh, which = _sorted(given, now, counted, flatten((args, kwargs))[0])
            if recording is not None:
                recording.require_no_draws_left()
                self._refuse_views(fresh, (given, args, kwargs))
        except BaseException:
            if not is_own:  # else what f has done until then stays
                self._bind(before)
            raise
        self._bind(before)
        return Next(out, fresh, which)

    def _bind(self, values: list[Any]) -> None:
        for one, value in zip(self.variables, values, strict=True):
            if one.read() is not value:
                if value is Missing:
                    one.delete()
                else:
                    one.write(value)

    def _refuse_views(self, fresh: list[Any], given: Any) -> None:
        """Raise if new values share memory with each other, or with what outlives the call."""
        memories = [x.memory for x in flatten(given)[0] if issubclass(type(x), Recorded)]
        known = set(map(id, memories))
        plain: list[Any] = []
        for leaf in flatten(fresh)[0]:
            if issubclass(type(leaf), Recorded) and not leaf.is_number():
                if id(leaf.memory) in known:
                    raise NotRecordableError(_VIEWS)
                known.add(id(leaf.memory))
            elif type(leaf) is np.ndarray:
                if self.shares_memory([leaf]) or any(np.may_share_memory(leaf, x) for x in plain):
                    raise NotRecordableError(_VIEWS)
                plain.append(leaf)


def is_state(value: Any) -> bool:
    """Whether a variable that is given another value can be state of a program: by its value."""
    return not has_more(value) and all(
        issubclass(type(leaf), Recorded) or signature_of([leaf], [])[0] is not None
        for leaf in flatten(value)[0]
    )


def are_of_one_kind(a: Any, b: Any) -> bool:
    """Whether values are numbers of one type, arrays of one shape and dtype, or hold such."""
    kind = type(a)
    if kind is not type(b):
        return False
    if kind is np.ndarray:
        return bool(a.shape == b.shape and a.dtype == b.dtype and not a.dtype.hasobject)
    if kind is int or kind in NUMBERS:
        return True
    (x, structure), (y, other) = flatten(a), flatten(b)
    return structure.kind is not None and structure == other and all(map(are_of_one_kind, x, y))


def _as_argument(value: Any) -> Any:
    """A value outside as an argument, among which integers do not count by value."""
    kind = type(value)
    if kind is int:
        return Changing(value)
    if kind in _LEAVES or kind in CONTAINERS or has_more(value):
        return value
    return tree_map(_leaf_as_argument, value)


def _leaf_as_argument(value: Any) -> Any:
    return Changing(value) if type(value) is int else value


def _as_state(value: Any, now: Any) -> Any:
    """The value of which an argument was made: the one that is there now, if it is the same."""
    kind = type(value)
    if kind is Changing:
        return value.number
    if kind in _LEAVES or value is now:
        return value
    made = tree_map(lambda x: x.number if type(x) is Changing else x, value)
    leaves, others = flatten(made)[0], flatten(now)[0]
    is_now = type(now) is kind and len(leaves) == len(others) and all(map(is_, leaves, others))
    return now if is_now else made


def _sorted(
    given: list[Any], now: list[Any], counted: list[bool], leaves: list[Any]
) -> tuple[list[Any], Any]:
    """The values that nothing held before the call, and where each variable's value is.

    counted: whether writes into the arrays of variables were counted.
    """
    known = {id(x): (ARGUMENT, at) for at, x in enumerate(leaves) if _has_identity(x)}
    known |= {id(x): (STATE, at) for at, x in reversed([*enumerate(given)]) if _has_identity(x)}
    fresh: list[Any] = []
    which: list[Any] = []
    for was, value, is_counted in zip(given, now, counted, strict=True):
        if value is was:
            is_recorded = issubclass(type(value), Recorded)  # else it is counted already
            which.append(WRITTEN if is_counted and is_recorded else SAME)
        elif value is Missing:
            which.append(UNBOUND)
        else:
            place = known.get(id(value))
            if place is None:
                place = FRESH, len(fresh)
                fresh.append(value)
                if _has_identity(value):
                    known[id(value)] = place
            which.append(place)
    return fresh, tuple(which)


def _has_identity(value: Any) -> bool:
    """Whether two variables that hold this object hold one, not equal ones."""
    kind = type(value)
    return issubclass(kind, (Recorded, np.ndarray)) or kind in CONTAINERS


__all__ = ["Functional", "Next", "are_of_one_kind", "is_state"]
