"""Parameters and buffers: tensors that belong to the module of which they are attributes."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad._core.types import Value
from tapegrad.torch._graph.node import new
from tapegrad.torch._graph.versions import share_version
from tapegrad.torch._tensor.tensor import LEAF, Tensor, of_value, plain_of, require_floating


class Parameter(Tensor):
    """A tensor that becomes a parameter of a module when it becomes its attribute.

    data: a tensor, whose memory the parameter shares. requires_grad: whether it is trained.
    """

    __slots__ = ()

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Any:
        if data is None:
            data = of_value(np.zeros(0, np.float32))
        made: Any = new(cls)
        made._value = plain_of(data)
        made.node = None
        share_version(data, made)
        if requires_grad:
            require_floating(made._value.dtype)
            made.node = LEAF
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            copied = of_value(plain_of(self).copy())
            memo[id(self)] = type(self)(copied, self.requires_grad)
        return memo[id(self)]

    def __repr__(self) -> str:
        return f"Parameter containing:\n{super().__repr__()}"

    def __reduce__(self) -> Any:
        return _restored, (type(self), plain_of(self), self.requires_grad)


def _restored(kind: type[Parameter], value: Value, requires_grad: bool) -> Any:
    return kind(of_value(value), requires_grad)


class Buffer(Tensor):
    """A tensor that becomes a buffer of a module when it becomes its attribute."""

    __slots__ = ()

    persistent: bool

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Any:
        made: Any = new(cls)
        made._value = np.zeros(0, np.float32) if data is None else plain_of(data)
        made.node = None
        made.persistent = persistent
        return made
