"""Entries of a tape: their layouts, the marks of the tape's own kinds; specs, and traced values.

This is the only module that takes an entry apart for a reason other than replaying it. Must not
know tapes, nor which functions exist.

An entry is a tuple of seven, in one of two layouts that the last item tells apart:

    (slot, rule, out, x,    y,      x_slot, y_slot)  elementwise, arguments of out's shape, dtype
    (slot, rule, out, args, params, slots,  None)    anything else

Reading a part (READ), writing one (WRITE) and adding to one (ADD) are the tape's own, as are the
several results of one call (PROJECT); the comments at these marks give their layouts.

`slot` is where the result lives. An argument that no derivative depends on has slot -1. A value
that the rule's derivatives do not read is not kept: None (first layout) or its `Spec` (second)
takes its place. Entries hold raw values only. A replay that an enclosing transform must
differentiate wraps them again with their slots, so that the rules log themselves.

Where a slot is an object, it may hold its own entry, without the first item. `parents_of` serves
such an entry too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Protocol

import numpy as np

from tapegrad._core.values import Traced, is_scalar
from tapegrad._errors import describe

Entry = tuple[Any, ...]
Opened = tuple[Any, Any, Any, Any, Any]  # rule, out, args, params, slots: see `opened`


ABSENT = -1  # the slot of what no derivative depends on; small integers are one object
NO_PARAMS: dict[str, Any] = {}  # of a call in the first layout

new: Any = object.__new__  # setting the attributes one by one costs half of a call of a class


class Spec:
    """Shape and dtype of a value. Interned: equal specs are one object, so `is` compares them."""

    __slots__ = ("dtype", "family", "kind", "ndim", "shape", "size")

    kinds: ClassVar[tuple[type[Traced], ...]] = (Traced, Traced, Traced)  # see `stand_for`

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype[Any], family: _Family) -> None:
        self.shape = shape
        self.dtype = dtype
        self.family = family  # the specs of this dtype by shape: cheaper to ask than `spec_of`
        self.ndim = len(shape)
        self.size = math.prod(shape)
        self.kind = self.kinds[bool(shape)]  # of traced values, but for arrays without axes

    def __repr__(self) -> str:
        return f"Spec({describe(self)})"


class _Family(dict[tuple[int, ...], Spec]):
    """All specs of one dtype, made when first asked for."""

    def __init__(self, dtype: np.dtype[Any]) -> None:
        super().__init__()
        self.dtype = dtype

    def __missing__(self, shape: tuple[int, ...]) -> Spec:
        return self.setdefault(shape, Spec(shape, self.dtype, self))


_FAMILIES: dict[np.dtype[Any], _Family] = {}


def stand_for(number: type[Traced], array: type[Traced], without_axes: type[Traced]) -> None:
    """Set the classes of traced numbers, arrays with axes, and arrays without."""
    Spec.kinds = number, array, without_axes
    for family in _FAMILIES.values():
        for spec in family.values():
            spec.kind = Spec.kinds[bool(spec.shape)]


def traced(value: Any, slot: Any, tape: Any, spec: Spec) -> Any:
    """A traced value: an array, or a number. Of one without axes its own class tells which."""
    if spec.shape:
        made = new(spec.kind)
        made._value = value
        made.slot = slot
        made.tape = tape
        made.spec = spec
        return made
    made = new(spec.kind if type(value) is np.float64 or is_scalar(value) else Spec.kinds[2])
    made._value = value  # written twice, as the interpreter adapts a line to one class
    made.slot = slot
    made.tape = tape
    made.spec = spec
    return made


def spec_of(value: Any) -> Spec:
    """The interned `Spec` of an array-like with `.shape` and `.dtype`."""
    family = _FAMILIES.get(value.dtype)
    if family is None:
        family = _FAMILIES.setdefault(value.dtype, _Family(value.dtype))
    return family[value.shape]


class Outputs(tuple[Any, ...]):
    """The results of a primitive with several, and the slots where they live."""

    slots: tuple[Any, ...]


class Named(Protocol):
    """Name of a rule in errors."""

    @property
    def name(self) -> str:
        """The function as users write it: np.sin."""


class ReplayedRule(Protocol):
    """Interface of a rule for tape and replays. `Rule` has more: how a call is bound, batched.

    The first layout reads the attributes up to `y_partial`; the second calls `pull` and `push`.
    """

    name: str  # as users write it, for errors
    unary: bool  # of one argument
    strong: bool  # a partial can be infinite: each product is a strong one
    product: bool  # x * y: the partials are the other factors
    plain: bool  # neither that, nor x_partial with a function `by` of what to divide by
    y_plain: bool  # y_partial has no such function
    x_partial: Callable[..., Any] | None  # of (out, x) or (out, x, y); None: 1
    y_partial: Callable[..., Any] | None
    x_unseen: bool  # whether x_partial may be NaN where nothing is noticed: see `quiet`
    y_unseen: bool
    partials: Sequence[Any]  # the same for all numbers of Python's, whose arithmetic raises
    singular: Callable[[Any], Any] | None  # whether a result's cotangent is a limit
    calls: dict[Any, Any] | None  # the calls that are planned
    plan: Callable[..., Any] | None
    plans_one: bool  # whether such a call has its first array alone
    numbers: bool  # such a call may have Python numbers among its arrays

    @property
    def times(self) -> Callable[..., Any]:
        """The strong product."""

    def needed(self, wanted: tuple[bool, ...]) -> tuple[Sequence[bool], bool]:
        """Which arguments, and whether the result, the derivatives by the wanted ones read."""

    def pull(
        self, g: Any, out: Any, args: Sequence[Any], params: dict[str, Any], wanted: Sequence[bool]
    ) -> Sequence[Any]:
        """One cotangent (or None) an argument."""

    def pull_strongly(
        self, g: Any, out: Any, args: Sequence[Any], params: dict[str, Any], wanted: Sequence[bool]
    ) -> Sequence[Any]:
        """`pull` by strong products, for cotangents that may be infinite; of composites alone."""

    def push(
        self, dots: Sequence[Any], out: Any, args: Sequence[Any], params: dict[str, Any]
    ) -> Any:
        """The result's tangent from those of the arguments, None where there is none."""


