"""`autograd.grad` within a function that `torch.func` differentiates: a replay of its tape so far.

Knows the tape of the transform that is open, and how a recording is replayed. Must not know the
graph of the tensors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tapegrad._core.tape import CURRENT, Tape
from tapegrad._core.types import Slot, Value
from tapegrad._core.values import Traced
from tapegrad._transforms.recording import Recording
from tapegrad.torch._tensor.gradients import conjugated, root_of
from tapegrad.torch._tensor.tensor import Tensor, array_of


def open_tape(outputs: Sequence[Any]) -> Tape | None:
    """The tape of the innermost transform, if it is one in reverse that traces an output."""
    tape = CURRENT.get()
    if type(tape) is not Tape:
        return None
    return tape if any(_slot_on(tape, out) != -1 for out in outputs) else None


def _slot_on(tape: Tape, tensor: Any) -> Slot:
    """The slot of a tensor's value on a tape; -1 where it is none of that transform's."""
    value = tensor._value if isinstance(tensor, Tensor) else None
    return value.slot if isinstance(value, Traced) and value.tape is tape else -1


def grad_within(
    tape: Tape,
    outputs: Sequence[Tensor],
    gradients: Sequence[Any],
    inputs: Sequence[Any],
    create_graph: bool,
) -> list[Value]:
    """The cotangent of each input, None where the outputs do not depend on it.

    They are on the tape with `create_graph`, and constants without it.
    """
    if tape.parent is not None and not create_graph:
        raise RuntimeError(
            "autograd.grad: within nested transforms of torch.func the result is differentiable; "
            "pass create_graph=True, and detach the result if it shall be a constant."
        )
    ends, bars = [], []
    for out, gradient in zip(outputs, gradients, strict=True):
        slot = _slot_on(tape, out)
        if slot != -1:
            ends.append(slot)
            bars.append(root_of(out, None) if gradient is None else conjugated(array_of(gradient)))
    slots = [_slot_on(tape, x) for x in inputs]
    if any(slot == -1 and x.node is None for x, slot in zip(inputs, slots, strict=True)):
        raise RuntimeError("One of the differentiated Tensors does not require grad")
    return [_pulled(tape, ends, bars, slot, create_graph) for slot in slots]


def _pulled(tape: Tape, ends: list[Slot], bars: list[Value], slot: Slot, create: bool) -> Value:
    """The cotangent at a slot, by a replay of what the tape has logged since."""
    if slot == -1:
        return None
    recording = Recording("autograd.grad")
    recording.start, recording.slots = slot, [slot]
    recording.entries = [entry for entry in tape.entries if entry[0] > slot]
    recording.end, recording.dependent = tape.fresh(), create
    recording.singular = tape.root.singular
    (found,) = recording.pull(ends, bars) or (None,)
    return found
