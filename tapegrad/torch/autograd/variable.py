"""`Variable`, the old name of a tensor.

Knows tensors. Must not know operations.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tapegrad._warning import warn
from tapegrad.torch._engine.backward_pass import queue_callback
from tapegrad.torch._graph.sharing import share
from tapegrad.torch._graph.versions import share_version
from tapegrad.torch._ops.declare import register
from tapegrad.torch._tensor.tensor import Tensor, of_value


class _VariableMeta(type):
    """Every tensor is an instance of Variable."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Tensor)


class _Engine:
    """Members of PyTorch's engine that programs use."""

    @staticmethod
    def queue_callback(callback: Callable[[], Any]) -> None:
        """Call a function when the backward pass that is running ends."""
        queue_callback(callback)


_NO_EFFECT = "volatile was removed and now has no effect. Use `with torch.no_grad():` instead."


def _volatile(self: Tensor) -> bool:
    """Return False: `with torch.no_grad():` is its new name.

    Warns
    -----
    UserWarning
        In every call.
    """
    warn("volatile was removed (Variable.volatile is always False)")
    return False


def _set_volatile(self: Tensor, value: object) -> None:
    warn(_NO_EFFECT)


register("volatile", function=False)(property(_volatile, _set_volatile))


class Variable(metaclass=_VariableMeta):
    """The old name of a tensor: one over the same memory.

    `torch.tensor(data, requires_grad=True)` or `data.requires_grad_()` is the new one. Every
    tensor is an instance of this class.

    data: The tensor; without it an empty one is made.
    requires_grad: Whether the result requires grad.
    volatile: Without effect: its new name is `with torch.no_grad():`.
    TypeError: If `data` is no tensor.
    ValueError: If both `requires_grad` and `volatile` are true.
    DeprecationWarning: In every call.
    UserWarning: If `volatile` is true.

    >>> isinstance(torch.ones(2), torch.autograd.Variable)
    True
    """

    _execution_engine = _Engine()

    def __new__(
        cls, data: Tensor | None = None, requires_grad: bool = False, volatile: bool = False
    ) -> Any:
        """A tensor over the same memory."""
        warn(
            "Variable is deprecated. Use tensors instead: "
            "`torch.tensor(data, requires_grad=True)` or `tensor.requires_grad_()`.",
            DeprecationWarning,
        )
        if volatile:
            warn(_NO_EFFECT)
        if volatile and requires_grad:
            raise ValueError("Variable can't be volatile and require_grad at the same time!")
        if data is None:
            data = Tensor()
        if not isinstance(data, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        made = of_value(data._value)
        share_version(data, made)
        share(data, made)
        return made.requires_grad_() if requires_grad else made


__all__ = ["Variable"]
