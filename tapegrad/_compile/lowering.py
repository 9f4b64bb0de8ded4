"""A path of a program as statements over arrays whose places are known, and calls between them.

Knows what calls mean: elementwise functions, views, writes, reductions, products. Must not know
how loops are written (`kernels.py`), nor how they are run.

A statement computes each element of a region of one memory from elements of others, whose places
are affine in the loops' indices. Its level is the number of loop nests, or calls, before it: one
more than that of what it reads at other places, and that of what it reads at its own. Statements
of one level and one shape become one loop nest. All other calls are made by Python, between.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad._compile.functions import EXPECTATIONS
from tapegrad._compile.meanings import native
from tapegrad._compile.native_ops import BOOL, TYPES, NotFinite
from tapegrad._compile.passes import Block
from tapegrad._compile.program import Node, Ref, references, references_of
from tapegrad._compile.regions import (
    Array,
    Call,
    Memory,
    Number,
    Statement,
    Unfit,
    are_apart,
    box_of,
    dense,
    reaches,
    ready,
)
from tapegrad._core.fit import _has_nan, _is_finite, _is_sound, _is_sound_sum
from tapegrad._core.values import _any_true


class Lowered:
    """A path, lowered: statements, calls, where values are, and the answers that it expects."""

    def __init__(self, blocks: list[tuple[Block, Any]], inputs: list[Any]) -> None:
        self.statements: list[Statement] = []
        self.calls: list[Call] = []
        self.values: dict[int, Array | Number] = {}  # native values; others are Python's
        self.memories: list[Memory] = []
        self.nodes: dict[int, Node] = {}
        self.uses: dict[int, int] = {}
        self.aliased: set[int] = set()  # memories with more than one name
        self.inputs: list[Memory | None] = []
        self.python_levels: dict[int, int] = {}
        self.expected: list[bool] = []
        self.flag_arrays: list[Array] = []
        self.kinds: dict[int, Any] = {}
        self.expectations: set[int] = set()  # nodes that ask, whose answers are known
        self._count_uses(blocks)
        asked = [node for block, _ in blocks for _, node in block.nodes]
        count = len(blocks) + sum(node.function in EXPECTATIONS for node in asked)
        self.flags = Memory((count,), (1,), BOOL)
        for at, x in enumerate(inputs):
            self._input(at, x)
        for block, answer in blocks:
            for at, node in block.nodes:
                self.nodes[at] = node
                self._node(at, node)
            if block.read is not None:
                self._read(block.read, answer)
        last = blocks[-1][0]
        assert last.out is not None
        self.ends = last

    def _count_uses(self, blocks: list[tuple[Block, Any]]) -> None:
        found: list[int] = []
        for block, _ in blocks:
            for _, node in block.nodes:
                found += references_of(node)
            if block.read is not None:
                found.append(block.read.at)
            if block.out is not None:
                found += references(block.out.leaves)
                for _, ref in block.writes:
                    found += references(ref)
        for at in found:
            self.uses[at] = self.uses.get(at, 0) + 1

    # -- Memories --------------------------------------------------------------------------------

    def _input(self, at: int, x: Any) -> None:
        self.kinds[at] = type(x)
        dtype = getattr(x, "dtype", None)
        if type(x) is float:
            dtype = np.dtype("f8")
        if dtype not in TYPES or dtype == np.dtype("i4"):
            self.inputs.append(None)
            return
        shape = getattr(x, "shape", ())
        memory = Memory(shape, dense(shape, getattr(x, "strides", ())), dtype)
        memory.input, memory.kept = at, True
        self.inputs.append(memory)
        self.values[at] = memory.whole()
        self.memories.append(memory)

    def memory(self, node: Node) -> Memory:
        return self.new(node.shape, dense(node.shape, node.strides), node.dtype)

    def new(self, shape: Sequence[int], strides: Sequence[int], dtype: Any) -> Memory:
        made = Memory(shape, strides, dtype)
        self.memories.append(made)
        return made

    def operand(self, arg: Any) -> Array | Number | None:
        """An argument as native code has it; None if it does not."""
        kind = type(arg)
        if kind is Ref:
            found = self.values.get(arg.at)
            return found if found is not None else self._from_python(arg.at)
        if kind in (bool, int, float):
            return Number(arg, kind)
        if isinstance(arg, np.generic):
            return Number(arg, arg.dtype) if arg.dtype in TYPES else None
        if kind is np.ndarray and arg.dtype in TYPES:
            return self._constant(arg)
        return None

    def _constant(self, x: Any) -> Array | None:
        if not x.size:
            return None
        flat = x.ravel()
        first = flat[:1]
        if flat.tobytes() == first.tobytes() * flat.size:
            memory = Memory((), (), x.dtype)
            memory.constant = flat[0]
            return Array(memory, 0, (0,) * x.ndim, x.shape)
        memory = self.new(x.shape, dense(x.shape, ()), x.dtype)
        memory.constant, memory.kept = np.ascontiguousarray(x), True
        return memory.whole()

    def _from_python(self, at: int) -> Array | None:
        """A place for a value that a call of Python's made."""
        node = self.nodes.get(at)
        known = node is not None and node.dtype in TYPES and 0 not in node.shape
        if node is None or not known or not _is_numeric(node.kind):
            return None
        call = next(call for call in self.calls if call.at == at)
        memory = self.memory(node)
        memory.kept = True
        memory.writers.append(call)
        call.out = memory.whole()
        self.values[at] = call.out
        return call.out

    # -- Nodes -----------------------------------------------------------------------------------

    def _node(self, at: int, node: Node) -> None:
        self.kinds[at] = node.kind
        if node.function in EXPECTATIONS:
            question, expected = EXPECTATIONS[node.function]
            self.expectations.add(at)
            asked = node.args[1]
            if type(asked) is Ref:
                self._ask(question, asked.at, (bool, expected))
            elif question(asked) is not expected:  # of a constant
                raise Unfit
            return
        if node.dtype in TYPES and _is_numeric(node.kind) and 0 not in node.shape:
            found = native(self, at, node)
            if found is not None:
                self.values[at] = found
                return
        self._call(at, node)

    # -- Statements and calls --------------------------------------------------------------------

    def stated(
        self, op: Any, operands: list[Any], dtype: Any, out: Array, reduces: Any = None
    ) -> Array:
        """A statement, at its level; the array that it writes."""
        domain = out.shape
        given = [x.over(domain) if type(x) is Array else x for x in operands]
        target = Array(
            out.memory,
            out.offset,
            tuple([s for s, n in zip(out.strides, domain, strict=True) if n != 1]),
            tuple([n for n in domain if n != 1]),
        )
        made = Statement(op, given, dtype, target, reduces)
        whole = out.memory.shape == out.shape and reduces is None
        made.box = None if whole or out.memory.constant is not None else box_of(out)
        level = 0
        for x in given:
            if type(x) is Array:
                level = max(level, ready(x, made))
        for writer in out.memory.writers:
            if are_apart(writer.box, made.box):
                continue
            same = reaches(writer, target, made)
            level = max(level, writer.level if same else writer.level + 1)
        made.level = level
        self.statements.append(made)
        out.memory.writers.append(made)
        return out

    def place(self, call: Call, args: Sequence[Any]) -> None:
        """The level of a call, which reads these arrays."""
        level = 0
        for x in args:
            if type(x) is Array:
                x.memory.kept = True
                level = max([level, *[writer.level + 1 for writer in x.memory.writers]])
        call.level = level
        self.calls.append(call)

    def _call(self, at: int, node: Node) -> None:
        if _is_foreign(node.function):
            raise Unfit
        used = sorted(set(references_of(node)))
        args = [self.values.get(x) for x in used]
        call = Call("call", at, node, args)
        self.place(call, args)
        for x in used:
            if x in self.python_levels:
                call.level = max(call.level, self.python_levels[x] + 1)
        self.python_levels[at] = call.level

    def _read(self, read: Any, answer: Any) -> None:
        """A question by which the program goes one way or another."""
        question, at = read
        if at not in self.expectations:  # those are looked at one by one
            self._ask(question, at, answer)

    def _ask(self, question: Any, at: int, answer: Any) -> None:
        """A question whose answer is looked at after all, or a call that asks at once."""
        x = self.operand(Ref(at))
        known = _ASKED.get(question)
        if known is None or type(x) is not Array or answer[0] is not bool:
            call = Call("check", at, None, [x, question, answer])
            self.place(call, [x])
            if at in self.python_levels:
                call.level = max(call.level, self.python_levels[at] + 1)
            return
        if 0 in x.shape:
            raise Unfit
        self.flags.kept = True
        position = len(self.expected)
        op, meaning = known
        self.expected.append(answer[1] is meaning)
        out = Array(self.flags, position, (0,) * len(x.shape), x.shape)
        operands: list[Any] = [x]
        if op is np.not_equal:
            operands.append(Number(0, x.dtype))
        elif x.dtype.kind != "f":
            raise Unfit
        elif question is _is_sound_sum and not x.shape:
            op = NotFinite
        self.stated(op, operands, x.dtype, out, np.logical_or)


# Questions, by what of any element makes the answer, and which answer.
_ASKED: dict[Any, tuple[Any, bool]] = {
    _any_true: (np.not_equal, True),
    _has_nan: (np.isnan, True),
    _is_sound: (np.isnan, False),
    _is_sound_sum: (np.isnan, False),
    _is_finite: (NotFinite, False),
}


def _is_numeric(kind: type) -> bool:
    return kind is np.ndarray or issubclass(kind, (np.generic,))


def _is_foreign(function: Any) -> bool:
    module = getattr(function, "__module__", None) or "numpy"
    known = ("numpy", "operator", "_operator", "builtins", "tapegrad")
    return module.partition(".")[0] not in known


__all__ = ["Lowered"]
