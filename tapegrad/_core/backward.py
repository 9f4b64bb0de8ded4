"""The replays of a tape backward: cotangents from results to arguments.

Knows the layouts of entries, and what a replay asks of a rule (`ReplayedRule`). Must not know
which functions exist, or what a transform is.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

import numpy as np

from tapegrad._core.call_plans import CallPlan, CallPlanAll
from tapegrad._core.entry import ADD, MINUS, PROJECT, READ, WRITE, Entry, _Mark, wrap_kept
from tapegrad._core.fit import (
    finite_or_strong,
    fit_cotangent,
    holds_infinity,
    is_finite,
    multiplied,
    zeros_absorbing,
)
from tapegrad._core.recorded import pulled
from tapegrad._core.scatter import give_part, last_writers, read_back, scatter
from tapegrad._core.tape import Tape
from tapegrad._core.types import Cotangent, Cotangents, Slot, Value
from tapegrad._core.values import (
    Scatter,
    Traced,
    branch_on,
    is_basic,
    lift_to_level_of_index,
    unbatched,
    writable,
)
from tapegrad._errors import RuleError

# By a partial whose other argument is a Python number: see `elementwise._also_of_numbers`.
RAISED_BY_NUMBERS = (ZeroDivisionError, OverflowError)
# What NumPy makes of an array without dimensions: cotangents of planned calls.
NUMBERS = frozenset((np.float64, np.float32))

ABSENT = -1  # compared by identity: a slot may be an object, for which `==` is slow


def replay_backward(
    entries: Iterable[Entry],
    bars: Any,
    *,
    large: bool = False,
    absorbing: bool = False,
) -> None:
    """Push cotangents back through raw entries: `bars[slot]` holds a cotangent or None.

    entries: from the last on; each is asked for after the one before it was used. With `large` the
    replay adds cotangents in place, which pays from some hundred elements on. With `absorbing` a
    zero cotangent absorbs an infinite partial, in products that gave a NaN or an infinity, and in
    all products after the first infinity. Without it a NaN stays, and the caller replays again by
    `careful`.

    This is one long loop on purpose. An entry of a small operation takes about a microsecond, and
    a call of another function for its cotangent, or for adding it up, would be felt. What seldom
    comes is below.
    """
    absent = ABSENT
    strong_zeros = False
    owned: set[int] = set()  # slots whose buffer nobody else holds, so it can be added to in place
    for slot, rule, out, x, y, x_slot, y_slot in entries:
        g = bars[slot]
        if g is None:
            continue
        bars[slot] = None
        if y_slot is None:
            if rule is READ and x_slot is not absent and read_back(bars, owned, x_slot, y, g, x):
                continue
            kind = type(g)
            planned = not strong_zeros and (kind is np.ndarray or kind in NUMBERS)
            if planned and type(y) is CallPlan and not (rule.in_order and slot in owned):
                at = x_slot[0]
                if y.add is not None and type(bars[at]) is np.ndarray:
                    if at not in owned:
                        bars[at] = bars[at].copy()
                        owned.add(at)
                    y.add(bars[at], g)
                    continue
                bar = y.pull(g, out, x[0])
            elif type(y) is CallPlanAll and (
                planned or (kind is list and not strong_zeros and _are_arrays(g))
            ):
                found = y.pull(g, out, *x)
                if absorbing and y.strong is not None and not _all_finite(found):
                    found = y.strong(g, out, *x)
                    strong_zeros = not _all_finite(found)
                for at, bar in zip(x_slot, found):  # noqa: B905 - strict= costs
                    if bar is None or at is absent:
                        continue
                    before = bars[at]
                    if before is None:
                        bars[at] = bar
                    elif large and at in owned and type(bar) is type(before):
                        before += bar
                        bars[at] = before  # += on a NumPy scalar makes a new one
                    else:
                        bars[at] = before + bar
                        owned.add(at)
                continue
            else:
                if rule is PROJECT:
                    _add_result(bars, x_slot, x, y, g)
                elif rule is WRITE and kind is np.ndarray and is_basic(y):
                    give_part(bars, owned, slot, (x, y, x_slot), g)
                else:
                    call = (slot, rule, out, x, y, x_slot, None)
                    strong_zeros = _pull_general(bars, owned, g, call, 0, strong_zeros, absorbing)
                continue
        else:
            if x_slot is not absent:
                partial = rule.x_partial
                if partial is None:
                    bar = g
                elif partial is MINUS:
                    bar = -g
                elif strong_zeros:
                    bar = _strongly(rule, 0, g, out, x, y)
                else:
                    try:
                        if rule.plain:  # one expression: NumPy reuses a large temporary factor
                            bar = g * (partial(out, x) if rule.unary else partial(out, x, y))
                        elif rule.product:
                            bar = g * y
                        else:
                            bar = g / (partial.by(out, x) if rule.unary else partial.by(out, x, y))
                            if partial.of_out:
                                bar = bar * out
                    except RAISED_BY_NUMBERS:
                        bar = g * rule.partials[0](out, x, y)
                    if absorbing and rule.strong and not is_finite(bar):
                        bar = _strongly(rule, 0, g, out, x, y)
                        strong_zeros = not is_finite(bar)
                before = bars[x_slot]
                if before is None:
                    bars[x_slot] = bar
                elif large and x_slot in owned and type(bar) is type(before):
                    before += bar
                    bars[x_slot] = before
                else:
                    bars[x_slot] = before + bar
                    if large:
                        owned.add(x_slot)
            if y_slot is absent:
                continue
            at = y_slot
            partial = rule.y_partial
            if partial is None:
                bar = g
            elif partial is MINUS:
                bar = -g
            elif strong_zeros:
                bar = _strongly(rule, 1, g, out, x, y)
            else:
                try:
                    if rule.y_plain:
                        bar = g * (x if rule.product else partial(out, x, y))
                    else:
                        bar = multiplied(operator.mul, g, partial, out, (x, y))
                except RAISED_BY_NUMBERS:
                    bar = g * rule.partials[1](out, x, y)
                if absorbing and rule.strong and not is_finite(bar):
                    bar = _strongly(rule, 1, g, out, x, y)
                    strong_zeros = not is_finite(bar)
        before = bars[at]
        if before is None:
            bars[at] = bar
        elif large and at in owned and type(bar) is type(before):
            before += bar
            bars[at] = before
        else:
            bars[at] = before + bar
            if large:
                owned.add(at)


def _add_result(bars: Any, slot: Any, position: int, count: int, g: Cotangent) -> None:
    """Add to the cotangent of one result of a call with several; a result may have many slots."""
    parts = bars[slot]
    if parts is None:
        bars[slot] = parts = [None] * count
    before = parts[position]
    parts[position] = g if before is None else before + g


def _strongly(rule: Any, position: int, g: Cotangent, out: Value, x: Value, y: Value) -> Any:
    """The cotangent of an argument by a strong product.

    The partial is the one that takes a Python number as a NumPy scalar if there is one.
    """
    partial = rule.partials[position]
    if partial is None or partial is MINUS:
        return g if partial is None else -g
    factor = partial(out, x) if rule.unary else partial(out, x, y)
    return finite_or_strong(rule.times, g, factor)


def _are_arrays(parts: Iterable[Cotangent]) -> bool:
    """Whether the cotangents of several results are NumPy's: under `vmap` they may not be."""
    for part in parts:
        if part is not None and type(part) is not np.ndarray and type(part) not in NUMBERS:
            return False
    return True


