"""Pytrees: nested tuples, lists, dicts, namedtuples, dataclasses and None around leaves.

Knows only containers; anything that is not a registered container is a leaf. A field of a
dataclass declared with `field(metadata={"static": True})` is carried along, and is no leaf.
"""

from __future__ import annotations

import dataclasses
import itertools
import weakref
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from tapegrad._errors import InputError, message


class Container(NamedTuple):
    """How a container type comes apart: `flatten(x) -> (children, aux)` and back."""

    flatten: Callable[[Any], tuple[Iterable[Any], Any]]
    unflatten: Callable[[Any, Iterable[Any]], Any]


class Structure(NamedTuple):
    """The shape of a tree without its leaves; structures are compared with `==`.

    `tapegrad.tree.structure` makes one of a tree.

    Parameters
    ----------
    kind : type or None
        The class of the container. None for a leaf.
    aux : object
        What the container holds beside its children, such as the keys of a dict.
    children : tuple of Structure
        The structures of its children; empty for a leaf.

    See Also
    --------
    tapegrad.tree.structure : The structure of a tree.
    tapegrad.tree.unflatten : The tree of a structure and leaves.

    Examples
    --------
    >>> from tapegrad import tree
    >>> found = tree.structure({"a": 1, "b": (2, None)})
    >>> print(found)
    {'a': *, 'b': (*, None)}
    >>> found.leaf_count
    2
    """

    kind: type | None
    aux: Any
    children: tuple[Structure, ...]

    @property
    def leaf_count(self) -> int:
        """How many leaves a tree of this structure has."""
        return _leaf_count(self)

    def __str__(self) -> str:
        return render(self)


LEAF = Structure(None, None, ())
_new_tuple = tuple.__new__  # a third of the price of a namedtuple's own constructor


def _flatten_dict(x: dict[Any, Any]) -> tuple[Iterable[Any], Any]:
    return x.values(), tuple(x)


_CONTAINERS: dict[type, Container] = {
    tuple: Container(lambda x: (x, None), lambda _, children: tuple(children)),
    list: Container(lambda x: (x, None), lambda _, children: list(children)),
    dict: Container(_flatten_dict, lambda keys, children: dict(zip(keys, children, strict=True))),
    OrderedDict: Container(
        _flatten_dict, lambda keys, children: OrderedDict(zip(keys, children, strict=True))
    ),
    defaultdict: Container(
        lambda x: (x.values(), (x.default_factory, tuple(x))),
        lambda aux, children: defaultdict(aux[0], zip(aux[1], children, strict=True)),
    ),
    type(None): Container(lambda _: ((), None), lambda *_: None),
}


def register(
    kind: type,
    flatten: Callable[[Any], tuple[Iterable[Any], Any]],
    unflatten: Callable[[Any, Iterable[Any]], Any],
) -> None:
    """Make `kind` a container: its leaves are differentiated, its rest is carried along.

    Dataclasses and namedtuples need no registration; a field of a dataclass with the metadata
    `{"static": True}` is carried along.

    Parameters
    ----------
    kind : type
        The class; classes derived from it are not containers thereby.
    flatten : callable
        Function `flatten(x)` that returns `(children, aux)`; `aux` must support `==`.
    unflatten : callable
        Function `unflatten(aux, children)` that builds x again.

    Raises
    ------
    InputError
        Where `kind` is registered already.

    Examples
    --------
    >>> class Pair:
    ...     def __init__(self, a, b):
    ...         self.a, self.b = a, b
    >>> register(Pair, lambda p: ((p.a, p.b), None), lambda _, children: Pair(*children))
    >>> flatten(Pair(1.0, 2.0))[0]
    [1.0, 2.0]
    """
    if kind in _CONTAINERS:
        raise InputError(
            message("register", "a type without a registration", kind.__name__, "Register it once")
        )
    _CONTAINERS[kind] = Container(flatten, unflatten)
    _LEAF_TYPES.discard(kind)
    _SEEN.pop(kind, None)


_LEAF_TYPES: set[type] = set()  # types known not to be containers, which stay
# Classes of the program, which may go: what they are. No value refers to its class.
_SEEN: weakref.WeakKeyDictionary[type, Container | None] = weakref.WeakKeyDictionary()
_HEAP = 1 << 9  # the flag of classes that can go


