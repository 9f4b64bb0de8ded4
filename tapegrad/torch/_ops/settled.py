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
profilers, hooks of saved tensors, gradients that are off, parameters that are not plain.

Knows tensors, nodes and the layout of entries. Must not know which operations exist.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from tapegrad import Array
from tapegrad._core.entry import MINUS, Spec, spec_of
from tapegrad._core.fit import fit_cotangent
from tapegrad._core.forms import Elementwise
from tapegrad._core.quiet import SILENT, VARIABLE
from tapegrad._core.rule import Rule
from tapegrad._core.scatter import scatter
from tapegrad._core.settled import AllWays, Settled, SettledAll, Ways, summing
from tapegrad._core.types import Cotangent, Function, Params, Value
from tapegrad._core.values import Scatter
from tapegrad.torch._dtypes import Size
from tapegrad.torch._dtypes import dtype as torch_dtype
from tapegrad.torch._graph.modes import MODE
from tapegrad.torch._graph.node import GraphTape, Node, fresh_node, new
from tapegrad.torch._graph.order import next_number
from tapegrad.torch._graph.versions import owner_of
from tapegrad.torch._rules.declare import Declared
from tapegrad.torch._tensor.tensor import LEAF, Tensor, accumulator_of, array_of, ndarray

mode_of = MODE.get

Call = Callable[..., Any]
Make = Callable[[list[Tensor], list[Value]], Tensor]

_SMALL = 1 << 12  # elements of an array that is the same for all such calls, as of a mask
_MOST = 1 << 12  # calls that an operation remembers; programs with more begin again
_ONCE = object()  # stands for a call that came once
# Parameters of these classes are told apart by their class and `==`.
_PLAIN = frozenset((int, bool, float, str, type(None), torch_dtype))
_SEQUENCES = frozenset((tuple, list, Size))
_IN_TUPLES = frozenset((int, bool, str, type(None)))


def settling(general: Call, trace: Call) -> Call:  # noqa: C901 - the hot path, written out
    """An operation of which calls that come again are settled.

    general: the operation. trace: what it computes, a function of arrays with its parameters.
    """
    known: dict[Any, Any] = {}
    ask = known.get

    @functools.wraps(general)
    def call(*args: Any, **kwargs: Any) -> Any:
        if mode_of() is not None:
            return general(*args, **kwargs)
        key: list[Any] = []
        tensors: list[Tensor] = []
        arrays: list[Value] = []
        for arg in (*args, *kwargs, *kwargs.values()) if kwargs else args:
            if isinstance(arg, Tensor):
                x = arg._value
                if type(x) is not ndarray:
                    return general(*args, **kwargs)
                key += x.dtype, x.shape, x.strides, arg.node is None
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
                    key += x.dtype, x.shape, x.strides, part.node is None
                    arrays.append(x)
                tensors += arg
            else:
                return general(*args, **kwargs)
        found = ask(tuple(key))
        if found is not None and found is not _ONCE and found is not False:
            made: Tensor = found(tensors, arrays)
            return made
        result = general(*args, **kwargs)
        if found is not False:
            if len(known) >= _MOST:
                known.clear()
            known[tuple(key)] = (
                _ONCE if found is None else _learned(trace, args, kwargs, tensors, result)
            )
        return result

    return call


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


class _Place(NamedTuple):
    """An argument of the rule: an input of the call by its number, or else a constant."""

    number: int  # -1: a constant
    constant: Any


def _learned(
    trace: Call, args: Sequence[Any], kwargs: Params, tensors: list[Tensor], result: Any
) -> Make | bool:
    """How such a call is made, of the tensors among its arguments; False if it is not settled."""
    node = result.node if type(result) is Tensor else None
    arrays = [tensor._value for tensor in tensors]
    if not isinstance(node, Node) or "out" in kwargs:
        return False
    whole = [id(x) for x in arrays if x.dtype.kind != "f"]
    if len(set(whole)) < len(whole):  # told apart by identity
        return False
    if any(x.dtype.kind not in "fiub" for x in arrays) or type(result._value) is not ndarray:
        return False
    found = _traced(trace, args, kwargs, arrays)
    if found is None or not _is_same_of_others(found, trace, args, kwargs, arrays):
        return False
    rule, params, places = found
    wanted = tuple(p.number >= 0 and tensors[p.number].node is not None for p in places)
    specs = [p.constant if p.number < 0 else spec_of(arrays[p.number]) for p in places]
    out = spec_of(result._value)
    entry = node._entry
    if entry[0] is not rule or entry[-1] is not None or [n != -1 for n in entry[-2]] != [*wanted]:
        return False
    settled, run = _ways_of(rule, specs, wanted, out, params)
    run = run or _function_of(rule, params)
    make = _maker(type(node), rule, run, settled, places, specs, wanted, out)
    again = make(tensors, arrays)
    same = (
        spec_of(again._value) is out
        and again._value.strides == result._value.strides
        and again._value.tobytes() == result._value.tobytes()
    )
    return make if same else False


