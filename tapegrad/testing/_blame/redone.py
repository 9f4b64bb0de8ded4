"""A call that a program made, as a plain function of the arrays on which a derivative depends.

Knows what stands for an array in a trace, and how it is taken apart: a value of a vmap into its
examples. Must not know how calls are watched, nor derivatives.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from tapegrad._arrays.masked import MaskedElements
from tapegrad._core.types import Value
from tapegrad._core.values import Mapped, Traced, is_numpy
from tapegrad._tree import flatten, paths_of, unflatten
from tapegrad.testing._measuring.leaves import inexact_leaves

Apply = Callable[[tuple[Any, ...], dict[str, Any]], Any]

MOST_EXAMPLES = 8  # of a vmap that are looked at


class OpaqueError(Exception):
    """A call that cannot be made again by itself."""


def unwrapped(value: Any) -> tuple[Any, tuple[Any, ...], bool]:
    """A value without tracing or batching, the levels of its axes, whether it is traced."""
    levels, traced = [], False
    while True:
        if isinstance(value, Traced):
            traced, value = True, value._value
        elif isinstance(value, Mapped):
            levels.append(value.vmap_level)
            value = value._value
        else:
            return value, tuple(reversed(levels)), traced


def is_followed(value: Any) -> bool:
    """Whether a derivative may depend on a value: whether it is traced at any level."""
    while isinstance(value, Mapped):
        value = value._value
    return isinstance(value, Traced)


class Redone:
    """One call, with the values that it was given: `redone(*leaves)` makes it again.

    `leaves` are the arrays that were traced, each once, of each example of a vmap; `names` say
    where they are in the call. The results are its floating results, and after them what it has
    written into.
    """

    def __init__(self, apply: Apply, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.apply = apply
        self.around: Callable[[], AbstractContextManager[None]] = nullcontext  # each call
        given, self.structure = flatten((args, kwargs))
        self.given = given
        self.variable_of: dict[int, int] = {}  # by position among the leaves of the call
        self.variables: list[Any] = []  # the traced values, as they were given
        self.constants: list[tuple[Any, tuple[Any, ...]]] = []
        self.written: list[int] = []  # variables that the call has written into
        self._values: list[tuple[Any, tuple[Any, ...]]] = []
        paths = list(paths_of((args, kwargs)))
        places: list[list[str]] = []
        seen: dict[Any, int] = {}
        for at, leaf in enumerate(given):
            if isinstance(leaf, MaskedElements):
                raise OpaqueError
            raw, levels, traced = unwrapped(leaf)
            raw = copied(raw)
            self.constants.append((raw, levels))
            if not traced:
                continue
            if not is_numpy(raw) or raw.dtype.kind not in "fc":
                raise OpaqueError
            key = _identity(leaf)
            if key not in seen:
                seen[key] = len(self.variables)
                self.variables.append(leaf)
                self._values.append((raw, levels))
                places.append([])
            self.variable_of[at] = seen[key]
            places[seen[key]].append(argument_at(paths[at]))
        self._take_examples(places)

    def _take_examples(self, places: list[list[str]]) -> None:
        levels = {level for _, levels in self.constants for level in levels}
        self.levels = sorted(levels, key=lambda level: level.level)
        every = list(itertools.product(*(range(level.size) for level in self.levels)))
        if len(every) > MOST_EXAMPLES:
            every = [every[i * len(every) // MOST_EXAMPLES] for i in range(MOST_EXAMPLES)]
        self.examples = every
        self.leaves: list[Any] = []
        self.names: list[str] = []
        for example in every:
            where = f" of example {', '.join(map(str, example))}" if example else ""
            for (value, own), named in zip(self._values, places, strict=True):
                self.leaves.append(self._example(value, own, example))
                self.names.append(f"argument {' and '.join(named)}{where}")

    def _example(self, value: Any, own: tuple[Any, ...], example: tuple[int, ...]) -> Any:
        if not own:
            return value
        by_level = dict(zip(self.levels, example, strict=True))
        return copied(value[tuple(by_level[level] for level in own)])

    def __call__(self, *leaves: Value) -> tuple[Value, ...]:
        outs: list[Any] = []
        count = len(self.variables)
        for n, example in enumerate(self.examples):
            given = [
                _as_given(leaf, self.leaves[n * count + at], writes=at in self.written)
                for at, leaf in enumerate(leaves[n * count : (n + 1) * count])
            ]
            filled = [
                given[self.variable_of[at]]
                if at in self.variable_of
                else self._example(value, own, example)
                for at, (value, own) in enumerate(self.constants)
            ]
            args, kwargs = unflatten(self.structure, filled)
            with self.around():
                result = self.apply(args, kwargs)
            outs += self.results(result, given)
        return tuple(outs)

    def results(self, result: Any, variables: Sequence[Any]) -> list[Any]:
        """The floating results of a call, and what it has written into."""
        return [*inexact_leaves(result), *(variables[at] for at in self.written)]


def copied(leaf: Any) -> Any:
    """A copy of a plain array, laid out in memory as it is, and read-only where it is."""
    if type(leaf) is not np.ndarray:
        return leaf
    copy = laid_out(leaf, leaf)
    copy.flags.writeable = leaf.flags.writeable
    return copy


def laid_out(values: Any, like: Any) -> Any:
    """A copy of an array in memory laid out as another's: strided, reversed, with overlaps.

    Where the values differ in what the other has at one place of memory, they are laid out apart.
    """
    dense = values.copy(order="K")
    strides = like.strides
    if dense.strides == strides or not values.size or values.dtype != like.dtype:
        return dense
    ends = [(n - 1) * stride for n, stride in zip(values.shape, strides, strict=True)]
    before = -sum(end for end in ends if end < 0)
    extent = before + sum(end for end in ends if end > 0) + values.itemsize
    if extent > 16 * values.nbytes:
        return dense  # few numbers far apart
    spread: Any = np.ndarray(values.shape, values.dtype, bytearray(extent), before, strides)
    spread[...] = values
    return spread if np.array_equal(spread, values, equal_nan=True) else dense


def _as_given(leaf: Any, like: Any, *, writes: bool) -> Any:
    """A leaf, plain or traced, laid out as what the call was given: transforms copy their inputs.

    A call that writes gets a copy of its own.
    """
    if isinstance(leaf, Traced):
        value = leaf._value
        made = _as_given(value, like, writes=writes)
        return leaf if made is value else leaf.tape.wrap(made, leaf.slot)
    if type(leaf) is not np.ndarray or type(like) is not np.ndarray or leaf.shape != like.shape:
        return leaf
    kept = like.flags.writeable or writes
    same = leaf.strides == like.strides and leaf.flags.writeable == kept
    if same and not writes:
        return leaf
    made = laid_out(leaf, like)
    made.flags.writeable = kept
    return made


def _identity(leaf: Any) -> Any:
    """The same for two objects that are one value of the program."""
    if isinstance(leaf, Traced):
        slot = leaf.slot
        return ("slot", id(leaf.tape.root), slot if isinstance(slot, int) else id(slot))
    return ("object", id(leaf))


def argument_at(path: str) -> str:
    """`[0][1]` of (args, kwargs) as 1; `[1]['where']` as 'where'; what is inside stays behind."""
    rest = path[3:]
    end = rest.find("]")
    return rest[1:end] + rest[end + 1 :]


__all__ = [
    "OpaqueError",
    "Redone",
    "argument_at",
    "copied",
    "is_followed",
    "laid_out",
    "unwrapped",
]
