"""Folds of a tape: rows that belong together, found from the lines that they come from.

Knows rows' sites and operations. Must not know how folds are shown.

Rows of one call of a user's function are next to each other, and so are the turns of a loop, which
repeat the same lines and operations. Neither is recorded: both are read off the rows.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np

from tapegrad._look.lines import Frame, Site
from tapegrad._look.rows import Row

KINDS = ("inputs", "call", "loop", "turn", "turns", "replay")
FEW = 3  # inputs, or turns of a loop, that are not folded among themselves
DEEPEST = 32  # calls within calls that are told apart; a recursive function has more
LOOKS_BACK = 4  # the distances to so many earlier equal elements may be the length of a body


class Fold(NamedTuple):
    """Rows that can be shown as one: those at [first, end).

    kind: one of KINDS; a turn is one of a loop's, and turns are all but the first of many.
    label: a function's name, or a loop's lines. times: of a loop and of turns, how many; of a
    turn, which one it is, from 1. place: of a call, the line that calls.
    """

    kind: str
    first: int
    end: int
    label: str
    times: int = 1
    place: Frame | None = None


def folds_of(rows: Sequence[Row]) -> list[Fold]:
    """All folds of rows: each before those inside it, which lie within its bounds.

    >>> from tapegrad._look.lines import Frame
    >>> def row(slot, operation, line):
    ...     return Row(slot, operation, site=(Frame("model.py", line, "loss"),))
    >>> body = [("np.sin", 3), ("np.exp", 4)]
    >>> for fold in folds_of([row(i, *body[i % 2]) for i in range(6)]):
    ...     print(fold.kind, fold.first, fold.end, fold.label, fold.times)
    loop 0 6 model.py:3-4 3
    turn 0 2 turn 1 1
    turn 2 4 turn 2 2
    turn 4 6 turn 3 3
    """
    return _Finder(rows).found()


# -- where a row is in the calls of the program ---------------------------------------------------

_REPLAY = Frame("", 0, "replay")  # stands in a path where a replay within the program begins
Path = tuple[Frame, ...]  # a row's frames, outermost first


def _paths(rows: Sequence[Row]) -> tuple[list[Path], list[int]]:
    """The different paths of rows, and which of them each row has."""
    paths: dict[Path, int] = {}
    known: dict[
        tuple[int, int], int
    ] = {}  # by the site's identity, which is cheaper than its hash
    which = []
    for inside, run in groupby(rows, lambda row: row.of is not None):
        members = list(run)
        at = _shared({id(row.site): row.site for row in members}.values()) if inside else -1
        for row in members:
            key = (id(row.site), at)
            number = known.get(key)
            if number is None:
                path = tuple(reversed(row.site))[:DEEPEST]
                if inside and path:
                    path = (*path[:at], _REPLAY, *path[at:])
                number = known[key] = paths.setdefault(path, len(paths))
            which.append(number)
    return list(paths), which


def _shared(sites: Iterable[Site]) -> int:
    """How many of their outermost frames sites share, without their innermost."""
    shared: Path | None = None
    for site in sites:
        path = tuple(reversed(site))[:DEEPEST]
        if shared is None:
            shared = path[:-1]
            continue
        same = 0
        for one, other in zip(shared, path[:-1], strict=False):
            if one != other:
                break
            same += 1
        shared = shared[:same]
    return len(shared or ())


def shortened(function: str) -> str:
    """A function's qualified name without the functions that define it."""
    return function.rpartition("<locals>.")[2]


# -- loops: what is repeated in a sequence of keys ------------------------------------------------


class Loop(NamedTuple):
    """Turns of a loop, each a sequence of positions and of loops."""

    turns: tuple[tuple[Part, ...], ...]


Part = int | Loop  # a position in the sequence of keys, or a loop


