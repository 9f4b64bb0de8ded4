"""The replays in series: each entry applied to arrays along a line to a point.

Knows how entries of each form are replayed, with series in place of values (`series`). Must not
know which functions exist, but for those whose argument no entry keeps, nor what a limit is for.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tapegrad._block import contextmanager
from tapegrad._core.careful import Call, recorded
from tapegrad._core.entry import (
    ADD,
    MINUS,
    NO_PARAMS,
    READ,
    WRITE,
    Entry,
    Mark,
    Outputs,
    Spec,
    opened,
    parents_of,
)
from tapegrad._core.replay import live_steps
from tapegrad._core.series import (
    BESIDE,
    EXACT,
    GRID,
    HERE,
    LOST,
    OUTSIDE,
    THERE,
    UFUNCS,
    ZERO,
    NoSeries,
    Series,
    UnknownSeries,
    agrees,
    as_partial,
    as_series,
    at_step,
    beside_limit,
    but_outside,
    by_partials,
    constant,
    limit_of,
    slope_along,
    smooth,
    state_of_sum,
    unknown,
)
from tapegrad._core.types import Slot, Value
from tapegrad._core.values import Traced, untraced

Changes = dict[Any, Series]  # of the value at each slot
Nearby = dict[int, Any] | None  # cotangents of general rules here and nearby, by id of an entry


# --- Forward ------------------------------------------------------------------------------------


class _Call:
    """A call of a rule: its arguments as series beside the values that the entry keeps."""

    def __init__(self, entry: Entry, changes: Changes, nearby: Nearby = None) -> None:
        self.entry, self.nearby = entry, nearby
        self.rule, self.out, self.raws, self.params, self.slots = opened(entry)
        if _is_kept(self.out):
            argument = _ARGUMENTS.get(getattr(self.rule, "function", None))
            if argument is not None and not _is_kept(self.raws[0]):
                found, at = argument(self.out, *self.raws[1:]), self.slots[0]
                if at in changes:
                    told = changes[at].shape == np.shape(found)
                else:  # a constant
                    told = np.all(np.isfinite(found))
                if told:
                    self.raws = (found, *self.raws[1:])
        self.moving = [at in changes and at != -1 for at in self.slots]
        pairs = zip(self.slots, self.moving, strict=True)
        self.changes: list[Any] = [changes[at] if moves else None for at, moves in pairs]
        self.args = [
            raw if change is None else _beside(change, raw)
            for change, raw in zip(self.changes, self.raws, strict=True)
        ]
        self.form = getattr(self.rule, "form", "elementwise")
        by_others = hasattr(self.rule, "definition_at") or getattr(self.rule, "formula", None)
        self.formula = by_others and not (self.form == "composite" and self.rule.linear)

    @property
    def result(self) -> Any:
        return self.out if _is_kept(self.out) else None

    @property
    def known(self) -> bool:
        """Whether the entry keeps all arguments."""
        return all(map(_is_kept, self.raws))

    def value(self) -> Any:
        """The result, if the entry tells it."""
        if self.result is not None or not self.known:
            return self.result
        return self.rule.call(list(self.raws), self.params)

    @property
    def moved(self) -> Any:
        """Where arguments have another value on this side."""
        parts = [x.moved for x in self.changes if x is not None]
        return np.logical_or.reduce(np.broadcast_arrays(*parts))

    def side(self, found: Series) -> Any:
        """The result on this side; None where the values of the arguments are not known."""
        if self.form == "custom" or isinstance(self.out, Outputs):
            return None
        if self.form == "elementwise" and self.rule.along is not self.rule.function:
            return found.value_beside(self.value())  # the function has another value at the kink
        values = []
        for raw, change in zip(self.raws, self.changes, strict=True):
            value = raw if _is_kept(raw) else None
            values.append(value if change is None else change.value_beside(value))
            if values[-1] is None:
                return None
        if self.rule.function is None:  # the input of a transform
            return values[0]
        return self.rule.call(values, self.params)

    def change(self) -> Series:
        """The change of the result."""
        if self.form == "elementwise":
            return self._by_elements()
        if self.formula:
            with self._definition() as (entries, changes, end):
                return changes.get(end, constant(np.zeros(self.out.shape)))
        if self._is_linear():
            return by_terms(self._pushed, self.changes)
        if self.form == "multilinear":
            args = [as_series(x) if x is not None else None for x in self.args]
            found = product(lambda parts: self.rule.call(list(parts), self.params), args)
            return found.change(self.value(), np.any(self.moved))
        self._require_smooth()
        found = by_terms(self._pushed, self.changes)
        return Series(found.terms, np.minimum(found.known, 2 * self._least()), found.logs)

    def but_still(self, found: Series) -> Series:
        """A change, but zero where no argument changes."""
        moving = [x for x in self.changes if x is not None]
        if self.form == "elementwise":
            parts = np.broadcast_arrays(found.known, *[x.zero & (x.state == HERE) for x in moving])
            still = np.logical_and.reduce(parts[1:])
        else:
            still = np.full(found.shape, all(x.zero.all() and not x.state.any() for x in moving))
        return Series(found.terms, np.where(still, EXACT, found.known), found.logs)

    def _pushed(self, dots: Sequence[Any]) -> Any:
        return self.rule.push(dots, self.out, self.raws, self.params)

    def _is_linear(self) -> bool:
        """Whether the derivative does not change nearby: as that of a sum, or of a largest one."""
        if self.form == "linear" or self.form == "composite":
            return True
        if self.form != "general" or np.any(self.moved) and any(map(_is_kept, self.raws)):
            return False
        pair = self._bars_nearby()
        return pair is not None and all(
            one is other is None or np.array_equal(one, other)
            for one, other in zip(*pair, strict=True)
        )

    def _require_smooth(self) -> None:
        """Raise UnknownSeries unless the first derivative tells the change to first order."""
        if np.any(self.moved) or self._least() <= 0:
            raise UnknownSeries
        pair = self._bars_nearby()
        if pair is None or not all(
            one is other is None
            or np.all(np.isfinite(one))
            and np.max(np.abs(one - other), initial=0) <= NEARLY * np.max(np.abs(one), initial=0)
            for one, other in zip(*pair, strict=True)
        ):
            raise UnknownSeries

    def _least(self) -> int:
        """The first power with which arguments change."""
        return min(int(x.lead.min(initial=EXACT)) for x in self.changes if x is not None)

    def _bars_nearby(self) -> Any:
        """Cotangents of drawn ones, here and for arguments that are moved; None if unknown."""
        if isinstance(self.out, Outputs) or self.form != "general":
            return None
        if self.nearby is None:
            return self._asked_nearby()
        key = id(self.entry)
        if key not in self.nearby:
            self.nearby[key] = self._asked_nearby()
        return self.nearby[key]

    def _asked_nearby(self) -> Any:
        out, raws = self.out, self.raws
        call = Call(self.rule, out, raws, out, raws, self.params, self.moving, self.slots)
        g = np.random.default_rng(0).uniform(1, 2, np.shape(out))
        try:
            return [call.pulled(g, *at) for at in ((out, raws), call.moved())]
        except Exception:  # noqa: BLE001 - a rule of the program's, at a point that it did not choose
            return None

    def _by_elements(self) -> Series:
        partials = self.rule.partials
        used = [partial for partial, moves in zip(partials, self.moving, strict=False) if moves]
        if all(partial is None or partial is MINUS for partial in used):
            return self._sum()
        found = self._of_linear()
        if found is not None:
            return found
        value, moved = self.value(), self.moved
        found, along, never = None, self.rule.along, True
        if self.known and (along is not self.rule.function or along in UFUNCS):
            try:
                found = as_series(along(*self.args))
            except UnknownSeries as error:
                never = isinstance(error, NoSeries)
        if found is None:
            try:
                found = self._by_partials(value, moved)
            except UnknownSeries:
                if not self.known or never and sum(self.moving) > 1:
                    raise
                found = smooth(along, self.args)
        return found.change(value, moved | (self.rule.along is not self.rule.function))

    def _of_linear(self) -> Series | None:
        """The change where one argument moves, and the function is linear in it."""
        if sum(self.moving) != 1:
            return None
        at = self.moving.index(True)
        reads, reads_out = self.rule._reads[at]
        if reads_out or reads[at]:
            return None
        change = self.changes[at]
        found = change * as_series(self.rule.partials[at](None, *self.raws))
        found.state = np.broadcast_to(change.state, found.shape)
        if self.rule.product:  # with a constant zero it is zero, whatever the other value is
            zero = np.broadcast_to(untraced(self.raws[1 - at]) == 0, found.shape)
            found.state = np.where(zero, ZERO, found.state)
        return found

    def _sum(self) -> Series:
        """The sum of changes, with signs."""
        terms = [
            x if partial is None else -x
            for x, partial in zip(self.changes, self.rule.partials, strict=False)
            if x is not None
        ]
        total = terms[0]
        for term in terms[1:]:
            total = total + term
        if self.out is not None and total.shape != np.shape(self.out):
            total = total + constant(np.zeros(np.shape(self.out)))
        states = [np.broadcast_to(term.state, total.shape) for term in terms]
        total.state = state_of_sum(states, not all(self.moving))
        return total

    def _by_partials(self, value: Any, moved: Any) -> Series:
        """The series by the partials, from the value at the limits of the arguments."""
        start = 0.0 if value is None else value
        infinite = np.logical_or.reduce(
            np.broadcast_arrays(*[x.infinite for x in self.changes if x is not None])
        )
        outside: Any = False
        if value is not None and self.known:
            call = self.rule.call
            here = call([limit_of(x) for x in self.args], self.params)
            start = np.where(moved | infinite, here, start)
            outside = np.isnan(call([beside_limit(x) for x in self.args], self.params))
            outside = outside & ~np.isnan(start)
        partials = self.rule.partials
        found: Series = by_partials(
            [lambda out, *args, of=partial: of(out, *args) for partial in partials],
            start,
            self.args,
        )
        lost = moved & (not self.known)  # the value that it starts from
        if self.known and any(reads_out for _, reads_out in self.rule._reads):
            # From its value the series may have gone another way than the function.
            at_steps = [self.rule.call([at_step(x, by) for x in self.args], {}) for by in BESIDE]
            lost = lost | ~(agrees(found, at_steps) | infinite)
        known = np.where(lost, GRID.low, np.where(outside, OUTSIDE, found.known))
        return but_outside(Series(found.terms, known, found.logs), *self.args)

    @contextmanager
    def _definition(self) -> Iterator[Any]:
        """The entries of a rule's definition, the changes of their results, the last slot."""
        if hasattr(self.rule, "definition_at"):
            asked = self.out, self.raws, self.params, self.moving
            definition, values = self.rule.definition_at(*asked)
        else:
            definition, values = self._formula_at()
        with recorded(definition, values) as (tape, slots, made):
            moving = [change for change in self.changes if change is not None]
            changes = dict(zip(slots, moving, strict=True))
            if not isinstance(made, Traced):
                raise UnknownSeries
            entries = [entry for entry, _, _ in live_steps(tape.entries, slots, [made.slot])]
            forward(entries, changes)
            yield entries, changes, made.slot

    def _formula_at(self) -> Any:
        """The formula of a general rule as a function of what moves, and the values of that."""

        def definition(given: Sequence[Value]) -> Value:
            values = iter(given)
            pairs = zip(self.raws, self.moving, strict=True)
            mixed = [next(values) if moves else raw for raw, moves in pairs]
            return self.rule.formula(*mixed, **self.params)

        pairs = zip(self.raws, self.moving, strict=True)
        return definition, [raw for raw, moves in pairs if moves]

    # -- backward --------------------------------------------------------------------------------

    def bars(self, g: Series, out: Series) -> list[Any]:
        """The series of the cotangents of the arguments, None where there is none."""
        if self.formula:
            return self._bars_of_definition(g)
        return [self._bar(g, out, at) if moves else None for at, moves in enumerate(self.moving)]

    def _bars_of_definition(self, g: Series) -> list[Any]:
        with self._definition() as (entries, changes, end):
            slots = [at for at in changes if at not in {entry[0] for entry in entries}]
            bars = {end: g}
            backward(entries, changes, bars)
        found = iter([bars.get(at, constant(np.zeros(changes[at].shape))) for at in slots])
        return [next(found) if moves else None for moves in self.moving]

    def _bar(self, g: Series, out: Series, at: int) -> Series:
        raw, change = self.raws[at], self.changes[at]
        shape = g.shape if raw is None else np.shape(raw)
        try:
            bar = _fitted(self._slope(g, out, at), shape)
        except UnknownSeries as why:
            if self.form != "elementwise":
                return unknown(shape, change.dtype)
            nothing = unknown(g.shape, np.result_type(g.dtype, out.dtype, change.dtype), why)
            bar = _fitted(g * nothing, shape)  # what has no cotangent needs no partial
        return bar if change.dtype.kind == "c" else bar.real

    def _slope(self, g: Series, out: Series, at: int) -> Series:
        if self.form == "elementwise":
            partial = self.rule.sides[at]
            if partial is None or partial is MINUS:
                return g if partial is None else -g
            try:
                slope = as_partial(partial(out, *self.args))
            except UnknownSeries:
                if sum(self.moving) > 1:
                    raise
                slope = slope_along(out, self.changes[at])
            return but_outside(g * slope, out)  # which reads a plain branch as well
        only = [place == at for place in range(len(self.args))]

        def pulled(parts: Sequence[Any]) -> Any:
            g, *args = parts
            return self.rule.pull(g, self.out, args, self.params, only)[at]

        if self._is_linear():
            return by_terms(lambda parts: pulled([parts[0], *self.raws]), [g])
        if self.form == "multilinear":
            others = [None if place == at else as_series(x) for place, x in enumerate(self.args)]

            def multiplied(parts: Sequence[Any]) -> Any:
                return pulled([self.raws[at] if x is None else x for x in parts])

            return product(multiplied, [g, *others])
        self._require_smooth()
        found = by_terms(lambda parts: pulled([parts[0], *self.raws]), [g])
        known = min(int(g.lead.min(initial=EXACT)), GRID.high) + self._least()
        return Series(found.terms, np.minimum(found.known, known), found.logs)


