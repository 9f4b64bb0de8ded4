"""`scipy.interpolate` with derivatives, for type checkers and editors.

Written by docs/scipy_stubs.py with SciPy 1.17: change that, not this.
"""

from tapegrad.scipy._kinds import Array
from typing import Any
from scipy.interpolate import BivariateSpline as BivariateSpline
from scipy.interpolate import fitpack as fitpack
from scipy.interpolate import fitpack2 as fitpack2
from scipy.interpolate import interp2d as interp2d
from scipy.interpolate import interpnd as interpnd
from scipy.interpolate import interpolate as interpolate
from scipy.interpolate import ndgriddata as ndgriddata
from scipy.interpolate import polyint as polyint
from scipy.interpolate import rbf as rbf
from tapegrad.scipy.interpolate._bsplines import BSpline as BSpline
from tapegrad.scipy.interpolate._cubic import Akima1DInterpolator as Akima1DInterpolator
from tapegrad.scipy.interpolate._cubic import CubicHermiteSpline as CubicHermiteSpline
from tapegrad.scipy.interpolate._cubic import CubicSpline as CubicSpline
from tapegrad.scipy.interpolate._cubic import PchipInterpolator as PchipInterpolator
from tapegrad.scipy.interpolate._grids import RegularGridInterpolator as RegularGridInterpolator
from tapegrad.scipy.interpolate._one_dimension import interp1d as interp1d
from tapegrad.scipy.interpolate._points import AAA as AAA
from tapegrad.scipy.interpolate._points import BarycentricInterpolator as BarycentricInterpolator
from tapegrad.scipy.interpolate._points import FloaterHormannInterpolator as FloaterHormannInterpolator
from tapegrad.scipy.interpolate._points import KroghInterpolator as KroghInterpolator
from tapegrad.scipy.interpolate._polynomials import BPoly as BPoly
from tapegrad.scipy.interpolate._polynomials import PPoly as PPoly
from tapegrad.scipy.interpolate._refused import _Refused
from tapegrad.scipy.interpolate._scattered import CloughTocher2DInterpolator as CloughTocher2DInterpolator
from tapegrad.scipy.interpolate._scattered import LinearNDInterpolator as LinearNDInterpolator
from tapegrad.scipy.interpolate._scattered import NearestNDInterpolator as NearestNDInterpolator
from tapegrad.scipy.interpolate._scattered import RBFInterpolator as RBFInterpolator
from tapegrad.scipy.interpolate._scattered import Rbf as Rbf
from tapegrad.scipy.interpolate._tensor_products import NdBSpline as NdBSpline
from tapegrad.scipy.interpolate._tensor_products import NdPPoly as NdPPoly
from tapegrad.scipy.interpolate._tensor_products import RectBivariateSpline as RectBivariateSpline
from tapegrad.scipy.interpolate._univariate import InterpolatedUnivariateSpline as InterpolatedUnivariateSpline
from tapegrad.scipy.interpolate._univariate import LSQUnivariateSpline as LSQUnivariateSpline
from tapegrad.scipy.interpolate._univariate import UnivariateSpline as UnivariateSpline

LSQBivariateSpline: type[_Refused]
LSQSphereBivariateSpline: type[_Refused]
RectSphereBivariateSpline: type[_Refused]
SmoothBivariateSpline: type[_Refused]
SmoothSphereBivariateSpline: type[_Refused]
def approximate_taylor_polynomial(
    f: Any,
    x: Any,
    degree: Any,
    scale: Any,
    order: Any = None,
) -> Any: ...
def barycentric_interpolate(
    xi: Any,
    yi: Any,
    x: Any,
    axis: Any = 0,
    *,
    der: Any = 0,
    **options: Any,
) -> Array: ...
def bisplev(x: Any, y: Any, tck: Any, dx: Any = 0, dy: Any = 0) -> Any: ...
def bisplrep(*args: Any, **kwargs: Any) -> Any: ...
def generate_knots(*args: Any, **kwargs: Any) -> Any: ...
def griddata(
    points: Any,
    values: Any,
    xi: Any,
    method: Any = 'linear',
    fill_value: Any = ...,
    rescale: bool = False,
) -> Array: ...
def insert(x: Any, tck: Any, m: Any = 1, per: Any = 0) -> Any: ...
def interpn(
    points: Any,
    values: Any,
    xi: Any,
    method: Any = 'linear',
    bounds_error: bool = True,
    fill_value: Any = ...,
) -> Array: ...
def krogh_interpolate(xi: Any, yi: Any, x: Any, der: Any = 0, axis: Any = 0) -> Array: ...
def lagrange(x: Any, w: Any) -> Any: ...
def make_interp_spline(
    x: Any,
    y: Any,
    k: Any = 3,
    t: Any = None,
    bc_type: Any = None,
    axis: Any = 0,
    check_finite: bool = True,
) -> BSpline: ...
def make_lsq_spline(
    x: Any,
    y: Any,
    t: Any,
    k: Any = 3,
    w: Any = None,
    axis: Any = 0,
    check_finite: bool = True,
    **options: Any,
) -> BSpline: ...
def make_smoothing_spline(
    x: Any,
    y: Any,
    w: Any = None,
    lam: Any = None,
    *,
    axis: Any = 0,
) -> BSpline: ...
def make_splprep(
    x: Any,
    *,
    w: Any = None,
    u: Any = None,
    ub: Any = None,
    ue: Any = None,
    k: Any = 3,
    s: Any = 0,
    t: Any = None,
    **options: Any,
) -> tuple[BSpline, Array]: ...
def make_splrep(
    x: Any,
    y: Any,
    *,
    w: Any = None,
    xb: Any = None,
    xe: Any = None,
    k: Any = 3,
    s: Any = 0,
    t: Any = None,
    **options: Any,
) -> BSpline: ...
def pade(an: Any, m: Any, n: Any = None) -> Any: ...
pchip = PchipInterpolator
def pchip_interpolate(xi: Any, yi: Any, x: Any, der: Any = 0, axis: Any = 0) -> Array: ...
def spalde(x: Any, tck: Any) -> Any: ...
def splantider(tck: Any, n: Any = 1) -> Any: ...
def splder(tck: Any, n: Any = 1) -> Any: ...
def splev(x: Any, tck: Any, der: Any = 0, ext: Any = 0) -> Any: ...
def splint(a: Any, b: Any, tck: Any, full_output: Any = 0) -> Any: ...
def splprep(
    x: Any,
    w: Any = None,
    u: Any = None,
    ub: Any = None,
    ue: Any = None,
    k: Any = 3,
    task: Any = 0,
    s: Any = None,
    t: Any = None,
    **options: Any,
) -> Any: ...
def splrep(
    x: Any,
    y: Any,
    w: Any = None,
    xb: Any = None,
    xe: Any = None,
    k: Any = 3,
    task: Any = 0,
    s: Any = None,
    t: Any = None,
    full_output: Any = 0,
    per: Any = 0,
    quiet: Any = 1,
) -> Any: ...
def sproot(tck: Any, mest: Any = 10) -> Any: ...
