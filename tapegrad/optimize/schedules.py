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

Schedule = Callable[[Value], float]


def constant(value: Value) -> Schedule:
    """The same rate at every step.

    Parameters
    ----------
    value : scalar
        The rate.

    Returns
    -------
    callable
        A function of the count of steps.

    Examples
    --------
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
    """A rate that goes from start to end on a line.

    Parameters
    ----------
    start, end : scalar
        The rate at step 0, and from the last of the steps on.
    steps : int
        In how many steps.

    Returns
    -------
    callable
        A function of the count of steps. It raises InputError if `steps` is less than 1.

    Examples
    --------
    >>> float(linear(1.0, 0.0, 4)(1))
    0.75
    """
    return polynomial(start, end, steps, power=1)


def polynomial(start: Value, end: Value, steps: int, power: float = 2) -> Schedule:
    """A rate that goes from start to end as `(1 - step / steps)**power`.

    Parameters
    ----------
    start, end : scalar
        The rate at step 0, and from the last of the steps on.
    steps : int
        In how many steps.
    power : float, default 2
        The power.

    Returns
    -------
    callable
        A function of the count of steps. It raises InputError if `steps` is less than 1.

    Examples
    --------
    >>> float(polynomial(1.0, 0.0, 4, power=2)(2))
    0.25
    """
    return lambda step: end + (start - end) * (1 - _share("polynomial", step, steps)) ** power


def cosine(start: Value, steps: int, end: Value = 0.0) -> Schedule:
    """A rate that goes from start to end along half a cosine.

    Parameters
    ----------
    start : scalar
        The rate at step 0.
    steps : int
        In how many steps.
    end : scalar, default 0.0
        The rate from the last of the steps on.

    Returns
    -------
    callable
        A function of the count of steps. It raises InputError if `steps` is less than 1.

    Notes
    -----
    I. Loshchilov, F. Hutter (2017), SGDR: stochastic gradient descent with warm restarts, ICLR.

    Examples
    --------
    >>> float(cosine(1.0, 4)(2).round(12))
    0.5
    """
    return lambda step: (
        end + (start - end) * (1 + np.cos(np.pi * _share("cosine", step, steps))) / 2
    )


def exponential(
    start: Value, rate: Value, steps: float = 1, *, staircase: bool = False, end: Value = None
) -> Schedule:
    """A rate of start * rate**(step / steps).

    Parameters
    ----------
    start : scalar
        The rate at step 0.
    rate : scalar
        What it is multiplied by every so many steps.
    steps : float, default 1
        In how many steps.
    staircase : bool, default False
        Whether to take whole powers alone.
    end : scalar, optional
        What the rate does not go beyond: the least for `rate` below 1, else the largest.

    Returns
    -------
    callable
        A function of the count of steps.

    Examples
    --------
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
    """A rate that is multiplied by a factor at each of some steps.

    Parameters
    ----------
    start : scalar
        The rate at step 0.
    factors : dict of int to float
        By the step from which on it holds, each factor.

    Returns
    -------
    callable
        A function of the count of steps.

    Examples
    --------
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
    """A rate that first rises on a line to a schedule's first one.

    Parameters
    ----------
    schedule : callable or float
        The schedule that follows, counted from its own step 0; or a constant rate.
    steps : int
        In how many steps the rate rises.
    start : scalar, default 0.0
        The rate at step 0.

    Returns
    -------
    callable
        A function of the count of steps. It raises InputError if `steps` is less than 1.

    Examples
    --------
    >>> [round(float(warmup(0.8, 4)(step)), 3) for step in (1, 2, 9)]
    [0.2, 0.4, 0.8]
    """
    after = schedule if callable(schedule) else constant(schedule)
    return joined([linear(start, after(0), steps), after], [steps])


def joined(schedules: Sequence[Schedule], boundaries: Sequence[int]) -> Schedule:
    """Several schedules one after another.

    Parameters
    ----------
    schedules : sequence of callable
        The schedules; each counts from the boundary at which it begins.
    boundaries : sequence of int
        The steps at which all but the first begin.

    Returns
    -------
    callable
        A function of the count of steps.

    Raises
    ------
    InputError
        If there is not one boundary less than schedules.

    Examples
    --------
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
        value: Value = schedules[0](step)
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
