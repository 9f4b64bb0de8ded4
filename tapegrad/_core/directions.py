"""Derivatives along directions, for rules whose cotangent is 0/0.

Knows where the entries lie by which one value depends on another. Must not know which rules ask.
"""

from __future__ import annotations

import numpy as np

from tapegrad._core.careful import replay_forward_carefully
from tapegrad._core.entry import spec_of
from tapegrad._core.fit import zeros_of
from tapegrad._core.replay import live_steps
from tapegrad._core.types import Tangent, Value
from tapegrad._core.values import Traced, is_mapped


def derivatives_along(value: Value, source: Value, directions: list[Tangent]) -> list[Tangent]:
    """The derivatives of `value` along directions of the traced `source` that it depends on.

    There is one tangent per direction. A rule whose cotangent is 0/0 takes the limit with them,
    because the cotangent is a function of the values that the program went on to compute with.
    That needs a traced replay, which a rule declared `singular` gets. Without one (in forward
    mode) the result is NaN: the derivative is unknown, not zero.
    """
    if is_mapped(value):  # the derivatives of each example
        mapped = is_mapped(source)
        inner = source._value if mapped else source
        ways = [value.vmap_level.front(way) for way in directions] if mapped else directions
        changes = derivatives_along(value._value, inner, ways)
        return [value.vmap_level.wrap(change) for change in changes]
    nothing = zeros_of(spec_of(value))
    known = isinstance(source, Traced)
    if not isinstance(value, Traced):
        constant = known or not np.any(value)
        return [nothing if constant else nothing + np.nan for _ in directions]
    tape = value.tape
    if not known or tape.root is not source.tape.root:
        return [nothing + np.nan for _ in directions]
    start, end = source.slot, value.slot
    steps = live_steps(tape.between(start, end), (start,), (end,))
    changes = []
    for way in directions:
        dots = {start: way}
        replay_forward_carefully(steps, dots, {start: np.ones(source.shape)}, tape)
        changes.append(dots.get(end, nothing))
    return changes


__all__ = ["derivatives_along"]
