"""Sums, counts, greatest and least elements of a sparse array, along axes too.

Knows the elements and positions of `Stored`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse

from tapegrad.scipy._questions import agreed
from tapegrad.scipy.sparse._base import Stored, refuse_out
from tapegrad.scipy.sparse._places import Coords, axes_of, unflat
from tapegrad.scipy.sparse._products import summed


class Reductions(Stored):
    """The methods over elements, of which those that are not stored are 0."""

    def sum(self, axis: Any = None, dtype: Any = None, out: None = None) -> Any:
        """Return the sum, or the sums along an axis.

        Parameters
        ----------
        axis : int or tuple of int, optional
            The axes; all elements by default.
        dtype : dtype, optional
            The dtype to which the elements are converted first.
        out : None
            Nothing else.

        Returns
        -------
        scalar or array
            A dense array along an axis.

        Raises
        ------
        TypeError
            Of an out.
        ValueError
            Of another axis.
        """
        refuse_out(self, "sum", out)
        data = self.data
        if dtype is not None or data.dtype.kind in "bui":
            data = data.astype(dtype or np.result_type(data.dtype, np.int_))
        if axis is None:
            return np.sum(data)
        places, kept, _ = self._without(axis)
        if not kept:
            return np.sum(data)
        return self._along(np.reshape(summed(data, places, math.prod(kept)), kept), axis)

    def mean(self, axis: Any = None, dtype: Any = None, out: None = None) -> Any:
        """Return the mean, or the means along an axis; zeros count.

        Parameters
        ----------
        axis : int or tuple of int, optional
            The axes; all elements by default.
        dtype : dtype, optional
            The dtype to which the elements are converted first.
        out : None
            Nothing else.

        Returns
        -------
        scalar or array
            A dense array along an axis.

        Raises
        ------
        TypeError
            Of an out.
        ValueError
            Of another axis.
        """
        return self.sum(axis, dtype, out) / self._without(axis)[2]

    def count_nonzero(self, axis: int | None = None) -> Any:
        """Return how many elements are not 0, or how many along an axis.

        Parameters
        ----------
        axis : int or tuple of int, optional
            The axes; all elements by default.

        Returns
        -------
        int or array of int
            The counts.
        """
        whole = self._merged()
        if axis is None:
            return np.count_nonzero(whole.data)
        places, kept, _ = whole._without(axis)
        ones = np.where(whole.data != 0, 1, 0)
        return np.reshape(summed(ones, places, math.prod(kept)), kept)

    def __bool__(self) -> bool:
        if self.shape != (1, 1):
            raise ValueError(
                "The truth value of an array with more than one element is ambiguous. Use "
                "A.toarray().any() or A.toarray().all()."
            )
        return bool(self.count_nonzero())

    def nonzero(self) -> Coords:
        """Return the positions of the elements that are not 0, row by row.

        Returns
        -------
        tuple of array of int
            The positions, an array an axis.

        Raises
        ------
        BatchingError
            Inside a vmap whose examples differ in them.
        """
        whole = type(self)(self.data, self.coords, self.shape)._merged()
        name = f"{type(self).__name__}.nonzero"
        at = np.array(
            agreed(lambda x: tuple(np.flatnonzero(x)), whole.data, name, "the array"), int
        )
        return tuple(i[at] for i in whole.coords)

    def _positions(self, found: Any, axis: Any) -> Any:
        """What `argmax` returns along an axis."""
        return self._along(found, axis)

    # Their docstrings are below.

    def max(self, axis: Any = None, out: None = None, *, explicit: bool = False) -> Any:
        return _extreme(self, "max", np.maximum, axis, out, explicit)

    def min(self, axis: Any = None, out: None = None, *, explicit: bool = False) -> Any:
        return _extreme(self, "min", np.minimum, axis, out, explicit)

    def nanmax(self, axis: Any = None, out: None = None, *, explicit: bool = False) -> Any:
        return _extreme(self, "nanmax", np.fmax, axis, out, explicit)

    def nanmin(self, axis: Any = None, out: None = None, *, explicit: bool = False) -> Any:
        return _extreme(self, "nanmin", np.fmin, axis, out, explicit)

    def argmax(self, axis: Any = None, out: None = None, *, explicit: bool = False) -> Any:
        return _position(self, "argmax", axis, out, explicit)

    def argmin(self, axis: Any = None, out: None = None, *, explicit: bool = False) -> Any:
        return _position(self, "argmin", axis, out, explicit)


_WORDS = {
    "max": "greatest element",
    "min": "least element",
    "nanmax": "greatest element that is no NaN",
    "nanmin": "least element that is no NaN",
    "argmax": "position of the greatest element",
    "argmin": "position of the least element",
}
_DOC = """Return the {word}, or those along an axis.

        Parameters
        ----------
        axis : int or tuple of int, optional
            The axes along which to look; all elements by default.
        out : None
            Nothing else.
        explicit : bool, default False
            Whether elements that are not stored are left out; they are 0 otherwise.

        Returns
        -------
        {result}

        Raises
        ------
        TypeError
            Of an out.
        ValueError
            Of no elements, or of another axis.{more}
        """
_ELEMENTS = """scalar or SparseArray
            Along an axis those of elements that are stored."""
_POSITIONS = """int or array of int
            The first position; of all elements counted along the last axis first."""
_VMAP = """
        BatchingError
            Inside a vmap whose examples differ in it."""

for _name, _word in _WORDS.items():
    _arg = _name.startswith("arg")
    getattr(Reductions, _name).__doc__ = _DOC.format(
        word=_word, result=_POSITIONS if _arg else _ELEMENTS, more=_VMAP if _arg else ""
    )


def _extreme(a: Any, name: str, ufunc: np.ufunc, axis: Any, out: Any, explicit: bool) -> Any:
    refuse_out(a, name, out)
    whole = a._merged()
    if axis is None:
        data = whole.data
        if whole.nnz < whole._full and not (explicit and whole.nnz):
            data = np.concatenate([data, np.zeros(1, data.dtype)])
        return getattr(np, name)(data)
    places, kept, count = whole._without(axis)
    if not count:
        raise ValueError("zero-size array to reduction operation")
    order = np.argsort(places, kind="stable")
    found, starts, counts = np.unique(places[order], return_index=True, return_counts=True)
    if not len(found):
        return whole._reduced(whole.data, (), kept, axis)
    numbers = order + 1
    if not explicit:  # a zero, number 0, before the elements of each line that has others
        lacking = counts < count
        numbers = np.insert(numbers, starts[lacking], 0)
        starts = starts + np.cumsum(lacking) - lacking
    data = np.concatenate([np.zeros(1, whole.dtype), whole.data])[numbers]
    return whole._reduced(ufunc.reduceat(data, starts), unflat(found, kept), kept, axis)


def _position(a: Any, name: str, axis: Any, out: Any, explicit: bool) -> Any:
    refuse_out(a, name, out)
    if axis is not None:
        axes_of(axis, a.ndim)
    whole = a._merged()

    def question(data: Any) -> Any:
        theirs = scipy.sparse.coo_array((data, whole.coords), shape=whole.shape)
        found = getattr(theirs, name)(axis, explicit=explicit)
        return tuple(map(int, np.ravel(found)))

    answer = agreed(question, whole.data, f"{type(a).__name__}.{name}", "the array")
    if axis is None:
        return answer[0]
    return whole._positions(np.reshape(answer, whole._without(axis)[1]), axis)


__all__ = ["Reductions"]
