"""Images and volumes read at the places of a grid, as one node of the graph.

Knows arrays, rules, and the coordinates of grids, in which the corners are -1 and 1. Must not know
tensors or modules.

A sample is a sum of few elements, its taps, times weights. Where the taps are is piecewise
constant in the grid; the weights are products over the axes of polynomials in the part of a place
after its whole number. With weights w, elements x and cotangents g, the sum over all of w * x * g
is linear in each, and its three derivatives, `picked`, `spread` and `matched`, are each other's
transposes. The first axes of all arrays are free.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from tapegrad._core.fit import is_finite
from tapegrad._core.forms import General, Multilinear
from tapegrad._core.quiet import silence
from tapegrad._core.types import Cotangent, Function, Params, Value, Values, Wanted
from tapegrad._core.values import untraced
from tapegrad.torch._graph.names import name_nodes
from tapegrad.torch._rules.declare import Declared, Found, ruled
from tapegrad.torch._rules.resampling import cubic_weights

BLOCK = 1 << 18  # bytes of what is computed at once, so that it stays in the cache
NOWHERE = -1  # the place of a tap beyond the ends, where zeros are

# --- Sums over taps -----------------------------------------------------------------------------


def _blocks(channels: int, taps: int, itemsize: int) -> Iterator[slice]:
    step = max(1, BLOCK // max(1, taps * itemsize))
    for start in range(0, channels, step):
        yield slice(start, min(start + step, channels))


def _flat(x: Value) -> Value:
    """The array with one free axis before its last two."""
    return x.reshape(math.prod(x.shape[:-2]), *x.shape[-2:])


def _within(places: Value, weights: Value) -> tuple[Value, Value, Value]:
    """Places that may be read, the weights there, and which taps lie nowhere (None: no tap)."""
    places, weights = _flat(places), _flat(weights)
    nowhere = places < 0
    if not nowhere.any():
        return places, weights, None
    return np.maximum(places, 0), np.where(nowhere, 0, weights), nowhere


def _constant(*_given: Any, **_params: Any) -> None:
    """Places are whole numbers, which nothing differentiates by."""


def _picked(places: Value, weights: Value, x: Value) -> Value:
    """Sums of the elements at places, times weights: (..., channels, p).

    places, weights: (..., taps, p); x: (..., channels, size).
    """
    out = np.empty((*x.shape[:-1], places.shape[-1]), x.dtype)
    rows, sums = _flat(x), _flat(out)
    places, weights, nowhere = _within(places, weights)
    careful = nowhere is not None and not is_finite(x)
    for example, index in enumerate(places.reshape(len(places), -1)):
        for block in _blocks(x.shape[-2], index.size, x.itemsize):
            found = rows[example, block].take(index, 1).reshape(-1, *places.shape[1:])
            found *= weights[example]
            if careful:
                np.copyto(found, 0, where=nowhere[example])
            np.add.reduce(found, 1, out=sums[example, block])
    return out


def _spread(places: Value, weights: Value, g: Cotangent, *, size: int) -> Value:
    """Zeros (..., channels, size) to which g (..., channels, p), times weights, is added."""
    out = np.zeros((*g.shape[:-1], size), g.dtype)
    given, totals = _flat(g), _flat(out)
    places, weights, nowhere = _within(places, weights)
    careful = nowhere is not None and not is_finite(g)
    for example, index in enumerate(places.reshape(len(places), -1)):
        positions: Any = None
        for block in _blocks(g.shape[-2], index.size * 2, 8):
            share = given[example, block, None] * weights[example]
            if careful:
                np.copyto(share, 0, where=nowhere[example])
            if positions is None or len(positions) != len(share):
                positions = np.arange(0, len(share) * size, size)[:, None] + index
            np.add.at(totals[example, block].reshape(-1), positions.ravel(), share.ravel())
    return out


def _matched(places: Value, x: Value, g: Cotangent) -> Value:
    """Sums over the channels of the elements at places times g: (..., taps, p)."""
    out = np.zeros(places.shape, x.dtype)
    rows, given, sums = _flat(x), _flat(g), _flat(out)
    for example, index in enumerate(np.maximum(_flat(places), 0).reshape(len(sums), -1)):
        for block in _blocks(x.shape[-2], index.size, x.itemsize):
            found = rows[example, block].take(index, 1).reshape(-1, *out.shape[-2:])
            found *= given[example, block, None]
            sums[example] += np.add.reduce(found, 0)
    return np.where(places < 0, 0, out)


picked, spread, matched = Declared(_picked), Declared(_spread), Declared(_matched)


def _declare(made: Declared, *transposes: Function) -> None:
    made.rule = Multilinear(made, [_constant, *transposes], name=made.__name__, batch=made)
    name_nodes(made.rule, "GridSampler2DBackwardBackward0")


_declare(
    picked,
    lambda bar, _out, places, _weights, x: matched(places, x, bar),
    lambda bar, _out, places, weights, x: spread(places, weights, bar, size=x.shape[-1]),
)
_declare(
    spread,
    lambda bar, _out, places, _weights, g, size: matched(places, bar, g),
    lambda bar, _out, places, weights, _g, size: picked(places, weights, bar),
)
_declare(
    matched,
    lambda bar, _out, places, x, g: spread(places, bar, g, size=x.shape[-1]),
    lambda bar, _out, places, x, _g: picked(places, bar, x),
)

# --- Weights ------------------------------------------------------------------------------------


@functools.cache
def _polynomials(mode: str, order: int, dtype: Any) -> list[Any]:
    """The derivatives of the weights along one axis: (taps, 1) a power, the highest first."""
    t = np.polynomial.Polynomial([0.0, 1.0])
    made: Any = {"nearest": [t * 0 + 1], "bilinear": [1 - t, t], "bicubic": cubic_weights(t)}[mode]
    parts = [part.deriv(order) if order else part for part in made]
    rows = np.zeros((len(parts), 1 + max(part.degree() for part in parts)), dtype)
    for row, part in zip(rows, parts, strict=True):
        row[: len(part)] = part.coef
    return [np.ascontiguousarray(row)[:, None] for row in rows.T[::-1]]


@ruled(
    "GridSampler2DBackwardBackward0",
    General,
    vjp=lambda g, out, *where, **way: _pull_weights(g, out, *where, **way),
    arrays=3,
    name="grid_weights",
)
def weights_of(
    grid: Value, part: Value, slope: Value, *, mode: str, orders: tuple[int, ...]
) -> Value:
    """The weights of all taps: (..., taps, p), as derivatives of these orders by each axis.

    grid: (..., p, axes), which only has derivatives: `part` (..., p, axes) are its places after
    their whole numbers, and `slope` the derivatives of these by the grid.
    """
    total: Any = None
    for axis, order in enumerate(orders):
        t = part[..., None, :, axis]
        own, *rest = _polynomials(mode, order, part.dtype)
        for row in rest:
            own = own * t + row
        if not rest:
            own = np.zeros_like(t) + own
        total = own if total is None else _outer(np.multiply, total, own)
    return total


def _slopes(where: Values, mode: str, orders: tuple[int, ...]) -> Iterator[tuple[Value, Value]]:
    """For each axis the derivatives of the weights by its places, and of these by the grid."""
    for axis in range(len(orders)):
        more = tuple(order + (place == axis) for place, order in enumerate(orders))
        yield weights_of(*where, mode=mode, orders=more), where[2][..., axis]


def _pull_weights(
    g: Cotangent, _out: Value, *where: Value, mode: str, orders: tuple[int, ...]
) -> tuple[Cotangent, None, None]:
    sums = [
        np.sum(g * weights, axis=-2) * factor for weights, factor in _slopes(where, mode, orders)
    ]
    return np.stack(sums, -1), None, None


# --- Places -------------------------------------------------------------------------------------


class Located(NamedTuple):
    """Where the taps of samples are."""

    places: Value  # (..., taps, p) of whole numbers in the flattened axes, or NOWHERE
    part: Value  # (..., p, axes): the places after their whole numbers
    slope: Value  # (..., p or 1, axes): the derivatives of `part` by the grid


def _reflected(at: Value, low: Value, high: Value) -> tuple[Value, Value]:
    """Places mirrored at both ends until they lie between them, and the slope of that."""
    width, start = (high - low) / 2, low / 2  # the ends are given doubled, as whole numbers
    apart = at - start
    turns = np.floor(np.absolute(apart) / np.where(width == 0, 1, width))
    odd = turns % 2 == 1
    # Within a stretch: |at - start| - turns * width, or width minus it after an odd number.
    slope = np.where((apart < 0) != odd, -1, 1).astype(at.dtype)
    shift = np.where(odd, (turns + 1) * width, -turns * width) + start
    return np.where(width == 0, 0, apart * slope + shift), np.where(width == 0, 0, slope)


def _kept_within(at: Value, sides: Value, padding: str, aligned: bool) -> tuple[Value, Value]:
    """Places among the elements for those beyond the ends, and the slope of that."""
    slope = np.ones_like(at)
    if padding == "reflection":
        low, high = (0 * sides, 2 * (sides - 1)) if aligned else (0 * sides - 1, 2 * sides - 1)
        at, slope = _reflected(at, low, high)
    inside = (at > 0) & (at < sides - 1)
    return np.where(inside, at, np.clip(at, 0, sides - 1)), np.where(inside, slope, 0)


@silence()
def _located(grid: Value, sides: Sequence[int], mode: str, padding: str, aligned: bool) -> Located:
    """Where the taps are of a grid (..., p, axes) of untraced numbers, its axes as the sides'."""
    lengths = np.array(sides, grid.dtype).reshape((1,) * (grid.ndim - 1) + (-1,))
    if aligned:
        slope = (lengths - 1) / 2
        at = (grid + 1) * slope
    else:
        slope = lengths / 2
        at = ((grid + 1) * lengths - 1) / 2
    if padding != "zeros" and mode != "bicubic":
        at, factor = _kept_within(at, lengths, padding, aligned)
        slope = slope * factor
    low = np.rint(at) if mode == "nearest" else np.floor(at)
    offsets = {"nearest": [0], "bilinear": [0, 1], "bicubic": [-1, 0, 1, 2]}[mode]
    taps = low[..., None, :, :] + np.array(offsets, grid.dtype).reshape(-1, 1, 1)
    if padding != "zeros" and mode == "bicubic":
        taps, _ = _kept_within(taps, lengths, padding, aligned)
    each = taps.astype(np.int64)  # (..., taps, p, axes)
    whole = np.array(sides)
    within = np.maximum(np.minimum(each, whole - 1), 0)
    beyond = within != each if padding == "zeros" else None
    within = within * [math.prod(sides[axis + 1 :]) for axis in range(len(sides))]
    places, nowhere = within[..., 0], None if beyond is None else beyond[..., 0]
    for axis in range(1, len(sides)):
        places = _outer(np.add, places, within[..., axis])
        if beyond is not None:
            nowhere = _outer(np.logical_or, nowhere, beyond[..., axis])
    if nowhere is not None:
        places = np.where(nowhere, NOWHERE, places)
    return Located(places, at - low, slope)


