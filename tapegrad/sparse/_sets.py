"""Sets of columns, by label: which elements of the inputs an element depends on.

Knows how to unite many sets at once. Must not know tapes, rules or matrices.

A label is an integer: 0 is the empty set, 1 that of all columns, and 2 + i that of column i alone.
Unions get the next free ones. So what a program's value depends on is an array of labels with the
value's shape, and what moves elements (reshape, indexing) moves labels.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad._core.types import Value
from tapegrad._errors import InputError
from tapegrad.sparse._scipy import scipy_sparse

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
        self.bits = max(size - 1, 1).bit_length()  # bits that a column takes in a key
        # Memory that is never written to costs nothing. Columns take half the memory of labels.
        self.members = np.empty(16 * size + 64, np.int32 if size < 2**31 else np.int64)
        # Where each set's members start, how many they are, and the two sets whose union it is:
        # its union with one of these is the set itself.
        self.starts, self.lengths, self.first, self.second = (
            np.empty(8 * size + 64, np.int64) for _ in range(4)
        )
        self.members[:size] = np.arange(size)
        self.starts[:2], self.lengths[:2] = 0, (0, size)
        self.starts[2 : size + 2], self.lengths[2 : size + 2] = self.members[:size], 1
        self.first[: size + 2] = self.second[: size + 2] = NONE
        self.used = size
        self.count = size + 2
        self._joined: dict[tuple[int, int], Any] = {}
        self._kept: list[Any] = []  # arrays whose id is a key above

    def singles(self) -> Value:
        """The label of each column."""
        if self.size == 1:
            return np.ones(1, np.int64)
        return np.arange(2, self.size + 2)

    def columns(self, labels: Any) -> tuple[Value, Value]:
        """The lengths of sets in a row, and their members one set after the other."""
        lengths = self.lengths[labels]
        if not labels.size:
            return lengths, self.members[:0]
        least, most = int(lengths.min()), int(lengths.max())
        check_size(most * labels.size if least == most else int(lengths.sum()))
        starts = self.starts[labels]
        if labels[0] > ALL and (labels[1:] - labels[:-1] == 1).all():
            return lengths, self.members[starts[0] : starts[-1] + lengths[-1]]  # contiguous
        if least == most:  # as in stencils: no sums, no repeats
            places = starts if most == 1 else (starts[:, None] + np.arange(most)).reshape(-1)
            return lengths, self.members[places]
        ends = np.cumsum(lengths)
        places = np.repeat(starts - ends + lengths, lengths)
        places += np.arange(int(ends[-1]))
        return lengths, self.members[places]

    def _keys(self, groups: Value, lengths: Value, columns: Value) -> Value:
        """Group and column in one number, for each member of sets in a row."""
        shifted = groups << self.bits
        if lengths.size and (lengths == lengths[0]).all():
            return (columns.reshape(-1, int(lengths[0])) | shifted[:, None]).reshape(-1)
        return np.repeat(shifted, lengths) | columns

    # -- unions ----------------------------------------------------------------------------------

    def join(self, x: Value, y: Value) -> Value:
        """The union of two arrays of labels, element by element, with broadcasting."""
        if x is y:
            return x
        key = (id(x), id(y))
        found = self._joined.get(key)
        if found is None:
            found = self._joined[key] = self._join(x, y)
            self._kept.append((x, y))
        return found

    def _join(self, x: Any, y: Any) -> Value:
        if x.shape != y.shape:
            x, y = np.broadcast_arrays(x, y)
        apart = x != y
        apart &= x > ALL
        apart &= y > ALL
        if not apart.any():
            return np.where((x == NONE) | (y == ALL), y, x)
        if apart.all():
            return self._apart(x.reshape(-1), y.reshape(-1)).reshape(x.shape)
        out = np.where((x == NONE) | (y == ALL), y, x)
        out[apart] = self._apart(x[apart], y[apart])
        return out

    def _apart(self, x: Value, y: Value) -> Value:
        """`join` of labels in a row, of which none is empty or full, or equal to its partner."""
        within = self.first[x] == y
        within |= self.second[x] == y
        out = np.where(within, x, NONE)
        around = self.first[y] == x
        around |= self.second[y] == x
        out = np.where(around, y, out)
        open_ = out == NONE
        if not open_.any():
            return out
        if not open_.all():
            out[open_] = self._new(x[open_], y[open_])
            return out
        return self._new(x, y)

    def _new(self, x: Value, y: Value) -> Value:
        """`_apart` for partners of which none is known to be part of the other."""
        pairs = x * self.count + y
        if (pairs[1:] > pairs[:-1]).all():
            return self._pairs(x, y)
        pairs, places = np.unique(pairs, return_inverse=True)
        return self._pairs(*np.divmod(pairs, self.count))[places]

    def _pairs(self, x: Any, y: Any) -> Value:
        """`_new` for pairs that are all different."""
        before = self.count
        if self.lengths[x].max() == self.lengths[y].max() == 1:
            found = self._added_pairs(x, y)
        else:
            found = self._merged(x, y)
        made = found >= before
        if made.all():
            self.first[before : self.count], self.second[before : self.count] = x, y
        else:
            self.first[before : self.count] = x[made]
            self.second[before : self.count] = y[made]
        return found

    def _added_pairs(self, x: Value, y: Value) -> Value:
        """Labels for pairs of columns."""
        x, y = self.members[self.starts[x]], self.members[self.starts[y]]
        members = np.empty((x.size, 2), x.dtype)
        np.minimum(x, y, out=members[:, 0])
        np.maximum(x, y, out=members[:, 1])
        if self.size == 2:
            return np.full(x.size, ALL)
        return self._added(np.full(x.size, 2), members.reshape(-1))

    def _merged(self, x: Value, y: Value) -> Value:
        """Labels for the unions of x[i] and y[i]: SciPy adds the rows of two matrices."""
        lengths = self.lengths[x], self.lengths[y]
        total = self._matrix(x, lengths[0]) + self._matrix(y, lengths[1])
        best = np.where(lengths[0] >= lengths[1], x, y)
        return self._labelled(best, np.maximum(*lengths), np.diff(total.indptr), total.indices)

    def _matrix(self, labels: Value, lengths: Value) -> Value:
        """Sets as the rows of a matrix."""
        columns = self.columns(labels)[1]
        starts = np.zeros(labels.size + 1, columns.dtype)
        np.cumsum(lengths, out=starts[1:])
        parts = (np.ones(columns.size, bool), columns, starts)
        return scipy_sparse().csr_array(parts, shape=(labels.size, self.size))

    def _united(self, groups: Value, labels: Value) -> Value:
        """Labels for the unions of the labels of each group; groups are in order, none missing."""
        lengths, columns = self.columns(labels)
        total = int(groups[-1]) + 1
        keys = _distinct(self._keys(groups, lengths, columns), total << self.bits)
        counts = np.bincount(keys >> self.bits, minlength=total)
        best, largest = _largest(groups, lengths, labels, total, self.count)
        return self._labelled(best, largest, counts, keys & ((1 << self.bits) - 1))

    def _labelled(self, best: Value, largest: Value, counts: Value, columns: Value) -> Value:
        """Labels for unions of so many columns each, of which `best` is the largest part.

        A union that is no greater than one of its parts is that part.
        """
        full = counts == self.size
        best[full] = ALL
        new = (counts != largest) & ~full
        if new.all():
            return self._added(counts, columns)
        if new.any():
            best[new] = self._added(counts[new], columns[np.repeat(new, counts)])
        return best

    def _added(self, lengths: Value, columns: Value) -> Value:
        end, count = self.used + columns.size, self.count + lengths.size
        check_size(end)
        self.members = _grown(self.members, end)
        self.starts, self.lengths = _grown(self.starts, count), _grown(self.lengths, count)
        self.first, self.second = _grown(self.first, count), _grown(self.second, count)
        self.members[self.used : end] = columns
        self.starts[self.count : count] = self.used + np.cumsum(lengths) - lengths
        self.lengths[self.count : count] = lengths
        self.first[self.count : count] = self.second[self.count : count] = NONE
        labels = np.arange(self.count, count)
        self.used, self.count = end, count
        return labels

    def gather(self, groups: Value, labels: Value, count: int) -> Value:
        """The union of the labels of each of `count` groups: one label per group."""
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

    def over(self, labels: Value, axes: tuple[int, ...]) -> Value:
        """The union along axes, which stay with length 1."""
        if not axes or labels.size == 0:
            kept = [1 if axis in axes else n for axis, n in enumerate(labels.shape)]
            return labels if not axes else np.zeros(kept, np.int64)
        kept = [1 if axis in axes else n for axis, n in enumerate(labels.shape)]
        count = int(np.prod(kept))
        groups = np.broadcast_to(np.arange(count).reshape(kept), labels.shape)
        return self.gather(groups.reshape(-1), labels.reshape(-1), count).reshape(kept)

    def whole(self, labels: Value) -> int:
        """The label of the union of all."""
        found = self.gather(np.zeros(labels.size, np.int64), labels.reshape(-1), 1)
        return int(found[0])


def _distinct(keys: Value, places: int) -> Value:
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


def _largest(
    groups: Value, lengths: Value, labels: Value, total: int, count: int
) -> tuple[Value, Value]:
    """Label and length of each group's longest set; groups are in order."""
    if groups.size == total:
        return labels.copy(), lengths
    ranked = np.maximum.reduceat(
        lengths * count + labels, np.searchsorted(groups, np.arange(total))
    )
    lengths, labels = np.divmod(ranked, count)
    return labels, lengths


def _grown(array: Value, size: int) -> Value:
    """An array with room for so many elements, and for as many again."""
    if size <= array.size:
        return array
    larger = np.empty(2 * size, array.dtype)
    larger[: array.size] = array
    return larger
