"""Pytrees: nested tuples, lists, dicts, namedtuples, dataclasses and None around leaves.

Knows only containers; anything that is not a registered container is a leaf. A field of a
dataclass declared with `field(metadata={"static": True})` is carried along, and is no leaf.

Trees may be deeper than Python's stack, so above `TALL` levels nothing here calls itself: what is
left to do stands on a list.
"""

from __future__ import annotations

import itertools
import weakref
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
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
        The rest of the container, beside its children, such as the keys of a dict.
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
        count = 0
        rest = [self]
        while rest:
            structure = rest.pop()
            if structure.kind is None:
                count += 1
            rest += structure.children
        return count

    def __str__(self) -> str:
        return render(self)


class TallStructure(Structure):
    """A structure of more than `TALL` levels: Python compares nested tuples on its stack."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        rest: list[tuple[Any, Any]] = [(self, other)]
        while rest:
            x, y = rest.pop()
            if type(x) is not TallStructure or type(y) is not TallStructure:
                if type(x) is type(y) and (x is y or x == y):
                    continue
                return False
            if x[:2] != y[:2] or len(x.children) != len(y.children):
                return False
            rest += zip(x.children, y.children, strict=True)
        return True

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        found: list[Any] = []
        rest: list[Any] = [self]
        while rest:
            x = rest.pop()
            if type(x) is TallStructure:
                found += x[:2]
                rest += x.children
            else:
                found.append(x)
        return hash(tuple(found))

    def __repr__(self) -> str:
        return str(self)


TALL = 64
LEAF = Structure(None, None, ())
_new_tuple = tuple.__new__  # a third of the price of a namedtuple's own constructor


def _flatten_dict(x: dict[Any, Any]) -> tuple[Iterable[Any], Any]:
    return x.values(), tuple(x)


CONTAINERS: dict[type, Container] = {
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
    if kind in CONTAINERS:
        raise InputError(
            message("register", "a type without a registration", kind.__name__, "Register it once")
        )
    CONTAINERS[kind] = Container(flatten, unflatten)
    _LEAF_TYPES.discard(kind)
    _SEEN.pop(kind, None)


_LEAF_TYPES: set[type] = set()  # types known not to be containers, which stay
# Classes of the program, which may go: what they are. No value refers to its class.
_SEEN: weakref.WeakKeyDictionary[type, Container | None] = weakref.WeakKeyDictionary()
_HEAP = 1 << 9  # the flag of classes that can go
# Classes whose values stand for a leaf, and what gives it.
_STAND_INS: dict[type, Callable[[Any], Any]] = {}


def stand_for(kind: type, leaf: Callable[[Any], Any]) -> None:
    """Take values of a class for the leaf that a function gives, where a tree comes apart."""
    _STAND_INS[kind] = leaf


def _leaf(x: Any) -> Any:
    found = _STAND_INS.get(type(x))
    return x if found is None else found(x)


def container_of(kind: type) -> Container | None:
    """The container that `kind` is, if it is one; namedtuples and dataclasses are."""
    if kind in _LEAF_TYPES:
        return None
    found = CONTAINERS.get(kind)
    if found is not None:
        return found
    try:
        return _SEEN[kind]
    except KeyError:
        pass
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        found = _NAMEDTUPLE if hasattr(kind, "_make") else _BUNCH
    elif hasattr(kind, "__dataclass_fields__"):
        found = _dataclass_container(kind)
    elif not kind.__flags__ & _HEAP or str(kind.__module__).startswith("tapegrad."):
        if kind not in _STAND_INS:
            _LEAF_TYPES.add(kind)
        return None
    _SEEN[kind] = found
    return found


_NAMEDTUPLE = Container(lambda x: (x, type(x)), lambda kind, children: kind._make(children))


def _flatten_bunch(x: Any) -> tuple[Iterable[Any], Any]:
    moving = _arrays_beside(x)
    fixed = tuple((name, value) for name, value in vars(x).items() if name not in moving)
    return [*x, *(vars(x)[name] for name in moving)], (type(x), len(x), moving, fixed)


def _unflatten_bunch(aux: Any, children: Iterable[Any]) -> Any:
    kind, count, moving, fixed = aux
    parts = list(children)
    instance = _new_tuple(kind, parts[:count])
    vars(instance).update(fixed)
    vars(instance).update(zip(moving, parts[count:], strict=True))
    return instance


def _arrays_beside(x: Any) -> tuple[str, ...]:
    """The names of a tuple's attributes that are arrays."""
    return tuple(name for name, value in vars(x).items() if hasattr(value, "__array__"))


# A tuple with names, and with attributes beside them, as results of SciPy's are. Attributes of a
# namedtuple of Python's are not carried along: they are what its class remembers.
_BUNCH = Container(_flatten_bunch, _unflatten_bunch)


