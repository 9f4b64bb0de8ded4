"""Series of Laguerre polynomials, for traced arguments too."""

from __future__ import annotations

from typing import Any

from numpy.polynomial import laguerre as _numpys

from tapegrad._numpy_versions import HAS_VALND
from tapegrad.numpy.polynomial._basis import Basis
from tapegrad.numpy.polynomial._coefficients import differentiable
from tapegrad.numpy.polynomial._series import Series


def _recurrence(k: int) -> tuple[float, float, float]:
    """(k+1) L[k+1] = (2k+1 - x) L[k] - k L[k-1]."""
    return -1 / (k + 1), (2 * k + 1) / (k + 1), k / (k + 1)


_BASIS = Basis(_numpys, "lag", _recurrence)

lagval = _BASIS.function("val")
lagval2d = _BASIS.function("val2d")
lagval3d = _BASIS.function("val3d")
if HAS_VALND:
    lagvalnd = _BASIS.function("valnd")
laggrid2d = _BASIS.function("grid2d")
laggrid3d = _BASIS.function("grid3d")
lagvander = _BASIS.function("vander")
lagvander2d = _BASIS.function("vander2d")
lagvander3d = _BASIS.function("vander3d")
lagder = _BASIS.function("der")
lagint = _BASIS.function("int")
lagmulx = _BASIS.function("mulx")
lagline = _BASIS.function("line")
lagadd = _BASIS.function("add")
lagsub = _BASIS.function("sub")
lagmul = _BASIS.function("mul")
lagdiv = _BASIS.function("div")
lagpow = _BASIS.function("pow")
lagfromroots = _BASIS.function("fromroots")
lagtrim = _BASIS.function("trim")
lagcompanion = _BASIS.function("companion")
lagroots = _BASIS.function("roots")
lagfit = _BASIS.function("fit")
poly2lag = differentiable(_numpys.poly2lag, _BASIS.from_powers)
lag2poly = differentiable(_numpys.lag2poly, _BASIS.to_powers)


class Laguerre(Series, _numpys.Laguerre, prefix="lag", slope=-6.5):
    """A series in Laguerre polynomials, as `numpy.polynomial.Laguerre`."""


def __getattr__(name: str) -> Any:
    return getattr(_numpys, name)


def __dir__() -> list[str]:
    return dir(_numpys)
