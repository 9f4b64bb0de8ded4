"""Statements of one level and one shape as one loop nest of LLVM's instructions.

Knows loops, vectors and registers. Must not know what a program's calls mean.

The innermost loop goes in steps of a vector. What is left over is done by a narrower vector, or,
where nothing is read that is written, by a last vector that overlaps the one before it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import ClassVar

import numpy as np

from tapegrad._native.loop_body import LoopBody
from tapegrad._native.native_ops import REDUCERS, STORED, Scan, compute
from tapegrad._native.nests import Loop, width_of
from tapegrad._native.regions import Statement
from tapegrad._native.vector_math import FORMULAS
from tapegrad._native.vectors import WIDEST, stored_literal

LONG = 48  # statements, from which on they are not written out a second time for what is left
MANY = 100_000  # elements, from which on a loop nest is divided among threads
WORK = (
    1 << 20
)  # the same, counted for each statement: what takes less is done before a thread wakes
DEAR = 8  # simple statements that an elementary function takes as long as
MUCH = 8  # times as much, from which on a thread has several parts
EACH = 4  # parts
FEW_ROWS = 8  # of the outermost loop, below which it is not
BLOCK = 2048  # elements that are summed before their sum is added to the others


class Kernel(LoopBody):
    """The text of a loop nest, as a function of the addresses of its memories."""

    helpers: ClassVar[dict[str, str]] = {}

    def __init__(
        self,
        statements: list[Statement],
        *,
        divided: bool = False,
        along: int | None = None,
        unit: int = 1,
    ) -> None:
        """divided: for parts at once; along: for blocks of an axis, which begin at each `unit`."""
        super().__init__(statements, along)
        self.totals: list[Statement] = []  # reductions to one element, of which parts have parts
        if along is None:
            self.divided = divided and self._can_be_divided()
        else:
            self.divided = True
            self.per_turn = self.loops[0].extent // statements[0].shape[along]
            self.unit = unit * self.per_turn
        self._write()

    def _can_be_divided(self) -> bool:
        """Whether parts of the outermost loop can be done at once.

        A sum of everything is made of the parts' sums; one that keeps an axis must have its own
        elements for each part.
        """
        extent = 1
        for loop in self.loops:
            extent *= loop.extent
        if extent < MANY or extent * self._work() < WORK or self.rereads:
            return False
        if len(self.loops) == 1 and self.loops[0].extent // width_of(BLOCK) * width_of(BLOCK) <= (
            2 * BLOCK
        ):
            return False
        if len(self.loops) > 1 and self.loops[0].extent < FEW_ROWS:
            return False
        outermost = self.loops[0]
        for s, _, _ in self.plan:
            if s.places is not None or type(s.op) is Scan:
                return False
            if s.reduces is not None and not self._step(s.out, outermost):
                if any(self._step(s.out, loop) for loop in self.loops):
                    return False
                self.totals.append(s)
        return len({id(s.out.memory) for s in self.totals}) == len(self.totals)

    def _work(self) -> int:
        """Cost of an element, in simple statements."""
        return sum(DEAR if s.op in FORMULAS else 1 for s in self.statements)

    def bounds(self, threads: int) -> list[int]:
        """Where parts of the outermost loop begin, and the last ends.

        Where there is much to do they are more than the threads: one that has to wait for its
        processor does fewer.
        """
        much = math.prod(loop.extent for loop in self.loops) * self._work() >= MUCH * WORK
        parts = threads * (EACH if much else 1)
        n = self.loops[0].extent
        unit = BLOCK if len(self.loops) == 1 else 1
        most = n // WIDEST * WIDEST // unit if unit > 1 else n
        parts = max(1, min(parts, most))
        return [most * i // parts * unit for i in range(parts)] + [n]

    def _write(self) -> None:
        *outer, inner = self.loops
        self.width = width_of(inner.extent)
        if self.along is not None and not outer:
            self.width = math.gcd(self.width, self.unit)
        self.accumulators = [
            s
            for s, _, _ in self.plan
            if s.reduces is not None and s.places is None and not self._step(s.out, inner)
        ]
        for s, _, _ in self.plan:
            if s.reduces is not None and s.places is None and self._is_combined(s):
                self._fill(s)
        rows = [self._start(i) for i in range(len(self.arrays))]
        self._nest(outer, rows)

    def _fill(self, s: Statement) -> None:
        """Set the elements that a reduction combines into to what it starts from."""
        number = self.numbers[self._key(s.out)]
        axes = [loop for loop in self.loops if loop.steps[number]]
        dtype = s.out.dtype
        first = "<1 x " + STORED[dtype] + ">"
        value = stored_literal(REDUCERS[s.reduces](dtype), dtype)

        def nest(loops: list[Loop], base: str) -> None:
            if not loops:
                self.lines.append(f"  store {first} {value}, ptr {base}, align 1")
                return
            step = loops[0].steps[number]

            def body(i: str) -> None:
                place = self.put(f"mul nsw i64 {i}, {step}") if step != 1 else i
                nest(loops[1:], self._address(base, dtype, place))

            if self.divided and loops[0] is self.loops[0]:  # other parts have filled theirs
                self.loop("%end", 1, body, "%begin")
            else:
                self.loop(loops[0].extent, 1, body)

        if self.along is not None and not self.loops[0].steps[number]:
            self._only_if("icmp eq i64 %begin, 0", lambda: nest(axes, self._start(number)))
        else:
            nest(axes, self._start(number))

    def _nest(self, outer: list[Loop], rows: list[str]) -> None:
        """The loops from one on, with the accumulators that belong to it."""
        depth = len(self.loops) - 1 - len(outer)
        mine = [i for i, s in enumerate(self.accumulators) if self._depth(s) == depth]
        for i in mine:
            self._clear(i)
        if outer:
            self._turns(outer, rows)
        else:
            self._inner(rows)
        for i in mine:
            self._combine(self.accumulators[i], self.sums[i], rows)

    def _clear(self, i: int) -> None:
        """Set an accumulator to what its reduction starts from."""
        s = self.accumulators[i]
        t = self.vector(s.out.dtype)
        place = f"%s{len(self.head)}"
        self.head.append(f"  {place} = alloca {t}, align 64")
        self.lines.append(f"  store {t} {self._neutral(s)}, ptr {place}, align 64")
        self.sums[i] = place

    def _turns(self, outer: list[Loop], rows: list[str]) -> None:
        loop = outer[0]
        depth = len(self.loops) - 1 - len(outer)
        if loop.extent == 1:
            self._nest(outer[1:], rows)
            return

        def body(i: str) -> None:
            places = {
                step: i if step == 1 else self.put(f"mul nsw i64 {i}, {step}")
                for step in sorted(set(loop.steps) - {0})
            }
            moved = [
                self._address(row, x.dtype, places[step]) if step else row
                for row, x, step in zip(rows, self.arrays, loop.steps, strict=True)
            ]
            self._nest(outer[1:], moved)

        if self.divided and depth == 0:
            self.loop("%end", 1, body, "%begin")
        else:
            self.loop(loop.extent, 1, body)

    def _inner(self, rows: list[str]) -> None:
        inner = self.loops[-1]
        n, width = inner.extent, self.width
        self.fixed = {}
        for number in self._loads():
            if not inner.steps[number]:
                self.fixed[number] = self._broadcast(number, rows[number])
        full, rest = n // width * width, n % width
        overlapping = bool(full and rest and len(self.plan) > LONG and not self.rereads)
        overlapping = overlapping and len(self.accumulators) == sum(
            s.reduces is not None or s.places is not None for s, _, _ in self.plan
        )
        alone = self.divided and len(self.loops) == 1
        blocks = alone and self.along is not None
        if overlapping and not blocks:
            self._overlapping(rows, n, rest)
        elif alone:
            if blocks:  # of which the last may have nothing but the rest
                self._only_if(f"icmp slt i64 %begin, {full}", lambda: self._blocks(rows, full))
            else:
                self._blocks(rows, full)
            if rest:
                self._only_if(f"icmp eq i64 %end, {n}", lambda: self._body(rows, str(full), rest))
        else:
            if full == width:
                self._body(rows, "0", width)
            elif full:
                self._blocks(rows, full)
            if rest:
                self._body(rows, str(full), rest)

    def _only_if(self, condition: str, body: Callable[[], None]) -> None:
        """Instructions that not all parts do."""
        self.count += 1
        k = self.count
        holds = self.put(condition)
        self.lines += [f"  br i1 {holds}, label %T{k}, label %U{k}", f"T{k}:"]
        self.block = f"T{k}"
        body()
        self.lines += [f"  br label %U{k}", f"U{k}:"]
        self.block = f"U{k}"

    def _blocks(self, rows: list[str], full: int) -> None:
        """The loop over all whole vectors; long sums by blocks."""
        innermost = len(self.loops) - 1
        begin, end = "0", str(full)
        if self.divided and len(self.loops) == 1:
            less = self.put(f"icmp slt i64 %end, {full}")
            begin, end = "%begin", self.put(f"select i1 {less}, i64 %end, i64 {full}")
        added = [
            i
            for i, s in enumerate(self.accumulators)
            if s.reduces is np.add and self._depth(s) == innermost
        ]
        if not added or full <= 2 * BLOCK or self.along is not None:
            self._vectors(rows, begin, end)
            return
        totals = {}
        for i in added:
            t = self.vector(self.accumulators[i].out.dtype)
            totals[i] = f"%s{len(self.head)}"
            self.head.append(f"  {totals[i]} = alloca {t}, align 64")
            zero = self._neutral(self.accumulators[i])
            self.lines.append(f"  store {t} {zero}, ptr {totals[i]}, align 64")

        def block(start: str) -> None:
            stop = self.put(f"add nuw nsw i64 {start}, {BLOCK}")
            cut = self.put(f"icmp slt i64 {stop}, {end}")
            stop = self.put(f"select i1 {cut}, i64 {stop}, i64 {end}")
            self._vectors(rows, start, stop)
            for i in added:
                s = self.accumulators[i]
                t = self.vector(s.out.dtype)
                a = self.put(f"load {t}, ptr {totals[i]}, align 64")
                b = self.put(f"load {t}, ptr {self.sums[i]}, align 64")
                total = compute(self, s.reduces, [a, b], s.out.dtype)
                self.lines.append(f"  store {t} {total}, ptr {totals[i]}, align 64")
                self.lines.append(f"  store {t} {self._neutral(s)}, ptr {self.sums[i]}, align 64")

        self.loop(end, BLOCK, block, begin)
        self.sums |= totals

    def _accumulated(self) -> list[tuple[str, str]]:
        """Where accumulators are, and their types."""
        types = [self.vector(s.out.dtype) for s in self.accumulators]
        return [(self.sums[i], t) for i, t in enumerate(types)]

    def _vectors(self, rows: list[str], begin: str, end: str) -> None:
        """A loop over whole vectors."""
        width = self.width
        carried = self._accumulated()
        self.loop(end, width, lambda j: self._body(rows, j, width), begin, carried)

    def _overlapping(self, rows: list[str], n: int, rest: int) -> None:
        """All vectors, the last of which begins before the end of the one before it."""
        width = self.width
        done = ", ".join(f"i1 {'false' if i < width - rest else 'true'}" for i in range(width))

        def body(j: str) -> None:
            inside = self.put(f"icmp sle i64 {j}, {n - width}")
            start = self.put(f"select i1 {inside}, i64 {j}, i64 {n - width}")
            lanes = self.put(
                f"select i1 {inside}, <{width} x i1> splat (i1 true), <{width} x i1> <{done}>"
            )
            self._body(rows, start, width, lanes)

        if self.divided and len(self.loops) == 1:
            self.loop("%end", width, body, "%begin", self._accumulated())
        else:
            self.loop(n, width, body, "0", self._accumulated())

    def _combine(self, s: Statement, place: str, rows: list[str]) -> None:
        """Add up the lanes of an accumulator, and store the result, or combine it."""
        t, width = self.vector(s.out.dtype), self.width
        value = self.put(f"load {t}, ptr {place}, align 64")
        keep = self.width
        while width > 1:
            width //= 2
            lower = ", ".join(f"i32 {i}" for i in range(width))
            upper = ", ".join(f"i32 {i + width}" for i in range(width))
            a, b = [
                self.put(f"shufflevector {t} {value}, {t} poison, <{width} x i32> <{lanes}>")
                for lanes in (lower, upper)
            ]
            self.width = width
            t = self.vector(s.out.dtype)
            value = compute(self, s.reduces, [a, b], s.out.dtype)
        self.width = 1
        row = rows[self.numbers[self._key(s.out)]]
        if self._is_combined(s):
            value = compute(
                self, s.reduces, [self._load(row, s.out.dtype, 1, 1), value], s.out.dtype
            )
        self._store(value, row, s.out.dtype, 1, 1)
        self.width = keep

    def text(self) -> str:
        """The function, whose name is to be put in place of `@KERNEL`."""
        given = ", ".join(f"ptr noalias %p{i}" for i in range(len(self.memories)))
        if self.divided:
            given += ", i64 %begin, i64 %end"
        body = "\n".join([*self.head, *self.lines])
        head = f"define internal void @KERNEL({given}) noinline nounwind {{\nentry:\n"
        return f"{head}{body}\n  ret void\n}}\n"


__all__ = ["Kernel"]
