"""Calls of operations that are settled: what shapes and parameters decide is decided once.

Most calls of a program come again: the same operation, of tensors of the same shapes and dtypes,
with the same parameters. Of an operation that is declared with `settles=True` such a call is one
call of one rule, which is found out when the call comes for the second time: the operation's
function runs on traced arrays of the graph, and where it has logged one entry, of the arrays that
it was given, the later calls make that entry without it. What they remember is how the result is
computed, which values the entry keeps, and how its replay computes the cotangents. The core has
such ways for many rules (`tapegrad._core.settled`); for the others they are made here.

An operation settles if its shapes, dtypes and parameters alone decide which rule it calls, and if
it refuses no values. Anything unusual is left to the general call: traced and batched arrays,
profilers, hooks of saved tensors, inference mode, parameters that are not plain, calls that warn.

Knows tensors, nodes and the layout of entries. Must not know which operations exist.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Container, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from tapegrad import Array
from tapegrad._core.entry import MINUS, Spec, parents_of, spec_of
from tapegrad._core.fit import fit_cotangent
from tapegrad._core.forms import Elementwise
from tapegrad._core.quiet import SILENT, VARIABLE
from tapegrad._core.rule import Rule
from tapegrad._core.scatter import scatter
from tapegrad._core.settled import (
    NUMBER,
    AllWays,
    Settled,
    SettledAll,
    Ways,
    settled_of_one,
    settled_of_several,
    settled_spec,
    summing,
)
from tapegrad._core.types import Cotangent, Function, Params, Value
from tapegrad._core.values import ASKED, Scatter
from tapegrad._warning import COUNT as WARNINGS
from tapegrad.rules.index import WHERE
from tapegrad.torch._dtypes import Size
from tapegrad.torch._dtypes import dtype as torch_dtype
from tapegrad.torch._graph.modes import MODE, UNLOGGED
from tapegrad.torch._graph.node import GraphTape, Node, fresh_node, new, number_of
from tapegrad.torch._graph.order import next_number
from tapegrad.torch._graph.versions import owner_of
from tapegrad.torch._rules.declare import Declared
from tapegrad.torch._rules.fused import Fused, Kept
from tapegrad.torch._tensor.tensor import (
    LEAF,
    Tensor,
    accumulator_of,
    array_of,
    ndarray,
    node_of,
    of_value,
)

mode_of = MODE.get

Call = Callable[..., Any]
Make = Callable[[Sequence[Tensor], Sequence[Value]], Tensor]

_SMALL = 1 << 12  # elements of an array that is the same for all such calls, as of a mask
_LONGEST = 12  # steps of a call
_MOST = 1 << 12  # calls that an operation remembers; programs with more begin again
LARGEST = 1 << 16  # elements of an array, beyond which a call is not settled
# Parameters of these classes are told apart by their class and `==`.
_DTYPES = {type(np.dtype(letter)) for letter in "?bBhHiIlLqQefdFD"}
_PLAIN = frozenset((int, bool, float, str, type(None), torch_dtype, *_DTYPES))
_SEQUENCES = frozenset((tuple, list, Size))
_IN_TUPLES = frozenset((int, bool, str, type(None)))


def settling(general: Call, trace: Call) -> Call:  # noqa: C901 - the hot path, written out
    """An operation of which calls that come again are settled.

    general: the operation. trace: what it computes, a function of arrays with its parameters.
    """
    known: dict[Any, Make] = {}
    others: dict[Any, bool] = {}  # calls that came once: whether they may be settled
    ask = known.get

    @functools.wraps(general)
    def call(*args: Any, **kwargs: Any) -> Any:  # noqa: C901 - the hot path
        mode = mode_of()
        if mode is not None and mode is not UNLOGGED:
            return general(*args, **kwargs)
        off = mode is not None  # gradients: then no argument counts as one that requires grad
        if len(args) == 2 and not kwargs:  # two tensors: the frequent case, written out
            first, second = args
            if isinstance(first, Tensor) and isinstance(second, Tensor):
                x, y = first._value, second._value
                if type(x) is ndarray and type(y) is ndarray:
                    one = (x.dtype, x.shape, x.strides, off or first.node is None)
                    two = (y.dtype, y.shape, y.strides, off or second.node is None)
                    found = ask((*one, *two))
                    if found is not None:
                        return found(args, (x, y))
        key: list[Any] = [len(args)] if kwargs else []
        tensors: list[Tensor] = []
        arrays: list[Value] = []
        for arg in (*args, *kwargs, *kwargs.values()) if kwargs else args:
            if isinstance(arg, Tensor):
                x = arg._value
                if type(x) is not ndarray:
                    return general(*args, **kwargs)
                key += x.dtype, x.shape, x.strides, off or arg.node is None
                tensors.append(arg)
                arrays.append(x)
                continue
            kind = type(arg)
            if kind in _PLAIN:
                key += kind, arg
                if kind is float and not arg:  # -0.0 == 0.0
                    key.append(math.copysign(1.0, arg))
            elif kind in _SEQUENCES and _IN_TUPLES.issuperset(map(type, arg)):
                key += kind, *arg, len(arg)
            elif (kind is tuple or kind is list) and all(isinstance(x, Tensor) for x in arg):
                key.append(len(arg))
                for part in arg:
                    x = part._value
                    if type(x) is not ndarray:
                        return general(*args, **kwargs)
                    key += x.dtype, x.shape, x.strides, off or part.node is None
                    arrays.append(x)
                tensors += arg
            else:
                return general(*args, **kwargs)
        whole = tuple(key)
        found = ask(whole)
        if found is not None:
            return found(tensors, arrays)
        warned = WARNINGS[0]
        result = general(*args, **kwargs)
        came = others.get(whole)
        if came is None:
            if len(others) >= _MOST:
                others.clear()
                known.clear()
            others[whole] = warned == WARNINGS[0]
        elif came:
            found = _learned(trace, args, kwargs, tensors, result, off)
            others[whole] = False
            if found is not None:
                known[whole] = found
        return result

    return call


def settled(function: Call) -> Call:
    """A function of tensors that calls operations, whose calls that come again are settled.

    What decides what it calls is as of an operation: shapes, dtypes and parameters alone.
    """

    def trace(*args: Any, **kwargs: Any) -> Any:
        made = function(
            *[_tensors(arg) for arg in args],
            **{word: _tensors(value) for word, value in kwargs.items()},
        )
        return made._value if type(made) is Tensor else None

    return settling(function, trace)


def _tensors(arg: Any) -> Any:
    """An argument with tensors in the place of arrays, also of those in a list."""
    if isinstance(arg, list):
        return [_tensors(part) for part in arg]
    return of_value(arg) if isinstance(arg, (Array, ndarray)) else arg


# --- What a call is settled to ------------------------------------------------------------------


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

    def log_settled(
        self, settled: SettledAll, rule: Any, out: Value, args: list[Value], slots: tuple[Any, ...]
    ) -> Any:
        given = list(args)
        made = super().log_settled(settled, rule, out, args, slots)
        self.given[made.slot] = given  # type: ignore[attr-defined]
        return made


class _Place(NamedTuple):
    """An argument of a rule: an input of the call or a result of a step, or else a constant."""

    number: int  # -1: a constant; the results of steps are numbered after the inputs
    constant: Any


class _Step(NamedTuple):
    """One call of a rule."""

    rule: Rule
    params: Params
    places: list[_Place]


def _learned(
    trace: Call,
    args: Sequence[Any],
    kwargs: Params,
    tensors: list[Tensor],
    result: Any,
    off: bool,
) -> Make | None:
    """How such a call is made, of the tensors among its arguments; None if it is not settled."""
    arrays = [tensor._value for tensor in tensors]
    tracked = [not off and tensor.node is not None for tensor in tensors]
    if type(result) is not Tensor or "out" in kwargs or result._base is not None:
        return None
    if any(x.size > LARGEST for x in (*arrays, result._value)):
        return None  # a few microseconds do not count there, and what is tried here takes memory
    if isinstance(result.node, Node) is not (True in tracked):
        return None
    whole = [id(x) for x in arrays if x.dtype.kind != "f"]
    if len(set(whole)) < len(whole):  # told apart by identity
        return None
    if any(x.dtype.kind not in "fiub" for x in arrays) or type(result._value) is not ndarray:
        return None
    steps = _traced(trace, args, kwargs, arrays)
    if steps is None or not _are_same_of_others(steps, trace, args, kwargs, arrays):
        return None
    nodes = None
    if result.node is not None:
        nodes = _entries_from(result.node, {node_of(tensor) for tensor in tensors})
    make = _maker_of(steps, arrays, tracked, nodes or [])
    if make is None:
        return None
    again = make(tensors, arrays)
    same = (
        spec_of(again._value) is spec_of(result._value)
        and again._value.strides == result._value.strides
        and again._value.tobytes() == result._value.tobytes()
    )
    return make if same else None


def _entries_from(last: Node, ends: Container[Any]) -> list[Node] | None:
    """The nodes between a result and the inputs of its call, in order; None for too many."""
    seen, stack = {last}, [last]
    while stack:
        entry = stack.pop()._entry
        if entry is None or len(seen) > _LONGEST:
            return None
        for parent in parents_of(entry):
            if parent != -1 and parent not in ends and parent not in seen:
                seen.add(parent)
                stack.append(parent)
    return sorted(seen, key=number_of)


def _traced(
    trace: Call, args: Sequence[Any], kwargs: Params, arrays: list[Value]
) -> list[_Step] | None:
    """The rules that a call has called, with their parameters and the places of its inputs."""
    probe = _Probe()
    inputs: list[Any] = [fresh_node() if x.dtype.kind == "f" else None for x in arrays]
    given = iter(
        [
            x if node is None else Array(x, node, probe, spec_of(x))
            for x, node in zip(arrays, inputs, strict=True)
        ]
    )
    positional = [_with(given, arg) for arg in args]
    words = {word: _with(given, value) for word, value in kwargs.items()}
    asked = ASKED[0]
    result = trace(*positional, **words)
    if ASKED[0] != asked:
        return None  # it looks at the values
    if not isinstance(result, Array) or result.tape is not probe or result.slot in inputs:
        return None
    nodes = _entries_from(result.slot, inputs) if isinstance(result.slot, Node) else None
    numbers = {node: i for i, node in enumerate([*inputs, *(nodes or ())]) if node is not None}
    steps = []
    for node in nodes or ():
        step = _step_of(node, probe, numbers, arrays)
        if step is None:
            return None
        steps.append(step)
    return steps or None


def _step_of(
    node: Node, probe: _Probe, numbers: dict[Any, int], arrays: list[Value]
) -> _Step | None:
    """What the entry of a node says of the call that it was made by; None for what is unusual."""
    rule, out, kept, params, slots, y_slot = node._entry
    if not isinstance(rule, Rule) or rule.singular is not None or rule.form == "custom":
        return None
    if y_slot is not None:  # the frequent layout
        slots = (slots,) if rule.unary else (slots, y_slot)
        kept, params = (kept,) if rule.unary else (kept, params), {}
        if any(slot == -1 and value is None for slot, value in zip(slots, kept, strict=True)):
            return None
    elif isinstance(out, tuple) or not all(map(_is_plain, params.values())):
        return None
    kept = probe.given.get(node, kept)
    params = {name: value for name, value in params.items() if type(value) is not Kept}
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
        places.append(_Place(number, value if number < 0 else None))
    if rule.settle is not None:  # such a call has one array, and others that were left out
        while len(places) > 1 and places[-1] == (-1, None):
            places.pop()
    return _Step(rule, params, places)


def _are_same_of_others(
    steps: list[_Step], trace: Call, args: Sequence[Any], kwargs: Params, arrays: list[Value]
) -> bool:
    """Whether the rules are called in the same way for other numbers in the arrays."""
    for change in _CHANGES:
        others = [_laid_out(change(x), x) if x.dtype.kind == "f" else x for x in arrays]
        try:
            with np.errstate(all="ignore"):
                again = _traced(trace, args, kwargs, others)
        except (ValueError, RuntimeError, IndexError):  # the operation refuses values
            return False
        if again is None or not _are_same(steps, again):
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


def _are_same(steps: list[_Step], others: list[_Step]) -> bool:
    return len(others) == len(steps) and all(
        one.rule is two.rule
        and one.params == two.params
        and len(one.places) == len(two.places)
        and all(map(_is_same_place, one.places, two.places))
        for one, two in zip(steps, others, strict=True)
    )


def _is_same_place(one: _Place, two: _Place) -> bool:
    if one.number != two.number:
        return False
    return one.number >= 0 or np.array_equal(one.constant, two.constant)


def _maker_of(
    steps: list[_Step], arrays: list[Value], tracked: list[bool], nodes: list[Node]
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
        specs = [p.constant if p.number < 0 else spec_of(values[p.number]) for p in step.places]
        with np.errstate(all="ignore"):
            out = _call(_function_of(step.rule, step.params), step.places, values)
        if not isinstance(out, (ndarray, np.generic)):
            return None
        run, settled, node = _function_of(step.rule, step.params), None, None
        if True in wanted:
            node = next(left, None)
            if node is None or node._entry[0] is not step.rule:
                return None
            settled, found = _ways_of(step.rule, specs, wanted, spec_of(out), step.params)
            run = found or run
        kind = None if node is None else type(node)
        made.append(_Made(step.rule, run, kind, settled, step.places, specs, wanted, spec_of(out)))
        values.append(out)
        tracked.append(settled is not None)
    if next(left, None) is not None or tracked[-1] is not logs:
        return None
    if logs and len(made) == 1:
        return _maker(len(arrays), *made[0])
    return _maker_of_several(made, logs)


def _call(function: Call, places: list[_Place], values: list[Value]) -> Any:
    return function(*[values[p.number] if p.number >= 0 else p.constant for p in places])


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
    return value is None or isinstance(value, (int, float, str, slice, np.dtype, type, Kept))


def _function_of(rule: Rule, params: Params) -> Call:
    """The rule's function of arrays, with the parameters of a call."""
    function = rule.implementation
    if isinstance(function, Declared):
        function = function.function
    if rule.sequence:
        return lambda *arrays: function(arrays, **params)
    return functools.partial(function, **params) if params else function


