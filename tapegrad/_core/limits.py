"""The limit of a cotangent along lines to a point where a replay gives zero times infinity.

Knows how entries are replayed, with series in place of values (`series`). Must not know which
functions exist, but for the two whose argument no entry keeps.

The program is not run again: the entries that it logged are replayed forward with the series of a
small step, then backward with these. From both sides of a point the limits may be equal, which is
the derivative; else their mean is taken, zero for opposite ones, as at every kink; where there is
one side alone, at the end of a domain, its limit. Two lines must agree.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from tapegrad._core.careful import Call, recorded, replay_forward_carefully
from tapegrad._core.entry import ADD, MINUS, READ, WRITE, Entry, Outputs, Spec, _Mark, spec_of
from tapegrad._core.fit import any_nan, zeros_of
from tapegrad._core.forward import live_steps
from tapegrad._core.series import (
    EXACT,
    GRID,
    Series,
    UnknownSeries,
    applied,
    as_series,
    by_partials,
    constant,
    grid,
    step,
    unknown,
)
from tapegrad._core.types import Cotangent, Slot, Tangent, Value
from tapegrad._core.values import Traced, is_mapped

Changes = dict[Any, Series]  # of the value at each slot
MOST = 1 << 26  # numbers that a limit may take
# Powers with square roots alone, a few; and with square, cube, fourth and sixth roots.
GRIDS = (2, -2, 3), (12, -3, 5)
AGREE = 1e-6


def resolved(
    entries: Sequence[Entry],
    inputs: Sequence[tuple[Slot, Cotangent]],
    roots: Sequence[tuple[Slot, Cotangent]],
) -> list[Any]:
    """Cotangents of inputs in which a NaN is its limit, where there is one.

    inputs, roots: slots and cotangents of inputs and results.
    """
    return _in_place_of_nan(_limits, entries, inputs, roots)


def resolved_ahead(
    entries: Sequence[Entry],
    inputs: Sequence[tuple[Slot, Any]],
    results: Sequence[tuple[Slot, Any]],
) -> list[Any]:
    """The same of tangents of results, from those of inputs."""
    return _in_place_of_nan(_limits_ahead, entries, results, inputs)


def _in_place_of_nan(
    limits: Callable[..., Any], entries: Sequence[Entry], found: Any, given: Any
) -> list[Any]:
    parts = [part for _, part in found]
    if not any_nan(parts):
        return parts
    mapped = next(filter(is_mapped, itertools.chain(parts, *map(_parts, entries))), None)
    if mapped is None:
        return (
            _by_grids(limits, entries, found, given)
            if _are_plain(entries, found, given)
            else parts
        )
    level = mapped.vmap_level
    rows = []
    for i in range(level.size):
        here = [_example(part, level, i) for part in (list(entries), found, given)]
        rows.append(_in_place_of_nan(limits, *here))
    return [level.wrap(np.stack(column)) for column in zip(*rows, strict=True)]


def _by_grids(
    limits: Callable[..., Any], entries: Sequence[Entry], found: Any, given: Any
) -> list[Any]:
    """The limits by few powers, and where these do not tell, by all that are kept."""
    parts = [part for _, part in found]
    for powers in GRIDS:
        try:
            with grid(*powers):
                known = limits(entries, found, given) or parts
        except Exception:  # noqa: BLE001 - a rule that is asked for what it does not expect
            return parts
        parts = [
            np.where(np.isnan(part), limit, part).astype(part.dtype)[()]
            for part, limit in zip(parts, known, strict=True)
        ]
        if not any_nan(parts):
            break
    return parts


def _example(value: Any, level: Any, i: int) -> Any:
    """One example of a vmap's values, also inside lists and tuples."""
    if isinstance(value, (list, tuple)):
        inner = [_example(part, level, i) for part in value]
        if isinstance(value, Outputs):
            made = Outputs(inner)
            made.slots = value.slots
            return made
        return tuple(inner) if isinstance(value, tuple) else inner
    return value._value[i] if is_mapped(value) and value.vmap_level is level else value


