"""k-d trees over traced points: which points are near is piecewise constant, how far is not.

Knows SciPy's trees. Must not know tapes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import spatial

from tapegrad._core.types import Value
from tapegrad._core.values import in_trace, lift
from tapegrad._errors import NotDifferentiableError
from tapegrad._transforms.custom import stop_gradient
from tapegrad.scipy.spatial._points import minkowski_distance


class _Tree:
    """The methods of SciPy's trees with points that may be traced."""

    points: Any  # as they were given

    def __init__(self, data: Value, *args: Any, **kwargs: Any) -> None:
        self.points = points = lift(data)
        made: Any = super()
        made.__init__(stop_gradient(points), *args, **kwargs)

    def query(
        self, x: Value, k: Any = 1, eps: float = 0.0, p: float = 2.0, *args: Any, **kwargs: Any
    ) -> Any:
        """Distances to the nearest points, differentiable, and the positions of these.

        Parameters and results are those of `scipy.spatial.KDTree.query`.
        """
        x = lift(x)
        method: Any = super()  # SciPy's class comes second
        known, positions = method.query(stop_gradient(x), k, eps, p, *args, **kwargs)
        if not (in_trace(x) or in_trace(self.points)):
            return known, positions
        found = np.isfinite(known)
        near = self.points[np.where(found, positions, 0)]
        at = x[..., None, :] if np.ndim(known) == np.ndim(x) else x
        return np.where(found, minkowski_distance(at, near, p), known), positions

    def sparse_distance_matrix(self, *args: Any, **kwargs: Any) -> Any:
        """As SciPy's, of plain points: NotDifferentiableError for traced ones."""
        if in_trace(self.points) or any(in_trace(getattr(arg, "points", arg)) for arg in args):
            raise NotDifferentiableError(
                "KDTree.sparse_distance_matrix: not differentiable (its distances are computed in "
                "C). Take the pairs of query_pairs, and compute their distances."
            )
        method: Any = super()
        return method.sparse_distance_matrix(*args, **kwargs)


def _discrete(name: str) -> Any:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        args = tuple([stop_gradient(x) if in_trace(x) else x for x in args])
        kwargs = {key: stop_gradient(x) if in_trace(x) else x for key, x in kwargs.items()}
        return getattr(super(_Tree, self), name)(*args, **kwargs)

    method.__name__ = name
    method.__doc__ = f"As `scipy.spatial.KDTree.{name}`: piecewise constant in the points."
    return method


for _name in ("count_neighbors", "query_ball_point", "query_ball_tree", "query_pairs"):
    setattr(_Tree, _name, _discrete(_name))


class KDTree(_Tree, spatial.KDTree):  # type: ignore[misc]  # SciPy has no types
    """`scipy.spatial.KDTree` of points that may be traced.

    Which points are near steps with the points, and carries no derivative; distances do.

    Examples
    --------
    >>> import tapegrad
    >>> points = np.array([[0.0, 0.0], [3.0, 4.0]])
    >>> def nearest(x):
    ...     return KDTree(points).query(x)[0]
    >>> tapegrad.grad(nearest)(np.array([6.0, 8.0]))
    array([0.6, 0.8])
    """


class cKDTree(_Tree, spatial.cKDTree):  # type: ignore[misc]
    """`scipy.spatial.cKDTree` of points that may be traced: see `KDTree`."""


__all__ = ["KDTree", "cKDTree"]
