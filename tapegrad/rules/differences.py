"""Differences of neighbours, and what is made from them: slopes, integrals, unwrapped angles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from tapegrad._core.fast.call_plans import Kernels, Spec
from tapegrad._core.forms import composite, general, linear
from tapegrad._core.types import Cotangent, Index, Value
from tapegrad._core.values import innermost, lift, untraced


def as_array(value: Value) -> Value:
    """A number, a list or an array as an array; the list may have traced values in it."""
    value = lift(value)
    return value if hasattr(value, "shape") else np.asarray(value)


def part(x: Value, axis: int, index: Index) -> Value:
    """`x[index]`, taken along an axis that is not negative."""
    return x[(slice(None),) * axis + (index,)]


# --- np.diff, np.ediff1d


def _neighbours_apart(a: Value, n: int = 1, axis: int = -1) -> Value:
    return np.diff(a, n, axis)


def _diff_transpose(g: Cotangent, _out: Value, _a: Value, n: int = 1, axis: int = -1) -> Cotangent:
    """The transpose of a difference is the negative difference of the cotangent between zeros."""
    count = _a.shape[axis]
    if n >= count:
        return np.zeros(_a.shape, g.dtype)
    widths = [(0, 0)] * _a.ndim
    widths[axis] = (n, n)
    bar = np.diff(np.pad(g, widths), n, axis)
    return -bar if n % 2 else bar


DIFF = linear(_neighbours_apart, _diff_transpose, name="np.diff", batch="axis")


def _diff(
    a: Value, n: int = 1, axis: int = -1, prepend: Value = np._NoValue, append: Value = np._NoValue
) -> Value:
    if n == 0:
        return a
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n!r}")
    a, n = as_array(a), int(n)  # True, too
    if a.ndim == 0:
        raise ValueError("diff requires input that is at least one dimensional")
    axis = normalize_axis_index(axis, a.ndim)
    before, after = (
        [] if end is np._NoValue else [_end(as_array(end), a, axis)] for end in (prepend, append)
    )
    if before or after:
        a = np.concatenate([*before, a, *after], axis)
    return DIFF.apply_bound([a], {"n": n, "axis": axis})


def _end(end: Value, a: Value, axis: int) -> Value:
    """The slice that np.diff puts before or after an array; a number is broadcast to a slice."""
    if end.ndim:
        return end
    return np.broadcast_to(end, (*a.shape[:axis], 1, *a.shape[axis + 1 :]))


def _ediff1d(ary: Value, to_end: Value = None, to_begin: Value = None) -> Value:
    flat = np.ravel(as_array(ary))
    parts = [_loose_end(to_begin, "to_begin", flat.dtype)] if to_begin is not None else []
    parts.append(flat[1:] - flat[:-1])
    if to_end is not None:
        parts.append(_loose_end(to_end, "to_end", flat.dtype))
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _loose_end(end: Value, name: str, dtype: Any) -> Value:
    end = np.ravel(as_array(end))
    if not np.can_cast(end.dtype, dtype, casting="same_kind"):
        raise TypeError(
            f"dtype of `{name}` must be compatible with input `ary` under the `same_kind` rule."
        )
    return end.astype(dtype)


_FEW = 1 << 12  # elements, up to which the number of calls decides what a cotangent costs


# By the definition a gradient costs 3.5 times this (8 elements), 4.3 (8 x 8).
def _plan_diff(x: Spec, out: Spec, /, n: int = 1, axis: int = -1, **ends: Any) -> Kernels | None:
    """The kernels of differences of neighbours, as np.diff subtracts."""
    if any(end is not np._NoValue for end in ends.values()) or not out.size or n < 1:
        return None
    axis = normalize_axis_index(axis, x.ndim)
    dtype = x.dtype
    lead: tuple[Any, ...] = (slice(None),) * axis
    later, earlier = (*lead, slice(1, None)), (*lead, slice(None, -1))
    first, last, inner = (*lead, 0), (*lead, -1), (*lead, slice(1, -1))
    few = x.size <= _FEW
    before, after = x.shape[:axis], x.shape[axis + 1 :]
    shapes = [(*before, x.shape[axis] - i, *after) for i in reversed(range(n))]

    def run(a: Value) -> Value:
        for _ in shapes:
            a = a[later] - a[earlier]
        return a

    def pull(g: Cotangent, _out: Value, _x: Value) -> Cotangent:
        for shape in shapes:
            if few:
                bar = np.zeros(shape, dtype)
                bar[later] = g
                part = bar[earlier]
                np.subtract(part, g, part)
                g = bar
                continue
            bar = np.empty(shape, dtype)
            bar[first] = -g[first]
            bar[last] = g[last]
            np.subtract(g[earlier], g[later], bar[inner])
            g = bar
        return g

    return Kernels(run, pull, lambda dot, _out, _x: run(dot))


composite(np.diff, _diff, linear=True, plan=_plan_diff)
composite(np.ediff1d, _ediff1d)

# --- np.gradient


def _gradient(
    f: Value, *varargs: Value, axis: int | tuple[int, ...] | None = None, edge_order: int = 1
) -> Value | tuple[Value, ...]:
    f = as_array(f)
    axes = tuple(range(f.ndim)) if axis is None else normalize_axis_tuple(axis, f.ndim)
    spacings = _spacings(f, axes, varargs)
    if edge_order > 2:
        raise ValueError("'edge_order' greater than 2 not supported")
    if f.dtype.kind not in "fc":
        f = f.astype(float)
    if any(f.shape[along] < edge_order + 1 for along in axes):
        raise ValueError(
            "Shape of array too small to calculate a numerical gradient, "
            "at least (edge_order + 1) elements are required."
        )
    slopes = tuple(
        _slope(f, along, spacing, edge_order)
        for along, spacing in zip(axes, spacings, strict=True)
    )
    return slopes[0] if len(slopes) == 1 else slopes


def _spacings(f: Value, axes: tuple[int, ...], varargs: tuple[Value, ...]) -> list[Value]:
    """The distance between neighbours along each axis: a number, or an array of distances."""
    given = [as_array(spacing) for spacing in varargs]
    if not given:
        return [1.0] * len(axes)
    if len(given) == 1 and given[0].ndim == 0:
        return [varargs[0]] * len(axes)
    if len(given) != len(axes):
        raise TypeError("invalid number of arguments")
    return [
        number if spacing.ndim == 0 else _distances(spacing, f.shape[along])
        for number, spacing, along in zip(varargs, given, axes, strict=True)
    ]


def _distances(coordinates: Value, count: int) -> Value:
    if coordinates.ndim != 1:
        raise ValueError("distances must be either scalars or 1d")
    if len(coordinates) != count:
        raise ValueError("when 1d, distances must match the length of the corresponding dimension")
    if coordinates.dtype.kind in "iu":
        coordinates = coordinates.astype(np.float64)
    apart = np.diff(coordinates)
    # NumPy takes the first distance for all where they are equal. Here that would be wrong for
    # coordinates that vary: each distance has its own derivative.
    varies = innermost([coordinates]) is not None
    return apart if varies or not (apart == apart[0]).all() else apart[0]


def _slope(f: Value, axis: int, spacing: Value, edge_order: int) -> Value:
    """Central differences inside, and one-sided differences of order `edge_order` at the ends."""
    if not getattr(spacing, "ndim", 0):
        inner = (part(f, axis, slice(2, None)) - part(f, axis, slice(None, -2))) / (2.0 * spacing)
        gaps = [spacing, spacing]
    else:
        shape = [-1 if i == axis else 1 for i in range(f.ndim)]
        left, right = (np.reshape(gaps, shape) for gaps in (spacing[:-1], spacing[1:]))
        inner = (
            -right / (left * (left + right)) * part(f, axis, slice(None, -2))
            + (right - left) / (left * right) * part(f, axis, slice(1, -1))
            + left / (right * (left + right)) * part(f, axis, slice(2, None))
        )
        gaps = spacing
    first = _end_slope([part(f, axis, slice(i, i + 1)) for i in (0, 1, 2)], gaps, edge_order)
    ends = [part(f, axis, slice(i, i + 1 or None)) for i in (-1, -2, -3)]
    last = -_end_slope(ends, gaps[::-1], edge_order)
    return np.concatenate([first, inner, last], axis).astype(f.dtype)


def _end_slope(values: list[Value], gaps: Sequence[Value], edge_order: int) -> Value:
    """The slope at the first of three values, in the direction of the others."""
    near = gaps[0]
    if edge_order == 1:
        return (values[1] - values[0]) / near
    far = gaps[1]
    both = near + far
    return (
        -(near + both) / (near * both) * values[0]
        + both / (near * far) * values[1]
        - near / (far * both) * values[2]
    )


composite(np.gradient, _gradient)

# --- np.trapezoid, np.unwrap


def _trapezoid(y: Value, x: Value = None, dx: Value = 1.0, axis: int = -1) -> Value:
    y = as_array(y)
    along = normalize_axis_index(axis, y.ndim)
    if x is not None:
        widths = _widths(as_array(x), y, along)
    else:  # a number gives way to the dtype of y
        widths = as_array(dx) if isinstance(dx, (list, tuple)) else dx
    pairs = part(y, along, slice(1, None)) + part(y, along, slice(None, -1))
    return np.sum(widths * pairs / 2.0, axis)


def _widths(x: Value, y: Value, axis: int) -> Value:
    if x.ndim != 1:
        return np.diff(x, axis=axis)
    return np.reshape(np.diff(x), [-1 if i == axis else 1 for i in range(y.ndim)])


def _plain_unwrap(
    p: Value, discont: Value = None, axis: int = -1, *, period: Value = 2 * np.pi
) -> Value:
    return np.unwrap(p, discont, axis, period=period)


# The jumps that np.unwrap removes are whole periods, which do not vary with p.
UNWRAP = general(
    _plain_unwrap,
    vjp=[lambda g, _out, _p, **_: g],
    jvp=lambda dots, _out, _p, **_: dots[0],
    name="np.unwrap",
    batch="axis",
)


def _unwrap(
    p: Value, discont: Value = None, axis: int = -1, *, period: Value = 2 * np.pi
) -> Value:
    p = as_array(p)
    options = {"discont": untraced(discont), "axis": axis}
    if untraced(period) is period:
        return UNWRAP.apply_bound([p], {**options, "period": period})
    length = untraced(period)
    jumps = np.round((np.unwrap(untraced(p), **options, period=length) - untraced(p)) / length)
    return p + period * jumps


# By the definition a gradient costs 1.7 times this (8 elements), 1.9 (8 x 8), 1.5 (100 x 100).
def _plan_trapezoid(
    y: Spec, out: Spec, /, x: Any = None, dx: Any = 1.0, axis: int = -1
) -> Kernels | None:
    """The kernels for neighbours at one distance."""
    if x is not None or not isinstance(dx, (int, float)) or y.dtype is not out.dtype:
        return None
    axis = normalize_axis_index(axis, y.ndim)
    lead: tuple[Any, ...] = (slice(None),) * axis
    later, earlier, new = (*lead, slice(1, None)), (*lead, slice(None, -1)), (*lead, None)
    half, shape, dtype = dx / 2, y.shape, y.dtype

    def run(y: Value) -> Value:
        return np.trapezoid(y, dx=dx, axis=axis)

    def pull(g: Cotangent, _out: Value, _y: Value) -> Cotangent:
        bar = np.zeros(shape, dtype)
        g = (g * half)[new]
        bar[later] = g
        part = bar[earlier]
        part += g
        return bar

    return Kernels(run, pull, lambda dot, _out, _y: run(dot))


composite(np.trapezoid, _trapezoid, linear=True, plan=_plan_trapezoid)
composite(np.unwrap, _unwrap)
