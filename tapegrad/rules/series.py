"""Series in orthogonal polynomials and in powers: their values, by the recurrence of their basis.

A basis is given by `steps(k)`, the numbers (a, b, d) with P[k+1] = (a x + b) P[k] - d P[k-1].
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.polynomial import polynomial

from tapegrad._core.forms import composite
from tapegrad._core.types import Value
from tapegrad._numpy_versions import HAS_VALND, POLYNOMIALS_DISPATCH

Steps = Callable[[int], tuple[float, float, float]]


def powers(_k: int) -> tuple[float, float, float]:
    """The recurrence of 1, x, x**2, ..."""
    return 1.0, 0.0, 0.0


def next_of(steps: Steps, k: int, x: Value, now: Value, before: Value) -> Value:
    """`(a x + b) now - d before` with the k-th numbers of a recurrence."""
    a, b, d = steps(k)
    following = x * now if a == 1 else (a * x) * now
    if b:
        following = following + b * now
    return following - d * before if d else following


def evaluate(steps: Steps, x: Value, c: Value) -> Value:
    """The sum of c[k] P[k](x), by Clenshaw's recurrence from the last coefficient down."""
    after, total = 0, c[-1] + x * 0
    for k in range(len(c) - 2, -1, -1):
        a, b, _ = steps(k)
        _, _, d = steps(k + 1)
        following = c[k] + (x if a == 1 else a * x) * total
        if b:
            following = following + b * total
        if d:
            following = following - d * after
        after, total = total, following
    return total


def _series_of_powers(x: Value, c: Value, *, tensor: bool = True) -> Value:
    x, c = _numbers(x), np.atleast_1d(_numbers(c))
    return evaluate(powers, x, c.reshape(c.shape + (1,) * x.ndim) if tensor else c)


def _numbers(x: Value) -> Value:
    return x if hasattr(x, "shape") else np.asarray(x)


def _polygrid2d(x: Value, y: Value, c: Value) -> Value:
    return _series_of_powers(y, _series_of_powers(x, c))


def _polyvalnd(pts: Sequence[Value], c: Value) -> Value:
    first, *others = map(_numbers, pts)
    if any(x.shape != first.shape for x in others):
        names = ", ".join("xyz"[: len(others) + 1]) if len(others) in (1, 2) else "ordinates"
        raise ValueError(f"{names} are incompatible")
    total = _series_of_powers(first, c)
    for x in others:
        total = _series_of_powers(x, total, tensor=False)
    return total


if POLYNOMIALS_DISPATCH:
    composite(polynomial.polyval2d, lambda x, y, c: _polyvalnd((x, y), c), arrays=3)
    composite(polynomial.polygrid2d, _polygrid2d, arrays=3)
if HAS_VALND:
    composite(vars(polynomial)["polyvalnd"], _polyvalnd, arrays=2)
