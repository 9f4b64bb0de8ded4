"""The functions that polynomials of all bases share; the rest is NumPy's own."""

from __future__ import annotations

from typing import Any

from numpy.polynomial import polyutils as _numpys

from tapegrad.numpy.polynomial import _basis

as_series = _basis.differentiable(_numpys.as_series, _basis.as_series)
getdomain = _basis.differentiable(_numpys.getdomain, _basis.getdomain)
mapdomain = _basis.differentiable(_numpys.mapdomain, _basis.mapdomain)
mapparms = _basis.differentiable(_numpys.mapparms, _basis.mapparms)
trimcoef = _basis.differentiable(_numpys.trimcoef, _basis.trim)


def __getattr__(name: str) -> Any:
    return getattr(_numpys, name)


def __dir__() -> list[str]:
    return dir(_numpys)