def _outer(function: Function, x: Value, y: Value) -> Value:
    """A function of two arrays (..., taps, p), of each tap with each: (..., taps, p)."""
    made = function(x[..., :, None, :], y[..., None, :, :])
    return np.reshape(made, (*x.shape[:-2], x.shape[-2] * y.shape[-2], x.shape[-1]))


# --- Samples ------------------------------------------------------------------------------------


class Samples(General):
    """The rule of `sampled`: the sums over taps of x, with weights that depend on the grid."""

    def needs(self, wanted: Wanted) -> tuple[Sequence[bool], bool]:
        return [True, True], False

    def pull(
        self, g: Cotangent, out: Value, args: Values, params: Params, wanted: Wanted
    ) -> Sequence[Cotangent]:
        x, grid = args
        mode = params["mode"]
        rows, flat = _as_rows(x, grid)
        found, weights = _of_call(x, grid, flat, params)
        g = np.reshape(g, (*rows.shape[:-1], flat.shape[-2]))
        x_bar: Cotangent = None
        grid_bar: Cotangent = None
        if wanted[0]:
            x_bar = np.reshape(spread(found.places, weights, g, size=rows.shape[-1]), x.shape)
        if wanted[1] and mode == "nearest":
            grid_bar = grid * 0
        elif wanted[1]:
            bar = matched(found.places, rows, g)
            orders = (0,) * flat.shape[-1]
            where = flat, found.part, found.slope
            flat_bar = _pull_weights(bar, None, *where, mode=mode, orders=orders)[0]
            grid_bar = np.reshape(flat_bar[..., ::-1], grid.shape)
        return x_bar, grid_bar


