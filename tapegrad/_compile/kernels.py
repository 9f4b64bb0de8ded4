"""Statements of one level and one shape as one loop nest of LLVM's instructions.

Knows loops, vectors and registers. Must not know what a program's calls mean.

The innermost loop goes in steps of a vector. What is left over is done by a narrower vector, or,
where nothing is read that is written, by a last vector that overlaps the one before it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from tapegrad._compile.gathers import INDEX, first_of, gathered, offsets, scattered
from tapegrad._compile.native_ops import (
    BOOL,
    LOGICAL,
    REDUCERS,
    STORED,
    Cast,
    Registers,
    Scan,
    Where,
    cast,
    compute,
    literal,
)
from tapegrad._compile.regions import (
    Array,
    Gathered,
    Memory,
    Number,
    Place,
    Statement,
    is_uniform,
)

WIDEST = 16
LONG = 48  # statements, from which on they are not written out a second time for what is left
MANY = 100_000  # elements, from which on a loop nest is divided among threads
FEW_ROWS = 8  # of the outermost loop, below which it is not
BLOCK = 2048  # elements that are summed before their sum is added to the others


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


def loops_of(shape: Sequence[int], arrays: Sequence[Array], stores: set[int]) -> list[Loop]:
    """The axes, outermost first: as the arrays lie in memory, those that go on merged."""
    loops = [Loop(n, [x.strides[axis] for x in arrays]) for axis, n in enumerate(shape)]

    def weight(loop: Loop) -> int:
        return sum(abs(s) * (2 if i in stores else 1) for i, s in enumerate(loop.steps))

    loops.sort(key=lambda loop: -weight(loop))
    merged: list[Loop] = []
    for loop in loops:
        if merged and all(
            a == b * loop.extent for a, b in zip(merged[-1].steps, loop.steps, strict=True)
        ):
            merged[-1] = Loop(merged[-1].extent * loop.extent, loop.steps)
        else:
            merged.append(loop)
    return merged or [Loop(1, [0] * len(arrays))]


class Kernel(Registers):
    """The text of a loop nest, as a function of the addresses of its memories."""

    helpers: ClassVar[dict[str, str]] = {}

    def __init__(self, statements: list[Statement], *, divided: bool = False) -> None:
        self.statements = statements
        self.divided = divided  # whether it does a part of the outermost loop
        self.lines: list[str] = []
        self.head: list[str] = []
        self.count = 0
        self.block = "entry"
        self.width = 1
        self.carried: dict[str, str] = {}  # what is in registers of places, in a loop
        self.declarations: set[str] = set()
        self.functions: set[tuple[Any, int]] = set()  # elementary functions, with their width
        self.arrays: list[Array] = []
        self.numbers: dict[Any, int] = {}  # of arrays, by what they are
        self.memories: list[Memory] = []
        self.memory_numbers: dict[int, int] = {}
        self.bases: list[int] = []  # of each memory, the least offset
        self.totals: list[Statement] = []  # reductions to one element, of which parts have parts
        self._collect()
        self.divided = divided and self._can_be_divided()
        self._write()

    def _can_be_divided(self) -> bool:
        """Whether parts of the outermost loop can be done at once.

        A sum of everything is made of the parts' sums; one that keeps an axis must have its own
        elements for each part.
        """
        extent = 1
        for loop in self.loops:
            extent *= loop.extent
        if extent < MANY or self.rereads:
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

    def bounds(self, parts: int) -> list[int]:
        """Where parts of the outermost loop begin, and the last ends."""
        n = self.loops[0].extent
        unit = BLOCK if len(self.loops) == 1 else 1
        most = n // WIDEST * WIDEST // unit if unit > 1 else n
        parts = max(1, min(parts, most))
        return [most * i // parts * unit for i in range(parts)] + [n]

    # -- Which arrays there are ------------------------------------------------------------------

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
        self.loops = loops_of(self.statements[0].shape, self.arrays, stores)

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

    # -- Registers -------------------------------------------------------------------------------

    def name(self) -> str:
        self.count += 1
        return f"%r{self.count}"

    def put(self, instruction: str) -> str:
        name = self.name()
        self.lines.append(f"  {name} = {instruction}")
        return name

    def declare(self, text: str) -> None:
        self.declarations.add(text)

    def elementary(self, ufunc: np.ufunc, args: list[str]) -> str:
        wide = 2 if self.width <= 2 else WIDEST
        self.functions.add((ufunc, wide))
        t, full = f"<{self.width} x double>", f"<{wide} x double>"
        given = [self._resized(x, t, self.width, wide) for x in args]
        name = f"@tg_{ufunc.__name__}_{wide}"
        out = self.put(f"call {full} {name}({', '.join(f'{full} {x}' for x in given)})")
        return self._resized(out, full, wide, self.width)

    def _resized(self, x: str, kind: str, before: int, after: int) -> str:
        """A vector with lanes cut off, or with ones appended.

        LLVM 22 miscompiles, for Zen 5, copies of the first lane in place of ones, and with zeros
        it takes 0 / 0 for 0 where the lane is masked later.
        """
        if before == after:
            return x
        lanes = ", ".join(f"i32 {min(i, before)}" for i in range(after))
        element = kind.split(" x ")[1][:-1]
        one = "1.0" if element in ("double", "float") else "1"
        rest = "poison" if after < before else f"splat ({element} {one})"
        return self.put(f"shufflevector {kind} {x}, {kind} {rest}, <{after} x i32> <{lanes}>")

    # -- Loops -----------------------------------------------------------------------------------

    def _write(self) -> None:
        *outer, inner = self.loops
        self.width = width_of(inner.extent)
        self.accumulators = [
            s
            for s, _, _ in self.plan
            if s.reduces is not None and s.places is None and not self._step(s.out, inner)
        ]
        for s, _, _ in self.plan:
            if s.reduces is not None and s.places is None and self._is_combined(s):
                self._fill(s)
        rows = [self._start(i) for i in range(len(self.arrays))]
        self.sums: dict[int, str] = {}  # where accumulators are
        self._nest(outer, rows)

    def _step(self, x: Array, loop: Loop) -> int:
        return loop.steps[self.numbers[self._key(x)]]

    def _start(self, number: int) -> str:
        """The address of an array's first element."""
        x = self.arrays[number]
        place = self.memory_numbers[id(x.memory)]
        offset = x.offset - self.bases[place]
        return self._address(f"%p{place}", x.dtype, str(offset)) if offset else f"%p{place}"

    def _address(self, base: str, dtype: Any, index: str) -> str:
        return self.put(f"getelementptr {STORED[dtype]}, ptr {base}, i64 {index}")

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
        return any(loop.extent > 1 and not self._step(s.out, loop) for loop in outer)

    def loop(
        self,
        extent: Any,
        step: int,
        body: Callable[[str], None],
        start: str = "0",
        carried: Sequence[tuple[str, str]] = (),
    ) -> None:
        """`for i in range(start, extent, step)`, of at least one turn.

        What is `carried`, places and their types, is in registers from turn to turn.
        """
        self.count += 1
        n = self.count
        index, following, more = f"%i{n}", f"%n{n}", f"%c{n}"
        first = [self.put(f"load {t}, ptr {place}, align 64") for place, t in carried]
        self.lines += [f"  br label %L{n}", f"L{n}:"]
        mark = len(self.lines)
        self.lines.append("")
        before, self.block = self.block, f"L{n}"
        self.carried = {place: f"%v{n}_{k}" for k, (place, _) in enumerate(carried)}
        body(index)
        last, self.carried = self.carried, {}
        phis = [f"  {index} = phi i64 [ {start}, %{before} ], [ {following}, %{self.block} ]"]
        phis += [
            f"  %v{n}_{k} = phi {t} [ {first[k]}, %{before} ], [ {last[place]}, %{self.block} ]"
            for k, (place, t) in enumerate(carried)
        ]
        self.lines[mark] = "\n".join(phis)
        self.lines += [
            f"  {following} = add nuw nsw i64 {index}, {step}",
            f"  {more} = icmp slt i64 {following}, {extent}",
            f"  br i1 {more}, label %L{n}, label %E{n}",
            f"E{n}:",
        ]
        self.lines += [f"  store {t} {last[place]}, ptr {place}, align 64" for place, t in carried]
        self.block = f"E{n}"

    def _fill(self, s: Statement) -> None:
        """Set the elements that a reduction combines into to what it starts from."""
        number = self.numbers[self._key(s.out)]
        axes = [loop for loop in self.loops if loop.steps[number]]
        dtype = s.out.dtype
        first = "<1 x " + STORED[dtype] + ">"
        value = _stored_literal(REDUCERS[s.reduces](dtype), dtype)

        def nest(loops: list[Loop], base: str) -> None:
            if not loops:
                self.lines.append(f"  store {first} {value}, ptr {base}, align 1")
                return
            step = loops[0].steps[number]

            def body(i: str) -> None:
                place = self.put(f"mul nsw i64 {i}, {step}") if step != 1 else i
                nest(loops[1:], self._address(base, dtype, place))

            self.loop(loops[0].extent, 1, body)

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

    # -- The innermost loop ----------------------------------------------------------------------

    def _inner(self, rows: list[str]) -> None:
        inner = self.loops[-1]
        n, width = inner.extent, self.width
        self.fixed = {}  # vectors that are the same in all turns
        for number in self._loads():
            if not inner.steps[number]:
                self.fixed[number] = self._broadcast(number, rows[number])
        full, rest = n // width * width, n % width
        overlapping = bool(full and rest and len(self.plan) > LONG and not self.rereads)
        overlapping = overlapping and len(self.accumulators) == sum(
            s.reduces is not None or s.places is not None for s, _, _ in self.plan
        )
        alone = self.divided and len(self.loops) == 1
        if overlapping:
            self._overlapping(rows, n, rest)
        elif alone:
            self._blocks(rows, full)
            if rest:
                self._last(lambda: self._body(rows, str(full), rest), n)
        else:
            if full == width:
                self._body(rows, "0", width)
            elif full:
                self._blocks(rows, full)
            if rest:
                self._body(rows, str(full), rest)

    def _last(self, body: Callable[[], None], n: int) -> None:
        """What only the last part does."""
        self.count += 1
        k = self.count
        last = self.put(f"icmp eq i64 %end, {n}")
        self.lines += [f"  br i1 {last}, label %T{k}, label %U{k}", f"T{k}:"]
        self.block = f"T{k}"
        body()
        self.lines += [f"  br label %U{k}", f"U{k}:"]
        self.block = f"U{k}"

    def _neutral(self, s: Statement) -> str:
        return literal(REDUCERS[s.reduces](s.out.dtype), s.out.dtype)

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
        if not added or full <= 2 * BLOCK:
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

    def _body(self, rows: list[str], j: str, lanes: int, mask: str | None = None) -> None:
        """All statements, for one vector, of which so many lanes are of account."""
        registers: dict[Any, str] = {}
        loads: dict[int, str] = dict(self.fixed)
        at = 0
        for s, operands, stored in self.plan:
            args = [self._value(x, registers, loads, rows, j, lanes) for x in operands]
            if s.places is not None:
                value = self._computed(s, args[: len(s.operands)])
                self._scatter(s, value, operands, args, rows, j, lanes)
                continue
            value = self._computed(s, args)
            if s.reduces is None:
                key = self._key(s.out)
                registers[key] = value
                if stored:
                    self._stored(value, s.out, rows, j, lanes)
            elif s in self.accumulators:
                self._accumulate(s, self.sums[at], value, lanes, mask)
                at += 1
            else:
                self._add_to_row(s, value, rows, j, lanes)

    def _value(
        self,
        x: Any,
        registers: dict[Any, str],
        loads: dict[int, str],
        rows: list[str],
        j: str,
        lanes: int,
    ) -> tuple[Any, Any]:
        """An operand's vector, or number, and its dtype."""
        if type(x) is Number:
            return x, None
        if x[0] == "register":
            return registers[x[1]], self._dtypes[x[1]]
        number = x[1]
        if x[0] == "gather":
            given = [self._value(y, registers, loads, rows, j, lanes) for y in x[2]]
            return self._gathered(x, given, rows[number], j, lanes), self.arrays[number].dtype
        if number not in loads or self.rereads:
            loads[number] = self._loaded(number, rows[number], j, lanes)
        return loads[number], self.arrays[number].dtype

    # -- Places that are data --------------------------------------------------------------------

    def _offsets(self, places: Sequence[Place], given: list[tuple[Any, Any]]) -> str:
        found = []
        for place, (x, before) in zip(places, given, strict=True):
            x = literal(x.value, INDEX) if type(x) is Number else cast(self, x, before, INDEX)
            found.append((x, place.length, place.stride))
        return offsets(self, found)

    def _is_one_row(self, operands: list[Any]) -> bool:
        """Whether places are the same in all turns of the innermost loop."""
        inner = self.loops[-1]
        return all(
            type(x) is Number or (x[0] == "load" and not inner.steps[x[1]]) for x in operands
        )

    def _addresses(self, number: int, row: str, offset: str, j: str, lanes: int) -> list[str]:
        """The address of each lane's element."""
        dtype, step = self.arrays[number].dtype, self.loops[-1].steps[number]
        start = self._moved(row, dtype, j, step)
        found = []
        for i in range(lanes):
            one = self.put(f"extractelement {self.vector(INDEX)} {offset}, i64 {i}")
            moved = self._address(start, dtype, one)
            found.append(self._address(moved, dtype, str(i * step)) if i * step else moved)
        return found

    def _gathered(self, x: Any, given: list[tuple[Any, Any]], row: str, j: str, lanes: int) -> str:
        _, number, operands, places = x
        dtype = self.arrays[number].dtype
        offset = self._offsets(places, given)
        step = self.loops[-1].steps[number]
        if self._is_one_row(operands) and step:
            start = self._address(row, dtype, first_of(self, offset))
            return self._load(self._moved(start, dtype, j, step), dtype, lanes, step)
        starts = self._addresses(number, row, offset, j, lanes)
        return self._unpacked(gathered(self, starts, dtype), dtype)

    def _scatter(
        self,
        s: Statement,
        value: str,
        operands: list[Any],
        args: list[tuple[Any, Any]],
        rows: list[str],
        j: str,
        lanes: int,
    ) -> None:
        """Store a vector's lanes at places that are data, or combine them into what is there."""
        assert s.places is not None
        number, dtype = self.numbers[self._key(s.out)], s.out.dtype
        row, step = rows[number], self.loops[-1].steps[number]
        offset = self._offsets(s.places, args[len(s.operands) :])
        if self._is_one_row(operands[len(s.operands) :]) and step:
            start = self._address(row, dtype, first_of(self, offset))
            start = self._moved(start, dtype, j, step)
            if s.reduces is not None:
                before = self._load(start, dtype, lanes, step)
                value = compute(self, s.reduces, [before, value], dtype)
            self._store(value, start, dtype, lanes, step)
            return
        scattered(self, value, self._addresses(number, row, offset, j, lanes), dtype, s.reduces)

    def load_one(self, start: str, dtype: Any) -> str:
        return self._load(start, dtype, 1, 1)

    def _moved(self, row: str, dtype: Any, j: str, step: int) -> str:
        """The address of turn j of the innermost loop."""
        if j == "0" or not step:
            return row
        place = j if step == 1 else self.put(f"mul nsw i64 {j}, {step}")
        return self._address(row, dtype, place)

    @property
    def _dtypes(self) -> dict[Any, Any]:
        found = self.__dict__.get("_dtype_of")
        if found is None:
            found = self._dtype_of = {
                self._key(s.out): s.out.dtype
                for s in self.statements
                if s.reduces is None and s.places is None
            }
        return found

    def _computed(self, s: Statement, args: list[tuple[Any, Any]]) -> str:
        """The value of a statement, in the dtype of its result."""
        dtypes = [s.dtype] * len(args)
        if s.op is Where:
            dtypes[0] = BOOL
        if s.op in LOGICAL:
            dtypes = [BOOL] * len(args)
        given = [
            literal(_converted(x, dtype), dtype)
            if type(x) is Number
            else cast(self, x, before, dtype)
            for (x, before), dtype in zip(args, dtypes, strict=True)
        ]
        return given[0] if s.op is Cast else compute(self, s.op, given, dtypes[-1])

    def _accumulate(self, s: Statement, place: str, x: str, lanes: int, mask: str | None) -> None:
        dtype = s.out.dtype
        t = self.vector(dtype)
        if lanes < self.width:
            bits = ", ".join(f"i1 {'true' if i < lanes else 'false'}" for i in range(self.width))
            mask = f"<{bits}>"
        if mask is not None:
            x = self.put(f"select <{self.width} x i1> {mask}, {t} {x}, {t} {self._neutral(s)}")
        before = self.carried.get(place) or self.put(f"load {t}, ptr {place}, align 64")
        value = compute(self, s.reduces, [before, x], dtype)
        if place in self.carried:
            self.carried[place] = value
        else:
            self.lines.append(f"  store {t} {value}, ptr {place}, align 64")

    def _add_to_row(self, s: Statement, x: str, rows: list[str], j: str, lanes: int) -> None:
        """Combine a vector into the elements of a reduction along the inner axis."""
        number = self.numbers[self._key(s.out)]
        before = self._loaded(number, rows[number], j, lanes)
        self._stored(compute(self, s.reduces, [before, x], s.out.dtype), s.out, rows, j, lanes)

    # -- Loads and stores ------------------------------------------------------------------------

    def _loaded(self, number: int, row: str, j: str, lanes: int) -> str:
        step = self.loops[-1].steps[number]
        dtype = self.arrays[number].dtype
        return self._load(self._moved(row, dtype, j, step), dtype, lanes, step)

    def _load(self, start: str, dtype: Any, lanes: int, step: int) -> str:
        kind = STORED[dtype]
        t, width = f"<{self.width} x {kind}>", self.width
        if step == 1:
            value = self.put(f"load <{lanes} x {kind}>, ptr {start}, align {alignment(dtype)}")
            value = self._resized(value, f"<{lanes} x {kind}>", lanes, width)
        elif step == -1:
            first = self._address(start, dtype, str(1 - lanes))
            value = self.put(f"load <{lanes} x {kind}>, ptr {first}, align {alignment(dtype)}")
            order = ", ".join(f"i32 {lanes - 1 - i}" for i in range(lanes))
            short = f"<{lanes} x {kind}>"
            value = self.put(
                f"shufflevector {short} {value}, {short} poison, <{lanes} x i32> <{order}>"
            )
            value = self._resized(value, short, lanes, width)
        else:
            value = "zeroinitializer"
            for i in range(lanes):
                place = self._address(start, dtype, str(i * step)) if i else start
                one = self.put(f"load {kind}, ptr {place}, align {alignment(dtype)}")
                value = self.put(f"insertelement {t} {value}, {kind} {one}, i64 {i}")
        return self._unpacked(value, dtype)

    def _broadcast(self, number: int, row: str) -> str:
        dtype = self.arrays[number].dtype
        kind, width = STORED[dtype], self.width
        t = f"<{width} x {kind}>"
        one = self.put(f"load {kind}, ptr {row}, align {alignment(dtype)}")
        value = self.put(f"insertelement {t} poison, {kind} {one}, i64 0")
        value = self.put(f"shufflevector {t} {value}, {t} poison, <{width} x i32> zeroinitializer")
        return self._unpacked(value, dtype)

    def _unpacked(self, value: str, dtype: Any) -> str:
        if dtype != BOOL:
            return value
        return self.put(f"icmp ne <{self.width} x i8> {value}, zeroinitializer")

    def _stored(self, value: str, x: Array, rows: list[str], j: str, lanes: int) -> None:
        number = self.numbers[self._key(x)]
        step = self.loops[-1].steps[number]
        self._store(value, self._moved(rows[number], x.dtype, j, step), x.dtype, lanes, step)

    def _store(self, value: str, start: str, dtype: Any, lanes: int, step: int) -> None:
        kind, width = STORED[dtype], self.width
        t = f"<{width} x {kind}>"
        if dtype == BOOL:
            value = self.put(f"zext <{width} x i1> {value} to {t}")
        align = alignment(dtype)
        if step == 1:
            value = self._resized(value, t, width, lanes)
            self.lines.append(f"  store <{lanes} x {kind}> {value}, ptr {start}, align {align}")
            return
        for i in range(lanes if step else 1):
            one = self.put(f"extractelement {t} {value}, i64 {i}")
            place = self._address(start, dtype, str(i * step)) if i else start
            self.lines.append(f"  store {kind} {one}, ptr {place}, align {align}")

    # -- The function ----------------------------------------------------------------------------

    def text(self) -> str:
        """The function, whose name is to be put in place of `@KERNEL`."""
        given = ", ".join(f"ptr noalias %p{i}" for i in range(len(self.memories)))
        if self.divided:
            given += ", i64 %begin, i64 %end"
        body = "\n".join([*self.head, *self.lines])
        head = f"define internal void @KERNEL({given}) noinline nounwind {{\nentry:\n"
        return f"{head}{body}\n  ret void\n}}\n"


def alignment(dtype: Any) -> int:
    return int(dtype.itemsize)


def _stored_literal(value: Any, dtype: Any) -> str:
    return f"splat (i8 {int(value)})" if dtype == BOOL else literal(value, dtype)


def _converted(x: Number, dtype: Any) -> Any:
    """A number, in a dtype's values."""
    return bool(x.value) if dtype == BOOL else x.value


__all__ = ["WIDEST", "Kernel", "Loop", "alignment"]
