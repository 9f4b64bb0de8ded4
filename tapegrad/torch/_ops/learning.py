"""Plan of a call of an operation: the rules that it calls, and of which arrays.

The operation's function runs on traced arrays of the graph. What it has logged are the steps of
the call, if they depend on nothing but the arrays that it was given and on plain parameters, and
are the same for other numbers in the arrays.

Knows the layout of entries. Must not know how the steps are made again (`making`), nor which
operations exist.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from typing import Any

import numpy as np

from tapegrad import Array
from tapegrad._core.entry import PROJECT, READ, parents_of, spec_of
from tapegrad._core.fast.call_plans import CallPlan
from tapegrad._core.fast.tape import log_planned
from tapegrad._core.quiet import silence
from tapegrad._core.rule import Rule
from tapegrad._core.types import Params, Value
from tapegrad._core.values import ASKED
from tapegrad.torch._graph.node import GraphTape, Node, fresh_node, number_of
from tapegrad.torch._ops.kernels import Call
from tapegrad.torch._ops.making import (
    INPUT,
    Make,
    Place,
    Results,
    Step,
    contiguous,
    made_by,
    maker_by_function,
    maker_of,
)
from tapegrad.torch._rules.declare import Kept
from tapegrad.torch._tensor.tensor import Tensor, ndarray, node_of

_SMALL = 1 << 12  # elements of an array that is the same for all such calls, as of a mask
_LONGEST = 16  # steps of a call
LARGEST = 1 << 20  # elements of an array, beyond which a call is not planned


class _Probe(GraphTape):
    """A tape of one call, which remembers the arguments that no entry keeps."""

    __slots__ = ("given",)

    def __init__(self) -> None:
        super().__init__()
        self.given: dict[Any, Sequence[Any]] = {}

    def record(
        self, rule: Any, out: Value, args: list[Value], slots: list[Any], params: Params
    ) -> Any:
        made = super().record(rule, out, args, slots, params)
        if isinstance(made, Array):
            self.given[made.slot] = args
        return made

    def log_planned(
        self, plan: CallPlan, rule: Any, out: Value, args: list[Value], slots: tuple[Any, ...]
    ) -> Any:
        given = list(args)
        made = log_planned(self, plan, rule, out, args, slots)
        self.given[made.slot] = given
        return made


def learned(
    trace: Call, args: Sequence[Any], kwargs: Params, tensors: list[Tensor], result: Any, off: bool
) -> Make | None:
    """How such a call is made, of the tensors among its arguments; None if it is not planned."""
    arrays = [tensor._value for tensor in tensors]
    tracked = [not off and tensor.node is not None for tensor in tensors]
    parts = result if isinstance(result, tuple) else (result,)
    if "out" in kwargs or not parts:
        return None
    for part in parts:
        if type(part) is not Tensor or part._base is not None:
            return None
        if isinstance(part.node, Node) is not (True in tracked):
            return None
        if type(part._value) is not ndarray:
            return None
    if any(x.size > LARGEST for x in (*arrays, *[part._value for part in parts])):
        return None  # what is tried here takes memory
    if any(x.dtype.kind not in "fiub" for x in arrays):
        return None
    make = None
    if any(x.dtype.kind == "f" for x in arrays):
        make = _by_steps(trace, args, kwargs, tensors, result, tracked)
    if make is None and arrays and True not in tracked and hasattr(trace, "compute"):
        make = maker_by_function(trace.compute, *_without_tensors(args, kwargs), len(arrays))
    if make is None:
        return None
    again = made_by(make, tensors, arrays)
    if _differ_in_order(again, parts):
        make = contiguous(make)
        again = made_by(make, tensors, arrays)
    kind = type(result) if isinstance(result, tuple) else None
    found = zip(again if kind is not None else (again,), parts, strict=True)
    return make if all(_is_same_array(one._value, two._value) for one, two in found) else None


def _by_steps(
    trace: Call,
    args: Sequence[Any],
    kwargs: Params,
    tensors: list[Tensor],
    result: Any,
    tracked: list[bool],
) -> Make | None:
    """The maker of a call by the rules that it calls, where these are always the same."""
    arrays = [tensor._value for tensor in tensors]
    whole = [id(x) for x in arrays if x.dtype.kind != "f"]
    if len(set(whole)) < len(whole):  # told apart by identity
        return None
    try:
        with silence():
            traced = _traced(trace, args, kwargs, arrays)
    except Exception:  # noqa: BLE001 - what refuses traced arrays alone has just been called
        return None
    if traced is None or not _are_same_of_others(traced, trace, args, kwargs, arrays):
        return None
    nodes = None
    if True in tracked:
        ends = {node_of(tensor) for tensor in tensors}
        parts = result if isinstance(result, tuple) else (result,)
        nodes = _entries_from([part.node for part in parts], ends)
    steps, numbers = traced
    kind = type(result) if isinstance(result, tuple) else None
    return maker_of(steps, Results(numbers, kind), arrays, tracked, nodes or [])


def _without_tensors(args: Sequence[Any], kwargs: Params) -> tuple[list[Any], Params]:
    """The arguments of a call with `INPUT` in the place of each tensor."""

    def without(arg: Any) -> Any:
        if isinstance(arg, (tuple, list)) and arg and isinstance(arg[0], Tensor):
            return [INPUT] * len(arg)
        if isinstance(arg, Tensor):
            return INPUT
        return list(arg) if type(arg) is list else arg  # which the program may change

    return list(map(without, args)), {word: without(value) for word, value in kwargs.items()}


def _differ_in_order(made: Any, parts: Sequence[Tensor]) -> bool:
    again = made if isinstance(made, tuple) else (made,)
    return any(
        one._value.strides != two._value.strides for one, two in zip(again, parts, strict=True)
    )


def _is_same_array(one: Value, two: Value) -> bool:
    """Whether two arrays have the same bits in the same order in memory."""
    same = spec_of(one) is spec_of(two) and one.strides == two.strides
    return same and bool(one.tobytes() == two.tobytes())


def _entries_from(last: list[Node], ends: Container[Any]) -> list[Node] | None:
    """The nodes between the results and the inputs of a call, in order; None for too many."""
    seen, stack = set(last), list(last)
    while stack:
        entry = stack.pop()._entry
        if entry is None or len(seen) > _LONGEST:
            return None
        for parent in parents_of(entry):
            if parent != -1 and parent not in ends and parent not in seen:
                seen.add(parent)
                stack.append(parent)
    return sorted(seen, key=number_of)


# The steps of a call, and the numbers of its results among their values.
_Traced = tuple[list[Step], list[int]]


def _traced(
    trace: Call, args: Sequence[Any], kwargs: Params, arrays: list[Value]
) -> _Traced | None:
    """The rules that a call has called, with their parameters and the places of its inputs."""
    probe = _Probe()
    inputs: list[Any] = [fresh_node() if x.dtype.kind == "f" else None for x in arrays]
    given = iter(
        [
            x if node is None else probe.wrap(x, node)
            for x, node in zip(arrays, inputs, strict=True)
        ]
    )
    try:
        positional = [_with(given, arg) for arg in args]
        words = {word: _with(given, value) for word, value in kwargs.items()}
        asked = ASKED[0]
        result = trace(*positional, **words)
        if ASKED[0] != asked:
            return None  # it looks at the values
        results = result if isinstance(result, tuple) else (result,)
        for part in results:
            if not isinstance(part, Array) or part.tape is not probe or part.slot in inputs:
                return None
            if not isinstance(part.slot, Node):
                return None
        nodes = _entries_from([part.slot for part in results], inputs)
        numbers = {node: i for i, node in enumerate([*inputs, *(nodes or ())]) if node is not None}
        steps = []
        for node in nodes or ():
            step = _step_of(node, probe, numbers, arrays)
            if step is None:
                return None
            steps.append(step)
        return (steps, [numbers[part.slot] for part in results]) if steps else None
    finally:
        probe.given.clear()  # whose arrays hold the probe: a cycle would keep them for a while


def _step_of(
    node: Node, probe: _Probe, numbers: dict[Any, int], arrays: list[Value]
) -> Step | None:
    """Call that made a node, by its entry; None for unusual ones."""
    rule, out, kept, params, slots, y_slot = node._entry
    if rule is PROJECT:
        return Step(PROJECT, {"index": kept}, [Place(numbers[slots], None)])
    if rule is READ:
        if slots not in numbers or not _is_plain(params):
            return None
        return Step(READ, {"index": params}, [Place(numbers[slots], None)])
    if not isinstance(rule, Rule) or rule.singular is not None or rule.form == "custom":
        return None
    if y_slot is not None:  # the frequent layout
        slots = (slots,) if rule.unary else (slots, y_slot)
        kept, params = (kept,) if rule.unary else (kept, params), {}
        if any(slot == -1 and value is None for slot, value in zip(slots, kept, strict=True)):
            return None
    elif not all(map(_is_plain, params.values())):
        return None
    else:
        params = {name: value for name, value in params.items() if type(value) is not Kept}
    kept = probe.given.get(node, kept)
    lone = all(x.ndim for x in arrays)  # then numbers can come from parameters alone
    small = _SMALL if all(x.dtype.kind == "f" for x in arrays) else 0
    places = []
    for value, slot in zip(kept, slots, strict=True):
        number = numbers.get(slot, -1)
        if number < 0:
            number = next((i for i, x in enumerate(arrays) if x is value), -1)
            if number < 0 and not (
                _is_number(value)
                or (type(value) is ndarray and (value.size < small or (lone and not value.ndim)))
            ):
                return None
        places.append(Place(number, value if number < 0 else None))
    if (
        rule.plan is not None and rule.plans_one
    ):  # such a call has one array, and others that were left out
        while len(places) > 1 and places[-1] == (-1, None):
            places.pop()
    return Step(rule, params, places)


def _are_same_of_others(
    traced: _Traced, trace: Call, args: Sequence[Any], kwargs: Params, arrays: list[Value]
) -> bool:
    """Whether the rules are called in the same way for other numbers in the arrays."""
    for change in _CHANGES:
        others = [_laid_out(change(x), x) if x.dtype.kind == "f" else x for x in arrays]
        try:
            with silence():
                again = _traced(trace, args, kwargs, others)
        except (ValueError, RuntimeError, IndexError):  # the operation refuses values
            return False
        if again is None or again[1] != traced[1] or not _are_same(traced[0], again[0]):
            return False
    return True


def _laid_out(values: Value, like: Value) -> Value:
    """Values in an array with the strides of another one, on which a copy may depend."""
    if values.strides == like.strides or not like.size or min(like.strides) < 0:
        return values
    reach = sum((n - 1) * step for n, step in zip(like.shape, like.strides, strict=True))
    memory = np.empty(reach + like.itemsize, np.uint8)
    made = ndarray(like.shape, like.dtype, memory, 0, like.strides)
    made[...] = values
    return made


# Other numbers of an array, also special ones, by which an operation may choose what it calls.
_CHANGES: tuple[Call, ...] = (
    lambda x: 0.75 - x,
    np.zeros_like,
    lambda x: np.full_like(x, np.inf),
    lambda x: np.full_like(x, np.nan),
)


def _are_same(steps: list[Step], others: list[Step]) -> bool:
    return len(others) == len(steps) and all(
        one.rule is two.rule
        and one.params == two.params
        and len(one.places) == len(two.places)
        and all(map(_is_same_place, one.places, two.places))
        for one, two in zip(steps, others, strict=True)
    )


def _is_same_place(one: Place, two: Place) -> bool:
    if one.number != two.number:
        return False
    return one.number >= 0 or np.array_equal(one.constant, two.constant)


def _is_number(value: Any) -> bool:
    return value is None or isinstance(value, (int, float, np.generic))


def _with(arrays: Iterator[Any], arg: Any) -> Any:
    """An argument with the next of the arrays in the place of each tensor."""
    if isinstance(arg, (tuple, list)) and arg and isinstance(arg[0], Tensor):
        return [next(arrays) for _ in arg]
    return next(arrays) if isinstance(arg, Tensor) else arg


def _is_plain(value: Any) -> bool:
    """Whether a parameter of a rule is the same for all calls: no array; or what a call keeps."""
    if isinstance(value, (tuple, list)):
        return all(map(_is_plain, value))
    return value is None or isinstance(
        value, (int, float, str, slice, range, np.dtype, type(...), type, Kept)
    )
