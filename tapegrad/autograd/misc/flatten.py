"""Containers of arrays as one vector, and back; differentiable both ways."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad._core.types import Tree
from tapegrad._core.values import is_plain_number, lift
from tapegrad._tree import flatten as leaves_of
from tapegrad._tree import unflatten as tree_of
from tapegrad.autograd._completed import complete

Function = Callable[..., Any]


def _sorted_dicts(value: Tree) -> Any:
    """A tree with the keys of its dicts in order, where they can be ordered."""
    if type(value) is dict:
        try:
            keys = sorted(value)
        except TypeError:
            keys = list(value)
        return {key: _sorted_dicts(value[key]) for key in keys}
    if type(value) in (list, tuple):
        return type(value)(map(_sorted_dicts, value))
    return value


def flatten(value: Tree) -> tuple[Any, Function]:
    """A container of numbers and arrays as one vector, and the function that undoes it.

    Both can be differentiated. Dicts go by sorted keys.

    Parameters
    ----------
    value : pytree
        Numbers and arrays.

    Returns
    -------
    vector : ndarray
        Of shape (n,) and one dtype, that of all parts together.
    unflatten : callable
        `unflatten(vector)` is a container like `value`; each floating part has its own dtype
        again.

    See Also
    --------
    tapegrad.tree.ravel : The same with dicts in their own order.

    Examples
    --------
    >>> vector, unflatten = flatten({"w": np.ones((2, 1)), "b": 3.0})
    >>> vector
    array([3., 1., 1.])
    >>> unflatten(2 * vector)["w"]
    array([[2.],
           [2.]])
    """
    leaves, structure = leaves_of(value)
    # The vector goes by sorted keys; what unflatten makes has the keys in the order of value.
    order = leaves_of(_sorted_dicts(tree_of(structure, range(len(leaves)))))[0]
    parts = [np.ravel(lift(leaves[i])) for i in order]
    vector = np.concatenate(parts) if parts else np.array([])
    likes = [(i, _Like(leaves[i])) for i in order]

    def unflatten(vector: Any) -> Any:
        start = 0
        made: list[Any] = [None] * len(likes)
        for i, like in likes:
            made[i] = like.part(vector, start)
            start += like.size
        return tree_of(structure, made)

    return vector, unflatten


class _Like:
    """The shape, dtype and kind of a part of a container."""

    def __init__(self, leaf: Any) -> None:
        self.shape, self.size = np.shape(leaf), int(np.size(leaf))
        self.dtype = np.result_type(leaf)
        self.number = is_plain_number(leaf)

    def part(self, vector: Any, start: int) -> Any:
        found = vector[start] if self.number else vector[start : start + self.size]
        if not self.number:
            found = np.reshape(found, self.shape)
        if found.dtype.kind == "c" and self.dtype.kind != "c":
            found = np.real(found)
        if self.dtype.kind in "fc" and found.dtype != self.dtype:
            found = found.astype(self.dtype)
        return found


def flatten_func(func: Function, example: Tree) -> tuple[Function, Function, Any]:
    """A function of containers as one of vectors.

    Parameters
    ----------
    func : callable
        `func(value, *args)` returns a container.
    example : pytree
        A container like its first argument.

    Returns
    -------
    flat : callable
        `flat(vector, *args)` returns the result as a vector.
    unflatten : callable
        The container of a vector.
    vector : ndarray
        The vector of the example.

    See Also
    --------
    flatten : One container as a vector.

    Examples
    --------
    >>> product = lambda p: {"y": p["a"] * p["b"]}
    >>> flat, unflatten, vector = flatten_func(product, {"a": 2.0, "b": 3.0})
    >>> flat(vector)
    array([6.])
    """
    vector, unflatten = flatten(example)

    def flat(x: Any, *args: Any) -> Any:
        return flatten(func(unflatten(x), *args))[0]

    return flat, unflatten, vector


complete(__name__)

__all__ = ["flatten", "flatten_func"]
