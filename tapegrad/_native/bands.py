"""Loop nests that walk the same memory one after another, done together by blocks of an axis.

Knows which elements each turn of an axis reads and writes. Must not know instructions, but those
that call loop nests in turn.

A block is so small that it stays in a cache from one nest to the next. A nest that reads what
another writes some turns further on lags behind it by as many (`shift`). Of what no other step
sees there is but a window, which moves with the blocks.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from tapegrad._native.native_ops import Scan
from tapegrad._native.regions import Array, Call, Gathered, Memory, Statement, is_uniform
from tapegrad._native.vectors import WIDEST

LARGE = 1 << 18  # bytes that loop nests touch, from which on they are done by blocks
CACHED = 1 << 13  # bytes of a block
MANY = 1 << 14  # elements of the first loop nest
MOST = 32  # loop nests in a band, or steps that are moved behind it
FAR = 1 << 13  # elements by which one lags behind another at most


class Access(NamedTuple):
    """The places of a memory at which a loop nest reads or writes in each turn of an axis."""

    memory: Memory
    step: int
    first: int  # in turn 0
    last: int
    writes: bool
    turns: int = 1

    @property
    def hull(self) -> tuple[int, int]:
        way = self.step * (self.turns - 1)
        return self.first + min(way, 0), self.last + max(way, 0)

    def meets(self, other: Access) -> bool:
        """Whether they have a place in common that one of them writes."""
        (a, b), (c, d) = self.hull, other.hull
        return (self.writes or other.writes) and a <= d and c <= b


def accesses(nest: list[Statement], axis: int | None) -> list[Access]:
    """What a loop nest reads and writes in memory; in all its turns at once, without an axis."""
    found: dict[Access, None] = {}

    def add(x: Array, shape: tuple[int, ...], *, writes: bool) -> None:
        lengths = list(zip(x.strides, shape, strict=True))
        step, turns = (0, 1) if axis is None else lengths.pop(axis)
        ways = [s * (n - 1) for s, n in lengths]
        first = x.offset + sum(way for way in ways if way < 0)
        last = x.offset + sum(way for way in ways if way > 0)
        found[Access(x.memory, step, first, last, writes, turns)] = None

    def add_all(memory: Memory, *, writes: bool) -> None:
        found[Access(memory, 0, 0, memory.size, writes)] = None

    for s in nest:
        for operand in s.operands:
            if type(operand) is Gathered:
                add_all(operand.array.memory, writes=False)
                read = [p.at for p in operand.places if type(p.at) is Array]
            else:
                read = [operand] if type(operand) is Array else []
            for x in read:
                if x.memory.kept and not is_uniform(x):
                    add(x, s.shape, writes=False)
        if s.places is not None:
            add_all(s.out.memory, writes=True)
            for place in s.places:
                if type(place.at) is Array and place.at.memory.kept:
                    add(place.at, s.shape, writes=False)
        elif s.out.memory.kept or s.reduces is not None:
            add(s.out, s.shape, writes=True)
    return list(found)


class _Touched:
    """Accesses by their memories."""

    def __init__(self) -> None:
        self.by_memory: dict[int, list[tuple[Access, int]]] = {}

    def add(self, found: list[Access], shift: int = 0) -> None:
        for x in found:
            self.by_memory.setdefault(id(x.memory), []).append((x, shift))

    def of(self, x: Access) -> list[tuple[Access, int]]:
        return self.by_memory.get(id(x.memory), [])

    def is_apart(self, found: list[Access]) -> bool:
        return not any(x.meets(y) for x in found for y, _ in self.of(x))


class Member(NamedTuple):
    """A loop nest of a band: which axis goes by blocks, how often, and how many turns behind."""

    nest: list[Statement]
    axis: int
    turns: int
    shift: int


class Band:
    """Loop nests that are done by blocks."""

    def __init__(self, nest: list[Statement], axis: int) -> None:
        shape = nest[0].shape
        self.touched = _Touched()
        self.members: list[Member] = []
        self.unit = WIDEST if math.prod(shape) // shape[axis] < 4 * WIDEST else 1
        self._add(nest, axis, 0, accesses(nest, axis))
        self.windows: dict[int, int] = {}  # memories of which there is a window: its first place

    @property
    def nests(self) -> list[list[Statement]]:
        return [member.nest for member in self.members]

    def _add(self, nest: list[Statement], axis: int, shift: int, found: list[Access]) -> None:
        self.members.append(Member(nest, axis, nest[0].shape[axis], shift))
        self.touched.add(found, shift)

    def take(self, nest: list[Statement]) -> bool:
        """Add a loop nest after the others, if that can be."""
        if type(nest[0].op) is Scan or any(s.places is not None for s in nest):
            return False
        for axis, turns in enumerate(nest[0].shape):
            if turns < WIDEST:
                continue
            found = accesses(nest, axis)
            shift = self._shift(found)
            rows = math.prod(nest[0].shape) // turns
            if shift is not None and shift * rows <= FAR:
                self._add(nest, axis, shift, found)
                return True
        return False

    def _shift(self, found: list[Access]) -> int | None:
        """By how many turns a loop nest has to lag behind; None if it cannot be in the band."""
        shift, near = 0, False
        for x in found:
            for y, before in self.touched.of(x):
                near = near or (x.step == y.step and x.step > 0)
                if not x.meets(y):
                    continue
                if x.step != y.step or x.step <= 0:
                    return None
                further = (x.last - y.first) // x.step
                if -((y.last - x.first) // x.step) <= further:
                    shift = max(shift, before + further)
        return -(-shift // self.unit) * self.unit if near else None

    def settle(self) -> bool:
        """Choose the length of a block; False if the band is of no use."""
        sizes: dict[int, int] = {}
        widths: dict[int, int] = {}
        for name, found in self.touched.by_memory.items():
            width = found[0][0].memory.dtype.itemsize
            hulls = [x.hull for x, _ in found]
            sizes[name] = (max(b for _, b in hulls) - min(a for a, _ in hulls)) * width
            widths[name] = max(abs(x.step) for x, _ in found) * width
        if len(self.members) < 2 or sum(sizes.values()) < LARGE:
            return False
        block = CACHED // max(sum(widths.values()), 1)
        if block >= WIDEST:
            block = block // WIDEST * WIDEST
        self.block = max(block, self.unit)
        self.count = max(
            -(-(member.turns + member.shift) // self.block) for member in self.members
        )
        return self.count > 2

    def window(self, memory: Memory) -> tuple[int, int] | None:
        """Where the window of a memory begins in the first block, and its size, if it has one."""
        found = self.touched.by_memory[id(memory)]
        step = found[0][0].step
        if step <= 0 or any(x.step != step for x, _ in found):
            return None
        low = min(x.first - step * shift for x, shift in found)
        high = max(x.last + step * (self.block - 1 - shift) for x, shift in found)
        size = high - low + 1
        return (low, size) if 2 * size < memory.size else None

    def text(self, name: str, kernels: list[tuple[Any, int]], places: dict[int, Any]) -> str:
        """A function of the table and the workspace that does all blocks."""
        lines = [
            f"define internal void {name}(ptr %T, ptr %A) noinline nounwind {{",
            "entry:",
            "  br label %L",
            "L:",
            f"  %i = phi i64 [ 0, %entry ], [ %next, %D{len(kernels)} ]",
            f"  %from = mul nsw i64 %i, {self.block}",
            f"  %to = add nsw i64 %from, {self.block}",
            "  br label %D0",
        ]
        for k, (member, (kernel, number)) in enumerate(zip(self.members, kernels, strict=True)):
            lines.append(f"D{k}:")
            for end, start in (("b", "%from"), ("e", "%to")):
                lines += [
                    f"  %{end}s{k} = sub nsw i64 {start}, {member.shift}",
                    f"  %{end}m{k} = call i64 @llvm.smax.i64(i64 %{end}s{k}, i64 0)",
                    f"  %{end}n{k} = call i64 @llvm.smin.i64(i64 %{end}m{k}, i64 {member.turns})",
                    f"  %{end}{k} = mul nsw i64 %{end}n{k}, {kernel.per_turn}",
                ]
            lines += [
                f"  %go{k} = icmp slt i64 %b{k}, %e{k}",
                f"  br i1 %go{k}, label %C{k}, label %J{k}",
                f"C{k}:",
            ]
            given = []
            for m, (memory, base) in enumerate(zip(kernel.memories, kernel.bases, strict=True)):
                lines += self._address(memory, base, f"%a{k}_{m}", places)
                given.append(f"ptr %a{k}_{m}")
            call = f"@kernel{number}({', '.join(given)}, i64 %b{k}, i64 %e{k})"
            lines += [f"  call void {call}", f"  br label %J{k}", f"J{k}:"]
            if k + 1 < len(kernels):
                lines.append(f"  br label %D{k + 1}")
        block = f"J{len(kernels) - 1}"
        for w, memory in enumerate(self._windowed()):
            block = self._moved(memory, w, block, places, lines)
        lines += [
            f"  br label %D{len(kernels)}",
            f"D{len(kernels)}:",
            "  %next = add nuw nsw i64 %i, 1",
            f"  %more = icmp slt i64 %next, {self.count}",
            "  br i1 %more, label %L, label %E",
            "E:",
            "  ret void",
            "}",
        ]
        return "\n".join(lines) + "\n"

    def _windowed(self) -> list[Memory]:
        return [self.touched.by_memory[name][0][0].memory for name in self.windows]

    def _address(self, memory: Memory, base: int, name: str, places: dict[int, Any]) -> list[str]:
        """The lines that compute where a place of a memory is, or would be."""
        where, place = places[id(memory)]
        width = memory.dtype.itemsize
        if id(memory) in self.windows:
            step = self.touched.by_memory[id(memory)][0][0].step
            place += (base - self.windows[id(memory)]) * width
            return [
                f"  {name}w = mul nsw i64 %from, {step * width}",
                f"  {name}o = sub nsw i64 {place}, {name}w",
                f"  {name} = getelementptr i8, ptr %A, i64 {name}o",
            ]
        if where != "table":
            return [f"  {name} = getelementptr i8, ptr %A, i64 {place + base * width}"]
        return [
            f"  {name}t = getelementptr ptr, ptr %T, i64 {place + 1}",
            f"  {name}b = load ptr, ptr {name}t, align 8",
            f"  {name} = getelementptr i8, ptr {name}b, i64 {base * width}",
        ]

    def _moved(
        self, memory: Memory, w: int, block: str, places: dict[int, Any], lines: list[str]
    ) -> str:
        """Have the end of a window be its beginning; the name of the block after it.

        64 bytes at a time, as each memory has room for behind it.
        """
        found = self.window(memory)
        assert found is not None
        way = self.block * self.touched.by_memory[id(memory)][0][0].step
        width, (_, place) = memory.dtype.itemsize, places[id(memory)]
        rest = (found[1] - way) * width
        if rest <= 0:
            return block
        lines += [
            f"  %s{w} = getelementptr i8, ptr %A, i64 {place}",
            f"  br label %M{w}",
            f"M{w}:",
            f"  %j{w} = phi i64 [ 0, %{block} ], [ %k{w}, %M{w} ]",
            f"  %t{w} = getelementptr i8, ptr %s{w}, i64 %j{w}",
            f"  %u{w} = getelementptr i8, ptr %t{w}, i64 {way * width}",
            f"  %v{w} = load <8 x i64>, ptr %u{w}, align 1",
            f"  store <8 x i64> %v{w}, ptr %t{w}, align 1",
            f"  %k{w} = add nuw nsw i64 %j{w}, 64",
            f"  %m{w} = icmp slt i64 %k{w}, {rest}",
            f"  br i1 %m{w}, label %M{w}, label %N{w}",
            f"N{w}:",
        ]
        return f"N{w}"


def _seed(step: Any) -> Band | None:
    """A band of one loop nest, if it is large; its axis is that of the widest steps."""
    if isinstance(step, Call):
        return None
    shape = step[0].shape
    if math.prod(shape) < MANY or type(step[0].op) is Scan:
        return None
    if any(s.places is not None for s in step):
        return None
    weights = [sum(abs(s.out.strides[axis]) for s in step) for axis in range(len(shape))]
    axis = max(range(len(shape)), key=lambda axis: (weights[axis], -axis))
    return Band(step, axis) if shape[axis] >= WIDEST else None


def banded(steps: list[Any]) -> list[Any]:
    """Steps in an order of the same meaning, with bands in place of loop nests.

    A nest that cannot be in a band is done before it, or after it with what depends on it.
    """
    found: list[Any] = []
    pending, at = steps, 0
    while at < len(pending):
        step, at = pending[at], at + 1
        band = _seed(step[3])
        if band is None:
            found.append(step)
            continue
        rest = pending[at:]
        before: list[Any] = []
        after: list[Any] = []
        behind = _Touched()
        for i, other in enumerate(rest):
            nest = other[3]
            if isinstance(nest, Call) or max(len(band.members), len(after)) >= MOST:
                after += rest[i:]
                break
            all_ = accesses(nest, None)
            if behind.is_apart(all_):
                if band.take(nest):
                    continue
                if band.touched.is_apart(all_):
                    before.append(other)
                    continue
            behind.add(all_)
            after.append(other)
        if band.settle():
            found += [*before, (*step[:3], band)]
            pending, at = after, 0
        else:
            found.append(step)
    return found


__all__ = ["Band", "banded"]
