"""From a pattern to a matrix: which products to take, and which entry is found in which.

Knows plans and how a plan's products give the entries. Must not know tapes or rules.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tapegrad._core.types import Index, Value
from tapegrad._core.values import lift_to_level_of
from tapegrad._progress import current
from tapegrad.sparse._colouring import colour_columns, heavy_rows, kept_entries, rows_of
from tapegrad.sparse._scipy import scipy_sparse


class Part(NamedTuple):
    """One product: "forward" or "reverse", its vector, and which elements of it are needed."""

    name: str
    vector: Callable[[], Value]
    needed: Index


Products = Callable[[Sequence[Part]], Iterable[Value]]


@dataclass(frozen=True)
class Pattern:
    """The positions of entries, in compressed rows with their columns in order."""

    starts: Value
    columns: Value
    shape: tuple[int, int]

    def same(self, other: Pattern) -> bool:
        """Whether two patterns are equal."""
        return (
            self.shape == other.shape
            and np.array_equal(self.starts, other.starts)
            and np.array_equal(self.columns, other.columns)
        )

    def transposed(self) -> tuple[Pattern, Index]:
        """The pattern of the transpose, and where its entries come from."""
        places = np.arange(self.columns.size, dtype=self.columns.dtype)
        parts = (places, self.columns, self.starts)
        turned = scipy_sparse().csr_array(parts, shape=self.shape).tocsc()
        return Pattern(turned.indptr, turned.indices, self.shape[::-1]), turned.data


@dataclass(frozen=True)
class Plan:
    """Which products give the entries of a pattern.

    One for each colour of the columns; and one for each of the `heavy` rows, by the transpose. In
    a symmetric matrix these are columns too, and have no colour (-1).
    """

    pattern: Pattern
    colours: Value
    heavy: Value
    symmetric: bool

    @property
    def cost(self) -> int:
        """How many products there are."""
        return self.count + int(self.heavy.size)

    @property
    def count(self) -> int:
        """How many colours there are."""
        return int(self.colours.max(initial=-1)) + 1

    @functools.cached_property
    def _places(self) -> tuple[Value, Value, Value]:
        """Entries in order of their colours, where each colour ends, and the entries' rows."""
        colours = self.colours[self.pattern.columns]
        small = np.uint8 if self.count < 255 else np.uint16 if self.count < 65535 else np.int64
        order = np.argsort((colours + 1).astype(small), kind="stable")
        ends = np.cumsum(np.bincount(colours + 1, minlength=self.count + 1))
        return order, ends, rows_of(self.pattern.starts)[order]

    def entries(self, products: Products, product: str, transposed: str, dtype: Any) -> Value:
        """The matrix's entries, in the pattern's order.

        products: computes parts, one after the other or by a scheduler. product, transposed: the
        names of the product with the matrix, and with its transpose.
        """
        pattern, columns = self.pattern, self.pattern.columns
        found = np.zeros(columns.size, dtype)
        if not columns.size:
            return found
        order, ends, rows = self._places
        places = [slice(ends[colour], ends[colour + 1]) for colour in range(self.count)]
        parts = [
            Part(product, functools.partial(self._colour, colour, dtype), rows[here])
            for colour, here in enumerate(places)
        ]
        parts += [
            Part(transposed, functools.partial(_unit, pattern.shape[0], row, dtype), slice(None))
            for row in self.heavy
        ]
        bar = current()
        bar.begin(self.cost, "products")
        results = iter(bar.over(products(parts)))
        for here in places:
            total = next(results)
            found = lift_to_level_of(found, total)
            found[order[here]] = total
        for row, line in zip(self.heavy, results, strict=True):
            found = lift_to_level_of(found, line)
            if self.symmetric:
                below = np.flatnonzero(columns == row)
                found[below] = line[np.searchsorted(pattern.starts, below, side="right") - 1]
            here = slice(pattern.starts[row], pattern.starts[row + 1])
            found[here] = line[columns[here]]
        return found

    def _colour(self, colour: int, dtype: Any) -> Value:
        """The sum of the unit vectors of a colour's columns."""
        return (self.colours == colour).astype(dtype)


def _unit(size: int, row: int, dtype: Any) -> Value:
    unit = np.zeros(size, dtype)
    unit[row] = 1
    return unit


def plan_columns(
    pattern: Pattern, shape: tuple[int, ...], *, mixed: bool, symmetric: bool
) -> Plan:
    """A plan by columns. `mixed`: heavy rows may be taken by the transpose.

    `symmetric`: so is the matrix, and heavy rows give the columns as well.
    """
    starts, columns = pattern.starts, pattern.columns
    heavy = heavy_rows(starts) if mixed else np.zeros(0, np.int64)
    if heavy.size:
        apart = np.zeros(pattern.shape[0], bool)
        apart[heavy] = True
        keep = ~apart[rows_of(starts)]
        if symmetric:
            keep &= ~apart[columns]
        starts, columns = kept_entries(starts, columns, keep)
    colours = colour_columns(starts, columns, shape)
    if symmetric:
        colours[heavy] = -1
    return Plan(pattern, colours, heavy, symmetric)
