"""Power series, for traced arguments too."""

from __future__ import annotations

from typing import Any

from numpy.polynomial import polynomial as _numpys

from tapegrad._numpy_versions import HAS_VALND
from tapegrad.numpy.polynomial._basis import Basis
from tapegrad.numpy.polynomial._basis import values_from_roots as _values_from_roots
from tapegrad.numpy.polynomial._coefficients import differentiable
from tapegrad.numpy.polynomial._series import Series
from tapegrad.rules.series import powers

_BASIS = Basis(_numpys, "poly", powers)

polyval = _BASIS.function("val")
polyval2d = _BASIS.function("val2d")
polyval3d = _BASIS.function("val3d")
if HAS_VALND:
    polyvalnd = _BASIS.function("valnd")
polygrid2d = _BASIS.function("grid2d")
polygrid3d = _BASIS.function("grid3d")
polyvander = _BASIS.function("vander")
polyvander2d = _BASIS.function("vander2d")
polyvander3d = _BASIS.function("vander3d")
polyder = _BASIS.function("der")
polyint = _BASIS.function("int")
polymulx = _BASIS.function("mulx")
polyline = _BASIS.function("line")
polyadd = _BASIS.function("add")
polysub = _BASIS.function("sub")
polymul = _BASIS.function("mul")
polydiv = _BASIS.function("div")
polypow = _BASIS.function("pow")
polyfromroots = _BASIS.function("fromroots")
polytrim = _BASIS.function("trim")
polycompanion = _BASIS.function("companion")
polyroots = _BASIS.function("roots")
polyfit = _BASIS.function("fit")
polyvalfromroots = differentiable(_numpys.polyvalfromroots, _values_from_roots)


class Polynomial(Series, _numpys.Polynomial, prefix="poly", slope=5.0):
    """A series in powers, as `numpy.polynomial.Polynomial`."""


def __getattr__(name: str) -> Any:
    return getattr(_numpys, name)


def __dir__() -> list[str]:
    return dir(_numpys)
