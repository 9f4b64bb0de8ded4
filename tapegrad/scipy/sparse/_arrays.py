"""SparseArray: elements that may be traced, at positions that are constant.

Knows how a sparse matrix is written in SciPy, and the products. It is a pytree of its elements:
transforms take it as an input and return it as a gradient.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from tapegrad._core.types import Value
from tapegrad._core.values import in_trace, lift, untraced
from tapegrad._errors import NotDifferentiableError
from tapegrad._tree import register as register_pytree
from tapegrad.scipy.sparse._products import placed, product, summed, times


class SparseArray:
    """A sparse matrix whose stored elements may be traced; their positions are constants.

    It is made by `csr_array` and its kin of `tapegrad.scipy.sparse`, and by arithmetic of SciPy's
    sparse arrays with traced ones. It is a pytree of its elements: transforms take it as an input
    and return it as a gradient. Elements at equal positions add up, as in a `coo_array`.

    Parameters
    ----------
    data : array, shape (n,)
        The stored elements.
    rows, columns : array of int, shape (n,)
        Their positions.
    shape : tuple of int
        The two sides of the matrix.
    format : str, default "coo"
        SciPy's format of `plain()`.

    Attributes
    ----------
    data : array, shape (n,)
        The stored elements.
    row, col : array of int, shape (n,)
        Their positions.
    shape : tuple of int
        The two sides.
    format : str
        The format.
    ndim : int
        2.

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

    def __init__(
        self, data: Value, rows: Any, columns: Any, shape: Any, format: str = "coo"
    ) -> None:
        self.data = data
        self.row, self.col = rows, columns
        self.shape = (int(shape[0]), int(shape[1]))
        self.format = format

    # -- what it is ------------------------------------------------------------------------------

    ndim = 2

    @property
    def dtype(self) -> Any:
        """The dtype of the elements."""
        return self.data.dtype

    @property
    def nnz(self) -> int:
        """How many elements are stored."""
        return len(self.row)

    @property
    def size(self) -> int:
        """How many elements are stored."""
        return len(self.row)

    @property
    def coords(self) -> tuple[Any, Any]:
        """The rows and the columns of the elements."""
        return self.row, self.col

    def __repr__(self) -> str:
        return (
            f"<SparseArray of {self.nnz} elements of {self.data!r} "
            f"in {self.shape[0]} x {self.shape[1]}>"
        )

    def plain(self) -> Any:
        """Return SciPy's sparse array of the present values, in the format of this one.

        Returns
        -------
        scipy.sparse.sparray
            The array.

        Raises
        ------
        NotDifferentiableError
            Inside a vmap that maps over the elements.
        """
        data = untraced(self.data)
        if in_trace(data):
            raise NotDifferentiableError(
                "SparseArray.plain() inside vmap: expected one matrix, got one an example. Call "
                "it outside of the vmap."
            )
        made = scipy.sparse.coo_array((data, (self.row, self.col)), shape=self.shape)
        return made.asformat(self.format)

    def toarray(self) -> Any:
        """Return the dense array.

        Returns
        -------
        array, shape (m, n)
            The array.
        """
        return placed(self.data, self.row, self.col, self.shape)

    todense = toarray

    def _with(self, data: Value) -> SparseArray:
        return SparseArray(data, self.row, self.col, self.shape, self.format)

    def _merged(self) -> SparseArray:
        """The same with one element a position, row by row."""
        keys = self.row.astype(np.int64) * max(self.shape[1], 1) + self.col
        found, places = np.unique(keys, return_inverse=True)
        if len(found) == len(keys) and np.array_equal(places, np.arange(len(keys))):
            return self
        rows, columns = np.divmod(found, max(self.shape[1], 1))
        data = summed(self.data, places.reshape(-1), len(found))
        return SparseArray(data, rows, columns, self.shape, self.format)

    def sum_duplicates(self) -> SparseArray:
        """Return the same matrix with one element a position.

        Returns
        -------
        SparseArray
            A new object, or this one if it is so already.
        """
        return self._merged()

    def eliminate_zeros(self) -> None:
        """Keep all elements: one that is 0 has a derivative."""

    def sort_indices(self) -> None:
        """Keep the order of the elements, which nothing depends on."""

    def asformat(self, format: str | None, copy: bool = False) -> SparseArray:
        """Return the same matrix under the name of another format.

        Parameters
        ----------
        format : str or None
            "csr", "csc", "coo", "dia", "bsr", "lil" or "dok"; None keeps the format.
        copy : bool, default False
            Whether the elements are copied; they are shared otherwise.

        Returns
        -------
        SparseArray
            The matrix.

        Raises
        ------
        ValueError
            Of another format.
        """
        if format not in (None, "csr", "csc", "coo", "dia", "bsr", "lil", "dok"):
            raise ValueError(f"Format {format} is unknown.")
        data = np.copy(self.data) if copy else self.data
        return SparseArray(data, self.row, self.col, self.shape, format or self.format)

    def tocsr(self, copy: bool = False) -> SparseArray:
        """Return the same matrix under the name of the format csr.

        Parameters
        ----------
        copy : bool, default False
            Whether the elements are copied; they are shared otherwise.

        Returns
        -------
        SparseArray
            The matrix.
        """
        return self.asformat("csr", copy)

    def tocsc(self, copy: bool = False) -> SparseArray:
        """Return the same matrix under the name of the format csc.

        Parameters
        ----------
        copy : bool, default False
            Whether the elements are copied; they are shared otherwise.

        Returns
        -------
        SparseArray
            The matrix.
        """
        return self.asformat("csc", copy)

    def tocoo(self, copy: bool = False) -> SparseArray:
        """Return the same matrix under the name of the format coo.

        Parameters
        ----------
        copy : bool, default False
            Whether the elements are copied; they are shared otherwise.

        Returns
        -------
        SparseArray
            The matrix.
        """
        return self.asformat("coo", copy)

    def copy(self) -> SparseArray:
        """Return the same matrix with elements of its own.

        Returns
        -------
        SparseArray
            The matrix.
        """
        return self._with(np.copy(self.data))

    def astype(self, dtype: Any, copy: bool = True) -> SparseArray:
        """Return the matrix with elements of another dtype.

        Parameters
        ----------
        dtype : dtype
            The dtype.
        copy : bool, default True
            Changes nothing: the elements are new ones.

        Returns
        -------
        SparseArray
            The matrix.
        """
        return self._with(self.data.astype(dtype))

    # -- turned, in parts ------------------------------------------------------------------------

    @property
    def T(self) -> SparseArray:
        """The transpose; csr becomes csc and csc csr."""
        turned = {"csr": "csc", "csc": "csr"}.get(self.format, self.format)
        return SparseArray(self.data, self.col, self.row, self.shape[::-1], turned)

    def transpose(self, axes: Any = None, copy: bool = False) -> SparseArray:
        """Return the transpose.

        Parameters
        ----------
        axes : None or (1, 0), optional
            The order of the axes.
        copy : bool, default False
            Whether the elements are copied; they are shared otherwise.

        Returns
        -------
        SparseArray
            The transpose.

        Raises
        ------
        ValueError
            Of another order.
        """
        if axes not in (None, (1, 0)):
            raise ValueError("Sparse matrices do not support an 'axes' parameter")
        return self.T.copy() if copy else self.T

    def conj(self, copy: bool = True) -> SparseArray:
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
        return self._with(np.conjugate(self.data))

    conjugate = conj

    @property
    def real(self) -> SparseArray:
        """The real part."""
        return self._with(np.real(self.data))

    @property
    def imag(self) -> SparseArray:
        """The imaginary part."""
        return self._with(np.imag(self.data))

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
        """
        rows, columns = self.shape
        count = max(0, min(rows + min(k, 0), columns - max(k, 0)))
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

    def __getitem__(self, index: Any) -> Any:
        parts = index if isinstance(index, tuple) else (index,)
        parts = (*parts, slice(None))[:2] if len(parts) < 2 else parts
        if len(parts) == 2 and all(isinstance(i, (int, np.integer)) for i in parts):
            i, j = (int(i) % side for i, side in zip(parts, self.shape, strict=True))
            return np.sum(self.data[np.flatnonzero((self.row == i) & (self.col == j))])
        # SciPy indexes the elements' numbers; none is 0, and no two are in one place.
        whole = self._merged()
        numbers = np.arange(1, whole.nnz + 1)
        places = scipy.sparse.csr_array((numbers, (whole.row, whole.col)), shape=whole.shape)
        picked = places[index]
        if picked.ndim != 2:
            raise NotDifferentiableError(
                "SparseArray[...]: expected two integers, or what picks a matrix, as A[rows, :] "
                "does. Index the dense array, A.toarray()[...]."
            )
        picked = picked.tocoo()
        rows, columns = picked.coords
        return SparseArray(whole.data[picked.data - 1], rows, columns, picked.shape, self.format)

    # -- sums ------------------------------------------------------------------------------------

    def sum(self, axis: int | None = None, dtype: Any = None, out: None = None) -> Any:
        """Return the sum, or the sums along an axis.

        Parameters
        ----------
        axis : int, optional
            0 or 1, or from the end; all elements by default.
        dtype, out : None
            Nothing else.

        Returns
        -------
        scalar or array
            A dense vector along an axis.

        Raises
        ------
        TypeError
            Of a dtype or out.
        ValueError
            Of another axis.
        """
        if dtype is not None or out is not None:
            raise TypeError("SparseArray.sum: expected no dtype= and no out=")
        if axis is None:
            return np.sum(self.data)
        if axis not in (0, 1, -1, -2):
            raise ValueError(f"axis out of range: {axis}")
        along_rows = axis in (0, -2)
        places, count = (self.col, self.shape[1]) if along_rows else (self.row, self.shape[0])
        return summed(self.data, places, count)

    def mean(self, axis: int | None = None) -> Any:
        """Return the mean, or the means along an axis; zeros count.

        Parameters
        ----------
        axis : int, optional
            0 or 1, or from the end; all elements by default.

        Returns
        -------
        scalar or array
            A dense vector along an axis.
        """
        count = self.shape[0] * self.shape[1] if axis is None else self.shape[axis]
        return self.sum(axis) / count

    # -- products --------------------------------------------------------------------------------

    def __matmul__(self, other: Value) -> Any:
        if isinstance(other, SparseArray) or scipy.sparse.issparse(other):
            return _sparse_product(self, of(other))
        x = _dense(other)
        if x.ndim not in (1, 2) or x.shape[0] != self.shape[1]:
            raise ValueError(
                f"matmul: dimension mismatch: a sparse matrix of shape {self.shape} times an "
                f"array of shape {x.shape}"
            )
        if not in_trace(self.data):
            return times(self.plain(), x) if in_trace(x) else self.plain() @ x
        return product(self.data, x, self.row, self.col, self.shape)

    def __rmatmul__(self, other: Value) -> Any:
        if scipy.sparse.issparse(other):
            return _sparse_product(of(other), self)
        x = _dense(other)
        found = self.T @ (x.T if x.ndim == 2 else x)
        return found.T if x.ndim == 2 else found

    def dot(self, other: Value) -> Any:
        """Return the product with a matrix or a vector, or with a number.

        Parameters
        ----------
        other : array_like or sparse array
            The second factor.

        Returns
        -------
        array or SparseArray
            A SparseArray of a number or a sparse array, else a dense one.
        """
        return self * other if np.ndim(other) == 0 else self @ other

    def multiply(self, other: Value) -> SparseArray:
        """Return the elementwise product.

        Parameters
        ----------
        other : array_like or sparse array
            A number, an array that broadcasts to this shape, or a sparse array of this shape.

        Returns
        -------
        SparseArray
            The product.

        Raises
        ------
        ValueError
            Of another shape.
        """
        if isinstance(other, SparseArray) or scipy.sparse.issparse(other):
            return _elementwise_product(self, of(other))
        y = _operand(other)
        if not np.ndim(y):
            return self._with(self.data * y)
        if np.broadcast_shapes(self.shape, y.shape) != self.shape:
            raise ValueError(f"inconsistent shapes {self.shape} and {y.shape}")
        rows = self.row if y.ndim == 2 and y.shape[0] != 1 else np.zeros_like(self.row)
        columns = self.col if y.shape[-1] != 1 else np.zeros_like(self.col)
        return self._with(self.data * (y[rows, columns] if y.ndim == 2 else y[columns]))

    __mul__ = multiply
    __rmul__ = multiply

    def __truediv__(self, other: Value) -> SparseArray:
        if isinstance(other, SparseArray) or scipy.sparse.issparse(other):
            raise NotDifferentiableError(
                "SparseArray / sparse: expected a number or an array. Divide dense arrays, "
                "A.toarray() / B.toarray()."
            )
        return self.multiply(1 / _dense(other))  # of float32 by a number double, as in SciPy

    def __neg__(self) -> SparseArray:
        return self._with(-self.data)

    def __abs__(self) -> SparseArray:
        merged = self._merged()
        return merged._with(np.abs(merged.data))

    def power(self, n: Any, dtype: Any = None) -> SparseArray:
        """Return the elements to a power.

        Parameters
        ----------
        n : scalar
            The exponent; of 0, elements that are not stored stay 0.
        dtype : dtype, optional
            The dtype to which the elements are converted first; kept unless given.

        Returns
        -------
        SparseArray
            The powers.
        """
        merged = self._merged() if dtype is None else self._merged().astype(dtype)
        return merged._with(merged.data**n)

    __pow__ = power

    # -- sums with others ------------------------------------------------------------------------

    def __add__(self, other: Value) -> Any:
        if isinstance(other, SparseArray) or scipy.sparse.issparse(other):
            b = of(other)
            if b.shape != self.shape:
                raise ValueError("inconsistent shapes")
            return SparseArray(
                np.concatenate([self.data, b.data]),
                np.concatenate([self.row, b.row]),
                np.concatenate([self.col, b.col]),
                self.shape,
                self.format,
            )
        y = _operand(other)
        if not np.ndim(y):
            if not in_trace(y) and y == 0:
                return self
            raise NotImplementedError("adding a nonzero scalar to a sparse array is not supported")
        return self.toarray() + y

    __radd__ = __add__

    def __sub__(self, other: Value) -> Any:
        return self + -other

    def __rsub__(self, other: Value) -> Any:
        return -self + other

    # -- of each element, and of two ------------------------------------------------------------

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
        rows, columns = self.shape
        if (k > 0 and k >= columns) or (k < 0 and -k >= rows):
            raise ValueError("k exceeds array dimensions")
        count = min(rows + min(k, 0), columns - max(k, 0))
        given = np.asarray(lift(values)) if not in_trace(lift(values)) else lift(values)
        given = given[:count] if given.ndim else np.broadcast_to(given, (count,))
        count = given.shape[0]
        at = np.arange(count)
        new_rows, new_columns = at - min(k, 0), at + max(k, 0)
        kept = np.flatnonzero(~((self.col - self.row == k) & np.isin(self.row, new_rows)))
        self.data = np.concatenate([self.data[kept], given])
        self.row = np.concatenate([self.row[kept], new_rows])
        self.col = np.concatenate([self.col[kept], new_columns])


def _of_elements(name: str) -> Any:
    function = getattr(np, name)

    def method(self: SparseArray) -> SparseArray:
        merged = self._merged()
        return merged._with(function(merged.data))

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"""Return np.{name} of each element, which is 0 of 0.

        Returns
        -------
        SparseArray
            The matrix.
        """
    return method


def _of_all(name: str, word: str) -> Any:
    function = getattr(np, name)

    def method(self: SparseArray, axis: None = None) -> Any:
        if axis is not None:
            raise NotDifferentiableError(
                f"SparseArray.{name}: expected no axis. Take A.toarray().{name}(axis)."
            )
        whole = self._merged()
        data = whole.data
        if whole.nnz < self.shape[0] * self.shape[1]:
            data = np.concatenate([data, np.zeros(1, data.dtype)])
        return function(data)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"""Return the {word} element, of those that are not stored 0.

        Parameters
        ----------
        axis : None
            Nothing else: take `A.toarray().{name}(axis)` along an axis.

        Returns
        -------
        scalar
            The element.

        Raises
        ------
        NotDifferentiableError
            Of an axis, along which SciPy returns a sparse vector.
        """
    return method


def _of_two(name: str, word: str, sign: str) -> Any:
    function = getattr(np, name)

    def method(self: SparseArray, other: Value) -> Any:
        if not (isinstance(other, SparseArray) or scipy.sparse.issparse(other)):
            y = _operand(other)
            if np.ndim(y) or in_trace(y) or function(0.0, y) != 0:
                return function(self.toarray(), y)
            whole = self._merged()
            return whole._with(function(whole.data, y))
        b = of(other)
        if b.shape != self.shape:
            raise ValueError("inconsistent shapes")
        zeros = [x._with(np.zeros(x.nnz, x.data.dtype)) for x in (self, b)]
        # Both with elements in the places of either.
        left, right = (self + zeros[1])._merged(), (zeros[0] + b)._merged()
        return left._with(function(left.data, right.data))

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"""Return the {word} of two elements in each place.

        Parameters
        ----------
        other : sparse array, array_like or number
            Of this shape, or a number.

        Returns
        -------
        SparseArray or array
            A SparseArray of a sparse array, or of a number that is not {sign}; else a dense one.
        """
    return method


for _name, _method in {
    "max": _of_all("max", "greatest"),
    "min": _of_all("min", "least"),
    "maximum": _of_two("maximum", "greater", "positive"),
    "minimum": _of_two("minimum", "lesser", "negative"),
}.items():
    setattr(SparseArray, _name, _method)

for _name in (
    *("arcsin", "arcsinh", "arctan", "arctanh", "ceil", "deg2rad", "expm1", "floor", "log1p"),
    *("rad2deg", "rint", "sign", "sin", "sinh", "sqrt", "tan", "tanh", "trunc"),
):
    setattr(SparseArray, _name, _of_elements(_name))


class _Rest:
    """Structure of a SparseArray beside its elements; equal for equal positions."""

    def __init__(self, a: SparseArray) -> None:
        self.parts = a.row, a.col, a.shape, a.format

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Rest):
            return NotImplemented
        return all(
            x is y or np.array_equal(x, y) for x, y in zip(self.parts, other.parts, strict=True)
        )

    def __hash__(self) -> int:
        return hash((len(self.parts[0]), *self.parts[2:]))


register_pytree(
    SparseArray,
    lambda a: ((a.data,), _Rest(a)),
    lambda rest, leaves: SparseArray(*leaves, *rest.parts),
)


def _dense(x: Value) -> Any:
    return x if hasattr(x, "shape") else np.asarray(x)


def _operand(x: Value) -> Any:
    """An array, or a number of Python's as it is: that has no dtype, which could widen another."""
    return x if type(x) in (bool, int, float, complex) else _dense(x)


