"""How NumPy's protocols, and reads and writes, reach a recorded value.

Knows which functions write into an argument. Must not know how a call is logged.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, cast

import numpy as np

from tapegrad._core.composite import Composite
from tapegrad._core.rule import REGISTRY, rule_of
from tapegrad._program.calls import INTO_PLAIN, called, is_ours, mutated, raw, with_out
from tapegrad._program.functions import (
    CALLING,
    IN_ARGUMENT,
    MUTATORS,
    method_of_ufunc,
    without_writing,
)
from tapegrad._program.own_functions import run_rule
from tapegrad._program.program import alike
from tapegrad._program.recorded import Recorded, RecordedArray, RecordedNumber, settled_index
from tapegrad._program.recorder import Recorder

# Arguments that no transform inside handles.
_OURS = frozenset((RecordedNumber, RecordedArray, int, float, np.ndarray, np.float64))


def array_ufunc(self: Recorded, ufunc: np.ufunc, method: str, /, *args: Any, **kwargs: Any) -> Any:
    if not kwargs and method == "__call__" and _OURS.issuperset(map(type, args)):  # most calls
        return called(self.recorder, ufunc, args, kwargs)
    if not is_ours((*args, *kwargs.values())):
        return NotImplemented
    if method == "at":
        _write(self.recorder, args[0], method_of_ufunc(ufunc, "at"), args[1:], kwargs)
        return None
    function = ufunc if method == "__call__" else method_of_ufunc(ufunc, method)
    out = kwargs.pop("out", None)
    if out is None:
        return called(self.recorder, function, args, kwargs)
    return with_out(self.recorder, function, args, kwargs, out)


def array_function(
    self: Recorded, function: Callable[..., Any], types: Any, args: Any, kwargs: dict[str, Any]
) -> Any:
    if not is_ours((*args, *kwargs.values())):
        return NotImplemented
    if function in MUTATORS:
        position, name = MUTATORS[function]
        target = args[position] if position < len(args) else kwargs[name]
        rest = {key: value for key, value in kwargs.items() if key != name}
        _write(self.recorder, target, function, args[1:] if args else (), rest)
        return None
    if function in IN_ARGUMENT:
        args, kwargs, kept = without_writing(function, args, kwargs)
        if kept is not None and issubclass(type(kept), Recorded) and not kept.is_number():
            made = called(self.recorder, function, args, kwargs)
            mutated(kept, operator.setitem, (..., made), {})
            return kept if kept.shape else kept[()]
    if "like" in kwargs:
        kwargs = {key: value for key, value in kwargs.items() if key != "like"}
    out = kwargs.get("out")
    if out is not None:
        rest = {key: value for key, value in kwargs.items() if key != "out"}
        targets = out if type(out) is tuple else (out,)
        return with_out(self.recorder, function, args, rest, targets)
    if function in CALLING:
        return cast(Composite, REGISTRY[function]).definition(*args, **kwargs)
    rule = rule_of(function)
    if rule is not None and rule.plan is not None:
        found = run_rule(self, rule, *rule.bind(args, kwargs))
        if found is not NotImplemented:
            return found
    return called(self.recorder, function, args, kwargs)


def _write(
    recorder: Recorder, target: Any, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    """A call that writes into its first argument, by this value, or at places of it."""
    if issubclass(type(target), Recorded):
        mutated(target, function, args, kwargs)
    else:
        recorder.give_up(INTO_PLAIN)
        function(raw(target), *raw(args), **raw(kwargs))


def read_part(self: Recorded, index: Any) -> Any:
    return called(self.recorder, operator.getitem, (self, settled_index(index)), {})


def write_part(self: Recorded, index: Any, value: Any) -> None:
    if (
        issubclass(type(value), Recorded)
        and value.memory is self.memory
        and len(value.steps) == (len(self.steps) + 1)
    ):
        last = value.steps[-1]  # x[i] += v ends by x[i] = x[i]
        if last.function is operator.getitem and alike(last.args[1], settled_index(index)):
            return
    mutated(self, operator.setitem, (settled_index(index), value), {})


Recorded.__array_ufunc__ = array_ufunc
Recorded.__array_function__ = array_function
Recorded.__getitem__ = read_part
Recorded.__setitem__ = write_part

__all__ = ["array_function", "array_ufunc", "read_part", "write_part"]
