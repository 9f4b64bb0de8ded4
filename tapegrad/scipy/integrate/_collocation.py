"""Linear differential equations whose matrix can be had at many times in one call.

Knows Radau IIA collocation of any number of stages (Hairer and Wanner, Solving Ordinary
Differential Equations II, section IV.5) and when a solution is resolved. Must not know where a
matrix comes from, nor derivatives.

Sensitivities and adjoints of a known trajectory are such equations. A solver that goes step by
step would ask for one matrix after another, each by a pass of its own; here all steps ask at once.
"""

from __future__ import annotations

import bisect
import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

MOST_ROWS = 48  # of the equations of one cell: more cost more than steps of an explicit method
_COARSE = 10.0  # how far above the tolerances the end of a series may be
_MOST_CELLS = 20_000
_MOST_ROUNDS = 60


class UnresolvedError(Exception):
    """The equation has no solution here: another method must be taken."""


class Tableau(NamedTuple):
    """Nodes in (0, 1], the integrals of what interpolates there, and the ends of its series.

    last: from the values at 0 and at the nodes, the two last coefficients of Legendre's series.
    """

    nodes: Any
    integrals: Any
    last: Any


@functools.cache
def tableau(stages: int) -> Tableau:
    series = np.polynomial.legendre
    x = np.sort(np.real(series.legroots([*[0.0] * (stages - 1), -1.0, 1.0])))
    x[-1] = 1.0
    values = series.legvander(x, stages)
    indices = np.arange(1, stages)
    primitives = np.empty((stages, stages))
    primitives[:, 0] = x + 1
    primitives[:, 1:] = (values[:, 2:] - values[:, :-2]) / (2 * indices + 1)
    integrals = primitives @ np.linalg.inv(values[:, :stages]) / 2
    with_first = series.legvander(np.concatenate([[-1.0], x]), stages)
    return Tableau((x + 1) / 2, integrals, np.linalg.inv(with_first)[-2:])


def stages_for(rtol: float) -> int:
    """As many stages as let a cell be about as long as a step at such a tolerance."""
    return 5 if rtol > 1e-7 else 6 if rtol > 1e-9 else 8


class Solved(NamedTuple):
    """A solution: at the ends of all cells, and at the nodes within."""

    edges: Any
    values: Any  # at the edges, after what is added there
    stages: Any  # (cells, stages, size)

    def at(self, cells: Any, times: Any) -> Any:
        """The values (cells, k, size) at times (cells, k) in some cells, by index."""
        begins, ends = self.edges[:-1][cells], self.edges[1:][cells]
        along = (times - begins[:, None]) / (ends - begins)[:, None]
        nodes = np.concatenate([[0.0], tableau(self.stages.shape[1]).nodes])
        powers = np.linalg.inv(np.vander(nodes, increasing=True))
        known = np.concatenate([self.values[cells, None], self.stages[cells]], axis=1)
        return along[..., None] ** np.arange(len(nodes)) @ (powers @ known)


class _Cells:
    """Cells from one time to another, and what solves the equation in each.

    maps: (cells, stages, size, size), from the value at the begin to those at the nodes.
    """

    def __init__(self, begins: Any, ends: Any, times: Any, maps: Any) -> None:
        self.parts = (begins, ends, times, maps)
        self.begins, self.ends, self.times, self.maps = self.parts

    @classmethod
    def between(cls, begins: Any, ends: Any, matrices: Callable[[Any], Any], stages: int) -> Any:
        rule = tableau(stages)
        widths = ends - begins
        times = begins[:, None] + widths[:, None] * rule.nodes
        times[:, -1] = ends
        found = matrices(np.ravel(times))
        size = found.shape[-1]
        found = np.reshape(found, (len(begins), stages, size, size))
        rows = stages * size
        # Stage i is the first value and the integral to node i of what the stages make of it.
        coupled = np.einsum("k,ij,kjab->kiajb", -widths, rule.integrals, found, optimize=False)
        equations = np.reshape(coupled, (len(begins), rows, rows)) + np.eye(rows)
        if not np.isfinite(equations).all():
            raise UnresolvedError
        first = np.tile(np.eye(size), (stages, 1))
        try:
            maps = np.linalg.solve(equations, np.broadcast_to(first, (len(begins), rows, size)))
        except np.linalg.LinAlgError:
            raise UnresolvedError from None
        return cls(begins, ends, times, np.reshape(maps, (len(begins), stages, size, size)))

    def where(self, mask: Any) -> _Cells:
        return _Cells(*(part[mask] for part in self.parts))

    def joined(self, other: _Cells, *, falling: bool) -> _Cells:
        parts = [np.concatenate(pair) for pair in zip(self.parts, other.parts, strict=True)]
        order = np.argsort(-parts[0] if falling else parts[0], kind="stable")
        return _Cells(*(part[order] for part in parts))

    def swept(self, added: dict[float, Any], size: int) -> Any:
        """The values before each cell, with what is added there."""
        value = np.zeros(size)
        values = []
        for at, ends in zip(self.begins.tolist(), self.maps[:, -1], strict=True):
            if at in added:
                value = value + added[at]
            values.append(value)
            value = ends @ value
        return np.stack([*values, value + added.get(float(self.ends[-1]), 0.0)])