def _limits(
    entries: Sequence[Entry],
    inputs: Sequence[tuple[Slot, Any]],
    roots: Sequence[tuple[Slot, Cotangent]],
) -> list[Any] | None:
    """The limits of the cotangents of inputs; None where they would take too much."""
    if not _is_small(entries, [bar for _, bar in inputs]):
        return None
    dice = np.random.default_rng(len(entries))
    found = []
    for _ in range(2):
        line = [dice.uniform(1, 2, like.shape) for _, like in inputs]
        with np.errstate(all="ignore"):
            try:
                sides = [_one_sided(entries, inputs, roots, line, sign) for sign in (1, -1)]
            except UnknownSeries:
                return None
        found.append([_of_both(*pair) for pair in zip(*sides, strict=True)])
    return [_agreed(*pair) for pair in zip(*found, strict=True)]


def _limits_ahead(
    entries: Sequence[Entry],
    results: Sequence[tuple[Slot, Any]],
    inputs: Sequence[tuple[Slot, Any]],
) -> list[Any] | None:
    """The limits of the tangents of results."""
    if not _is_small(entries, [dot for _, dot in inputs]):
        return None
    with np.errstate(all="ignore"):
        try:
            sides = [_ahead(entries, inputs, results, sign) for sign in (1, -1)]
        except UnknownSeries:
            return None
    return [_of_both(*pair) for pair in zip(*sides, strict=True)]


def _ahead(entries: Sequence[Entry], inputs: Any, results: Any, sign: int) -> list[Any]:
    changes = {at: step(sign * np.asarray(dot, float)) for at, dot in inputs}
    _forward(entries, changes)
    return [
        changes[at].slope * sign if at in changes else np.zeros(like.shape) for at, like in results
    ]


def _is_small(entries: Sequence[Entry], inputs: Sequence[Any]) -> bool:
    """Whether a limit takes no more memory than is spent on one."""
    return (sum(map(np.size, inputs)) + sum(map(_size, entries))) * GRID.width <= MOST


def _one_sided(
    entries: Sequence[Entry], inputs: Any, roots: Any, line: Sequence[Any], sign: int
) -> list[Any]:
    changes = {at: step(sign * way) for (at, _), way in zip(inputs, line, strict=True)}
    _forward(entries, changes)
    bars: dict[Any, Any] = {}
    for at, bar in roots:
        _add_to(bars, at, constant(bar))
    _backward(entries, changes, bars)
    return [bars[at].limit if at in bars else np.zeros(like.shape) for at, like in inputs]


def _of_both(right: Any, left: Any) -> Any:
    """The limit from both sides, or from the one that there is."""
    mean = np.where(right == left, right, (right + left) / 2)
    near = np.isfinite(mean) & (np.abs(mean) <= AGREE * np.maximum(np.abs(right), np.abs(left)))
    mean = np.where(near, 0.0, mean)
    return np.where(np.isnan(right), left, np.where(np.isnan(left), right, mean))


def _agreed(first: Any, second: Any) -> Any:
    size = np.maximum(np.maximum(np.abs(first), np.abs(second)), 1e-300)
    same = (first == second) | (np.abs(first - second) <= AGREE * size)
    return np.where(same, first, np.nan)


def _size(entry: Entry) -> int:
    return max((int(np.size(part)) for part in _parts(entry) if part is not None), default=1)


def _parts(entry: Entry) -> list[Any]:
    _, rule, out, x, y, _, y_slot = entry
    if y_slot is not None:
        return [out, x, y]
    if type(rule) is _Mark:
        return list(x) if type(x) is tuple else []
    return [out, *x]


_PLAIN = (np.ndarray, np.floating, np.integer, np.bool, int, float, type(None), Spec)


