"""The rows of a tape as columns of numbers, for a page to read: small, and quick to read.

Knows rows and folds. Must not know how a page looks. `page_parts/tape.js` reads what this writes.

Texts are written once each, and rows say their numbers. All columns lie in one run of bytes,
little-endian, deflated, in base64; a header of JSON says where each begins. Numbers of seconds are
rounded to three digits and norms to seven, as the rest of their bits is noise that does not
shrink.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from tapegrad._look.folds import KINDS, Fold, folds_of
from tapegrad._look.rows import Row

UNKNOWN = -1.0  # of a time or a norm; those that are known are not negative


class Table:
    """Items written once each, by number."""

    def __init__(self) -> None:
        self.numbers: dict[Hashable, int] = {}

    def number(self, value: Hashable) -> int:
        """The number of a value, a new one where it is seen for the first time."""
        return self.numbers.setdefault(value, len(self.numbers))

    def __iter__(self) -> Iterator[Any]:
        return iter(self.numbers)


class Columns:
    """The rows of a tape and their folds, by column."""

    def __init__(self, rows: Sequence[Row]) -> None:
        rows = sorted(rows, key=lambda row: row.slot)
        self.operations, self.kinds, self.sites, self.labels = Table(), Table(), Table(), Table()
        self.frames, self.files, self.functions = Table(), Table(), Table()
        self.arrays: dict[str, np.ndarray] = {}
        self.names = {str(at): row.name for at, row in enumerate(rows) if row.name}
        self._take_rows(rows)
        self._take_reads(rows)
        self._take_folds(folds_of(rows))

    def _take_rows(self, rows: Sequence[Row]) -> None:
        add = self.arrays
        add["slot"] = _smallest(_steps(row.slot for row in rows))
        add["operation"] = _smallest([self.operations.number(r.operation) for r in rows])
        kinds: dict[Any, int] = {}  # shapes and dtypes, which are cheaper than their texts
        sites: dict[int, int] = {}  # by identity, which is cheaper than the hash of a site
        numbers, places = [], []
        for row in rows:
            what = (row.shape, row.dtype, row.results)
            number = kinds.get(what)
            if number is None:
                number = kinds[what] = self.kinds.number(row.kind)
            place = sites.get(id(row.site))
            if place is None:
                place = sites[id(row.site)] = self.sites.number(row.site)
            numbers.append(number)
            places.append(place)
        add["kind"], add["site"] = _smallest(numbers), _smallest(places)
        add["bytes"] = np.asarray([row.bytes for row in rows], "<f8")
        for name, bits in (("forward", 10), ("backward", 10), ("norm", 24)):
            values = [getattr(row, name) for row in rows]
            if any(value is not None for value in values):
                known = [UNKNOWN if value is None else value for value in values]
                add[name] = _rounded(np.asarray(known, "<f8"), bits)

    def _take_reads(self, rows: Sequence[Row]) -> None:
        """Which rows each row reads, and of which it is the replay, as distances back.

        What is read from outside the rows is left out.
        """
        position = {row.slot: at for at, row in enumerate(rows)}
        counts, distances, of = [], [], []
        for at, row in enumerate(rows):
            read = [position.get(slot, at) for slot in dict.fromkeys(row.reads)]
            back = [at - other for other in read if other < at]
            counts.append(len(back))
            distances += back
            of.append(0 if row.of is None else max(0, at - position.get(row.of, at)))
        self.arrays["reads"] = _smallest(counts)
        self.arrays["distances"] = _smallest(distances)
        if any(of):
            self.arrays["of"] = _smallest(of)

    def _take_folds(self, folds: Sequence[Fold]) -> None:
        label, frame = self.labels.number, self.frames.number
        columns: dict[str, Any] = {
            "foldKind": [KINDS.index(fold.kind) for fold in folds],
            "foldFirst": _steps(fold.first for fold in folds),
            "foldLength": [fold.end - fold.first for fold in folds],
            "foldTimes": [fold.times for fold in folds],
            "foldLabel": [label("" if fold.kind == "turn" else fold.label) for fold in folds],
            "foldPlace": [0 if fold.place is None else 1 + frame(fold.place) for fold in folds],
        }
        self.arrays |= {name: _smallest(values) for name, values in columns.items()}

    def header(self) -> dict[str, Any]:
        """All but the bytes, for JSON: texts, and where each column begins in the bytes."""
        columns, at = dict[str, Any](), 0
        for name, array in self.arrays.items():
            columns[name] = [array.dtype.str[1:], at, array.size]
            at += array.nbytes
        sites = [[self.frames.number(frame) for frame in site] for site in self.sites]
        frames = [
            [self.files.number(frame.file), frame.line, self.functions.number(frame.function)]
            for frame in self.frames
        ]
        return {
            "operations": [*self.operations],
            "kinds": [*self.kinds],
            "names": self.names,
            "sites": sites,
            "frames": frames,
            "files": [*self.files],
            "functions": [*self.functions],
            "labels": [*self.labels],
            "foldKinds": KINDS,
            "columns": columns,
        }

    def bytes(self) -> str:
        """The columns' bytes, deflated, in base64."""
        whole = b"".join(array.tobytes() for array in self.arrays.values())
        return base64.b64encode(zlib.compress(whole, 6)).decode("ascii")


def _steps(values: Iterable[int]) -> np.ndarray:
    """Numbers that grow, as the steps between them."""
    return np.diff(np.fromiter(values, np.int64), prepend=0)


def _smallest(values: Sequence[int] | np.ndarray) -> np.ndarray:
    """Whole numbers in the smallest unsigned type that has them all."""
    array = np.asarray(values, np.int64)
    top = int(array.max(initial=0))
    kind = "<u1" if top < 1 << 8 else "<u2" if top < 1 << 16 else "<u4"
    return array.astype(kind)


def _rounded(values: np.ndarray, bits: int) -> np.ndarray:
    """Doubles whose fractions have `bits` bits, the last of which is rounded."""
    dropped = 52 - bits
    whole = np.ascontiguousarray(values, "<f8")
    finite = np.isfinite(whole)
    raw = whole.view("<u8")
    kept = (raw + np.uint64(1 << (dropped - 1))) & ~np.uint64((1 << dropped) - 1)
    kept = np.where(finite, kept, raw).view("<f8")
    return np.where(np.isfinite(kept) == finite, kept, whole)  # not up to an infinity


__all__ = ["UNKNOWN", "Columns"]
