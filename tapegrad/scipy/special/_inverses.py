"""Rules of distribution functions and of all their inverses, from one table of slopes each.

A distribution function F has parameters, each with a slope. Where F(..., x) = p is solved for any
of them, the implicit function theorem gives the derivatives by the others and by p. Must not know
single distributions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tapegrad._core.forms import elementwise
from tapegrad._core.types import Value
from tapegrad._core.values import untraced
from tapegrad.scipy.special._primitives import unbounded, widened

# Where no number solves an equation for a count or a shape, SciPy answers an end of its search,
# which does not move with the arguments. At a probability of 0 or 1 that end is a solution, from
# which the one of a neighbour moves away: no derivative is known there.
_LOWEST, _HIGHEST, _OF_STUDENT = 1e-300, 1e100, 1e10
_POINTS = ("x", "t", "f", "r", "m")  # are found without a search

LOWER, UPPER = "p", "q"  # what a signature calls a probability, and its complement


class Distribution(NamedTuple):
    """The slopes of a distribution function by its parameters, functions of all of them."""

    parameters: tuple[str, ...]
    slopes: tuple[Callable[..., Value], ...]

    def slope(self, name: str, values: dict[str, Value]) -> Value:
        found = self.slopes[self.parameters.index(name)]
        return found(*[values[parameter] for parameter in self.parameters])


def distribution(**slopes: Callable[..., Value]) -> Distribution:
    return Distribution(tuple(slopes), tuple(slopes.values()))


def tail(ufunc: Any, law: Distribution, sign: int = 1) -> None:
    """Declare a distribution function, or with sign -1 its complement."""
    partials = [
        widened(
            (lambda _out, *args, slope=slope: slope(*args))
            if sign > 0
            else (lambda _out, *args, slope=slope: -slope(*args))
        )
        for slope in law.slopes
    ]
    elementwise(ufunc, *partials, strong=True)


def inverse(ufunc: Any, law: Distribution, signature: str) -> None:
    """Declare an inverse: "a b p -> x" gives the x at which the function of a, b, x is p.

    With q in place of p its complement is q.
    """
    arguments, _, solved = signature.partition(" -> ")
    names = arguments.split()

    def partial_by(name: str) -> Callable[..., Value]:
        def partial(out: Value, *args: Value) -> Value:
            values = dict(zip(names, args, strict=True))
            values[solved] = out
            stuck = _at_an_end(solved, untraced(out))
            values[solved] = np.where(stuck, 1.0, out)
            chance = untraced(values.get(LOWER, values.get(UPPER)))
            end = stuck & ((chance == 0) | (chance == 1))
            flat = np.where(end, np.nan, np.inf)
            steepness = np.where(stuck, flat, law.slope(solved, values))
            if name in (LOWER, UPPER):
                return unbounded((1.0 if name == LOWER else -1.0) / steepness, values[name])
            change = np.where(stuck, 0.0, law.slope(name, values))
            still = (untraced(change) == 0) & (untraced(steepness) == 0)  # at an end
            return -np.where(still, 0.0, change) / np.where(still, 1.0, steepness)

        return widened(partial)

    elementwise(ufunc, *map(partial_by, names), strong=True)


def _at_an_end(solved: str, out: Value) -> Any:
    if solved in _POINTS:
        return False
    return (np.absolute(out) < _LOWEST) | (out == _OF_STUDENT) | (out >= _HIGHEST)


__all__ = ["Distribution", "distribution", "inverse", "tail"]
