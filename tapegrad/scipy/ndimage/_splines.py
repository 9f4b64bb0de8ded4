"""Splines at equal steps: their coefficients, and their values at any points.

`spline_filter1d` solves B c = x with a banded matrix B, the values of B-splines at whole numbers.
The images of a half-sample reflection and of a period make B symmetric; those of a whole-sample
reflection make it so between scalings of the two ends. So the transpose is the filter itself.

`values` sums coefficients by products of B-splines, each differentiated as often as asked. Its
derivative by a coordinate is the like sum with one derivative more, its transpose by coefficients
adds to the coefficients by the same weights (M. Unser, Splines: a perfect fit for signal and image
processing, IEEE Signal Processing Magazine 16 (1999), 22-38).

At a kink of an order 1 spline, which is at each sample, the derivative is the mean of both slopes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import scipy.ndimage as ni

from tapegrad._core.forms import composite, general, linear
from tapegrad._core.types import Cotangent, Value
from tapegrad._transforms.primitives import primitive
from tapegrad.scipy._mirror import mirror
from tapegrad.scipy.ndimage._images import HERE, as_image, extended, finished

spline_filter, spline_filter1d = mirror(ni.spline_filter, HERE), mirror(ni.spline_filter1d, HERE)

_WHOLE_SAMPLE = ("mirror", "constant", "grid-constant", "wrap")  # as C code filters for a mode

_HALF_SAMPLE = ("reflect", "grid-mirror", "nearest")
_LONG = 32  # 0.4305**63 < 1e-22, for the greatest pole of all orders


@primitive
def coefficients(x: Value, order: int = 3, axis: int = -1, mode: str = "mirror") -> Value:
    """Coefficients of the spline through the elements along an axis."""
    return ni.spline_filter1d(x, order, axis, x.dtype, mode)


def _coefficients_transpose(
    g: Cotangent, _out: Value, _x: Value, order: int = 3, axis: int = -1, mode: str = "mirror"
) -> Cotangent:
    size = g.shape[axis]
    if mode in _HALF_SAMPLE and size < _LONG:
        # SciPy starts with a term that is wrong by the pole to the power of 2 size - 1.
        matrix = ni.spline_filter1d(np.eye(size), order, 0, np.float64, mode)
        return np.moveaxis(np.moveaxis(g, axis, -1) @ matrix.astype(g.dtype), -1, axis)
    if mode not in _WHOLE_SAMPLE or size == 1:
        return coefficients(g, order=order, axis=axis, mode=mode)
    ends = np.ones(size, g.dtype.type(0).real.dtype)
    ends[0] = ends[-1] = 2
    ends = ends.reshape((-1,) + (1,) * (g.ndim - 1 - axis % g.ndim))
    return coefficients(g * ends, order=order, axis=axis, mode=mode) / ends


linear(coefficients, _coefficients_transpose, batch="axis")


def filtered_along(x: Value, order: int, axis: int, mode: str) -> Value:
    """The coefficients, in double precision as SciPy's."""
    if not 0 <= order <= 5:
        raise RuntimeError(f"scipy.ndimage: expected a spline order from 0 to 5, got {order}.")
    wide = x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)
    if order < 2:
        return wide
    return coefficients(wide, order=order, axis=axis, mode=mode)


def _spline_filter1d(
    input: Value, order: int = 3, axis: int = -1, output: Any = np.float64, mode: str = "mirror"
) -> Value:
    x = as_image(input)
    return finished(filtered_along(x, order, axis, mode), _kind(x, output))


def _spline_filter(
    input: Value, order: int = 3, output: Any = np.float64, mode: str = "mirror"
) -> Value:
    x = as_image(input)
    if not 2 <= order <= 5:
        raise RuntimeError(f"scipy.ndimage: expected a spline order from 2 to 5, got {order}.")
    return finished(filtered(x, order, mode), _kind(x, output))


