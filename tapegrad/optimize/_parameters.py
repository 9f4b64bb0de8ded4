"""Parameters as a tree, and as the float64 vector that SciPy's methods move.

Leaves of a floating or complex dtype are free; integers, booleans, strings and whatever else are
constants. Must not know what is done with the vector.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad._core.types import Value
from tapegrad._core.values import is_array, is_inexact
from tapegrad._errors import InputError, describe, message
from tapegrad._tree import flatten, unflatten
from tapegrad.implicit._unknowns import Unknowns, as_vector


def as_start(x0: Any) -> Any:
    """Where a method starts, as SciPy sees it.

    A list of real numbers is an array, and whole numbers alone are floats. In a tree of several
    leaves integers are constants.
    """
    if type(x0) is list and x0 and all(_is_real(type(x)) for x in x0):
        x0 = np.array(x0)
    if type(x0) is int:
        return float(x0)
    if isinstance(x0, (np.ndarray, np.integer)) and x0.dtype.kind in "iu":
        return x0.astype(float)
    return x0


def _is_real(kind: type) -> bool:
    """Whether a type is one of real numbers, Python's or NumPy's; a traced number's is not."""
    return issubclass(kind, (int, float, np.integer, np.floating)) and kind is not bool


class Parameters:
    """The free leaves of a tree, and the constants around them."""

    def __init__(self, call: str, x0: Any) -> None:
        self.leaves, self.structure = flatten(x0)
        self.places: list[int] = [i for i, leaf in enumerate(self.leaves) if _is_free(leaf)]
        if not self.places:
            raise InputError(
                message(
                    call,
                    "parameters of a floating or complex dtype",
                    describe(x0),
                    "Pass floats (x.astype(float), or 3.0 for 3); integers are constants",
                )
            )
        self.free: list[Any] = [self.leaves[i] for i in self.places]
        self.unknowns = Unknowns(call, self.free)
        self.size: int = self.unknowns.size

    def whole(self, free: list[Any]) -> Any:
        """The tree with these free leaves."""
        leaves = list(self.leaves)
        for place, leaf in zip(self.places, free, strict=True):
            leaves[place] = leaf
        return unflatten(self.structure, leaves)

    def shown(self, free: list[Any]) -> Any:
        """The tree with these free leaves, and None in place of constants."""
        leaves: list[Any] = [None] * len(self.leaves)
        for place, leaf in zip(self.places, free, strict=True):
            leaves[place] = leaf
        return unflatten(self.structure, leaves)

    def given(self, shown: Any) -> list[Any]:
        """The free leaves of what `shown` made."""
        return flatten(shown)[0]

    def free_of(self, tree: Any) -> list[Any]:
        """The free leaves of a tree like it."""
        leaves = flatten(tree)[0]
        return [leaves[place] for place in self.places]

    def tree(self, vector: Value) -> Any:
        """The tree of a vector; differentiable."""
        return self.whole(self.unknowns.tree(vector))

    def vector(self, tree: Any) -> Any:
        """The float64 vector of a plain tree."""
        return np.array(as_vector(self.free_of(tree)), np.float64)

    def tree_of_numbers(self, vector: Any) -> Any:
        """A tree like the parameters' free leaves with a plain number for each; 0 for constants.

        Of complex leaves real and imaginary parts hold those of the two parts.
        """
        leaves = [np.zeros_like(x) if is_array(x) else 0.0 for x in self.leaves]
        for place, leaf in zip(self.places, self.unknowns.tree(vector), strict=True):
            leaves[place] = leaf
        return unflatten(self.structure, leaves)


def _is_free(leaf: Any) -> bool:
    return type(leaf) in (float, complex) or is_array(leaf) and is_inexact(leaf)


__all__ = ["Parameters", "as_start"]
