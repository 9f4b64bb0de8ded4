"""Series of Legendre polynomials, for traced arguments too."""

from __future__ import annotations

from typing import Any

from numpy.polynomial import legendre as _numpys

from tapegrad._numpy_versions import HAS_VALND
from tapegrad.numpy.polynomial._basis import Basis
from tapegrad.numpy.polynomial._coefficients import differentiable
from tapegrad.numpy.polynomial._series import Series


def _recurrence(k: int) -> tuple[float, float, float]:
    """(k+1) P[k+1] = (2k+1) x P[k] - k P[k-1]."""
    return (2 * k + 1) / (k + 1), 0.0, k / (k + 1)


_BASIS = Basis(_numpys, "leg", _recurrence)

legval = _BASIS.function("val")
legval2d = _BASIS.function("val2d")
legval3d = _BASIS.function("val3d")
if HAS_VALND:
    legvalnd = _BASIS.function("valnd")
leggrid2d = _BASIS.function("grid2d")
leggrid3d = _BASIS.function("grid3d")
legvander = _BASIS.function("vander")
legvander2d = _BASIS.function("vander2d")
legvander3d = _BASIS.function("vander3d")
legder = _BASIS.function("der")
legint = _BASIS.function("int")
legmulx = _BASIS.function("mulx")
legline = _BASIS.function("line")
legadd = _BASIS.function("add")
legsub = _BASIS.function("sub")
legmul = _BASIS.function("mul")
legdiv = _BASIS.function("div")
legpow = _BASIS.function("pow")
legfromroots = _BASIS.function("fromroots")
legtrim = _BASIS.function("trim")
legcompanion = _BASIS.function("companion")
legroots = _BASIS.function("roots")
legfit = _BASIS.function("fit")
poly2leg = differentiable(_numpys.poly2leg, _BASIS.from_powers)
leg2poly = differentiable(_numpys.leg2poly, _BASIS.to_powers)


class Legendre(Series, _numpys.Legendre, prefix="leg", slope=6.5):
    """A series in Legendre polynomials, as `numpy.polynomial.Legendre`."""


def __getattr__(name: str) -> Any:
    return getattr(_numpys, name)


def __dir__() -> list[str]:
    return dir(_numpys)
