"""Functions of each element of a sparse array, and of the elements of two at each position.

Knows the elements and positions of `Stored`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad._core.types import Value
from tapegrad._core.values import in_trace
from tapegrad.scipy.sparse._base import Stored


class Elements(Stored):
    """The methods that compute element by element: these, and those of the tables below."""

    # Comparisons give sparse arrays, which are equal to nothing in a set.
    __hash__: Any = None

    def __neg__(self) -> Any:
        return self._of_elements(-self.data)

    def __abs__(self) -> Any:
        merged = self._merged()
        return merged._of_elements(np.abs(merged.data))

    def __round__(self, ndigits: int = 0) -> Any:
        merged = self._merged()
        return merged._of_elements(np.round(merged.data, ndigits))

    def power(self, n: Any, dtype: Any = None) -> Any:
        """Return the elements to a power.

        Parameters
        ----------
        n : scalar
            The exponent, not 0.
        dtype : dtype, optional
            The dtype to which the elements are converted first; kept unless given.

        Returns
        -------
        SparseArray
            The powers.

        Raises
        ------
        NotImplementedError
            Of a power of 0, which is 1 of every element that is not stored, or of an array.
        """
        if np.ndim(n):
            raise NotImplementedError("input is not scalar")
        if not in_trace(n) and not n:
            raise NotImplementedError(
                "zero power is not supported as it would densify the matrix. Use "
                "np.ones(A.shape, dtype=A.dtype)."
            )
        merged = self._merged() if dtype is None else self._merged().astype(dtype)
        return merged._of_elements(merged.data**n)

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


def _of_each(function: Callable[..., Any], name: str) -> Any:
    def method(self: Any) -> Any:
        merged = self._merged()
        return merged._of_elements(function(merged.data))

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"""Return np.{name} of each element, which is 0 of 0.

        Returns
        -------
        SparseArray
            The matrix.
        """
    return method


def _of_two(function: Callable[..., Any], name: str, doc: str | None) -> Any:
    def method(self: Any, other: Value) -> Any:
        y = self._operand(other)
        if isinstance(y, Stored):
            if y.shape != self.shape and name in ("__eq__", "__ne__"):
                return name == "__ne__"
            return _of_both(function, self, y)
        if np.result_type(y).kind not in "biufc":
            return NotImplemented
        if np.ndim(y):
            return function(self.toarray(), y)
        if in_trace(y) or function(0.0, y):
            return self._of_dense(function(self.toarray(), y))
        whole = self._merged()
        return whole._of_elements(function(whole.data, y))

    method.__name__ = method.__qualname__ = name
    method.__doc__ = doc
    return method


def _of_both(function: Callable[..., Any], a: Any, b: Any) -> Any:
    if a.shape != b.shape:
        raise ValueError(f"inconsistent shapes {a.shape} and {b.shape}")
    if function(0, 0):  # as what neither stores is equal
        return a._of_dense(function(a.toarray(), b.toarray()))
    zeros = [x._of_elements(np.zeros(x.nnz, x.dtype)) for x in (a, b)]
    # Both with elements at the positions of either.
    left, right = (a + zeros[1])._merged(), (zeros[0] + b)._merged()
    return left._of_elements(function(left.data, right.data))


_GREATER = """Return the {word} of two elements at each position.

        Parameters
        ----------
        other : sparse array, array_like or number
            Of this shape, or a number.

        Returns
        -------
        SparseArray or array
            A SparseArray of a sparse array or a number; of an array a dense one.

        Raises
        ------
        ValueError
            Of another shape.
        """

for _name in (
    *("arcsin", "arcsinh", "arctan", "arctanh", "ceil", "deg2rad", "expm1", "floor", "log1p"),
    *("rad2deg", "rint", "sign", "sin", "sinh", "sqrt", "tan", "tanh", "trunc"),
):
    setattr(Elements, _name, _of_each(getattr(np, _name), _name))
for _name, _word in (("maximum", "greater"), ("minimum", "lesser")):
    setattr(Elements, _name, _of_two(getattr(np, _name), _name, _GREATER.format(word=_word)))
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(Elements, f"__{_name}__", _of_two(getattr(operator, _name), f"__{_name}__", None))

__all__ = ["Elements"]
