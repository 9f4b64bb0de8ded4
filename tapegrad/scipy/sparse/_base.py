"""Elements and positions of a sparse array, and how another one like it is made.

What `SparseArray` and its methods, a file a family, have in common. Knows SciPy's classes.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse

from tapegrad._core.types import Value
from tapegrad._core.values import branch_on, is_mapped, itself, untraced
from tapegrad._errors import NotDifferentiableError
from tapegrad.scipy.sparse._places import Coords, Shape, axes_of, flat, repeated, unflat
from tapegrad.scipy.sparse._products import summed

FORMATS = ("csr", "csc", "coo", "dia", "bsr", "lil", "dok")
# Those whose elements lie row by row or column by column.
COMPRESSED = ("csr", "csc")
# Formats of arrays whose axes are not two.
_OF_ONE_AXIS, _OF_MANY = ("csr", "coo", "dok"), ("coo", "dok")
# The classes of arrays (False) and of matrices (True).
KINDS: dict[bool, type[Stored]] = {}


class Stored:
    """Base of the classes of sparse arrays, and of those of their methods."""

    of_matrix = False

    def __init__(self, data: Value, coords: Any, shape: Any, format: str = "coo") -> None:
        self.data = data
        self.coords: Coords = tuple(coords)
        self.shape: Shape = tuple(int(side) for side in shape)
        self.format = format

    # -- what it is ------------------------------------------------------------------------------

    @property
    def ndim(self) -> int:
        """How many axes there are."""
        return len(self.shape)

    @property
    def dtype(self) -> Any:
        """The dtype of the elements."""
        return self.data.dtype

    @property
    def nnz(self) -> int:
        """How many elements are stored."""
        return len(self.coords[0])

    @property
    def size(self) -> int:
        """How many elements are stored."""
        return self.nnz

    @property
    def _full(self) -> int:
        """How many elements there are, those that are not stored too."""
        return math.prod(self.shape)

    @property
    def row(self) -> Any:
        """The rows of the elements; 0 of an array with one axis."""
        return self.coords[-2] if self.ndim > 1 else np.zeros_like(self.coords[0])

    @property
    def col(self) -> Any:
        """The columns of the elements."""
        return self.coords[-1]

    def __repr__(self) -> str:
        return (
            f"<{type(self).__name__} of {self.nnz} elements of {self.data!r} "
            f"in {' x '.join(map(str, self.shape))}>"
        )

    def __len__(self) -> int:
        raise TypeError(f"len of a {type(self).__name__} is ambiguous: use A.nnz or A.shape[0]")

    def plain(self) -> Any:
        """Return SciPy's sparse array of the present values, in the format of this one.

        Returns
        -------
        scipy.sparse.sparray or scipy.sparse.spmatrix
            The array.

        Raises
        ------
        NotDifferentiableError
            Inside a vmap that maps over the elements.
        """
        if is_mapped(untraced(self.data)):
            raise NotDifferentiableError(
                f"{type(self).__name__}.plain() inside vmap: expected one matrix, got one an "
                "example. Call it outside of the vmap."
            )
        kind = scipy.sparse.coo_matrix if self.of_matrix else scipy.sparse.coo_array
        data = branch_on(itself, self.data)
        return kind((data, self.coords), shape=self.shape).asformat(self.format)

    def toarray(self, order: str | None = None, out: None = None) -> Any:
        """Return the dense array.

        Parameters
        ----------
        order : str, optional
            Changes nothing: the order in memory is that of rows.
        out : None
            Nothing else.

        Returns
        -------
        array
            The array.

        Raises
        ------
        TypeError
            Of an out.
        """
        refuse_out(self, "toarray", out)
        return np.reshape(summed(self.data, flat(self.coords, self.shape), self._full), self.shape)

    def todense(self, order: str | None = None, out: None = None) -> Any:
        """Return the dense array, as `toarray` does.

        Parameters
        ----------
        order, out : None
            As those of `toarray`.

        Returns
        -------
        array
            The array, also of a SparseMatrix, where SciPy has a `numpy.matrix`.
        """
        return self.toarray(order, out)

    # -- others like it: what the methods are written in -----------------------------------------

    def _like(self, data: Value, coords: Any, shape: Any) -> Any:
        """An array of this kind and format, of which csr and csc have SciPy's order."""
        made = type(self)(data, coords, shape, self._format_of(shape))
        return made._merged() if made.format in COMPRESSED else made

    def _of_elements(self, data: Value) -> Any:
        """The same positions with other elements."""
        return type(self)(data, self.coords, self.shape, self.format)

    def _of_dense(self, dense: Value) -> Any:
        """An array of this kind with all elements of a dense one."""
        return self._like(np.ravel(dense), unflat(np.arange(dense.size), dense.shape), dense.shape)

    def _operand(self, other: Value) -> Any:
        """The operand of an operator: a SparseArray, an array, or a number of Python's as it is.

        That has no dtype, which could widen another.
        """
        if isinstance(other, Stored) or scipy.sparse.issparse(other):
            return of(other)
        return other if type(other) in (bool, int, float, complex) else dense_of(other)

    def _merged(self) -> Any:
        """The same with one element a position, row by row; of csc column by column."""
        turn = -1 if self.format == "csc" else 1
        keys = flat(self.coords[::turn], self.shape[::turn])
        if np.all(keys[1:] > keys[:-1]):
            return self
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        starts = np.concatenate([[True], keys[1:] > keys[:-1]])
        if np.all(starts):
            data = self.data[order]
        else:
            places = np.empty_like(order)
            places[order] = np.cumsum(starts) - 1
            data = summed(self.data, places, int(np.count_nonzero(starts)))
        coords = tuple(i[order[starts]] for i in self.coords)
        return type(self)(data, coords, self.shape, self.format)

    def _without(self, axis: Any) -> tuple[Any, Shape, int]:
        """Numbers of the positions along the other axes, their sides, how many lie along it."""
        axes = axes_of(axis, self.ndim)
        kept = [i for i in range(self.ndim) if i not in axes]
        sides = tuple(self.shape[i] for i in kept)
        places = flat(tuple(self.coords[i] for i in kept), sides)
        return np.broadcast_to(places, (self.nnz,)), sides, math.prod(self.shape[i] for i in axes)

    def _reduced(self, data: Value, coords: Coords, shape: Shape, axis: Any) -> Any:
        """Results of a reduction along the other axes, as a sparse array."""
        if not coords:
            coords = tuple(np.zeros(0, int) for _ in shape)
        return KINDS[False](data, coords, shape) if shape else np.sum(data)

    def _along(self, dense: Value, axis: Any) -> Any:
        """Results of a reduction along the other axes, as a dense array."""
        return dense

    def _broadcast(self, shape: Shape) -> Any:
        if shape == self.shape:
            return self
        coords = repeated(self.coords, self.shape, shape)
        copies = len(coords[0]) // self.nnz if self.nnz else 0
        return self._like(np.repeat(self.data, copies), coords, shape)

    def _format_of(self, shape: Any, format: str | None = None) -> str:
        """This format, or one that may have such a shape."""
        wanted = format or self.format
        if len(shape) == 2 or wanted in (_OF_ONE_AXIS if len(shape) == 1 else _OF_MANY):
            return str(wanted)
        return "coo"

    def _require_axes(self, shape: Any) -> None:
        """Raise of a shape that such an array cannot have."""