NEARLY = 1e-2  # of two first derivatives, a little apart, of which the function is smooth


def _is_kept(value: Any) -> bool:
    return value is not None and type(value) is not Spec


# The first argument, of the result and the others, where an entry need not keep it.
_ARGUMENTS: dict[Any, Callable[..., Any]] = {
    np.sqrt: lambda out: out * out,
    np.cbrt: lambda out: out * out * out,
    np.exp: np.log,
    np.tan: np.arctan,
    np.divide: np.multiply,
}


def _beside(change: Series, raw: Any) -> Series:
    return change.beside(raw) if _is_kept(raw) else change


def forward(entries: Sequence[Entry], changes: Changes, nearby: Nearby = None) -> None:
    """Add the changes of all results to those of the inputs.

    nearby: a memory of entries that last, as some rules take long to ask.
    """
    kept = kept_values(entries)
    for at, change in changes.items():
        if change.side is None and at in kept:
            change.side = change.value_beside(kept[at])
    for entry in entries:
        slot = entry[0]
        if slot in changes:
            continue
        rule, _, _, params, slots = opened(entry)
        if rule is READ:
            if slots in changes:
                changes[slot] = changes[slots][params]
            continue
        if rule is WRITE or rule is ADD:
            _write(entry, changes)
            continue
        if not any(at in changes for at in _as_tuple(slots) if at != -1):
            continue
        made, call, why = None, None, None
        if type(rule) is not Mark:
            call = _Call(entry, changes, nearby)
            try:
                made = call.change()
                made.side = call.side(made)
                if made.side is None and slot in kept:
                    made.side = made.value_beside(kept[slot])
            except UnknownSeries as error:
                why = error
        if made is None:
            made = unknown(_shape(entry, changes), _kind(entry, changes), why)
            if call is not None:
                made = call.but_still(made)
        changes[slot] = made


