"""A line search for the strong Wolfe conditions, by cubic interpolation.

J. Nocedal, S. Wright (2006), Numerical optimization, algorithms 3.5 and 3.6, with the safeguards
of PyTorch, so that both find the same point. Knows a function of one number, its gradient and
slope. Must not know parameters.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from tapegrad._core.types import Value

# The constants of the two conditions, and the least change of the step.
CONSTANTS = 1e-4, 0.9, 1e-9


class Point(NamedTuple):
    """A length of the step, and what was found there."""

    length: Any
    loss: float
    gradient: Value
    slope: Any


def strong_wolfe(
    evaluate: Callable[[Any], tuple[float, Value, Any]],
    length: Any,
    start: tuple[float, Value, Any],
    largest: Any,
    most: int,
    constants: tuple[float, float, float] = CONSTANTS,
) -> tuple[float, Value, Any, int]:
    """The loss and gradient at the length that was found, that length, and the evaluations.

    evaluate: gives loss, gradient and slope for a length. length: the first to be tried. start:
    the same three at length zero. largest: element of the direction. most: evaluations.
    constants: c1 and c2 of the conditions, and the least change of the step.
    """
    decrease, curvature, least_change = constants
    begin = Point(0, *start)
    point = Point(length, *evaluate(length))
    before, count, tried = begin, 1, 0
    bracket: list[Point] = []
    while tried < most:
        if _too_high(point, begin, decrease) or (tried > 1 and point.loss >= before.loss):
            bracket = [before, point]
            break
        if abs(point.slope) <= -curvature * begin.slope:
            return point.loss, point.gradient, point.length, count
        if point.slope >= 0:
            bracket = [before, point]
            break
        bounds = (point.length + 0.01 * (point.length - before.length), point.length * 10)
        following = interpolated(before, point, bounds)
        before, point = point, Point(following, *evaluate(following))
        count += 1
        tried += 1
    if tried >= most:
        bracket = [begin, point]
    low, high = sorted(bracket, key=lambda end: end.loss)
    slow = False  # whether the last point was near an end already
    while tried < most and abs(high.length - low.length) * largest >= least_change:
        length, slow = _within(low, high, slow)
        point = Point(length, *evaluate(length))
        count += 1
        tried += 1
        if _too_high(point, begin, decrease) or point.loss >= low.loss:
            high = point
            if high.loss < low.loss:
                low, high = high, low
            continue
        if abs(point.slope) <= -curvature * begin.slope:
            low = point
            break
        if point.slope * (high.length - low.length) >= 0:
            high = low
        low = point
    return low.loss, low.gradient, low.length, count


def _too_high(point: Point, begin: Point, decrease: float) -> bool:
    return bool(point.loss > begin.loss + decrease * point.length * begin.slope)


def _within(low: Point, high: Point, slow: bool) -> tuple[Any, bool]:
    """A length between two, away from the ends if the last one was near an end."""
    length = interpolated(low, high, None)
    least, most = sorted((low.length, high.length))
    margin = 0.1 * (most - least)
    if min(most - length, length - least) >= margin:
        return length, False
    if slow or length >= most or length <= least:
        nearer = abs(length - most) < abs(length - least)
        return (most - margin if nearer else least + margin), False
    return length, True


def interpolated(one: Point, other: Point, bounds: tuple[Any, Any] | None) -> Any:
    """Where the cubic polynomial through two points is least, within bounds."""
    if bounds is None:
        bounds = (min(one.length, other.length), max(one.length, other.length))
    left, right = (one, other) if one.length <= other.length else (other, one)
    width = right.length - left.length
    first = left.slope + right.slope + 3 * (left.loss - right.loss) / width
    square = first**2 - left.slope * right.slope
    if not square >= 0:
        return (bounds[0] + bounds[1]) / 2
    second = square**0.5
    share = (right.slope + second - first) / (right.slope - left.slope + 2 * second)
    return min(max(right.length - width * share, bounds[0]), bounds[1])


__all__ = ["strong_wolfe"]
