"""Trees apart and together: leaves, structures, and functions applied to leaves side by side.

Knows `tapegrad._tree`. Must not know arrays.
"""

from __future__ import annotations

import builtins
import functools
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Concatenate, TypeVar, overload

from tapegrad import _tree
from tapegrad._errors import InputError, describe, message
from tapegrad._tree import IsLeaf, Structure

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any] | np.generic
    Key = TypeVar("Key")
    Out = TypeVar("Out")
    T = TypeVar("T")
    Leaf = TypeVar("Leaf", bound=Array | complex | str)  # no container
    OutArray = TypeVar("OutArray", bound=Array)


def flatten(tree: Any, is_leaf: IsLeaf | None = None) -> tuple[list[Any], Structure]:
    """The leaves of a tree from left to right, and the containers around them.

    Parameters
    ----------
    tree : pytree
        Any tree.
    is_leaf : callable, optional
        `is_leaf(subtree)` says where to stop: what it accepts is a leaf, a container or not.

    Returns
    -------
    leaves : list
        The leaves; of dicts in the order of their keys' insertion.
    structure : Structure
        The containers, for `unflatten`.

    See Also
    --------
    leaves : The leaves alone.
    unflatten : The other way round.

    Examples
    --------
    >>> leaves, structure = flatten({"a": 1, "b": (2, None, [3])})
    >>> leaves
    [1, 2, 3]
    >>> print(structure)
    {'a': *, 'b': (*, None, [*])}
    """
    return _tree.flatten(tree, is_leaf)


def leaves(tree: Any, is_leaf: IsLeaf | None = None) -> list[Any]:
    """The leaves of a tree from left to right.

    Parameters
    ----------
    tree : pytree
        Any tree.
    is_leaf : callable, optional
        `is_leaf(subtree)` says where to stop, as in `flatten`.

    Returns
    -------
    list
        The leaves.

    See Also
    --------
    leaves_with_path : Each leaf with its path.

    Examples
    --------
    >>> leaves({"a": 1, "b": (2, None, [3])})
    [1, 2, 3]
    """
    return flatten(tree, is_leaf)[0]


def structure(tree: Any, is_leaf: IsLeaf | None = None) -> Structure:
    """The containers of a tree without its leaves.

    Parameters
    ----------
    tree : pytree
        Any tree.
    is_leaf : callable, optional
        `is_leaf(subtree)` says where to stop, as in `flatten`.

    Returns
    -------
    Structure
        The containers; structures are compared with `==`.

    See Also
    --------
    unflatten : The tree of a structure and leaves.

    Examples
    --------
    >>> structure((1, 2)) == structure(("x", "y"))
    True
    """
    return flatten(tree, is_leaf)[1]


def unflatten(structure: Structure, leaves: Iterable[Any]) -> Any:
    """The tree of a structure with these leaves.

    Parameters
    ----------
    structure : Structure
        The containers.
    leaves : iterable
        As many leaves as the structure has, from left to right.

    Returns
    -------
    pytree
        The tree.

    Raises
    ------
    InputError
        If there are not as many leaves, or `structure` is none.

    See Also
    --------
    flatten : The other way round.

    Examples
    --------
    >>> unflatten(structure({"a": 1, "b": (2, 3)}), [10, 20, 30])
    {'a': 10, 'b': (20, 30)}
    """
    if not isinstance(structure, Structure):
        raise InputError(
            message(
                "tree.unflatten",
                "a structure and its leaves",
                describe(structure),
                "Take one from tree.structure(tree) or tree.flatten(tree)",
            )
        )
    given = list(leaves)
    if len(given) != structure.leaf_count:
        raise InputError(
            message(
                "tree.unflatten",
                f"{structure.leaf_count} leaves, for {structure}",
                str(len(given)),
                "Pass one for each *",
            )
        )
    return _tree.unflatten(structure, given)


# Of containers of leaves the result's type is known, of others where arrays become arrays.
@overload
def map(  # noqa: A001 - JAX's name
    function: Callable[Concatenate[Leaf, ...], Out],
    tree: dict[Key, Leaf],
    *rest: Any,
    is_leaf: None = None,
) -> dict[Key, Out]: ...
@overload
def map(  # noqa: A001 - JAX's name
    function: Callable[Concatenate[Leaf, ...], Out],
    tree: list[Leaf],
    *rest: Any,
    is_leaf: None = None,
) -> list[Out]: ...
@overload
def map(  # noqa: A001 - JAX's name
    function: Callable[Concatenate[OutArray, ...], OutArray],
    tree: T,
    *rest: Any,
    is_leaf: None = None,
) -> T: ...
@overload
def map(  # noqa: A001 - JAX's name
    function: Callable[..., Any], tree: Any, *rest: Any, is_leaf: IsLeaf | None = None
) -> Any: ...
def map(  # noqa: A001 - JAX's name
    function: Callable[..., Any], tree: Any, *rest: Any, is_leaf: IsLeaf | None = None
) -> Any:
    """The tree of what a function makes of each leaf, or of leaves side by side.

    Parameters
    ----------
    function : callable
        `function(leaf, *others)`, with one further leaf from each of `rest`.
    tree : pytree
        Any tree.
    *rest : pytree
        Trees with the containers of the first; they may have any tree in place of its leaves.
        Dicts are matched by key.
    is_leaf : callable, optional
        `is_leaf(subtree)` says where to stop in `tree`, as in `flatten`.

    Returns
    -------
    pytree
        The results, in the containers of `tree`.

    Raises
    ------
    InputError
        If the containers differ; it says where.

    See Also
    --------
    map_with_path : The same with the path of each leaf.

    Examples
    --------
    >>> map(lambda x, y: x + y, {"a": 1, "b": (2,)}, {"b": (20,), "a": 10})
    {'a': 11, 'b': (22,)}
    """
    first, found = flatten(tree, is_leaf)
    others = [_tree.flatten_like(found, other, "tree.map") for other in rest]
    return _tree.unflatten(found, builtins.map(function, first, *others))


