"""Faults that can be planted in a Python program: where they fit, and what is written there.

Knows the syntax of Python and NumPy's names. Must not know tapegrad, nor tests. A fault replaces
a few characters and leaves the rest of the file, and its line numbers, as they are. What only
words a message, documents or declares types is no place for one.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

WORDING = re.compile(r"repr|__str__|__format__|message|wording|describe|explain|errors")
REFUSING = re.compile(r"(Error|Warning|warn|warn_explicit)$")
CONJUGATING = {"conj", "conjugate", "conjugated"}
MODULES = {"np", "numpy", "torch"}
AXES = {"axis", "axes", "dim", "dims"}
TURNING = {"swapaxes", "moveaxis", "transpose", "matrix_transpose"}
RESTORING = {"reset", "restore", "clear", "discard", "close"}
TYPES = {"Annotated", "Callable", "Literal", "dict", "list", "tuple", "type"}
WITHOUT_EQUAL = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
}
OPPOSITES = {
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
}


class Edit(NamedTuple):
    """Replacement of the bytes from `start` to `end`."""

    start: int
    end: int
    after: str


class Site(NamedTuple):
    """A place of a file for a fault of a kind; `statement` is the line on which its own begins."""

    kind: str
    line: int
    statement: int
    edit: Edit


class Source:
    """A file's bytes, and where its nodes are in them."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.begins = [0]
        for line in data.splitlines(keepends=True):
            self.begins.append(self.begins[-1] + len(line))

    def start(self, node: Any) -> int:
        return self.begins[node.lineno - 1] + node.col_offset

    def end(self, node: Any) -> int:
        return self.begins[node.end_lineno - 1] + node.end_col_offset

    def text(self, start: int, end: int) -> str:
        return self.data[start:end].decode()

    def instead(self, node: ast.AST, after: str) -> Edit:
        return Edit(self.start(node), self.end(node), after)

    def operator(self, left: ast.AST, right: ast.AST, before: str, after: str) -> Iterator[Edit]:
        """Another operator between two operands, which may stand in parentheses."""
        begin = self.end(left)
        gap = self.text(begin, self.start(right))
        word = r"\s+".join(map(re.escape, before.split()))
        found = re.fullmatch(rf"[\s)]*({word})[\s(]*", gap)
        if found is not None:
            yield Edit(begin + found.start(1), begin + found.end(1), after)

    def left_alone(self, node: ast.BinOp) -> Iterator[Edit]:
        """`x / 2` as `x`."""
        if not set(self.text(self.end(node.left), self.start(node.right))) & set("()"):
            yield Edit(self.end(node.left), self.end(node), "")

    def right_alone(self, node: ast.BinOp) -> Iterator[Edit]:
        """`2 * x` as `x`."""
        if not set(self.text(self.end(node.left), self.start(node.right))) & set("()"):
            yield Edit(self.start(node), self.start(node.right), "")


def sites(data: bytes) -> Iterator[Site]:
    """All places of a program for a fault, each with what is written there."""
    source = Source(data)
    for node, statement in _nodes(ast.parse(data), 1):
        for kind, edits in KINDS.items():
            for edit in edits(source, node):
                if kind == "state" or "\n" not in source.text(edit.start, edit.end):
                    yield Site(kind, bisect(source.begins, edit.start), statement, edit)


def _nodes(node: Any, statement: int) -> Iterator[tuple[ast.AST, int]]:
    """The nodes that compute something, each with the first line of its statement."""
    if _computes_nothing(node):
        return
    if isinstance(node, ast.stmt):
        statement = node.lineno
    yield node, statement
    for name, value in ast.iter_fields(node):
        if name not in ("annotation", "returns", "type_params"):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from _nodes(child, statement)


def _computes_nothing(node: ast.AST) -> bool:
    match node:
        case ast.Import() | ast.ImportFrom() | ast.Raise() | ast.Assert() | ast.JoinedStr():
            return True
        case ast.If(test=ast.Name("TYPE_CHECKING")) | ast.Assign(targets=[ast.Name("__all__")]):
            return True
        case ast.FunctionDef(name=name):
            return WORDING.search(name) is not None
        case ast.Call(func=func):
            return REFUSING.search(_name(func)) is not None
        case ast.Subscript(value=value):
            return _name(value) in TYPES
    return False