def _traced(
    trace: Call, args: Sequence[Any], kwargs: Params, arrays: list[Value]
) -> tuple[Rule, Params, list[_Place]] | None:
    """The one rule that a call has called, with its parameters and the places of its inputs."""
    probe = _Probe()
    nodes = [fresh_node() if x.dtype.kind == "f" else None for x in arrays]
    given = iter(
        [
            x if node is None else Array(x, node, probe, spec_of(x))
            for x, node in zip(arrays, nodes, strict=True)
        ]
    )
    positional = [_with(given, arg) for arg in args]
    words = {word: _with(given, value) for word, value in kwargs.items()}
    result = trace(*positional, **words)
    made = isinstance(result, Array) and result.tape is probe and isinstance(result.slot, Node)
    entry = result.slot._entry if made else None
    if entry is None or entry[-1] is not None or not isinstance(entry[0], Rule):
        return None
    rule, out, kept, params, slots, _ = entry
    kept = probe.given.get(result.slot, kept)
    lone = all(x.ndim for x in arrays)  # then numbers can come from parameters alone
    small = _SMALL if None not in nodes else 0
    if rule.singular is not None or isinstance(out, tuple) or rule.form == "custom":
        return None
    places = []
    for value, slot in zip(kept, slots, strict=True):
        number = nodes.index(slot) if slot in nodes else -1
        if slot == -1:
            number = next((i for i, x in enumerate(arrays) if x is value), -1)
            if number < 0 and not (
                _is_number(value)
                or (type(value) is ndarray and (value.size < small or (lone and not value.ndim)))
            ):
                return None
        elif number < 0:
            return None  # the cotangent of something that the operation has made of its input
        places.append(_Place(number, value if number < 0 else None))
    return (rule, dict(params), places) if all(map(_is_plain, params.values())) else None


def _is_same_of_others(
    found: tuple[Rule, Params, list[_Place]],
    trace: Call,
    args: Sequence[Any],
    kwargs: Params,
    arrays: list[Value],
) -> bool:
    """Whether the call of the rule is the same for other numbers in the arrays."""
    others = [0.75 - x if x.dtype.kind == "f" else x for x in arrays]
    try:
        again = _traced(trace, args, kwargs, others)
    except (ValueError, RuntimeError, IndexError):  # the operation refuses values
        return False
    if again is None or again[0] is not found[0] or again[1] != found[1]:
        return False
    return all(
        one.number == two.number
        and (one.number >= 0 or np.array_equal(one.constant, two.constant, equal_nan=False))
        for one, two in zip(found[2], again[2], strict=True)
    )


def _is_number(value: Any) -> bool:
    return value is None or isinstance(value, (int, float, np.generic))


def _with(arrays: Iterator[Any], arg: Any) -> Any:
    """An argument with the next of the arrays in the place of each tensor."""
    if isinstance(arg, (tuple, list)) and arg and isinstance(arg[0], Tensor):
        return [next(arrays) for _ in arg]
    return next(arrays) if isinstance(arg, Tensor) else arg


def _is_plain(value: Any) -> bool:
    """Whether a parameter of a rule is the same for all calls: no array, nothing that is kept."""
    if isinstance(value, (tuple, list)):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, (int, float, str, slice, np.dtype, type))


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
    found = Settled(params)
    (keeps,), found.keeps_out = rule.needed((True,))
    found.keeps_x, found.rule, found.spec = bool(keeps), rule, out
    found.run, found.pull, found.push = ways
    return found


def settled_spread(rule: Rule, x: Spec, out: Spec, params: Params) -> SettledAll:
    """The settled call of `rule`, which broadcasts an array: its cotangents are sums."""
    total = summing(out.shape, x.shape)
    pull = (lambda g, *_: (g,)) if total is None else (lambda g, *_: (total(g),))
    return _settled_all(rule, [x], (True,), out, params, AllWays(pull))


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
    if rule.settle_all is not None and whole and all(spec.dtype is out.dtype for spec in specs):
        found = rule.settle_all(tuple(specs), out, wanted, **params)
    if found is None:
        found = AllWays(_pull_of(rule, specs, wanted, out, params))
    return _settled_all(rule, specs, wanted, out, params, found), None


def _settled_all(
    rule: Rule,
    specs: list[Any],
    wanted: tuple[bool, ...],
    out: Spec,
    params: Params,
    ways: AllWays,
) -> SettledAll:
    made = SettledAll(params)
    keeps, made.keeps_out = rule.needed(wanted)
    made.keeps, made.spec, made.specs = tuple(map(bool, keeps)), out, tuple(specs)
    made.strong = rule.strong
    made.pull, made.push = ways
    return made


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
    node_type: type[Node],
    rule: Rule,
    run: Call,
    settled: Settled | SettledAll,
    places: list[_Place],
    specs: list[Any],
    wanted: tuple[bool, ...],
    spec: Spec,
) -> Make:
    """A function that makes the call: of the tensors among its arguments, and their arrays."""
    keeps = (settled.keeps_x,) if isinstance(settled, Settled) else settled.keeps
    keeps_out = settled.keeps_out
    numbers = [place.number for place in places]
    in_order = numbers == [*range(len(places))]
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
    lone = sources == [0]

    def make(tensors: list[Tensor], arrays: list[Value]) -> Tensor:
        token = VARIABLE.set(SILENT)
        try:
            if in_order:
                out = run(*arrays)
            else:
                out = run(*[arrays[p.number] if p.number >= 0 else p.constant for p in places])
        finally:
            VARIABLE.reset(token)
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
        else:
            nodes = tuple([-1 if n < 0 else _node_for(tensors[n]) for n in sources])
        node._number = next_number()
        node._entry = rule, out if keeps_out else spec, kept_of(arrays), settled, nodes, None
        return result

    return make


def _node_for(x: Tensor) -> Node:
    """The node of a tensor that is about to be used; RuntimeError for inference tensors."""
    if x._inference:
        array_of(x)
    node: Node = accumulator_of(x) if x.node is LEAF else x.node
    return node


__all__ = ["settled_one", "settled_spread", "settling"]
