"""Indices that are valid for a shape: basic, integer arrays, booleans, and mixtures of them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.testing._strategies.asking import Shape, asked_shape, asked_words, refuse
from tapegrad.testing._strategies.drawing import Choices, Draw, drawn, is_strategy, noted
from tapegrad.testing._strategies.drawing import strategy as strategy_of
from tapegrad.testing._strategies.source import array_source

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

INDICES = ("basic", "fancy", "boolean", "mixed")
_PARTS = ("array", "basic", "basic")  # of a mixed index
_STEPS = (None, 1, -1, 2, -2, 3, -3)


def indices(
    of: Any,
    kinds: str | tuple[str, ...] = INDICES,
    *,
    newaxis: bool = True,
    ellipsis: bool = True,
    negative: bool = True,
    negative_steps: bool = True,
    repeats: bool = True,
    empty: bool = True,
) -> SearchStrategy[Any]:
    """A strategy for indices of an array: `x[index]` is valid for every one of them.

    Indices of fewer axes than the array has are among them, and `()`; so are slices with bounds
    past the ends, which NumPy takes.

    Parameters
    ----------
    of : tuple of int, array or SearchStrategy of such
        A shape, or an array.
    kinds : str or tuple of str, optional
        All of these by default. "basic": integers, slices, None, Ellipsis, tuples of
        them. "fancy": arrays and lists of integers, which broadcast. "boolean": one array of
        booleans over the first axes. "mixed": tuples of all of these, in any order.
    newaxis, ellipsis : bool, default True
        Whether None and Ellipsis are among them.
    negative : bool, default True
        Whether positions from the end are.
    negative_steps : bool, default True
        Whether slices with negative steps are.
    repeats : bool, default True
        Whether the same position may stand twice in an array of integers.
    empty : bool, default True
        Whether arrays of no position and slices of none are among them. An array without positions
        is drawn all the same where the axis has none.

    Returns
    -------
    SearchStrategy of index
        Integers, slices, None, Ellipsis, arrays, lists, and tuples of them.

    Raises
    ------
    InputError
        For other kinds, and an option that is no bool.

    Examples
    --------
    >>> from hypothesis import given
    >>> x = np.arange(24.0).reshape(2, 3, 4)
    >>> @given(indices(x))
    ... def check(index):
    ...     x[index]
    >>> check()
    """
    names = asked_words("indices", "kinds", kinds, INDICES)
    options = {
        "newaxis": newaxis,
        "ellipsis": ellipsis,
        "negative": negative,
        "negative_steps": negative_steps,
        "repeats": repeats,
        "empty": empty,
    }
    for name, value in options.items():
        if not isinstance(value, bool):
            refuse("indices", f"True or False for {name}", repr(value), "Pass one of them")
    if not is_strategy(of):
        of = _shape_of(of)

    def make(draw: Draw) -> Any:
        shape = _shape_of(drawn(draw, of))
        choices = Choices.drawn(draw, 12 + 14 * len(shape))
        index = Indexing(choices, shape, options).of_kind(choices.among(names))
        return noted(index, lambda: index_source(index)) if _is_own(index) else index

    return strategy_of("indices", make)


def _shape_of(given: Any) -> Shape:
    """The shape of an array; an integer is a side, also if it is NumPy's."""
    if isinstance(given, (np.ndarray, np.generic)) and not isinstance(given, np.integer):
        return tuple(given.shape)
    return asked_shape("indices", given)


def _is_own(index: Any) -> bool:
    """Whether no other value of the example can be this object: `()` and Ellipsis are single."""
    kinds = (tuple, list, np.ndarray, slice)
    return isinstance(index, kinds) and not (isinstance(index, tuple) and not index)


