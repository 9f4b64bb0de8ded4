"""Passes over a recorded program: fold, simplify, share, drop.

Knows which calls are the same, and which do nothing. Must not know how code is generated.

Each pass keeps every bit of every result. All of them are loops over the nodes in order: programs
are thousands of calls deep.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from tapegrad._core.quiet import errstate
from tapegrad._program.elementwise import COMMUTATIVE, real_ufunc_of
from tapegrad._program.functions import method
from tapegrad._program.guards import without_implied
from tapegrad._program.negations import signed
from tapegrad._program.numbers import Numbers
from tapegrad._program.program import (
    CONSTANT,
    INPUT,
    OWN,
    Node,
    Read,
    Ref,
    Results,
    Segment,
    Step,
    own_copy,
    references,
    references_of,
    renamed,
    rewritten,
    value_of,
    warns_as,
)

# Calls whose value is that of their argument, as values do not change: copies.
COPIES: tuple[Any, ...] = (np.array, np.copy, np.asarray, np.asanyarray, method("copy"), own_copy)
# And those whose value is that of a real argument.
KEEPS: tuple[Any, ...] = (
    operator.pos,
    np.positive,
    np.conjugate,
    method("conj"),
    method("conjugate"),
    np.real,
)
PRODUCTS = frozenset((operator.mul, np.multiply))
MAY_DIFFER: tuple[Any, ...] = (np.empty, np.empty_like)  # of what they hold nothing is known
LARGEST = 1 << 20  # bytes of a constant that is made ahead


class Block:
    """A segment of a program after the passes: calls by position, and what follows."""

    __slots__ = (
        "careful",
        "children",
        "nodes",
        "out",
        "read",
        "recordings",
        "used_below",
        "writes",
    )

    def __init__(self) -> None:
        self.careful = False  # see `Segment`
        self.nodes: list[tuple[int, Node]] = []
        self.read: Read | None = None
        self.children: dict[Any, Block] = {}
        self.out: Results | None = None
        self.writes: tuple[tuple[int, Any], ...] = ()
        self.recordings = 0
        self.used_below: set[int] = set()  # values from here and above that blocks below need


class _Known:
    """Knowledge along a path: what stands for a position, and where a call was made."""

    __slots__ = ("calls", "numbers", "stand_ins")

    def __init__(self) -> None:
        self.numbers = Numbers()
        self.stand_ins: dict[int, Any] = {}  # a reference, or a constant's value
        self.calls: dict[Any, int] = {}

    def copy(self) -> _Known:
        made = _Known()
        made.numbers = self.numbers.copy()
        made.stand_ins, made.calls = dict(self.stand_ins), dict(self.calls)
        return made


def optimized(root: Segment) -> Block:
    """The program of a tree of segments, with fewer calls."""
    made = Block()
    made.careful = root.careful
    pending: list[tuple[Segment, Block, _Known, dict[int, Node]]] = [
        (root, made, _Known(), dict(root.inputs))
    ]
    order = []
    while pending:
        segment, block, known, described = pending.pop()
        order.append((segment, block))
        for at, node in enumerate(segment.nodes, segment.start):
            _take(block, at, node, known, described)
        block.recordings = segment.recordings
        if segment.read is not None:
            question, at = segment.read
            stands = known.stand_ins.get(at, Ref(at))
            if type(stands) is Ref:
                block.read = Read(question, stands.at)
            else:  # of a constant: there is one answer, and so one child
                block.read = Read(question, at)
                block.nodes.append((at, _constant_node(stands)))
        if segment.out is not None:
            block.out = Results(
                rewritten(segment.out.leaves, known.stand_ins), segment.out.structure
            )
            block.writes = tuple(
                (position, rewritten(ref, known.stand_ins)) for position, ref in segment.writes
            )
        for key, child in segment.children.items():
            block.children[key] = Block()
            alone = len(segment.children) == 1
            pending.append(
                (
                    child,
                    block.children[key],
                    known if alone else known.copy(),
                    described if alone else dict(described),
                )
            )
    for _, block in reversed(order):
        _drop_unused(block)
    for _, block in order:
        outer = block.used_below | ends_of(block)
        block.nodes = without_implied(signed(block.nodes, outer, root.inputs), outer)
    for _, block in reversed(order):
        _drop_unused(block)
    return made


def _constant_node(value: Any) -> Node:
    node = Node(_itself, (value,), {})
    node.describe(value, CONSTANT)
    return node


def _itself(value: Any) -> Any:
    return value


def _take(block: Block, at: int, node: Node, known: _Known, described: dict[int, Node]) -> None:
    """Add a call to a block, unless it is known what its value is."""
    stand_ins = known.stand_ins
    taken = renamed(node, stand_ins) if stand_ins else node
    taken = known.numbers.plainer(taken, described)
    foreign = _is_foreign(taken.function)
    if not foreign and not references_of(taken):
        folded = _folded(taken)
        if folded is not _NOT_FOLDED:
            stand_ins[at] = folded
            return
    if not foreign:
        known.numbers.learn(at, taken, described)
    if taken.steps is not None and type(taken.args[0]) is Ref:
        taken = known.numbers.written(taken)
    stands = _simplified(taken, described)
    if stands is not None:
        stand_ins[at] = stands
        return
    key = None if foreign else _key(taken)
    if key is not None:
        before = known.calls.get(key)
        if before is not None and warns_as(described[before].silent, taken.silent):
            stand_ins[at] = Ref(before)
            return
        known.calls[key] = at
    described[at] = taken
    block.nodes.append((at, taken))


_NOT_FOLDED = object()


def _folded(node: Node) -> Any:
    """The value of a call of constants, if it is the same each time, and small."""
    if (
        node.function in MAY_DIFFER
        or getattr(node.dtype, "itemsize", 8) * np.prod(node.shape, dtype=float) > LARGEST
    ):
        return _NOT_FOLDED
    try:
        with errstate(all="ignore" if node.silent is True else "raise"):
            return value_of(node, ())
    except Exception:  # noqa: BLE001 - the call raises, or warns, each time: so it is made
        return _NOT_FOLDED


def _simplified(node: Node, described: dict[int, Node]) -> Any:
    """Replacement for a call that does nothing: a reference to its argument, or None."""
    if node.steps is not None or node.kind is not np.ndarray or not node.args:
        return None
    function, x = node.function, node.args[0]
    if function in PRODUCTS and node.dtype.kind == "c":
        return None  # an infinity times 1 + 0i has a NaN
    if function in PRODUCTS and len(node.args) == 2 and not node.kwargs:
        y = node.args[1]
        if type(x) in (int, float) and x == 1:
            x, y = y, x
        if type(y) not in (int, float) or y != 1:
            return None
        if node.dtype.kind == "c":  # an infinite part makes the other NaN
            return None
    elif function in KEEPS:
        if node.dtype.kind == "c" or len(node.args) > 1 or node.kwargs:
            return None
    elif function not in COPIES:
        return None
    if type(x) is not Ref or x.at not in described:
        return None
    before = described[x.at]
    same = (
        before.kind is np.ndarray
        and before.shape == node.shape
        and before.dtype == node.dtype
        and before.strides == node.strides
    )
    fit = function in PRODUCTS or (before.shares == OWN and before.function is not INPUT)
    return x if same and fit else None


def _key(node: Node) -> Any:
    """A key that two calls share if they are the same; None if that is not known."""
    steps = node.steps
    function: Any = node.function
    args = node.args
    ufunc = real_ufunc_of(node)
    if ufunc is not None:  # np.multiply of arrays is operator.mul
        function = ufunc
        if ufunc in COMMUTATIVE and type(args[0]) is type(args[1]) is Ref:
            args = args if args[0].at < args[1].at else args[::-1]
    try:
        key = (
            function,
            steps is None,
            frozen(args),
            frozen(node.kwargs),
            frozen(steps or ()),
        )
        hash(key)
    except TypeError:
        return None
    return key


def frozen(value: Any) -> Any:
    kind = type(value)
    if kind is np.ndarray:
        return "array", id(value)  # constants are kept by their nodes, and never change
    if kind is tuple or kind is list or kind is Step:
        return kind, tuple([frozen(part) for part in value])
    if kind is dict:
        return dict, tuple([(name, frozen(part)) for name, part in value.items()])
    if kind is slice:
        return slice, frozen(value.start), frozen(value.stop), frozen(value.step)
    if issubclass(kind, (float, complex, np.generic)):
        return kind, np.asarray(value).tobytes()
    return kind, value


def _is_foreign(function: Any) -> bool:
    """Whether a function is the program's own, of which nothing is known."""
    module = getattr(function, "__module__", None) or "numpy"
    return module.partition(".")[0] not in (
        "numpy",
        "operator",
        "_operator",
        "builtins",
        "tapegrad",
    )


