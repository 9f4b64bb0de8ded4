"""A recording, by which the engine makes recorded arrays, and objects hold them.

Knows objects by the attribute that holds their array, and where recorded values get their methods.
Must not know how a call is logged.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Generator
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from tapegrad._block import Block, setting
from tapegrad._core.recorded import OPEN, RECORDING
from tapegrad._core.tape import RUNNING
from tapegrad._program import operators, own_functions, protocols
from tapegrad._program.calls import called
from tapegrad._program.program import alike, own_copy
from tapegrad._program.recorded import Recorded
from tapegrad._program.recorder import NotRecordableError, Recorder

assert operators, "recorded values get their operators and methods by importing these"
assert own_functions
assert protocols


def adopted(value: Any, recorder: Recorder) -> Any:
    """A plain array, or number of NumPy's, as one whose calls are recorded: a copy."""
    kind = type(value)
    if kind is not np.ndarray and not issubclass(kind, np.number):
        return value
    function: Any = own_copy if kind is np.ndarray else kind
    copy = function(value)
    return Recorded(copy, recorder.log(function, (value,), {}, copy), recorder)


_OUTSIDE = "it writes into a tensor that is no argument, as into a buffer of a module: pass it"


_OTHER_DRAWS = "it draws other random numbers in other calls"


class Source(Protocol):
    """Interface of a random generator that can be put back."""

    @property
    def numpy(self) -> Any: ...
    def keeping(self) -> Callable[[], None]: ...


class Draw(NamedTuple):
    """A call of a method of a generator's."""

    source: Source
    method: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def numbers(self) -> Any:
        """The numbers that are drawn now."""
        return getattr(self.source.numpy, self.method)(*self.args, **self.kwargs)


class Recording(Block[Any]):
    """A recording, by which the engine makes recorded arrays: see `_core/recorded.py`.

    It is open within `with recording:`, and what happens there is recorded.
    """

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.careful = recorder.careful
        self.objects = False  # whether there are objects that hold recorded arrays
        self.entered: list[tuple[Any, str, Any]] = []  # see `enter`
        self.draws: list[Draw] = []  # of random numbers, that were made
        self.put_back_draws: dict[int, Any] = {}  # the generators, and how each is put back
        self.given: list[tuple[Draw, Any]] | None = None  # draws that were made ahead
        self.written: list[Any] = []  # references to objects whose plain arrays were written to
        self.holders: frozenset[int] = frozenset()  # of state, by id
        self.is_lean = False  # whether of objects is looked at what most functions read alone
        self.asked = False  # whether the run asked for the rest

    def _opened(self) -> Generator[Self]:
        RUNNING.append(None)
        try:
            OPEN.add(self)
            with setting(RECORDING, self):
                yield self
        finally:
            self.recorder.open = False
            OPEN.discard(self)
            RUNNING.pop()

    def draw(self, source: Source, method: str, args: Any, kwargs: Any) -> Any:
        """Numbers that a generator draws; those drawn ahead, if the run is given them."""
        made = Draw(source, method, args, kwargs)
        if self.given is not None:
            if not self.given or not alike(tuple(self.given[0][0]), tuple(made)):
                raise NotRecordableError(_OTHER_DRAWS)
            return self.given.pop(0)[1]
        if id(source) not in self.put_back_draws:
            self.put_back_draws[id(source)] = source, source.keeping()
        self.draws.append(made)
        return made.numbers()

    def require_no_draws_left(self) -> None:
        """Raise if a run has made less draws than it was given."""
        if self.given:
            raise NotRecordableError(_OTHER_DRAWS)

    def reads_all(self) -> None:
        """Raise if the run asks for what is not looked at."""
        if self.is_lean:
            self.asked = True
            raise NotRecordableError("it reads or writes gradients")

    def hold(self, value: Recorded) -> Recorded:
        """A value as an object holds it: an array, which can be written to."""
        self.objects = True
        return called(self.recorder, np.asarray, (value,), {}) if value.is_number() else value

    def enter(self, holder: Any, name: str) -> None:
        """Note that an object is about to get a recorded array in the place of a plain one."""
        self.entered.append((weakref.ref(holder), name, getattr(holder, name)))

    def put_back(self, results: list[Any], *, again: bool) -> None:
        """Give the objects that are left their arrays back, with what has been written there.

        But for the results. `again`: the function will be called again, and write itself.
        """
        kept = {id(None), *map(id, results)}
        if any(id(reference()) not in kept for reference in self.written):
            self.recorder.give_up(_OUTSIDE)
        entered, self.entered = self.entered, []
        for reference, name, array in entered:
            holder = reference()
            if holder is None or id(holder) in kept:
                continue
            value = getattr(holder, name)
            if issubclass(type(value), Recorded):
                if not again:
                    np.copyto(array, value._value)
                setattr(holder, name, array)
                self.recorder.give_up(_OUTSIDE)

    def adopt(self, value: Any) -> Any:
        """A plain array, or number of NumPy's, as one whose calls are recorded: a copy."""
        return adopted(value, self.recorder)


__all__ = ["Draw", "Recording", "Source", "adopted"]
