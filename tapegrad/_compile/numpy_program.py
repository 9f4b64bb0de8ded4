"""The NumPy back end: a program as straight-line Python over arrays that are made once.

Knows which calls can write into an array that is there already, and how long values live. Must not
know how a program was recorded.

The source is one function `build`, which makes the workspace (arrays, and views of them), and
returns `run`, which computes in it. No two calls at once share a workspace: `Runner` keeps those
that are free. What is returned is never of the workspace.
"""

from __future__ import annotations

import math
import operator
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

import numpy as np

from tapegrad._compile.functions import ATTRIBUTES, EXPECTATIONS, METHODS, add_part
from tapegrad._compile.passes import Block, optimized, uses_of
from tapegrad._compile.placing import UFUNC_OF, Placed, is_basic, placed, ufunc_of
from tapegrad._compile.program import (
    CONSTANT,
    SOUND,
    Node,
    NotFiniteError,
    Ref,
    Segment,
    UnknownAnswer,
    answer_key,
    interpret,
    references,
    references_of,
    taken,
)
from tapegrad._core.quiet import SILENT, VARIABLE
from tapegrad._tree import Structure, unflatten

RECORDINGS = 2  # of a path, before its program is believed
DEEPEST = 40  # blocks within blocks, beyond which another function begins
KEPT_BYTES = 1 << 26  # of a workspace that stays between calls

SIGNS = {
    operator.add: "+",
    operator.sub: "-",
    operator.mul: "*",
    operator.truediv: "/",
    operator.floordiv: "//",
    operator.mod: "%",
    operator.pow: "**",
    operator.matmul: "@",
    operator.lt: "<",
    operator.le: "<=",
    operator.gt: ">",
    operator.ge: ">=",
    operator.eq: "==",
    operator.ne: "!=",
}
IN_PLACE = frozenset((operator.iadd, operator.isub, operator.imul, operator.itruediv))


STATE: Callable[[], Any] = VARIABLE.get


class Storage:
    """The memory of one or more values: a buffer of the workspace, or whatever NumPy made."""

    __slots__ = ("buffer", "fixed", "members")

    def __init__(self, buffer: int | None, *, fixed: bool) -> None:
        self.buffer = buffer
        self.fixed = fixed  # an input's or a constant's, which no call may change
        self.members: list[int] = []


class _Scope:
    """What is known at a place of the program: storages, names of values, free buffers."""

    def __init__(self) -> None:
        self.storages: dict[int, Storage] = {}
        self.names: dict[int, str] = {}
        self.free: dict[Any, list[int]] = {}
        self.views: dict[str, str] = {}  # names of views of arrays that are made in each call

    def copy(self) -> _Scope:
        made = _Scope()
        copies: dict[int, Storage] = {}
        for at, storage in self.storages.items():
            twin = copies.get(id(storage))
            if twin is None:
                twin = copies[id(storage)] = Storage(storage.buffer, fixed=storage.fixed)
                twin.members = list(storage.members)
            made.storages[at] = twin
        made.names = dict(self.names)
        made.free = {key: list(buffers) for key, buffers in self.free.items()}
        made.views = dict(self.views)
        return made


