"""`scipy.spatial.distance`, with derivatives by points, weights and the parameters of metrics.

Where two points coincide, the gradient of their distance is 0. (The Hessian of a squared distance
is right there for `sqeuclidean`, not for the square of `euclidean`.) Metrics of truth values
have derivatives by weights; `hamming` steps by the points: 0. `V` and `VI` that are left out are
functions of the points.

>>> import numpy as np, tapegrad
>>> from tapegrad.scipy.spatial import distance
>>> points = np.array([[0.0, 0.0], [3.0, 4.0]])
>>> tapegrad.grad(lambda x: distance.pdist(x)[0])(points)
array([[-0.6, -0.8],
       [ 0.6,  0.8]])
"""

from __future__ import annotations

from tapegrad.scipy._copied import copied
from tapegrad.scipy._mirror import namespace
from tapegrad.scipy.spatial.distance._tables import cdist, directed_hausdorff, pdist, squareform
from tapegrad.scipy.spatial.distance._vectors import MADE

__getattr__, __dir__ = namespace(__name__, "scipy.spatial.distance")
_COPIED = copied(__name__)
globals().update(MADE | _COPIED)

__all__ = [*_COPIED, "cdist", "directed_hausdorff", "pdist", "squareform"]  # noqa: PLE0604
