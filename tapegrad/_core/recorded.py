"""Calls that are recorded while a program is made: see `_compile`.

Knows that a recorded value stands for one of NumPy's, and by which of its methods the engine asks
it. Must not know the class of these values, nor how a call is logged.

A recorded run is the definition: the engine does with recorded values what it does with any that
are not NumPy's own arrays. The fast kernels of a rule's calls belong to the program all the same:
a recorded value finds them (`Recorded.pull_rule`).
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, NamedTuple

import numpy as np

from tapegrad._core.entry import NO_PARAMS, Outputs
from tapegrad._core.fit import any_nan, is_finite
from tapegrad._core.values import Mapped, branch_on, in_trace, is_recorded, recorded_in

Function = Callable[..., Any]

# The open recording of this thread or task: what makes arrays recorded ones, or None.
RECORDING: ContextVar[Any] = ContextVar("tapegrad_recording", default=None)
# Those of all threads: where it is empty, which is cheap to see, there is none here.
OPEN: set[Any] = set()


def is_recording() -> bool:
    """Whether calls are recorded here."""
    return bool(OPEN) and RECORDING.get() is not None


def is_careful() -> bool:
    """Whether calls are recorded here that may meet infinities and NaNs."""
    recording = RECORDING.get() if OPEN else None
    return recording is not None and recording.careful


def end_program(why: str) -> None:
    """Make no program of the calls that are recorded here, if any are, for this reason."""
    if is_recording():
        RECORDING.get().recorder.give_up(why)


def refuse_program(why: str) -> bool:
    """`end_program`, nor is the result of these calls that of the function; whether any are."""
    if not is_recording():
        return False
    RECORDING.get().recorder.refuse(why)
    return True


def leave_where(predicate: Callable[[Any], Any], values: Any) -> bool:
    """Whether calls are recorded here; the program is left if the predicate holds of a value."""
    if not is_recording():
        return False
    if any(value is not None and branch_on(predicate, value) for value in values):
        RECORDING.get().recorder.leave()
    return True


def may_be_nan(found: list[Any]) -> bool:
    """Whether results of a replay ask for one that tells structural zeros from others.

    A program that is not careful is given the question whether they are finite here, and at no
    product before.
    """
    if is_recording() and not is_careful() and all(map(_is_none_or_finite, found)):
        return False
    return any_nan(found)


def _is_none_or_finite(bar: Any) -> bool:
    return bar is None or is_finite(bar)


def recorded_too(value: Any) -> Any:
    """Values that meet recorded ones in a replay: themselves, recorded too if calls are."""
    recording = RECORDING.get() if OPEN else None
    if recording is None:
        return value
    return list(map(recording.adopt, value)) if type(value) is list else recording.adopt(value)


def held(value: Any) -> Any:
    """A value as an object holds it: a recorded one has memory."""
    recording = RECORDING.get() if OPEN and is_recorded(value) else None
    return value if recording is None else recording.hold(value)


def entering(holder: Any, attribute: str, value: Any) -> None:
    """Say that an object is about to get a recorded array in the place of a plain one."""
    recorded = recorded_in(value) if OPEN else None
    if recorded is None:
        return
    recording = RECORDING.get()
    if recording is None:  # another thread, which no program starts
        recorded.recorder.refuse("it writes a value in another thread")
    else:
        recording.enter(holder, attribute)


def note_write(holder: Any, array: Any) -> None:
    """Say that the array of an object has been written to."""
    recording = RECORDING.get()
    if recording is not None and type(array) is np.ndarray:
        recording.written.append(weakref.ref(holder))


# -- Calls of rules -------------------------------------------------------------------------------


def pulled(rule: Any, *call: Any) -> Any:
    """`rule.pull(g, out, args, params, wanted)`; of recorded values what a program does for it."""
    found = _recorded_in_call(rule, call) if OPEN else None
    return rule.pull(*call) if found is None else found.pull_rule(rule, *call)


def pushed(rule: Any, *call: Any) -> Any:
    """`rule.push(dots, out, args, params)` likewise."""
    found = _recorded_in_call(rule, call) if OPEN else None
    return rule.push(*call) if found is None else found.push_rule(rule, *call)


def _recorded_in_call(rule: Any, call: tuple[Any, ...]) -> Any:
    """A recorded value in a call of a rule's derivative; None where a transform inside has one."""
    if call[3] is NO_PARAMS:  # products with partials, which are recorded as they are
        return None
    if rule.form == "custom" or type(call[1]) is Outputs or not _is_flat(call[:3]):
        return None
    return recorded_among(call[:3])


