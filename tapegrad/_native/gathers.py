"""Reads and writes of elements at places that are data, as instructions of a loop.

Knows vectors of indices. Must not know what a program's calls mean.

An index that is beyond its axis is taken for 0: the path asks whether there is one, and then what
was computed is not used.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad._native.native_ops import BOOL, STORED, Registers, compute, inside

INDEX = np.dtype("i8")


def offsets(at: Registers, indices: list[tuple[str, int, int]]) -> str:
    """The sum of indices, each within its length, times strides."""
    t = at.vector(INDEX)
    total = ""
    for x, length, stride in indices:
        x = inside(at, x, length)
        if stride != 1:
            x = at.put(f"mul nsw {t} {x}, splat (i64 {stride})")
        total = at.put(f"add nsw {t} {total}, {x}") if total else x
    return total


def first_of(at: Registers, vector: str) -> str:
    return at.put(f"extractelement {at.vector(INDEX)} {vector}, i64 0")


def gathered(at: Registers, starts: list[str], dtype: Any) -> str:
    """A vector, as it is stored, of the elements at addresses; the other lanes are ones."""
    kind = STORED[dtype]
    t = f"<{at.width} x {kind}>"
    value = f"splat ({kind} {'1.0' if kind in ('double', 'float') else '1'})"
    for i, start in enumerate(starts):
        one = at.put(f"load {kind}, ptr {start}, align {dtype.itemsize}")
        value = at.put(f"insertelement {t} {value}, {kind} {one}, i64 {i}")
    return value


def scattered(at: Any, value: str, starts: list[str], dtype: Any, ufunc: Any) -> None:
    """Store, or combine, the lanes of a vector at addresses, one after another."""
    width, t = at.width, at.vector(dtype)
    ones = [
        at.put(f"shufflevector {t} {value}, {t} poison, <1 x i32> <i32 {i}>")
        for i in range(len(starts))
    ]
    at.width = 1
    for start, one in zip(starts, ones, strict=True):
        if ufunc is not None:
            one = compute(at, ufunc, [at.load_one(start, dtype), one], dtype)
        if dtype == BOOL:
            one = at.put(f"zext <1 x i1> {one} to <1 x i8>")
        at.lines.append(
            f"  store <1 x {STORED[dtype]}> {one}, ptr {start}, align {dtype.itemsize}"
        )
    at.width = width


__all__ = ["INDEX", "first_of", "gathered", "offsets", "scattered"]
