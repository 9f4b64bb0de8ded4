"""Positions of the elements of a sparse array: arithmetic of constant integer arrays.

Must not know elements, nor SciPy.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

Coords = tuple[Any, ...]
Shape = tuple[int, ...]


def flat(coords: Coords, shape: Shape) -> Any:
    """The numbers of positions, counted along the last axis first."""
    found = np.zeros(coords[0].shape if coords else (), np.int64)
    for index, side in zip(coords, shape, strict=True):
        found = found * side + index
    return found


def unflat(places: Any, shape: Shape) -> Coords:
    """The positions of numbers: what `flat` undoes."""
    coords = []
    for side in reversed(shape):
        places, index = np.divmod(places, max(side, 1))
        coords.append(index)
    return tuple(reversed(coords))


def reshaped(shape: Shape, asked: Any) -> Shape:
    """A new shape, whose -1, if any, is computed."""
    sides = [int(side) for side in asked]
    size = math.prod(shape)
    if sides.count(-1) == 1:
        rest = math.prod(side for side in sides if side != -1)
        sides[sides.index(-1)] = size // rest if rest else 0
    if math.prod(sides) != size or min(sides, default=0) < 0:
        raise ValueError(f"cannot reshape array of size {size} into shape {tuple(asked)}")
    return tuple(sides)


def axes_of(axis: Any, ndim: int) -> tuple[int, ...]:
    """Axes as numbers from 0: an int, a tuple of them, or None for all."""
    if axis is None:
        return tuple(range(ndim))
    given = axis if isinstance(axis, tuple) else (axis,)
    if not all(isinstance(i, int | np.integer) for i in given):
        raise TypeError(f"axis must be an integer or a tuple of integers, got {axis!r}")
    if any(not -ndim <= i < ndim for i in given):
        raise ValueError(f"axis out of range: {axis}, of {ndim} axes")
    return tuple(sorted({int(i) % ndim for i in given}))


def repeated(coords: Coords, shape: Shape, target: Shape) -> Coords:
    """The positions after broadcasting, those of one element beside each other."""
    sides = (1,) * (len(target) - len(shape)) + shape
    first = np.zeros(coords[0].shape, np.int64)
    coords = (first,) * (len(target) - len(shape)) + coords
    copies = [new if old == 1 else 1 for old, new in zip(sides, target, strict=True)]
    steps = np.indices(copies).reshape(len(target), -1)
    return tuple((i[:, None] + s).ravel() for i, s in zip(coords, steps, strict=True))


def picked(index: Any, shape: Shape) -> tuple[Coords, Shape]:
    """The positions that an index of NumPy's picks, and the shape in which it does."""
    grid = [
        np.broadcast_to(np.arange(side).reshape((-1,) + (1,) * (len(shape) - 1 - i)), shape)[index]
        for i, side in enumerate(shape)
    ]
    return tuple(np.ravel(part) for part in grid), np.shape(grid[0])


def last_of_each(places: Any) -> Any:
    """Where the last of equal numbers stands."""
    _, found = np.unique(places[::-1], return_index=True)
    return len(places) - 1 - found


__all__ = [
    "Coords",
    "Shape",
    "axes_of",
    "flat",
    "last_of_each",
    "picked",
    "repeated",
    "reshaped",
    "unflat",
]
