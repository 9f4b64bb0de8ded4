"""Series of the physicists' Hermite polynomials, for traced arguments too."""

from __future__ import annotations

from typing import Any

from numpy.polynomial import hermite as _numpys

from tapegrad._numpy_versions import HAS_VALND
from tapegrad.numpy.polynomial._basis import Basis
from tapegrad.numpy.polynomial._coefficients import differentiable
from tapegrad.numpy.polynomial._series import Series


def _recurrence(k: int) -> tuple[float, float, float]:
    """H[k+1] = 2 x H[k] - 2 k H[k-1]."""
    return 2.0, 0.0, 2.0 * k


_BASIS = Basis(_numpys, "herm", _recurrence)

hermval = _BASIS.function("val")
hermval2d = _BASIS.function("val2d")
hermval3d = _BASIS.function("val3d")
if HAS_VALND:
    hermvalnd = _BASIS.function("valnd")
hermgrid2d = _BASIS.function("grid2d")
hermgrid3d = _BASIS.function("grid3d")
hermvander = _BASIS.function("vander")
hermvander2d = _BASIS.function("vander2d")
hermvander3d = _BASIS.function("vander3d")
hermder = _BASIS.function("der")
hermint = _BASIS.function("int")
hermmulx = _BASIS.function("mulx")
hermline = _BASIS.function("line")
hermadd = _BASIS.function("add")
hermsub = _BASIS.function("sub")
hermmul = _BASIS.function("mul")
hermdiv = _BASIS.function("div")
hermpow = _BASIS.function("pow")
hermfromroots = _BASIS.function("fromroots")
hermtrim = _BASIS.function("trim")
hermcompanion = _BASIS.function("companion")
hermroots = _BASIS.function("roots")
hermfit = _BASIS.function("fit")
poly2herm = differentiable(_numpys.poly2herm, _BASIS.from_powers)
herm2poly = differentiable(_numpys.herm2poly, _BASIS.to_powers)


class Hermite(Series, _numpys.Hermite, prefix="herm", slope=16.0):
    """A series in physicists' Hermite polynomials, as `numpy.polynomial.Hermite`."""


def __getattr__(name: str) -> Any:
    return getattr(_numpys, name)


def __dir__() -> list[str]:
    return dir(_numpys)
