"""Which values a derivative reads, as its parameters tell, and whether these are the right ones.

Knows signatures alone. A parameter whose name starts with an underscore is not read: the tape
keeps only its shape and dtype for the replay.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from tapegrad._core.types import Function
from tapegrad._errors import RuleError


def reads_of(function: Function, skip: int, count: int) -> tuple[list[bool], bool]:
    """Which of `count` array arguments a derivative reads, and whether it reads `out`.

    `skip` parameters (a cotangent, say) come before `out`.
    """
    code = getattr(function, "__code__", None)
    if code is None:
        return [True] * count, True
    names = code.co_varnames[inspect.ismethod(function) : code.co_argcount]
    reads_out = len(names) > skip and not names[skip].startswith("_")
    reads = [not name.startswith("_") for name in names[skip + 1 : skip + 1 + count]]
    rest = True  # whether `*args` are read
    if code.co_flags & inspect.CO_VARARGS:
        rest = not code.co_varnames[code.co_argcount + code.co_kwonlyargcount].startswith("_")
    return reads + [rest] * (count - len(reads)), reads_out


def unwrapped(function: Any) -> Any:
    """The function that a primitive, or a decorator of NumPy's, stands for."""
    while True:
        inner = getattr(function, "__wrapped__", None)
        if inner is None:
            return function
        function = inner


def parameters_of(function: Function) -> list[str] | None:
    """The parameters that a function takes by position; None for any number, or if unknown."""
    code = getattr(function, "__code__", None)
    if code is None or code.co_flags & inspect.CO_VARARGS:
        return None
    return list(code.co_varnames[inspect.ismethod(function) : code.co_argcount])


def require_parameters(
    call: str, rule: Any, before: str, function: Function, count: int, *, alone: bool = False
) -> None:
    """Raise RuleError if a derivative cannot take what it is called with.

    before: the parameters before the arguments of the function, `g, out`. count: how many arrays,
    0 if it is not known. alone: nothing else is passed.
    """
    names = None if rule is None else parameters_of(rule)
    if names is None:
        return
    known = parameters_of(unwrapped(function))
    given = before.split(", ")
    # One that has the function's own parameters behind `g` has no place for `out`.
    misses = len(names) < len(given) + count
    misses = misses or len(given) > 1 and names[len(given) - 1 :] == known
    if misses or alone and positional_count(rule) > len(given) + count:
        arrays = known or [f"x{i}" for i in range(count)]
        wanted = ", ".join([*given, *arrays[: count or None]])
        raise RuleError(
            f"{call}: expected a derivative that takes ({wanted}), got one that takes "
            f"({', '.join(names)}). A name like _{given[-1]} is for what it does not read."
        )


def require_definition(call: str, definition: Function, function: Function) -> None:
    """Raise RuleError if a definition takes fewer arguments than its function, or wants more."""
    function = unwrapped(function)
    own, names = parameters_of(function), parameters_of(definition)
    if own is None or names is None:
        return
    least, most = positional_count(definition), len(names)
    if most < positional_count(function) or least > len(own):
        raise RuleError(
            f"{call}: expected a definition that takes ({', '.join(own)}), as the function, got "
            f"one that takes ({', '.join(names)})."
        )


def positional_count(function: Function) -> int:
    """How many arguments without a default a rule's function takes by position."""
    code = getattr(function, "__code__", None)
    if code is None or code.co_flags & inspect.CO_VARARGS:
        return 3
    own = int(code.co_argcount) - inspect.ismethod(function)
    return own - len(getattr(function, "__defaults__", None) or ())


def of_count(reads: list[bool], count: int) -> list[bool]:
    """Reads of a derivative of a call with another number of arguments, as *args allow."""
    return reads if len(reads) == count else [*reads, *[True] * count][:count]


def either(first: Sequence[bool], second: Sequence[bool]) -> list[bool]:
    return [a or b for a, b in zip(first, second, strict=True)]
