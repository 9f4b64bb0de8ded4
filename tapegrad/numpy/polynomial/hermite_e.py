"""Series of the probabilists' Hermite polynomials, for traced arguments too."""

from __future__ import annotations

from typing import Any

from numpy.polynomial import hermite_e as _numpys

from tapegrad._numpy_versions import HAS_VALND
from tapegrad.numpy.polynomial._basis import Basis
from tapegrad.numpy.polynomial._coefficients import differentiable
from tapegrad.numpy.polynomial._series import Series


def _recurrence(k: int) -> tuple[float, float, float]:
    """He[k+1] = x He[k] - k He[k-1]."""
    return 1.0, 0.0, float(k)


_BASIS = Basis(_numpys, "herme", _recurrence)

hermeval = _BASIS.function("val")
hermeval2d = _BASIS.function("val2d")
hermeval3d = _BASIS.function("val3d")
if HAS_VALND:
    hermevalnd = _BASIS.function("valnd")
hermegrid2d = _BASIS.function("grid2d")
hermegrid3d = _BASIS.function("grid3d")
hermevander = _BASIS.function("vander")
hermevander2d = _BASIS.function("vander2d")
hermevander3d = _BASIS.function("vander3d")
hermeder = _BASIS.function("der")
hermeint = _BASIS.function("int")
hermemulx = _BASIS.function("mulx")
hermeline = _BASIS.function("line")
hermeadd = _BASIS.function("add")
hermesub = _BASIS.function("sub")
hermemul = _BASIS.function("mul")
hermediv = _BASIS.function("div")
hermepow = _BASIS.function("pow")
hermefromroots = _BASIS.function("fromroots")
hermetrim = _BASIS.function("trim")
hermecompanion = _BASIS.function("companion")
hermeroots = _BASIS.function("roots")
hermefit = _BASIS.function("fit")
poly2herme = differentiable(_numpys.poly2herme, _BASIS.from_powers)
herme2poly = differentiable(_numpys.herme2poly, _BASIS.to_powers)


class HermiteE(Series, _numpys.HermiteE, prefix="herme", slope=5.0):
    """A series in probabilists' Hermite polynomials, as `numpy.polynomial.HermiteE`."""


def __getattr__(name: str) -> Any:
    return getattr(_numpys, name)


def __dir__() -> list[str]:
    return dir(_numpys)
