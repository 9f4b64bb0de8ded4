"""A function of a number looked at in places around 0, at steps of one size: slopes and noise.

Knows functions of a number that return vectors of real numbers. Must not know what follows from
several steps.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

Vector = Any
Path = Callable[[float], Vector]

PLACES = (-3, -2, -1, 1, 2, 3)


class Level(NamedTuple):
    """One step, and what was found at it."""

    step: float
    central: Vector
    central_low: Vector  # by a formula of lower order
    right: Vector
    right_low: Vector
    left: Vector
    left_low: Vector
    noise: Vector
    largest: Vector  # of the values seen
    reach: Vector  # of their differences from the one in the middle
    is_flat: Vector  # no value differs
    differs: Vector  # the outermost values differ from the middle one, both
    changes: Vector  # the differences from the one in the middle, a row for each place


SAID = Level._fields[1:8]  # the slopes and the noise


def slope_at(path: Path, step: float) -> Vector:
    """The slope at 0 by four places around it: the error is of order step^4, and not known."""
    one, two = (path(k * step) - path(-k * step) for k in (1, 2))
    return _by_four(one, two, np.asarray(step, one.dtype))


def _by_four(one: Vector, two: Vector, h: Any) -> Vector:
    return (8 * one - two) / (12 * h)


def level_at(path: Path, centre: Vector, step: float) -> Level:
    """Estimate from seven places around 0, of which the value in the middle is known."""
    f = {place: path(place * step) for place in PLACES}
    f[0] = centre
    h = np.asarray(step, centre.dtype)
    # They cancel before they are scaled.
    one, two, three = f[1] - f[-1], f[2] - f[-2], f[3] - f[-3]
    changes = np.stack([f[place] - centre for place in PLACES])
    return Level(
        step,
        (45 * one - 9 * two + three) / (60 * h),
        _by_four(one, two, h),
        _one_sided(centre, f[1], f[2], f[3]) / h,
        (4 * (f[1] - centre) - (f[2] - centre)) / (2 * h),
        -_one_sided(centre, f[-1], f[-2], f[-3]) / h,
        -(4 * (f[-1] - centre) - (f[-2] - centre)) / (2 * h),
        _noise(f),
        np.max(known(np.stack(list(f.values()))), axis=0),
        np.max(known(changes), axis=0),
        np.all([f[place] == centre for place in PLACES], axis=0),
        (f[-3] != centre) & (f[3] != centre),
        changes,
    )


def seen_between(path: Path, centre: Vector, before: Level, level: Level) -> Level:
    """A level with the noise that two places more show, which stand between the others.

    (1 + x) - 1 goes up in units of 2e-16. If one step is a whole number of such units, all values
    there lie on a line, though not on that of the function. Where the sides have two slopes, or
    values come no nearer with the step, no polynomial goes through them, and what is between says
    nothing of noise.
    """
    gap_error = abs(level.right - level.right_low) + abs(level.left - level.left_low)
    gap_error += 32 * level.noise / level.step
    looks_smooth = abs(level.right - level.left) <= 3 * gap_error
    looks_smooth &= level.reach <= 0.125 * before.reach
    if not np.any(looks_smooth):
        return level
    noise = level.noise
    for place, weights in BETWEEN:
        expected = np.tensordot(weights.astype(centre.dtype), level.changes, 1)
        gap = abs(path(place * level.step) - centre - expected)
        found = gap / np.sqrt(1 + np.sum(weights**2))
        noise = np.where(looks_smooth, np.fmax(noise, found), noise)
    return level._replace(noise=noise)


def _weights(at: float) -> Vector:
    """By which the polynomial through 0 at 0 and values at PLACES is evaluated: Lagrange's."""
    every = (0, *PLACES)
    factors = [[(at - k) / (place - k) for k in every if k != place] for place in PLACES]
    return np.prod(factors, axis=1)


GOLDEN = (5**0.5 - 1) / 2  # the furthest from all fractions of small numbers
BETWEEN = tuple((place, _weights(place)) for place in (GOLDEN, -1 - GOLDEN))


def _one_sided(f0: Vector, f1: Vector, f2: Vector, f3: Vector) -> Vector:
    return (18 * (f1 - f0) - 9 * (f2 - f0) + 2 * (f3 - f0)) / 6


def _noise(f: dict[int, Vector]) -> Vector:
    """The least of three estimates, each of differences in which something else cancels.

    Around a kink those within the sides are small, around a jump those beside it.
    """
    places = [f[k] for k in range(-3, 4)]
    fifth = [_difference(places[k : k + 6]) for k in (0, 1)]
    across = np.sqrt((fifth[0] ** 2 + fifth[1] ** 2) / (2 * 252))
    third = [_difference(places[:4]), _difference(places[3:])]
    second = [_difference(places[:3]), _difference(places[4:])]
    return np.fmin(across, np.sqrt(np.fmin(_mean(third) / 20, _mean(second) / 6)))


def _mean(both: list[Vector]) -> Vector:
    """The mean of the squares, or that of one side where the function has no other."""
    a, b = both[0] ** 2, both[1] ** 2
    return np.where(np.isfinite(a) & np.isfinite(b), (a + b) / 2, np.fmin(a, b))


def _difference(values: list[Vector]) -> Vector:
    """The highest difference of equidistant values."""
    while len(values) > 1:
        values = [after - before for before, after in itertools.pairwise(values)]
    return values[0]


def without_stairs(levels: list[Level]) -> list[Level]:
    """Levels that say nothing where a function that changes at large steps is flat at small ones.

    What is rounded to float16 within is a staircase: flat beside each point, and yet not constant.
    """
    differed = np.zeros_like(levels[0].differs)
    found = []
    for level in levels:
        is_stair = level.is_flat & differed
        if np.any(is_stair):
            said: Any = {name: np.where(is_stair, np.nan, getattr(level, name)) for name in SAID}
            level = level._replace(**said)
        differed = differed | level.differs
        found.append(level)
    return found


def known(values: Vector) -> Vector:
    """The size of a value, and 0 where it is not known."""
    return np.where(np.isfinite(values), abs(values), 0.0)
