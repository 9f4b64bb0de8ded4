"""Parameters and buffers: tensors that belong to the module of which they are attributes."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from tapegrad._core.types import Value
from tapegrad.torch._graph.node import new
from tapegrad.torch._graph.versions import share_version
from tapegrad.torch._tensor.tensor import LEAF, Tensor, of_value, plain_of


class _Marked(type):
    """The type of classes whose instances may be of another class, with a mark."""

    _mark: str

    def __instancecheck__(cls, instance: object) -> bool:
        mark = cls.__dict__.get("_mark")  # subclasses have none
        if mark is not None and isinstance(instance, Tensor) and mark in instance.__dict__:
            return True
        return type.__instancecheck__(cls, instance)


class Parameter(Tensor, metaclass=_Marked):
    """A tensor that becomes a parameter of a module when it becomes its attribute.

    Of a tensor of a subclass the parameter is of that class, and `isinstance(_, Parameter)` knows
    it.

    Parameters
    ----------
    data : Tensor, optional
        Whose memory the parameter shares; an empty one unless given.
    requires_grad : bool, default True
        Whether it is trained.

    Raises
    ------
    RuntimeError
        For a tensor of integers or bools that requires grad.

    Examples
    --------
    >>> import tapegrad.torch as torch
    >>> torch.nn.Parameter(torch.tensor([1.0, 2.0]))
    Parameter containing:
    tensor([1., 2.], requires_grad=True)
    """

    __slots__ = ()
    _mark = "_is_param"

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Self:
        if data is None:
            data = of_value(np.zeros(0, np.float32))
        if isinstance(data, Parameter) or type(data) is Tensor:
            made: Any = new(cls)
        else:
            made = new(type(data))
            made._is_param = True
        made._value = plain_of(data)
        made.node = None
        share_version(data, made)
        if requires_grad:
            if made._value.dtype.kind not in "fcV":
                raise RuntimeError(
                    "Only Tensors of floating point and complex dtype can require gradients"
                )
            made.node = LEAF
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            copied = of_value(plain_of(self).copy("K"))  # the layout stays
            memo[id(self)] = type(self)(copied, self.requires_grad)
        return memo[id(self)]

    def __repr__(self) -> str:
        return f"Parameter containing:\n{super().__repr__()}"

    def __reduce__(self) -> Any:
        from tapegrad.torch._ops.object.memory import attributes_of

        return _restored, (type(self), plain_of(self), self.requires_grad, attributes_of(self))


def _restored(
    kind: type[Parameter], value: Value, requires_grad: bool, attributes: dict[str, Any]
) -> Any:
    made = kind(of_value(value), requires_grad)
    made.__dict__.update(attributes)
    return made


class Buffer(Tensor, metaclass=_Marked):
    """A tensor that becomes a buffer of a module when it becomes its attribute.

    What is made is a tensor of the class of `data`; `isinstance(_, Buffer)` knows it.

    Parameters
    ----------
    data : Tensor, optional
        Whose memory the buffer shares; an empty one unless given.
    persistent : bool, default True
        Whether `state_dict` has it.

    Examples
    --------
    >>> import tapegrad.torch as torch
    >>> module = torch.nn.Module()
    >>> module.mean = torch.nn.Buffer(torch.zeros(2))
    >>> list(module.state_dict())
    ['mean']
    """

    __slots__ = ()
    _mark = "_is_buffer"

    persistent: bool

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Self:
        if data is None:
            data = of_value(np.zeros(0, np.float32))
        made: Any = new(Tensor if isinstance(data, Parameter) else type(data))
        made._value = plain_of(data)
        made.node = LEAF if data.requires_grad else None
        share_version(data, made)
        made.persistent = persistent
        made._is_buffer = True
        return made


__all__ = ["Buffer", "Parameter"]
