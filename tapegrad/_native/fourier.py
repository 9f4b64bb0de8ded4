"""Fourier transforms along one axis, in LLVM's instructions.

Knows Stockham's algorithm (W. T. Cochran et al., Proc. IEEE 55, 1967), which needs no reordering:
each stage reads one buffer and writes the other. Must not know programs.

Complex numbers come and go with their parts side by side; between stages all real parts are
together, and all imaginary ones.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

from tapegrad._native.ir_builder import IRBuilder
from tapegrad._native.lanes import hexadecimal

LONGEST = 4096  # elements along the axis, whose factors are in the code
WIDEST = 8  # elements of a vector
DOUBLE = 8  # bytes

Parts = tuple[str, str]


def radices(n: int) -> list[int]:
    """The lengths of small transforms that one of length n is made of; none where one is long."""
    found: list[int] = []
    for radix in (4, 2, 3, 5, 7, 11, 13):
        while n % radix == 0:
            found.append(radix)
            n //= radix
    return found if n == 1 else []


def turn(numerator: int, n: int) -> complex:
    """exp(-2 pi i numerator / n), from an angle in the first eighth of the circle."""
    k = numerator % n
    eighths, rest = divmod(8 * k, n)
    if eighths % 2:
        rest = n - rest
    angle = math.pi / 4 * rest / n
    cosine, sine = math.cos(angle), math.sin(angle)
    if (eighths + 1) // 2 % 2:
        cosine, sine = sine, cosine
    if 2 <= eighths < 6:
        cosine = -cosine
    return complex(cosine, sine if eighths >= 4 else -sine)


class Stage(NamedTuple):
    """Transforms of `radix` elements: `turns` of them, each for `step` elements side by side."""

    radix: int
    turns: int
    step: int
    factors: int  # where its factors begin among those of the transform


class Shape(NamedTuple):
    """A transform along the middle one of three axes, the last of which may have one element."""

    rows: int
    length: int
    columns: int
    inverse: bool
    scale: float


class Fourier:
    """The text of a transform: `@KERNEL(numbers, out, scratch)`."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.size = shape.length * shape.columns
        self.scratch = 4 * self.size * DOUBLE
        self.text_of = IRBuilder()
        self.stages, table = _stages(shape.length, shape.columns)
        self.name = f"@tg_factors_{shape.length}"
        values = ", ".join(f"double {hexadecimal(x)}" for x in table)
        self.helpers = {
            self.name: f"{self.name} = internal constant [{len(table)} x double] [{values}]\n"
        }
        self.declarations: set[str] = set()
        self.text_of.loop(0, shape.rows, 1, self._row)
        self.text = self.text_of.function("@KERNEL(ptr %x, ptr %y, ptr %s)")

    def _row(self, row: Any) -> None:
        given = self.text_of.moved("%x", "double", row, 2 * self.size)
        out = self.text_of.moved("%y", "double", row, 2 * self.size)
        for i, stage in enumerate(self.stages):
            is_last = i == len(self.stages) - 1
            source = _Place(given if i == 0 else self._buffer(i - 1), self, joined=i == 0)
            target = _Place(out if is_last else self._buffer(i), self, joined=is_last)
            self._stage(stage, source, target)

    def _buffer(self, i: int) -> str:
        return self.text_of.moved("%s", "double", i % 2, 2 * self.size)

    def _stage(self, stage: Stage, source: _Place, target: _Place) -> None:
        """All transforms of a stage, in vectors along the longer of its two axes."""
        text = self.text_of
        radix, count, step, _ = stage
        across = width_of(step)
        if across >= width_of(count):

            def along(p: Any) -> None:
                factors = self._factors(stage, p, 1)
                factors = [self._broadcast(x, across) for x in factors]
                rows = _times(text, p, step)
                outs = _times(text, p, radix * step)

                def vector(q: Any) -> None:
                    found = [
                        source.load(_plus(text, rows, q, j * count * step), across, 1)
                        for j in range(radix)
                    ]
                    for k, z in enumerate(self._turned(found, factors, across)):
                        target.store(z, _plus(text, outs, q, k * step), across, 1)

                text.loop(0, step, across, vector)

            text.loop(0, count, 1, along)
            return
        width = width_of(count)

        def column(q: Any) -> None:
            def vector(p: Any) -> None:
                factors = self._factors(stage, p, width)
                rows, outs = _times(text, p, step), _times(text, p, radix * step)
                found = [
                    source.load(_plus(text, rows, q, j * count * step), width, step)
                    for j in range(radix)
                ]
                for k, z in enumerate(self._turned(found, factors, width)):
                    target.store(z, _plus(text, outs, q, k * step), width, radix * step)

            text.loop(0, count, width, vector)

        text.loop(0, step, 1, column)

    def _factors(self, stage: Stage, p: Any, width: int) -> list[Parts]:
        """The factors of all but the first result: vectors of a width, or numbers."""
        if stage.turns == 1:
            return []
        text = self.text_of
        kind = f"<{width} x double>"
        found = []
        for k in range(2 * (stage.radix - 1)):
            start = text.moved(self.name, "double", stage.factors + k * stage.turns)
            found.append(text.put(f"load {kind}, ptr {text.moved(start, 'double', p)}, align 8"))
        return list(zip(found[::2], found[1::2], strict=True))

    def _broadcast(self, factor: Parts, width: int) -> Parts:
        """A number as all elements of a vector."""
        real, imag = [
            self.text_of.put(
                f"shufflevector <1 x double> {x}, <1 x double> poison, "
                f"<{width} x i32> zeroinitializer"
            )
            for x in factor
        ]
        return real, imag

    def _turned(self, z: list[Parts], factors: list[Parts], width: int) -> list[Parts]:
        """The small transform, and its results times their factors."""
        at = _Arithmetic(self.text_of, width)
        out = at.transform(z)
        return (
            out[:1] + [at.product(x, factor) for x, factor in zip(out[1:], factors, strict=True)]
            if factors
            else out
        )


