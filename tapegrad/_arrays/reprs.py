"""The repr of a value in a trace: its elements, and by what it is traced or batched.

Knows tapes and calls of vmap by their names. Must not know the classes of their values.

    Array([1., 2.], float64, traced by grad(loss))
    Array(2., float64, traced by grad(inner) in grad(outer))
    Batched([[1., 2.], [3., 4.]], float64, 2 examples of vmap(f), traced by grad(loss))
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad._core.tape import Tape
from tapegrad._core.values import Mapped, Traced, printed, shown_value


def described(name: str, value: Any) -> str:
    """The repr of a value in a trace, of a class of that name."""
    elements = np.asarray(printed(shown_value(value)))
    shown = np.array2string(elements, separator=", ", prefix=f"{name}(")
    return f"{name}({', '.join([shown, str(value.dtype), *origins(value)])})"


def origins(value: Any) -> list[str]:
    """By what a value is traced or batched, the innermost transform first."""
    found = []
    while isinstance(value, (Traced, Mapped)):
        if isinstance(value, Traced):
            found.append(_of_tape(value.tape, value.slot))
        elif value.records:
            found.append("recorded by compile")
            break
        else:
            level = value.vmap_level
            of = "of" if level.open else "left over from"
            found.append(f"{level.size} examples {of} {level.name}")
        value = value._value
    return found


def _of_tape(tape: Any, slot: Any) -> str:
    names = []
    inner = tape
    while inner is not None:
        names.append(inner.name)
        inner = inner.parent
    call = " in ".join(names)
    if isinstance(tape, Tape) and tape.is_closed():
        return f"left over from {call}"
    # A slot of -1: no derivative depends on the value.
    return f"constant in {call}" if type(slot) is int and slot == -1 else f"traced by {call}"


__all__ = ["described", "origins"]
