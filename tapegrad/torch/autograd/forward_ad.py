"""`torch.autograd.forward_ad`: tensors that carry tangents.

Knows the tapes of a level, and tensors. Must not know operations.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

import numpy as np

from tapegrad._block import contextmanager, undoing
from tapegrad._core.types import Slot, Tangent
from tapegrad.torch._graph.modes import is_grad_enabled
from tapegrad.torch._graph.node import array_on_graph, node_class
from tapegrad.torch._graph.tracing import Below, cell_of, is_dual
from tapegrad.torch._graph.versions import owner_of, share_version
from tapegrad.torch._tensor.duals import UnpackedDualTensor, unpack_dual
from tapegrad.torch._tensor.tensor import (
    Tensor,
    array_of,
    ndarray,
    node_of,
    of_array,
    of_value,
    plain_of,
    settled,
)

LEVEL: ContextVar[Below | None] = ContextVar("tapegrad_torch_dual_level", default=None)


def enter_dual_level() -> int:
    """Begin a level, in which tensors may have tangents.

    -> int: Its number, 0: levels do not nest.
    RuntimeError: Within a level.
    See also dual_level: The same as a context manager.

    >>> import tapegrad.torch as torch
    >>> from tapegrad.torch.autograd import forward_ad
    >>> forward_ad.enter_dual_level()
    0
    >>> forward_ad.exit_dual_level()
    """
    if LEVEL.get() is not None:
        raise RuntimeError("Nested forward mode AD is not supported at the moment")
    LEVEL.set(Below())
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    """End the level: the tensors made in it have no tangents any more.

    level: Its number, 0.
    RuntimeError: Outside of a level, and for another number.

    >>> import tapegrad.torch as torch
    >>> from tapegrad.torch.autograd import forward_ad
    >>> level = forward_ad.enter_dual_level()
    >>> forward_ad.exit_dual_level(level=level)
    """
    tape = LEVEL.get()
    if tape is None:
        raise RuntimeError("Dual level must be a positive number.")
    if level not in (None, 0):
        raise RuntimeError(
            "Trying to exit a forward AD level that was not the last one that was created. This "
            "is not supported."
        )
    try:
        tape.leave()
    finally:
        LEVEL.set(None)


@contextmanager
def dual_level() -> Iterator[int]:
    """Context manager of a level, in which tensors may have tangents.

    Yields (int): Its number, 0.
    RuntimeError: Within a level: levels do not nest.

    >>> import tapegrad.torch as torch
    >>> from tapegrad.torch.autograd import forward_ad
    >>> with forward_ad.dual_level():
    ...     x = forward_ad.make_dual(torch.tensor(3.0), torch.tensor(1.0))
    ...     forward_ad.unpack_dual(x * x).tangent
    tensor(6.)
    """
    if LEVEL.get() is not None:
        enter_dual_level()  # which raises
    with undoing(_leave):
        yield enter_dual_level()


def _leave() -> None:
    if LEVEL.get() is not None:
        exit_dual_level()


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """A tensor of the same value, with a tangent.

    tensor: The value, of a floating or complex dtype.
    tangent: The tangent, of its shape; it is converted to its dtype.
    level: The number of the level, 0: there is one.
    -> Tensor: It shares the memory of `tensor`.
    RuntimeError: Outside of a level, for a tangent of another shape, for tensors that have
        tangents already, and within a transform of `torch.func`.
    ValueError: For dtypes that are neither floating nor complex.
    TypeError: For what is no tensor.
    See also unpack_dual: The value and the tangent of a tensor.

    >>> import tapegrad.torch as torch
    >>> from tapegrad.torch.autograd import forward_ad
    >>> with forward_ad.dual_level():
    ...     x = forward_ad.make_dual(torch.tensor(3.0), torch.tensor(1.0))
    ...     forward_ad.unpack_dual(x.sin()).tangent == torch.cos(torch.tensor(3.0))
    tensor(True)
    """
    tape = LEVEL.get()
    if tape is None:
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to "
            "enter_dual_level() first."
        )
    if level not in (None, 0):
        raise RuntimeError("Invalid level given to _make_dual")
    for name, given in (("primal", tensor), ("tangent", tangent)):
        if not isinstance(given, Tensor):
            raise TypeError(f"expected {name} to be a tensor, got {type(given).__name__}")
        if given._value.dtype.kind not in "fcV":
            raise ValueError(
                f"Expected {name} to be floating point or complex, but got: {given.dtype}"
            )
    settled(tensor)
    settled(tangent)
    if is_dual(tangent._value):
        raise RuntimeError(
            "Setting a forward grad that itself has a forward gradient at the same level0 is not "
            "supported."
        )
    if is_dual(tensor._value):
        raise RuntimeError(
            "Making a dual Tensor based on a Tensor that already has a forward gradient at the "
            "same level 0 is not supported."
        )
    if tensor._value.shape != tangent._value.shape:
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size than that of the original "
            f"Tensor, this is not supported. Tensor is of size {list(tensor.shape)} while the "
            f"given forward gradient is of size {list(tangent.shape)}."
        )
    if type(tensor._value) is not ndarray:
        raise RuntimeError(
            "make_dual of a tensor within a functional transform: use torch.func.jvp there."
        )
    dot = array_of(tangent)
    if dot.dtype != tensor._value.dtype:
        real = tensor._value.dtype.kind == "f"
        dot = (np.real(dot) if real else dot).astype(tensor._value.dtype)
    given = tangent._value
    plain = type(given) is ndarray and given.dtype == tensor._value.dtype
    same = plain and _same_memory(given, tensor._value)  # else a write could not be to both
    if plain and not same:
        dot = dot.copy()
    made = of_value(tape.wrap(tensor._value, cell_of(_plain(dot))), _viewed(tensor))
    made._dual = dot
    share_version(tensor, made)
    if same:
        made._primal, made._tangent = tensor, tangent
    return made


def _same_memory(tangent: np.ndarray[Any, Any], primal: np.ndarray[Any, Any]) -> bool:
    """Whether two arrays lie alike in memory of the same size."""
    if tangent.strides != primal.strides:
        return False
    if tangent.base is None and primal.base is None:
        return True
    return bool(owner_of(tangent).size == owner_of(primal).size)


def _plain(dot: Tangent) -> Tangent:
    return plain_of(of_array(dot))


def _viewed(tensor: Tensor) -> Slot:
    """The node of a view of a tensor."""
    node = node_of(tensor)
    if node is None or not is_grad_enabled():
        return None
    view = array_on_graph(tensor._value, node)[...].slot
    view.__class__ = node_class("ViewBackward0")
    return view


def __getattr__(name: str) -> int:
    """`_current_level`: 0 within a level, -1 outside."""
    if name == "_current_level":
        return -1 if LEVEL.get() is None else 0
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "UnpackedDualTensor",
    "dual_level",
    "enter_dual_level",
    "exit_dual_level",
    "make_dual",
    "unpack_dual",
]
__dir__ = __all__.copy
