"""Estimate from steps of different sizes: the slope, what it may be off by, a verdict.

Knows levels: what was seen at each step. Must not know how places were chosen.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tapegrad.testing._measuring.levels import Level, Vector, known, without_stairs

SMOOTH, EDGE, KINK, STEEP, JUMP, NOISY, UNDEFINED = range(7)
VERDICTS = ("smooth", "edge", "kink", "steep", "jump", "noisy", "undefined")
KINK_LEVELS = 6  # at the last of these the step is 3e-8: what is not resolved there is a kink


class Measured(NamedTuple):
    """Measurement along a line, one element for each of the function's.

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


class _Seen:
    """Estimates of all levels, one row for each; infinite errors where nothing is known."""

    def __init__(
        self, centre: Vector, levels: list[Level], precision: Vector, resolution: float
    ) -> None:
        self.levels, self.centre = without_stairs(levels), centre
        steps = np.array([level.step for level in levels])[:, None]
        self.central = _stack(self.levels, "central")
        self.right, self.left = _stack(self.levels, "right"), _stack(self.levels, "left")
        self.noise = _noise_used(centre, self.levels, precision, resolution)
        low, right_low, left_low = (
            _stack(self.levels, name) for name in ("central_low", "right_low", "left_low")
        )
        self.error = _finite(abs(self.central - low) + 6 * self.noise / steps)
        self.right_error = _finite(abs(self.right - right_low) + 16 * self.noise / steps)
        self.left_error = _finite(abs(self.left - left_low) + 16 * self.noise / steps)
        self.gap = _finite(abs(self.right - self.left))
        self.gap_error = self.right_error + self.left_error
        self.best_gap = np.argmin(self.gap_error, axis=0)
        self.is_edge = ~np.isfinite(self.right_error[-1]) != ~np.isfinite(self.left_error[-1])

    @property
    def sides(self) -> tuple[Vector, Vector]:
        return self.right, self.left


class _Slope(NamedTuple):
    """The best slope of each element, its own error, and with what another step says."""

    value: Vector
    known: Vector
    off: Vector


class _Sides(NamedTuple):
    """The slopes of the sides, where they are known best; for an edge the one that there is."""

    right: Vector
    left: Vector
    error: Vector


def judged(
    centre: Vector, levels: list[Level], precision: Vector, resolution: float, enough: float
) -> tuple[Measured, Vector]:
    """Estimate of the levels together, and which elements need no further level."""
    seen = _Seen(centre, levels, precision, resolution)
    is_open, closed_from = _open_gaps(seen)
    numbers = np.arange(len(levels))[:, None]
    seen.error = np.where(numbers >= closed_from, seen.error, np.inf)
    seen.error = _not_contradicted(seen.central, seen.error)
    sides = _sides_of(seen)
    slope = _slope_of(seen, sides)
    growths = _growths(seen.levels, seen.right, seen.left, seen.central)
    verdict = _verdict_of(seen, slope, is_open, growths)
    unbounded = (verdict == STEEP) | (verdict == JUMP)
    right, left = (
        np.where(unbounded & (growth > 1.3), np.copysign(np.inf, side), side)
        for growth, side in zip(growths, (sides.right, sides.left), strict=False)
    )
    noise = np.min(seen.noise, axis=0)
    found = Measured(slope.value, slope.off, left, right, sides.error, noise, verdict, centre)
    return found, _is_done(seen, slope, verdict, enough)


def plainly_smooth(
    centre: Vector, levels: list[Level], precision: Vector, resolution: float, enough: float
) -> Measured | None:
    """Verdict of the last two where they leave nothing to weigh; most functions are such."""
    before, last = levels[-2:]
    floor = 0.5 * precision * last.largest + 0.5 * resolution * abs(last.central)
    noise = np.maximum(np.maximum(before.noise, last.noise), floor)
    error = abs(last.central - last.central_low) + 6 * noise / last.step
    off: Any = error + abs(last.central - before.central)
    gap_error = abs(last.right - last.right_low) + abs(last.left - last.left_low)
    gap_error += 32 * noise / last.step
    is_plain = off <= enough * np.maximum(abs(last.central), abs(centre))
    is_plain &= abs(last.right - last.left) <= 3 * gap_error
    is_plain &= (last.reach <= 0.5 * before.reach) & ~last.is_flat
    if not np.all(is_plain):  # also where one of them is no number
        return None
    verdict = np.full(centre.shape, SMOOTH)
    return Measured(last.central, off, last.left, last.right, gap_error, noise, verdict, centre)


