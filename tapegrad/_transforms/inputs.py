"""The arguments that a transform differentiates: their selection, leaves, and results like them.

Knows pytrees, and the meaning of argnums and argnames. Must not know tapes beyond the traced
value, or how a function is run.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from tapegrad._core.entry import Spec, spec_of
from tapegrad._core.fit import zeros_of
from tapegrad._core.operands import elements_of, follows_numpy, name_of_kind
from tapegrad._core.types import Cotangent, Function, Tree, Value
from tapegrad._core.values import (
    Mapped,
    Traced,
    cast,
    is_array,
    is_inexact,
    is_ndarray,
    is_recorded_array,
    is_scalar,
    snapshot,
    strong,
)
from tapegrad._errors import (
    InputError,
    describe,
    message,
)
from tapegrad._tree import LEAF, flatten, path_of, unflatten

Argnums = int | Sequence[int] | None


def as_input(leaf: Value, call: str) -> Value:
    """A leaf as a value that can be differentiated: Python numbers become NumPy scalars."""
    found = _converted(leaf)
    if found is None:
        raise _refusal(leaf, call)
    return found


def _converted(leaf: Value) -> Any:
    """The same, or None for a leaf that cannot be differentiated."""
    kind = type(leaf)
    if kind is np.ndarray or isinstance(leaf, Traced):
        return leaf if leaf.dtype.kind in "fc" else None
    leaf = strong(leaf)
    return leaf if is_inexact(leaf) and follows_numpy(type(leaf)) else None


def _refusal(leaf: Value, call: str, where: str = "") -> InputError:
    """The error of a leaf that cannot be differentiated; `where` is its place in a container."""
    kind = type(leaf)
    if is_array(leaf) and not follows_numpy(kind):
        got = f"a {name_of_kind(kind)}{where}"
        advice = f"Pass {elements_of(kind)}"
        return InputError(message(call, "arrays that are only their elements", got, advice))
    return InputError(
        message(call, "floating or complex inputs", describe(leaf) + where, _advice(leaf, where))
    )


STATIC = (
    "A value that is not differentiated goes into an argument of its own (argnums), or into a "
    'static field of a dataclass: field(metadata={"static": True})'
)


def _advice(leaf: Value, where: str) -> str:
    """Advice about a leaf that cannot be differentiated."""
    kind = type(leaf)
    if hasattr(leaf, "to_numpy"):
        return "Pass its values: x.to_numpy()"
    if is_array(leaf) or isinstance(leaf, numbers.Number):
        floats = "Pass floats (x.astype(float), or 3.0 for 3)"
        if where:
            return f"{floats}. {STATIC}"
        return f"{floats}, or leave this argument out of argnums"
    if kind.__module__ not in ("builtins", "functools", "numpy"):  # an object with attributes
        return (
            f"Make {kind.__name__} a dataclass, or a container with "
            f"tapegrad.register_pytree({kind.__name__}, flatten, unflatten)"
        )
    return STATIC


def as_cotangent(bar: Cotangent, leaf: Value) -> Cotangent:
    """A finished cotangent: with its input's shape, dtype and kind, and memory of its own."""
    if bar is None:
        bar = zeros_of(spec_of(leaf) if isinstance(leaf, Traced) else leaf)
        return _of_kind(bar, leaf) if isinstance(leaf, (Traced, Mapped)) else bar
    if type(bar) is np.ndarray is type(leaf) and bar.dtype is leaf.dtype:
        return bar if bar.base is None and bar.flags.writeable else bar.copy()
    if type(bar) is np.float64 is type(leaf):
        return bar
    if isinstance(bar, Traced):
        # Another object at the same slot: a write to one gradient must not change another.
        return _of_kind(snapshot(bar), leaf)
    if bar.dtype != leaf.dtype:
        bar = cast(bar, leaf.dtype)
    if isinstance(bar, Mapped):
        return _of_kind(bar, leaf)
    if is_scalar(leaf):
        return bar[()] if is_ndarray(bar) else bar
    if issubclass(type(bar), np.generic):
        return np.asarray(bar)
    if type(bar) is not np.ndarray:
        return bar
    if not isinstance(leaf, (np.ndarray, Spec, Traced, Mapped)):
        return np.asarray(bar, like=leaf)  # another library's array
    return bar.copy() if bar.base is not None or not bar.flags.writeable else bar


