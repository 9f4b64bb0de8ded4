"""Whether a call has a derivative where it was made: a kink has none, though a line may be smooth.

Knows one call and measurements along lines. Must not know who asks, nor any derivative.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad._core.types import Value
from tapegrad._tree import unflatten
from tapegrad.testing._blame.redone import Redone
from tapegrad.testing._measuring.directions import FlatFunction, direction, scale_of, scaled
from tapegrad.testing._measuring.leaves import inexact_leaves
from tapegrad.testing._measuring.lines import measure_along
from tapegrad.testing._measuring.verdicts import JUMP, KINK, SMOOTH

BESIDE = 2.0**-9  # how far away points nearby are, of the size of each leaf


def beside(random: np.random.Generator, leaf: Value) -> Value:
    """A leaf of a point nearby."""
    change = direction(random, leaf) * np.asarray(BESIDE * scale_of(leaf), leaf.real.dtype)
    moved = np.asarray(leaf + change).astype(leaf.dtype)
    return moved if isinstance(leaf, np.ndarray) else moved[()]


def is_at_kink(redone: Redone, random: np.random.Generator) -> bool:
    """Whether a call has a kink or a jump where it was made, in any element."""
    return _is_kink(*apart(redone), random)


def apart(redone: Redone) -> tuple[FlatFunction, list[Any]]:
    """A call as a function of each of its arguments, also where two of them are the same array.

    np.copysign(x, x) is smooth, and np.copysign is not at (0, 0).
    """
    places = sorted(redone.variable_of)
    if redone.levels or redone.written or len(places) == len(redone.variables):
        return redone, redone.leaves

    def call(*leaves: Value) -> tuple[Value, ...]:
        given = [value for value, _ in redone.constants]
        for place, leaf in zip(places, leaves, strict=True):
            given[place] = leaf
        args, kwargs = unflatten(redone.structure, given)
        return inexact_leaves(redone.apply(args, kwargs))

    return call, [redone.constants[place][0] for place in places]


def _is_kink(function: FlatFunction, leaves: list[Any], random: np.random.Generator) -> bool:
    """Whether slopes of both sides differ along a line, or do not add up along two."""
    if not leaves:
        return False
    for _ in range(2):
        whole = scaled([direction(random, leaf) for leaf in leaves], leaves)
        part = [np.where(random.random(np.shape(dot)) < 0.5, 0, dot)[()] for dot in whole]
        part = [one.astype(dot.dtype) for one, dot in zip(part, whole, strict=True)]
        rest = [dot - one for dot, one in zip(whole, part, strict=True)]
        found = [measure_along(function, leaves, dots) for dots in (whole, part, rest)]
        if any(np.any(np.isin(each.verdict, (KINK, JUMP))) for each in found):
            return True
        a, b, c = found
        is_known = (a.verdict == SMOOTH) & (b.verdict == SMOOTH) & (c.verdict == SMOOTH)
        gap = np.abs(a.slope - b.slope - c.slope)
        size = np.abs(a.slope) + np.abs(b.slope) + np.abs(c.slope)
        if np.any(is_known & (gap > 4 * (a.error + b.error + c.error) + 1e-3 * size)):
            return True
    return False
