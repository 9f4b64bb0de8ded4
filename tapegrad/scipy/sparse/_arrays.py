"""SparseArray: elements that may be traced, at positions that are constant.

Knows how a sparse array is written in SciPy, and the products. It is a pytree of its elements:
transforms take it as an input and return it as a gradient.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse

from tapegrad._core.types import Value
from tapegrad._core.values import branch_on, in_trace, is_mapped, itself, lift, untraced
from tapegrad._errors import NotDifferentiableError
from tapegrad._tree import register as register_pytree
from tapegrad.scipy._questions import agreed
from tapegrad.scipy.sparse._elements import Elements
from tapegrad.scipy.sparse._extremes import Extremes, refuse_out
from tapegrad.scipy.sparse._formats import Formats
from tapegrad.scipy.sparse._places import (
    Coords,
    Shape,
    axes_of,
    flat,
    last_of_each,
    picked,
    repeated,
    reshaped,
    unflat,
)
from tapegrad.scipy.sparse._products import product, summed, times


class SparseArray(Formats, Elements, Extremes):
    """A sparse array whose stored elements may be traced; their positions are constants.

    It is made by `csr_array` and its kin of `tapegrad.scipy.sparse`, and by arithmetic of SciPy's
    sparse arrays with traced ones. It is a pytree of its elements: transforms take it as an input
    and return it as a gradient. Elements at equal positions add up, as in a `coo_array`. It has
    the methods of SciPy's sparse arrays; those that SciPy has for one format alone, such as
    `indptr`, say what to take. A `SparseMatrix` has the methods and operators of SciPy's matrices.

    Parameters
    ----------
    data : array, shape (n,)
        The stored elements.
    coords : tuple of array of int, shape (n,)
        Their positions, an array an axis.
    shape : tuple of int
        The sides of the array.
    format : str, default "coo"
        SciPy's format of `plain()`.

    Attributes
    ----------
    data : array, shape (n,)
        The stored elements.
    coords : tuple of array of int, shape (n,)
        Their positions.
    shape : tuple of int
        The sides.
    format : str
        The format.

    Examples
    --------
    >>> import numpy as np, tapegrad
    >>> from tapegrad.scipy import sparse
    >>> def f(data):
    ...     a = sparse.csr_array((data, [0, 1, 1], [0, 1, 3]), shape=(2, 2))
    ...     return np.sum(a @ np.array([1.0, 10.0]))
    >>> tapegrad.grad(f)(np.ones(3))
    array([ 1., 10., 10.])
    """

    __array_ufunc__ = None  # operators of arrays leave the call to those below
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

    def __bool__(self) -> bool:
        if self.shape != (1, 1):
            raise ValueError(
                "The truth value of an array with more than one element is ambiguous. Use "
                "A.toarray().any() or A.toarray().all()."
            )
        return bool(self.count_nonzero())

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(self.shape[0]))

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
        return type(self)(data, coords, shape, self._format_of(shape))

    def _of_elements(self, data: Value) -> Any:
        """The same positions with other elements."""
        return self._like(data, self.coords, self.shape)

    def _of_dense(self, dense: Value) -> Any:
        """An array of this kind with all elements of a dense one."""
        return self._like(np.ravel(dense), unflat(np.arange(dense.size), dense.shape), dense.shape)

    def _operand(self, other: Value) -> Any:
        """What an operator is given: a SparseArray, an array, or a number of Python's as it is.

        That has no dtype, which could widen another.
        """
        if isinstance(other, SparseArray) or scipy.sparse.issparse(other):
            return of(other)
        return other if type(other) in (bool, int, float, complex) else _dense(other)

    def _merged(self) -> Any:
        """The same with one element a position, row by row."""
        keys = flat(self.coords, self.shape)
        if np.all(keys[1:] > keys[:-1]):
            return self
        found, places = np.unique(keys, return_inverse=True)
        data = summed(self.data, places.reshape(-1), len(found))
        return self._like(data, unflat(found, self.shape), self.shape)

    def _without(self, axis: Any) -> tuple[Any, Shape, int]:
        """Numbers of the positions along the other axes, their sides, how many lie along it."""
        axes = axes_of(axis, self.ndim)
        kept = [i for i in range(self.ndim) if i not in axes]
        sides = tuple(self.shape[i] for i in kept)
        places = flat(tuple(self.coords[i] for i in kept), sides)
        return np.broadcast_to(places, (self.nnz,)), sides, math.prod(self.shape[i] for i in axes)

    def _reduced(self, data: Value, coords: Coords, shape: Shape, axis: Any) -> Any:
        """What is left along the other axes, as a sparse array."""
        if not coords:
            coords = tuple(np.zeros(0, int) for _ in shape)
        return SparseArray(data, coords, shape) if shape else np.sum(data)

    def _along(self, dense: Value, axis: Any) -> Any:
        """What is left along the other axes, as a dense array."""
        return dense

    def _broadcast(self, shape: Shape) -> Any:
        if shape == self.shape:
            return self
        coords = repeated(self.coords, self.shape, shape)
        copies = len(coords[0]) // self.nnz if self.nnz else 0
        return self._like(np.repeat(self.data, copies), coords, shape)

    # -- turned, in parts ------------------------------------------------------------------------

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
        made = self._like(data, [self.coords[i] for i in order], [self.shape[i] for i in order])
        if self.ndim == 2 and order[0] % 2:
            made.format = {"csr": "csc", "csc": "csr"}.get(self.format, self.format)
        return made

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

    def conj(self, copy: bool = True) -> Any:
        """Return the complex conjugate.

        Parameters
        ----------
        copy : bool, default True
            Changes nothing: the elements are new ones.

        Returns
        -------
        SparseArray
            The conjugate.
        """
        return self._of_elements(np.conjugate(self.data))

    conjugate = conj

    @property
    def real(self) -> Any:
        """The real part."""
        return self._of_elements(np.real(self.data))

    @property
    def imag(self) -> Any:
        """The imaginary part."""
        return self._of_elements(np.imag(self.data))

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
        given = _dense(lift(values))
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

    def __setitem__(self, index: Any, values: Value) -> None:
        coords, shape = picked(_index(index), self.shape)
        given = self._operand(values)
        given = given.toarray() if isinstance(given, SparseArray) else _dense(lift(given))
        while given.ndim > len(shape) and given.shape[0] == 1:
            given = given[0]
        self._write(coords, np.ravel(np.broadcast_to(given, shape)))

    def _write(self, coords: Coords, values: Value) -> None:
        """Put values at positions, of equal ones the last."""
        new = flat(coords, self.shape)
        last = last_of_each(new)
        kept = np.flatnonzero(~np.isin(flat(self.coords, self.shape), new))
        self.data = np.concatenate([self.data[kept], values[last].astype(self.dtype)])
        self.coords = tuple(
            np.concatenate([old[kept], set_[last]])
            for old, set_ in zip(self.coords, coords, strict=True)
        )

    # -- sums ------------------------------------------------------------------------------------

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
        whole = self._merged()
        name = f"{type(self).__name__}.nonzero"
        at = np.array(
            agreed(lambda x: tuple(np.flatnonzero(x)), whole.data, name, "the array"), int
        )
        return tuple(i[at] for i in whole.coords)

    def _positions(self, found: Any, axis: Any) -> Any:
        """What `argmax` returns along an axis."""
        return self._along(found, axis)

    # -- products --------------------------------------------------------------------------------

    def __matmul__(self, other: Value) -> Any:
        y = self._operand(other)
        if not np.ndim(y):
            raise ValueError("Scalar operands are not allowed, use '*' instead")
        return _product(self, y)

    def __rmatmul__(self, other: Value) -> Any:
        if scipy.sparse.issparse(other):
            return of(other) @ self
        x = _dense(other)
        if not x.ndim:
            raise ValueError("Scalar operands are not allowed, use '*' instead")
        left = self if self.ndim == 1 else self.mT
        if x.ndim == 1:
            return left @ x
        found = left @ np.swapaxes(x, -1, -2)
        return found if self.ndim == 1 else np.swapaxes(found, -1, -2)

    def dot(self, other: Value) -> Any:
        """Return the product with an array, or with a number: along the last axis of this one.

        Parameters
        ----------
        other : array_like or sparse array
            The second factor; of two axes or more its last but one is summed over.

        Returns
        -------
        array or SparseArray
            A SparseArray of a number or a sparse array, else a dense one.
        """
        y = self._operand(other)
        if not np.ndim(y):
            return self.multiply(y)
        if max(self.ndim, y.ndim) <= 2:
            return self @ y
        return self.tensordot(y, ((-1,), (-min(2, y.ndim),)))

    def tensordot(self, other: Value, axes: Any = 2) -> Any:
        """Return the product summed over axes of both.

        Parameters
        ----------
        other : array_like or sparse array
            The second factor.
        axes : int or (tuple of int, tuple of int), default 2
            How many of the last axes and of the first ones of the other, or which of each.

        Returns
        -------
        scalar, array or SparseArray
            A SparseArray of a sparse array, a dense one of a dense one; a number without axes.

        Raises
        ------
        ValueError
            If the sides do not fit.
        """
        y = self._operand(other)
        if isinstance(axes, (int, np.integer)):
            axes = (range(self.ndim - axes, self.ndim), range(axes))
        left, right = (
            [i % x.ndim for i in np.atleast_1d(part)]
            for x, part in zip((self, y), axes, strict=True)
        )
        if [self.shape[i] for i in left] != [y.shape[i] for i in right]:
            raise ValueError(
                f"tensordot: sides of {self.shape} and {y.shape} do not fit at {axes}"
            )
        rows = [i for i in range(self.ndim) if i not in left]
        columns = [i for i in range(y.ndim) if i not in right]
        count = math.prod(self.shape[i] for i in left)
        a = self.transpose((*rows, *left)).reshape(-1 if count else self._full, count)
        b = y.transpose((*right, *columns)).reshape(count, -1)
        sides = (*(self.shape[i] for i in rows), *(y.shape[i] for i in columns))
        return _in_shape(a @ b, sides)

    def multiply(self, other: Value) -> Any:
        """Return the elementwise product.

        Parameters
        ----------
        other : array_like or sparse array
            What broadcasts with this one.

        Returns
        -------
        SparseArray
            The product.

        Raises
        ------
        ValueError
            Of a shape that does not.
        """
        y = self._operand(other)
        if not np.ndim(y):
            return self._of_elements(self.data * y)
        try:
            shape = np.broadcast_shapes(self.shape, y.shape)
        except ValueError:
            raise ValueError(f"inconsistent shapes {self.shape} and {y.shape}") from None
        a = self._broadcast(shape)
        if isinstance(y, SparseArray):
            return _elementwise_product(a, y._broadcast(shape))
        own = zip(a.coords[-y.ndim :], y.shape, strict=True)
        return a._of_elements(
            a.data * y[tuple(np.zeros_like(i) if side == 1 else i for i, side in own)]
        )

    def __mul__(self, other: Value) -> Any:
        return self.multiply(other)

    def __rmul__(self, other: Value) -> Any:
        y = self._operand(other)
        return y * self if isinstance(y, SparseArray) else self.multiply(y)

    def __imul__(self, other: Value) -> Any:
        y = self._operand(other)
        if np.ndim(y):
            return NotImplemented
        self.data = self.data * y
        return self

    def __truediv__(self, other: Value) -> Any:
        y = self._operand(other)
        if isinstance(y, SparseArray):
            with np.errstate(divide="ignore", invalid="ignore"):
                return self.toarray() / y.toarray()
        return self.multiply(1 / _dense(y))  # of float32 by a number double, as in SciPy

    def __rtruediv__(self, other: Value) -> Any:
        raise NotDifferentiableError(
            "x / A of a sparse matrix A: expected a dense one. Divide by A.toarray(), or solve "
            "with tapegrad.scipy.sparse.linalg.spsolve."
        )

    def __pow__(self, n: Any) -> Any:
        return self.power(n)

    # -- sums with others ------------------------------------------------------------------------

    def __add__(self, other: Value) -> Any:
        y = self._operand(other)
        if isinstance(y, SparseArray):
            if y.shape != self.shape:
                raise ValueError(f"inconsistent shapes {self.shape} and {y.shape}")
            both = zip(self.coords, y.coords, strict=True)
            return self._like(
                np.concatenate([self.data, y.data]), map(np.concatenate, both), self.shape
            )
        if not np.ndim(y):
            if not in_trace(y) and y == 0:
                return self.copy()
            raise NotImplementedError("adding a nonzero scalar to a sparse array is not supported")
        return self.toarray() + y

    __radd__ = __add__

    def __sub__(self, other: Value) -> Any:
        return self + -other

    def __rsub__(self, other: Value) -> Any:
        return -self + other


class _Rest:
    """Structure of a SparseArray beside its elements; equal for equal positions."""

    def __init__(self, a: SparseArray) -> None:
        self.kind, self.coords, self.rest = type(a), a.coords, (a.shape, a.format)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Rest):
            return NotImplemented
        return (self.kind, self.rest) == (other.kind, other.rest) and all(
            x is y or np.array_equal(x, y) for x, y in zip(self.coords, other.coords, strict=True)
        )

    def __hash__(self) -> int:
        return hash((len(self.coords[0]), self.rest))


def register(kind: type[SparseArray]) -> None:
    """Make a class a pytree of its elements."""
    register_pytree(
        kind,
        lambda a: ((a.data,), _Rest(a)),
        lambda rest, leaves: rest.kind(*leaves, rest.coords, *rest.rest),
    )


register(SparseArray)


def _dense(x: Value) -> Any:
    return x if hasattr(x, "shape") else np.asarray(x)


def _index(index: Any) -> tuple[Any, ...]:
    """The parts of an index, of which a sparse one of booleans stands for its positions."""
    found: list[Any] = []
    for part in index if isinstance(index, tuple) else (index,):
        if isinstance(part, SparseArray) or scipy.sparse.issparse(part):
            found += part.nonzero()
        else:
            found.append(part)
    return tuple(found)


_MATRICES: list[type[SparseArray]] = []  # the class of matrices, which derives from the other


def of(a: Any) -> Any:
    """Any array as a SparseArray: sparse ones of SciPy, dense ones with all of their elements."""
    if isinstance(a, SparseArray):
        return a
    if scipy.sparse.issparse(a):
        coo = a.tocoo()
        kind = _MATRICES[0] if scipy.sparse.isspmatrix(a) else SparseArray
        return kind(coo.data, coo.coords, coo.shape, a.format)
    return SparseArray(np.zeros(0), (np.zeros(0, int),), (0,))._of_dense(_dense(a))


def matrix_of(a: Any) -> Any:
    """The same of what has two axes."""
    found = of(a)
    if found.ndim != 2:
        raise ValueError(
            f"expected a sparse matrix with two axes, got {found.ndim}. A[[i]] keeps both where "
            "A[i] has one."
        )
    return found


def _in_shape(found: Any, shape: Shape) -> Any:
    if shape or not isinstance(found, SparseArray):
        return found.reshape(shape)
    return np.sum(found.data)


def _product(a: Any, b: Any) -> Any:
    """The product along the last axis of a and the last but one of b, of matrices in stacks."""
    first, second = (1, a.shape[0]) if a.ndim == 1 else a.shape[-2:]
    inner, last = (b.shape[0], 1) if b.ndim == 1 else b.shape[-2:]
    if second != inner:
        raise ValueError(
            f"matmul: dimension mismatch: a sparse array of shape {a.shape} times an array of "
            f"shape {b.shape}"
        )
    if a.ndim == 2 and not isinstance(b, SparseArray) and b.ndim <= 2:
        return _times(a, b)
    if a.ndim == b.ndim == 2:
        return _sparse_product(a, b)
    a = SparseArray(a.data, a.coords, a.shape)
    stack = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    count = math.prod(stack)
    rows, columns = a.shape[-2:-1], b.shape[b.ndim - 1 :] if b.ndim > 1 else ()
    a = a.reshape((*a.shape[:-2], first, second))._broadcast((*stack, first, second))
    a = a.reshape((count, first, second))
    whole, i, j = a.coords  # of which each lies in a block of its own
    a = a._like(a.data, (whole * first + i, whole * second + j), (count * first, count * second))
    b = b.reshape((*b.shape[:-2], inner, last))
    full = (*stack, inner, last)
    b = b._broadcast(full) if isinstance(b, SparseArray) else np.broadcast_to(b, full)
    b = b.reshape((count * inner, last))
    found = _sparse_product(a, b) if isinstance(b, SparseArray) else _times(a, b)
    return _in_shape(found, (*stack, *rows, *columns))


def _times(a: SparseArray, x: Any) -> Any:
    if not in_trace(a.data):
        return times(a.plain(), x) if in_trace(x) else a.plain() @ x
    return product(a.data, x, a.row, a.col, a.shape)


def _sparse_product(a: SparseArray, b: SparseArray) -> Any:
    """Each element of a times those of the row of b that it meets."""
    order = np.argsort(b.row, kind="stable")
    starts = np.searchsorted(b.row[order], np.arange(b.shape[0] + 1))
    counts = (starts[1:] - starts[:-1])[a.col]
    left = np.repeat(np.arange(a.nnz), counts)
    offsets = np.arange(len(left)) - np.repeat(np.cumsum(counts) - counts, counts)
    right = order[np.repeat(starts[a.col], counts) + offsets]
    coords = a.row[left], b.col[right]
    return a._like(a.data[left] * b.data[right], coords, (a.shape[0], b.shape[1]))._merged()


def power_of(a: Any, n: int) -> Any:
    """The product of n times the same matrix; of none SciPy's identity."""
    if n < 0 or int(n) != n:
        raise ValueError("exponent must be >= 0")
    if not n:
        return scipy.sparse.eye_array(a.shape[0], dtype=a.dtype)
    half = power_of(a, n // 2) if n > 1 else None
    found = a if half is None else half @ half
    return found @ a if n > 1 and n % 2 else found


def _elementwise_product(a: SparseArray, b: SparseArray) -> Any:
    a, b = a._merged(), b._merged()
    keys = [flat(x.coords, x.shape) for x in (a, b)]
    common, left, right = np.intersect1d(*keys, assume_unique=True, return_indices=True)
    return a._like(a.data[left] * b.data[right], unflat(common, a.shape), a.shape)


__all__ = ["SparseArray", "matrix_of", "of", "power_of", "register"]
