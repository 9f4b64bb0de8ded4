"""Views of arrays, among them those that overlap themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tapegrad._core.types import Value
from tapegrad.testing._strategies.arrays import arrays
from tapegrad.testing._strategies.asking import asked_words, refuse
from tapegrad.testing._strategies.drawing import (
    Choices,
    Draw,
    drawn,
    is_strategy,
    noted,
    source_of,
)
from tapegrad.testing._strategies.drawing import strategy as strategy_of
from tapegrad.testing._strategies.shapes import shapes

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

OVERLAPPING = ("windows", "broadcast")
VIEWS = (
    "part",
    "reversed",
    "transposed",
    "strided",
    "reshaped",
    "newaxis",
    "diagonal",
    *OVERLAPPING,
)


class View(NamedTuple):
    """A view with the array whose memory it shows, drawn by `views`.

    Parameters
    ----------
    base : numpy.ndarray
        The array.
    view : numpy.ndarray
        The view.
    source : str
        The view as an expression of `base` and `np`.

    Examples
    --------
    >>> base = np.arange(3.0)
    >>> View(base, base[::-1], "base[::-1]").view
    array([2., 1., 0.])
    """

    base: Any
    view: Any
    source: str


# --- Each kind: the source of a view of `base`, or None where the base has none -----------------


def _slices(base: Value, choices: Choices, step: int) -> str:
    """One slice an axis, each of at least one element where there is one."""
    parts = []
    for side in base.shape:
        start = choices.below(min(side, 3)) if side > 1 else 0
        parts.append(f"{start or ''}:" + (f":{step}" if step != 1 else ""))
    return "base[" + ", ".join(parts) + "]"


def _part(base: Value, choices: Choices) -> str | None:
    if not base.ndim:
        return None
    axis = choices.below(base.ndim)
    before = ":, " * axis
    side = base.shape[axis]
    start = choices.between(0, min(1, side))
    stop = choices.between(0, side - start)
    return f"base[{before}{start}:{side - stop}]"


def _reversed(base: Value, choices: Choices) -> str | None:
    if not base.ndim:
        return None
    axis = choices.below(base.ndim)
    return f"base[{':, ' * axis}::-1]"


def _transposed(base: Value, choices: Choices) -> str | None:
    if base.ndim < 2:
        return None
    order = tuple(choices.ordered(range(base.ndim - 1, -1, -1)))
    return f"np.transpose(base, {order})"


def _strided(base: Value, choices: Choices) -> str | None:
    return _slices(base, choices, 2) if base.ndim else None


def _reshaped(base: Value, choices: Choices) -> str | None:
    if not base.flags.c_contiguous:
        return None
    return f"base.reshape({choices.among([(base.size,), (1, base.size), (*base.shape, 1)])})"


def _newaxis(base: Value, choices: Choices) -> str:
    return f"np.expand_dims(base, {choices.between(0, base.ndim)})"


def _diagonal(base: Value, choices: Choices) -> str | None:
    if base.ndim < 2:
        return None
    first, second = choices.ordered(range(base.ndim))[:2]
    return f"np.diagonal(base, {choices.between(0, 1)}, {first}, {second})"


def _windows(base: Value, choices: Choices) -> str | None:
    """Windows of two or more elements, of which neighbours share some."""
    long = [axis for axis, side in enumerate(base.shape) if side > 2]
    if not long or not base.size:
        return None
    axis = choices.among(long)
    width = choices.between(2, base.shape[axis] - 1)
    return f"np.lib.stride_tricks.sliding_window_view(base, {width}, {axis})"


def _broadcast(base: Value, choices: Choices) -> str:
    """Each element stands there twice or more: a side of 1 is repeated, or a new axis is."""
    one = [axis for axis, side in enumerate(base.shape) if side == 1]
    times = choices.between(2, 3)
    shape = list(base.shape)
    if one and not choices.flag():
        shape[choices.among(one)] = times
    else:
        shape.insert(0, times)
    return f"np.broadcast_to(base, {tuple(shape)})"


_MADE: dict[str, Callable[[Value, Choices], str | None]] = {
    "part": _part,
    "reversed": _reversed,
    "transposed": _transposed,
    "strided": _strided,
    "reshaped": _reshaped,
    "newaxis": _newaxis,
    "diagonal": _diagonal,
    "windows": _windows,
    "broadcast": _broadcast,
}


def views(
    values: Any = None, kinds: str | tuple[str, ...] = VIEWS
) -> SearchStrategy[tuple[Any, Any, str]]:
    """A strategy for views: named tuples `(base, view, source)`.

    NumPy's views are writeable where their base is, but for "diagonal", "windows" and "broadcast".

    Parameters
    ----------
    values : array or SearchStrategy of such, optional
        The array that the views show; `arrays` of one dimension or more by default.
    kinds : str or tuple of str, optional
        All of these by default: "part" (a slice), "reversed" (a negative stride), "transposed",
        "strided" (every second element), "reshaped", "newaxis", "diagonal", and those in which
        elements stand more than once: "windows" (sliding windows) and "broadcast". A kind that an
        array has no view of, such as the transpose of a vector, gives way to another one that was
        asked for, or to `base[...]` where there is none.

    Returns
    -------
    SearchStrategy of View
        `source` is the view as an expression of `base`: the same code, run on a traced base, makes
        a traced view.

    Raises
    ------
    InputError
        For other kinds.

    See Also
    --------
    overlapping_views : Views in which elements stand more than once.

    Examples
    --------
    >>> from hypothesis import given
    >>> @given(views(kinds="reversed"))
    ... def check(drawn):
    ...     base, view, source = drawn
    ...     assert view.base is not None and np.may_share_memory(base, view) or not view.size
    ...     assert np.array_equal(view, eval(source, {"np": np, "base": base}))
    >>> check()
    """
    return _views("views", values, kinds, VIEWS)


def overlapping_views(
    values: Any = None, kinds: str | tuple[str, ...] = OVERLAPPING
) -> SearchStrategy[tuple[Any, Any, str]]:
    """A strategy for views that overlap themselves: `(base, view, source)`, as those of `views`.

    Parameters
    ----------
    values : array or SearchStrategy of such, optional
        The array that the views show; `arrays` with sides of 3 or 4 by default.
    kinds : str or tuple of str, default ("windows", "broadcast")
        "windows" are sliding windows of two elements or more, which share all but one with their
        neighbours; "broadcast" has each element twice or more. Of windows, `values` has to have a
        side of three or more; where it has none, the view is a broadcast one if that is asked for.

    Returns
    -------
    SearchStrategy of View
        The views with their bases and sources.

    Raises
    ------
    InputError
        For other kinds, and for an array without elements or, where "windows" alone is asked for,
        without a side of three.

    Examples
    --------
    >>> from hypothesis import given
    >>> @given(overlapping_views(np.arange(4.0), kinds="windows"))
    ... def check(drawn):
    ...     base, view, source = drawn
    ...     assert view.size > base.size or view.shape == (2, 3)
    >>> check()
    """
    if values is None:
        values = arrays(shape=shapes(1, 2, 3, 4))
    return _views("overlapping_views", values, kinds, OVERLAPPING)


def _views(call: str, values: Any, kinds: Any, known: tuple[str, ...]) -> SearchStrategy[Any]:
    names = asked_words(call, "kinds", kinds, known)
    overlap = known is OVERLAPPING

    def checked(given: Any) -> Value:
        base = np.asarray(given)
        if overlap and (not base.size or names == ("windows",) and max(base.shape, default=0) < 3):
            refuse(call, "an array with elements, and for windows a side of 3", base, "Pass such")
        return base

    if values is None:
        values = arrays(shape=shapes(min_dims=1))
    if not is_strategy(values):
        values = checked(values)

    def make(draw: Draw) -> View:
        given = drawn(draw, values)
        base = checked(given)
        choices = Choices.drawn(draw, 6 + base.ndim)
        made = (_MADE[name](base, choices) for name in choices.ordered(names))
        source = next((text for text in made if text is not None), "base[...]")
        view = eval(source, {"np": np, "base": base})  # noqa: S307
        return noted_view(View(base, view, source), given)

    return strategy_of(call, make)


def noted_view(drawn_view: View, given: Any) -> View:
    """The named tuple; its source has the base once."""
    return noted(
        drawn_view,
        lambda: (
            f"(lambda base: (base, {drawn_view.source}, {drawn_view.source!r}))"
            f"({source_of(given)})"
        ),
    )