def _name(function: ast.AST) -> str:
    return getattr(function, "attr", getattr(function, "id", ""))


def _is_number(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


def _integer(node: ast.AST | None) -> int | None:
    """The integer that a node writes, with a sign or without."""
    match node:
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(value))):
            return -value
        case ast.Constant(value=int(value)) if type(value) is int:
            return value
    return None


def _is_sequence(node: ast.AST) -> bool:
    """Whether a node is written as text, a list or a tuple, or begins with one."""
    if isinstance(node, ast.BinOp):
        return _is_sequence(node.left) or _is_sequence(node.right)
    if isinstance(node, ast.IfExp):
        return _is_sequence(node.body)
    if isinstance(node, ast.Constant):
        return isinstance(node.value, (str, bytes))
    return isinstance(node, (ast.JoinedStr, ast.List, ast.Tuple, ast.ListComp))


def _is_function(node: ast.Call) -> bool:
    """Whether a call names a function, `np.conj(x)`, and no method of a value, `x.conj()`."""
    return not isinstance(node.func, ast.Attribute) or _name(node.func.value) in MODULES


def _operand_alone(source: Source, call: ast.Call) -> Iterator[Edit]:
    """`x`, in the place of a function of it or of its method."""
    if not _is_function(call):
        assert isinstance(call.func, ast.Attribute)
        yield Edit(source.end(call.func.value), source.end(call), "")
    elif call.args and not isinstance(call.args[0], ast.Starred):
        operand = source.text(source.start(call.args[0]), source.end(call.args[0]))
        yield source.instead(call, f"({operand})")


def sign(source: Source, node: ast.AST) -> Iterator[Edit]:
    """The other of plus and minus; a negation left out; a product negated."""
    match node:
        case ast.BinOp(left, ast.Add(), right) if not _is_sequence(node):
            yield from source.operator(left, right, "+", "-")
        case ast.BinOp(left, ast.Sub(), right):
            yield from source.operator(left, right, "-", "+")
        case ast.AugAssign(target, ast.Add(), value) if not _is_sequence(value):
            yield from source.operator(target, value, "+=", "-=")
        case ast.AugAssign(target, ast.Sub(), value):
            yield from source.operator(target, value, "-=", "+=")
        case ast.UnaryOp(ast.USub()) if _integer(node) is None:
            yield Edit(source.start(node), source.start(node) + 1, "")
        case ast.Return(ast.BinOp(op=ast.Mult() | ast.Div()) as value) if not _is_sequence(value):
            yield Edit(source.start(value), source.start(value), "-")


def factor(source: Source, node: ast.AST) -> Iterator[Edit]:
    """A constant factor left out or doubled; a product for a quotient; another power."""
    match node:
        case ast.BinOp(left, ast.Mult() | ast.Div(), right) if _is_number(right):
            yield from source.left_alone(node)
        case ast.BinOp(left, ast.Mult(), right) if _is_number(left):
            yield from source.right_alone(node)
        case ast.BinOp(left, ast.Mult(), right) if not _is_sequence(node):
            yield from source.operator(left, right, "*", "/")
        case ast.BinOp(left, ast.Div(), right):
            yield from source.operator(left, right, "/", "*")
        case ast.BinOp(_, ast.Pow(), ast.Constant(2) as power):
            yield source.instead(power, "1")
        case ast.Constant(float(value)) if value in (0.5, 1.0, 2.0):
            yield source.instead(node, str(2 * value))


def axis(source: Source, node: ast.AST) -> Iterator[Edit]:
    """Another axis, axes not kept, or not turned."""
    match node:
        case ast.keyword("keepdims" | "keepdim", ast.Constant(True) as value):
            yield source.instead(value, "False")
        case ast.keyword(arg, value) if arg in AXES and _integer(value) is not None:
            yield source.instead(value, {0: "-1", -1: "0", -2: "-1"}.get(_integer(value), "0"))
        case ast.Attribute(value, "T" | "mT" | "H" | "mH", ast.Load()):
            yield Edit(source.end(value), source.end(node), "")
        case ast.Call(ast.Attribute(attr=name)) if name in TURNING:
            yield from _operand_alone(source, node)


