"""Dual tensors: split into primal and tangent, and the memory of both in a write.

Knows tensors. Must not know levels, which `autograd.forward_ad` enters and exits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tapegrad._core.types import Value
from tapegrad.torch._graph.node import GRAPH, is_on_graph
from tapegrad.torch._graph.tracing import cell_of, is_dual, tangent_of
from tapegrad.torch._graph.versions import known_version, share_version
from tapegrad.torch._tensor.tensor import (
    Tensor,
    array_of,
    ndarray,
    node_of,
    of_array,
    of_value,
    plain_of,
    settled,
    tangent_on_graph,
)


class UnpackedDualTensor(NamedTuple):
    """Result of `unpack_dual`.

    Attribute primal (Tensor): The value.
    Attribute tangent (Tensor or None): The tangent; None for a tensor without one.

    >>> import tapegrad.torch as torch
    >>> from tapegrad.torch.autograd import forward_ad
    >>> forward_ad.unpack_dual(torch.tensor(1.0)).tangent is None
    True
    """

    primal: Tensor
    tangent: Tensor | None


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """The value and the tangent of a tensor.

    tensor: One that was made by `make_dual`, or computed from such; or any other.
    level: The number of the level, 0: there is one.
    -> UnpackedDualTensor: `(primal, tangent)`, the tangent None for a tensor without one. That of
        what `make_dual` returned is the tensor that was given there.
    See also make_dual: A tensor with a tangent.

    >>> import tapegrad.torch as torch
    >>> from tapegrad.torch.autograd import forward_ad
    >>> with forward_ad.dual_level():
    ...     x = forward_ad.make_dual(torch.tensor(2.0), torch.tensor(1.0))
    ...     forward_ad.unpack_dual(x**3)
    UnpackedDualTensor(primal=tensor(8.), tangent=tensor(12.))
    """
    if not isinstance(tensor, Tensor):
        raise TypeError(
            "_unpack_dual(): argument 'dual' (position 1) must be Tensor, not "
            f"{type(tensor).__name__}"
        )
    if level not in (None, 0):
        raise RuntimeError("Invalid level given to _unpack_dual")
    settled(tensor)
    value = tensor._value
    if not is_dual(value):
        return UnpackedDualTensor(tensor, None)
    primal = of_value(value._value, tensor.node)
    if known_version(tensor) is not None:
        share_version(tensor, primal)
    if tensor._tangent is not None:
        return UnpackedDualTensor(primal, tensor._tangent)
    dot = tangent_on_graph(tensor)
    if dot is None:
        return UnpackedDualTensor(primal, None)
    tangent = of_array(dot)
    return UnpackedDualTensor(primal, of_value(plain_of(tangent), tangent.node))


# --- Writes -------------------------------------------------------------------------------------


def apart(tensor: Tensor) -> Value:
    """The array of a tensor over a copy of its memory, which a write leaves alone."""
    value, dual = tensor._value, tensor._dual
    if is_dual(value):
        dot = tangent_of(value)
        copied = value.tape.wrap(value._value.copy(), cell_of(None if dot is None else dot.copy()))
    else:
        copied = value.copy()
    made = of_value(copied, node_of(tensor))
    made._inference = tensor._inference
    if is_on_graph(dual):
        made._dual = GRAPH.array(dual._value.copy(), dual.slot, GRAPH, dual.spec)
    else:
        made._dual = dual.copy() if isinstance(dual, ndarray) else dual
    return array_of(made)


def store(tensor: Tensor, before: Value) -> None:
    """Put the value and the tangent that a write gave a tensor into its memory.

    before: its value before the write, whose memory it keeps.
    """
    value = tensor._value
    memory = before._value if is_dual(before) else before
    if type(memory) is not ndarray:
        return
    if not is_dual(value):
        memory[...] = value
        tensor._value = memory
        if not is_dual(before):
            return
        tape, dot = before.tape, np.zeros_like(memory)
    else:
        memory[...] = value._value
        tape, dot = value.tape, tangent_of(value)
    if dot is None:
        dot = np.zeros_like(memory)
    if tensor._tangent is not None:
        kept = tensor._tangent._value
        kept[...] = dot
        dot = kept
        dual = tensor._dual
        on_graph = is_on_graph(dual)
        tensor._dual = GRAPH.array(dot, dual.slot, GRAPH, dual.spec) if on_graph else dot
    tensor._value = tape.wrap(memory, cell_of(dot))


__all__ = ["UnpackedDualTensor", "apart", "store", "unpack_dual"]
