"""The tape of forward mode, which pushes each entry when it is logged and forgets it.

Knows how tangents live in slots. Must not know transforms.
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
    """The part of a set of slots that arrays use, kept in the cells themselves."""

    def __contains__(self, slot: Slot) -> bool:
        return type(slot) is Cell and slot.written

    def add(self, slot: Cell) -> None:
        slot.written = True

    def discard(self, slot: Slot) -> None:
        """A cell that has been written over is not asked for again."""


def _tangent_at(cell: Cell) -> Any:
    return cell.tangent


class ForwardTape(Tape):
    """A tape that forgets: each entry is pushed through when it is logged, then dropped.

    So memory does not grow with the length of a program.
    """

    __slots__ = ()

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.fresh = Cell
        self.log = self._push
        self.buffers = _WrittenCells()

    def keep(self, constant: Value) -> Value:
        return constant  # an entry is used up before the program can change it

    def _push(self, entry: Entry) -> None:
        with np.errstate(all="ignore"):
            entry[0].tangent = push(entry, _tangent_at)


__all__ = ["Cell", "ForwardTape"]
