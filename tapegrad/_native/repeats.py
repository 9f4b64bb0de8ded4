"""Long rows of statements cut into pieces, so that what repeats is the same piece again.

Knows statements. Must not know how a piece is written as a loop nest.

A machine-code generator takes time that grows with the square of a body's length, and pieces with
the same text are compiled once: so a program of 100 equal steps costs what one step does.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from tapegrad._native.regions import Number, Statement, arrays_of

PIECE = 64  # statements
NEAR = 64  # statements before, up to which a reference is told exactly
WINDOW = 12  # statements that must be alike for two places to be
LONGEST = 20_000  # statements of a step that repeats


def pieces(statements: Sequence[Statement]) -> list[Sequence[Statement]]:
    """The statements in order, in pieces."""
    cuts = _cuts(_next_alike(_signatures(statements)))
    return [statements[a:b] for a, b in itertools.pairwise(cuts)]


def _signatures(statements: Sequence[Statement]) -> list[int]:
    """A number for each statement, which those share that may be the same in two steps."""
    numbers: dict[Any, int] = {}
    made: dict[int, int] = {}  # by which statement each memory was last written
    found = []
    for at, s in enumerate(statements):
        parts: list[Any] = [s.op if s.places is None else id(s), s.dtype, s.reduces]
        for operand in s.operands:
            if type(operand) is Number:
                parts.append((str(operand.value), operand.kind))
                continue
            for x in arrays_of(operand):
                before = made.get(id(x.memory))
                if before is not None:
                    parts.append(min(at - before, NEAR))
                else:
                    parts.append((x.dtype, x.strides, x.memory.input, x.memory.shape == ()))
        made[id(s.out.memory)] = at
        found.append(numbers.setdefault(tuple(parts), len(numbers)))
    return found


def _next_alike(signatures: list[int]) -> list[int]:
    """How far it is from each place to the next that is alike; 0 where there is none."""
    n = len(signatures)
    found = [0] * n
    following: dict[tuple[int, ...], int] = {}
    for at in range(n - WINDOW, -1, -1):
        key = tuple(signatures[at : at + WINDOW])
        after = following.get(key)
        if after is not None:
            found[at] = after - at
        following[key] = at
    return found


def _cuts(steps: list[int]) -> list[int]:
    """Where pieces begin, and the end."""
    n, at = len(steps), 0
    cuts = [0]
    while at < n:
        period = steps[at] if steps[at] <= LONGEST else 0
        if not period:  # up to where something begins that repeats
            end = min(at + PIECE, n)
            at = next((i for i in range(at + 1, end) if steps[i]), end)
            cuts.append(at)
        elif period <= PIECE:
            at = min(at + PIECE // period * period, n)
            cuts.append(at)
        else:
            end = min(at + period, n)
            cuts += [*range(at + PIECE, end - PIECE // 2, PIECE), end]
            at = end
    return cuts


__all__ = ["pieces"]
