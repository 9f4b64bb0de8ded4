"""The pass `numbers`: a number in place of an array whose elements are all the same.

Knows which calls make such arrays, and which products of numbers are one. Must not know how code
is generated. Each bit stays what it was.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad._core.quiet import silence
from tapegrad._program.elementwise import (
    REAL,
    are_same,
    common_element,
    is_contiguous,
    is_number,
    leads_to,
    real_ufunc_of,
)
from tapegrad._program.program import Node, Ref

Nodes = dict[int, Node]

_ARITHMETIC = frozenset((np.add, np.subtract, np.multiply, np.divide))
_LARGE = 1e30  # numbers below have a double in each dtype
_MADE_OF: dict[Any, float] = {
    np.zeros: 0.0,
    np.zeros_like: 0.0,
    np.ones: 1.0,
    np.ones_like: 1.0,
}


class Numbers:
    """Knowledge along a path: the number that all elements of an array are."""

    def __init__(self) -> None:
        self.constants: dict[int, tuple[Any, float | None]] = {}  # by id
        self.values: dict[int, float] = {}  # by position, of arrays that are not made ahead

    def copy(self) -> Numbers:
        made = Numbers()
        made.constants, made.values = self.constants, dict(self.values)
        return made

    def of(self, arg: Any, node: Node, described: Nodes) -> float | None:
        """The number that all elements of an argument are, if it has a call's dtype."""
        if type(arg) is np.ndarray:
            if arg.dtype != node.dtype:
                return None
            found = self.constants.get(id(arg))
            if found is None:
                found = self.constants[id(arg)] = arg, common_element(arg)
            return found[1]
        if type(arg) is Ref and arg.at in self.values and described[arg.at].dtype == node.dtype:
            return self.values[arg.at]
        return None

    def plainer(self, node: Node, described: Nodes) -> Node:
        """A call with a number for an array, and without `x + x` or -x of products.

        `c * (x + x)` is `(2 * c) * x`, as doubling does not round: not of a small c, with which
        x + x may overflow alone.
        """
        ufunc = real_ufunc_of(node)
        if ufunc is np.negative:
            return _negated(node, described)
        if ufunc not in _ARITHMETIC or len(node.args) != 2:
            return node
        x, y = node.args
        for array, other in ((x, y), (y, x)):
            number = self.of(array, node, described)
            before = described.get(other.at) if type(other) is Ref else None
            if number is None or before is None or before.dtype != node.dtype:
                continue  # with a number of Python's, the other's dtype would be the result's
            if leads_to(before, node):
                x, y = (number, y) if array is x else (x, number)
                node = node.again(node.function, (x, y))
                break
        return _undoubled(node, described) if ufunc is np.multiply else node

    def learn(self, at: int, node: Node, described: Nodes) -> None:
        """Take up a call that makes an array of equal elements."""
        number = self._made(node, described)
        if number is not None:
            self.values[at] = number

    def _made(self, node: Node, described: Nodes) -> float | None:
        function, args = node.function, node.args
        if node.kind is not np.ndarray or node.steps is not None or node.dtype.char not in REAL:
            return None
        if function in _MADE_OF:
            return _MADE_OF[function]
        if function is np.broadcast_to:
            array = args[0]
            if type(array) is Ref:
                return self.of(array, node, described)
            array = np.asarray(array)
            return common_element(array) if array.dtype == node.dtype else None
        ufunc = real_ufunc_of(node)
        if ufunc not in _ARITHMETIC and ufunc is not np.negative:
            return None
        numbers = [x if is_number(x) else self.of(x, node, described) for x in args]
        if None in numbers:
            return None
        with silence():
            made = ufunc(*[np.asarray(x, node.dtype) for x in numbers])
        return float(made) if np.isfinite(made) else None

    def written(self, node: Node) -> Node:
        """A write into such an array as one into a constant, of one element's memory."""
        number = self.values.get(node.args[0].at)
        if number is None or not is_contiguous(node):
            return node
        whole = np.broadcast_to(np.asarray(number, node.dtype), node.shape)
        return node.again(node.function, (whole, *node.args[1:]), node.kwargs, node.steps)


def _undoubled(node: Node, described: Nodes) -> Node:
    x, y = node.args
    number, other = (x, y) if is_number(x) else (y, x)
    if not is_number(number) or type(other) is not Ref or not 1 <= abs(number) < _LARGE:
        return node
    before = described.get(other.at)
    if before is None or real_ufunc_of(before) is not np.add or not are_same(*before.args):
        return node
    if before.silent != node.silent:  # what warns, warns of the same
        return node
    twice, once = 2 * number, before.args[0]
    return node.again(node.function, (twice, once) if number is x else (once, twice))


def _negated(node: Node, described: Nodes) -> Node:
    """`-(c * x)` as `-c * x`."""
    (arg,) = node.args
    before = described.get(arg.at) if type(arg) is Ref else None
    if before is None or real_ufunc_of(before) not in (np.multiply, np.divide):
        return node
    if before.silent != node.silent:
        return node
    args = tuple([-x if is_number(x) and x else x for x in before.args])
    changed = any(a is not b for a, b in zip(args, before.args, strict=True))
    return node.again(before.function, args) if changed else node


__all__ = ["Numbers"]
