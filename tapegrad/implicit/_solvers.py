"""Solvers of equations and of minimisation, for plain values: Newton's and Anderson's methods.

Each takes a function of a vector and where to start, and returns the last vector, good or bad: the
caller looks at the residual. They need NumPy alone.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from tapegrad._core.quiet import silence
from tapegrad._core.types import Value
from tapegrad._progress import SILENT, Bar

Step = Callable[[Any, Any], Any]  # (x, residual) -> the Newton step


def newton(
    residual: Callable[[Value], Any],
    step: Step,
    x: Any,
    *,
    most: int = 100,
    halvings: int = 30,
    bar: Bar = SILENT,
) -> Any:
    """Newton's method for residual(x) = 0, with steps halved until the residual falls.

    J. Dennis, R. Schnabel (1983), Numerical methods for unconstrained optimization, chapter 6.
    """
    left = residual(x)
    error = norm(left)
    for _ in range(most):
        if not error:
            break
        direction = step(x, left)
        length = 1.0
        for _ in range(halvings):
            there = x + length * direction
            with silence():
                left_there = residual(there)
            error_there = norm(left_there)
            if error_there <= (1 - 1e-4 * length) * error:
                break
            length /= 2
        else:
            break  # nothing is better than x, up to rounding
        x, left, error = there, left_there, error_there
        bar.step(residual=error)
    return x


def norm(x: Any) -> float:
    """The 2-norm, whose squares do not overflow; infinite if x is not finite."""
    largest = float(np.max(np.abs(x), initial=0.0))
    if not np.isfinite(largest):
        return np.inf
    return largest * float(np.linalg.norm(x / largest)) if largest else 0.0


def anderson(
    function: Callable[[Value], Any],
    x: Any,
    *,
    depth: int = 5,
    most: int = 1000,
    tol: float = 0.0,
    bar: Bar = SILENT,
) -> Any:
    """A fixed point by Anderson's acceleration; depth 0 is plain iteration.

    H. Walker, P. Ni (2011), Anderson acceleration for fixed-point iterations, SIAM J. Numer. Anal.
    49, equation (2.2). It ends where a step is below tol times x, or below 10 roundings.
    """
    tol = tol or 10 * float(np.finfo(x.dtype).eps)
    points: list[Any] = []
    changes: list[Any] = []
    for _ in bar.over(range(most)):
        image = function(x)
        change = image - x
        if not np.isfinite(change).all() or norm(change) <= tol * max(norm(x), norm(image)):
            return image
        points, changes = [*points[-depth:], image], [*changes[-depth:], change]
        if not depth or len(points) == 1:
            x = image
            continue
        steps = np.stack([b - a for a, b in pairwise(changes)], axis=1)
        moves = np.stack([b - a for a, b in pairwise(points)], axis=1)
        weights = np.linalg.lstsq(steps, change, rcond=None)[0]
        x = image - moves @ weights
    return x


def newton_minimum(
    function: Callable[[Value], Any],
    gradient: Callable[[Value], Any],
    hessian: Callable[[Value], Any],
    x: Any,
    *,
    most: int = 200,
    bar: Bar = SILENT,
) -> Any:
    """A minimum by Newton's method: the Hessian's eigenvalues made positive, Armijo steps.

    J. Nocedal, S. Wright (2006), Numerical optimization, section 3.4.
    """
    value = function(x)
    for _ in bar.over(range(most)):
        slope = gradient(x)
        matrix = hessian(x)
        if not (np.isfinite(slope).all() and np.isfinite(matrix).all()):
            break
        roots, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
        least = max(1e-8 * np.abs(roots).max(), np.finfo(x.dtype).tiny)
        direction = -vectors @ ((vectors.T @ slope) / np.maximum(np.abs(roots), least))
        fall = float(slope @ direction)
        flat = not -fall > 1e3 * np.finfo(x.dtype).eps * abs(value)
        if flat and roots[0] < -1e-6 * np.abs(roots).max():
            lower = _beside(function, vectors[:, 0], x, value)
            if lower is not None:  # x was a saddle or a maximum
                x, value = lower
                continue
        if not fall < 0:
            break
        if flat:
            # The value is flat up to rounding; the gradient still tells what is nearer.
            if not norm(gradient(x + direction)) < norm(slope):
                break
            x = x + direction
            value = function(x)
            continue
        length = 1.0
        for _ in range(40):
            there = x + length * direction
            with silence():
                value_there = function(there)
            if value_there <= value + 1e-4 * length * fall:
                break
            length /= 2
        else:
            break
        if np.array_equal(there, x):
            break
        x, value = there, value_there
    return x


def _beside(function: Callable[[Value], Any], way: Any, x: Any, value: Any) -> Any:
    """A lower point and its value along a direction of negative curvature, or None."""
    length = max(1.0, norm(x)) / 4
    for _ in range(12):
        for there in (x - length * way, x + length * way):
            with silence():
                value_there = function(there)
            if value_there < value:
                return there, value_there
        length /= 4
    return None


__all__ = ["anderson", "newton", "newton_minimum", "norm"]
