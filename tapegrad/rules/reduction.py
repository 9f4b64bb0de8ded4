"""Sums, products, extrema along axes, and clipping.

Code of several reductions (`Reduced`, `spread`, `axes_of`, `masked`) is public to the other
families; moments are in `moments`, reductions that ignore NaN in `nan`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad._core.fast.call_plans import Kernels, Spec
from tapegrad._core.fast.sums import reducing, summing
from tapegrad._core.forms import composite, elementwise, general, resolved_product
from tapegrad._core.types import Cotangent, Function, Params, Tangent, Value
from tapegrad._core.values import any_true, cast, lift, untraced
from tapegrad.rules.elementwise import CHOICES, FEW, share_of


def spread(
    g: Cotangent, x: Value, axis: int | tuple[int, ...] | None, keepdims: bool
) -> Cotangent:
    """A reduced value broadcast to the shape of the array that it was reduced from."""
    if issubclass(type(g), np.generic):
        # As np.broadcast_to, ten times faster: one number with strides of 0.
        shape = x.shape
        return np.ndarray(shape, g.dtype, np.array(g), 0, (0,) * len(shape))
    if type(g) is np.ndarray:
        one = g.base
        if type(one) is np.ndarray and not one.ndim and one.dtype is g.dtype:
            g, axis = one, None  # g is itself one number, broadcast
        if g.flags.c_contiguous and (axis is None or type(axis) is int):
            return _repeated(g, x.shape, axis, keepdims)
    if axis is not None and not keepdims and x.shape:
        g = np.expand_dims(g, axis)
    return np.broadcast_to(g, x.shape)


def _repeated(g: Cotangent, shape: tuple[int, ...], axis: int | None, keepdims: bool) -> Cotangent:
    """`spread` of an array that was reduced along one axis or all, by strides of 0: also fast."""
    if axis is None:
        strides: tuple[int, ...] = (0,) * len(shape)
    else:
        axis %= len(shape) or 1
        strides = g.strides
        strides = (*strides[:axis], 0, *strides[axis + 1 if keepdims else axis :])
    made = np.ndarray(shape, g.dtype, g, 0, strides[: len(shape)])
    made.flags.writeable = False
    return made


def axes_of(x: Value, axis: int | tuple[int, ...] | None) -> tuple[int, ...]:
    """Axes as a tuple of positions; NumPy lets a 0-d array have an axis 0 and -1."""
    if axis is None or not x.ndim:
        return tuple(range(x.ndim))
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)  # np.median takes a list
    return tuple(a % x.ndim for a in axes)


def masked(x: Value, where: Value) -> Value:
    """x, with 0 for the elements that `where` leaves out."""
    return x if where is True else np.where(where, x, 0)


class Reduced:
    """An array and how a call reduces it: what the derivatives of all reductions need to know."""

    __slots__ = ("axis", "keepdims", "where", "x")

    def __init__(
        self,
        x: Value,
        axis: int | tuple[int, ...] | None = None,
        keepdims: bool = False,
        where: Value = True,
        **_others: Any,
    ) -> None:
        self.x, self.axis, self.keepdims, self.where = x, axis, keepdims, where

    def count(self, keepdims: bool | None = None) -> Value:
        """How many elements each result is made from."""
        x = self.x
        if self.where is True:
            return math.prod([x.shape[a] for a in axes_of(x, self.axis)])
        chosen = np.broadcast_to(untraced(self.where), x.shape)
        keepdims = self.keepdims if keepdims is None else keepdims
        return np.sum(chosen, axis=self.axis, keepdims=bool(keepdims))

    def divisor(self, keepdims: bool | None = None) -> Value:
        """The count, but 1 where there are no elements: a sum of none is zero, and stays zero."""
        count = self.count(keepdims)
        return np.intp(count or 1) if self.where is True else np.maximum(count, 1)

    def sum(self, values: Value) -> Value:
        """The sums of `values`, reduced as the array is."""
        values = masked(values, self.where)
        return np.sum(values, axis=self.axis, keepdims=bool(self.keepdims))

    def spread(self, g: Cotangent) -> Value:
        """Reduced values at each element that took part."""
        return masked(spread(g, self.x, self.axis, self.keepdims), self.where)


def of_kind(x: Value, dtype: Any) -> Value:
    """x cast to a dtype of another kind: its real part for complex numbers summed as real ones."""
    if dtype is None or x.dtype.kind == np.dtype(dtype).kind:
        return x
    return cast(x, np.dtype(dtype))


# --- reductions that are planned


class SettledAxes:
    """The axes of a planned reduction of real arrays: what all such calls share."""

    __slots__ = ("axis", "count", "divisor", "kept", "spread")

    def __init__(self, x: Spec, axis: int | tuple[int, ...] | None) -> None:
        axes = axes_of(x, axis)
        # As NumPy takes it, in its fastest form: None, or a position.
        self.axis: Any = None if len(axes) == x.ndim else axes[0] if len(axes) == 1 else axes
        self.kept = tuple([1 if i in axes else side for i, side in enumerate(x.shape)])
        self.count = np.intp(math.prod([x.shape[i] for i in axes]))
        # The count as NumPy divides by it; of doubles, which give the same bits, without a cast.
        self.divisor = float(self.count) if x.dtype.char == "d" else self.count
        self.spread = _plan_spread(x, self.kept)


def _plan_spread(x: Spec, kept: tuple[int, ...]) -> Function:
    """`spread` to the shape and dtype of x, by strides of 0: a tenth of np.broadcast_to."""
    shape, dtype = x.shape, x.dtype
    strides, step = [0] * len(shape), dtype.itemsize
    for i in reversed(range(len(shape))):
        if kept[i] != 1:
            strides[i] = step
            step *= kept[i]
    where = tuple(strides)
    number = dtype.type

    def spread_of(g: Cotangent) -> Cotangent:
        kind = type(g)
        if kind is not np.ndarray:
            if kind is not number:
                return np.broadcast_to(np.reshape(g, kept), shape)
            g = np.array(g)
        elif not g.flags.c_contiguous:
            g = g.copy()
        if g.dtype is not dtype:
            return np.broadcast_to(g.reshape(kept), shape)
        made = np.ndarray(shape, dtype, g, 0, where)
        made.flags.writeable = False
        return made

    return spread_of


def planned_axes(
    x: Spec, axis: int | tuple[int, ...] | None, others: Params
) -> SettledAxes | None:
    """The axes of a reduction of real numbers with no other option; None for other calls."""
    if others or not x.size or not x.ndim or x.dtype.char not in "fd":
        return None
    return SettledAxes(x, axis)


# --- sums


# By the rule's own functions a gradient costs 1.4 times this (8 elements), 1.6 (8 x 8), 1.14
# (100 x 100).
def _plan_sum(
    x: Spec, out: Spec, /, axis: Any = None, keepdims: bool = False, **others: Any
) -> Kernels | None:
    along = planned_axes(x, axis, others)
    if along is None:
        return None
    spread_of, shape = along.spread, out.shape
    run = reducing(np.add, x.shape, along.axis, keepdims)
    total = summing(x.shape, along.kept if shape else (), x.dtype)  # a tangent's, faster

    def push(dot: Tangent, _out: Value, _x: Value) -> Tangent:
        if total is None:
            return run(dot)
        return total(dot).reshape(shape) if shape else total(dot)

    return Kernels(run, lambda g, _out, _x: spread_of(g), push)


def sum_transpose(
    g: Cotangent,
    _out: Value,
    _x: Value,
    axis: int | tuple[int, ...] | None = None,
    dtype: Any = None,
    keepdims: bool = False,
    initial: Value = None,
    where: Value = True,
) -> Cotangent:
    """The cotangent of a sum at each element that took part."""
    if where is True:
        return spread(g, _x, axis, keepdims)
    return masked(spread(g, _x, axis, keepdims), where)


def sum_jvp(dots: Sequence[Tangent], _out: Value, _x: Value, **params: Any) -> Tangent:
    """The function itself but for `initial`, which is a constant."""
    params.pop("initial", None)
    return np.sum(dots[0], **params)


def _sum(a: Value, **params: Any) -> Value:
    """np.sum; the frequent sum of all elements skips its wrapper, which costs as much again."""
    whole = not params and type(a) is np.ndarray
    return np.add.reduce(a, None) if whole else np.sum(a, **params)


general(
    np.sum,
    vjp=[sum_transpose],
    jvp=sum_jvp,
    batch="axis",
    implementation=_sum,
    plan=_plan_sum,
)


# --- logarithms of sums of exponentials


def log_of_sum(x: Value, axis: Any = 0, keepdims: bool = False) -> Any:
    """`np.logaddexp.reduce`, as a function that has a rule."""
    return np.logaddexp.reduce(x, axis, keepdims=keepdims)


def _shares(out: Value, x: Value, axis: Any, keepdims: bool) -> Value:
    """The share of each exponential in its sum."""
    if not keepdims:
        out = np.expand_dims(out, axes_of(x, axis))
    return share_of(x, out)


def _log_of_sum_vjp(
    g: Cotangent, out: Value, x: Value, axis: Any = 0, keepdims: bool = False
) -> Cotangent:
    return spread(g, x, axis, keepdims) * _shares(out, x, axis, keepdims)


def _log_of_sum_jvp(
    dots: Sequence[Tangent], out: Value, x: Value, axis: Any = 0, keepdims: bool = False
) -> Tangent:
    # A strong product: an infinite tangent of an element without a share must not give 0 * inf.
    terms = resolved_product(dots[0], _shares(out, x, axis, keepdims))
    return np.sum(terms, axis=axis, keepdims=keepdims)


# By the rule's own functions a gradient costs 1.45 times this (8 elements), 1.41 (8 x 8), 1.13
# (100 x 100).
def _plan_log_of_sum(
    x: Spec, _out: Spec, /, axis: Any = 0, keepdims: bool = False
) -> Kernels | None:
    """The kernels of a sum that is finite; others are left to the rule."""
    along = planned_axes(x, axis, {})
    if along is None:
        return None
    kept, params = along.kept, {"axis": axis, "keepdims": keepdims}

    def shares(out: Value, x: Value) -> Value | None:
        sums = out.reshape(kept)
        if np.count_nonzero(np.isfinite(sums)) != sums.size:
            return None
        made = x - sums
        return np.exp(made, made)

    def pull(g: Cotangent, out: Value, x: Value) -> Cotangent:
        made = shares(out, x)
        if made is None:
            return _log_of_sum_vjp(g, out, x, **params)
        made *= g.reshape(kept)
        return made

    def push(dot: Tangent, out: Value, x: Value) -> Tangent:
        made = shares(out, x)
        if made is not None:
            made *= dot
            total = np.add.reduce(made, along.axis, None, None, keepdims)
            if not any_true(total != total):
                return total
        return _log_of_sum_jvp([dot], out, x, **params)

    return Kernels(lambda a: log_of_sum(a, axis, keepdims), pull, push)


general(
    log_of_sum,
    vjp=[_log_of_sum_vjp],
    jvp=_log_of_sum_jvp,
    name="np.logaddexp.reduce",
    batch="axis",
    plan=_plan_log_of_sum,
)


# --- products


def _products_of_others(x: Value) -> Value:
    """For each element the product of the others along the last axis, also where some are zero.

    A tree of pairwise products up, then down again, each node taking its sibling's product: no
    division, so it is exact at zeros and differentiable to any order.
    """
    count = x.shape[-1]
    levels = [x]
    while levels[-1].shape[-1] > 1:
        level = levels[-1]
        if level.shape[-1] % 2:
            level = np.concatenate([level, np.ones_like(untraced(level[..., :1]))], axis=-1)
            levels[-1] = level
        levels.append(level[..., 0::2] * level[..., 1::2])
    others = np.ones_like(untraced(levels[-1]))
    for level in reversed(levels[:-1]):
        others = others[..., : level.shape[-1] // 2]
        even, odd = others * level[..., 1::2], others * level[..., 0::2]
        others = np.stack([even, odd], axis=-1).reshape(level.shape)
    return others[..., :count]


def prod_vjp(
    g: Cotangent, out: Value, x: Value, dtype: Any = None, initial: Value = 1, **params: Any
) -> Cotangent:
    """The cotangent times the product of the other elements.

    `out` is kept for the planned calls, which divide it by each element.
    """
    if x.size == 0:
        return np.zeros(x.shape, x.dtype)
    x = of_kind(x, dtype)
    reduced = Reduced(x, **params)
    axes = axes_of(x, reduced.axis)
    kept = tuple(a for a in range(x.ndim) if a not in axes)
    chosen = x if reduced.where is True else np.where(reduced.where, x, 1)
    rows = np.transpose(chosen, kept + axes)
    flat = rows.reshape(*(x.shape[a] for a in kept), -1)
    others = _products_of_others(flat).reshape(rows.shape) * initial
    back = np.transpose(others, tuple(np.argsort(kept + axes)))
    return masked(spread(g, x, reduced.axis, reduced.keepdims) * back, reduced.where)


# By the rule's own functions a gradient costs 2.9 times this (8 elements), 3.3 (8 x 8), 3.9
# (100 x 100).
def _plan_prod(
    x: Spec, out: Spec, /, axis: Any = None, keepdims: bool = False, **others: Any
) -> Kernels | None:
    """The product over each element is that of the others, where it is an ordinary number."""
    along = planned_axes(x, axis, others)
    if along is None:
        return None
    axis, kept, params = along.axis, along.kept, {"axis": axis, "keepdims": keepdims}
    least = float(np.finfo(x.dtype).smallest_normal)
    total = summing(x.shape, kept if out.shape else (), x.dtype)

    run = reducing(np.multiply, x.shape, axis, keepdims)

    def products_of_others(out: Value, x: Value) -> Value | None:
        """Quotients, if all of them are finite, and no product has lost digits."""
        if np.count_nonzero(np.abs(out) > least) != out.size:
            return None
        others = out.reshape(kept) / x
        row = others.reshape(-1)
        return others if math.isfinite(row.dot(row)) else None

    def pull(g: Cotangent, out: Value, x: Value) -> Cotangent:
        others = products_of_others(out, x)
        if others is None:
            return prod_vjp(g, out, x, **params)
        others *= g.reshape(kept)
        return others

    def push(dot: Tangent, out: Value, x: Value) -> Tangent:
        others = products_of_others(out, x)
        if others is None:
            return np.sum(prod_vjp(np.ones_like(out), out, x, **params) * dot, **params)
        others *= dot
        if total is None:
            return np.add.reduce(others, axis, None, None, keepdims)
        return total(others).reshape(out.shape) if out.shape else total(others)

    return Kernels(run, pull, push)


general(np.prod, vjp=[prod_vjp], batch="axis", plan=_plan_prod)


# --- extrema: ties share evenly


def _ties(reduced: Reduced, out: Value, initial: Value, takes_nan: bool) -> tuple[Value, Value]:
    """Which elements equal the result, and how many; `initial` counts if it does, too."""
    x, out = untraced(reduced.x), untraced(out)
    best = spread(out, x, reduced.axis, reduced.keepdims)
    ties = x == best
    if takes_nan and any_true(out != out):
        ties = ties | ((x != x) & (best != best))
    ties = masked(ties, reduced.where)
    axis = reduced.axis if x.ndim else None
    count = np.sum(ties, axis=axis, keepdims=bool(reduced.keepdims))
    if initial is not None:
        count = count + (out == initial)
    return ties, np.maximum(count, 1).astype(np.finfo(x.dtype).dtype)


def extremum_vjp(
    g: Cotangent,
    out: Value,
    x: Value,
    initial: Value = None,
    takes_nan: bool = True,
    **params: Any,
) -> Cotangent:
    """`takes_nan`: the result is NaN where there is one, which then gets the whole cotangent."""
    reduced = Reduced(x, **params)
    ties, count = _ties(reduced, out, initial, takes_nan)
    # np.where, not a product: an infinite tangent of another element must not give 0 * inf.
    return np.where(ties, spread(g / count, x, reduced.axis, reduced.keepdims), 0)


def extremum_jvp(
    dots: Sequence[Tangent],
    out: Value,
    x: Value,
    initial: Value = None,
    takes_nan: bool = True,
    **params: Any,
) -> Tangent:
    """The mean of the tangents of the elements that tie."""
    reduced = Reduced(x, **params)
    ties, count = _ties(reduced, out, initial, takes_nan)
    chosen = np.where(ties, dots[0], 0)
    return np.sum(chosen, axis=reduced.axis, keepdims=bool(reduced.keepdims)) / count


def _ptp(a: Value, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> Value:
    largest = np.max(a, axis=axis, keepdims=bool(keepdims))
    return largest - np.min(a, axis=axis, keepdims=bool(keepdims))


# By the rule's own functions a gradient costs 1.7 times this (8 elements), 1.9 (8 x 8), 1.7
# (100 x 100).
def _plan_extremum(ufunc: np.ufunc) -> Function:
    """The kernels of np.max or np.min; ties and NaN are left to the rule."""

    def plan(
        x: Spec, _out: Spec, /, axis: Any = None, keepdims: bool = False, **others: Any
    ) -> Kernels | None:
        along = planned_axes(x, axis, others)
        if along is None:
            return None
        axis, kept, params = along.axis, along.kept, {"axis": axis, "keepdims": keepdims}
        size, shape, dtype = math.prod(kept), x.shape, x.dtype

        run = reducing(ufunc, x.shape, axis, keepdims)

        def chosen(out: Value, x: Value) -> Value | None:
            """The elements that equal their extremum, if that is one each."""
            best = out.reshape(kept)
            found = x == best
            # A NaN equals nothing, and leaves room for a tie elsewhere in the count.
            row = best.reshape(-1)
            alone = np.count_nonzero(found) == size and not math.isnan(row.dot(row))
            return found if alone else None

        def pull(g: Cotangent, out: Value, x: Value) -> Cotangent:
            found = chosen(out, x)
            if found is None:
                return extremum_vjp(g, out, x, **params)
            bar = np.zeros(shape, dtype)  # np.where, at half the price
            np.copyto(bar, g.reshape(kept), where=found)
            return bar

        def push(dot: Tangent, out: Value, x: Value) -> Tangent:
            found = chosen(out, x)
            if found is None:
                return extremum_jvp([dot], out, x, **params)
            return np.add.reduce(np.where(found, dot, 0), axis, None, None, keepdims)

        return Kernels(run, pull, push)

    return plan


for extremum, ufunc in ((np.max, np.maximum), (np.min, np.minimum)):
    general(
        extremum,
        vjp=[extremum_vjp],
        jvp=extremum_jvp,
        batch="axis",
        plan=_plan_extremum(ufunc),
    )
composite(np.amax, lambda a, *args, **options: np.max(a, *args, **options))
composite(np.amin, lambda a, *args, **options: np.min(a, *args, **options))
composite(np.ptp, _ptp)


# --- clipping: an element on a bound shares with it


def _takes(out: Value, x: Value) -> Value:
    """Where x equals the result."""
    return (x == out) | ((x != x) & (out != out))


def _clip_by_x(out: Value, x: Value, low: Value, high: Value) -> Value:
    """1 between the bounds, 1/2 on one; 0 where the bounds leave x no choice."""
    x, low, high, out = untraced(x), untraced(low), untraced(high), untraced(out)
    inside = (low < x) & (x < high)
    if type(inside) is np.ndarray and np.all(low < high):
        on_bound = (x == low) | (x == high)
        outside = np.count_nonzero((x < low) | (x > high))
        bound = np.count_nonzero(on_bound)
        if np.count_nonzero(inside) + bound + outside == out.size:  # there is no NaN
            part = inside.astype(out.dtype)
            if bound:
                part[on_bound] = 0.5
            return part
    if not any_true(np.logical_not(low < high)):  # the usual bounds, at a third of the cost
        part = np.logical_not((x < low) | (x > high)).astype(out.dtype)
        on_bound = (x == low) | (x == high)
        return np.where(on_bound, part / 2, part) if any_true(on_bound) else part
    part = _takes(out, x) / np.where(_takes(out, low) | _takes(out, high), 2, 1)
    return np.where((low >= high) & (x == x), 0, part).astype(out.dtype)


def _clip_by_low(out: Value, x: Value, low: Value, high: Value) -> Value:
    x, low, high, out = untraced(x), untraced(low), untraced(high), untraced(out)
    part = _takes(out, low) / np.where(_takes(out, x), 2, 1)
    return np.where(low == high, 0.5 * (x <= low), part).astype(out.dtype)


def _clip_by_high(out: Value, x: Value, low: Value, high: Value) -> Value:
    x, low, high, out = untraced(x), untraced(low), untraced(high), untraced(out)
    part = _takes(out, high) / np.where(_takes(out, x), 2, 1)
    part = np.where(low == high, 1 - 0.5 * (x <= low), part)
    return np.where(low > high, 1, part).astype(out.dtype)


def _between(x: Value, low: Value, high: Value) -> Value:
    return x.clip(low, high) if type(x) is np.ndarray else np.clip(x, low, high)


def _clips(wanted: tuple[bool, ...]) -> Function:
    """The cotangent of x alone: half of it for each bound that it keeps, or gives back outside.

    NaN gives NaN, and so is left to the partials, as are bounds that leave no choice.
    """
    by_x, *by_bounds = wanted
    if not by_x or any(by_bounds):
        return lambda *_call: None

    def pull(g: Cotangent, out: Value, x: Value, low: Value, high: Value) -> Any:
        if x.shape != out.shape or not (
            low < high if type(low) is type(high) is float else np.all(low < high)
        ):
            return None
        if out.size > FEW:  # masks cost a third of signs, but more of them are needed
            inside = x > low
            inside &= x < high
            outside = x < low
            outside |= x > high
            alone = np.count_nonzero(inside) + np.count_nonzero(outside) == out.size
            if alone:  # neither a tie nor a NaN
                bar = inside.astype(g.dtype)
                bar *= g
                return (bar,)
            flat = x.reshape(-1)
            if not math.isnan(flat.dot(flat)):
                bar = np.logical_not(outside, outside).view(np.int8) + inside.view(np.int8)
                bar = bar.astype(g.dtype)
                bar *= 0.5
                bar *= g
                return (bar,)
        above, below = x - low, high - x
        np.sign(above, above)
        above += np.sign(below, below)
        above *= 0.5
        above *= g
        return (above,)

    return pull


BETWEEN = elementwise(
    _between,
    _clip_by_x,
    _clip_by_low,
    _clip_by_high,
    strong=True,
    never_nan=True,
    selects=True,
    fused_vjp=_clips,
    name="np.clip",
)


def _bounds(a_min: Value, a_max: Value, given: Params) -> tuple[Value, Value]:
    """The bounds under either of their names, with NumPy's errors for half of them or both."""
    if a_min is np._NoValue and a_max is np._NoValue:
        return given.get("min"), given.get("max")
    for name, bound in (("a_min", a_min), ("a_max", a_max)):
        if bound is np._NoValue:
            raise TypeError(f"clip() missing 1 required positional argument: {name!r}")
    if given:
        raise ValueError(
            "Passing `min` or `max` keyword argument when `a_min` and `a_max` are provided is "
            "forbidden."
        )
    return a_min, a_max


