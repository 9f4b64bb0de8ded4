"""Which transforms trace a value, and a value without some of them.

Knows the core's tapes and those of this layer. Must not know tensors.
"""

from __future__ import annotations

import numpy as np

from tapegrad._core.forward_tape import Cell, tangent_at
from tapegrad._core.tape import Tape
from tapegrad._core.types import Value
from tapegrad._core.values import Mapped, Traced, is_mapped
from tapegrad.torch._graph.dual import cell_of, is_dual
from tapegrad.torch._graph.node import GRAPH

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