def _dataclass_container(kind: type) -> Container:
    names = tuple(name for name, static in _fields_of(kind) if not static)
    fixed = tuple(name for name, static in _fields_of(kind) if static)

    def flatten(x: Any) -> tuple[list[Any], Any]:
        try:
            return apart(x, names, fixed)
        except AttributeError:  # a constructor may call a transform before it has set all fields
            return apart(x, _set_of(x, names), _set_of(x, fixed))

    def apart(x: Any, given: Any, static: Any) -> tuple[list[Any], Any]:
        constants = [getattr(x, name) for name in static]
        return [getattr(x, name) for name in given], (type(x), given, static, *constants)

    def unflatten(aux: Any, children: Iterable[Any]) -> Any:
        # Not __init__: it may convert, check or refuse what stands in for a leaf.
        kind, given, static, *constants = aux
        instance: Any = object.__new__(kind)
        for name, child in zip(given, children, strict=True):
            object.__setattr__(instance, name, child)
        for name, value in zip(static, constants, strict=True):
            object.__setattr__(instance, name, value)
        return instance

    return Container(flatten, unflatten)


def _set_of(x: Any, names: Iterable[str]) -> tuple[str, ...]:
    return tuple(name for name in names if hasattr(x, name))


def _fields_of(kind: Any) -> list[tuple[str, bool]]:
    """The names of a dataclass's fields, and whether each is static: carried along as it is."""
    from dataclasses import fields  # whoever declares one has imported it

    return [(x.name, bool(x.metadata.get("static"))) for x in fields(kind)]


IsLeaf = Callable[[Any], bool]


def flatten(tree: Any, is_leaf: IsLeaf | None = None) -> tuple[list[Any], Structure]:
    """Leaves of `tree` from left to right (dicts in insertion order), and its structure.

    is_leaf: says of containers which to take for leaves.
    """
    if type(tree) in _LEAF_TYPES:
        return [tree], LEAF
    leaves: list[Any] = []
    structure = _flatten_low(tree, leaves, TALL) if is_leaf is None else None
    if structure is None:
        leaves = []
        structure = _flatten_any(tree, leaves, is_leaf)
    return leaves, structure


def _flatten_low(tree: Any, leaves: list[Any], levels: int) -> Structure | None:
    """The structure of a tree of up to so many levels, and its leaves; None if it has more.

    A call of a function costs less than an entry of a list of what is left to do.
    """
    kind = type(tree)
    container = CONTAINERS.get(kind) or container_of(kind)
    if container is None:
        leaves.append(_leaf(tree))
        return LEAF
    if not levels:
        return None
    children, aux = container.flatten(tree)
    parts = []
    for child in children:
        if type(child) in _LEAF_TYPES:
            leaves.append(child)
            parts.append(LEAF)
        else:
            part = _flatten_low(child, leaves, levels - 1)
            if part is None:
                return None
            parts.append(part)
    return _new_tuple(Structure, (kind, aux, tuple(parts)))


def _flatten_any(tree: Any, leaves: list[Any], is_leaf: IsLeaf | None) -> Structure:
    """The same for trees of any height."""
    container = CONTAINERS.get(type(tree)) or container_of(type(tree))
    if container is None or (is_leaf is not None and is_leaf(tree)):
        leaves.append(_leaf(tree))
        return LEAF
    children, aux = container.flatten(tree)
    parts: list[Structure] = []
    height = 0  # how many levels are below the tree
    around: list[Any] = []  # the same of the containers around it
    remaining = iter(children)
    while True:
        for child in remaining:
            kind = type(child)
            if kind in _LEAF_TYPES:
                leaves.append(child)
                parts.append(LEAF)
                continue
            container = CONTAINERS.get(kind) or container_of(kind)
            if container is None or (is_leaf is not None and is_leaf(child)):
                leaves.append(_leaf(child))
                parts.append(LEAF)
                continue
            around.append((tree, aux, parts, height, remaining))
            if not len(around) % DEEP:
                _refuse_cycle([child, *(whole for whole, *_ in around)])
            tree, (children, aux) = child, container.flatten(child)
            parts, height, remaining = [], 0, iter(children)
            break
        else:
            made = _new_tuple(
                Structure if height < TALL else TallStructure, (type(tree), aux, tuple(parts))
            )
            if not around:
                return made
            above = height + 1
            tree, aux, parts, height, remaining = around.pop()
            parts.append(made)
            if height < above:
                height = above


DEEP = 1 << 12  # levels after which a container that holds itself is looked for


def _refuse_cycle(containers: list[Any]) -> None:
    """Raise InputError if one of the containers around each other is there twice."""
    if len(set(map(id, containers))) < len(containers):
        kind = type(containers[0]).__name__
        raise InputError(
            message("tree", "containers within containers", f"a {kind} within itself", "Copy it")
        )