def _as_tuple(value: Any) -> Any:
    return value if type(value) is tuple else (value,)


def parents_in(entries: Sequence[Entry]) -> dict[Any, Any]:
    """The values that entries read, by slot, or specs of those that are not kept."""
    found: dict[Any, Any] = {}
    for entry in entries:
        rule, out, args, params, slots = opened(entry)
        if type(rule) is Mark:
            continue
        if params is NO_PARAMS:
            # Of one that is not kept the shape is that of the other, or of the result.
            likes = (part for part in (*args, out) if hasattr(part, "shape"))
            known = next(likes, np.float64(0))
            args = [part if hasattr(part, "shape") else known for part in args]
        pairs = zip(slots, args, strict=True)
        found.update((at, part) for at, part in pairs if at != -1 and hasattr(part, "shape"))
    return found


def kept_values(entries: Sequence[Entry]) -> dict[Any, Any]:
    """The values that entries keep, by slot."""
    kept: dict[Any, Any] = {}
    for entry in entries:
        rule, out, args, _, slots = opened(entry)
        if type(rule) is not Mark:
            pairs = [(entry[0], out), *zip(slots, args, strict=True)]
            kept.update((at, value) for at, value in pairs if at != -1 and _is_kept(value))
    for entry in reversed(entries):
        slot, rule = entry[:2]
        if getattr(rule, "function", rule) is None and slot in kept:  # the input of a transform
            kept.setdefault(parents_of(entry)[0], kept[slot])
    return kept


