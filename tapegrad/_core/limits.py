"""The limit of a cotangent along lines to a point where a replay gives zero times infinity.

Knows that entries can be replayed with series in place of values (`series_replay`), and how the
answers of both sides and of several lines make one. Must not know rules.

The program is not run again: the entries that it logged are replayed forward with the series of a
small step, then backward with these. From both sides of a point the limits may be equal, which is
the derivative; else their mean is taken, zero for opposite ones, as at every kink; where there is
one side alone, at the end of a domain, its limit. Lines in several directions must agree.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapegrad._core.entry import Entry, Mark, Outputs, Spec, opened
from tapegrad._core.fit import any_nan
from tapegrad._core.quiet import silence
from tapegrad._core.replay import live_steps
from tapegrad._core.series import (
    GRID,
    ROUNDING,
    NoSeries,
    Series,
    constant,
    grid,
    remembering,
    step,
)
from tapegrad._core.series_replay import (
    Changes,
    add_to,
    backward,
    forward,
    kept_values,
    parents_in,
)
from tapegrad._core.types import Cotangent, Slot
from tapegrad._core.values import in_place, is_mapped, without_traces

MOST = 1 << 26  # numbers that a limit may take
# Powers with square roots alone, a few; with square, cube, fourth and sixth roots; and more, as
# derivatives of derivatives have.
GRIDS = (2, -2, 3), (12, -3, 5), (6, -8, 9)
AGREE = 1e-6


def resolved(
    entries: Sequence[Entry],
    inputs: Sequence[tuple[Slot, Cotangent]],
    roots: Sequence[tuple[Slot, Cotangent]],
) -> list[Any]:
    """Cotangents of inputs in which a NaN is its limit, where there is one.

    inputs, roots: slots and cotangents of inputs and results. A cotangent that is traced keeps its
    slot: its derivatives are those of what the entries compute.
    """
    return _in_place_of_nan(_limits, entries, inputs, roots)


def resolved_ahead(
    entries: Sequence[Entry],
    inputs: Sequence[tuple[Slot, Any]],
    results: Sequence[tuple[Slot, Any]],
) -> list[Any]:
    """The same of tangents of results, from those of inputs."""
    return _in_place_of_nan(_limits_ahead, entries, results, inputs)


def _in_place_of_nan(limits: Any, entries: Sequence[Entry], found: Any, given: Any) -> list[Any]:
    parts = [part for _, part in found]
    if not any_nan(parts):
        return parts
    plain = [[(at, without_traces(part)) for at, part in pairs] for pairs in (found, given)]
    given_first = plain if limits is _limits else plain[::-1]
    starts, ends = ([at for at, _ in pairs] for pairs in given_first)
    live = [_each(without_traces, entry) for entry, _, _ in live_steps(entries, starts, ends)]
    known = _of_examples(limits, _Lines(live, starts), *plain)
    return [in_place(part, limit) for part, limit in zip(parts, known, strict=True)]


def _each(function: Callable[[Any], Any], value: Any) -> Any:
    """A function of a value, or of each in lists and tuples."""
    if not isinstance(value, (list, tuple)):
        return function(value)
    inner = [_each(function, part) for part in value]
    if isinstance(value, Outputs):
        made = Outputs(inner)
        made.slots = value.slots
        return made
    return tuple(inner) if isinstance(value, tuple) else inner


class _Lines:
    """The entries that count, and the changes along lines, which all examples of a vmap share."""

    def __init__(self, entries: Sequence[Entry], inputs: Sequence[Slot]) -> None:
        self.entries, self.inputs = entries, inputs
        self.known: dict[Any, Changes] = {}
        self.nearby: dict[int, Any] = {}
        made = {entry[0] for entry in entries} | set(inputs)
        # The inputs of transforms within, constants of this one: what is zero with them is none.
        self.loose = {at: like for at, like in parents_in(entries).items() if at not in made}

    def changes(self, which: str, sign: int, inputs: Any, dots: Any = None) -> Changes:
        """The changes of all values along a line; of one, with dots in the direction of these."""
        key = which, sign, GRID.root, GRID.low
        if dots is not None or key not in self.known:
            ways = _ways([like for _, like in inputs] + list(self.loose.values()), which)
            slots = [at for at, _ in inputs] + list(self.loose)
            if dots is None:
                found = {at: step(sign * way) for at, way in zip(slots, ways, strict=True)}
            else:
                # All values move, those that do not go that way by less.
                given = [*dots, *(np.zeros(way.shape) for way in ways[len(dots) :])]
                found = {
                    at: step(sign * np.asarray(dot), sign * way)
                    for at, dot, way in zip(slots, given, ways, strict=True)
                }
            forward(self.entries, found, self.nearby)
            if dots is not None:
                return found
            self.known[key] = found
        return dict(self.known[key])

    def begins_finite(self) -> bool:
        """Whether the inputs are finite, of which there are neighbours."""
        kept = kept_values(self.entries)
        return all(np.all(np.isfinite(kept[at])) for at in self.inputs if at in kept)

    def at(self, level: Any, i: int) -> _Lines:
        """Those of one example."""
        if not any(is_mapped(part) for entry in self.entries for part in _parts(entry)):
            return self
        return _Lines(_example(list(self.entries), level, i), self.inputs)


LINES = "+", "-", "~"  # see `_ways`


def _ways(likes: Sequence[Any], which: str) -> list[Any]:
    """Where a line goes: up in all elements (+), in every second one (-), in pairs of them (~)."""
    dice = np.random.default_rng(0)
    ways, count = [], 0
    for like in likes:
        way = dice.uniform(1, 2, np.shape(like))
        number = np.arange(count, count + way.size).reshape(way.shape)
        count += way.size
        if which == "-":  # what was small is large
            way = (3 - way) * np.where(number % 2, 1, -1)
        elif which == "~":
            way = dice.uniform(1, 2, way.shape) * np.where(number // 2 % 2, 1, -1)
        ways.append(way * np.exp(1j * dice.uniform(0, 6, way.shape)) if _is_complex(like) else way)
    return ways


def _of_examples(limits: Any, lines: _Lines, found: Any, given: Any) -> list[Any]:
    """The limits for each example of a vmap by itself."""
    parts = [part for _, part in found]
    if not any_nan(parts):
        return parts
    inside = [part for _, part in given]
    mapped = filter(is_mapped, itertools.chain(parts, inside, *map(_parts, lines.entries)))
    first = next(mapped, None)
    if first is None:
        if any_nan(inside) or not _are_plain(lines.entries, found, given):
            return parts  # a NaN that is given stays one
        if not lines.begins_finite():
            return parts
        with remembering():
            return _by_grids(limits, lines, found, given)
    level = first.vmap_level
    rows = []
    for i in range(level.size):
        here = [_example(pairs, level, i) for pairs in (found, given)]
        rows.append(_of_examples(limits, lines.at(level, i), *here))
    return [level.wrap(np.stack(column)) for column in zip(*rows, strict=True)]


def _by_grids(limits: Any, lines: _Lines, found: Any, given: Any) -> list[Any]:
    """The limits by few powers, and where these do not tell, by all that are kept."""
    parts = [part for _, part in found]
    for powers in GRIDS:
        try:
            with grid(*powers), silence():
                known = limits(lines, found, given) or parts
        except Exception:  # noqa: BLE001 - a rule that is asked for what it does not expect
            return parts
        parts = [
            _filled(part, limit)[()].astype(part.dtype)
            for part, limit in zip(parts, known, strict=True)
        ]
        if not any_nan(parts):
            break
    return parts


def _filled(part: Any, limit: Any) -> Any:
    """A value with limits in place of its NaNs, in each component."""
    if part.dtype.kind != "c":
        return np.where(np.isnan(part), limit, part)
    made = np.empty_like(part)
    made.real = _filled(part.real, np.real(limit))
    made.imag = _filled(part.imag, np.imag(limit))
    return made


def _example(value: Any, level: Any, i: int) -> Any:
    """One example of a vmap's values, also inside lists and tuples."""

    def of(part: Any) -> Any:
        return part._value[i] if is_mapped(part) and part.vmap_level is level else part

    return _each(of, value)


