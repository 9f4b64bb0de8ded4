"""One entry of a tape: what each argument depends on, and what its function does with that.

Knows the layouts of entries. Must not know which functions exist.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tapegrad._core.entry import Entry, Outputs, Spec, parents_of
from tapegrad._core.types import Params, Slot, Value
from tapegrad._core.values import branch_on, itself
from tapegrad.sparse._sets import NONE, Sets


def settled(value: Any) -> Any:
    """A value, or the parts of an index, as the pattern depends on it: a program asks for it."""
    if isinstance(value, (tuple, list)):
        return type(value)([settled(part) for part in value])
    return branch_on(itself, value)


def _nonzero(x: Value) -> Value:
    return np.asarray(x) != 0


class Step:
    """An entry: its rule, arguments and parameters, and the labels of the arguments."""

    def __init__(self, entry: Entry, table: dict[Slot, Value], sets: Sets) -> None:
        _, self.rule, self.out, args, params, _, y_slot = entry
        self.sets = sets
        self.short = y_slot is not None
        if self.short:
            args, params = (args, params), {}
        self.args, self.params = args, params
        # None for an argument that is a constant.
        self.given: list[Any] = [None if at == -1 else table.get(at) for at in parents_of(entry)]

    @property
    def shape(self) -> tuple[int, ...] | None:
        """The shape of the result; None for several results, and in the short layout."""
        if self.short or isinstance(self.out, Outputs):
            return None
        return tuple(self.out.shape)

    @property
    def name(self) -> str:
        """The name of one of NumPy's functions; empty for a user's, which may have any name."""
        function = getattr(self.rule, "function", None)
        if isinstance(function, np.ufunc):
            own = getattr(np, function.__name__, None) is function
        else:
            module = getattr(function, "__module__", None) or ""
            own = module.split(".")[0] in ("numpy", "tapegrad")
        return self.rule.name if own else ""

    def masked(self, labels: Value, other: int) -> Value:
        """The labels, with NONE where the other factor is a constant zero."""
        factor, depends = self.args[other], self.given[other]
        if isinstance(factor, Spec) or factor is None:
            return labels
        if depends is not None and (depends != NONE).all():
            return labels
        present = self.present(other)
        return labels if present.all() else np.where(present, labels, NONE)

    def gathered(self, groups: list[Value], labels: list[Value], shape: tuple[int, ...]) -> Value:
        """The result's labels from positions in it and labels there."""
        count = math.prod(shape)
        return self.sets.gather(np.concatenate(groups), np.concatenate(labels), count).reshape(
            shape
        )

    def present(self, position: int) -> Value:
        """Where a factor can be other than zero."""
        x, part = self.args[position], self.given[position]
        if isinstance(x, Spec):
            return np.ones(x.shape, bool)
        present = self.nonzero(position)
        return present if part is None else present | (part != NONE)

    def nonzero(self, position: int) -> Value:
        """Where an argument is other than zero."""
        found: Value = branch_on(_nonzero, self.args[position])
        return found

    def settled_params(self) -> Params:
        """The parameters, of which values are asked for."""
        return {name: settled(value) for name, value in self.params.items()}

    def filled(self) -> list[Value]:
        """The arguments with labels in place of values, but those that the rule holds fixed."""
        fixed = getattr(self.rule, "fixed", 0)
        return [
            part
            if part is not None
            else settled(arg)
            if position < fixed or not hasattr(arg, "shape")
            else np.zeros(arg.shape, np.int64)
            for position, (part, arg) in enumerate(zip(self.given, self.args, strict=True))
        ]

    def axes(self, default: int | None = None) -> tuple[int, ...]:
        """The axes that `axis` names, none negative."""
        ndim, axis = self.given[0].ndim, self.params.get("axis", default)
        if axis is None or not ndim:
            return tuple(range(ndim))
        return tuple(int(a) % ndim for a in (axis if isinstance(axis, (tuple, list)) else (axis,)))
