"""Functions of tensors as functions of arrays, for the core's transforms.

Knows tensors, the core's tapes and modes. Must not know which transforms there are.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from tapegrad._block import setting
from tapegrad._core.tape import CURRENT
from tapegrad._core.types import Function, Tree, Value
from tapegrad._core.values import in_trace, level_of
from tapegrad._tree import flatten, tree_map
from tapegrad.torch._graph import modes
from tapegrad.torch._graph.tracing import FORWARD
from tapegrad.torch._tensor.gradients import conjugated
from tapegrad.torch._tensor.tensor import Tensor, array_of, of_array


def arrays(tree: Tree) -> Tree:
    """A pytree with arrays for tensors."""
    return tree_map(lambda leaf: array_of(leaf) if isinstance(leaf, Tensor) else leaf, tree)


def tensors(tree: Tree) -> Tree:
    """A pytree with tensors for arrays."""
    return tree_map(_tensor, tree)


def _tensor(leaf: Value) -> Value:
    if in_trace(leaf) or issubclass(type(leaf), (np.ndarray, np.generic)):
        return of_array(leaf)
    return leaf


def gradients(tree: Tree) -> Tree:
    """Derivatives of the core as tensors, in PyTorch's convention for complex numbers."""
    return tree_map(lambda leaf: of_array(conjugated(leaf)), tree)


def of_arrays(func: Function) -> Function:
    """A function of tensors as one of arrays."""

    @functools.wraps(func)
    def call(*args: Tree, **kwargs: Any) -> Any:
        return arrays(func(*tensors(args), **tensors(kwargs)))

    return call


def reverse(func: Function) -> Function:
    """A function of tensors as one of arrays, for a transform in reverse mode.

    An outer `no_grad` does not apply to this transform. It still applies to the transforms outside
    of this one, and to the graph.
    """

    @functools.wraps(func)
    def inner(*args: Tree, **kwargs: Any) -> Any:
        level = CURRENT.get().level
        given, words = tensors(args), tensors(kwargs)
        for leaf in flatten((given, words))[0]:
            if isinstance(leaf, Tensor) and level_of(leaf._value) == level:
                leaf._is_argument = True
        return arrays(func(*given, **words))

    @functools.wraps(func)
    def call(*args: Tree, **kwargs: Any) -> Any:
        mode = modes.MODE.get()
        if mode is None or mode.grad:
            return inner(*args, **kwargs)
        try:
            modes.change(grad=True, inference=False, floor=CURRENT.get().level - 0.5)
            return inner(*args, **kwargs)
        finally:
            modes.MODE.set(mode)

    return call


def forward(func: Function) -> Function:
    """A function of tensors as one of arrays, for a transform in forward mode by a reverse tape.

    `no_grad` does not apply to this transform. Reverse transforms within it have tapes of their
    own above its tape, rather than a part of its tape.
    """
    inner = of_arrays(func)

    @functools.wraps(func)
    def call(*args: Tree, **kwargs: Any) -> Any:
        level = CURRENT.get().level
        with setting(CURRENT, None):
            try:
                FORWARD.add(level)
                return inner(*args, **kwargs)
            finally:
                FORWARD.discard(level)

    return call