def _clip(
    a: Value,
    a_min: Value = np._NoValue,
    a_max: Value = np._NoValue,
    *,
    min: Value = np._NoValue,
    max: Value = np._NoValue,
    where: Value = True,
    **options: Any,
) -> Value:
    given = {"min": min, "max": max}
    given = {name: bound for name, bound in given.items() if bound is not np._NoValue}
    values = [_value(value) for value in (a, *_bounds(a_min, a_max, given))]
    if where is not True:
        raise TypeError(
            "np.clip: where= is not differentiable. Write np.where(where, clipped, x)."
        )
    if options.get("dtype") is not None:
        # NumPy decides whether it casts, and integers have no derivative.
        dtype = np.clip(*map(_one_like, values), **options).dtype
        if dtype.kind not in "fc":
            values = [untraced(x) for x in values]
        values = [x if x is None else _value(x, dtype) for x in values]
    x, low, high = values
    if low is None and high is None:
        return np.positive(x)
    if low is None:
        return np.minimum(x, high)
    return np.maximum(x, low) if high is None else BETWEEN.apply_bound([x, low, high], {})


def _clip_call(
    a: Any,
    a_min: Any = np._NoValue,
    a_max: Any = np._NoValue,
    *out: Any,
    min: Any = np._NoValue,
    max: Any = np._NoValue,
    **options: Any,
) -> tuple[Any, Sequence[Any], Params] | None:
    """The primitive call that a clip by one bound or two is, with no other option."""
    if out or options:
        return None
    absent = np._NoValue
    if a_min is not absent and a_max is not absent:
        if min is not absent or max is not absent:
            return None
    elif a_min is absent and a_max is absent:
        a_min, a_max = None if min is absent else min, None if max is absent else max
    else:
        return None
    if a_min is None or a_max is None:
        bound, function = (a_min, np.maximum) if a_max is None else (a_max, np.minimum)
        return None if bound is None else (CHOICES[function], (a, bound), {})
    return BETWEEN, (a, a_min, a_max), {}


def _one_like(x: Value) -> Value:
    """A number of an argument's dtype, by which NumPy finds the dtype of the result.

    With the argument itself, which may be batched, the call would go to vmap.
    """
    return np.ones((), x.dtype) if hasattr(x, "dtype") else x


def _value(x: Value, dtype: Any = None) -> Value:
    """A list as an array. A number stays one, as its dtype gives way to that of arrays."""
    x = lift(x)
    if isinstance(x, (list, tuple)):
        x = np.asarray(x)
    if dtype is None:
        return x
    return x.astype(dtype) if hasattr(x, "dtype") else dtype.type(x)


composite(np.clip, _clip, arrays=3, primitive=_clip_call)
