"""The native back end: calls of machine code, and of NumPy's functions between.

Knows how a compiled path is run over a workspace. Must not know how it was compiled.

The path is run as a whole; whether its reads were answered as it expects is looked at in the end.
Where one was not, the call is made by the NumPy back end, which can go any way.
"""

from __future__ import annotations

import copy
import ctypes
import operator
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapegrad._core.quiet import SILENT, VARIABLE, changed
from tapegrad._native.complex_memory import REAL_OF, as_complex
from tapegrad._native.expansion import expanded
from tapegrad._native.native_path import ALIGNMENT, Divided, Path, paths_of
from tapegrad._native.regions import Array, Call, Memory, Unfit
from tapegrad._native.routines import Routine
from tapegrad._native.split_complex import in_parts
from tapegrad._native.workers import at_once
from tapegrad._program.call_source import literal
from tapegrad._program.functions import function_of, may_return_an_argument
from tapegrad._program.numpy_program import KEPT_BYTES
from tapegrad._program.passes import Block
from tapegrad._program.program import (
    OWN,
    Node,
    Ref,
    answer_key,
    apart,
    references,
    references_of,
    value_of,
)
from tapegrad._tree import unflatten

MOST_NATIVE = 4  # paths of one program that are compiled


class Mismatch(Exception):  # noqa: N818 - no error: another path is to be taken
    """A read was answered in another way than the path expects."""


