"""Cholesky's decomposition and systems of triangular matrices, in LLVM's instructions.

Knows blocks of rows; most of the work is done by the tiles of products. Must not know programs.
"""

from __future__ import annotations

from typing import Any

from tapegrad._native.ir_builder import IRBuilder
from tapegrad._native.tiles import Tiles, Unit


def _blocks(n: int, most: int) -> list[tuple[int, int]]:
    """Where blocks of rows begin, and how many rows they have."""
    return [(start, min(most, n - start)) for start in range(0, n, most)]


class Cholesky:
    """The text of a decomposition: `@KERNEL(matrix, lower, flag, scratch)`.

    The upper factor is computed in scratch, block of rows by block of rows. The flag is set where
    a pivot is not a positive number.
    """

    def __init__(self, dtype: Any, n: int, strides: tuple[int, ...], unit: Unit) -> None:
        self.tiles = tiles = Tiles(dtype, unit)
        self.width = -(-n // tiles.lanes) * tiles.lanes
        self.scratch = n * self.width * tiles.size
        text = IRBuilder()
        text.add("store i8 0, ptr %f")
        self._copy_in(text, n, strides)
        for start, rows in _blocks(n, unit.rows):
            self._factor_block(text, start, rows)
        self._copy_out(text, n)
        self.text = text.function("@KERNEL(ptr %a, ptr %c, ptr %f, ptr %s)")
        self.helpers, self.declarations = tiles.texts, tiles.declarations

    def _copy_in(self, text: IRBuilder, n: int, strides: tuple[int, ...]) -> None:
        """Copy the lower triangle of the matrix into scratch, as an upper one."""
        e, width = self.tiles.element, self.width

        def row(i: Any) -> None:
            line = text.moved("%a", e, i, strides[0])
            target = text.moved("%s", e, i)
            end = text.put(f"add nuw nsw i64 {i}, 1")

            def copy(k: Any) -> None:
                x = text.put(f"load {e}, ptr {text.moved(line, e, k, strides[1])}")
                text.add(f"store {e} {x}, ptr {text.moved(target, e, k, width)}")

            text.loop("0", end, 1, copy)

        text.loop("0", n, 1, row)

    def _factor_block(self, text: IRBuilder, start: int, rows: int) -> None:
        """Subtract what the rows above a block contribute, and finish the block."""
        tiles, width = self.tiles, self.width
        e, lanes = tiles.element, tiles.lanes
        first = start // lanes * lanes  # columns before the block's are of no account
        here = text.moved("%s", e, start * width + first)
        if start:
            left = text.moved("%s", e, start)
            for panels in tiles.panels((width - first) // lanes, 0):

                def tile(i: Any, tail: int, vectors: int = panels.vectors) -> None:
                    right = text.moved(text.moved("%s", e, first), e, i, lanes)
                    name = tiles.tile(rows, vectors, tail, "fsub")
                    text.add(
                        f"call void {name}(ptr {left}, i64 1, i64 {width}, ptr {right}, "
                        f"i64 {width}, ptr {text.moved(here, e, i, lanes)}, "
                        f"i64 {width}, i64 {start}, i1 true)"
                    )

                panels.each(text, tile)
        name = self._rows(rows)
        diagonal = text.moved(here, e, start - first)
        text.add(
            f"call void {name}(ptr {here}, ptr {diagonal}, i64 {width}, "
            f"i64 {width - first}, ptr %f)"
        )

    def _copy_out(self, text: IRBuilder, n: int) -> None:
        """Write the transpose of the upper factor out, with zeros above the diagonal."""
        e, width = self.tiles.element, self.width

        def out(i: Any) -> None:
            target = text.moved("%c", e, i, n)

            def copy(k: Any) -> None:
                x = text.put(f"load {e}, ptr {text.moved(text.moved('%s', e, k, width), e, i)}")
                lower = text.put(f"icmp sle i64 {k}, {i}")
                x = text.put(f"select i1 {lower}, {e} {x}, {e} 0.0")
                text.add(f"store {e} {x}, ptr {text.moved(target, e, k)}")

            text.loop("0", n, 1, copy)

        text.loop("0", n, 1, out)

    def _rows(self, rows: int) -> str:
        """The name of a function that finishes some rows, whose pivots are on a diagonal."""
        tiles = self.tiles
        e, t, lanes = tiles.element, tiles.vector, tiles.lanes
        name = f"@pivots_{e}_{rows}"
        if name in tiles.texts:
            return name
        root = "f64" if e == "double" else "f32"
        tiles.declarations.add(f"declare {e} @llvm.sqrt.{root}({e})")
        text = IRBuilder()
        lines, diagonal = ["%p"], ["%d"]
        for _ in range(1, rows):
            lines.append(text.put(f"getelementptr {e}, ptr {lines[-1]}, i64 %ld"))
            diagonal.append(text.put(f"getelementptr {e}, ptr {diagonal[-1]}, i64 %ld"))
        bad = "false"
        for k in range(rows):
            pivot = text.put(f"load {e}, ptr {text.moved(diagonal[k], e, k)}")
            good = text.put(f"fcmp ogt {e} {pivot}, 0.0")
            less = text.put(f"fcmp olt {e} {pivot}, 0x7FF0000000000000")
            good = text.put(f"and i1 {good}, {less}")
            bad = text.put(f"select i1 {good}, i1 {bad}, i1 true")
            pivot = text.put(f"call {e} @llvm.sqrt.{root}({e} {pivot})")
            factors = []
            for i in range(k + 1, rows):
                x = text.put(f"load {e}, ptr {text.moved(diagonal[k], e, i)}")
                x = text.put(f"fdiv {e} {x}, {pivot}")
                factors.append(tiles.splat(text, text.put(f"fneg {e} {x}")))
            root_of_all = tiles.splat(text, pivot)

            def vector(
                j: Any, k: int = k, factors: list[str] = factors, root: str = root_of_all
            ) -> None:
                place = text.moved(lines[k], e, j)
                x = text.put(f"fdiv {t} {tiles.load(text, place, 0)}, {root}")
                tiles.store(text, x, place, 0)
                for i, factor in enumerate(factors, k + 1):
                    place = text.moved(lines[i], e, j)
                    y = tiles.multiplied(text, factor, x, tiles.load(text, place, 0))
                    tiles.store(text, y, place, 0)

            text.loop("0", "%n", lanes, vector)
        before = text.put("load i8, ptr %f")
        after = text.put(f"zext i1 {bad} to i8")
        text.add(f"store i8 {text.put(f'or i8 {before}, {after}')}, ptr %f")
        tiles.texts[name] = text.function(f"{name}(ptr %p, ptr %d, i64 %ld, i64 %n, ptr %f)")
        return name


class Substitution:
    """The text of a solution of a triangular system: `@KERNEL(triangle, right, out)`.

    The result's rows are contiguous, one after the other; a block of them is what the blocks
    before leave of it, divided by the block on the diagonal.
    """

    def __init__(
        self,
        dtype: Any,
        sizes: tuple[int, int],
        triangle: tuple[int, ...],
        right: tuple[int, ...],
        unit: Unit,
        *,
        upper: bool,
    ) -> None:
        self.tiles = tiles = Tiles(dtype, unit)
        self.upper = upper
        self.scratch = 0
        n, columns = sizes
        e, text = tiles.element, IRBuilder()

        def row(i: Any) -> None:
            source = text.moved("%b", e, i, right[0])
            target = text.moved("%c", e, i, columns)

            def copy(k: Any) -> None:
                x = text.put(f"load {e}, ptr {text.moved(source, e, k, right[1])}")
                text.add(f"store {e} {x}, ptr {text.moved(target, e, k)}")

            text.loop(0, columns, 1, copy)

        text.loop(0, n, 1, row)
        vectors, tail = -(-columns // tiles.lanes), columns % tiles.lanes
        blocks = _blocks(n, unit.rows)
        for start, rows in reversed(blocks) if upper else blocks:
            first, count = (start + rows, n - start - rows) if upper else (0, start)
            here = text.moved("%c", e, start * columns)
            left = text.moved("%a", e, start * triangle[0] + first * triangle[1])
            done = text.moved("%c", e, first * columns)
            corner = text.moved("%a", e, start * (triangle[0] + triangle[1]))

            for panels in tiles.panels(vectors, tail):

                def panel(
                    i: Any,
                    tail: int,
                    size: tuple[int, int] = (rows, panels.vectors),
                    count: int = count,
                    places: tuple[str, ...] = (left, done, here, corner),
                ) -> None:
                    left, done, here, corner = places
                    target = text.moved(here, e, i, tiles.lanes)
                    if count:
                        text.add(
                            f"call void {tiles.tile(*size, tail, 'fsub')}(ptr {left}, "
                            f"i64 {triangle[0]}, i64 {triangle[1]}, "
                            f"ptr {text.moved(done, e, i, tiles.lanes)}, i64 {columns}, "
                            f"ptr {target}, i64 {columns}, i64 {count}, i1 true)"
                        )
                    text.add(
                        f"call void {self._corner(*size, tail)}(ptr {corner}, "
                        f"i64 {triangle[0]}, i64 {triangle[1]}, ptr {target}, i64 {columns})"
                    )

                panels.each(text, panel)
        self.text = text.function("@KERNEL(ptr %a, ptr %b, ptr %c)")
        self.helpers, self.declarations = tiles.texts, tiles.declarations

    def _corner(self, rows: int, vectors: int, tail: int) -> str:
        """The name of a function that solves a small system for a few vectors of columns."""
        tiles = self.tiles
        e, t = tiles.element, tiles.vector
        name = f"@corner_{e}_{'upper' if self.upper else 'lower'}_{rows}_{vectors}_{tail}"
        if name in tiles.texts:
            return name
        text = IRBuilder()
        lines, places = ["%a"], ["%c"]
        for _ in range(1, rows):
            lines.append(text.put(f"getelementptr {e}, ptr {lines[-1]}, i64 %rs"))
            places.append(text.put(f"getelementptr {e}, ptr {places[-1]}, i64 %ld"))
        steps = [text.put(f"mul nsw i64 %cs, {k}") for k in range(rows)]
        order = list(reversed(range(rows))) if self.upper else list(range(rows))
        tails = [0] * (vectors - 1) + [tail]
        solved: dict[tuple[int, int], str] = {}
        for at, i in enumerate(order):
            found = [
                tiles.load(text, text.moved(places[i], e, j * tiles.lanes), tails[j])
                for j in range(vectors)
            ]
            for k in order[:at]:
                x = text.put(f"load {e}, ptr {text.moved(lines[i], e, steps[k])}")
                x = tiles.splat(text, text.put(f"fneg {e} {x}"))
                found = [tiles.multiplied(text, x, solved[k, j], y) for j, y in enumerate(found)]
            pivot = text.put(f"load {e}, ptr {text.moved(lines[i], e, steps[i])}")
            pivot = tiles.splat(text, pivot)
            for j, y in enumerate(found):
                solved[i, j] = text.put(f"fdiv {t} {y}, {pivot}")
                place = text.moved(places[i], e, j * tiles.lanes)
                tiles.store(text, solved[i, j], place, tails[j])
        tiles.texts[name] = text.function(f"{name}(ptr %a, i64 %rs, i64 %cs, ptr %c, i64 %ld)")
        return name


__all__ = ["Cholesky", "Substitution"]
