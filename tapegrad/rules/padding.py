"""Padding in every mode, one axis after another: both sides are joined to the array.

Later axes see what earlier ones have added, as in NumPy, so that corners come out the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapegrad._core.fast.call_plans import Kernels, Spec, from_rule
from tapegrad._core.forms import composite, general
from tapegrad._core.types import Cotangent, Function, Params, Tangent, Value
from tapegrad._core.values import is_numpy, is_plain_number, lift, untraced
from tapegrad._numpy_versions import PADS_BY_AXIS
from tapegrad.rules.positions import moving

Sides = tuple[Any, Any]


def _pad(array: Value, pad_width: Any, mode: str | Function = "constant", **kwargs: Any) -> Value:
    array = array if hasattr(array, "shape") else np.asarray(array)
    widths = _widths(pad_width, array.ndim)
    if callable(mode):
        return _pad_by_function(array, widths, mode, kwargs)
    _check_keywords(mode, kwargs)
    if mode == "empty":
        return PAD.apply_bound([array], {"pad_width": widths})
    if mode == "constant":
        return _pad_constant(array, widths, kwargs.get("constant_values", 0))
    if 0 in array.shape:
        return _pad_nothing(array, widths)
    pad_axis = _BY_MODE[mode]
    options: Any = _options(mode, array.ndim, **kwargs)
    padded = array
    for axis, width in enumerate(widths):
        if any(width):
            padded = pad_axis(padded, axis, width, mode, options[axis])
    return np.copy(array) if padded is array else padded


# --- what the arguments mean


def _pairs(value: Value, ndim: int) -> list[tuple[Value, Value]]:
    """A pair for each axis: from one value, one pair, a value per axis, or a pair per axis."""
    value = lift(value)
    value = value if hasattr(value, "shape") else np.asarray(value)
    if value.ndim < 3 and value.size == 1:
        value = np.reshape(value, ())
    elif value.ndim < 3 and value.size == 2 and value.shape != (2, 1):
        value = np.reshape(value, (2,))
    rows = np.broadcast_to(value, (ndim, 2))
    return [(rows[axis, 0], rows[axis, 1]) for axis in range(ndim)]


def _widths(pad_width: Any, ndim: int) -> list[tuple[int, int]]:
    if PADS_BY_AXIS and isinstance(pad_width, dict):
        by_axis: Any = np.zeros((ndim, 2), np.intp)
        for axis, width in pad_width.items():
            by_axis[axis] = width
        pad_width = by_axis
    given = np.asarray(pad_width)
    if given.dtype.kind != "i":
        raise TypeError("`pad_width` must be of integral type.")
    if given.size and given.min() < 0:
        raise ValueError("index can't contain negative values")
    return [(int(low), int(high)) for low, high in _pairs(given, ndim)]


# A value for each keyword that NumPy's own check of mode and keywords accepts.
_VALID = {"constant_values": 0, "end_values": 0, "stat_length": 1, "reflect_type": "even"}


def _check_keywords(mode: str, kwargs: Params) -> None:
    """Raise NumPy's errors, by a call on a tiny array."""
    np.pad(np.zeros(1), 0, mode, **{name: _VALID.get(name) for name in kwargs})


def _options(
    mode: str,
    ndim: int,
    end_values: Value = 0,
    stat_length: Value = None,
    reflect_type: str = "even",
) -> list[Any]:
    """The options of the mode, one entry per axis."""
    if mode == "linear_ramp":
        return _pairs(end_values, ndim)
    if mode in _STATISTICS:
        if stat_length is None:
            return [(None, None)] * ndim
        return _pairs(np.round(untraced(stat_length)).astype(np.intp), ndim)
    return [reflect_type == "odd"] * ndim


# --- constants


def _pad_vjp(
    g: Cotangent,
    _out: Value,
    _x: Value,
    pad_width: list[tuple[int, int]],
    constant_values: Value = 0,
) -> Cotangent:
    return g[_inner(_x.shape, pad_width)]


def _pad_jvp(
    dots: Sequence[Tangent],
    _out: Value,
    _x: Value,
    pad_width: list[tuple[int, int]],
    constant_values: Value = 0,
) -> Tangent:
    return _pad_plainly(dots[0], pad_width)