def _are_plain(entries: Sequence[Entry], inputs: Any, roots: Any) -> bool:
    """Whether there are real numbers of NumPy's alone: not of a vmap, nor of another library."""
    given = [bar for _, bar in roots] + [like for _, like in inputs]
    return all(
        issubclass(type(part), _PLAIN)
        and getattr(getattr(part, "dtype", None), "kind", "f") != "c"
        for part in itertools.chain(given, *map(_parts, entries))
    )


# --- Forward ------------------------------------------------------------------------------------


class _Call:
    """A call of a rule: its arguments as series beside the values that the entry keeps."""

    def __init__(self, entry: Entry, changes: Changes) -> None:
        slot, self.rule, self.out, x, y, x_slot, y_slot = entry
        if y_slot is None:
            self.slots, self.raws, self.params = x_slot, x[: len(x_slot)], y
        else:
            count = 1 if self.rule.unary else 2
            self.slots, self.raws = (x_slot, y_slot)[:count], (x, y)[:count]
            self.params = {}
        if self.out is not None and type(self.out) is not Spec:
            out, function = self.out, getattr(self.rule, "function", None)
            if function in _ARGUMENTS:  # of which no entry keeps the argument
                self.raws = (_ARGUMENTS[function](out),)
        self.moving = [at in changes and at != -1 for at in self.slots]
        self.args = [
            _beside(changes[at], raw) if moves else raw
            for at, raw, moves in zip(self.slots, self.raws, self.moving, strict=True)
        ]

    @property
    def result(self) -> Any:
        return None if type(self.out) is Spec else self.out

    def change(self) -> Series:
        """The series of the result."""
        form = getattr(self.rule, "form", "elementwise")
        if form == "elementwise":
            return self._by_elements()
        if self._is_linear(form):
            return self._linear()
        if form == "multilinear":
            return self._product()
        if hasattr(self.rule, "definition_at"):
            with self._definition() as (entries, changes, end):
                found = changes.get(end, constant(np.zeros(self.out.shape)))
                return found if form == "composite" else found.rough
        raise UnknownSeries

    def _is_linear(self, form: str) -> bool:
        """Whether the derivative does not change nearby: as that of a sum, or of a largest one."""
        if form == "linear" or form == "composite":
            return form == "linear" or bool(self.rule.linear)
        if form != "general" or isinstance(self.out, Outputs):
            return False
        call = Call(
            self.rule,
            self.out,
            self.raws,
            self.out,
            self.raws,
            self.params,
            self.moving,
            self.slots,
        )
        g = np.random.default_rng(0).uniform(1, 2, np.shape(self.out))
        try:
            sides = [call.pulled(g, *at) for at in ((self.out, self.raws), call.moved())]
        except Exception:  # noqa: BLE001 - a rule of the program's, at a point that it did not choose
            return False
        return all(
            one is other is None or np.array_equal(one, other)
            for one, other in zip(*sides, strict=True)
        )

    def _by_elements(self) -> Series:
        partials = self.rule.partials
        used = [partial for partial, moves in zip(partials, self.moving, strict=False) if moves]
        if all(partial is None or partial is MINUS for partial in used):
            total: Any = None
            for x, partial, moves in zip(self.args, partials, self.moving, strict=False):
                if moves:
                    x = x if partial is None else -x
                    total = x if total is None else total + x
            if self.out is not None and total.shape != np.shape(self.out):
                total = total + constant(np.zeros(np.shape(self.out)))
            return total if len(self.slots) == 1 else total.rough
        known = all(
            not moves or (raw is not None and type(raw) is not Spec)
            for raw, moves in zip(self.raws, self.moving, strict=True)
        )
        if known:
            try:
                return applied(self.rule.function, self.args)
            except UnknownSeries:
                pass
        start = 0.0 if self.result is None else self.out
        found: Series = by_partials(
            [lambda out, *args, of=partial: of(out, *args) for partial in partials],
            start,
            self.args,
        )
        for x, moves in zip(self.args, self.moving, strict=True):
            if moves:  # as arctan(1 / x) at 0
                found.jumps = found.jumps | x.infinite
        return found

    def _linear(self) -> Series:
        dots = [x if moves else None for x, moves in zip(self.args, self.moving, strict=True)]

        def push(parts: Sequence[Any]) -> Any:
            return self.rule.push(parts, self.out, self.raws, self.params)

        found = by_terms(push, dots)
        return found if self.rule.view else found.rough

    def _product(self) -> Series:
        args = [as_series(x) if x is not None else None for x in self.args]
        return product(lambda parts: self.rule.call(list(parts), self.params), args)

    @contextmanager
    def _definition(self) -> Iterator[Any]:
        """The entries of a composite's definition, the changes of their results, the last slot."""
        definition, values = self.rule.definition_at(self.out, self.raws, self.params, self.moving)
        with recorded(definition, values) as (tape, slots, made):
            moving = [x for x, moves in zip(self.args, self.moving, strict=True) if moves]
            changes = {at: x.change for at, x in zip(slots, moving, strict=True)}
            _forward(tape.entries, changes)
            if not isinstance(made, Traced):
                raise UnknownSeries
            yield tape.entries, changes, made.slot

    # -- backward --------------------------------------------------------------------------------

    def bars(self, g: Series, out: Series) -> list[Any]:
        """The series of the cotangents of the arguments, None where there is none."""
        form = getattr(self.rule, "form", "elementwise")
        if hasattr(self.rule, "definition_at") and not self._is_linear(form):
            return self._bars_of_definition(g)
        return [
            self._bar(form, g, out, at) if moves else None for at, moves in enumerate(self.moving)
        ]

    def _bars_of_definition(self, g: Series) -> list[Any]:
        with self._definition() as (entries, changes, end):
            slots = [at for at in changes if at not in {entry[0] for entry in entries}]
            bars = {end: g}
            _backward(entries, changes, bars)
        found = iter([bars.get(at, constant(np.zeros(changes[at].shape))) for at in slots])
        return [next(found) if moves else None for moves in self.moving]

    def _bar(self, form: str, g: Series, out: Series, at: int) -> Series:
        shape = g.shape if self.raws[at] is None else np.shape(self.raws[at])
        try:
            if form == "elementwise":
                partial = self.rule.partials[at]
                if partial is None or partial is MINUS:
                    return _fitted(g if partial is None else -g, shape)
                return _fitted(g * as_series(partial(out, *self.args)), shape)
            only = [place == at for place in range(len(self.args))]
            pull = self.rule.pull

            def pulled(parts: Sequence[Any]) -> Any:
                g, *args = parts
                return pull(g, self.out, args, self.params, only)[at]

            if self._is_linear(form):
                return by_terms(lambda parts: pulled([parts[0], *self.raws]), [g])
            if form == "multilinear":
                others = [
                    None if place == at else as_series(x) for place, x in enumerate(self.args)
                ]
                raw = self.raws[at]

                def multiplied(parts: Sequence[Any]) -> Any:
                    return pulled([raw if x is None else x for x in parts])

                return product(multiplied, [g, *others])
        except UnknownSeries:
            pass
        if form == "elementwise":  # what has no cotangent needs no partial
            return _fitted(g * unknown(g.shape), shape)
        return unknown(shape)