def _sides_of(seen: _Seen) -> _Sides:
    only = np.argmin(np.minimum(seen.right_error, seen.left_error), axis=0)
    at = np.where(seen.is_edge, only, seen.best_gap)
    one = np.minimum(_at(seen.right_error, at), _at(seen.left_error, at))
    error = np.where(seen.is_edge, one, _at(seen.gap_error, at))
    return _Sides(_at(seen.right, at), _at(seen.left, at), error)


def _slope_of(seen: _Seen, sides: _Sides) -> _Slope:
    best = np.argmin(seen.error, axis=0)
    error = _at(seen.error, best)
    off = error + _nearest_other(seen.central, best, error)
    has_right = np.isfinite(seen.right_error[-1])
    value = np.where(
        seen.is_edge, np.where(has_right, sides.right, sides.left), _at(seen.central, best)
    )
    one_side = np.where(has_right, seen.right, seen.left)
    only = np.argmin(np.minimum(seen.right_error, seen.left_error), axis=0)
    at = np.where(seen.is_edge, only, seen.best_gap)
    edge_off = sides.error + _nearest_other(one_side, at, sides.error)
    return _Slope(value, error, np.where(seen.is_edge, edge_off, off))


def _verdict_of(seen: _Seen, slope: _Slope, is_open: Vector, growths: list[Vector]) -> Vector:
    beside, central = np.maximum(growths[0], growths[1]), growths[2]
    growth: Any = np.where(is_open, beside, np.maximum(beside, central))
    is_open = is_open & (_is_stable(seen) | (growth > 1.3))
    is_vague = _is_vague(seen, slope)
    is_broken = is_open | is_vague
    verdict = np.full(seen.centre.shape, SMOOTH)
    verdict[is_vague] = NOISY
    verdict[seen.is_edge] = EDGE
    verdict[is_open & ~seen.is_edge] = KINK
    verdict[is_broken & (growth > 1.3)] = STEEP
    verdict[is_broken & (growth > 8) & ~seen.is_edge] = JUMP
    is_lost = is_vague & ~_is_consistent(seen, slope)
    is_lost &= (verdict == NOISY) | (verdict == SMOOTH)
    is_lost |= (verdict == KINK) & ~_is_confirmed(seen)
    is_lost |= ~np.isfinite(slope.off) & (verdict == NOISY)
    is_lost |= (verdict == JUMP) & _shrinks(seen.levels)
    verdict[is_lost | ~np.isfinite(seen.centre)] = UNDEFINED
    return verdict


def _is_vague(seen: _Seen, slope: _Slope) -> Vector:
    """Whether a slope is known to less than a tenth of it, or of what may count as large."""
    first = seen.levels[0]
    widely: Any = first.reach / first.step
    large = np.maximum(abs(slope.value), 1e-3 * abs(seen.centre))
    return ~(slope.off <= 0.1 * np.maximum(large, 1e-6 * widely))


def _is_done(seen: _Seen, slope: _Slope, verdict: Vector, enough: float) -> Vector:
    levels, centre = seen.levels, seen.centre
    size = np.maximum(abs(slope.value), abs(centre))
    is_smooth = (verdict == SMOOTH) & _comes_near(levels)
    is_done: Vector = is_smooth & (slope.off <= enough * size) | ~np.isfinite(centre)
    if len(levels) > 2:
        # Two levels of nothing but noise: smaller steps would know less. What is not smooth may be
        # so at the smallest steps alone, as log|x| near 0 is.
        is_done |= np.all(seen.error[-2:] > 10 * slope.known, axis=0) & is_smooth
        if len(levels) >= KINK_LEVELS:
            is_done |= verdict == KINK
    return is_done