def _pad_plainly(
    array: Value, pad_width: list[tuple[int, int]], constant_values: Value = 0
) -> Value:
    if type(array) is not np.ndarray or type(constant_values) is not int or constant_values:
        return np.pad(array, pad_width or 0, constant_values=constant_values)
    sides = [low + n + high for n, (low, high) in zip(array.shape, pad_width, strict=True)]
    made = np.zeros(sides, array.dtype, "F" if array.flags.fnc else "C")  # as np.pad, at once
    made[_inner(array.shape, pad_width)] = array
    return made


def _inner(shape: Sequence[int], pad_width: list[tuple[int, int]]) -> tuple[slice, ...]:
    return tuple([slice(low, low + n) for (low, _), n in zip(pad_width, shape, strict=True)])


def _pad_examples(
    array: Value, pad_width: list[tuple[int, int]], constant_values: Value = 0
) -> Value:
    constants = np.asarray(constant_values)
    if constants.ndim < 2 and constants.dtype.kind == "c":  # without an imaginary part, as NumPy's
        constants = constants.astype(array.dtype)
    values = [(0, 0), *_pairs(constants, array.ndim - 1)]
    return np.pad(array, [(0, 0), *pad_width], constant_values=values)


PAD = general(_pad_plainly, vjp=[_pad_vjp], jvp=_pad_jvp, name="np.pad", batch=_pad_examples)


def _pad_constant(array: Value, widths: list[tuple[int, int]], values: Value) -> Value:
    if values is None:  # as NumPy assigns None to numbers
        values = complex(np.nan, np.nan) if array.dtype.kind == "c" else np.nan
    values = lift(values)
    if is_numpy(values) or is_plain_number(values) or isinstance(values, (list, tuple)):
        params = {"pad_width": widths, "constant_values": untraced(values)}
        return PAD.apply_bound([array], params)
    pairs = _pairs(values, array.ndim)
    for axis, (width, (low, high)) in enumerate(zip(widths, pairs, strict=True)):
        left, right = _filled(array, axis, width[0], low), _filled(array, axis, width[1], high)
        array = _between(left, array, right, axis)
    return array


def _filled(array: Value, axis: int, size: int, value: Value) -> Value:
    shape = [*array.shape]
    shape[axis] = size
    return np.broadcast_to(value, shape).astype(array.dtype)


def _pad_nothing(array: Value, widths: list[tuple[int, int]]) -> Value:
    """An array without elements: an empty axis has nothing that could be repeated."""
    for axis, width in enumerate(widths):
        if array.shape[axis] == 0 and any(width):
            raise ValueError(
                f"can't extend empty axis {axis} using modes other than 'constant' or 'empty'"
            )
    return PAD.apply_bound([array], {"pad_width": widths})


# --- modes that read the array


def _cut(
    array: Value, axis: int, start: int | None, stop: int | None, step: int | None = None
) -> Value:
    return array[(slice(None),) * axis + (slice(start, stop, step),)]


def _between(left: Value, array: Value, right: Value, axis: int) -> Value:
    return np.concatenate([left, array, right], axis=axis)


def _pad_edge(array: Value, axis: int, width: Sides, *_: Any) -> Value:
    first, last = _cut(array, axis, 0, 1), _cut(array, axis, -1, None)
    return _between(_repeated(first, axis, width[0]), array, _repeated(last, axis, width[1]), axis)


def _repeated(side: Value, axis: int, count: int) -> Value:
    """A side that repeats one element."""
    shape = [*side.shape]
    shape[axis] = count
    return np.broadcast_to(side, shape)


def _pad_ramp(array: Value, axis: int, width: Sides, _mode: str, ends: Sides) -> Value:
    first, last = _cut(array, axis, 0, 1), _cut(array, axis, -1, None)
    left = _ramp(first, axis, width[0], ends[0])
    right = np.flip(_ramp(last, axis, width[1], ends[1]), axis)
    return _between(left.astype(array.dtype), array, right.astype(array.dtype), axis)


def _ramp(edge: Value, axis: int, count: int, end: Value) -> Value:
    """From `end` up to, but without, the edge, with the roundings of np.linspace."""
    steps = np.arange(count).reshape([-1 if i == axis else 1 for i in range(edge.ndim)])
    real = np.real(np.zeros(0, edge.dtype)).dtype
    end = end.astype(real if end.dtype.kind != "c" else np.result_type(edge.dtype, end.dtype))
    return steps.astype(real) * ((edge - end) / max(count, 1)) + end


