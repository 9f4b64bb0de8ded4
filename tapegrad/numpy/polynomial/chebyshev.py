"""Series of Chebyshev polynomials of the first kind, for traced arguments too."""

from __future__ import annotations

from typing import Any

from numpy.polynomial import chebyshev as _numpys

from tapegrad._numpy_versions import HAS_VALND
from tapegrad.numpy.polynomial._basis import Basis
from tapegrad.numpy.polynomial._coefficients import differentiable
from tapegrad.numpy.polynomial._series import Series


def _recurrence(k: int) -> tuple[float, float, float]:
    """T[k+1] = 2 x T[k] - T[k-1], from T[1] = x."""
    return (1.0 if k == 0 else 2.0), 0.0, 1.0


_BASIS = Basis(_numpys, "cheb", _recurrence)

chebval = _BASIS.function("val")
chebval2d = _BASIS.function("val2d")
chebval3d = _BASIS.function("val3d")
if HAS_VALND:
    chebvalnd = _BASIS.function("valnd")
chebgrid2d = _BASIS.function("grid2d")
chebgrid3d = _BASIS.function("grid3d")
chebvander = _BASIS.function("vander")
chebvander2d = _BASIS.function("vander2d")
chebvander3d = _BASIS.function("vander3d")
chebder = _BASIS.function("der")
chebint = _BASIS.function("int")
chebmulx = _BASIS.function("mulx")
chebline = _BASIS.function("line")
chebadd = _BASIS.function("add")
chebsub = _BASIS.function("sub")
chebmul = _BASIS.function("mul")
chebdiv = _BASIS.function("div")
chebpow = _BASIS.function("pow")
chebfromroots = _BASIS.function("fromroots")
chebtrim = _BASIS.function("trim")
chebcompanion = _BASIS.function("companion")
chebroots = _BASIS.function("roots")
chebfit = _BASIS.function("fit")
poly2cheb = differentiable(_numpys.poly2cheb, _BASIS.from_powers)
cheb2poly = differentiable(_numpys.cheb2poly, _BASIS.to_powers)


class Chebyshev(Series, _numpys.Chebyshev, prefix="cheb", slope=8.0):
    """A series in Chebyshev polynomials, as `numpy.polynomial.Chebyshev`."""


def __getattr__(name: str) -> Any:
    return getattr(_numpys, name)


def __dir__() -> list[str]:
    return dir(_numpys)