def _container_of(kind: type) -> Container | None:
    """The container that `kind` is, if it is one; namedtuples and dataclasses are."""
    if kind in _LEAF_TYPES:
        return None
    found = _CONTAINERS.get(kind)
    if found is not None:
        return found
    try:
        return _SEEN[kind]
    except KeyError:
        pass
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        found = _NAMEDTUPLE
    elif dataclasses.is_dataclass(kind):
        found = _dataclass_container(kind)
    elif not kind.__flags__ & _HEAP or str(kind.__module__).startswith("tapegrad."):
        _LEAF_TYPES.add(kind)
        return None
    _SEEN[kind] = found
    return found


_NAMEDTUPLE = Container(lambda x: (x, type(x)), lambda kind, children: kind._make(children))


def _dataclass_container(kind: type) -> Container:
    names = [name for name, static in _fields_of(kind) if not static]
    fixed = [name for name, static in _fields_of(kind) if static]

    def unflatten(aux: Any, children: Iterable[Any]) -> Any:
        # Not __init__: it may convert, check or refuse what stands in for a leaf.
        kind, *values = aux
        instance: Any = object.__new__(kind)
        for name, child in zip(names, children, strict=True):
            object.__setattr__(instance, name, child)
        for name, value in zip(fixed, values, strict=True):
            object.__setattr__(instance, name, value)
        return instance

    return Container(
        lambda x: (
            [getattr(x, name) for name in names],
            (type(x), *[getattr(x, name) for name in fixed]),
        ),
        unflatten,
    )


def _fields_of(kind: Any) -> list[tuple[str, bool]]:
    """The names of a dataclass's fields, and whether each is static: carried along as it is."""
    return [(x.name, bool(x.metadata.get("static"))) for x in dataclasses.fields(kind)]


def flatten(tree: Any) -> tuple[list[Any], Structure]:
    """Leaves of `tree` from left to right (dicts in insertion order), and its structure."""
    if type(tree) in _LEAF_TYPES:
        return [tree], LEAF
    leaves: list[Any] = []
    return leaves, _flatten_into(tree, leaves)


def _flatten_into(tree: Any, leaves: list[Any]) -> Structure:
    kind = type(tree)
    if kind in _LEAF_TYPES:
        leaves.append(tree)
        return LEAF
    container = _CONTAINERS.get(kind) or _container_of(kind)
    if container is None:
        leaves.append(tree)
        return LEAF
    children, aux = container.flatten(tree)
    parts = []
    for child in children:
        if type(child) in _LEAF_TYPES:
            leaves.append(child)
            parts.append(LEAF)
        else:
            parts.append(_flatten_into(child, leaves))
    return _new_tuple(Structure, (kind, aux, tuple(parts)))


def unflatten(structure: Structure, leaves: Iterable[Any]) -> Any:
    """The tree of this structure with these leaves, as many as `flatten` gave."""
    if structure is LEAF:
        return next(iter(leaves))
    return _unflatten(structure, iter(leaves))


def _unflatten(structure: Structure, leaves: Iterator[Any]) -> Any:
    kind, aux, parts = structure
    if kind is None:
        return next(leaves)
    children = [next(leaves) if child is LEAF else _unflatten(child, leaves) for child in parts]
    if kind is dict:
        return dict(zip(aux, children))  # noqa: B905 - strict= costs
    container: Any = _container_of(kind)
    return container.unflatten(aux, children)


def tree_map(function: Callable[..., Any], tree: Any, *rest: Any) -> Any:
    """`function` applied to the leaves of `tree` and, side by side, of trees of its structure."""
    leaves, structure = flatten(tree)
    others = [flatten_like(structure, other, "tree_map") for other in rest]
    return unflatten(structure, map(function, leaves, *others))


def flatten_like(structure: Structure, tree: Any, call: str) -> list[Any]:
    """Leaves of `tree`, which must have this structure; `call` names the caller in the error.

    Dicts are matched by key, whatever their order.
    """
    leaves: list[Any] = []
    _match(structure, tree, leaves, call, ())
    return leaves


def flatten_prefix(structure: Structure, tree: Any, call: str) -> list[Any]:
    """One entry of `tree` a leaf of the structure; an entry may stand for a whole subtree.

    None and integers are entries here, not containers.
    """
    if structure.kind is None or tree is None or isinstance(tree, int):
        return [tree] * _leaf_count(structure)
    children, aux = _children(structure, tree)
    if type(tree) is not structure.kind or aux != structure.aux:
        raise InputError(
            message(
                call,
                f"an integer, None, or the structure {render(structure)}",
                repr(tree),
                "Give one axis an argument, or a tree like it",
            )
        )
    return [
        entry
        for child, part in zip(structure.children, children, strict=True)
        for entry in flatten_prefix(child, part, call)
    ]


