"""Learning rates as functions of the count of steps, from zero on.

Each function here makes one: a function of a count that returns a number. They are plain NumPy
code, so they may be compiled, mapped and differentiated, by their own numbers too.

>>> from tapegrad.optimize import schedules
>>> rate = schedules.warmup(schedules.cosine(1.0, 100), 10)
>>> [round(float(rate(step)), 3) for step in (0, 5, 10, 60, 110)]
[0.0, 0.5, 1.0, 0.5, 0.0]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapegrad._core.types import Value
from tapegrad._errors import InputError, message

Schedule = Callable[[Value], Any]


def constant(value: Value) -> Schedule:
    """The same rate at every step.

    >>> constant(0.1)(7)
    0.1
    """
    return lambda _step: value


def _share(call: str, step: Value, steps: int) -> Any:
    """How much of so many steps is done, at most 1."""
    if steps < 1:
        raise InputError(
            message(f"schedules.{call}", "at least one step", str(steps), "Pass steps=1 or more")
        )
    return np.minimum(step, steps) / steps


def linear(start: Value, end: Value, steps: int) -> Schedule:
    """From start to end in so many steps, on a line.

    >>> float(linear(1.0, 0.0, 4)(1))
    0.75
    """
    return polynomial(start, end, steps, power=1)


def polynomial(start: Value, end: Value, steps: int, power: float = 2) -> Schedule:
    """From start to end in so many steps, as `(1 - step / steps)**power`.

    >>> float(polynomial(1.0, 0.0, 4, power=2)(2))
    0.25
    """
    return lambda step: end + (start - end) * (1 - _share("polynomial", step, steps)) ** power


def cosine(start: Value, steps: int, end: Value = 0.0) -> Schedule:
    """From start to end in so many steps, along half a cosine (Loshchilov, Hutter 2017).

    >>> float(cosine(1.0, 4)(2).round(12))
    0.5
    """
    return lambda step: (
        end + (start - end) * (1 + np.cos(np.pi * _share("cosine", step, steps))) / 2
    )


def exponential(
    start: Value, rate: Value, steps: float = 1, *, staircase: bool = False, end: Value = None
) -> Schedule:
    """start * rate**(step / steps); whole powers alone with staircase; not beyond end.

    >>> float(exponential(1.0, 0.5, 10, staircase=True)(19))
    0.5
    """

    def at(step: Value) -> Any:
        power = step / steps
        value = start * rate ** (np.floor(power) if staircase else power)
        if end is None:
            return value
        return np.maximum(value, end) if rate < 1 else np.minimum(value, end)

    return at


def piecewise(start: Value, factors: dict[int, float]) -> Schedule:
    """start, times each factor from its step on.

    >>> float(piecewise(1.0, {10: 0.1, 20: 0.5})(15))
    0.1
    """

    def at(step: Value) -> Any:
        value = start
        for boundary, factor in sorted(factors.items()):
            value = value * np.where(step >= boundary, factor, 1.0)
        return value

    return at


def warmup(schedule: Schedule | float, steps: int, start: Value = 0.0) -> Schedule:
    """From start to the schedule's first rate in so many steps, on a line; then the schedule.

    >>> [round(float(warmup(0.8, 4)(step)), 3) for step in (1, 2, 9)]
    [0.2, 0.4, 0.8]
    """
    after = schedule if callable(schedule) else constant(schedule)
    return joined([linear(start, after(0), steps), after], [steps])


def joined(schedules: Sequence[Schedule], boundaries: Sequence[int]) -> Schedule:
    """Several schedules one after another; each counts from the boundary at which it begins.

    >>> float(joined([constant(1.0), linear(1.0, 0.0, 4)], [10])(12))
    0.5
    """
    if len(boundaries) != len(schedules) - 1:
        raise InputError(
            message(
                "schedules.joined",
                f"{len(schedules) - 1} boundaries between {len(schedules)} schedules",
                str(len(boundaries)),
                "Pass the step at which each but the first begins",
            )
        )

    def at(step: Value) -> Any:
        value = schedules[0](step)
        for boundary, schedule in zip(boundaries, schedules[1:], strict=True):
            later = schedule(np.maximum(step - boundary, 0))
            value = np.where(step >= boundary, later, value)
        return value

    return at


__all__ = [
    "Schedule",
    "constant",
    "cosine",
    "exponential",
    "joined",
    "linear",
    "piecewise",
    "polynomial",
    "warmup",
]