class Mark:
    """Stands as the rule of an entry that the tape itself understands."""

    singular = None

    def __init__(self, name: str) -> None:
        self.name = name


# (slot, PROJECT, None, position, count, slot of the tuple, None)
PROJECT = Mark("output")

# (slot, READ, None, x, index, x_slot, None): x[index]
READ = Mark("x[...]")

# (slot, WRITE, None, (x, v), index, (x_slot, v_slot), None): x[index] = v
WRITE = Mark("x[...] =")

# (slot, ADD, None, (x, v), index, (x_slot, v_slot), None): x[index] += v, in a replay that is
# differentiated itself; the index names each place at most once
ADD = Mark("x[...] +=")


class _Minus:
    """The partial -1, for which the replay negates: half the price of a product."""

    def __call__(self, *_args: Any) -> int:
        return -1


MINUS = _Minus()


def parents_of(entry: Entry) -> tuple[Any, ...]:
    """The slots that an entry reads, with -1 for an argument that no derivative depends on."""
    if entry[-1] is not None:  # from the end: the entry may be one without its own slot
        return entry[-2], entry[-1]
    slots = entry[-2]
    return slots if type(slots) is tuple else (slots,)


def written_slot(entry: Entry) -> Any:
    """The slot of the array that a WRITE or ADD changes; None for other entries."""
    return entry[5][0] if entry[1] is WRITE or entry[1] is ADD else None


def kept_kind(entry: Entry) -> Any:
    """A value or spec that an entry keeps, of its result's shape and dtype; None without one."""
    _, _, out, x, y, _, y_slot = entry
    for part in (out, x, y) if y_slot is not None else (out,):
        if hasattr(part, "shape"):
            return part
    return None


def kind_of_result(entry: Entry, kinds: dict[Any, Any]) -> Any:
    """Something with the shape and dtype of an entry's result; a tuple of them for several.

    `kinds` has the same of earlier slots.
    """
    _, rule, out, x, y, x_slot, y_slot = entry
    if y_slot is not None:
        known = (kinds.get(slot) for slot in (x_slot, y_slot))
        return next((kind for kind in known if kind is not None), out)
    if rule is PROJECT:
        return kinds[x_slot][x]
    if rule is READ:
        return np.broadcast_to(np.zeros((), x.dtype), x.shape)[y]
    return x[0] if out is None else out


def opened(entry: Entry, tape: Any = None) -> Opened:
    """An entry of either layout as (rule, out, args, params, slots).

    With a tape its values are wrapped with their slots, so that an outer transform sees them.
    """
    _, rule, out, x, y, x_slot, y_slot = entry
    if tape is not None:
        out, x, y = wrap_kept(tape, entry)
    if y_slot is not None:
        if rule.unary:
            return rule, out, (x,), NO_PARAMS, (x_slot,)
        return rule, out, (x, y), NO_PARAMS, (x_slot, y_slot)
    if type(rule) is not Mark and len(x) > len(x_slot):  # a call may keep more than its arguments
        x = x[: len(x_slot)]
    return rule, out, x, y, x_slot


def wrap_kept(tape: Any, entry: Entry) -> tuple[Any, Any, Any]:
    """Values that an entry keeps (out, x, y), wrapped with its slots."""
    slot, rule, out, x, y, x_slot, y_slot = entry
    if y_slot is not None:
        return _wrap(tape, out, slot), _wrap(tape, x, x_slot), _wrap(tape, y, y_slot)
    if type(rule) is Mark:
        return out, x, y
    if isinstance(out, Outputs):
        slots = out.slots
        out = Outputs(_wrap(tape, part, at) for part, at in zip(out, slots, strict=True))
        out.slots = slots
    else:
        out = _wrap(tape, out, slot)
    return out, tuple([_wrap(tape, arg, at) for arg, at in zip(x, x_slot, strict=False)]), y


def _wrap(tape: Any, value: Any, slot: int) -> Any:
    if slot < 0 or value is None or type(value) is Spec:
        return value
    return tape.wrap(value, slot)


__all__ = [
    "ABSENT",
    "ADD",
    "MINUS",
    "NO_PARAMS",
    "PROJECT",
    "READ",
    "WRITE",
    "Entry",
    "Mark",
    "Named",
    "Opened",
    "Outputs",
    "ReplayedRule",
    "Spec",
    "kept_kind",
    "kind_of_result",
    "opened",
    "parents_of",
    "spec_of",
    "wrap_kept",
    "written_slot",
]