def _of_kind(bar: Cotangent, leaf: Value) -> Cotangent:
    """A cotangent without dimensions as a number where its input is one, else as an array.

    So the gradient of a 0-d array can be written to in a trace, too, and has views.
    """
    if bar.shape or is_scalar(bar) == is_scalar(leaf):
        return bar
    return bar[()] if is_scalar(leaf) else np.copy(bar)


def _argnums_error(call: str, got: Any) -> InputError:
    advice = "Pass positions like 0 or (0, 1)"
    if is_array(got):
        advice += "; the arguments of the function come in a second call, grad(f)(x)"
    return InputError(message(call, "argnums of integers", describe(got), advice))


def _check_argnums(call: str, argnums: Any) -> None:
    """Raise InputError for argnums that are not integers, such as the arguments themselves."""
    numbers_alone = not is_array(argnums) or argnums.dtype.kind in "iu"
    if not numbers_alone or not isinstance(argnums, (np.integer, Iterable)):
        raise _argnums_error(call, argnums)


class Selection:
    """The arguments that a transform differentiates, by argnums and argnames, checked once."""

    __slots__ = ("argnames", "argnums", "call", "first", "known", "names", "single")

    def __init__(
        self, call: str, argnums: Argnums, argnames: str | Sequence[str] | None = None
    ) -> None:
        if argnums is None:
            argnums = 0 if argnames is None else ()
        if not isinstance(argnums, (int, tuple)):
            _check_argnums(call, argnums)
        self.call = call
        self.single = isinstance(argnums, (int, np.integer)) and argnames is None
        self.argnums: tuple[Any, ...] = (
            (argnums,) if isinstance(argnums, (int, np.integer)) else tuple(argnums)
        )
        self.argnames = argnames
        single_name = isinstance(argnames, str) or not isinstance(argnames or (), Iterable)
        self.names: tuple[Any, ...] = (argnames,) if single_name else tuple(argnames or ())
        self.first = not self.names and self.argnums == (0,)  # the frequent case
        self.known: dict[int, Sequence[int]] = {}  # positions, by the count of arguments
        for index in self.argnums:
            if not isinstance(index, (int, np.integer)) or isinstance(index, bool):
                raise _argnums_error(call, index)
        for name in self.names:
            if not isinstance(name, str):
                raise InputError(
                    message(call, "argnames of strings", describe(name), "Pass names of keywords")
                )

    @classmethod
    def of_all(cls, call: str, count: int) -> Selection:
        """All of so many positional arguments."""
        made = cls.__new__(cls)
        made.call = call
        made.single = False
        made.argnums = positions = tuple(range(count))
        made.argnames, made.names = None, ()
        made.first = count == 1
        made.known = {count: positions}
        return made

    def positions(self, count: int) -> Sequence[int]:
        """The selected positions among `count` positional arguments."""
        found = self.known.get(count)
        if found is None:
            found = self.known[count] = self._positions(count)
        return found

    def _positions(self, count: int) -> list[int]:
        if self.argnums and not count:
            raise InputError(
                message(
                    self.call,
                    "positional arguments, which argnums counts",
                    "none",
                    "Pass the argument by position, or name it in argnames",
                )
            )
        for index in self.argnums:
            if not -count <= index < count:
                raise InputError(
                    message(
                        self.call,
                        f"argnums within the {count} positional arguments",
                        str(index),
                        "Pass that argument by position, or name it in argnames",
                    )
                )
        positions = [int(index) % count for index in self.argnums]
        if len(set(positions)) < len(positions):
            raise InputError(
                message(
                    self.call, "each argument once", f"argnums {self.argnums}", "Drop the repeat"
                )
            )
        return positions


_FIRST = (0,)


_FLOAT64 = np.dtype(np.float64)


