"""Which values a derivative reads, as the names of its parameters tell.

Knows signatures alone. A parameter whose name starts with an underscore is not read: the tape
keeps only its shape and dtype for the replay.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence

from tapegrad._core.types import Function


def reads_of(function: Function, skip: int, count: int) -> tuple[list[bool], bool]:
    """Which of `count` array arguments a derivative reads, and whether it reads `out`.

    `skip` parameters (a cotangent, say) come before `out`.
    """
    code = getattr(function, "__code__", None)
    if code is None:
        return [True] * count, True
    names = code.co_varnames[: code.co_argcount]
    reads_out = len(names) > skip and not names[skip].startswith("_")
    reads = [not name.startswith("_") for name in names[skip + 1 : skip + 1 + count]]
    return reads + [True] * (count - len(reads)), reads_out


def positional_count(function: Function) -> int:
    """How many arguments without a default a rule's function takes by position."""
    code = getattr(function, "__code__", None)
    if code is None or code.co_flags & inspect.CO_VARARGS:
        return 3
    return int(code.co_argcount) - len(getattr(function, "__defaults__", None) or ())


def of_count(reads: list[bool], count: int) -> list[bool]:
    """What a derivative reads of a call with another number of arguments, as *args allow."""
    return reads if len(reads) == count else [*reads, *[True] * count][:count]


def either(first: Sequence[bool], second: Sequence[bool]) -> list[bool]:
    return [a or b for a, b in zip(first, second, strict=True)]
