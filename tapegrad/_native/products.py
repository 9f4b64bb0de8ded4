"""Products of matrices in LLVM's instructions.

Knows blocks of a product. Must not know programs, nor the instructions of a tile (`tiles.py`).

A tile is some rows times a few vectors of columns; its elements are summed along the middle axis
in order, by blocks. The right factor is read where it lies, if its rows are contiguous and it is
small; else a block of it is copied into panels as wide as a tile. So no transposed factor costs a
copy of its own. Fused multiply-add is used where the processor has it, as BLAS does: products of
matrices round as they may.
"""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

from tapegrad._native.ir_builder import IRBuilder
from tapegrad._native.tiles import Panels, Tiles, Unit, even

MIDDLE = 256  # elements of the middle axis in a block
PANELS = 1 << 19  # bytes of a block of the right factor
NEAR = 1 << 15  # bytes of a right factor that is read where it lies


class Factors(NamedTuple):
    """A product by numbers alone: the text of two equal ones is the same."""

    dtype: Any
    before: tuple[int, ...]  # lengths of the axes of a stack
    rows: int
    middle: int
    columns: int
    left: tuple[int, ...]  # strides: of the stack's axes, of rows, of the middle axis
    right: tuple[int, ...]  # of the stack's axes, of the middle axis, of columns
    out: tuple[int, ...]  # of the stack's axes, of rows; columns are contiguous

    @property
    def size(self) -> int:
        """The multiplications."""
        return math.prod(self.before) * self.rows * self.middle * self.columns


class Product:
    """The text of a product: `@KERNEL(left, right, out)`, and scratch, if it needs any."""

    def __init__(self, factors: Factors, unit: Unit) -> None:
        f = self.factors = factors
        self.tiles = Tiles(f.dtype, unit)
        self.element, self.lanes = self.tiles.element, self.tiles.lanes
        small = f.rows <= 2 * unit.rows or f.middle * f.columns * f.dtype.itemsize <= NEAR
        self.near = f.right[-1] == 1 and small
        vectors = -(-f.columns // self.lanes)
        middle = min(f.middle, MIDDLE)
        most = vectors if self.near else max(1, PANELS // (middle * unit.bytes))
        self.blocks = [
            (start + i * size, start + (i + 1) * size)
            for count, size, start in even(vectors, most)
            for i in range(count)
        ]
        widest = max(stop - start for start, stop in self.blocks)
        self.scratch = 0 if self.near else widest * middle * unit.bytes
        text = IRBuilder()
        self._stack(text, 0, ["%a", "%b", "%c"])
        scratch = ", ptr %s" if self.scratch else ""
        self.text = text.function(f"@KERNEL(ptr %a, ptr %b, ptr %c{scratch})")
        self.helpers, self.declarations = self.tiles.texts, self.tiles.declarations

    def _stack(self, text: IRBuilder, axis: int, places: list[str]) -> None:
        """Loops over a stack of products, from an axis on."""
        f = self.factors
        if axis == len(f.before):
            self._one(text, *places)
            return
        steps = [x[axis] for x in (f.left, f.right, f.out)]

        def body(i: Any) -> None:
            both = zip(places, steps, strict=True)
            self._stack(text, axis + 1, [text.moved(p, self.element, i, s) for p, s in both])

        text.loop(0, f.before[axis], 1, body)

    def _one(self, text: IRBuilder, a: str, b: str, c: str) -> None:
        """One product of two matrices."""
        f = self.factors
        if self.near:
            self._block(text, a, b, c, self.blocks[0], f.middle, "false")
            return
        whole = f.middle // MIDDLE * MIDDLE
        for block in self.blocks:

            def part(k: Any, n: int, more: str, block: tuple[int, int] = block) -> None:
                left = text.moved(a, self.element, k, f.left[-1])
                right = text.moved(b, self.element, k, f.right[-2])
                right = text.moved(right, self.element, block[0] * self.lanes, f.right[-1])
                self._pack(text, right, block, n)
                self._block(text, left, "%s", c, block, n, more)

            further = functools.partial(part, n=MIDDLE, more="true")
            if whole:
                part(0, MIDDLE, "false")
            if whole > MIDDLE:
                text.loop(MIDDLE, whole, MIDDLE, further)
            if f.middle > whole:
                part(whole, f.middle - whole, "true" if whole else "false")

    def _panels(self, block: tuple[int, int]) -> list[Panels]:
        """The panels of a block, whose vectors are counted from its first."""
        columns = self.factors.columns
        tail = columns % self.lanes if block[1] * self.lanes >= columns else 0
        return self.tiles.panels(block[1] - block[0], tail)

    def _block(
        self, text: IRBuilder, a: str, b: str, c: str, block: tuple[int, int], n: int, more: str
    ) -> None:
        """All tiles of a block of columns, for a part of the middle axis."""
        f, tiles = self.factors, self.tiles
        c = text.moved(c, self.element, block[0] * self.lanes)

        def rows(place: Any, size: int) -> None:
            left = text.moved(a, self.element, place, f.left[-2])
            out = text.moved(c, self.element, place, f.out[-1])
            for panels in self._panels(block):

                def tile(i: Any, tail: int, vectors: int = panels.vectors) -> None:
                    right = text.moved(b, self.element, i, self.lanes * (1 if self.near else n))
                    width = f.right[-2] if self.near else vectors * self.lanes
                    target = text.moved(out, self.element, i, self.lanes)
                    text.add(
                        f"call void {tiles.tile(size, vectors, tail)}(ptr {left}, "
                        f"i64 {f.left[-2]}, i64 {f.left[-1]}, ptr {right}, i64 {width}, "
                        f"ptr {target}, i64 {f.out[-1]}, i64 {n}, i1 {more})"
                    )

                panels.each(text, tile)

        for count, size, start in even(f.rows, tiles.unit.rows):
            text.loop(start, start + count * size, size, functools.partial(rows, size=size))

    def _pack(self, text: IRBuilder, b: str, block: tuple[int, int], n: int) -> None:
        """Copy a block of the right factor: panel by panel, each row of it contiguous."""
        down, along = self.factors.right[-2:]
        kind = "rows" if along == 1 else "columns" if down == 1 else "elements"

        def panel(start: Any, tail: int, vectors: int) -> None:
            source = text.moved(b, self.element, start, self.lanes * along)
            target = text.moved("%s", self.element, start, self.lanes * n)
            if kind == "rows":
                name = self.tiles.packer(kind, vectors, tail)
                text.add(f"call void {name}(ptr {source}, ptr {target}, i64 {down}, i64 {n})")
                return
            for j in range(vectors):
                name = self.tiles.packer(kind, 1, tail if j == vectors - 1 else 0)
                one = text.moved(source, self.element, j, self.lanes * along)
                place = text.moved(target, self.element, j, self.lanes)
                text.add(
                    f"call void {name}(ptr {one}, ptr {place}, i64 {along}, i64 {down}, "
                    f"i64 {vectors * self.lanes}, i64 {n})"
                )

        for panels in self._panels(block):
            panels.each(text, functools.partial(panel, vectors=panels.vectors))


__all__ = ["Factors", "Product"]
