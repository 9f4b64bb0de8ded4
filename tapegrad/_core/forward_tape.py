"""The tape of forward mode: it pushes a tangent through each entry, and forgets the entry.

Knows that a slot of this tape holds its value's tangent. Must not know transforms.
"""

from __future__ import annotations

from typing import Any

from numpy import float64

from tapegrad._core.entry import ADD, WRITE, Entry
from tapegrad._core.quiet import silence
from tapegrad._core.refcounts import ALONE, is_own, references
from tapegrad._core.replay import push_entry
from tapegrad._core.tape import Tape
from tapegrad._core.types import Slot, Tangent, Value


class Cell:
    """The slot of a value in forward mode: it holds the tangent, and dies with the value.

    The tangent of a number of double precision is a Python float: products and sums of those warn
    of nothing, at a third of the price. `tangent_at` gives it as NumPy's.

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


def tangent_at(cell: Cell) -> Any:
    """The tangent that a cell holds, or None."""
    dot = cell.tangent
    return float64(dot) if type(dot) is float else dot


class ForwardTape(Tape):
    """A tape that pushes the tangent through an entry when it is logged, and drops the entry.

    So memory does not grow with the length of a program.
    """

    __slots__ = ()

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.fresh = Cell
        self.log = _push
        self.buffers = _WrittenCells()

    def keep(self, constant: Value) -> Value:
        return constant  # the entry is pushed before the program can change the array


def _push(entry: Entry) -> None:
    """The `log` of this tape."""
    with silence():  # a program asked for no warnings of its derivative
        entry[0].tangent = pushed(entry)


def pushed(entry: Entry) -> Tangent:
    """The tangent of the result of any entry."""
    reuse = (entry[1] is WRITE or entry[1] is ADD) and _is_last_use(entry)
    return push_entry(entry, tangent_at, reuse=reuse)


__all__ = ["Cell", "ForwardTape", "pushed", "tangent_at"]