def solved(
    edges: Any,
    matrices: Callable[[Any], Any],
    added: dict[float, Any],
    *,
    rtol: float,
    atol: float,
) -> Solved:
    """The solution of v' = M(t) v from the first edge to the last, zero before the first.

    edges: times in the order of the way, which may fall. matrices: M (times, size, size) at an
    array of times. added: what is added to v at some of the edges. A cell is halved until the
    ends of its series are below the tolerances. Raises UnresolvedError where that takes too many.
    """
    size = len(next(iter(added.values())))
    stages = stages_for(rtol)
    cells = _Cells.between(edges[:-1], edges[1:], matrices, stages)
    least = 1e-14 * np.max(np.abs(edges))
    for _ in range(_MOST_ROUNDS):
        values = cells.swept(added, size)
        inside = np.einsum("kiab,kb->kia", cells.maps, values[:-1])
        if not np.isfinite(inside).all():
            raise UnresolvedError
        coarse = _coarse(values[:-1], inside, stages, rtol, atol)
        coarse &= np.abs(cells.ends - cells.begins) > least
        if not coarse.any():
            edges = np.concatenate([cells.begins, cells.ends[-1:]])
            return Solved(edges, values, inside)
        if len(coarse) + np.count_nonzero(coarse) > _MOST_CELLS:
            break
        begins, ends = cells.begins[coarse], cells.ends[coarse]
        middle = begins + (ends - begins) / 2
        halves = _Cells.between(
            np.concatenate([begins, middle]), np.concatenate([middle, ends]), matrices, stages
        )
        cells = cells.where(~coarse).joined(halves, falling=edges[-1] < edges[0])
    raise UnresolvedError


class Interpolated:
    """A matrix as a function of time, by polynomials between some edges.

    A cell is halved until the ends of its series are below `rtol` of the largest element. Raises
    UnresolvedError where that takes too many.
    """

    def __init__(self, edges: Any, matrices: Callable[[Any], Any], rtol: float) -> None:
        self.rule = tableau(stages_for(rtol))
        self.matrices, self.rtol = matrices, rtol
        low, high, found = self._series(np.sort(edges))
        order = np.argsort(low)
        self.low, self.wide = low[order].tolist(), (high - low)[order].tolist()
        self.series = found[order]
        self.degrees = np.arange(self.series.shape[1])

    def __call__(self, t: float) -> Any:
        at = max(bisect.bisect_right(self.low, t) - 1, 0)
        powers = ((t - self.low[at]) / self.wide[at]) ** self.degrees
        series = self.series[at]
        return (powers @ series.reshape(len(powers), -1)).reshape(series.shape[1:])

    def _series(self, edges: Any) -> tuple[Any, Any, Any]:
        """The cells' ends, and the coefficients (cells, degrees, size, size) of powers in each."""
        nodes = self.rule.nodes
        count = len(nodes)
        last = np.linalg.inv(np.polynomial.legendre.legvander(2 * nodes - 1, count - 1))[-2:]
        powers = np.linalg.inv(np.vander(nodes, increasing=True))
        low, high, kept = edges[:-1], edges[1:], []
        largest, least = 0.0, 1e-14 * np.max(np.abs(edges))
        for _ in range(_MOST_ROUNDS):
            times = low[:, None] + (high - low)[:, None] * nodes
            found = self.matrices(np.ravel(times))
            found = np.reshape(found, (*times.shape, -1))
            if not np.isfinite(found).all():
                raise UnresolvedError
            largest = max(largest, np.max(np.abs(found)))
            ends = np.max(np.abs(np.einsum("ci,kia->kca", last, found)), axis=2)
            coarse = (ends[:, 1] + 0.1 * ends[:, 0] > self.rtol * largest) & (high - low > least)
            fine = ~coarse
            series = np.einsum("di,kia->kda", powers, found[fine])
            kept.append((low[fine], high[fine], series))
            if fine.all():
                low, high, series = map(np.concatenate, zip(*kept, strict=True))
                size = math.isqrt(series.shape[2])
                return low, high, np.reshape(series, (*series.shape[:2], size, size))
            if 2 * np.count_nonzero(coarse) > _MOST_CELLS:
                break
            low, high = low[coarse], high[coarse]
            middle = low + (high - low) / 2
            low, high = np.concatenate([low, middle]), np.concatenate([middle, high])
        raise UnresolvedError


def _coarse(first: Any, inside: Any, stages: int, rtol: float, atol: float) -> Any:
    """Whether a cell does not resolve the solution, by the end of its series."""
    all_values = np.concatenate([first[:, None], inside], axis=1)
    last = np.abs(np.einsum("ci,kia->kca", tableau(stages).last, all_values))
    error = last[:, 1] + 0.1 * last[:, 0]
    scale = atol + rtol * np.max(np.abs(all_values), axis=1)
    # Of the ends of cells and of integrals the errors are far smaller: of order 2 stages - 1.
    return np.mean((error / scale) ** 2, axis=1) > _COARSE**2


__all__ = ["MOST_ROWS", "Interpolated", "Solved", "UnresolvedError", "solved", "stages_for"]
