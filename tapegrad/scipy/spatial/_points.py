"""Distances of points, and the best fit of one set of points to another."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.spatial as sp

from tapegrad._core.forms import composite
from tapegrad._core.types import Value
from tapegrad._core.values import any_true, untraced
from tapegrad._warning import warn
from tapegrad.scipy._mirror import mirror
from tapegrad.scipy.spatial.distance._vectors import as_array

HERE = "tapegrad.scipy.spatial"

minkowski_distance, minkowski_distance_p = (
    mirror(f, HERE) for f in (sp.minkowski_distance, sp.minkowski_distance_p)
)
distance_matrix, procrustes = mirror(sp.distance_matrix, HERE), mirror(sp.procrustes, HERE)
geometric_slerp = mirror(sp.geometric_slerp, HERE)


def _difference(x: Value, y: Value) -> Value:
    """In double precision, as SciPy computes."""
    x, y = as_array(x), as_array(y)
    return y.astype(np.result_type(y.dtype, np.float64)) - x.astype(
        np.result_type(x.dtype, np.float64)
    )


def _distance(x: Value, y: Value, p: float = 2.0) -> Value:
    return np.linalg.norm(_difference(x, y), p, axis=-1)


def _distance_p(x: Value, y: Value, p: float = 2.0) -> Value:
    d = np.absolute(_difference(x, y))
    return np.max(d, axis=-1) if p == np.inf else np.sum(d if p == 1 else d**p, axis=-1)


def _distance_matrix(x: Value, y: Value, p: float = 2.0, threshold: int = 1000000) -> Value:
    x, y = as_array(x), as_array(y)
    if x.shape[-1] != y.shape[-1]:
        raise ValueError(
            f"scipy.spatial.distance_matrix: expected as many columns, got {x.shape}, {y.shape}."
        )
    return _distance(x[:, None, :], y[None, :, :], p)


def _procrustes(data1: Value, data2: Value) -> Any:
    """Both without their mean and of norm 1, the second turned, reflected and scaled to fit."""
    first, second = (as_array(x).astype(np.float64) for x in (data1, data2))
    if first.ndim != 2 or first.shape != second.shape or not first.size:
        raise ValueError(
            "scipy.spatial.procrustes: expected two matrices of one shape, got "
            f"{first.shape} and {second.shape}."
        )
    first, second = (x - np.mean(x, axis=0) for x in (first, second))
    first, second = (x / np.linalg.norm(x) for x in (first, second))
    u, s, vh = np.linalg.svd(np.transpose(second) @ first)
    turned = second @ (u @ vh) * np.sum(s)
    return first, turned, np.sum((first - turned) ** 2)


def _check_ends(start: Value, end: Value, tol: float) -> None:
    """SciPy's errors and its warning for what are no two points of one great circle."""
    if not any_true(start != end):
        return
    for point in (start, end):
        if any_true(np.abs(np.linalg.norm(point) - 1.0) > 1e-9):
            raise ValueError("start and end are not on a unit n-sphere")
    if not isinstance(tol, float):
        raise ValueError("tol must be a float")  # noqa: TRY004 - SciPy's
    if any_true(np.abs(np.linalg.norm(start - end) - 2.0) <= np.fabs(tol)):
        warn(
            "start and end are antipodes using the specified tolerance; this may cause ambiguous "
            "slerp paths"
        )


def _geometric_slerp(start: Value, end: Value, t: Value, tol: float = 1e-07) -> Value:
    """Points on the great circle, at fractions of the angle between two of its points."""
    start, end, t = as_array(start), as_array(end), as_array(t)
    if start.ndim != 1 or start.shape != end.shape or start.shape[0] < 2:
        raise ValueError(
            "scipy.spatial.geometric_slerp: expected two vectors of one length from 2, got "
            f"{start.shape} and {end.shape}."
        )
    _check_ends(untraced(start), untraced(end), tol)
    along = start @ end
    across = end - along * start  # the part of the end that is perpendicular to the start
    sine = np.linalg.norm(across)
    zero = sine == 0
    unit = across / np.where(zero, 1, sine)
    angle = t[..., None] * np.arctan2(sine, along)
    return np.cos(angle) * start + np.sin(angle) * unit


composite(minkowski_distance, _distance)
composite(minkowski_distance_p, _distance_p)
composite(distance_matrix, _distance_matrix, batch="loop")
composite(procrustes, _procrustes, batch="loop")
composite(geometric_slerp, _geometric_slerp, batch="loop")
