"""The engine's functions as they run for values whose calls are recorded: see `_compile`.

Knows that such a value stands for one of NumPy's, and tells what it stands for. Must not know the
class of these values, nor how a call is recorded.

The engine does with NumPy's own arrays what it does with no others: it adds in place, it settles
calls. A program must do the same, or its last bits differ. So where a replay meets recorded
values, the same code runs with another `type`, which answers with the class of the value that was
recorded, and with a NumPy whose new arrays are recorded. No path is written twice for that, and
an ordinary run asks for none of it.
"""

from __future__ import annotations

import contextlib
import functools
import math
import threading
import types
import weakref
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, NamedTuple

import numpy as np

from tapegrad._core.entry import Outputs
from tapegrad._core.quiet import NOTICED, Asked
from tapegrad._core.scatter import selects_once
from tapegrad._core.settled import Settled, SettledAll
from tapegrad._core.values import PLAIN_PARTS, Mapped, decide, in_trace, is_recorded, recorded_in

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


def is_suspicious() -> bool:
    """Whether they are recorded as if an infinity or NaN had been noticed at any time."""
    recording = RECORDING.get() if OPEN else None
    return recording is not None and recording.suspicious


def leave_program() -> None:
    """Say that this call needs what no program does: it runs as the function is written."""
    RECORDING.get().recorder.leave()


def recorded_too(value: Any) -> Any:
    """Values that meet recorded ones in a replay: themselves, recorded too if calls are."""
    recording = RECORDING.get() if OPEN else None
    if recording is None:
        return value
    return list(map(recording.adopt, value)) if type(value) is list else recording.adopt(value)


def held(value: Any) -> Any:
    """A recorded value as an object holds it, which has memory."""
    recording = RECORDING.get()
    return value if recording is None else recording.hold(value)


def entering(holder: Any, attribute: str, value: Any) -> None:
    """Say that an object is about to get a recorded array in the place of a plain one."""
    if OPEN and recorded_in(value) is not None:
        RECORDING.get().enter(holder, attribute)


def note_write(holder: Any) -> None:
    """Say that an object's plain array has been written to."""
    recording = RECORDING.get()
    if recording is not None:
        recording.written.append(weakref.ref(holder))


# -- The same code -------------------------------------------------------------------------------


def class_of(value: Any) -> type:
    """The class of a value, or that of the value that a recorded one stands for."""
    return type(value._value) if is_recorded(value) else type(value)


class _Names(dict[str, Any]):
    """The names that a function sees, where `type` is `class_of`: filled as it looks them up."""

    def __init__(self, names: dict[str, Any]) -> None:
        super().__init__(
            type=class_of, __builtins__=names["__builtins__"], __name__=names["__name__"]
        )
        self.names = names

    def __missing__(self, name: str) -> Any:
        self[name] = found = _seen(self.names[name])
        return found


# Where values are looked at: these know recorded ones, and record the question.
_ASKING = frozenset(
    (
        "tapegrad._core.alone",
        "tapegrad._core.fit",
        "tapegrad._core.quiet",
        "tapegrad._core.values",
        __name__,
    )
)
_NAMES: dict[int, _Names] = {}  # by the names of the module
# A copy is an attribute of its function: it holds the function, and no table is to hold both.
_COPY = "as_recorded"
_UNFINISHED: dict[Any, Any] = {}  # copies by their functions, of those that are being made
_LOCK = threading.RLock()


def _selects_once(index: Any) -> bool:
    """`selects_once`, which looks at the values of an array in the index."""
    if type(index) is tuple:
        arrays = [part for part in index if class_of(part) is np.ndarray]
        others = {class_of(part) for part in index} - {np.ndarray}
        if len(arrays) == 1 and PLAIN_PARTS.issuperset(others):
            (index,) = arrays
    return bool(decide(selects_once, index))


def pulled(rule: Any, *call: Any) -> Any:
    """`rule.pull(g, out, args, params, wanted)`."""
    return rule.pull(*call)


def pushed(rule: Any, *call: Any) -> Any:
    """`rule.push(dots, out, args, params)`."""
    return rule.push(*call)


def _pulled(rule: Any, *call: Any) -> Any:
    """`pulled` for recorded values, with the bits that a rule gives for plain ones."""
    return _by_rule(rule, "pull", call)


def _pushed(rule: Any, *call: Any) -> Any:
    """`pushed` likewise."""
    return _by_rule(rule, "push", call)


