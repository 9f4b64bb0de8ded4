"""The functions that polynomials of all bases share; the rest is NumPy's own."""

from __future__ import annotations

from typing import Any

from numpy.polynomial import polyutils as _numpys

from tapegrad.numpy.polynomial import _coefficients

as_series = _coefficients.differentiable(_numpys.as_series, _coefficients.as_series)
getdomain = _coefficients.differentiable(_numpys.getdomain, _coefficients.getdomain)
mapdomain = _coefficients.differentiable(_numpys.mapdomain, _coefficients.mapdomain)
mapparms = _coefficients.differentiable(_numpys.mapparms, _coefficients.mapparms)
trimcoef = _coefficients.differentiable(_numpys.trimcoef, _coefficients.trim)


def __getattr__(name: str) -> Any:
    return getattr(_numpys, name)


def __dir__() -> list[str]:
    return dir(_numpys)
