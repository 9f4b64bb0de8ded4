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
from tapegrad._native.complex_arithmetic import TO_COMPLEX, TO_REAL
from tapegrad._native.native_ops import UFUNC_OF
from tapegrad._native.semantics import unbound
from tapegrad._program.functions import (
    EXPECTATIONS,
    METHODS,
    attribute,
    method,
    method_of_ufunc,
)
from tapegrad._program.passes import Block
from tapegrad._program.program import INPUT, OWN, Node, Ref, references, references_of

Path = list[tuple[Block, Any]]

REAL_OF: dict[Any, Any] = {np.dtype("c16"): np.dtype("f8"), np.dtype("c8"): np.dtype("f4")}

# Functions whose first argument may be complex, which do with each part what they do with it.
_BY_PART = frozenset(
    (operator.getitem, np.expand_dims, np.transpose, np.squeeze, np.broadcast_to, np.reshape)
)
_METHODS_BY_PART = frozenset(("reshape", "transpose", "broadcast_to", "ravel", "copy", "squeeze"))
_SUMS = frozenset((np.sum, np.add.reduce, method_of_ufunc(np.add, "reduce"), method("sum")))
_WRITES = frozenset((operator.setitem, operator.iadd, operator.isub))
MADE = {np.zeros: 0, np.zeros_like: 0, np.empty: 0, np.ones: 1, np.ones_like: 1}
REAL, IMAG = attribute("real"), attribute("imag")
PARTS: dict[Any, int] = {REAL: 0, IMAG: 1, np.real: 0, np.imag: 1}
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
    squares = function is np.power and type(args[1]) in (int, float) and args[1] == 2
    if squares:
        function, args = np.square, args[:1]
    return node if function is node.function else node.again(function, args, node.kwargs)


def is_by_part(node: Node) -> bool:
    """Whether a call moves the elements of its first argument, or adds them up."""
    if node.function in _SUMS:
        return len(node.args) <= 2 and all(
            key in ("axis", "keepdims") or value is None or value is np._NoValue
            for key, value in node.kwargs.items()
        )
    return _moves(node.function) and not node.kwargs


def _moves(function: Any) -> bool:
    return function in _BY_PART or METHODS.get(function) in _METHODS_BY_PART


def _computes(node: Node) -> bool:
    """Whether a call is elementwise, of complex numbers."""
    return node.dtype in REAL_OF and isinstance(node.function, np.ufunc)


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
        if function is np.where:
            is_known, args = len(args) == 3 and not self._is_complex(args[0]), args[1:]
        else:
            is_known = function in (TO_COMPLEX if node.dtype in REAL_OF else TO_REAL)
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
        """The nodes of the runs that compute more than is joined and taken apart for them.

        None are where most of the complex arithmetic is in no run: see `Lowered.is_numpys`.
        """
        gains: dict[int, int] = dict.fromkeys(self.run, 0)
        for at in self.run:
            function = self.nodes[at].function
            if function in TO_COMPLEX or function in TO_REAL or function in _WRITES:
                gains[self._root(at)] += self._cost(at)
        for at in self._needed_whole(blocks):
            gains[self._root(at)] -= self._cost(at, calls=2)
        for at, run in self._taken_apart():
            gains[run] -= self._cost(at, calls=2)
        parted = {at for at in self.run if gains[self._root(at)] > 0}
        left = [at for at, node in self.nodes.items() if at not in parted and _computes(node)]
        if sum(map(self._cost, left)) > sum(gain for gain in gains.values() if gain > 0):
            return set()
        return parted

    def _cost(self, at: int, calls: int = 1) -> int:
        """About what a pass over a value takes: NumPy calls for 500 elements."""
        return 500 * calls + math.prod(self.nodes[at].shape)

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


__all__ = ["IMAG", "MADE", "PARTS", "REAL", "REAL_OF", "Runs", "is_by_part"]
