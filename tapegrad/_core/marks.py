"""Replays of the tape's own entries: reads, writes, additions, one of several results.

Knows the layouts of these marks (`entry`). Must not know rules.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tapegrad._core.entry import ABSENT, ADD, PROJECT, READ, WRITE, Mark, Opened
from tapegrad._core.fit import fit_cotangent
from tapegrad._core.scatter import accumulate, add_at, last_writers, scatter, zeros_at_level_of
from tapegrad._core.types import Cotangent, Cotangents, Index, Slot, Tangent, Value
from tapegrad._core.values import (
    getitem,
    is_basic,
    lift_to_level_of,
    lift_to_level_of_index,
    writable,
)


def pull_mark(
    bars: Cotangents, owned: set[Any], g: Cotangent, slot: Slot, entry: Opened, start: int
) -> None:
    """Push the cotangent of such an entry's result, which is at a slot, back to its arguments."""
    rule, _, args, params, slots = entry
    if rule is READ:
        if slots is not ABSENT and slots >= start:
            scatter(bars, owned, slots, params, g, args)
    elif rule is WRITE:
        _pull_write(bars, owned, g, slot, entry, start)
    elif rule is ADD:
        (x, v), (x_slot, v_slot) = args, slots
        if v_slot >= start:
            accumulate(bars, owned, v_slot, fit_cotangent(g[params], v, ADD), v)
        if x_slot >= start:
            accumulate(bars, owned, x_slot, g, x)
    else:
        add_result(bars, slots, args, params, g)


def add_result(bars: Any, slot: Any, position: int, count: int, g: Cotangent) -> None:
    """Add to the cotangent of one result of a call with several; a result may have many slots."""
    parts = bars[slot]
    if parts is None:
        bars[slot] = parts = [None] * count
    before = parts[position]
    parts[position] = g if before is None else before + g


def _pull_write(
    bars: Cotangents, owned: set[Any], g: Cotangent, slot: Slot, entry: Opened, start: int
) -> None:
    """Replay a write `x[index] = v`: v gets the cotangent at the index, x gets the rest."""
    _, _, (x, v), index, (x_slot, v_slot) = entry
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


def push_mark(
    rule: Mark,
    args: Any,
    params: Any,
    slots: Any,
    dot_of: Callable[[Slot], Tangent],
    *,
    reuse: bool = False,
) -> Tangent:
    """The tangent of the result of such an entry: see `replay.push_entry`."""
    if rule is PROJECT:
        dots = dot_of(slots)
        return None if dots is None else dots[args]
    if rule is READ:
        dot = None if slots == ABSENT else dot_of(slots)
        return None if dot is None else getitem(dot, params)
    dots = [None if at == ABSENT else dot_of(at) for at in slots]
    if all(dot is None for dot in dots):
        return None
    push = _push_write if rule is WRITE else _push_add
    return push(args[0], params, *dots, reuse=reuse)


def _push_write(x: Value, index: Index, x_dot: Tangent, v_dot: Tangent, *, reuse: bool) -> Tangent:
    if x_dot is None:
        out_dot = zeros_at_level_of(v_dot, x)
    else:
        out_dot = x_dot if reuse and x.shape else writable(x_dot.copy())
    out_dot = lift_to_level_of_index(lift_to_level_of(out_dot, v_dot), index)
    out_dot[index] = 0 if v_dot is None else v_dot
    return out_dot


def _push_add(x: Value, index: Index, x_dot: Tangent, v_dot: Tangent, *, reuse: bool) -> Tangent:
    if x_dot is None:
        return _push_write(x, index, None, v_dot, reuse=reuse)
    out_dot = x_dot if reuse else x_dot.copy()
    return out_dot if v_dot is None else add_at(out_dot, index, v_dot)


__all__ = ["add_result", "pull_mark", "push_mark"]
