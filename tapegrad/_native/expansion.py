"""Calls of functions of our own in a path, replaced by the calls of NumPy's that they make.

Knows how a path is walked with the values of one call, and written anew. Must not know how a
function is recorded (`definitions.py`), nor what calls mean as code (`semantics.py`).

Where a planned function asks for values, or gives other bits for recorded arrays than for plain
ones, it is one call of a program. The native back end, which rounds otherwise anyway, takes the
calls that it makes, and looks at the end whether what it asked was answered as it was here.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from tapegrad._core.quiet import silence
from tapegrad._native.definitions import TAKEN_APART, definition_of
from tapegrad._native.gather_tables import MOVES, Table, tables_of
from tapegrad._native.regions import Unfit
from tapegrad._program.functions import (
    ATTRIBUTES,
    EXPECTATIONS,
    METHODS,
    function_of,
    kinds_of,
)
from tapegrad._program.passes import Block
from tapegrad._program.program import (
    OWN,
    Node,
    Read,
    Ref,
    Results,
    Segment,
    answer_key,
    references,
    references_of,
    renamed,
    rewritten,
    value_of,
)

Path = list[tuple[Block, Any]]
DEEPEST = 3  # functions of our own within functions of our own


def expanded(blocks: Path, inputs: list[Any]) -> Path:
    """A path whose calls of our own functions are taken apart, where they can be."""
    nodes = [node for block, _ in blocks for _, node in block.nodes]
    if not any(_is_ours(node) or _has_known_shape(node) for node in nodes):
        return blocks
    return _Expansion(blocks, inputs).path


def _is_ours(node: Node) -> bool:
    """Whether a call is of a function that may be taken apart."""
    function = function_of(node.function)
    if function in MOVES or function in TAKEN_APART:
        return node.steps is None
    if function in METHODS or function in ATTRIBUTES:  # what they do is one call of NumPy's
        return False
    module = getattr(function, "__module__", None) or ""
    known = module.startswith("tapegrad.") and not module.startswith("tapegrad._compile")
    return known and function not in EXPECTATIONS and node.steps is None


def _has_known_shape(node: Node) -> bool:
    """Whether a call whose shape might depend on values has one that does not."""
    if node.function is np.bincount:
        return len(node.args) == 3 and (node.args[2],) == node.shape or not node.shape
    if node.function is not operator.getitem or node.kwargs:
        return False
    index = node.args[1]
    parts = index if type(index) is tuple else (index,)
    return all(type(part) is not Ref for part in parts) and any(
        type(part) is list and not any(True for _ in references(part)) for part in parts
    )


class _Expansion:
    """One walk along a path, with the values of one call."""

    def __init__(self, blocks: Path, inputs: list[Any]) -> None:
        self.values: dict[int, Any] = dict(enumerate(inputs))
        self.stand_ins: dict[int, Any] = {}
        self.static: set[int] = set()  # positions whose shapes depend on no values
        self.next = 1 + max([len(inputs), *[at for block, _ in blocks for at, _ in block.nodes]])
        self.path: Path = []
        self.careful = blocks[0][0].careful
        self.block = Block()
        self._find_last_uses(blocks)
        with silence():
            for block, answer in blocks:
                for at, node in block.nodes:
                    self._node(at, node, 0)
                self._end(block, answer)

    def _find_last_uses(self, blocks: Path) -> None:
        """After which calls of the path values are no longer needed."""
        self.ends: dict[int, list[int]] = {}
        last: dict[int, int] = {}
        for block, _ in blocks:
            for at, node in block.nodes:
                last[at] = at
                for x in references_of(node):
                    last[x] = at
        for x, at in last.items():
            self.ends.setdefault(at, []).append(x)

    def _end(self, block: Block, answer: Any) -> None:
        """The end of a block."""
        made = self.block
        if block.read is not None:
            self._look_at_shape(block.read, answer)
            stands = self.stand_ins.get(block.read.at, Ref(block.read.at))
            if block.read.question is kinds_of and self._is_static(stands):
                return
            made.read = Read(block.read.question, stands.at)
        if block.out is not None:
            leaves = rewritten(block.out.leaves, self.stand_ins)
            made.out = Results(leaves, block.out.structure)
            made.writes = tuple([(i, rewritten(ref, self.stand_ins)) for i, ref in block.writes])
        made.recordings = block.recordings
        self.path.append((made, answer))
        self.block = Block()

    def _look_at_shape(self, read: Read, answer: Any) -> None:
        """Refuse a path on which a shape that depends on values is not that of this call."""
        known = read.question is kinds_of and read.at in self.values
        if known and answer_key(kinds_of(self.values[read.at])) != answer:
            raise Unfit

    def _is_static(self, stands: Any) -> bool:
        """Whether shapes depend on no values: what is taken apart asks for what they depend on."""
        return type(stands) is tuple or stands.at in self.static

    def _node(self, at: int, node: Node, depth: int, value: Any = None) -> None:
        """A call: taken apart, or as it is. `value`: what it gives, where that is known."""
        taken = renamed(node, self.stand_ins) if self.stand_ins else node
        if taken.steps is None and type(taken.args[0] if taken.args else None) in (tuple, list):
            found = _picked(taken)
            if found is not None:
                self.stand_ins[at] = found
                self.values[at] = self._value(found)
                return
        if _is_ours(taken) and depth < DEEPEST:
            moves = function_of(taken.function) in MOVES
            apart = not moves and self._take_apart(at, taken, depth)
            if apart or self._move(at, taken, depth):
                self._forget(at)
                return
        if value is None:
            value = value_of(taken, self.values)  # type: ignore[arg-type]
        self.values[at] = value
        if type(value) is np.ndarray and value.shape != taken.shape:  # it depends on values
            taken = taken.again(taken.function, taken.args, taken.kwargs, taken.steps)
            taken.describe(value, taken.shares)
            if _has_known_shape(taken):
                self.static.add(at)
        self.block.nodes.append((at, taken))
        self._forget(at)

    def _forget(self, at: int) -> None:
        for x in self.ends.get(at, ()):
            stands = self.stand_ins.get(x)
            if stands is None and x != at:
                self.values.pop(x, None)

    def _value(self, template: Any) -> Any:
        if type(template) is Ref:
            return self.values[template.at]
        if type(template) is tuple:
            return tuple([self._value(part) for part in template])
        return template

    def _take_apart(self, at: int, node: Node, depth: int) -> bool:
        """Record what a function does; whether that can be put in its place."""
        positions = list(dict.fromkeys(references((node.args, node.kwargs))))
        if any(type(self.values[x]) in (tuple, list) for x in positions):
            return False
        try:
            expected = value_of(node, self.values)  # type: ignore[arg-type]
        except Exception:  # noqa: BLE001 - it is met again where the program runs
            return False
        found = definition_of(node, positions, self.values, expected, careful=self.careful)
        if found is None:
            return False
        names = self._splice(found.root, positions, depth, found.values)
        self.stand_ins[at] = rewritten(found.out, names)
        self.values[at] = expected
        return True

    def _splice(
        self, root: Segment, positions: list[int], depth: int, known: dict[int, Any]
    ) -> dict[int, Any]:
        """Put recorded segments in place of a call; what stands for each of their positions.

        known: the values of their calls.
        """
        names: dict[int, Any] = {i: Ref(x) for i, x in enumerate(positions)}
        segment: Segment | None = root
        while segment is not None:
            for i, node in enumerate(segment.nodes, segment.start):
                made = renamed(node, names)
                names[i] = Ref(self.next)
                self.next += 1
                self._node(names[i].at, made, depth + 1, known.get(i))
            following = None
            if segment.read is not None:
                ((key, following),) = segment.children.items()
                stands = rewritten(names[segment.read.at], self.stand_ins)
                question = segment.read.question
                if question is not kinds_of or not self._is_static(stands):
                    self.block.read = Read(question, stands.at)
                    self.path.append((self.block, key))
                    self.block = Block()
            segment = following
        return {i: rewritten(ref, self.stand_ins) for i, ref in names.items()}

    def _move(self, at: int, node: Node, depth: int) -> bool:
        """Put, in place of a call that moves elements of one array, a look-up by a table."""
        used = set(references((node.args, node.kwargs)))
        if len(used) != 1:
            return False
        (x,) = used
        try:
            found = tables_of(node, x, self.values[x])
        except Exception:  # noqa: BLE001 - then it is one call
            return False
        if found is None:
            return False
        out, tables = found
        several = type(out) is tuple
        parts = [
            None if table is None else Ref(self._looked_up(x, table, depth))
            for table in (tables if several else (tables,))
        ]
        self.stand_ins[at] = tuple(parts) if several else parts[0]
        self.values[at] = out
        return True

    def _looked_up(self, x: int, found: Table, depth: int) -> int:
        """The calls that look up a table; the position of the last."""
        table, mask, rest = found
        flat = self._made(np.reshape, (Ref(x), (-1,)), self.values[x].reshape(-1), depth)
        picked = self._made(np.take, (Ref(flat), table), rest, depth)
        if not mask.all():
            picked = self._made(np.where, (mask, Ref(picked), rest), rest, depth)
        self.static.add(picked)
        return picked

    def _made(self, function: Any, args: tuple[Any, ...], like: Any, depth: int) -> int:
        """A call that was not recorded; its position."""
        at = self.next
        self.next += 1
        node = Node(function, args, {})
        node.describe(like, OWN)
        self._node(at, node, depth + 1)
        return at


def _picked(node: Node) -> Any:
    """The part of a tuple or list of references that a call picks."""
    if getattr(node.function, "__name__", "") == "getitem" and type(node.args[1]) is int:
        found = node.args[0][node.args[1]]
        return found if type(found) is Ref else None
    return None


__all__ = ["expanded"]
