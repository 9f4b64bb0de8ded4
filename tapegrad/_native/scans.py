"""Loop nests of other kinds: running sums, and what combines the parts of a divided nest.

Knows loops and registers. Must not know what a program's calls mean.
"""

from __future__ import annotations

from typing import Any

from tapegrad._native.kernels import Kernel
from tapegrad._native.native_ops import BOOL, STORED, Registers, cast, compute, literal
from tapegrad._native.nests import Loop
from tapegrad._native.regions import Number
from tapegrad._native.vectors import alignment


class Total(Registers):
    """The text of a function that combines what the parts of a divided loop nest give."""

    def __init__(self, name: str, ufunc: Any, dtype: Any, parts: int, stride: int) -> None:
        self.lines: list[str] = []
        self.declarations: set[str] = set()
        self.count, self.width = 0, 1
        kind = STORED[dtype]
        value = ""
        for i in range(parts):
            place = self.put(f"getelementptr i8, ptr %parts, i64 {i * stride}") if i else "%parts"
            one = self.put(f"load <1 x {kind}>, ptr {place}, align {alignment(dtype)}")
            if dtype == BOOL:
                one = self.put(f"icmp ne <1 x i8> {one}, zeroinitializer")
            value = compute(self, ufunc, [value, one], dtype) if value else one
        if dtype == BOOL:
            value = self.put(f"zext <1 x i1> {value} to <1 x i8>")
        self.lines.append(f"  store <1 x {kind}> {value}, ptr %out, align {alignment(dtype)}")
        head = f"define internal void {name}(ptr %parts, ptr %out) noinline nounwind {{\nentry:\n"
        self.text = head + "\n".join(self.lines) + "\n  ret void\n}\n"

    def put(self, instruction: str) -> str:
        self.count += 1
        self.lines.append(f"  %r{self.count} = {instruction}")
        return f"%r{self.count}"

    def declare(self, text: str) -> None:
        self.declarations.add(text)


class ScanKernel(Kernel):
    """A loop nest in which each element is combined with that before it along an axis."""

    def _write(self) -> None:
        ((s, operands, _),) = self.plan
        n = len(self.arrays)
        loops = [
            Loop(extent, [self.arrays[i].strides[axis] for i in range(n)])
            for axis, extent in enumerate(s.shape)
        ]
        along = loops.pop(s.op.axis)
        self.width, self.fixed = 1, {}
        self.loops = [*loops, along]
        t, dtype = self.vector(s.out.dtype), s.out.dtype
        place = "%s0"
        self.head.append(f"  {place} = alloca {t}, align 64")

        def one(rows: list[str], j: str, before: str | None) -> None:
            args = [self._value(x, {}, {}, rows, j, 1) for x in operands]
            (x,) = [
                literal(x.value, dtype) if type(x) is Number else cast(self, x, kind, dtype)
                for x, kind in args
            ]
            if before is not None:
                x = compute(self, s.op.ufunc, [before, x], dtype)
            self.lines.append(f"  store {t} {x}, ptr {place}, align 64")
            self._stored(x, s.out, rows, j, 1)

        def run(rows: list[str]) -> None:
            one(rows, "0", None)

            def body(j: str) -> None:
                one(rows, j, self.put(f"load {t}, ptr {place}, align 64"))

            self.loop(along.extent, 1, body, "1")

        def nest(outer: list[Loop], rows: list[str]) -> None:
            if not outer:
                run(rows)
                return

            def body(i: str) -> None:
                moved = [
                    self._moved(row, x.dtype, i, step)
                    for row, x, step in zip(rows, self.arrays, outer[0].steps, strict=True)
                ]
                nest(outer[1:], moved)

            self.loop(outer[0].extent, 1, body)

        nest(loops, [self._start(i) for i in range(n)])


__all__ = ["ScanKernel", "Total"]