_MISSING: Any = object()


def reduce(
    function: Callable[[Any, Any], Any],
    tree: Any,
    initial: Any = _MISSING,
    is_leaf: IsLeaf | None = None,
) -> Any:
    """Join the leaves from left to right.

    Parameters
    ----------
    function : callable
        `function(so_far, leaf)` returns the next `so_far`.
    tree : pytree
        Any tree.
    initial : object, optional
        What to start with; by default the first leaf.
    is_leaf : callable, optional
        `is_leaf(subtree)` says where to stop, as in `flatten`.

    Returns
    -------
    object
        What the last call returned, or `initial` of a tree without leaves.

    Raises
    ------
    InputError
        If the tree has no leaves and there is no `initial`.

    Examples
    --------
    >>> reduce(lambda total, x: total + x, {"a": 1, "b": (2, 3)}, 0)
    6
    """
    given = leaves(tree, is_leaf)
    if initial is not _MISSING:
        return functools.reduce(function, given, initial)
    if not given:
        raise InputError(
            message("tree.reduce", "at least one leaf", "a tree without leaves", "Pass initial=")
        )
    return functools.reduce(function, given)


def all(tree: Any, is_leaf: IsLeaf | None = None) -> bool:  # noqa: A001 - JAX's name
    """Whether all leaves are true, of arrays all elements.

    Parameters
    ----------
    tree : pytree
        A tree of truth values, arrays, or what else `bool` takes.
    is_leaf : callable, optional
        `is_leaf(subtree)` says where to stop, as in `flatten`.

    Returns
    -------
    bool
        The answer; True for a tree without leaves.

    See Also
    --------
    any : Whether some leaf is true.

    Examples
    --------
    >>> import numpy as np
    >>> all({"a": np.array([True, True]), "b": 1})
    True
    """
    return builtins.all(_truths(leaf, "all") for leaf in leaves(tree, is_leaf))


def any(tree: Any, is_leaf: IsLeaf | None = None) -> bool:  # noqa: A001 - JAX's kin
    """Whether some leaf is true, of an array some element.

    Parameters
    ----------
    tree : pytree
        A tree of truth values, arrays, or what else `bool` takes.
    is_leaf : callable, optional
        `is_leaf(subtree)` says where to stop, as in `flatten`.

    Returns
    -------
    bool
        The answer; False for a tree without leaves.

    See Also
    --------
    all : Whether all leaves are true.

    Examples
    --------
    >>> import numpy as np
    >>> any({"a": np.array([False, False]), "b": 0})
    False
    """
    return builtins.any(_truths(leaf, "any") for leaf in leaves(tree, is_leaf))


def _truths(leaf: Any, which: str) -> bool:
    found = getattr(leaf, which, None)
    return bool(found() if callable(found) and hasattr(leaf, "shape") else leaf)


def transpose(outer: Structure | Any, inner: Structure | Any, tree: Any) -> Any:
    """A tree of trees turned inside out: the outer containers become the inner ones.

    Parameters
    ----------
    outer : Structure or pytree
        The containers around the inner trees, or any tree that has them.
    inner : Structure, pytree or None
        The containers of each inner tree, or any tree that has them. None: those of the first one.
    tree : pytree
        `outer` around trees like `inner`.

    Returns
    -------
    pytree
        `inner` around trees like `outer`.

    Raises
    ------
    InputError
        If the tree has other containers, or `outer` has no leaves.

    Examples
    --------
    >>> transpose(structure([0, 0]), None, [{"a": 1, "b": 2}, {"a": 3, "b": 4}])
    {'a': [1, 3], 'b': [2, 4]}
    """
    outside = outer if isinstance(outer, Structure) else structure(outer)
    rows = _tree.flatten_like(outside, tree, "tree.transpose")
    if not rows:
        raise InputError(
            message(
                "tree.transpose",
                "an outer structure with leaves",
                str(outside),
                "There is nothing to turn inside out",
            )
        )
    if inner is None:
        inside = structure(rows[0])
    else:
        inside = inner if isinstance(inner, Structure) else structure(inner)
    columns = zip(
        *(_tree.flatten_like(inside, row, "tree.transpose") for row in rows), strict=True
    )
    return _tree.unflatten(inside, [_tree.unflatten(outside, column) for column in columns])
