"""Pytrees of leaves that a strategy draws."""

from __future__ import annotations

import dataclasses
import functools
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from tapegrad._core.types import Tree
from tapegrad._tree import register
from tapegrad.testing._strategies.arrays import arrays
from tapegrad.testing._strategies.asking import asked_between, asked_count, asked_words, refuse
from tapegrad.testing._strategies.drawing import (
    Choices,
    Draw,
    hypothesis,
    is_strategy,
    noted,
    source_of,
)
from tapegrad.testing._strategies.drawing import strategy as strategy_of

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


class Point(NamedTuple):
    """A namedtuple that `pytrees` draws.

    Parameters
    ----------
    x, y : pytree
        Its two children.

    Examples
    --------
    >>> Point(1.0, 2.0)
    Point(x=1.0, y=2.0)
    """

    x: Any
    y: Any


@dataclasses.dataclass
class Layer:
    """A dataclass that `pytrees` draws, with a static field.

    Parameters
    ----------
    weight, bias : pytree
        Its two children.
    name : str, default "layer"
        The static field, which is no leaf.

    Examples
    --------
    >>> import tapegrad.tree
    >>> tapegrad.tree.leaves(Layer(1.0, 2.0))
    [1.0, 2.0]
    """

    weight: Any
    bias: Any
    name: str = dataclasses.field(default="layer", metadata={"static": True})


class Registered:
    """A class that `pytrees` registers as a container and draws.

    Parameters
    ----------
    *parts : pytree
        Its children, which the attribute `parts` keeps as a tuple.

    Examples
    --------
    >>> Registered(1.0, 2.0).parts
    (1.0, 2.0)
    """

    def __init__(self, *parts: Any) -> None:
        self.parts = parts

    def __repr__(self) -> str:
        return f"Registered({', '.join(map(repr, self.parts))})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Registered) and self.parts == other.parts

    __hash__ = None  # type: ignore[assignment]


@functools.cache
def _register() -> None:
    register(Registered, lambda x: (x.parts, None), lambda _, parts: Registered(*parts))


class _Kind(NamedTuple):
    """How many children a container has (None: any number), how it is made, and written."""

    least: int
    most: int | None
    make: Callable[[list[Any]], Tree]
    source: Callable[[list[str]], str]


def _pairs(texts: list[str]) -> str:
    return ", ".join(f"{key!r}: {text}" for key, text in _keyed(texts).items())


def _keyed(children: list[Any]) -> dict[str, Any]:
    """By keys "a", "b", ..., and "k26", ... after "z"."""
    return {chr(97 + i) if i < 26 else f"k{i}": child for i, child in enumerate(children)}


def _tuple_source(texts: list[str]) -> str:
    return f"({texts[0]},)" if len(texts) == 1 else f"({', '.join(texts)})"


def _call_source(name: str) -> Callable[[list[str]], str]:
    return lambda texts: f"{name}({', '.join(texts)})"


_KINDS = {
    "list": _Kind(0, None, list, lambda t: f"[{', '.join(t)}]"),
    "tuple": _Kind(0, None, tuple, _tuple_source),
    "dict": _Kind(0, None, _keyed, lambda t: f"{{{_pairs(t)}}}"),
    "namedtuple": _Kind(2, 2, lambda c: Point(*c), _call_source("Point")),
    "dataclass": _Kind(2, 2, lambda c: Layer(*c), _call_source("Layer")),
    "registered": _Kind(1, None, lambda c: Registered(*c), _call_source("Registered")),
    "ordered dict": _Kind(
        0, None, lambda c: OrderedDict(_keyed(c)), lambda t: f"OrderedDict({{{_pairs(t)}}})"
    ),
    "none": _Kind(0, 0, lambda _: None, lambda _: "None"),
}
PYTREES = tuple(_KINDS)


