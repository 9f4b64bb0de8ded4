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

    Parameters
    ----------
    a, b : pytree
        Trees of numbers and arrays with the same containers; their leaves are broadcast.

    Returns
    -------
    pytree
        The sum, in the containers of `a`.

    Raises
    ------
    InputError
        If the containers differ.

    See Also
    --------
    add_scaled : A tree plus a multiple of another.
    subtract : The difference of two trees.

    Examples
    --------
    >>> add((1.0, {"x": 2.0}), (10.0, {"x": 20.0}))
    (11.0, {'x': 22.0})
    """
    left, right, structure = _side_by_side("tree.add", a, b)
    return _tree.unflatten(structure, [x + y for x, y in zip(left, right, strict=True)])


def subtract(a: T, b: T) -> T:
    """The tree a - b.

    Parameters
    ----------
    a, b : pytree
        Trees of numbers and arrays with the same containers; their leaves are broadcast.

    Returns
    -------
    pytree
        The difference, in the containers of `a`.

    Raises
    ------
    InputError
        If the containers differ.

    See Also
    --------
    add : The sum of two trees.

    Examples
    --------
    >>> subtract((1.0, 2.0), (1.0, 0.5))
    (0.0, 1.5)
    """
    left, right, structure = _side_by_side("tree.subtract", a, b)
    return _tree.unflatten(structure, [x - y for x, y in zip(left, right, strict=True)])


def scale(number: Value, tree: T) -> T:
    """The tree times a number.

    Parameters
    ----------
    number : scalar
        What each leaf is multiplied by.
    tree : pytree
        A tree of numbers and arrays.

    Returns
    -------
    pytree
        The product, in the containers of `tree`.

    See Also
    --------
    add_scaled : A tree plus a multiple of another.

    Examples
    --------
    >>> scale(3.0, (1.0, 2.0))
    (3.0, 6.0)
    """
    return _tree.tree_map(lambda x: number * x, tree)


def add_scaled(a: T, number: Value, b: T) -> T:
    """The tree a + number * b.

    Parameters
    ----------
    a : pytree
        A tree of numbers and arrays.
    number : scalar
        What the leaves of `b` are multiplied by.
    b : pytree
        A tree with the containers of `a`; leaves are broadcast.

    Returns
    -------
    pytree
        The sum, in the containers of `a`.

    Raises
    ------
    InputError
        If the containers differ.

    See Also
    --------
    add : The sum of two trees.
    scale : A tree times a number.

    Examples
    --------
    >>> add_scaled((1.0, 2.0), -0.5, (2.0, 2.0))
    (0.0, 1.0)
    """
    left, right, structure = _side_by_side("tree.add_scaled", a, b)
    return _tree.unflatten(structure, [x + number * y for x, y in zip(left, right, strict=True)])


def vdot(a: Any, b: Any) -> Any:
    """The inner product of two trees, with the first one's conjugate.

    Parameters
    ----------
    a, b : pytree
        Trees of numbers and arrays with the same containers, and in each place with as many
        elements.

    Returns
    -------
    scalar
        The sum of conj(x) * y over all elements x of `a` and y of `b`; float64 0 of trees without
        leaves.

    Raises
    ------
    InputError
        If the containers differ.

    See Also
    --------
    norm : The norm of a tree.

    Examples
    --------
    >>> float(vdot((1.0, 2.0), (3.0, 4.0)))
    11.0
    """
    left, right, _ = _side_by_side("tree.vdot", a, b)
    return sum((np.vdot(x, y) for x, y in zip(left, right, strict=True)), np.float64(0))


def norm(tree: Any, ord: float = 2, *, squared: bool = False) -> np.floating[Any]:
    """The norm of all elements of a tree as one vector.

    Parameters
    ----------
    tree : pytree
        A tree of numbers and arrays.
    ord : float, default 2
        Which norm: 1, 2, infinity, or what else `numpy.linalg.norm` takes for a vector.
    squared : bool, default False
        Whether to return the square of the 2-norm in place of a norm. It has a derivative of every
        order at zero.

    Returns
    -------
    scalar
        The norm, a real number; 0 of a tree without leaves.

    Raises
    ------
    InputError
        If a leaf is neither a number nor an array of numbers.

    See Also
    --------
    vdot : The inner product of two trees.

    Examples
    --------
    >>> float(norm({"a": np.array([3.0]), "b": 4.0}))
    5.0
    """
    flat = ravel(tree)[0]
    if squared:
        return np.sum(np.real(flat) ** 2 + np.imag(flat) ** 2)
    return np.linalg.norm(flat, ord) if flat.size else np.float64(0)


def size(tree: Any) -> int:
    """The number of elements in a tree.

    Parameters
    ----------
    tree : pytree
        A tree of numbers and arrays.

    Returns
    -------
    int
        The sum of the sizes of the leaves; a number counts as one.

    Examples
    --------
    >>> size({"a": np.zeros((2, 3)), "b": 1.0})
    7
    """
    return sum(int(np.prod(np.shape(leaf))) for leaf in _tree.flatten(tree)[0])


def zeros_like(tree: T) -> T:
    """The tree with zeros in place of all elements, shapes and dtypes kept.

    Parameters
    ----------
    tree : pytree
        A tree of numbers and arrays.

    Returns
    -------
    pytree
        A tree of the same containers; Python's numbers become NumPy's.

    See Also
    --------
    ones_like : The same with ones.

    Examples
    --------
    >>> zeros_like((1.0, np.ones(2, np.float32)))
    (np.float64(0.0), array([0., 0.], dtype=float32))
    """
    return _tree.tree_map(lambda x: np.zeros_like(x)[()], tree)


def ones_like(tree: T) -> T:
    """The tree with ones in place of all elements, shapes and dtypes kept.

    Parameters
    ----------
    tree : pytree
        A tree of numbers and arrays.

    Returns
    -------
    pytree
        A tree of the same containers; Python's numbers become NumPy's.

    See Also
    --------
    zeros_like : The same with zeros.

    Examples
    --------
    >>> ones_like((0.5, np.zeros(2)))
    (np.float64(1.0), array([1., 1.]))
    """
    return _tree.tree_map(lambda x: np.ones_like(x)[()], tree)
