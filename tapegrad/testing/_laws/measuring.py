"""Derivatives along a line, measured: the slope, what it may be off by, and what lies there.

Knows functions of a number that return vectors of real numbers. Must not know transforms.

At each of several steps, each a sixteenth of the one before, the function is looked at in seven
places around the point. These give the slope by two formulas of different order, the slopes of
both sides, and the noise of the function (from differences of high order, in which what is smooth
cancels). A slope is known to what its formulas differ by, what the noise does to it, and what the
next step says differently. Nothing is assumed of the size of the function or of its precision.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

Vector = Any
Path = Callable[[float], Vector]

SMOOTH, EDGE, KINK, STEEP, JUMP, NOISY, UNDEFINED = range(7)
VERDICTS = ("smooth", "edge", "kink", "steep", "jump", "noisy", "undefined")

FIRST = 2.0**-5  # the first step: large enough for float16, small enough for most functions
RATIO = 16.0
LEVELS = 11
KINK_LEVELS = 6  # at the last of these the step is 3e-8: what is not resolved there is a kink
ENOUGH = 1e-9  # a slope that is known to so much of its size is known well enough
PLACES = (-3, -2, -1, 1, 2, 3)


class Measured(NamedTuple):
    """What was measured along a line, one element for each of the function's.

    The function is differentiable there as far as one can see where the verdict is SMOOTH. EDGE:
    it is finite on one side only. KINK: the sides have different slopes. STEEP: a slope grows
    without bound as the step shrinks. JUMP: the function does. NOISY: no slope stands out of its
    noise. UNDEFINED: the function is not finite at the point, or what differences say does not
    settle, which is more than noise.
    """

    slope: Vector
    error: Vector  # what the slope may be off by
    left: Vector  # the slopes of the two sides, infinite where they grow without bound
    right: Vector
    side_error: Vector
    noise: Vector  # of the function's value
    verdict: Vector  # of small integers: see VERDICTS
    value: Vector

    def words(self) -> set[str]:
        """The verdicts that there are."""
        return {VERDICTS[int(code)] for code in np.unique(self.verdict)}


class _Level(NamedTuple):
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


SAID = _Level._fields[1:8]  # the slopes and the noise


def measure(
    path: Path,
    precision: Vector,
    resolution: float,
    *,
    enough: float = ENOUGH,
    within: float = 1.0,
) -> Measured:
    """The slope of a path at 0, whose scale is 1: from 0 to 1 it may go a long way.

    precision: the spacing of numbers at 1 of each element's own dtype. resolution: that of the
    places on the path. within: how far from the point to look at most. A path gives NaN where the
    function cannot be called.
    """
    with np.errstate(all="ignore"):
        centre = path(0.0)
        levels: list[_Level] = []
        found = None
        is_coarse = resolution > 1e-4  # as float16 is: few steps lie between its noise and 1
        first, ratio = (0.25, 4.0) if is_coarse else (FIRST, RATIO)
        for number in range(LEVELS):
            step = min(first, within / 4) / ratio**number
            if step < 16 * resolution and levels:
                break
            levels.append(_level(path, centre, step))
            if number == 0 and np.all(levels[0].is_flat):
                break
            if number:
                found, is_done = _judged(centre, levels, precision, resolution, enough)
                if np.all(is_done):
                    break
        if found is None:
            found, _ = _judged(centre, levels, precision, resolution, enough)
    return found


def _level(path: Path, centre: Vector, step: float) -> _Level:
    f = {place: path(place * step) for place in PLACES}
    f[0] = centre
    h = np.asarray(step, centre.dtype)
    one, two, three = (
        f[1] - f[-1],
        f[2] - f[-2],
        f[3] - f[-3],
    )  # they cancel before they are scaled
    return _Level(
        step,
        (45 * one - 9 * two + three) / (60 * h),
        (8 * one - two) / (12 * h),
        _one_sided(centre, f[1], f[2], f[3]) / h,
        (4 * (f[1] - centre) - (f[2] - centre)) / (2 * h),
        -_one_sided(centre, f[-1], f[-2], f[-3]) / h,
        -(4 * (f[-1] - centre) - (f[-2] - centre)) / (2 * h),
        _noise(f),
        np.max(_known(np.stack(list(f.values()))), axis=0),
        np.max(_known(np.stack([f[place] - centre for place in PLACES])), axis=0),
        np.all([f[place] == centre for place in PLACES], axis=0),
        (f[-3] != centre) & (f[3] != centre),
    )


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


def _judged(
    centre: Vector, levels: list[_Level], precision: Vector, resolution: float, enough: float
) -> tuple[Measured, Vector]:
    """What the levels say together, and which elements need no further level."""
    levels = _without_stairs(levels)
    steps = np.array([level.step for level in levels])[:, None]
    central, low = _stack(levels, "central"), _stack(levels, "central_low")
    right, right_low = _stack(levels, "right"), _stack(levels, "right_low")
    left, left_low = _stack(levels, "left"), _stack(levels, "left_low")
    noise = _noise_used(centre, levels, precision, resolution)
    right_error = _finite(abs(right - right_low) + 16 * noise / steps)
    left_error = _finite(abs(left - left_low) + 16 * noise / steps)
    is_edge = ~np.isfinite(right_error[-1]) != ~np.isfinite(left_error[-1])
    gap = _finite(abs(right - left))
    gap_error = right_error + left_error
    best_gap = np.argmin(gap_error, axis=0)
    is_open, closed_from = _open_gaps(gap, gap_error, best_gap, right, left)
    error = _finite(abs(central - low) + 6 * noise / steps)
    error = np.where(np.arange(len(levels))[:, None] >= closed_from, error, np.inf)
    error = _not_contradicted(central, error)
    best = np.argmin(error, axis=0)
    slope = _at(central, best)
    known = _at(error, best)
    off = known + _nearest_other(central, best, known)
    # The sides: where they are known best, and for an edge the one that there is.
    only = np.argmin(np.minimum(right_error, left_error), axis=0)
    side = np.where(is_edge, only, best_gap)
    right_at, left_at = _at(right, side), _at(left, side)
    side_error = np.where(
        is_edge,
        np.minimum(_at(right_error, side), _at(left_error, side)),
        _at(gap_error, side),
    )
    has_right = np.isfinite(right_error[-1])
    slope = np.where(is_edge, np.where(has_right, right_at, left_at), slope)
    one_side = np.where(has_right, right, left)
    edge_off = side_error + _nearest_other(one_side, side, side_error)
    off = np.where(is_edge, edge_off, off)
    size = np.maximum(abs(slope), abs(centre))
    widely: Any = levels[0].reach / levels[0].step
    vague_at = np.maximum(np.maximum(abs(slope), 1e-3 * abs(centre)), 1e-6 * widely)
    is_vague = ~(off <= 0.1 * vague_at)
    growth_right, growth_left, growth_central = _growths(levels, right, left, central)
    beside = np.maximum(growth_right, growth_left)
    growth: Any = np.where(is_open, beside, np.maximum(beside, growth_central))
    is_stable = _is_stable(levels, (right, left), best_gap, gap)
    is_open &= is_stable | (growth > 1.3)
    is_seen_twice = _is_confirmed(levels, (right, left), best_gap, gap)
    is_lost = is_vague & ~_is_consistent(central, slope, error, off)
    is_broken = is_open | is_vague
    verdict = np.full(centre.shape, SMOOTH)
    verdict[is_vague] = NOISY
    verdict[is_edge] = EDGE
    verdict[is_open & ~is_edge] = KINK
    verdict[is_broken & (growth > 1.3)] = STEEP
    verdict[is_broken & (growth > 8) & ~is_edge] = JUMP
    is_lost = is_lost & ((verdict == NOISY) | (verdict == SMOOTH))
    is_lost |= (verdict == KINK) & ~is_seen_twice
    verdict[is_lost | ~np.isfinite(centre) | ~np.isfinite(off) & (verdict == NOISY)] = UNDEFINED
    unbounded = (verdict == STEEP) | (verdict == JUMP)
    right_at = np.where(unbounded & (growth_right > 1.3), np.copysign(np.inf, right_at), right_at)
    left_at = np.where(unbounded & (growth_left > 1.3), np.copysign(np.inf, left_at), left_at)
    found = Measured(slope, off, left_at, right_at, side_error, _least(noise), verdict, centre)
    is_smooth = (verdict == SMOOTH) & _comes_near(levels)
    is_done = is_smooth & (off <= enough * size) | ~np.isfinite(centre)
    if len(levels) > 2:
        # Two levels of nothing but noise: smaller steps would know less.
        worse = error[-2:] > 10 * known
        blind = 16 * _common_noise(levels) / steps[-2:] > 0.3 * np.maximum(
            abs(right[-2:]), abs(left[-2:])
        )
        is_done |= np.all(worse, axis=0) & is_smooth
        if len(levels) >= KINK_LEVELS:
            is_done |= np.all(worse & blind, axis=0) | (verdict == KINK)
    return found, is_done


def _without_stairs(levels: list[_Level]) -> list[_Level]:
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


def _stack(levels: list[_Level], name: str) -> Vector:
    return np.stack([getattr(level, name) for level in levels])


def _finite(values: Vector) -> Vector:
    """Infinite where it is not known."""
    return np.where(np.isfinite(values), values, np.inf)


def _known(values: Vector) -> Vector:
    """The size of a value, and 0 where it is not known."""
    return np.where(np.isfinite(values), abs(values), 0.0)


def _at(rows: Vector, which: Vector) -> Vector:
    return np.take_along_axis(rows, which[None], axis=0)[0]


def _least(noise: Vector) -> Vector:
    return np.min(noise, axis=0)


def _noise_used(
    centre: Vector, levels: list[_Level], precision: Vector, resolution: float
) -> Vector:
    """Noise at each level: what was seen there, and no less than two others in a row saw.

    One estimate may be small by luck. The rounding of the result, and of the places, is always
    there, also where the few values that were looked at happen to be exact.
    """
    own = _finite(_stack(levels, "noise"))
    common: Any = _common_noise(levels) if len(levels) > 1 else np.zeros_like(centre)
    common = np.where(np.isfinite(common), common, 0.0)
    moved = abs(_stack(levels, "central"))
    largest = _stack(levels, "largest")
    floor: Any = 0.5 * precision * largest + 0.5 * resolution * _known(moved)
    relative = np.where(centre != 0, common / abs(centre), 0.0)
    usual = np.median(relative[np.isfinite(relative)]) if relative.size else 0.0
    floor = np.maximum(floor, np.where(np.isfinite(centre), usual * abs(centre), 0.0))
    return np.maximum(own, np.maximum(common, floor))


def _open_gaps(
    gap: Vector, gap_error: Vector, best: Vector, right: Vector, left: Vector
) -> tuple[Vector, Vector]:
    """Where the sides differ, and from which level on they do not any more.

    A smooth function that turns sharply has a gap at large steps, which closes at smaller ones.
    """
    widest = _at(gap, best)
    size = np.maximum(abs(_at(right, best)), abs(_at(left, best)))
    is_open = widest > 3 * _at(gap_error, best) + 1e-7 * size
    numbers = np.arange(len(gap))[:, None]
    is_closed = (gap + gap_error <= 0.2 * widest) & (numbers > best) & is_open
    from_level = np.where(np.any(is_closed, axis=0), np.argmax(is_closed, axis=0), 0)
    return is_open & ~np.any(is_closed, axis=0), from_level


def _not_contradicted(central: Vector, error: Vector) -> Vector:
    """Errors, infinite where a smaller step says something else, and clearly.

    Far away from a pole all is small, the slope and what it seems to be off by as well.
    """
    found = error.copy()
    for number in range(1, len(central)):
        is_clear = error[number] <= 0.05 * abs(central[number])
        for larger in range(number):
            allowed = 3 * (error[number] + error[larger])
            is_other = abs(central[number] - central[larger]) > allowed
            found[larger] = np.where(is_clear & is_other, np.inf, found[larger])
    return found


def _is_stable(
    levels: list[_Level], sides: tuple[Vector, Vector], best: Vector, gap: Vector
) -> Vector:
    """Whether both sides have the same slopes at all smaller steps, as far as noise lets one see.

    Far away from a pole the two sides of a function differ as those of a kink do.
    """
    widest = _at(gap, best)
    noise = _common_noise(levels)
    found = np.ones(widest.shape, bool)
    for number, level in enumerate(levels):
        is_seen = (number > best) & (16 * noise / level.step < 0.1 * widest)
        for side in sides:
            apart = _finite(abs(side[number] - _at(side, best)))
            found &= ~is_seen | (apart < 0.3 * widest)
    return found


def _is_confirmed(
    levels: list[_Level], sides: tuple[Vector, Vector], best: Vector, gap: Vector
) -> Vector:
    """Whether another step says of both sides what the best one says.

    Places on both sides of a pole nearby show two slopes as well, and at each step other ones.
    """
    widest = _at(gap, best)
    noise = _common_noise(levels)
    found = np.zeros(widest.shape, bool)
    for number, level in enumerate(levels):
        is_seen = (number != best) & (16 * noise / level.step < 0.3 * widest)
        apart = [_finite(abs(side[number] - _at(side, best))) for side in sides]
        found |= is_seen & (np.maximum(*apart) < 0.3 * widest)
    return found


def _is_consistent(central: Vector, slope: Vector, error: Vector, off: Vector) -> Vector:
    """Whether what all levels say differs by no more than their errors, as of mere noise."""
    with np.errstate(all="ignore"):
        apart = abs(central - slope) <= 3 * (error + off)
    return np.all(apart | ~np.isfinite(error), axis=0)


def _comes_near(levels: list[_Level]) -> Vector:
    """Whether the values come nearer to the middle one as steps shrink, or are noise around it.

    On a pole that is narrower than all steps so far, the middle value stands alone.
    """
    before, last = levels[max(len(levels) - 2, 0)].reach, levels[-1].reach
    near: Vector = last <= np.maximum(0.5 * before, 100 * _common_noise(levels))
    return near


def _common_noise(levels: list[_Level]) -> Vector:
    """The least noise that two levels in a row saw."""
    own = _finite(_stack(levels, "noise"))
    return np.min(np.maximum(own[:-1], own[1:]), axis=0) if len(levels) > 1 else own[0]


def _nearest_other(rows: Vector, best: Vector, known: Vector) -> Vector:
    """How far the next smaller or the next larger step is away, whichever is nearer."""
    if len(rows) == 1:
        return known
    apart = _finite(abs(np.diff(rows, axis=0)))
    edge = np.full((1, *apart.shape[1:]), np.inf)
    before, after = np.concatenate([edge, apart]), np.concatenate([apart, edge])
    return np.minimum(_at(before, best), _at(after, best))


def _growths(levels: list[_Level], *slopes: Vector) -> list[Vector]:
    """By how much slopes grow from one level to the next, at the smallest steps of any meaning.

    By a factor that is the same from one level to the next, as that of a power and of a jump is.
    Of a function as steep as sqrt at 0 any step sees the same picture in other units: only the
    least of what seemed to be noise is no part of it.
    """
    shape = slopes[0].shape[1:]
    steps = np.array([level.step for level in levels])[:, None]
    noise = _common_noise(levels)
    found = []
    for slope in slopes:
        size: Any = abs(slope)
        is_seen = np.isfinite(size) & (16 * noise / steps < 0.3 * size)
        grown: Any = np.zeros(shape)
        for k in range(3, len(levels)):
            ratios = size[k - 2 : k + 1] / size[k - 3 : k]
            is_power = np.max(ratios, axis=0) < 1.5 * np.min(ratios, axis=0)
            seen = np.all(is_seen[k - 3 : k + 1], axis=0)
            grown = np.where(seen, np.where(is_power, np.min(ratios, axis=0), 0.0), grown)
        found.append(np.where(np.isfinite(grown), grown, 0.0))
    return found
