"""The replay backward on NumPy's own arrays, as one loop.

Knows the layouts of entries, and call plans. It does what `replay.replay_backward` does.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

import numpy as np

from tapegrad._core import replay
from tapegrad._core.entry import ABSENT, MINUS, PROJECT, READ, WRITE, Entry, wrap_kept
from tapegrad._core.fast.call_plans import CallPlan
from tapegrad._core.fast.paths import is_on, replaces
from tapegrad._core.fast.reads_and_writes import give_part, read_back
from tapegrad._core.fit import (
    RAISED_BY_NUMBERS,
    finite_or_strong,
    is_finite,
    multiplied,
)
from tapegrad._core.marks import add_result
from tapegrad._core.replay import SparseBars, pull_entry
from tapegrad._core.tape import Tape
from tapegrad._core.types import Cotangent, Value
from tapegrad._core.values import is_basic

# NumPy's scalars in place of arrays without dimensions: cotangents of planned calls.
NUMBERS = frozenset((np.float64, np.float32))


by_definition = replay.replay_backward


@replaces(replay, "replay_backward")
def replay_backward(  # noqa: C901 - the hot path
    entries: Iterable[Entry],
    bars: Any,
    tape: Tape | None = None,
    *,
    large: bool = False,
    absorbing: bool = False,
    strong_zeros: bool = False,
) -> None:
    """`replay.replay_backward`. With `large` it adds cotangents in place: see below.

    To add in place pays from some hundred elements on.

    This is one long loop on purpose. An entry of a small operation takes about a microsecond, and
    a call of another function for its cotangent, or for adding it up, would be felt. What seldom
    comes is left to the definition.
    """
    if not is_on("replay.replay_backward"):  # modules that import it by name keep this function
        by_definition(
            entries, bars, tape, large=large, absorbing=absorbing, strong_zeros=strong_zeros
        )
        return
    if tape is not None or type(bars) is SparseBars:
        replay_within(entries, bars, tape, absorbing=absorbing, strong_zeros=strong_zeros)
        return
    absent = ABSENT
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
            if type(y) is CallPlan and y.single and planned:
                at = x_slot[0]
                if y.add is not None and type(bars[at]) is np.ndarray:
                    if at not in owned:
                        bars[at] = bars[at].copy()
                        owned.add(at)
                    y.add(bars[at], g)
                    continue
                if absorbing and y.strong is not None:
                    bar = y.strong(g, out, x[0])
                else:
                    bar = y.pull(g, out, x[0])
            elif (
                type(y) is CallPlan
                and not y.single
                and (planned or (kind is list and not strong_zeros and _are_arrays(g)))
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
                    add_result(bars, x_slot, x, y, g)
                elif rule is WRITE and kind is np.ndarray and is_basic(y):
                    give_part(bars, owned, slot, (x, y, x_slot), g)
                else:
                    strong_zeros = pull_entry(
                        bars,
                        owned,
                        g,
                        (slot, rule, out, x, y, x_slot, None),
                        absorbing=absorbing,
                        strong_zeros=strong_zeros,
                    )
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


def replay_within(
    entries: Iterable[Entry],
    bars: SparseBars,
    tape: Tape | None,
    *,
    absorbing: bool,
    strong_zeros: bool,
) -> None:
    """The replay of a recording that shares its tape: products with partials written out."""
    start = bars.start
    owned: set[Any] = set()
    for entry in entries:
        slot, rule, out, x, y, x_slot, y_slot = entry
        g = bars.pop(slot, None)
        if g is None:
            continue
        if y_slot is None:
            strong_zeros = pull_entry(
                bars, owned, g, entry, tape, start, absorbing=absorbing, strong_zeros=strong_zeros
            )
            continue
        if tape is not None:
            out, x, y = wrap_kept(tape, entry)
        strong = strong_zeros or absorbing and rule.strong
        times = rule.times if strong else operator.mul
        for at, partial in zip((x_slot, y_slot), rule.partials, strict=False):
            if at < start:
                continue
            if partial is None:
                bar = g
            elif partial is MINUS:
                bar = -g
            else:
                args = (x,) if rule.unary else (x, y)
                bar = multiplied(times, g, partial, out, args)
                strong_zeros = strong_zeros or strong and not is_finite(bar)
            before = bars[at]
            if before is None:
                bars[at] = bar
            else:
                bars[at] = before + bar
                owned.add(at)


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


__all__ = ["by_definition", "replay_backward", "replay_within"]
