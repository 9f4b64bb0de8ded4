"""The derivative of a call along a direction, for those elements of its results that have one.

Knows functions of leaves and measurements. Must not know tapes, nor what is compared with the
derivative.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tapegrad._core.quiet import silence
from tapegrad._core.types import Tangent, Value
from tapegrad.testing._measuring.bounds import SAFETY
from tapegrad.testing._measuring.directions import FlatFunction, direction
from tapegrad.testing._measuring.levels import slope_at
from tapegrad.testing._measuring.lines import Line, unpack, widened
from tapegrad.testing._measuring.measure import measure
from tapegrad.testing._measuring.tolerances import resolution_of
from tapegrad.testing._measuring.verdicts import SMOOTH


class Slope(NamedTuple):
    """The slopes of the results along a direction, and how far off they may be.

    An error is infinite where there is no slope: at kinks, jumps, edges, in noise.
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
        self.leaves, outs = widened(function, leaves)
        self.value = function(*(leaf.copy() for leaf in self.leaves)) if outs is None else outs
        self.eps = resolution_of(*self.leaves, *self.value)

    def at_once(self, dots: Sequence[Tangent]) -> Slope | None:
        """The slopes at one step, with the error that they have of a function of no large bends.

        None where numbers are too coarse for that.
        """
        if self.eps > np.finfo(np.float64).eps:
            return None
        step = self.eps**0.25
        line = Line(self.function, self.leaves, dots, value=self.value, widen=None)
        with silence():
            values = unpack(slope_at(line, step), self.value)
        relative = 100 * self.eps / step
        sizes = [float(np.max(np.abs(value), initial=0.0)) for value in values]
        errors = [
            np.full(value.shape, relative * size)
            for value, size in zip(values, sizes, strict=True)
        ]
        return Slope(values, errors)

    def along(self, dots: Sequence[Tangent]) -> Slope:
        """The slopes along a direction; each of its elements should be of the size of its leaf."""
        line = Line(self.function, self.leaves, dots, value=self.value, widen=None)
        found = measure(line, line.precision, line.resolution)
        error = np.where(found.verdict == SMOOTH, SAFETY * found.error, np.inf)
        errors = [np.abs(each.real) + np.abs(each.imag) for each in unpack(error, self.value)]
        return Slope(unpack(found.slope, self.value), errors)


def sized_direction(random: np.random.Generator, like: Value) -> Value:
    """A random direction, each element of the size of the leaf's: a step moves none too far."""
    sizes = np.abs(like).astype(like.real.dtype)
    known = sizes[(sizes > 0) & np.isfinite(sizes)]
    typical = np.median(known) if known.size else sizes.dtype.type(1)
    scale = np.maximum(np.where(sizes == 0, typical, sizes), 1e-6 * typical)
    scale = np.where(np.isfinite(sizes), scale, 0)  # what is no number has no other near it
    return np.asarray(direction(random, like) * scale).astype(like.dtype)


__all__ = ["Differences", "Slope", "sized_direction"]
