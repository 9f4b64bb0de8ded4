"""A path of a program as machine code, and where its memories lie.

Knows the order of loop nests and calls, and the workspace. Must not know what calls mean
(`semantics.py`), how loops are written (`kernels.py`), nor how a call is made
(`native_program.py`).
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from tapegrad._native.bands import Band, banded
from tapegrad._native.kernels import Kernel
from tapegrad._native.llvm import Code, module_text
from tapegrad._native.lowering import Lowered
from tapegrad._native.native_ops import Scan
from tapegrad._native.regions import Array, Call, Memory, Statement, Unfit, is_uniform
from tapegrad._native.repeats import pieces
from tapegrad._native.routines import Invoked, Routine, routine
from tapegrad._native.scans import ScanKernel, Total
from tapegrad._program.passes import Block
from tapegrad._program.program import Ref

COPIED = 20_000  # elements of an input, up to which it is copied into the workspace
ALIGNMENT = 64
SMALL = 1 << 14  # bytes of a memory whose place is used again for such of its size
LONG = 2500  # statements of a loop nest that is not cut into pieces
LONG_OF_FEW = 400  # the same, where the loops have few turns
FEW_CALLS = 4  # of one loop nest in a row, that are not a loop
FEW = 64  # elements, whose loops have few turns


def paths_of(root: Block, most: int) -> list[list[tuple[Block, Any]]]:
    """The paths that are known to the end: blocks, each with the answer that leads to the next."""
    found: list[list[tuple[Block, Any]]] = []
    pending: list[tuple[Block, list[tuple[Block, Any]]]] = [(root, [])]
    while pending and len(found) <= most:
        block, before = pending.pop()
        if block.read is None:
            if block.out is not None and block.recordings >= 2:
                found.append([*before, (block, None)])
            continue
        pending += [(child, [*before, (block, key)]) for key, child in block.children.items()]
    return found


class Path:
    """A path, compiled."""

    def __init__(
        self, blocks: list[tuple[Block, Any]], inputs: Sequence[Any], threads: int = 1
    ) -> None:
        self.threads = threads
        self.lowered = Lowered(blocks, list(inputs))
        if self.lowered.is_numpys():
            raise Unfit
        self.end = blocks[-1][0]
        self._mark_ends()
        self._order()
        self._find_fresh()
        self._place_memories()
        self._generate()

    def _mark_ends(self) -> None:
        """Have the values stored that the results are."""
        assert self.end.out is not None
        refs = [leaf for leaf in self.end.out.leaves if type(leaf) is Ref]
        refs += [ref for _, ref in self.end.writes if type(ref) is Ref]
        for ref in refs:
            found = self.lowered.stored(ref.at)
            if found is not None:
                found.memory.kept = True

    # -- Order -----------------------------------------------------------------------------------

    def _order(self) -> None:
        """Loop nests and calls by level; which memories go from one to another."""
        nests: dict[Any, list[Statement]] = {}
        for s in self.lowered.statements:
            alone = id(s) if type(s.op) is Scan else 0
            nests.setdefault((s.level, s.out.shape, alone), []).append(s)
        found: list[tuple[int, list[Statement]]] = []
        for (level, shape, _), nest in nests.items():
            found += [(level, piece) for piece in _pieces(nest, shape)]
        group = {id(s): i for i, (_, piece) in enumerate(found) for s in piece}
        for s in self.lowered.statements:
            for x in s.read():
                if x.memory.constant is not None:
                    continue
                writers = x.memory.writers
                if any(group.get(id(w)) != group[id(s)] for w in writers) or any(
                    w.reduces is not None for w in writers if not isinstance(w, Call)
                ):
                    x.memory.kept = True
            if type(s.op) is Scan:
                s.out.memory.kept = True
        self.steps: list[Any] = []
        for level, piece in found:
            self.steps.append((level, 0, len(self.steps), piece))
        calls = [routine(call, self.threads) or call for call in self.lowered.calls]
        self.lowered.calls = calls
        for call in calls:
            self.steps.append((call.level, 1, len(self.steps), call))
        self.steps.sort(key=lambda step: step[:3])
        if self.threads == 1:
            self.steps = banded(self.steps)

    # -- Memories --------------------------------------------------------------------------------

    def _place_memories(self) -> None:
        """Where each memory is in the workspace, or which slot of the table has its address."""
        self.places: dict[int, tuple[str, int]] = {}
        self.table: list[Memory] = []
        arena = Arena()
        for begin, end, memory in self._lives():
            if self._is_outside(memory):
                self.places[id(memory)] = ("table", len(self.table))
                self.table.append(memory)
            else:
                size = max(memory.size, 1) * memory.dtype.itemsize
                step = self.steps[begin][3] if begin == end else None
                window = step.window(memory) if type(step) is Band else None
                if type(step) is Band and window is not None:
                    step.windows[id(memory)] = window[0]
                    size = window[1] * memory.dtype.itemsize
                self.places[id(memory)] = ("arena", arena.take(begin, end, size))
        self.bytes = arena.top

    def _lives(self) -> list[tuple[int, int, Memory]]:
        """The first and the last step at which each memory is used."""
        lives: dict[int, list[Any]] = {}
        for at, (_, _, _, step) in enumerate(self.steps):
            if isinstance(step, Call):
                arrays = [*step.args, step.out]
            else:
                nests = step.nests if type(step) is Band else [step]
                arrays = [x for nest in nests for x in _stored_by(nest)]
            for x in arrays:
                if type(x) is Array and not is_uniform(x):  # those are written into the code
                    lives.setdefault(id(x.memory), [at, at, x.memory])[1] = at
        for memory in self._lasting():
            if memory.constant is None or memory.shape:
                life = lives.setdefault(id(memory), [len(self.steps), 0, memory])
                life[1] = len(self.steps)
                if memory.input is not None:
                    life[0] = -1
        return sorted((tuple(life) for life in lives.values()), key=lambda life: life[:2])

    def _lasting(self) -> list[Memory]:
        """Memories that hold their elements during the whole call, or after it."""
        lowered = self.lowered
        found = [memory for memory in lowered.inputs if memory is not None]
        found += [memory for memory in lowered.memories if memory.constant is not None]
        if lowered.expected:
            found.append(lowered.flags)
        assert self.end.out is not None
        refs = [leaf for leaf in self.end.out.leaves if type(leaf) is Ref]
        refs += [ref for _, ref in self.end.writes if type(ref) is Ref]
        for ref in refs:
            x = lowered.stored(ref.at)
            if x is not None:
                found.append(x.memory)
        return found

    def _is_outside(self, memory: Memory) -> bool:
        """Whether a memory is not of the workspace: a constant, or a large input."""
        if memory.constant is not None:
            return True
        return memory.size > COPIED and (memory.input is not None or id(memory) in self.fresh)

    def _find_fresh(self) -> None:
        """Find the large results that loop nests write straight into new arrays."""
        called = {
            id(x.memory)
            for call in self.lowered.calls
            for x in [*call.args, call.out]
            if type(x) is Array and type(call) is not Routine
        }
        self.fresh: dict[int, int] = {}
        assert self.end.out is not None
        leaves = [leaf for leaf in self.end.out.leaves if type(leaf) is Ref]
        results = [leaf.at for leaf in leaves] + [ref.at for _, ref in self.end.writes]
        found = [self.lowered.values.get(at) for at in results]
        names = [id(x.memory) for x in found if type(x) is Array]
        called.update(name for name in names if names.count(name) > 1)  # two results of one memory
        for leaf in leaves:
            x = self.lowered.values.get(leaf.at)
            if type(x) is not Array or x.memory.constant is not None or x.memory.size <= COPIED:
                continue
            whole = x == x.memory.whole() and x.memory.input is None
            if whole and id(x.memory) not in called:
                self.fresh.setdefault(id(x.memory), leaf.at)

    # -- Code ------------------------------------------------------------------------------------

    def _generate(self) -> None:
        """The text of all loop nests, and of the functions that call them in order."""
        self.shared: dict[str, int] = {}
        self.elementary: set[Any] = set()
        self.declarations: set[str] = set()
        self.helpers: set[str] = set()  # functions that loop nests share
        self.bodies: list[str] = []
        self.parts: list[list[Any]] = []
        self.divided: list[int] = []  # of divided loop nests, into how many parts
        self.program: list[Any] = []  # numbers of native parts, divided loop nests, and calls
        self.turn = 0
        for _, _, _, step in self.steps:
            if type(step) is Routine:
                self._call(step)
                continue
            if isinstance(step, Call):
                self.program.append(step)
                continue
            if type(step) is Band:
                self._band(step)
                continue
            kernel = self._kernel(step)
            if kernel.divided:
                self._divide(kernel)
            else:
                self._part().append(_Invoked(kernel, self._number(kernel)))
        self.kernels = len(self.shared)
        for i, items in enumerate(self.parts):
            body = "\n".join(self._lines(items))
            self.bodies.append(
                f"define void @part{i}(ptr %T) nounwind {{\nentry:\n"
                f"  %A = load ptr, ptr %T, align 8\n{body}\n  ret void\n}}\n"
            )
        self.text = module_text(self.elementary, self.declarations, self.bodies)
        names = [f"part{i}" for i in range(len(self.parts))]
        chunks = [f"chunk{i}" for i in range(len(self.divided))]
        self.code = Code(self.text, [*names, *chunks])
        self.functions = [self.code.function(name) for name in names]
        self.chunks = [self.code.function_of_part(name) for name in chunks]

    def _kernel(self, step: list[Statement]) -> Kernel:
        if type(step[0].op) is Scan:
            return ScanKernel(step)
        return Kernel(step, divided=self.threads > 1)

    def _band(self, step: Band) -> None:
        """Loop nests that are done together, by blocks."""
        kernels = []
        for member in step.members:
            unit = math.gcd(step.block, member.shift)
            kernel = Kernel(member.nest, along=member.axis, unit=unit)
            kernels.append((kernel, self._number(kernel)))
        self.declarations |= {f"declare i64 @llvm.{f}.i64(i64, i64)" for f in ("smax", "smin")}
        name = f"@band{len(self.bodies)}"
        self.bodies.append(step.text(name, kernels, self.places))
        self._part().append(f"  call void {name}(ptr %T, ptr %A)")

    def _lines(self, items: list[Any]) -> list[str]:
        """The text of a native part; many calls of one loop nest in a row are a loop."""
        lines: list[str] = []
        block, at = "entry", 0
        while at < len(items):
            item, end = items[at], at + 1
            if isinstance(item, str):
                lines.append(item)
                at = end
                continue
            kind = self._kind(item)
            while end < len(items) and isinstance(items[end], _Invoked):
                if self._kind(items[end]) != kind:
                    break
                end += 1
            if end - at < FEW_CALLS:
                lines += [self._invocation(x.kernel, x.number) for x in items[at:end]]
            else:
                block = self._repeated(items[at:end], lines, block)
            at = end
        return lines

    def _kind(self, item: _Invoked) -> Any:
        """Key that two calls share if they differ in addresses alone."""
        return item.number, tuple([self.places[id(m)][0] for m in item.kernel.memories])

    def _repeated(self, items: list[_Invoked], lines: list[str], block: str) -> str:
        """A loop over the addresses of calls; the name of the block after it."""
        number, wheres = self._kind(items[0])
        numbers: list[int] = []
        for item in items:
            for memory, base in zip(item.kernel.memories, item.kernel.bases, strict=True):
                where, place = self.places[id(memory)]
                offset = base * memory.dtype.itemsize
                numbers += [place + 1, offset] if where == "table" else [0, place + offset]
        k, count = len(self.bodies), 2 * len(wheres)
        table = ", ".join(f"i64 {x}" for x in numbers)
        body = []
        for i, where in enumerate(wheres):
            start = "%A"
            if where == "table":
                start = f"%b{i}"
                body += [
                    f"  %q{i} = getelementptr i64, ptr %N, i64 {2 * i}",
                    f"  %s{i} = load i64, ptr %q{i}",
                    f"  %t{i} = getelementptr ptr, ptr %T, i64 %s{i}",
                    f"  %b{i} = load ptr, ptr %t{i}",
                ]
            body += [
                f"  %w{i} = getelementptr i64, ptr %N, i64 {2 * i + 1}",
                f"  %o{i} = load i64, ptr %w{i}",
                f"  %p{i} = getelementptr i8, ptr {start}, i64 %o{i}",
            ]
        given = ", ".join(f"ptr %p{i}" for i in range(len(wheres)))
        body.append(f"  call void @kernel{number}({given})")
        text = "\n".join(body)
        self.bodies.append(
            f"@numbers{k} = internal constant [{len(numbers)} x i64] [{table}]\n"
            f"define internal void @repeat{k}(ptr %T, ptr %A, ptr %N) noinline nounwind {{\n"
            f"{text}\n  ret void\n}}\n"
        )
        lines += [
            f"  br label %R{k}",
            f"R{k}:",
            f"  %i{k} = phi i64 [ 0, %{block} ], [ %n{k}, %R{k} ]",
            f"  %m{k} = mul nsw i64 %i{k}, {count}",
            f"  %N{k} = getelementptr i64, ptr @numbers{k}, i64 %m{k}",
            f"  call void @repeat{k}(ptr %T, ptr %A, ptr %N{k})",
            f"  %n{k} = add nuw nsw i64 %i{k}, 1",
            f"  %c{k} = icmp slt i64 %n{k}, {len(items)}",
            f"  br i1 %c{k}, label %R{k}, label %S{k}",
            f"S{k}:",
        ]
        return f"S{k}"

    def _call(self, step: Routine) -> None:
        """A call of our own code, whose parts are done at once."""
        parts = [_Invoked(part, self._number(part)) for part in step.parts]
        if len(parts) == 1:
            self._part().append(parts[0])
            return
        k = len(self.divided)
        ways = " ".join(f"i64 {i}, label %P{i}" for i in range(len(parts)))
        lines = ["  %A = load ptr, ptr %T, align 8", f"  switch i64 %t, label %P0 [ {ways} ]"]
        for i, part in enumerate(parts):
            lines += [f"P{i}:", self._invocation(*part), "  ret void"]
        body = "\n".join(lines)
        self.bodies.append(
            f"define void @chunk{k}(ptr %T, i64 %t) nounwind {{\nentry:\n{body}\n}}\n"
        )
        self.divided.append(len(parts))
        self.program.append(Divided(k, len(parts)))

    def _part(self) -> list[Any]:
        """Calls of the native part that is being written."""
        if not self.program or type(self.program[-1]) is not int:
            self.program.append(len(self.parts))
            self.parts.append([])
        return self.parts[-1]

    def _number(self, kernel: Kernel | Invoked) -> int:
        """The number of a loop nest among those with another text."""
        text = kernel.text()
        number = self.shared.get(text)
        if number is None:
            number = self.shared[text] = len(self.shared)
            self.bodies.append(text.replace("@KERNEL", f"@kernel{number}"))
            for name, helper in kernel.helpers.items():
                if name not in self.helpers:
                    self.helpers.add(name)
                    self.bodies.append(helper)
            self.elementary |= kernel.functions
            self.declarations |= kernel.declarations
        return number

    def _divide(self, kernel: Kernel) -> None:
        """A loop nest whose parts are done at once, and then what combines their totals."""
        bounds = kernel.bounds(self.threads)
        count, k = len(bounds) - 1, len(self.divided)
        places = {}
        for s in kernel.totals:
            places[id(s.out.memory)] = self.bytes
            self.bytes += count * ALIGNMENT
        number = self._number(kernel)
        lines = [
            "  %A = load ptr, ptr %T, align 8",
            f"  %b = getelementptr i64, ptr @bounds{k}, i64 %t",
            "  %begin = load i64, ptr %b",
            "  %e = getelementptr i64, ptr %b, i64 1",
            "  %end = load i64, ptr %e",
            f"  %private = mul nsw i64 %t, {ALIGNMENT}",
            self._invocation(kernel, number, places),
        ]
        body = "\n".join(lines)
        table = ", ".join(f"i64 {x}" for x in bounds)
        self.bodies.append(
            f"@bounds{k} = internal constant [{len(bounds)} x i64] [{table}]\n"
            f"define void @chunk{k}(ptr %T, i64 %t) nounwind {{\n{body}\n  ret void\n}}\n"
        )
        self.divided.append(count)
        self.program.append(Divided(k, count))
        for i, s in enumerate(kernel.totals):
            name = f"@total{k}_{i}"
            total = Total(name, s.reduces, s.out.dtype, count, ALIGNMENT)
            self.bodies.append(total.text)
            self.declarations |= total.declarations
            part = self._part()
            at = f"%t{k}_{i}"
            part.append(
                f"  {at} = getelementptr i8, ptr %A, i64 {places[id(s.out.memory)]}\n"
                + self._address(s.out.memory, s.out.offset * s.out.dtype.itemsize, f"{at}o")
                + f"\n  call void {name}(ptr {at}, ptr {at}o)"
            )

    def _address(self, memory: Memory, offset: int, name: str) -> str:
        """The lines that compute the address of a place in a memory."""
        where, place = self.places[id(memory)]
        if where != "table":
            return f"  {name} = getelementptr i8, ptr %A, i64 {place + offset}"
        return (
            f"  {name}t = getelementptr ptr, ptr %T, i64 {place + 1}\n"
            f"  {name}b = load ptr, ptr {name}t, align 8\n"
            f"  {name} = getelementptr i8, ptr {name}b, i64 {offset}"
        )

    def _invocation(
        self, kernel: Kernel | Invoked, number: int, private: dict[int, int] | None = None
    ) -> str:
        """The lines that call a loop nest with the addresses of its memories.

        `private` are places where each part has its own.
        """
        lines: list[str] = []
        given = []
        self.turn += 1
        for i, memory in enumerate(kernel.memories):
            name = f"%a{self.turn}_{i}"
            if private is not None and id(memory) in private:
                lines += [
                    f"  {name}p = getelementptr i8, ptr %A, i64 {private[id(memory)]}",
                    f"  {name} = getelementptr i8, ptr {name}p, i64 %private",
                ]
            else:
                lines.append(self._address(memory, kernel.bases[i] * memory.dtype.itemsize, name))
            given.append(f"ptr {name}")
        if kernel.divided:
            given += ["i64 %begin", "i64 %end"]
        lines.append(f"  call void @kernel{number}({', '.join(given)})")
        return "\n".join(lines)


class _Invoked(NamedTuple):
    """A call of a loop nest, by the number of its text."""

    kernel: Kernel | Invoked
    number: int


class Divided(NamedTuple):
    """A step whose parts can be done by several threads."""

    number: int
    parts: int


def _pieces(nest: list[Statement], shape: tuple[int, ...]) -> list[list[Statement]]:
    """A loop nest in pieces, if it is long: what goes from one to another is in memory."""
    size = math.prod(shape)
    most = LONG_OF_FEW if size <= FEW else LONG
    return [list(piece) for piece in pieces(nest)] if len(nest) > most else [nest]


def _stored_by(statements: list[Statement]) -> list[Any]:
    """The operands and results of a loop nest that are not in registers alone."""
    found = [x for s in statements for x in s.read() if x.memory.kept]
    return found + [s.out for s in statements if s.out.memory.kept or s.reduces is not None]


class Arena:
    """Places in the workspace, given to one memory after another."""

    def __init__(self) -> None:
        self.top = 0
        self.free: list[tuple[int, int]] = []  # start and size, of large ones
        self.small: dict[int, list[int]] = {}  # starts by size
        self.busy: list[tuple[int, int, int]] = []  # until which step, start, size: a heap

    def take(self, begin: int, end: int, size: int) -> int:
        """A place from one step to another; the steps do not go back from call to call."""
        size = (-(-size // ALIGNMENT) + 1) * ALIGNMENT
        ended = []
        while self.busy and self.busy[0][0] < begin:
            _, start, freed = heapq.heappop(self.busy)
            if freed > SMALL:
                ended.append((start, freed))
            else:
                self.small.setdefault(freed, []).append(start)
        if ended:
            self.free = _joined([*self.free, *ended])
        start = self._found(size)
        heapq.heappush(self.busy, (end, start, size))
        return start

    def _found(self, size: int) -> int:
        if size <= SMALL:
            same = self.small.get(size)
            if same:
                return same.pop()
        else:
            fits = [piece for piece in self.free if piece[1] >= size]
            if fits:
                best = min(fits, key=lambda piece: piece[1])
                self.free.remove(best)
                if best[1] > size:
                    self.free.append((best[0] + size, best[1] - size))
                return best[0]
        start, self.top = self.top, self.top + size
        return start


def _joined(pieces: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Free pieces, those that touch made one."""
    found: list[tuple[int, int]] = []
    for start, size in sorted(pieces):
        if found and sum(found[-1]) == start:
            found[-1] = (found[-1][0], found[-1][1] + size)
        else:
            found.append((start, size))
    return found


__all__ = ["ALIGNMENT", "Divided", "Path", "paths_of"]