class Source:
    """Generates the source of a program."""

    def __init__(self, block: Block, inputs: int) -> None:
        self.inputs = inputs
        self.namespace: dict[str, Any] = {
            "Unknown": UnknownAnswer,
            "NotFinite": NotFiniteError,
            "copyto": np.copyto,
            "answer_key": answer_key,
            "mute": VARIABLE.set,
            "SILENT": SILENT,
            "state": STATE,
        }
        self.constants: dict[int, str] = {}
        self.numbers: dict[Any, Any] = {}  # of Python's, as arrays
        self.kept: list[Any] = []  # constants, so that their ids stay theirs
        self.buffers: list[Any] = []  # (shape, strides, dtype) of each
        self.ahead: list[str] = []  # lines of build: views of buffers
        self.functions: list[list[str]] = []
        self.silences = False
        self.whole: set[int] = set()  # values that are no views
        self.escaping: set[int] = set()
        self._find_escaping(block)
        lines: list[str] = []
        scope = _Scope()
        for i in range(inputs):
            scope.names[i] = f"x{i}"
            scope.storages[i] = Storage(None, fixed=True)
            scope.storages[i].members.append(i)
        self._block(block, scope, lines, 2, silent=False)
        self.lines = lines

    @property
    def text(self) -> str:
        """The source, as it is executed."""
        names = ", ".join(f"x{i}" for i in range(self.inputs))
        lines = ["def build(buffers):"]
        if self.buffers:
            lines.append(f"    {''.join(f'b{i}, ' for i in range(len(self.buffers)))}= buffers")
        lines += [f"    {line}" for line in self.ahead]
        for function in self.functions:
            lines += function
        lines.append(f"    def run({names}):")
        if self.silences:
            lines.append("        usual = state()")
        lines += self.lines
        lines.append("    return run")
        return "\n".join(lines) + "\n"

    def _find_escaping(self, block: Block) -> None:
        """Find the values whose memory a caller may get: it is never of the workspace."""
        pending: list[tuple[Block, dict[int, Node]]] = [(block, {})]
        while pending:
            block, nodes = pending.pop()
            nodes = {**nodes, **dict(block.nodes)} if block.nodes else nodes
            found = list(references(block.out.leaves)) if block.out is not None else []
            while found:
                at = found.pop()
                node = nodes.get(at)
                if node is None or at in self.escaping:
                    continue
                self.escaping.add(at)
                if node.shares >= 0:
                    found.append(node.shares)
                if node.steps is not None and type(node.args[0]) is Ref:
                    found.append(node.args[0].at)
            pending += [(child, nodes) for child in block.children.values()]

    # -- blocks ----------------------------------------------------------------------------------

    def _block(
        self, block: Block, scope: _Scope, lines: list[str], depth: int, *, silent: bool
    ) -> None:
        """The lines of a block and of those below it.

        A read with one known answer does not nest: a program may have thousands of them.
        """
        indent = "    " * depth
        while True:
            silent = self._nodes(block, scope, lines, indent, silent=silent)
            if block.read is None or len(block.children) != 1:
                break
            ((_, child),) = block.children.items()
            (test,) = self._tests(block, scope, lines, indent)
            lines.append(f"{indent}if not ({test}): raise {_refusal(block)}")
            block = child
        if block.read is not None:
            self._read(block, scope, lines, depth, silent=silent)
        elif block.out is not None:
            self._end(block, scope, lines, indent, silent=silent)
        else:
            lines.append(indent + "raise Unknown")

    def _nodes(
        self, block: Block, scope: _Scope, lines: list[str], indent: str, *, silent: bool
    ) -> bool:
        """The lines of a block's own nodes; whether warnings are silent after them."""
        last: dict[int, float] = {}
        position: float
        nodes = placed(block, self.escaping)
        for position, (_, node) in enumerate(nodes):
            for at in references_of(node):
                last[at] = position
        ends: set[int] = set()
        if block.read is not None:
            ends.add(block.read.at)
        if block.out is not None:
            ends.update(references(block.out.leaves))
            for _, ref in block.writes:
                ends.update(references(ref))
        for at in ends | block.used_below:
            last[at] = math.inf
        dying: dict[float, list[int]] = {}
        for at, position in last.items():
            dying.setdefault(position, []).append(at)
        self._release([at for at in scope.storages if at not in last], scope, last, -1)
        for position, (at, node) in enumerate(nodes):
            if node.silent != silent:
                silent = node.silent
                self.silences = True
                lines.append(indent + ("mute(SILENT)" if silent else "mute(usual)"))
            self._node(at, node, scope, lines, indent, last, position)
            self._release([*dying.get(position, ()), at], scope, last, position)
        return silent

    def _release(
        self, ended: list[int], scope: _Scope, last: dict[int, float], position: float
    ) -> None:
        """Free the buffers of storages that nothing uses after a position."""
        for at in ended:
            storage = scope.storages.get(at)
            if storage is None or storage.buffer is None:
                continue
            if last.get(at, -1) <= position:  # in place, one storage may have had thousands
                storage.members.remove(at)
                scope.storages.pop(at)
            if not storage.members:
                scope.free.setdefault(self.buffers[storage.buffer], []).append(storage.buffer)
                storage.buffer = None

    def _tests(self, block: Block, scope: _Scope, lines: list[str], indent: str) -> list[str]:
        """The conditions of the answers that a block's read has had, after the line that asks."""
        assert block.read is not None
        question, at = block.read
        asked = f"{self._constant(question)}({scope.names[at]})"
        keys = list(block.children)
        if all(key[0] is bool for key in keys):
            lines.append(f"{indent}answer = {asked}")
            return [f"answer is {key[1]}" for key in keys]
        table = self._constant({key: i for i, key in enumerate(keys)})
        lines.append(f"{indent}answer = {table}.get(answer_key({asked}))")
        return [f"answer == {i}" for i in range(len(keys))]

    def _read(
        self, block: Block, scope: _Scope, lines: list[str], depth: int, *, silent: bool
    ) -> None:
        indent = "    " * depth
        tests = self._tests(block, scope, lines, indent)
        for i, (test, child) in enumerate(zip(tests, block.children.values(), strict=True)):
            lines.append(f"{indent}{'if' if not i else 'elif'} {test}:")
            if depth < DEEPEST:
                self._block(child, scope.copy(), lines, depth + 1, silent=silent)
            else:
                call = self._function(child, scope.copy(), silent=silent)
                lines.append(f"{indent}    return {call}")
        lines.append(f"{indent}raise {_refusal(block)}")

    def _function(self, block: Block, scope: _Scope, *, silent: bool) -> str:
        """The call of another function, for blocks that lie too deep for one."""
        name = f"part{len(self.functions)}"
        used = block.used_below | uses_of(block)
        local = sorted({scope.names[at] for at in used if at in scope.names})
        passed = [word for word in local if word[0] in "vx"]
        if self.silences:
            passed.append("usual")
        lines = [f"    def {name}({', '.join(passed)}):"]
        self.functions.append(lines)
        before = self.silences
        self.silences = False
        self._block(block, scope, lines, 2, silent=silent)
        if self.silences and not before:
            lines.insert(1, "        usual = state()")
        self.silences = before or self.silences
        return f"{name}({', '.join(passed)})"

    def _end(
        self, block: Block, scope: _Scope, lines: list[str], indent: str, *, silent: bool
    ) -> None:
        """The lines that return the results."""
        assert block.out is not None
        if silent:
            lines.append(f"{indent}mute(usual)")
        if block.recordings < RECORDINGS:
            lines.append(f"{indent}raise Unknown")
            return
        returned: list[str] = []
        gone: set[int] = set()
        for i, leaf in enumerate(block.out.leaves):
            if type(leaf) is not Ref:
                expression = self._expression(leaf, scope)
                returned.append(
                    f"{expression}.copy('K')" if type(leaf) is np.ndarray else expression
                )
                continue
            name = scope.names[leaf.at]
            storage = scope.storages.get(leaf.at)
            if storage is not None:
                own = not storage.fixed and storage.buffer is None and id(storage) not in gone
                if not own or leaf.at not in self.whole:
                    lines.append(f"{indent}o{i} = {name}.copy('K')")
                    name = f"o{i}"
                else:
                    gone.add(id(storage))
            returned.append(name)
        for position, ref in block.writes:
            lines.append(f"{indent}copyto(x{position}, {self._expression(ref, scope)})")
        structure = block.out.structure
        together = _literal(structure, iter(returned))
        if together is not None:
            lines.append(f"{indent}return {together}")
        else:
            joined = "".join(f"{name}, " for name in returned)
            together = self._constant(unflatten)
            lines.append(f"{indent}return {together}({self._constant(structure)}, [{joined}])")

    # -- calls -----------------------------------------------------------------------------------

    def _node(
        self,
        at: int,
        node: Node,
        scope: _Scope,
        lines: list[str],
        indent: str,
        last: dict[int, float],
        position: int,
    ) -> None:
        """The line of a call, and where its value is."""
        if node.steps is not None:
            self._write(at, node, scope, lines, indent, last, position)
            return
        storage = self._storage(at, node, scope)
        if storage is not None and storage.buffer is not None and _is_fixed_view(node):
            # A view of the workspace: made once, with it.
            name = f"w{at}_{len(self.ahead)}"
            self.ahead.append(f"{name} = {self._call(node, scope)}")
            scope.names[at] = name
            return
        if storage is None and node.kind is np.ndarray:
            ufunc = ufunc_of(node)
            if ufunc is not None and at not in self.escaping:
                given = self._operands(ufunc, node, scope)
                storage = None
                if ufunc.signature is None:
                    storage = self._dying(at, node, scope, last, position)
                if storage is None:
                    storage = self._new_buffer(at, node, scope)
                name = f"b{storage.buffer}"
                scope.names[at] = name
                lines.append(f"{indent}{self._constant(ufunc)}({', '.join(given)}, {name})")
                return
            if _is_product(node) and at not in self.escaping:
                storage = self._new_buffer(at, node, scope)
                x, y = [self._expression(arg, scope) for arg in node.args]
                scope.names[at] = f"b{storage.buffer}"
                lines.append(f"{indent}{x}.dot({y}, b{storage.buffer})")
                return
            storage = Storage(None, fixed=False)
            storage.members.append(at)
            scope.storages[at] = storage
        if node.shares == -1:
            self.whole.add(at)
        lines.append(f"{indent}v{at} = {self._call(node, scope)}")
        scope.names[at] = f"v{at}"

    def _storage(self, at: int, node: Node, scope: _Scope) -> Storage | None:
        """The storage of a view; None for a value with memory of its own, or none."""
        if node.shares == CONSTANT:
            storage = Storage(None, fixed=True)
        elif node.shares >= 0 and node.shares in scope.storages:
            storage = scope.storages[node.shares]
        else:
            return None
        storage.members.append(at)
        scope.storages[at] = storage
        return storage

    def _operands(self, ufunc: np.ufunc, node: Node, scope: _Scope) -> list[str]:
        """The arguments of a ufunc: numbers of Python's as arrays, which take half the time."""
        given = []
        for arg in node.args:
            weak = type(arg) is float or (type(arg) is int and abs(arg) < _EXACT)
            if weak and ufunc in _ARITHMETIC and node.dtype.char in "fd":
                key = (arg.hex() if type(arg) is float else arg, node.dtype)
                arg = self.numbers.setdefault(key, np.asarray(arg, node.dtype))
            given.append(self._expression(arg, scope))
        return given

    def _dying(
        self, at: int, node: Node, scope: _Scope, last: dict[int, float], position: int
    ) -> Storage | None:
        """The storage of an argument that nothing uses afterwards, which takes the result."""
        key = (node.shape, node.strides, node.dtype)
        if math.prod(node.shape) == 1:
            return None  # NumPy takes twice the time for one element in place
        for arg in node.args:
            storage = scope.storages.get(arg.at) if type(arg) is Ref else None
            if storage is None or storage.buffer is None or self.buffers[storage.buffer] != key:
                continue
            name = f"b{storage.buffer}"
            others = [x.at for x in node.args if type(x) is Ref and scope.names[x.at] != name]
            if (
                scope.names[arg.at] == name
                and all(last.get(member, -1) <= position for member in storage.members)
                and not any(scope.storages.get(other) is storage for other in others)
            ):
                storage.members.append(at)
                scope.storages[at] = storage
                return storage
        return None

    def _new_buffer(self, at: int, node: Node, scope: _Scope) -> Storage:
        key = (node.shape, node.strides, node.dtype)
        free = scope.free.get(key)
        if free:
            number = free.pop()
        else:
            number = len(self.buffers)
            self.buffers.append(key)
        storage = Storage(number, fixed=False)
        storage.members.append(at)
        scope.storages[at] = storage
        return storage

    def _write(
        self,
        at: int,
        node: Node,
        scope: _Scope,
        lines: list[str],
        indent: str,
        last: dict[int, float],
        position: int,
    ) -> None:
        """A write: in place where nothing uses what was there before, else into a copy."""
        whole, *rest = node.args
        before = scope.storages.get(whole.at) if type(whole) is Ref else None
        in_place = (
            before is not None
            and not before.fixed
            and all(last.get(member, -1) <= position for member in before.members)
            and (before.buffer is None or at not in self.escaping)
        )
        if in_place and not _is_safe(node.function) and type(node) is not Placed:
            used = set(references((tuple(rest), node.kwargs)))
            in_place = not any(scope.storages.get(x) is before for x in used)
        if in_place:
            assert before is not None
            scope.storages[at] = before
            before.members.append(at)
            scope.names[at] = scope.names[whole.at]
            if whole.at in self.whole:
                self.whole.add(at)
        else:
            source = self._expression(whole, scope)
            if at in self.escaping:
                storage = Storage(None, fixed=False)
                storage.members.append(at)
                lines.append(f"{indent}v{at} = {source}.copy('K')")
                scope.names[at] = f"v{at}"
                self.whole.add(at)
                scope.storages[at] = storage
            else:
                storage = self._new_buffer(at, node, scope)
                scope.names[at] = f"b{storage.buffer}"
                lines.append(f"{indent}b{storage.buffer}[...] = {source}")
        self._write_call(node, rest, scope.names[at], scope, lines, indent)

    def _write_call(
        self, node: Node, rest: list[Any], name: str, scope: _Scope, lines: list[str], indent: str
    ) -> None:
        """The line that changes the array, or the view of it that the steps lead to."""
        assert node.steps is not None
        function = node.function
        steps = list(node.steps)
        if type(node) is Placed:
            target = self._view(name, steps, rest[0], scope, lines, indent)
            given = self._operands(cast(np.ufunc, function), node.of, scope)
            lines.append(f"{indent}{self._constant(function)}({', '.join(given)}, {target})")
            return
        if function in (operator.setitem, add_part) and not _is_whole_index(rest[0]):
            if any(True for _ in references(rest[0])) or not is_basic(rest[0]):
                target = self._taken(name, steps, scope)
                index = self._expression(rest[0], scope)
                sign = "=" if function is operator.setitem else "+="
                lines.append(
                    f"{indent}{target}[{index}] {sign} {self._expression(rest[1], scope)}"
                )
                return
            target = self._view(name, steps, rest[0], scope, lines, indent)
        else:
            target = self._view(name, steps, None, scope, lines, indent)
        if function is operator.setitem:
            lines.append(f"{indent}{target}[...] = {self._expression(rest[1], scope)}")
        elif function is add_part:
            value = self._expression(rest[1], scope)
            lines.append(f"{indent}{self._constant(np.add)}({target}, {value}, {target})")
        elif function in IN_PLACE:
            value = self._expression(rest[0], scope)
            ufunc = self._constant(UFUNC_OF[function])
            lines.append(f"{indent}{ufunc}({target}, {value}, {target})")
        else:
            given = [target, *[self._expression(arg, scope) for arg in rest]]
            given += [f"{k}={self._expression(v, scope)}" for k, v in node.kwargs.items()]
            lines.append(f"{indent}{self._constant(function)}({', '.join(given)})")

    def _view(
        self,
        name: str,
        steps: list[Any],
        index: Any,
        scope: _Scope,
        lines: list[str],
        indent: str,
    ) -> str:
        """The name of a view of an array: made once, with the workspace, if the array is of it."""
        if not steps and index is None:
            return name
        if index is not None:
            index = index if type(index) is tuple else (index,)
            index = (*index, ...) if not any(part is Ellipsis for part in index) else index
        expression = self._taken(name, steps, scope)
        if index is not None:
            expression = f"{expression}[{self._expression(index, scope)}]"
        if any(references([step[1:] for step in steps])):
            return expression
        if name[0] == "b":
            view = f"w_{len(self.ahead)}"
            self.ahead.append(f"{view} = {expression}")
            return view
        view = scope.views.get(expression, "")
        if not view:
            view = scope.views[expression] = f"{name}_{len(scope.views)}"
            lines.append(f"{indent}{view} = {expression}")
        return view

    def _taken(self, name: str, steps: list[Any], scope: _Scope) -> str:
        if not steps:
            return name
        if len(steps) == 1 and steps[0].function is operator.getitem:
            return f"{name}[{self._expression(steps[0].args[1], scope)}]"
        return f"{self._constant(taken)}({name}, {self._constant(tuple(steps))}, ())"

    def _call(self, node: Node, scope: _Scope) -> str:
        """The expression of a call."""
        function, args = node.function, node.args
        given = [self._expression(arg, scope) for arg in args]
        if function in EXPECTATIONS:
            question, expected = EXPECTATIONS[function]
            before = "" if given[0] == "True" else f"{given[0]} and "
            return f"{before}{self._constant(question)}({given[1]}) is {expected}"
        if function in SIGNS and len(given) == 2:
            return f"{given[0]} {SIGNS[function]} {given[1]}"
        if function is operator.getitem:
            return f"{given[0]}[{given[1]}]"
        if function is operator.neg:
            return f"-{given[0]}"
        if function in ATTRIBUTES:
            return f"{given[0]}.{ATTRIBUTES[function]}"
        named = [f"{k}={self._expression(v, scope)}" for k, v in node.kwargs.items()]
        if function in _REDUCTIONS and len(given) == 1 and type(args[0]) is Ref:
            function = _REDUCTIONS[function]  # what it calls
            named = named if "axis" in node.kwargs else [*named, "axis=None"]
        if function in METHODS:
            return f"{given[0]}.{METHODS[function]}({', '.join([*given[1:], *named])})"
        return f"{self._constant(function)}({', '.join([*given, *named])})"

    def _expression(self, value: Any, scope: _Scope) -> str:
        """An argument: the name of a value, a literal, or the name of a constant."""
        kind = type(value)
        if kind is Ref:
            return scope.names[value.at]
        if kind is int or kind is bool or value is None:
            return repr(value) if kind is not int or value >= 0 else f"({value})"
        if kind is float and math.isfinite(value):
            return repr(value) if math.copysign(1, value) > 0 else f"({value!r})"
        if any(True for _ in references(value)):
            if kind is slice:
                parts = (value.start, value.stop, value.step)
                return f"slice({', '.join(self._expression(x, scope) for x in parts)})"
            if kind is dict:
                pairs = [f"{k!r}: {self._expression(v, scope)}" for k, v in value.items()]
                return f"{{{', '.join(pairs)}}}"
            inner = "".join(f"{self._expression(x, scope)}, " for x in value)
            return f"[{inner}]" if kind is list else f"({inner})"
        return self._constant(value)

    def _constant(self, value: Any) -> str:
        name = self.constants.get(id(value))
        if name is None:
            self.kept.append(value)
            stem = getattr(value, "__name__", "") if callable(value) else ""
            stem = stem if stem.isidentifier() else "c"
            name = self.constants[id(value)] = f"{stem}_{len(self.constants)}"
            self.namespace[name] = value
        return name