def _all_finite(found: Iterable[Cotangent]) -> bool:
    for bar in found:  # noqa: SIM110 - all() of a generator costs half a small operation
        if bar is not None and not is_finite(bar):
            return False
    return True


def emptying(entries: list[Any]) -> Iterable[Entry]:
    """Entries from last to first; each leaves the list before it is replayed.

    So a replay frees the values that they keep as early as possible.
    """
    entries.insert(0, None)
    return iter(entries.pop, None)


class SparseBars(dict[Any, Any]):
    """Cotangents by slot for a recording within a tape; slots before `start` get none."""

    first: Any = None  # the rule whose product of a zero and an infinity is the first NaN, if any

    def __init__(self, start: int) -> None:
        super().__init__()
        self.start = start

    def __missing__(self, slot: Slot) -> None:
        return None


def replay_nested(
    entries: list[Entry],
    bars: SparseBars,
    tape: Tape | None,
    *,
    absorbing: bool = False,
    strong_zeros: bool = False,
) -> None:
    """Push cotangents back through a recording while an outer transform is open on its tape.

    With `tape` the replay wraps the kept values with their slots again, so that the rules log
    themselves. `absorbing`: see `replay_backward`; with `strong_zeros` from the start.
    """
    owned: set[int] = set()
    for entry in reversed(entries):
        slot, rule, out, x, y, x_slot, y_slot = entry
        g = bars.pop(slot, None)
        if g is None:
            continue
        if tape is not None:
            out, x, y = wrap_kept(tape, entry)
        if y_slot is None:
            call = (slot, rule, out, x, y, x_slot, None)
            strong_zeros = _pull_general(bars, owned, g, call, bars.start, strong_zeros, absorbing)
            continue
        strong = absorbing and (strong_zeros or rule.strong)
        for position, arg_slot in enumerate((x_slot, y_slot)):
            if arg_slot < bars.start:
                continue
            partial = rule.partials[position]
            if partial is None:
                bar = g
            elif partial is MINUS:
                bar = -g
            else:
                times = rule.times if strong else operator.mul
                bar = multiplied(times, g, partial, out, (x,) if rule.unary else (x, y))
                strong_zeros = strong_zeros or (strong and not is_finite(bar))
            accumulate(bars, owned, arg_slot, bar, None)


