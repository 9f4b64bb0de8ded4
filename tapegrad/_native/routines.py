"""Calls that are machine code of our own, between loop nests: products, triangular systems.

Knows which calls these are, and how one is divided among threads. Must not know their
instructions (`products.py`, `triangles.py`).
"""

from __future__ import annotations

import functools
import os
from typing import Any

import numpy as np

from tapegrad._native.fourier import Fourier, Shape
from tapegrad._native.llvm import unit
from tapegrad._native.products import Factors, Product
from tapegrad._native.regions import Array, Call, Memory
from tapegrad._native.triangles import Cholesky, Substitution

OURS = 1 << 20  # multiplications of a product, up to which BLAS is not asked for more threads
MANY = 1 << 20  # from which on a product is divided among threads
LEAST = 32  # rows or columns of a part


class Invoked:
    """A text with the memories that it is called with, as loop nests have them."""

    divided = False
    totals = ()

    def __init__(self, made: Any, arrays: list[Array]) -> None:
        self.made = made
        self.memories = [x.memory for x in arrays]
        self.bases = [x.offset for x in arrays]
        self.functions: set[Any] = set()
        self.declarations: set[str] = made.declarations
        self.helpers: dict[str, str] = made.helpers

    def text(self) -> str:
        text: str = self.made.text
        return text


class Routine(Call):
    """A call of our own machine code: one loop nest, or several that can be done at once."""

    __slots__ = ("parts",)

    def __init__(self, call: Call, parts: list[Invoked], scratch: list[Memory]) -> None:
        super().__init__(
            "routine", call.at, call.node, [*call.args, *[m.whole() for m in scratch]]
        )
        self.out, self.level = call.out, call.level
        self.parts = parts


@functools.cache
def blas_threads() -> int:
    """How many threads NumPy's BLAS has, as far as can be known."""
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        given = os.environ.get(name, "")
        if given.isdigit() and int(given):
            return int(given)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def routine(call: Call, threads: int) -> Routine | None:
    """A call as machine code of our own; None where it is NumPy's."""
    if call.out is None or call.kind in ("call", "check"):
        return None
    if call.kind == "fourier":
        (given, shape) = call.args
        return _routine(call, [(_fourier(shape), [given, call.out])])
    a, b = call.args
    if call.kind == "cholesky":
        made = Cholesky(a.dtype, a.shape[0], a.strides, unit())
        return _routine(call, [(made, [a, call.out, b])])
    if call.kind == "substitution":
        return _routine(call, [(_substitution(a, b), [a, b, call.out])])
    factors = _factors(a, b, call.out)
    if factors is None or (factors.size > OURS and blas_threads() > threads):
        return None
    parts = []
    for arrays in _divided(a, b, call.out, factors, threads):
        part = _factors(*arrays)
        assert part is not None
        parts.append((_product(part), list(arrays)))
    return _routine(call, parts)


def _routine(call: Call, parts: list[tuple[Any, list[Array]]]) -> Routine:
    """Texts with their arrays, each with scratch of its own."""
    invoked, scratch = [], []
    for made, arrays in parts:
        if made.scratch:
            scratch.append(Memory((made.scratch,), (1,), np.dtype("?")))
            arrays.append(scratch[-1].whole())
        invoked.append(Invoked(made, arrays))
    return Routine(call, invoked, scratch)


def _substitution(a: Array, b: Array) -> Substitution:
    columns = b.shape[1] if len(b.shape) == 2 else 1
    right = (*b.strides, 1) if len(b.shape) == 1 else b.strides
    sizes = (a.shape[0], columns)
    return Substitution(a.dtype, sizes, a.strides, right, unit(), upper=a.strides[0] == 1)


@functools.lru_cache(64)
def _fourier(shape: Shape) -> Fourier:
    return Fourier(shape)


@functools.lru_cache(256)
def _product(factors: Factors) -> Product:
    return Product(factors, unit())


def _factors(a: Array, b: Array, out: Array) -> Factors | None:
    """A product by its numbers; None for vectors and for what has no elements."""
    if len(a.shape) < 2 or len(b.shape) < 2 or 0 in (*a.shape, *b.shape):
        return None
    before = out.shape[:-2]

    def stack(x: Array) -> tuple[int, ...]:
        own = [0 if n == 1 else s for n, s in zip(x.shape, x.strides, strict=True)][:-2]
        return (*[0] * (len(before) - len(own)), *own)

    columns = b.shape[-1]
    if columns > 1 and out.strides[-1] != 1:
        return None
    right = (b.strides[-2], b.strides[-1] if columns > 1 else 1)
    return Factors(
        out.dtype,
        before,
        a.shape[-2],
        a.shape[-1],
        columns,
        (*stack(a), *a.strides[-2:]),
        (*stack(b), *right),
        (*stack(out), out.strides[-2]),
    )


def _divided(
    a: Array, b: Array, out: Array, factors: Factors, threads: int
) -> list[tuple[Array, Array, Array]]:
    """The product, or parts of it: some rows, or some columns, of the result."""
    by_rows = factors.rows > factors.columns
    extent = factors.rows if by_rows else factors.columns
    count = min(threads, extent // LEAST) if factors.size >= MANY and not factors.before else 1
    if count < 2:
        return [(a, b, out)]
    edges = [extent * i // count // 8 * 8 for i in range(count)] + [extent]
    found = []
    for i in range(count):
        start, n = edges[i], edges[i + 1] - edges[i]
        if by_rows:
            found.append((_part(a, -2, start, n), b, _part(out, -2, start, n)))
        else:
            found.append((a, _part(b, -1, start, n), _part(out, -1, start, n)))
    return found


def _part(x: Array, axis: int, start: int, n: int) -> Array:
    """Some rows or columns of an array."""
    shape = list(x.shape)
    shape[axis] = n
    return Array(x.memory, x.offset + start * x.strides[axis], x.strides, tuple(shape))


__all__ = ["Routine", "routine"]
