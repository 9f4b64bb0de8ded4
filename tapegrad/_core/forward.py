"""Replays forward: tangents go through entries, one at a time or a whole recording at once.

Knows the layouts of entries, and what a replay asks of a rule (`ReplayedRule`). Must not know
which functions exist, or what a transform is.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from tapegrad._core.call_plans import CallPlan, CallPlanAll
from tapegrad._core.entry import (
    ADD,
    MINUS,
    PROJECT,
    READ,
    WRITE,
    Entry,
    Outputs,
    parents_of,
    wrap_kept,
    written_slot,
)
from tapegrad._core.fit import fit_tangent, multiplied
from tapegrad._core.recorded import pushed
from tapegrad._core.scatter import add_at, zeros_at_level_of
from tapegrad._core.tape import Tape
from tapegrad._core.types import Index, Slot, Tangent, Value
from tapegrad._core.values import (
    Traced,
    getitem,
    lift_to_level_of,
    lift_to_level_of_index,
    writable,
)


def push(
    entry: Entry,
    dot_of: Callable[[Slot], Tangent],
    *,
    reuse: bool = False,
) -> Tangent:
    """The tangent of an entry's result from those of its arguments; None if no argument has one.

    `dot_of(slot)` is the tangent at a slot, or None. `reuse` says of a write that nothing else
    uses the array that is written to, nor its tangent, so that the tangent is written to in place.
    """
    slot, rule, out, x, y, x_slot, y_slot = entry
    if y_slot is None:
        return _push_general(entry, dot_of, reuse)
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


_NONE_ALONE = {type(None)}
_PLAIN_DOTS = {np.ndarray, np.float64, type(None)}


def _push_general(entry: Entry, dot_of: Callable[[Slot], Tangent], reuse: bool) -> Tangent:
    slot, rule, out, args, params, slots, _ = entry
    if type(params) is CallPlan and params.push is not None:
        (x,), (at,) = args, slots
        dot = None if at == -1 else dot_of(at)
        if dot is None:
            return None
        kind = type(dot)
        if (
            (kind is np.ndarray or kind is np.float64)
            and not isinstance(x, Traced)
            and not isinstance(out, Traced)
        ):
            return params.push(dot, out, x)
    if type(params) is CallPlanAll and params.push is not None:
        x_dots = [None if at == -1 else dot_of(at) for at in slots]
        kinds = set(map(type, x_dots))
        if kinds == _NONE_ALONE:
            return None
        if kinds <= _PLAIN_DOTS and not any(isinstance(part, Traced) for part in (out, *args)):
            return params.push(x_dots, out, *args)
    if rule is PROJECT:
        dots = dot_of(slots)
        return None if dots is None else dots[args]
    if rule is READ:
        x_dot = None if slots == -1 else dot_of(slots)
        return None if x_dot is None else getitem(x_dot, params)
    x_dots = [None if at == -1 else dot_of(at) for at in slots]
    if all(dot is None for dot in x_dots):
        return None
    if rule is WRITE:
        return _push_write(args[0], params, *x_dots, reuse=reuse)
    if rule is ADD:
        return _push_add(args[0], params, *x_dots, reuse=reuse)
    if len(args) > len(slots):  # what a planned call keeps besides
        args = args[: len(slots)]
    out_dot = pushed(rule, x_dots, out, args, params)
    if isinstance(out, Outputs):
        return [
            None if part is None or at == -1 else fit_tangent(part, like, rule)
            for part, like, at in zip(out_dot, out, out.slots, strict=True)
        ]
    return fit_tangent(out_dot, out, rule)


def _push_write(x: Value, index: Index, x_dot: Tangent, v_dot: Tangent, *, reuse: bool) -> Tangent:
    if x_dot is None:
        out_dot = zeros_at_level_of(v_dot, x)
    else:
        out_dot = x_dot if reuse and x.shape else writable(x_dot.copy())
    out_dot = lift_to_level_of_index(lift_to_level_of(out_dot, v_dot), index)
    out_dot[index] = 0 if v_dot is None else v_dot
    return out_dot


def _push_add(x: Value, index: Index, x_dot: Tangent, v_dot: Tangent, *, reuse: bool) -> Tangent:
    if x_dot is None:
        return _push_write(x, index, None, v_dot, reuse=reuse)
    out_dot = x_dot if reuse else x_dot.copy()
    return out_dot if v_dot is None else add_at(out_dot, index, v_dot)


Step = tuple[Entry, Sequence[Any], bool]


def live_steps(
    entries: Sequence[Entry], inputs: Iterable[Slot], outputs: Iterable[Slot]
) -> list[Step]:
    """The entries that the outputs depend on, as (entry, ended slots, reuse).

    No later entry reads an ended slot. `reuse` holds for a write into an array that comes from
    another write and is read nowhere else: its tangent can become the result's.
    """
    needed = set(outputs)
    needed.add(-1)
    needed.update(inputs)
    found: list[tuple[Entry, list[Any]]] = []
    for entry in reversed(entries):
        if entry[0] in needed:
            ended = [at for at in parents_of(entry) if at not in needed]
            needed.update(ended)
            found.append((entry, ended))
    found.reverse()
    steps: list[Step] = []
    written: set[Any] = set()
    for entry, ended in found:
        target = written_slot(entry)
        reuse = target is not None and target in written and target in ended
        if target is not None:
            written.add(entry[0])
        else:
            written.difference_update(parents_of(entry))  # the result may be a view of a parent
        steps.append((entry, ended, reuse))
    return steps


def replay_forward(
    steps: Iterable[Step],
    dots: dict[Slot, Tangent],
    tape: Tape | None,
    inputs: Iterable[Slot],
) -> None:
    """Push tangents forward through the entries that `live_steps` found in a recording.

    `dots` maps slots to tangents; a tangent is dropped after its last use. With `tape`, kept
    values are wrapped with their slots again, so that the rules log themselves. Where a
    tangent of the outputs has a NaN, the caller replays again by `careful`.
    """
    entered = set(inputs)
    for entry, ended, reuse in steps:
        slot = entry[0]
        if slot not in entered:  # the caller gives the tangents of inputs
            if tape is not None:
                entry = (slot, entry[1], *wrap_kept(tape, entry), entry[5], entry[6])
            out_dot = push(entry, dots.get, reuse=reuse and tape is None)
            if out_dot is not None:
                dots[slot] = out_dot
        for at in ended:
            dots.pop(at, None)
