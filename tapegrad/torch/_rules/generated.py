"""Kernels of calls that come again, generated from the functions of their rule.

Knows rules, by their functions alone, and `symbols`. Must not know which functions there are.

A small array costs as much as the calls of NumPy that it goes through. So a rule's function and
its pull run once on symbols, and what they call is written down as two functions without any
question in them: steps write over arrays that nothing needs any more (but for maxima and minima,
which that slows down), numbers are arrays without dimensions, the cheapest operands, and what the
pull finds among the steps of the forward pass is kept from there. A cotangent where the partial is
a condition is chosen and not multiplied: an infinite one leaves a 0 there.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from types import CodeType
from typing import Any, NamedTuple

import numpy as np

from tapegrad._core.entry import Outputs, Spec
from tapegrad._core.fast.call_plans import Kernels
from tapegrad._core.forms import Elementwise
from tapegrad._core.quiet import silence
from tapegrad._core.rule import Rule
from tapegrad._core.types import Cotangent, Params, Value
from tapegrad.rules.masks import chosen, selected
from tapegrad.torch._rules.symbols import Symbol, Trace, UnrecordableError, summed

LARGEST = 1 << 20  # elements of an array
LARGE = 1 << 12  # as of `blockwise`: of fewer elements rules call other functions
_MOST = 1 << 8  # kernels that a rule remembers for arrays of any shape
BITS = 1 << 11  # elements, from which a choice costs less as an operation on bits
MANY = 1 << 14  # elements, from which memory counts
_CHEAP = frozenset((np.add, np.subtract, np.multiply, np.divide, np.negative))
_NOT_IN_PLACE = frozenset((np.maximum, np.minimum, np.fmax, np.fmin))
_VIEWS = frozenset(("__getitem__", "ravel", "reshape", "swapaxes"))


class Generated(NamedTuple):
    """The symbols of a call and of its pull."""

    args: list[Any]  # symbols, and numbers
    outs: list[Symbol]
    gs: list[Symbol]
    bars: list[Symbol | None]
    is_strong: bool  # whether a product of the pull may be one of 0 and an infinity


def generated_kernels(
    rule: Rule,
    specs: Sequence[Any],
    out: Any,
    wanted: tuple[bool, ...],
    params: Params,
    besides: Callable[[], Sequence[Any]] | None = None,
) -> Kernels | None:
    """The kernels of a call, or None where the rule's functions ask for more than shapes.

    out: the spec of the result, or `Outputs` of several. besides: symbols that the call keeps
    after all others.
    """
    outs = out if type(out) is Outputs else (out,)
    arrays = [spec for spec in specs if type(spec) is Spec]
    kinds = {spec.dtype for spec in arrays}
    if any(kinds != {one.dtype} for one in outs) or outs[0].dtype.char not in "fd":
        return None
    if any(not spec.ndim or not 0 < spec.size <= LARGEST for spec in arrays):
        return None
    known: dict[Any, Kernels] = vars(rule).setdefault("_kernels_of_any_shape", {})
    key = None
    if isinstance(rule, Elementwise) and all(spec is out for spec in arrays) and not params:
        numbers = [None if type(spec) is Spec else spec for spec in specs]
        if all(number is None or type(number) in (int, float) for number in numbers):
            sizes = out.size < BITS, out.size < LARGE, out.size < MANY
            key = out.dtype, wanted, sizes, *map(repr, numbers)
            if key in known:
                return known[key]
    trace = Trace()
    try:
        with silence():
            found = _traced(trace, rule, specs, outs, wanted, params)
            if found is None:
                return None
            more = () if besides is None else tuple(besides())
            keeps, keeps_out = rule.needed(wanted)
            made = _written(rule, found, keeps, keeps_out, wanted, more)
        if made is not None and key is not None and all(map(_is_shapeless, trace.symbols)):
            if len(known) >= _MOST:
                known.clear()
            known[key] = made
    except Exception:  # noqa: BLE001 - the function has just been called: it refuses symbols alone
        return None
    else:
        return made
    finally:
        trace.close()


def _is_shapeless(symbol: Symbol) -> bool:
    """Whether a step is the same call for arrays of any shape."""
    if symbol.kind == "call":
        return symbol.function is np.where
    return symbol.kind != "method" or symbol.function == "astype"


def _traced(
    trace: Trace,
    rule: Rule,
    specs: Sequence[Any],
    outs: Sequence[Spec],
    wanted: tuple[bool, ...],
    params: Params,
) -> Generated | None:
    args: list[Any] = []
    for spec in specs:
        number = spec
        if type(spec) is Spec:
            number = trace.input(spec.shape, spec.dtype)
        elif isinstance(spec, (np.ndarray, np.generic)):
            if spec.ndim or spec.dtype != outs[0].dtype:
                return None
            number = float(spec)
        elif type(spec) is not int and type(spec) is not float:
            return None
        args.append(number)
    function = getattr(rule.implementation, "function", rule.implementation)
    made = function(*args, **params)
    results = list(made) if type(made) is tuple else [made]
    for result, one in zip(results, outs, strict=True):
        if type(result) is not Symbol or result.shape != one.shape or result.dtype != one.dtype:
            return None
    gs = [trace.input(one.shape, one.dtype) for one in outs]
    g: Any = gs if type(made) is tuple else gs[0]
    is_strong = False
    if isinstance(rule, Elementwise) and rule.strong:
        bars = []
        for partial, want in zip(rule.partials, wanted, strict=True):
            bar = None
            if want:
                factor = 1 if partial is None else partial(made, *args)
                bar, plain = _scaled(g, factor)
                is_strong = is_strong or not plain
            bars.append(bar)
    else:
        bars = list(rule.pull(g, made, args, params, wanted))
    bars = [
        _fitted(bar, like) if want else None
        for bar, like, want in zip(bars, specs, wanted, strict=False)
    ]
    return Generated(args, results, gs, [*bars, *[None] * (len(specs) - len(bars))], is_strong)


def _scaled(g: Any, factor: Any) -> tuple[Any, bool]:
    """The cotangent times a partial; and whether no product in it can be 0 times an infinity."""
    if type(factor) is not Symbol:
        return (g if factor == 1 else g * factor), bool(factor)
    function, operands = factor.function, factor.operands
    if function == "astype" and operands[0].dtype.kind == "b":
        condition = operands[0]
        if condition.function is np.invert and condition.size < BITS:
            return np.where(condition.operands[0], 0, g), True
        return np.where(condition, g, 0), True
    if function is np.where:
        parts = [(0, True) if _is_zero(part) else _scaled(g, part) for part in operands[1:]]
        return np.where(operands[0], parts[0][0], parts[1][0]), parts[0][1] and parts[1][1]
    if function is np.divide and type(operands[1]) in (int, float):
        bar, plain = _scaled(g, operands[0])
        if bar.function is np.where:  # the quotient is none of the zeros
            condition, first, second = bar.operands
            first, second = (
                part if _is_zero(part) else part / operands[1] for part in (first, second)
            )
            return np.where(condition, first, second), plain
        return bar / operands[1], plain
    return g * factor, False


def _is_zero(part: Any) -> bool:
    return type(part) in (int, float) and part == 0


def _fitted(bar: Any, like: Any) -> Any:
    """A cotangent in the shape and dtype of its argument."""
    if bar is None:
        return None
    if type(bar) is not Symbol:
        raise UnrecordableError(bar)
    return summed(bar, like.shape).astype(like.dtype, copy=False)


# --- Written down -------------------------------------------------------------------------------


def _written(
    rule: Rule,
    found: Generated,
    keeps: Sequence[bool],
    keeps_out: bool,
    wanted: tuple[bool, ...],
    more: tuple[Any, ...],
) -> Kernels | None:
    args, outs, gs, bars, is_strong = found
    inputs = {arg: f"x{at}" for at, arg in enumerate(args) if type(arg) is Symbol}
    names = [f"x{at}" for at in range(len(args))]
    several = len(outs) > 1
    forward = _needed([*outs, *more], inputs)
    sources = {_root(out) for out in outs}
    given = {arg: name for arg, name in inputs.items() if keeps[int(name[1:])]}
    given |= {g: f"g{at}" if several else "g" for at, g in enumerate(gs)}
    if keeps_out and not several:
        given[outs[0]] = "out"
    kept: dict[Symbol, Symbol] = {}  # with the symbols that are stored
    computed = {symbol for symbol in forward if not _is_cheap(symbol, given)}
    for symbol in _in_order(_needed(bars, given, computed)):
        if symbol not in computed or _is_view(symbol):
            continue
        if _root(symbol) not in sources:
            kept[symbol] = symbol
        elif any(step.kind == "call" for step in _needed([symbol], {**given, **kept})):
            # The program can write to the result; an entry that keeps it would refuse that.
            kept[symbol] = symbol.trace.note("method", "copy", (symbol,))
    after = _needed(bars, {**given, **kept})
    if any(symbol.kind == "input" for symbol in after):
        return None
    kept = {symbol: stored for symbol, stored in kept.items() if _is_used(symbol, after, bars)}
    held = [*kept.values(), *more]
    writer = _Writer(inputs, [*outs, *held])
    results = [writer.name_of(symbol) for symbol in outs]
    result = f"({', '.join(results)})" if several else results[0]
    if held:
        result += f", ({', '.join([writer.name_of(symbol) for symbol in held])},)"
    run = writer.function(names, result)
    unpacked = [f"k{at}" for at in range(len(held))]
    writer = _Writer({**given, **dict(zip(kept, unpacked, strict=False))}, bars)
    found_bars = ", ".join([writer.name_of(bar) for bar in bars])
    if held:
        writer.lines.insert(0, f"{', '.join(unpacked)}, = kept")
    if several:
        zeros = [writer.name_of(np.zeros(g.shape, g.dtype)) for g in gs]
        for at, zero in enumerate(zeros):
            writer.lines.insert(0, f"if g{at} is None: g{at} = {zero}")
        writer.lines.insert(0, f"{', '.join([given[g] for g in gs])} = g")
    pull = writer.function(["g", "out", *names, *(["kept"] if held else [])], f"({found_bars},)")

    def strong(g: Cotangent, out: Value, *args: Value) -> Any:
        assert isinstance(rule, Elementwise)
        return rule.pull_strongly(g, out, args[: len(names)], {}, wanted)

    doubted = strong if is_strong else None
    if held:
        return Kernels(None, pull, keep=run, strong=doubted)
    return Kernels(run, pull, strong=doubted)


def _is_cheap(symbol: Symbol, given: dict[Symbol, str]) -> bool:
    """Whether a large array is not kept, as one step gives it again, of what is kept and small."""
    return (
        symbol.function in _CHEAP
        and symbol.size >= MANY
        and all(
            type(part) is not Symbol or part in given or 8 * part.size <= symbol.size
            for part in symbol.operands
        )
    )


def _is_used(symbol: Symbol, after: Iterable[Symbol], bars: Sequence[Any]) -> bool:
    return any(symbol is bar for bar in bars) or any(
        symbol is part for step in after for part in step.operands
    )


def _needed(results: Iterable[Any], given: Any, stop: Any = ()) -> set[Symbol]:
    """The symbols that results are made of, but for given ones; and those at which it stops."""
    found: set[Symbol] = set()
    stack = list(results)
    while stack:
        symbol = stack.pop()
        if type(symbol) is not Symbol or symbol in found or symbol in given:
            continue
        found.add(symbol)
        if symbol not in stop or _is_view(symbol):
            stack.extend(symbol.operands)
    return found


def _in_order(symbols: Iterable[Symbol]) -> list[Symbol]:
    return sorted(symbols, key=lambda symbol: symbol.number)


def _is_view(symbol: Symbol) -> bool:
    return symbol.kind == "method" and symbol.function in _VIEWS


def _root(symbol: Symbol) -> Symbol:
    """The symbol whose memory another one may be."""
    while _is_view(symbol):
        symbol = symbol.operands[0]
    return symbol


class _Writer:
    """The lines of a function that computes symbols from given ones."""

    def __init__(self, given: dict[Symbol, str], results: Sequence[Any]) -> None:
        self.lines: list[str] = []
        self.constants: dict[str, Any] = {}
        self.names = dict(given)
        steps = _in_order(_needed(results, given))
        used: dict[Symbol, int] = {}  # the last step that reads each
        for at, step in enumerate(steps):
            for part in step.operands:
                if type(part) is Symbol:
                    used[part] = at
                    while _is_view(part):
                        part = part.operands[0]
                        used[part] = len(steps)
        for part in results:
            if part is not None:  # a result, and the memory of which it may be a view, stay
                used[part] = used[_root(part)] = len(steps)
        for at, step in enumerate(steps):
            self._add(step, at, used, given)

    def name_of(self, part: Any) -> str:
        """The name of a symbol or constant."""
        if type(part) is Symbol:
            return self.names[part]
        if part is None or type(part) is bool or type(part) is int:
            return repr(part)
        name = f"c{len(self.constants)}"
        self.constants[name] = part
        return name

    def _add(self, step: Symbol, at: int, used: dict[Symbol, int], given: Any) -> None:
        operands = step.operands
        if step.kind == "ufunc" or step.function is np.where:
            operands = _as_arrays(operands, step)
        words = [self.name_of(part) for part in operands]
        name = f"v{at}"
        if step.kind == "method":
            if step.function == "__getitem__":
                call = f"{words[0]}[{words[1]}]"
            else:
                call = f"{words[0]}.{step.function}({', '.join(words[1:])})"
        else:
            by, room = step.function, None
            if by is np.where and step.size >= BITS:
                by, words = self._by_bits(operands, words)
            function = self._function(by)
            if step.kind == "ufunc" and step.function not in _NOT_IN_PLACE:
                free = [part for part in operands if self._is_free(part, step, at, used, given)]
                room = free[0] if free else None
            if room is not None:
                name = self.names[room]
                self.lines.append(f"{function}({', '.join(words)}, {name})")
                self.names[step] = name
                return
            call = f"{function}({', '.join(words)})"
        self.lines.append(f"{name} = {call}")
        self.names[step] = name

    def _by_bits(self, operands: Sequence[Any], words: list[str]) -> tuple[Any, list[str]]:
        """A choice in many elements."""
        condition, _, other = operands
        one = type(condition) is Symbol and condition.shape == operands[1].shape
        if one and type(other) is np.ndarray and not other.ndim and not other:
            return chosen, words[:2]
        return selected, words

    def _is_free(self, part: Any, step: Symbol, at: int, used: Any, given: Any) -> bool:
        return (
            type(part) is Symbol
            and part not in given
            and used[part] == at
            and not _is_view(part)
            and type(part.value) is np.ndarray
            and part.shape == step.shape
            and part.dtype == step.dtype
        )

    def _function(self, function: Any) -> str:
        name = f"f{len(self.constants)}"
        self.constants[name] = function
        return name

    def function(self, parameters: Sequence[str], result: str) -> Callable[..., Any]:
        lines = [f"def made({', '.join(parameters)}):", *self.lines, f"return {result}"]
        names: dict[str, Any] = dict(self.constants)
        exec(_compiled("\n    ".join(lines)), names)  # noqa: S102 - of our own lines alone
        made: Callable[..., Any] = names["made"]
        return made


def _as_arrays(operands: tuple[Any, ...], step: Symbol) -> tuple[Any, ...]:
    """The operands of a ufunc, with arrays without dimensions in the place of numbers."""
    kinds = {part.dtype for part in operands if type(part) is Symbol and part.dtype.kind == "f"}
    dtype = step.dtype if step.function is np.where else next(iter(kinds), None)
    if dtype is None or dtype.kind != "f" or len(kinds) > 1:
        return operands
    return tuple(
        [np.array(part, dtype) if type(part) in (int, float) else part for part in operands]
    )


@functools.lru_cache(1 << 10)
def _compiled(source: str) -> CodeType:
    return compile(source, "<generated>", "exec")