_STATISTICS: dict[str, Callable[..., Any]] = {
    "maximum": np.max,
    "minimum": np.min,
    "mean": np.mean,
    "median": np.median,
}


def _pad_statistic(array: Value, axis: int, width: Sides, mode: str, lengths: Sides) -> Value:
    statistic, most = _STATISTICS[mode], array.shape[axis]
    left, right = (most if n is None else min(int(n), most) for n in lengths)
    if 0 in (left, right) and mode in ("maximum", "minimum"):
        raise ValueError("stat_length of 0 yields no value for padding")
    first = statistic(_cut(array, axis, 0, left), axis=axis, keepdims=True)
    last = first
    if left != most or right != most:
        last = statistic(_cut(array, axis, most - right, most), axis=axis, keepdims=True)
    return _between(_repeated(first, axis, width[0]), array, _repeated(last, axis, width[1]), axis)


def _pad_mirror(array: Value, axis: int, width: Sides, mode: str, odd: bool) -> Value:
    if array.shape[axis] == 1:
        return _pad_edge(array, axis, width)  # NumPy repeats the only element
    shared = 0 if mode == "symmetric" else 1  # elements that array and mirror image share
    backward = _cut(array, axis, None, None, -1)
    left = _mirrored(backward, axis, width[0], shared, odd)
    right = _mirrored(array, axis, width[1], shared, odd)
    return _between(_cut(left, axis, None, None, -1), array, right, axis)


def _mirrored(array: Value, axis: int, count: int, shared: int, odd: bool) -> Value:
    """The `count` elements beyond the end: reflections, repeated as often as needed."""
    start = array.shape[axis]
    while array.shape[axis] < start + count:
        image = _cut(array, axis, None, None, -1)
        image = _cut(image, axis, shared, shared + start + count - array.shape[axis])
        if odd:
            image = 2 * _cut(array, axis, -1, None) - image
        array = np.concatenate([array, image], axis=axis)
    return _cut(array, axis, start, start + count)


def _pad_wrap(array: Value, axis: int, width: Sides, *_: Any) -> Value:
    size = array.shape[axis]
    left, right = (-(-amount // size) for amount in width)  # whole copies, rounded up
    row = np.concatenate([array] * (left + 1 + right), axis=axis)
    start = left * size - width[0]
    return _cut(row, axis, start, start + width[0] + size + width[1])


_BY_MODE: dict[str, Callable[..., Any]] = {
    "edge": _pad_edge,
    "linear_ramp": _pad_ramp,
    "reflect": _pad_mirror,
    "symmetric": _pad_mirror,
    "wrap": _pad_wrap,
    **dict.fromkeys(_STATISTICS, _pad_statistic),
}


def _pad_by_function(
    array: Value, widths: list[tuple[int, int]], function: Function, kwargs: Params
) -> Value:
    """The function writes into each row along an axis, which is copied for that."""
    padded = PAD.apply_bound([array], {"pad_width": widths})
    for axis, width in enumerate(widths):
        lanes = np.moveaxis(padded, axis, -1)
        if lanes.size == 0:
            continue
        written = [np.copy(lanes[place]) for place in np.ndindex(*lanes.shape[:-1])]
        for lane in written:
            function(lane, width, axis, kwargs)
        padded = np.moveaxis(np.reshape(np.stack(written), lanes.shape), -1, axis)
    return padded


# Modes that repeat elements, or put a constant beside them.
_MOVING = frozenset(("constant", "edge", "symmetric", "reflect", "wrap"))
_few_moving = moving(np.pad)


def _moving_pad(
    x: Spec, out: Spec, /, pad_width: Any, mode: str = "constant", **options: Any
) -> Kernels | None:
    if mode not in _MOVING or options.get("reflect_type", "even") != "even":
        return None
    kernels = _few_moving(x, out, pad_width=pad_width, mode=mode, **options)
    if kernels is not None or mode != "constant":
        return kernels
    return from_rule(PAD, x, out, {"pad_width": _widths(pad_width, x.ndim), **options})


composite(np.pad, _pad, linear=True, plan=_moving_pad)