def _is_flat(values: Any) -> bool:
    """Whether no value is traced, or of a vmap."""
    return all(
        _is_flat(value)
        if type(value) in (list, tuple)
        else is_recorded(value) or not in_trace(value)
        for value in values
    )


def recorded_among(values: Any) -> Any:
    """A recorded value among some, and among those of lists in them; None if there is none."""
    for value in values:
        if isinstance(value, Mapped):
            if value.records:
                return value
        elif type(value) is list or type(value) is tuple:
            found = recorded_among(value)
            if found is not None:
                return found
    return None


# -- Values that a call keeps --------------------------------------------------------------------

# A parameter `kept` of a rule is an object that a call fills, and its backward pass reads. A
# program has no such objects: there the call returns what it keeps, and the pass is given it.


class _Argument(NamedTuple):
    """Stands for the argument itself: a pass asks whether it is the array that was kept."""

    at: int


class _Value(NamedTuple):
    at: int


def state_of(kept: Any) -> tuple[Any, ...]:
    """Contents of an object that keeps arrays, in the order of its slots."""
    return tuple([getattr(kept, name, None) for name in type(kept).__slots__])


def spread(state: Any, arguments: list[Any]) -> tuple[Any, list[Any]]:
    """Nested tuples with places in the place of arrays, and the arrays that are no arguments."""
    values: list[Any] = []

    def place(part: Any) -> Any:
        if isinstance(part, (tuple, list)):
            return (type(part), [place(inner) for inner in part])
        if part is None:
            return None
        for at, argument in enumerate(arguments):
            if part is argument:
                return _Argument(at)
        values.append(part)
        return _Value(len(values) - 1)

    return place(state), values


def gathered(state: Any, values: Any, arguments: list[Any]) -> Any:
    """Argument of `spread`, made again; arrays that were no arguments are none now."""
    if state is None:
        return None
    if type(state) is _Argument:
        return arguments[state.at]
    if type(state) is _Value:
        value = values[state.at]
        return value.view() if type(value) is np.ndarray else value
    kind, parts = state
    inner = [gathered(part, values, arguments) for part in parts]
    return kind(*inner) if hasattr(kind, "_fields") else kind(inner)


def fill(kept: Any, state: Any, values: Any, arguments: list[Any]) -> None:
    """Give an object that keeps arrays what another one held."""
    for name, value in zip(type(kept).__slots__, gathered(state, values, arguments), strict=True):
        setattr(kept, name, value)


_STATE: ContextVar[Any] = ContextVar("tapegrad_kept_state", default=None)


@functools.cache
def keeping_call(rule: Any) -> Function:
    """A rule's function of arrays and parameters, that also returns what it keeps."""

    def call(*arrays: Any, **params: Any) -> Any:
        kept = params["kept"]()
        out = rule.call(list(arrays), {**params, "kept": kept})
        state, values = spread((out, state_of(kept)), list(arrays))
        _STATE.set(state)
        return tuple(values)

    call.__qualname__ = rule.name
    return call


def call_keeping(recorded: Any, rule: Any, arrays: list[Any], params: dict[str, Any]) -> Any:
    """A call of a rule, some of whose arrays are recorded, with an object that it fills."""
    kept = params["kept"]
    given = {**params, "kept": type(kept)}
    values = recorded.keep(keeping_call(rule), tuple(arrays), given)
    out, state = _STATE.get()[1]
    fill(kept, state, values, arrays)
    return gathered(out, values, arrays)


__all__ = [
    "OPEN",
    "RECORDING",
    "call_keeping",
    "end_program",
    "entering",
    "fill",
    "held",
    "is_careful",
    "is_recording",
    "leave_where",
    "may_be_nan",
    "note_write",
    "pulled",
    "pushed",
    "recorded_among",
    "recorded_too",
    "refuse_program",
    "spread",
    "state_of",
]
