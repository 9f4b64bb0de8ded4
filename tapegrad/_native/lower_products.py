"""Products of matrices and vectors: small ones as statements, others as calls that write in place.

Knows from which size on BLAS is the faster. Must not know which calls are products
(`semantics.py`). `None` stands for a call that is to be made by Python.
"""

from __future__ import annotations

import numpy as np

from tapegrad._native.regions import Array, Call, Memory, Statements, dense, is_uniform
from tapegrad._program.functions import METHODS
from tapegrad._program.program import Node

FEW_PRODUCTS = 1 << 11  # multiplications, below which a product is a loop nest of its own


MOST_OF_VECTOR = 1 << 22  # the same, of a vector by a matrix: loops are as fast as BLAS


MOST_IN_STACKS = 1 << 15  # of all the matrices of a stack


def product(path: Statements, at: int, node: Node) -> Array | None:
    if node.kwargs or len(node.args) != 2:
        return None
    a, b = [path.operand(arg) for arg in node.args]
    if type(a) is not Array or type(b) is not Array:
        return None
    if not (a.dtype == b.dtype == node.dtype and node.dtype.kind == "f"):
        return None
    deep = len(a.shape) > 2 or len(b.shape) > 2
    by_dot = node.function is np.dot or METHODS.get(node.function) == "dot"
    if not a.shape or not b.shape or deep and by_dot:
        return None
    return product_of(path, at, node, a, b)


def product_of(path: Statements, at: int, node: Node, a: Array, b: Array) -> Array | None:
    """The product of matrices or vectors that are there."""
    if not (a.dtype == b.dtype == node.dtype and node.dtype.kind == "f"):
        return None
    memory = path.memory(node)
    small = _small_product(path, node, a, b, memory)
    if small is not None:
        return small
    if not node.shape:
        return None
    a, b = [path.laid_out(x) if is_uniform(x) else x for x in (a, b)]
    if memory.strides != dense(node.shape, ()):
        memory = path.new(node.shape, dense(node.shape, ()), node.dtype)
    call = Call("into", at, node, [a, b])
    call.out = memory.whole()
    memory.kept = True
    path.place(call, [a, b])
    memory.writers.append(call)
    return call.out


def _small_product(
    path: Statements, node: Node, a: Array, b: Array, memory: Memory
) -> Array | None:
    """A small product of matrices or vectors as a sum over the middle index."""
    if len(a.shape) > 2 or len(b.shape) > 2:
        return _small_stack(path, node, a, b, memory)
    n = a.shape[-1]
    rows = a.shape[:-1]
    columns = b.shape[1:]
    domain = (*rows, n, *columns)
    if np.prod(domain) > (FEW_PRODUCTS if rows and columns else MOST_OF_VECTOR):
        return None
    left = Array(a.memory, a.offset, a.strides + (0,) * len(columns), domain)
    right = Array(b.memory, b.offset, (0,) * len(rows) + b.strides, domain)
    strides = memory.strides
    out = (*strides[: len(rows)], 0, *strides[len(rows) :])
    path.stated(np.multiply, [left, right], node.dtype, Array(memory, 0, out, domain), np.add)
    return memory.whole()


def _small_stack(path: Statements, node: Node, a: Array, b: Array, memory: Memory) -> Array | None:
    """Small products of matrices, one for each index of the axes before."""
    if len(a.shape) < 2 or len(b.shape) < 2:
        return None
    *_, rows, n = a.shape
    columns = b.shape[-1]
    before = node.shape[:-2]
    domain = (*before, rows, n, columns)
    if rows * n * columns > FEW_PRODUCTS or np.prod(domain) > MOST_IN_STACKS:
        return None

    def stacked(x: Array, inner: tuple[int, ...]) -> Array:
        lead = len(before) - (len(x.shape) - 2)
        steps = [0 if m == 1 else s for m, s in zip(x.shape, x.strides, strict=True)]
        return Array(x.memory, x.offset, (*[0] * lead, *steps[:-2], *inner), domain)

    left = stacked(a, (a.strides[-2], a.strides[-1], 0))
    right = stacked(b, (0, b.strides[-2], b.strides[-1]))
    out = (*memory.strides[:-2], memory.strides[-2], 0, memory.strides[-1])
    path.stated(np.multiply, [left, right], node.dtype, Array(memory, 0, out, domain), np.add)
    return memory.whole()


__all__ = ["product", "product_of"]