class _Repeats:
    """Finds loops in sequences of keys: the shortest bodies first, and loops of loops.

    lines: by key, the line of the element, as the first line of a body is its smallest.
    """

    def __init__(self) -> None:
        self.lines: list[int] = []
        self.numbers: dict[object, int] = {}
        self._known: dict[tuple[int, ...], list[Part]] = {}

    def key(self, what: object, line: int) -> int:
        """The number of an element: equal ones have the same."""
        number = self.numbers.setdefault(what, len(self.numbers))
        if number == len(self.lines):
            self.lines.append(line)
        return number

    def parts(self, keys: tuple[int, ...]) -> list[Part]:
        """The sequence with its repeated parts as loops."""
        found = self._known.get(keys)
        if found is None:
            found = self._known[keys] = self._find(keys)
        return found

    def _find(self, keys: tuple[int, ...]) -> list[Part]:
        parts: list[Part] = list(range(len(keys)))
        numbers = np.asarray(keys, np.int64)
        again = True
        while again:
            again = False
            for length in _distances(numbers):
                runs = list(self._runs(numbers, length))
                if runs:
                    parts, numbers = self._joined(parts, numbers, length, runs)
                    again = True
                    break
        return parts

    def _runs(self, keys: np.ndarray, length: int) -> Iterator[tuple[int, int]]:
        """Where bodies of a length are repeated: the first position, and how often."""
        same = np.concatenate(([False], keys[length:] == keys[:-length], [False]))
        edges = np.flatnonzero(same[1:] != same[:-1]).tolist()
        free = 0
        for first, end in zip(edges[::2], edges[1::2], strict=True):
            first = max(first, free)
            whole = end + length - first
            turns, rest = divmod(whole, length)
            if not _is_loop(turns, length):
                continue
            lines = [self.lines[key] for key in keys[first : first + rest + 1]]
            first += lines.index(min(lines))
            free = first + turns * length
            yield first, turns

    def _joined(
        self, parts: list[Part], keys: np.ndarray, length: int, runs: list[tuple[int, int]]
    ) -> tuple[list[Part], np.ndarray]:
        """The sequence with each of `runs` as one element."""
        new: list[Part] = []
        numbers: list[int] = []
        at = 0
        for first, turns in runs:
            new += parts[at:first]
            numbers += keys[at:first].tolist()
            at = first + turns * length
            bounds = range(first, at, length)
            new.append(Loop(tuple(tuple(parts[i : i + length]) for i in bounds)))
            body = tuple(keys[first : first + length].tolist())
            numbers.append(self.key(("loop", body), self.lines[body[0]]))
        return [*new, *parts[at:]], np.asarray([*numbers, *keys[at:].tolist()], np.int64)


def _is_loop(turns: int, length: int) -> bool:
    """Whether a repetition is worth a fold; two equal lines are none."""
    return (turns >= 3 and turns * length >= 5) or (turns == 2 and length >= 8)


def _distances(keys: np.ndarray) -> list[int]:
    """How far equal elements are apart, the smallest first: the lengths that a body may have."""
    seen: dict[int, deque[int]] = {}
    counts: Counter[int] = Counter()
    for position, key in enumerate(keys.tolist()):
        before = seen.get(key)
        if before is None:
            before = seen[key] = deque(maxlen=LOOKS_BACK)
        for earlier in before:
            counts[position - earlier] += 1
        before.append(position)
    return sorted(d for d, count in counts.items() if count >= 2 and d * 2 <= len(keys))


# -- folds ----------------------------------------------------------------------------------------


class _Element(NamedTuple):
    """Rows [first, end) of a level: one row, or what one line calls."""

    first: int
    end: int
    key: int
    frame: Frame | None
    callee: str  # empty for a row
    kind: str


