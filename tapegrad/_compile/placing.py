"""The pass `placing`: what is computed to be written into a part of an array is computed there.

Knows which writes take the value of an elementwise call that nothing else uses. Must not know how
code is generated.
"""

from __future__ import annotations

import operator
from collections import Counter
from typing import Any, cast

import numpy as np

from tapegrad._compile.passes import Block, ends_of
from tapegrad._compile.program import Node, Ref, references, references_of

# Operators by the ufunc that they call for arrays.
UFUNC_OF: dict[Any, np.ufunc] = {
    operator.add: np.add,
    operator.sub: np.subtract,
    operator.mul: np.multiply,
    operator.truediv: np.divide,
    operator.floordiv: np.floor_divide,
    operator.mod: np.remainder,
    operator.matmul: np.matmul,
    operator.neg: np.negative,
    operator.abs: np.absolute,
    operator.lt: np.less,
    operator.le: np.less_equal,
    operator.gt: np.greater,
    operator.ge: np.greater_equal,
    operator.eq: np.equal,
    operator.ne: np.not_equal,
    operator.iadd: np.add,
    operator.isub: np.subtract,
    operator.imul: np.multiply,
    operator.itruediv: np.divide,
}


class Placed(Node):
    """A write `x[index] = f(...)`, where f writes into the part itself.

    The arguments are x, the index, and a tuple of f's arguments; the function is f, a ufunc.
    """

    __slots__ = ("of",)

    of: Node  # the call of f


def ufunc_of(node: Node) -> np.ufunc | None:
    """The ufunc by which a call can write into an array that is there already."""
    function = node.function
    if node.kwargs or not node.shape or 0 in node.shape:
        return None
    if isinstance(function, np.ufunc):
        return function if function.nout == 1 and len(node.args) == function.nin else None
    return UFUNC_OF.get(function)


def placed(block: Block, escaping: set[int]) -> list[tuple[int, Node]]:
    """The calls of a block, where those whose value is written somewhere are part of the write."""
    uses: Counter[int] = Counter()
    for _, node in block.nodes:
        uses.update(references_of(node))
    kept = ends_of(block) | block.used_below | escaping
    calls = {at: node for at, node in block.nodes if node.steps is None}
    inner: set[int] = set()
    made: list[tuple[int, Node]] = []
    for at, node in block.nodes:
        found = _source(node, calls)
        if found is None or uses[found] != 1 or found in kept:
            made.append((at, node))
        else:
            inner.add(found)
            made.append((at, _joined(node, calls[found])))
    return [(at, node) for at, node in made if at not in inner] if inner else made


def _source(node: Node, calls: dict[int, Node]) -> int | None:
    """The position of the call whose value a write takes as it is, if that can be placed."""
    if node.function is not operator.setitem or node.steps != () or node.kwargs:
        return None
    _, index, value = node.args
    if type(value) is not Ref or value.at not in calls or any(True for _ in references(index)):
        return None
    call = calls[value.at]
    ufunc = ufunc_of(call)
    if ufunc is None or call.silent != node.silent or call.kind is not np.ndarray:
        return None
    if ufunc.signature is not None or call.dtype != node.dtype or not is_basic(index):
        return None
    if _is_backward(index):  # a ufunc may round otherwise there
        return None
    part: Any = np.broadcast_to(np.empty((), node.dtype), node.shape)[index]
    return value.at if getattr(part, "shape", ()) == call.shape else None


def _is_backward(index: Any) -> bool:
    parts = index if type(index) is tuple else (index,)
    return any(type(part) is slice and (part.step or 1) < 0 for part in parts)


def is_basic(index: Any) -> bool:
    """Whether an index has no arrays."""
    parts = index if type(index) is tuple else (index,)
    return all(type(part) in (int, slice, type(None), type(Ellipsis)) for part in parts)


def _joined(write: Node, call: Node) -> Placed:
    whole, index, _ = write.args
    made = Placed(
        cast(np.ufunc, ufunc_of(call)),
        (whole, index, call.args),
        {},
        steps=write.steps,
        silent=write.silent,
    )
    for name in ("kind", "shape", "dtype", "strides", "shares"):
        setattr(made, name, getattr(write, name))
    made.of = call
    return made


__all__ = ["UFUNC_OF", "Placed", "is_basic", "placed", "ufunc_of"]
