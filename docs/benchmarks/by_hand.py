"""Common code of the programs by hand: their inputs, and how they are named.

Knows how the inputs of object_programs are drawn. Must not know the programs.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
from object_programs import Numbers

Gradients = Callable[[], tuple[Any, list[Any]]]
ByHand = Callable[[bool], Gradients]

BY_HAND: dict[str, ByHand] = {}

clip = np._core.umath.clip  # the ufunc: np.clip takes several times as long with small arrays


def by_hand(function: ByHand) -> ByHand:
    """Add a program under the name that it has in `object_programs.PROGRAMS`."""
    BY_HAND[function.__name__.replace("_", "-")] = function
    return function


class Arrays(Numbers):
    """The numbers of `object_programs.Numbers`, in the same order, as arrays."""

    def __init__(self) -> None:
        super().__init__(SimpleNamespace(tensor=np.asarray))

    def leaf(self, *shape: int, scale: float = 1.0) -> Any:
        """An array, whose gradient is asked for."""
        return self.constant(*shape, scale=scale)

    def parameters(self, *shapes: tuple[int, ...]) -> list[Any]:
        """Draws of `set_parameters` for a module whose parameters have these shapes."""
        return [self.constant(*shape, scale=0.1) for shape in shapes]


def number(value: float) -> Any:
    """A float32 of no dimensions: ufuncs take it in half the time of a Python float."""
    return np.array(value, np.float32)


def ones(*shape: int) -> Any:
    """Ones in float32: a product with them is the fastest sum."""
    return np.ones(shape, np.float32)


ZERO, BELOW, ABOVE = number(0), number(-np.inf), number(np.inf)


def rectify(x: Any) -> None:
    """ReLU in place: with bounds it is faster than a maximum with a number."""
    clip(x, ZERO, ABOVE, x)


def added_rows(count: int, places: Any, rows: Any, each: int = 1) -> Any:
    """Zeros (count, columns) to which rows are added at places, which may repeat.

    Each row is for so many places. The places are sorted by how often they occur. So one round
    adds a row to each that has a first one, the next one to those that have a second one, which
    are the first ones in memory. With long rows that takes a third of np.add.at's time.
    """
    counts = np.bincount(places, None, count)
    order = places.argsort()
    if each > 1:
        order //= each
    chosen = (-counts).argsort()
    falling, firsts = counts[chosen], (counts.cumsum() - counts)[chosen]
    ends = count - falling[::-1].searchsorted(np.arange(1, falling[0] + 1))
    total = rows.take(order[firsts[: ends[0]]], 0)
    for k, end in enumerate(ends[1:].tolist(), 1):
        total[:end] += rows.take(order[firsts[:end] + k], 0)
    made = np.zeros((count, rows.shape[1]), np.float32)
    made[chosen[: ends[0]]] = total
    return made