def conjugate(source: Source, node: ast.AST) -> Iterator[Edit]:
    """A conjugate left out."""
    if isinstance(node, ast.Call) and _name(node.func).strip("_") in CONJUGATING:
        yield from _operand_alone(source, node)


def comparison(source: Source, node: ast.AST) -> Iterator[Edit]:
    """A strict comparison in the place of one that is not, or the other way round."""
    if isinstance(node, ast.Compare):
        for (left, right), op in zip(
            pairwise([node.left, *node.comparators]), node.ops, strict=True
        ):
            if type(op) in WITHOUT_EQUAL:
                yield from source.operator(left, right, *WITHOUT_EQUAL[type(op)])


def dropped_sum(source: Source, node: ast.AST) -> Iterator[Edit]:
    """A mean or the largest in the place of a sum; the last term in the place of all."""
    match node:
        case ast.AugAssign(target, ast.Add(), value) if not _is_sequence(value):
            yield from source.operator(target, value, "+=", "=")
        case ast.Call(ast.Name("sum") as func) if len(node.args) == 1:
            yield source.instead(func, "max")
        case ast.Call(ast.Attribute(value, "sum") as func):
            other = "mean" if not _is_function(node) else "max"
            yield Edit(source.end(func) - len("sum"), source.end(func), other)


def copy(source: Source, node: ast.AST) -> Iterator[Edit]:
    """A copy left out."""
    match node:
        case ast.keyword("copy", ast.Constant(True) as value):
            yield source.instead(value, "False")
        case ast.Call(func) if _name(func) == "copy" and len(node.args) == _is_function(node):
            yield from _operand_alone(source, node)
        case ast.Call(ast.Attribute(ast.Name("np"), "array") as func, [argument]):
            if not isinstance(argument, (ast.Constant, ast.List, ast.Tuple, ast.ListComp)):
                yield source.instead(func, "np.asarray")


def state(source: Source, node: ast.AST) -> Iterator[Edit]:
    """A restoring statement at the end, left out."""
    match node:
        case ast.Try(finalbody=[first, *_] as body) if not isinstance(first, ast.Pass):
            start, end = source.start(first), source.end(body[-1])
            yield Edit(start, end, "pass" + "\n" * source.text(start, end).count("\n"))
        case ast.Expr(ast.Call(ast.Attribute(attr=name))) if name in RESTORING:
            yield source.instead(node, "pass")


def condition(source: Source, node: ast.AST) -> Iterator[Edit]:
    """`or` for `and`, a `not` left out, an equality for its opposite."""
    match node:
        case ast.BoolOp(op, [left, right]):
            words = ("and", "or") if isinstance(op, ast.And) else ("or", "and")
            yield from source.operator(left, right, *words)
        case ast.UnaryOp(ast.Not()):
            yield Edit(source.start(node), source.start(node) + len("not"), "")
        case ast.Compare(left, [op], [right]) if type(op) in OPPOSITES:
            yield from source.operator(left, right, *OPPOSITES[type(op)])


def index(source: Source, node: ast.AST) -> Iterator[Edit]:
    """The next place in the place of one that is given as a number."""
    if isinstance(node, ast.Subscript):
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        for part in parts:
            for end in (part.lower, part.upper) if isinstance(part, ast.Slice) else (part,):
                place = _integer(end)
                if end is not None and place is not None:
                    yield source.instead(end, str(place + 1 if place >= 0 else place - 1))


KINDS: dict[str, Callable[[Source, ast.AST], Iterator[Edit]]] = {
    "sign": sign,
    "factor": factor,
    "axis": axis,
    "conjugate": conjugate,
    "comparison": comparison,
    "sum": dropped_sum,
    "copy": copy,
    "state": state,
    "condition": condition,
    "index": index,
}
