"""Derivatives, measured in three ways that see different errors.

Knows plain NumPy only. What the three differ by, at the end of a chain of such matrices, is what
the chain may be off by: the truncation, and kinks that lie near.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapegrad._core.quiet import silence

Array = Any
Map = Callable[[Sequence[Array]], Array]  # arrays of one dtype, to an array

# Weights of the function's values at halves of the step around the point, and what they add to.
WAYS: tuple[tuple[dict[int, int], int], ...] = (
    ({-2: 1, -1: -8, 1: 8, 2: -1}, 6),  # both sides, near: the best
    ({-4: 1, -2: -8, 2: 8, 4: -1}, 12),  # both sides, twice as far
    ({0: -25, 1: 48, 2: -36, 3: 16, 4: -3}, 6),  # one side
)
PLACES = sorted({place for weights, _ in WAYS for place in weights})
# The same of second derivatives, at multiples of the step.
BENDS: tuple[tuple[dict[int, int], int], ...] = (
    ({-2: -1, -1: 16, 0: -30, 1: 16, 2: -1}, 12),
    ({-4: -1, -2: 16, 0: -30, 2: 16, 4: -1}, 48),
    ({0: 45, 1: -154, 2: 214, 3: -156, 4: 61, 5: -10}, 12),
)


def partials(function: Map, points: Sequence[Array], number: int) -> Array:
    """The derivative of all elements of the result by all of one point: (ways, out, in)."""
    wide = _widened(function, points)
    step = wide[number].dtype.type(np.finfo(wide[number].dtype).eps ** 0.2)
    flat = wide[number].reshape(-1)
    columns = [_column(function, wide, number, i, step) for i in range(flat.size)]
    size = np.size(function(wide))
    return np.stack(columns, axis=-1) if columns else np.zeros((len(WAYS), size, 0))


def _column(function: Map, points: Sequence[Array], number: int, i: int, step: Any) -> Array:
    scale = step * max(1.0, abs(points[number].reshape(-1)[i]))
    values = {}
    for place in PLACES:
        moved = [point.copy() for point in points]
        moved[number].reshape(-1)[i] += place * scale / 2
        with silence():
            values[place] = function(moved).reshape(-1)
    # Differences with the value in the middle first: they cancel before anything is scaled.
    return np.stack(
        [
            sum(weight * (values[place] - values[0]) for place, weight in weights.items())
            / (total * scale)
            for weights, total in WAYS
        ]
    ).astype(np.float64)


def _widened(function: Map, points: Sequence[Array]) -> list[Array]:
    """In longdouble, where the function computes in it: LAPACK, for one, does not."""
    wide = [point.astype(np.longdouble) for point in points]
    try:
        with silence():
            if function(wide).dtype == np.longdouble:
                return wide
    except Exception:  # noqa: BLE001, S110
        pass
    return [point.astype(np.float64) for point in points]


def bend(function: Callable[[Any], Any], kind: Any) -> tuple[Array, Array]:
    """The second derivative of a function of a number at 0: (ways, 1), and the values' size."""
    step = kind(np.finfo(kind).eps) ** kind(1 / 6)
    places = {place for weights, _ in BENDS for place in weights}
    values = {place: function(kind(place) * step) for place in places}
    ways = [
        sum(weight * (values[place] - values[0]) for place, weight in weights.items())
        / (total * step**2)
        for weights, total in BENDS
    ]
    size = max(abs(float(value)) for value in values.values())
    return np.array(ways, np.float64)[:, np.newaxis], np.array([size + abs(float(ways[0]))])