def _may_raise(function: Any) -> bool:
    """Whether a call may raise for some values, so that it is made though nothing uses it."""
    module = getattr(function, "__module__", None) or ""
    return module.startswith("numpy.linalg") or _is_foreign(function)


def _drop_unused(block: Block) -> None:
    """Drop the calls whose values nothing uses; the children's blocks come before."""
    below: set[int] = set()
    for child in block.children.values():
        below |= (child.used_below | uses_of(child)).difference([at for at, _ in child.nodes])
    block.used_below = below
    needed = set(below)
    needed.update(ends_of(block))
    kept = []
    for at, node in reversed(block.nodes):
        if at in needed or _may_raise(node.function):
            needed.update(references_of(node))
            kept.append((at, node))
    block.nodes = kept[::-1]


def ends_of(block: Block) -> set[int]:
    """The positions to which a block's end refers."""
    found = set()
    if block.read is not None:
        found.add(block.read.at)
    if block.out is not None:
        found.update(references(block.out.leaves))
        for _, ref in block.writes:
            found.update(references(ref))
    return found


def uses_of(block: Block) -> set[int]:
    """All positions to which a block's own calls and its end refer."""
    found = ends_of(block)
    for _, node in block.nodes:
        found.update(references_of(node))
    return found


__all__ = ["Block", "ends_of", "frozen", "optimized", "uses_of"]
