"""`MaskedElements`: `x[condition]` where each example of a vmap selects its own elements.

Knows the position of a condition in an index, and NumPy's `where`. Must not know the arrays of
tapes and of vmaps, which call `read` and `write` here.

The selected elements are kept as the whole array and its condition. That is enough for elementwise
calls and to write the results back (`x[c] *= 2`, `x[c] = np.log(x[c])`). Calls that need the
number or the order of the elements raise BatchingError.
"""

from __future__ import annotations

import sys
from typing import Any, NoReturn

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from tapegrad._arrays.caller import asking_place
from tapegrad._arrays.refusal import keep_refusal
from tapegrad._core.types import Index, Params, Value
from tapegrad._core.values import Mapped, is_basic_part, is_mapped, level_of, lift
from tapegrad._errors import BatchingError


def holds_condition(index: Index) -> bool:
    """Whether an index has a condition that differs between the examples of a vmap."""
    if type(index) is tuple:
        return any(map(_is_condition, index))
    return _is_condition(index)


def _is_condition(part: Index) -> bool:
    if type(part) is list:
        return any(map(_is_condition, part))
    return is_mapped(part) and not isinstance(part, MaskedElements) and part.dtype.kind == "b"


def read(array: Value, index: Index) -> MaskedElements:
    """`array[index]`, for an index with such a condition."""
    target, condition, before = _split(array, index)
    return MaskedElements(np.copy(array[target]), condition.copy(), before)


def write(array: Value, index: Index, value: Value) -> None:
    """`array[index] = value`, for an index with such a condition, or for `MaskedElements`."""
    if not holds_condition(index):
        value.refuse("x[...] = y[condition]")
    target, condition, before = _split(array, index)
    # Hold no view of the array during the write: the write may have to move it to other memory.
    array[target] = MaskedElements(array[target], condition, before).replaced(value)


def _split(array: Value, index: Index) -> tuple[Any, Any, int]:
    """An index without the condition, the condition, and the number of axes before its axes."""
    parts = list(index) if type(index) is tuple else [index]
    (at, *more) = [i for i, part in enumerate(parts) if _is_condition(part)]
    condition = np.stack(parts[at]) if type(parts[at]) is list else parts[at]
    numbers = [i for i, part in enumerate(parts) if _is_integer(part)]
    spread = (*numbers, at)
    if (
        more
        or not all(is_basic_part(part) for i, part in enumerate(parts) if i != at)
        or max(spread) - min(spread) >= len(spread)  # NumPy moves these axes to the front
    ):
        _refuse(condition, "x[..., condition, ...] with other arrays, or numbers apart from it,")
    rank = len(condition.shape)
    used = rank + sum(part is not None and part is not Ellipsis for part in parts) - 1
    room = [slice(None)] * (len(array.shape) - used)
    ahead = [each for part in parts[:at] for each in (room if part is Ellipsis else [part])]
    axis = sum(part is not None for part in ahead)
    if tuple(array.shape[axis : axis + rank]) != condition.shape:
        raise IndexError(
            f"boolean index did not match indexed array along axis {axis}; the array has the "
            f"shape {array.shape}, the condition {condition.shape}"
        )
    before = sum(not _is_integer(part) for part in ahead)
    behind = parts[at + 1 :]
    rest = () if any(part is Ellipsis for part in behind) else (Ellipsis,)
    return (*ahead, *[slice(None)] * rank, *behind, *rest), condition, before


def _is_integer(part: Any) -> bool:
    """Whether a part of an index is itself an integer: a batched one is an array of them."""
    return issubclass(type(part), (int, np.integer))


def _refuse(condition: Value, call: str) -> NoReturn:
    text = (
        f"{condition.vmap_level.name}: {call} of a batched condition; each example may pick "
        "another number of elements. Use np.where(condition, new, x) to change elements, "
        "where=condition in reductions, as in np.sum(x, where=condition)."
    )
    keep_refusal(condition.vmap_level, asking_place(), lambda: BatchingError(text))


