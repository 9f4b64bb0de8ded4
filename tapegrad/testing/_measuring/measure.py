"""Derivatives along a line, measured: the slope, what it may be off by, and what lies there.

Knows functions of a number that return vectors of real numbers. Must not know transforms.

At each of several steps, each a sixteenth of the one before, a function is seen in seven
places around the point, and at every other step in two more. These give the slope by two formulas
of different order, the slopes of both sides, and the noise of the function (from differences of
high order, in which what is smooth cancels). A slope is known to what its formulas differ by, what
the noise does to it, and what the next step says differently. Nothing is assumed of the size of
the function or of its precision.
"""

from __future__ import annotations

import numpy as np

from tapegrad._core.quiet import silence
from tapegrad.testing._measuring.levels import Level, Path, Vector, level_at, seen_between
from tapegrad.testing._measuring.verdicts import Measured, judged, plainly_smooth

FIRST = 2.0**-5  # the first step: large enough for float16, small enough for most functions
RATIO = 16.0
LEVELS = 11
ENOUGH = 1e-9  # a slope that is known to so much of its size is known well enough


def measure(
    path: Path,
    precision: Vector,
    resolution: float,
    *,
    enough: float = ENOUGH,
    within: float = 1.0,
) -> Measured:
    """The slope of a path at 0, whose scale is 1: from 0 to 1 it may go a long way.

    precision: the spacing of numbers at 1 of each element's own dtype. resolution: that of the
    places on the path. within: how far from the point to look at most. A path gives NaN where the
    function cannot be called.
    """
    with silence():
        centre = path(0.0)
        levels: list[Level] = []
        found = None
        is_coarse = resolution > 1e-4  # as float16 is: few steps lie between its noise and 1
        first, ratio = (0.25, 4.0) if is_coarse else (FIRST, RATIO)
        for number in range(LEVELS):
            step = min(first, within / 4) / ratio**number
            if step < 16 * resolution and levels:
                break
            levels.append(level_at(path, centre, step))
            if number == 0 and np.all(levels[0].is_flat):
                break
            if number:
                if number % 2:  # of two in a row one, as noise is judged
                    levels[-1] = seen_between(path, centre, *levels[-2:])
                plain = plainly_smooth(centre, levels, precision, resolution, enough)
                if plain is not None:
                    return plain
                found, is_done = judged(centre, levels, precision, resolution, enough)
                if np.all(is_done):
                    break
        if found is None:
            found, _ = judged(centre, levels, precision, resolution, enough)
    return found
