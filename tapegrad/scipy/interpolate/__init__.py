"""`scipy.interpolate`: differentiable by the points asked, the values and the knots.

Classes and functions of SciPy's names and arguments. Of plain values they return exactly what
SciPy's return. A point that is a knot belongs to the piece at its right (the last knot to the last
piece), as SciPy evaluates, and so do its derivatives. Triangulations, and knots that FITPACK
chooses by the values, are constants or refused: each docstring says which.

>>> import numpy as np, tapegrad
>>> x = np.linspace(0, 3, 7)
>>> slope = tapegrad.grad(CubicSpline(x, np.sin(x)))
>>> bool(abs(slope(1.2) - np.cos(1.2)) < 0.01)
True
"""

from __future__ import annotations

from tapegrad.scipy._mirror import namespace, shared_names
from tapegrad.scipy.interpolate._bsplines import (
    BSpline,
    insert,
    spalde,
    splantider,
    splder,
    splev,
    splint,
    sproot,
)
from tapegrad.scipy.interpolate._cubic import (
    Akima1DInterpolator,
    CubicHermiteSpline,
    CubicSpline,
    PchipInterpolator,
    pchip_interpolate,
)
from tapegrad.scipy.interpolate._fitpack import make_splprep, make_splrep, splprep, splrep
from tapegrad.scipy.interpolate._fits import (
    make_interp_spline,
    make_lsq_spline,
    make_smoothing_spline,
)
from tapegrad.scipy.interpolate._grids import RegularGridInterpolator, interpn
from tapegrad.scipy.interpolate._one_dimension import interp1d
from tapegrad.scipy.interpolate._points import (
    AAA,
    BarycentricInterpolator,
    FloaterHormannInterpolator,
    KroghInterpolator,
    approximate_taylor_polynomial,
    barycentric_interpolate,
    krogh_interpolate,
    lagrange,
    pade,
)
from tapegrad.scipy.interpolate._polynomials import BPoly, PPoly
from tapegrad.scipy.interpolate._refused import REFUSED as _REFUSED
from tapegrad.scipy.interpolate._scattered import (
    CloughTocher2DInterpolator,
    LinearNDInterpolator,
    NearestNDInterpolator,
    Rbf,
    RBFInterpolator,
    griddata,
)
from tapegrad.scipy.interpolate._tensor_products import (
    NdBSpline,
    NdPPoly,
    RectBivariateSpline,
    bisplev,
)
from tapegrad.scipy.interpolate._univariate import (
    InterpolatedUnivariateSpline,
    LSQUnivariateSpline,
    UnivariateSpline,
)

pchip = PchipInterpolator

__getattr__, __dir__ = namespace(__name__, "scipy.interpolate")

__all__ = list(shared_names(__name__, "scipy.interpolate"))

# Functions without a derivative are not listed.
globals().update(_REFUSED)
