"""The tape of forward mode pushes a tangent through each entry: here written out.

Knows the layouts of entries, call plans, and that a slot of this tape holds its value's tangent.
"""

from __future__ import annotations

from typing import Any

from numpy import dtype, float64, ndarray

from tapegrad._core import forward_tape
from tapegrad._core.entry import ABSENT, MINUS, READ, Entry
from tapegrad._core.fast.call_plans import CallPlan
from tapegrad._core.fast.paths import replaces
from tapegrad._core.fit import RAISED_BY_NUMBERS, Over
from tapegrad._core.forward_tape import pushed, tangent_at
from tapegrad._core.quiet import SILENT, VARIABLE
from tapegrad._core.types import Tangent, Value
from tapegrad._core.values import PLAIN_PARTS

# Bound once, because every operation calls both.
_NUMBERS = frozenset((float, float64, int))
_WIDE = frozenset((dtype(float), dtype(complex)))  # of which no digit is lost beside a float
enter, leave = VARIABLE.set, VARIABLE.reset


@replaces(forward_tape, "_push")
def _push(entry: Entry) -> None:  # noqa: C901 - the hot path
    slot, rule, out, x, y, x_slot, y_slot = entry
    if y_slot is None:
        _push_general(entry)
        return
    # `replay.push_entry`, written out for the first layout.
    x_dot: Any = None if x_slot is ABSENT else x_slot.tangent
    y_dot: Any = None if y_slot is ABSENT else y_slot.tangent
    partial: Any = rule.x_partial
    if y_dot is None:
        if partial is None or x_dot is None:
            slot.tangent = x_dot
            return
        if partial is MINUS:
            slot.tangent = -x_dot
            return
        if type(x_dot) is float and type(y) in _NUMBERS:  # by Python's arithmetic
            if rule.product:
                total = x_dot * float(y)
                if total == total:
                    slot.tangent = total
                    return
            elif not rule.plain and y and not partial.of_out:
                total = x_dot / float(partial.by(out, x, y))
                if total == total:
                    slot.tangent = total
                    return
    elif type(y_dot) is float:
        if rule.product:
            if x_dot is None:
                if type(x) in _NUMBERS:
                    total = y_dot * float(x)
                    if total == total:
                        slot.tangent = total
                        return
            elif type(x_dot) is float and type(x) is float64 and type(y) is float64:
                total = x_dot * float(y) + y_dot * float(x)
                if total == total:
                    slot.tangent = total
                    return
        elif partial is None and type(x_dot) is float:
            other = rule.y_partial
            if other is None or other is MINUS:
                slot.tangent = x_dot + y_dot if other is None else x_dot - y_dot
                return
    _push_products(entry, x_dot, y_dot)


def _push_products(entry: Entry, x_dot: Tangent, y_dot: Tangent) -> None:
    """The tangent by products of NumPy's."""
    slot, rule, out, x, y, _, _ = entry
    partial: Any = rule.x_partial
    token = enter(SILENT)
    try:
        # Products are named, not nested: nested ones of large arrays took up to twice the time.
        if y_dot is None:
            if rule.product:
                total = x_dot * y
            elif rule.plain:
                factor = partial(out, x) if rule.unary else partial(out, x, y)
                total = x_dot * factor
            else:
                factor = partial.by(out, x) if rule.unary else partial.by(out, x, y)
                total = x_dot / factor
                if partial.of_out:
                    total = total * out
        elif x_dot is None:
            total = _along(rule.y_partial, y_dot, out, x, y)
        elif rule.product:
            total = x_dot * y
            dot = y_dot * x
            if type(total) is not type(dot) and (type(x_dot) is float or type(y_dot) is float):
                _push_as_numpy(entry)
                return
            total = total + dot
        else:
            total = _along(partial, x_dot, out, x, y)
            partial = rule.y_partial
            if partial is None:
                total = total + y_dot
            elif partial is MINUS:
                total = total - y_dot
            else:
                dot = _along(partial, y_dot, out, x, y)
                total = total + dot
        kind = type(total)
        if kind is float64:
            total = float(total)
        elif (
            kind is not ndarray
            and (type(x_dot) is float or type(y_dot) is float)
            and (getattr(total, "dtype", None) not in _WIDE)
        ):
            _push_as_numpy(entry)
            return
        slot.tangent = total
    except RAISED_BY_NUMBERS:
        slot.tangent = pushed(entry)
    finally:
        leave(token)


def _push_as_numpy(entry: Entry) -> None:
    """`_push` of a call whose other number has a dtype of its own, as float32 or complex64.

    One of Python's floats takes that dtype, and loses digits; one of NumPy's keeps its own.
    """
    for cell in entry[5:]:
        if cell is not ABSENT and type(cell.tangent) is float:
            cell.tangent = float64(cell.tangent)
    _push(entry)


def _along(partial: Any, dot: Tangent, out: Value, x: Value, y: Value) -> Tangent:
    """The tangent by one of two arguments."""
    if partial is None:
        return dot
    if partial is MINUS:
        return -dot
    if type(partial) is Over:
        return partial.along(dot, out, x, y)
    return dot * partial(out, x, y)


def _push_general(entry: Entry) -> None:
    slot, rule, out, args, params, slots, _ = entry
    kind: Any = type(params)
    dot: Any
    if rule is READ:
        dot = None if slots is ABSENT else slots.tangent
        if type(dot) is ndarray and (
            kind is slice
            or kind is int
            or kind is ndarray
            or (kind is tuple and PLAIN_PARTS.issuperset(map(type, params)))
        ):
            dot = dot[params]
            slot.tangent = float(dot) if type(dot) is float64 else dot
            return
    elif kind is CallPlan and params.single:
        dot = tangent_at(slots[0])
        if (type(dot) is ndarray or type(dot) is float64) and params.push is not None:
            token = enter(SILENT)
            try:
                slot.tangent = params.push(dot, out, args[0])
            finally:
                leave(token)
            return
    elif kind is CallPlan and params.push is not None:
        dots: list[Any] = []
        some = False
        for at in slots:
            dot = None if at is ABSENT else at.tangent
            kind = type(dot)
            if kind is float:
                dot = float64(dot)
            elif kind is not ndarray and kind is not float64 and dot is not None:
                break
            dots.append(dot)
            some = some or dot is not None
        else:
            slot.tangent = _push_planned(entry, dots) if some else None
            return
    _push_other(entry)


def _push_planned(entry: Entry, dots: list[Any]) -> Tangent:
    token = enter(SILENT)
    try:
        return entry[4].push(dots, entry[2], *entry[3])
    finally:
        leave(token)


def _push_other(entry: Entry) -> None:
    token = enter(SILENT)
    try:
        entry[0].tangent = pushed(entry)
    finally:
        leave(token)


__all__: list[str] = []
