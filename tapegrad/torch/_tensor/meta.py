"""Values of the device "meta": a shape and a dtype, without data.

Models are made of them where their numbers come later, from a file. Writes change nothing, and
what would need numbers is refused. Must not know tensors.
"""

from __future__ import annotations

import math
from typing import Any, NoReturn

import numpy as np

from tapegrad.torch._dtypes import device

META: device = device("meta")


class NoDataError(NotImplementedError, AttributeError):
    """Something was asked of a meta tensor that its shape and dtype do not tell."""


def refuse(what: str) -> NoReturn:
    """Raise, for there is no data."""
    raise NoDataError(
        f"{what}: a meta tensor has a shape and a dtype, and no data. Give the model memory by "
        'to_empty(device="cpu"), or its values by load_state_dict(state, assign=True).'
    )


class MetaArray:
    """A shape and a dtype in the place of an array."""

    __slots__ = ("dtype", "shape")

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self.shape = shape
        self.dtype = dtype

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

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes between neighbours along each dimension, in the order of C."""
        return tuple(self.itemsize * math.prod(self.shape[at + 1 :]) for at in range(self.ndim))

    def _like(self) -> Any:
        """An array of the shape and dtype in the memory of one element."""
        return np.broadcast_to(np.zeros((), self.dtype), self.shape)

    def astype(self, dtype: Any, *_: Any, **__: Any) -> MetaArray:
        """The same of another dtype."""
        return MetaArray(self.shape, np.dtype(dtype))

    def copy(self, *_: Any) -> MetaArray:
        """The same once more."""
        return MetaArray(self.shape, self.dtype)

    def view(self, *_: Any) -> MetaArray:
        """The same once more."""
        return MetaArray(self.shape, self.dtype)

    def __getitem__(self, index: Any) -> MetaArray:
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
        return refuse(f"np.{func.__name__}")

    def __getattr__(self, name: str) -> NoReturn:
        refuse(name)


def is_meta(value: object) -> bool:
    """Whether a value is of the device "meta"."""
    return type(value) is MetaArray


__all__ = ["META", "MetaArray", "NoDataError", "is_meta"]
