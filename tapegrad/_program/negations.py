"""The pass `negations`: a change of sign is made by the calls that use what it makes.

Knows through which calls a sign goes without changing a bit. Must not know how code is generated.

A value is held with the other sign where each of its uses takes that for nothing: in a sum that
becomes a difference, beside a number in a product, in a question whether it is finite, or in a
product that is itself held with the other sign. Rounding is symmetric, so that no bit changes.
`-(a - b)` and `-(a + b)` are not taken apart, as zeros would get other signs.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from tapegrad._core.fit import has_nan, is_finite
from tapegrad._core.quiet import Kinds
from tapegrad._program.elementwise import REAL, are_same, is_number, real_ufunc_of
from tapegrad._program.functions import EXPECTATIONS
from tapegrad._program.program import Node, Ref, references_of, renamed, warns_as

Nodes = list[tuple[int, Node]]

_PRODUCTS = frozenset((np.multiply, np.divide))
_WRITES = {operator.iadd: operator.isub, operator.isub: operator.iadd}
_EITHER = frozenset((is_finite, has_nan))  # questions of which the sign is no part


def signed(nodes: Nodes, outer: set[int], inputs: dict[int, Node]) -> Nodes:
    """The calls of a block with fewer changes of sign; values in `outer` are used elsewhere."""
    if not any(map(_may_flip, [node for _, node in nodes])):
        return nodes
    layouts = {at: _layout(node) for at, node in (*inputs.items(), *nodes)}
    bound = _bound(nodes, outer, layouts)
    return _Rewriting(nodes, outer, bound, layouts).nodes


def _layout(node: Node) -> Any:
    return node.kind, node.shape, node.strides, node.dtype


def _may_flip(node: Node) -> bool:
    ufunc = real_ufunc_of(node)
    if ufunc is np.negative:
        return True
    return ufunc in _PRODUCTS and any(is_number(x) and _is_minus(x) for x in node.args)


def _is_minus(number: float) -> bool:
    return math.copysign(1, number) < 0


def _bound(nodes: Nodes, outer: set[int], layouts: dict[int, Any]) -> set[int]:
    """The values that some use needs with their own sign."""
    source: set[int] = set()  # what may be held with another sign
    for at, node in nodes:
        if _may_flip(node) or (
            _is_linear(node) and any(type(arg) is Ref and arg.at in source for arg in node.args)
        ):
            source.add(at)
    bound = set(outer)
    for at, node in reversed(nodes):
        taken = _taken(at, node, bound, outer, source, layouts)
        bound.update(used for used in references_of(node) if used not in taken)
    return bound


def _is_linear(node: Node) -> bool:
    ufunc = real_ufunc_of(node)
    return ufunc in _PRODUCTS or (ufunc is np.add and are_same(*node.args))


def _taken(
    at: int,
    node: Node,
    bound: set[int],
    outer: set[int],
    source: set[int],
    layouts: dict[int, Any],
) -> set[int]:
    """The values whose sign a call takes for nothing."""
    function, args = node.function, node.args
    if function in EXPECTATIONS:
        fit = EXPECTATIONS[function][0] in _EITHER
        return {arg.at for arg in args[1:] if type(arg) is Ref} if fit else set()
    if function in _WRITES:
        fit = node.steps is not None and node.dtype.char in REAL and type(args[1]) is Ref
        used = list(references_of(node))
        return {args[1].at} if fit and used.count(args[1].at) == 1 else set()
    ufunc = real_ufunc_of(node)
    own = {arg.at for arg in args if type(arg) is Ref}
    if ufunc is np.negative:
        alike = all(layouts.get(x) == layouts[at] for x in own)
        return own if at not in outer and alike else set()
    if ufunc in _PRODUCTS:
        alone = are_same(*args) or is_number(args[0]) or is_number(args[1])
        return own if alone or at not in bound else set()
    if ufunc is np.subtract:
        return {args[1].at} if type(args[1]) is Ref and not are_same(*args) else set()
    if ufunc is not np.add:
        return set()
    x, y = args
    if are_same(x, y):
        return own if at not in bound else set()
    if type(y) is Ref and (y.at in source or is_number(x)):
        return {y.at}
    alike = is_number(y) or (
        type(x) is type(y) is Ref and layouts.get(x.at, 0) == layouts.get(y.at, 1)
    )
    return {x.at} if type(x) is Ref and alike else set()


class _Rewriting:
    """The calls in order, with the values that are there in place of others."""

    def __init__(
        self, nodes: Nodes, outer: set[int], bound: set[int], layouts: dict[int, Any]
    ) -> None:
        self.outer, self.bound, self.layouts = outer, bound, layouts
        self.stored: dict[int, Any] = {}  # references to what is there in place of a value
        self.minus: set[int] = set()  # values of which the negative is there
        self.calls: dict[Any, tuple[int, bool | Kinds]] = {}  # of what has been called already
        self.nodes: Nodes = []
        for at, node in nodes:
            self._take(at, node)

    def _take(self, at: int, node: Node) -> None:
        ufunc = real_ufunc_of(node)
        minus = [type(arg) is Ref and arg.at in self.minus for arg in node.args]
        if ufunc is np.negative and self._is_replaced(at, node.args[0], flipped=not minus[0]):
            return
        if ufunc in _PRODUCTS:
            node = self._product(at, node, odd=minus[0] != minus[1])
            if self._is_one(at, node):
                return
        elif any(minus):
            node = self._sum(at, node, minus)
        node = renamed(node, self.stored) if self.stored else node
        ufunc = real_ufunc_of(node)  # a sum may have become a difference
        key = None if ufunc is None else (ufunc, *map(_key, node.args))
        if key is not None and None not in key:
            before, silent = self.calls.setdefault(key, (at, node.silent))
            if before != at and at not in self.outer and warns_as(silent, node.silent):
                self.stored[at] = Ref(before)
                return
        self.nodes.append((at, node))

    def _is_one(self, at: int, node: Node) -> bool:
        """Let x be there in place of `x * 1`, `1 * x` or `x / 1`."""
        x, y = node.args
        if is_number(x) and x == 1 and real_ufunc_of(node) is np.multiply:
            x, y = y, x
        return is_number(y) and y == 1 and self._is_replaced(at, x, flipped=at in self.minus)

    def _is_replaced(self, at: int, arg: Any, *, flipped: bool) -> bool:
        """Let what is there for an argument be there for a value, if each use can do with it."""
        if type(arg) is not Ref or at in self.outer or (flipped and at in self.bound):
            return False
        stored = self.stored.get(arg.at, arg)
        if self.layouts.get(stored.at) != self.layouts[at]:
            return False
        self.stored[at] = stored
        (self.minus.add if flipped else self.minus.discard)(at)
        return True

    def _product(self, at: int, node: Node, *, odd: bool) -> Node:
        """A product or quotient, of which `odd` many factors are there with the other sign."""
        found = [i for i, arg in enumerate(node.args) if is_number(arg)]
        if not found:
            if odd:
                self.minus.add(at)
            return node
        args = list(node.args)
        number = args[found[0]]
        minus = _is_minus(number) != odd
        if minus and at not in self.bound:
            self.minus.add(at)
            minus = False
        if minus != _is_minus(number):
            args[found[0]] = -number if number else -float(number)
        return node.again(node.function, tuple(args))

    def _sum(self, at: int, node: Node, minus: list[bool]) -> Node:
        """A call with arguments that are there with the other sign."""
        function, args = node.function, node.args
        if function in _WRITES and node.steps is not None:
            return node.again(_WRITES[function], args, node.kwargs, node.steps)
        ufunc = real_ufunc_of(node)
        if ufunc is np.subtract:
            return node.again(operator.add, args)
        if ufunc is np.add and all(minus):  # x + x
            self.minus.add(at)
        elif ufunc is np.add:
            return node.again(operator.sub, args if minus[1] else args[::-1])
        return node


def _key(arg: Any) -> Any:
    if type(arg) is Ref:
        return arg
    return (type(arg), arg, _is_minus(arg)) if is_number(arg) else None


__all__ = ["signed"]