def cast_within(data: Value, dtype: Any, casting: Any = "same_kind") -> Any:
    """The elements in another dtype; TypeError where the rule forbids it."""
    if not np.can_cast(data.dtype, dtype, casting):
        raise TypeError(f"Cannot cast {data.dtype} to {np.dtype(dtype)} by the rule {casting!r}")
    return data if data.dtype == dtype else data.astype(dtype)


def refuse_out(a: Any, name: str, out: Any) -> None:
    """Raise of an `out`."""
    if out is not None:
        raise TypeError(f"{type(a).__name__}.{name}: expected no out=. Take what it returns.")


def dense_of(x: Value) -> Any:
    return x if hasattr(x, "shape") else np.asarray(x)


def of(a: Any) -> Any:
    """Any array as a SparseArray: sparse ones of SciPy, dense ones with all of their elements."""
    if isinstance(a, Stored):
        return a
    if scipy.sparse.issparse(a):
        coo = a.tocoo()
        kind = KINDS[scipy.sparse.isspmatrix(a)]
        return kind(coo.data, coo.coords, coo.shape, a.format)
    return KINDS[False](np.zeros(0), (np.zeros(0, int),), (0,))._of_dense(dense_of(a))


def matrix_of(a: Any) -> Any:
    """The same of what has two axes."""
    found = of(a)
    if found.ndim != 2:
        raise ValueError(
            f"expected a sparse matrix with two axes, got {found.ndim}. A[[i]] keeps both where "
            "A[i] has one."
        )
    return found


__all__ = [
    "COMPRESSED",
    "FORMATS",
    "KINDS",
    "Stored",
    "cast_within",
    "dense_of",
    "matrix_of",
    "of",
    "refuse_out",
]
