"""A function of LLVM's instructions on vectors: registers, loads and stores, loops.

Knows vectors of one width at a time. Must not know statements.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapegrad._native.native_ops import BOOL, STORED, Registers, literal

WIDEST = 16


class Vectors(Registers):
    """Lines, and the registers and blocks in them."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.head: list[str] = []
        self.count = 0
        self.block = "entry"
        self.width = 1
        self.carried: dict[str, str] = {}  # what is in registers of places, in a loop
        self.declarations: set[str] = set()
        self.functions: set[tuple[Any, int]] = set()  # elementary functions, with their width

    def name(self) -> str:
        self.count += 1
        return f"%r{self.count}"

    def put(self, instruction: str) -> str:
        name = self.name()
        self.lines.append(f"  {name} = {instruction}")
        return name

    def declare(self, text: str) -> None:
        self.declarations.add(text)

    def elementary(self, ufunc: np.ufunc, args: list[str]) -> str:
        wide = 2 if self.width <= 2 else WIDEST
        self.functions.add((ufunc, wide))
        t, full = f"<{self.width} x double>", f"<{wide} x double>"
        given = [self._resized(x, t, self.width, wide) for x in args]
        name = f"@tg_{ufunc.__name__}_{wide}"
        out = self.put(f"call {full} {name}({', '.join(f'{full} {x}' for x in given)})")
        return self._resized(out, full, wide, self.width)

    def _resized(self, x: str, kind: str, before: int, after: int) -> str:
        """A vector with lanes cut off, or with ones appended.

        LLVM 22 miscompiles, for Zen 5, copies of the first lane in place of ones, and with zeros
        it takes 0 / 0 for 0 where the lane is masked later.
        """
        if before == after:
            return x
        lanes = ", ".join(f"i32 {min(i, before)}" for i in range(after))
        element = kind.split(" x ")[1][:-1]
        one = "1.0" if element in ("double", "float") else "1"
        rest = "poison" if after < before else f"splat ({element} {one})"
        return self.put(f"shufflevector {kind} {x}, {kind} {rest}, <{after} x i32> <{lanes}>")

    def _address(self, base: str, dtype: Any, index: str) -> str:
        return self.put(f"getelementptr {STORED[dtype]}, ptr {base}, i64 {index}")

    def loop(
        self,
        extent: Any,
        step: int,
        body: Callable[[str], None],
        start: str = "0",
        carried: Sequence[tuple[str, str]] = (),
    ) -> None:
        """`for i in range(start, extent, step)`, of at least one turn.

        What is `carried`, places and their types, is in registers from turn to turn.
        """
        self.count += 1
        n = self.count
        index, following, more = f"%i{n}", f"%n{n}", f"%c{n}"
        first = [self.put(f"load {t}, ptr {place}, align 64") for place, t in carried]
        self.lines += [f"  br label %L{n}", f"L{n}:"]
        mark = len(self.lines)
        self.lines.append("")
        before, self.block = self.block, f"L{n}"
        self.carried = {place: f"%v{n}_{k}" for k, (place, _) in enumerate(carried)}
        body(index)
        last, self.carried = self.carried, {}
        phis = [f"  {index} = phi i64 [ {start}, %{before} ], [ {following}, %{self.block} ]"]
        phis += [
            f"  %v{n}_{k} = phi {t} [ {first[k]}, %{before} ], [ {last[place]}, %{self.block} ]"
            for k, (place, t) in enumerate(carried)
        ]
        self.lines[mark] = "\n".join(phis)
        self.lines += [
            f"  {following} = add nuw nsw i64 {index}, {step}",
            f"  {more} = icmp slt i64 {following}, {extent}",
            f"  br i1 {more}, label %L{n}, label %E{n}",
            f"E{n}:",
        ]
        self.lines += [f"  store {t} {last[place]}, ptr {place}, align 64" for place, t in carried]
        self.block = f"E{n}"

    def load_one(self, start: str, dtype: Any) -> str:
        return self._load(start, dtype, 1, 1)

    def _load(self, start: str, dtype: Any, lanes: int, step: int) -> str:
        kind = STORED[dtype]
        t, width = f"<{self.width} x {kind}>", self.width
        if step == 1:
            value = self.put(f"load <{lanes} x {kind}>, ptr {start}, align {alignment(dtype)}")
            value = self._resized(value, f"<{lanes} x {kind}>", lanes, width)
        elif step == -1:
            first = self._address(start, dtype, str(1 - lanes))
            value = self.put(f"load <{lanes} x {kind}>, ptr {first}, align {alignment(dtype)}")
            order = ", ".join(f"i32 {lanes - 1 - i}" for i in range(lanes))
            short = f"<{lanes} x {kind}>"
            value = self.put(
                f"shufflevector {short} {value}, {short} poison, <{lanes} x i32> <{order}>"
            )
            value = self._resized(value, short, lanes, width)
        else:
            value = "zeroinitializer"
            for i in range(lanes):
                place = self._address(start, dtype, str(i * step)) if i else start
                one = self.put(f"load {kind}, ptr {place}, align {alignment(dtype)}")
                value = self.put(f"insertelement {t} {value}, {kind} {one}, i64 {i}")
        return self._unpacked(value, dtype)

    def _unpacked(self, value: str, dtype: Any) -> str:
        if dtype != BOOL:
            return value
        return self.put(f"icmp ne <{self.width} x i8> {value}, zeroinitializer")

    def _store(self, value: str, start: str, dtype: Any, lanes: int, step: int) -> None:
        kind, width = STORED[dtype], self.width
        t = f"<{width} x {kind}>"
        if dtype == BOOL:
            value = self.put(f"zext <{width} x i1> {value} to {t}")
        align = alignment(dtype)
        if step == 1:
            value = self._resized(value, t, width, lanes)
            self.lines.append(f"  store <{lanes} x {kind}> {value}, ptr {start}, align {align}")
            return
        for i in range(lanes if step else 1):
            one = self.put(f"extractelement {t} {value}, i64 {i}")
            place = self._address(start, dtype, str(i * step)) if i else start
            self.lines.append(f"  store {kind} {one}, ptr {place}, align {align}")


def alignment(dtype: Any) -> int:
    return int(dtype.itemsize)


def stored_literal(value: Any, dtype: Any) -> str:
    return f"splat (i8 {int(value)})" if dtype == BOOL else literal(value, dtype)


__all__ = ["WIDEST", "Vectors", "alignment", "stored_literal"]
