"""The derivative of a plain function along a direction, with an error estimate of its own.

Knows plain NumPy and differences. Must not know tapes, nor what is compared with the derivative.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tapegrad._core.types import Tangent, Value
from tapegrad.testing._measuring.directions import FlatFunction, direction, widened

# Fractions of the direction: each step is an eighth of the one before.
STEPS = tuple(2.0**-power for power in (6, 9, 12, 15))
SETTLED = 1e-9  # of the size of a result's slopes: no smaller step is tried
HOPELESS = 1e-3  # of the same size: differences that depart so far between two steps are no slope


class Slope(NamedTuple):
    """The slopes of the results along a direction, and how far off they may be.

    An error is infinite where differences do not settle, or where the slopes before and behind
    the point differ: a kink.
    """

    values: list[Any]
    errors: list[Any]

    def settled(self) -> list[Any]:
        """For each element of the results whether it has a slope."""
        return [np.isfinite(error) for error in self.errors]


class Differences:
    """Differences of a function at a point, in the widest precision in which it computes."""

    def __init__(self, function: FlatFunction, leaves: Sequence[Value]) -> None:
        self.function = function
        self.leaves = widened(function, leaves)
        self.eps = max((float(np.finfo(leaf.dtype).eps) for leaf in self.leaves), default=0.0)
        self.base = function(*self.leaves)
        for out in self.base:  # a function that rounds to a narrower dtype has its noise
            self.eps = max(self.eps, float(np.finfo(out.dtype).eps))

    def along(self, dots: Sequence[Tangent]) -> Slope:
        """The slopes along a direction; each of its elements should be of the size of its leaf."""
        wide = [dot.astype(leaf.dtype) for dot, leaf in zip(dots, self.leaves, strict=True)]
        rows: list[list[_Row]] = []
        pairs: list[Any] = []
        for step in STEPS:
            rows.append(self._row(wide, step))
            if len(rows) > 1:
                pairs = [
                    _pair(wider, narrower, self.eps)
                    for wider, narrower in zip(*rows[-2:], strict=True)
                ]
                if all(pair.good for pair in pairs):
                    break
        if not all(pair.good for pair in pairs):
            pairs = [self._best([row[i] for row in rows]) for i in range(len(self.base))]
        return Slope([pair.value for pair in pairs], [pair.error for pair in pairs])

    def _best(self, rows: list[_Row]) -> _Pair:
        """Of the pairs of neighbouring steps the one whose slopes agree best on the whole."""
        pairs = [_pair(*both, self.eps) for both in itertools.pairwise(rows)]
        return min(pairs, key=lambda pair: pair.badness)

    def _row(self, dots: Sequence[Tangent], step: float) -> list[_Row]:
        outs = {}
        for at in (-2, -1, 1, 2):
            moved = [
                x + np.asarray(at * step).astype(x.real.dtype) * dot
                for x, dot in zip(self.leaves, dots, strict=True)
            ]
            outs[at] = [_wide(out) for out in self.function(*moved)]
            if [out.shape for out in outs[at]] != [out.shape for out in self.base]:
                outs[at] = [np.full(out.shape, np.nan) for out in self.base]
        found = []
        for i, out in enumerate(self.base):
            here = _wide(out)
            near, far = outs[1][i] - outs[-1][i], outs[2][i] - outs[-2][i]
            bend = np.abs((outs[1][i] - here) - (here - outs[-1][i])) / step
            found.append(_Row((8 * near - far) / (12 * step), bend, np.abs(here), step))
        return found


class _Row(NamedTuple):
    """What one step says of one result."""

    slope: Any
    bend: Any  # by how much the slopes on both sides of the point differ
    size: Any  # of the result
    step: float


class _Pair(NamedTuple):
    """What two steps, the second an eighth of the first, say of one result."""

    value: Any
    error: Any
    good: bool
    badness: float


def _pair(wide: _Row, narrow: _Row, eps: float) -> _Pair:
    apart = np.abs(wide.slope - narrow.slope)
    rounding = 30 * eps * narrow.size / narrow.step
    sizes = np.abs(narrow.slope)[np.isfinite(apart)]
    scale = float(np.max(sizes, initial=0.0))
    floor = float(np.max(rounding[np.isfinite(rounding)], initial=0.0))
    # Of a smooth function the bend is proportional to the step; that of a kink stays.
    bent = (narrow.bend > 0.4 * wide.bend) & (narrow.bend > 1e-5 * scale + 10 * rounding)
    lost = ~np.isfinite(apart) | (apart > HOPELESS * scale + floor) | bent
    usual = float(np.sqrt(np.mean(apart[~lost] ** 2))) if np.any(~lost) else 0.0
    error = np.where(lost, np.inf, 3 * apart + 3 * usual + rounding)
    allowed = SETTLED * scale + floor
    good = not np.any(lost) and bool(np.all(apart <= allowed))
    badness = float(np.mean(lost)) * 1e3 + usual / (scale or 1.0) if apart.size else 0.0
    return _Pair(narrow.slope, error, good, badness)


def _wide(out: Value) -> Any:
    dtype = np.clongdouble if out.dtype.kind == "c" else np.longdouble
    return np.asarray(out).astype(dtype)


def sized_direction(random: np.random.Generator, like: Value) -> Value:
    """A random direction, each element of the size of the leaf's: a step moves none too far."""
    sizes = np.abs(like).astype(like.real.dtype)
    known = sizes[(sizes > 0) & np.isfinite(sizes)]
    typical = np.median(known) if known.size else sizes.dtype.type(1)
    scale = np.maximum(np.where(sizes == 0, typical, sizes), 1e-6 * typical)
    scale = np.where(np.isfinite(sizes), scale, 0)  # what is no number has no other near it
    return np.asarray(direction(random, like) * scale).astype(like.dtype)


__all__ = ["Differences", "Slope", "sized_direction"]
