"""A function at its arguments, as the laws look at it: leaves, directions, and what was computed.

Knows how a function is called and differentiated, and counts its evaluations. What several laws
ask for is computed once. Must not know the laws.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tapegrad._core.forms import watching
from tapegrad._core.quiet import silence
from tapegrad._core.types import Tree, Value
from tapegrad._errors import describe, name_of
from tapegrad._transforms.forward import jvp
from tapegrad._transforms.inputs import as_input
from tapegrad._transforms.reverse import vjp
from tapegrad._tree import flatten, paths_of, unflatten
from tapegrad.testing._laws.exactly import by_complex_step, by_digits
from tapegrad.testing._measuring.directions import FlatFunction, direction, scale_of, scaled
from tapegrad.testing._measuring.leaves import inexact_leaves, moves
from tapegrad.testing._measuring.lines import measure_along
from tapegrad.testing._measuring.verdicts import Measured
from tapegrad.testing._promises import Promises


class Options(NamedTuple):
    """Options of a check."""

    kinks: str = "accept"
    differences: str = "auto"
    seed: int = 0
    rtol: float | None = None
    atol: float | None = None


class Trial:
    """A function at its arguments.

    Leaves of floating and complex dtypes move; others are constants. `leaves` are copies of those
    that move, which nobody writes to: a function is given copies of them.
    """

    def __init__(self, f: Callable[..., Any], args: Sequence[Tree], options: Options) -> None:
        self.f = f
        self.name = name_of(f)
        self.call = f"check({self.name})"
        self.options = options
        self.args = tuple(args)
        self.everything, self.structure = flatten(self.args)
        self.places = [i for i, leaf in enumerate(self.everything) if moves(leaf)]
        self.leaves = tuple(_copied(as_input(self.everything[i], self.call)) for i in self.places)
        self.names = _names(self.args)
        self.evaluations = 0
        self.notes: list[str] = []
        self.shared: dict[str, Any] = {}  # what laws compute for each other

    # -- calls -----------------------------------------------------------------------------------

    def tree(self, *leaves: Value) -> Tree:
        """Result of the function, as it returns it."""
        self.evaluations += 1
        return self.f(*self.arguments(leaves))

    def arguments(self, leaves: Sequence[Value]) -> tuple[Tree, ...]:
        """The arguments with other leaves."""
        replaced = list(self.everything)
        for place, leaf in zip(self.places, leaves, strict=True):
            replaced[place] = leaf
        found: tuple[Tree, ...] = unflatten(self.structure, replaced)
        return found

    def function(self, *leaves: Value) -> tuple[Value, ...]:
        """The floating and complex parts of the result."""
        return inexact_leaves(self.tree(*leaves))

    def copies(self) -> tuple[Value, ...]:
        return tuple(_copied(leaf) for leaf in self.leaves)

    def moved(self, leaves: Sequence[Value]) -> Trial:
        """The same function at other leaves."""
        other = Trial.__new__(Trial)
        for name in ("f", "name", "call", "options", "structure", "places", "names"):
            setattr(other, name, getattr(self, name))
        other.leaves = tuple(leaves)
        other.args = self.arguments(other.leaves)
        other.everything = flatten(other.args)[0]
        other.evaluations, other.notes, other.shared = 0, [], {}
        if "function" in self.__dict__:
            other.__dict__["function"] = self.__dict__["function"]
        return other

    def derived(self, function: FlatFunction, value: Sequence[Value]) -> Trial:
        """A derivative of the function at the same leaves, as if it were the function."""
        other = self.moved(self.leaves)
        other.__dict__["function"] = function
        other.__dict__["value"] = tuple(value)
        other.__dict__["dots"] = self.dots
        other.__dict__["promises"] = self.promises
        other.shared["promised"] = self.promised
        return other

    # -- what laws share -------------------------------------------------------------------------

    @functools.cached_property
    def value(self) -> tuple[Value, ...]:
        """The plain result."""
        return tuple(np.array(out)[()] for out in self.function(*self.copies()))

    def direction(self, number: int) -> list[Value]:
        """One of a row of random directions, in the size of each leaf; no element is 0."""
        random = np.random.default_rng([self.options.seed, number])
        dots = scaled([direction(random, leaf) for leaf in self.leaves], self.leaves)
        return self.promises.along(dots) if self.promised else dots

    def cotangents(self, number: int) -> tuple[Value, ...]:
        """One of a row of random cotangents of the result, each in the inverse size of its."""
        random = np.random.default_rng([self.options.seed, 1000 + number])
        return tuple(_typed(direction(random, out) / _size(out), out) for out in self.value)

    @functools.cached_property
    def dots(self) -> list[Value]:
        return self.direction(0)

    @functools.cached_property
    def bars(self) -> tuple[Value, ...]:
        return self.shared.get("bars") or self.cotangents(0)

    @functools.cached_property
    def promises(self) -> Promises:
        """The Hermitian matrices of the function, with respect to which it moves."""
        return Promises(self.function, self.leaves)

    @property
    def promised(self) -> bool:
        """Whether a rule of Hermitian matrices takes part; also where reverse mode fails: no."""
        if "promised" in self.shared:
            return bool(self.shared["promised"])
        try:
            return self.reverse[2]
        except Exception:  # noqa: BLE001 - the law of the gradient says so
            return False

    @functools.cached_property
    def reverse(self) -> tuple[tuple[Value, ...], Callable[..., Any], bool]:
        """The value under vjp, the pullback, and whether matrices are Hermitian by promise."""
        with watching() as seen:
            outs, pullback = vjp(self.function, *self.copies())
            pullback(self.cotangents(9))
        return outs, pullback, bool(seen)

    def pullback(self, bars: Sequence[Value]) -> tuple[Value, ...]:
        """The cotangents of the leaves."""
        return tuple(self.reverse[1](tuple(_copied(bar) for bar in bars)))

    @functools.cached_property
    def gradient(self) -> tuple[Value, ...]:
        """The cotangents of the leaves that `bars` make."""
        return self.pullback(self.bars)

    def push(self, dots: Sequence[Value]) -> tuple[tuple[Value, ...], tuple[Value, ...]]:
        """The value and the tangents, in forward mode."""
        outs, out_dots = jvp(self.function, self.copies(), tuple(map(_copied, dots)))
        return tuple(outs), tuple(out_dots)

    @functools.cached_property
    def forward(self) -> tuple[tuple[Value, ...], tuple[Value, ...]]:
        return self.push(self.dots)

    @functools.cached_property
    def measured(self) -> Measured:
        """The derivative along `dots`, as differences say."""
        return self.measure(self.dots)

    def measure(
        self,
        dots: Sequence[Value],
        leaves: Sequence[Value] | None = None,
        within: float = 1.0,
    ) -> Measured:
        """The derivative along a direction, here or at other leaves."""
        value = self.value if leaves is None else None
        how = self.options.differences
        widen = {"real": None, "longdouble": np.longdouble}.get(how, np.float64)
        at = leaves or self.leaves
        found = measure_along(self.function, at, dots, value=value, widen=widen, within=within)
        if how == "complex step":
            return by_complex_step(self.function, at, dots, found)
        return by_digits(self.tree, at, dots, found) if how == "mpmath" else found

    @functools.cached_property
    def sizes(self) -> list[float]:
        """How large each result is."""
        return [scale_of(out) if np.any(out) else 0.0 for out in self.value]

    @functools.cached_property
    def gradient_sizes(self) -> list[float]:
        """How large the cotangents would be of a function whose derivative is as large as it.

        Of a smaller derivative, as of a function that is constant because terms cancel, no more
        can be known than what rounding does to this.
        """
        whole = sum(
            float(np.max(np.abs(bar), initial=0.0)) * size
            for bar, size in zip(self.bars, self.sizes, strict=True)
        )
        return [whole / scale_of(leaf) for leaf in self.leaves]

    @property
    def pairing_size(self) -> float:
        """How large Re<g, jvp(t)> is if nothing cancels in it."""
        pairs = zip(self.gradient_sizes, self.leaves, strict=True)
        return sum((size * scale_of(leaf) for size, leaf in pairs), 0.0)

    @functools.cached_property
    def coarseness(self) -> float:
        """The spacing of numbers at 1 in which the function seems to compute: from its noise."""
        return coarseness_of(self.measured)

    def noted(self, note: str) -> None:
        if note not in self.notes:
            self.notes.append(note)


def coarseness_of(found: Measured) -> float:
    """The spacing of numbers at 1 in which a measured function seems to compute."""
    with silence():
        relative = found.noise / (np.abs(found.value) + np.abs(found.slope))
    return float(np.max(relative, initial=0.0, where=np.isfinite(relative)))


def _copied(leaf: Value) -> Value:
    """A copy in the same memory order; scalars are their own."""
    return np.array(leaf, order="K") if isinstance(leaf, np.ndarray) else leaf


def _typed(value: Value, like: Value) -> Value:
    """A scalar where the other is one, and of its dtype."""
    value = value.astype(like.dtype)
    return value if isinstance(like, np.ndarray) else value[()]


def _size(out: Value) -> Value:
    """The scale of a result, within what its dtype can hold the inverse of with room to spare."""
    most = float(np.finfo(out.dtype).max) ** 0.125
    return np.clip(scale_of(out), 1 / most, most)


def _names(args: Sequence[Tree]) -> list[str]:
    """How messages name the leaves that move."""
    names = []
    for position, arg in enumerate(args):
        for leaf, path in zip(flatten(arg)[0], paths_of(arg), strict=True):
            if moves(leaf):
                inner = f" at {path}" if path else ""
                names.append(f"argument {position}{inner} ({describe(np.asarray(leaf))})")
    return names


__all__ = ["FlatFunction", "Options", "Trial", "coarseness_of"]
