"""The tape of forward mode: it pushes a tangent through each entry, and forgets the entry.

Knows that a slot of this tape holds its value's tangent. Must not know transforms.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad._core.alone import ALONE, is_own, references
from tapegrad._core.entry import ADD, MINUS, WRITE, Entry
from tapegrad._core.fit import is_finite
from tapegrad._core.forward import push
from tapegrad._core.quiet import SILENT, VARIABLE
from tapegrad._core.tape import Tape
from tapegrad._core.types import Slot, Value


class Cell:
    """The slot of a value in forward mode: it holds the tangent, and dies with the value.

    Made by each call, so it has no `__init__`, which would cost as much as the rest.
    """

    tangent: Any = None
    written = False


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
    if type(cell) is not Cell or not cell.written:
        return False
    tangent = cell.tangent
    return references(tangent) <= ALONE and is_own(tangent)


class _WrittenCells:
    """The set of cells last changed by a write. Each cell says itself whether it is in the set."""

    def __contains__(self, slot: Slot) -> bool:
        return type(slot) is Cell and slot.written

    def add(self, slot: Cell) -> None:
        slot.written = True

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
        self.log = self._push
        self.buffers = _WrittenCells()

    def keep(self, constant: Value) -> Value:
        return constant  # the entry is pushed before the program can change the array

    def _push(self, entry: Entry) -> None:
        slot, rule, out, x, y, x_slot, y_slot = entry
        token = VARIABLE.set(SILENT)
        try:
            if y_slot is None:
                reuse = (rule is WRITE or rule is ADD) and _is_last_use(entry)
                slot.tangent = push(entry, _tangent_at, reuse=reuse)
                return
            # `push`, written out for the first layout
            total: Any = None
            for position, at in enumerate((x_slot, y_slot)):
                dot = None if at is _CONSTANT else at.tangent
                if dot is None:
                    continue
                kind = type(dot)
                if kind is not np.ndarray and kind is not np.float64:
                    slot.tangent = push(entry, _tangent_at)
                    return
                partial = rule.partials[position]
                if partial is MINUS:
                    dot = -dot
                elif partial is not None:
                    factor = partial(out, x) if rule.unary else partial(out, x, y)
                    product = dot * factor
                    dot = product if is_finite(product) else rule.times(dot, factor)
                total = dot if total is None else total + dot
            slot.tangent = total
        finally:
            VARIABLE.reset(token)


_CONSTANT = -1  # the slot of what is not traced; small integers are one object

__all__ = ["Cell", "ForwardTape"]
