"""np.interp, differentiable by the points, the knots, the values at them and those outside.

At a knot, where two segments meet, the derivative is the mean of both sides.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad._core.forms import Constant, composite, general, linear, transpose_linear
from tapegrad._core.types import Cotangent, Function, Index, Tangent, Value
from tapegrad._core.values import any_true, innermost, untraced
from tapegrad.rules.differences import as_array


def _plain_interp(
    x: Value, xp: Value, fp: Value, left: Value = None, right: Value = None
) -> Value:
    return np.interp(x, xp, fp, left, right)


def _segments(values: Value, first: float, last: float) -> Value:
    """The values at the knots with one more at each end, for the constant segments outside."""
    return np.concatenate([values[:1] + first, values, values[-1:] + last])


def _places(xp: Value, x: Value, side: str) -> Index:
    return np.searchsorted(xp, x, side)


def _places_of_examples(xp: Value, x: Value, side: str) -> Index:
    return np.stack([np.searchsorted(*pair, side) for pair in zip(xp, x, strict=True)])


PLACES = Constant(_places, batch=_places_of_examples)


def _place(xp: Value, x: Value, side: str) -> Index:
    """The number of knots below x, or not above it."""
    return PLACES.apply_bound([untraced(xp), untraced(x)], {"side": side})


def _take_positions(places: Index, values: Value) -> Value:
    if innermost([places, values]) is not None:
        return TAKE_POSITIONS.apply_bound([places, values], {})
    return np.take(values, places)


def _pick_of_examples(places: Index, values: Value) -> Value:
    flat = np.reshape(places, (len(places), -1))
    return np.reshape(np.take_along_axis(values, flat, 1), places.shape)


def _add_at_positions(places: Index, picked: Value, size: int) -> Value:
    if innermost([places, picked]) is not None:
        return ADD_AT_POSITIONS.apply_bound([places, picked], {"size": size})
    values = np.zeros(size, picked.dtype)
    np.add.at(values, places, picked)
    return values


def _add_at_positions_of_examples(places: Index, picked: Value, size: int) -> Value:
    count = len(places)
    starts = np.reshape(np.arange(count) * size, (count, *(1,) * (places.ndim - 1)))
    return np.reshape(_add_at_positions(places + starts, picked, count * size), (count, size))


# Indexing and its transpose have rules of their own, so that the positions may differ between the
# examples of a vmap.
TAKE_POSITIONS: Any = linear(
    _take_positions,
    lambda g, _out, places, _values: ADD_AT_POSITIONS.apply_bound(
        [places, g], {"size": _values.shape[0]}
    ),
    fixed=1,
    name="np.interp",
    batch=_pick_of_examples,
)
ADD_AT_POSITIONS: Any = linear(
    _add_at_positions,
    lambda g, _out, places, _picked, size: TAKE_POSITIONS.apply_bound([places, g], {}),
    fixed=1,
    name="np.interp",
    batch=_add_at_positions_of_examples,
)


def _picked(values: Value, places: Index) -> Value:
    """`values[places]`."""
    return TAKE_POSITIONS.apply_bound([places, values], {})


def _tangent_after(places: Index, dots: Sequence[Tangent], args: Sequence[Value]) -> Tangent:
    """The tangent on the segment behind the first `places` knots, for each x.

    An x that is a knot belongs to two segments, and `places` chooses one of them.
    """
    x, xp, fp, left, right = args
    x_dot, xp_dot, fp_dot, left_dot, right_dot = dots
    below, above = untraced(x) < untraced(xp)[0], untraced(x) > untraced(xp)[-1]
    # left= and right= hold outside of the knots, not at the first and the last knot themselves:
    # there only the segment inside counts.
    first = 0 if left is None else min(1, len(xp) - 1)
    last = len(xp) if right is None else max(len(xp) - 1, 1)
    places = np.clip(places, first, last)
    starts, ends = (_picked(_segments(xp, -1.0, 1.0), places + i) for i in (0, 1))
    values = _segments(fp, 0.0, 0.0)
    slope = (_picked(values, places + 1) - _picked(values, places)) / (ends - starts)
    share = np.where(below | above, 0.0, (x - starts) / (ends - starts))
    terms = []
    if x_dot is not None:
        terms.append(slope * x_dot)
    for knots_dot, factor in ((xp_dot, -slope), (fp_dot, 1.0)):
        if knots_dot is not None:
            knots_dot = _segments(knots_dot, 0.0, 0.0)
            start_dot, end_dot = (_picked(knots_dot, places + i) for i in (0, 1))
            terms.append(factor * (start_dot + share * (end_dot - start_dot)))
    out_dot: Any = sum(terms[1:], terms[0]) if terms else 0.0
    for outside, value, value_dot in ((below, left, left_dot), (above, right, right_dot)):
        if value is not None:
            out_dot = np.where(outside, 0.0 if value_dot is None else value_dot, out_dot)
    return out_dot


def _interp_jvp(
    dots: Sequence[Tangent],
    _out: Value,
    x: Value,
    xp: Value,
    fp: Value,
    left: Value = None,
    right: Value = None,
) -> Tangent:
    """The tangent; at a knot, where two segments meet, the mean of both sides."""
    args = (as_array(x), as_array(xp), as_array(fp), left, right)
    places = _place(args[1], args[0], "right")
    out_dot = _tangent_after(places, dots, args)
    at_a_knot = _picked(untraced(args[1]), np.maximum(places - 1, 0)) == untraced(args[0])
    if any_true(at_a_knot):
        before = _tangent_after(_place(args[1], args[0], "left"), dots, args)
        out_dot = 0.5 * (out_dot + before)
    return out_dot


def _by_x(
    g: Cotangent,
    out: Value,
    x: Value,
    xp: Value,
    fp: Value,
    left: Value = None,
    right: Value = None,
) -> Cotangent:
    return g * _interp_jvp((1.0, None, None, None, None), out, x, xp, fp, left, right)


def _by(position: int) -> Function:
    """The pullback by one argument, as the transpose of the pushforward."""

    def pullback(g: Cotangent, out: Value, *args: Value) -> Cotangent:
        def tangents(dots: list[Tangent]) -> list[Tangent]:
            placed = [dots[0] if i == position else None for i in range(5)]
            return [_interp_jvp(placed, out, *args)]

        return transpose_linear(tangents, [args[position]], [g])[0]

    return pullback


INTERP = general(
    _plain_interp, vjp=[_by_x, *map(_by, range(1, 5))], jvp=_interp_jvp, name="np.interp"
)


def _interp(
    x: Value, xp: Value, fp: Value, left: Value = None, right: Value = None, period: Value = None
) -> Value:
    x, xp, fp = (as_array(value) for value in (x, xp, fp))
    if period is not None:
        if period == 0:
            raise ValueError("period must be a non-zero value")
        left = right = None
        x, xp, fp = _one_period(x, xp, fp, np.absolute(period))
    return INTERP.apply_bound([x, xp, fp, left, right], {})


def _one_period(x: Value, xp: Value, fp: Value, period: Value) -> tuple[Value, Value, Value]:
    """Points and knots modulo the period, the knots sorted and with one more at each end."""
    if xp.ndim != 1 or fp.ndim != 1:
        raise ValueError("Data points must be 1-D sequences")
    if xp.shape[0] != fp.shape[0]:
        raise ValueError("fp and xp are not of the same length")
    x, xp = x % period, xp % period
    order = np.argsort(untraced(xp))
    xp, fp = np.take(xp, order), np.take(fp, order)
    xp = np.concatenate([xp[-1:] - period, xp, xp[:1] + period])
    return x, xp, np.concatenate([fp[-1:], fp, fp[:1]])


composite(np.interp, _interp)
