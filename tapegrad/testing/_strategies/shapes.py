"""Shapes, shapes that broadcast, and axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.testing._strategies.asking import (
    Shape,
    asked_between,
    asked_count,
    asked_shape,
    asked_words,
    refuse,
)
from tapegrad.testing._strategies.drawing import Choices, Draw, drawn, hypothesis, is_strategy
from tapegrad.testing._strategies.drawing import strategy as strategy_of

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

AXES = ("one", "none", "several")


def shapes(
    min_dims: int = 0, max_dims: int = 3, min_side: int = 0, max_side: int = 3
) -> SearchStrategy[tuple[int, ...]]:
    """A strategy for shapes: 0-d, sides of 1 and empty arrays among them.

    Parameters
    ----------
    min_dims, max_dims : int, default 0 and 3
        The fewest and the most dimensions.
    min_side, max_side : int, default 0 and 3
        The least and the largest side.

    Returns
    -------
    SearchStrategy of tuple of int
        The shapes.

    Raises
    ------
    InputError
        If bounds are not integers of 0 or more, in order.
    ImportError
        If Hypothesis is missing; it names the extra to install.

    Examples
    --------
    >>> from hypothesis import given
    >>> @given(shapes(min_dims=1, max_dims=2))
    ... def check(shape):
    ...     assert 1 <= len(shape) <= 2
    >>> check()
    """
    asked_between("shapes", "min_dims", min_dims, "max_dims", max_dims)
    asked_between("shapes", "min_side", min_side, "max_side", max_side)
    found: SearchStrategy[tuple[int, ...]] = hypothesis().extra.numpy.array_shapes(
        min_dims=min_dims, max_dims=max_dims, min_side=min_side, max_side=max_side
    )
    return found


def square_shapes(
    min_side: int = 1, max_side: int = 3, max_stack: int = 1
) -> SearchStrategy[tuple[int, ...]]:
    """A strategy for shapes of square matrices, (..., n, n).

    Parameters
    ----------
    min_side, max_side : int, default 1 and 3
        The least and the largest n.
    max_stack : int, default 1
        The most sides in front; each is 1 or 2.

    Returns
    -------
    SearchStrategy of tuple of int
        The shapes.

    Raises
    ------
    InputError
        If bounds are not integers of 0 or more, in order.

    Examples
    --------
    >>> from hypothesis import given
    >>> @given(square_shapes(max_stack=0))
    ... def check(shape):
    ...     assert shape in ((1, 1), (2, 2), (3, 3))
    >>> check()
    """
    asked_between("square_shapes", "min_side", min_side, "max_side", max_side)
    asked_count("square_shapes", "max_stack", max_stack)

    def make(draw: Draw) -> Shape:
        choices = Choices.drawn(draw, 2 + max_stack)
        stack = [choices.between(1, 2) for _ in range(choices.between(0, max_stack))]
        side = choices.between(min_side, max_side)
        return (*stack, side, side)

    return strategy_of("square_shapes", make)


# --- Broadcasting -------------------------------------------------------------------------------


def _narrower(choices: Choices, shape: Shape) -> Shape:
    """A shape that broadcasts to another: sides left away in front, others of 1 instead."""
    kept = shape[choices.between(0, len(shape)) :]
    return tuple(1 if choices.flag() else side for side in kept)


def broadcastable_shapes(
    count: int = 2, min_dims: int = 0, max_dims: int = 3, min_side: int = 0, max_side: int = 3
) -> SearchStrategy[tuple[tuple[int, ...], ...]]:
    """A strategy for tuples of shapes that broadcast with each other.

    The bounds hold for each shape; sides of 1 that broadcast are among them whatever `min_side`
    is. Often no single one of them is the shape of the result.

    Parameters
    ----------
    count : int, default 2
        How many shapes a tuple has, 1 or more.
    min_dims, max_dims : int, default 0 and 3
        The fewest and the most dimensions.
    min_side, max_side : int, default 0 and 3
        The least and the largest side.

    Returns
    -------
    SearchStrategy of tuple of tuple of int
        The shapes.

    Raises
    ------
    InputError
        If bounds are not integers of 0 or more, in order, or `count` is not 1 or more.

    Examples
    --------
    >>> from hypothesis import given
    >>> @given(broadcastable_shapes(3))
    ... def check(shapes):
    ...     np.broadcast_shapes(*shapes)
    >>> check()
    """
    asked_count("broadcastable_shapes", "count", count, 1)
    asked_between("broadcastable_shapes", "min_dims", min_dims, "max_dims", max_dims)
    asked_between("broadcastable_shapes", "min_side", min_side, "max_side", max_side)

    def make(draw: Draw) -> tuple[Shape, ...]:
        choices = Choices.drawn(draw, (count + 1) * (max_dims + 1))
        result = [choices.between(min_side, max_side) for _ in range(max_dims)]
        found = []
        for _ in range(count):
            dims = choices.between(min_dims, max_dims)
            sides = result[max_dims - dims :]
            found.append(tuple(1 if choices.flag() else side for side in sides))
        return tuple(found)

    return strategy_of("broadcastable_shapes", make)


def shapes_broadcasting_to(shape: Any) -> SearchStrategy[tuple[int, ...]]:
    """A strategy for shapes that broadcast to another one.

    Parameters
    ----------
    shape : tuple of int or SearchStrategy of such
        What they broadcast to.

    Returns
    -------
    SearchStrategy of tuple of int
        The shapes.

    Raises
    ------
    InputError
        If `shape` is no shape.

    See Also
    --------
    shapes_broadcast_from : Shapes to which one broadcasts.

    Examples
    --------
    >>> from hypothesis import given
    >>> @given(shapes_broadcasting_to((2, 3)))
    ... def check(shape):
    ...     assert np.broadcast_shapes(shape, (2, 3)) == (2, 3)
    >>> check()
    """
    if not is_strategy(shape):
        shape = asked_shape("shapes_broadcasting_to", shape)

    def make(draw: Draw) -> Shape:
        wide = asked_shape("shapes_broadcasting_to", drawn(draw, shape))
        return _narrower(Choices.drawn(draw, 1 + len(wide)), wide)

    return strategy_of("shapes_broadcasting_to", make)


def shapes_broadcast_from(
    shape: Any, max_dims: int | None = None, max_side: int = 3
) -> SearchStrategy[tuple[int, ...]]:
    """A strategy for shapes to which another one broadcasts.

    Parameters
    ----------
    shape : tuple of int or SearchStrategy of such
        What broadcasts to them.
    max_dims : int, optional
        The most dimensions; one more than `shape` has, if left away.
    max_side : int, default 3
        The largest side where `shape` has a side of 1 or none; the least is 0, or 1 if `max_side`
        is 0.

    Returns
    -------
    SearchStrategy of tuple of int
        The shapes.

    Raises
    ------
    InputError
        If `shape` is no shape, or has more than `max_dims` dimensions.

    See Also
    --------
    shapes_broadcasting_to : Shapes that broadcast to one.

    Examples
    --------
    >>> from hypothesis import given
    >>> @given(shapes_broadcast_from((1, 3)))
    ... def check(shape):
    ...     assert np.broadcast_shapes(shape, (1, 3)) == shape
    >>> check()
    """
    call = "shapes_broadcast_from"
    asked_count(call, "max_side", max_side, 0)
    if max_dims is not None:
        asked_count(call, "max_dims", max_dims)

    def checked(shape: Any) -> Shape:
        narrow = asked_shape(call, shape)
        if max_dims is not None and len(narrow) > max_dims:
            refuse(
                call, f"a shape of at most {max_dims} dimensions", str(narrow), "Raise max_dims"
            )
        return narrow

    if not is_strategy(shape):
        shape = checked(shape)

    def make(draw: Draw) -> Shape:
        narrow = checked(drawn(draw, shape))
        most = len(narrow) + 1 if max_dims is None else max_dims
        choices = Choices.drawn(draw, 1 + most)
        lead = most - len(narrow)
        sides = [1] * choices.between(0, lead) + list(narrow)
        return tuple(_wider(choices, max_side) if side == 1 else side for side in sides)

    return strategy_of(call, make)


def _wider(choices: Choices, max_side: int) -> int:
    """1 is the simplest, then 2, 3, ..., and 0 last."""
    return (choices.below(max_side + 1) + 1) % (max_side + 1) if max_side else 0


# --- Axes ---------------------------------------------------------------------------------------


def _ndim_of(call: str, given: Any) -> int:
    """The number of dimensions that an integer, a shape or an array means."""
    if isinstance(given, (int, np.integer)):
        return asked_count(call, "a number of dimensions", given)
    if isinstance(given, (np.ndarray, np.generic)):
        return int(given.ndim)
    return len(asked_shape(call, given))


def axes(
    of: Any, kinds: str | tuple[str, ...] = AXES, *, negative: bool = True
) -> SearchStrategy[int | tuple[int, ...] | None]:
    """A strategy for axes of an array: what `axis=` of reductions takes.

    Parameters
    ----------
    of : int, tuple of int, array or SearchStrategy of such
        A number of dimensions, a shape, or an array.
    kinds : str or tuple of str, default ("one", "none", "several")
        "one" is an integer, "none" None, "several" a tuple of 0 or more distinct axes, in any
        order. A 0-d array has no single axis: None or () come instead, as far as they are asked
        for.
    negative : bool, default True
        Whether axes that count from the end are among them.

    Returns
    -------
    SearchStrategy of int, tuple of int or None
        The axes.

    Raises
    ------
    InputError
        If `of` or `kinds` are none of these, or a 0-d array is asked for "one" alone.

    Examples
    --------
    >>> from hypothesis import given
    >>> @given(axes((2, 3)))
    ... def check(axis):
    ...     np.sum(np.ones((2, 3)), axis=axis)
    >>> check()
    """
    names = asked_words("axes", "kinds", kinds, AXES)

    def checked(given: Any) -> int:
        ndim = _ndim_of("axes", given)
        if not ndim and names == ("one",):
            refuse("axes", "at least one dimension", "none", 'Allow for kinds "none" or "several"')
        return ndim

    if not is_strategy(of):
        of = checked(of)

    def make(draw: Draw) -> int | tuple[int, ...] | None:
        ndim = checked(drawn(draw, of))
        choices = Choices.drawn(draw, 2 + 2 * ndim)
        kind = choices.among([name for name in names if ndim or name != "one"])
        if kind == "none":
            return None
        if kind == "one":
            axis = choices.below(ndim)
            return axis - ndim if negative and choices.flag() else axis
        chosen = choices.ordered(range(ndim))[: choices.between(0, ndim)]
        return tuple(axis - ndim if negative and choices.flag() else axis for axis in chosen)

    return strategy_of("axes", make)


def permutations(of: Any, *, negative: bool = False) -> SearchStrategy[tuple[int, ...]]:
    """A strategy for orders of all axes: what `np.transpose` takes.

    Parameters
    ----------
    of : int, tuple of int, array or SearchStrategy of such
        A number of dimensions, a shape, or an array.
    negative : bool, default False
        Whether axes that count from the end are among them.

    Returns
    -------
    SearchStrategy of tuple of int
        The orders.

    Raises
    ------
    InputError
        If `of` is none of these.

    Examples
    --------
    >>> from hypothesis import given
    >>> @given(permutations((2, 3, 4)))
    ... def check(order):
    ...     np.transpose(np.ones((2, 3, 4)), order)
    >>> check()
    """
    if not is_strategy(of):
        of = _ndim_of("permutations", of)

    def make(draw: Draw) -> tuple[int, ...]:
        ndim = _ndim_of("permutations", drawn(draw, of))
        choices = Choices.drawn(draw, 2 * ndim)
        order = choices.ordered(range(ndim))
        return tuple(axis - ndim if negative and choices.flag() else axis for axis in order)

    return strategy_of("permutations", make)
