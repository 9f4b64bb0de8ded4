"""Tiles of a product that are held in registers, and panels of a factor that they read.

Knows vectors and processors. Must not know which tiles make up a product (`products.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from tapegrad._native.ir_builder import IRBuilder


class Unit(NamedTuple):
    """Features of a processor for products: bytes of a vector, and the largest tile."""

    bytes: int
    rows: int
    vectors: int
    fused: bool


def unit_of(features: dict[str, bool]) -> Unit:
    """The unit of a processor with some features."""
    fused = features.get("fma", False)
    if features.get("avx512f", False):
        return Unit(64, 8, 3, fused)
    return Unit(32 if features.get("avx", False) else 16, 4, 3, fused)


def even(count: int, most: int) -> list[tuple[int, int, int]]:
    """So many things in groups of at most so many: how many groups of a size, and the start.

    The larger groups come first, and differ from the others by one.
    """
    groups = -(-count // most)
    size, larger = divmod(count, groups)
    found = [(larger, size + 1, 0), (groups - larger, size, larger * (size + 1))]
    return [group for group in found if group[0]]


class Panels(NamedTuple):
    """Panels of some vectors, side by side."""

    number: int
    vectors: int
    start: int  # vectors before
    tail: int  # columns of the last vector of the last panel; 0 if all

    def each(self, text: IRBuilder, body: Callable[[Any, int], None]) -> None:
        """A loop over where panels start, and the last one by itself if it has a tail."""
        whole = self.number - bool(self.tail)
        end = self.start + whole * self.vectors
        if whole:
            text.loop(self.start, end, self.vectors, lambda i: body(i, 0))
        if self.tail:
            body(end, self.tail)


class Tiles:
    """Functions of one dtype, as a product asks for them, and what they declare."""

    def __init__(self, dtype: Any, unit: Unit) -> None:
        self.unit, self.size = unit, int(dtype.itemsize)
        self.element = "double" if self.size == 8 else "float"
        self.lanes = unit.bytes // self.size
        self.vector = f"<{self.lanes} x {self.element}>"
        self.texts: dict[str, str] = {}  # by name
        self.declarations: set[str] = set()

    def panels(self, vectors: int, tail: int) -> list[Panels]:
        """So many vectors, of the last of which so many columns are there, in panels."""
        found = even(vectors, self.unit.vectors)
        return [
            Panels(*group, tail if i == len(found) - 1 else 0) for i, group in enumerate(found)
        ]

    def tile(self, rows: int, vectors: int, tail: int, more: str = "fadd") -> str:
        """The name of a function that computes a tile, or adds to one (or subtracts from it).

        Of the last vector so many columns are there; all, if that is 0.
        """
        name = f"@tile_{self.element}_{rows}_{vectors}_{tail}_{more}"
        if name not in self.texts:
            self.texts[name] = self._tile(name, rows, vectors, tail, more)
        return name

    def packer(self, kind: str, vectors: int, tail: int) -> str:
        """The name of a function that copies a panel whose rows are contiguous ("rows").

        If its columns are, or neither ("columns", "elements"), it copies one vector of a panel.
        """
        vectors = vectors if kind == "rows" else 1
        name = f"@pack_{self.element}_{kind}_{vectors}_{tail}"
        if name not in self.texts:
            text = IRBuilder()
            if kind == "rows":
                self._pack_rows(text, vectors, tail)
            elif kind == "columns":
                self._pack_columns(text, tail)
            else:
                self._pack_elements(text, tail)
            more = "" if kind == "rows" else ", i64 %inner, i64 %width"
            self.texts[name] = text.function(f"{name}(ptr %b, ptr %t, i64 %step{more}, i64 %n)")
        return name

    def _mask(self, tail: int) -> str:
        bits = ", ".join(f"i1 {'true' if i < tail else 'false'}" for i in range(self.lanes))
        return f"<{self.lanes} x i1> <{bits}>"

    def _short(self) -> str:
        return f"v{self.lanes}f{8 * self.size}"

    def load(self, text: IRBuilder, place: str, tail: int) -> str:
        """A vector, or so many lanes of one and zeros."""
        t, size = self.vector, self.size
        if not tail:
            return text.put(f"load {t}, ptr {place}, align {size}")
        bits = f"<{self.lanes} x i1>"
        name = f"@llvm.masked.load.{self._short()}.p0"
        self.declarations.add(f"declare {t} {name}(ptr, i32 immarg, {bits}, {t})")
        return text.put(
            f"call {t} {name}(ptr {place}, i32 {size}, {self._mask(tail)}, {t} zeroinitializer)"
        )

    def store(self, text: IRBuilder, x: str, place: str, tail: int) -> None:
        t, size = self.vector, self.size
        if not tail:
            text.add(f"store {t} {x}, ptr {place}, align {size}")
            return
        bits = f"<{self.lanes} x i1>"
        name = f"@llvm.masked.store.{self._short()}.p0"
        self.declarations.add(f"declare void {name}({t}, ptr, i32 immarg, {bits})")
        text.add(f"call void {name}({t} {x}, ptr {place}, i32 {size}, {self._mask(tail)})")

    def _tile(self, name: str, rows: int, vectors: int, tail: int, adding: str) -> str:
        text, e, t = IRBuilder(), self.element, self.vector
        tails = [0] * (vectors - 1) + [tail]
        left = ["%a"]
        out = ["%c"]
        for _ in range(1, rows):
            left.append(text.put(f"getelementptr {e}, ptr {left[-1]}, i64 %rs"))
            out.append(text.put(f"getelementptr {e}, ptr {out[-1]}, i64 %ldc"))
        sums = [(i, j) for i in range(rows) for j in range(vectors)]
        text.lines += ["  br label %L", "L:"]
        mark = len(text.lines)
        b = [
            self.load(text, text.moved("%pb", e, j * self.lanes), tails[j]) for j in range(vectors)
        ]
        made: dict[tuple[int, int], str] = {}
        for i in range(rows):
            place = text.put(f"getelementptr {e}, ptr {left[i]}, i64 %ka")
            one = text.put(f"load {e}, ptr {place}, align {self.size}")
            one = self.splat(text, one)
            for j in range(vectors):
                made[i, j] = self.multiplied(text, one, b[j], f"%s{i}_{j}")
        phis = [
            "  %k = phi i64 [ 0, %entry ], [ %kn, %L ]",
            "  %ka = phi i64 [ 0, %entry ], [ %kan, %L ]",
            "  %pb = phi ptr [ %b, %entry ], [ %pbn, %L ]",
        ]
        phis += [
            f"  %s{i}_{j} = phi {t} [ zeroinitializer, %entry ], [ {made[i, j]}, %L ]"
            for i, j in sums
        ]
        text.lines[mark:mark] = phis
        text.lines += [
            "  %kn = add nuw nsw i64 %k, 1",
            "  %kan = add nsw i64 %ka, %cs",
            f"  %pbn = getelementptr {e}, ptr %pb, i64 %ldb",
            "  %go = icmp slt i64 %kn, %n",
            "  br i1 %go, label %L, label %E",
            "E:",
            "  br i1 %more, label %add, label %set",
            "add:",
        ]
        for more in (True, False):
            for i, j in sums:
                place = text.moved(out[i], e, j * self.lanes)
                x = made[i, j]
                if more:
                    before = self.load(text, place, tails[j])
                    x = text.put(f"{adding} {t} {before}, {x}")
                self.store(text, x, place, tails[j])
            if more:
                text.lines += ["  ret void", "set:"]
        return text.function(
            f"{name}(ptr %a, i64 %rs, i64 %cs, ptr %b, i64 %ldb, ptr %c, i64 %ldc, i64 %n, "
            "i1 %more)"
        )

    def splat(self, text: IRBuilder, x: str) -> str:
        """A vector of one number."""
        t, zeros = self.vector, f"<{self.lanes} x i32> zeroinitializer"
        x = text.put(f"insertelement {t} poison, {self.element} {x}, i64 0")
        return text.put(f"shufflevector {t} {x}, {t} poison, {zeros}")

    def multiplied(self, text: IRBuilder, a: str, b: str, total: str) -> str:
        t = self.vector
        if not self.unit.fused:
            return text.put(f"fadd {t} {text.put(f'fmul {t} {a}, {b}')}, {total}")
        name = f"@llvm.fma.{self._short()}"
        self.declarations.add(f"declare {t} {name}({t}, {t}, {t})")
        return text.put(f"call {t} {name}({t} {a}, {t} {b}, {t} {total})")

    def _pack_rows(self, text: IRBuilder, vectors: int, tail: int) -> None:
        def row(k: Any) -> None:
            place = text.put(f"mul nsw i64 {k}, %step")
            source = text.moved("%b", self.element, place)
            target = text.moved("%t", self.element, k, vectors * self.lanes)
            for j in range(vectors):
                x = self.load(
                    text,
                    text.moved(source, self.element, j * self.lanes),
                    tail if j == vectors - 1 else 0,
                )
                self.store(text, x, text.moved(target, self.element, j * self.lanes), 0)

        text.loop("0", "%n", 1, row)

    def _pack_columns(self, text: IRBuilder, tail: int) -> None:
        """Squares are turned in registers; what is left over goes element by element."""
        lanes = self.lanes
        square = text.put(f"sub nsw i64 %n, {lanes}")
        columns = [text.put(f"mul nsw i64 {c}, %step") for c in range(tail or lanes)]
        starts = [text.moved("%b", self.element, c) for c in columns]

        def block(k: Any) -> None:
            """Rows from k on, or from n - lanes on, where fewer are left."""
            inside = text.put(f"icmp sle i64 {k}, {square}")
            k = text.put(f"select i1 {inside}, i64 {k}, i64 {square}")
            rows = [self.load(text, text.moved(c, self.element, k), 0) for c in starts]
            rows += ["zeroinitializer"] * (lanes - len(rows))
            place = text.moved("%t", self.element, text.put(f"mul nsw i64 {k}, %width"))
            for i, x in enumerate(self._turned(text, rows)):
                self.store(text, x, place, 0)
                if i < lanes - 1:
                    place = text.put(f"getelementptr {self.element}, ptr {place}, i64 %width")

        text.lines += [f"  %many = icmp sge i64 {square}, 0", "  br i1 %many, label %M, label %F"]
        text.lines.append("M:")
        text.block = "M"
        text.loop("0", "%n", lanes, block)
        text.lines += ["  ret void", "F:"]
        text.block = "F"
        self._pack_elements(text, tail, inner="1")

    def _turned(self, text: IRBuilder, rows: list[str]) -> list[str]:
        """A square of vectors, transposed."""
        lanes, t, distance = self.lanes, self.vector, 1
        rows = list(rows)
        while distance < lanes:
            for i in range(lanes):
                if i & distance:
                    continue
                a, b = rows[i], rows[i + distance]
                low = [lanes + k - distance if k & distance else k for k in range(lanes)]
                high = [lanes + k if k & distance else k + distance for k in range(lanes)]
                rows[i], rows[i + distance] = [
                    text.put(
                        f"shufflevector {t} {a}, {t} {b}, <{lanes} x i32> "
                        f"<{', '.join(f'i32 {k}' for k in order)}>"
                    )
                    for order in (low, high)
                ]
            distance *= 2
        return rows

    def _pack_elements(self, text: IRBuilder, tail: int, inner: str = "%inner") -> None:
        def row(k: Any) -> None:
            source = text.moved("%b", self.element, text.put(f"mul nsw i64 {k}, {inner}"))
            target = text.moved("%t", self.element, text.put(f"mul nsw i64 {k}, %width"))
            for c in range(self.lanes):
                one = "0.0"
                if c < (tail or self.lanes):
                    at = text.moved(source, self.element, text.put(f"mul nsw i64 {c}, %step"))
                    one = text.put(f"load {self.element}, ptr {at}, align {self.size}")
                at = text.moved(target, self.element, c)
                text.add(f"store {self.element} {one}, ptr {at}, align {self.size}")

        text.loop("0", "%n", 1, row)


__all__ = ["Panels", "Tiles", "Unit", "even", "unit_of"]
