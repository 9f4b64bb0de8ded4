"""Functions of each element of a sparse array, and of the elements of two at each position.

Knows the elements and positions of `SparseArray`, whose base this is.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad._core.types import Value
from tapegrad._core.values import in_trace


class Elements:
    """The methods that compute element by element: these, and those of the tables below."""

    # Comparisons give sparse arrays, which are equal to nothing in a set.
    __hash__: Any = None

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
        whole: Any = self
        merged = whole._merged() if dtype is None else whole._merged().astype(dtype)
        return merged._of_elements(merged.data**n)


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


def _round(self: Any, ndigits: int = 0) -> Any:
    merged = self._merged()
    return merged._of_elements(np.round(merged.data, ndigits))


def _of_two(function: Callable[..., Any], name: str, doc: str | None) -> Any:
    def method(self: Any, other: Value) -> Any:
        y = self._operand(other)
        if hasattr(y, "_merged"):
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
for _name, _function in (
    ("__abs__", np.abs),
    ("__neg__", np.negative),
):
    setattr(Elements, _name, _of_each(_function, _function.__name__))
Elements.__round__ = _round  # type: ignore[attr-defined]
for _name, _word in (("maximum", "greater"), ("minimum", "lesser")):
    setattr(Elements, _name, _of_two(getattr(np, _name), _name, _GREATER.format(word=_word)))
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(Elements, f"__{_name}__", _of_two(getattr(operator, _name), f"__{_name}__", None))

__all__ = ["Elements"]