class Indexing:
    """One index while it is drawn."""

    def __init__(self, choices: Choices, shape: Shape, options: dict[str, bool]) -> None:
        self.choices = choices
        self.shape = shape
        self.options = options

    def of_kind(self, kind: str) -> Any:
        if kind == "boolean":
            return self.mask(self.shape[: self.choices.between(0, len(self.shape))])
        if kind == "fancy":
            return self.fancy()
        parts = self.basic() if kind == "basic" else self.mixed()
        alone = len(parts) == 1 and not self.choices.flag()
        return parts[0] if alone else tuple(parts)

    # --- Parts: each consumes axes of the shape ------------------------------------------------

    def backward(self) -> bool:
        return self.options["negative"] and self.choices.flag()

    def position(self, side: int) -> int:
        return (-side if self.backward() else 0) + self.choices.below(side)

    def slice(self, side: int) -> slice:
        step = self.choices.among(_STEPS if self.options["negative_steps"] else (None, 1, 2, 3))
        low = -side - 1 if self.options["negative"] else 0
        start, stop = (
            None if not self.choices.flag() else self.choices.between(low, side + 1)
            for _ in range(2)
        )
        found = slice(start, stop, step)
        none = not range(*found.indices(side))
        return slice(None, None, step) if none and side and not self.options["empty"] else found

    def basic_part(self, side: int) -> Any:
        if side and not self.choices.flag():
            found = self.position(side)
            return np.int64(found) if self.choices.below(8) == 7 else found
        return self.slice(side)

    def newaxes(self) -> list[None]:
        if not self.options["newaxis"]:
            return []
        return [None] * (self.choices.below(8) // 6)

    def sides(self, least: int = 0) -> list[Any]:
        """The sides that parts are drawn for: the first ones, and behind an Ellipsis the last."""
        count = self.choices.between(least, len(self.shape))
        if not self.options["ellipsis"] or self.choices.below(3) < 2:
            return list(self.shape[:count])
        before = self.choices.between(0, count)
        behind = self.shape[len(self.shape) - (count - before) :]
        return [*self.shape[:before], ..., *behind]

    def basic(self) -> list[Any]:
        parts: list[Any] = []
        for side in self.sides():
            parts += [*self.newaxes(), ... if side is ... else self.basic_part(side)]
        return parts + self.newaxes()

    def mask(self, shape: Shape) -> Any:
        flags = [self.choices.flag() for _ in range(min(math.prod(shape), 64))]
        found = np.resize(np.array(flags or [False], bool), shape)
        if not self.options["empty"] and found.size and not found.any():
            found[(0,) * found.ndim] = True
        return found

    def integers(self, side: int, shape: Shape) -> Any:
        """Positions of an axis; in no shape can there be any of an axis without elements."""
        size = math.prod(shape)
        if self.options["repeats"]:
            found = [self.position(side) for _ in range(size)]
        else:
            free = self.choices.ordered(range(side))[:size]
            found = [
                p - side if self.options["negative"] and self.choices.flag() else p for p in free
            ]
        return np.array(found, np.intp).reshape(shape)

    def fancy_shape(self, sides: list[int]) -> Shape:
        """The shape to which the arrays of one index broadcast."""
        if 0 in sides:
            return (0,)
        dims, most = self.choices.between(1, 2), 3
        if not self.options["repeats"]:
            dims, most = 1, min(sides)
        least = 0 if self.options["empty"] else 1
        found = [self.choices.below(most + 1 - least) + 1 for _ in range(dims)]
        return tuple(side if side <= most else 0 for side in found)

    def fancy(self) -> Any:
        if not self.shape:
            return ()
        sides = list(self.shape[: self.choices.between(1, len(self.shape))])
        shape = self.fancy_shape(sides)
        parts = [self.integers(side, self.narrowed(shape)) for side in sides]
        if len(parts) > 1:
            return tuple(parts)
        as_list = parts[0].size and parts[0].ndim == 1 and self.choices.flag()
        return parts[0].tolist() if as_list else parts[0]

    def narrowed(self, shape: Shape) -> Shape:
        """A shape that broadcasts to another one."""
        if not self.options["repeats"] or 0 in shape or self.choices.below(3) < 2:
            return shape
        return tuple(1 if self.choices.flag() else side for side in shape)

    def mixed(self) -> list[Any]:
        """Slices, integers and new axes, among which arrays stand that broadcast."""
        if not self.shape:
            return [*self.newaxes(), self.mask(())]
        used = self.sides(least=1)
        kinds = ["..." if side is ... else self.choices.among(_PARTS) for side in used]
        places = [i for i, side in enumerate(used) if side is not ...]
        kinds[self.choices.among(places)] = "array"
        sides = [side for side, kind in zip(used, kinds, strict=True) if kind == "array"]
        shape = None
        if len(sides) > 1 or not self.choices.flag():
            shape = self.fancy_shape(sides)
        found: list[Any] = []
        for side, kind in zip(used, kinds, strict=True):
            found += [*self.newaxes(), self.mixed_part(side, kind, shape)]
        return found

    def mixed_part(self, side: Any, kind: str, shape: Shape | None) -> Any:
        """Where `shape` is None, the array is one of booleans."""
        if kind == "...":
            return ...
        if kind == "basic":
            return self.basic_part(side)
        return self.mask((side,)) if shape is None else self.integers(side, self.narrowed(shape))


def index_source(index: Any) -> str:
    """An index as Python source."""
    if isinstance(index, tuple):
        inner = ", ".join(map(index_source, index))
        return f"({inner},)" if len(index) == 1 else f"({inner})"
    if index is Ellipsis:
        return "..."
    if isinstance(index, (np.ndarray, np.generic)):
        return array_source(index)
    return repr(index)
