"""The tape of forward mode: it pushes a tangent through each entry, and forgets the entry.

Knows that a slot of this tape holds its value's tangent. Must not know transforms.
"""

from __future__ import annotations

from math import isfinite
from typing import Any

from numpy import float64, ndarray

from tapegrad._core.alone import ALONE, is_own, references
from tapegrad._core.backward import RAISED_BY_NUMBERS
from tapegrad._core.entry import ADD, MINUS, READ, WRITE, Entry
from tapegrad._core.fit import is_sound_sum
from tapegrad._core.forward import push
from tapegrad._core.quiet import SILENT, VARIABLE
from tapegrad._core.recorded import as_recorded, is_recording, recorded_entry
from tapegrad._core.settled import Settled, SettledAll
from tapegrad._core.tape import Tape
from tapegrad._core.types import Slot, Tangent, Value
from tapegrad._core.values import PLAIN_PARTS


class Cell:
    """The slot of a value in forward mode: it holds the tangent, and dies with the value.

    Made by each call, so it has no `__init__`, which would cost as much as the rest: the tape sets
    the tangent when it logs the call.
    """

    __slots__ = ("tangent",)

    tangent: Any
    written = False  # whether the value was last changed by a write


class _WrittenCell(Cell):
    __slots__ = ()

    written = True


class _Target:
    """Holds a cell as the array that is written to does, to count the cell's references."""

    __slots__ = ("slot",)

    def __init__(self) -> None:
        self.slot = Cell()

    def count(self) -> int:
        return _references_of_target((None,) * 5 + ((self.slot, -1), None))


def _references_of_target(entry: Entry) -> int:
    cell = entry[5][0]
    return references(cell)


LAST_USE = _Target().count()  # if only the array that is written to holds the cell


def _is_last_use(entry: Entry) -> bool:
    """Whether a write may write to the tangent in place too: nothing else holds the old one."""
    if _references_of_target(entry) > LAST_USE:
        return False
    cell = entry[5][0]
    if type(cell) is not _WrittenCell:
        return False
    tangent = cell.tangent
    return references(tangent) <= ALONE and is_own(tangent)


class _WrittenCells:
    """The set of cells last changed by a write. Each cell says itself whether it is in the set."""

    def __contains__(self, slot: Slot) -> bool:
        return type(slot) is _WrittenCell

    def add(self, slot: Cell) -> None:
        slot.__class__ = _WrittenCell

    def discard(self, slot: Slot) -> None:
        """Do nothing: no array asks again for a cell that has been written over."""


def _tangent_at(cell: Cell) -> Any:
    return cell.tangent


class ForwardTape(Tape):
    """A tape that pushes the tangent through an entry when it is logged, and drops the entry.

    So memory does not grow with the length of a program.
    """

    __slots__ = ()

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.fresh = Cell
        self.log = _push_recorded if is_recording() else _push
        self.buffers = _WrittenCells()

    def expect_others(self) -> None:
        """Tangents are arrays of another library: no test tells whether ordinary products do."""
        self.log = _push_strongly

    def keep(self, constant: Value) -> Value:
        return constant  # the entry is pushed before the program can change the array


def _push(entry: Entry) -> None:  # noqa: C901 - the hot path, written out
    slot, rule, out, x, y, x_slot, y_slot = entry
    if y_slot is None:
        _push_general(entry)
        return
    # `forward.push`, written out for the first layout. Products are ordinary ones; where their
    # sum has a NaN, `_pushed` computes the tangent again with strong ones.
    x_dot: Any = None if x_slot is _CONSTANT else x_slot.tangent
    y_dot: Any = None if y_slot is _CONSTANT else y_slot.tangent
    if y_dot is None:
        dot, partial, factor = x_dot, rule.x_partial, y
    else:
        dot, partial, factor = y_dot, rule.y_partial, x
    alone = x_dot is None or y_dot is None
    if alone:
        if partial is None or dot is None:
            slot.tangent = dot
            return
        if partial is MINUS:
            slot.tangent = -dot
            return
    token = enter(SILENT)
    try:
        # Products are named, not nested: nested ones of large arrays took up to twice the time.
        if alone:
            if rule.product:
                if type(factor) is float and factor and isfinite(factor):
                    slot.tangent = dot * factor  # there is no other product by such a number
                    return
                total = dot * factor
            elif rule.plain or y_dot is not None:
                factor = partial(out, x) if rule.unary else partial(out, x, y)
                total = dot * factor
            else:
                factor = partial.by(out, x) if rule.unary else partial.by(out, x, y)
                total = dot / factor
        elif rule.product:
            total = x_dot * y
            dot = dot * factor
            total = total + dot
        else:
            other = rule.x_partial
            if other is None and (partial is None or partial is MINUS):
                slot.tangent = x_dot + y_dot if partial is None else x_dot - y_dot
                return
            factor = 1 if other is None else other(out, x, y)
            total = x_dot * factor
            factor = 1 if partial is None else partial(out, x, y)
            dot = dot * factor
            total = total + dot
        kind = type(total)
        if kind is float64:
            sound = isfinite(total)
        elif kind is ndarray and total.size:
            greatest = total.item(total.argmax())  # a NaN, if there is one
            sound = greatest == greatest
        else:
            sound = is_sound_sum(total)
        slot.tangent = total if sound else _pushed(entry)
    except RAISED_BY_NUMBERS:
        slot.tangent = _pushed(entry)
    finally:
        leave(token)


def _push_general(entry: Entry) -> None:
    slot, rule, out, args, params, slots, _ = entry
    kind = type(params)
    if rule is READ:
        dot = None if slots is _CONSTANT else slots.tangent
        if type(dot) is ndarray and (
            kind is slice
            or kind is int
            or kind is ndarray
            or (kind is tuple and PLAIN_PARTS.issuperset(map(type, params)))
        ):
            slot.tangent = dot[params]
            return
    token = enter(SILENT)
    try:
        if kind is Settled:
            dot = slots[0].tangent
            if params.push is not None and (type(dot) is ndarray or type(dot) is float64):
                slot.tangent = params.push(dot, out, args[0])
                return
        elif kind is SettledAll:
            dots = [None if at is _CONSTANT else at.tangent for at in slots]
            if params.push is not None:
                kinds = set(map(type, dots))
                if kinds <= _PLAIN_DOTS and kinds != _NONE_ALONE:
                    slot.tangent = params.push(dots, out, *args)
                    return
        slot.tangent = _pushed(entry)
    finally:
        leave(token)


def _push_recorded(entry: Entry) -> None:
    """`_push` in a recorded run."""
    if entry[6] is None:
        as_recorded(_push_general)(recorded_entry(entry))
    else:
        _push(entry)


def _push_strongly(entry: Entry) -> None:
    token = enter(SILENT)
    try:
        entry[0].tangent = _pushed(entry)
    finally:
        leave(token)


def _pushed(entry: Entry) -> Tangent:
    """The tangent of the result of any entry, by strong products."""
    reuse = (entry[1] is WRITE or entry[1] is ADD) and _is_last_use(entry)
    return push(entry, _tangent_at, reuse=reuse)


_PLAIN_DOTS = {ndarray, float64, type(None)}
_NONE_ALONE = {type(None)}
# Bound once, because every operation calls both.
enter, leave = VARIABLE.set, VARIABLE.reset

_CONSTANT = -1  # the slot of what is not traced; small integers are one object

__all__ = ["Cell", "ForwardTape"]