def _kind(entry: Entry, changes: Changes) -> Any:
    """The dtype of a result's series, complex if it may be."""
    _, out, args, _, slots = opened(entry)
    parts = [out, *_as_tuple(args)]
    kinds = [np.result_type(part).kind for part in parts if _is_kept(part) and np.isscalar(part)]
    kinds += [part.dtype.kind for part in parts if hasattr(part, "dtype")]
    kinds += [changes[at].dtype.kind for at in _as_tuple(slots) if at in changes]
    return complex if "c" in kinds else float


def _shape(entry: Entry, changes: Changes) -> tuple[int, ...]:
    _, out, _, params, slots = opened(entry)
    if out is not None and hasattr(out, "shape"):
        return tuple(out.shape)
    if params is NO_PARAMS:
        return next(changes[at].shape for at in slots if at in changes)
    raise UnknownSeries


def _write(entry: Entry, changes: Changes) -> None:
    rule, _, (x, v), index, (x_slot, v_slot) = opened(entry)
    if x_slot not in changes and v_slot not in changes:
        return
    still = constant(np.zeros(x.shape))
    made = changes[x_slot].copy() if x_slot in changes else still
    new = changes[v_slot] if v_slot in changes else constant(np.zeros(np.shape(v)))
    before = made[index]
    total = new if rule is WRITE else before + new
    if rule is ADD:
        states = np.broadcast_arrays(before.state, new.state)
        total.state = state_of_sum(states)
    made.put(index, total)
    changes[entry[0]] = made