def _as_rows(x: Value, grid: Value) -> tuple[Value, Value]:
    """x as (..., channels, size), the grid as (..., p, axes) in the order of x's axes."""
    axes = grid.shape[-1]
    lead, free = x.shape[: x.ndim - axes], grid.shape[: grid.ndim - 1 - axes]
    rows = np.reshape(x, (*lead, math.prod(x.shape[len(lead) :])))
    places = math.prod(grid.shape[len(free) : -1])
    return rows, np.reshape(grid[..., ::-1], (*free, places, axes))


def _found(x: Value, flat: Value, mode: str, padding: str, aligned: bool) -> tuple[Located, Value]:
    """Where the taps are, and their weights."""
    axes = flat.shape[-1]
    located = _located(untraced(flat), x.shape[x.ndim - axes :], mode, padding, aligned)
    orders = (0,) * axes
    return located, weights_of(flat, located.part, located.slope, mode=mode, orders=orders)


def _of_call(x: Value, grid: Value, flat: Value, params: Params) -> tuple[Located, Value]:
    """Result of `_found`, kept from the call unless this is differentiated."""
    kept = params["kept"]
    if kept.of is grid:
        return kept.found
    return _found(x, flat, params["mode"], params["padding"], params["aligned"])


def _of_examples(x: Value, grid: Value, kept: Found, **params: Any) -> Value:
    return _sampled(x, grid, kept=Found(), **params)


@ruled(
    "GridSampler2DBackward0",
    Samples,
    vjp=lambda g, _out, x, grid: (g, x, grid),
    arrays=2,
    name="grid_sample",
    batch=_of_examples,
)
def _sampled(
    x: Value, grid: Value, *, mode: str, padding: str, aligned: bool, kept: Found | None = None
) -> Value:
    rows, flat = _as_rows(x, grid)
    found, weights = _found(x, flat, mode, padding, aligned)
    if kept is not None and type(grid) is np.ndarray:
        kept.of, kept.found = grid, (found, weights)
    made = _picked(found.places, weights, rows)
    return made.reshape(*rows.shape[:-1], *grid.shape[grid.ndim - 1 - grid.shape[-1] : -1])


def sampled(x: Value, grid: Value, mode: str, padding: str, aligned: bool) -> Value:
    """Arrays (n, channels, sides...) read at a grid (n, places..., axes), as grid_sample does.

    mode: "nearest", "bilinear" (along any number of axes) or "bicubic". padding: "zeros", "border"
    or "reflection". aligned: -1 and 1 are the centres of the outermost elements. Returns (n,
    channels, places...).
    """
    return _sampled(x, grid, mode=mode, padding=padding, aligned=aligned, kept=Found())
