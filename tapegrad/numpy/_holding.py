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
from tapegrad._core.tape import RUNNING
from tapegrad._core.types import Function
from tapegrad._core.values import are_untraced

# Functions that make an array, beside those of arrays, which `_lists` offers.
MAKING = frozenset(
    """
    arange array asanyarray asarray asarray_chkfinite ascontiguousarray asfortranarray bartlett
    blackman empty eye fromfunction fromiter fromstring full genfromtxt geomspace hamming hanning
    identity kaiser linspace loadtxt logspace ones require tri zeros
    """.split()
)

# NumPy's own function for each of ours.
PLAIN_FUNCTIONS: dict[Any, Any] = {}


def holding(function: Function, plain: Function, module: str = "tapegrad.numpy") -> Function:
    """A function whose new array is a buffer inside a transform; pickle finds it in `module`.

    plain: NumPy's own, which is called at once where no transform is open and no argument could
    hold a value in a trace.
    """

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not RUNNING and are_untraced(args, kwargs):
            return plain(*args, **kwargs)
        return hold(function, args, kwargs)

    call.__module__ = module
    PLAIN_FUNCTIONS[call] = plain
    return call


def making(plain: Function, ours: Function | None) -> Any:
    """A function of NumPy's that makes arrays, or ours in its place."""
    call: Any = holding(ours or plain, plain)
    if type(plain) is types.BuiltinFunctionType:
        call = Builtin(call)
        PLAIN_FUNCTIONS[call] = plain
    return call
