"""Distances of all pairs: `cdist`, `pdist`, and what goes with these.

Euclidean distances have a rule of their own, of products of matrices: no array of pairs by
coordinates is made. All others are made of NumPy's functions of such an array.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.spatial.distance as sd

from tapegrad._core.forms import composite, constant, general
from tapegrad._core.types import Cotangent, Value
from tapegrad._core.values import untraced
from tapegrad._transforms.primitives import primitive
from tapegrad.rules.kinks import is_inexact, is_unusual, largest_size, scale_of
from tapegrad.scipy._mirror import mirror
from tapegrad.scipy.spatial.distance import _metrics as metrics
from tapegrad.scipy.spatial.distance._vectors import HERE, as_array, stepping

cdist, pdist, squareform = (mirror(f, HERE) for f in (sd.cdist, sd.pdist, sd.squareform))
directed_hausdorff = mirror(sd.directed_hausdorff, HERE)


@primitive
def between(x: Value, y: Value, metric: str = "euclidean") -> Value:
    """The distances, or their squares, of each row of x from each row of y."""
    return sd.cdist(x, y, metric)


def _factors(g: Cotangent, out: Value, metric: str) -> Value:
    """Factor of the difference of two points."""
    return 2 * g if metric == "sqeuclidean" else metrics.quotient(g, out)


def _centre(points: Value) -> Value:
    """From which differences of points far away keep their digits."""
    return np.mean(untraced(points), axis=0) if points.shape[0] else 0.0


def _by_first(
    g: Cotangent, out: Value, x: Value, y: Value, metric: str = "euclidean"
) -> Cotangent:
    w = _factors(g, out, metric)
    centre = _centre(y)
    return np.sum(w, axis=1)[:, None] * (x - centre) - w @ (y - centre)


def _by_second(
    g: Cotangent, out: Value, x: Value, y: Value, metric: str = "euclidean"
) -> Cotangent:
    return _by_first(np.transpose(g), np.transpose(out), y, x, metric)


def _jvp(dots: Any, out: Value, x: Value, y: Value, metric: str = "euclidean") -> Any:
    """The inner products of all differences with those of the tangents."""
    centre = _centre(y)
    x, y = x - centre, y - centre
    moves: Any = 0.0
    if dots[0] is not None:
        moves = np.sum(x * dots[0], axis=1)[:, None] - dots[0] @ np.transpose(y)
    if dots[1] is not None:
        moves = moves + np.sum(y * dots[1], axis=1) - x @ np.transpose(dots[1])
    return _factors(moves, out, metric)


general(between, vjp=[_by_first, _by_second], jvp=_jvp)


def _matrix(x: Any, name: str) -> Value:
    x = as_array(x)
    if x.ndim != 2:
        raise ValueError(f"scipy.spatial.distance.{name}: expected a matrix, got {x.shape}.")
    return x


def _cdist(
    XA: Value, XB: Value, metric: Any = "euclidean", *, out: Any = None, **kwargs: Any
) -> Value:
    x, y = _matrix(XA, "cdist"), _matrix(XB, "cdist")
    _refuse_out(out, "cdist")
    if x.shape[1] != y.shape[1]:
        raise ValueError(
            "scipy.spatial.distance.cdist: expected as many columns in both, got "
            f"{x.shape} and {y.shape}."
        )
    if callable(metric):
        return np.stack(
            [
                np.stack([as_array(metric(x[i], y[j], **kwargs)) for j in range(y.shape[0])])
                for i in range(x.shape[0])
            ]
        )
    name = _canonical(metric)
    if name in metrics.STEPS:
        return _cdist_of_steps(x, y, metric, **kwargs)
    x, y = _floating(x), _floating(y)
    kwargs = _completed(name, kwargs, np.concatenate([x, y]) if name in _SCALED else x)
    if name in ("euclidean", "sqeuclidean", "seuclidean"):
        w = 1 / kwargs["V"] if name == "seuclidean" else kwargs.get("w")
        if w is not None:
            x, y = x * metrics.root(w), y * metrics.root(w)
        if name == "sqeuclidean":
            return between(x, y, metric=name)
        distances = between(x, y)
        if _are_extreme(distances, x, y):
            return metrics.euclidean(x[:, None, :], y[None, :, :])
        return distances
    return metrics.METRICS[name](x[:, None, :], y[None, :, :], **kwargs)


def _are_extreme(distances: Value, x: Value, y: Value) -> bool:
    """Whether squares of differences under- or overflow, so that a distance is 0 or infinite."""
    sizes = np.maximum(largest_size(x, 1), np.transpose(largest_size(y, 1)))
    return scale_of(sizes, is_inexact(distances) & is_unusual(sizes)) is not None


def _pdist(X: Value, metric: Any = "euclidean", *, out: Any = None, **kwargs: Any) -> Value:
    x = _matrix(X, "pdist")
    _refuse_out(out, "pdist")
    first, second = np.triu_indices(x.shape[0], 1)
    if callable(metric):
        pairs = zip(first, second, strict=True)
        return np.stack([as_array(metric(x[i], x[j], **kwargs)) for i, j in pairs])
    name = _canonical(metric)
    if name in metrics.STEPS:
        return _pdist_of_steps(x, metric, **kwargs)
    x = _floating(x)
    kwargs = _completed(name, kwargs, x)
    return metrics.METRICS[name](x[first], x[second], **kwargs)


_cdist_of_steps, _pdist_of_steps = stepping(sd.cdist), stepping(sd.pdist)


def _floating(x: Value) -> Value:
    """SciPy computes in double precision."""
    return x if x.dtype == np.float64 else x.astype(np.float64)


def _refuse_out(out: Any, name: str) -> None:
    if out is not None:
        raise TypeError(
            f"scipy.spatial.distance.{name}: out=array cannot hold a result that has a "
            "derivative. Leave out away, and use the result."
        )


def _canonical(metric: Any) -> str:
    word = str(metric).lower()
    name = metrics.NICKNAMES.get(word, word)
    if name not in metrics.METRICS and name not in metrics.STEPS:
        raise ValueError(f"scipy.spatial.distance: unknown metric {metric!r}.")
    return name


_SCALED = ("seuclidean", "mahalanobis")


def _completed(name: str, kwargs: dict[str, Any], points: Value) -> dict[str, Any]:
    """The parameters of a metric, with those that SciPy takes from the points."""
    made = {k: as_array(v) if isinstance(v, (list, tuple)) else v for k, v in kwargs.items()}
    if name == "seuclidean" and made.get("V") is None:
        made["V"] = np.var(points, axis=0, ddof=1)
    if name == "mahalanobis" and made.get("VI") is None:
        covariance = np.atleast_2d(np.cov(np.transpose(points)))
        made["VI"] = np.transpose(np.linalg.inv(covariance))
    return {k: v for k, v in made.items() if v is not None}


def _squareform(X: Value, force: str = "no", checks: bool = True) -> Value:
    x = as_array(X)
    force = force.lower()
    if force == "tomatrix" and x.ndim != 1 or force == "tovector" and x.ndim != 2:
        raise ValueError(
            f"scipy.spatial.distance.squareform: force={force!r} does not fit {x.shape}."
        )
    if x.ndim == 1:
        return _to_matrix(x)
    if x.ndim != 2 or x.shape[0] != x.shape[1]:
        raise ValueError(
            "scipy.spatial.distance.squareform: expected a vector or a square matrix, got "
            f"{x.shape}."
        )
    if checks:
        sd.is_valid_dm(untraced(x), throw=True, name="X")
    return x[np.triu_indices(x.shape[0], 1)]


def _to_matrix(x: Value) -> Value:
    count = x.shape[0]
    side = int(np.ceil(np.sqrt(2 * count))) if count else 1
    if side * (side - 1) != 2 * count:
        raise ValueError(
            f"scipy.spatial.distance.squareform: expected n (n - 1) / 2 elements, got {count}."
        )
    places = np.full((side, side), count)
    upper = np.triu_indices(side, 1)
    places[upper] = np.arange(count)
    places.T[upper] = np.arange(count)
    return np.concatenate([x, np.zeros(1, x.dtype)])[places]


@primitive
def _farthest(u: Value, v: Value, *args: Any, **kwargs: Any) -> Any:
    """The rows that the distance is found between."""
    return sd.directed_hausdorff(u, v, *args, **kwargs)[1:]


def _row(x: Value, index: Value) -> Value:
    """x[index], where a plain array may get the index of a batch."""
    chosen = np.equal(np.arange(x.shape[0]), index)
    return np.sum(np.where(chosen[:, None], x, 0), axis=0)


def _directed_hausdorff(u: Value, v: Value, *args: Any, **kwargs: Any) -> Any:
    """The distance of the two points that it is found between."""
    u, v = _matrix(u, "directed_hausdorff"), _matrix(v, "directed_hausdorff")
    i, j = _farthest(untraced(u), untraced(v), *args, **kwargs)
    return metrics.METRICS["euclidean"](_row(u, i), _row(v, j)), i, j


constant(_farthest, batch="loop")
composite(cdist, _cdist, batch="loop")
composite(pdist, _pdist, batch="loop")
composite(squareform, _squareform, batch="loop")
composite(directed_hausdorff, _directed_hausdorff, batch="loop")