def _kind(x: Value, output: Any) -> Any:
    """The dtype of a result: complex for a complex input."""
    if x.dtype.kind != "c" or output is None or isinstance(output, np.ndarray):
        return output
    return np.result_type(output, np.complex64)


def filtered(x: Value, order: int, mode: str) -> Value:
    """The coefficients along all axes."""
    for axis in range(x.ndim):
        x = filtered_along(x, order, axis, mode)
    return x


composite(spline_filter1d, _spline_filter1d)
composite(spline_filter, _spline_filter)

# --- values at points

MODES = (
    "reflect",
    "grid-mirror",
    "mirror",
    "nearest",
    "wrap",
    "grid-wrap",
    "constant",
    "grid-constant",
)
PREPADDED = {"nearest": 12, "grid-constant": 12}  # elements that SciPy adds before it filters


def prefiltered(x: Value, order: int, mode: str, cval: Any, prefilter: bool) -> tuple[Value, int]:
    """Coefficients, and how many elements lie before the first of the image."""
    if mode not in MODES:
        raise RuntimeError(f"scipy.ndimage: expected a mode among {MODES}, got {mode!r}.")
    if not 0 <= order <= 5:
        raise RuntimeError(f"scipy.ndimage: expected a spline order from 0 to 5, got {order}.")
    if not prefilter or order < 2:
        return x.astype(np.complex128 if x.dtype.kind == "c" else np.float64), 0
    count = PREPADDED.get(mode, 0)
    if count:
        x = extended(x, [(count, count)] * x.ndim, mode, cval)
    return filtered(x, order, mode), count


def _bells(fraction: Any, order: int, derivative: int) -> list[Any]:
    """The B-splines around a point at a fraction between two knots, or their derivatives."""
    if derivative > order:
        return [np.zeros_like(fraction)] * (order + 1)
    weights = [np.ones_like(fraction)]
    low = order - derivative
    for n in range(1, low + 1):  # the recurrence of Cox and de Boor at equal steps
        padded = [0.0, *weights, 0.0]
        weights = [
            ((j + 1 - fraction) * padded[j + 1] + (n - j + fraction) * padded[j]) / n
            for j in range(n + 1)
        ]
    for _ in range(derivative):
        padded = [np.zeros_like(fraction), *weights, np.zeros_like(fraction)]
        weights = [padded[j] - padded[j + 1] for j in range(len(weights) + 1)]
    return weights


def _folded(index: Any, size: int, mode: str) -> Any:
    """Where the coefficient with an index beyond the sides is found."""
    if mode == "grid-constant":  # in an array with one more on each side
        return np.clip(index + 1, 0, size + 1)
    if size == 1:
        return np.zeros_like(index)
    if mode == "grid-wrap":
        return index % size
    if mode == "nearest":
        return np.clip(index, 0, size - 1)
    if mode in ("reflect", "grid-mirror"):
        index = index % (2 * size)
        return np.minimum(index, 2 * size - 1 - index)
    index = index % (2 * size - 2)
    return np.minimum(index, 2 * size - 2 - index)


def _wrapped(t: Any, period: int) -> Any:
    """The coordinates between 0 and a period; whole periods below 0 fall on its end, in SciPy."""
    if period < 1:
        return np.zeros_like(t)
    t = np.where(t < 0, t + period * (np.trunc(-t / period) + 1), t)
    return np.where(t > period, t - period * np.trunc(t / period), t)