def _leaf_count(structure: Structure) -> int:
    if structure.kind is None:
        return 1
    return sum(map(_leaf_count, structure.children))


def _match(
    structure: Structure, tree: Any, leaves: list[Any], call: str, place: tuple[Any, ...]
) -> None:
    """Append the leaves of a tree to `leaves`; `place` is the way to it: trees and positions."""
    if structure.kind is None:
        leaves.append(tree)
        return
    children, aux = _children(structure, tree)
    if type(tree) is not structure.kind or aux != structure.aux:
        where = _written(place)
        raise InputError(
            message(
                call,
                f"the structure {render(structure)}",
                render(flatten(tree)[1]) + (where and f" at {where}"),
                "Pass a tree with the same containers",
            )
        )
    for i, (child, part) in enumerate(zip(structure.children, children, strict=False)):
        _match(child, part, leaves, call, (place, tree, i, structure))


def _written(place: tuple[Any, ...]) -> str:
    """A way through trees, as a program reads it."""
    if not place:
        return ""
    before, tree, position, structure = place
    # Dicts are matched by key, so the structure has their order.
    keys = structure.aux if structure.kind in (dict, OrderedDict) else None
    key = next(itertools.islice(keys_of(tree), position, None))[1]
    return _written(before) + (key if keys is None else f"[{keys[position]!r}]")


def _children(structure: Structure, tree: Any) -> tuple[list[Any], Any]:
    if structure.kind in (dict, OrderedDict) and type(tree) is structure.kind:
        if tree.keys() == set(structure.aux):
            return [tree[key] for key in structure.aux], structure.aux
        return [], None
    container = _container_of(type(tree))
    if container is None:
        return [], object()
    children, aux = container.flatten(tree)
    listed = list(children)
    return listed, aux if len(listed) == len(structure.children) else object()


def path_of(tree: Any, position: int) -> str:
    """Where a tree has its leaf of this position, as a program reads it: `['w'][0].scale`."""
    return next(path for i, path in enumerate(paths_of(tree)) if i == position)


def paths_of(tree: Any) -> Iterator[str]:
    """Where a tree has its leaves, in their order: see `path_of`."""
    container = _container_of(type(tree))
    if container is None:
        yield ""
        return
    children = container.flatten(tree)[0]
    for (_, key), child in zip(keys_of(tree), children, strict=False):
        for path in paths_of(child):
            yield key + path


def keys_of(tree: Any) -> Iterable[tuple[Any, str]]:
    """The key of each child of a container, and how a program reads it: `("w", "['w']")`.

    Children of a registered class are counted.
    """
    if isinstance(tree, dict):
        return [(key, f"[{key!r}]") for key in tree]
    if dataclasses.is_dataclass(tree):
        names = [name for name, static in _fields_of(tree) if not static]
    else:
        names = list(getattr(tree, "_fields", ()))
    return [(name, f".{name}") for name in names] or ((i, f"[{i}]") for i in itertools.count())


def children_of(tree: Any) -> tuple[list[Any], Any] | None:
    """The children of a container and what else it holds; None for a leaf."""
    container = _container_of(type(tree))
    if container is None:
        return None
    children, aux = container.flatten(tree)
    return list(children), aux


def rebuilt(kind: type, aux: Any, children: list[Any]) -> Any:
    """The container of this type with these children."""
    container: Any = _container_of(kind)
    return container.unflatten(aux, children)


def render(structure: Structure) -> str:
    """A structure in words: `(*, [*, *])`."""
    if structure.kind is None:
        return "*"
    if structure.kind is type(None):
        return "None"
    inner = [render(child) for child in structure.children]
    if structure.kind is dict:
        pairs = zip(structure.aux, inner, strict=True)
        return "{" + ", ".join(f"{key!r}: {text}" for key, text in pairs) + "}"
    if structure.kind is list:
        return "[" + ", ".join(inner) + "]"
    name = "" if structure.kind is tuple else structure.kind.__name__
    return f"{name}({', '.join(inner)})"
