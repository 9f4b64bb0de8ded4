"""`scipy.spatial`, with derivatives of distances between points.

Trees find neighbours, which step with the points, and give distances that are differentiable.
Triangulations, hulls and diagrams are SciPy's own classes, and refuse traced points. Take
`tapegrad.stop_gradient` of the points for indices, then compute with the points that these choose.

>>> import numpy as np, tapegrad
>>> from tapegrad.scipy import spatial
>>> tapegrad.grad(spatial.minkowski_distance)(np.array([3.0, 4.0]), np.zeros(2))
array([0.6, 0.8])
"""

from __future__ import annotations

from tapegrad.scipy._mirror import namespace
from tapegrad.scipy.spatial import distance, transform
from tapegrad.scipy.spatial._points import (
    distance_matrix,
    geometric_slerp,
    minkowski_distance,
    minkowski_distance_p,
    procrustes,
)
from tapegrad.scipy.spatial._trees import KDTree, cKDTree

__getattr__, __dir__ = namespace(__name__, "scipy.spatial")

__all__ = [
    "KDTree",
    "cKDTree",
    "distance",
    "distance_matrix",
    "geometric_slerp",
    "minkowski_distance",
    "minkowski_distance_p",
    "procrustes",
    "transform",
]
