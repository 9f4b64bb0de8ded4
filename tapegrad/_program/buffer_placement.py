"""The pass `buffer_placement`: what is written into a part of an array is computed there.

Knows which writes and concatenations take the value of an elementwise call that nothing else uses.
Must not know how code is generated.
"""

from __future__ import annotations

import operator
from collections import Counter
from typing import Any, NamedTuple, cast

import numpy as np

from tapegrad._program.elementwise import EXACT, ufunc_of
from tapegrad._program.passes import Block, ends_of
from tapegrad._program.program import Node, Ref, references, references_of

MOST_PARTS = 8  # of a concatenation, beyond which one call costs less


class Placed(Node):
    """A write `x[index] = f(...)`, where f writes into the part itself.

    The arguments are x, the index, and a tuple of f's arguments; the function is f, a ufunc.
    """

    __slots__ = ("of",)

    of: Node  # the call of f


class Joined(Node):
    """A concatenation whose parts are computed, or copied, where they belong.

    The arguments are those of the parts' calls, or the parts.
    """

    __slots__ = ("parts",)

    parts: list[Part]


class Part(NamedTuple):
    """A part of an array: from and to which index of each axis, and the call that makes it."""

    box: tuple[tuple[int, int], ...]
    call: Node | None  # of an elementwise function
    value: Any  # the argument that is copied, where there is no call

    @property
    def slices(self) -> tuple[slice, ...]:
        return tuple([slice(*bounds) for bounds in self.box])


def placed(block: Block, escaping: set[int], known: dict[int, Node]) -> list[tuple[int, Node]]:
    """The calls of a block, where those whose value is written somewhere are part of the write.

    `known` describes all values that the block may use.
    """
    uses: Counter[int] = Counter()
    for _, node in block.nodes:
        uses.update(references_of(node))
    kept = ends_of(block) | block.used_below | escaping
    calls = {at: node for at, node in block.nodes if node.steps is None}
    alone = {at for at in calls if uses[at] == 1 and at not in kept}
    inner: set[int] = set()
    joined: dict[int, Joined] = {}
    made: list[tuple[int, Node]] = []
    for at, node in block.nodes:
        found = _source(node, calls)
        if found is not None and found in alone:
            inner.add(found)
            node = _joined(node, calls[found])
        elif node.function is np.concatenate and at not in escaping:
            parts = _Parts(node, {x: calls[x] for x in references_of(node) if x in alone})
            if parts.find(known, joined):
                inner.update(parts.inner)
                node = joined[at] = parts.joined()
        made.append((at, node))
    return [(at, node) for at, node in made if at not in inner] if inner else made


def _source(node: Node, calls: dict[int, Node]) -> int | None:
    """The position of the call whose value a write takes as it is, if that can be placed."""
    if node.function is not operator.setitem or node.steps != () or node.kwargs:
        return None
    _, index, value = node.args
    if type(value) is not Ref or value.at not in calls or any(True for _ in references(index)):
        return None
    call = calls[value.at]
    ufunc = ufunc_of(call)
    if ufunc not in EXACT or call.silent != node.silent or call.kind is not np.ndarray:
        return None
    if call.dtype != node.dtype or not is_basic(index):
        return None
    part: Any = np.broadcast_to(np.empty((), node.dtype), node.shape)[index]
    return value.at if getattr(part, "shape", ()) == call.shape else None


class _Parts:
    """The parts of a concatenation; `alone` are calls whose values nothing else uses."""

    def __init__(self, node: Node, alone: dict[int, Node]) -> None:
        self.node, self.alone = node, alone
        self.parts: list[Part] = []
        self.inner: set[int] = set()  # the calls that are made where their value belongs

    def find(self, known: dict[int, Node], joined: dict[int, Joined]) -> bool:
        """Find them; False if there are too many, or not all is known of one."""
        node = self.node
        values, *rest = node.args
        axis = rest[0] if rest else node.kwargs.get("axis", 0)
        if node.kwargs.keys() - {"axis"} or len(rest) > 1 or type(axis) is not int:
            return False
        if not isinstance(values, (tuple, list)) or node.kind is not np.ndarray:
            return False
        start = 0
        for value in values:
            about: Any = known.get(value.at) if type(value) is Ref else value
            kind = about.kind if type(value) is Ref and about is not None else type(about)
            if kind is not np.ndarray or about.dtype != node.dtype:
                return False
            if len(about.shape) != len(node.shape):  # one that depends on values
                return False
            stop = start + about.shape[axis]
            box = [(0, n) for n in node.shape]
            box[axis] = start, stop
            if 0 not in about.shape:
                self._add(tuple(box), value, joined)
            start = stop
        return len(self.parts) <= MOST_PARTS

    def _add(
        self, box: tuple[tuple[int, int], ...], value: Any, joined: dict[int, Joined]
    ) -> None:
        call = self.alone.get(value.at) if type(value) is Ref else None
        if call is None:
            self.parts.append(Part(box, None, value))
        elif value.at in joined and call.silent == self.node.silent:
            for part in joined[value.at].parts:
                inside = zip(part.box, box, strict=True)
                moved = tuple([(a + start, b + start) for (a, b), (start, _) in inside])
                self.parts.append(Part(moved, part.call, part.value))
            self.inner.add(value.at)
        elif ufunc_of(call) in EXACT and call.silent == self.node.silent:
            self.parts.append(Part(box, call, None))
            self.inner.add(value.at)
        else:
            self.parts.append(Part(box, None, value))

    def joined(self) -> Joined:
        node = self.node
        made = Joined(node.function, (), {}, silent=node.silent)
        args = [part.value if part.call is None else part.call.args for part in self.parts]
        made.args = tuple(args)
        for name in ("kind", "shape", "dtype", "strides", "shares"):
            setattr(made, name, getattr(node, name))
        made.parts = self.parts
        return made


def is_basic(index: Any) -> bool:
    """Whether an index has no arrays."""
    parts = index if type(index) is tuple else (index,)
    return all(type(part) in (int, slice, type(None), type(Ellipsis)) for part in parts)


def box_of(index: Any, shape: tuple[int, ...]) -> list[tuple[int, int]] | None:
    """From where to where a basic index goes along each axis; None if that is no box."""
    parts = index if type(index) is tuple else (index,)
    if not is_basic(index) or any(True for _ in references(index)) or None in parts:
        return None
    if parts.count(...) > 1 or len(parts) - parts.count(...) > len(shape):
        return None
    if ... in parts:
        at = parts.index(...)
        rest = len(shape) - len(parts) + 1
        parts = (*parts[:at], *[slice(None)] * rest, *parts[at + 1 :])
    box = [(0, n) for n in shape]
    for axis, (part, n) in enumerate(zip(parts, shape, strict=False)):
        if type(part) is int:
            start = part + n if part < 0 else part
            box[axis] = start, start + 1
            continue
        start, stop, step = part.indices(n)
        if step != 1 or start >= stop:
            return None
        box[axis] = start, stop
    return box


def _joined(write: Node, call: Node) -> Placed:
    whole, index, _ = write.args
    made = Placed(
        cast(np.ufunc, ufunc_of(call)),
        (whole, index, call.args),
        {},
        steps=write.steps,
        silent=write.silent,
    )
    for name in ("kind", "shape", "dtype", "strides", "shares"):
        setattr(made, name, getattr(write, name))
    made.of = call
    return made


__all__ = ["Joined", "Part", "Placed", "box_of", "is_basic", "placed"]
