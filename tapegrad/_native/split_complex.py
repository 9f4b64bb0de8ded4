"""Complex arrays as two real ones: a path whose runs of complex arithmetic are written by parts.

Knows how a path is written anew. Must not know which runs pay (`complex_runs.py`), formulas
(`complex_arithmetic.py`), nor what calls of real numbers mean as code (`semantics.py`).

Registers hold real numbers. So where a path computes with complex ones for a while, it does with
their parts, which are real arrays. What takes a whole one (a Fourier transform, a product of
matrices, the caller) is given one that is joined for it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad._core.quiet import silence
from tapegrad._native.complex_arithmetic import TO_REAL, TO_TRUTH, Complex, Real, to_complex
from tapegrad._native.complex_memory import IMAG, PARTS, REAL, REAL_OF, joint
from tapegrad._native.complex_runs import MADE, Path, Runs, is_by_part, is_cast
from tapegrad._native.regions import Unfit
from tapegrad._program.functions import EXPECTATIONS
from tapegrad._program.passes import Block
from tapegrad._program.program import (
    CONSTANT,
    OWN,
    Node,
    Ref,
    Results,
    references,
    references_of,
    renamed,
    rewritten,
)

Pair = tuple[Any, Any]  # the parts of a complex argument: references, or constants


def in_parts(blocks: Path, inputs: list[Any]) -> Path:
    """A path whose runs of complex arithmetic are made of real arithmetic."""
    values = [*inputs, *[node for block, _ in blocks for _, node in block.nodes]]
    if not any(getattr(value, "dtype", None) in REAL_OF for value in values):
        return blocks
    runs = Runs(blocks, inputs)
    return _Parting(blocks, runs).path if runs.parted else blocks


class _Parting:
    """One walk along a path, which writes it anew."""

    def __init__(self, blocks: Path, runs: Runs) -> None:
        self.parted = runs.parted
        self.nodes = dict(runs.nodes)
        self.next = 1 + max(self.nodes)
        self.parts: dict[int, Pair] = {}  # of complex values
        self.whole: set[int] = set()  # the parted ones that have been joined
        self.stand_ins: dict[int, Any] = {}
        self.path: Path = []
        for block, answer in blocks:
            self.block = Block()
            for at, node in block.nodes:
                self._node(at, node)
            self._end(block)
            self.path.append((self.block, answer))

    def _end(self, block: Block) -> None:
        made = self.block
        made.careful, made.recordings = block.careful, block.recordings
        if block.read is not None:
            self._make_whole([Ref(block.read.at)])
            stands = self.stand_ins.get(block.read.at, Ref(block.read.at))
            if type(stands) is not Ref:  # a constant, which is asked nothing
                raise Unfit
            made.read = block.read._replace(at=stands.at)
        if block.out is not None:
            self._make_whole((block.out.leaves, [ref for _, ref in block.writes]))
            leaves = rewritten(block.out.leaves, self.stand_ins)
            made.out = Results(leaves, block.out.structure)
            made.writes = tuple([(i, rewritten(ref, self.stand_ins)) for i, ref in block.writes])

    def _node(self, at: int, node: Node) -> None:
        if at not in self.parted:
            self._make_whole([Ref(x) for x in references_of(node)])
            self.block.nodes.append((at, renamed(node, self.stand_ins)))
            return
        node = self.nodes[at]
        if node.function in EXPECTATIONS:
            before, asked = rewritten(node.args[0], self.stand_ins), self._parts_of(node.args[1])
            first = self._add(node.again(node.function, (before, asked[0])))
            self.block.nodes.append((at, node.again(node.function, (Ref(first), asked[1]))))
        elif node.dtype in REAL_OF:
            self.parts[at] = self._pair(node)
        else:
            self.stand_ins[at] = self._real(node)

    def _pair(self, node: Node) -> Pair:
        """The parts of a complex result."""
        made = self._maker(node)
        if node.function is np.where:
            condition = rewritten(node.args[0], self.stand_ins)
            first, second = self._pairs_of(node, node.args[1:])
            real, imag = [made(np.where, (condition, first[k], second[k])) for k in (0, 1)]
        elif node.steps is not None:
            real, imag = self._written(node)
        elif is_cast(node):
            real, imag = self._parts_of(node.args[0])
        elif node.function in MADE:
            real, imag = [
                np.full(node.shape, value, REAL_OF[node.dtype])
                for value in (MADE[node.function], 0)
            ]
        elif is_by_part(node):
            rest = rewritten(node.args[1:], self.stand_ins)
            real, imag = [
                self._moved(node, (part, *rest)) for part in self._parts_of(node.args[0])
            ]
        else:
            formula = to_complex(node.function)
            assert formula is not None
            found = formula(*self._operands(node, made))
            real, imag = [part.argument for part in found]
        return self._shaped(node, real), self._shaped(node, imag)

    def _written(self, node: Node) -> list[Any]:
        """A write into both parts."""
        base, value = self._pairs_of(node, (node.args[0], node.args[-1]))
        index = rewritten(node.args[1:-1], self.stand_ins)
        made = []
        for whole, written in zip(base, value, strict=True):
            whole = whole if type(whole) is Ref else np.ascontiguousarray(whole)
            call = renamed(node, self.stand_ins)
            call.args, call.dtype = (whole, *index, written), REAL_OF[node.dtype]
            call.strides = self._strides(call, node)
            made.append(Ref(self._add(call)))
        return made

    def _real(self, node: Node) -> Any:
        """A real result."""
        if node.function in PARTS:
            return self._parts_of(node.args[0])[PARTS[node.function]]
        if node.function in MADE:  # after the shape of a complex one
            return np.full(node.shape, MADE[node.function], node.dtype)
        return TO_REAL[node.function](*self._operands(node, self._maker(node))).argument

    def _operands(self, node: Node, made: Callable[..., Any]) -> list[Complex]:
        pairs, dtype = self._pairs_of(node, node.args), self._computed_in(node)
        return [(Real(real, made, dtype), Real(imag, made, dtype)) for real, imag in pairs]

    def _pairs_of(self, node: Node, args: tuple[Any, ...]) -> list[Pair]:
        """The parts of arguments; numbers of Python's are cast first, as NumPy casts them."""
        cast = self._computed_in(node).type
        return [
            tuple([cast(part) if type(part) in (int, float) else part for part in pair])
            for pair in map(self._parts_of, args)
        ]

    def _computed_in(self, node: Node) -> Any:
        """The real dtype in which a call is computed."""
        real = REAL_OF.get(node.dtype, node.dtype)
        if real.kind == "f":
            return real
        return next(x for x in map(self._real_dtype, node.args) if x is not None)

    def _parts_of(self, arg: Any) -> Pair:
        """The parts of an argument, which may be real."""
        if type(arg) is not Ref:
            return (arg.real, arg.imag) if np.iscomplexobj(arg) else (arg, 0.0)
        node = self.nodes[arg.at]
        if node.dtype not in REAL_OF:
            return rewritten(arg, self.stand_ins), 0.0
        found = self.parts.get(arg.at)
        if found is None:
            found = self.parts[arg.at] = self._view(arg, node, REAL), self._view(arg, node, IMAG)
        return found

    def _view(self, whole: Ref, node: Node, function: Any) -> Ref:
        """A part of a complex value that is there."""
        made = Node(function, (whole,), {})
        made.dtype, made.shape, made.strides = REAL_OF[node.dtype], node.shape, node.strides
        made.kind = np.ndarray if node.kind is np.ndarray else made.dtype.type
        made.shares = whole.at if node.kind is np.ndarray else OWN
        return Ref(self._add(made))

    # -- Calls of real numbers -------------------------------------------------------------------

    def _maker(self, node: Node) -> Callable[..., Any]:
        """A function that adds calls of elementwise functions, as parts of a call, to the path."""
        real = self._computed_in(node)

        def made(function: Any, args: tuple[Any, ...]) -> Any:
            if not any(type(arg) is Ref for arg in args):
                with silence():
                    return function(*args)
            call = Node(function, args, {}, silent=node.silent)
            call.dtype = np.dtype(bool) if function in TO_TRUTH else real
            call.shape = np.broadcast_shapes(*map(self._shape, args))
            call.kind = np.ndarray if node.kind is np.ndarray else call.dtype.type
            call.strides = self._strides(call, node)
            return Ref(self._add(call))

        return made

    def _real_dtype(self, arg: Any) -> Any:
        dtype = self.nodes[arg.at].dtype if type(arg) is Ref else getattr(arg, "dtype", None)
        return REAL_OF.get(dtype, dtype)

    def _shape(self, arg: Any) -> Any:
        return self.nodes[arg.at].shape if type(arg) is Ref else np.shape(arg)

    def _moved(self, node: Node, args: tuple[Any, ...]) -> Any:
        """A call that moves or adds up elements, of one part."""
        if not any(True for _ in references((args, node.kwargs))):
            return node.function(*args, **node.kwargs)
        call = Node(node.function, args, node.kwargs, silent=node.silent)
        call.dtype, call.shape = REAL_OF[node.dtype], node.shape
        call.kind = np.ndarray if node.kind is np.ndarray else call.dtype.type
        call.strides = self._strides(call, node)
        if node.shares != OWN:
            call.shares = args[0].at if type(args[0]) is Ref else CONSTANT
        return Ref(self._add(call))

    def _strides(self, call: Node, node: Node) -> tuple[int, ...]:
        """As the elements of the call that it is a part of lie, without gaps between the parts."""
        if call.kind is not np.ndarray:
            return ()
        width = call.dtype.itemsize
        if call.shape == node.shape and node.dtype in REAL_OF:
            return tuple([step // node.dtype.itemsize * width for step in node.strides])
        return np.empty(call.shape, call.dtype).strides

    def _shaped(self, node: Node, part: Any) -> Any:
        """A part with the shape of the whole: that of real numbers and one complex has less."""
        if self._shape(part) == node.shape:
            return part
        if type(part) is not Ref:
            return np.broadcast_to(np.asarray(part, REAL_OF[node.dtype]), node.shape)
        call = Node(np.broadcast_to, (part, node.shape), {}, silent=node.silent)
        call.kind, call.dtype, call.shape = np.ndarray, REAL_OF[node.dtype], node.shape
        call.strides = self._strides(call, node)
        return Ref(self._add(call))

    def _add(self, node: Node) -> int:
        at = self.next
        self.next += 1
        self.nodes[at] = node
        self.block.nodes.append((at, node))
        return at

    def _make_whole(self, template: Any) -> None:
        """Have the complex values that a call takes as they are joined."""
        for at in references(template):
            if at in self.parts and at in self.parted and at not in self.whole:
                self.whole.add(at)
                node = self.nodes[at]
                made = node.again(joint(node.dtype, node.kind is np.ndarray), self.parts[at])
                made.shares = OWN
                self.block.nodes.append((at, made))


__all__ = ["in_parts"]
