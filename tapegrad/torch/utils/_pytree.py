"""`torch.utils._pytree`: trees of containers, under the name that packages import.

Knows the trees of tapegrad, of which PyTorch's differ so: None is a leaf, and so is a dataclass
that nobody registered. Must not know tensors.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from tapegrad import _tree
from tapegrad.torch.func._checks import specification

IsLeaf = Callable[[Any], bool] | None
PyTree = Any

_registered: set[type] = set()


class TreeSpec:
    """The structure of a tree: its containers, without its leaves.

    Parameters
    ----------
    structure : object
        What `tapegrad.tree.structure` returns.

    Examples
    --------
    >>> from tapegrad.torch.utils._pytree import tree_structure
    >>> tree_structure({"a": 1, "b": (2, None)}).num_leaves
    3
    """

    def __init__(self, structure: Any) -> None:
        self._structure = structure

    @property
    def num_leaves(self) -> int:
        """How many leaves there are."""
        return int(self._structure.leaf_count)

    @property
    def type(self) -> Any:
        """The class of the container; None of a leaf."""
        return self._structure.kind

    @property
    def context(self) -> Any:
        """The data of a container beside its children: the keys of a dict, as a list."""
        aux = self._structure.aux
        return list(aux) if isinstance(aux, tuple) else aux

    @property
    def children_specs(self) -> list[TreeSpec]:
        """The structures of the children."""
        return [TreeSpec(child) for child in self._structure.children]

    def is_leaf(self) -> bool:
        """Whether it is one leaf."""
        return self._structure.kind is None

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """The tree of this structure with other leaves."""
        return tree_unflatten(leaves, self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TreeSpec) and bool(self._structure == other._structure)

    def __hash__(self) -> int:
        return hash(self._structure)

    def __repr__(self) -> str:
        return specification(self._structure)


def _parts(tree: Any, is_leaf: IsLeaf) -> tuple[list[Any], Any]:
    def ends(part: Any) -> bool:
        if part is None or (is_leaf is not None and is_leaf(part)):
            return True
        return dataclasses.is_dataclass(part) and type(part) not in _registered

    return _tree.flatten(tree, ends)


def tree_flatten(tree: Any, is_leaf: IsLeaf = None) -> tuple[list[Any], TreeSpec]:
    """The leaves of a tree, and its structure."""
    leaves, structure = _parts(tree, is_leaf)
    return leaves, TreeSpec(structure)


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> Any:
    """The tree of a structure with these leaves."""
    return _tree.unflatten(treespec._structure, leaves)


def tree_leaves(tree: Any, is_leaf: IsLeaf = None) -> list[Any]:
    """The leaves of a tree."""
    return _parts(tree, is_leaf)[0]


def tree_iter(tree: Any, is_leaf: IsLeaf = None) -> Iterator[Any]:
    """The leaves of a tree, one by one."""
    return iter(tree_leaves(tree, is_leaf))


def tree_structure(tree: Any, is_leaf: IsLeaf = None) -> TreeSpec:
    """The structure of a tree."""
    return tree_flatten(tree, is_leaf)[1]


def tree_map(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: IsLeaf = None) -> Any:
    """The tree of what a function makes of each leaf, and of those in its place in other trees."""
    leaves, structure = _parts(tree, is_leaf)
    others = [_tree.flatten_prefix(structure, rest, "tree_map") for rest in rests]
    return _tree.unflatten(structure, [func(*each) for each in zip(leaves, *others, strict=True)])


def tree_map_(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: IsLeaf = None) -> Any:
    """The tree itself, after a function was called on each leaf."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def tree_map_only(
    type_or_types_or_pred: Any, /, func: Callable[[Any], Any], tree: Any, is_leaf: IsLeaf = None
) -> Any:
    """The tree of what a function makes of the leaves of a class, or that a test takes."""
    kinds, test = type_or_types_or_pred, type_or_types_or_pred
    if isinstance(kinds, type) or not callable(kinds):
        test = lambda leaf: isinstance(leaf, kinds)  # noqa: E731
    return tree_map(lambda leaf: func(leaf) if test(leaf) else leaf, tree, is_leaf=is_leaf)


def tree_all(pred: Callable[[Any], bool], tree: Any, is_leaf: IsLeaf = None) -> bool:
    """Whether a test takes all leaves."""
    return all(map(pred, tree_leaves(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: Any, is_leaf: IsLeaf = None) -> bool:
    """Whether a test takes any leaf."""
    return any(map(pred, tree_leaves(tree, is_leaf)))


def register_pytree_node(
    cls: type,
    flatten_fn: Callable[[Any], tuple[Iterable[Any], Any]],
    unflatten_fn: Callable[[Iterable[Any], Any], Any],
    **_: Any,
) -> None:
    """Make a class a container, of the children and the context that a function gives."""
    _tree.register(cls, flatten_fn, lambda aux, children: unflatten_fn(list(children), aux))
    _registered.add(cls)


_register_pytree_node = register_pytree_node
