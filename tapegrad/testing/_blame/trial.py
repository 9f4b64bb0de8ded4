"""Whether the derivatives of one function of leaves agree with differences, and where they do not.

Knows vjp, jvp and slopes. Must not know tapes or rules: what gives the derivatives is passed in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from tapegrad._core.types import Cotangent, Tangent, Value
from tapegrad._errors import describe
from tapegrad._transforms.forward import jvp
from tapegrad._transforms.reverse import vjp
from tapegrad.testing._blame.redone import copied, laid_out
from tapegrad.testing._blame.slopes import Differences, Slope, sized_direction
from tapegrad.testing._measuring.directions import FlatFunction, direction
from tapegrad.testing._measuring.tolerances import tolerance_of
from tapegrad.testing._promises import Promises

Pull = Callable[[Sequence[Cotangent]], Sequence[Cotangent]]
Push = Callable[[Sequence[Tangent]], Sequence[Tangent]]

NEAR = 3  # points nearby of which the noise of a derivative is taken: at one it may hide
TIMES = 3  # directions along which a derivative has to be wrong


class Subject(NamedTuple):
    """A function of leaves, and what gives its derivatives there.

    pulls: each makes a function of the cotangents of the results, at given leaves; push: of the
    tangents of the leaves. They are named by the mode that they belong to.
    """

    function: FlatFunction
    leaves: list[Any]
    names: list[str]
    pulls: list[Callable[[Sequence[Value]], Pull]]
    pushes: list[Callable[[Sequence[Value]], Push]]


def subject_of(
    function: FlatFunction, leaves: Sequence[Value], names: Sequence[str], ran: Pull | None = None
) -> Subject:
    """A function with its derivatives by vjp and jvp; `ran`: a pullback that was recorded."""

    def pull_at(at: Sequence[Value]) -> Pull:
        pullback = vjp(function, *at)[1]
        return lambda bars: pullback(tuple(bars))

    def push_at(at: Sequence[Value]) -> Push:
        return lambda dots: jvp(function, tuple(at), tuple(dots))[1]

    pulls: list[Callable[[Sequence[Value]], Pull]] = [pull_at]
    if ran is not None:
        recorded = ran

        def recorded_at(at: Sequence[Value]) -> Pull:
            return lambda bars: [
                np.zeros_like(leaf) if bar is None else bar
                for bar, leaf in zip(recorded(bars), at, strict=True)
            ]

        pulls.insert(0, recorded_at)
    return Subject(function, list(leaves), list(names), pulls, [push_at])


class Wrong(NamedTuple):
    """Where a derivative differs from differences."""

    backward: bool
    argument: str
    element: tuple[int, ...] | None  # None: along a whole direction
    expected: Any
    got: Any
    kind: str  # the array of which this is an element


class Outcome(NamedTuple):
    """Outcome of a trial. settled: whether the differences say something of every result."""

    wrong: Wrong | None
    settled: bool


NOTHING = Outcome(None, settled=False)


class Trial:
    """The derivatives of one subject, along random directions."""

    def __init__(self, subject: Subject, random: np.random.Generator) -> None:
        self.subject, self.random = subject, random
        self.differences = Differences(subject.function, [copied(x) for x in subject.leaves])
        outs = subject.function(*map(copied, subject.leaves))
        self.outs = outs
        self.rounding = tolerance_of(*subject.leaves, *outs).rounding
        self.tiny = max(_tiny(x) for x in (*subject.leaves, *outs))
        self.promised = False

    def outcome(self) -> Outcome:
        """First error, if there is one in all of several directions."""
        found, settled = self._first_wrong(TIMES)
        return Outcome(None if found is None else self._where(*found), settled)

    def is_right(self) -> bool:
        """Whether differences settle, and leave no doubt of any derivative."""
        found, settled = self._first_wrong(1)
        return settled and found is None

    def _first_wrong(self, times: int) -> tuple[tuple[Any, bool] | None, bool]:
        """A way that departs along so many directions and whether it is a pull, and `settled`."""
        subject = self.subject
        if not subject.leaves or not any(out.size for out in self.outs) or not self._is_steady():
            return None, False
        if self._agrees_at_once():
            return None, True
        slope, dots = self._slope()
        settled = all(np.all(mask) for mask in slope.settled())
        if not any(np.any(mask) for mask in slope.settled()):
            return None, False
        for backward, ways in ((True, subject.pulls), (False, subject.pushes)):
            for way in ways:
                test = self._pull_departs if backward else self._push_departs
                if test(way, slope, dots) and self._confirmed(test, way, times):
                    return (way, backward), settled
        return None, settled

    def _agrees_at_once(self) -> bool:
        """Whether all derivatives are what one step shows: most operations are right."""
        dots = [sized_direction(self.random, x) for x in self.subject.leaves]
        slope = self.differences.at_once(dots)
        if slope is None or not all(np.all(mask) for mask in slope.settled()):
            return False
        return not any(
            test(way, slope, dots)
            for test, ways in (
                (self._pull_departs, self.subject.pulls),
                (self._push_departs, self.subject.pushes),
            )
            for way in ways
        )

    def _is_steady(self) -> bool:
        """Whether the function returns the same when it is called again."""
        again = self.subject.function(*map(copied, self.subject.leaves))
        same = len(again) == len(self.outs)
        return same and all(
            a.shape == b.shape and np.array_equal(a, b, equal_nan=True)
            for a, b in zip(again, self.outs, strict=True)
        )

    def _slope(self, only: int | None = None) -> tuple[Slope, list[Any]]:
        leaves = self.subject.leaves
        dots = [
            sized_direction(self.random, x) if only in (None, i) else np.zeros_like(x)
            for i, x in enumerate(leaves)
        ]
        if self.promised:
            dots = Promises(self.subject.function, leaves).along(dots)
        return self.differences.along(dots), dots

    def _confirmed(self, test: Callable[..., bool], way: Any, times: int) -> bool:
        """Whether a derivative departs along other directions, too, and by more than its noise."""
        with suppress(Exception):  # of what no functional transform goes through
            self.promised = Promises(self.subject.function, self.subject.leaves).exist()
        return all(test(way, *self._additive(*self._slope()), noisy=True) for _ in range(times))

    def _additive(self, slope: Slope, dots: Sequence[Tangent]) -> tuple[Slope, Sequence[Tangent]]:
        """The slope without what is not the sum of the slopes along two parts of the direction.

        `copysign(x, y)` at zeros has a slope along every direction, and no derivative.
        """
        weights: list[Any] = [self.random.uniform(-1, 2, np.shape(dot)) for dot in dots]
        if self.promised:
            weights = [self.random.uniform(-1, 2) for _ in dots]
        first = [(dot * w).astype(dot.dtype) for dot, w in zip(dots, weights, strict=True)]
        second = [dot - part for dot, part in zip(dots, first, strict=True)]
        parts = [self.differences.along(part) for part in (first, second)]
        errors = []
        for i, value in enumerate(slope.values):
            total = parts[0].values[i] + parts[1].values[i]
            error = slope.errors[i] + parts[0].errors[i] + parts[1].errors[i]
            size = np.abs(parts[0].values[i]) + np.abs(parts[1].values[i])
            apart = ~(np.abs(total - value) <= 10 * error + 1e-7 * size + self.tiny)
            errors.append(np.where(apart, np.inf, error))
        return slope._replace(errors=errors), dots

    # -- both modes ------------------------------------------------------------------------------

    def _bars(self, slope: Slope) -> list[Any]:
        """Random cotangents of the results, zero where there is no slope."""
        return [
            np.where(settled, direction(self.random, out), 0).astype(out.dtype)
            for settled, out in zip(slope.settled(), self.outs, strict=True)
        ]

    def _near(self) -> list[Any]:
        """The leaves moved by some units in the last place: what changes is noise."""
        near = []
        for x in self.subject.leaves:
            moved = x * (1 + 4 * np.finfo(x.dtype).eps * direction(self.random, x).real)
            if type(x) is not np.ndarray:
                near.append(moved.astype(x.dtype))
                continue
            other = laid_out(x, x)  # a derivative may depend on that; what overlaps moves as one
            other[...] = moved
            other.flags.writeable = x.flags.writeable
            near.append(other)
        return near

    def _pull_departs(
        self, way: Any, slope: Slope, dots: Sequence[Tangent], *, noisy: bool = False
    ) -> bool:
        bars = self._bars(slope)
        got, size = _paired(way(self.subject.leaves)(bars), dots)
        expected, other, error = 0.0, 0.0, 0.0
        for bar, value, off in zip(bars, slope.values, slope.errors, strict=True):
            fine = np.isfinite(off)
            terms = _product(np.where(fine, bar, 0), np.where(fine, value, 0))
            expected += float(np.sum(terms.real))
            other += float(np.sum(np.abs(terms)))
            error += float(np.sum(np.abs(bar[fine]) * off[fine]))
        least = allowed = error + self.rounding * (size + other) + self.tiny
        if not np.isfinite(got):
            return all(np.all(mask) for mask in slope.settled())
        for _ in range(NEAR if noisy else 0):
            if abs(got - expected) <= allowed:
                break
            near, _ = _paired(self._nearby(way)(bars), dots)
            allowed = max(allowed, least + 50 * abs(near - got)) if near == near else np.inf
        return abs(got - expected) > allowed

    def _nearby(self, way: Any) -> Any:
        # A recording has no other point; vjp and jvp, which are the last ways, have.
        ways = self.subject.pulls if way in self.subject.pulls else self.subject.pushes
        return ways[-1](self._near())

    def _push_departs(
        self, way: Any, slope: Slope, dots: Sequence[Tangent], *, noisy: bool = False
    ) -> bool:
        pushed = way(self.subject.leaves)(dots)
        for _ in range(NEAR if noisy else 1):
            near = self._nearby(way)(dots) if noisy else pushed
            if not any(
                bool(np.any(_departures(value, off, dot, close, self.rounding, self.tiny) > 0))
                for value, off, dot, close in zip(
                    slope.values, slope.errors, pushed, near, strict=True
                )
            ):
                return False
        return True

    # -- where -----------------------------------------------------------------------------------

    def _where(self, way: Any, backward: bool) -> Wrong:
        """The leaf, and the element, at which a derivative is wrong."""
        test = self._pull_departs if backward else self._push_departs
        leaves = self.subject.leaves
        at = 0
        for i in range(len(leaves)):
            if leaves[i].size and len(leaves) > 1 and test(way, *self._slope(i), noisy=True):
                at = i
                break
        find = self._backward_element if backward else self._forward_element
        return find(way, at)

    def _backward_element(self, way: Any, at: int) -> Wrong:
        leaf, name = self.subject.leaves[at], self.subject.names[at]
        slope, dots = self._slope(at)
        bars = self._bars(slope)
        bar = way(self.subject.leaves)(bars)[at]
        if not self.promised:
            places = self._departing(at, bars, bar)
            if len(places) == 1:
                index = np.unravel_index(places[0], leaf.shape)
                expected, _ = self._partial(at, index, bars)
                element = tuple(int(i) for i in index)
                return Wrong(True, name, element, expected, bar[element], describe(leaf))
        got, _ = _paired([bar], [dots[at]])
        wanted, _ = _paired(bars, slope.values)
        return Wrong(True, name, None, wanted, got, describe(leaf))

    def _departing(self, at: int, bars: Sequence[Cotangent], bar: Cotangent) -> list[int]:
        """The flat position of an element whose cotangent is wrong, found by halves."""
        leaf = self.subject.leaves[at]
        places = list(range(leaf.size))
        sized = np.ravel(sized_direction(self.random, leaf))
        while len(places) > 1:
            half = len(places) // 2
            wrong = [part for part in (places[:half], places[half:]) if part]
            found = next((p for p in wrong if self._part_departs(at, p, sized, bars, bar)), None)
            if found is None:
                return []
            places = found
        return places

    def _part_departs(
        self, at: int, places: list[int], sized: Value, bars: Sequence[Cotangent], bar: Cotangent
    ) -> bool:
        leaf = self.subject.leaves[at]
        dot = np.zeros(leaf.size, leaf.dtype)
        dot[places] = sized[places]
        dot = dot.reshape(leaf.shape)
        expected, error, size = self._expected(at, dot, bars)
        got, other = _paired([bar], [dot])
        return (
            abs(got - expected) > error + self.rounding * (size + other) + self.tiny or got != got
        )

    def _expected(
        self, at: int, dot: Tangent, bars: Sequence[Cotangent]
    ) -> tuple[float, float, float]:
        """The pairing of cotangents with the slopes along a direction of one leaf, its error."""
        dots = [np.zeros_like(x) for x in self.subject.leaves]
        dots[at] = dot
        slope = self.differences.along(dots)
        fine = [np.isfinite(off) for off in slope.errors]
        values = [np.where(ok, v, 0) for ok, v in zip(fine, slope.values, strict=True)]
        total, size = _paired(bars, values)
        error = sum(
            float(np.sum(np.abs(bar[ok]) * off[ok]))
            for bar, ok, off in zip(bars, fine, slope.errors, strict=True)
        )
        return total, error, size

    def _partial(
        self, at: int, index: tuple[Any, ...], bars: Sequence[Cotangent]
    ) -> tuple[Any, float]:
        """The cotangent of one element by differences, of a size that suits the element."""
        leaf = self.subject.leaves[at]
        size = np.abs(leaf[index]) or 1.0
        found = []
        for unit in (1, 1j) if leaf.dtype.kind == "c" else (1,):
            dot = np.zeros_like(np.asarray(leaf))
            dot[index] = unit * size
            found.append(self._expected(at, dot, bars)[0] / float(size))
        value = found[0] if len(found) == 1 else complex(found[0], -found[1])
        return leaf.dtype.type(value), float(size)

    def _forward_element(self, way: Any, at: int) -> Wrong:
        slope, dots = self._slope(at)
        pushed = way(self.subject.leaves)(dots)
        worst: tuple[float, Any] = (-1.0, None)
        for value, off, dot, out in zip(
            slope.values, slope.errors, pushed, self.outs, strict=True
        ):
            gaps = np.asarray(_departures(value, off, dot, dot, self.rounding, self.tiny))
            if not gaps.size:
                continue
            place = int(np.argmax(gaps))
            if gaps.flat[place] > worst[0]:
                index = tuple(int(i) for i in np.unravel_index(place, gaps.shape))
                pair = out.dtype.type(value[index]), np.asarray(dot)[index]
                worst = float(gaps.flat[place]), (index, *pair, describe(out))
        index, expected, got, kind = worst[1]
        return Wrong(False, self.subject.names[at], index, expected, got, kind)


def _tiny(like: Value) -> float:
    """A number below which those of a dtype lose digits."""
    info = np.finfo(like.dtype)
    return float(info.tiny / info.eps)


def _departures(
    value: Value, off: Value, dot: Tangent, close: Tangent, rounding: float, tiny: float
) -> Any:
    """By how much each element of a tangent departs from its slope, beyond what is allowed."""
    fine = np.isfinite(off)
    if not np.any(fine):
        return np.zeros(np.shape(value))
    size = np.max(np.abs(np.where(fine, value, 0)), initial=0.0)
    wide = np.asarray(dot).astype(np.asarray(value).dtype)
    noise = 50 * np.abs(wide - close)
    noise = np.where(np.isfinite(noise), noise, 0)
    noise = np.maximum(noise, 10 * np.sqrt(np.mean(noise**2)))
    allowed = np.where(fine, off, 0) + rounding * (size + np.abs(value)) + noise + tiny
    gap = np.abs(wide - value) - allowed
    return np.where(fine, np.where(np.isnan(wide), np.inf, gap), 0)


def _product(bar: Cotangent, dot: Tangent) -> Any:
    return np.asarray(bar, np.clongdouble) * np.asarray(dot, np.clongdouble)


def _paired(bars: Sequence[Cotangent], dots: Sequence[Tangent]) -> tuple[float, float]:
    """The real part of the sum of products, and the sum of their sizes."""
    total = size = 0.0
    for bar, dot in zip(bars, dots, strict=True):
        if bar is not None:
            terms = np.where(np.asarray(dot) == 0, 0, _product(bar, dot))
            total += float(np.sum(terms.real))
            size += float(np.sum(np.abs(terms)))
    return total, size


__all__ = ["NOTHING", "Outcome", "Subject", "Trial", "Wrong", "subject_of"]
