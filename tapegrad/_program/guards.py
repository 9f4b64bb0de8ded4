"""The pass `guards`: what is not asked, as the answer to a later question tells it.

Knows which calls hand on an infinity or a NaN. Must not know how code is generated.

A program expects that derivatives are finite. An infinite element of one that is added to,
multiplied or laid into another leaves an element there that is not finite: of these two, only the
second is asked about.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any

import numpy as np

from tapegrad._core.fit import has_nan, is_finite
from tapegrad._core.values import is_basic
from tapegrad._program.elementwise import REAL, ufunc_of
from tapegrad._program.functions import ATTRIBUTES, EXPECTATIONS, METHODS
from tapegrad._program.program import Node, Ref, references, renamed, taken

Nodes = list[tuple[int, Node]]

_ALL = frozenset((np.add, np.subtract, np.multiply))
_FIRST = frozenset((np.divide, np.negative))
_WRITES = frozenset((operator.iadd, operator.isub))
_METHODS = frozenset(("reshape", "transpose", "swapaxes", "ravel", "T", "mT"))
_FUNCTIONS = frozenset((np.reshape, np.transpose, np.swapaxes, np.ravel, np.broadcast_to))


def without_implied(nodes: Nodes, outer: set[int]) -> Nodes:
    """The calls of a block without questions whose answer follows from that of others."""
    questions = [at for at, node in nodes if node.function in EXPECTATIONS]
    if len(questions) < 2:
        return nodes
    known = dict(nodes)
    implied = _implied(nodes, known) - outer
    if not implied:
        return nodes
    before: dict[int, Any] = {}
    made: Nodes = []
    for at, node in nodes:
        if at in implied:
            first = node.args[0]
            before[at] = before.get(first.at, first) if type(first) is Ref else first
        else:
            made.append((at, renamed(node, before) if node.function in EXPECTATIONS else node))
    return made


def _implied(nodes: Nodes, known: dict[int, Node]) -> set[int]:
    """The questions of a block that others answer."""
    asked: dict[int, set[Any]] = {}  # about a value
    for _, node in nodes:
        question = _question(node)
        if question is not None:
            asked.setdefault(node.args[1].at, set()).add(question)
    told: dict[int, set[Any]] = {}  # by values that are made of a value
    for at, node in reversed(nodes):
        answers = asked.get(at, set()) | told.get(at, set())
        if answers and getattr(node.dtype, "char", "") in REAL and 0 not in node.shape:
            for arg in _handed_on(node):
                before = known.get(arg)
                if before is not None and getattr(before.dtype, "char", "") in REAL:
                    told.setdefault(arg, set()).update(answers)
    found = set()
    for at, node in nodes:
        question = _question(node)
        if question is None:
            continue
        about = node.args[1].at
        by_others = told.get(about, set())
        same = asked[about] if question is has_nan else set()
        if is_finite in by_others or question in by_others or is_finite in same:
            found.add(at)
    return found


def _question(node: Node) -> Any:
    """is_finite or has_nan, where a call expects that a value has neither infinities nor NaNs."""
    question, expected = EXPECTATIONS.get(node.function, (None, None))
    if (question is is_finite and expected is True) or (question is has_nan and expected is False):
        return question if type(node.args[1]) is Ref else None
    return None


def _handed_on(node: Node) -> Iterator[int]:
    """The values of which an infinite element leaves one that is not finite in a call's value."""
    function, args = node.function, node.args
    if node.steps is not None:
        written = function in _WRITES or function is operator.setitem
        if written and not node.kwargs and _part_is_some(node):
            yield from (arg.at for arg in args[-1:] if type(arg) is Ref)
        if function in _WRITES and type(args[0]) is Ref:
            yield args[0].at
        return
    if node.kind is not np.ndarray:
        return
    ufunc = ufunc_of(node)
    if ufunc in _ALL:
        yield from (arg.at for arg in args if type(arg) is Ref)
    elif type(args[0]) is Ref and (
        ufunc in _FIRST or function in _FUNCTIONS or _word(function) in _METHODS
    ):
        yield args[0].at


def _part_is_some(node: Node) -> bool:
    """Whether a write is to a part that has elements, and to each once."""
    index = node.args[1] if node.function is operator.setitem else ...
    steps = node.steps or ()
    if any(True for _ in references((index, *steps))) or not is_basic(index):
        return False
    whole = np.broadcast_to(np.empty((), node.dtype), node.shape)
    return bool(np.size(taken(whole, steps, ())[index]))


def _word(function: Any) -> str:
    return METHODS.get(function) or ATTRIBUTES.get(function) or ""


__all__ = ["without_implied"]
