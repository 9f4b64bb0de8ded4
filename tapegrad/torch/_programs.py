"""Tensors in compiled functions: how they are opened and made, and what calls depend on besides.

Knows tensors, modes and modules. Must not know how calls are recorded, nor how programs run.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from tapegrad._compile.holders import DRAWS, FOLLOWED, HOLDERS, STATES, Holder
from tapegrad._core.types import Value
from tapegrad._core.values import is_recorded
from tapegrad.torch._dtypes import default_float
from tapegrad.torch._graph import modes
from tapegrad.torch._graph.node import new
from tapegrad.torch._graph.versions import count_write
from tapegrad.torch._ops.create.generator import DRAWN
from tapegrad.torch._tensor.tensor import LEAF, Tensor, plain_of
from tapegrad.torch.autograd.forward_ad import LEVEL
from tapegrad.torch.nn._everywhere import CALLS
from tapegrad.torch.nn._module import Module
from tapegrad.torch.nn._parameter import Parameter

# What a tensor may have besides its array, and a function does not read.
_PLAIN = frozenset(
    ("_accumulator", "_base", "_creation_meta", "_inference", "_version_of", "_view_fn", "_views")
)


def _open(tensor: Tensor) -> tuple[Value, Any] | None:
    """The array of a constant or a leaf, and whether it requires grad, and is of inference."""
    node, value = tensor.node, tensor._value
    if node is not None and node is not LEAF:
        return None
    if type(value) is not np.ndarray and not is_recorded(value):
        return None
    own = tensor.__dict__
    if own and not own.keys() <= _PLAIN:
        return None
    return value, (node is LEAF, tensor._inference)


def _maker(kind: type[Tensor]) -> Any:
    def make(rest: Any, array: Value) -> Tensor:
        requires_grad, inference = rest
        made: Tensor = new(kind)
        made._value = array if isinstance(array, np.ndarray) else np.asarray(array)
        made.node = LEAF if requires_grad else None
        if inference:
            made._inference = True
        return made

    return make


def _refusal(tensor: Tensor) -> str | None:
    if tensor.node is not None and tensor.node is not LEAF:
        return (
            "it returns a tensor that has a grad_fn: call backward() inside, return "
            "torch.autograd.grad(...), or pass tensors that do not require grad"
        )
    if tensor._grad is not None:
        return "it fills `grad` of a tensor: return torch.autograd.grad(...)"
    return None if _open(tensor) is not None else "it returns a tensor with attributes"


def _state() -> Any:
    """The modes of this thread, and the default dtype; None where each call must be seen."""
    mode = modes.MODE.get()
    if CALLS or LEVEL.get() is not None:
        return None
    if mode is None:
        return (default_float(), True, False)
    if mode.anomaly is not None or mode.saved or mode.watchers or mode.floor:
        return None
    return (default_float(), mode.grad, mode.inference)


def _names_of_tensor(_: Tensor) -> Iterable[str]:
    return ("_value", "requires_grad")


def _names_of_module(module: Module) -> Iterable[str]:
    return list(module.__dict__)


for _kind in (Tensor, Parameter):
    HOLDERS[_kind] = Holder(_open, _maker(_kind), _refusal, count_write, plain_of)
STATES.append(_state)
DRAWS.append(lambda: DRAWN.times)
FOLLOWED[Tensor] = _names_of_tensor
FOLLOWED[Module] = _names_of_module

__all__: list[str] = []
