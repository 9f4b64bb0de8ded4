"""`torch.utils._pytree`: trees of containers, under the name that packages import.

Knows the trees of tapegrad, of which PyTorch's differ so: None is a leaf, and so is a dataclass
that nobody registered. Must not know tensors.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from tapegrad import _tree
from tapegrad.torch.func._checks import specification

IsLeaf = Callable[[Any], bool] | None
PyTree = Any
Context = Any

_registered: set[type] = set()


class TreeSpec:
    """The structure of a tree: its containers, without its leaves.

    Parameters
    ----------
    type : type or None
        The class of the container; None of a leaf.
    context : object
        The data of the container beside its children.
    children_specs : sequence of TreeSpec
        The structures of the children.

    Examples
    --------
    >>> from tapegrad.torch.utils._pytree import tree_structure
    >>> tree_structure({"a": 1, "b": (2, None)}).num_leaves
    3
    """

    _structure: Any

    def __init__(self, type: Any, context: Any, children_specs: Iterable[TreeSpec]) -> None:
        aux = tuple(context) if isinstance(context, list) else context
        self._structure = _tree.Structure(type, aux, tuple(c._structure for c in children_specs))

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
        return _context_of(self._structure.aux)

    @property
    def children_specs(self) -> list[TreeSpec]:
        """The structures of the children."""
        return [_spec_of(child) for child in self._structure.children]

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


def _spec_of(structure: Any) -> TreeSpec:
    made = TreeSpec.__new__(TreeSpec)
    made._structure = structure
    return made


def _context_of(aux: Any) -> Any:
    return list(aux) if isinstance(aux, tuple) else aux


def LeafSpec() -> TreeSpec:
    """The structure of one leaf."""
    return _spec_of(_tree.LEAF)


class NodeDef(NamedTuple):
    """How a class of containers is taken apart and made.

    Parameters
    ----------
    type : type
        The class.
    flatten_fn : callable
        Of a container: its children in a list, and its context.
    unflatten_fn : callable
        Of children and a context: the container.

    Examples
    --------
    >>> from tapegrad.torch.utils._pytree import SUPPORTED_NODES
    >>> SUPPORTED_NODES[dict].flatten_fn({"a": 1})
    ([1], ['a'])
    """

    type: Any
    flatten_fn: Callable[[Any], tuple[list[Any], Any]]
    unflatten_fn: Callable[[Iterable[Any], Any], Any]


class _Nodes(Mapping[type, NodeDef]):
    """The classes of containers, as they are registered now."""

    def _kinds(self) -> list[type]:
        return [kind for kind in _tree.CONTAINERS if kind is not type(None)]

    def __getitem__(self, kind: type) -> NodeDef:
        container = None if kind is type(None) else _tree.container_of(kind)
        if container is None or (dataclasses.is_dataclass(kind) and kind not in _registered):
            raise KeyError(kind)

        def flatten(tree: Any) -> tuple[list[Any], Any]:
            children, aux = container.flatten(tree)
            return list(children), _context_of(aux)

        def unflatten(children: Iterable[Any], context: Any) -> Any:
            aux = tuple(context) if isinstance(context, list) else context
            return container.unflatten(aux, children)

        return NodeDef(kind, flatten, unflatten)

    def __iter__(self) -> Iterator[type]:
        return iter(self._kinds())

    def __len__(self) -> int:
        return len(self._kinds())


SUPPORTED_NODES = _Nodes()
_list_flatten, _list_unflatten = SUPPORTED_NODES[list][1:]


@dataclasses.dataclass(frozen=True)
class SequenceKey:
    """The place of a child in a list or a tuple."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx}]"


@dataclasses.dataclass(frozen=True)
class MappingKey:
    """The place of a child in a mapping."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"


def _list_flatten_with_keys(tree: Any) -> tuple[list[tuple[Any, Any]], Any]:
    """The children of a list with their places, and the context."""
    children, context = _list_flatten(tree)
    return [(SequenceKey(place), child) for place, child in enumerate(children)], context


def _get_node_type(tree: Any) -> Any:
    """The key of a tree in `SUPPORTED_NODES`."""
    return type(tree)


def _parts(tree: Any, is_leaf: IsLeaf) -> tuple[list[Any], Any]:
    def ends(part: Any) -> bool:
        if part is None or (is_leaf is not None and is_leaf(part)):
            return True
        return dataclasses.is_dataclass(part) and type(part) not in _registered

    return _tree.flatten(tree, ends)


def tree_flatten(tree: Any, is_leaf: IsLeaf = None) -> tuple[list[Any], TreeSpec]:
    """The leaves of a tree, and its structure."""
    leaves, structure = _parts(tree, is_leaf)
    return leaves, _spec_of(structure)


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
