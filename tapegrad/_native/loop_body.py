"""One turn of an innermost loop: all statements, for one vector of elements.

Knows operands and results. Must not know which loops there are around.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tapegrad._native.gathers import INDEX, first_of, gathered, offsets, scattered
from tapegrad._native.native_ops import (
    BOOL,
    LOGICAL,
    REDUCERS,
    STORED,
    Cast,
    Where,
    cast,
    compute,
    literal,
)
from tapegrad._native.nests import Nest
from tapegrad._native.regions import Array, Number, Place, Statement
from tapegrad._native.vectors import alignment


class LoopBody(Nest):
    """Instructions of one turn of the innermost loop."""

    def __init__(self, statements: list[Statement], along: int | None = None) -> None:
        super().__init__(statements, along)
        self.accumulators: list[Statement] = []  # reductions along the innermost loop
        self.sums: dict[int, str] = {}  # where they are
        self.fixed: dict[int, str] = {}  # vectors that are the same in all turns

    def _body(self, rows: list[str], j: str, lanes: int, mask: str | None = None) -> None:
        """All statements, for one vector, of which so many lanes are of account."""
        registers: dict[Any, str] = {}
        loads: dict[int, str] = dict(self.fixed)
        at = 0
        for s, operands, stored in self.plan:
            args = [self._value(x, registers, loads, rows, j, lanes) for x in operands]
            if s.places is not None:
                value = self._computed(s, args[: len(s.operands)])
                self._scatter(s, value, operands, args, rows, j, lanes)
                continue
            value = self._computed(s, args)
            if s.reduces is None:
                key = self._key(s.out)
                registers[key] = value
                if stored:
                    self._stored(value, s.out, rows, j, lanes)
            elif s in self.accumulators:
                self._accumulate(s, self.sums[at], value, lanes, mask)
                at += 1
            else:
                self._add_to_row(s, value, rows, j, lanes)

    def _value(
        self,
        x: Any,
        registers: dict[Any, str],
        loads: dict[int, str],
        rows: list[str],
        j: str,
        lanes: int,
    ) -> tuple[Any, Any]:
        """An operand's vector, or number, and its dtype."""
        if type(x) is Number:
            return x, None
        if x[0] == "register":
            return registers[x[1]], self._dtypes[x[1]]
        number = x[1]
        if x[0] == "gather":
            given = [self._value(y, registers, loads, rows, j, lanes) for y in x[2]]
            return self._gathered(x, given, rows[number], j, lanes), self.arrays[number].dtype
        if number not in loads or self.rereads:
            loads[number] = self._loaded(number, rows[number], j, lanes)
        return loads[number], self.arrays[number].dtype

    def _offsets(self, places: Sequence[Place], given: list[tuple[Any, Any]]) -> str:
        found = []
        for place, (x, before) in zip(places, given, strict=True):
            x = literal(x.value, INDEX) if type(x) is Number else cast(self, x, before, INDEX)
            found.append((x, place.length, place.stride))
        return offsets(self, found)

    def _is_one_row(self, operands: list[Any]) -> bool:
        """Whether places are the same in all turns of the innermost loop."""
        inner = self.loops[-1]
        return all(
            type(x) is Number or (x[0] == "load" and not inner.steps[x[1]]) for x in operands
        )

    def _addresses(self, number: int, row: str, offset: str, j: str, lanes: int) -> list[str]:
        """The address of each lane's element."""
        dtype, step = self.arrays[number].dtype, self.loops[-1].steps[number]
        start = self._moved(row, dtype, j, step)
        found = []
        for i in range(lanes):
            one = self.put(f"extractelement {self.vector(INDEX)} {offset}, i64 {i}")
            moved = self._address(start, dtype, one)
            found.append(self._address(moved, dtype, str(i * step)) if i * step else moved)
        return found

    def _gathered(self, x: Any, given: list[tuple[Any, Any]], row: str, j: str, lanes: int) -> str:
        _, number, operands, places = x
        dtype = self.arrays[number].dtype
        offset = self._offsets(places, given)
        step = self.loops[-1].steps[number]
        if self._is_one_row(operands) and step:
            start = self._address(row, dtype, first_of(self, offset))
            return self._load(self._moved(start, dtype, j, step), dtype, lanes, step)
        starts = self._addresses(number, row, offset, j, lanes)
        return self._unpacked(gathered(self, starts, dtype), dtype)

    def _scatter(
        self,
        s: Statement,
        value: str,
        operands: list[Any],
        args: list[tuple[Any, Any]],
        rows: list[str],
        j: str,
        lanes: int,
    ) -> None:
        """Store a vector's lanes at places that are data, or combine them into what is there."""
        assert s.places is not None
        number, dtype = self.numbers[self._key(s.out)], s.out.dtype
        row, step = rows[number], self.loops[-1].steps[number]
        offset = self._offsets(s.places, args[len(s.operands) :])
        if self._is_one_row(operands[len(s.operands) :]) and step:
            start = self._address(row, dtype, first_of(self, offset))
            start = self._moved(start, dtype, j, step)
            if s.reduces is not None:
                before = self._load(start, dtype, lanes, step)
                value = compute(self, s.reduces, [before, value], dtype)
            self._store(value, start, dtype, lanes, step)
            return
        scattered(self, value, self._addresses(number, row, offset, j, lanes), dtype, s.reduces)

    def _moved(self, row: str, dtype: Any, j: str, step: int) -> str:
        """The address of turn j of the innermost loop."""
        if j == "0" or not step:
            return row
        place = j if step == 1 else self.put(f"mul nsw i64 {j}, {step}")
        return self._address(row, dtype, place)

    @property
    def _dtypes(self) -> dict[Any, Any]:
        found = self.__dict__.get("_dtype_of")
        if found is None:
            found = self._dtype_of = {
                self._key(s.out): s.out.dtype
                for s in self.statements
                if s.reduces is None and s.places is None
            }
        return found

    def _computed(self, s: Statement, args: list[tuple[Any, Any]]) -> str:
        """The value of a statement, in the dtype of its result."""
        dtypes = [s.dtype] * len(args)
        if s.op is Where:
            dtypes[0] = BOOL
        if s.op in LOGICAL:
            dtypes = [BOOL] * len(args)
        given = [
            literal(_converted(x, dtype), dtype)
            if type(x) is Number
            else cast(self, x, before, dtype)
            for (x, before), dtype in zip(args, dtypes, strict=True)
        ]
        return given[0] if s.op is Cast else compute(self, s.op, given, dtypes[-1])

    def _neutral(self, s: Statement) -> str:
        return literal(REDUCERS[s.reduces](s.out.dtype), s.out.dtype)

    def _accumulate(self, s: Statement, place: str, x: str, lanes: int, mask: str | None) -> None:
        dtype = s.out.dtype
        t = self.vector(dtype)
        if lanes < self.width:
            bits = ", ".join(f"i1 {'true' if i < lanes else 'false'}" for i in range(self.width))
            mask = f"<{bits}>"
        if mask is not None:
            x = self.put(f"select <{self.width} x i1> {mask}, {t} {x}, {t} {self._neutral(s)}")
        before = self.carried.get(place) or self.put(f"load {t}, ptr {place}, align 64")
        value = compute(self, s.reduces, [before, x], dtype)
        if place in self.carried:
            self.carried[place] = value
        else:
            self.lines.append(f"  store {t} {value}, ptr {place}, align 64")

    def _add_to_row(self, s: Statement, x: str, rows: list[str], j: str, lanes: int) -> None:
        """Combine a vector into the elements of a reduction along the inner axis."""
        number = self.numbers[self._key(s.out)]
        before = self._loaded(number, rows[number], j, lanes)
        self._stored(compute(self, s.reduces, [before, x], s.out.dtype), s.out, rows, j, lanes)

    def _loaded(self, number: int, row: str, j: str, lanes: int) -> str:
        step = self.loops[-1].steps[number]
        dtype = self.arrays[number].dtype
        return self._load(self._moved(row, dtype, j, step), dtype, lanes, step)

    def _broadcast(self, number: int, row: str) -> str:
        dtype = self.arrays[number].dtype
        kind, width = STORED[dtype], self.width
        t = f"<{width} x {kind}>"
        one = self.put(f"load {kind}, ptr {row}, align {alignment(dtype)}")
        value = self.put(f"insertelement {t} poison, {kind} {one}, i64 0")
        value = self.put(f"shufflevector {t} {value}, {t} poison, <{width} x i32> zeroinitializer")
        return self._unpacked(value, dtype)

    def _stored(self, value: str, x: Array, rows: list[str], j: str, lanes: int) -> None:
        number = self.numbers[self._key(x)]
        step = self.loops[-1].steps[number]
        self._store(value, self._moved(rows[number], x.dtype, j, step), x.dtype, lanes, step)


def _converted(x: Number, dtype: Any) -> Any:
    """A number, in a dtype's values."""
    return bool(x.value) if dtype == BOOL else x.value


__all__ = ["LoopBody"]
