"""Functions of images whose results lie in memory as their input does.

Knows memory formats. Must not know what the functions compute.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from tapegrad.torch._dtypes import contiguous_format
from tapegrad.torch._formats import arranged, suggested
from tapegrad.torch._tensor.tensor import Tensor

Made = TypeVar("Made", bound=Callable[..., Any])


def keeps_channels_last(function: Made) -> Made:
    """Let the result of a function have its channels last where input or weight has them so."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        made = function(*args, **kwargs)
        given = [*args[:2], kwargs.get("input"), kwargs.get("weight")]
        for tensor in given:
            if isinstance(tensor, Tensor) and type(tensor._value) is np.ndarray:
                order = suggested(tensor._value)
                if order is not contiguous_format:
                    _arrange(made, order, tensor._value.ndim)
                    break
        return made

    return call  # type: ignore[return-value]


def _arrange(made: Any, order: Any, ndim: int) -> None:
    for tensor in made if isinstance(made, tuple) else (made,):
        if type(tensor._value) is np.ndarray and tensor._value.ndim == ndim:
            tensor._value = arranged(tensor._value, order)


__all__ = ["keeps_channels_last"]