# --- Backward -----------------------------------------------------------------------------------


def backward(
    entries: Sequence[Entry], changes: Changes, bars: dict[Any, Any], nearby: Nearby = None
) -> None:
    """Push the series of cotangents back; those at the slots of inputs stay."""
    for entry in reversed(entries):
        slot = entry[0]
        rule, _, args, params, slots = opened(entry)
        if slot not in bars or rule is not READ and slot not in changes:
            continue
        g = bars.pop(slot)
        if slot in changes:
            g = _of_moving(g, changes[slot])
        if rule is READ:
            if slots in changes:
                add_to(bars, slots, _scattered(changes[slots].shape, params, g))
        elif rule is WRITE or rule is ADD:
            x_slot, v_slot = slots
            if v_slot in changes:
                taken = g[params]
                if rule is WRITE:
                    taken = taken * constant(_lasting(args[0].shape, params))
                add_to(bars, v_slot, _fitted(taken, changes[v_slot].shape))
            if x_slot in changes:
                rest = g.copy()
                if rule is WRITE:
                    rest.put(params, constant(np.zeros(rest.known[params].shape)))
                add_to(bars, x_slot, rest)
        elif type(rule) is not Mark:
            call = _Call(entry, changes, nearby)
            value = _beside(changes[slot], call.result)
            for at, bar in zip(call.slots, call.bars(g, value), strict=True):
                if bar is not None:
                    add_to(bars, at, bar)


