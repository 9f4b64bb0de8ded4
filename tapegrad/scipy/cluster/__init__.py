"""`scipy.cluster`, with derivatives of distances to given centres: `vq`.

Trees of clusters (`hierarchy`) are SciPy's own, of plain arrays: they jump with the points.
"""

from __future__ import annotations

from tapegrad.scipy._mirror import namespace
from tapegrad.scipy.cluster import vq

__getattr__, __dir__ = namespace(__name__, "scipy.cluster")

__all__ = ["vq"]
