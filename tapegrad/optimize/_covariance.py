"""The covariance of parameters where something is least, of its exact curvature.

Bounds and constraints that hold there are taken as known: the covariance lies in the directions
that they leave free, and its curvature is that of the Lagrangian. Knows functions of a vector.
Must not know methods.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np

from tapegrad._core.quiet import errstate
from tapegrad._core.types import Function, Value
from tapegrad._transforms.jacobians import hessian, jacobian
from tapegrad.implicit._unknowns import as_vector
from tapegrad.optimize._constraints import Constraint
from tapegrad.optimize._objective import Objective


class Curvature(NamedTuple):
    """Ingredients of a covariance.

    matrix: the Hessian, or what stands for it. scale: what the inverse is multiplied by. free:
    which parameters stand at no bound. normals: a row for each constraint that holds, or None.
    """

    matrix: Any
    scale: float
    free: Any
    normals: Any = None


def covariance_of(curvature: Curvature) -> Any:
    """The covariance; infinities, with SciPy's OptimizeWarning, where there is none.

    That is where the curvature is not positive in each free direction: it is singular there, or
    the point is no minimum.
    """
    from scipy.optimize import OptimizeWarning

    matrix, scale, free, normals = curvature
    found = np.zeros_like(matrix)
    inner = np.ix_(free, free)
    reduced, ways = matrix[inner], np.eye(int(free.sum()))
    if normals is not None:
        ways = _null_space(normals[:, free])
        reduced = ways.T @ reduced @ ways
    try:
        roots = np.linalg.eigvalsh((reduced + reduced.T) / 2)
        good = not roots.size or bool(roots[0] > np.finfo(float).eps * roots[-1])
        inverse = np.linalg.inv(reduced) * scale
        found[inner] = inverse if normals is None else ways @ inverse @ ways.T
    except np.linalg.LinAlgError:
        good = False
    if not (good and np.isfinite(found).all()):
        warnings.warn(
            "the covariance of the parameters could not be estimated: the Hessian is singular, or "
            "not positive",
            OptimizeWarning,
            stacklevel=4,
        )
        found[inner] = np.inf
    return found


def _null_space(rows: Any) -> Any:
    """An orthonormal basis, in columns, of what all rows are orthogonal to."""
    _, sizes, vectors = np.linalg.svd(rows)
    rank = int(np.sum(sizes > np.finfo(float).eps * max(rows.shape) * sizes.max(initial=0.0)))
    return vectors[rank:].T


def curvature_of(
    objective: Objective, x: Any, ends: Any, conditions: list[Constraint]
) -> Curvature:
    """That of an objective at its least vector x, within bounds `(lower, upper)` and constraints.

    A method may end beside what holds at the minimum: a bound or an inequality holds if Newton's
    step without it went beyond (the criterion of M. Hintermueller, K. Ito, K. Kunisch 2002, The
    primal-dual active set strategy, SIAM J. Optim. 13).
    """
    matrix, slope = objective.hessian(x), objective.gradient(x)
    away = [np.full(x.size, np.inf)] * 2 if ends is None else [x - ends[0], ends[1] - x]
    normals = None
    if conditions:
        zero, positive = (_joined(objective, conditions, which) for which in (0, 1))
        inside = np.minimum(*away) > 1e-6 * (1 + np.abs(x))
        normals, multipliers, holds = _that_hold(zero, positive, x, matrix, slope, inside)
        slope = slope - multipliers @ normals

        def lagrangian(v: Value) -> Any:
            rest = np.concatenate([zero(v), positive(v)[holds]])
            return objective.of_vector(v) - multipliers @ rest

        matrix = np.asarray(hessian(lagrangian)(x), float)
    free = np.ones(x.size, bool)
    for distance, rise in zip(away, (slope, -slope), strict=True):
        with errstate(invalid="ignore"):
            free &= (distance > 0) & ~(distance * np.abs(np.diag(matrix)) < rise)
    return Curvature(matrix, 1.0, free, normals)


def _joined(objective: Objective, conditions: list[Constraint], which: int) -> Function:
    """Values to be zero (0), or not negative (1), as a vector of the vector of parameters."""
    parameters = objective.parameters
    parts = [one.part(which, parameters.whole) for one in conditions]
    return lambda v: as_vector([part(parameters.unknowns.tree(v)) for part in parts])


def _that_hold(
    zero: Function, positive: Function, x: Any, matrix: Any, slope: Any, inside: Any
) -> tuple[Any, Any, Any]:
    """The rows and multipliers of the constraints that hold, and which of `positive` these are."""
    always, rows, slack = jacobian(zero)(x), jacobian(positive)(x), positive(x)
    squares = np.sum(rows * rows, axis=1)
    along = np.abs(np.sum((rows @ matrix) * rows, axis=1))
    holds = slack <= 1e-2 * (1 + np.max(np.abs(slack), initial=0.0))
    while True:
        normals = np.concatenate([always, rows[holds]])
        multipliers = np.linalg.lstsq(normals[:, inside].T, slope[inside], rcond=None)[0]
        push = multipliers[len(always) :]
        pushing = push * squares[holds] ** 2 > slack[holds] * along[holds]
        if pushing.all():
            return normals, multipliers, holds
        holds[holds] = pushing


__all__ = ["Curvature", "covariance_of", "curvature_of"]
