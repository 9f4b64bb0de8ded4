"""Parts of a sparse array, read and written: its diagonals, what an index picks, its axes.

Knows the elements and positions of `Stored`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse

from tapegrad._core.types import Value
from tapegrad._core.values import lift
from tapegrad.scipy.sparse._base import Stored, dense_of
from tapegrad.scipy.sparse._places import (
    Coords,
    axes_of,
    flat,
    last_of_each,
    picked,
    reshaped,
    unflat,
)
from tapegrad.scipy.sparse._products import summed


class Parts(Stored):
    """The methods that turn a sparse array, or take or set a part of it."""

    @property
    def T(self) -> Any:
        """The array with its axes in the reverse order; csr becomes csc and csc csr."""
        return self.transpose()

    @property
    def mT(self) -> Any:
        """The array with its last two axes exchanged."""
        if self.ndim < 2:
            raise ValueError(f"mT: expected two axes or more, got {self.ndim}")
        return self.transpose((*range(self.ndim - 2), self.ndim - 1, self.ndim - 2))

    def transpose(self, axes: Any = None, copy: bool = False) -> Any:
        """Return the array with its axes in another order.

        Parameters
        ----------
        axes : tuple of int, optional
            The order of the axes; the reverse one by default.
        copy : bool, default False
            Whether the elements are copied; they are shared otherwise.

        Returns
        -------
        SparseArray
            The array.

        Raises
        ------
        ValueError
            If an axis is missing.
        """
        order = tuple(range(self.ndim))[::-1] if axes is None else tuple(axes)
        if len(order) != self.ndim or axes_of(order, self.ndim) != tuple(range(self.ndim)):
            raise ValueError(f"axes don't match array of {self.ndim} axes: {axes}")
        data = np.copy(self.data) if copy else self.data
        turned = self.ndim == 2 and order[0] % 2
        other = {"csr": "csc", "csc": "csr"}.get(self.format) if turned else None
        coords, shape = [self.coords[i] for i in order], [self.shape[i] for i in order]
        return type(self)(data, coords, shape, other or self.format)

    def reshape(self, *shape: Any, order: str = "C", copy: bool = False) -> Any:
        """Return the elements in another shape.

        Parameters
        ----------
        *shape : int, or a tuple of them
            The shape; -1 is computed.
        order : {"C", "F"}
            Whether elements are counted along the last axis first, or along the first.
        copy : bool, default False
            Whether the elements are copied; they are shared otherwise.

        Returns
        -------
        SparseArray
            The array.

        Raises
        ------
        ValueError
            Of a shape of other size.
        """
        given = shape[0] if len(shape) == 1 and np.ndim(shape[0]) else shape
        new = reshaped(self.shape, given)
        if order == "F":
            return self.T.reshape(new[::-1], copy=copy).T
        self._require_axes(new)
        data = np.copy(self.data) if copy else self.data
        return self._like(data, unflat(flat(self.coords, self.shape), new), new)

    def resize(self, *shape: Any) -> None:
        """Change the shape of this array: elements outside are dropped, new ones are 0.

        Parameters
        ----------
        *shape : int, or a tuple of them
            The shape, of as many axes.

        Raises
        ------
        ValueError
            Of another number of axes.
        """
        given = shape[0] if len(shape) == 1 and np.ndim(shape[0]) else shape
        if len(given) != self.ndim:
            raise ValueError(f"resize: expected {self.ndim} sides, got {tuple(given)}")
        inside = [i < side for i, side in zip(self.coords, given, strict=True)]
        at = np.flatnonzero(np.logical_and.reduce(inside))
        self.data = self.data[at]
        self.coords = tuple(i[at] for i in self.coords)
        self.shape = tuple(int(side) for side in given)

    def _on_diagonal(self, k: int) -> Coords:
        if self.ndim != 2:
            raise ValueError("diagonal requires two dimensions")
        count = max(0, min(self.shape[0] + min(k, 0), self.shape[1] - max(k, 0)))
        return np.arange(count) - min(k, 0), np.arange(count) + max(k, 0)

    def diagonal(self, k: int = 0) -> Any:
        """Return the elements of a diagonal.

        Parameters
        ----------
        k : int, default 0
            Which one: above the main one if positive, below if negative.

        Returns
        -------
        array, shape (l,)
            A dense vector.

        Raises
        ------
        ValueError
            Unless there are two axes.
        """
        count = len(self._on_diagonal(k)[0])
        on = np.flatnonzero(self.col - self.row == k)
        return summed(self.data[on], self.row[on] - max(-k, 0), count)

    def trace(self, offset: int = 0) -> Any:
        """Return the sum of a diagonal.

        Parameters
        ----------
        offset : int, default 0
            Which one, as `k` of `diagonal`.

        Returns
        -------
        scalar
            The sum.
        """
        return np.sum(self.diagonal(offset))

    def setdiag(self, values: Value, k: int = 0) -> None:
        """Set the elements of a diagonal.

        Parameters
        ----------
        values : array_like
            The elements, or a number for all of them.
        k : int, default 0
            Which one: above the main one if positive, below if negative.

        Raises
        ------
        ValueError
            If there is no such diagonal.
        """
        rows, columns = self._on_diagonal(k)
        if k >= self.shape[1] or -k >= self.shape[0]:
            raise ValueError("k exceeds array dimensions")
        given = dense_of(lift(values))
        if given.ndim:
            count = min(len(rows), given.shape[0])
            rows, columns, given = rows[:count], columns[:count], given[:count]
        self._write((rows, columns), np.broadcast_to(given, rows.shape))

    def __getitem__(self, index: Any) -> Any:
        parts = _index(index)
        if len(parts) == self.ndim and all(isinstance(i, (int, np.integer)) for i in parts):
            at = np.array(True)
            for i, places, side in zip(parts, self.coords, self.shape, strict=True):
                if not -side <= i < side:
                    raise IndexError(f"index ({i}) out of range")
                at = at & (places == i % side)
            return np.sum(self.data[np.flatnonzero(at)])
        # SciPy indexes the elements' numbers; none is 0, and no two are at one position.
        whole = self._merged()
        numbers = whole._of_elements(np.arange(1, whole.nnz + 1))
        found = numbers.asformat("csr" if self.ndim <= 2 else "coo").plain()[parts]
        if not scipy.sparse.issparse(found):
            found = np.asarray(found)
            return np.concatenate([np.zeros(1, whole.dtype), whole.data])[found]
        found = found.tocoo()
        return self._like(whole.data[found.data - 1], found.coords, found.shape)

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(self.shape[0]))

    def __setitem__(self, index: Any, values: Value) -> None:
        coords, shape = picked(_index(index), self.shape)
        given = self._operand(values)
        given = given.toarray() if isinstance(given, Stored) else dense_of(lift(given))
        while given.ndim > len(shape) and given.shape[0] == 1:
            given = given[0]
        self._write(coords, np.ravel(np.broadcast_to(given, shape)))

    def _write(self, coords: Coords, values: Value) -> None:
        """Put values at positions, of equal ones the last."""
        new = flat(coords, self.shape)
        last = last_of_each(new)
        kept = np.flatnonzero(~np.isin(flat(self.coords, self.shape), new))
        both = zip(self.coords, coords, strict=True)
        made = self._like(
            np.concatenate([self.data[kept], values[last].astype(self.dtype)]),
            [np.concatenate([old[kept], set_[last]]) for old, set_ in both],
            self.shape,
        )
        self.data, self.coords = made.data, made.coords


def _index(index: Any) -> tuple[Any, ...]:
    """The parts of an index, of which a sparse one of booleans stands for its positions."""
    found: list[Any] = []
    for part in index if isinstance(index, tuple) else (index,):
        if isinstance(part, Stored) or scipy.sparse.issparse(part):
            found += part.nonzero()
        else:
            found.append(part)
    return tuple(found)


__all__ = ["Parts"]