def settled_one(rule: Rule, x: Spec, out: Spec, params: Params) -> Settled | None:
    """The settled call of a rule of one array that declares ways; None for what it leaves."""
    assert rule.settle is not None
    ways: Ways | None = rule.settle(x, out, **params)
    if ways is None:
        return None
    return settled_of_one(rule, ways, out, params)


def settled_spread(rule: Rule, x: Spec, out: Spec, params: Params) -> SettledAll:
    """The settled call of `rule`, which broadcasts an array: its cotangents are sums."""
    total = summing(out.shape, x.shape)
    pull = (lambda g, *_: (g,)) if total is None else (lambda g, *_: (total(g),))
    return settled_of_several(rule, AllWays(pull), (x,), (True,), out, params)


def _ways_of(
    rule: Rule, specs: list[Any], wanted: tuple[bool, ...], out: Spec, params: Params
) -> tuple[Settled | SettledAll, Call | None]:
    """The ways of a call, and its function if that is among them."""
    whole = all(type(spec) is Spec for spec in specs)
    if rule.settle is not None and whole and len(specs) == 1:
        one = settled_one(rule, specs[0], out, params)
        if one is not None:
            return one, one.run
    found: AllWays | None = None
    if isinstance(rule, Fused):
        found = rule.ways(specs, out, wanted, **params)
        if found is not None:
            made = settled_of_several(rule, found, tuple(specs), wanted, out, params)
            made.strong = found.strong  # else they need none
            return made, found.keep or found.run
    if found is None and rule.settle_all is not None:
        given = tuple(map(_spec_for, specs))
        if all(_is_known(rule, spec, out) for spec in given):
            found = rule.settle_all(given, out, wanted, **params)
    if found is None:
        found = AllWays(_pull_of(rule, specs, wanted, out, params))
    return settled_of_several(rule, found, tuple(specs), wanted, out, params), None


