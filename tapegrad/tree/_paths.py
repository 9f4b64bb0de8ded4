"""Leaves with their paths: where in a tree each of them stands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tapegrad import _tree
from tapegrad._tree import IsLeaf, Structure
from tapegrad.tree._walks import structure


class Path(tuple[Any, ...]):
    """The keys on the way to a leaf, a tuple: keys of dicts, positions, names of fields.

    `str(path)` is the way as a program reads it. `leaves_with_path` makes paths.

    Parameters
    ----------
    iterable : iterable, optional
        The keys, as for a tuple.

    Attributes
    ----------
    text : str
        What `str` returns.

    See Also
    --------
    leaves_with_path : The leaves of a tree with their paths.

    Examples
    --------
    >>> path = leaves_with_path({"hidden": [1.0, 2.0]})[1][0]
    >>> path
    Path("['hidden'][1]")
    >>> path[0], path[-1], str(path)
    ('hidden', 1, "['hidden'][1]")
    """

    text: str

    @classmethod
    def of(cls, keys: tuple[Any, ...], text: str) -> Path:
        """Make a path of keys and their text.

        Parameters
        ----------
        keys : tuple
            The keys on the way.
        text : str
            The way as a program reads it.

        Returns
        -------
        Path
            The path.
        """
        made = cls(keys)
        made.text = text
        return made

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Path({self.text!r})"


def leaves_with_path(tree: Any, is_leaf: IsLeaf | None = None) -> list[tuple[Path, Any]]:
    """The leaves of a tree from left to right, each with its path.

    Parameters
    ----------
    tree : pytree
        Any tree.
    is_leaf : callable, optional
        `is_leaf(subtree)` says where to stop, as in `flatten`.

    Returns
    -------
    list of (Path, leaf)
        A pair for each leaf.

    See Also
    --------
    flatten_with_path : The same, with the structure.
    leaves : The leaves alone.

    Examples
    --------
    >>> [(str(path), leaf) for path, leaf in leaves_with_path({"a": 1, "b": (2, [3])})]
    [("['a']", 1), ("['b'][0]", 2), ("['b'][1][0]", 3)]
    """
    return [
        (Path.of(tuple([key for key, _ in place]), "".join([text for _, text in place])), leaf)
        for place, leaf in _tree.places_of(tree, is_leaf)
    ]


def flatten_with_path(
    tree: Any, is_leaf: IsLeaf | None = None
) -> tuple[list[tuple[Path, Any]], Structure]:
    """The leaves with their paths, and the structure around them.

    Parameters
    ----------
    tree : pytree
        Any tree.
    is_leaf : callable, optional
        `is_leaf(subtree)` says where to stop, as in `flatten`.

    Returns
    -------
    pairs : list of (Path, leaf)
        A pair for each leaf, from left to right.
    structure : Structure
        The containers, for `unflatten`.

    See Also
    --------
    flatten : The same without paths.

    Examples
    --------
    >>> flatten_with_path([5])[0]
    [(Path('[0]'), 5)]
    """
    return leaves_with_path(tree, is_leaf), structure(tree, is_leaf)


def map_with_path(
    function: Callable[..., Any], tree: Any, *rest: Any, is_leaf: IsLeaf | None = None
) -> Any:
    """The tree of what a function makes of each leaf and its path.

    Parameters
    ----------
    function : callable
        `function(path, leaf, *others)`, with one further leaf from each of `rest`.
    tree : pytree
        Any tree.
    *rest : pytree
        Trees with the containers of the first; they may have any tree in place of its leaves.
    is_leaf : callable, optional
        `is_leaf(subtree)` says where to stop, as in `flatten`.

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
    map : The same without paths.

    Examples
    --------
    >>> map_with_path(lambda path, x: f"{path} = {x}", {"a": 1})
    {'a': "['a'] = 1"}
    """
    pairs, found = flatten_with_path(tree, is_leaf)
    others = [_tree.flatten_like(found, other, "tree.map_with_path") for other in rest]
    columns = zip(pairs, *others, strict=True)
    return _tree.unflatten(found, [function(*pair, *more) for pair, *more in columns])