class MaskedElements(NDArrayOperatorsMixin, Mapped):
    """The elements of an array where a batched condition holds.

    Its level is the highest, so that NumPy's protocols give it every call with other values.
    """

    __slots__ = ("before", "condition", "whole")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, whole: Value, condition: Value, before: int) -> None:
        self.whole = whole
        self.condition = condition
        self.before = before  # the number of axes of `whole` before those of the condition

    @property
    def level(self) -> int:
        return sys.maxsize

    @property
    def dtype(self) -> np.dtype[Any]:
        dtype: np.dtype[Any] = self.whole.dtype
        return dtype

    def behind(self) -> int:
        """The number of axes of `whole` after those of the condition."""
        return len(self.whole.shape) - self.before - len(self.condition.shape)

    def spread(self) -> Any:
        """The condition in a shape that broadcasts to `whole`."""
        return np.reshape(self.condition, (*self.condition.shape, *(1,) * self.behind()))

    def replaced(self, value: Value) -> Any:
        """`whole` with these elements replaced."""
        return np.where(self.spread(), self.fitted(value), self.whole)

    def fitted(self, value: Value) -> Any:
        """An operand, or a value of a write, in a shape that broadcasts to `whole`."""
        if isinstance(value, MaskedElements):
            if self.before != value.before or not _equal(self.condition, value.condition):
                self.refuse("x[condition] beside y[another condition]")
            return value.whole
        if isinstance(value, (list, tuple)):
            value = lift(value)
        shape, behind = np.shape(value), self.behind()
        if len(shape) <= behind:
            return value
        if shape[-behind - 1] != 1:
            self.refuse("x[condition] beside an array that counts its elements")
        cut = len(shape) - behind
        return np.reshape(
            value, (*shape[: cut - 1], *(1,) * len(self.condition.shape), *shape[cut:])
        )

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, /, *inputs: Value, **kwargs: Any
    ) -> Any:
        out = kwargs.pop("out", None)
        if method != "__call__" or ufunc.signature is not None or kwargs:
            self.refuse(f"np.{ufunc.__name__} with keywords, or a method of it,")
        first = next((x for x in inputs if isinstance(x, MaskedElements)), self)
        condition = first.spread()
        # A 1 where the condition does not hold avoids warnings and infinite derivatives there.
        wholes = [
            np.where(condition, first.fitted(x), 1)
            if isinstance(x, MaskedElements) and x.dtype.kind != "b"
            else first.fitted(x)
            for x in inputs
        ]
        result = ufunc(*wholes)
        if isinstance(result, tuple):
            return tuple(MaskedElements(part, self.condition, self.before) for part in result)
        if out is not None:
            if out[0] is not first:
                self.refuse("out= for y[condition]")
            if not np.can_cast(result.dtype, first.dtype, "same_kind"):
                raise TypeError(
                    f"np.{ufunc.__name__}: cannot cast {result.dtype} to {first.dtype}."
                )
            result = result.astype(first.dtype)
        return MaskedElements(result, first.condition, first.before)

    def astype(self, dtype: Any, *args: Any, **kwargs: Any) -> MaskedElements:
        """As `numpy.ndarray.astype`."""
        return MaskedElements(
            self.whole.astype(dtype, *args, **kwargs), self.condition, self.before
        )

    def copy(self, order: str = "C") -> MaskedElements:
        """A copy of the elements."""
        del order
        return MaskedElements(np.copy(self.whole), self.condition, self.before)

    # -- calls that need the number of elements ---------------------------------------------------

    def refuse(self, call: str) -> NoReturn:
        """Raise the error that names the fix."""
        _refuse(self.condition, call)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        self.refuse(f"{function.__name__}(x[condition])")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        self.refuse("np.asarray(x[condition])")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        self.refuse(f"x[condition].{name}")

    def call_rule(self, rule: Any, arrays: list[Value], params: Params) -> Any:
        self.refuse(f"{rule.name}(x[condition])")

    @property
    def shape(self) -> tuple[int, ...]:
        self.refuse("x[condition].shape")

    def __getitem__(self, index: Index) -> Any:
        self.refuse("x[condition][...]")

    def __setitem__(self, index: Index, value: Value) -> None:
        self.refuse("x[condition][...] = v")

    def __len__(self) -> int:  # noqa: PLE0303
        self.refuse("len(x[condition])")

    def __iter__(self) -> Any:
        self.refuse("a loop over x[condition]")

    def __bool__(self) -> bool:  # noqa: PLE0304
        self.refuse("bool(x[condition])")

    def __float__(self) -> float:
        self.refuse("float(x[condition])")

    def __int__(self) -> int:
        self.refuse("int(x[condition])")

    def __repr__(self) -> str:
        return f"MaskedElements({self.whole!r} where {self.condition!r})"


def _equal(one: Any, other: Value) -> bool:
    """Whether two conditions are equal, also if they were computed separately."""
    while isinstance(one, Mapped):
        if level_of(one) != level_of(other):
            return False
        one, other = one._value, other._value
    return one is other or bool(np.array_equal(one, other))


__all__ = ["MaskedElements", "holds_condition", "read", "write"]