class Inputs:
    """The differentiated leaves of a call, and how to replace them by others."""

    __slots__ = ("alone", "args", "kwargs", "leaves", "positions", "selection", "structures")

    def __init__(
        self, selection: Selection, args: tuple[Tree, ...], kwargs: dict[str, Any]
    ) -> None:
        self.selection = selection
        self.args, self.kwargs = args, kwargs
        if selection.first and args:
            self.positions: Sequence[int] = _FIRST
            leaves, structure = flatten(args[0])
            self.structures = [structure]
            self.alone = structure is LEAF  # the first argument is the only one, no container
        else:
            self.alone = False
            leaves = self._select()
        self.leaves = leaves
        for i, leaf in enumerate(leaves):
            kind = type(leaf)
            if kind is float:
                leaves[i] = np.float64(leaf)
            elif kind is not np.ndarray or leaf.dtype is not _FLOAT64:
                found = _converted(leaf)
                if found is None:
                    raise _refusal(leaf, selection.call, self._where(i))
                leaves[i] = found

    def _select(self) -> list[Any]:
        """The leaves of any selection; sets its positions and structures."""
        selection, args, kwargs = self.selection, self.args, self.kwargs
        self.positions = selection.positions(len(args))
        for name in selection.names:
            if name not in kwargs:
                raise InputError(
                    message(
                        selection.call,
                        f"the keyword argument {name!r} (argnames)",
                        f"keywords {sorted(kwargs)}",
                        f"Pass {name}=... by keyword",
                    )
                )
        found: list[Any] = []
        self.structures = []
        for tree in self._selected():
            leaves, structure = flatten(tree)
            found += leaves
            self.structures.append(structure)
        return found

    def _where(self, position: int) -> str:
        """Where a leaf stands, if an argument holds it in a container."""
        named = [*self.positions, *map(repr, self.selection.names)]
        for argument, tree in zip(named, self._selected(), strict=True):
            count = len(flatten(tree)[0])
            if position < count:
                path = path_of(tree, position)
                return f" at {path} of argument {argument}" if path else ""
            position -= count
        raise AssertionError("no such leaf")

    def _selected(self) -> list[Any]:
        return [self.args[i] for i in self.positions] + [
            self.kwargs[name] for name in self.selection.names
        ]

    def call(self, function: Function, leaves: list[Value]) -> Any:
        """Call `function` with other leaves in place of the differentiated ones."""
        if self.alone:
            return function(leaves[0], *self.args[1:], **self.kwargs)
        trees = self.trees(leaves)
        if self.positions is _FIRST:
            return function(trees[0], *self.args[1:], **self.kwargs)
        args, kwargs = list(self.args), self.kwargs
        for index, tree in zip(self.positions, trees, strict=False):
            args[index] = tree
        if self.selection.names:
            named = trees[len(self.positions) :]
            kwargs = {**kwargs, **dict(zip(self.selection.names, named, strict=True))}
        return function(*args, **kwargs)

    def result(self, bars: list[Cotangent], given: Sequence[Any] = ()) -> Any:
        """Finished cotangents in the containers that argnums and argnames ask for.

        No two of them are one array, and none is one of the `given` arrays.
        """
        if self.alone:
            bar = as_cotangent(bars[0], self.leaves[0])
            for other in given:
                if bar is other:
                    bar = own_copy(bar)
            return bar if self.selection.single else (bar,)
        finished = []
        taken = {id(bar) for bar in given}
        for bar, leaf in zip(bars, self.leaves, strict=True):
            bar = as_cotangent(bar, leaf)
            if id(bar) in taken:
                bar = own_copy(bar)
            taken.add(id(bar))
            finished.append(bar)
        trees = self.trees(finished)
        selection = self.selection
        if selection.single:
            return trees[0]
        by_position = tuple(trees[: len(self.positions)])
        if not selection.names:
            return by_position
        rest = trees[len(self.positions) :]
        one = isinstance(selection.argnames, str)
        by_name = rest[0] if one else dict(zip(selection.names, rest, strict=True))
        return (by_position, by_name) if by_position else by_name

    def trees(self, leaves: list[Value]) -> list[Any]:
        """Leaves in the containers of the arguments, one tree per argument."""
        structures = self.structures
        if len(structures) == 1:
            structure = structures[0]
            return leaves if structure is LEAF else [unflatten(structure, leaves)]
        rest = iter(leaves)
        return [
            next(rest) if structure is LEAF else unflatten(structure, rest)
            for structure in structures
        ]


def own_copy(leaf: Value) -> Any:
    """A copy of a leaf, which shares no memory and no object with the values of a replay."""
    if type(leaf) is np.ndarray or is_recorded_array(leaf) and not leaf.flags.c_contiguous:
        return leaf.copy()
    return snapshot(leaf)
