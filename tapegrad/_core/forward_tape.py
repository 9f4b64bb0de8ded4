"""The tape of forward mode: it pushes a tangent through each entry, and forgets the entry.

Knows that a slot of this tape holds its value's tangent. Must not know transforms.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad._core.entry import Entry
from tapegrad._core.forward import push
from tapegrad._core.tape import Tape
from tapegrad._core.types import Slot, Value


class Cell:
    """The slot of a value in forward mode: it holds the tangent, and dies with the value."""

    __slots__ = ("tangent", "written")

    def __init__(self) -> None:
        self.tangent: Any = None
        self.written = False


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
        with np.errstate(all="ignore"):
            entry[0].tangent = push(entry, _tangent_at)


__all__ = ["Cell", "ForwardTape"]
