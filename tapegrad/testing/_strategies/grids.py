"""Distinct short decimals between two bounds, the simplest first: the elements of `arrays`.

Knows plain NumPy only. An element is a multiple of a step of 1, 2 or 5 times a power of ten, plus
some thousandths of that step which the phase and the multiple decide. It is a short decimal
(0.37195), no round number, and no element of a grid of another phase, or of another step: those
have other thousandths, another last digit, or another number of digits.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tapegrad._core.quiet import errstate
from tapegrad._core.types import Value

# Thousandths of a step: none ends in a digit that divides 10, none is close to 0 or 1000.
_PARTS = np.array([part for part in range(100, 900) if part % 10 in (1, 3, 7, 9)])
# The phase decides a part, to which every point adds up to so many of its own: on a grid of equal
# steps the sums and means of elements would be equal far more often than by chance.
_OWN = 100

# Where an element goes whose place is taken, as shares of the grid. With these, the best of 1,500
# tries, the simplest matrices of up to four rows, which Hypothesis draws first, have condition
# numbers below 10.
_JUMPS = (0.988, 0.85, 0.248, 0.88, 0.086, 0.591, 0.926, 0.539, 0.716, 0.334, 0.831, 0.693, 0.281)


class Field(NamedTuple):
    """Where elements may lie. `kinks`: no element is closer to one of these than `margin`."""

    low: float
    high: float
    phase: float = 0.5
    kinks: tuple[float, ...] = ()
    margin: float = 0.0

    def room(self) -> float:
        """The length that the kinks leave of the interval."""
        length, end = 0.0, self.low
        for kink in sorted(self.kinks):
            length += max(0.0, min(kink - self.margin, self.high) - end)
            end = max(end, kink + self.margin)
        return length + max(0.0, self.high - end)


@functools.lru_cache(maxsize=4096)
def grid(field: Field, dtype: np.dtype[Any], size: int) -> Value:
    """At least `size` distinct numbers of a real dtype, the simplest first.

    Fewer, if the dtype has no more of them there.
    """
    count = max(64, 1 << size.bit_length())
    found = np.zeros(0, dtype)
    exponent = 3 * math.log10(max(field.room(), 1e-300) / (count + 2 * len(field.kinks) + 1))
    for finer in range(3):
        values = _kept(_points(field, math.floor(exponent) - finer), field, dtype)
        if len(values) > len(found):
            found = values
        if len(found) >= count:
            break
    found = _ordered(found, field)
    found.setflags(write=False)
    return found


def _points(field: Field, third: int) -> Value:
    """All points of the grid whose step is the third-th of 1, 2, 5, 10, 20, 50, ..."""
    digit, power = (1, 2, 5)[third % 3], third // 3
    step = digit * 10.0**power
    first, last = field.low / step - 1, field.high / step + 1
    if max(abs(first), abs(last)) > 1e12:  # bounds that are closer together than decimals are
        return np.linspace(field.low, field.high, 3 * int(last - first) + 2)[1:-1]
    steps = np.arange(math.floor(first), math.ceil(last) + 1)
    own = (steps % 9973) ** 3 % 9973 % _OWN  # irregular, and the same for each phase
    part = _PARTS[round(field.phase * (len(_PARTS) - _OWN - 1)) + own]
    scaled = (1000 * steps + part) * digit
    if power >= 2:
        return scaled * 10.0 ** (power - 3) + 0.37
    # Divided by a power of ten that is exact, the result is the float of the short decimal.
    return scaled / 10.0 ** (3 - power) if power > -300 else scaled * 10.0 ** (power - 3)


def _kept(points: Value, field: Field, dtype: np.dtype[Any]) -> Value:
    """Those that are within the field after rounding to the dtype."""
    with errstate(over="ignore"):
        rounded = np.unique(points.astype(dtype))
    wide = rounded.astype(np.promote_types(dtype, np.float64))
    inside = (wide >= field.low) & (wide <= field.high) & np.isfinite(wide) & (wide != 0)
    for kink in field.kinks:
        inside &= np.abs(wide - kink) >= field.margin
    return rounded[inside]


def _ordered(values: Value, field: Field) -> Value:
    """By magnitude, the positive ones first; each phase begins at another of the first ten."""
    found = []
    for part in (values[values > 0], values[values < 0][::-1]):
        start = min(3 + int(9 * field.phase), len(part) - 1)
        found.append(part[np.argsort(np.abs(np.arange(len(part)) - start - 0.25), kind="stable")])
    return np.concatenate(found)


def places(raw: bytes, count: int) -> list[int]:
    """A place below `count` for each byte, no place twice. There must be as many as bytes."""
    taken = bytearray(count)
    found = []
    for code in raw:
        place = code * count >> 8
        if taken[place]:
            place = _next(taken, place)
        taken[place] = 1
        found.append(place)
    return found


def _next(taken: bytearray, place: int) -> int:
    for jump in _JUMPS:
        other = int(place + jump * len(taken)) % len(taken)
        if not taken[other]:
            return other
    after = taken.find(0, place)
    return after if after >= 0 else taken.find(0)


def spread(raw: Sequence[int], count: int) -> Value:
    """A place below `count` for each byte, any of them many times."""
    return np.frombuffer(bytes(raw), np.uint8).astype(np.intp) * count >> 8
