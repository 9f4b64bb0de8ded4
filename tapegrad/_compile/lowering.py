"""A path of a program as statements over arrays whose places are known, and calls between them.

Knows what calls mean: elementwise functions, views, writes, reductions, products. Must not know
how loops are written (`kernels.py`), nor how they are run.

A statement computes each element of a region of one memory from elements of others, whose places
are affine in the loops' indices. Its level is the number of loop nests, or calls, before it: one
more than that of what it reads at other places, and that of what it reads at its own. Statements
of one level and one shape become one loop nest. All other calls are made by Python, between.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided

from tapegrad._compile.functions import EXPECTATIONS, METHODS, add_part
from tapegrad._compile.native_ops import (
    BOOL,
    LOGICAL,
    REDUCERS,
    TYPES,
    UFUNC_OF,
    Cast,
    NotFinite,
    Where,
    can_cast,
    is_known,
    loop_dtype,
)
from tapegrad._compile.passes import COPIES, Block
from tapegrad._compile.program import Node, Ref, references, references_of, taken, value_of
from tapegrad._core.fit import _has_nan, _is_finite, _is_sound, _is_sound_sum
from tapegrad._core.values import _any_true

FEW_PRODUCTS = 1 << 11  # multiplications, below which a product is a loop nest of its own


Box = tuple[tuple[int, int], ...]  # from where to where, along each axis


class Memory:
    """An array that native code reads or writes."""

    __slots__ = ("constant", "dtype", "input", "kept", "shape", "strides", "used", "writers")

    def __init__(self, shape: Sequence[int], strides: Sequence[int], dtype: Any) -> None:
        self.shape, self.strides, self.dtype = tuple(shape), tuple(strides), dtype  # in elements
        self.input: int | None = None
        self.constant: Any = None
        self.writers: list[Statement | Call] = []
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


class Statement:
    """`out[i] = op(operands[i])` for all i of a domain; combined into `out`, for a reduction."""

    __slots__ = ("box", "dtype", "level", "op", "operands", "out", "reduces", "shape")

    def __init__(self, op: Any, operands: list[Any], dtype: Any, out: Array, reduces: Any) -> None:
        self.op = op
        self.operands = operands
        self.dtype = dtype  # of the operands, once cast
        self.out = out
        self.reduces = reduces  # the ufunc that combines, or None
        self.shape = out.shape
        self.level = 0
        self.box: Box | None = None  # what it writes of its memory, where that is not all


class Call:
    """A call that Python makes, between loop nests."""

    __slots__ = ("args", "at", "box", "kind", "level", "node", "out")

    def __init__(self, kind: str, at: int, node: Node | None, args: list[Any]) -> None:
        self.kind = kind  # "call", "into" (a ufunc or product that writes into `out`), "check"
        self.at, self.node, self.args = at, node, args
        self.out: Array | None = None
        self.level = 0
        self.box = None


class Unfit(Exception):  # noqa: N818 - no error: the program runs in NumPy
    """The path has a call that native programs do not make."""


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
            found = self._native(at, node)
            if found is not None:
                self.values[at] = found
                return
        self._call(at, node)

    def _native(self, at: int, node: Node) -> Array | None:
        if node.steps is not None:
            return self._write(node)
        function, args = node.function, node.args
        uniform = self._uniform(node)
        if uniform is not None:
            return uniform
        if node.shares >= 0 or function is operator.getitem:
            return self._view(node)
        if function in COPIES or getattr(function, "__name__", "") in RESHAPES:
            return self._copy(node)
        ufunc = UFUNC_OF.get(function, function)
        if isinstance(ufunc, np.ufunc) and not node.kwargs and len(args) == ufunc.nin:
            if ufunc is np.matmul:
                return self._product(at, node)
            return self._map(ufunc, node)
        if function in _BY_FUNCTION:
            return _BY_FUNCTION[function](self, node)
        if function in (operator.matmul, np.matmul, np.dot):
            return self._product(at, node)
        if getattr(function, "__name__", "") == "astype" and len(args) == 2 and not node.kwargs:
            return self._cast(node)
        return self._reduction(node)

    def _uniform(self, node: Node) -> Array | None:
        """An array whose elements are one constant."""
        value = {np.zeros_like: 0, np.ones_like: 1}.get(node.function)
        if value is None:
            return None
        memory = Memory((), (), node.dtype)
        memory.constant = node.dtype.type(value)
        return Array(memory, 0, (0,) * len(node.shape), node.shape)

    def _view(self, node: Node) -> Array | None:
        """A view, found out by taking it of an array without elements of account."""
        used = set(references_of(node))
        if len(used) != 1 or not node.args or type(node.args[0]) is not Ref:
            return None
        base = self.operand(node.args[0])
        if type(base) is not Array:
            return None
        if is_uniform(base) and node.shares >= 0:
            return Array(base.memory, 0, (0,) * len(node.shape), node.shape)
        if base.memory.constant is not None:
            return None
        found = view_of(base, lambda x: _called(node, used.pop(), x))
        if found is None or found.shape != node.shape:
            return None
        self.aliased.add(id(base.memory))
        return found

    def _copy(self, node: Node) -> Array | None:
        """A copy; also a reshape that no view can be."""
        if not node.args or set(references_of(node)) != set(references(node.args[0])):
            return None
        x = self.operand(node.args[0])
        if type(x) is not Array or x.memory.constant is not None or x.dtype != node.dtype:
            return None
        if x.shape == node.shape:
            return self._stated(Cast, [x], x.dtype, self.memory(node).whole())
        if node.kwargs.get("order", "C") != "C" or len(node.args) > 3:
            return None
        rows = self.new(x.shape, dense(x.shape, ()), x.dtype)
        self._stated(Cast, [x], x.dtype, rows.whole())
        self.aliased.add(id(rows))
        return Array(rows, 0, dense(node.shape, ()), node.shape)

    def _map(self, ufunc: Any, node: Node) -> Array | None:
        operands = [self.operand(arg) for arg in node.args]
        if any(x is None for x in operands):
            return None
        kinds = tuple([self._kind(x, arg) for x, arg in zip(operands, node.args, strict=True)])
        if ufunc is np.power and node.function is operator.pow and type(operands[1]) is Number:
            simple = _power(operands[1].value)
            if simple is not None:
                ufunc, operands, kinds = simple, operands[:1], kinds[:1]
        found = loop_dtype(ufunc, kinds)
        if found is None or found[1] != node.dtype or not is_known(ufunc, found[0]):
            return None
        if not all(self._castable(x, found[0], logical=ufunc in LOGICAL) for x in operands):
            return None
        return self._stated(ufunc, operands, found[0], self.memory(node).whole())

    def _kind(self, x: Any, arg: Any) -> Any:
        """A dtype, or the class of a number of Python's."""
        if type(x) is Number:
            return x.kind
        kind = self.kinds.get(arg.at) if type(arg) is Ref else None
        return kind if kind in (int, float, bool) else x.dtype

    def _castable(self, x: Any, dtype: Any, *, logical: bool = False) -> bool:
        if type(x) is Number:
            return True
        return can_cast(x.dtype, dtype) or logical

    def _where(self, node: Node) -> Array | None:
        operands = [self.operand(arg) for arg in node.args]
        if any(x is None for x in operands) or node.kwargs or len(operands) != 3:
            return None
        condition, *rest = operands
        if type(condition) is Array and condition.dtype != BOOL:
            return None
        if not all(self._castable(x, node.dtype) for x in rest):
            return None
        return self._stated(Where, operands, node.dtype, self.memory(node).whole())

    def _clip(self, node: Node) -> Array | None:
        """`np.clip(x, least, most)`, of which one may be None."""
        names = ("a", "a_min", "a_max", "min", "max")
        bound = dict(zip(names[:3], node.args, strict=False)) | node.kwargs
        least, most = [bound.pop(f"a_{k}", None) for k in ("min", "max")]
        least, most = bound.pop("min", least), bound.pop("max", most)
        x = self.operand(bound.pop("a", None))
        if bound or type(x) is not Array or x.dtype != node.dtype or x.shape != node.shape:
            return None
        for ufunc, limit in ((np.maximum, least), (np.minimum, most)):
            if limit is None:
                continue
            y = self.operand(limit)
            weak = type(y) is Number and y.kind in (int, float)
            if y is None or not (weak or y.dtype == x.dtype) or not is_known(ufunc, x.dtype):
                return None
            if type(y) is Number and x.dtype.kind == "i" and type(y.value) is not int:
                return None
            x = self._stated(ufunc, [x, y], x.dtype, self.memory(node).whole())
        return x

    def _joined(self, node: Node) -> Array | None:
        """`np.concatenate` and `np.stack`."""
        parts, *rest = node.args
        kwargs = dict(node.kwargs)
        axis = rest[0] if rest else kwargs.pop("axis", 0)
        if kwargs or len(rest) > 1 or type(axis) is not int or type(parts) not in (list, tuple):
            return None
        axis %= len(node.shape)
        given = [self.operand(part) for part in parts]
        stacked = node.function is np.stack
        if any(type(x) is not Array or not can_cast(x.dtype, node.dtype) for x in given):
            return None
        memory, start = self.memory(node), 0
        for x in given:
            n = 1 if stacked else x.shape[axis]
            shape = (*node.shape[:axis], n, *node.shape[axis + 1 :])
            if stacked:
                strides = (*x.strides[:axis], 0, *x.strides[axis:])
                x = Array(x.memory, x.offset, strides, shape)
            region = Array(memory, start * memory.strides[axis], memory.strides, shape)
            start += n
            if n:
                self._stated(Cast, [x], node.dtype, region)
        return memory.whole()

    def _cast(self, node: Node) -> Array | None:
        x = self.operand(node.args[0])
        if type(x) is not Array or not can_cast(x.dtype, node.dtype):
            return None
        return self._stated(Cast, [x], node.dtype, self.memory(node).whole())

    def _reduction(self, node: Node) -> Array | None:
        found = _reduction_of(node)
        x = self.operand(node.args[0]) if found is not None else None
        if found is None or type(x) is not Array:
            return None
        ufunc, name, given = found
        rank = len(x.shape)
        axes = set(range(rank)) if given is None else {axis % rank for axis in given}
        mean = name == "mean"
        dtype = node.dtype
        if ufunc in (np.logical_or, np.logical_and):
            dtype = BOOL
        castable = can_cast(x.dtype, dtype) or dtype == BOOL
        castable = castable and is_known(ufunc, dtype)
        if not castable or dtype != node.dtype or mean and dtype.kind != "f":
            return None
        memory = self.memory(node)
        kept = iter(memory.strides)
        if len(node.shape) == len(x.shape):
            strides = tuple([0 if i in axes else s for i, s in enumerate(memory.strides)])
        else:
            strides = tuple([0 if i in axes else next(kept) for i in range(len(x.shape))])
        self._stated(Cast, [x], dtype, Array(memory, 0, strides, x.shape), ufunc)
        if not mean:
            return memory.whole()
        count = 1
        for axis in axes:
            count *= x.shape[axis]
        total = memory.whole()
        return self._stated(
            np.divide, [total, Number(count, int)], dtype, self.memory(node).whole()
        )

    def _product(self, at: int, node: Node) -> Array | None:
        if node.kwargs or len(node.args) != 2:
            return None
        a, b = [self.operand(arg) for arg in node.args]
        if type(a) is not Array or type(b) is not Array:
            return None
        if not (a.dtype == b.dtype == node.dtype and node.dtype.kind == "f"):
            return None
        deep = len(a.shape) > 2 or len(b.shape) > 2
        if not a.shape or not b.shape or deep and node.function is np.dot:
            return None
        memory = self.memory(node)
        small = self._small_product(node, a, b, memory)
        if small is not None:
            return small
        if a.memory.constant is not None or b.memory.constant is not None or not node.shape:
            return None
        if memory.strides != dense(node.shape, ()):
            memory = self.new(node.shape, dense(node.shape, ()), node.dtype)
        call = Call("into", at, node, [a, b])
        call.out = memory.whole()
        memory.kept = True
        self._place(call, [a, b])
        memory.writers.append(call)
        return call.out

    def _small_product(self, node: Node, a: Array, b: Array, memory: Memory) -> Array | None:
        """A small product of matrices or vectors as a sum over the middle index."""
        if len(a.shape) > 2 or len(b.shape) > 2:
            return None
        n = a.shape[-1]
        rows = a.shape[:-1]
        columns = b.shape[1:]
        domain = (*rows, n, *columns)
        if np.prod(domain) > FEW_PRODUCTS:
            return None
        left = Array(a.memory, a.offset, a.strides + (0,) * len(columns), domain)
        right = Array(b.memory, b.offset, (0,) * len(rows) + b.strides, domain)
        strides = memory.strides
        out = (*strides[: len(rows)], 0, *strides[len(rows) :])
        self._stated(np.multiply, [left, right], node.dtype, Array(memory, 0, out, domain), np.add)
        return memory.whole()

    def _write(self, node: Node) -> Array | None:
        """A copy of an array, a region of which is written or added to."""
        function, (whole, *rest) = node.function, node.args
        if function in _IN_PLACE and len(rest) == 1:
            rest = [..., *rest]
        elif function not in (operator.setitem, add_part):
            return None
        if len(rest) != 2 or node.kwargs:
            return None
        index, value = rest
        if any(True for _ in references((index, node.steps))) or not _is_basic(index):
            return None
        base, given = self.operand(whole), self.operand(value)
        if base is None or given is None or type(base) is Number:
            return None
        if base.dtype != node.dtype or not self._castable(given, node.dtype):
            return None
        ufunc = _IN_PLACE.get(function)
        if ufunc is not None:
            kinds = (node.dtype, given.dtype if type(given) is Array else given.kind)
            if loop_dtype(ufunc, kinds) != (node.dtype, node.dtype):
                return None
            if not is_known(ufunc, node.dtype):
                return None
        kept = base.memory
        in_place = (
            type(whole) is Ref
            and self.uses.get(whole.at) == 1
            and kept.constant is None
            and kept.input is None
            and id(kept) not in self.aliased
            and base == kept.whole()
            and not isinstance(kept.writers[-1], Call)
        )
        memory = kept if in_place else self.memory(node)
        index = index if type(index) is tuple else (index,)
        index = index if any(part is Ellipsis for part in index) else (*index, ...)

        def take(x: Any) -> Any:
            return taken(x, node.steps or (), ())[index]

        region = view_of(memory.whole(), take)
        if region is None:
            return None
        if type(given) is Array and len(given.shape) > len(region.shape):  # axes of length one
            lead = len(given.shape) - len(region.shape)
            given = Array(given.memory, given.offset, given.strides[lead:], given.shape[lead:])
        before: Any = region
        box = box_of(region)
        if not in_place:
            before = base_number(base) if is_uniform(base) else view_of(base, take)
            if before is None:
                return None
            for piece in [None] if box is None or 0 in region.shape else around(box, node.shape):
                self._stated(Cast, [cut(base, piece)], node.dtype, cut(memory.whole(), piece))
        if 0 in region.shape:
            return memory.whole()
        if function is operator.setitem:
            self._stated(Cast, [given], node.dtype, region)
        else:
            self._stated(ufunc, [before, given], node.dtype, region)
        return memory.whole()

    # -- Statements and calls --------------------------------------------------------------------

    def _stated(
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

    def _place(self, call: Call, args: Sequence[Any]) -> None:
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
        self._place(call, args)
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
            self._place(call, [x])
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
        self._stated(op, operands, x.dtype, out, np.logical_or)


# Questions, by what of any element makes the answer, and which answer.
_ASKED: dict[Any, tuple[Any, bool]] = {
    _any_true: (np.not_equal, True),
    _has_nan: (np.isnan, True),
    _is_sound: (np.isnan, False),
    _is_sound_sum: (np.isnan, False),
    _is_finite: (NotFinite, False),
}

_BY_FUNCTION: dict[Any, Any] = {
    np.where: Lowered._where,
    np.clip: Lowered._clip,
    np.concatenate: Lowered._joined,
    np.stack: Lowered._joined,
}


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
    if memory.size == 0 or len(steps) < sum(n > 1 and s != 0 for n, s in zip(x.shape, x.strides)):
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
        for piece in ((0, start), (stop, shape[axis])):
            if piece[0] < piece[1]:
                found.append(tuple([*inner[:axis], piece, *inner[axis + 1 :]]))
        inner[axis] = (start, stop)
    return found


def cut(x: Array, box: Box | None) -> Array:
    """The box of an array."""
    if box is None:
        return x
    offset = x.offset + sum(start * s for (start, _), s in zip(box, x.strides, strict=True))
    return Array(x.memory, offset, x.strides, tuple([stop - start for start, stop in box]))


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
    return as_strided(flat[-lowest:], x.shape, [s * width for s in x.strides])


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
    strides = tuple([s // width if n > 1 else 0 for n, s in zip(found.shape, found.strides)])
    return Array(base.memory, base.offset + start // width, strides, found.shape)


def _called(node: Node, at: int, x: Any) -> Any:
    """The value of a view's node for an array."""
    if node.function is operator.getitem and not node.kwargs:
        index = node.args[1]
        if not _is_basic(index):
            return None
        index = index if type(index) is tuple else (index,)
        return x[index if any(part is Ellipsis for part in index) else (*index, ...)]
    return value_of(node, _One(at, x))


class _One(dict):  # type: ignore[type-arg]
    def __init__(self, at: int, x: Any) -> None:
        super().__init__({at: x})


def _is_basic(index: Any) -> bool:
    parts = index if type(index) is tuple else (index,)
    return all(
        part is None or part is Ellipsis or type(part) in (int, slice) or type(part) is np.int64
        for part in parts
    )


def _is_numeric(kind: type) -> bool:
    return kind is np.ndarray or issubclass(kind, (np.generic,))


def _power(exponent: Any) -> Any:
    """The ufunc that NumPy's `**` calls in place of `power`, for some exponents."""
    if type(exponent) not in (int, float):
        return None
    return {2: np.square, 1: np.positive, 0.5: np.sqrt, -1: np.reciprocal}.get(exponent)


_IN_PLACE: dict[Any, np.ufunc] = {
    add_part: np.add,
    operator.iadd: np.add,
    operator.isub: np.subtract,
    operator.imul: np.multiply,
    operator.itruediv: np.divide,
}

_REDUCERS_BY_NAME = {
    "sum": np.add,
    "mean": np.add,
    "prod": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
    "amax": np.maximum,
    "amin": np.minimum,
    "any": np.logical_or,
    "all": np.logical_and,
}
_OF_NUMPY = {getattr(np, name): name for name in _REDUCERS_BY_NAME}


def _reduction_of(node: Node) -> tuple[Any, str, set[int] | None] | None:
    """The ufunc that a reduction combines by, its name, and its axes, None for all of them."""
    function = node.function
    owner = getattr(function, "__self__", None)
    if isinstance(owner, np.ufunc) and getattr(function, "__name__", "") == "reduce":
        ufunc, name, default = owner, "reduce", 0
    else:
        name = _OF_NUMPY.get(function) or METHODS.get(function, "")
        ufunc, default = _REDUCERS_BY_NAME.get(name), None
    if ufunc not in REDUCERS or not node.args or type(node.args[0]) is not Ref:
        return None
    _, *rest = node.args
    kwargs = dict(node.kwargs)
    kwargs.pop("keepdims", None)
    if kwargs.get("dtype", 0) is None:
        del kwargs["dtype"]
    axis = rest[0] if rest else kwargs.pop("axis", default)
    if kwargs or any(option is not None for option in rest[1:3]):  # a dtype, or where it goes
        return None
    axes = axis if type(axis) is tuple else (axis,)
    if axis is not None and any(type(part) is not int for part in axes):
        return None
    return ufunc, name, None if axis is None else set(axes)


def _is_foreign(function: Any) -> bool:
    module = getattr(function, "__module__", None) or "numpy"
    known = ("numpy", "operator", "_operator", "builtins", "tapegrad")
    return module.partition(".")[0] not in known


RESHAPES = frozenset(("reshape", "ravel", "flatten", "copy_like"))

assert REDUCERS

__all__ = [
    "Array",
    "Call",
    "Lowered",
    "Memory",
    "Number",
    "Statement",
    "Unfit",
    "is_uniform",
    "reaches",
]