class _Axis:
    """The coefficients near each point along one axis, and their weights."""

    def __init__(self, t: Any, size: int, before: int, order: int, mode: str) -> None:
        if mode == "constant":
            t = np.clip(t, 0, size - 1)  # what lies outside is overwritten
        elif mode == "wrap":
            t = _wrapped(t, size - 1)
        t = t + before
        self.order, self.size, self.mode = order, size, mode
        shift = 0.0 if order % 2 else 0.5
        base = np.floor(t + shift)
        self.fraction = t + shift - base
        self.first = base.astype(np.intp) - order // 2
        self.ends = (t == 0, t == size - 1)

    def taps(self, derivatives: Sequence[int]) -> list[tuple[Any, list[Any]]]:
        """For each B-spline that reaches the points its index, and a weight per derivative."""
        first = self.first
        columns = [_bells(self.fraction, self.order, n) for n in derivatives]
        if self.order == 1 and 1 in derivatives:
            first = first - 1
            columns = [
                self._mean_slopes() if n == 1 else [0.0, *column]
                for n, column in zip(derivatives, columns, strict=True)
            ]
        return [
            (_folded(first + j, self.size, self.mode), list(weights))
            for j, weights in enumerate(zip(*columns, strict=True))
        ]

    def _mean_slopes(self) -> list[Any]:
        """At a sample the mean of the slopes before and after it."""
        at = self.fraction == 0
        half = np.where(at, 0.5, 0.0)
        low, middle, high = -half, np.where(at, 0, -1), 1 - half
        if self.mode == "constant":  # at the ends only the inner slope is known
            start, end = self.ends
            low = np.where(start, 0, np.where(end, -1, low))
            middle = np.where(start, -1, np.where(end, 1, middle))
            high = np.where(start, 1, np.where(end, 0, high))
        return [low, middle, high]


def _bordered(shape: Sequence[int], mode: str) -> tuple[int, ...]:
    return tuple(side + 2 * (mode == "grid-constant") for side in shape)


def _products(
    shape: Sequence[int],
    coordinates: Any,
    derivatives: Sequence[Sequence[int]],
    order: int,
    mode: str,
    before: int,
) -> Iterator[tuple[Any, list[Any]]]:
    """Flat positions of coefficients, and a weight for each of several derivatives."""
    every = []
    for axis, (t, size) in enumerate(zip(coordinates, shape, strict=True)):
        line = _Axis(t, size, before, order, mode)
        every.append(line.taps([one[axis] for one in derivatives]))
    sides = _bordered(shape, mode)

    def beyond(axis: int, position: Any, weights: list[Any]) -> Iterator[tuple[Any, list[Any]]]:
        for index, own in every[axis]:
            at = position * sides[axis] + index if axis else index
            products = [w * o for w, o in zip(weights, own, strict=True)] if axis else own
            if axis + 1 == len(sides):
                yield at, products
            else:
                yield from beyond(axis + 1, at, products)

    return beyond(0, 0, [])


def _outside(shape: Sequence[int], coordinates: Any) -> Any:
    """The points that have the value cval in mode "constant", whatever lies near them."""
    inside: Any = True
    for t, size in zip(coordinates, shape, strict=True):
        inside = inside & (t >= 0) & (t <= size - 1)
    return ~inside


@primitive
def values(
    c: Value,
    coordinates: Value,
    derivatives: tuple[tuple[int, ...], ...] = (),
    order: int = 3,
    mode: str = "constant",
    cval: Any = 0.0,
    before: int = 0,
) -> Value:
    """Values of splines, one row for each of several derivatives by the coordinates."""
    if len(derivatives) == 1 and not any(derivatives[0]) and (not before or mode == "nearest"):
        shifted = coordinates + before if before else coordinates
        return ni.map_coordinates(c, shifted, None, order, mode, cval, prefilter=False)[None]
    flat = (np.pad(c, 1, constant_values=cval) if mode == "grid-constant" else c).reshape(-1)
    total = np.zeros((len(derivatives), *coordinates.shape[1:]), c.dtype)
    for position, weights in _products(c.shape, coordinates, derivatives, order, mode, before):
        near = flat[position]
        for row, weight in zip(total, weights, strict=True):
            row += weight * near
    if mode == "constant":
        total[:, _outside(c.shape, coordinates)] = 0
        for row, one in zip(total, derivatives, strict=True):
            if not any(one):
                row[_outside(c.shape, coordinates)] = cval
    return total


