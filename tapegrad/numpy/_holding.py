"""NumPy's functions whose new arrays can be filled: inside a transform these are buffers.

Knows which functions make arrays of their own. Must not know tapes: `hold` tells whether a
transform is open.
"""

from __future__ import annotations

import functools
from typing import Any

from tapegrad._arrays.buffers import hold
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