def _by_rule(rule: Any, name: str, call: tuple[Any, ...]) -> Any:
    found = None
    if rule.form != "custom" and type(call[1]) is not Outputs and _is_flat(call[:3]):
        found = recorded_among(call[:3])
    if found is None:
        return getattr(rule, name)(*call)
    kept = call[3].get("kept")
    by = found.by_one if _asks_for_classes(rule) else found.by
    if kept is None:
        return by(_way_of(rule, name), *call)
    state, values = spread(state_of(kept), [call[0], call[1], *call[2]])
    rest = (*call[:3], {**call[3], "kept": type(kept)}, *call[4:])
    return by(_way_of_kept(rule, name), state, tuple(values), *rest)


@functools.cache
def _asks_for_classes(rule: Any) -> bool:
    """Whether a rule may compute with plain arrays otherwise than with others.

    Then the calls that it makes with others may round otherwise, though not in the run at hand.
    Those of writes (`torch._tensor`) only move elements.
    """
    modules = (type(rule).__module__, getattr(rule.function, "__module__", None) or "")
    return any(
        module.startswith("tapegrad.torch.") and not module.startswith("tapegrad.torch._tensor.")
        for module in modules
    )


def _is_flat(values: Any) -> bool:
    """Whether no value is traced, or of a vmap."""
    return all(
        _is_flat(value)
        if type(value) in (list, tuple)
        else is_recorded(value) or not in_trace(value)
        for value in values
    )


@functools.cache
def _way_of(rule: Any, name: str) -> Function:
    """A method of a rule as one object, by which it is known when it is called again."""

    def way(*call: Any) -> Any:
        return getattr(rule, name)(*call)

    way.__qualname__ = f"{rule.name}.{name}"
    return way


@functools.cache
def _way_of_kept(rule: Any, name: str) -> Function:
    """`_way_of`, where what a call has kept is among the arguments."""

    def way(state: Any, values: Any, g: Any, out: Any, args: Any, params: Any, *rest: Any) -> Any:
        kept = params["kept"]()
        fill(kept, state, values, [g, out, *args])
        return getattr(rule, name)(g, out, args, {**params, "kept": kept}, *rest)

    way.__qualname__ = f"{rule.name}.{name}"
    return way


# -- What a call keeps ---------------------------------------------------------------------------

# A parameter `kept` of a rule is an object that a call fills, and its backward pass reads. A
# program has no such objects: there the call returns what it keeps, and the pass is given it.


class _Argument(NamedTuple):
    """Stands for the argument itself: a pass asks whether it is the array that was kept."""

    at: int


class _Value(NamedTuple):
    at: int


def state_of(kept: Any) -> tuple[Any, ...]:
    """What an object that keeps arrays holds, in the order of its slots."""
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
    """What `spread` was given; arrays that were no arguments are none now."""
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


_INSTEAD: dict[Any, Any] = {selects_once: _selects_once, pulled: _pulled, pushed: _pushed}


def _seen(value: Any) -> Any:
    """What a function for recorded values sees in place of a value."""
    if type(value) is types.FunctionType:
        if value in _INSTEAD:
            return _INSTEAD[value]
        module = value.__module__ or ""
        ours = module.startswith("tapegrad.") and module not in _ASKING
        return as_recorded(value) if ours else value
    if value is np:
        return _NUMPY
    if value is math:
        return _MATH
    if value is NOTICED:
        return _NOTICED
    method = type(value) is types.BuiltinMethodType and type(value.__self__) is np.ndarray
    if method and value.__name__ == "dot":
        return functools.partial(np.dot, value.__self__)  # which asks the other array
    return value


def as_recorded(function: Any) -> Any:
    """A function of the engine as it runs for recorded values."""
    if type(function) is not types.FunctionType:
        return function
    made = vars(function).get(_COPY)
    if made is None or made.__wrapped__ is not function:  # `functools.wraps` copies attributes
        with _LOCK:
            outermost = not _UNFINISHED
            made = _UNFINISHED.get(function) or _remade(function)
            if outermost:  # no thread gets a function before those in its closure are made
                for each, copy in _UNFINISHED.items():
                    vars(each)[_COPY] = copy
                _UNFINISHED.clear()
    return made