_ARGUMENTS: dict[Any, Callable[[Any], Any]] = {
    np.sqrt: lambda out: out * out,
    np.cbrt: lambda out: out * out * out,
    np.exp: np.log,
}


def _beside(change: Series, raw: Any) -> Series:
    if raw is None or type(raw) is Spec:
        return change
    made = change.beside(raw)
    made.known = np.where(change.jumps, np.minimum(made.known, 0), made.known)
    return made


def _forward(entries: Sequence[Entry], changes: Changes) -> None:
    """Add the changes of all results to those of the inputs."""
    for entry in entries:
        slot, rule, out, x, y, x_slot, y_slot = entry
        if slot in changes:
            continue
        if rule is READ:
            if x_slot in changes:
                changes[slot] = changes[x_slot][y]
            continue
        if rule is WRITE or rule is ADD:
            _write(entry, changes)
            continue
        slots = x_slot if y_slot is None and type(x_slot) is tuple else (x_slot, y_slot)
        if not any(at in changes for at in slots if at is not None and at != -1):
            continue
        try:
            made = None
            if type(rule) is not _Mark:
                found = _Call(entry, changes).change()
                made = found.change
                made.jumps = found.jumps
        except UnknownSeries:
            made = None
        changes[slot] = unknown(_shape(entry, changes)) if made is None else made