def _is_fixed_view(node: Node) -> bool:
    """Whether a view depends on nothing but the array that it is a view of."""
    return node.shares >= 0 and all(at == node.shares for at in references_of(node))


_ARITHMETIC = frozenset((np.add, np.subtract, np.multiply, np.divide, np.maximum, np.minimum))
_EXACT = 1 << 24  # whole numbers up to which all floating-point dtypes hold

_REDUCTIONS: dict[Any, Any] = {
    np.sum: np.add.reduce,
    np.prod: np.multiply.reduce,
    np.max: np.maximum.reduce,
    np.min: np.minimum.reduce,
}


def _is_product(node: Node) -> bool:
    """Whether a call is `x.dot(y)` of matrices, which can write into an array."""
    return (
        METHODS.get(node.function) == "dot"
        and len(node.args) == 2
        and not node.kwargs
        and len(node.shape) == 2
        and 0 not in node.shape
        and node.strides == (node.shape[1] * node.dtype.itemsize, node.dtype.itemsize)
    )


def _literal(structure: Structure, leaves: Iterator[str]) -> str | None:
    """A result's containers as Python's own literals; None if there are others."""
    if structure.kind is None:
        return next(leaves)
    if structure.kind not in (tuple, list, type(None)):
        return None
    parts = [_literal(child, leaves) for child in structure.children]
    if structure.kind is type(None) or None in parts:
        return None if parts else "None"
    joined = "".join(f"{part}, " for part in parts)
    return f"({joined})" if structure.kind is tuple else f"[{joined}]"


