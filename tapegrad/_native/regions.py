"""Memories, the regions of them that are arrays, and statements about regions.

Knows how places of elements follow from strides. Must not know what a program's calls mean.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tapegrad._native.native_ops import BOOL, REDUCERS, TYPES, Cast, Outside, Scan
from tapegrad._program.program import Node, Ref

SHORT = 8  # elements of a row, up to which vectors go across rows
MANY_ROWS = 256  # from which on they do

Box = tuple[tuple[int, int], ...]  # from where to where, along each axis


class Memory:
    """An array that native code reads or writes."""

    __slots__ = (
        "columns",
        "constant",
        "dtype",
        "input",
        "kept",
        "shape",
        "strides",
        "used",
        "writers",
    )

    def __init__(self, shape: Sequence[int], strides: Sequence[int], dtype: Any) -> None:
        self.shape, self.strides, self.dtype = tuple(shape), tuple(strides), dtype  # in elements
        self.input: int | None = None
        self.constant: Any = None
        self.writers: list[Statement | Call] = []
        self.columns = False  # whether it has been written column by column
        self.kept = False  # whether its elements are stored, and not in registers alone
        self.used: list[int] = []  # the levels at which it is read

    @property
    def size(self) -> int:
        """The elements, from the first to the last."""
        if 0 in self.shape:
            return 0
        return 1 + sum((n - 1) * abs(s) for n, s in zip(self.shape, self.strides, strict=True))

    def whole(self) -> Array:
        return Array(self, 0, self.strides, self.shape)


class Array(NamedTuple):
    """A region of a memory: the element at index i is at offset + sum(i * strides)."""

    memory: Memory
    offset: int
    strides: tuple[int, ...]
    shape: tuple[int, ...]

    @property
    def dtype(self) -> Any:
        return self.memory.dtype

    def over(self, domain: tuple[int, ...]) -> Array:
        """The array broadcast to a shape, without its axes of length one."""
        if self.shape == domain and 1 not in domain:
            return self
        before = len(domain) - len(self.shape)
        strides = [0] * before + [
            s if n > 1 else 0 for n, s in zip(self.shape, self.strides, strict=True)
        ]
        return Array(
            self.memory,
            self.offset,
            tuple([s for s, n in zip(strides, domain, strict=True) if n != 1]),
            tuple([n for n in domain if n != 1]),
        )


class Number(NamedTuple):
    """A constant that is the same for all elements."""

    value: Any
    kind: Any  # a dtype, or Python's type of the number


class Place(NamedTuple):
    """An index that is data: which element along an axis, whose length and stride are known."""

    at: Array | Number
    length: int
    stride: int

    def over(self, domain: tuple[int, ...]) -> Place:
        x = self.at
        return Place(x.over(domain) if type(x) is Array else x, self.length, self.stride)


class Gathered(NamedTuple):
    """Elements of an array at places that are data, over a domain."""

    array: Array  # what is affine of the places
    places: tuple[Place, ...]

    @property
    def dtype(self) -> Any:
        return self.array.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    def over(self, domain: tuple[int, ...]) -> Gathered:
        places = tuple([place.over(domain) for place in self.places])
        return Gathered(self.array.over(domain), places)


def arrays_of(operand: Any) -> list[Array]:
    """The regions that an operand is read from."""
    if type(operand) is Array:
        return [operand]
    if type(operand) is not Gathered:
        return []
    return [operand.array, *[p.at for p in operand.places if type(p.at) is Array]]


class Statement:
    """`out[i] = op(operands[i])` for all i of a domain; combined into `out`, for a reduction.

    With `places`, the element of `out` is found by them.
    """

    __slots__ = ("box", "dtype", "level", "op", "operands", "out", "places", "reduces", "shape")

    def __init__(self, op: Any, operands: list[Any], dtype: Any, out: Array, reduces: Any) -> None:
        self.op = op
        self.operands = operands
        self.dtype = dtype  # of the operands, once cast
        self.out = out
        self.reduces = reduces  # the ufunc that combines, or None
        self.places: tuple[Place, ...] | None = None
        self.shape = out.shape
        self.level = 0
        self.box: Box | None = None  # what it writes of its memory, where that is not all

    def read(self) -> list[Array]:
        """The regions that it reads."""
        places = [place.at for place in self.places or ()]
        return [x for operand in (*self.operands, *places) for x in arrays_of(operand)]


class Call:
    """A call that Python makes, between loop nests."""

    __slots__ = ("args", "at", "box", "kind", "level", "node", "out")

    def __init__(self, kind: str, at: int, node: Node | None, args: list[Any]) -> None:
        self.kind = (
            kind  # "call", "into" (a product that writes into `out`), "check", or of our own
        )
        self.at, self.node, self.args = at, node, args
        self.out: Array | None = None
        self.level = 0
        self.box = None


class Unfit(Exception):  # noqa: N818 - no error: the program runs in NumPy
    """The path has a call that native programs do not make."""


def is_uniform(x: Array) -> bool:
    """Whether all elements are one constant."""
    return x.memory.constant is not None and x.memory.shape == ()


def base_number(x: Array) -> Number:
    return Number(x.memory.constant, x.dtype)


def reaches(writer: Any, x: Array, reader: Statement) -> bool:
    """Whether a statement writes each element at the place where another reads or writes it."""
    return (
        type(writer) is Statement
        and writer.reduces is None
        and writer.places is None
        and type(writer.op) is not Scan
        and type(reader.op) is not Scan
        and writer.shape == reader.shape
        and writer.out.offset == x.offset
        and writer.out.strides == x.strides
    )


def ready(x: Array, reader: Statement) -> int:
    """The first level at which an array can be read."""
    writers = x.memory.writers
    if len(writers) > 1:
        box = box_of(x)
        writers = [writer for writer in writers if not are_apart(writer.box, box)]
    if not writers:
        return 0
    if reaches(writers[-1], x, reader):
        return writers[-1].level
    return 1 + max(writer.level for writer in writers)


def box_of(x: Array) -> Box | None:
    """The box of its memory that a region is; None for one that has steps, or lies across.

    A reduction's result counts with what it combines into.
    """
    memory = x.memory
    steps = {s: n for s, n in zip(x.strides, x.shape, strict=True) if n > 1 and s}
    moving = sum(n > 1 and s != 0 for n, s in zip(x.shape, x.strides, strict=True))
    if memory.size == 0 or len(steps) < moving:  # two axes with one stride
        return None
    rest = x.offset
    found: list[tuple[int, int]] = [(0, 1)] * len(memory.shape)
    order = sorted(range(len(memory.shape)), key=lambda axis: -memory.strides[axis])
    for axis in order:
        stride, n = memory.strides[axis], memory.shape[axis]
        if n == 1:
            continue
        start, rest = divmod(rest, stride)
        count = steps.pop(stride, 1)
        found[axis] = (start, start + count)
        if start + count > n:
            return None
    return None if steps or rest else tuple(found)


def are_apart(a: Box | None, b: Box | None) -> bool:
    """Whether two boxes of a memory are known to have no element in common."""
    if a is None or b is None:
        return False
    return any(c[1] <= d[0] or d[1] <= c[0] for c, d in zip(a, b, strict=True))


def around(box: Box, shape: Sequence[int]) -> list[Box]:
    """Boxes that make up the rest of an array."""
    found: list[Box] = []
    inner: list[tuple[int, int]] = [(0, n) for n in shape]
    for axis, (start, stop) in enumerate(box):
        found += [
            (*inner[:axis], piece, *inner[axis + 1 :])
            for piece in ((0, start), (stop, shape[axis]))
            if piece[0] < piece[1]
        ]
        inner[axis] = (start, stop)
    return found


def cut(x: Array, box: Box | None) -> Array:
    """The box of an array."""
    if box is None:
        return x
    offset = x.offset + sum(start * s for (start, _), s in zip(box, x.strides, strict=True))
    return Array(x.memory, offset, x.strides, tuple([stop - start for start, stop in box]))


def column(x: Array, axis: int, place: int) -> Array:
    """The elements of an array at one place of an axis."""
    strides, shape = x.strides, x.shape
    return Array(
        x.memory,
        x.offset + place * strides[axis],
        strides[:axis] + strides[axis + 1 :],
        shape[:axis] + shape[axis + 1 :],
    )


def short_axis(operands: list[Any], out: Array) -> int | None:
    """The axis of short rows that some arrays have and others are spread or summed over.

    Or of rows that have been written column by column.
    """
    if len(out.shape) < 2 or any(type(x) is Gathered for x in operands):
        return None
    arrays = [x for x in (*operands, out) if type(x) is Array and not is_uniform(x)]
    for axis, n in enumerate(out.shape):
        rows = [x for x in arrays if 0 < abs(x.strides[axis]) < n]
        spread = [x for x in arrays if not x.strides[axis] and any(x.strides)]
        many = math.prod(out.shape) >= MANY_ROWS * n
        if n <= SHORT and many and rows and (spread or any(x.memory.columns for x in rows)):
            if out in rows:
                out.memory.columns = True
            return axis
    return None


def dense(shape: Sequence[int], strides: Sequence[int]) -> tuple[int, ...]:
    """Strides, in elements, of an array without gaps, its axes ordered as those given."""
    order = list(range(len(shape)))
    if len(strides) == len(shape) and all(s > 0 for s in strides):
        order.sort(key=lambda axis: -strides[axis])
    found, size = [0] * len(shape), 1
    for axis in reversed(order):
        found[axis] = size
        size *= shape[axis]
    return tuple(found)


def stand_in(x: Array) -> Any:
    """An array of NumPy's with a region's shape, strides and dtype, and no elements of account."""
    lowest = sum((n - 1) * s for n, s in zip(x.shape, x.strides, strict=True) if s < 0 and n)
    highest = sum((n - 1) * s for n, s in zip(x.shape, x.strides, strict=True) if s > 0 and n)
    flat = np.empty(highest - lowest + 1, x.dtype)
    width = x.dtype.itemsize
    return np.ndarray(x.shape, x.dtype, flat, -lowest * width, [s * width for s in x.strides])


def view_of(base: Array, take: Any) -> Array | None:
    """The region that a view of an array is, or None if it is a copy."""
    whole = stand_in(base)
    found = take(whole)
    if type(found) is not np.ndarray or found.dtype != base.dtype:
        return None
    if found.size and not np.may_share_memory(whole, found):
        return None
    start = found.__array_interface__["data"][0] - whole.__array_interface__["data"][0]
    width = base.dtype.itemsize
    if start % width or any(s % width for s in found.strides):
        return None
    lengths = zip(found.shape, found.strides, strict=True)
    strides = tuple([s // width if n > 1 else 0 for n, s in lengths])
    return Array(base.memory, base.offset + start // width, strides, found.shape)


class Statements:
    """The statements and calls of a path, and where the values of its nodes are."""

    def __init__(self) -> None:
        self.statements: list[Statement] = []
        self.calls: list[Call] = []
        self.values: dict[int, Array | Number] = {}  # native values; others are Python's
        self.wholes: dict[int, Array] = {}  # the numbers of complex values, the parts side by side
        self.memories: list[Memory] = []
        self.nodes: dict[int, Node] = {}
        self.uses: dict[int, int] = {}
        self.aliased: dict[int, int] = {}  # how many other names a memory has
        self.kinds: dict[int, Any] = {}  # classes of values, as NumPy has them
        self.flags = Memory((0,), (1,), BOOL)
        self.expected: list[bool] = []  # the answers to questions, whose flags these are
        self.refused: set[Any] = set()
        self.in_columns = False
        self.triangles: set[int] = set()  # memories of lower triangular matrices

    def alias(self, memory: Memory) -> None:
        """Say that a memory has another name, so that nobody writes to it in place."""
        self.aliased[id(memory)] = self.aliased.get(id(memory), 0) + 1

    def stored(self, at: int) -> Array | None:
        """Where the numbers of a value are in memory."""
        found = self.wholes.get(at, self.values.get(at))
        return found if type(found) is Array else None

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

    def spread(self, x: Array) -> Array:
        """An array of one constant as elements that can be looked up."""
        memory = self.new(x.shape, dense(x.shape, ()), x.dtype)
        memory.kept = True
        return self.stated(Cast, [x], x.dtype, memory.whole())

    def laid_out(self, x: Array) -> Array:
        """An array of one constant as a constant array."""
        memory = self.new(x.shape, dense(x.shape, ()), x.dtype)
        memory.constant, memory.kept = np.full(x.shape, x.memory.constant, x.dtype), True
        return memory.whole()

    def _from_python(self, at: int) -> Array | None:
        """A place for a value that a call of Python's made."""
        node = self.nodes.get(at)
        known = node is not None and node.dtype in TYPES and 0 not in node.shape
        if node is None or not known or not is_numeric(node.kind):
            return None
        call = next(call for call in self.calls if call.at == at)
        memory = self.memory(node)
        memory.kept = True
        memory.writers.append(call)
        call.out = memory.whole()
        self.values[at] = call.out
        return call.out

    def asked(self, op: Any, x: Array, *, expected: bool, others: Sequence[Any] = ()) -> None:
        """Ask, of any element of an array, what the path expects to be so or not."""
        self.flags.kept = True
        out = Array(self.flags, len(self.expected), (0,) * len(x.shape), x.shape)
        self.expected.append(expected)
        self.stated(op, [x, *others], x.dtype, out, np.logical_or)

    def flag(self) -> Array:
        """A flag of a call's, which the path expects to be false."""
        self.flags.kept = True
        self.expected.append(False)
        return Array(self.flags, len(self.expected) - 1, (), ())

    def require_within(self, index: Array, length: int, least: int | None = None) -> None:
        """Have calls be NumPy's where an index is beyond an axis."""
        constant, least = index.memory.constant, -length if least is None else least
        if constant is not None and least <= np.min(constant) and np.max(constant) < length:
            return
        key = (id(index.memory), index.offset, index.strides, index.shape, length, least)
        if key not in self.refused:
            self.refused.add(key)
            self.asked(Outside(length, least), index, expected=False)

    def stated(
        self,
        op: Any,
        operands: list[Any],
        dtype: Any,
        out: Array,
        reduces: Any = None,
        places: tuple[Place, ...] | None = None,
    ) -> Array:
        """A statement, at its level; the array that it writes."""
        domain = out.shape
        if 0 in domain:  # loops have at least one turn
            return self._of_nothing(out, None if places is not None else reduces)
        given = [x if type(x) is Number else x.over(domain) for x in operands]
        target = out
        if 1 in domain:
            target = Array(
                out.memory,
                out.offset,
                tuple([s for s, n in zip(out.strides, domain, strict=True) if n != 1]),
                tuple([n for n in domain if n != 1]),
            )
        if places is None and type(op) is not Scan and not self.in_columns:
            axis = short_axis(given, target)
            if axis is not None:
                self.in_columns = True  # once: rows of rows would be many statements
                self._by_columns(op, given, dtype, target, reduces, axis)
                self.in_columns = False
                return out
        made = Statement(op, given, dtype, target, reduces)
        if places is not None:
            made.places = tuple([place.over(domain) for place in places])
            given = [*given, *[place.at for place in made.places]]
        whole = out.memory.shape == out.shape and reduces is None
        made.box = None if whole or out.memory.constant is not None else box_of(out)
        level = 0
        for operand in given:
            for x in arrays_of(operand):
                level = max(level, ready(x, made))
            if type(operand) is Gathered:
                x = operand.array
                x.memory.kept = True
                level = max([level, *[writer.level + 1 for writer in x.memory.writers]])
        if places is not None:
            made.box = None
            out.memory.kept = True
        for writer in out.memory.writers:
            if are_apart(writer.box, made.box):
                continue
            same = places is None and reaches(writer, target, made)
            level = max(level, writer.level if same else writer.level + 1)
        made.level = level
        self.statements.append(made)
        out.memory.writers.append(made)
        return out

    def _by_columns(
        self, op: Any, operands: list[Any], dtype: Any, out: Array, reduces: Any, axis: int
    ) -> None:
        """A statement for each place of a short axis, so that vectors go across rows."""
        targets = [column(out, axis, place) for place in range(out.shape[axis])]
        columns = [
            [x if type(x) is Number else column(x, axis, place) for x in operands]
            for place in range(out.shape[axis])
        ]
        if reduces is None or out.strides[axis]:
            for given, target in zip(columns, targets, strict=True):
                self.stated(op, given, dtype, target, reduces)
            return
        target, total = targets[0], None
        strides = dense(target.shape, ())
        for given in columns:
            one = self.new(target.shape, strides, out.dtype).whole()
            one = self.stated(op, given, dtype, one)
            if total is not None:
                both = self.new(target.shape, strides, out.dtype).whole()
                one = self.stated(reduces, [total, one], out.dtype, both)
            total = one
        lengths = zip(target.strides, target.shape, strict=True)
        whole = all(s for s, n in lengths if n > 1)
        self.stated(Cast, [total], out.dtype, target, None if whole else reduces)

    def _of_nothing(self, out: Array, reduces: Any) -> Array:
        """Result of a statement over no element: of a reduction the number it starts from."""
        kept = [(n, s) for n, s in zip(out.shape, out.strides, strict=True) if s]
        if reduces is not None and all(n for n, _ in kept):
            shape, strides = [tuple([pair[i] for pair in kept]) for i in (0, 1)]
            start = Number(REDUCERS[reduces](out.dtype), out.dtype)
            self.stated(Cast, [start], out.dtype, Array(out.memory, out.offset, strides, shape))
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


def is_numeric(kind: type) -> bool:
    return kind is np.ndarray or issubclass(kind, (np.generic,))


__all__ = [
    "Array",
    "Box",
    "Call",
    "Gathered",
    "Memory",
    "Number",
    "Place",
    "Statement",
    "Statements",
    "Unfit",
    "are_apart",
    "around",
    "arrays_of",
    "base_number",
    "box_of",
    "cut",
    "dense",
    "is_numeric",
    "is_uniform",
    "reaches",
    "ready",
    "view_of",
]