def _shape(entry: Entry, changes: Changes) -> tuple[int, ...]:
    _, rule, out, x, y, x_slot, y_slot = entry
    if out is not None and hasattr(out, "shape"):
        return tuple(out.shape)
    if y_slot is not None:
        return next(changes[at].shape for at in (x_slot, y_slot) if at in changes)
    raise UnknownSeries


def _write(entry: Entry, changes: Changes) -> None:
    slot, rule, _, (x, v), index, (x_slot, v_slot), _ = entry
    if x_slot not in changes and v_slot not in changes:
        return
    still = constant(np.zeros(x.shape))
    made = changes[x_slot].copy() if x_slot in changes else still
    new = changes[v_slot] if v_slot in changes else constant(np.zeros(np.shape(v)))
    made.put(index, new if rule is WRITE else made[index] + new)
    changes[slot] = made


# --- Backward -----------------------------------------------------------------------------------


def _backward(entries: Sequence[Entry], changes: Changes, bars: dict[Any, Any]) -> None:
    """Push the series of cotangents back; those at the slots of inputs stay."""
    for entry in reversed(entries):
        slot, rule, out, x, y, x_slot, y_slot = entry
        if slot not in bars or rule is not READ and slot not in changes:
            continue
        g = bars.pop(slot)
        if rule is READ:
            if x_slot in changes:
                _add_to(bars, x_slot, _scattered(changes[x_slot].shape, y, g))
        elif rule is WRITE or rule is ADD:
            _, v_slot = x_slot
            if v_slot in changes:
                _add_to(bars, v_slot, _fitted(g[y], changes[v_slot].shape))
            if x_slot[0] in changes:
                rest = g.copy()
                if rule is WRITE:
                    rest.put(y, constant(np.zeros(rest.known[y].shape)))
                _add_to(bars, x_slot[0], rest)
        elif type(rule) is not _Mark:
            call = _Call(entry, changes)
            value = _beside(changes[slot], call.result)
            for at, bar in zip(call.slots, call.bars(g, value), strict=True):
                if bar is not None:
                    _add_to(bars, at, bar)


def _scattered(shape: tuple[int, ...], index: Any, g: Series) -> Series:
    """The series of the cotangent of what was read at an index."""

    def added(parts: Sequence[Any]) -> Any:
        whole = np.zeros(shape)
        np.add.at(whole, index, parts[0])
        return whole

    return by_terms(added, [g])


def _add_to(bars: dict[Any, Any], at: Slot, bar: Series) -> None:
    bars[at] = bar if at not in bars else bars[at] + bar


def _fitted(bar: Series, shape: tuple[int, ...]) -> Series:
    """A series summed to the shape of its argument."""
    if bar.shape == shape:
        return bar
    lead = bar.ndim - len(shape)
    axes = (
        *range(lead),
        *(lead + at for at, n in enumerate(shape) if n == 1 != bar.shape[lead + at]),
    )
    return by_terms(lambda parts: np.sum(parts[0], axis=axes).reshape(shape), [bar])


# --- Functions that mix elements ----------------------------------------------------------------


def _real(value: Any) -> Any:
    value = np.asarray(value)
    if value.dtype.kind == "c":
        raise UnknownSeries
    return value


