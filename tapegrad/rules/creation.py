"""Sequences of numbers between two arrays: evenly spaced, or with a constant ratio."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from tapegrad._core.forms import composite, general, linear
from tapegrad._core.types import Cotangent, Tangent, Value
from tapegrad._core.values import untraced
from tapegrad.rules.constant import side_by_side


def _shares(num: int, endpoint: bool) -> Value:
    """The position of each number of a sequence, from 0 at the start to 1 at the stop."""
    return np.linspace(0.0, 1.0, num, endpoint)


def _along(shares: Value, g: Cotangent, axis: int) -> tuple[Cotangent, Value]:
    """The cotangent with the sequence on axis 0, and the shares in a shape to multiply it."""
    g = np.moveaxis(g, axis, 0)
    return g, shares.reshape(-1, *[1] * (g.ndim - 1))


# --- Evenly spaced ------------------------------------------------------------------------------


def _line(start: Value, stop: Value, num: int, endpoint: bool = True, axis: int = 0) -> Value:
    return np.linspace(start, stop, num, endpoint, axis=axis)


def _line_to_start(
    g: Cotangent, _out: Value, _start: Value, _stop: Value, num: int, **params: Any
) -> Cotangent:
    g, shares = _along(_shares(num, params.get("endpoint", True)), g, params.get("axis", 0))
    return np.sum(g * (1 - shares), axis=0)


def _line_to_stop(
    g: Cotangent, _out: Value, _start: Value, _stop: Value, num: int, **params: Any
) -> Cotangent:
    g, shares = _along(_shares(num, params.get("endpoint", True)), g, params.get("axis", 0))
    return np.sum(g * shares, axis=0)


def _many_lines(
    start: Value, stop: Value, num: int, endpoint: bool = True, axis: int = 0
) -> Value:
    start, stop = side_by_side(start, stop)
    axis = normalize_axis_index(axis, max(start.ndim, stop.ndim)) + 1
    return np.linspace(start, stop, num, endpoint, axis=axis)


LINE = linear(_line, _line_to_start, _line_to_stop, name="np.linspace", batch=_many_lines)


def _as_dtype(sequence: Value, dtype: Any) -> Value:
    return sequence if dtype is None else sequence.astype(dtype, copy=False)


def _linspace(
    start: Value,
    stop: Value,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
    *,
    device: str | None = None,
) -> Any:
    if dtype is not None and np.dtype(dtype).kind not in "fc":
        # Numbers cast to integers are piecewise constant. The step, computed below, is not.
        line = np.linspace(untraced(start), untraced(stop), num, endpoint, dtype=dtype, axis=axis)
    else:
        if device not in (None, "cpu"):
            raise ValueError(f"Device not understood. Only 'cpu' is allowed, but got: {device!r}")
        bound, params = LINE.bind((start, stop, num, endpoint), {"axis": axis})
        line = _as_dtype(LINE.apply_bound(bound, params), dtype)
    if not retstep:
        return line
    gaps = num - 1 if endpoint else num
    return line, (stop - start) / gaps if gaps > 0 else np.nan


composite(np.linspace, _linspace)


# --- With a constant ratio ----------------------------------------------------------------------


def _logspace(
    start: Value,
    stop: Value,
    num: int = 50,
    endpoint: bool = True,
    base: Value = 10.0,
    dtype: Any = None,
    axis: int = 0,
) -> Value:
    if np.ndim(base):
        rank = max(np.ndim(start), np.ndim(stop), np.ndim(base))
        start, stop, base = (
            np.reshape(part, (1,) * (rank - np.ndim(part)) + np.shape(part))
            for part in (start, stop, base)
        )
        base = np.expand_dims(base, axis)
    return _as_dtype(np.power(base, np.linspace(start, stop, num, endpoint, axis=axis)), dtype)


composite(np.logspace, _logspace)


def _curve(
    start: Value, stop: Value, num: int, endpoint: bool = True, dtype: Any = None, axis: int = 0
) -> Value:
    return np.geomspace(start, stop, num, endpoint, dtype, axis)


def _curve_pull(
    g: Cotangent, out: Value, start: Value, stop: Value, num: int, **params: Any
) -> tuple[Cotangent, Cotangent]:
    """Each number is start**(1 - share) * stop**share: its logarithm is linear in theirs."""
    axis = params.get("axis", 0)
    shares = _shares(num, params.get("endpoint", True))
    g, shares = _along(shares, g * out, axis)
    return np.sum(g * (1 - shares), axis=0) / start, np.sum(g * shares, axis=0) / stop


def _curve_push(
    dots: Sequence[Tangent], out: Value, start: Value, stop: Value, num: int, **params: Any
) -> Tangent:
    axis = params.get("axis", 0)
    shares = _shares(num, params.get("endpoint", True))
    shares = np.moveaxis(shares.reshape(-1, *[1] * (out.ndim - 1)), 0, axis)
    relative = 0
    for dot, end, share in zip(dots, (start, stop), (1 - shares, shares), strict=True):
        if dot is not None:
            rate = np.broadcast_to(dot / end, np.broadcast_shapes(start.shape, stop.shape))
            relative = relative + np.expand_dims(rate, axis) * share
    return out * relative


def _many_curves(
    start: Value, stop: Value, num: int, endpoint: bool = True, dtype: Any = None, axis: int = 0
) -> Value:
    start, stop = side_by_side(start, stop)
    axis = normalize_axis_index(axis, max(start.ndim, stop.ndim)) + 1
    return np.geomspace(start, stop, num, endpoint, dtype, axis)


CURVE = general(
    _curve,
    vjp=_curve_pull,
    jvp=_curve_push,
    arrays=2,
    name="np.geomspace",
    batch=_many_curves,
)


def _geomspace(
    start: Value,
    stop: Value,
    num: int = 50,
    endpoint: bool = True,
    dtype: Any = None,
    axis: int = 0,
) -> Value:
    if dtype is not None and np.dtype(dtype).kind not in "fc":
        return np.geomspace(untraced(start), untraced(stop), num, endpoint, dtype, axis)
    params = {"num": num, "endpoint": endpoint, "dtype": dtype, "axis": axis}
    ends = [end if hasattr(end, "shape") else np.asarray(end) for end in (start, stop)]
    bound, params = CURVE.bind(tuple(ends), params)
    return CURVE.apply_bound(bound, params)


composite(np.geomspace, _geomspace)
