"""Cholesky's decomposition, and systems whose matrix is its result, as calls of our own code.

Knows what `np.linalg.cholesky` and `np.linalg.solve` mean. Must not know loops. `None` stands for
a call that is to be made by Python.

Where a matrix is not positive definite, or a solution not finite, the call of the program is
NumPy's: it raises as ever, and has its own infinities.
"""

from __future__ import annotations

import numpy as np

from tapegrad._native.native_ops import NotFinite
from tapegrad._native.regions import Array, Call, Statements, dense, is_uniform
from tapegrad._program.program import Node

LARGEST = 160  # rows, from which on LAPACK is as fast


def cholesky(path: Statements, at: int, node: Node) -> Array | None:
    """`np.linalg.cholesky` of one matrix."""
    x = path.operand(node.args[0]) if len(node.args) == 1 and not node.kwargs else None
    if type(x) is not Array or not _fits(x, node) or x.shape != node.shape or is_uniform(x):
        return None
    out = _called(path, "cholesky", at, node, [x, path.flag()])
    path.triangles.add(id(out.memory))
    return out


def solve(path: Statements, at: int, node: Node) -> Array | None:
    """`np.linalg.solve` with the result of `cholesky`, or with that transposed."""
    if len(node.args) != 2 or node.kwargs:
        return None
    a, b = [path.operand(arg) for arg in node.args]
    if type(a) is not Array or type(b) is not Array or id(a.memory) not in path.triangles:
        return None
    whole = a.memory.whole()
    if a not in (whole, whole._replace(strides=whole.strides[::-1])):
        return None
    if b.dtype != a.dtype or not _fits(a, node) or b.shape != node.shape or len(b.shape) > 2:
        return None
    if is_uniform(b):
        b = path.laid_out(b)
    out = _called(path, "substitution", at, node, [a, b])
    path.asked(NotFinite, out, expected=False)
    return out


def _fits(x: Array, node: Node) -> bool:
    """Whether a matrix is of a kind that our code is for."""
    square = len(x.shape) == 2 and 1 < x.shape[0] == x.shape[1] <= LARGEST
    return square and x.dtype == node.dtype and x.dtype.kind == "f"


def _called(path: Statements, kind: str, at: int, node: Node, args: list[Array]) -> Array:
    call = Call(kind, at, node, args)
    memory = path.new(node.shape, dense(node.shape, ()), node.dtype)
    memory.kept = True
    call.out = memory.whole()
    path.place(call, args[:1] if kind == "cholesky" else args)
    memory.writers.append(call)
    return call.out


BY_FUNCTION = {np.linalg.cholesky: cholesky, np.linalg.solve: solve}

__all__ = ["BY_FUNCTION"]
