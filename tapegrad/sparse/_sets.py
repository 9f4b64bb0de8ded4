"""Sets of columns, by label: which elements of the inputs an element depends on.

Knows how to unite many sets at once. Must not know tapes, rules or matrices.

A label is an integer: 0 is the empty set, 1 that of all columns, and 2 + i that of column i alone.
Unions get the next free ones. So what a program's value depends on is an array of labels with the
value's shape, and what moves elements (reshape, indexing) moves labels.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad._errors import InputError

NONE, ALL = 0, 1
LIMIT = 10**8  # members in all: where they need a gigabyte, the matrix is not sparse
SCATTERED = 8  # places for each key up to which marking them is faster than sorting the keys


class TooDenseError(InputError):
    """A pattern has more entries than a sparse matrix is made for."""


def check_size(count: int) -> None:
    """Raise TooDenseError for more members than LIMIT."""
    if count > LIMIT:
        raise TooDenseError(
            f"tapegrad.sparse: expected a sparse pattern, got one of more than {LIMIT:,} entries. "
            "Use tapegrad.jacobian or hessian, products (jvp, hvp), or pass pattern=."
        )


class Sets:
    """A growing table of sets of columns."""

    def __init__(self, size: int) -> None:
        self.size = size
        # The set of all columns, in order, holds each column's own.
        self.members = np.arange(size, dtype=np.int64)
        self.starts = np.concatenate([[0, 0], np.arange(size)])
        self.lengths = np.concatenate([[0, size], np.ones(size, np.int64)])
        self.used = size
        self.count = size + 2
        self._joined: dict[tuple[int, int], Any] = {}
        self._kept: list[Any] = []  # arrays whose id is a key above

    def singles(self) -> Any:
        """The label of each column."""
        if self.size == 1:
            return np.ones(1, np.int64)
        return np.arange(2, self.size + 2)

    def columns(self, labels: Any) -> tuple[Any, Any]:
        """The lengths of sets in a row, and their members one set after the other."""
        lengths = self.lengths[labels]
        ends = np.cumsum(lengths)
        total = int(ends[-1]) if ends.size else 0
        check_size(total)
        if total == labels.size and (lengths == 1).all():
            return lengths, self.members[self.starts[labels]]
        places = np.repeat(self.starts[labels] - ends + lengths, lengths)
        places += np.arange(total)
        return lengths, self.members[places]

    # -- unions ----------------------------------------------------------------------------------

    def join(self, x: Any, y: Any) -> Any:
        """The union of two arrays of labels, element by element, with broadcasting."""
        if x is y:
            return x
        key = (id(x), id(y))
        found = self._joined.get(key)
        if found is None:
            found = self._joined[key] = self._join(x, y)
            self._kept.append((x, y))
        return found

    def _join(self, x: Any, y: Any) -> Any:
        if x.shape != y.shape:
            x, y = np.broadcast_arrays(x, y)
        out = np.where(x == NONE, y, x)
        apart = (x != y) & (x > ALL) & (y != NONE)
        if not apart.any():
            return out
        x, y = x[apart], y[apart]
        pairs = x * self.count + y
        if (pairs[1:] > pairs[:-1]).all():
            out[apart] = self._pairs(x, y)
            return out
        pairs, places = np.unique(pairs, return_inverse=True)
        x, y = np.divmod(pairs, self.count)
        out[apart] = self._pairs(x, y)[places]
        return out

    def _pairs(self, x: Any, y: Any) -> Any:
        """Labels for the unions of x[i] and y[i], all different from both but for subsets."""
        full = y == ALL
        if full.any():
            y = np.where(full, x, y)
        found = self._united(np.arange(x.size), x, y)
        return np.where(full, ALL, found)

    def _united(self, groups: Any, *labels: Any) -> Any:
        """Labels for the unions of labels[k][i] over all k and over the i of equal group."""
        lengths, members = zip(*(self.columns(part) for part in labels), strict=True)
        keys = np.concatenate(
            [
                np.repeat(groups, counts) * self.size + columns
                for counts, columns in zip(lengths, members, strict=True)
            ]
        )
        total = int(groups[-1]) + 1
        rows, columns = np.divmod(_distinct(keys, total * self.size), self.size)
        counts = np.bincount(rows, minlength=total)
        # A union that is no greater than one of its parts is that part.
        best, largest = np.zeros(total, np.int64), np.zeros(total, np.int64)
        for part, size in zip(labels, lengths, strict=True):
            greater = _largest(groups, size, part, total, self.count)
            better = greater[1] > largest
            best = np.where(better, greater[0], best)
            largest = np.where(better, greater[1], largest)
        known = counts == largest
        known |= counts == self.size
        best[counts == self.size] = ALL
        new = ~known
        best[new] = self._added(counts[new], columns[new[rows]])
        return best

    def _added(self, lengths: Any, columns: Any) -> Any:
        end, count = self.used + columns.size, self.count + lengths.size
        check_size(end)
        self.members = _grown(self.members, end)
        self.starts, self.lengths = _grown(self.starts, count), _grown(self.lengths, count)
        self.members[self.used : end] = columns
        self.starts[self.count : count] = self.used + np.cumsum(lengths) - lengths
        self.lengths[self.count : count] = lengths
        labels = np.arange(self.count, count)
        self.used, self.count = end, count
        return labels

    def gather(self, groups: Any, labels: Any, count: int) -> Any:
        """The union of the labels of each group, for so many groups: one label a group."""
        out = np.zeros(count, np.int64)
        given = labels != NONE
        if not given.all():
            groups, labels = groups[given], labels[given]
        out[groups[labels == ALL]] = ALL
        rest = out[groups] != ALL
        groups, labels = np.divmod(
            _distinct(groups[rest] * self.count + labels[rest], count * self.count), self.count
        )
        if not groups.size:
            return out
        several = np.bincount(groups, minlength=count) > 1
        alone = ~several[groups]
        out[groups[alone]] = labels[alone]
        groups, labels = groups[~alone], labels[~alone]
        if groups.size:
            chosen = np.flatnonzero(several)
            ranks = np.cumsum(several) - 1
            out[chosen] = self._united(ranks[groups], labels)
        return out

    def over(self, labels: Any, axes: tuple[int, ...]) -> Any:
        """The union along axes, which stay with length 1."""
        if not axes or labels.size == 0:
            kept = [1 if axis in axes else n for axis, n in enumerate(labels.shape)]
            return labels if not axes else np.zeros(kept, np.int64)
        kept = [1 if axis in axes else n for axis, n in enumerate(labels.shape)]
        count = int(np.prod(kept))
        groups = np.broadcast_to(np.arange(count).reshape(kept), labels.shape)
        return self.gather(groups.reshape(-1), labels.reshape(-1), count).reshape(kept)

    def whole(self, labels: Any) -> int:
        """The label of the union of all."""
        found = self.gather(np.zeros(labels.size, np.int64), labels.reshape(-1), 1)
        return int(found[0])


def _distinct(keys: Any, places: int) -> Any:
    """The different keys in order; all are below `places`."""
    if places <= SCATTERED * keys.size:
        marks = np.zeros(places, bool)
        marks[keys] = True
        return np.flatnonzero(marks)
    keys.sort(kind="stable")  # mostly a few runs that are in order already
    if keys.size:
        new = np.empty(keys.size, bool)
        new[0] = True
        np.not_equal(keys[1:], keys[:-1], out=new[1:])
        keys = keys[new]
    return keys


def _largest(groups: Any, lengths: Any, labels: Any, total: int, count: int) -> tuple[Any, Any]:
    """Label and length of each group's longest set; groups are in order."""
    if groups.size == total:
        return labels, lengths
    ranked = np.maximum.reduceat(
        lengths * count + labels, np.searchsorted(groups, np.arange(total))
    )
    length, label = np.divmod(ranked, count)
    return label, length


def _grown(array: Any, size: int) -> Any:
    """An array with room for so many elements, and for as many again."""
    if size <= array.size:
        return array
    larger = np.empty(2 * size, array.dtype)
    larger[: array.size] = array
    return larger
