"""How a call with recorded values is logged: its result, or what it wrote into.

Knows which results are views of arguments, and which have a shape that depends on values. Must not
know how NumPy's protocols reach a value, nor single functions.
"""

from __future__ import annotations

import operator
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad._core.recorded import RECORDING
from tapegrad._core.values import Buffer, innermost
from tapegrad._errors import LeakedValueError
from tapegrad._program.functions import (
    SHAPED_BY_VALUES,
    STATIC,
    kinds_of,
    makes_an_array_of_its_own,
    nth,
    out_of,
    shape_is_known,
)
from tapegrad._program.program import CONSTANT, HOLE, Ref, Step, own_copy
from tapegrad._program.recorded import Recorded, is_settled
from tapegrad._program.recorder import Recorder, name_of_function

INTO_PLAIN = "it writes a value into a plain array: make that with np.zeros_like"

# A call as it is logged: the function, arguments with references, keywords likewise.
Logged = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]


def is_ours(values: tuple[Any, ...]) -> bool:
    """Whether no transform inside is to handle the call."""
    found = innermost(values)
    return found is None or issubclass(type(found), Recorded)


# Arguments that hold nothing that is recorded.
_ATOMS = frozenset((int, float, complex, bool, str, type(None), np.ndarray, np.float64, np.dtype))


def raw(value: Any) -> Any:
    """Arguments with the values of what is recorded."""
    kind = type(value)
    if issubclass(kind, Recorded):
        return value._value
    if kind is tuple or kind is list:
        return kind([part if type(part) in _ATOMS else raw(part) for part in value])
    if kind is dict:
        return {key: raw(part) for key, part in value.items()}
    if kind is slice and not is_settled(value):
        return slice(raw(value.start), raw(value.stop), raw(value.step))
    return raw(value.value) if issubclass(kind, Buffer) else value


def referred(value: Any) -> Any:
    """Arguments with references to what is recorded."""
    kind = type(value)
    if issubclass(kind, Recorded):
        return Ref(value.at)
    if kind is tuple or kind is list:
        return kind([part if type(part) in _ATOMS else referred(part) for part in value])
    if kind is dict:
        return {key: referred(part) for key, part in value.items()}
    if kind is slice and not is_settled(value):
        return slice(referred(value.start), referred(value.stop), referred(value.step))
    return referred(value.value) if issubclass(kind, Buffer) else value


