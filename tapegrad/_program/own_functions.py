"""Functions of our own that are called with recorded values: call by call, or as one call.

Knows that such a function may do with plain arrays what it does with no others. Must not know how
a call is logged.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad._core.recorded import as_recorded, call_keeping
from tapegrad._core.values import Buffer, Mapped, Traced
from tapegrad._program.calls import called, called_plainly, raw
from tapegrad._program.functions import bound_call, definition_of
from tapegrad._program.program import alike
from tapegrad._program.recorded import Recorded
from tapegrad._program.recorder import NotRecordableError, Recorder


def call_rule(self: Recorded, rule: Any, arrays: list[Any], params: dict[str, Any]) -> Any:
    """Call a rule's function on bound arguments, some of which are recorded."""
    if rule.sequence:
        return rule.call(arrays, params)
    if params.get("kept") is not None:
        return call_keeping(self, rule, arrays, params)
    definition = definition_of(rule)
    if definition is not None:
        return by(self.recorder, definition, (tuple(arrays), params), exact=True)
    return called(self.recorder, bound_call(rule), tuple(map(_as_array, arrays)), params)


def _as_array(x: Any) -> Any:
    """An object that is an array to NumPy as that array: each run may make another object."""
    kind = type(x)
    if kind.__module__ in ("numpy", "builtins") or isinstance(x, (Traced, Mapped, Buffer)):
        return x
    asks = hasattr(kind, "__array_ufunc__") or hasattr(kind, "__array_function__")
    return np.array(x) if hasattr(kind, "__array__") and not asks else x


def by_value(self: Recorded, function: Callable[..., Any], *args: Any) -> Any:
    """What a function of plain arrays gives: see `by`."""
    return by(self.recorder, function, args)


def by_one(self: Recorded, function: Callable[..., Any], *args: Any) -> Any:
    """What a function of plain arrays gives, as one call of the program."""
    if self.recorder.unfit is None and not _is_recordable(function(*raw(args))):
        return function(*args)
    return called(self.recorder, function, args, {})


def by(
    recorder: Recorder,
    function: Callable[..., Any],
    args: tuple[Any, ...],
    *,
    exact: bool = False,
) -> Any:
    """What a function of plain arrays gives, bit by bit.

    It is a function of our own, as of a settled call, and may do with plain arrays what it does
    with no others. So it runs with the plain arrays, and then with the recorded ones: if that
    gives the same, and asks for no value, the calls that it made are the program; or else those of
    the same code as it runs for recorded values. Else it is one call of the program itself.
    `exact`: it may give the same by chance, and the first of these do not count.
    """
    if recorder.unfit is None and function not in recorder.opaque:
        expected = called_plainly(function, raw(args), {})
        if not _is_recordable(expected):
            return function(*args)
        again = False  # whether it only did something else than in the run before
        same = as_recorded(function)
        for attempt in (same,) if exact or function in recorder.asking else (function, same):
            before, within = recorder.mark(), recorder.trial  # perhaps of another such function
            recorder.trial = True
            try:
                found = attempt(*args)
            except NotRecordableError as error:
                found, again = NotImplemented, again or error.args[-1] is True
            except Exception:  # noqa: BLE001 - it is not made for such arrays
                found = NotImplemented
            finally:
                recorder.trial = within
            if _are_same(found, expected):
                return found
            recorder.roll_back(before)
            recorder.asking.add(function)
        if not again:
            recorder.opaque.add(function)
    return called(recorder, function, args, {})


def _is_recordable(value: Any) -> bool:
    """Whether what a function gives is arrays and numbers, or lists of them."""
    if isinstance(value, (tuple, list)):
        return all(map(_is_recordable, value))
    return value is None or isinstance(value, (np.ndarray, np.generic, float, complex, int))


def _are_same(found: Any, expected: Any) -> bool:
    """Whether recorded results are those that were expected, in class and bits."""
    if isinstance(expected, (tuple, list)):
        return (
            isinstance(found, (tuple, list))
            and len(found) == len(expected)
            and all(map(_are_same, found, expected))
        )
    return alike(found._value if issubclass(type(found), Recorded) else found, expected)


Recorded.call_rule = call_rule
Recorded.by = by_value
Recorded.by_one = by_one

__all__ = ["by", "by_one", "call_rule"]