def _remade(function: Any) -> Any:
    """A copy of a function that sees other names."""
    names = function.__globals__
    if id(names) not in _NAMES:
        _NAMES[id(names)] = _Names(names)
    cells = [types.CellType() for _ in function.__closure__ or ()]
    made = types.FunctionType(
        function.__code__.replace(),  # a copy: the interpreter adapts code to what it meets
        _NAMES[id(names)],
        function.__name__,
        function.__defaults__,
        tuple(cells),
    )
    made.__kwdefaults__ = function.__kwdefaults__
    made.__wrapped__ = function  # type: ignore[attr-defined]
    _UNFINISHED[function] = made  # it may call itself
    for cell, of in zip(cells, function.__closure__ or (), strict=True):
        with contextlib.suppress(ValueError):  # a cell that is empty yet
            cell.cell_contents = _seen(of.cell_contents)
    return made


# NumPy's functions that make arrays without asking their arguments.
_MAKING = frozenset(
    ("array", "asarray", "ascontiguousarray", "empty", "frombuffer", "full", "ones", "zeros")
)


class _NumPy:
    """NumPy, whose new arrays are recorded."""

    def __getattr__(self, name: str) -> Any:
        found = getattr(np, name)
        if name in _MAKING:
            found = functools.partial(_made, found)
        setattr(self, name, found)  # nobody asks here again
        return found


class _Math:
    """`math`, whose questions about a recorded number have two answers, not a number's value."""

    def __getattr__(self, name: str) -> Any:
        found = getattr(math, name)
        found = functools.partial(decide, found) if name in ("isfinite", "isnan") else found
        setattr(self, name, found)
        return found


class _Noticed(Asked):
    """What NumPy has noticed: in other calls of the same program it may be something else."""

    def __bool__(self) -> bool:
        return bool(NOTICED) or is_careful()


_NOTICED = _Noticed()
_NUMPY = _NumPy()
_MATH = _Math()


def _made(function: Function, *args: Any, **kwargs: Any) -> Any:
    return RECORDING.get().made(function, *args, **kwargs)


# -- Settled calls -------------------------------------------------------------------------------


def recorded_ways(settled: Any) -> Any:
    """A settled call whose ways take recorded values: see `by`."""
    made = getattr(settled, "recorded", None)
    if made is None:
        made = type(settled)(settled)
        for name in _SLOTS[type(settled)]:
            value = getattr(settled, name, None)
            setattr(made, name, _through(value) if name in _WAYS and value is not None else value)
        if getattr(settled, "add", None) is not None:
            made.add = _adding(settled.add)
        made.recorded = made
        settled.recorded = made
    return made


def recorded_entry(entry: Any) -> Any:
    """An entry whose settled call takes recorded values, too."""
    params = entry[4]
    return (*entry[:4], recorded_ways(params), *entry[5:]) if type(params) in _SLOTS else entry


def replay_of(replay: Any, entries: list[Any]) -> tuple[Any, list[Any]]:
    """A replay of entries, and these: as they are, or for recorded values."""
    if not is_recording():
        return replay, entries
    return as_recorded(replay), list(map(recorded_entry, entries))


def run_recorded(settled: Any, arrays: list[Any]) -> Any:
    """The result of a settled call of arrays, some of which may be recorded."""
    found = recorded_among(arrays)
    return settled.run(*arrays) if found is None else found.by(settled.run, *arrays)


_SLOTS: dict[Any, tuple[str, ...]] = {
    Settled: Settled.__slots__,
    SettledAll: SettledAll.__slots__,
}
_WAYS = frozenset(("keep", "pull", "push", "run", "strong"))


def _through(function: Function) -> Function:
    def call(*args: Any) -> Any:
        found = recorded_among(args)
        return function(*args) if found is None else found.by(function, *args)

    return call


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


def _adding(add: Function) -> Function:
    """`add` of a settled call, which writes into its first argument, by one that returns it."""

    def added(before: Any, g: Any) -> Any:
        before = np.copy(before)
        add(before, g)
        return before

    def call(before: Any, g: Any) -> None:
        if is_recorded(before):
            before[...] = before.by(added, before, g)
        else:
            add(before, g)

    return call


__all__ = [
    "OPEN",
    "RECORDING",
    "as_recorded",
    "call_keeping",
    "class_of",
    "entering",
    "held",
    "is_careful",
    "is_recording",
    "is_suspicious",
    "leave_program",
    "note_write",
    "pulled",
    "pushed",
    "recorded_among",
    "recorded_entry",
    "recorded_too",
    "recorded_ways",
    "replay_of",
    "run_recorded",
]