class Workspace:
    """The memory of one call at a time, and all that is made of its addresses."""

    def __init__(self, path: Path) -> None:
        self.path = path
        raw = np.zeros(path.bytes + ALIGNMENT, np.uint8)
        start = -raw.ctypes.data % ALIGNMENT
        self.arena = raw[start : start + path.bytes]
        self.table = (ctypes.c_void_p * (len(path.table) + 1))()
        self.table[0] = self.arena.ctypes.data if path.bytes else None
        for i, memory in enumerate(path.table):
            if memory.constant is not None:
                self.table[i + 1] = memory.constant.ctypes.data
        self.address = ctypes.addressof(self.table)
        self.values: dict[int, Any] = {}  # of the calls that Python makes
        self.large: dict[int, Any] = {}  # inputs and results of the present call, flat, by slot
        self.names: dict[str, Any] = {"Mismatch": Mismatch, "copyto": np.copyto}
        self.names["at_once"] = at_once
        self.run = self._generated()

    def _name(self, stem: str, value: Any) -> str:
        name = f"{stem}_{len(self.names)}"
        self.names[name] = value
        return name

    def _generated(self) -> Callable[..., Any]:
        """The function that makes a call, as straight-line code."""
        lowered = self.path.lowered
        count = len(lowered.inputs)
        lines = [f"def run({', '.join(f'x{i}' for i in range(count))}):"]
        wanted = {
            at
            for call in lowered.calls
            if type(call) is not Routine
            for at in ([call.at] if call.node is None else references_of(call.node))
        }
        wanted.update(_ends(self.path.end))
        values = self.values_name = self._name("values", self.values)
        wanted.update(
            x.memory.input
            for at in list(wanted)
            if type(x := lowered.values.get(at)) is Array and x.memory.input is not None
        )
        lines += [f"    {values}[{i}] = x{i}" for i in range(count) if i in wanted]
        lines += self._taking_in()
        for step in self.path.program:
            lines.append(self._step(step))
        if lowered.expected:
            flags = self.view(Array(lowered.flags, 0, (1,), (len(lowered.expected),)))
            got = self._name("flags", flags.tobytes)
            expected = self._name("expected", np.array(lowered.expected).tobytes())
            lines += [f"    if {got}() != {expected}:", "        raise Mismatch"]
        lines += self._giving_out()
        self.source = "\n".join(lines)
        exec(self.source, self.names)  # noqa: S102
        made: Callable[..., Any] = self.names["run"]
        return made

    def _taking_in(self) -> list[str]:
        """The lines that bring inputs to the workspace, and addresses to the table."""
        lines = []
        for at, memory in enumerate(self.path.lowered.inputs):
            where, place = self.path.places.get(id(memory), ("", 0))
            if where == "table":
                take = self._name(
                    "take", lambda x, m=memory, slot=place + 1: self._take(x, m, slot)
                )
                lines.append(f"    {take}(x{at})")
            elif where == "arena" and memory is not None:
                view = self.view(memory.whole())
                view = as_complex(view) if at in self.path.lowered.wholes else view
                name = self._name("in", view)
                lines.append(
                    f"    copyto({name}, x{at})" if view.shape else f"    {name}[()] = x{at}"
                )
        for i, memory in enumerate(self.path.table):
            if id(memory) in self.path.fresh:
                make = self._name("make", lambda m=memory, slot=i + 1: self._make(m, slot))
                lines.append(f"    {make}()")
        return lines

    def _take(self, x: Any, memory: Memory, slot: int) -> None:
        """Have a large input where it is."""
        width, joined = memory.dtype.itemsize, x.dtype in REAL_OF
        strides = tuple([s // width for s in x.strides])
        if ((*strides, 1) if joined else strides) == memory.strides and x.flags.aligned:
            flat = x.ravel("K").view(memory.dtype)
        else:
            flat = np.empty(memory.size, memory.dtype)
            region = _region(memory.whole(), flat, 0)
            (as_complex(region) if joined else region)[...] = x
        self.large[slot] = flat
        self.table[slot] = flat.ctypes.data

    def _make(self, memory: Memory, slot: int) -> None:
        """A new array for a large result."""
        self.large[slot] = flat = np.empty(memory.size, memory.dtype)
        self.table[slot] = flat.ctypes.data

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

    def _is_large(self, x: Array) -> bool:
        where, _ = self.path.places.get(id(x.memory), ("", 0))
        return where == "table" and x.memory.constant is None

    def viewer(self, x: Array) -> Callable[[], Any]:
        """A function that gives a region as an array; that of a large input is made each time."""
        if self._is_large(x):
            large, slot = self.large, self.path.places[id(x.memory)][1] + 1
            return lambda: _region(x, large[slot], 0)
        view = self.view(x)
        return lambda: view

    def _step(self, step: Any) -> str:
        """The line of a step."""
        if type(step) is int:
            part = self._name("part", self.path.functions[step])
            return f"    {part}({self.address})"
        if type(step) is Divided:
            chunk = self._name("chunk", self.path.chunks[step.number])
            how = f"{chunk}, {self.address}, {step.parts}, {self.path.threads}"
            return f"    at_once({how}, {self._name('memory', self)})"
        if step.kind == "check":
            return f"    {self._name('check', self._check(step))}()"
        if step.kind == "call":
            return self._picked(step) or f"    {self._name('call', self._call(step))}()"
        plain = all(len(x.shape) == 2 for x in step.args)
        function = self._name("product", np.dot if plain else np.matmul)
        given = []
        for x in step.args:
            if self._is_large(x):
                given.append(self._name("view", self.viewer(x)) + "()")
            else:
                given.append(self._name("view", self.view(x)))
        return f"    {function}({', '.join(given)}, {self._name('out', self.view(step.out))})"

    def _picked(self, step: Call) -> str | None:
        """The line that takes one of several results of a call of Python's, which has it alone."""
        node, levels = step.node, self.path.lowered.python_levels
        if node is None or node.function is not operator.getitem or step.out is not None:
            return None
        several, at = node.args
        if type(several) is not Ref or several.at not in levels or type(at) is not int:
            return None
        if self.path.lowered.kinds.get(several.at) not in (tuple, list):
            return None
        return f"    {self.values_name}[{step.at}] = {self.values_name}[{several.at}][{at}]"

    def _fetch(self, at: int) -> Callable[[], Any]:
        """A function that gives a node's value as NumPy has it."""
        lowered, values = self.path.lowered, self.values
        if at in lowered.wholes and at not in lowered.python_levels:
            if lowered.wholes[at].memory.input is not None:
                return lambda: values[at]
            whole = as_complex(self.view(lowered.wholes[at]))
            return (lambda: whole) if lowered.kinds[at] is np.ndarray else (lambda: whole[()])
        x = lowered.values.get(at)
        if type(x) is not Array or at in lowered.python_levels:
            return lambda: values[at]
        kind = lowered.kinds.get(at)
        if x.memory.input is not None and x == x.memory.whole():
            position = x.memory.input
            if kind is lowered.kinds[position]:
                return lambda: values[position]
            return lambda: _as_kind(values[position], kind)
        if kind is np.ndarray:
            return self.viewer(x)
        view = self.view(x)
        return view.item if kind in (float, int, bool) else lambda: view[()]

    def _call(self, step: Call) -> Callable[[], None]:
        node, at, values = step.node, step.at, self.values
        assert node is not None
        target = self.view(step.out) if step.out is not None else None
        if node.dtype in REAL_OF and target is not None:
            target = as_complex(target)
        function = function_of(node.function)
        if target is not None and function in _INTO and "out" not in node.kwargs:
            node = node.again(function, node.args, node.kwargs | {"out": target})
        value_now = self._value_of(node)
        picks = node.function is operator.getitem and type(node.args[0]) in (tuple, list)
        shares = node.kind is np.ndarray and (picks or node.shares != OWN)
        lent = may_return_an_argument(node.function)
        shape, dtype = ((), None) if target is None else (target.shape, target.dtype)
        is_complex = dtype is not None and dtype.kind == "c"

        def call() -> None:
            silent = node.silent
            if silent is not False:
                outer = VARIABLE.get()
                try:
                    VARIABLE.set(SILENT if silent is True else changed(outer, silent))
                    value = value_now()
                finally:
                    VARIABLE.set(outer)
            else:
                value = value_now()
            if target is not None:
                if shape and value.shape != shape:  # as by a mask, in a call of another path
                    raise Mismatch
                if (value.dtype.kind == "c") is not is_complex:  # as emath's, outside
                    raise Mismatch
                if value is not target:
                    target[...] = value
            if shares:  # memory that something else may have before the value is returned
                value = value.copy("K")
            elif lent:
                value = apart(value, (self.arena, *self.large.values()))
            values[at] = value

        return call

    def _value_of(self, node: Node) -> Callable[[], Any]:
        """A function that makes a call of Python's."""
        function, kwargs = node.function, node.kwargs
        plain = [type(arg) is Ref or not any(True for _ in references(arg)) for arg in node.args]
        if node.steps is None and all(plain) and not any(True for _ in references(kwargs)):
            parts = [
                self._fetch(arg.at) if type(arg) is Ref else _constant(arg) for arg in node.args
            ]
            return lambda: function(*[part() for part in parts], **kwargs)
        used = sorted(set(references_of(node)))
        fetches = [(x, self._fetch(x)) for x in used]

        def general() -> Any:
            given: Any = {x: fetch() for x, fetch in fetches}
            return value_of(node, given)

        return general

    def _check(self, step: Call) -> Callable[[], None]:
        question, answer = step.args[1:3]
        fetch = self._fetch(step.at)

        def check() -> None:
            if answer_key(question(fetch())) != answer:
                raise Mismatch

        return check

    def _giving_out(self) -> list[str]:
        """The lines that return the results, and write into inputs."""
        end = self.path.end
        assert end.out is not None
        given = [self._result(leaf) for leaf in end.out.leaves]
        lines = [f"    r{i} = {text}" for i, text in enumerate(given)]
        for at, ref in end.writes:
            lines.append(f"    copyto(x{at}, {self._result(ref).removesuffix(_COPY)})")
        structure = end.out.structure
        names = [f"r{i}" for i in range(len(given))]
        made = literal(structure, iter(names), lambda part: self._name("made", part))
        if made is None:
            together, whole = self._name("unflatten", unflatten), self._name("whole", structure)
            made = f"{together}({whole}, [{', '.join(names)}])"
        return [*lines, f"    return {made}"]

    def _result(self, leaf: Any) -> str:
        """The expression of a result, which is new."""
        if type(leaf) is not Ref:
            name = self._name("constant", leaf)
            return f"{name}{_COPY}" if type(leaf) is np.ndarray else name
        lowered = self.path.lowered
        x = lowered.values.get(leaf.at)
        kind = lowered.kinds.get(leaf.at)
        if type(x) is Array and self.path.fresh.get(id(x.memory)) == leaf.at:
            slot = self.path.places[id(x.memory)][1] + 1
            take = self._name("result", lambda: _region(x, self.large.pop(slot), 0))
            return f"{take}()"
        native = type(x) is Array and leaf.at not in lowered.python_levels
        if native and type(x) is Array and x.memory.input is None and not self._is_large(x):
            view = self._name("out", self.view(x))
            if kind is np.ndarray:
                return f"{view}{_COPY}"
            return f"{view}.item()" if kind in (float, int, bool) else f"{view}[()]"
        fetch = self._name("fetch", self._fetch(leaf.at))
        return f"{self._name('own', _own)}({fetch}())"


# Functions of NumPy's that are told where to write.
_INTO = frozenset((np.fft.fft, np.fft.ifft, np.fft.rfft, np.fft.irfft))

_COPY = ".copy('K')"

# The classes of numbers.
_NUMBERS = frozenset((float, int, bool, *[np.dtype(letter).type for letter in "?bhilqBHILQefd"]))


def _constant(value: Any) -> Callable[[], Any]:
    return lambda: value


def _as_kind(value: Any, kind: Any) -> Any:
    """A number as an array, a NumPy scalar, or a number of Python's."""
    value = np.asarray(value)
    return value if kind is np.ndarray else value.item() if kind in (float, int) else value[()]


def _own(value: Any) -> Any:
    return value.copy("K") if type(value) is np.ndarray else value


def _ends(end: Any) -> set[int]:
    refs = [*end.out.leaves, *[ref for _, ref in end.writes]]
    return {ref.at for ref in refs if type(ref) is Ref}


def _region(x: Array, buffer: Any, start: int) -> Any:
    """A region of a buffer as an array."""
    width = x.dtype.itemsize
    strides = [s * width for s in x.strides]
    return np.ndarray(x.shape, x.dtype, buffer, start + x.offset * width, strides)


class _Way:
    """A compiled path, by the answers that lead along it, and its workspaces that are free."""

    __slots__ = ("answers", "free", "path")

    def __init__(self, path: Path, answers: tuple[Any, ...]) -> None:
        self.path, self.answers = path, answers
        self.free: deque[Workspace] = deque()

    def source(self) -> str:
        """The Python of a call."""
        workspace = self._taken()
        self._keep(workspace)
        return workspace.source

    def _taken(self) -> Workspace:
        try:
            return self.free.pop()
        except IndexError:
            return Workspace(self.path)

    def go(self, inputs: Sequence[Any]) -> Any:
        workspace = self._taken()
        try:
            out = workspace.run(*inputs)
        except Mismatch:
            self._keep(workspace)
            raise
        # After another exception, as Ctrl-C between two parts, threads may still write there.
        self._keep(workspace)
        return out

    def _keep(self, workspace: Workspace) -> None:
        workspace.large.clear()  # the caller's arrays
        workspace.values.clear()
        if self.path.bytes <= KEPT_BYTES:
            self.free.append(workspace)


class NativeRunner:
    """Runs a program natively where it goes a way that is compiled, else by the NumPy back end.

    A way stays, also where few calls go it: the same arguments have the same answer in each call.
    For that reason the ways of `before`, which ran the program as far as it was known then, are
    those of this one. So they are where there are more ways than are compiled.
    """

    def __init__(
        self, block: Block, inputs: Sequence[Any], usual: Any, threads: int, before: Any = None
    ) -> None:
        self.usual = usual
        self.paths: list[_Way] = [] if before is None else list(before.paths)
        self.state: Any = None  # of errors, with which machine code is right
        self.error: Exception | None = None  # that met a path which was to be compiled
        compiled = {way.answers for way in self.paths}
        known = paths_of(block, MOST_NATIVE)
        for blocks in known if len(known) <= MOST_NATIVE else ():
            answers = tuple([answer for _, answer in blocks])
            if answers in compiled:
                continue
            try:
                blocks = in_parts(expanded(blocks, list(inputs)), list(inputs))
                path = Path(blocks, inputs, threads)
            except Unfit:
                continue
            except Exception as error:  # noqa: BLE001 - the program runs in NumPy, with a warning
                self.error = error
                continue
            self.paths.append(_Way(path, answers))

    def beside(self, usual: Any) -> NativeRunner:
        """The same ways, beside another program of the NumPy back end."""
        made = copy.copy(self)
        made.usual = usual
        return made

    status = "machine code"

    def text(self) -> str:
        """The code of each compiled path: calls in Python, and LLVM's text of the rest."""
        parts = []
        for way in self.paths:
            parts += [way.source(), "", "# LLVM's text of the parts that it calls", way.path.text]
        return "\n".join(parts)

    def run(self, inputs: Sequence[Any]) -> Any:
        """The results of a call; UnknownAnswer where the program does not go on."""
        state = VARIABLE.get()
        if state is not self.state:
            if not {"ignore", "warn"}.issuperset(np.geterr().values()):
                return self.usual.run(inputs)  # machine code raises nothing, and calls nothing
            self.state = state
        ways = self.paths
        for i, way in enumerate(ways):
            try:
                out = way.go(inputs)
            except Exception:  # noqa: BLE001, S112 - it is met again, or is none, elsewhere
                continue
            if i:
                self.paths = [way, *[other for other in ways if other is not way]]
            return out
        return self.usual.run(inputs)


__all__ = ["Mismatch", "NativeRunner", "Workspace"]
