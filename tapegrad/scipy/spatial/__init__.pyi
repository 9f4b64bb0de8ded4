"""`scipy.spatial` with derivatives, for type checkers and editors.

Written by docs/scipy_stubs.py with SciPy 1.17: change that, not this.
"""

from tapegrad.scipy._kinds import Array
from typing import Any
import numpy as np
from scipy.spatial import ConvexHull as ConvexHull
from scipy.spatial import Delaunay as Delaunay
from scipy.spatial import HalfspaceIntersection as HalfspaceIntersection
from scipy.spatial import QhullError as QhullError
from scipy.spatial import Rectangle as Rectangle
from scipy.spatial import SphericalVoronoi as SphericalVoronoi
from scipy.spatial import Voronoi as Voronoi
from scipy.spatial import ckdtree as ckdtree
from scipy.spatial import kdtree as kdtree
from scipy.spatial import qhull as qhull
from tapegrad.scipy.spatial import distance as distance
from tapegrad.scipy.spatial import transform as transform
from tapegrad.scipy.spatial._trees import KDTree as KDTree
from tapegrad.scipy.spatial._trees import cKDTree as cKDTree

def convex_hull_plot_2d(hull: Any, ax: Any = None) -> Any: ...
def delaunay_plot_2d(tri: Any, ax: Any = None) -> Any: ...
def distance_matrix(x: Any, y: Any, p: Any = 2.0, threshold: Any = 1000000) -> Array: ...
def geometric_slerp(start: Any, end: Any, t: Any, tol: Any = 1e-07) -> Array: ...
def minkowski_distance(x: Any, y: Any, p: Any = 2.0) -> Array: ...
def minkowski_distance_p(x: Any, y: Any, p: Any = 2.0) -> Array: ...
def procrustes(data1: Any, data2: Any) -> tuple[Array, Array, np.float64]: ...
def tsearch(tri: Any, xi: Any) -> Any: ...
def voronoi_plot_2d(vor: Any, ax: Any = None, **kw: Any) -> Any: ...