def pytrees(
    leaves: Any = None,
    kinds: str | tuple[str, ...] = PYTREES,
    *,
    min_leaves: int = 0,
    max_leaves: int = 5,
    max_depth: int = 3,
) -> SearchStrategy[Any]:
    """A strategy for pytrees: containers in containers, or a leaf alone.

    Parameters
    ----------
    leaves : SearchStrategy, or list or tuple of them, optional
        For a leaf; several take turns. `arrays()` by default.
    kinds : str or tuple of str, optional
        All of these by default: "list", "tuple", "dict", "namedtuple" (`Point`), "dataclass"
        (`Layer`, with a static field), "registered" (`Registered`, which is registered with
        `tapegrad.tree`), "ordered dict", "none" (None, which has no leaves).
    min_leaves, max_leaves : int, default 0 and 5
        The fewest and the most leaves. Trees without leaves are among them where `min_leaves` is 0
        and a kind can be empty.
    max_depth : int, default 3
        The most containers within each other.

    Returns
    -------
    SearchStrategy of pytree
        The trees.

    Raises
    ------
    InputError
        For other kinds, leaves that are no strategies, bounds that are not integers in order, and
        kinds and depths without room for the leaves.

    Examples
    --------
    >>> import tapegrad.tree
    >>> from hypothesis import given
    >>> @given(pytrees(arrays(shape=(2,)), max_leaves=3))
    ... def check(tree):
    ...     assert len(tapegrad.tree.leaves(tree)) <= 3
    >>> check()
    """
    names = asked_words("pytrees", "kinds", kinds, PYTREES)
    asked_between("pytrees", "min_leaves", min_leaves, "max_leaves", max_leaves)
    asked_count("pytrees", "max_depth", max_depth, 0)
    leaves = arrays() if leaves is None else leaves
    turns = tuple(leaves) if isinstance(leaves, (list, tuple)) else (leaves,)
    if not turns or not all(map(is_strategy, turns)):
        refuse("pytrees", "a strategy for leaves, or several", leaves, "Pass arrays(...)")
    most = min(max_leaves, _capacity(names, max_depth))
    # Where no kind can be empty, and none is None, each tree has a leaf.
    least = max(min_leaves, 0 if _can_be_empty(names) and max_depth else 1)
    if least > most:
        refuse(
            "pytrees",
            f"kinds and max_depth with room for {least} leaves",
            f"{kinds!r}, max_depth={max_depth} and max_leaves={max_leaves}",
            'Allow for "list", or more',
        )
    if "registered" in names:
        _register()
    union = hypothesis().strategies.one_of(*turns) if len(turns) > 1 else turns[0]

    def make(draw: Draw) -> Tree:
        choices = Choices.drawn(draw, 4 + 3 * max_leaves + 2 * max_depth)
        count = choices.between(least, most)
        growing = Growing(draw, choices, union, names)
        alone = choices.flag()
        if count == 1 and (alone or not max_depth):
            return growing.leaf()
        return growing.tree(count, max_depth)

    return strategy_of("pytrees", make)


def _capacity(names: tuple[str, ...], depth: int) -> int:
    """How many leaves a tree of these kinds can have."""
    if not depth or all(_KINDS[name].most == 0 for name in names):
        return 1
    if any(_KINDS[name].most is None for name in names):
        return 1 << 30
    return 1 << depth  # of containers of two


def _can_be_empty(names: tuple[str, ...]) -> bool:
    return any(_KINDS[name].least == 0 for name in names)


class Growing:
    """A tree while it is drawn."""

    def __init__(self, draw: Draw, choices: Choices, leaves: Any, names: tuple[str, ...]) -> None:
        self.draw = draw
        self.choices = choices
        self.leaves = leaves
        self.names = names

    def leaf(self) -> Any:
        return self.draw(self.leaves)

    def tree(self, count: int, depth: int) -> Tree:
        """A tree of so many leaves, in containers as deep as that at most."""
        fitting = [name for name in self.names if self.fits(_KINDS[name], count, depth)]
        if not fitting:
            return self.leaf()
        kind = _KINDS[self.choices.among(fitting)]
        shares = self.pair(count, depth) if kind.most else self.shares(kind, count, depth)
        children = [self.child(share, depth - 1) for share in shares]
        found = kind.make(children)
        if found is None or found == ():
            return found
        return noted(found, lambda: kind.source([source_of(child) for child in children]))

    def fits(self, kind: _Kind, count: int, depth: int) -> bool:
        if not depth:
            return False
        if kind.most is None:
            return count >= kind.least
        return count == 0 if kind.most == 0 else 2 <= count <= 2 * self.below(depth)

    def below(self, depth: int) -> int:
        """How many leaves a child can have."""
        return _capacity(self.names, depth - 1)

    def pair(self, count: int, depth: int) -> list[int]:
        """The leaves of each of two children."""
        most = self.below(depth)
        first = self.choices.between(max(1, count - most), min(count - 1, most))
        return [first, count - first]

    def shares(self, kind: _Kind, count: int, depth: int) -> list[int]:
        """The leaves of each child of a container that has any number of them."""
        found = []
        while count:
            largest = min(count, self.below(depth))
            found.append(1 if self.choices.below(3) < 2 else self.choices.between(1, largest))
            count -= found[-1]
        if depth > 1 and _can_be_empty(self.names) and self.choices.below(6) == 5:
            found.insert(self.choices.between(0, len(found)), 0)
        return found

    def child(self, count: int, depth: int) -> Tree:
        if count == 1 and (not depth or self.choices.below(3) < 2):
            return self.leaf()
        return self.tree(count, depth)
