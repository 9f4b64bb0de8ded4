"""Images in another size: linear maps along axes, one after the other, and their transposes.

Knows arrays and rules, and where each way of interpolation takes an element from. Must not know
Tensor or modules.

A new element is a sum of few old ones, its taps, times weights: a table of positions and one of
weights. The transpose of such a map is one of the same kind, so one rule serves both directions.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tapegrad._core.fit import is_finite
from tapegrad._core.forms import Linear
from tapegrad._core.types import Value
from tapegrad.torch._rules.declare import ruled

# A product with a dense matrix is faster than a sum over taps where these are many, or the axis is
# short: it adds many zeros, but reads nothing out of order.
FEW = 6
SHORT = 128


class Taps:
    """A linear map along one axis: out[i] is the sum over k of weights[i, k] * x[places[i, k]]."""

    def __init__(self, size: int, places: Value, weights: Value) -> None:
        self.size = size  # of the axis before
        self.places = places
        self.weights = weights

    @functools.cached_property
    def transposed(self) -> Taps:
        """The map in the other direction."""
        count, taps = self.places.shape
        rows = np.repeat(np.arange(count), taps)
        columns, weights = self.places.ravel(), self.weights.ravel()
        used = weights != 0
        order = np.argsort(columns[used], kind="stable")
        rows, columns, weights = (part[used][order] for part in (rows, columns, weights))
        number = np.bincount(columns, minlength=self.size)
        position = np.arange(len(columns)) - np.repeat(np.cumsum(number) - number, number)
        shape = (self.size, int(number.max(initial=0)))
        places, factors = np.zeros(shape, np.int64), np.zeros(shape)
        places[columns, position] = rows
        factors[columns, position] = weights
        return Taps(count, places, factors)

    @functools.cached_property
    def matrix(self) -> Value:
        """The map as a dense matrix."""
        count, taps = self.places.shape
        made = np.zeros((count, self.size))
        np.add.at(
            made, (np.repeat(np.arange(count), taps), self.places.ravel()), self.weights.flat
        )
        return made

    @functools.cached_property
    def matrices(self) -> dict[Any, Value]:
        """The dense matrix by dtype, as far as it was asked for."""
        return {}

    def apply(self, x: Value, axis: int) -> Value:
        """The map along an axis of an array."""
        taps = self.places.shape[1]
        if x.dtype.kind not in "fc":
            return np.take(x, self.places[:, 0], axis)
        if taps > FEW or (taps > 1 and self.size <= SHORT):
            made = self._multiplied(x, axis)
            # A zero of the matrix makes NaN of what is infinite, wherever that is.
            return made if is_finite(min(x, made, key=np.size)) else self._added(x, axis)
        return self._added(x, axis)

    def _multiplied(self, x: Value, axis: int) -> Value:
        matrix = self.matrices.get(x.dtype)
        if matrix is None:
            matrix = self.matrices[x.dtype] = self.matrix.astype(x.dtype)
        if axis == x.ndim - 1:
            return np.matmul(x, matrix.T)
        rest = x.shape[axis + 1 :]
        made = np.matmul(matrix, x.reshape(*x.shape[: axis + 1], math.prod(rest)))
        return made.reshape(*made.shape[:-1], *rest)

    def _added(self, x: Value, axis: int) -> Value:
        beside = (-1, *(1,) * (x.ndim - 1 - axis))
        total = np.zeros((*x.shape[:axis], len(self.places), *x.shape[axis + 1 :]), x.dtype)
        for tap, column in enumerate(self.weights.T):
            part = np.take(x, self.places[:, tap], axis)
            if not np.all(column == 1):
                weights = column.reshape(beside)
                part *= weights.astype(x.dtype)
                if not np.all(column) and not is_finite(part):
                    np.copyto(part, 0, where=weights == 0)
            total = part if tap == 0 else total + part
        return total


def _transpose(g: Value, _out: Value, _x: Value, tables: tuple[Taps, ...]) -> Value:
    return resampled(g, tables=tuple(taps.transposed for taps in tables))


@ruled("UpsampleBackward0", Linear, [_transpose], arrays=1)
def resampled(x: Value, tables: tuple[Taps, ...]) -> Value:
    """The last axes of an array, each mapped by a table."""
    for place, taps in enumerate(reversed(tables)):
        x = taps.apply(x, x.ndim - 1 - place)
    return x


# --- Where elements are taken from --------------------------------------------------------------

KNOWN = 256  # how many tables are remembered of each kind


class Scaling(NamedTuple):
    """One axis in another size."""

    size: int  # before
    length: int  # after
    factor: float | None  # as given by the caller, where it decides where elements lie
    aligned: bool  # whether the first and last elements stay where they are

    @property
    def step(self) -> float:
        """The distance of new elements, measured in old ones."""
        if self.aligned:
            return (self.size - 1) / (self.length - 1) if self.length > 1 else 0.0
        return self.ratio

    @property
    def ratio(self) -> float:
        """The distance where corners are not aligned."""
        if self.factor is not None and self.factor > 0:
            return 1.0 / self.factor
        return self.size / self.length if self.length else 0.0

    def sources(self) -> Value:
        """Where the new elements lie among the old ones."""
        places = np.arange(self.length, dtype=np.float64)
        return places * self.step if self.aligned else (places + 0.5) * self.step - 0.5


@functools.lru_cache(KNOWN)
def nearest(way: Scaling, kind: type[np.floating[Any]], whole: bool) -> Taps:
    """The element at or before each place; computed in the dtype `kind`, as PyTorch does.

    whole: where the size stays, or doubles, elements stay or double, whatever the factor given is.
    """
    if whole and way.length in (way.size, 2 * way.size):
        return _picked(way, np.arange(way.length) // (way.length // way.size))
    return _picked(way, np.arange(way.length, dtype=kind) * kind(way.ratio))


@functools.lru_cache(KNOWN)
def nearest_exact(way: Scaling, kind: type[np.floating[Any]]) -> Taps:
    """The element whose centre is nearest to that of the new one."""
    return _picked(way, (np.arange(way.length, dtype=kind) + kind(0.5)) * kind(way.ratio))


def _picked(way: Scaling, places: Value) -> Taps:
    whole = places.astype(np.float32).astype(np.int64)  # rounded to single precision, as PyTorch's
    found = np.minimum(whole, way.size - 1)[:, None]
    return Taps(way.size, found, np.ones(found.shape))


@functools.lru_cache(KNOWN)
def linear(way: Scaling) -> Taps:
    """A straight line between two neighbours."""
    if way.size == way.length:
        same = np.arange(way.length)[:, None]
        return Taps(way.size, same, np.ones(same.shape))
    source = np.maximum(way.sources(), 0)
    low = np.minimum(source.astype(np.int64), way.size - 1)
    part = np.clip(source - low, 0, 1)
    places = np.stack([low, np.minimum(low + 1, way.size - 1)], 1)
    return Taps(way.size, places, np.stack([1 - part, part], 1))


def cubic_weights(part: Value, sharpness: float = -0.75) -> list[Value]:
    """The weights of the four neighbours around a place (Keys, 1981); part: its fraction.

    Written so that `part` may be traced.
    """
    a = sharpness

    def near(t: Value) -> Value:
        return ((a + 2) * t - (a + 3)) * t * t + 1

    def far(t: Value) -> Value:
        return ((a * t - 5 * a) * t + 8 * a) * t - 4 * a

    return [far(part + 1), near(part), near(1 - part), far(2 - part)]


@functools.lru_cache(KNOWN)
def cubic(way: Scaling) -> Taps:
    """A cubic through four neighbours; beyond the ends the last elements repeat."""
    source = way.sources()
    low = np.floor(source)
    places = np.clip(low[:, None].astype(np.int64) + np.arange(-1, 3), 0, way.size - 1)
    return Taps(way.size, places, np.stack(cubic_weights(source - low), 1))


@functools.lru_cache(KNOWN)
def area(way: Scaling) -> Taps:
    """The mean of all elements that a new one covers, at least in part."""
    starts = np.arange(way.length) * way.size // max(way.length, 1)
    ends = -(-(np.arange(1, way.length + 1) * way.size) // max(way.length, 1))
    width = int((ends - starts).max(initial=0))
    offsets = np.arange(width)
    inside = offsets < (ends - starts)[:, None]
    places = np.where(inside, starts[:, None] + offsets, 0)
    return Taps(way.size, places, inside / np.maximum(ends - starts, 1)[:, None])


# --- Without aliasing ---------------------------------------------------------------------------


def _triangle(x: Value) -> Value:
    return np.maximum(1 - np.absolute(x), 0)


def _bicubic(x: Value) -> Value:
    x, a = np.absolute(x), -0.5
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return np.where(x < 1, near, np.where(x < 2, far, 0))


def _lanczos(x: Value) -> Value:
    return np.where(np.absolute(x) < 3, np.sinc(x) * np.sinc(x / 3), 0)


FILTERS: dict[str, tuple[Callable[[Value], Value], int]] = {
    "bilinear": (_triangle, 2),
    "bicubic": (_bicubic, 4),
    "lanczos": (_lanczos, 6),
}


@functools.lru_cache(KNOWN)
def filtered(way: Scaling, word: str) -> Taps:
    """Weights of a filter that is as wide as a new element, if that is the larger one."""
    weight_of, width = FILTERS[word]
    step = way.step
    wide = max(step, 1.0)
    support = width * 0.5 * wide
    centres = step * (np.arange(way.length) + 0.5)
    starts = np.maximum((centres - support + 0.5).astype(np.int64), 0)
    ends = np.minimum((centres + support + 0.5).astype(np.int64), way.size)
    most = math.ceil(support) * 2 + 1
    count = np.clip(ends - starts, 0, most)
    offsets = np.arange(int(count.max(initial=0)))
    places = starts[:, None] + offsets
    inside = offsets < count[:, None]
    weights = np.where(inside, weight_of((places - centres[:, None] + 0.5) / wide), 0)
    totals = weights.sum(1, keepdims=True)
    weights = weights / np.where(totals == 0, 1, totals)
    return Taps(way.size, np.where(inside, places, 0), weights)
