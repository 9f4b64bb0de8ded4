"""Calls that are planned, made: how the result is computed, and what its entries keep.

A call is a list of steps, each a call of one rule, or a result of several or a part of one. What
shapes and dtypes decide of a step is known before: its function, which values its entry keeps, and
how its replay computes the cotangents (`kernels`).

Knows tensors, nodes and the layout of entries. Must not know how the steps of a call are found
(`learning`), nor which operations exist.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tapegrad._core.entry import PROJECT, READ, Outputs, Spec, spec_of
from tapegrad._core.fast.call_plans import CallPlan
from tapegrad._core.quiet import silence, silently, silently_again
from tapegrad._core.rule import Rule
from tapegrad._core.types import Params, Value, Values
from tapegrad.torch._graph.node import Node, new
from tapegrad.torch._graph.order import next_number
from tapegrad.torch._graph.versions import owner_of
from tapegrad.torch._ops.kernels import Call, function_of, kernels_of
from tapegrad.torch._rules.declare import Instead
from tapegrad.torch._tensor.tensor import LEAF, Tensor, accumulator_of, array_of, ndarray

# The maker of a call: of the tensor among its arguments and its array, of two and both arrays, or
# of others, all of them and all of theirs. See `made_by`.
Make = Callable[..., Any]


class Place(NamedTuple):
    """An argument of a rule: an input of the call or a result of a step, or else a constant."""

    number: int  # -1: a constant; the results of steps are numbered after the inputs
    constant: Any


class Step(NamedTuple):
    """One call of a rule; PROJECT: of several results the one at an index; READ: a part."""

    rule: Any
    params: Params
    places: list[Place]

    def run(self) -> Call:
        """The function of arrays that it calls."""
        if self.rule is PROJECT or self.rule is READ:
            return operator.itemgetter(self.params["index"])
        return function_of(self.rule, self.params)


class Results(NamedTuple):
    """Where the results of a call are among the values of its steps."""

    numbers: list[int]
    kind: Any  # the class of a tuple of them; None: one result alone


class _Made(NamedTuple):
    """Description of a step before it is made."""

    rule: Any
    run: Call
    node_type: Any  # None for a step that nothing is differentiated through
    call_plan: Any
    places: list[Place]
    specs: list[Any]
    wanted: tuple[bool, ...]
    spec: Any  # of the result; of several: `Outputs` of them


def maker_of(
    steps: list[Step],
    results: Results,
    arrays: list[Value],
    tracked: list[bool],
    nodes: list[Node],
) -> Make | None:
    """A function that makes a call of these steps; None where nodes are others than theirs.

    tracked: which of the arrays' tensors count as ones that require grad. nodes: those of a call
    that was made, in order of time.
    """
    values, logs, tracked = list(arrays), True in tracked, list(tracked)
    made: list[_Made] = []
    left = iter(nodes)
    for step in steps:
        wanted = tuple(p.number >= 0 and tracked[p.number] for p in step.places)
        specs = [p.constant if p.number < 0 else _spec_of(values[p.number]) for p in step.places]
        run, call_plan, node = step.run(), None, None
        with silence():
            out = run(*[values[p.number] if p.number >= 0 else p.constant for p in step.places])
        if not isinstance(out, (ndarray, np.generic, tuple)):
            return None
        spec = _spec_of(out)
        if True in wanted:
            node = next(left, None)
            if node is None or node._entry[0] is not step.rule:
                return None
            call_plan, found = _planned_step(step, specs, wanted, spec)
            run = found or run
        kind = None if node is None else type(node)
        made.append(_Made(step.rule, run, kind, call_plan, step.places, specs, wanted, spec))
        values.append(out)
        tracked.append(call_plan is not None)
    if next(left, None) is not None or any(tracked[at] is not logs for at in results.numbers):
        return None
    one = len(made) == 1 and results.kind is None
    if logs and one:
        return _maker(len(arrays), *made[0])
    return _maker_of_several(len(arrays), made, results, logs)


def contiguous(make: Make) -> Make:
    """A maker whose results are contiguous."""

    def settled(*given: Any) -> Any:
        made = make(*given)
        for part in made if isinstance(made, tuple) else (made,):
            if not part._value.flags.c_contiguous:
                replace_value(part, part._value.copy("C"))
        return made

    return settled


def replace_value(made: Tensor, value: Value) -> None:
    """Give a new result, and its entry if that keeps it, another array of the same numbers."""
    node, entry = made.node, None
    if isinstance(node, Node):
        entry = node._entry
    if entry is not None and entry[1] is made._value:
        node._entry = (entry[0], value, *entry[2:])
    made._value = value


INPUT: Any = object()  # stands for a tensor among the arguments of a call


def maker_by_function(function: Call, args: Sequence[Any], kwargs: Params, count: int) -> Make:
    """A function that makes a call without history by the operation's own function of arrays.

    args, kwargs: with `INPUT` in the place of each of so many tensors, also in lists.
    """
    rest = args[count:]
    leading = not kwargs and args[:count] == [INPUT] * count

    def filled(arrays: Values) -> list[Any]:
        given = iter(arrays)
        return [
            next(given)
            if arg is INPUT
            else [next(given) for _ in arg]
            if type(arg) is list and INPUT in arg
            else arg
            for arg in (*args, *kwargs.values())
        ]

    def call(*given: Any) -> Any:
        split = len(args)
        return function(*given[:split], **dict(zip(kwargs, given[split:], strict=True)))

    run = call if kwargs else function

    def make(_tensors: Sequence[Tensor], arrays: Values) -> Any:
        given = (*arrays, *rest) if leading else filled(arrays)
        try:
            out = silently(run, *given)
        except RuntimeError as error:
            out = silently_again(error, run, *given)
        owner = owner_of(arrays[0])
        if not isinstance(out, tuple):
            return _tensor_of(out, None, owner)
        made = [_tensor_of(part, None, owner) for part in out]
        return type(out)(*made) if hasattr(out, "_fields") else type(out)(made)

    return _fitting(make, count)


def made_by(make: Make, tensors: Sequence[Tensor], arrays: Values) -> Any:
    """A call of the tensors among its arguments, and their arrays."""
    count = len(arrays)
    if count == 1:
        return make(tensors[0], arrays[0])
    return make(*tensors, *arrays) if count == 2 else make(tensors, arrays)


def _fitting(make: Callable[[Sequence[Tensor], Sequence[Value]], Any], count: int) -> Make:
    """Maker of a call of so many tensors, from one of any number."""
    if count == 1:
        return lambda tensor, x: make((tensor,), (x,))
    if count == 2:
        return lambda first, second, x, y: make((first, second), (x, y))
    return make


def _spec_of(value: Value) -> Any:
    """The spec of a value; of several results all of theirs."""
    if not isinstance(value, tuple):
        return spec_of(value)
    specs = Outputs(map(spec_of, value))
    specs.slots = (-1,) * len(specs)  # not the nodes of the results, which hold that of the call
    return specs


def _planned_step(
    step: Step, specs: list[Any], wanted: tuple[bool, ...], spec: Any
) -> tuple[Any, Call | None]:
    """Parameters in the entry of a step; its function, if there is a faster one."""
    if step.rule is PROJECT:
        return (step.params["index"], len(specs[0])), None
    if step.rule is READ:
        return step.params["index"], None
    return kernels_of(step.rule, specs, wanted, spec, step.params)


def _maker(
    count: int,
    rule: Rule,
    run: Call,
    node_type: type[Node],
    call_plan: CallPlan,
    places: list[Place],
    specs: list[Any],
    wanted: tuple[bool, ...],
    spec: Spec,
) -> Make:
    """A function that makes the call: of the tensors among its arguments, and their arrays.

    count: of the tensors, some of which the rule may not get.
    """
    keeps, keeps_out = _kept_by(call_plan)
    numbers = [place.number for place in places]
    if count == 1 and numbers[0] == 0 and max(numbers[1:], default=-1) < 0:
        return _maker_of_one(rule, run, node_type, call_plan, places, specs, spec)
    if numbers == [0, 1] and count == 2 and not _is_keeping(call_plan):
        return _maker_of_two(rule, run, node_type, call_plan, specs, wanted, spec)
    in_order, fixed = numbers == [*range(count)], None
    if not any(keep and number >= 0 for keep, number in zip(keeps, numbers, strict=True)):
        fixed = tuple(specs)
    kept_whole = in_order and all(keeps)
    choice = [
        (number if keep else -1, spec)
        for keep, number, spec in zip(keeps, numbers, specs, strict=True)
    ]
    sources = [number if want else -1 for number, want in zip(numbers, wanted, strict=True)]
    keeping = _is_keeping(call_plan)
    both, whole = sources == [0, 1] and count == 2, sources == [*range(count)]

    def make(tensors: Sequence[Tensor], arrays: Values) -> Tensor:
        given = arrays
        if not in_order:
            given = [arrays[number] if number >= 0 else constant for number, constant in places]
        try:
            out = silently(run, *given)
        except RuntimeError as error:
            out = silently_again(error, run, *given)
        kept: Any = fixed
        if kept_whole:
            kept = tuple(arrays)
        elif kept is None:
            kept = tuple([spec if number < 0 else arrays[number] for number, spec in choice])
        if keeping:
            out, besides = out
            kept = _with_besides(kept, besides)
        result: Tensor = new(Tensor)
        if type(out) is not ndarray:
            out = np.asarray(out)
        elif out.base is not None and owner_of(out) is owner_of(arrays[0]):
            out = out.copy()
        result._value = out
        result.node = node = new(node_type)
        if both:
            first, second = tensors
            nodes: Any = (
                node_for(first) if first.node is LEAF else first.node,
                node_for(second) if second.node is LEAF else second.node,
            )
        elif whole:
            nodes = tuple([node_for(x) if x.node is LEAF else x.node for x in tensors])
        else:
            nodes = tuple([-1 if n < 0 else node_for(tensors[n]) for n in sources])
        node._number = next_number()
        node._entry = rule, out if keeps_out else spec, kept, call_plan, nodes, None
        return result

    return _fitting(make, count)


def _with_besides(kept: tuple[Any, ...], besides: Any) -> tuple[Any, ...]:
    """Values that an entry keeps of its arguments, and besides."""
    if type(besides) is Instead:
        return (besides[0], *kept[1:], besides)
    return (*kept, besides)


def _maker_of_one(
    rule: Rule,
    run: Call,
    node_type: type[Node],
    call_plan: CallPlan,
    places: list[Place],
    specs: list[Any],
    spec: Spec,
) -> Make:
    """The same for a call of one tensor, before numbers: most calls are such ones."""
    keeps, keeps_out = _kept_by(call_plan)
    keeping = _is_keeping(call_plan)
    constants = tuple([place.constant for place in places[1:]])
    rest, absent = tuple(specs[1:]), (-1,) * len(constants)
    fixed = None if keeps[0] else tuple(specs)

    def make(tensor: Tensor, x: Value) -> Tensor:
        try:
            out = silently(run, x, *constants) if constants else silently(run, x)
        except RuntimeError as error:
            out = silently_again(error, run, x, *constants)
        if keeping:
            out, besides = out
            kept: Any = (x, besides) if plain else (*(fixed or (x, *rest)), besides)
        else:
            kept = (x,) if plain else fixed or (x, *rest)
        result: Tensor = new(Tensor)
        if type(out) is not ndarray:
            out = np.asarray(out)
        elif out.base is not None and owner_of(out) is owner_of(x):
            out = out.copy()
        result._value = out
        source = tensor.node
        if source is LEAF:
            source = node_for(tensor)
        result.node = node = new(node_type)
        node._number = next_number()
        nodes = (source, *absent) if constants else (source,)
        node._entry = rule, out if keeps_out else spec, kept, call_plan, nodes, None
        return result

    plain = not constants and fixed is None
    return make


def _maker_of_two(
    rule: Rule,
    run: Call,
    node_type: type[Node],
    call_plan: CallPlan,
    specs: list[Any],
    wanted: tuple[bool, ...],
    spec: Spec,
) -> Make:
    """The same for a call of two tensors, both in their places."""
    (keeps_x, keeps_y), keeps_out = _kept_by(call_plan)
    (x_spec, y_spec), (by_x, by_y) = specs, wanted

    def make(first: Tensor, second: Tensor, x: Value, y: Value) -> Tensor:
        try:
            out = silently(run, x, y)
        except RuntimeError as error:
            out = silently_again(error, run, x, y)
        result: Tensor = new(Tensor)
        if type(out) is not ndarray:
            out = np.asarray(out)
        elif out.base is not None and owner_of(out) is owner_of(x):
            out = out.copy()
        result._value = out
        x_node: Any = -1
        y_node: Any = -1
        if by_x:
            x_node = first.node
            if x_node is LEAF:
                x_node = node_for(first)
        if by_y:
            y_node = second.node
            if y_node is LEAF:
                y_node = node_for(second)
        result.node = node = new(node_type)
        node._number = next_number()
        kept = x if keeps_x else x_spec, y if keeps_y else y_spec
        shown = out if keeps_out else spec
        node._entry = rule, shown, kept, call_plan, (x_node, y_node), None
        return result

    return make


def _maker_of_several(given: int, steps: list[_Made], results: Results, logs: bool) -> Make:
    """The same for a call of several steps, each with a node or, without gradients, none at all.

    Also where the results are several. given: how many tensors the call has.
    """
    plan = []
    for rule, run, node_type, call_plan, places, specs, wanted, spec in steps:
        keeps, keeps_out = _kept_by(call_plan)
        parts = [
            (place.number if keep and place.number >= 0 else -1, spec)
            for keep, place, spec in zip(keeps or wanted, places, specs, strict=True)
        ]
        slots = [p.number if want else -1 for p, want in zip(places, wanted, strict=True)]
        how = run, _is_keeping(call_plan), keeps_out
        plan.append((rule, how, node_type, call_plan, places, parts, slots, spec))

    run_all = _runner(plan)

    def make(tensors: Sequence[Tensor], arrays: Values) -> Any:
        values = list(arrays)
        nodes: list[Any] = []
        if logs:
            nodes += [None if x.node is None else node_for(x) for x in tensors]
        try:
            silently(run_all, values, nodes)
        except RuntimeError as error:
            silently_again(error, run_all, values, nodes)
        owner = owner_of(arrays[0])
        made = [_tensor_of(values[at], nodes[at] if logs else None, owner) for at in numbers]
        if kind is None:
            return made[0]
        return tuple(made) if kind is tuple else kind(*made)

    numbers, kind = results
    return _fitting(make, given)


def _runner(plan: list[Any]) -> Callable[[list[Any], list[Any]], None]:
    """Runner of the steps of a plan, adding their values and nodes to those of the call."""

    def run_all(values: list[Any], nodes: list[Any]) -> None:
        for rule, how, node_type, call_plan, places, parts, slots, spec in plan:
            run, keeping, keeps_out = how
            count = len(slots)
            if count == 1:  # the frequent cases, written out
                ((n, x),) = places
                out = run(values[n] if n >= 0 else x)
            elif count == 2:
                (m, x), (n, y) = places
                out = run(values[m] if m >= 0 else x, values[n] if n >= 0 else y)
            else:
                out = run(*[values[n] if n >= 0 else constant for n, constant in places])
            besides: tuple[Any, ...] = ()
            if keeping:
                out, *besides = out
            shown = out if keeps_out else spec
            if type(shown) is tuple:
                shown = Outputs(out)
                shown.slots = spec.slots
            node = None
            if node_type is not None:
                node = new(node_type)
                node._number = next_number()
                if rule is PROJECT:
                    node._entry = PROJECT, None, *call_plan, nodes[slots[0]], None
                elif rule is READ:
                    node._entry = READ, None, parts[0][1], call_plan, nodes[slots[0]], None
                else:
                    if count == 1:
                        ((n, x),) = parts
                        kept: Any = (values[n] if n >= 0 else x, *besides)
                        sources: Any = (nodes[slots[0]],)
                    else:
                        kept = (*[values[n] if n >= 0 else x for n, x in parts], *besides)
                        if keeping:
                            kept = _with_besides(kept[:-1], kept[-1])
                        sources = tuple([nodes[n] if n >= 0 else -1 for n in slots])
                    node._entry = rule, shown, kept, call_plan, sources, None
            values.append(out)
            nodes.append(node)

    return run_all


def _tensor_of(out: Value, node: Any, owner: Value) -> Tensor:
    """The tensor of a result; one in the memory of an argument is copied."""
    result: Tensor = new(Tensor)
    if type(out) is not ndarray:
        result._value = np.asarray(out)
    elif out.base is not None and owner_of(out) is owner:
        result._value = out.copy()
    else:
        result._value = out
    result.node = node
    return result


def _kept_by(call_plan: Any) -> tuple[tuple[bool, ...], bool]:
    """Which arguments an entry keeps, and whether it keeps the result."""
    if not isinstance(call_plan, CallPlan):
        return (), False
    return call_plan.keeps, call_plan.keeps_out


def _is_keeping(call_plan: Any) -> bool:
    """Whether a step gives what its derivative needs beside its results."""
    return isinstance(call_plan, CallPlan) and call_plan.keep is not None


def kept_by(result: Tensor) -> Any:
    """Values that a tensor's call keeps for its derivative; None if it keeps nothing."""
    node = result.node
    entry = node._entry if isinstance(node, Node) else None
    if entry is None or type(entry[4]) is not tuple:
        return None
    _, _, kept, params, nodes, _ = entry
    return kept[-1] if len(kept) > len(nodes) else params.get("kept")


def node_for(x: Tensor) -> Node:
    """The node of a tensor that is about to be used; RuntimeError for inference tensors.

    These may be leaves that require grad, but never have a node of an operation.
    """
    if x._inference:
        array_of(x)
    node: Node = accumulator_of(x) if x.node is LEAF else x.node
    return node
