"""Tangents through one entry, of NumPy's own arrays.

Knows the layouts of entries, and call plans. It does what `replay.push_entry` does.
"""

from __future__ import annotations

import operator
from collections.abc import Callable

import numpy as np

from tapegrad._core import replay
from tapegrad._core.entry import MINUS, Entry
from tapegrad._core.fast.call_plans import CallPlan
from tapegrad._core.fast.paths import replaces
from tapegrad._core.fit import multiplied
from tapegrad._core.tape import Tape
from tapegrad._core.types import Slot, Tangent
from tapegrad._core.values import Traced

_NONE_ALONE = {type(None)}
_PLAIN_DOTS = {np.ndarray, np.float64, type(None)}

_by_definition = replay.push_entry


@replaces(replay, "push_entry")
def push_entry(
    entry: Entry,
    dot_of: Callable[[Slot], Tangent],
    tape: Tape | None = None,
    *,
    reuse: bool = False,
) -> Tangent:
    """`replay.push_entry`."""
    slot, rule, out, x, y, x_slot, y_slot = entry
    kind = type(y)
    if tape is not None:
        return _by_definition(entry, dot_of, tape, reuse=reuse)
    if y_slot is not None:
        return _by_partials(entry, dot_of)
    if kind is CallPlan and y.single and y.push is not None:
        dot = None if x_slot[0] == -1 else dot_of(x_slot[0])
        if dot is None:
            return None
        plain = type(dot) is np.ndarray or type(dot) is np.float64
        if plain and not isinstance(x[0], Traced) and not isinstance(out, Traced):
            return y.push(dot, out, x[0])
    elif kind is CallPlan and y.push is not None:
        dots = [None if at == -1 else dot_of(at) for at in x_slot]
        kinds = set(map(type, dots))
        if kinds == _NONE_ALONE:
            return None
        if kinds <= _PLAIN_DOTS and not any(isinstance(part, Traced) for part in (out, *x)):
            return y.push(dots, out, *x)
    return _by_definition(entry, dot_of, reuse=reuse)


def _by_partials(entry: Entry, dot_of: Callable[[Slot], Tangent]) -> Tangent:
    _, rule, out, x, y, x_slot, y_slot = entry
    total = None
    for arg_slot, partial in zip((x_slot, y_slot), rule.partials, strict=False):
        dot = None if arg_slot == -1 else dot_of(arg_slot)
        if dot is None:
            continue
        if partial is MINUS:
            total = -dot if total is None else total - dot
            continue
        if partial is not None:
            dot = multiplied(operator.mul, dot, partial, out, (x,) if rule.unary else (x, y))
        total = dot if total is None else total + dot
    return total


__all__: list[str] = []
