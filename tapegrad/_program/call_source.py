"""Calls and their arguments as Python's source.

Knows how a call is written so that it takes the least time, and names what source cannot hold.
Must not know where values lie, nor in which order calls are made.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tapegrad._core.fit import MANY, is_finite
from tapegrad._core.quiet import SILENT, VARIABLE, changed
from tapegrad._program.containers import maker_of
from tapegrad._program.elementwise import REAL, is_contiguous
from tapegrad._program.functions import ATTRIBUTES, EXPECTATIONS, METHODS
from tapegrad._program.program import (
    Node,
    NotFiniteError,
    Ref,
    UnknownAnswer,
    answer_key,
    references,
    taken,
)
from tapegrad._tree import Structure, TallStructure, container_of
from tapegrad.rules.einsum import is_explicit, product

STATE = VARIABLE.get

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
_ARITHMETIC = frozenset((np.add, np.subtract, np.multiply, np.divide, np.maximum, np.minimum))
_ARRAY, _FLOAT64 = np.ndarray, np.dtype(np.float64)
# Operators that give for two scalars what their ufuncs give, bit by bit; powers do not.
_OPERATORS: dict[Any, Any] = {
    np.add: operator.add,
    np.subtract: operator.sub,
    np.multiply: operator.mul,
    np.divide: operator.truediv,
    np.negative: operator.neg,
}
_BY_SIGN = frozenset(_OPERATORS.values())
_EXACT = 1 << 24  # whole numbers up to which all floating-point dtypes hold

_REDUCTIONS: dict[Any, Any] = {
    np.sum: np.add.reduce,
    np.prod: np.multiply.reduce,
    np.max: np.maximum.reduce,
    np.min: np.minimum.reduce,
}


class CallSource:
    """The names of a source, and what they stand for."""

    def __init__(self) -> None:
        self.namespace: dict[str, Any] = {
            "Unknown": UnknownAnswer,
            "NotFinite": NotFiniteError,
            "copyto": np.copyto,
            "answer_key": answer_key,
            "isfinite": math.isfinite,
            "changed": changed,
            "mute": VARIABLE.set,
            "SILENT": SILENT,
            "state": STATE,
            "vdot": np.vdot,
        }
        self.names: dict[int, str] = {}  # of constants, by their ids
        self.numbers: dict[Any, Any] = {}  # of Python's, as arrays
        self.kept: list[Any] = []  # constants, so that their ids stay theirs
        self.known: dict[int, Node] = {}  # what is known of values
        self.scalars: dict[int, str] = {}  # the names of scalars that inputs without axes hold
        self.read: set[int] = set()  # which of these are used

    def constant(self, value: Any) -> str:
        """The name of an object."""
        name = self.names.get(id(value))
        if name is None:
            self.kept.append(value)
            stem = getattr(value, "__name__", "") if callable(value) else ""
            stem = stem if stem.isidentifier() else "c"
            name = self.names[id(value)] = f"{stem}_{len(self.names)}"
            self.namespace[name] = value
        return name

    def expression(self, value: Any, names: dict[int, str]) -> str:
        """An argument: the name of a value, a literal, or the name of a constant."""
        kind = type(value)
        if kind is Ref:
            return names[value.at]
        if kind is int or kind is bool or value is None:
            return repr(value) if kind is not int or value >= 0 else f"({value})"
        if kind is float and math.isfinite(value):
            return repr(value) if math.copysign(1, value) > 0 else f"({value!r})"
        if any(True for _ in references(value)):
            if kind is slice:
                parts = (value.start, value.stop, value.step)
                return f"slice({', '.join(self.expression(x, names) for x in parts)})"
            if kind is dict:
                pairs = [f"{k!r}: {self.expression(v, names)}" for k, v in value.items()]
                return f"{{{', '.join(pairs)}}}"
            inner = "".join(f"{self.expression(x, names)}, " for x in value)
            return f"[{inner}]" if kind is list else f"({inner})"
        return self.constant(value)

    def operands(self, ufunc: np.ufunc, node: Node, names: dict[int, str]) -> list[str]:
        """The arguments of a ufunc: numbers of Python's as arrays, which take half the time."""
        given = []
        for arg in node.args:
            weak = type(arg) is float or (type(arg) is int and abs(arg) < _EXACT)
            if weak and ufunc in _ARITHMETIC and node.dtype.char in REAL:
                key = (arg.hex() if type(arg) is float else arg, node.dtype)
                arg = self.numbers.setdefault(key, np.asarray(arg, node.dtype))
            given.append(self.expression(arg, names))
        return given

    def call(self, node: Node, names: dict[int, str]) -> str:
        """The expression of a call."""
        function, args = node.function, node.args
        if function is np.einsum and not node.kwargs:
            function, args = self._einsum(args)
        if node.kind is not _ARRAY and not node.kwargs and self._is_of_scalars(node):
            given = [self._scalar(arg, names) for arg in args]
            function = _OPERATORS.get(function, function)
        else:
            given = [self.expression(arg, names) for arg in args]
        if function in EXPECTATIONS:
            before = "" if given[0] == "True" else f"{given[0]} and "
            return before + self._question(function, args[1], given[1])
        if function in SIGNS and len(given) == 2:
            return f"{given[0]} {SIGNS[function]} {given[1]}"
        if function is operator.getitem:
            return f"{given[0]}[{given[1]}]"
        if function is operator.neg:
            return f"-{given[0]}"
        if function is np.copy and len(given) == 1 and not node.kwargs:
            about = self.known.get(args[0].at) if type(args[0]) is Ref else None
            order = "" if about is not None and about.kind is np.float64 else ", order='K'"
            return f"{self.constant(np.array)}({given[0]}{order})"  # what it calls
        if function in ATTRIBUTES:
            return f"{given[0]}.{ATTRIBUTES[function]}"
        kwargs = node.kwargs
        if len(given) == 1 and type(args[0]) is Ref and _is_reduction(function):
            axis = kwargs.get("axis", None if function in _REDUCTIONS else 0)
            function = _REDUCTIONS.get(function, function)  # what it calls
            kwargs = {k: v for k, v in kwargs.items() if not _is_usual(k, v)}
            if not kwargs.keys() - {"axis"}:
                kwargs = {}
                about = self.known.get(args[0].at)
                flat = axis is None and about is not None and len(about.shape) == 1
                if axis != 0 and not flat:
                    given.append(self.expression(axis, names))
            else:
                kwargs["axis"] = axis
        named = [f"{k}={self.expression(v, names)}" for k, v in kwargs.items()]
        if function in METHODS:
            return f"{given[0]}.{METHODS[function]}({', '.join([*given[1:], *named])})"
        return f"{self.constant(function)}({', '.join([*given, *named])})"

    def _einsum(self, args: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
        """An einsum of two operands, as the eager call makes it: large ones are products."""
        shapes = [
            getattr(self.known.get(arg.at) if type(arg) is Ref else arg, "shape", None)
            for arg in args[1:]
        ]
        if len(shapes) != 2 or None in shapes or not is_explicit(args[0]):
            return np.einsum, args
        return product(args[0], *shapes), args[1:]

    def _is_of_scalars(self, node: Node) -> bool:
        """Whether a call computes a scalar of such, which it may do by Python's operators.

        One of the scalars must be NumPy's: of two numbers, Python's `/` raises where NumPy warns.
        """
        function = node.function
        if not isinstance(function, np.ufunc) and function not in _BY_SIGN:
            return False
        numpys = False
        for arg in node.args:
            if type(arg) is Ref:
                about = self.known.get(arg.at)
                if about is None or about.dtype is not None and about.dtype is not node.dtype:
                    return False
                if about.kind is _ARRAY:
                    if arg.at not in self.scalars:
                        return False
                elif about.kind is not np.float64 and about.kind is not float:
                    return False
                numpys = numpys or about.kind is not float
            elif type(arg) is np.float64:
                numpys = True
            elif type(arg) is not float and not _is_scalar(arg):
                return False
        return numpys

    def _scalar(self, arg: Any, names: dict[int, str]) -> str:
        """An argument, as the scalar that it holds."""
        if type(arg) is Ref and arg.at in self.scalars:
            self.read.add(arg.at)
            return self.scalars[arg.at]
        return self.expression(float(arg) if _is_scalar(arg) else arg, names)

    def _question(self, function: Any, about: Any, name: str) -> str:
        """A question that has one expected answer; `is_finite` as what it does."""
        question, expected = EXPECTATIONS[function]
        asked = f"{self.constant(question)}({name}) is {expected}"
        node = self.known.get(about.at) if type(about) is Ref else None
        if question is is_finite and node is not None and node.kind is np.float64:
            return f"isfinite({name})" if expected is True else f"not isfinite({name})"
        if question is is_finite and expected is True and node is not None and node.shape:
            plain = node.kind is np.ndarray and node.dtype.char in REAL
            if len(node.shape) == 1 and plain and (is_contiguous(node) or node.shape[0] <= MANY):
                return f"(isfinite({name}.dot({name})) or {asked})"  # or the square overflows
            if plain and is_contiguous(node):
                return f"(isfinite(vdot({name}, {name})) or {asked})"
        return asked

    def taken(self, name: str, steps: list[Any], names: dict[int, str]) -> str:
        """The expression of a view that steps lead to."""
        if not steps:
            return name
        if len(steps) == 1 and steps[0].function is operator.getitem:
            return f"{name}[{self.expression(steps[0].args[1], names)}]"
        return f"{self.constant(taken)}({name}, {self.constant(tuple(steps))}, ())"


def _is_scalar(value: Any) -> bool:
    """Whether a constant is an array of one number and no axes."""
    return type(value) is _ARRAY and not value.shape and value.dtype is _FLOAT64


def _is_usual(keyword: str, value: Any) -> bool:
    """Whether a reduction takes an argument without being given it."""
    return (value is None and keyword in ("dtype", "out")) or (
        value is False and keyword == "keepdims"
    )


def _is_reduction(function: Any) -> bool:
    if function in _REDUCTIONS:
        return True
    return isinstance(getattr(function, "__self__", None), np.ufunc) and (
        function.__name__ == "reduce"
    )


def out_argument(ufunc: Any, name: str) -> str:
    """An output as an argument: by position, the faster way, but where NumPy warns of that."""
    return f"out={name}" if ufunc in (np.maximum, np.minimum) else name


def literal(
    structure: Structure, leaves: Iterator[str], named: Callable[[Any], str]
) -> str | None:
    """The expression that makes a result of its leaves; None for one of too many levels.

    named: gives an object a name in the source.
    """
    if isinstance(structure, TallStructure):  # Python's parser counts brackets
        return None
    kind, aux, children = structure
    if kind is None:
        return next(leaves)
    maker = maker_of(structure)
    if maker is not None:
        return f"{named(maker)}({named(aux[1])}, {next(leaves)})"
    parts = [literal(child, leaves, named) for child in children]
    joined = "".join(f"{part}, " for part in parts)
    if kind is tuple:
        return f"({joined})"
    if kind is list:
        return f"[{joined}]"
    if kind is dict:
        pairs = zip(aux, parts, strict=True)
        return "{" + "".join(f"{named(key)}: {part}, " for key, part in pairs) + "}"
    if kind is type(None):
        return "None"
    container: Any = container_of(kind)
    return f"{named(container.unflatten)}({named(aux)}, [{joined}])"


__all__ = ["STATE", "CallSource", "literal", "out_argument"]
