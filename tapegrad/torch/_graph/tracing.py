"""Which transforms trace a value, and dual numbers: the two forward-mode tapes of `forward_ad`.

Knows the core's tapes and those of this layer, forward mode and its levels. Must not know tensors.

Tangents serve two purposes, with one tape for each. The tape below the graph gives tangents to the
values that nodes keep, so that a backward pass computes tangents of the gradients too (forward
over reverse). The tape above the graph computes tangents with traced values, so that the tangents
are on the graph themselves (reverse over forward). A dual tensor's `value` is an array of the tape
below; its `_dual` holds its tangent on the graph, if there is one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad._core.entry import Entry
from tapegrad._core.forward_tape import Cell, ForwardTape, tangent_at
from tapegrad._core.tape import Tape
from tapegrad._core.types import Tangent, Value
from tapegrad._core.values import Mapped, Traced, is_mapped
from tapegrad.torch._graph.node import GRAPH

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


ndarray = np.ndarray

# The levels of the reverse tapes of forward transforms, on which no_grad has no effect.
FORWARD: set[float] = set()


def unlogged(value: Value, floor: float) -> Value:
    """A traced value without the reverse transforms up to a level; it stays dual and batched."""
    if is_mapped(value):
        inner = unlogged(value._value, floor)
        return value if inner is value._value else value.vmap_level.wrap(inner)
    if not isinstance(value, Traced):
        return value
    tape = value.tape
    inner = unlogged(value._value, floor)
    if type(tape) is Tape and tape.level not in FORWARD and tape.level <= floor:
        return inner
    if tape is GRAPH:
        return inner
    slot = value.slot
    if isinstance(slot, Cell):
        slot = cell_of(unlogged(tangent_at(slot), floor))
    elif inner is value._value:
        return value
    return tape.array(inner, slot, tape, value.spec)


def transforms_of(value: Value) -> int:
    """How many open transforms differentiate a value, the graph of tensors among them."""
    found = 0
    while isinstance(value, (Traced, Mapped)):
        if isinstance(value, Traced) and value.slot != -1:
            tape = value.tape
            while tape is not None and not tape.is_closed():
                found += 1
                tape = tape.parent
        value = value._value
    return found


def is_differentiated(value: Value, *, forward: bool = False) -> bool:
    """Whether a functional transform in reverse mode, or also in forward mode, traces a value."""
    while type(value) is not ndarray:
        if isinstance(value, Traced):
            tape = value.tape
            if type(tape) is Tape and tape.level not in FORWARD:
                return True
            if forward and tape is not GRAPH and not is_dual(value):
                return True
        elif not isinstance(value, Mapped):
            return False
        value = value._value
    return False