def by_terms(function: Callable[[Sequence[Any]], Any], args: Sequence[Any]) -> Series:
    """A linear function of series: that of the coefficients of each power."""
    given = [x for x in args if x is not None]
    powers = sorted({k for x in given for k in x.each()} | {-GRID.low})
    terms: Any = None
    for k in powers:
        part = _real(function([None if x is None else x.terms[k] for x in args]))
        if terms is None:
            terms = np.zeros((GRID.width, *part.shape))
        terms[k] = part
    if any(x.logs.any() for x in given):
        logs = np.asarray(function([None if x is None else x.logs for x in args]), float)
    else:
        logs = None
    return Series(terms, _known(function, args, terms.shape[1:]), logs)


def _known(function: Callable[..., Any], args: Sequence[Any], shape: tuple[int, ...]) -> Any:
    """Up to which power each element is known: as the least known of those that reach it."""
    known = np.full(shape, EXACT)
    dice = np.random.default_rng(0)
    levels = {int(n) for x in args if x is not None for n in np.unique(x.known)} - {EXACT}
    for level in sorted(levels, reverse=True):
        masks = [
            None if x is None else np.where(x.known == level, dice.uniform(1, 2, x.shape), 0.0)
            for x in args
        ]
        known = np.where(np.asarray(function(masks)) != 0, np.minimum(known, level), known)
    return known


def product(function: Callable[[Sequence[Any]], Any], args: Sequence[Any]) -> Series:
    """A function linear in each of several series; None for what it does not read."""
    given = [(at, x) for at, x in enumerate(args) if x is not None]
    if any(x.logs.any() for _, x in given):
        raise UnknownSeries
    leads = [int(x.lead.min(initial=EXACT)) for _, x in given]
    known = EXACT
    for place, (_, x) in enumerate(given):
        least = int(x.known.min(initial=EXACT))
        if least <= GRID.low:
            known = least
        elif least < EXACT:
            known = min(known, least + sum(leads) - leads[place])
    terms: Any = None
    choices = [x.each() or [-GRID.low] for _, x in given]
    for powers in itertools.product(*choices):
        power = sum(powers) + len(powers) * GRID.low - GRID.low
        if not 0 <= power < GRID.width:
            known = GRID.low if power < 0 else min(known, GRID.high)
            if terms is not None:
                continue
        parts: list[Any] = list(args)
        for (at, x), k in zip(given, powers, strict=True):
            parts[at] = x.terms[k]
        made = _real(function(parts))
        if terms is None:
            terms = np.zeros((GRID.width, *made.shape))
        if 0 <= power < GRID.width:
            terms[power] += made
    return Series(terms, np.full(terms.shape[1:], known))


# --- For rules ----------------------------------------------------------------------------------


def derivatives_along(value: Value, source: Value, directions: list[Tangent]) -> list[Tangent]:
    """The derivatives of `value` along directions of the traced `source` that it depends on.

    There is one tangent per direction. A rule whose cotangent is 0/0 takes the limit with them,
    because the cotangent is a function of the values that the program went on to compute with.
    That needs a traced replay, which a rule declared `singular` gets. Without one (in forward
    mode) the result is NaN: the derivative is unknown, not zero.
    """
    if is_mapped(value):  # the derivatives of each example
        mapped = is_mapped(source)
        inner = source._value if mapped else source
        ways = [value.vmap_level.front(way) for way in directions] if mapped else directions
        changes = derivatives_along(value._value, inner, ways)
        return [value.vmap_level.wrap(change) for change in changes]
    nothing = zeros_of(spec_of(value))
    known = isinstance(source, Traced)
    if not isinstance(value, Traced):
        constant = known or not np.any(value)
        return [nothing if constant else nothing + np.nan for _ in directions]
    tape = value.tape
    if not known or tape.root is not source.tape.root:
        return [nothing + np.nan for _ in directions]
    start, end = source.slot, value.slot
    steps = live_steps(tape.between(start, end), (start,), (end,))
    changes = []
    for direction in directions:
        dots = {start: direction}
        replay_forward_carefully(steps, dots, {start: np.ones(source.shape)}, tape)
        changes.append(dots.get(end, nothing))
    return changes


__all__ = ["derivatives_along", "resolved", "resolved_ahead"]
