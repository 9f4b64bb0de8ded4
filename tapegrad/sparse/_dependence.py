"""Which elements of the inputs each value of a tape depends on.

Knows the tape's own entries (reading, writing, one of several results). Must not know functions,
colourings or matrices.

The result is exact for the program as it ran: a constant factor of zero, and a branch not
taken, make no dependence.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tapegrad._core.entry import ADD, PROJECT, READ, WRITE, Entry, Spec, parents_of
from tapegrad._core.tape import Tape
from tapegrad._core.types import Slot, Value
from tapegrad.sparse._functions import labels_of
from tapegrad.sparse._sets import NONE, Sets
from tapegrad.sparse._steps import Step, settled


def live(entries: Iterable[Entry], outputs: Iterable[Slot]) -> list[Entry]:
    """The entries that the values at these slots are made from."""
    needed, found = set(outputs), []
    for entry in reversed(list(entries)):
        if entry[0] in needed:
            found.append(entry)
            needed.update(parents_of(entry))
    return found[::-1]


def dependence(
    entries: Iterable[Entry], inputs: dict[Slot, Value], sets: Sets
) -> dict[Slot, Value]:
    """Labels by slot: an array of the value's shape, a list for several results.

    `inputs` has the labels of the inputs' slots. A value without a slot there is a constant.
    """
    table = dict(inputs)
    for entry in entries:
        if entry[0] not in inputs:
            found = _labels(Step(entry, table, sets))
            if found is not None:
                table[entry[0]] = found
    return table


def _labels(step: Step) -> Value | None:
    """The labels of an entry's result, or None for a constant."""
    if all(part is None for part in step.given):
        return None
    if step.rule is READ:
        return step.given[0][settled(step.params)]
    if step.rule is PROJECT:
        return step.given[0][step.args]
    if step.rule is WRITE:
        return _written(step)
    if step.rule is ADD:
        return _added(step)
    if getattr(step.rule, "form", None) == "composite":
        return _defined(step)
    return labels_of(step)


def _defined(step: Step) -> Value | None:
    """The labels of a function that others express, by what these do."""
    tape = Tape("sparse")
    try:
        args, labels = [], {}
        for arg, part in zip(step.args, step.given, strict=True):
            if part is not None:
                slot = tape.fresh()
                labels[slot] = part
                arg = tape.wrap(np.zeros(arg.shape, arg.dtype) if type(arg) is Spec else arg, slot)
            args.append(arg)
        out = step.rule.defined(args, step.params)
        return dependence(tape.entries, labels, step.sets).get(getattr(out, "slot", None))
    finally:
        tape.close()


def _written(step: Step) -> Value:
    x, v = step.given
    out = np.zeros(step.args[0].shape, np.int64) if x is None else np.array(x)
    out[settled(step.params)] = NONE if v is None else v
    return out


def _added(step: Step) -> Value:
    x, v = step.given
    out = np.zeros(step.args[0].shape, np.int64) if x is None else np.array(x)
    if v is not None:
        index = settled(step.params)
        part = out[index]
        out[index] = step.sets.join(part, np.broadcast_to(v, part.shape))
    return out
