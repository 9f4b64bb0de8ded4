"""Text on the calls of a compiled function: their programs and back ends, or why there are none.

Knows what is known of calls. Must not know how a call is recorded, nor how a program runs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np

from tapegrad._compile.signatures import Changing
from tapegrad._tree import unflatten


def explanation(calls: Any) -> str:
    """One line for each program, and for what runs as the function itself."""
    if calls.functional is not None and not calls.eager:
        return explanation(calls.functional)
    lines = [f"{calls.whole.name}, backend {calls.backend!r}"]
    if calls.eager:
        return "\n".join([*lines, f"all calls are the function's own: {_why_eager(calls)}"])
    for (structure, signature, outside, _), program in list(calls.programs.items()):
        if outside == calls.surroundings.changes:
            lines.append(f"{_shown(calls, structure, signature)}: {_state(calls, program)}")
    old = sum(key[2] != calls.surroundings.changes for key in list(calls.programs))
    if old:
        lines.append(f"{_count(old, 'program')} of what was outside before it changed")
    if calls.worth.waiting:
        lines.append(
            f"{_count(len(calls.worth.waiting), 'further signature')} that came less than "
            f"{calls.worth.wait + 1} times: the function's own"
        )
    if len(lines) == 1:
        lines.append("not called yet, or with values that no program takes")
    return "\n".join(lines)


def summary(calls: Any) -> str:
    """A few words on the programs that run; none before that is known."""
    if calls.functional is not None and not calls.eager:
        return summary(calls.functional)
    if calls.eager:
        return "the function itself"
    current = [x for x in list(calls.programs.values()) if x.outside == calls.surroundings.changes]
    counts = Counter(_kind(calls, program) for program in current)
    return ", ".join(f"{n} {kind}" for kind, n in counts.items())


def _why_eager(calls: Any) -> str:
    return "as backend='eager' says" if calls.backend == "eager" else str(calls.why)


def _kind(calls: Any, program: Any) -> str:
    if program.eager or program.key in calls.worth.own:
        return "as the function itself"
    if program.runner is None:
        return "recorded"
    return "by machine code" if program.is_native else "by NumPy"


def _state(calls: Any, program: Any) -> str:
    why = program.why if program.eager else calls.worth.own.get(program.key)
    if why is not None:
        return f"the function's own, as {why}"
    if program.runner is None:
        return "recorded; a program after one more call that does the same"
    ways = f"{_count(program.paths, 'way')}, " if program.paths > 1 else ""
    weighed = "" if program.trial is None else "; a few calls are timed"
    return f"{ways}{program.runner.status}{weighed}"


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}{'s' if n != 1 else ''}"


class _Text:
    """Stands in arguments for a leaf."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def _shown(calls: Any, structure: Any, signature: Iterable[Any]) -> str:
    """Arguments of a signature: of arrays the dtypes and shapes; and of the state."""
    args, kwargs = unflatten(structure, [_Text(_leaf(part)) for part in signature])
    state = ""
    if calls.whole is not calls:
        held, drawn, args, kwargs = args
        state = f" with the state ({', '.join(map(repr, held))})" if held else ""
        state += f" and the random numbers ({', '.join(map(repr, drawn))})" if drawn else ""
    named = [f"{name}={value!r}" for name, value in kwargs.items()]
    return f"({', '.join([*map(repr, args), *named])}){state}"


def _leaf(part: Any) -> str:
    if isinstance(part, type):
        return "int" if part is Changing else part.__name__
    if len(part) == 2:
        return repr(part[1])  # it counts by value
    shape, dtype, *_ = part
    return f"{np.dtype(dtype).name}[{','.join(map(str, shape))}]"


__all__ = ["explanation", "summary"]
