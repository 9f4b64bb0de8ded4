"""A path of a program as machine code, and where its memories lie.

Knows the order of loop nests and calls, and the workspace. Must not know what calls mean
(`meanings.py`), how loops are written (`kernels.py`), nor how a call is made
(`native_program.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tapegrad._compile.kernels import Kernel
from tapegrad._compile.llvm import Code, module_text
from tapegrad._compile.lowering import Lowered
from tapegrad._compile.passes import Block
from tapegrad._compile.program import Ref
from tapegrad._compile.regions import Array, Call, Memory, Statement, is_uniform

COPIED = 20_000  # elements of an input, up to which it is copied into the workspace
ALIGNMENT = 64


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

    def __init__(self, blocks: list[tuple[Block, Any]], inputs: Sequence[Any]) -> None:
        self.lowered = Lowered(blocks, list(inputs))
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
            found = self.lowered.values.get(ref.at)
            if type(found) is Array:
                found.memory.kept = True

    # -- Order -----------------------------------------------------------------------------------

    def _order(self) -> None:
        """Loop nests and calls by level; which memories go from one to another."""
        nests: dict[Any, list[Any]] = {}
        for s in self.lowered.statements:
            nests.setdefault((s.level, s.out.shape), []).append(s)
        group = {id(s): key for key, found in nests.items() for s in found}
        for s in self.lowered.statements:
            for x in s.operands:
                if type(x) is not Array or x.memory.constant is not None:
                    continue
                writers = x.memory.writers
                if any(group.get(id(w)) != group[id(s)] for w in writers) or any(
                    w.reduces is not None for w in writers if not isinstance(w, Call)
                ):
                    x.memory.kept = True
        self.steps: list[Any] = []
        for (level, _), found in nests.items():
            self.steps.append((level, 0, len(self.steps), found))
        for call in self.lowered.calls:
            self.steps.append((call.level, 1, len(self.steps), call))
        self.steps.sort(key=lambda step: step[:3])

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
                self.places[id(memory)] = ("arena", arena.take(begin, end, size))
        self.bytes = arena.top

    def _lives(self) -> list[tuple[int, int, Memory]]:
        """The first and the last step at which each memory is used."""
        lives: dict[int, list[Any]] = {}
        for at, (_, _, _, step) in enumerate(self.steps):
            arrays = [*step.args, step.out] if isinstance(step, Call) else _stored_by(step)
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
            x = lowered.values.get(ref.at)
            if type(x) is Array:
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
            if type(x) is Array
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
        shared: dict[str, int] = {}
        functions: set[Any] = set()
        declarations: set[str] = set()
        bodies: list[str] = []
        parts: list[list[str]] = []
        self.program: list[Any] = []  # numbers of native parts, and calls
        for _, _, _, step in self.steps:
            if isinstance(step, Call):
                self.program.append(step)
                continue
            kernel = Kernel(step)
            text = kernel.text()
            number = shared.get(text)
            if number is None:
                number = shared[text] = len(shared)
                bodies.append(text.replace("@KERNEL", f"@kernel{number}"))
                functions |= kernel.functions
                declarations |= kernel.declarations
            if not self.program or type(self.program[-1]) is not int:
                self.program.append(len(parts))
                parts.append([])
            parts[-1].append(self._invocation(kernel, number, len(parts[-1])))
        self.kernels = len(shared)
        for i, lines in enumerate(parts):
            body = "\n".join(lines)
            bodies.append(
                f"define void @part{i}(ptr %T) nounwind {{\n"
                f"  %A = load ptr, ptr %T, align 8\n{body}\n  ret void\n}}\n"
            )
        self.text = module_text(functions, declarations, bodies)
        names = [f"part{i}" for i in range(len(parts))]
        self.code = Code(self.text, names)
        self.functions = [self.code.function(name) for name in names]

    def _invocation(self, kernel: Kernel, number: int, turn: int) -> str:
        """The lines that call a loop nest with the addresses of its memories."""
        lines: list[str] = []
        given = []
        for i, memory in enumerate(kernel.memories):
            where, place = self.places[id(memory)]
            offset = kernel.bases[i] * memory.dtype.itemsize
            name = f"%a{turn}_{i}"
            base = "%A"
            if where == "table":
                lines += [
                    f"  {name}t = getelementptr ptr, ptr %T, i64 {place + 1}",
                    f"  {name}b = load ptr, ptr {name}t, align 8",
                ]
                base, place = f"{name}b", 0
            lines.append(f"  {name} = getelementptr i8, ptr {base}, i64 {place + offset}")
            given.append(f"ptr {name}")
        lines.append(f"  call void @kernel{number}({', '.join(given)})")
        return "\n".join(lines)


def _stored_by(statements: list[Statement]) -> list[Any]:
    """The operands and results of a loop nest that are not in registers alone."""
    return [
        x
        for s in statements
        for x in (*s.operands, s.out)
        if type(x) is Array and (x.memory.kept or s.reduces is not None)
    ]


class Arena:
    """Places in the workspace, given to one memory after another."""

    def __init__(self) -> None:
        self.top = 0
        self.free: list[tuple[int, int]] = []  # start and size
        self.busy: list[tuple[int, int, int]] = []  # until which step, start, size

    def take(self, begin: int, end: int, size: int) -> int:
        """A place from one step to another; the steps do not go back from call to call."""
        size = (-(-size // ALIGNMENT) + 1) * ALIGNMENT
        ended = [item for item in self.busy if item[0] < begin]
        if ended:
            self.busy = [item for item in self.busy if item[0] >= begin]
            self.free = _joined([*self.free, *[item[1:] for item in ended]])
        fits = [piece for piece in self.free if piece[1] >= size]
        if fits:
            best = min(fits, key=lambda piece: piece[1])
            self.free.remove(best)
            start = best[0]
            if best[1] > size:
                self.free.append((start + size, best[1] - size))
        else:
            start, self.top = self.top, self.top + size
        self.busy.append((end, start, size))
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


__all__ = ["ALIGNMENT", "Path", "paths_of"]