def _spec_for(given: Any) -> Any:
    """The spec of an argument that is a constant, or its own; None for what has none."""
    if type(given) is Spec:
        return given
    return spec_of(given) if type(given) is ndarray else settled_spec(given)


def _is_known(rule: Rule, spec: Any, out: Spec) -> bool:
    """Whether the core settles calls of a rule with such an argument."""
    if spec is NUMBER:
        return rule.numbers
    return spec is not None and (
        spec.dtype is out.dtype or (rule is WHERE and spec.dtype.char == "?")
    )


def _pull_of(
    rule: Rule, specs: list[Any], wanted: tuple[bool, ...], out: Spec, params: Params
) -> Call:
    """The pull of a rule that has no ways of its own, for calls with these specs."""
    at = wanted.index(True)
    if isinstance(rule, Elementwise) and wanted.count(True) == 1 and specs[at] is out:
        return _pull_elementwise(rule, at, specs)

    def pull(g: Cotangent, out: Value, *args: Value) -> list[Cotangent]:
        bars = list(rule.pull(g, out, args, params, wanted))
        for position, bar in enumerate(bars):
            if bar is None:
                continue
            like = specs[position]
            if type(bar) is Scatter:
                whole: list[Any] = [None]
                scatter(whole, set(), 0, bar.index, bar._value, like)
                bars[position] = whole[0]
            elif bar.shape != like.shape or bar.dtype is not like.dtype:
                bars[position] = fit_cotangent(bar, like, rule)
        return bars

    return pull


