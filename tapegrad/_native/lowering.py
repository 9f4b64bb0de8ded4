"""A path of a program as statements over arrays whose places are known, and calls between them.

Knows what calls mean: elementwise functions, views, writes, reductions, products. Must not know
how loops are written (`kernels.py`), nor how they are run.

A statement computes each element of a region of one memory from elements of others, whose places
are affine in the loops' indices. Its level is the number of loop nests, or calls, before it: one
more than that of what it reads at other places, and that of what it reads at its own. Statements
of one level and one shape become one loop nest. All other calls are made by Python, between.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from tapegrad._core.fit import has_nan, holds_infinity, is_finite, is_sound, is_sound_sum
from tapegrad._core.scatter import selects_once
from tapegrad._core.values import any_true
from tapegrad._native import complex_memory, lower_fourier
from tapegrad._native.native_ops import BOOL, TYPES, UFUNC_OF, NotFinite
from tapegrad._native.regions import (
    Array,
    Call,
    Memory,
    Number,
    Statements,
    Unfit,
    dense,
    is_numeric,
)
from tapegrad._native.semantics import as_numpys, native, of_python, unbound
from tapegrad._program.functions import EXPECTATIONS, kinds_of
from tapegrad._program.passes import Block
from tapegrad._program.program import Node, Ref, references, references_of


class Lowered(Statements):
    """A path, lowered: statements, calls, where values are, and the answers that it expects."""

    def __init__(self, blocks: list[tuple[Block, Any]], inputs: list[Any]) -> None:
        super().__init__()
        self.inputs: list[Memory | None] = []
        self.python_levels: dict[int, int] = {}
        self.expectations: set[int] = set()  # nodes that ask, whose answers are known
        self._count_uses(blocks)
        asked = [node for block, _ in blocks for _, node in block.nodes]
        count = len(blocks) + 4 * len(asked)  # more than there will be
        self.flags = Memory((count,), (1,), BOOL)
        for at, x in enumerate(inputs):
            self._input(at, x)
        shapes = {
            block.read.at: answer
            for block, answer in blocks
            if block.read is not None and block.read.question is kinds_of
        }
        for block, answer in blocks:
            for at, node in block.nodes:
                if at in shapes:
                    node = _of_kind(node, shapes[at])
                self.nodes[at] = node
                self._node(at, node)
            if block.read is not None:
                self._read(block.read, answer)
        self._find_arguments()
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
        shape = getattr(x, "shape", ())
        if dtype in complex_memory.REAL_OF and 0 not in shape:
            strides = tuple([step // x.itemsize for step in x.strides])
            memory = complex_memory.memory_of(self, shape, strides, dtype)
            memory.input = at
            self.inputs.append(memory)
            self.wholes[at] = memory.whole()
            return
        if dtype not in TYPES:
            self.inputs.append(None)
            return
        memory = Memory(shape, dense(shape, getattr(x, "strides", ())), dtype)
        memory.input, memory.kept = at, True
        self.inputs.append(memory)
        self.values[at] = memory.whole()
        self.memories.append(memory)

    def is_numpys(self) -> bool:
        """Whether most of a program is elementwise in dtypes that only NumPy has, as complex ones.

        Then it is faster as NumPy's calls in memory that is used again, without steps between.
        """
        foreign = 0
        for call in self.calls:
            node = call.node
            if call.kind == "call" and node is not None and node.dtype not in TYPES:
                function = UFUNC_OF.get(node.function, node.function)
                foreign += node.dtype is not None and isinstance(function, np.ufunc)
        return foreign > len(self.statements)

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
        if complex_memory.lower(self, at, node) or lower_fourier.lower(self, at, node):
            return
        node = as_numpys(unbound(node))
        number = of_python(self, node)
        if number is not None:
            self.values[at] = number
            return
        if node.dtype in TYPES and is_numeric(node.kind) and 0 not in node.shape:
            found = native(self, at, node)
            if found is not None:
                self.values[at] = found
                return
        self._call(at, node)

    # -- Statements and calls --------------------------------------------------------------------

    def _call(self, at: int, node: Node) -> None:
        if _is_foreign(node.function):
            raise Unfit
        used = sorted(set(references_of(node)))
        args = [self.stored(x) for x in used]
        call = Call("call", at, node, args)
        self.place(call, args)
        for x in used:
            if x in self.python_levels:
                call.level = max(call.level, self.python_levels[x] + 1)
        self.python_levels[at] = call.level

    def _find_arguments(self) -> None:
        """Have each call know the values in memory that it takes, also those put there later."""
        for call in self.calls:
            if call.kind in ("call", "check"):
                used = [call.at] if call.node is None else sorted(set(references_of(call.node)))
                call.args = [*call.args, *map(self.stored, used)]

    def _read(self, read: Any, answer: Any) -> None:
        """A question by which the program goes one way or another."""
        question, at = read
        if at not in self.expectations:  # those are looked at one by one
            self._ask(question, at, answer)

    def _ask(self, question: Any, at: int, answer: Any) -> None:
        """A question whose answer is looked at after all, or a call that asks at once."""
        if question is selects_once and not answer[1]:
            return  # what adds up at places is right as well where none comes twice
        x = self.operand(Ref(at))
        known = _ASKED.get(question)
        if known is None or type(x) is not Array or answer[0] is not bool:
            call = Call("check", at, None, [x, question, answer])
            self.place(call, [x, self.wholes.get(at)])
            if at in self.python_levels:
                call.level = max(call.level, self.python_levels[at] + 1)
            return
        op, meaning = known
        if 0 in x.shape:  # no element makes the answer
            if answer[1] is meaning:
                raise Unfit
            return
        others = []
        if op is np.not_equal:
            others.append(Number(0, x.dtype))
        elif x.dtype.kind != "f":
            raise Unfit
        elif question is is_sound_sum and not x.shape:
            op = NotFinite
        self.asked(op, x, expected=answer[1] is meaning, others=others)


# Questions, by what of any element makes the answer, and which answer.
_ASKED: dict[Any, tuple[Any, bool]] = {
    any_true: (np.not_equal, True),
    bool: (np.not_equal, True),
    operator.truth: (np.not_equal, True),
    has_nan: (np.isnan, True),
    holds_infinity: (np.isinf, True),
    math.isnan: (np.isnan, True),
    math.isfinite: (NotFinite, False),
    is_sound: (np.isnan, False),
    is_sound_sum: (np.isnan, False),
    is_finite: (NotFinite, False),
}


def _of_kind(node: Node, answer: Any) -> Node:
    """A node whose shape depends on values, as by a mask, with the one that it has in a path."""
    kind, found = answer
    if node.kind is not np.ndarray or kind is not tuple or type(found[1]) is not str:
        return node
    shape, dtype = found[0], np.dtype(found[1])
    made = node.again(node.function, node.args, node.kwargs, node.steps)
    made.shape, made.dtype = shape, dtype
    made.strides = tuple([step * dtype.itemsize for step in dense(shape, ())])
    return made


def _is_foreign(function: Any) -> bool:
    module = getattr(function, "__module__", None) or "numpy"
    known = ("numpy", "operator", "_operator", "builtins", "tapegrad")
    return module.partition(".")[0] not in known


__all__ = ["Lowered"]