def _refusal(block: Block) -> str:
    """The exception for an answer that a block's read has not had."""
    return "NotFinite" if block.read is not None and block.read[0] is SOUND else "Unknown"


_SAFE = frozenset((operator.setitem, add_part, np.copyto)) | IN_PLACE


def _is_safe(function: Any) -> bool:
    """Whether a write is right though its arguments share memory with what is written to."""
    return function in _SAFE


def _is_whole_index(index: Any) -> bool:
    return index is Ellipsis


def _allocated(key: Any) -> Any:
    """An array of a shape, strides and dtype; its elements are of no account."""
    shape, strides, dtype = key
    order = sorted(range(len(shape)), key=lambda axis: -strides[axis])
    made = np.empty([shape[axis] for axis in order], dtype)
    return made.transpose(np.argsort(order)) if order != list(range(len(shape))) else made


class Runner:
    """Runs a program."""

    def __init__(self, root: Segment, backend: str) -> None:
        self.root = root
        self.backend = backend
        self.free: deque[Any] = deque()
        self.build: Any = None
        if backend != "interpreter":
            self.block = optimized(root)
            self.source = source = Source(self.block, root.start)
            exec(compile(source.text, "<program>", "exec"), source.namespace)  # noqa: S102
            self.build = source.namespace["build"]
            self.bytes = sum(
                math.prod(shape) * dtype.itemsize for shape, _, dtype in source.buffers
            )

    def run(self, inputs: Sequence[Any]) -> Any:
        """The results of a call; UnknownAnswer where the program does not go on."""
        if self.build is None:
            return self._interpret(inputs)
        try:
            run = self.free.pop()
        except IndexError:
            run = self.build([_allocated(key) for key in self.source.buffers])
        if not self.source.silences:
            out = run(*inputs)
        else:
            usual = STATE()
            try:
                out = run(*inputs)
            except BaseException:
                VARIABLE.set(usual)
                raise
        if self.bytes <= KEPT_BYTES:
            self.free.append(run)
        return out

    def _interpret(self, inputs: Sequence[Any]) -> Any:
        leaves, values, segment = interpret(self.root, inputs)
        if segment.recordings < RECORDINGS:
            raise UnknownAnswer
        out = [leaf.copy("K") if type(leaf) is np.ndarray else leaf for leaf in leaves]
        for position, ref in segment.writes:
            np.copyto(inputs[position], values[ref.at])
        return unflatten(segment.out.structure, out)


__all__ = ["RECORDINGS", "Runner"]