def _stages(n: int, columns: int) -> tuple[list[Stage], list[float]]:
    """The stages of a transform, and the factors of all of them."""
    stages: list[Stage] = []
    table: list[float] = []
    step, left = columns, n
    for radix in radices(n):
        count = left // radix
        stages.append(Stage(radix, count, step, len(table)))
        if count > 1:
            for k in range(1, radix):
                turns = [turn(k * p, left) for p in range(count)]
                table += [x.real for x in turns] + [x.imag for x in turns]
        left, step = count, step * radix
    return stages, table or [1.0]


def width_of(n: int) -> int:
    """The widest vectors that n elements can be cut into."""
    width = 1
    while width < WIDEST and n % (2 * width) == 0:
        width *= 2
    return width


def _times(text: IRBuilder, x: Any, by: int) -> Any:
    if type(x) is int:
        return x * by
    return x if by == 1 else text.put(f"mul nsw i64 {x}, {by}")


def _plus(text: IRBuilder, x: Any, y: Any, z: int) -> Any:
    if type(x) is int:
        x, z = None, x + z
    if type(y) is int:
        y, z = None, y + z
    known = [part for part in (x, y) if part is not None]
    if not known:
        return z
    total = known[0] if len(known) == 1 else text.put(f"add nsw i64 {known[0]}, {known[1]}")
    return text.put(f"add nsw i64 {total}, {z}") if z else total


class _Place:
    """Complex numbers in memory: their parts side by side, or apart."""

    def __init__(self, start: str, of: Fourier, *, joined: bool) -> None:
        self.start, self.text, self.joined = start, of.text_of, joined
        self.size, self.turned = of.size, joined and of.shape.inverse
        self.scale = of.shape.scale if joined else 1.0  # of what is stored

    def load(self, index: Any, width: int, step: int) -> Parts:
        if not self.joined:
            imag = self.text.moved(self.start, "double", self.size)
            return self._vector(self.start, index, width, step), self._vector(
                imag, index, width, step
            )
        text, kind = self.text, f"<{2 * width} x double>"
        if step == 1:
            start = text.moved(self.start, "double", _times(text, index, 2))
            both = text.put(f"load {kind}, ptr {start}, align 8")
            parts = [
                text.put(
                    f"shufflevector {kind} {both}, {kind} poison, <{width} x i32> "
                    f"<{', '.join(f'i32 {2 * i + part}' for i in range(width))}>"
                )
                for part in (0, 1)
            ]
        else:
            index = _times(text, index, 2)
            imag = text.moved(self.start, "double", 1)
            parts = [self._vector(base, index, width, 2 * step) for base in (self.start, imag)]
        return (parts[1], parts[0]) if self.turned else (parts[0], parts[1])

    def _vector(self, base: str, index: Any, width: int, step: int) -> str:
        text, kind = self.text, f"<{width} x double>"
        start = text.moved(base, "double", index)
        if step == 1:
            return text.put(f"load {kind}, ptr {start}, align 8")
        value = "poison"
        for i in range(width):
            one = text.put(f"load double, ptr {text.moved(start, 'double', i * step)}, align 8")
            value = text.put(f"insertelement {kind} {value}, double {one}, i64 {i}")
        return value

    def store(self, z: Parts, index: Any, width: int, step: int) -> None:
        text, kind = self.text, f"<{width} x double>"
        if not self.joined:
            imag = text.moved(self.start, "double", self.size)
            for part, base in zip(z, (self.start, imag), strict=True):
                self._spread(part, text.moved(base, "double", index), width, step)
            return
        if self.scale != 1.0:
            number = f"splat (double {hexadecimal(self.scale)})"
            z = (
                text.put(f"fmul {kind} {z[0]}, {number}"),
                text.put(f"fmul {kind} {z[1]}, {number}"),
            )
        real, imag = z[::-1] if self.turned else z
        start = text.moved(self.start, "double", _times(text, index, 2))
        if step == 1:
            order = ", ".join(f"i32 {i}, i32 {i + width}" for i in range(width))
            both = text.put(
                f"shufflevector {kind} {real}, {kind} {imag}, <{2 * width} x i32> <{order}>"
            )
            text.add(f"store <{2 * width} x double> {both}, ptr {start}, align 8")
            return
        self._spread(real, start, width, 2 * step)
        self._spread(imag, text.moved(start, "double", 1), width, 2 * step)

    def _spread(self, value: str, start: str, width: int, step: int) -> None:
        text, kind = self.text, f"<{width} x double>"
        if step == 1:
            text.add(f"store {kind} {value}, ptr {start}, align 8")
            return
        for i in range(width):
            one = text.put(f"extractelement {kind} {value}, i64 {i}")
            text.add(f"store double {one}, ptr {text.moved(start, 'double', i * step)}, align 8")


