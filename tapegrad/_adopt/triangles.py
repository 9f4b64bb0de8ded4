"""Functions that read one triangle of a matrix, in adopted code: its elements are what counts.

tapegrad's rules take the matrix to be symmetric, and give a symmetric gradient. A program that
fills the triangle that is read alone would get another derivative than that of its own function.
Here the function is one of the matrix that the triangle makes.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad._arrays.buffers import value_of
from tapegrad._arrays.conversion import gather
from tapegrad._core.types import Function, Value
from tapegrad._core.values import holds_in_trace


class Triangles:
    """A module whose functions of Hermitian matrices read the triangle that is filled."""

    def __init__(self, ours: str, reads_lower: dict[str, Callable[..., bool]]) -> None:
        self.module = importlib.import_module(ours)
        self.reads_lower = reads_lower

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.module, name)
        reads_lower = self.reads_lower.get(name)
        return found if reads_lower is None else _whole(found, reads_lower)


def _whole(function: Function, reads_lower: Callable[..., bool]) -> Function:
    @functools.wraps(function)
    def call(a: Value, *args: Any, **kwargs: Any) -> Any:
        if holds_in_trace(a):
            a = _of_triangle(gather(value_of(a), function.__name__), reads_lower(*args, **kwargs))
        return function(a, *args, **kwargs)

    return call


def _of_triangle(a: Value, lower: bool) -> Value:
    """The Hermitian matrix that a triangle of a stands for."""
    part = np.tril(a, -1) if lower else np.triu(a, 1)
    diagonal = np.real(np.diagonal(a, axis1=-2, axis2=-1))
    return part + np.conj(np.swapaxes(part, -1, -2)) + diagonal[..., None] * np.eye(a.shape[-1])


def _by_letter(UPLO: str = "L") -> bool:
    return UPLO.upper() == "L"


def _of_pair(_b: Any = None, *_: Any, lower: bool = True, **__: Any) -> bool:
    return bool(lower)


def _by_flag(lower: bool = False, *_: Any, **__: Any) -> bool:
    return bool(lower)


# By module, the functions and which triangle each reads.
TRIANGLES: dict[str, dict[str, Callable[..., bool]]] = {
    "numpy.linalg": {
        "cholesky": lambda upper=False: not upper,
        "eigh": _by_letter,
        "eigvalsh": _by_letter,
    },
    "scipy.linalg": {
        "cho_factor": _by_flag,
        "cholesky": _by_flag,
        "eigh": _of_pair,
        "eigvalsh": _of_pair,
    },
}

__all__ = ["TRIANGLES", "Triangles"]