def _pull_elementwise(rule: Elementwise, at: int, specs: list[Any]) -> Call:
    """The pull of an elementwise rule by one argument, which has the shape of the result."""
    partial: Function | None = rule.partials[at]
    spec: Spec = specs[at]
    before, after = (None,) * at, (None,) * (len(specs) - at - 1)
    if partial is None:
        return lambda g, *_: (*before, g, *after)
    if partial is MINUS:
        return lambda g, *_: (*before, -g, *after)
    times = rule.times if rule.strong else operator.mul

    def pull(g: Cotangent, out: Value, *args: Value) -> tuple[Cotangent, ...]:
        bar = times(g, partial(out, *args))
        if bar.dtype is not spec.dtype:  # a partial may be computed in double precision
            bar = bar.astype(spec.dtype)
        return (*before, bar, *after)

    return pull


# --- Making the call ----------------------------------------------------------------------------


def _maker(
    count: int,
    rule: Rule,
    run: Call,
    node_type: type[Node],
    settled: Settled | SettledAll,
    places: list[_Place],
    specs: list[Any],
    wanted: tuple[bool, ...],
    spec: Spec,
) -> Make:
    """A function that makes the call: of the tensors among its arguments, and their arrays.

    count: of the tensors, some of which the rule may not get.
    """
    keeps, keeps_out = _kept_by(settled)
    numbers = [place.number for place in places]
    in_order = numbers == [*range(count)]
    if in_order and all(keeps):
        kept_of: Any = tuple
    elif not any(keep and number >= 0 for keep, number in zip(keeps, numbers, strict=True)):
        fixed = tuple(specs)
        kept_of = lambda _arrays: fixed  # noqa: E731 - the choice is made once
    else:
        choice = [
            (number if keep else -1, spec)
            for keep, number, spec in zip(keeps, numbers, specs, strict=True)
        ]
        kept_of = lambda arrays: tuple(  # noqa: E731
            [spec if number < 0 else arrays[number] for number, spec in choice]
        )
    sources = [number if want else -1 for number, want in zip(numbers, wanted, strict=True)]
    keeping = isinstance(settled, SettledAll) and settled.keep is not None
    lone, both = sources == [0], sources == [0, 1] and count == 2

    def make(tensors: Sequence[Tensor], arrays: Sequence[Value]) -> Tensor:
        token = VARIABLE.set(SILENT)
        try:
            if in_order:
                out = run(*arrays)
            else:
                out = run(*[arrays[p.number] if p.number >= 0 else p.constant for p in places])
        finally:
            VARIABLE.reset(token)
        kept = kept_of(arrays)
        if keeping:
            out, besides = out
            kept = (*kept, besides)
        result: Tensor = new(Tensor)
        if type(out) is not ndarray:
            result._value = np.asarray(out)
        elif out.base is not None and owner_of(out) is owner_of(arrays[0]):
            result._value = out.copy()
        else:
            result._value = out
        result.node = node = new(node_type)
        if lone:
            nodes: Any = (_node_for(tensors[0]),)
        elif both:
            first, second = tensors
            nodes = _node_for(first), _node_for(second)
        else:
            nodes = tuple([-1 if n < 0 else _node_for(tensors[n]) for n in sources])
        node._number = next_number()
        node._entry = rule, out if keeps_out else spec, kept, settled, nodes, None
        return result

    return make