def _of_moving(g: Series, change: Series) -> Series:
    """A cotangent, which counts nowhere if the element does not change along a line drawn."""
    still = change.zero
    if not still.any():
        return g
    still = np.broadcast_to(still, g.shape)
    return Series(np.where(still, 0, g.terms), np.where(still, EXACT, g.known), g.logs * ~still)


def _lasting(shape: tuple[int, ...], index: Any) -> Any:
    """1 for each element of what is written that stays, 0 for one that another is written over."""
    places = np.zeros(shape, int)
    numbers = np.arange(1, np.size(places[index]) + 1).reshape(np.shape(places[index]))
    places[index] = numbers
    return (places[index] == numbers) * 1.0


def _scattered(shape: tuple[int, ...], index: Any, g: Series) -> Series:
    """The series of the cotangent of what was read at an index."""

    def added(parts: Sequence[Any]) -> Any:
        whole = np.zeros(shape, parts[0].dtype)
        np.add.at(whole, index, parts[0])
        return whole

    return by_terms(added, [g])


def add_to(bars: dict[Any, Any], at: Slot, bar: Series) -> None:
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


def by_terms(function: Callable[[Sequence[Any]], Any], args: Sequence[Any]) -> Series:
    """A linear function of series: that of the coefficients of each power."""
    given = [x for x in args if x is not None]
    powers = sorted({k for x in given for k in x.each()} | {-GRID.low})
    terms: Any = None
    for k in powers:
        part = np.asarray(function([None if x is None else x.terms[k] for x in args]))
        if terms is None:
            terms = np.zeros((GRID.width, *part.shape), part.dtype)
        terms[k] = part
    if any(x.logs.any() for x in given):
        logs = np.asarray(function([None if x is None else x.logs for x in args]), float)
    else:
        logs = None
    known = _known(function, args, terms.shape[1:])
    return Series(terms, known, logs, _state(function, args, terms.shape[1:]))


def _state(function: Callable[..., Any], args: Sequence[Any], shape: tuple[int, ...]) -> Any:
    """Of changes: as `state_of_sum`, of the elements that reach each."""
    if not any(x is not None and x.state.any() for x in args):
        return None
    dice = np.random.default_rng(1)
    weights: list[Any] = [None if x is None else _drawn(dice, x) for x in args]

    def of(choose: Callable[[Any], Any]) -> Any:
        pairs = zip(args, weights, strict=True)
        return np.asarray(
            function([None if x is None else np.where(choose(x.state), w, 0.0) for x, w in pairs])
        )

    total = of(lambda state: state >= HERE)
    plain = of(lambda state: (state == HERE) | (state == ZERO))
    whole = of(lambda state: (state == THERE) | (state == ZERO))
    zero = of(lambda state: state == ZERO)
    made = np.where(plain == total, HERE, np.where(whole == total, THERE, LOST))
    return np.where((zero == total) & (total != 0), ZERO, made)


def _drawn(dice: np.random.Generator, like: Series) -> Any:
    """Numbers that do not cancel, with both components where those of a series have them."""
    made = dice.uniform(1, 2, like.shape)
    return made + 1j * dice.uniform(1, 2, like.shape) if like.dtype.kind == "c" else made


def _known(function: Callable[..., Any], args: Sequence[Any], shape: tuple[int, ...]) -> Any:
    """Up to which power each element is known: as the least known of those that reach it."""
    known = np.full(shape, EXACT)
    dice = np.random.default_rng(0)
    levels = {int(n) for x in args if x is not None for n in np.unique(x.known)} - {EXACT}
    for level in sorted(levels, reverse=True):
        masks = [
            None if x is None else np.where(x.known == level, _drawn(dice, x), 0.0) for x in args
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
        made = np.asarray(function(parts))
        if terms is None:
            terms = np.zeros((GRID.width, *made.shape), made.dtype)
        if 0 <= power < GRID.width:
            terms[power] += made
    return Series(terms, np.full(terms.shape[1:], known))


__all__ = [
    "Changes",
    "add_to",
    "backward",
    "by_terms",
    "forward",
    "kept_values",
    "parents_in",
    "product",
]