def _opened(args: tuple[Any, ...]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Arguments as `raw` and as `referred` give them, in one walk: most are no containers."""
    plain, given = [], []
    for x in args:
        kind = type(x)
        if issubclass(kind, Recorded):
            plain.append(x._value)
            given.append(Ref(x._at if x.seen == x.memory.version else x.at))
        elif kind in _ATOMS:
            plain.append(x)
            given.append(x)
        else:
            plain.append(raw(x))
            given.append(referred(x))
    return tuple(plain), tuple(given)


def called(
    recorder: Recorder, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """The recorded result of a call."""
    if not recorder.open:
        raise LeakedValueError(
            "value from a compiled function used after that returned. Return it from the function."
        )
    plain, given = _opened(args)
    if not kwargs and makes_an_array_of_its_own(function):  # most calls: a short path
        try:
            value = function(*plain)
        except Exception:  # noqa: BLE001 - it is raised again, or left as it is
            value = _tried(recorder, function, plain, kwargs)
        kind = type(value)
        if kind is np.float64 or kind is np.ndarray and not value.dtype.hasobject:
            return Recorded(value, recorder.log(function, given, kwargs, value), recorder)
    else:
        value = _tried(recorder, function, plain, raw(kwargs) if kwargs else kwargs)
    if function in STATIC:
        return value
    kind = type(value)
    if value is None or kind is str:
        recorder.give_up(f"it calls {name_of_function(function)}, which is no function of values")
        return value
    named = referred(kwargs) if kwargs else kwargs
    shaped = _shaped_by_values(function, args)
    if kind is tuple or kind is list or isinstance(value, tuple):
        at = recorder.log(function, given, named, value)
        if shaped:
            recorder.ask(kinds_of, at, kinds_of(value))
        return _parts(recorder, value, at, (function, given, named), args)
    call = (function, given, named)
    if shaped and (kind is np.ndarray or issubclass(kind, np.generic)):
        at = recorder.log(*call, value, shaped=True)
        recorder.ask(kinds_of, at, kinds_of(value))
        for arg in args:
            if issubclass(type(arg), Recorded) and _share(value, arg._value):
                arg.memory.viewed_by = function
                return Recorded(value, at, recorder, arg.memory, arg.steps)
        value = own_copy(value) if kind is np.ndarray else value  # it may be of a constant
        return Recorded(value, at, recorder)
    return _logged(recorder, value, call, call, args)


def _tried(recorder: Recorder, function: Any, args: Any, kwargs: Any) -> Any:
    """The value of a call. One that raises is no node: who catches that takes a branch unseen."""
    try:
        return called_plainly(function, args, kwargs)
    except (TypeError, AttributeError):  # as for all arguments of these kinds
        raise
    except Exception as error:
        if not recorder.trial:
            recorder.raised = True
            recorder.give_up(f"{name_of_function(function)} raises {type(error).__name__} in it")
        raise


def _parts(recorder: Recorder, value: Any, at: int, call: Logged, args: tuple[Any, ...]) -> Any:
    """The results of a call that returns several, some of which may be lists of them."""
    kind: Any = type(value)
    parts: list[Any] = []
    function, given, named = call
    for i, part in enumerate(value):
        of: Logged = (operator.getitem, (Ref(at), i), {})
        again = nth(function, i), given, named
        if part is None:
            parts.append(None)
        elif type(part) is list or type(part) is tuple:
            inner = recorder.log(*of, part)
            parts.append(_parts(recorder, part, inner, again, args))
        else:
            parts.append(_logged(recorder, part, of, again, args))
    return kind(*parts) if hasattr(kind, "_fields") else kind(parts)


def called_plainly(function: Any, args: Any, kwargs: Any) -> Any:
    """Result of a function for plain values, of which nothing is recorded.

    A function of our own may run transforms, which must not make recorded arrays in there. One in
    C runs none.
    """
    if type(function) is types.BuiltinFunctionType:
        return function(*args, **kwargs)
    before = RECORDING.get()
    try:
        RECORDING.set(None)
        return function(*args, **kwargs)
    finally:
        RECORDING.set(before)


def _shaped_by_values(function: Any, args: tuple[Any, ...]) -> bool:
    """Whether the shape of a call's result depends on values."""
    if function is operator.getitem:
        index = args[1]
        parts = index if isinstance(index, tuple) else (index,)
        return any(
            isinstance(part, list)
            or (issubclass(type(part), Recorded) and part.dtype.kind == "b" and part.shape)
            for part in parts
        )
    if function in SHAPED_BY_VALUES:
        return function is not np.where or len(args) == 1
    return not shape_is_known(function)


def _logged(
    recorder: Recorder, value: Any, logged: Logged, call: Logged, args: tuple[Any, ...]
) -> Any:
    """A result as a recorded value; `call` is how a view is taken again."""
    kind = type(value)
    if kind is not np.ndarray:
        if not issubclass(kind, (np.generic, float, complex, int)):
            recorder.give_up(f"it makes a {kind.__name__}")
            return value
        return Recorded(value, recorder.log(*logged, value), recorder)
    if value.dtype.hasobject:
        recorder.give_up("it makes an array of objects")
    if value.base is None and not any(_is_or_leads_to(arg, value) for arg in args):
        return Recorded(value, recorder.log(*logged, value), recorder)
    for position, arg in enumerate(args):
        if issubclass(type(arg), Recorded) and _share(value, arg._value):
            if value is arg._value:
                return arg
            at = recorder.log(*logged, value, shares=arg.at)
            function, given, named = call
            made = tuple([HOLE if i == position else x for i, x in enumerate(given)])
            step = Step(function, recorder.constants(made), recorder.constants(named))
            return Recorded(value, at, recorder, arg.memory, (*arg.steps, step))
    if any(type(arg) is np.ndarray and _share(value, arg) for arg in args):
        at = recorder.log(*logged, value, shares=CONSTANT)
        return Recorded(own_copy(value), at, recorder)  # a write must not change the constant
    return Recorded(value, recorder.log(*logged, value), recorder)


def _is_or_leads_to(arg: Any, value: Any) -> bool:
    arg = arg._value if issubclass(type(arg), Recorded) else arg
    return arg is value or getattr(arg, "base", None) is value


def _share(a: Any, b: Any) -> bool:
    return type(b) is np.ndarray and (a is b or _owner(a) is _owner(b))


def _owner(array: Any) -> Any:
    """The object at the end of a chain of views."""
    while True:
        base = array.base
        if base is None:
            return array
        if type(base) is not np.ndarray:
            inner = getattr(base, "base", None)  # np.lib.stride_tricks puts a holder in between
            if type(inner) is not np.ndarray:
                return base
            base = inner
        array = base


def mutated(
    target: Recorded, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    """A call that writes into an array."""
    recorder = target.recorder
    if type(target._value) is not np.ndarray:
        function(target._value, *raw(args), **raw(kwargs))  # raises, as numbers cannot be written
        return
    memory = target.memory
    if memory.viewed_by is not None:
        name = name_of_function(memory.viewed_by)
        recorder.give_up(f"it writes into memory of which {name} gave a view: copy its result")
    plain, given = _opened(args)
    named = referred(kwargs) if kwargs else kwargs
    whole = Ref(memory.at)
    _tried(recorder, function, (target._value, *plain), raw(kwargs) if kwargs else kwargs)
    steps = target.steps
    memory.at = recorder.log(function, (whole, *given), named, memory.owner, steps)
    memory.version += 1
    if not steps:
        target._at, target.seen = memory.at, memory.version


def with_out(
    recorder: Recorder, function: Any, args: Any, kwargs: Any, out: tuple[Any, ...]
) -> Any:
    """A call with `out=`: it writes into that, or those."""
    if len(out) == 1 and issubclass(type(out[0]), Recorded):
        mutated(out[0], out_of(function), args, kwargs)
        return out[0]
    if any(not issubclass(type(part), Recorded) and part is not None for part in out):
        recorder.give_up(INTO_PLAIN)
        raw_out = raw(out)
        return function(*raw(args), **raw(kwargs), out=raw_out if len(out) > 1 else raw_out[0])
    results = called(recorder, function, args, kwargs)
    delivered = []
    for target, part in zip(out, results, strict=True):
        if target is None:
            delivered.append(part)
            continue
        mutated(target, np.copyto, (part,), {"casting": "same_kind"})
        delivered.append(target)
    return type(results)(delivered)


Recorded.called = staticmethod(called)
Recorded.mutated = staticmethod(mutated)

__all__ = [
    "INTO_PLAIN",
    "called",
    "called_plainly",
    "is_ours",
    "mutated",
    "raw",
    "referred",
    "with_out",
]
