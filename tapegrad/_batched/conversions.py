"""Conversions to a single value, which are refused because the examples differ.

Knows the conversions (to a truth value, a number, an index, an ndarray) and the advice for each.
Must not know how batched values compute.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from tapegrad._arrays.caller import asking_place, caller
from tapegrad._arrays.interface import Container
from tapegrad._arrays.refusal import batched_advice_for, call_of, keep_refusal
from tapegrad._core.operands import leaves_it_to_us
from tapegrad._core.types import Value
from tapegrad._core.values import raw_value, refuse_sparse_power
from tapegrad._errors import BatchingError

WRITTEN = (
    "Make z with np.zeros_like(x, shape=shape), or with a + np.zeros_like(x, shape=a.shape) to "
    "start with the values of a; join values with np.stack."
)
PRINTED = "Print it as it is, or after the vmap."


# Whether `if x > 0` goes on where all examples answer the same, and else says how each answers.
# Only for callers that then split the examples, and call again.
AGREEING: ContextVar[bool] = ContextVar("tapegrad_agreeing", default=False)


class DisagreementError(BatchingError):
    """The examples of a vmap go two ways at a branch; `answers` says which."""

    def __init__(self, answers: Any) -> None:
        super().__init__("the examples of a vmap answer differently")
        self.answers = answers


class RefusedConversions:
    """A value that refuses every conversion, because the result may differ between examples."""

    __slots__ = ()

    if TYPE_CHECKING:
        vmap_level: Any

        @property
        def dtype(self) -> np.dtype[Any]: ...

        @property
        def size(self) -> int: ...

    def refuse(self, call: str, advice: str) -> NoReturn:
        """Raise the BatchingError for a call whose result may differ between the examples."""
        keep_refusal(self.vmap_level, asking_place(), self._error(call, advice))

    def _error(self, call: str, advice: str) -> Callable[[], BatchingError]:
        # The program that makes it keeps no array: the vmap keeps it.
        return partial(
            BatchingError,
            f"{self.vmap_level.name}: {call} of a batched value; each example may have another "
            f"one. {advice}",
        )

    def refuse_conversion(self, call: str, advice: str, *, ours: bool = True) -> NoReturn:
        """Raise the BatchingError for a conversion, in the words for what asked for it.

        `call` and `advice` are for a program's own line, or a function of NumPy's; `ours` says
        whether an example has what was asked for.
        """
        found = caller()
        own_advice = batched_advice_for(found.name)
        if own_advice:
            call, advice = call_of(found.name), own_advice
        elif found.operation == "format":
            call, advice = '"%..." % x', PRINTED
        elif found.operation == "write" and self.dtype.kind in "fc":
            call, advice = "z[...] = x, for a plain array z,", WRITTEN
        keep_refusal(self.vmap_level, found.place, self._error(call, advice), ours)

    def __bool__(self) -> bool:
        if AGREEING.get():
            answers = np.ravel(raw_value(self)).astype(bool)
            if answers.size == self.vmap_level.size:  # one each
                if answers.all() or not answers.any():
                    return bool(answers[0])
                raise DisagreementError(answers)
        text = (
            f"{self.vmap_level.name}: bool() of a batched value; each example may branch "
            "differently. Use np.where."
        )
        return keep_refusal(self.vmap_level, asking_place(), partial(BatchingError, text))

    def __int__(self) -> int:
        self.refuse("int()", "Keep it as an array: x.astype(int).")

    def __float__(self) -> float:
        self.refuse_conversion(
            "float(), or a write into a plain array,",
            f"Arithmetic and NumPy functions take batched values. {WRITTEN}",
            ours=self.size == 1,
        )

    def __complex__(self) -> complex:
        self.refuse_conversion("complex()", "Use x + 0j.", ours=self.size == 1)

    def __index__(self) -> int:
        refuse_sparse_power()
        self.refuse_conversion(
            "operator.index(), as for range(x), a shape or the index of a plain array,",
            "To look up values use np.take(table, x, axis=0) of tapegrad.numpy, with "
            "x + np.arange(n) in place of x for table[x:x + n]. Sizes must be the same for all "
            "examples: compute with the largest, and np.where(np.arange(size) < x, y, 0).",
            ours=self.dtype.kind in "biu" and self.size == 1,
        )

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if leaves_it_to_us():
            return np.empty((), object)
        return self._refuse_array()

    def _refuse_array(self) -> NoReturn:
        if self.dtype.kind == "b":
            advice = (
                "Use np.where(x, table, 0) for table[x], np.sum(table, where=x) for a sum of it, "
                "np.where(x, v, table) for table[x] = v"
            )
        elif self.dtype.kind in "iu":
            advice = (
                "Use np.take(table, x, axis=0) of tapegrad.numpy for table[x], and "
                "table + np.zeros_like(x, shape=table.shape) for a table to write into"
            )
        else:
            advice = (
                "Use np.zeros_like(x, shape=shape) for an array to write into, "
                "a + np.zeros_like(x, shape=a.shape) for one that starts with the values of a, "
                "np.full_like(x, x, shape=shape) for np.full(shape, x)"
            )
        self.refuse_conversion(
            "np.asarray(x), or a plain array indexed by it or written into,",
            f"{advice}, np.stack for np.array([...]).",
        )

    def __dlpack__(self, **_: Any) -> NoReturn:
        """Always raises: another library would see all examples as one array."""
        self.refuse_conversion("x.__dlpack__()", "Hand over what the vmap returns.")

    def __format__(self, spec: str) -> str:
        if spec:
            self.refuse(f"format(x, {spec!r})", PRINTED)
        return repr(self)

    def __floor__(self) -> int:
        self.refuse("math.floor()", "Use np.floor.")

    def __ceil__(self) -> int:
        self.refuse("math.ceil()", "Use np.ceil.")

    def __trunc__(self) -> int:
        self.refuse("math.trunc()", "Use np.trunc.")


class BatchedContainer(Container):
    """Members of batched arrays that batched numbers lack."""

    __slots__ = ()

    if TYPE_CHECKING:

        def refuse(self, call: str, advice: str) -> NoReturn: ...

    def __contains__(self, value: Value) -> bool:
        self.refuse("x in array", "Use np.any(array == x).")


__all__ = ["AGREEING", "BatchedContainer", "DisagreementError", "RefusedConversions"]
