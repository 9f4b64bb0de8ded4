"""Dual numbers: the two forward-mode tapes of a level of `forward_ad`.

Knows the core's forward mode and its levels. Must not know tensors.

Tangents serve two purposes, with one tape for each. The tape below the graph gives tangents to the
values that nodes keep, so that a backward pass computes tangents of the gradients too (forward
over reverse). The tape above the graph computes tangents with traced values, so that the tangents
are on the graph themselves (reverse over forward). A dual tensor's `value` is an array of the tape
below; its `_dual` holds its tangent on the graph, if there is one.
"""

from __future__ import annotations

from typing import Any

from tapegrad._core.entry import Entry
from tapegrad._core.forward_tape import Cell, ForwardTape, tangent_at
from tapegrad._core.types import Tangent, Value
from tapegrad._core.values import Traced

PLAIN: Any = object()  # the `_dual` of a tensor that is only on the tape below


class Above(ForwardTape):
    """The tape above the graph: its arrays hold arrays of the graph."""

    __slots__ = ()
    has_limits = False


class Below(ForwardTape):
    """The tape below the graph: its arrays hold untraced arrays."""

    __slots__ = ("above",)
    has_limits = False

    def __init__(self) -> None:
        super().__init__("forward_ad.dual_level")
        self.level = -0.5  # type: ignore[assignment]  # between untraced values and the graph
        self.above: Above | None = Above("forward_ad.dual_level")

    def leave(self) -> None:
        """Compute no more tangents: the arrays of this tape are constants from now on."""
        assert self.above is not None
        self.above.log = self.log = _forget
        self.above = None


def _forget(entry: Entry) -> None:
    """The `log` of a tape after its level has ended: the result is a constant."""
    entry[0].tangent = None


def is_dual(value: Value) -> bool:
    """Whether a value is an array of the tape below."""
    return isinstance(value, Traced) and type(value.tape) is Below


def is_above(array: Value) -> bool:
    """Whether an array is one of the tape above the graph."""
    return isinstance(array, Traced) and type(array.tape) is Above


def cell_of(tangent: Tangent) -> Cell:
    """A slot that holds a tangent."""
    cell = Cell()
    cell.tangent = tangent
    return cell


def tangent_of(array: Value) -> Tangent:
    """The tangent of an array of either tape, or None."""
    slot = array.slot
    return tangent_at(slot) if isinstance(slot, Cell) else None


__all__ = ["PLAIN", "Above", "Below", "cell_of", "is_above", "is_dual", "tangent_of"]