def _limits(
    lines: _Lines,
    inputs: Sequence[tuple[Slot, Any]],
    roots: Sequence[tuple[Slot, Cotangent]],
) -> list[Any] | None:
    """The limits of the cotangents of inputs; None where they would take too much."""
    if not _is_small(lines.entries, [bar for _, bar in inputs]):
        return None

    def along(which: str, sign: int) -> list[Any]:
        changes = lines.changes(which, sign, inputs)
        bars: dict[Any, Any] = {}
        for at, bar in roots:
            add_to(bars, at, constant(bar))
        backward(lines.entries, changes, bars, lines.nearby)
        return [
            _told(bars[at], bars[at].limit) if at in bars else _nothing(like)
            for at, like in inputs
        ]

    count = sum(np.size(like) for _, like in inputs) + len(lines.loose)
    return _of_lines(along, count, [like for _, like in inputs])


def _limits_ahead(
    lines: _Lines,
    results: Sequence[tuple[Slot, Any]],
    inputs: Sequence[tuple[Slot, Any]],
) -> list[Any] | None:
    """The limits of the tangents of results."""
    if not _is_small(lines.entries, [dot for _, dot in inputs]):
        return None

    def along(which: str, sign: int) -> list[Any]:
        changes = lines.changes(which, sign, inputs, [dot for _, dot in inputs])
        return [
            _told(changes[at], changes[at].slope * sign) if at in changes else _nothing(like)
            for at, like in results
        ]

    count = sum(np.size(dot) for _, dot in inputs) + len(lines.loose)
    return _of_lines(along, count, [like for _, like in results])


