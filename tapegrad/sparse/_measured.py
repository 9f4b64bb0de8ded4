"""A function that has run once on a tape: its pattern, and products with its Jacobian.

Knows how `linearize` keeps a recording. Must not know colourings or SciPy.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from tapegrad._core.recorded import is_recording
from tapegrad._core.types import Cotangent, Function, Params, Tangent, Tree, Value
from tapegrad._core.values import Traced, cast, in_trace, is_mapped
from tapegrad._errors import (
    InputError,
    NotDifferentiableError,
    OutputError,
    describe,
    message,
    name_of,
)
from tapegrad._progress import current
from tapegrad._transforms.forward import linearize
from tapegrad._transforms.inputs import Argnums, Inputs, Selection, as_cotangent
from tapegrad._tree import flatten
from tapegrad.sparse._dependence import dependence, live
from tapegrad.sparse._products import Part, Pattern
from tapegrad.sparse._sets import Sets
from tapegrad.sparse._spread import Scheduler, spread


class Measured:
    """f at some arguments, as a map from all elements of the chosen inputs to those of outputs."""

    def __init__(
        self,
        call: str,
        f: Function,
        argnums: Argnums,
        args: tuple[Tree, ...],
        kwargs: Params,
        scheduler: Scheduler = None,
    ) -> None:
        self.call, self.scheduler = call, scheduler
        self.again = functools.partial(Measured, call, f, argnums, args, kwargs)
        inputs = Inputs(Selection(call, argnums), args, kwargs)
        self.inputs = inputs.leaves
        _require_plain(call, self.inputs)

        def of_leaves(*leaves: Value) -> Tree:
            return inputs.call(f, list(leaves))

        of_leaves.__name__ = name_of(f)
        out, self.pushforward = linearize(of_leaves, *self.inputs)
        self.outputs = flatten(out)[0]
        for leaf in self.outputs:
            if getattr(leaf, "dtype", np.dtype(object)).kind not in "fc":
                raise OutputError(
                    message(
                        call, "floating or complex outputs", describe(leaf), "Return float arrays"
                    )
                )
        _require_plain(call, self.outputs)
        recording = self.pushforward.recording
        if recording.dependent:
            _refuse(call)
        # Entries on which no output depends are of no more use.
        recording.entries = live(recording.entries, self.pushforward.out_slots)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the Jacobian."""
        return _size(self.outputs), _size(self.inputs)

    @property
    def dtype(self) -> Any:
        """The dtype of the Jacobian."""
        leaves = (*self.inputs, *self.outputs)
        return np.result_type(*leaves) if leaves else np.dtype(np.float64)

    @property
    def is_complex(self) -> bool:
        """Whether an input or output is complex."""
        return any(leaf.dtype.kind == "c" for leaf in (*self.inputs, *self.outputs))

    # -- products --------------------------------------------------------------------------------

    def products(self, parts: Sequence[Part]) -> Iterable[Value]:
        """The needed elements of each product, here or by the scheduler."""
        if self.scheduler is None:
            return (getattr(self, name)(vector())[needed] for name, vector, needed in parts)
        if is_recording():
            raise InputError(
                message(
                    self.call,
                    "no scheduler within tapegrad.compile, which records the products here",
                    "one",
                    "Leave scheduler= away, or call it outside",
                )
            )
        return spread(self.call, self.scheduler, self.again, parts)

    def forward(self, vector: Tangent) -> Tangent:
        """The Jacobian times a vector."""
        return self._row(flatten(self.pushforward(*_split(vector, self.inputs)))[0])

    def reverse(self, vector: Cotangent) -> Cotangent:
        """The transpose of the Jacobian times a vector."""
        push = self.pushforward
        given = zip(push.out_slots, _split(vector, self.outputs), strict=True)
        owned = [(slot, bar) for slot, bar in given if slot is not None]
        slots, bars = [slot for slot, _ in owned], [bar for _, bar in owned]
        found = push.recording.pull(slots, bars)
        return self._row([as_cotangent(b, x) for b, x in zip(found, self.inputs, strict=True)])

    def _row(self, parts: list[Value]) -> Value:
        _require_plain(self.call, parts)
        return np.concatenate([np.zeros(0, self.dtype), *(np.reshape(part, -1) for part in parts)])

    # -- pattern ---------------------------------------------------------------------------------

    def pattern(self) -> Pattern:
        """Where the Jacobian can be other than zero."""
        push, sets = self.pushforward, Sets(self.shape[1])
        labels = _split(sets.singles(), self.inputs)
        inputs = dict(zip(push.slots, labels, strict=True))
        entries, bar = push.recording.entries, current()
        bar.begin(len(entries), "pattern")
        table = dependence(bar.over(entries), inputs, sets)
        rows = [
            np.zeros(math.prod(leaf.shape), np.int64)
            if slot is None or table.get(slot) is None
            else table[slot].reshape(-1)
            for slot, leaf in zip(push.out_slots, self.outputs, strict=True)
        ]
        if any(in_trace(row) for row in rows):  # it depends on values in a way not asked for
            _refuse(self.call)
        lengths, columns = sets.columns(np.concatenate([np.zeros(0, np.int64), *rows]))
        return Pattern(np.concatenate([[0], np.cumsum(lengths)]), columns.copy(), self.shape)


def _size(leaves: list[Value]) -> int:
    return sum(math.prod(leaf.shape) for leaf in leaves)


def _split(row: Value, leaves: list[Value]) -> list[Value]:
    """A row cut into arrays of the leaves' shapes."""
    parts, start = [], 0
    for leaf in leaves:
        end = start + math.prod(leaf.shape)
        part = row[start:end].reshape(leaf.shape)
        parts.append(part if part.dtype.kind == "i" else cast(part, leaf.dtype))
        start = end
    return parts


def _require_plain(call: str, leaves: list[Value]) -> None:
    if any(isinstance(leaf, Traced) or is_mapped(leaf) for leaf in leaves):
        _refuse(call)


def _refuse(call: str) -> None:
    raise NotDifferentiableError(
        f"{call}: not differentiable, and not to be mapped: its result is a SciPy array. Call it "
        "outside other transforms."
    )
