"""A function of LLVM's instructions, line by line, with loops.

Knows registers and blocks. Must not know what is computed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class IRBuilder:
    """Lines of a function, with loops."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.count = 0
        self.block = "entry"

    def put(self, instruction: str) -> str:
        self.count += 1
        self.lines.append(f"  %r{self.count} = {instruction}")
        return f"%r{self.count}"

    def add(self, instruction: str) -> None:
        self.lines.append(f"  {instruction}")

    def moved(self, base: str, element: str, index: Any, step: int = 1) -> str:
        """The address of element `index * step` from a base."""
        if index == 0 or step == 0:
            return base
        if type(index) is int:
            return self.put(f"getelementptr {element}, ptr {base}, i64 {index * step}")
        place = index if step == 1 else self.put(f"mul nsw i64 {index}, {step}")
        return self.put(f"getelementptr {element}, ptr {base}, i64 {place}")

    def loop(self, start: Any, stop: Any, step: int, body: Callable[[Any], None]) -> None:
        """`for i in range(start, stop, step)`, of at least one turn."""
        if type(start) is type(stop) is int and stop - start <= step:
            body(start)
            return
        self.count += 1
        n = self.count
        self.lines += [f"  br label %L{n}", f"L{n}:"]
        mark, before = len(self.lines), self.block
        self.lines.append("")
        self.block = f"L{n}"
        body(f"%i{n}")
        self.lines[mark] = f"  %i{n} = phi i64 [ {start}, %{before} ], [ %n{n}, %{self.block} ]"
        self.lines += [
            f"  %n{n} = add nuw nsw i64 %i{n}, {step}",
            f"  %c{n} = icmp slt i64 %n{n}, {stop}",
            f"  br i1 %c{n}, label %L{n}, label %E{n}",
            f"E{n}:",
        ]
        self.block = f"E{n}"

    def function(self, head: str) -> str:
        body = "\n".join(self.lines)
        return (
            f"define internal void {head} noinline nounwind {{\nentry:\n{body}\n  ret void\n}}\n"
        )


__all__ = ["IRBuilder"]