def unflatten(structure: Structure, leaves: Iterable[Any]) -> Any:
    """The tree of this structure with these leaves, as many as `flatten` gave."""
    leaves = iter(leaves)
    if structure.kind is None:
        return next(leaves)
    kind, aux, parts = structure
    made: list[Any] = []
    around: list[Any] = []  # containers that are begun
    remaining = iter(parts)
    while True:
        for child in remaining:
            if child is LEAF:
                made.append(next(leaves))
                continue
            around.append((kind, aux, made, remaining))
            kind, aux, parts = child
            made, remaining = [], iter(parts)
            break
        else:
            whole: Any
            if kind is dict:
                whole = dict(zip(aux, made))  # noqa: B905 - strict= costs
            elif kind is None:
                whole = next(leaves)
            else:
                container: Any = container_of(kind)
                whole = container.unflatten(aux, made)
            if not around:
                return whole
            kind, aux, made, remaining = around.pop()
            made.append(whole)


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
    place: tuple[Any, ...] = ()  # the way to the tree: those around it, and positions in them
    rest = [(structure, tree, place)]
    while rest:
        structure, tree, place = rest.pop()
        if structure.kind is None:
            leaves.append(_leaf(tree) if _STAND_INS else tree)
            continue
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
        for part in structure.children:
            if part is not LEAF:
                break
        else:
            leaves += map(_leaf, children) if _STAND_INS else children
            continue
        rest += [
            (structure.children[i], child, (place, tree, i, structure))
            for i, child in enumerate(children)
        ][::-1]
    return leaves


def flatten_prefix(structure: Structure, tree: Any, call: str) -> list[Any]:
    """One entry of `tree` a leaf of the structure; an entry may stand for a whole subtree.

    None and integers are entries here, not containers.
    """
    found: list[Any] = []
    rest = [(structure, tree)]
    while rest:
        structure, tree = rest.pop()
        if structure.kind is None or tree is None or isinstance(tree, int):
            found += [tree] * structure.leaf_count
            continue
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
        rest += reversed(list(zip(structure.children, children, strict=True)))
    return found


def _written(place: tuple[Any, ...]) -> str:
    """A way through trees, as a program reads it."""
    found = []
    while place:
        place, tree, position, structure = place
        # Dicts are matched by key, so the structure has their order.
        keys = structure.aux if structure.kind in (dict, OrderedDict) else None
        key = next(itertools.islice(keys_of(tree), position, None))[1]
        found.append(key if keys is None else f"[{keys[position]!r}]")
    return "".join(found[::-1])


def _children(structure: Structure, tree: Any) -> tuple[list[Any], Any]:
    if structure.kind in (dict, OrderedDict) and type(tree) is structure.kind:
        if tree.keys() == set(structure.aux):
            return [tree[key] for key in structure.aux], structure.aux
        return [], None
    container = container_of(type(tree))
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
    for place, _ in places_of(tree):
        yield "".join([text for _, text in place])


def places_of(
    tree: Any, is_leaf: IsLeaf | None = None
) -> Iterator[tuple[list[tuple[Any, str]], Any]]:
    """The leaves of a tree in their order, each after the keys on the way, as `keys_of` has them.

    is_leaf: says where to stop.
    """
    rest: list[tuple[Any, Any]] = [(tree, None)]
    while rest:
        tree, way = rest.pop()
        found = None if is_leaf is not None and is_leaf(tree) else children_of(tree)
        if found is not None:
            pairs = zip(keys_of(tree), found[0], strict=False)
            rest += [(child, (way, key)) for key, child in pairs][::-1]
            continue
        place = []
        while way is not None:
            way, key = way
            place.append(key)
        yield place[::-1], tree


def keys_of(tree: Any) -> Iterable[tuple[Any, str]]:
    """The key of each child of a container, and how a program reads it: `("w", "['w']")`.

    Children of a registered class are counted.
    """
    if isinstance(tree, dict):
        return [(key, f"[{key!r}]") for key in tree]
    if hasattr(tree, "__dataclass_fields__"):
        names = [name for name, static in _fields_of(tree) if not static]
    else:
        names = list(getattr(tree, "_fields", ()))
        if container_of(type(tree)) is _BUNCH:
            names += _arrays_beside(tree)
    return [(name, f".{name}") for name in names] or ((i, f"[{i}]") for i in itertools.count())


def children_of(tree: Any) -> tuple[list[Any], Any] | None:
    """The children of a container and what else it holds; None for a leaf."""
    container = container_of(type(tree))
    if container is None:
        return None
    children, aux = container.flatten(tree)
    return list(children), aux


def rebuilt(kind: type, aux: Any, children: list[Any]) -> Any:
    """The container of this type with these children."""
    container: Any = container_of(kind)
    return container.unflatten(aux, children)


def render(structure: Structure) -> str:
    """A structure in words: `(*, [*, *])`."""
    found: list[str] = []
    rest: list[Any] = [structure]
    while rest:
        part = rest.pop()
        if type(part) is str:
            found.append(part)
            continue
        opening, names, closing = _words(part)
        found.append(opening)
        rest.append(closing)
        for i in range(len(part.children) - 1, -1, -1):
            rest += part.children[i], (", " if i else "") + names[i]
    return "".join(found)


def _words(structure: Structure) -> tuple[str, Sequence[str], str]:
    """The text before, between and behind the children of a structure."""
    none = ("",) * len(structure.children)
    if structure.kind is None:
        return "*", none, ""
    if structure.kind is type(None):
        return "None", none, ""
    if structure.kind is dict:
        return "{", [f"{key!r}: " for key in structure.aux], "}"
    if structure.kind is list:
        return "[", none, "]"
    name = "" if structure.kind is tuple else structure.kind.__name__
    return f"{name}(", none, ")"
