"""NumPy's functions whose new arrays can be filled: inside a transform these are buffers.

Knows which functions make arrays of their own. Must not know tapes: `hold` tells whether a
transform is open.
"""

from __future__ import annotations

import functools
import types
from typing import Any

from tapegrad._arrays.buffers import hold
from tapegrad._arrays.builtin import Builtin
from tapegrad._core.types import Function

# Functions that make an array, beside those of arrays, which `_lists` offers.
MAKING = frozenset(
    """
    arange array asanyarray asarray asarray_chkfinite ascontiguousarray asfortranarray bartlett
    blackman empty eye fromfunction fromiter fromstring full genfromtxt geomspace hamming hanning
    identity kaiser linspace loadtxt logspace ones require tri zeros
    """.split()
)


def holding(function: Function, module: str = "tapegrad.numpy") -> Function:
    """A function whose new array is a buffer inside a transform; pickle finds it in `module`."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return hold(function, args, kwargs)

    call.__module__ = module
    return call


def making(plain: Function, ours: Function | None) -> Any:
    """A function of NumPy's that makes arrays, or ours in its place."""
    call = holding(ours or plain)
    return Builtin(call) if type(plain) is types.BuiltinFunctionType else call
