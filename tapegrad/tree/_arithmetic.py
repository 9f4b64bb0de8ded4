"""Trees of numbers and arrays as vectors: sums, multiples, products, norms.

Written in functions that have rules, so they may be differentiated, mapped and compiled.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

from tapegrad import _tree
from tapegrad._core.types import Value
from tapegrad.tree._vectors import ravel

T = TypeVar("T")


def _side_by_side(call: str, tree: Any, other: Any) -> tuple[list[Any], list[Any], Any]:
    leaves, structure = _tree.flatten(tree)
    return leaves, _tree.flatten_like(structure, other, call), structure


def add(a: T, b: T) -> T:
    """The tree a + b.

    >>> add((1.0, {"x": 2.0}), (10.0, {"x": 20.0}))
    (11.0, {'x': 22.0})
    """
    left, right, structure = _side_by_side("tree.add", a, b)
    return _tree.unflatten(structure, [x + y for x, y in zip(left, right, strict=True)])


def subtract(a: T, b: T) -> T:
    """The tree a - b.

    >>> subtract((1.0, 2.0), (1.0, 0.5))
    (0.0, 1.5)
    """
    left, right, structure = _side_by_side("tree.subtract", a, b)
    return _tree.unflatten(structure, [x - y for x, y in zip(left, right, strict=True)])


def scale(number: Value, tree: T) -> T:
    """The tree times a number.

    >>> scale(3.0, (1.0, 2.0))
    (3.0, 6.0)
    """
    return _tree.tree_map(lambda x: number * x, tree)


def add_scaled(a: T, number: Value, b: T) -> T:
    """The tree a + number * b.

    >>> add_scaled((1.0, 2.0), -0.5, (2.0, 2.0))
    (0.0, 1.0)
    """
    left, right, structure = _side_by_side("tree.add_scaled", a, b)
    return _tree.unflatten(structure, [x + number * y for x, y in zip(left, right, strict=True)])


def vdot(a: Any, b: Any) -> Any:
    """The inner product of two trees, with the first one's conjugate.

    >>> float(vdot((1.0, 2.0), (3.0, 4.0)))
    11.0
    """
    left, right, _ = _side_by_side("tree.vdot", a, b)
    return sum((np.vdot(x, y) for x, y in zip(left, right, strict=True)), np.float64(0))


def norm(tree: Any, ord: float = 2, *, squared: bool = False) -> Any:
    """The norm of all elements of a tree as one vector: ord 1, 2 or infinity, or any ord > 0.

    `squared`: the square of the 2-norm, which has a derivative of every order at zero. A tree
    without leaves has norm 0.

    >>> float(norm({"a": np.array([3.0]), "b": 4.0}))
    5.0
    """
    flat = ravel(tree)[0]
    if squared:
        return np.sum(np.real(flat) ** 2 + np.imag(flat) ** 2)
    return np.linalg.norm(flat, ord) if flat.size else np.float64(0)


def size(tree: Any) -> int:
    """The number of elements in a tree.

    >>> size({"a": np.zeros((2, 3)), "b": 1.0})
    7
    """
    return sum(int(np.prod(np.shape(leaf))) for leaf in _tree.flatten(tree)[0])


def zeros_like(tree: T) -> T:
    """The tree with zeros in place of all elements, shapes and dtypes kept.

    >>> zeros_like((1.0, np.ones(2, np.float32)))
    (np.float64(0.0), array([0., 0.], dtype=float32))
    """
    return _tree.tree_map(lambda x: np.zeros_like(x)[()], tree)


def ones_like(tree: T) -> T:
    """The tree with ones in place of all elements, shapes and dtypes kept.

    >>> ones_like((0.5, np.zeros(2)))
    (np.float64(1.0), array([1., 1.]))
    """
    return _tree.tree_map(lambda x: np.ones_like(x)[()], tree)
