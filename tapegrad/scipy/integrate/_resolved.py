"""Integrals of what a known solution multiplies, by cells that are halved until they resolve it.

Knows a quadrature, the error of each of its sums, and which cells that error comes from. Must not
know what is integrated, nor derivatives.

The steps of a solution say nothing of these integrals: a control that is zero so far moves no
state, and the steps pass over all the times at which it would act.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from tapegrad.scipy.integrate._collocation import UnresolvedError, stages_for

_COARSE = 1.0  # how far above the tolerances the ends of series may be
_FINE = 0.1  # what a cell may leave, of the error that all may have together
_NOISE = 1e-12  # of the largest in a cell: below it is rounding
_MOST_ELEMENTS = 4_000_000  # of the values at the nodes, in one call
_MOST_CELLS = 20_000
_MOST_ROUNDS = 60


class Linear(Protocol):
    """A linear function of some parameters at each time: what is integrated is its transpose."""

    def cotangents(self, times: Any, values: Any, weights: Sequence[Any]) -> list[list[Any]]:
        """The cotangents of `values` (times, size), summed with each of some weights (times,)."""

    def tangents(self, times: Any, direction: Sequence[Any]) -> Any:
        """The function (times, size) of a direction of the parameters."""


class _Cells(NamedTuple):
    """Cells, and the indices of the given cells in which they lie."""

    begins: Any
    ends: Any
    within: Any

    @property
    def widths(self) -> Any:
        return self.ends - self.begins

    def where(self, mask: Any) -> _Cells:
        return _Cells(*(part[mask] for part in self))

    def halves(self) -> _Cells:
        middle = self.begins + self.widths / 2
        return _Cells(
            np.concatenate([self.begins, middle]),
            np.concatenate([middle, self.ends]),
            np.tile(self.within, 2),
        )


class _Integral:
    def __init__(self, linear: Linear, values: Callable[[Any, Any], Any], stages: int) -> None:
        self.linear, self.values = linear, values
        # Of Lobatto: no jump hides before the first node or after the last.
        legendre = np.polynomial.legendre
        inner = np.real(legendre.legroots(legendre.legder([0.0] * stages + [1.0])))
        series = legendre.legvander(np.concatenate([[-1.0], np.sort(inner), [1.0]]), stages)
        self.nodes = (series[:, 1] + 1) / 2
        self.weights = 1 / (stages * (stages + 1) * series[:, -1] ** 2)
        # Of the series of what is integrated. Of a jump, one of them alone may be nothing.
        self.ends = np.linalg.inv(series)[-2:] * [[0.3], [1.0]]
        self.generator = np.random.default_rng(0)

    def at(self, cells: _Cells) -> tuple[Any, Any]:
        """The times (cells, nodes), and what is multiplied there."""
        times = cells.begins[:, None] + cells.widths[:, None] * self.nodes
        return times, self.values(cells.within, times)

    def sums(self, cells: _Cells, *, error: bool = True) -> list[list[Any]]:
        """The integrals over all cells, then sums of the ends of their series, drawn twice."""
        parts = [self._sums(part, error=error) for part in self.parts(cells)]
        return [
            [functools.reduce(np.add, sums) for sums in zip(*each, strict=True)]
            for each in zip(*parts, strict=True)
        ]

    def parts(self, cells: _Cells) -> Iterator[_Cells]:
        """Some of the cells after others: as many as need no more memory than is there."""
        size = self.values(cells.within[:1], cells.begins[:1, None]).shape[-1]
        at_once = max(1, _MOST_ELEMENTS // (size * len(self.nodes)))
        for first in range(0, len(cells.begins), at_once):
            yield cells.where(slice(first, first + at_once))

    def _sums(self, cells: _Cells, *, error: bool) -> list[list[Any]]:
        times, values = self.at(cells)
        weights = [np.ravel(cells.widths[:, None] * self.weights)]
        if error:
            draws = self.drawn((2, len(times), 2)) @ self.ends
            weights += [np.ravel(cells.widths[:, None] * draw) for draw in draws]
        flat = np.reshape(values, (times.size, -1))
        return self.linear.cotangents(np.ravel(times), flat, weights)

    def drawn(self, shape: Any) -> Any:
        """Numbers of both signs and different sizes, so that sums of errors do not vanish."""
        sizes = self.generator.uniform(0.5, 1.5, shape)
        return np.where(self.generator.uniform(size=shape) < 0.5, -sizes, sizes)

    def coarse(self, cells: _Cells, wanted: Sequence[Any]) -> Any:
        """The cells that errors come from. wanted: by what each parameter's errors count."""
        direction = [self.drawn(np.shape(w)) * w for w in wanted]
        found = [self._ends(part, direction) for part in self.parts(cells)]
        ends, largest = (np.concatenate(parts) for parts in zip(*found, strict=True))
        errors = np.abs(cells.widths) * ends
        least = min(_FINE, 0.5 * np.max(errors))
        return (errors >= least) & (ends > _NOISE * largest)

    def _ends(self, cells: _Cells, direction: Sequence[Any]) -> tuple[Any, Any]:
        """The ends of the series along a direction of the parameters, and the largest values."""
        times, values = self.at(cells)
        moved = np.reshape(self.linear.tangents(np.ravel(times), direction), values.shape)
        products = np.sum(values * moved, axis=2)
        ends = np.sum(np.abs(products @ self.ends.T), axis=1)
        return ends, np.max(np.abs(products), axis=1)


def resolved(
    linear: Linear,
    begins: Any,
    ends: Any,
    values: Callable[[Any, Any], Any],
    *,
    rtol: float,
    atol: float,
) -> list[Any]:
    """The integrals over all cells of the cotangents of `values`, one for each parameter.

    values: of indices (cells) and times (cells, k) in those cells, (cells, k, size).
    Raises UnresolvedError where that takes too many cells.
    """
    integral = _Integral(linear, values, stages_for(rtol))
    cells = _Cells(begins, ends, np.arange(len(begins)))
    found, *drawn = integral.sums(cells)
    errors = _largest(drawn)
    least = 1e-14 * max(np.max(np.abs(begins)), np.max(np.abs(ends)))
    for _ in range(_MOST_ROUNDS):
        pairs = zip(found, errors, strict=True)
        wanted = [_wanted(sums, error, rtol, atol) for sums, error in pairs]
        if not any(w.any() for w in wanted):
            return found
        coarse = integral.coarse(cells, wanted) & (np.abs(cells.widths) > least)
        if not coarse.any():
            return found
        cells = cells.where(coarse)
        if 2 * len(cells.begins) > _MOST_CELLS:
            break
        [before] = integral.sums(cells, error=False)
        cells = cells.halves()
        after, *drawn = integral.sums(cells)
        errors = _largest([*drawn, [0.1 * error for error in errors]])
        found = [a - b + c for a, b, c in zip(found, before, after, strict=True)]
    raise UnresolvedError


def _largest(draws: Sequence[Sequence[Any]]) -> list[Any]:
    """The sizes of the errors: those of one draw may cancel."""
    each = zip(*draws, strict=True)
    return [functools.reduce(np.maximum, map(np.abs, errors)) for errors in each]


def _wanted(sums: Any, errors: Any, rtol: float, atol: float) -> Any:
    """By what the errors of a parameter's elements count: zero where they are small enough."""
    allowed = _COARSE * (atol + rtol * np.abs(sums))
    allowed = np.maximum(allowed, _NOISE * np.max(errors, initial=0.0) or 1.0)
    return np.where(errors > allowed, 1 / allowed, 0.0)


__all__ = ["Linear", "resolved"]