def _stack(levels: list[Level], name: str) -> Vector:
    return np.stack([getattr(level, name) for level in levels])


def _finite(values: Vector) -> Vector:
    """Infinite where it is not known."""
    return np.where(np.isfinite(values), values, np.inf)


def _at(rows: Vector, which: Vector) -> Vector:
    return np.take_along_axis(rows, which[None], axis=0)[0]


def _noise_used(
    centre: Vector, levels: list[Level], precision: Vector, resolution: float
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
    floor: Any = 0.5 * precision * largest + 0.5 * resolution * known(moved)
    relative = np.where(centre != 0, common / abs(centre), 0.0)
    usual = np.median(relative[np.isfinite(relative)]) if relative.size else 0.0
    floor = np.maximum(floor, np.where(np.isfinite(centre), usual * abs(centre), 0.0))
    return np.maximum(own, np.maximum(common, floor))


def _open_gaps(seen: _Seen) -> tuple[Vector, Vector]:
    """Where the sides differ, and from which level on they do not any more.

    A smooth function that turns sharply has a gap at large steps, which closes at smaller ones.
    """
    best = seen.best_gap
    widest = _at(seen.gap, best)
    size = np.maximum(abs(_at(seen.right, best)), abs(_at(seen.left, best)))
    is_open = widest > 3 * _at(seen.gap_error, best) + 1e-7 * size
    numbers = np.arange(len(seen.levels))[:, None]
    is_closed = (seen.gap + seen.gap_error <= 0.2 * widest) & (numbers > best) & is_open
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


def _is_stable(seen: _Seen) -> Vector:
    """Whether both sides have the same slopes at all smaller steps, as far as noise lets one see.

    Far away from a pole the two sides of a function differ as those of a kink do.
    """
    best, levels = seen.best_gap, seen.levels
    widest = _at(seen.gap, best)
    noise = _common_noise(levels)
    found = np.ones(widest.shape, bool)
    for number, level in enumerate(levels):
        is_seen = (number > best) & (16 * noise / level.step < 0.1 * widest)
        for side in seen.sides:
            apart = _finite(abs(side[number] - _at(side, best)))
            found &= ~is_seen | (apart < 0.3 * widest)
    return found


def _is_confirmed(seen: _Seen) -> Vector:
    """Whether another step says of both sides what the best one says.

    Places on both sides of a pole nearby show two slopes as well, and at each step other ones.
    """
    best, levels = seen.best_gap, seen.levels
    widest = _at(seen.gap, best)
    noise = _common_noise(levels)
    found = np.zeros(widest.shape, bool)
    for number, level in enumerate(levels):
        is_seen = (number != best) & (16 * noise / level.step < 0.3 * widest)
        apart = [_finite(abs(side[number] - _at(side, best))) for side in seen.sides]
        found |= is_seen & (np.maximum(*apart) < 0.3 * widest)
    return found


def _is_consistent(seen: _Seen, slope: _Slope) -> Vector:
    """Whether what all levels say differs by no more than their errors, as of mere noise."""
    agree = abs(seen.central - slope.value) <= 3 * (seen.error + slope.off)
    return np.all(agree | ~np.isfinite(seen.error), axis=0)


def _comes_near(levels: list[Level]) -> Vector:
    """Whether the values come nearer to the middle one as steps shrink, or are noise around it.

    On a pole that is narrower than all steps so far, the middle value stands alone.
    """
    before, last = levels[max(len(levels) - 2, 0)].reach, levels[-1].reach
    near: Vector = last <= np.maximum(0.5 * before, 100 * _common_noise(levels))
    return near


def _shrinks(levels: list[Level]) -> Vector:
    """Whether the last step alone comes to where values are near: close beside a pole, not at it.

    The values of a jump stay as far apart as they are.
    """
    before, last = levels[max(len(levels) - 2, 0)], levels[-1]
    found: Vector = (last.reach <= 0.25 * before.reach) & ~last.is_flat
    return found


def _common_noise(levels: list[Level]) -> Vector:
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


def _growths(levels: list[Level], *slopes: Vector) -> list[Vector]:
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