@primitive
def spread(
    g: Value,
    coordinates: Value,
    shape: tuple[int, ...] = (),
    derivatives: tuple[tuple[int, ...], ...] = (),
    order: int = 3,
    mode: str = "constant",
    before: int = 0,
) -> Value:
    """The transpose of `values` by the coefficients."""
    if mode == "constant":
        g = np.where(_outside(shape, coordinates), 0, g)
    sides = _bordered(shape, mode)
    count = int(np.prod(sides))
    total = np.zeros(count, g.dtype)
    for position, weights in _products(shape, coordinates, derivatives, order, mode, before):
        part: Any = 0
        for row, weight in zip(g, weights, strict=True):
            part = part + weight * row
        position, part = position.reshape(-1), part.reshape(-1)
        if part.dtype.kind == "c":
            total += np.bincount(position, part.real, count)
            total += 1j * np.bincount(position, part.imag, count)
        else:
            total += np.bincount(position, part, count)
    inner = tuple(slice(1, -1) for _ in shape) if mode == "grid-constant" else ()
    return np.ascontiguousarray(total.reshape(sides)[inner])


def _raised(derivatives: Any, axis: int) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(n + (i == axis) for i, n in enumerate(one)) for one in derivatives)


def _by_coefficients(
    g: Cotangent, _out: Value, _c: Value, coordinates: Value, cval: Any = 0.0, **params: Any
) -> Cotangent:
    return spread(g, coordinates, shape=tuple(_c.shape), **params)


def _by_coordinates(
    g: Cotangent, _out: Value, c: Value, coordinates: Value, **params: Any
) -> Cotangent:
    if not params["order"]:
        return np.zeros(coordinates.shape)
    derivatives = params.pop("derivatives")
    count = coordinates.shape[0]
    if len(derivatives) == 1:  # all slopes at once
        every = tuple(_raised(derivatives, axis)[0] for axis in range(count))
        return g * values(c, coordinates, derivatives=every, **params)
    return np.stack(
        [
            np.sum(g * values(c, coordinates, derivatives=_raised(derivatives, axis), **params), 0)
            for axis in range(count)
        ]
    )


def _spread_by_g(
    g: Cotangent, _out: Value, _g: Value, coordinates: Value, shape: Any = (), **params: Any
) -> Cotangent:
    return values(g, coordinates, **params)


def _spread_by_coordinates(
    g: Cotangent, _out: Value, rows: Value, coordinates: Value, shape: Any = (), **params: Any
) -> Cotangent:
    return _by_coordinates(rows, None, g, coordinates, **params)


def _values_jvp(dots: Any, out: Value, c: Value, coordinates: Value, **params: Any) -> Any:
    c_dot, t_dot = dots
    total: Any = None if c_dot is None else values(c_dot, coordinates, **{**params, "cval": 0.0})
    if t_dot is not None and params["order"]:
        derivatives = params["derivatives"]
        rest = {**params, "derivatives": ()}
        for axis in range(coordinates.shape[0]):
            raised = _raised(derivatives, axis)
            term = values(c, coordinates, **{**rest, "derivatives": raised}) * t_dot[axis]
            total = term if total is None else total + term
    return np.zeros_like(out) if total is None else total


general(values, vjp=[_by_coefficients, _by_coordinates], jvp=_values_jvp)
general(spread, vjp=[_spread_by_g, _spread_by_coordinates])


def interpolated(
    c: Value, coordinates: Value, order: int, mode: str, cval: Any, before: int
) -> Value:
    """The values of a spline at points."""
    none = ((0,) * c.ndim,)
    made = values(
        c, coordinates, derivatives=none, order=order, mode=mode, cval=cval, before=before
    )
    return made[0]


__all__ = ["filtered", "interpolated", "prefiltered"]
