"""Products, quotients and sums of sparse arrays with others, sparse or dense.

Knows the elements and positions of `Stored`.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np
import scipy.sparse

from tapegrad._core.quiet import errstate
from tapegrad._core.types import Value
from tapegrad._core.values import in_trace
from tapegrad._errors import NotDifferentiableError
from tapegrad.scipy.sparse._base import KINDS, Stored, cast_within, dense_of, of
from tapegrad.scipy.sparse._elements import Elements
from tapegrad.scipy.sparse._parts import Parts
from tapegrad.scipy.sparse._places import Shape, flat, unflat
from tapegrad.scipy.sparse._products import product, times


class Arithmetic(Parts, Elements):
    """The operators, and the methods that multiply."""

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """The operator or the method that a ufunc means, which operators of arrays call, too."""
        function: Any = None
        if method == "__call__" and not kwargs:
            if len(inputs) == 2:
                function = _OPERATORS.get(ufunc)
            else:
                function = getattr(type(self), _NAMES.get(ufunc, ufunc.__name__), None)
        if function is None:
            raise TypeError(
                f"np.{ufunc.__name__} of a sparse array: expected an operator, or a function of "
                "which it has a method, without out= and other options. Use A.toarray()."
            )
        if type(function) is not str:
            return function(*inputs)
        left, right = inputs
        if isinstance(left, Stored):
            return getattr(operator, function)(left, right)
        return getattr(right, f"__{_REFLECTED.get(function, 'r' + function)}__")(left)

    def __matmul__(self, other: Value) -> Any:
        y = self._operand(other)
        if not np.ndim(y):
            raise ValueError("Scalar operands are not allowed, use '*' instead")
        return _product(self, y)

    def __rmatmul__(self, other: Value) -> Any:
        if scipy.sparse.issparse(other):
            return of(other) @ self
        x = dense_of(other)
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
        if isinstance(y, Stored):
            return _elementwise_product(a, y._broadcast(shape))
        own = zip(a.coords[-y.ndim :], y.shape, strict=True)
        return a._of_elements(
            a.data * y[tuple(np.zeros_like(i) if side == 1 else i for i, side in own)]
        )

    def __mul__(self, other: Value) -> Any:
        return self.multiply(other)

    def __rmul__(self, other: Value) -> Any:
        y = self._operand(other)
        return y * self if isinstance(y, Stored) else self.multiply(y)

    def __imul__(self, other: Value) -> Any:
        y = self._operand(other)
        if np.ndim(y):
            return NotImplemented
        self.data = cast_within(self.data * y, self.dtype)
        return self

    def __itruediv__(self, other: Value) -> Any:
        y = self._operand(other)
        return NotImplemented if np.ndim(y) else self.__imul__(1.0 / y)

    def __truediv__(self, other: Value) -> Any:
        y = self._operand(other)
        if isinstance(y, Stored):
            with errstate(divide="ignore", invalid="ignore"):
                return self.toarray() / y.toarray()
        return self.multiply(1 / dense_of(y))  # of float32 by a number double, as in SciPy

    def __rtruediv__(self, other: Value) -> Any:
        raise NotDifferentiableError(
            "x / A of a sparse matrix A: expected a dense one. Divide by A.toarray(), or solve "
            "with tapegrad.scipy.sparse.linalg.spsolve."
        )

    def __pow__(self, n: Any) -> Any:
        return self.power(n)

    def _square(self) -> Any:
        return self * self  # of matrices the product

    def __add__(self, other: Value) -> Any:
        y = self._operand(other)
        if isinstance(y, Stored):
            if y.shape != self.shape:
                raise ValueError(f"inconsistent shapes {self.shape} and {y.shape}")
            both = zip(self.coords, y.coords, strict=True)
            kept = "csr" if self.format == "coo" and self.ndim <= 2 else self.format
            data = np.concatenate([self.data, y.data])
            return type(self)(data, map(np.concatenate, both), self.shape, kept)._merged()
        if not np.ndim(y):
            if not in_trace(y) and y == 0:
                return self._of_elements(np.copy(self.data))
            raise NotImplementedError("adding a nonzero scalar to a sparse array is not supported")
        return self.toarray() + y

    __radd__ = __add__

    def __sub__(self, other: Value) -> Any:
        y = self._operand(other)
        return self + _negative(y, self)

    def __rsub__(self, other: Value) -> Any:
        y = self._operand(other)
        return _negative(self, y) + y


# Operators by their ufuncs, and methods where these have another name.
_OPERATORS: dict[Any, str] = {
    np.matmul: "matmul",
    np.add: "add",
    np.power: "pow",
    np.multiply: "mul",
    np.subtract: "sub",
    np.divide: "truediv",
    np.equal: "eq",
    np.not_equal: "ne",
    np.less: "lt",
    np.less_equal: "le",
    np.greater: "gt",
    np.greater_equal: "ge",
}
_REFLECTED = {"eq": "eq", "ne": "ne", "lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}
_NAMES: dict[Any, str] = {np.absolute: "__abs__", np.negative: "__neg__", np.square: "_square"}


def _negative(x: Any, other: Any) -> Any:
    """-x in the dtype of a sum with the other: unsigned elements have no negative."""
    dtype = np.result_type(*(getattr(y, "dtype", y) for y in (x, other)))
    return -x.astype(dtype) if hasattr(x, "dtype") and x.dtype != dtype else -x


def _in_shape(found: Any, shape: Shape) -> Any:
    if shape or not isinstance(found, Stored):
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
    if a.ndim == 2 and not isinstance(b, Stored) and b.ndim <= 2:
        return _times(a, b)
    if a.ndim == b.ndim == 2:
        return _sparse_product(a, b)
    a = KINDS[False](a.data, a.coords, a.shape)
    stack = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    count = math.prod(stack)
    rows, columns = a.shape[-2:-1], b.shape[b.ndim - 1 :] if b.ndim > 1 else ()
    a = a.reshape((*a.shape[:-2], first, second))._broadcast((*stack, first, second))
    a = a.reshape((count, first, second))
    whole, i, j = a.coords  # of which each lies in a block of its own
    a = a._like(a.data, (whole * first + i, whole * second + j), (count * first, count * second))
    b = b.reshape((*b.shape[:-2], inner, last))
    full = (*stack, inner, last)
    b = b._broadcast(full) if isinstance(b, Stored) else np.broadcast_to(b, full)
    b = b.reshape((count * inner, last))
    found = _sparse_product(a, b) if isinstance(b, Stored) else _times(a, b)
    return _in_shape(found, (*stack, *rows, *columns))


def _times(a: Stored, x: Any) -> Any:
    if not in_trace(a.data):
        return times(a.plain(), x) if in_trace(x) else a.plain() @ x
    return product(a.data, x, a.row, a.col, a.shape)


def _sparse_product(a: Stored, b: Stored) -> Any:
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


def _elementwise_product(a: Stored, b: Stored) -> Any:
    a, b = a._merged(), b._merged()
    keys = [flat(x.coords, x.shape) for x in (a, b)]
    common, left, right = np.intersect1d(keys[0], keys[1], assume_unique=True, return_indices=True)
    return a._like(a.data[left] * b.data[right], unflat(common, a.shape), a.shape)


__all__ = ["Arithmetic", "power_of"]
