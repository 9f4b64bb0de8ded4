"""Values of the device "meta": a shape and a dtype, without data.

Models are made of them where their numbers come later, from a file. Views have the strides that
those of an array have. Writes change nothing, and what would need numbers is refused. Must not
know tensors.
"""

from __future__ import annotations

import math
import operator
from typing import Any, NoReturn

import numpy as np
from numpy.lib.stride_tricks import as_strided, sliding_window_view

from tapegrad._core.values import is_basic
from tapegrad.torch._dtypes import device

ndarray = np.ndarray
META: device = device("meta")


class NoDataError(NotImplementedError, AttributeError):
    """Something was asked of a meta tensor that its shape and dtype do not tell."""


def refuse(what: str) -> NoReturn:
    """Raise, for there is no data."""
    raise NoDataError(
        f"{what}: a meta tensor has a shape and a dtype, and no data. Give the model memory by "
        'to_empty(device="cpu"), or its values by load_state_dict(state, assign=True).'
    )


# NumPy's functions whose result is a view, whatever the strides: none reads an element.
_VIEWING = frozenset(
    {
        np.broadcast_to,
        np.diagonal,
        np.expand_dims,
        np.moveaxis,
        np.squeeze,
        np.swapaxes,
        np.transpose,
        sliding_window_view,
    }
)


class MetaArray:
    """A shape, a dtype and strides in the place of an array."""

    __slots__ = ("dtype", "offset", "shape", "strides")

    def __init__(
        self,
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        strides: tuple[int, ...] | None = None,
        offset: int = 0,
    ) -> None:
        """strides: bytes between neighbours, as in C unless given. offset: bytes before it."""
        self.shape = shape
        self.dtype = dtype
        self.strides = _steps_in_c(shape, dtype.itemsize) if strides is None else strides
        self.offset = offset

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes that the elements would take."""
        return self.size * self.itemsize

    def _like(self) -> Any:
        """An array of the shape and dtype in the memory of one element."""
        return np.broadcast_to(np.zeros((), self.dtype), self.shape)

    def _seen(self, view: Any, *args: Any, **kwargs: Any) -> MetaArray:
        """`view(array, *args, **kwargs)` of an array with these strides, which reads no element.

        The array has the memory of one element, and others lie beyond it.
        """
        array = self._laid_out()
        made = view(array, *args, **kwargs)
        moved = made.__array_interface__["data"][0] - array.__array_interface__["data"][0]
        steps = list(made.strides)
        for at in range(made.ndim - 1, -1, -1):  # new dimensions, for which NumPy has zeros
            if made.shape[at] == 1 and not steps[at]:
                inner = at + 1 < made.ndim
                steps[at] = made.shape[at + 1] * steps[at + 1] if inner else made.itemsize
        return MetaArray(made.shape, made.dtype, tuple(steps), self.offset + moved)

    def _laid_out(self) -> Any:
        return as_strided(np.zeros(1, self.dtype), self.shape, self.strides)

    @property
    def flags(self) -> Any:
        """NumPy's flags of an array with these strides."""
        return self._laid_out().flags

    def is_seen_as(self, shape: tuple[int, ...]) -> bool:
        """Whether a view has another shape: else it takes a copy."""
        try:
            self._seen(np.reshape, shape, copy=False)
        except ValueError:
            return False
        return True

    def reshape(self, *shape: Any) -> MetaArray:
        """The same in another shape: a view where the strides allow it."""
        sizes = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple) else shape
        whole = self if self.is_seen_as(sizes) else self.copy()
        return whole._seen(np.reshape, sizes, copy=False)

    def transpose(self, *axes: Any) -> MetaArray:
        """The same with its dimensions in another order."""
        return self._seen(ndarray.transpose, *axes)

    def swapaxes(self, first: int, second: int) -> MetaArray:
        """The same with two of its dimensions swapped."""
        return self._seen(np.swapaxes, first, second)

    def astype(self, dtype: Any, *_: Any, **__: Any) -> MetaArray:
        """The same of another dtype."""
        return MetaArray(self.shape, np.dtype(dtype))

    def copy(self, order: str = "C") -> MetaArray:
        """The same in memory of its own, in the order of C, or in its own ("K")."""
        if order == "C":
            return MetaArray(self.shape, self.dtype)
        axes = sorted(range(self.ndim), key=lambda axis: -self.strides[axis])
        turned = MetaArray(tuple(self.shape[axis] for axis in axes), self.dtype)
        return turned.transpose(*(axes.index(axis) for axis in range(self.ndim)))

    def view(self, *dtype: Any) -> MetaArray:
        """The same once more, or of another dtype."""
        return self._seen(ndarray.view, *dtype)

    def __getitem__(self, index: Any) -> MetaArray:
        if is_basic(index):
            parts = index if type(index) is tuple else (index,)
            whole = parts if any(part is ... for part in parts) else (*parts, ...)
            return self._seen(operator.getitem, whole)  # an array, also of one element
        return MetaArray(self._like()[index].shape, self.dtype)

    def __setitem__(self, index: Any, value: Any) -> None:
        pass

    def __len__(self) -> int:
        return self.shape[0]

    def __eq__(self, other: object) -> NoReturn:
        refuse("==")

    def __ne__(self, other: object) -> NoReturn:
        refuse("!=")

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:  # noqa: PLE0304 - it returns nothing
        refuse("bool")

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        raise NoDataError("Cannot copy out of meta tensor; no data!")

    def __array_ufunc__(self, ufunc: Any, method: str, *_: Any, **__: Any) -> NoReturn:
        refuse(f"np.{ufunc.__name__}")

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if func in (np.empty_like, np.zeros_like, np.ones_like, np.full_like):
            given = kwargs.get("dtype") or (args[1] if len(args) > 1 else None) or self.dtype
            shape = kwargs.get("shape")
            return MetaArray(self.shape if shape is None else tuple(shape), np.dtype(given))
        if func is np.copy:
            return self.copy(kwargs.get("order", "K"))
        if func in _VIEWING and args and args[0] is self:
            return self._seen(func, *args[1:], **kwargs)
        return refuse(f"np.{func.__name__}")

    def __getattr__(self, name: str) -> NoReturn:
        refuse(name)


def _steps_in_c(shape: tuple[int, ...], step: int) -> tuple[int, ...]:
    """The strides of an array in the order of C, as PyTorch has them also where a size is 0."""
    sides = [max(side, 1) for side in shape]
    return tuple(step * math.prod(sides[at + 1 :]) for at in range(len(sides)))


def is_meta(value: object) -> bool:
    """Whether a value is of the device "meta"."""
    return type(value) is MetaArray


__all__ = ["META", "MetaArray", "NoDataError", "is_meta"]