def pull_mark(bars: Cotangents, owned: set[int], g: Cotangent, entry: Entry, start: int) -> None:
    """Replay an entry of the tape's own: a read, a write, an addition, one of several results."""
    _, rule, _, args, params, slots, _ = entry
    if rule is READ:
        if slots is not ABSENT and slots >= start:
            scatter(bars, owned, slots, params, g, args)
    elif rule is WRITE:
        _pull_write(bars, owned, g, entry, start)
    elif rule is ADD:
        (x, v), (x_slot, v_slot) = args, slots
        if v_slot >= start:
            accumulate(bars, owned, v_slot, fit_cotangent(g[params], v, ADD), v)
        if x_slot >= start:
            accumulate(bars, owned, x_slot, g, x)
    else:
        _add_result(bars, slots, args, params, g)


def _pull_general(
    bars: Cotangents,
    owned: set[int],
    g: Cotangent,
    entry: Entry,
    start: int,
    strong_zeros: bool,
    absorbing: bool,
) -> bool:
    """Replay one entry of the general layout backward; slots before `start` get no cotangent.

    Returns `strong_zeros` for the entries that follow: True also if a strong product here gave an
    infinity.
    """
    slot, rule, out, args, params, slots, _ = entry
    if type(rule) is _Mark:
        pull_mark(bars, owned, g, entry, start)
        return strong_zeros
    if rule.in_order and slot in owned and type(g) is np.ndarray:
        at = slots[0]
        rows = g.flags.c_contiguous and params.get("order") != "F"
        if rows and at is not ABSENT and at >= start and bars[at] is None:
            # Nobody else holds g, so it takes the argument's shape itself. A view of it (reshape)
            # would not own its memory, and would be copied before it is returned.
            g.resize(args[0].shape, refcheck=False)
            bars[at] = g
            owned.add(at)
            return strong_zeros
    if len(args) > len(slots):  # what a planned call keeps besides
        args = args[: len(slots)]
    # From the start all slots count; where a slot is an object, a comparison costs a call.
    wanted = [at >= start for at in slots] if start else [at is not ABSENT for at in slots]
    if absorbing and (rule.form == "elementwise" or strong_zeros and rule.form == "composite"):
        found = rule.pull_strongly(g, out, args, params, wanted)
    elif strong_zeros and rule.form != "custom" and _has_infinities(g):
        found = _pull_infinite(rule, g, out, args, params, wanted)
    elif absorbing and rule.form == "general":
        with zeros_absorbing():
            found = pulled(rule, g, out, args, params, wanted)
    else:
        found = pulled(rule, g, out, args, params, wanted)
    if len(found) != len(args):
        raise RuleError(
            f"{rule.name}: its rule returned {len(found)} cotangents, expected {len(args)}. "
            "Return one (or None) an array."
        )
    for at, bar, like in zip(slots, found, args):  # noqa: B905 - strict= costs
        if bar is None or at is ABSENT or (start and at < start):
            continue
        if type(bar) is not Scatter:
            if bar.shape != like.shape or bar.dtype is not like.dtype:
                bar = fit_cotangent(bar, like, rule)
            if absorbing and rule.strong:
                strong_zeros = strong_zeros or not is_finite(bar)
            before = bars[at]
            if before is None:
                bars[at] = bar
                continue
        accumulate(bars, owned, at, bar, like)
    return strong_zeros