def _told(series: Series, limit: Any) -> tuple[Any, Any, Any]:
    """A limit, where it is outside of a domain, and where no other powers tell more of it."""
    return limit, series.outside, series.refused


def _nothing(like: Any) -> tuple[Any, Any, Any]:
    none = np.zeros(like.shape, bool)
    return np.zeros(like.shape), none, none


def _of_lines(
    along: Callable[[str, int], list[Any]], count: int, parts: Sequence[Any]
) -> list[Any]:
    """The limits, if all lines agree; along: those of one side of a line, and where it is outside.

    A domain need not have neighbours on a line that goes up in one of `count` elements and down in
    another, as that of sqrt(x * y).
    """
    first: list[Any] = []
    for which in LINES if count > 1 else LINES[:2]:
        right = along(which, 1)
        if not first and _is_lost(right, parts):
            break
        both = [_of_both(*pair) for pair in zip(right, along(which, -1), strict=True)]
        if not first:
            first = [limit for limit, _ in both]
            pairs = zip(first, parts, strict=True)
            if all(np.isnan(limit[np.isnan(part)]).all() for limit, part in pairs):
                break  # nothing is known
            continue
        first = [
            np.where(outside, one, _agreed(one, other))
            for one, (other, outside) in zip(first, both, strict=True)
        ]
    return first


def _is_lost(right: Sequence[Any], parts: Sequence[Any]) -> bool:
    """Whether one side knows of no limit that is sought, so that the other need not be asked.

    Raise NoSeries where this is so whatever powers are kept.
    """
    sought = [np.isnan(part) for part in parts]
    pairs = list(zip(right, sought, strict=True))
    if not all((np.isnan(limit) & ~outside)[at].all() for (limit, outside, _), at in pairs):
        return False
    if all(refused[at].all() for (_, _, refused), at in pairs):
        raise NoSeries
    return True


def _is_complex(value: Any) -> bool:
    return bool(np.result_type(value).kind == "c")


def _is_small(entries: Sequence[Entry], inputs: Sequence[Any]) -> bool:
    """Whether a limit takes no more memory than is spent on one."""
    return (sum(map(np.size, inputs)) + sum(map(_size, entries))) * GRID.width <= MOST


def _of_both(on_right: Any, on_left: Any) -> tuple[Any, Any]:
    """The limit from both sides, or from the one that is in the domain; where neither is."""
    (right, no_right, _), (left, no_left, _) = on_right, on_left
    mean = np.where(right == left, right, (right + left) / 2)
    near = np.isfinite(mean) & (np.abs(mean) <= AGREE * np.maximum(np.abs(right), np.abs(left)))
    mean = np.where(near, 0.0, mean)
    return np.where(no_right, left, np.where(no_left, right, mean)), no_right & no_left


def _agreed(first: Any, second: Any) -> Any:
    """The answer of two lines, NaN where they differ by more than rounding."""
    size = np.maximum(np.abs(first), np.abs(second))
    largest = np.max(size, initial=1e-300, where=np.isfinite(size))
    near = np.abs(first - second) <= np.maximum(AGREE * size, ROUNDING * largest)
    return np.where((first == second) | near, first, np.nan)


def _size(entry: Entry) -> int:
    return max((int(np.size(part)) for part in _parts(entry) if part is not None), default=1)


def _parts(entry: Entry) -> list[Any]:
    rule, out, args, _, _ = opened(entry)
    if type(rule) is Mark:
        return list(args) if type(args) is tuple else []
    return [out, *args]


_PLAIN = (np.ndarray, np.number, np.bool, int, float, complex, type(None), Spec)


def _are_plain(entries: Sequence[Entry], inputs: Any, roots: Any) -> bool:
    """Whether there are numbers of NumPy's alone: not of a vmap, nor of another library."""
    given = [bar for _, bar in roots] + [like for _, like in inputs]
    return all(
        issubclass(type(part), _PLAIN) for part in itertools.chain(given, *map(_parts, entries))
    )


__all__ = ["resolved", "resolved_ahead"]
