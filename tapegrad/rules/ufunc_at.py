"""Results of `ufunc.at` on a row of numbers, each changed by all values for its position.

Sums and extrema have rules of their own: the cotangent of a value is that of its position. Values
of any other ufunc are put in the order of their positions, and reduced by segments.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad._core.forms import general, linear
from tapegrad._core.types import Cotangent, Function, Index, Tangent, Value
from tapegrad._core.values import any_true, innermost, untraced
from tapegrad.rules.recurrence import has_partials
from tapegrad.rules.segments import is_ordinary, of_segments, products_of_others

# --- the rules: positions, which are not negative, a row, and a value for each position


def _changed(ufunc: Any, positions: Index, x: Value, values: Value) -> Value:
    if innermost((positions, x, values)) is not None:
        return RULES[ufunc].apply_bound([positions, x, values], {})  # of another tape
    made = x.copy()
    ufunc.at(made, positions, values)
    return made


def _of_examples(ufunc: np.ufunc) -> Function:
    """The same for rows of examples: one row that has all of them."""

    def changed_in_rows(positions: Index, x: Value, values: Value) -> Value:
        shift = np.arange(x.shape[0])[:, None] * x.shape[1]
        flat = np.reshape(positions + shift, -1)
        made = RULES[ufunc].apply_bound([flat, np.reshape(x, -1), np.reshape(values, -1)], {})
        return np.reshape(made, x.shape)

    return changed_in_rows


def _added_at(positions: Index, x: Value, values: Value) -> Value:
    return _changed(np.add, positions, x, values)


ADDED = linear(
    _added_at,
    lambda g, _out, _positions, _x, _values: g,
    lambda g, _out, positions, _x, _values: g[positions],
    fixed=1,
    name="np.add.at",
    batch=_of_examples(np.add),
)


def _subtracted_at(positions: Index, x: Value, values: Value) -> Value:
    return _changed(np.subtract, positions, x, values)


SUBTRACTED = linear(
    _subtracted_at,
    lambda g, _out, _positions, _x, _values: g,
    lambda g, _out, positions, _x, _values: (-g)[positions],
    fixed=1,
    name="np.subtract.at",
    batch=_of_examples(np.subtract),
)


def _sums(positions: Index, x: Value, values: Value) -> Value:
    return ADDED.apply_bound([positions, x, values], {})


def _ties(out: Value, positions: Index, x: Value, values: Value) -> tuple[Value, Value, Value]:
    """Which elements and which values equal the extremum of their position, and how many."""
    out, x, values, positions = map(untraced, (out, x, values, positions))
    best = out[positions]
    x_ties, value_ties = x == out, values == best
    if any_true(out != out):
        x_ties = x_ties | ((x != x) & (out != out))
        value_ties = value_ties | ((values != values) & (best != best))
    kind = np.finfo(out.dtype).dtype
    count = x_ties.astype(kind)
    if type(positions) is type(value_ties) is type(count) is np.ndarray:
        np.add.at(count, positions[np.flatnonzero(value_ties)], kind.type(1))
        return x_ties, value_ties, count
    return x_ties, value_ties, _sums(positions, count, value_ties.astype(kind))


def _extremum_vjp(
    g: Cotangent, out: Value, positions: Index, x: Value, values: Value
) -> tuple[Cotangent, ...]:
    x_ties, value_ties, count = _ties(out, positions, x, values)
    if type(g) is type(value_ties) is np.ndarray and count.max(initial=1) == 1:
        winners = np.flatnonzero(value_ties)
        bar = np.zeros(values.shape, g.dtype)
        bar[winners] = g[positions[winners]]
        return None, np.where(x_ties, g, 0), bar
    shared = g / count
    return None, np.where(x_ties, shared, 0), np.where(value_ties, shared[positions], 0)


def _extremum_jvp(
    dots: Sequence[Tangent], out: Value, positions: Index, x: Value, values: Value
) -> Tangent:
    _, x_dot, value_dots = dots
    x_ties, value_ties, count = _ties(out, positions, x, values)
    if x_dot is None and type(value_dots) is type(value_ties) is np.ndarray:
        winners = np.flatnonzero(value_ties)
        return _sums(positions[winners], np.zeros_like(out), value_dots[winners]) / count
    zero = out.dtype.type(0)  # not Python's, which would make integers of the constant side
    from_x = np.where(x_ties, zero if x_dot is None else x_dot, zero)
    from_values = np.where(value_ties, zero if value_dots is None else value_dots, zero)
    return _sums(positions, from_x, from_values) / count


def _extremum(ufunc: np.ufunc) -> Any:
    def extremum_at(positions: Index, x: Value, values: Value) -> Value:
        return _changed(ufunc, positions, x, values)

    return general(
        extremum_at,
        vjp=_extremum_vjp,
        jvp=_extremum_jvp,
        arrays=3,
        name=f"np.{ufunc.__name__}.at",
        batch=_of_examples(ufunc),
    )


def _multiplied_at(positions: Index, x: Value, values: Value) -> Value:
    return _changed(np.multiply, positions, x, values)


def _products_vjp(
    g: Cotangent, out: Value, positions: Index, x: Value, values: Value
) -> tuple[Cotangent, ...]:
    if type(g) is np.ndarray and is_ordinary(out, x) and is_ordinary(out, values):
        shared = g * out
        return None, shared / x, shared[positions] / values
    others = _products_of_others(positions, x, values)
    count = x.shape[0]
    return None, g * others[:count], g[positions] * others[count:]


def _products_jvp(
    dots: Sequence[Tangent], out: Value, positions: Index, x: Value, values: Value
) -> Tangent:
    _, x_dot, value_dots = dots
    if is_ordinary(out, x) and is_ordinary(out, values):
        of_x = np.zeros_like(x) if x_dot is None else x_dot / x
        return out * (of_x if value_dots is None else _sums(positions, of_x, value_dots / values))
    others = _products_of_others(positions, x, values)
    count = x.shape[0]
    by_x, by_values = others[:count], others[count:]
    return _sums(
        positions,
        by_x * 0 if x_dot is None else x_dot * by_x,
        by_values * 0 if value_dots is None else value_dots * by_values,
    )


def _products_of_others(positions: Index, x: Value, values: Value) -> Value:
    """For each element, then for each value, the product of all others of its position."""
    order, starts = _sorted(positions, x.shape[0])
    others = products_of_others(np.concatenate([x, values])[order], starts, 0)
    back = np.empty_like(order)
    back[order] = np.arange(len(order))
    return others[back]


FEW_POSITIONS = 1 << 16


def _sorted(positions: Index, count: int) -> tuple[Index, Index]:
    """The order in which elements and values of a position follow each other, and its starts.

    An element comes before the values.
    """
    owners = np.concatenate([np.arange(count), positions])
    if count <= FEW_POSITIONS:  # NumPy sorts integers of 16 bits by counting: 6 times as fast
        owners = owners.astype(np.uint16)
    order = np.argsort(owners, kind="stable")
    return order, np.searchsorted(owners[order], np.arange(count))


MULTIPLIED = general(
    _multiplied_at,
    vjp=_products_vjp,
    jvp=_products_jvp,
    arrays=3,
    name="np.multiply.at",
    batch=_of_examples(np.multiply),
)

RULES: dict[np.ufunc, Any] = {
    np.add: ADDED,
    np.subtract: SUBTRACTED,
    np.multiply: MULTIPLIED,
    np.maximum: _extremum(np.maximum),
    np.minimum: _extremum(np.minimum),
}

# --- any ufunc


def has_rule(ufunc: np.ufunc, *, mapped: bool = False) -> bool:
    """Whether `changed_at` serves, for positions that may differ between examples (`mapped`)."""
    return ufunc in RULES and not (mapped and ufunc is np.multiply)


def changed_at(ufunc: np.ufunc, positions: Index, x: Value, values: Value) -> Value:
    """A row of numbers after `ufunc.at(x, positions, values)`; the ufunc `has_rule`."""
    return RULES[ufunc].apply_bound([positions, x, values], {})


def can_sort(ufunc: np.ufunc, x: Value, values: Value) -> bool:
    """Whether `sorted_at` serves: the ufunc computes in the dtype of x."""
    if not has_partials(ufunc):
        return False
    loop = ufunc.resolve_dtypes((x.dtype, values.dtype, None))
    return loop == (x.dtype,) * 3


def sorted_at(ufunc: np.ufunc, positions: Index, x: Value, values: Value) -> Value:
    """The same of a ufunc that `can_sort`, where each position is chosen at least once."""
    order, starts = _sorted(positions, x.shape[0])
    given = np.concatenate([x, values.astype(x.dtype)])
    return of_segments(ufunc, given[order], starts, 0)


__all__ = ["can_sort", "changed_at", "has_rule", "sorted_at"]
