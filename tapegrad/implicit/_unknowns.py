"""A tree of floating and complex unknowns as one real vector, and back.

Real and imaginary parts of complex unknowns count as two, so that equations which are not
holomorphic have a Jacobian like others. Written in functions that have rules.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad import tree
from tapegrad._core.types import Value
from tapegrad._core.values import cast, is_array, is_inexact, is_plain_number, is_scalar
from tapegrad._errors import InputError, describe, message
from tapegrad._tree import flatten, path_of, unflatten


def as_vector(values: Any) -> Any:
    """All elements of a tree in one real vector; see the module."""
    leaves = [np.asarray(x) if is_plain_number(x) else x for x in flatten(values)[0]]
    parts: list[Any] = []
    for leaf in leaves:
        parts += [np.real(leaf), np.imag(leaf)] if leaf.dtype.kind == "c" else [leaf]
    return tree.ravel(parts)[0]


class Unknowns:
    """The containers, shapes and dtypes of unknowns; `tree(vector)` has them again."""

    def __init__(self, call: str, like: Any) -> None:
        leaves, self.structure = flatten(like)
        self.halves: list[Any] = []
        self.complex: list[bool] = []
        for i, leaf in enumerate(leaves):
            shape, dtype, number = _unknown(call, leaf, like, i)
            self.complex.append(dtype.kind == "c")
            half = np.zeros(shape, np.finfo(dtype).dtype)
            halves = [half[()] if number else half]
            self.halves += halves * (2 if self.complex[-1] else 1)
        zeros, self._split = tree.ravel(self.halves)
        self.size, self.dtype = zeros.size, zeros.dtype

    def tree(self, vector: Value) -> Any:
        """The tree of a vector."""
        halves = iter(self._split(vector))
        return unflatten(
            self.structure,
            [
                next(halves) + 1j * next(halves) if is_complex else next(halves)
                for is_complex in self.complex
            ],
        )

    def vector(self, values: Any) -> Any:
        """The vector of a tree like it, in its dtype."""
        return cast(as_vector(values), self.dtype)


def _unknown(
    call: str, leaf: Value, like: Any, position: int
) -> tuple[tuple[int, ...], np.dtype[Any], bool]:
    """The shape and dtype of a leaf, and whether it is a number."""
    if type(leaf) in (float, complex):
        return (), np.dtype(type(leaf)), True
    if not is_array(leaf) or not is_inexact(leaf):
        path = path_of(like, position)
        raise InputError(
            message(
                call,
                "unknowns of a floating or complex dtype",
                describe(leaf) + (f" at {path}" if path else ""),
                "Pass floats (x.astype(float), or 3.0 for 3), and what is no unknown in args",
            )
        )
    return tuple(leaf.shape), leaf.dtype, is_scalar(leaf)


__all__ = ["Unknowns", "as_vector"]
