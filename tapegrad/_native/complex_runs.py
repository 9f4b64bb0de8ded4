"""Which calls of a path with complex arrays are taken by parts: those of the runs that pay.

Knows which functions have parts, and what it costs to join parts and to take a value apart. Must
not know formulas (`complex_arithmetic.py`), nor how a path is written anew (`split_complex.py`).

A run is complex arithmetic of which each call takes what another one gives. It is taken by parts
where it has more calls than it needs joints.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from tapegrad._core.fit import has_nan, holds_infinity, is_finite, is_sound, is_sound_sum
from tapegrad._native.complex_arithmetic import TO_REAL, Power, to_complex
from tapegrad._native.complex_memory import PARTS, REAL_OF
from tapegrad._native.native_ops import UFUNC_OF
from tapegrad._native.semantics import unbound
from tapegrad._program.functions import (
    ATTRIBUTES,
    EXPECTATIONS,
    METHODS,
    method,
    method_of_ufunc,
)
from tapegrad._program.passes import Block
from tapegrad._program.program import INPUT, OWN, Node, Ref, references, references_of

Path = list[tuple[Block, Any]]

# Functions whose first argument may be complex, which do with each part what they do with it.
_BY_PART = frozenset(
    (
        operator.getitem,
        np.expand_dims,
        np.transpose,
        np.swapaxes,
        np.squeeze,
        np.broadcast_to,
        np.reshape,
    )
)
_METHODS_BY_PART = frozenset(
    ("reshape", "transpose", "swapaxes", "broadcast_to", "ravel", "copy", "squeeze")
)
_SUMS = frozenset((np.sum, np.add.reduce, method_of_ufunc(np.add, "reduce"), method("sum")))
_WRITES = frozenset((operator.setitem, operator.iadd, operator.isub))
MADE = {np.zeros: 0, np.zeros_like: 0, np.empty: 0, np.ones: 1, np.ones_like: 1}
_CONJUGATES = frozenset(("conj", "conjugate"))
# Questions about an array whose answer, if it is this one, is that for both parts.
_OF_BOTH = {
    is_finite: True,
    is_sound: True,
    is_sound_sum: True,
    has_nan: False,
    holds_infinity: False,
}


def _plain(node: Node) -> Node:
    """A call as one of a ufunc, where it is that of a method, a rule or an operator."""
    node = unbound(node)
    function, args = node.function, node.args
    if METHODS.get(function) in _CONJUGATES and len(args) == 1:
        function = np.conjugate
    function = UFUNC_OF.get(function, function)
    if function is np.power and type(args[1]) in (int, float, np.float64, np.float32):
        power = _power(float(args[1]), is_operator=node.function is operator.pow)
        function, args = (power, args[:1]) if power is not None else (function, args)
    return node if function is node.function else node.again(function, args, node.kwargs)


def _power(exponent: float, *, is_operator: bool) -> Any:
    """The function of one argument that a power to a known exponent is; None for some."""
    if exponent == 2:
        return np.square
    if is_operator and exponent == 0.5:
        return np.sqrt
    if exponent == 0 or exponent == -1 and not is_operator:  # with infinities of its own
        return None
    return Power(exponent)


def is_by_part(node: Node) -> bool:
    """Whether a call moves the elements of its first argument, or adds them up."""
    if node.function in _SUMS:
        return len(node.args) <= 2 and all(
            key in ("axis", "keepdims") or value is None or value is np._NoValue
            for key, value in node.kwargs.items()
        )
    return _moves(node.function) and not node.kwargs


def is_cast(node: Node) -> bool:
    """Whether a call casts to another dtype."""
    name = getattr(node.function, "__name__", "")
    return name == "astype" and len(node.args) == 2 and not node.kwargs


def _moves(function: Any) -> bool:
    if ATTRIBUTES.get(function) == "T":
        return True
    return function in _BY_PART or METHODS.get(function) in _METHODS_BY_PART


class Runs:
    """Which nodes of a path are taken by parts: the runs of them that pay."""

    def __init__(self, blocks: Path, inputs: list[Any]) -> None:
        self.nodes: dict[int, Node] = {}
        for at, value in enumerate(inputs):
            self.nodes[at] = Node(INPUT, (), {})
            self.nodes[at].describe(value, OWN)
        self.run: dict[int, int] = {}  # by node that could be, another of its run, or itself
        for block, _ in blocks:
            for at, node in block.nodes:
                self.nodes[at] = node if node.steps is not None else _plain(node)
                if self._can_be(self.nodes[at]):
                    self._join_run(at, node)
        self.parted = self._paying(blocks)

    def _can_be(self, node: Node) -> bool:
        function, args = node.function, node.args
        if node.steps is not None:
            return self._is_known_write(node)
        if function in EXPECTATIONS:
            question, answer = EXPECTATIONS[function]
            return _OF_BOTH.get(question) is answer and self._is_complex(args[1])
        is_number = node.kind is np.ndarray or issubclass(node.kind, np.generic)
        if not is_number or 0 in node.shape or not self._is_about_complex(node):
            return False
        if function in PARTS:
            return not node.kwargs
        if function in MADE:
            return node.kind is np.ndarray
        if is_by_part(node):
            return self._is_complex(args[0]) and not self._hold_complex((args[1:], node.kwargs))
        if is_cast(node):
            return node.dtype in REAL_OF and self._are_of_one_kind(node, args[:1])
        if function is np.where:
            is_known, args = len(args) == 3 and not self._is_complex(args[0]), args[1:]
        else:
            is_known = bool(to_complex(function)) if node.dtype in REAL_OF else function in TO_REAL
        return is_known and not node.kwargs and self._are_of_one_kind(node, args)

    def _is_known_write(self, node: Node) -> bool:
        """Whether a write of complex numbers is one into each part."""
        return (
            node.function in _WRITES
            and node.dtype in REAL_OF
            and 0 not in node.shape
            and not node.kwargs
            and not self._hold_complex((node.args[1:-1], node.steps))
            and self._are_of_one_kind(node, (node.args[0], node.args[-1]))
            and all(_moves(step.function) for step in node.steps or ())
        )

    def _hold_complex(self, template: Any) -> bool:
        return any(self.nodes[x].dtype in REAL_OF for x in references(template))

    def _is_about_complex(self, node: Node) -> bool:
        return node.dtype in REAL_OF or any(map(self._is_complex, node.args))

    def _dtype(self, arg: Any) -> Any:
        return self.nodes[arg.at].dtype if type(arg) is Ref else getattr(arg, "dtype", None)

    def _is_complex(self, arg: Any) -> bool:
        return self._dtype(arg) in REAL_OF or type(arg) is complex

    def _are_of_one_kind(self, node: Node, args: tuple[Any, ...]) -> bool:
        """Whether no argument is cast to another precision before NumPy computes."""
        kinds = {REAL_OF[node.dtype]} if node.dtype in REAL_OF else set()
        for arg in args:
            dtype = self._dtype(arg)
            if dtype is not None:
                kinds.add(REAL_OF.get(dtype, dtype))
            elif type(arg) not in (int, float, complex):
                return False
        return len(kinds) == 1 and kinds <= set(REAL_OF.values())

    def _root(self, at: int) -> int:
        while self.run[at] != at:
            self.run[at] = self.run[self.run[at]]  # half as far, next time
            at = self.run[at]
        return at

    def _join_run(self, at: int, node: Node) -> None:
        self.run[at] = at
        for x in references_of(node):
            if x in self.run and self.nodes[x].dtype in REAL_OF:
                self.run[self._root(x)] = at

    def _paying(self, blocks: Path) -> set[int]:
        """The nodes of the runs that compute more than is joined and taken apart for them."""
        gains: dict[int, float] = dict.fromkeys(self.run, 0)
        for at in self.run:
            function = self.nodes[at].function
            counts = to_complex(function) or function in TO_REAL or function in _WRITES
            if counts or is_cast(self.nodes[at]):
                gains[self._root(at)] += self._cost(at)
        for at in self._needed_whole(blocks):
            gains[self._root(at)] -= self._size(at) / 2  # strided writes are half a pass
        for at, run in self._taken_apart():
            gains[run] -= self._size(at) / 2
        return {at for at in self.run if gains[self._root(at)] > 0}

    def _cost(self, at: int) -> int:
        """About what a call of NumPy's takes, in elements of its result."""
        return 500 + self._size(at)

    def _size(self, at: int) -> int:
        return math.prod(self.nodes[at].shape)

    def _taken_apart(self) -> set[tuple[int, int]]:
        """Complex values of no run, each with a run that computes with it."""
        return {
            (x, self._root(at))
            for at in self.run
            for x in references_of(self.nodes[at])
            if x not in self.run and self.nodes[x].dtype in REAL_OF
        }

    def _needed_whole(self, blocks: Path) -> set[int]:
        """Complex values of runs that others take as they are."""
        found: set[int] = set()
        for block, _ in blocks:
            for at, node in block.nodes:
                if at not in self.run:
                    found.update(references_of(node))
            if block.read is not None:
                found.add(block.read.at)
            if block.out is not None:
                found.update(references((block.out.leaves, [ref for _, ref in block.writes])))
        return {x for x in found if x in self.run and self.nodes[x].dtype in REAL_OF}


__all__ = ["MADE", "Runs", "is_by_part", "is_cast"]
