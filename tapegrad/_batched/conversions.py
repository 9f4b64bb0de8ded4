"""Conversions to a single value, which are refused because the examples differ.

Knows the conversions (to a truth value, a number, an index, an ndarray) and the advice for each.
Must not know how batched values compute.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from tapegrad._core.types import Value
from tapegrad._errors import BatchingError


class RefusedConversions:
    """A value that refuses every conversion, because the result may differ between examples."""

    __slots__ = ()

    if TYPE_CHECKING:
        vmap_level: Any

        @property
        def dtype(self) -> np.dtype[Any]: ...

    def refuse(self, call: str, advice: str) -> NoReturn:
        """Raise the BatchingError for a call whose result may differ between the examples."""
        raise BatchingError(
            f"{self.vmap_level.name}: {call} of a batched value; each example may have another "
            f"one. {advice}"
        )

    def __bool__(self) -> bool:
        raise BatchingError(
            f"{self.vmap_level.name}: bool() of a batched value; each example may branch "
            "differently. Use np.where."
        )

    def __int__(self) -> int:
        self.refuse("int()", "Keep it as an array: x.astype(int).")

    def __float__(self) -> float:
        self.refuse(
            "float(), or a write into a plain array,",
            "Arithmetic and NumPy functions take batched values; an array to write them into is "
            "made with np.zeros(shape, like=x) or np.array(a, like=x).",
        )

    def __complex__(self) -> complex:
        self.refuse("complex()", "Use x.astype(complex).")

    def __index__(self) -> int:
        self.refuse(
            "operator.index(), as for range(x), a shape or the index of a plain array,",
            "To look up values use np.asarray(table, like=x)[x], and a[x + np.arange(n)] for "
            "a[x:x + n]. Sizes must be the same for all examples: compute with the largest, and "
            "np.where(np.arange(size) < x, y, 0).",
        )

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if self.dtype.kind == "b":
            advice = (
                "Use np.where(x, table, 0) for table[x], np.sum(table, where=x) for a sum of it, "
                "np.where(x, v, table) for table[x] = v"
            )
        elif self.dtype.kind in "iu":
            advice = (
                "Use np.asarray(table, like=x)[x] for table[x] or np.take(table, x), "
                "np.array(table, like=x) for a table to write into"
            )
        else:
            advice = (
                "Use np.zeros(shape, like=x), np.full(shape, x, like=x) or np.array(a, like=x) "
                "for an array to write into"
            )
        self.refuse(
            "np.asarray(x), or a plain array indexed by it or written into,",
            f"{advice}, np.stack for np.array([...]).",
        )

    def __contains__(self, value: Value) -> bool:
        self.refuse("x in array", "Use np.any(array == x).")

    def __format__(self, spec: str) -> str:
        if spec:
            self.refuse(f"format(x, {spec!r})", "Print it as it is, or after the vmap.")
        return repr(self)

    def __floor__(self) -> int:
        self.refuse("math.floor()", "Use np.floor.")

    def __ceil__(self) -> int:
        self.refuse("math.ceil()", "Use np.ceil.")

    def __trunc__(self) -> int:
        self.refuse("math.trunc()", "Use np.trunc.")


__all__ = ["RefusedConversions"]