def of(a: Any) -> SparseArray:
    """Any matrix as a SparseArray: sparse ones of SciPy, dense ones with all of their elements."""
    if isinstance(a, SparseArray):
        return a
    if scipy.sparse.issparse(a):
        coo = a.tocoo()
        if coo.ndim != 2:
            raise ValueError(
                f"expected a sparse matrix with two axes, got {coo.ndim}. A[[i]] keeps both where "
                "A[i] has one."
            )
        return SparseArray(coo.data, coo.row, coo.col, coo.shape, a.format)
    dense = _dense(a)
    if dense.ndim != 2:
        raise ValueError(f"expected a matrix with two axes, got {dense.ndim}")
    rows, columns = (i.ravel() for i in np.indices(dense.shape))
    return SparseArray(np.ravel(dense), rows, columns, dense.shape, "coo")


def _sparse_product(a: SparseArray, b: SparseArray) -> SparseArray:
    """Each element of a times those of the row of b that it meets."""
    if a.shape[1] != b.shape[0]:
        raise ValueError(f"matmul: dimension mismatch: {a.shape} and {b.shape}")
    order = np.argsort(b.row, kind="stable")
    starts = np.searchsorted(b.row[order], np.arange(b.shape[0] + 1))
    counts = (starts[1:] - starts[:-1])[a.col]
    left = np.repeat(np.arange(a.nnz), counts)
    offsets = np.arange(len(left)) - np.repeat(np.cumsum(counts) - counts, counts)
    right = order[np.repeat(starts[a.col], counts) + offsets]
    made = SparseArray(
        a.data[left] * b.data[right], a.row[left], b.col[right], (a.shape[0], b.shape[1]), a.format
    )
    return made._merged()


def _elementwise_product(a: SparseArray, b: SparseArray) -> SparseArray:
    if a.shape != b.shape:
        raise ValueError(f"inconsistent shapes {a.shape} and {b.shape}")
    a, b = a._merged(), b._merged()
    width = max(a.shape[1], 1)
    keys = [x.row.astype(np.int64) * width + x.col for x in (a, b)]
    common, left, right = np.intersect1d(keys[0], keys[1], assume_unique=True, return_indices=True)
    rows, columns = np.divmod(common, width)
    return SparseArray(a.data[left] * b.data[right], rows, columns, a.shape, a.format)


__all__ = ["SparseArray", "of"]