def _has_infinities(g: Cotangent) -> bool:
    g = unbatched(g)
    return not isinstance(g, Traced) and bool(branch_on(holds_infinity, g))


def _pull_infinite(rule: Any, g: Cotangent, *call: Any) -> list[Cotangent]:
    """Cotangents for a g with infinities, which must not turn zeros of the arguments into NaN.

    A pull is linear in g. So the finite part of g and the signs of its infinite part are pulled
    separately, and the result is infinite only where the pulled signs are not zero.
    """
    finite, signs = _parts_of_infinite(g)
    with zeros_absorbing():
        parts = zip(rule.pull(finite, *call), rule.pull(signs, *call), strict=True)
    return [a if a is None or isinstance(a, Scatter) else _infinite(a, b) for a, b in parts]


def _parts_of_infinite(g: Cotangent) -> tuple[Cotangent, Cotangent]:
    """The finite part of a cotangent and the signs of its infinite part."""
    infinite = np.isinf(g)
    if g.dtype.kind == "c":  # its components are infinite each by itself
        parts = zip(_parts_of_infinite(g.real), _parts_of_infinite(g.imag), strict=True)
        finite, signs = (_complex(g, *part) for part in parts)
        return np.where(infinite, finite, g), np.where(infinite, signs, 0)
    return np.where(infinite, 0, g), np.where(infinite, np.sign(g), 0)


def _infinite(finite: Cotangent, signs: Cotangent) -> Cotangent:
    """A cotangent that is infinite where the signs are not zero."""
    if signs.dtype.kind == "c":
        parts = ((finite.real, signs.real), (finite.imag, signs.imag))
        return _complex(signs, *(_infinite(*part) for part in parts))
    return np.where(signs == 0, finite, signs * np.inf)


def _complex(like: Cotangent, real: Cotangent, imag: Cotangent) -> Cotangent:
    """A complex cotangent of two components: a sum would make NaN of infinite ones."""
    made = np.zeros_like(like)
    made.real, made.imag = real, imag
    return made


def accumulate(bars: Cotangents, owned: set[int], slot: int, bar: Cotangent, like: Value) -> None:
    if type(bar) is Scatter:
        scatter(bars, owned, slot, bar.index, bar._value, like)
        return
    before = bars[slot]
    if before is None:
        bars[slot] = bar
    else:
        bars[slot] = before + bar
        owned.add(slot)


def _pull_write(bars: Cotangents, owned: set[int], g: Cotangent, entry: Entry, start: int) -> None:
    """Replay a write `x[index] = v`: v gets the cotangent at the index, x gets the rest."""
    slot, _, _, (x, v), index, (x_slot, v_slot), _ = entry
    if slot not in owned:
        g = g.copy()
    g = writable(g)
    if not is_basic(index):
        g = lift_to_level_of_index(g, index)
    if v_slot >= start:
        v_bar = g[index]
        if hasattr(v_bar, "copy"):  # of any library: Dask's `g[...]` is g itself
            v_bar = v_bar.copy()  # a view would be cleared with g below
        if not is_basic(index):
            v_bar = last_writers(v_bar, x.shape, index)
        accumulate(bars, owned, v_slot, fit_cotangent(v_bar, v, WRITE), v)
    if x_slot >= start:
        g[index] = 0
        before = bars[x_slot]
        bars[x_slot] = g if before is None else before + g
        owned.add(x_slot)