class _Arithmetic:
    """Complex arithmetic of vectors."""

    def __init__(self, text: IRBuilder, width: int) -> None:
        self.text, self.width, self.kind = text, width, f"<{width} x double>"

    def _two(self, operation: str, a: str, b: str) -> str:
        return self.text.put(f"{operation} {self.kind} {a}, {b}")

    def _each(self, operation: str, z: Parts, w: Parts) -> Parts:
        return self._two(operation, z[0], w[0]), self._two(operation, z[1], w[1])

    def product(self, z: Parts, factor: Parts) -> Parts:
        (c, s), two = factor, self._two
        return (
            two("fsub", two("fmul", z[0], c), two("fmul", z[1], s)),
            two("fadd", two("fmul", z[0], s), two("fmul", z[1], c)),
        )

    def _times(self, z: Parts, number: float) -> Parts:
        constant = f"splat (double {hexadecimal(number)})"
        return self._two("fmul", z[0], constant), self._two("fmul", z[1], constant)

    def _quarters(self, z: Parts, w: Parts) -> tuple[Parts, Parts]:
        """z - i w and z + i w."""
        two = self._two
        return (
            (two("fadd", z[0], w[1]), two("fsub", z[1], w[0])),
            (two("fsub", z[0], w[1]), two("fadd", z[1], w[0])),
        )

    def transform(self, z: list[Parts]) -> list[Parts]:
        """The transform of a few numbers."""
        if len(z) == 2:
            return [self._each("fadd", *z), self._each("fsub", *z)]
        if len(z) == 4:
            even, odd = self.transform(z[::2]), self.transform(z[1::2])
            first, third = self._each("fadd", even[0], odd[0]), self._each("fsub", even[0], odd[0])
            second, fourth = self._quarters(even[1], odd[1])
            return [first, second, third, fourth]
        return self._odd(z)

    def _odd(self, z: list[Parts]) -> list[Parts]:
        """That of an odd number of them, each with the one as far from the other end."""
        n, half = len(z), len(z) // 2
        sums = [self._each("fadd", z[j], z[n - j]) for j in range(1, half + 1)]
        differences = [self._each("fsub", z[j], z[n - j]) for j in range(1, half + 1)]
        add: Callable[[Parts, Parts], Parts] = functools.partial(self._each, "fadd")
        out = [functools.reduce(add, sums, z[0])] * n
        for k in range(1, half + 1):
            turns = [turn(j * k, n) for j in range(1, half + 1)]
            parts = [self._times(x, w.real) for x, w in zip(sums, turns, strict=True)]
            across = functools.reduce(add, parts, z[0])
            parts = [self._times(x, -w.imag) for x, w in zip(differences, turns, strict=True)]
            out[k], out[n - k] = self._quarters(across, functools.reduce(add, parts))
        return out


__all__ = ["LONGEST", "Fourier", "Shape", "radices"]