class _Made(NamedTuple):
    """What is known of a step before it is made."""

    rule: Rule
    run: Call
    node_type: Any  # None for a step that nothing is differentiated through
    settled: Any
    places: list[_Place]
    specs: list[Any]
    wanted: tuple[bool, ...]
    spec: Spec


def _maker_of_several(steps: list[_Made], logs: bool) -> Make:
    """The same for a call that is made in several steps, with a node each, or with none at all."""
    plan = []
    for rule, run, node_type, settled, places, specs, wanted, spec in steps:
        keeps, keeps_out = _kept_by(settled)
        parts = [
            (place.number if keep and place.number >= 0 else -1, spec)
            for keep, place, spec in zip(keeps or wanted, places, specs, strict=True)
        ]
        slots = [p.number if want else -1 for p, want in zip(places, wanted, strict=True)]
        keeping = isinstance(settled, SettledAll) and settled.keep is not None
        how = (run, keeping, keeps_out)
        plan.append((rule, how, node_type, settled, places, parts, slots, spec))

    def make(tensors: Sequence[Tensor], arrays: Sequence[Value]) -> Tensor:
        values = list(arrays)
        nodes: list[Any] = []
        if logs:
            nodes += [None if x.node is None else _node_for(x) for x in tensors]
        token = VARIABLE.set(SILENT)
        try:
            for rule, (
                run,
                keeping,
                keeps_out,
            ), node_type, settled, places, parts, slots, spec in plan:
                out = run(*[values[n] if n >= 0 else constant for n, constant in places])
                besides: tuple[Any, ...] = ()
                if keeping:
                    out, *besides = out
                node = None
                if node_type is not None:
                    node = new(node_type)
                    node._number = next_number()
                    node._entry = (
                        rule,
                        out if keeps_out else spec,
                        (*[values[n] if n >= 0 else part for n, part in parts], *besides),
                        settled,
                        tuple([nodes[n] if n >= 0 else -1 for n in slots]),
                        None,
                    )
                values.append(out)
                nodes.append(node)
        finally:
            VARIABLE.reset(token)
        result: Tensor = new(Tensor)
        out = values[-1]
        if type(out) is not ndarray:
            result._value = np.asarray(out)
        elif out.base is not None and owner_of(out) is owner_of(arrays[0]):
            result._value = out.copy()
        else:
            result._value = out
        result.node = nodes[-1]
        return result

    return make


def _kept_by(settled: Settled | SettledAll | None) -> tuple[tuple[bool, ...], bool]:
    """Which arguments an entry keeps, and whether it keeps the result."""
    if settled is None:
        return (), False
    return (settled.keeps_x,) if isinstance(settled, Settled) else settled.keeps, settled.keeps_out


def kept_by(result: Tensor) -> Any:
    """What the call that made a tensor keeps for its derivative; None if it keeps nothing."""
    node = result.node
    entry = node._entry if isinstance(node, Node) else None
    if entry is None or type(entry[4]) is not tuple:
        return None
    _, _, kept, params, nodes, _ = entry
    return kept[-1] if len(kept) > len(nodes) else params.get("kept")


def _node_for(x: Tensor) -> Node:
    """The node of a tensor that is about to be used; RuntimeError for inference tensors."""
    if x._inference:
        array_of(x)
    node: Node = accumulator_of(x) if x.node is LEAF else x.node
    return node


__all__ = ["kept_by", "settled", "settled_one", "settled_spread", "settling"]