class _Finder:
    def __init__(self, rows: Sequence[Row]) -> None:
        self.rows = rows
        self.paths, self.path_of = _paths(rows)
        self.repeats = _Repeats()

    def found(self) -> list[Fold]:
        return list(self._level(0, len(self.rows), 0))

    def _elements(self, first: int, end: int, depth: int) -> Iterator[_Element]:
        paths, path_of, key = self.paths, self.path_of, self.repeats.key
        at = first
        while at < end:
            path = paths[path_of[at]]
            begin, at = at, at + 1
            if len(path) <= depth:
                kind = "inputs" if not path and not self.rows[begin].reads else ""
                while kind and at < end and not paths[path_of[at]] and not self.rows[at].reads:
                    at += 1
                what = ("inputs", begin) if kind else (None, self.rows[begin].operation)
                yield _Element(begin, at, key(what, 0), None, "", kind)
                continue
            frame = path[depth]
            if len(path) == depth + 1:
                number = key((frame, self.rows[begin].operation), frame.line)
                yield _Element(begin, at, number, frame, "", "")
                continue
            inner = path[depth + 1]
            whose = (frame, inner.file, inner.function)
            number = path_of[begin]
            while at < end:  # rows of the same site are taken without a look
                if path_of[at] != number:
                    path = paths[path_of[at]]
                    if len(path) <= depth + 1 or path[depth] != frame:
                        break
                    if path[depth + 1][::2] != whose[1:]:
                        break
                    number = path_of[at]
                at += 1
            is_replay = frame is _REPLAY or inner is _REPLAY
            kind = "replay" if is_replay else "call"
            yield _Element(begin, at, key(whose, frame.line), frame, inner.function, kind)

    def _level(self, first: int, end: int, depth: int) -> Iterator[Fold]:
        """The folds of rows whose frames up to `depth` are the same."""
        elements = list(self._elements(first, end, depth))
        parts = self.repeats.parts(tuple(element.key for element in elements))
        yield from self._folds(parts, elements, depth)

    def _folds(
        self, parts: Sequence[Part], elements: Sequence[_Element], depth: int
    ) -> Iterator[Fold]:
        for part in parts:
            if isinstance(part, Loop):
                yield from self._loop(part, elements, depth)
            elif elements[part].end - elements[part].first > 1:
                yield from self._element(elements[part], depth)

    def _element(self, element: _Element, depth: int) -> Iterator[Fold]:
        """The folds of several rows that one line calls, or of inputs."""
        first, end, _, frame, callee, kind = element
        if kind == "inputs":
            if end - first > FEW:
                yield Fold(kind, first, end, f"{end - first} inputs", end - first)
            return
        inside = list(self._level(first, end, depth + 1))
        own = shortened(callee)
        name = f"replay of {own}" if kind == "replay" and callee != "replay" else own
        if inside and (inside[0].first, inside[0].end) == (first, end):
            # One line that calls one function, or the whole of a function in a loop.
            fold = inside[0]
            if fold.kind == "call" and kind == "call":
                name = f"{name} › {fold.label}"
                inside[0] = fold._replace(label=name, place=frame)
                yield from inside
                return
            if fold.kind == "replay" and kind == "replay":
                yield from inside
                return
            if fold.kind == "loop":
                inside[0] = fold._replace(label=name, place=frame)
                yield from inside
                return
        place = None if frame is _REPLAY else frame
        yield Fold(kind, first, end, name, 1, place)
        yield from inside

    def _loop(self, loop: Loop, elements: Sequence[_Element], depth: int) -> Iterator[Fold]:
        bounds = [_bounds(turn, elements) for turn in loop.turns]
        frames = [f for f in _frames(loop.turns[0], elements) if f is not None and f.file]
        yield Fold("loop", bounds[0][0], bounds[-1][1], _lines(frames), len(bounds))
        for number, (turn, (first, end)) in enumerate(zip(loop.turns, bounds, strict=True), 1):
            if number == 2 and len(bounds) > FEW:
                others = len(bounds) - 1
                yield Fold("turns", first, bounds[-1][1], f"turns 2 to {len(bounds):,}", others)
            inside = list(self._folds(turn, elements, depth))
            whole = inside and (inside[0].first, inside[0].end) == (first, end)
            if end - first > 1 and not whole:
                yield Fold("turn", first, end, f"turn {number}", number)
            yield from inside


def _bounds(turn: Sequence[Part], elements: Sequence[_Element]) -> tuple[int, int]:
    first, last = turn[0], turn[-1]
    while isinstance(first, Loop):
        first = first.turns[0][0]
    while isinstance(last, Loop):
        last = last.turns[-1][-1]
    return elements[first].first, elements[last].end


def _frames(turn: Sequence[Part], elements: Sequence[_Element]) -> Iterator[Frame | None]:
    for part in turn:
        if isinstance(part, Loop):
            yield from _frames(part.turns[0], elements)
        else:
            yield elements[part].frame


def _lines(frames: Sequence[Frame]) -> str:
    """Lines of a function in words: `model.py:3-5`."""
    if not frames:
        return "loop"
    low, high = min(frames, key=lambda f: f.line), max(frames, key=lambda f: f.line)
    return str(low) if low.line == high.line else f"{low}-{high.line}"


__all__ = ["DEEPEST", "KINDS", "Fold", "folds_of", "shortened"]
