"""The loops of statements of one level and one shape, and the arrays in them.

Knows what is loaded, stored, or stays in registers, and in which order axes are walked. Must not
know instructions, but those that give an address.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad._native.regions import Array, Gathered, Memory, Number, Statement, is_uniform
from tapegrad._native.vectors import WIDEST, Vectors


def width_of(n: int) -> int:
    """The width of the vectors of a loop over n elements."""
    width = 1
    while width < min(n, WIDEST):
        width *= 2
    return width


class Loop:
    """An axis of a nest: how far it goes, and the step of each array along it."""

    def __init__(self, extent: int, steps: list[int]) -> None:
        self.extent = extent
        self.steps = steps


def loops_of(
    shape: Sequence[int], arrays: Sequence[Array], stores: set[int], along: int | None = None
) -> list[Loop]:
    """The axes, outermost first: as the arrays lie in memory, those that go on merged.

    along: an axis that is the outermost.
    """
    loops = [Loop(n, [x.strides[axis] for x in arrays]) for axis, n in enumerate(shape)]
    first = loops.pop(along) if along is not None else None

    def weight(loop: Loop) -> int:
        return sum(abs(s) * (2 if i in stores else 1) for i, s in enumerate(loop.steps))

    loops.sort(key=lambda loop: -weight(loop))
    merged: list[Loop] = []
    for loop in loops if first is None else [first, *loops]:
        if merged and all(
            a == b * loop.extent for a, b in zip(merged[-1].steps, loop.steps, strict=True)
        ):
            merged[-1] = Loop(merged[-1].extent * loop.extent, loop.steps)
        else:
            merged.append(loop)
    return merged or [Loop(1, [0] * len(arrays))]


class Nest(Vectors):
    """Statements with the arrays that they share."""

    def __init__(self, statements: list[Statement], along: int | None = None) -> None:
        super().__init__()
        self.statements, self.along = statements, along
        self.arrays: list[Array] = []
        self.numbers: dict[Any, int] = {}  # of arrays, by what they are
        self.memories: list[Memory] = []
        self.memory_numbers: dict[int, int] = {}
        self.bases: list[int] = []  # of each memory, the least offset
        self._collect()

    def _collect(self) -> None:
        """Find what is loaded and stored; the rest stays in registers."""
        written: dict[Any, int] = {}
        self.plan: list[tuple[Statement, list[Any], bool]] = []
        stores: set[int] = set()
        last_write: dict[Any, int] = {}
        for i, s in enumerate(self.statements):
            if s.reduces is None and s.places is None:
                last_write[self._key(s.out)] = i
        self.rereads = False
        for i, s in enumerate(self.statements):
            operands = [self._operand(x, written) for x in s.operands]
            if s.places is not None:
                operands += [self._operand(place.at, written) for place in s.places]
            stored = (
                s.reduces is not None
                or s.places is not None
                or (s.out.memory.kept and last_write[self._key(s.out)] == i)
            )
            if stored:
                stores.add(self._array(s.out))
            if s.reduces is None and s.places is None:
                written[self._key(s.out)] = i
            self.plan.append((s, operands, stored))
        loaded = {self.arrays[number].memory for number in self._loads(gathers=True)}
        self.rereads = any(self.arrays[i].memory in loaded for i in stores)
        self.loops = loops_of(self.statements[0].shape, self.arrays, stores, self.along)

    def _operand(self, x: Any, written: dict[Any, int]) -> Any:
        """Where an operand is: a number, or in a register, or in memory."""
        if type(x) is Number:
            return x
        if type(x) is Gathered:
            places = [self._operand(place.at, written) for place in x.places]
            return "gather", self._array(x.array), places, x.places
        if is_uniform(x):
            return Number(x.memory.constant, x.dtype)
        if self._key(x) in written:
            return "register", self._key(x)
        return "load", self._array(x)

    def _loads(self, *, gathers: bool = False) -> list[int]:
        """The numbers of arrays that are loaded."""
        found: list[int] = []
        pending = [x for _, operands, _ in self.plan for x in operands]
        for x in pending:
            if type(x) is tuple and x[0] == "gather":
                pending += x[2]
                if gathers:
                    found.append(x[1])
            elif type(x) is tuple and x[0] == "load":
                found.append(x[1])
        return list(dict.fromkeys(found))

    def _key(self, x: Array) -> Any:
        return id(x.memory), x.offset, x.strides

    def _array(self, x: Array) -> int:
        key = self._key(x)
        number = self.numbers.get(key)
        if number is None:
            number = self.numbers[key] = len(self.arrays)
            self.arrays.append(x)
            place = self.memory_numbers.setdefault(id(x.memory), len(self.memories))
            if place == len(self.memories):
                self.memories.append(x.memory)
                self.bases.append(x.offset)
            self.bases[place] = min(self.bases[place], x.offset)
        return number

    def _step(self, x: Array, loop: Loop) -> int:
        return loop.steps[self.numbers[self._key(x)]]

    def _start(self, number: int) -> str:
        """The address of an array's first element."""
        x = self.arrays[number]
        place = self.memory_numbers[id(x.memory)]
        offset = x.offset - self.bases[place]
        return self._address(f"%p{place}", x.dtype, str(offset)) if offset else f"%p{place}"

    def _depth(self, s: Statement) -> int:
        """How many loops lie outside of those that add up into one accumulator.

        Sums are added up by at most two, as long ones lose digits.
        """
        steps = [self._step(s.out, loop) for loop in self.loops]
        depth = len(steps) - 1
        while depth and not steps[depth - 1]:
            if s.reduces is np.add and depth < len(steps) - 1:
                break
            depth -= 1
        return depth

    def _is_combined(self, s: Statement) -> bool:
        """Whether a reduction meets its elements more than once; they are filled before."""
        inner = self.loops[-1]
        if self._step(s.out, inner):
            return True
        outer = self.loops[: self._depth(s)]
        if self.along is not None and not self._step(s.out, self.loops[0]):
            return True  # by one block after another
        return any(loop.extent > 1 and not self._step(s.out, loop) for loop in outer)


__all__ = ["Loop", "Nest", "width_of"]
