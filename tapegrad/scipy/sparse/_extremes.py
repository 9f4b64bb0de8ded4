"""Greatest and least elements of a sparse array, along axes too; those not stored are 0.

Knows the elements and positions of `SparseArray`, whose base this is.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from tapegrad.scipy._questions import agreed
from tapegrad.scipy.sparse._places import axes_of, unflat


class Extremes:
    """The methods that look for a greatest or a least element; their docstrings are below."""

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
    getattr(Extremes, _name).__doc__ = _DOC.format(
        word=_word, result=_POSITIONS if _arg else _ELEMENTS, more=_VMAP if _arg else ""
    )


def refuse_out(a: Any, name: str, out: Any) -> None:
    """Raise of an `out`."""
    if out is not None:
        raise TypeError(f"{type(a).__name__}.{name}: expected no out=. Take what it returns.")


def _extreme(a: Any, name: str, ufunc: np.ufunc, axis: Any, out: Any, explicit: bool) -> Any:
    refuse_out(a, name, out)
    whole = a._merged()
    if axis is None:
        data = whole.data
        if whole.nnz < whole._full and not explicit:
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


__all__ = ["Extremes", "refuse_out"]
