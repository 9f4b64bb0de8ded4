"""The native back end: a path of a program as machine code, and calls of NumPy's between.

Knows where each memory of a lowered path lies, and in which order loop nests and calls come. Must
not know what calls mean (`lowering.py`), nor how loops are written (`kernels.py`).

The path is run as a whole; whether its reads were answered as it expects is looked at in the end.
Where one was not, the call is made by the NumPy back end, which can go any way.
"""

from __future__ import annotations

import contextlib
import ctypes
from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad._compile.kernels import Kernel
from tapegrad._compile.llvm import Code, module_text
from tapegrad._compile.lowering import Array, Call, Lowered, Memory, Unfit
from tapegrad._compile.numpy_program import Runner
from tapegrad._compile.passes import Block, optimized
from tapegrad._compile.program import Ref, Segment, answer_key, filled, references_of, value_of
from tapegrad._core.quiet import SILENT, VARIABLE
from tapegrad._tree import unflatten

COPIED = 20_000  # elements of an input, up to which it is copied into the workspace
ALIGNMENT = 64


class Mismatch(Exception):  # noqa: N818 - no error: another path is to be taken
    """A read was answered in another way than the path expects."""


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
        lowered = self.lowered = Lowered(blocks, list(inputs))
        self.end = blocks[-1][0]
        self._mark_ends()
        self._order()
        self._place_memories()
        self._generate()
        self.free: deque[Any] = deque()

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
        lowered = self.lowered
        first: dict[int, int] = {}
        last: dict[int, int] = {}
        known: dict[int, Memory] = {}

        def use(memory: Memory, at: int) -> None:
            if memory.constant is not None and memory.shape == ():
                return  # its value is written into the code
            key = id(memory)
            known[key] = memory
            first.setdefault(key, at)
            last[key] = at

        for at, (level, _, _, step) in enumerate(self.steps):
            del level
            if isinstance(step, Call):
                for x in [*step.args, step.out]:
                    if type(x) is Array:
                        use(x.memory, at)
            else:
                for s in step:
                    for x in [*s.operands, s.out]:
                        if type(x) is Array and (x.memory.kept or s.reduces is not None):
                            use(x.memory, at)
        forever = len(self.steps)
        for memory in self._lasting():
            use(memory, forever)
            first[id(memory)] = -1 if memory.input is not None else first[id(memory)]
        self.places: dict[int, tuple[str, int]] = {}
        self.table: list[Memory] = []
        events = sorted((first[key], last[key], key) for key in known)
        free: list[tuple[int, int]] = []
        busy: list[tuple[int, int, int]] = []
        top = 0
        for begin, end, key in events:
            memory = known[key]
            if self._is_outside(memory):
                self.places[key] = ("table", len(self.table))
                self.table.append(memory)
                continue
            for item in [item for item in busy if item[0] < begin]:
                busy.remove(item)
                free = _joined([*free, item[1:]])
            size = -(-max(memory.size, 1) * memory.dtype.itemsize // ALIGNMENT) * ALIGNMENT
            size += ALIGNMENT
            fit = min((piece for piece in free if piece[1] >= size), key=_size, default=None)
            if fit is None:
                start, top = top, top + size
            else:
                free.remove(fit)
                start = fit[0]
                if fit[1] > size:
                    free.append((start + size, fit[1] - size))
            busy.append((end, start, size))
            self.places[key] = ("arena", start)
        self.bytes = top
        del lowered

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
        return memory.input is not None and memory.size > COPIED

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

    # -- Running ---------------------------------------------------------------------------------

    def run(self, inputs: Sequence[Any]) -> Any:
        """The results of a call; Mismatch if it goes another way."""
        try:
            workspace = self.free.pop()
        except IndexError:
            workspace = Workspace(self)
        try:
            return workspace.run(inputs)
        finally:
            self.free.append(workspace)


class Workspace:
    """The memory of one call at a time, and all that is made of its addresses."""

    def __init__(self, path: Path) -> None:
        self.path = path
        lowered = path.lowered
        raw = np.zeros(path.bytes + ALIGNMENT, np.uint8)
        start = -raw.ctypes.data % ALIGNMENT
        self.arena = raw[start : start + path.bytes]
        self.table = (ctypes.c_void_p * (len(path.table) + 1))()
        self.table[0] = self.arena.ctypes.data if path.bytes else None
        self.kept: list[Any] = []
        for i, memory in enumerate(path.table):
            if memory.constant is not None:
                self.kept.append(memory.constant)
                self.table[i + 1] = memory.constant.ctypes.data
        self.address = ctypes.addressof(self.table)
        self.values: dict[int, Any] = {}
        self.slots: list[tuple[int, int, Memory]] = []
        self.copies: list[tuple[int, Any]] = []
        self.large: dict[int, Any] = {}  # inputs, flat, by their slots
        for at, memory in enumerate(lowered.inputs):
            if memory is None or id(memory) not in path.places:
                continue
            where, place = path.places[id(memory)]
            if where == "table":
                self.slots.append((at, place + 1, memory))
            else:
                self.copies.append((at, self.view(memory.whole())))
        self.flags = None
        if lowered.expected:
            self.flags = self.view(Array(lowered.flags, 0, (1,), (len(lowered.expected),)))
            self.expected = np.array(lowered.expected).tobytes()
        self.steps = [self._step(step) for step in path.program]

    def view(self, x: Array) -> Any:
        """A region of the workspace as an array."""
        memory = x.memory
        if memory.constant is not None:
            if memory.shape == ():
                return np.broadcast_to(np.asarray(memory.constant), x.shape)
            return _region(x, memory.constant, 0)
        where, start = self.path.places[id(memory)]
        assert where == "arena"
        return _region(x, self.arena, start)

    def viewer(self, x: Array) -> Any:
        """A function that gives a region as an array; that of a large input is made each time."""
        where, place = self.path.places.get(id(x.memory), ("", 0))
        if where == "table" and x.memory.input is not None:
            large = self.large
            return lambda: _region(x, large[place + 1], 0)
        view = self.view(x)
        return lambda: view

    def _step(self, step: Any) -> Any:
        """A function without arguments that makes a step."""
        if type(step) is int:
            function, address = self.path.functions[step], self.address
            return lambda: function(address)
        if step.kind == "into":
            left, right = step.args
            out = self.view(step.out)
            plain = len(left.shape) == len(right.shape) == 2
            function = np.dot if plain else np.matmul
            if any(self._is_large(x) for x in step.args):
                first, second = self.viewer(left), self.viewer(right)
                return lambda: function(first(), second(), out)
            a, b = self.view(left), self.view(right)
            return lambda: function(a, b, out)
        if step.kind == "check":
            return self._check(step)
        return self._call(step)

    def _is_large(self, x: Array) -> bool:
        return x.memory.input is not None and self.path.places[id(x.memory)][0] == "table"

    def _fetch(self, at: int) -> Any:
        """A function that gives a node's value as NumPy has it."""
        lowered, values = self.path.lowered, self.values
        x = lowered.values.get(at)
        if type(x) is not Array or at in lowered.python_levels:
            return lambda: values[at]
        if x.memory.input is not None and x == x.memory.whole():
            position = x.memory.input
            return lambda: values[position]
        kind = lowered.kinds.get(at)
        if kind is np.ndarray:
            return self.viewer(x)
        view = self.view(x)
        return view.item if kind in (float, int, bool) else lambda: view[()]

    def _call(self, step: Call) -> Any:
        node, at, values = step.node, step.at, self.values
        assert node is not None
        used = sorted(set(references_of(node)))
        fetches = [(x, self._fetch(x)) for x in used]
        target = self.view(step.out) if step.out is not None else None
        shares = node.kind is np.ndarray and node.shares != -1

        def call() -> None:
            given = {x: fetch() for x, fetch in fetches}
            if node.silent:
                token = VARIABLE.set(SILENT)
                try:
                    value = value_of(node, given)
                finally:
                    VARIABLE.reset(token)
            else:
                value = value_of(node, given)
            if target is not None:
                target[...] = value
            elif shares:
                value = value.copy("K")
            values[at] = value

        return call

    def _check(self, step: Call) -> Any:
        _, question, answer = step.args
        fetch = self._fetch(step.at)

        def check() -> None:
            if answer_key(question(fetch())) != answer:
                raise Mismatch

        return check

    def run(self, inputs: Sequence[Any]) -> Any:
        values = self.values
        for at, x in enumerate(inputs):
            values[at] = x
        for at, place in self.copies:
            place[...] = inputs[at]
        for at, slot, memory in self.slots:
            x = inputs[at]
            width = memory.dtype.itemsize
            if tuple([s // width for s in x.strides]) == memory.strides and x.flags.aligned:
                flat = x.ravel("K")
            else:
                flat = np.empty(memory.size, memory.dtype)
                _region(memory.whole(), flat, 0)[...] = x
            self.large[slot] = flat
            self.table[slot] = flat.ctypes.data
        for step in self.steps:
            step()
        if self.flags is not None and self.flags.tobytes() != self.expected:
            raise Mismatch
        out = self.path.end.out
        assert out is not None
        leaves = [self._result(leaf) for leaf in out.leaves]
        for position, ref in self.path.end.writes:
            np.copyto(inputs[position], self._result(ref))
        values.clear()
        self.large.clear()
        return unflatten(out.structure, leaves)

    def _result(self, leaf: Any) -> Any:
        if type(leaf) is not Ref:
            value = filled(leaf, ())
        else:
            value = self._fetch(leaf.at)()
        return value.copy("K") if type(value) is np.ndarray else value


def _region(x: Array, buffer: Any, start: int) -> Any:
    """A region of a buffer as an array."""
    width = x.dtype.itemsize
    strides = [s * width for s in x.strides]
    return np.ndarray(x.shape, x.dtype, buffer, start + x.offset * width, strides)


def _size(piece: tuple[int, int]) -> int:
    return piece[1]


def _joined(pieces: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Free pieces, those that touch made one."""
    found: list[tuple[int, int]] = []
    for start, size in sorted(pieces):
        if found and sum(found[-1]) == start:
            found[-1] = (found[-1][0], found[-1][1] + size)
        else:
            found.append((start, size))
    return found



MOST_NATIVE = 4  # paths of one program that are compiled


class NativeRunner:
    """Runs a program natively where it goes a way that is compiled, else by the NumPy back end."""

    def __init__(self, root: Segment, inputs: Sequence[Any], usual: Runner) -> None:
        self.usual = usual
        self.paths: list[Path] = []
        known = paths_of(optimized(root), MOST_NATIVE)
        if len(known) <= MOST_NATIVE:
            for blocks in known:
                with contextlib.suppress(Unfit):
                    self.paths.append(Path(blocks, inputs))

    def run(self, inputs: Sequence[Any]) -> Any:
        """The results of a call; UnknownAnswer where the program does not go on."""
        for path in self.paths:
            try:
                out = path.run(inputs)
            except Exception:  # noqa: BLE001, S112 - it is met again, or is none, in another way
                continue
            if len(self.paths) > 1 and path is not self.paths[0]:
                self.paths = [path, *[other for other in self.paths if other is not path]]
            return out
        return self.usual.run(inputs)


__all__ = ["Mismatch", "NativeRunner", "Path", "paths_of"]
